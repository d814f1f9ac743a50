/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `window`: chains through the windows of a node. Each rank combines its input with the
 * window of the rank before into its own window, and signals the next rank. Two chains meet at the
 * root.
 *
 *     0  IN -> WIN
 *     1        WIN@0 op IN -> WIN
 *     2  root               OUT <- WIN@1 op IN op WIN@3
 *     3        IN op WIN@4 -> WIN
 *     4  IN -> WIN
 *
 * A rank reads and reduces each byte once, however many ranks there are, where the root of `flat`
 * reads the inputs of all. So many calls in a row follow one another through the ranks. A single
 * call takes a signal for each rank of the longer chain. The operands stay in rank order. A message
 * that is larger than the window goes in slices through its two halves; a rank refills a half when
 * the next rank has signalled that it has read it.
 * Source: the pipelined chain of message-passing reductions, through the shared buffer of
 * shared-memory collectives.
 */
#include "coll/coll-util.h"

/* Appends a turn of the root. */
static void meet(struct tt_builder *b, const struct tt_slices *s, struct tt_range win, int p,
                 int root)
{
    struct tt_range operand[3];
    int n = 0;
    for (int r = root - 1; r <= root + 1; r++) {
        if (r < 0 || r >= p) continue;
        if (r != root) tt_slice_await(b, s, r, 1, 2);
        operand[n] = r == root ? tt_slice(b, s, tt_own(TT_IN, 0)) : win;
        operand[n++].rank = r;
    }
    tt_combine(b, tt_slice(b, s, tt_own(TT_OUT, 0)), operand, n, s->len);
    if (s->tail != s->len) tt_tail(b, s->tail);
    if (p > 1 && s->turns > 2) tt_slice_signal(b, s, TT_ALL, 2, 2);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t base;
    int p = map->p, step = me < call->root ? 1 : -1, before = me - step;
    struct tt_slices s = tt_window_slices(call, map, tt_call_bytes(call), call->sz, &base);
    struct tt_range win = tt_half(b, &s, tt_own(TT_WIN, base));
    if (before >= p) before = -1;
    tt_slices_begin(b, &s);
    if (me == call->root)
        meet(b, &s, win, p, me);
    else
        tt_window_pass(b, &s, win, me, before, me + step);
    if (me != call->root && before >= 0 && s.turns > 2) tt_slice_signal(b, &s, before, 2, 2);
    tt_slices_end(b, &s);
}

const struct tt_algorithm tt_reduce_window = {
    .coll = TT_COLL_reduce,
    .name = "window",
    .applies = "one node",
    .cost = "(p-2+q) (t_s + (t_w + gamma) L/q)",
    .source = "pipelined chain, through shared memory",
    .refuse = tt_refuse_halves,
    .build = build,
};
