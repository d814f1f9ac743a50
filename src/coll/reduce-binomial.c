/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `binomial`: the tree of the broadcast, upwards; each rank takes all its children's slices
 * at once and combines them with its own in one pass.
 *
 *     0>1    2>3    4>5    6>7  (upwards)
 *     0 <--- 2      4 <--- 6
 *     0 <---------- 4
 *
 * log2 p messages into the root. Operands of an operation that does not commute go up a tree that
 * stands on rank 0, which hands the result on.
 * Source: the binomial tree of message-passing reductions.
 */
#include "coll/tree.h"

enum { SLICE = 64 << 10 };

static struct tt_count count_rank(const struct tt_call *call, const struct tt_map *map, int me)
{
    return tt_tree_reduce_count(call, map, me, tt_tree_binomial, SLICE);
}

/* In one slice. The textbook reduces when each child's has come, log2(p) L gamma; here one pass
 * over all children's, after the last has come: 1 + 2 + ... + log2 p children up the longest
 * branch. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int p = map->p;
    int64_t bytes = tt_call_bytes(call), rounds = tt_log2_up(p);
    bool at_once = tt_slice_bytes(call, SLICE) >= bytes, even = tt_pow2_below(p) == p;
    if (c->all_ports || !at_once || (!call->commutes && call->root > 0)) return -1;
    if ((c->gamma > 0 || c->starts_side_by_side) && !even) return -1; /* children come together */
    return rounds * (c->ts + c->tw * bytes) + rounds * (rounds + 1) / 2 * c->gamma * bytes;
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_tree_reduce(b, call, map, me, tt_tree_binomial, SLICE);
}

const struct tt_algorithm tt_reduce_binomial = {
    .coll = TT_COLL_reduce,
    .name = "binomial",
    .applies = "always",
    .cost = "log2(p) (t_s + t_w L) + log2(p) (log2(p)+1)/2 gamma L",
    .source = "binomial tree",
    .refuse = tt_refuse_never,
    .count_rank = count_rank,
    .build = build,
    .time = time_ps,
};
