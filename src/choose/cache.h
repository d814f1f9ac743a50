/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cache of plans. The key is the shape of the call, which all ranks know: it contains no
 * addresses.
 *
 * The cache is bounded. It is set-associative: the hash of the key selects a set of a few entries,
 * and a new plan replaces the oldest entry of its set. There may be thousands of teams with few
 * shapes each, so a set is allocated when its first plan comes.
 */
#ifndef TT_CACHE_H
#define TT_CACHE_H

#include <string.h>

#include "choose/choose.h"
#include "run/exec.h"

struct tt_trial;
struct tt_trials;

/* A plan with what is needed to run it. The cache and the executions of the plan share this
 * structure, and `uses` counts their references to it. */
struct tt_prepared {
    int uses;
    struct tt_plan *plan;
    struct tt_exec *spare;       /* an execution kept for blocking calls; NULL while it is in use,
                                  * or not made yet */
    struct tt_exec *idle;        /* an execution kept for the next request; NULL: none is kept */
    uint64_t shape;              /* fingerprint, equal on all ranks whose calls match */
    int64_t in_bytes, out_bytes; /* bytes that this rank's buffers must have (unused in
                                  * v-collectives) */
    int64_t place;               /* for calls in place: the offset of the input in OUT */
    /* true: each call owns a reference to the plan and gives it up when it has ended, because the
     * call has a count for each rank (tt_call_counts), or its algorithm is being measured. false:
     * the cache owns the reference. */
    bool owned;
    bool segments;           /* the buffers have a segment for each rank (tt_call_segments) */
    enum tt_windows windows; /* the windows that the plan uses; equal on all ranks whose calls
                              * match */
    struct tt_trial *trial;  /* the trial that measures this plan (measure.h); NULL: none does */
    struct tt_call_signature signature;
    /* If the cache keeps a call with this plan in a struct tt_repeat: the memory that holds copies
     * of the call's lists of counts and displacements, and is freed with the plan. NULL: the cache
     * keeps no such call. */
    int64_t *lists;
};

/* The key under which the cache keeps a plan. */
struct tt_shape_key {
    uint64_t word[3];
};

/* The arguments of a call that has a count for each rank, as the program gave them, before they are
 * checked. `list` has the lists of counts and displacements; NULL: the call has no such list. */
enum { TT_LISTS = 4 };
struct tt_as_given {
    struct tt_shape_key key;
    int64_t n, longest;
    const int64_t *list[TT_LISTS];
};

/* The bytes of a buffer from its first piece to its last one. Without pieces, begin >= end. */
struct tt_stretch {
    int64_t begin, end;
};

/* The record of a call with a count for each rank. It is kept because many programs make the same
 * call again. The call was checked, except for its buffers. All lists lie in `prepared`, so they
 * last as long as a call uses `prepared`. */
struct tt_repeat {
    struct tt_prepared *prepared; /* NULL: this entry keeps no call */
    struct tt_as_given given;
    struct tt_call call;
    struct tt_stretch in, out;
};

enum { TT_CACHE_SETS = 64, TT_CACHE_WAYS = 4, TT_CACHE_REPEATS = 4 };
struct tt_cache_set {
    struct tt_shape_key key[TT_CACHE_WAYS]; /* the key of an entry without a plan is all zero */
    struct tt_prepared *prepared[TT_CACHE_WAYS];
    unsigned oldest; /* the number of plans that were put into this set so far */
};
struct tt_cache {
    struct tt_cache_set *set[TT_CACHE_SETS];
    struct tt_repeat repeat[TT_CACHE_REPEATS];
    unsigned oldest_repeat;
    struct tt_rankings *rankings; /* the rankings of the client; NULL: the job does not estimate */
    struct tt_trials *trials;     /* the trials of this team (measure.h); NULL: there was none
                                   * yet */
    struct tt_builder *builder; /* kept from plan to plan, so that its arrays need not grow again */
    /* Tuning from outside: TUTTI_SLICE, TUTTI_RADIX and TUTTI_LANES, or the options of `tutti
     * bench`, which sets these members before the first plan. 0 or false: the call decides. */
    int64_t slice;
    int32_t radix, lanes;
    uint64_t seed;
    bool in_order; /* operands are combined in rank order, and the puts of an alltoall(v) by
                    * `exchange` are made in rank order */
};

/* Makes a plan for this call; for a v-collective, the plan contains the counts. The caller owns a
 * reference to the plan (tt_prepared.uses) and gives it up with tt_prepared_drop. Errors: those of
 * tt_choose, and MEMORY. */
tutti_status tt_prepare(struct tt_cache *cache, struct tt_team *team, const struct tt_call *call,
                        struct tt_prepared **prepared);
/* Makes a plan as tt_prepare does, but by this choice, whose algorithm must apply, and logs
 * nothing. If `choice` is NULL, tt_choose chooses. */
tutti_status tt_prepare_by(struct tt_cache *cache, struct tt_team *team, const struct tt_call *call,
                           const struct tt_choice *choice, struct tt_prepared **prepared);
