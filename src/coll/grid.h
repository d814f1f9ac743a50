/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks in a grid: the grid of the network if the network is a grid without holes, else a grid of
 * two dimensions made up from p.
 */
#ifndef TT_COLL_GRID_H
#define TT_COLL_GRID_H

#include "coll/line.h"
#include "topo/net.h"

struct tt_grid {
    int dims, extent[TT_NET_CUBE];
};

/* Returns the grid of the map's network if no node is missing; else p = a * b, a <= b, with a and b
 * as close as possible. */
struct tt_grid tt_grid(const struct tt_map *map);
/* Returns the grid 2 x 2 x ...; p must be a power of two. */
struct tt_grid tt_grid_cube(int p);

/* Appends a total exchange of blocks of m bytes, which goes along one dimension after the other.
 * When some dimensions are done, the blocks that a rank holds come from ranks that differ from it
 * in these dimensions only, and go to ranks that differ from it in the other dimensions only. */
void tt_grid_exchange(struct tt_builder *b, const struct tt_grid *grid, int me, int64_t m);
/* Returns the time in picoseconds: the sum over all extents e of (e - 1) (t_s + t_w m p / 2), plus
 * the time of the copies. */
int64_t tt_grid_time_ps(const struct tt_grid *grid, int p, int64_t m, const struct tt_costs *c);

#endif
