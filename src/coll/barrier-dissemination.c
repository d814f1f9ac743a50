/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier `dissemination`: in round k each rank signals the rank 2^k after it, and awaits the rank
 * 2^k before it. After ceil(log2 p) rounds every rank knows, through others, that all have arrived.
 *
 *     0>1>2>3>4>0      0>2>4>1>3>0      0>4>3>2>1>0
 *
 * There are ceil(log2 p) rounds of one message for each rank, for any p: good on networks and for
 * many ranks.
 * Source: Hensgen, Finkel, Manber 1988.
 */
#include "coll/coll-util.h"

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
    .build = build,
    .time = time_ps,
};
