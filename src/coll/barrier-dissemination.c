/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier `dissemination`: in round k each rank tells the one 2^k after it, and hears of the one
 * 2^k before it; after ceil(log2 p) rounds everyone has heard of everyone.
 *
 *     0>1>2>3>4>0      0>2>4>1>3>0      0>4>3>2>1>0
 *
 * ceil(log2 p) rounds of one message a rank, any p: for networks and many ranks.
 * Source: Hensgen, Finkel, Manber 1988.
 */
#include "coll/coll-util.h"

static struct tt_count count_rank(const struct tt_call *call, const struct tt_map *map, int me)
{
    (void)call;
    (void)me;
    return (struct tt_count){.steps = 2 * tt_log2_up(map->p)};
}

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    (void)call;
    return tt_log2_up(map->p) * (c->ts + c->tw_both * TT_SIGNAL_BYTES);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)call;
    (void)phase;
    int p = map->p;
    uint32_t round = 1;
    for (int64_t far = 1; far < p; far *= 2, round++) {
        tt_signal(b, tt_after(p, me, (int)far), round);
        tt_await(b, tt_after(p, me, (int)(p - far)), round);
    }
}

const struct tt_algorithm tt_barrier_dissemination = {
    .coll = TT_COLL_barrier,
    .name = "dissemination",
    .applies = "always",
    .cost = "log2(p) t_s",
    .source = "Hensgen, Finkel, Manber 1988",
    .refuse = tt_refuse_never,
    .count_rank = count_rank,
    .build = build,
    .time = time_ps,
};
