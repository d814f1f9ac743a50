/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `direct`: each rank reduces its own block straight from all inputs, in one pass, and puts
 * it into the root's result, slice by slice out of scratch that stays in cache.
 *
 *              block 0   block 1   block 2
 *     IN@*    --v-v-v-- --v-v-v-- --v-v-v--
 *     rank 0  [TMP]      rank 1    [TMP] rank 2
 *                |      (the root)   |
 *     OUT@1   [  sum  ] [  sum  ] [  sum  ]
 *
 * IN@* stands for the inputs of all ranks, each v for one of them, and OUT@1 is the OUT of the
 * root. There are two rounds of signals, and all ranks share the work. A call in place needs
 * nothing special: only rank r reads block r of the root's input, and then overwrites it.
 * Source: reduce-scatter and gather (Rabenseifner 2004) by single copy.
 */
#include "coll/coll-util.h"

enum { SLICE = 64 << 10 };

static struct tt_slices slices(const struct tt_call *call, int64_t bytes)
{
    return tt_slices(bytes, tt_slice_bytes(call, SLICE), call->sz);
}

static void reduce_and_put(struct tt_builder *b, const struct tt_call *call, int p, int me,
                           struct tt_span mine)
{
    struct tt_slices s = slices(call, mine.len);
    struct tt_range in = tt_slice(b, &s, tt_own(TT_IN, mine.off));
    struct tt_range part = tt_half(b, &s, tt_scratch(b, 2 * s.len));
    tt_slices_begin(b, &s);
    tt_combine_all(b, p, me, part, in, in, s.len);
    if (s.tail != s.len) tt_tail(b, s.tail);
    tt_started put = tt_put(b, tt_slice(b, &s, tt_at(TT_OUT, call->root, mine.off)), part, s.len);
    if (s.tail != s.len) tt_tail(b, s.tail);
    tt_wait_ago(b, put, s.turns > 1);
    tt_slices_end(b, &s);
    if (s.turns > 1) tt_wait_ago(b, put, 1);
}

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    const char *why = tt_refuse_reads_of_all(call, map);
    return why ? why : tt_refuse_writes(call, map);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int p = map->p;
    bool root = me == call->root;
    struct tt_span mine = tt_block(call, p, me);
    struct tt_range in = tt_own(TT_IN, mine.off);
    tt_open(b, 1 << TT_IN | (root ? 1 << TT_OUT : 0));
    tt_signal(b, TT_ALL, 1);
    tt_await_all(b, p, me, 1);
    if (root)
        tt_combine_all(b, p, me, tt_own(TT_OUT, mine.off), in, in, mine.len);
    else if (mine.len > 0)
        reduce_and_put(b, call, p, me, mine);
    tt_signal(b, TT_ALL, 2);
    tt_await_all(b, p, me, 2);
}

const struct tt_algorithm tt_reduce_direct = {
    .coll = TT_COLL_reduce,
    .name = "direct",
    .applies = "one node, direct access; or RDMA",
    .cost = "2 t_s + (1 + 1/p) t_w L + (p-1)/p gamma L",
    .source = "Rabenseifner 2004, by single copy",
    .refuse = refuse,
    .build = build,
};
