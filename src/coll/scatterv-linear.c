/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scatterv `linear`: the root sends each rank its piece, and has at most k messages under way.
 *
 *     0 -> 1
 *     0 -> 2        p-1 messages; message i waits until message i-k has gone
 *     0 -> 3 ...
 *
 * No rank passes data on, because no rank but the root knows how much another one gets. Before it
 * posts its receive, each rank awaits the root's signal, and so compares its count with the
 * root's. The radix of the call is k, up to 32; by default it is 4.
 * Source: linear scatter of message-passing libraries, with a bound on outstanding messages.
 */
#include "coll/coll-util.h"

static void send_all(struct tt_builder *b, const struct tt_call *call, int p)
{
    struct tt_bounded sent = tt_bounded(call);
    int root = call->root;
    struct tt_span mine = tt_block_to(call, root);
    tt_signal(b, TT_ALL, 1);
    for (int k = 1; k < p; k++) {
        int r = tt_after(p, root, k);
        struct tt_span piece = tt_block_to(call, r);
        tt_bounded_room(b, &sent);
        tt_bounded_add(&sent, tt_send(b, r, tt_own(TT_IN, piece.off), piece.len));
    }
    tt_copy(b, tt_own(TT_OUT, tt_block_from(call, root).off), tt_own(TT_IN, mine.off), mine.len);
    tt_bounded_end(b, &sent);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_span mine = tt_block_from(call, call->root);
    if (me == call->root) {
        send_all(b, call, map->p);
    } else {
        tt_await(b, call->root, 1);
        tt_wait(b, tt_recv(b, call->root, tt_own(TT_OUT, mine.off), mine.len));
    }
}

const struct tt_algorithm tt_scatterv_linear = {
    .coll = TT_COLL_scatterv,
    .name = "linear",
    .applies = "always",
    .cost = "(p-1) t_s + t_w (L_0 + ... + L_(p-1))",
    .source = "linear scatter with a bound on outstanding messages",
    .refuse = tt_refuse_never,
    .build = build,
};
