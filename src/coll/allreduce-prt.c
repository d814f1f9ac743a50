/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `prt`, the pipelined tree: slices stream up a binary (k-ary) tree to rank 0, and the
 * result streams down again.
 *
 *         0            in and out of an inner rank: 3 L up, 3 L down
 *       /   \
 *      1     4         the baseline that `halving` is measured against
 *     2 3   5 6
 *
 * Source: the prior art of CN101206588.
 */
#include "coll/tree.h"

enum { SLICE = 64 << 10 };

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    (void)map;
    return tt_refuse_radix(call);
}

static struct tt_count count(const struct tt_call *call, const struct tt_map *map)
{
    struct tt_count most = {0};
    for (int r = 0; r < map->p; r++) {
        struct tt_count mine = tt_tree_reduce_count(call, map, r, tt_tree_radix, SLICE);
        tt_count_add(&mine, tt_tree_bcast_count(call, map, r, 0, tt_tree_radix, SLICE));
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
    int64_t up = tt_tree_reduce_time_ps(call, map, c, tt_tree_radix, SLICE);
    return up < 0 ? -1 : up + tt_tree_bcast_time_ps(call, map, c, 0, tt_tree_radix, SLICE);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    if (phase == 0)
        tt_tree_reduce(b, call, map, me, tt_tree_radix, SLICE);
    else
        tt_tree_bcast(b, call, map, me, 0, tt_tree_radix, SLICE);
}

const struct tt_algorithm tt_allreduce_prt = {
    .coll = TT_COLL_allreduce,
    .name = "prt",
    .applies = "always",
    .cost = "2 log2(p) t_s + max(2 gamma + 3 t_w, 6 t_w) L",
    .source = "prior art of CN101206588",
    .refuse = refuse,
    .count = count,
    .build = build,
    .time = time_ps,
    .phases = phases,
};
