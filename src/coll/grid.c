/* SPDX-License-Identifier: BSD-3-Clause */
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

/* Blocks are in the order of the ranks they go to, or, in the dimensions that are done, come
 * from. */
void tt_grid_exchange(struct tt_builder *b, const struct tt_grid *grid, int me, int64_t m)
{
    int stride = 1, p = 1;
    enum tt_buffer from = TT_IN;
    for (int d = 0; d < grid->dims; d++) p *= grid->extent[d];
    for (int d = 0; d < grid->dims; d++) {
        int e = grid->extent[d], at = me / stride % e;
        struct tt_line line = {.places = e,
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

struct tt_count tt_grid_count(const struct tt_grid *grid, int p, int64_t m)
{
    struct tt_count c = {.steps = 1};
    for (int d = 0; d < grid->dims; d++) {
        int e = grid->extent[d];
        int64_t bytes = p / e * m;
        if (e > 1 && c.copied == 0) c.copied = bytes;
        tt_count_add(&c, tt_way_count(bytes, e - 1, bytes));
    }
    return c;
}

/* Along a dimension messages of 1 to e - 1 sets of p / e blocks. */
int64_t tt_grid_time_ps(const struct tt_grid *grid, int p, int64_t m, const struct tt_costs *c)
{
    int64_t time = c->tr * tt_grid_count(grid, p, m).copied;
    for (int d = 0; d < grid->dims; d++) {
        int64_t e = grid->extent[d];
        time += (e - 1) * c->ts + c->tw_both * m * (p / e) * (e * (e - 1) / 2);
    }
    return time;
}
