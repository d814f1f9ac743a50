/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce_scatter(_block) `direct`: each rank reduces its own block straight from the inputs of all
 * ranks, in rank order and in one pass.
 *
 *              block 0   block 1   block 2
 *     IN@*    --v-v-v-- --v-v-v-- --v-v-v--
 *             OUT of 0  OUT of 1  OUT of 2
 *
 * IN@* stands for the inputs of all ranks, and each v for one of them. There are two rounds of
 * signals: the first says that the inputs are open, the second that all of them have been read. In
 * place, the result waits in scratch until all ranks have read this rank's input.
 * Source: single copy by cross-memory attach in message-passing libraries.
 */
#include "coll/coll-util.h"

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int p = map->p;
    int64_t bytes = tt_call_block_bytes(call, me);
    struct tt_range in = tt_own(TT_IN, tt_call_block_at(call, me)), out = tt_own(TT_OUT, 0);
    struct tt_range sum = call->in_place ? tt_scratch(b, bytes) : out;
    tt_open(b, 1 << TT_IN);
    tt_signal(b, TT_ALL, 1);
    tt_await_all(b, p, me, 1);
    tt_combine_all(b, p, me, sum, in, in, bytes);
    tt_signal(b, TT_ALL, 2);
    tt_await_all(b, p, me, 2);
    if (call->in_place) tt_copy(b, out, sum, bytes);
}

const struct tt_algorithm tt_reduce_scatter_block_direct = {
    .coll = TT_COLL_reduce_scatter_block,
    .name = "direct",
    .applies = "one node, direct access; or RDMA",
    .cost = "2 t_s + (p-1) (t_w + gamma) L",
    .source = "single copy by cross-memory attach",
    .refuse = tt_refuse_reads_of_all,
    .build = build,
};

const struct tt_algorithm tt_reduce_scatter_direct = {
    .coll = TT_COLL_reduce_scatter,
    .name = "direct",
    .applies = "one node, direct access; or RDMA",
    .cost = "2 t_s + (p-1) (t_w + gamma) max(L_0 ... L_(p-1))",
    .source = "single copy by cross-memory attach",
    .refuse = tt_refuse_reads_of_all,
    .build = build,
};
