/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast `tree`: slices go along the links of a tree network, from the root outwards. Each
 * message takes one link, and no two messages use the same one.
 *
 *          1                  tree:2x6, a tree of 6 nodes of which 0 is the root and each
 *        / | \                has up to 2 children; here the message comes from rank 1
 *       0  3  4
 *       |
 *       2 - 5
 *
 * On other networks the tree is the binary (k-ary) tree in breadth-first order.
 * Source: the collective network of CN101114273; pipelined broadcast along a tree.
 */
#include "coll/tree.h"

enum { SLICE = 64 << 10 };

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    return tt_tree_bcast_time_ps(call, map, c, call->root, tt_tree_network, SLICE);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_tree_bcast(b, call, map, me, call->root, tt_tree_network, SLICE);
}

const struct tt_algorithm tt_bcast_tree = {
    .coll = TT_COLL_bcast,
    .name = "tree",
    .applies = "always; meant for tree networks",
    .cost = "(depth + q) t_s + k t_w L",
    .source = "CN101114273",
    .refuse = tt_refuse_network,
    .build = build,
    .time = time_ps,
};
