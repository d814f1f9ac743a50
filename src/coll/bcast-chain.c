/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast `chain`: each rank receives the message from the rank before it, slice by slice, and
 * sends it on to the rank after it. The chain begins at the root.
 *
 *     slice   0: 0 > 1 > 2 > 3
 *             1:     0 > 1 > 2 > 3          p-1 + slices-1 rounds of one slice
 *             2:         0 > 1 > 2 > 3
 *
 * Each rank sends and receives each byte at most once, however many ranks there are. So the chain
 * suits long messages: with many slices, it takes hardly longer than a single message.
 * Source: the pipelined chain of message-passing broadcasts.
 */
#include "coll/tree.h"

enum { SLICE = 64 << 10 };

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    return tt_tree_bcast_time_ps(call, map, c, call->root, tt_tree_chain, SLICE);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_tree_bcast(b, call, map, me, call->root, tt_tree_chain, SLICE);
}

const struct tt_algorithm tt_bcast_chain = {
    .coll = TT_COLL_bcast,
    .name = "chain",
    .applies = "always",
    .cost = "(p-2+q) (t_s + t_w L/q)",
    .source = "pipelined chain",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
