/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall `ring`: a rank sends all blocks that are for others to the next rank, which keeps the
 * one that is for itself and sends the others on.
 *
 *     step 1    0 =[1][2][3]=> 1 =[2][3][0]=> 2 =[3][0][1]=> 3 =[0][1][2]=> 0
 *     step 2    0 =[1][2]=> 1 ...                           [1] is a block for rank 1;
 *     step 3    0 =[1]=> 1 ...                              the receiver keeps the first block
 *
 * There are p - 1 steps between neighbours. On a ring of one direction nothing can be faster.
 * Source: Grama et al., Introduction to Parallel Computing, section 4.5.
 */
#include "coll/line.h"

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t p = map->p, m = tt_call_bytes(call);
    return (p - 1) * c->ts + c->tw_both * m * (p * (p - 1) / 2) + c->tr * m * (2 * p - 1);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t m = tt_call_bytes(call);
    struct tt_rank_line line = {.places = map->p, .at = me, .stride = 1, .run = m, .bytes = m};
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
    .build = build,
    .time = time_ps,
};
