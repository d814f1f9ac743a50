/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast `split`: the root puts the first of p parts of the message into the buffers of all
 * other ranks, while each of these ranks reads the other parts in the root's buffer.
 *
 *     root   OUT [part 0][part 1][part 2]
 *                   |       v       v
 *     rank 1     [  <-  ][  get   get   ]        the root puts p - 1 times L/p bytes, and each
 *     rank 2     [  <-  ][  get   get   ]        other rank gets (p - 1) times L/p bytes
 *
 * L is the length of the message. In `direct` the root waits while the others read. Here all ranks
 * copy equally many bytes at the same time; with two ranks, each copies half of the message. This
 * helps where every rank has a processor of its own.
 * Source: split copies by cross-memory attach, in which both ends move a part.
 */
#include "coll/coll-util.h"

static void put_first(struct tt_builder *b, const struct tt_call *call, int p, struct tt_span first)
{
    struct tt_bounded puts = tt_bounded(call);
    tt_signal(b, TT_ALL, 1);
    for (int k = 1; k < p; k++) {
        int r = tt_after(p, call->root, k);
        tt_await(b, r, 1);
        tt_bounded_room(b, &puts);
        tt_bounded_add(
            &puts, tt_put(b, tt_at(TT_OUT, r, first.off), tt_own(TT_OUT, first.off), first.len));
    }
    tt_bounded_end(b, &puts);
    tt_signal(b, TT_ALL, 2);
    tt_await_all(b, p, call->root, 2);
}

static void get_rest(struct tt_builder *b, const struct tt_call *call, struct tt_span first)
{
    int root = call->root;
    int64_t rest = tt_call_bytes(call) - first.len;
    tt_signal(b, root, 1);
    tt_await(b, root, 1);
    tt_wait(b, tt_get(b, tt_own(TT_OUT, first.len), tt_at(TT_OUT, root, first.len), rest));
    tt_await(b, root, 2);
    tt_signal(b, root, 2);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_span first = tt_block(call, map->p, 0);
    tt_open(b, 1 << TT_OUT);
    if (me == call->root)
        put_first(b, call, map->p, first);
    else
        get_rest(b, call, first);
}

const struct tt_algorithm tt_bcast_split = {
    .coll = TT_COLL_bcast,
    .name = "split",
    .applies = "one node, direct access; or RDMA",
    .cost = "3 t_s + (p-1)/p t_w L",
    .source = "split copies by cross-memory attach",
    .refuse = tt_refuse_reads_and_writes,
    .build = build,
};
