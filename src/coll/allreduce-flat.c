/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `flat`: every rank copies its input into its window and raises its flag. Then every
 * rank reduces all inputs in one pass, in the same order, so that all ranks get the same bits.
 * WIN@1 is the window of rank 1.
 *
 *     rank 0  IN -> WIN ==\/==> OUT <- IN op WIN@1 op WIN@2
 *     rank 1  IN -> WIN ==/\==> OUT <- WIN@0 op IN op WIN@2 ...
 *
 * There is one round and no closing barrier. Every rank does the whole work, so the algorithm suits
 * small inputs, or two ranks. Up to 48 bytes travel in the cache line of the flag. A message that
 * is larger than the window goes in slices through its two halves. Each rank raises its flag for
 * slice k + 1 only after it has read slice k. So a rank that has awaited the flags of all ranks for
 * slice k + 1 may fill the half of slice k again.
 * Source: docs/plan.md; the all-to-all exchange of small allreduces.
 */
#include "coll/coll-util.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    if (map->p > TT_OPERANDS) return tt_needs_fewer;
    return tt_refuse_halves(call, map);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t base;
    struct tt_slices s = tt_window_slices(call, map, tt_call_bytes(call), call->sz, &base);
    struct tt_range in = tt_slice(b, &s, tt_own(TT_IN, 0));
    struct tt_range win = tt_half(b, &s, tt_own(TT_WIN, base));
    tt_slices_begin(b, &s);
    tt_slice_copy(b, &s, win, in);
    tt_slice_signal(b, &s, TT_ALL, 1, 1);
    for (int k = 1; k < map->p; k++) tt_slice_await(b, &s, tt_after(map->p, me, k), 1, 1);
    tt_combine_all(b, map->p, me, tt_slice(b, &s, tt_own(TT_OUT, 0)), win, in, s.len);
    if (s.tail != s.len) tt_tail(b, s.tail);
    tt_slices_end(b, &s);
}

const struct tt_algorithm tt_allreduce_flat = {
    .coll = TT_COLL_allreduce,
    .name = "flat",
    .applies = "one node",
    .cost = "q t_s + t_w L + (p-1) gamma L",
    .source = "all inputs in one round and one pass",
    .refuse = refuse,
    .build = build,
};
