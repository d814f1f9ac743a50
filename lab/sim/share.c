/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/share.h"

#include <string.h>

/* ---- Numbers instead of ranks ---- */

/* Returns what stands for a rank in a shared plan (share.h), and adds the rank to the list if it is
 * among the first. A negative `rank` stands for no single rank. */
static inline int32_t number(struct tt_named *named, int32_t rank)
{
    if (rank < 0) return rank;
    for (uint32_t i = named->n; i > 0; i--) /* often, the rank was named just before */
        if (named->rank[i - 1] == rank) return (int32_t)i - 1;
    if (named->n == TT_SHARE_RANKS) return rank + TT_SHARE_RANKS;
    named->rank[named->n] = rank;
    return (int32_t)named->n++;
}

/* In steps of other kinds, `peer` has no meaning. */
static inline bool has_peer(const struct tt_step *s)
{
    return tt_kind_starts((enum tt_kind)s->kind) || s->kind == TT_SIGNAL || s->kind == TT_AWAIT;
}

/* Replaces the ranks in the plan by their numbers. Nobody else uses the plan yet, so the casts that
 * remove `const` are allowed. */
static void number_ranks(struct tt_plan *plan, struct tt_named *named)
{
    struct tt_step *steps = (struct tt_step *)plan->steps;
    struct tt_range *ranges = (struct tt_range *)plan->ranges;
    int32_t *ranks = (int32_t *)plan->ranks;
    for (uint32_t i = 0; i < plan->steps_n; i++)
        if (has_peer(&steps[i])) steps[i].peer = number(named, steps[i].peer);
    for (uint32_t i = 0; i < plan->ranges_n; i++) ranges[i].rank = number(named, ranges[i].rank);
    for (uint32_t i = 0; i < plan->ranks_n; i++) ranks[i] = number(named, ranks[i]);
}

/* ---- Equal plans ---- */

/* The lists of a plan follow its header in one block of memory. */
static const char *lists(const struct tt_plan *plan)
{
    return (const char *)plan + tt_round_up(sizeof *plan, 8);
}

static size_t lists_bytes(const struct tt_plan *plan)
{
    return (size_t)(plan->bytes - tt_round_up(sizeof *plan, 8));
}

/* Continues the hash h by a word, such that each bit of both changes the low bits of the result. */
static inline uint64_t mix(uint64_t h, uint64_t word)
{
    unsigned __int128 product = (unsigned __int128)(h ^ word) * 0x9e3779b97f4a7c15u;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Returns a hash of the lists of a plan. Four hashes, of every fourth word each, are computed side
 * by side, which is faster than one. */
static uint64_t hash_of(const struct tt_plan *plan)
{
    const uint64_t *word = (const uint64_t *)(const void *)lists(plan);
    size_t n = lists_bytes(plan) / sizeof *word, i = 0;
    uint64_t h[4] = {1, 2, 3, 4};
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++) h[k] = mix(h[k], word[i + k]);
    for (; i < n; i++) h[0] = mix(h[0], word[i]);
    return mix(mix(mix(h[0], h[1]), h[2]), h[3]);
}

/* Returns whether two plans are equal, except that they may belong to different ranks. */
static bool equal(const struct tt_plan *a, const struct tt_plan *b)
{
    return a->bytes == b->bytes && a->lanes == b->lanes && a->steps_n == b->steps_n &&
           a->ranges_n == b->ranges_n && a->shapes_n == b->shapes_n && a->varies_n == b->varies_n &&
           a->ranks_n == b->ranks_n && a->exchanges_n == b->exchanges_n &&
           memcmp(a->lane, b->lane, sizeof a->lane) == 0 &&
           memcmp(lists(a), lists(b), lists_bytes(a)) == 0;
}

/* ---- The table ---- */

static struct tt_shared **bucket(const struct tt_shares *shares, uint64_t hash)
{
    return &shares->bucket[hash & (shares->room - 1)];
}

static bool grow(struct tt_shares *shares)
{
    struct tt_shares larger = {.n = shares->n, .room = shares->room ? 2 * shares->room : 64};
    larger.bucket = tt_calloc(larger.room, sizeof *larger.bucket);
    if (!larger.bucket) return false;
    for (size_t i = 0; i < shares->room; i++) {
        struct tt_shared *next;
        for (struct tt_shared *h = shares->bucket[i]; h; h = next) {
            struct tt_shared **to = bucket(&larger, h->hash);
            next = h->next;
            h->next = *to;
            *to = h;
        }
    }
    tt_free(shares->bucket);
    *shares = larger;
    return true;
}

/* Adds a plan to the table, for one user. Returns NULL if there is no memory. */
static struct tt_shared *insert(struct tt_shares *shares, struct tt_plan *plan, uint64_t hash)
{
    if (shares->n == shares->room && !grow(shares)) return NULL;
    struct tt_shared *shared = tt_alloc(sizeof *shared), **to = bucket(shares, hash);
    if (!shared) return NULL;
    *shared = (struct tt_shared){.plan = plan, .hash = hash, .users = 1, .next = *to};
    *to = shared;
    shares->n++;
    return shared;
}

/* A plan with a generator is not shared, because the order of a generator depends on the rank. */
struct tt_shared *tt_share(struct tt_shares *shares, struct tt_plan *plan, struct tt_named *named)
{
    named->n = 0;
    bool may = plan->exchanges_n == 0;
    if (may) number_ranks(plan, named);
    uint64_t hash = may ? hash_of(plan) : (uintptr_t)plan / 64;
    struct tt_shared *shared = may && shares->room ? *bucket(shares, hash) : NULL;
    while (shared && (shared->hash != hash || !equal(shared->plan, plan))) shared = shared->next;
    if (shared) {
        shared->users++;
        tt_plan_free(plan);
        return shared;
    }
    shared = insert(shares, plan, hash);
    if (!shared) tt_plan_free(plan);
    return shared;
}

void tt_unshare(struct tt_shares *shares, struct tt_shared *shared)
{
    if (--shared->users > 0) return;
    struct tt_shared **at = bucket(shares, shared->hash);
    while (*at != shared) at = &(*at)->next;
    *at = shared->next;
    shares->n--;
    tt_plan_free(shared->plan);
    tt_free(shared);
}

void tt_shares_free(struct tt_shares *shares)
{
    tt_free(shares->bucket);
    *shares = (struct tt_shares){.n = 0};
}
