/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier `flat`: every rank signals all others that it has arrived, and awaits the signals of all.
 *
 *     0 1 2 3
 *     !-!-!-!      each rank raises its flag (!), and reads the flags of p-1 ranks
 *
 * There is one round, which is the minimum. On a network it takes p(p-1) messages, but in shared
 * memory only p stores.
 * Source: the flag barrier of shared-memory machines (Mellor-Crummey, Scott 1991, simplified).
 */
#include "coll/coll-util.h"

/* Returns the time on a network: each rank sends p - 1 messages and receives one from each other
 * rank, one at a time. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    (void)call;
    return (c->all_ports ? 1 : map->p - 1) * (c->ts + c->tw_both * TT_SIGNAL_BYTES);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)call;
    (void)phase;
    tt_signal(b, TT_ALL, 1);
    tt_await_all(b, map->p, me, 1);
}

const struct tt_algorithm tt_barrier_flat = {
    .coll = TT_COLL_barrier,
    .name = "flat",
    .applies = "always",
    .cost = "t_s",
    .source = "flags in shared memory, one writer each",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
