/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `flat`: every rank copies its input into its window, and the root reduces all of them in
 * one pass. WIN@1 is the window of rank 1.
 *
 *     1  IN -> WIN ==\
 *     2  IN -> WIN ===> root: OUT <- IN op WIN@1 op WIN@2 ...
 *
 * There is one round. A message that is larger than the window goes in slices through its two
 * halves; the root signals which slices it has read.
 * Source: the shared buffer of shared-memory reductions, read in one pass.
 */
#include "coll/coll-util.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    if (map->p > TT_OPERANDS) return tt_needs_fewer;
    return tt_refuse_halves(call, map);
}

static void drain(struct tt_builder *b, const struct tt_slices *s, int p, int me, int64_t base)
{
    tt_slices_begin(b, s);
    for (int k = 1; k < p; k++) tt_slice_await(b, s, tt_after(p, me, k), 1, 1);
    tt_combine_all(b, p, me, tt_slice(b, s, tt_own(TT_OUT, 0)), tt_half(b, s, tt_own(TT_WIN, base)),
                   tt_slice(b, s, tt_own(TT_IN, 0)), s->len);
    if (s->tail != s->len) tt_tail(b, s->tail);
    if (s->turns > 2) tt_slice_signal(b, s, TT_ALL, 1, 1);
    tt_slices_end(b, s);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t base;
    struct tt_slices s = tt_window_slices(call, map, tt_call_bytes(call), call->sz, &base);
    if (me == call->root)
        drain(b, &s, map->p, me, base);
    else
        tt_window_fill(b, &s, call->root, base);
}

const struct tt_algorithm tt_reduce_flat = {
    .coll = TT_COLL_reduce,
    .name = "flat",
    .applies = "one node",
    .cost = "t_s + t_w L + (p-1) gamma L",
    .source = "a buffer shared by all ranks of a node",
    .refuse = refuse,
    .build = build,
};
