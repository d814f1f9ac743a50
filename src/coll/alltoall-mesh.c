/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall `mesh`: a total exchange along each dimension of a grid in turn, each as on a ring.
 *
 *     0 1 2      along the rows: rank 1 gets from 0 and 2 their blocks for its column, 1 4 7
 *     3 4 5      along the columns: rank 4 gets from 1 the blocks of 0, 1 and 2 for rank 4
 *     6 7 8
 *
 * The grid is that of the network, with any number of dimensions and any extents, closed to a torus
 * or not. (On a mesh, the message from the last place of a line to the first goes over all links of
 * the line in the opposite direction, in which no other message goes.) Without such a network, the
 * ranks are cut into rows and columns whose lengths are as close as possible. On a square there are
 * 2 (sqrt(p) - 1) steps, close to the lower bound.
 * Source: Grama et al., Introduction to Parallel Computing, section 4.5.
 */
#include "coll/grid.h"

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    struct tt_grid grid = tt_grid(map);
    return tt_grid_time_ps(&grid, map->p, tt_call_bytes(call), c);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_grid grid = tt_grid(map);
    tt_grid_exchange(b, &grid, me, tt_call_bytes(call));
}

const struct tt_algorithm tt_alltoall_mesh = {
    .coll = TT_COLL_alltoall,
    .name = "mesh",
    .applies = "always",
    .cost = "for each extent e: (e-1) (t_s + p/2 t_w m); on a square (sqrt(p)-1) (2 t_s + p t_w m)",
    .source = "Grama et al., section 4.5",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
