/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `tree`: slices go along the links of a tree network towards the root and are combined on
 * the way, so each link carries every slice once. If the adapters of the network can reduce
 * (tree:2x1023+reduce), this costs the processors nothing.
 *
 *       0             tree:2x7, to 0
 *      / \
 *     1   2           the operands do not come in rank order
 *    3 4 5 6
 *
 * On other networks the tree is the binary (k-ary) tree in breadth-first order.
 * Source: the collective network of CN101114273.
 */
#include "coll/tree.h"

enum { SLICE = 64 << 10 };

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    if (!call->commutes) return tt_needs_order;
    return tt_refuse_network(call, map);
}

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    return tt_tree_reduce_time_ps(call, map, c, tt_tree_network, SLICE);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_tree_reduce(b, call, map, me, tt_tree_network, SLICE);
}

const struct tt_algorithm tt_reduce_tree = {
    .coll = TT_COLL_reduce,
    .name = "tree",
    .applies = "operations that commute; meant for tree networks",
    .cost = "(depth + q) t_s + max(k gamma, (k + 1) t_w) L",
    .source = "CN101114273",
    .refuse = refuse,
    .build = build,
    .time = time_ps,
};
