/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scatter `linear`: the root sends each rank its piece, and has at most four messages under way.
 *
 *     0 -> 1
 *     0 -> 2        p-1 messages; message k waits until message k-4 has gone
 *     0 -> 3 ...
 *
 * No rank passes data on, so each byte moves once. The bound keeps the memory that pending messages
 * take at the root independent of p.
 * Source: linear scatter of message-passing libraries, with a bound on outstanding messages.
 */
#include "coll/coll-util.h"

enum { OUTSTANDING = 4 };

static void send_all(struct tt_builder *b, const struct tt_call *call, int p)
{
    tt_started sent[OUTSTANDING];
    int64_t bytes = tt_call_bytes(call);
    for (int k = 1; k < p; k++) {
        int r = tt_after(p, call->root, k);
        if (k > OUTSTANDING) tt_wait(b, sent[k % OUTSTANDING]);
        sent[k % OUTSTANDING] = tt_send(b, r, tt_own(TT_IN, r * bytes), bytes);
    }
    tt_copy_in(b, call, 0, call->root * bytes, bytes);
    for (int k = (int)tt_max(1, p - OUTSTANDING); k < p; k++) tt_wait(b, sent[k % OUTSTANDING]);
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
};
