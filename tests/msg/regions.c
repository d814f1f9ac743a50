/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks that keys that were never valid, and keys of regions that no longer exist, are refused,
 * and that the memory at the address of such a region stays unchanged.
 *
 *     regions            with the transports as they are: keys with a changed bit, and the key of
 *                        a freed region, before and after its memory is registered again
 *     regions unmapped   if ranks can read each other's memory by system calls: the key of a
 *                        region whose memory was unmapped while it was registered
 */
#include <sys/mman.h>

#include "api/api.h"
#include "lib.h"

enum { BYTES = 1 << 16 };

/* Returns rank 1's key on both ranks. */
static tutti_key share_key(struct rank *r, const tutti_region *region)
{
    tutti_key key = {{0}};
    if (region) must(tutti_region_key(region, &key));
    must(tutti_bcast(r->team, &key, sizeof key, TUTTI_U8, 1));
    return key;
}

static tutti_status put_one(struct rank *r, const tutti_key *key)
{
    return tutti_put(r->context[0], endpoint(r, 1, 0), "x", key, 0, 1, NULL, NULL);
}

static void change_each_bit(struct rank *r, const tutti_key *key)
{
    for (int i = 0; i < TUTTI_KEY_BYTES * 8; i++) {
        tutti_key other = *key;
        other.bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        check(put_one(r, &other) == TUTTI_ERR_ARG, "bit %d", i);
    }
}

static void refuse_freed(struct rank *r, const tutti_key *key)
{
    check(put_one(r, key) == TUTTI_ERR_ARG, "the region was freed");
    check(strstr(tutti_error(), "rank 1 has freed the region"), "not said");
}

/* Registers the same memory again: the old key must not be valid for the new region. */
static void use_keys(struct rank *r)
{
    tutti_region *region = NULL;
    char *memory = calloc(1, BYTES);
    struct completed put = {0};
    if (r->me == 1) must(tutti_region_register(r->client, memory, BYTES, &region));
    tutti_key key = share_key(r, region);
    if (r->me == 0) {
        change_each_bit(r, &key);
        must(tutti_put(r->context[0], endpoint(r, 1, 0), "yes", &key, 0, 4, count, &put));
        until(r, &put.n, 1);
        check(put.status == TUTTI_OK, "%d", (int)put.status);
    }
    meet(r);
    if (r->me == 1) must(tutti_region_free(region));
    meet(r);
    if (r->me == 0) refuse_freed(r, &key);
    meet(r);
    if (r->me == 1) must(tutti_region_register(r->client, memory, BYTES, &region));
    tutti_key fresh = share_key(r, region);
    check(memcmp(&fresh, &key, sizeof key) != 0, "the key of another region is the same");
    if (r->me == 0) refuse_freed(r, &key);
    meet(r);
    if (r->me == 1) check(strcmp(memory, "yes") == 0, "%s", memory);
    if (r->me == 1) must(tutti_region_free(region));
    meet(r);
    free(memory);
}

static void reach_nothing(struct rank *r)
{
    char copy[16];
    tutti_region *region = NULL;
    if (!r->client->fabric.reads) return; /* ranks may not read each other's memory */
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (r->me == 1) must(tutti_region_register(r->client, memory, BYTES, &region));
    tutti_key key = share_key(r, region);
    if (r->me == 1) munmap(memory, BYTES);
    meet(r);
    if (r->me == 0) {
        check(put_one(r, &key) == TUTTI_ERR_ARG, "put to nothing");
        check(tutti_get(r->context[0], endpoint(r, 1, 0), copy, &key, 0, sizeof copy, NULL, NULL) ==
                  TUTTI_ERR_ARG,
              "got from nothing");
        check(strstr(tutti_error(), "that are no memory that can be read"), "not said");
    }
    meet(r);
    if (r->me == 1) must(tutti_region_free(region));
}

int main(int argc, char **argv)
{
    bool unmapped = argc == 2;
    return run_ranks(unmapped ? 1 : argc, argv, 1, unmapped ? reach_nothing : use_keys);
}
