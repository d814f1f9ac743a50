/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `tree`: slices go up the links of a tree network to its root and are combined on the
 * way, and the result comes down again. If the adapters of the network can reduce (as in the
 * network tree:2x1023+reduce, src/topo/net.h), this costs the processors nothing.
 *
 *       0             each link carries every slice once up and once down
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
    return tt_tree_allreduce_time_ps(call, map, c, tt_tree_network, SLICE);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    tt_tree_allreduce(b, call, map, me, phase, tt_tree_network, SLICE);
}

const struct tt_algorithm tt_allreduce_tree = {
    .coll = TT_COLL_allreduce,
    .name = "tree",
    .applies = "operations that commute; meant for tree networks",
    .cost = "2 (depth + q) t_s + max(k gamma, (k + 1) t_w) L + k t_w L",
    .source = "CN101114273",
    .refuse = refuse,
    .build = build,
    .time = time_ps,
    .phases = tt_tree_allreduce_phases,
};
