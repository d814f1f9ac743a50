/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gather `logical`: pieces go up the logical tree of unequal nodes (topo/logical.h). On each node
 * but the largest, the ranks send their pieces to the local root, which sends all of them to a rank
 * of the largest node. The ranks of the largest node send what they have to the root.
 *
 *     [ 0  1  2  3 ]    the ranks of the largest node, 1, 2 and 3, receive from other nodes at the
 *          ^  ^  ^      same time; 0 is the root
 *        [4 5][6][7]
 *
 * Between the nodes there is one message for each other node, as in `composed`, but no rank has to
 * receive them all. Each piece takes one more step within the largest node.
 * Source: docs/hierarchy.md.
 */
#include "coll/pieces.h"

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_pieces_gather(b, call, map, me);
}

const struct tt_algorithm tt_gather_logical = {
    .coll = TT_COLL_gather,
    .name = "logical",
    .applies = "always; meant for nodes of different sizes",
    .cost = "(nodes/receivers) t_s + t_w p L between, n t_s + p t_w L within",
    .source = "the logical tree for unequal nodes",
    .refuse = tt_refuse_never,
    .build = build,
};
