/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registered memory: who may be asked for which bytes.
 *
 * A key says whose region it is, where it lies and how long it is, and carries a hash of that, so that what is no key is told
 * before anything is touched.
 */
#include <string.h>

#include "msg/region.h"

#define KEY_MAGIC 0x796b2d6974747574u

static uint64_t hash_of(const struct tt_region_key *key, int64_t stamp)
{
    uint64_t hash = KEY_MAGIC ^ (uint64_t)stamp;
    uint64_t words[] = {(uint64_t)key->rank, (uint64_t)key->client, key->region,
                        key->address,        key->memory,           key->bytes,
                        key->wire_bytes};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u ^ hash >> 29;
    return hash;
}

static void add(struct tt_msg *msg, tutti_region *region)
{
    pthread_mutex_lock(&msg->region_lock);
    region->id = ++msg->regions_made;
    region->next = msg->regions;
    if (region->next) region->next->link = &region->next;
    region->link = &msg->regions;
    msg->regions = region;
    pthread_mutex_unlock(&msg->region_lock);
}

tutti_status tt_msg_region(struct tt_msg *msg, void *memory, size_t bytes, tutti_region **made)
{
    tutti_region *region = tt_calloc(1, sizeof *region);
    if (!region) return tt_fail(TUTTI_ERR_MEMORY, "no memory to register a region");
    *region = (tutti_region){.msg = msg, .memory = memory, .bytes = bytes};
    if (msg->ops) tt_wired_map(msg, region);
    add(msg, region);
    *made = region;
    return TUTTI_OK;
}

tutti_status tt_msg_region_free(tutti_region *region)
{
    struct tt_msg *msg = region->msg;
    pthread_mutex_lock(&msg->region_lock);
    *region->link = region->next;
    if (region->next) region->next->link = region->link;
    pthread_mutex_unlock(&msg->region_lock);
    if (region->wire) msg->ops->unmap(region->wire);
    tt_free(region);
    return TUTTI_OK;
}

tutti_status tt_msg_region_key(const tutti_region *region, tutti_key *key)
{
    const struct tt_msg *msg = region->msg;
    struct tt_region_key k = {.rank = msg->f->me,
                              .client = msg->f->client,
                              .region = region->id,
                              .address = tt_fabric_tell(msg->f, region->memory),
                              .memory = (uint64_t)(uintptr_t)region->memory,
                              .bytes = region->bytes};
    size_t wire_bytes = sizeof k.wire;
    if (region->wire) {
        TT_TRY(msg->ops->pack(region->wire, k.wire, &wire_bytes));
        k.wire_bytes = wire_bytes;
    }
    k.hash = hash_of(&k, msg->f->job->stamp);
    memset(key, 0, sizeof *key);
    memcpy(key->bytes, &k, sizeof k);
    return TUTTI_OK;
}

tutti_status tt_region_open(const struct tt_msg *msg, const tutti_key *key, int rank,
                            int64_t offset, int64_t bytes, struct tt_region_key *k)
{
    memcpy(k, key->bytes, sizeof *k);
    if (k->hash != hash_of(k, msg->f->job->stamp) || k->wire_bytes > sizeof k->wire)
        return tt_fail(TUTTI_ERR_ARG, "this is no key of a region of this job");
    if (k->rank != rank || k->client != msg->f->client)
        return tt_fail(TUTTI_ERR_ARG, "the key is of a region of rank %d, the endpoint of rank %d",
                       k->rank, rank);
    if (offset < 0 || bytes < 0 || (uint64_t)bytes > k->bytes ||
        (uint64_t)offset > k->bytes - (uint64_t)bytes)
        return tt_fail(TUTTI_ERR_ARG, "%lld bytes from %lld on are not in a region of %llu bytes",
                       (long long)bytes, (long long)offset, (unsigned long long)k->bytes);
    return TUTTI_OK;
}

static bool holds(const tutti_region *region, uint64_t offset, uint64_t bytes)
{
    return bytes <= region->bytes && offset <= region->bytes - bytes;
}

char *tt_region_find(struct tt_msg *msg, uint64_t id, uint64_t offset, uint64_t bytes)
{
    char *found = NULL;
    pthread_mutex_lock(&msg->region_lock);
    for (tutti_region *region = msg->regions; region; region = region->next)
        if (region->id == id && holds(region, offset, bytes)) found = region->memory + offset;
    pthread_mutex_unlock(&msg->region_lock);
    return found;
}
