/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans that were made, kept by the shape of the call: what all ranks know of it, never addresses.
 * Bounded: a set of a few ways for each hash, where a new shape replaces the oldest.
 */
#ifndef TT_CACHE_H
#define TT_CACHE_H

#include "choose/choose.h"
#include "run/exec.h"

/* A plan with what is needed to run it; shared by the cache and the executions that use it. */
struct tt_prepared {
    int uses;
    struct tt_plan *plan;
    struct tt_exec *spare;       /* for blocking calls; NULL while in use or not made */
    uint64_t shape;              /* fingerprint, equal on all ranks whose calls match */
    int64_t in_bytes, out_bytes; /* that this rank's buffers must have (v-forms: unused) */
    int64_t place;               /* in place: where in OUT the input lies */
    struct tt_what what;
};

/* The key under which the cache keeps a plan. */
struct tt_shape_key {
    uint64_t word[3];
};

enum { TT_CACHE_SETS = 64, TT_CACHE_WAYS = 4 };
struct tt_cache {
    struct tt_shape_key key[TT_CACHE_SETS][TT_CACHE_WAYS];
    struct tt_prepared *prepared[TT_CACHE_SETS][TT_CACHE_WAYS];
    uint8_t oldest[TT_CACHE_SETS];
    struct tt_builder *builder; /* its arrays have grown already */
    /* How algorithms are tuned from outside: TUTTI_SLICE and TUTTI_RADIX, or what `tutti bench` was
     * asked for, which sets these before the first plan. 0, false: as the call says. */
    int64_t slice;
    int32_t radix;
    uint64_t seed;
    bool in_order; /* operands are combined, and segments put, in rank order */
};

/* Makes a plan for this call (of a v-collective: with its counts). Errors: those of tt_choose,
 * MEMORY. */
tutti_status tt_prepare(struct tt_cache *cache, struct tt_team *team, const struct tt_call *call,
                        struct tt_prepared **prepared);
/* Gives up one use. */
void tt_prepared_drop(struct tt_prepared *prepared);

/* The plan for this call out of the cache, or made and put there; the use stays the cache's. */
tutti_status tt_cache_make(struct tt_cache *cache, struct tt_team *team, const struct tt_call *call,
                           struct tt_prepared **prepared);
void tt_cache_release(struct tt_cache *cache);

/* Nobody has checked the values of the call yet: wrong ones make a key that no plan has. */
static inline struct tt_shape_key tt_shape_key(const struct tt_call *c)
{
    uint64_t flags = 1u | (uint64_t)c->commutes << 1 | (uint64_t)c->in_place << 2 |
                     (uint64_t)c->shared << 3 | (uint64_t)(uint8_t)c->as << 16;
    return (struct tt_shape_key){{flags << 32 | (uint64_t)c->coll << 40 | (uint32_t)c->root,
                                  (uint64_t)c->type << 32 | (uint32_t)c->op, (uint64_t)c->n}};
}

static inline unsigned tt_cache_set(struct tt_shape_key key)
{
    uint64_t h =
        (key.word[0] ^ key.word[1] * 0xff51afd7ed558ccdu ^ key.word[2]) * 0x9e3779b97f4a7c15u;
    return (unsigned)(h >> 58);
}

/* The plan kept for this shape, or NULL. */
static inline struct tt_prepared *tt_cache_find(const struct tt_cache *cache,
                                                const struct tt_call *call)
{
    struct tt_shape_key key = tt_shape_key(call);
    unsigned set = tt_cache_set(key);
    for (int way = 0; way < TT_CACHE_WAYS; way++) {
        const struct tt_shape_key *k = &cache->key[set][way];
        if (k->word[0] == key.word[0] && k->word[1] == key.word[1] && k->word[2] == key.word[2])
            return cache->prepared[set][way];
    }
    return NULL;
}

#endif
