/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `binomial`: the tree of broadcast `binomial`, upwards. Each rank receives the slices of
 * all its children at once and combines them with its own slice in one pass.
 *
 *     0<1    2<3    4<5    6<7
 *     0 <--- 2      4 <--- 6
 *     0 <---------- 4
 *
 * The root receives log2 p messages. For an operation that does not commute the root of the tree is
 * rank 0, which sends the result on.
 * Source: the binomial tree of message-passing reductions.
 */
#include "coll/tree.h"

enum { SLICE = 64 << 10 };

/* Returns the time for a message of one slice, else -1. In the formula of textbooks a rank reduces
 * after each child's message, so there are log2 p reductions of two operands in turn. Here a rank
 * reduces the slices of all children in one pass, after the last one has come. Along the longest
 * branch of the tree the ranks have 1, 2 ... log2 p children, so gamma counts 1 + 2 + ... + log2 p
 * times. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int p = map->p;
    int64_t bytes = tt_call_bytes(call), rounds = tt_log2_up(p);
    bool at_once = tt_slice_bytes(call, SLICE) >= bytes, even = tt_pow2_below(p) == p;
    if (c->all_ports || !at_once || (!call->commutes && call->root > 0)) return -1;
    /* Unless p is a power of two, messages of several children may arrive at the same time, which
     * the formula does not cover. */
    if ((c->gamma > 0 || c->starts_side_by_side) && !even) return -1;
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
    .build = build,
    .time = time_ps,
};
