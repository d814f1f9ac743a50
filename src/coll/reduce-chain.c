/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `chain`: each rank receives the reduction of the ranks behind it, slice by slice, combines
 * it with its input, and sends the result on towards the root, at which the chain ends.
 *
 *     slice   0: 3 > 2 > 1 > 0
 *             1:     3 > 2 > 1 > 0          p-1 + slices-1 rounds of one slice
 *             2:         3 > 2 > 1 > 0
 *
 * Each rank sends, receives and reduces each byte at most once, however many ranks there are. So
 * the chain suits long vectors. If operands must stay in rank order, there are two chains, which
 * meet at the root:
 *
 *     0 > 1 > 2 < 3 < 4                     the root receives from both and reduces three operands
 *
 * Source: the pipelined chain of message-passing reductions.
 */
#include "coll/tree.h"

enum { SLICE = 64 << 10 };

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    return tt_tree_reduce_time_ps(call, map, c, tt_tree_chain, SLICE);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_tree_reduce(b, call, map, me, tt_tree_chain, SLICE);
}

const struct tt_algorithm tt_reduce_chain = {
    .coll = TT_COLL_reduce,
    .name = "chain",
    .applies = "always",
    .cost = "(p-2+q) (t_s + (t_w + gamma) L/q)",
    .source = "pipelined chain",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
