/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather(v) `direct`: every rank copies every piece out of the input of its owner. IN@1 is the
 * input of rank 1.
 *
 *     OUT of 0  [<- IN  ][<- IN@1][<- IN@2]
 *     OUT of 1  [<- IN@0][<- IN  ][<- IN@2] ...
 *
 * There is one copy, and there are two rounds of signals: the first says that the inputs are open,
 * the second that all of them have been read. Each rank begins with the rank after it, so that no
 * input is read by all ranks at once.
 * Source: single-copy allgather by cross-memory attach.
 */
#include "coll/coll-util.h"

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_span mine = tt_piece(call, me);
    tt_open(b, 1 << TT_IN);
    tt_signal(b, TT_ALL, 1);
    tt_copy_in(b, call, mine.off, 0, mine.len);
    for (int k = 1; k < map->p; k++) {
        int r = tt_after(map->p, me, k);
        struct tt_span piece = tt_piece(call, r);
        tt_await(b, r, 1);
        tt_copy(b, tt_own(TT_OUT, piece.off), tt_at(TT_IN, r, 0), piece.len);
    }
    tt_signal(b, TT_ALL, 2);
    tt_await_all(b, map->p, me, 2);
}

const struct tt_algorithm tt_allgather_direct = {
    .coll = TT_COLL_allgather,
    .name = "direct",
    .applies = "one node, direct access; or RDMA",
    .cost = "2 t_s + (p-1) t_w L",
    .source = "single copy by cross-memory attach",
    .refuse = tt_refuse_reads,
    .build = build,
};

const struct tt_algorithm tt_allgatherv_direct = {
    .coll = TT_COLL_allgatherv,
    .name = "direct",
    .applies = "one node, direct access; or RDMA",
    .cost = "2 t_s + t_w (L_0 + ... + L_(p-1))",
    .source = "single copy by cross-memory attach",
    .refuse = tt_refuse_reads,
    .build = build,
};
