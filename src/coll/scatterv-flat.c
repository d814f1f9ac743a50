/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scatterv `flat`: the root copies the pieces of the others into its window, and each of them
 * copies its own piece out. A rank gets a piece that is longer than its part of the window out of
 * the root's own buffer, or where reading is very dear, slice by slice through its part.
 *
 *     root   IN -> WIN [to 1][to 2][    ] ====> OUT of 1
 *                                         ====> OUT of 2
 *            IN [     to 3     ] =============> OUT of 3
 *
 * No rank but the root knows the counts of the others, so each rank has an equal part of the
 * window. In turn j the root fills one half of each part whose piece has a slice j, and raises its
 * flag to 1 + j. A rank that has read slice j answers with 1 + j, if the root needs that half
 * again. A rank that got a piece from the root's buffer answers, so that the root may change the
 * buffer again. All ranks await the root's signal, also those whose pieces are empty, because each
 * of them compares its count with the root's.
 * Source: the shared buffer of shared-memory collectives; single copy by cross-memory attach.
 */
#include "coll/coll-util.h"

/* The path of a piece. */
struct scatterv_way {
    struct tt_parts parts;
    int part;                     /* the number of the receiver's part of the window */
    int64_t at;                   /* where in the window the piece is; -1: it does not fit */
    struct tt_part_slices slices; /* the slices of a piece that does not fit */
};

static struct scatterv_way way_to(const struct tt_call *call, const struct tt_map *map, int r,
                                  int64_t len)
{
    struct scatterv_way w = {.parts = tt_parts_of(map, map->p - 1),
                             .part = tt_part_of(map->p, call->root, r)};
    w.at = tt_part_at(&w.parts, w.part, len);
    if (w.at < 0) w.slices = tt_part_slices(&w.parts, call, map, map->reads, len);
    return w;
}

static void fill(struct tt_builder *b, const struct scatterv_way *w, int r, int j, int64_t from)
{
    if (j >= 2) tt_await(b, r, (uint32_t)j - 1);
    tt_copy(b, tt_own(TT_WIN, tt_part_slice_at(&w->parts, &w->slices, w->part, j)),
            tt_own(TT_IN, from + j * w->slices.len), tt_part_slice_len(&w->slices, j));
}

/* Fills the window for turn j. Returns whether another turn follows. */
static bool turn(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map, int j)
{
    bool more = false;
    for (int k = 1; k < map->p; k++) {
        int r = tt_after(map->p, call->root, k);
        struct tt_span piece = tt_block_to(call, r);
        struct scatterv_way w = way_to(call, map, r, piece.len);
        more = more || w.slices.n > j + 1;
        if (w.slices.n > j)
            fill(b, &w, r, j, piece.off);
        else if (j == 0 && w.at >= 0)
            tt_copy(b, tt_own(TT_WIN, w.at), tt_own(TT_IN, piece.off), piece.len);
        else if (j == 0)
            tt_open(b, 1 << TT_IN);
    }
    return more;
}

static void hand_out(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                     int me)
{
    struct tt_span mine = tt_block_to(call, me);
    bool more = turn(b, call, map, 0);
    tt_signal(b, TT_ALL, 1);
    for (int j = 1; more; j++) {
        more = turn(b, call, map, j);
        tt_signal(b, TT_ALL, (uint32_t)j + 1);
    }
    tt_copy(b, tt_own(TT_OUT, tt_block_from(call, me).off), tt_own(TT_IN, mine.off), mine.len);
    for (int k = 1; k < map->p; k++) {
        int r = tt_after(map->p, me, k);
        struct scatterv_way w = way_to(call, map, r, tt_block_to(call, r).len);
        if (w.at < 0 && w.slices.n == 0) tt_await(b, r, 1);
    }
}

static void take_slices(struct tt_builder *b, int root, const struct scatterv_way *w,
                        struct tt_range to)
{
    for (int j = 0; j < w->slices.n; j++, to.off += w->slices.len) {
        tt_await(b, root, (uint32_t)j + 1);
        tt_copy(b, to, tt_at(TT_WIN, root, tt_part_slice_at(&w->parts, &w->slices, w->part, j)),
                tt_part_slice_len(&w->slices, j));
        if (j + 2 < w->slices.n) tt_signal(b, root, (uint32_t)j + 1);
    }
}

static void take(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map, int me)
{
    int root = call->root;
    struct tt_span mine = tt_block_from(call, root);
    struct tt_range to = tt_own(TT_OUT, mine.off);
    struct scatterv_way w = way_to(call, map, me, mine.len);
    if (w.slices.n > 0) {
        take_slices(b, root, &w, to);
        return;
    }
    tt_await(b, root, 1);
    if (w.at >= 0) {
        tt_copy(b, to, tt_at(TT_WIN, root, w.at), mine.len);
    } else {
        /* IN@root begins at the segment that the root has for this rank. */
        tt_wait(b, tt_get(b, to, tt_at(TT_IN, root, 0), mine.len));
        tt_signal(b, root, 1);
    }
}

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    return tt_refuse_window(map, call->sz);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    if (me == call->root)
        hand_out(b, call, map, me);
    else
        take(b, call, map, me);
}

const struct tt_algorithm tt_scatterv_flat = {
    .coll = TT_COLL_scatterv,
    .name = "flat",
    .applies = "one node",
    .cost = "t_s + t_w (L_0 + ... + L_(p-1))",
    .source = "a buffer shared by all ranks of a node",
    .refuse = refuse,
    .build = build,
};
