/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast `logical`: slices go down the logical tree of unequal nodes (topo/logical.h).
 *
 *     [ 0 -> 1 2 3 ]      1 2 3 read the window of 0; then they send to the local roots 4 6 7,
 *            v v v        all at the same time; the other ranks of those nodes read the windows
 *        [4 5][6][7]      of their local roots
 *
 * From the node of the root, each rank sends only to its own children. If the node of the root is
 * smaller than others, the root sends to the global root (topo/logical.h), and the other ranks of
 * its node read the root's window.
 * Source: docs/hierarchy.md.
 */
#include "coll/logical.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    return tt_logical_refuse(call, map, TT_DOWN);
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
    .build = build,
};
