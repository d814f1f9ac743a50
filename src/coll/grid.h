/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks in a grid: that of the machine where it is one, else one made up.
 */
#ifndef TT_COLL_GRID_H
#define TT_COLL_GRID_H

#include "coll/line.h"
#include "topo/net.h"

struct tt_grid {
    int dims, extent[TT_NET_CUBE];
};

/* The whole grid that the map says; else p = a * b with a <= b as near as can be. */
struct tt_grid tt_grid(const struct tt_map *map);
/* 2 * 2 * ...; p is a power of two. */
struct tt_grid tt_grid_cube(int p);

/* Total exchange along one dimension after the other: afterwards what a rank holds comes from all
 * those that differ from it in the dimensions so far, and goes to all that differ in the others. */
void tt_grid_exchange(struct tt_builder *b, const struct tt_grid *grid, int me, int64_t m);
struct tt_count tt_grid_count(const struct tt_grid *grid, int p, int64_t m);
/* For each extent e: (e - 1) (t_s + t_w m p / 2); and what is rearranged. */
int64_t tt_grid_time_ps(const struct tt_grid *grid, int p, int64_t m, const struct tt_costs *c);

#endif
