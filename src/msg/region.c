/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registered memory: which bytes other ranks may access.
 *
 * A key says which rank the region belongs to, where it lies and how long it is. It also carries a
 * hash of these, so that the library detects bytes that are no key before it accesses any memory. A
 * rank that shares memory with the owner also checks the region's mark, a word in that memory, so
 * it detects a key of a region that was freed. If a rank on another node uses the key of a freed
 * region, the owner refuses the access, or the network refuses its own key.
 */
#include <string.h>

#include "msg/region.h"

#define KEY_MAGIC 0x796b2d6974747574u

enum { LANES = 4 };

/* Adds a word to a hash. Two different words added to the same hash give different results, and so
 * does the same word added to two different hashes. So keys that differ in a single word have
 * different hashes. The words of a key are distributed over LANES hashes, so that the processor
 * computes these in parallel. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static uint64_t hash_of(const struct tt_region_key *key, int64_t stamp)
{
    uint64_t word[sizeof *key / 8], lane[LANES] = {1, 2, 3, 4}, hash = KEY_MAGIC ^ (uint64_t)stamp;
    memcpy(word, key, sizeof word);
    word[0] = 0; /* the hash does not cover itself */
    for (size_t i = 0; i < sizeof word / 8; i += LANES)
        for (size_t k = 0; k < LANES; k++) lane[k] = mix(lane[k], word[i + k]);
    for (size_t k = 0; k < LANES; k++) hash = mix(hash, lane[k]);
    return hash;
}
_Static_assert(sizeof(struct tt_region_key) / 8 % LANES == 0, "whole steps");

/* ---- Marks ---- */

enum { MARKS_AT_ONCE = 512 }; /* marks of 8 bytes that fill a page */

static _Atomic uint64_t *word_at(const struct tt_fabric *f, int64_t offset)
{
    return tt_fabric_at(f, offset);
}

/* Adds a page of marks. */
static tutti_status add_marks(struct tt_msg *msg)
{
    int64_t page;
    struct tt_region_mark *made = NULL;
    TT_TRY(tt_arena_alloc(&msg->f->arena, MARKS_AT_ONCE * 8, &page));
    for (int i = 0; i < MARKS_AT_ONCE; i++) {
        struct tt_region_mark *mark = tt_alloc(sizeof *mark);
        if (!mark) break; /* the rest of the page stays unused */
        *mark = (struct tt_region_mark){page + i * 8, made};
        made = mark;
    }
    if (!made) {
        tt_arena_free(&msg->f->arena, page);
        return tt_fail(TUTTI_ERR_MEMORY, "no memory to register a region");
    }
    msg->free_marks = made;
    return TUTTI_OK;
}

static tutti_status take_mark(struct tt_msg *msg, tutti_region *region)
{
    if (!msg->free_marks) TT_TRY(add_marks(msg));
    region->mark = msg->free_marks;
    msg->free_marks = region->mark->next;
    atomic_store_explicit(word_at(msg->f, region->mark->offset), region->id, memory_order_release);
    return TUTTI_OK;
}

static void give_mark(struct tt_msg *msg, struct tt_region_mark *mark)
{
    atomic_store_explicit(word_at(msg->f, mark->offset), 0, memory_order_release);
    mark->next = msg->free_marks;
    msg->free_marks = mark;
}

static bool is_live(const struct tt_fabric *f, const struct tt_region_key *key)
{
    if (key->mark <= 0 || key->mark % 8 != 0 || !tt_segment_holds(f->segment, key->mark, 8))
        return false;
    return atomic_load_explicit(word_at(f, key->mark), memory_order_acquire) == key->region;
}

/* ---- Regions ---- */

static tutti_status add(struct tt_msg *msg, tutti_region *region)
{
    pthread_mutex_lock(&msg->region_lock);
    region->id = ++msg->regions_made;
    tutti_status status = take_mark(msg, region);
    if (status == TUTTI_OK) {
        region->next = msg->regions;
        if (region->next) region->next->link = &region->next;
        region->link = &msg->regions;
        msg->regions = region;
    }
    pthread_mutex_unlock(&msg->region_lock);
    return status;
}

static struct tt_handles regions_made = TT_HANDLES(tutti_region, 8);

