/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scatter `flat`: the root copies the pieces of the others into its window, and each of them copies
 * its own piece out.
 *
 *     root   IN -> WIN [to 0][to 1][to 2] ====> OUT of 1
 *                                         ====> OUT of 2 ...
 *
 * If the window has room for all pieces together, there is one round, and no rank answers the root.
 * Otherwise the pieces go in slices through the two halves of the window: a half holds the same
 * slice of each piece. The root refills a half when every rank has signalled that it has read that
 * half.
 * Source: the shared buffer of shared-memory collectives.
 */
#include "coll/coll-util.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    return tt_refuse_window(map, map->p * tt_min(tt_call_bytes(call), 2 * call->sz));
}

/* Returns the slices of one piece, and in *base where they begin in WIN. A turn moves the same
 * slice of all pieces through WIN. */
static struct tt_slices slices(const struct tt_call *call, const struct tt_map *map, int64_t *base)
{
    struct tt_call all = *call;
    all.slice *= map->p;
    struct tt_slices s =
        tt_window_slices(&all, map, map->p * tt_call_bytes(call), map->p * call->sz, base);
    return (struct tt_slices){.len = s.len / map->p, .tail = s.tail / map->p, .turns = s.turns};
}

/* Returns the place in WIN of rank r's slice of this turn. */
static struct tt_range place(struct tt_builder *b, const struct tt_slices *s, int p,
                             struct tt_range win, int r)
{
    win.off += r * s->len;
    return s->turns > 1 ? tt_rotating(b, win, p * s->len, 2, 0) : win;
}

static void fill(struct tt_builder *b, const struct tt_call *call, const struct tt_slices *s, int p,
                 int64_t base)
{
    int64_t bytes = tt_call_bytes(call);
    tt_slices_begin(b, s);
    tt_window_await_read(b, s, p, call->root);
    for (int k = 1; k < p; k++) {
        int r = tt_after(p, call->root, k);
        tt_slice_copy(b, s, place(b, s, p, tt_own(TT_WIN, base), r),
                      tt_slice(b, s, tt_own(TT_IN, r * bytes)));
    }
    tt_slice_signal(b, s, TT_ALL, 1, 1);
    tt_slices_end(b, s);
    tt_copy_in(b, call, 0, call->root * bytes, bytes);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t base;
    struct tt_slices s = slices(call, map, &base);
    if (me == call->root)
        fill(b, call, &s, map->p, base);
    else
        tt_window_drain(b, &s, call->root,
                        place(b, &s, map->p, tt_at(TT_WIN, call->root, base), me));
}

const struct tt_algorithm tt_scatter_flat = {
    .coll = TT_COLL_scatter,
    .name = "flat",
    .applies = "one node, windows with room for 2p elements",
    .cost = "t_s + p t_w L",
    .source = "a buffer shared by all ranks of a node",
    .refuse = refuse,
    .build = build,
};
