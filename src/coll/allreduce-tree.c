/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `tree`: slices stream up the links of a tree network to its root, combined on the way, and the result
 * down again. Where the adapters of the network reduce (tree:2x1023+reduce), that costs the processors
 * nothing.
 *
 *       0             each link carries every slice once up and once down
 *      / \
 *     1   2           the operands do not come in rank order
 *    3 4 5 6
 *
 * On other networks the tree is the binary (k-ary) one in breadth-first order.
 * Source: the collective network of CN101114273.
 */
#include "coll/tree.h"

enum { SLICE = 64 << 10 };

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    if (!call->commutes) return tt_needs_order;
    return tt_refuse_network(call, map);
}

static struct tt_count count(const struct tt_call *call, const struct tt_map *map)
{
    struct tt_count most = {0};
    for (int r = 0; r < map->p; r++) {
        struct tt_count mine = tt_tree_reduce_count(call, map, r, tt_tree_network, SLICE);
        tt_count_add(&mine, tt_tree_bcast_count(call, map, r, 0, tt_tree_network, SLICE));
        tt_count_raise(&most, mine);
    }
    return most;
}

static int phases(const struct tt_call *call, const struct tt_map *map)
{
    (void)call;
    (void)map;
    return 2;
}

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t up = tt_tree_reduce_time_ps(call, map, c, tt_tree_network, SLICE);
    return up < 0 ? -1 : up + tt_tree_bcast_time_ps(call, map, c, 0, tt_tree_network, SLICE);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    if (phase == 0)
        tt_tree_reduce(b, call, map, me, tt_tree_network, SLICE);
    else
        tt_tree_bcast(b, call, map, me, 0, tt_tree_network, SLICE);
}

const struct tt_algorithm tt_allreduce_tree = {
    .coll = TT_COLL_allreduce,
    .name = "tree",
    .applies = "operations that commute; meant for tree networks",
    .cost = "2 (depth + q) t_s + max(k gamma, (k + 1) t_w) L + k t_w L",
    .source = "CN101114273",
    .refuse = refuse,
    .count = count,
    .build = build,
    .time = time_ps,
    .phases = phases,
};
