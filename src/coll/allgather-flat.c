/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather(v) `flat`: every rank copies its piece into its window, and all other ranks copy it
 * out.
 *
 *     rank 0  IN -> WIN ==\/==> pieces 1 and 2 to OUT
 *     rank 1  IN -> WIN ==/\==> pieces 0 and 2 to OUT ...
 *
 * There is one round if the pieces fit the window. Longer pieces go in slices through its two
 * halves. Each rank raises its flag for slice k + 1 only after it has read slice k. So a rank that
 * has awaited the flags of all ranks for slice k + 1 may fill the half of slice k again. Pieces of
 * different lengths end in the same turn: shorter pieces begin later.
 * Source: the shared buffer of shared-memory collectives.
 */
#include "coll/coll-util.h"

/* How the pieces are cut. All slices have the length given by `s`, except that the last slice of
 * each piece may be shorter. The slices pass through WIN from byte `base` on. */
struct cut {
    struct tt_slices s;
    int64_t base;
};

static int64_t longest(const struct tt_call *call, int p)
{
    int64_t bytes = 0;
    for (int r = 0; r < p; r++) bytes = tt_max(bytes, tt_piece(call, r).len);
    return bytes;
}

static struct cut cut(const struct tt_call *call, const struct tt_map *map)
{
    struct cut c;
    c.s = tt_window_slices(call, map, longest(call, map->p), call->sz, &c.base);
    return c;
}

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    return tt_refuse_window(map, 2 * call->sz);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct cut c = cut(call, map);
    struct tt_span mine = tt_piece(call, me);
    struct tt_range win = tt_half(b, &c.s, tt_own(TT_WIN, c.base));
    tt_slices_begin(b, &c.s);
    tt_late_copy(b, &c.s, win, tt_own(TT_IN, 0), mine.len);
    tt_slice_signal(b, &c.s, TT_ALL, 1, 1);
    for (int k = 1; k < map->p; k++) {
        int r = tt_after(map->p, me, k);
        struct tt_span piece = tt_piece(call, r);
        win.rank = r;
        tt_slice_await(b, &c.s, r, 1, 1);
        tt_late_copy(b, &c.s, tt_own(TT_OUT, piece.off), win, piece.len);
    }
    tt_slices_end(b, &c.s);
    tt_copy_in(b, call, mine.off, 0, mine.len);
}

const struct tt_algorithm tt_allgather_flat = {
    .coll = TT_COLL_allgather,
    .name = "flat",
    .applies = "one node",
    .cost = "t_s + p t_w L",
    .source = "a buffer shared by all ranks of a node",
    .refuse = refuse,
    .build = build,
};

const struct tt_algorithm tt_allgatherv_flat = {
    .coll = TT_COLL_allgatherv,
    .name = "flat",
    .applies = "one node",
    .cost = "t_s + t_w (L_0 + ... + L_(p-1))",
    .source = "a buffer shared by all ranks of a node",
    .refuse = refuse,
    .build = build,
};
