/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans that ranks share. In most phases the plans of many ranks differ only in the ranks that
 * their steps name. So the simulator replaces these ranks by numbers, and keeps equal plans once.
 * The number i < TT_SHARE_RANKS stands for the i-th of the ranks that the plan names, in the order
 * in which they first occur in it; each rank keeps this list. If the plan names still more ranks,
 * the number r + TT_SHARE_RANKS stands for the rank r. For example, in the first phase of
 * `doubling` on 2^k ranks there are two plans, one of the even ranks and one of the odd ranks; each
 * of them names only the rank 0, which stands for the partner.
 */
#ifndef TT_SIM_SHARE_H
#define TT_SIM_SHARE_H

#include "plan/plan.h"

enum { TT_SHARE_RANKS = 64 };

/* The ranks for which the numbers 0 .. n-1 stand. n is 0 if the plan names no ranks. It is also 0
 * if the plan has a generator, whose order depends on the ranks: then the plan is not changed. */
struct tt_named {
    uint32_t n;
    int32_t rank[TT_SHARE_RANKS];
};

struct tt_shared {
    struct tt_plan *plan;
    uint64_t hash;
    uint32_t users;         /* how many ranks have the plan */
    struct tt_shared *next; /* the next plan in the same bucket of the table */
};

/* All shared plans, in a hash table: plan h is in the list bucket[h->hash % room]. `room` is 0 or a
 * power of two; n is the number of plans. */
struct tt_shares {
    struct tt_shared **bucket;
    size_t n, room;
};

/* Takes over a plan, which may name ranks. Returns the shared plan that equals it, and sets *named.
 * Returns NULL if there is no memory. */
struct tt_shared *tt_share(struct tt_shares *shares, struct tt_plan *plan, struct tt_named *named);
/* Ends the use of a plan by one rank, and frees the plan if no other rank uses it. */
void tt_unshare(struct tt_shares *shares, struct tt_shared *shared);
/* Frees the table, in which no plan is left. */
void tt_shares_free(struct tt_shares *shares);

#endif
