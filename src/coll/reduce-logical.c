/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `logical`: slices go up the logical tree of unequal nodes (topo/logical.h). Here the node
 * of ranks 0 to 3 is the identified node (the node with the most ranks), and 0 is the global root.
 *
 *     [ 0 <= 1 2 3 ]      1. on each of the other nodes the ranks put slices into their windows,
 *            ^ ^ ^           and the local root reduces them; 2. the local roots send the sums to
 *        [4 5][6][7]         their parents (1, 2 and 3), all at the same time; 3. each parent
 *                            reduces this sum and its own slice into its window, and the global
 *                            root reduces the windows of its node
 *
 * Source: docs/hierarchy.md.
 */
#include "coll/logical.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    return tt_logical_refuse(call, map, TT_UP);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_logical_build(b, call, map, me, TT_UP);
}

const struct tt_algorithm tt_reduce_logical = {
    .coll = TT_COLL_reduce,
    .name = "logical",
    .applies = "windows within the nodes; in rank order: nodes of adjacent ranks",
    .cost = "(depth + q - 1) slots of a slice: t_s + k t_w L/q between nodes, n gamma L/q within",
    .source = "the logical tree for unequal nodes",
    .refuse = refuse,
    .build = build,
};
