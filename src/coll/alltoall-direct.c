/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall `direct`: every rank copies the blocks that are meant for it out of the inputs of the
 * others. IN@1 is the input of rank 1.
 *
 *     IN@0  [to 0][to 1][to 2]
 *     IN@1  [to 0][to 1][to 2]  ==> OUT@1 [from 0][from 1][from 2]
 *     IN@2  [to 0][to 1][to 2]
 *
 * There is one copy, and there are two rounds of signals: the first says that the inputs are open,
 * the second that all of them have been read. Each rank begins with the rank after it.
 *
 * For alltoallv the algorithm is called `flat`. There each rank publishes the place of each segment
 * when it opens its input, so that no rank needs the counts of another. Ranks without data for each
 * other do not wait for each other, because both know that there are no data. In a team on several
 * nodes they do not signal each other either.
 * Source: single-copy exchange by cross-memory attach.
 */
#include "coll/coll-util.h"

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_span from = tt_block_to(call, me), mine = tt_block_from(call, me);
    tt_open(b, 1 << TT_IN);
    tt_signal(b, TT_ALL, 1);
    tt_copy(b, tt_own(TT_OUT, mine.off), tt_own(TT_IN, from.off), mine.len);
    for (int k = 1; k < map->p; k++) {
        int r = tt_after(map->p, me, k);
        struct tt_span block = tt_block_from(call, r);
        tt_await(b, r, 1);
        tt_copy(b, tt_own(TT_OUT, block.off), tt_at(TT_IN, r, from.off), block.len);
    }
    tt_signal(b, TT_ALL, 2);
    tt_await_all(b, map->p, me, 2);
}

static void build_v(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                    int me, int phase)
{
    (void)phase;
    struct tt_peers to = tt_peers_to(call, map->p, me), from = tt_peers_from(call, map->p, me);
    struct tt_span mine = tt_block_from(call, me);
    tt_open(b, 1 << TT_IN);
    tt_signal_peers(b, call, map, &to, tt_block_to, 1);
    tt_copy(b, tt_own(TT_OUT, mine.off), tt_own(TT_IN, tt_block_to(call, me).off), mine.len);
    for (int k = 0; k < from.n; k++) {
        int r = tt_peer(&from, k);
        struct tt_span block = tt_block_from(call, r);
        if (block.len == 0) continue;
        tt_await(b, r, 1);
        /* IN@r begins at the segment that rank r has for this rank. */
        tt_copy(b, tt_own(TT_OUT, block.off), tt_at(TT_IN, r, 0), block.len);
    }
    tt_signal_peers(b, call, map, &from, tt_block_from, 2);
    tt_await_peers(b, call, &to, tt_block_to, 2);
}

const struct tt_algorithm tt_alltoall_direct = {
    .coll = TT_COLL_alltoall,
    .name = "direct",
    .applies = "one node, direct access; or RDMA",
    .cost = "2 t_s + p t_w m",
    .source = "single copy by cross-memory attach",
    .refuse = tt_refuse_reads,
    .build = build,
};

const struct tt_algorithm tt_alltoallv_flat = {
    .coll = TT_COLL_alltoallv,
    .name = "flat",
    .applies = "one node, direct access; or RDMA",
    .cost = "2 t_s + t_w (m_0 + ... + m_(p-1))",
    .source = "single copy by cross-memory attach",
    .refuse = tt_refuse_reads,
    .build = build_v,
};
