/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast `flat`: the root copies its message into its window, and all others copy it out.
 *
 *     root   OUT -> WIN ====> OUT of 1
 *                       ====> OUT of 2 ...
 *
 * There is one round with two copies, and no rank answers the root. A message that is larger than
 * the window goes in slices through its two halves. The root refills a half when every rank has
 * signalled that it has read that half.
 * Source: the shared buffer of shared-memory broadcasts.
 */
#include "coll/coll-util.h"

static void fill(struct tt_builder *b, const struct tt_slices *s, int p, int me, int64_t base)
{
    tt_slices_begin(b, s);
    tt_window_await_read(b, s, p, me);
    tt_slice_copy(b, s, tt_half(b, s, tt_own(TT_WIN, base)), tt_slice(b, s, tt_own(TT_OUT, 0)));
    tt_slice_signal(b, s, TT_ALL, 1, 1);
    tt_slices_end(b, s);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t base;
    struct tt_slices s = tt_window_slices(call, map, tt_call_bytes(call), call->sz, &base);
    if (me == call->root)
        fill(b, &s, map->p, me, base);
    else
        tt_window_drain(b, &s, call->root, tt_half(b, &s, tt_at(TT_WIN, call->root, base)));
}

const struct tt_algorithm tt_bcast_flat = {
    .coll = TT_COLL_bcast,
    .name = "flat",
    .applies = "one node",
    .cost = "t_s + 2 t_w L",
    .source = "a buffer shared by all ranks of a node",
    .refuse = tt_refuse_halves,
    .build = build,
};
