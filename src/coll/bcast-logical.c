/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast `logical`: slices stream down the logical tree of unequal nodes.
 *
 *     [ 0 -> 1 2 3 ]      through the window of 0; then 1 2 3 send to the local roots 4 6 7 side by
 *            v v v        side, whose windows the others of their nodes read
 *        [4 5][6][7]
 *
 * The root's node sends nothing but what its ranks send to their children; a root on a smaller node
 * sends to the global root, and its node gets it from nobody else. Source: docs/hierarchy.md.
 */
#include "coll/logical.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    return tt_logical_refuse(call, map, TT_DOWN);
}

static struct tt_count count(const struct tt_call *call, const struct tt_map *map)
{
    return tt_logical_count(call, map, TT_DOWN);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_logical_build(b, call, map, me, TT_DOWN);
}

const struct tt_algorithm tt_bcast_logical = {
    .coll = TT_COLL_bcast,
    .name = "logical",
    .applies = "windows within the nodes",
    .cost = "(depth + q - 1) slots of a slice: t_s + k t_w L/q between nodes, 2 t_w' L/q within",
    .source = "the logical tree for unequal nodes",
    .refuse = refuse,
    .count = count,
    .build = build,
};
