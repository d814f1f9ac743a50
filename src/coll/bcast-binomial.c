/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast `binomial`: every rank that has the message sends it on, so the number of ranks that
 * have it doubles in each round.
 *
 *     0 ----------> 4           ceil(log2 p) rounds, the root sends as many messages
 *     0 ---> 2      4 ---> 6
 *     0>1    2>3    4>5    6>7
 *
 * If the call gives a slice length, slices follow one another down the tree.
 * Source: the binomial tree of message-passing broadcasts.
 */
#include "coll/tree.h"

/* Returns the time by Thakur, Rabenseifner, Gropp 2005. The root sends each of the q slices to each
 * of its ceil(log2 p) children, and is never idle. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t bytes = tt_call_bytes(call);
    int64_t q = tt_slices(bytes, tt_slice_bytes(call, bytes), call->sz).turns;
    if (c->all_ports || (q > 1 && c->tw_both > c->tw)) return -1;
    return tt_log2_up(map->p) * (q * c->ts + c->tw * bytes);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_tree_bcast(b, call, map, me, call->root, tt_tree_binomial, tt_call_bytes(call));
}

const struct tt_algorithm tt_bcast_binomial = {
    .coll = TT_COLL_bcast,
    .name = "binomial",
    .applies = "always",
    .cost = "log2(p) (t_s + t_w L)",
    .source = "binomial tree",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