/* Keeps a call with its plan. The plan must depend on nothing but repeat->given. If there is no
 * memory, the call is not kept. */
void tt_repeat_keep(struct tt_cache *cache, const struct tt_repeat *repeat, int p);
/* tt_prepared_drop gives up one reference to the plan, and frees the plan (tt_prepared_free) if
 * this was the last one. NULL is allowed. */
void tt_prepared_free(struct tt_prepared *prepared);
static inline void tt_prepared_drop(struct tt_prepared *prepared)
{
    if (prepared && --prepared->uses == 0) tt_prepared_free(prepared);
}

/* Makes a plan for this call and puts it into the cache, which owns the only reference to the plan:
 * the caller calls tt_prepared_drop only if (*prepared)->owned is true. Errors: those of
 * tt_prepare. */
tutti_status tt_cache_make(struct tt_cache *cache, struct tt_team *team, const struct tt_call *call,
                           struct tt_prepared **prepared);
/* Puts a plan into the cache, which takes over the caller's reference to the plan. If there is no
 * memory for that, the caller keeps its reference, and prepared->owned is true. */
void tt_cache_keep(struct tt_cache *cache, const struct tt_call *call,
                   struct tt_prepared *prepared);
/* Reads the settings and makes the builder, which the cache needs before its first plan. Errors:
 * MEMORY. */
tutti_status tt_cache_ready(struct tt_cache *cache, const struct tt_team *team,
                            const struct tt_call *call);
/* Returns a copy of the call with the settings that the cache has read; plans are made for this
 * copy. */
struct tt_call tt_cache_tuned(const struct tt_cache *cache, const struct tt_call *call);
void tt_cache_release(struct tt_cache *cache);

/* Returns the key of a call. The values of the call need not have been checked: invalid values give
 * a key that no cached plan has. */
static inline struct tt_shape_key tt_shape_key(const struct tt_call *c)
{
    uint64_t flags = 1u | (uint64_t)c->commutes << 1 | (uint64_t)c->in_place << 2 |
                     (uint64_t)c->shared << 3 | (uint64_t)(uint8_t)c->as << 16;
    return (struct tt_shape_key){{flags << 32 | (uint64_t)c->coll << 40 | (uint32_t)c->root,
                                  (uint64_t)c->type << 32 | (uint32_t)c->op, (uint64_t)c->n}};
}

/* Returns the index of the set for a key. */
static inline unsigned tt_cache_index(struct tt_shape_key key)
{
    uint64_t h =
        (key.word[0] ^ key.word[1] * 0xff51afd7ed558ccdu ^ key.word[2]) * 0x9e3779b97f4a7c15u;
    return (unsigned)(h >> 58);
}

/* Returns the cached plan for the shape of this call, or NULL. */
static inline struct tt_prepared *tt_cache_find(const struct tt_cache *cache,
                                                const struct tt_call *call)
{
    struct tt_shape_key key = tt_shape_key(call);
    const struct tt_cache_set *set = cache->set[tt_cache_index(key)];
    for (int way = 0; set && way < TT_CACHE_WAYS; way++) {
        const struct tt_shape_key *k = &set->key[way];
        if (k->word[0] == key.word[0] && k->word[1] == key.word[1] && k->word[2] == key.word[2])
            return set->prepared[way];
    }
    return NULL;
}

/* Returns whether two lists of p entries are equal. For short lists, a call of memcmp would take
 * longer. */
static inline bool tt_equal_lists(const int64_t *a, const int64_t *b, int p)
{
    if (!a || !b) return a == b;
    if (p > 16) return memcmp(a, b, (size_t)p * sizeof *a) == 0;
    for (int i = 0; i < p; i++)
        if (a[i] != b[i]) return false;
    return true;
}

static inline bool tt_equal_given(const struct tt_as_given *a, const struct tt_as_given *b, int p)
{
    uint64_t differs = (a->key.word[0] ^ b->key.word[0]) | (a->key.word[1] ^ b->key.word[1]) |
                       (a->key.word[2] ^ b->key.word[2]) | (uint64_t)(a->n ^ b->n) |
                       (uint64_t)(a->longest ^ b->longest);
    _Static_assert(TT_LISTS == 4, "all are compared");
    return differs == 0 && tt_equal_lists(a->list[0], b->list[0], p) &&
           tt_equal_lists(a->list[1], b->list[1], p) && tt_equal_lists(a->list[2], b->list[2], p) &&
           tt_equal_lists(a->list[3], b->list[3], p);
}

/* Returns the kept call that was given with these arguments, if it is among the last few that were
 * kept; NULL: it is not. A caller that uses the plan of the call adds 1 to prepared->uses. */
static inline struct tt_repeat *tt_repeat_find(struct tt_cache *cache,
                                               const struct tt_as_given *given, int p)
{
    for (int i = 0; i < TT_CACHE_REPEATS; i++) {
        struct tt_repeat *repeat = &cache->repeat[i];
        if (repeat->prepared && tt_equal_given(&repeat->given, given, p)) return repeat;
    }
    return NULL;
}

#endif
