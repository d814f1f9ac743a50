/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gatherv `linear`: each rank sends its piece to the root, which has at most k receives under way.
 *
 *     1 -> 0
 *     2 -> 0        p-1 messages; receive i is posted when receive i-k has ended
 *     3 -> 0 ...
 *
 * No rank passes data on, because no rank but the root knows how much another one has. Before it
 * posts a receive, the root awaits a signal of the sender, and so compares the counts of the two. A
 * rank whose piece is empty signals too. The radix of the call is k, up to 32; by default it is 4.
 * Source: linear gather of message-passing libraries, with a bound on outstanding messages.
 */
#include "coll/coll-util.h"

static void receive_all(struct tt_builder *b, const struct tt_call *call, int p)
{
    struct tt_bounded got = tt_bounded(call);
    int root = call->root;
    struct tt_span mine = tt_block_from(call, root);
    for (int k = 1; k < p; k++) {
        int r = tt_after(p, root, k);
        struct tt_span piece = tt_block_from(call, r);
        tt_bounded_room(b, &got);
        tt_await(b, r, 1);
        tt_bounded_add(&got, tt_recv(b, r, tt_own(TT_OUT, piece.off), piece.len));
    }
    tt_copy(b, tt_own(TT_OUT, mine.off), tt_own(TT_IN, tt_block_to(call, root).off), mine.len);
    tt_bounded_end(b, &got);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_span mine = tt_block_to(call, call->root);
    if (me == call->root) {
        receive_all(b, call, map->p);
    } else {
        tt_signal(b, call->root, 1);
        tt_wait(b, tt_send(b, call->root, tt_own(TT_IN, mine.off), mine.len));
    }
}

const struct tt_algorithm tt_gatherv_linear = {
    .coll = TT_COLL_gatherv,
    .name = "linear",
    .applies = "always",
    .cost = "(p-1) t_s + t_w (L_0 + ... + L_(p-1))",
    .source = "linear gather with a bound on outstanding messages",
    .refuse = tt_refuse_never,
    .build = build,
};
