/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Total exchange along the dimensions of a grid, each as on a ring (line.h).
 */
#include "coll/grid.h"

struct tt_grid tt_grid(const struct tt_map *map)
{
    const struct tt_net *net = map->net;
    struct tt_grid grid = {.dims = 2, .extent = {1, map->p}};
    if (net && tt_net_is_grid(net) && net->ranks == net->nodes) {
        grid.dims = net->dims;
        for (int d = 0; d < net->dims; d++) grid.extent[d] = net->extent[d];
        return grid;
    }
    for (int a = 1; a <= map->p / a; a++)
        if (map->p % a == 0) grid = (struct tt_grid){.dims = 2, .extent = {a, map->p / a}};
    return grid;
}

struct tt_grid tt_grid_cube(int p)
{
    struct tt_grid grid = {.dims = tt_log2_up(p)};
    for (int d = 0; d < grid.dims; d++) grid.extent[d] = 2;
    return grid;
}

/* At first the blocks are in the order of the ranks that they go to. After each dimension, they are
 * ordered along this dimension by the ranks that they come from. */
void tt_grid_exchange(struct tt_builder *b, const struct tt_grid *grid, int me, int64_t m)
{
    int stride = 1, p = 1;
    enum tt_buffer from = TT_IN;
    for (int d = 0; d < grid->dims; d++) p *= grid->extent[d];
    for (int d = 0; d < grid->dims; d++) {
        int e = grid->extent[d], at = me / stride % e;
        struct tt_rank_line line = {.places = e,
                                    .at = at,
                                    .first = me - at * stride,
                                    .stride = stride,
                                    .run = stride * m,
                                    .bytes = p / e * m};
        stride *= e;
        if (e == 1) continue;
        if (from == TT_IN) tt_line_keep(b, &line);
        tt_line_exchange(b, &line, from);
        from = TT_OUT;
    }
}

/* Returns the time. Along a dimension of extent e, the messages have 1 to e - 1 sets of p / e
 * blocks. A rank copies each set that it sends, and each set that it receives. In the first
 * dimension a rank also copies its own set once. */
int64_t tt_grid_time_ps(const struct tt_grid *grid, int p, int64_t m, const struct tt_costs *c)
{
    int64_t time = 0;
    bool kept = false;
    for (int d = 0; d < grid->dims; d++) {
        int64_t e = grid->extent[d], set = m * (p / e);
        if (e == 1) continue;
        time += (e - 1) * c->ts + c->tw_both * set * (e * (e - 1) / 2);
        time += c->tr * set * (2 * (e - 1) + !kept);
        kept = true;
    }
    return time;
}
