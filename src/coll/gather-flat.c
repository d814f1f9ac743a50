/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gather `flat`: every rank copies its piece into its window, and the root copies all pieces out.
 *
 *     1  IN -> WIN ==\
 *     2  IN -> WIN ===> root: OUT[1] OUT[2] ...
 *
 * There is one round. A piece that is larger than the window goes in slices through its two halves;
 * the root signals which slices it has read.
 * Source: the shared buffer of shared-memory collectives.
 */
#include "coll/coll-util.h"

static void drain(struct tt_builder *b, const struct tt_call *call, const struct tt_slices *s,
                  int p, int64_t base)
{
    struct tt_range win = tt_half(b, s, tt_own(TT_WIN, base));
    tt_slices_begin(b, s);
    for (int k = 1; k < p; k++) {
        win.rank = tt_after(p, call->root, k);
        tt_slice_await(b, s, win.rank, 1, 1);
        tt_slice_copy(b, s, tt_slice(b, s, tt_own(TT_OUT, tt_piece(call, win.rank).off)), win);
    }
    if (s->turns > 2) tt_slice_signal(b, s, TT_ALL, 1, 1);
    tt_slices_end(b, s);
    tt_copy_in(b, call, tt_piece(call, call->root).off, 0, tt_call_bytes(call));
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t base;
    struct tt_slices s = tt_window_slices(call, map, tt_call_bytes(call), call->sz, &base);
    if (me == call->root)
        drain(b, call, &s, map->p, base);
    else
        tt_window_fill(b, &s, call->root, base);
}

const struct tt_algorithm tt_gather_flat = {
    .coll = TT_COLL_gather,
    .name = "flat",
    .applies = "one node",
    .cost = "t_s + p t_w L",
    .source = "a buffer shared by all ranks of a node",
    .refuse = tt_refuse_halves,
    .build = build,
};
