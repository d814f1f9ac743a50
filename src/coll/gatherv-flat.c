/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gatherv `flat`: every rank copies its piece into its window, and the root copies it out. A rank
 * whose piece is longer than the window puts it into the root's buffer itself.
 *
 *     1  IN -> WIN ==\
 *     2  IN -> WIN ===> root: OUT[1] OUT[2] OUT[3]
 *     3  IN ================================/   the window is too short
 *
 * No rank but the root knows the counts of the others, so the slices of different pieces could not
 * share one loop as in gather `flat`. The root's first signal says that its buffer is open if a
 * piece is too long. It signals in any case, so that a rank that expects this wrongly comes to
 * compare its counts. Each other rank signals when its piece is in place. The root awaits also the
 * ranks whose pieces are empty, because it compares the counts with each of them before it reads
 * anything.
 * Source: the shared buffer of shared-memory collectives; single copy by cross-memory attach.
 */
#include "coll/coll-util.h"

static void collect(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                    int me)
{
    const struct tt_parts parts = tt_parts_of(map, 1);
    struct tt_span mine = tt_block_from(call, me);
    tt_signal(b, TT_ALL, 1);
    tt_copy(b, tt_own(TT_OUT, mine.off), tt_own(TT_IN, tt_block_to(call, me).off), mine.len);
    for (int k = 1; k < map->p; k++) {
        int r = tt_after(map->p, me, k);
        struct tt_span piece = tt_block_from(call, r);
        int64_t at = tt_part_at(&parts, 0, piece.len);
        tt_await(b, r, 1);
        if (at >= 0)
            tt_copy(b, tt_own(TT_OUT, piece.off), tt_at(TT_WIN, r, at), piece.len);
        else
            tt_open(b, 1 << TT_OUT);
    }
}

static void give(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map)
{
    int root = call->root;
    const struct tt_parts parts = tt_parts_of(map, 1);
    struct tt_span mine = tt_block_to(call, root);
    int64_t at = tt_part_at(&parts, 0, mine.len);
    if (at >= 0) {
        tt_copy(b, tt_own(TT_WIN, at), tt_own(TT_IN, mine.off), mine.len);
    } else {
        tt_await(b, root, 1);
        /* OUT@root is the segment at the root that is meant for this rank. */
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
