/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall `hypercube`: in step k each rank exchanges with the rank that differs from it in bit k.
 * It sends all blocks whose destination is on the partner's side, which is half of what it holds.
 *
 *     p = 4    step 0:  0 <=[1 3]=> 1     2 <=[1 3]=> 3     from 0 to 1: the blocks for 1 and 3
 *              step 1:  0 <=[2 2]=> 2     1 <=[3 3]=> 3     from 0 to 2: 0's and 1's block for 2
 *
 * The brackets hold the destinations of the blocks that the rank on the left sends. There are
 * log2(p) steps of p / 2 blocks. It is meant for small blocks, since each block is sent log2(p) / 2
 * times on average.
 * Source: Grama et al., Introduction to Parallel Computing, section 4.5.
 */
#include "coll/grid.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    (void)call;
    return tt_pow2_below(map->p) == map->p ? NULL : "needs a power of two of ranks";
}

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    struct tt_grid grid = tt_grid_cube(map->p);
    return tt_grid_time_ps(&grid, map->p, tt_call_bytes(call), c);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_grid grid = tt_grid_cube(map->p);
    tt_grid_exchange(b, &grid, me, tt_call_bytes(call));
}

const struct tt_algorithm tt_alltoall_hypercube = {
    .coll = TT_COLL_alltoall,
    .name = "hypercube",
    .applies = "p a power of two",
    .cost = "log2(p) (t_s + p/2 t_w m)",
    .source = "Grama et al., section 4.5",
    .refuse = refuse,
    .build = build,
    .time = time_ps,
};