tutti_status tt_msg_region(struct tt_msg *msg, void *memory, size_t bytes, tutti_region **made)
{
    tutti_region *region = tt_handle_new(&regions_made);
    if (!region) return tt_fail(TUTTI_ERR_MEMORY, "no memory to register a region");
    region->msg = msg;
    region->memory = memory;
    region->bytes = bytes;
    tutti_status status = add(msg, region);
    if (status != TUTTI_OK) {
        tt_handle_free(&regions_made, region);
        return status;
    }
    if (msg->ops) region->wire = tt_region_map(msg, memory, bytes);
    *made = region;
    return TUTTI_OK;
}

tutti_status tt_msg_region_free(tutti_region *region)
{
    struct tt_msg *msg = region->msg;
    pthread_mutex_lock(&msg->region_lock);
    *region->link = region->next;
    if (region->next) region->next->link = region->link;
    give_mark(msg, region->mark);
    pthread_mutex_unlock(&msg->region_lock);
    if (region->wire) msg->ops->unmap(region->wire);
    tt_handle_free(&regions_made, region);
    return TUTTI_OK;
}

void tt_region_close(struct tt_msg *msg)
{
    while (msg->regions) (void)tt_msg_region_free(msg->regions);
    for (struct tt_region_mark *mark; (mark = msg->free_marks) != NULL;) {
        msg->free_marks = mark->next;
        tt_free(mark);
    }
}

tutti_status tt_msg_region_key(const tutti_region *region, tutti_key *key)
{
    const struct tt_msg *msg = region->msg;
    struct tt_region_key k = {.rank = msg->f->me,
                              .client = msg->f->client,
                              .region = region->id,
                              .mark = region->mark->offset,
                              .address = tt_fabric_address(msg->f, region->memory),
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
    if (k->client != msg->f->client)
        return tt_fail(TUTTI_ERR_ARG,
                       "the key is of a region of another client (client %d; the context is of "
                       "client %d)",
                       k->client, msg->f->client);
    if (k->rank != rank)
        return tt_fail(TUTTI_ERR_ARG, "the key is of a region of rank %d, the endpoint of rank %d",
                       k->rank, rank);
    if (tt_fabric_shares(msg->f, rank) && !is_live(msg->f, k))
        return tt_fail(TUTTI_ERR_ARG, "rank %d has freed the region of this key", rank);
    if (offset < 0 || bytes < 0 || (uint64_t)bytes > k->bytes ||
        (uint64_t)offset > k->bytes - (uint64_t)bytes)
        return tt_fail(TUTTI_ERR_ARG, "%lld bytes from %lld on are not in a region of %llu bytes",
                       (long long)bytes, (long long)offset, (unsigned long long)k->bytes);
    return TUTTI_OK;
}

void tt_msg_opened(struct tt_msg *msg, tt_opened_fn *fn, void *arg)
{
    msg->opened = fn;
    msg->opened_arg = arg;
}

static bool holds(const tutti_region *region, uint64_t offset, uint64_t bytes)
{
    return bytes <= region->bytes && offset <= region->bytes - bytes;
}

char *tt_region_find(struct tt_msg *msg, uint64_t id, uint64_t offset, uint64_t bytes)
{
    char *found = NULL;
    if (id == TT_REGION_OPENED) {
        bool open = msg->opened && msg->opened(msg->opened_arg, offset, bytes);
        return open ? (char *)(uintptr_t)offset : NULL;
    }
    pthread_mutex_lock(&msg->region_lock);
    for (tutti_region *region = msg->regions; region; region = region->next)
        if (region->id == id && holds(region, offset, bytes)) found = region->memory + offset;
    pthread_mutex_unlock(&msg->region_lock);
    return found;
}

/* ---- The network ---- */

struct tt_wire_region *tt_region_map(struct tt_msg *msg, const void *memory, size_t bytes)
{
    struct tt_wire_region *region;
    if (!msg->keys) return NULL;
    if (msg->ops->map(msg->wire, (void *)memory, bytes, &region) == TUTTI_OK) return region;
    tt_error_undo(); /* the data go in messages */
    return NULL;
}

/* Returns the bytes of the key; 0: there is no key, and the target pulls the data by messages. */
size_t tt_region_offer(tutti_context *c, struct tt_pending *pending, void *key)
{
    size_t bytes = TT_WIRE_KEY;
    pending->region = tt_region_map(c->msg, pending->data, (size_t)pending->bytes);
    if (!pending->region) return 0;
    if (c->msg->ops->pack(pending->region, key, &bytes) == TUTTI_OK)
        return bytes <= TT_WIRE_KEY ? bytes : 0;
    tt_error_undo();
    return 0;
}
