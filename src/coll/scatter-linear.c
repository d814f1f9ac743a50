/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scatter `linear`: the root sends each rank its piece, and has at most k messages under way.
 *
 *     0 -> 1
 *     0 -> 2        p-1 messages; message i waits until message i-k has gone
 *     0 -> 3 ...
 *
 * No rank passes data on, so each byte moves once. The bound keeps the memory that pending messages
 * take at the root independent of p. The radix of the call is k, up to 32; by default it is 4.
 * Source: linear scatter of message-passing libraries, with a bound on outstanding messages.
 */
#include "coll/coll-util.h"

static void send_all(struct tt_builder *b, const struct tt_call *call, int p)
{
    struct tt_bounded sent = tt_bounded(call);
    int64_t bytes = tt_call_bytes(call);
    for (int k = 1; k < p; k++) {
        int r = tt_after(p, call->root, k);
        tt_bounded_room(b, &sent);
        tt_bounded_add(&sent, tt_send(b, r, tt_own(TT_IN, r * bytes), bytes));
    }
    tt_copy_in(b, call, 0, call->root * bytes, bytes);
    tt_bounded_end(b, &sent);
}

/* Returns the time of the root, which sends one piece after the other. When the last messages are
 * under way, the root copies its own piece. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t bytes = tt_call_bytes(call), piece = c->ts + c->tw * bytes;
    int64_t before = tt_max(0, map->p - 1 - tt_bounded(call).most) * piece;
    if (c->all_ports || c->starts_side_by_side) return -1;
    return tt_max((map->p - 1) * piece, call->in_place ? 0 : before + c->tr * bytes);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    if (me == call->root)
        send_all(b, call, map->p);
    else
        tt_wait(b, tt_recv(b, call->root, tt_own(TT_OUT, 0), tt_call_bytes(call)));
}

const struct tt_algorithm tt_scatter_linear = {
    .coll = TT_COLL_scatter,
    .name = "linear",
    .applies = "always",
    .cost = "(p-1) (t_s + t_w L)",
    .source = "linear scatter with a bound on outstanding messages",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
