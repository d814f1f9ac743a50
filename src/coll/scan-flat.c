/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scan and exscan `flat`: every rank copies its input into its window, and reduces the inputs of
 * the ranks before it in one pass. WIN@0 is the window of rank 0.
 *
 *     0  IN -> WIN ===> OUT <- IN
 *     1  IN -> WIN ===> OUT <- WIN@0 op IN
 *     2  IN -> WIN ===> OUT <- WIN@0 op WIN@1 op IN          exscan: without the last operand
 *
 * There is one round, and each rank awaits only the ranks before it. The last rank reduces p
 * inputs, so the algorithm suits small inputs. A message that is larger than the window goes in
 * slices through its two halves; a rank refills a half when all ranks after it have signalled that
 * they have read that half.
 * Source: the one-round exchange of allreduce `flat`, restricted to lower ranks.
 */
#include "coll/coll-util.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    if (map->p > TT_OPERANDS) return tt_needs_fewer;
    return tt_refuse_halves(call, map);
}

/* Reduces the slices of this turn of all ranks before `me`; in a scan (`own`), also the slice of
 * `me`. */
static void combine(struct tt_builder *b, const struct tt_slices *s, int me, bool own,
                    struct tt_range win)
{
    struct tt_range operand[TT_OPERANDS];
    for (int r = 0; r < me; r++) {
        operand[r] = win;
        operand[r].rank = r;
    }
    if (own) operand[me] = tt_slice(b, s, tt_own(TT_IN, 0));
    if (me + own == 0) return;
    tt_combine(b, tt_slice(b, s, tt_own(TT_OUT, 0)), operand, me + own, s->len);
    if (s->tail != s->len) tt_tail(b, s->tail);
}

/* Appends the steps of rank `me`. It raises its flag to 2 j + 1 when slice j lies in its window,
 * and to 2 j + 2 when it has read slice j of the ranks before it. */
static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t base;
    int p = map->p;
    bool own = call->coll == TT_COLL_scan;
    struct tt_slices s = tt_window_slices(call, map, tt_call_bytes(call), call->sz, &base);
    struct tt_range win = tt_half(b, &s, tt_own(TT_WIN, base));
    tt_slices_begin(b, &s);
    for (int r = me + 1; r < p && s.turns > 2; r++) {
        tt_slice_await(b, &s, r, (uint32_t)-2, 2);
        tt_from(b, 2);
    }
    if (me < p - 1) {
        tt_slice_copy(b, &s, win, tt_slice(b, &s, tt_own(TT_IN, 0)));
        tt_slice_signal(b, &s, TT_ALL, 1, 2);
    }
    for (int r = 0; r < me; r++) tt_slice_await(b, &s, r, 1, 2);
    combine(b, &s, me, own, win);
    if (me > 0 && s.turns > 2) tt_slice_signal(b, &s, TT_ALL, 2, 2);
    tt_slices_end(b, &s);
}

const struct tt_algorithm tt_scan_flat = {
    .coll = TT_COLL_scan,
    .name = "flat",
    .applies = "one node",
    .cost = "q t_s + t_w L + (p-1) gamma L",
    .source = "all inputs in one round and one pass",
    .refuse = refuse,
    .build = build,
};

const struct tt_algorithm tt_exscan_flat = {
    .coll = TT_COLL_exscan,
    .name = "flat",
    .applies = "one node",
    .cost = "q t_s + t_w L + (p-2) gamma L",
    .source = "all inputs in one round and one pass",
    .refuse = refuse,
    .build = build,
};
