/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `flat`: everyone makes its input readable in its window and raises its flag; then
 * everyone reduces all inputs in one pass, the same way, so that all get the same bits.
 *
 *     0  IN -> WIN ==\/==> OUT <- IN op WIN@1 op WIN@2
 *     1  IN -> WIN ==/\==> OUT <- WIN@0 op IN op WIN@2 ...
 *
 * One round, no closing barrier; p-fold work, so for small inputs, or two ranks. Up to 48 bytes
 * travel in the same cache line as the flag. What is larger than the window goes in slices through
 * its two halves: who awaits slice k + 1 of everyone knows that all have read slice k, whose half
 * it fills next. Source: docs/plan.md; the all-to-all exchange of small allreduces.
 */
#include "coll/coll-util.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    if (map->p > TT_OPERANDS) return tt_needs_fewer;
    return tt_refuse_halves(call, map);
}

static struct tt_count count(const struct tt_call *call, const struct tt_map *map)
{
    int64_t bytes = tt_call_bytes(call), base, others = map->p - 1;
    int64_t q = tt_window_slices(call, map, bytes, call->sz, &base).turns;
    return (struct tt_count){.sent = others * bytes,
                             .received = others * bytes,
                             .reduced = others * bytes,
                             .copied = bytes,
                             .messages = q * others,
                             .steps = q * (3 + others)};
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
    .count = count,
    .build = build,
};
