/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoallv `mixed`: short blocks go through the windows, and long ones are copied from buffer to
 * buffer. IN@1 is the input of rank 1.
 *
 *     rank 1   IN [to 0] -> WIN@1 ==> OUT@0        short
 *              IN [     to 2    ] ==> OUT@2        long
 *
 * No rank knows all counts, so the choice of an algorithm cannot depend on them. But both ranks of
 * a pair know the length of each block between them, and so choose the same path for it. A window
 * has an equal part for each rank. For short blocks there is one round of signals: the blocks are
 * in the window, which nobody fills again before all ranks have ended the call. Long blocks need a
 * second round, which says that they have been read.
 *
 * Where reading is very dear, long blocks go through the two halves of their part of the window,
 * slice by slice. In turn j a rank fills the halves for slice j of all its blocks, raises its flag
 * to 2 j + 1, copies slice j of the blocks from other ranks, and raises its flag to 2 j + 2 if one
 * of these ranks has a slice j + 2 to send to it, which goes into the same half as slice j. A rank
 * takes part in as many turns as its longest block has slices.
 * Source: the shared buffer of shared-memory collectives; single copy by cross-memory attach.
 */
#include "coll/coll-util.h"

/* A block of at most this many bytes is short:
 *
 *     MAPPED   where ranks access each other's buffers by loads and stores
 *     SHORT    where reading is cheap; FEWER with more than MANY ranks
 *     LONG     elsewhere; SHORT with more than MANY ranks
 *
 * With many ranks the limits are lower, because the caches then keep fewer bytes. The two copies of
 * a short block take less time than one copy by the kernel. If ranks access each other's buffers by
 * loads, the two copies take less time than the second round of signals. */
enum { MANY = 8, MAPPED = 2 << 10, FEWER = 4 << 10, SHORT = 16 << 10, LONG = 128 << 10 };

static int64_t usual(const struct tt_map *map)
{
    bool many = map->p > MANY;
    if (map->mapped) return MAPPED;
    if (map->reads && map->read_cost <= 1) return many ? FEWER : SHORT;
    return many ? SHORT : LONG;
}

/* The path of a block. */
struct mixed_way {
    struct tt_parts parts;
    int part;                     /* the number of the receiver's part in the sender's window */
    int64_t at;                   /* where in the sender's window a short block lies; -1: it is
                                   * long */
    struct tt_part_slices slices; /* the slices of a long block */
};

/* Returns the path of the block of `len` bytes from rank `from` to rank `to`. Both ranks get the
 * same answer. */
static struct mixed_way way_of(const struct tt_call *call, const struct tt_map *map, int from,
                               int to, int64_t len)
{
    struct mixed_way w = {
        .parts = tt_parts_of(map, map->p - 1), .part = tt_part_of(map->p, from, to), .at = -1};
    if (len <= tt_slice_bytes(call, usual(map))) w.at = tt_part_at(&w.parts, w.part, len);
    if (w.at < 0) w.slices = tt_part_slices(&w.parts, call, map, map->reads, len);
    return w;
}

/* Appends the steps of turn j that copy blocks, or slices of blocks, for other ranks into the
 * window. In turn 0, also opens IN if a long block goes from buffer to buffer. Returns the number
 * of turns. */
static int offer(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map, int me,
                 const struct tt_peers *to, int j)
{
    int turns = 1;
    for (int k = 0; k < to->n; k++) {
        int r = tt_peer(to, k);
        struct tt_span block = tt_block_to(call, r);
        struct mixed_way w = way_of(call, map, me, r, block.len);
        turns = (int)tt_max(turns, w.slices.n);
        if (w.slices.n > j) {
            if (j >= 2) tt_await(b, r, 2 * (uint32_t)j - 2);
            tt_copy(b, tt_own(TT_WIN, tt_part_slice_at(&w.parts, &w.slices, w.part, j)),
                    tt_own(TT_IN, block.off + j * w.slices.len), tt_part_slice_len(&w.slices, j));
        } else if (j == 0 && w.at >= 0) {
            tt_copy(b, tt_own(TT_WIN, w.at), tt_own(TT_IN, block.off), block.len);
        } else if (j == 0) {
            tt_open(b, 1 << TT_IN);
        }
    }
    return turns;
}

/* Appends the steps that copy a block from rank r to OUT, if it does not go in slices. */
static void take_whole(struct tt_builder *b, const struct mixed_way *w, int r, struct tt_span block)
{
    struct tt_range to = tt_own(TT_OUT, block.off);
    tt_await(b, r, 1);
    if (w->at < 0) /* IN@r begins at the segment that rank r has for this rank */
        tt_wait(b, tt_get(b, to, tt_at(TT_IN, r, 0), block.len));
    else
        tt_copy(b, to, tt_at(TT_WIN, r, w->at), block.len);
}

/* Appends the steps of turn j that copy blocks, or slices of blocks, from other ranks to OUT, and
 * then signal that they have been read, if some rank waits for this signal. Returns the number of
 * turns. */
static int take(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map, int me,
                const struct tt_peers *from, int j)
{
    int turns = 1;
    bool any = false;
    for (int k = 0; k < from->n; k++) {
        int r = tt_peer(from, k);
        struct tt_span block = tt_block_from(call, r);
        struct mixed_way w = way_of(call, map, r, me, block.len);
        turns = (int)tt_max(turns, w.slices.n);
        any = any || w.slices.n > j + 2 || (j == 0 && w.at < 0 && w.slices.n == 0);
        if (w.slices.n > j) {
            tt_await(b, r, 2 * (uint32_t)j + 1);
            tt_copy(b, tt_own(TT_OUT, block.off + j * w.slices.len),
                    tt_at(TT_WIN, r, tt_part_slice_at(&w.parts, &w.slices, w.part, j)),
                    tt_part_slice_len(&w.slices, j));
        } else if (j == 0 && block.len > 0) {
            take_whole(b, &w, r, block);
        }
    }
    if (any) tt_signal(b, TT_ALL, 2 * (uint32_t)j + 2);
    return turns;
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_peers to = tt_peers_to(call, map->p, me), from = tt_peers_from(call, map->p, me);
    struct tt_span mine = tt_block_to(call, me);
    for (int j = 0, turns = 1; j < turns; j++) {
        int out = offer(b, call, map, me, &to, j);
        tt_signal(b, TT_ALL, 2 * (uint32_t)j + 1);
        if (j == 0)
            tt_copy(b, tt_own(TT_OUT, tt_block_from(call, me).off), tt_own(TT_IN, mine.off),
                    mine.len);
        turns = (int)tt_max(out, take(b, call, map, me, &from, j));
    }
    for (int k = 0; k < to.n; k++) {
        int r = tt_peer(&to, k);
        struct mixed_way w = way_of(call, map, me, r, tt_block_to(call, r).len);
        if (w.at < 0 && w.slices.n == 0) tt_await(b, r, 2);
    }
}

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    (void)call;
    return tt_refuse_window(map, 0);
}

const struct tt_algorithm tt_alltoallv_mixed = {
    .coll = TT_COLL_alltoallv,
    .name = "mixed",
    .applies = "one node",
    .cost = "t_s + t_w (m_0 + ... + m_(p-1)) for long blocks, twice that for short ones",
    .source = "a buffer shared by all ranks of a node; single copy by cross-memory attach",
    .refuse = refuse,
    .build = build,
};
