/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gather `linear`: each rank sends its piece to the root, which has at most k receives under way.
 *
 *     1 -> 0
 *     2 -> 0        p-1 messages; receive i is posted when receive i-k has ended
 *     3 -> 0 ...
 *
 * No rank passes data on, so each byte moves once. The bound keeps the memory that pending messages
 * take at the root independent of p. The radix of the call is k, up to 32; by default it is 4.
 * Source: linear gather of message-passing libraries, with a bound on outstanding messages.
 */
#include "coll/coll-util.h"

static void receive_all(struct tt_builder *b, const struct tt_call *call, int p)
{
    struct tt_bounded got = tt_bounded(call);
    int64_t bytes = tt_call_bytes(call);
    for (int k = 1; k < p; k++) {
        int r = tt_after(p, call->root, k);
        tt_bounded_room(b, &got);
        tt_bounded_add(&got, tt_recv(b, r, tt_own(TT_OUT, r * bytes), bytes));
    }
    tt_copy_in(b, call, call->root * bytes, 0, bytes);
    tt_bounded_end(b, &got);
}

/* Returns the time of the root, which receives one piece after the other, and copies its own piece
 * meanwhile. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t bytes = tt_call_bytes(call);
    if (c->all_ports || c->starts_side_by_side) return -1;
    return tt_max((map->p - 1) * (c->ts + c->tw * bytes), call->in_place ? 0 : c->tr * bytes);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    if (me == call->root)
        receive_all(b, call, map->p);
    else
        tt_wait(b, tt_send(b, call->root, tt_own(TT_IN, 0), tt_call_bytes(call)));
}

const struct tt_algorithm tt_gather_linear = {
    .coll = TT_COLL_gather,
    .name = "linear",
    .applies = "always",
    .cost = "(p-1) (t_s + t_w L)",
    .source = "linear gather with a bound on outstanding messages",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
