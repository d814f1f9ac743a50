/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `direct`: each rank reduces its own block straight from all inputs, in one pass. Then
 * it copies the other blocks out of their owners' results. OUT@1 is the OUT of rank 1.
 *
 *              block 0   block 1   block 2
 *     OUT@0   [  sum  ] <-------  <-------
 *     OUT@1    ------> [  sum  ]  <-------        no copy beyond those that collect the result
 *     OUT@2    ------>  ------>  [  sum  ]
 *
 * There are three rounds of signals. They say in turn that the inputs are open, that a block is
 * done, and that all blocks have been read. A call in place needs nothing special: only rank r
 * reads block r of any input, before it signals that its result is done. The other ranks overwrite
 * their block r only after that signal.
 * Source: reduce-scatter and allgather (Rabenseifner 2004) by single copy.
 */
#include "coll/coll-util.h"

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int p = map->p;
    struct tt_span mine = tt_block(call, p, me);
    struct tt_range in = tt_own(TT_IN, mine.off);
    tt_open(b, 1 << TT_IN | 1 << TT_OUT);
    tt_signal(b, TT_ALL, 1);
    tt_await_all(b, p, me, 1);
    tt_combine_all(b, p, me, tt_own(TT_OUT, mine.off), in, in, mine.len);
    tt_signal(b, TT_ALL, 2);
    for (int k = 1; k < p; k++) {
        int r = tt_after(p, me, k);
        struct tt_span block = tt_block(call, p, r);
        tt_await(b, r, 2);
        tt_copy(b, tt_own(TT_OUT, block.off), tt_at(TT_OUT, r, block.off), block.len);
    }
    tt_signal(b, TT_ALL, 3);
    tt_await_all(b, p, me, 3);
}

const struct tt_algorithm tt_allreduce_direct = {
    .coll = TT_COLL_allreduce,
    .name = "direct",
    .applies = "one node, direct access; or RDMA",
    .cost = "3 t_s + 2 t_w L + (p-1)/p gamma L",
    .source = "Rabenseifner 2004, by single copy",
    .refuse = tt_refuse_reads_of_all,
    .build = build,
};
