/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scatterv `flat`: the root copies the pieces of the others into its window, and each of them
 * copies its own piece out. A rank gets a piece that is longer than its part of the window out of
 * the root's own buffer.
 *
 *     root   IN -> WIN [to 1][to 2][    ] ====> OUT of 1
 *                                         ====> OUT of 2
 *            IN [     to 3     ] =============> OUT of 3
 *
 * No rank but the root knows the counts of the others, so each rank has an equal part of the
 * window. A rank that got a piece from the root's buffer answers, so that the root may change it
 * again. All ranks await the root's signal, also those whose pieces are empty, because each of them
 * compares its count with the root's. Source: the shared buffer of shared-memory collectives;
 * single copy by cross-memory attach.
 */
#include "coll/coll-util.h"

static void hand_out(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                     int me)
{
    const struct tt_parts parts = tt_parts_of(map, map->p - 1);
    struct tt_span mine = tt_block_to(call, me);
    for (int k = 1; k < map->p; k++) {
        int r = tt_after(map->p, me, k);
        struct tt_span piece = tt_block_to(call, r);
        int64_t at = tt_part_at(&parts, tt_part_of(map->p, me, r), piece.len);
        if (at >= 0)
            tt_copy(b, tt_own(TT_WIN, at), tt_own(TT_IN, piece.off), piece.len);
        else
            tt_open(b, 1 << TT_IN);
    }
    tt_signal(b, TT_ALL, 1);
    tt_copy(b, tt_own(TT_OUT, tt_block_from(call, me).off), tt_own(TT_IN, mine.off), mine.len);
    for (int k = 1; k < map->p; k++) {
        int r = tt_after(map->p, me, k);
        if (tt_part_at(&parts, 0, tt_block_to(call, r).len) < 0) tt_await(b, r, 1);
    }
}

static void take(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map, int me)
{
    const struct tt_parts parts = tt_parts_of(map, map->p - 1);
    int root = call->root;
    struct tt_span mine = tt_block_from(call, root);
    struct tt_range to = tt_own(TT_OUT, mine.off);
    int64_t at = tt_part_at(&parts, tt_part_of(map->p, root, me), mine.len);
    tt_await(b, root, 1);
    if (at >= 0) {
        tt_copy(b, to, tt_at(TT_WIN, root, at), mine.len);
    } else {
        /* IN@root is the segment at the root that is meant for this rank. */
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
