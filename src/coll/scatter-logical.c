/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scatter `logical`: pieces go down the logical tree of unequal nodes (topo/logical.h). The root
 * sends each rank of the largest node its piece and the pieces of some other nodes. The rank sends
 * these pieces on to the local roots of those nodes, and each local root sends the ranks of its
 * node their pieces.
 *
 *     [ 0  1  2  3 ]    the ranks of the largest node, 1, 2 and 3, send to other nodes at the same
 *          v  v  v      time; 0 is the root
 *        [4 5][6][7]
 *
 * Between the nodes there is one message for each other node, as in `composed`, but no rank has to
 * send them all. Each piece takes one more step within the largest node.
 * Source: docs/hierarchy.md.
 */
#include "coll/pieces.h"

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_pieces_scatter(b, call, map, me);
}

const struct tt_algorithm tt_scatter_logical = {
    .coll = TT_COLL_scatter,
    .name = "logical",
    .applies = "always; meant for nodes of different sizes",
    .cost = "n t_s + p t_w L within, (nodes/senders) t_s + t_w p L between",
    .source = "the logical tree for unequal nodes",
    .refuse = tt_refuse_never,
    .build = build,
};
