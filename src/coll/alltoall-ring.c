/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall `ring`: everything that is not mine goes to the next rank, which keeps its part of it.
 *
 *     step 1    0 =[1][2][3]=> 1 =[2][3][0]=> 2 =[3][0][1]=> 3 =[0][1][2]=> 0    whose blocks
 *     step 2    0 =[1][2]=> 1 ...
 *     step 3    0 =[1]=> 1 ...                              the receiver keeps the first block
 *
 * p - 1 steps between neighbours; on a ring of one direction nothing can be faster.
 * Source: Grama et al., Introduction to Parallel Computing, section 4.5.
 */
#include "coll/line.h"

static struct tt_count count(const struct tt_call *call, const struct tt_map *map)
{
    int64_t m = tt_call_bytes(call);
    struct tt_count c = tt_way_count(m, map->p - 1, m);
    c.copied += m;
    c.steps++;
    return c;
}

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t p = map->p, m = tt_call_bytes(call);
    return (p - 1) * c->ts + c->tw_both * m * (p * (p - 1) / 2) + c->tr * count(call, map).copied;
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t m = tt_call_bytes(call);
    struct tt_line line = {.places = map->p, .at = me, .stride = 1, .run = m, .bytes = m};
    tt_line_keep(b, &line);
    tt_line_exchange(b, &line, TT_IN);
}

const struct tt_algorithm tt_alltoall_ring = {
    .coll = TT_COLL_alltoall,
    .name = "ring",
    .applies = "always",
    .cost = "(p-1) (t_s + p/2 t_w m)",
    .source = "Grama et al., section 4.5",
    .refuse = tt_refuse_never,
    .count = count,
    .build = build,
    .time = time_ps,
};
