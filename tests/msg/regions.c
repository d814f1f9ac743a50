/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks that keys that were never valid, and keys of regions that no longer exist, are refused,
 * and that the memory at the address of such a region stays unchanged.
 *
 *     regions            with the transports as they are: keys with a changed bit, and the key of
 *                        a freed region, before and after its memory is registered again
 *     regions unmapped   if ranks can read each other's memory by system calls: the key of a
 *                        region whose memory was unmapped while it was registered, and buffers of
 *                        the caller and of a receiver that are no memory
 *     regions dead       the same, and a bcast from such a buffer, after rank 2 has died and the
 *                        other two ranks have shrunk the team: they must not blame rank 2
 */
#include <signal.h>
#include <sys/mman.h>

#include "api/api.h"
#include "lib.h"

enum { BYTES = 1 << 16 };
#define NOWHERE ((void *)4096) /* no address of memory */

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

/* The key of a region whose memory was unmapped. */
static void reach_unmapped(struct rank *r)
{
    char copy[16];
    tutti_region *region = NULL;
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

/* A buffer of the caller that is no memory. */
static void get_to_nowhere(struct rank *r)
{
    static char memory[BYTES];
    tutti_region *region = NULL;
    if (r->me == 1) must(tutti_region_register(r->client, memory, BYTES, &region));
    tutti_key key = share_key(r, region);
    if (r->me == 0) {
        check(tutti_get(r->context[0], endpoint(r, 1, 0), NOWHERE, &key, 0, BYTES, NULL, NULL) ==
                  TUTTI_ERR_ARG,
              "got to nowhere");
        check(strstr(tutti_error(), "are no memory that can be written"), "not said");
    }
    meet(r);
    if (r->me == 1) must(tutti_region_free(region));
}

static struct completed received;

static void receive_nowhere(tutti_context *context, const tutti_message *message,
                            tutti_receive *receive, void *arg)
{
    (void)context;
    (void)arg;
    *receive = (tutti_receive){
        .to = NOWHERE, .count = message->bytes, .type = TUTTI_U8, .done = count, .arg = &received};
}

/* A buffer of the receiver of a long message that is no memory: both ends get ARG. */
static void send_to_nowhere(struct rank *r)
{
    static char memory[1 << 20];
    struct completed delivered = {0};
    tutti_send send = {.dispatch = 1,
                       .data = memory,
                       .count = sizeof memory,
                       .type = TUTTI_U8,
                       .delivered = count,
                       .arg = &delivered};
    if (r->me == 1) {
        send.to = endpoint(r, 0, 0);
        must(tutti_message_send(r->context[0], &send));
        until(r, &delivered.n, 1);
        check(delivered.status == TUTTI_ERR_ARG, "%d", (int)delivered.status);
    } else {
        until(r, &received.n, 1);
        check(received.status == TUTTI_ERR_ARG, "%d", (int)received.status);
    }
    meet(r);
}

static void reach_nothing(struct rank *r)
{
    if (!r->client->fabric.reads) return; /* ranks may not read each other's memory */
    must(tutti_dispatch(r->client, 1, receive_nowhere, NULL));
    meet(r);
    reach_unmapped(r);
    get_to_nowhere(r);
    send_to_nowhere(r);
}

/* A bcast from a buffer that is no memory: the root gets ARG, and the receiver names the root. */
static void bcast_from_nowhere(struct rank *r)
{
    static char memory[1 << 20];
    tutti_status status =
        tutti_bcast(r->team, r->me == 0 ? NOWHERE : memory, sizeof memory, TUTTI_U8, 0);
    if (r->me == 0)
        check(status == TUTTI_ERR_ARG, "%d", (int)status);
    else
        check(status == TUTTI_ERR_PEER && strstr(tutti_error(), "rank 0 cannot go on: an argument"),
              "%d", (int)status);
}

static void reach_nothing_after_death(struct rank *r)
{
    tutti_team *rest;
    if (r->me == 2) raise(SIGKILL);
    must(tutti_team_shrink(r->team, &rest));
    r->team = rest;
    reach_nothing(r);
    if (r->client->fabric.reads) bcast_from_nowhere(r);
}

int main(int argc, char **argv)
{
    bool unmapped = argc == 2 && strcmp(argv[1], "unmapped") == 0,
         dead = argc == 2 && strcmp(argv[1], "dead") == 0;
    rank_fn *fn = dead ? reach_nothing_after_death : unmapped ? reach_nothing : use_keys;
    return run_ranks(dead || unmapped ? 1 : argc, argv, 1, fn);
}
