/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast `flat`: the root copies its message into its window, and all others copy it out.
 *
 *     root   OUT -> WIN ====> OUT of 1
 *                       ====> OUT of 2 ...
 *
 * There is one round with two copies, and no rank answers the root. A message that is larger than
 * the window goes in slices through its two halves. The root refills a half when every rank has
 * signalled that it has read it.
 * Source: the shared buffer of shared-memory broadcasts.
 */
#include "coll/coll-util.h"

static void fill(struct tt_builder *b, const struct tt_slices *s, int p, int me, int64_t base)
{
    tt_slices_begin(b, s);
    for (int k = 1; k < p && s->turns > 2; k++) {
        tt_slice_await(b, s, tt_after(p, me, k), (uint32_t)-1, 1);
        tt_from(b, 2);
    }
    tt_slice_copy(b, s, tt_half(b, s, tt_own(TT_WIN, base)), tt_slice(b, s, tt_own(TT_OUT, 0)));
    tt_slice_signal(b, s, TT_ALL, 1, 1);
    tt_slices_end(b, s);
}

static void drain(struct tt_builder *b, const struct tt_slices *s, int root, int64_t base)
{
    tt_slices_begin(b, s);
    tt_slice_await(b, s, root, 1, 1);
    tt_slice_copy(b, s, tt_slice(b, s, tt_own(TT_OUT, 0)),
                  tt_half(b, s, tt_at(TT_WIN, root, base)));
    if (s->turns > 2) tt_slice_signal(b, s, root, 1, 1);
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
        drain(b, &s, call->root, base);
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
