/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `logical`: slices go up the logical tree of unequal nodes (topo/logical.h) in one lane,
 * and down again in another.
 *
 *     lane 0   [ 0 <= 1 2 3 ] <- [4 <= 5] ...     a slice goes up
 *     lane 1   [ 0 => 1 2 3 ] -> [4 => 5] ...     while an earlier one comes down
 *
 * Brackets are nodes. The arrows <= and => are copies through windows, and <- and -> are messages.
 * So both directions of the network are busy at once, and a long vector takes about as long as in a
 * reduce.
 * Source: docs/hierarchy.md.
 */
#include "coll/logical.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    return tt_logical_refuse(call, map, TT_UP | TT_DOWN);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_logical_build(b, call, map, me, TT_UP | TT_DOWN);
}

const struct tt_algorithm tt_allreduce_logical = {
    .coll = TT_COLL_allreduce,
    .name = "logical",
    .applies = "windows within the nodes; in rank order: nodes of adjacent ranks",
    .cost = "(2 depth + q - 1) slots of a slice, as of reduce and bcast",
    .source = "the logical tree for unequal nodes",
    .refuse = refuse,
    .build = build,
    .divides = true,
};
