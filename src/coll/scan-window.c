/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scan and exscan `window`: the chain through the windows of a node. Each rank finds the reduction
 * of all ranks before it in the window of the rank before, combines it with its input into its own
 * window, and signals the next rank. WIN@0 is the window of rank 0.
 *
 *     0  IN -> WIN                                    OUT <- IN
 *     1        WIN@0 op IN -> WIN                     OUT <- WIN            scan
 *     2                       WIN@1 op IN -> WIN      OUT <- WIN@1          exscan
 *
 * A rank reads and reduces each byte once, however many ranks there are, whereas a rank of `flat`
 * reads the inputs of all ranks before it. A rank awaits one rank only. So a series of calls passes
 * through the ranks as in a pipeline, and ranks that take turns on a processor make several calls
 * in a turn. A single call takes a signal for each rank. A message that is larger than the window
 * goes in slices through its two halves; a rank refills a half when the next rank has signalled
 * that it has read that half.
 * Source: the pipelined chain of message-passing scans (Sanders and Traeff 2006), through the
 * shared buffer of shared-memory collectives.
 */
#include "coll/coll-util.h"

/* Appends the step that makes the result of this rank: in an exscan from the window of the rank
 * before; in a scan from the rank's own window `win`, or, on the last rank, which fills no window,
 * from the window of the rank before and the input. The result may overwrite the input. */
static void finish(struct tt_builder *b, const struct tt_call *call, const struct tt_slices *s,
                   struct tt_range win, int me, bool last)
{
    struct tt_range out = tt_slice(b, s, tt_own(TT_OUT, 0)), before = win;
    before.rank = me - 1;
    if (call->coll == TT_COLL_exscan) {
        tt_slice_copy(b, s, out, before);
    } else if (last) {
        struct tt_range in = tt_slice(b, s, tt_own(TT_IN, 0));
        tt_combine(b, out, (struct tt_range[]){before, in}, 2, s->len);
        if (s->tail != s->len) tt_tail(b, s->tail);
    } else {
        tt_slice_copy(b, s, out, win);
    }
}

/* Appends the steps of rank `me`. It raises its flag to 2 j + 1 when slice j lies in its window,
 * and to 2 j + 2 when it has read slice j of the rank before. */
static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t base;
    const int before = me - 1;
    bool last = me == map->p - 1;
    struct tt_slices s = tt_window_slices(call, map, tt_call_bytes(call), call->sz, &base);
    struct tt_range win = tt_half(b, &s, tt_own(TT_WIN, base));
    tt_slices_begin(b, &s);
    if (!last)
        tt_window_pass(b, &s, win, me, &before, me > 0, me + 1);
    else if (me > 0)
        tt_slice_await(b, &s, before, 1, 2);
    if (me > 0) finish(b, call, &s, win, me, last);
    if (me > 0 && s.turns > 2) tt_slice_signal(b, &s, before, 2, 2);
    tt_slices_end(b, &s);
    if (me == 0 && call->coll == TT_COLL_scan) tt_copy_in(b, call, 0, 0, tt_call_bytes(call));
}

const struct tt_algorithm tt_scan_window = {
    .coll = TT_COLL_scan,
    .name = "window",
    .applies = "one node",
    .cost = "(p-2+q) (t_s + (t_w + gamma) L/q)",
    .source = "pipelined chain (Sanders and Traeff 2006), through shared memory",
    .refuse = tt_refuse_halves,
    .build = build,
};

const struct tt_algorithm tt_exscan_window = {
    .coll = TT_COLL_exscan,
    .name = "window",
    .applies = "one node",
    .cost = "(p-2+q) (t_s + (2 t_w + gamma) L/q)",
    .source = "pipelined chain (Sanders and Traeff 2006), through shared memory",
    .refuse = tt_refuse_halves,
    .build = build,
};
