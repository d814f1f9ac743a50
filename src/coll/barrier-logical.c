/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier `logical`: signals go up the logical tree of unequal nodes (topo/logical.h), and down
 * again.
 *
 *     [ 0 <- 1 2 3 ]      first 4 awaits 5; then 1 2 3 await 4 6 7; then 0 awaits 1 2 3, and the
 *            ^ ^ ^        signals go back
 *        [4 5][6][7]
 *
 * Between nodes there is one signal in each direction for every node but one.
 * Source: docs/hierarchy.md.
 */
#include "coll/logical.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    return tt_logical_refuse(call, map, 0);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_logical_build(b, call, map, me, 0);
}

const struct tt_algorithm tt_barrier_logical = {
    .coll = TT_COLL_barrier,
    .name = "logical",
    .applies = "nodes of at most 1024 ranks",
    .cost = "2 depth t_s, t_s of a node or between nodes",
    .source = "the logical tree for unequal nodes",
    .refuse = refuse,
    .build = build,
};
