/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gatherv `flat`: every rank copies its piece into its window, and the root copies it out. A rank
 * whose piece is longer than the window puts it into the root's buffer itself, or where that is
 * very dear, passes it through its window slice by slice.
 *
 *     1  IN -> WIN ==\
 *     2  IN -> WIN ===> root: OUT[1] OUT[2] OUT[3]
 *     3  IN ================================/   the window is too short
 *
 * If ranks put their pieces into the root's buffer, the root's first signal says that its buffer is
 * open. The root gives this signal in every call: if the counts of a rank and of the root differ,
 * the rank may await the signal although the root expects no rank to put a piece. At the signal the
 * rank compares the counts, and finds the error. Each other rank raises its flag to 1 + j when its
 * piece, or slice j of it, is in place. No rank but the root knows the counts of the others, so the
 * root takes slice j of all pieces before any slice j + 1, and then raises its flag to 2 + j. The
 * root also awaits the ranks whose pieces are empty, because it compares the counts with each rank
 * before it reads anything.
 * Source: the shared buffer of shared-memory collectives; single copy by cross-memory attach.
 */
#include "coll/coll-util.h"

/* The path of a piece. */
struct gatherv_way {
    struct tt_parts parts;
    int64_t at;                   /* where in the window the piece is; -1: it does not fit */
    struct tt_part_slices slices; /* the slices of a piece that does not fit */
};

static struct gatherv_way way_of(const struct tt_call *call, const struct tt_map *map, int64_t len)
{
    struct gatherv_way w = {.parts = tt_parts_of(map, 1)};
    w.at = tt_part_at(&w.parts, 0, len);
    if (w.at < 0) w.slices = tt_part_slices(&w.parts, call, map, map->writes, len);
    return w;
}

/* Appends the steps by which the root takes all pieces, or slices of them, that come in turn j.
 * Returns the number of turns. */
static int turn(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map, int j)
{
    int turns = 0;
    for (int k = 1; k < map->p; k++) {
        int r = tt_after(map->p, call->root, k);
        struct tt_span piece = tt_block_from(call, r);
        struct gatherv_way w = way_of(call, map, piece.len);
        turns = (int)tt_max(turns, w.slices.n);
        if (j > 0 && j >= w.slices.n) continue;
        tt_await(b, r, (uint32_t)j + 1);
        if (w.slices.n > 0)
            tt_copy(b, tt_own(TT_OUT, piece.off + j * w.slices.len),
                    tt_at(TT_WIN, r, tt_part_slice_at(&w.parts, &w.slices, 0, j)),
                    tt_part_slice_len(&w.slices, j));
        else if (w.at >= 0)
            tt_copy(b, tt_own(TT_OUT, piece.off), tt_at(TT_WIN, r, w.at), piece.len);
        else
            tt_open(b, 1 << TT_OUT);
    }
    return turns;
}

static void collect(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                    int me)
{
    struct tt_span mine = tt_block_from(call, me);
    tt_signal(b, TT_ALL, 1);
    tt_copy(b, tt_own(TT_OUT, mine.off), tt_own(TT_IN, tt_block_to(call, me).off), mine.len);
    for (int j = 0, turns = 1; j < turns; j++) {
        turns = turn(b, call, map, j);
        if (j + 2 < turns) tt_signal(b, TT_ALL, (uint32_t)j + 2);
    }
}

static void give_slices(struct tt_builder *b, int root, const struct gatherv_way *w, int64_t from)
{
    for (int j = 0; j < w->slices.n; j++, from += w->slices.len) {
        if (j >= 2) tt_await(b, root, (uint32_t)j);
        tt_copy(b, tt_own(TT_WIN, tt_part_slice_at(&w->parts, &w->slices, 0, j)),
                tt_own(TT_IN, from), tt_part_slice_len(&w->slices, j));
        tt_signal(b, root, (uint32_t)j + 1);
    }
}

static void give(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map)
{
    int root = call->root;
    struct tt_span mine = tt_block_to(call, root);
    struct gatherv_way w = way_of(call, map, mine.len);
    if (w.slices.n > 0) {
        give_slices(b, root, &w, mine.off);
        return;
    }
    if (w.at >= 0) {
        tt_copy(b, tt_own(TT_WIN, w.at), tt_own(TT_IN, mine.off), mine.len);
    } else {
        tt_await(b, root, 1);
        /* OUT@root begins at the segment that the root expects from this rank. */
        tt_wait(b, tt_put(b, tt_at(TT_OUT, root, 0), tt_own(TT_IN, mine.off), mine.len));
    }
    tt_signal(b, root, 1);
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
        collect(b, call, map, me);
    else
        give(b, call, map);
}

const struct tt_algorithm tt_gatherv_flat = {
    .coll = TT_COLL_gatherv,
    .name = "flat",
    .applies = "one node",
    .cost = "t_s + t_w (L_0 + ... + L_(p-1))",
    .source = "a buffer shared by all ranks of a node",
    .refuse = refuse,
    .build = build,
};
