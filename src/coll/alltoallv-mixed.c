/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoallv `mixed`: short blocks go through the windows, and long ones are copied from buffer to
 * buffer.
 *
 *     rank 1   IN [to 0] -> WIN@1 ==> OUT@0        short
 *              IN [     to 2    ] ==> OUT@2        long
 *
 * No rank knows all counts, so the choice of an algorithm cannot depend on them. But both ranks of
 * a pair know the length of each block between them, and take it in the same way. A window has an
 * equal part for each rank. For short blocks there is one round of signals: the blocks are in the
 * window, which nobody fills again before all ranks have ended the call. Long blocks need a second
 * round, which says that they have been read.
 * Source: the shared buffer of shared-memory collectives; single copy by cross-memory attach.
 */
#include "coll/coll-util.h"

/* The most bytes of a short block. Up to these, two copies take less time than the kernel needs for
 * one, or than the second round of signals where all memory is MAPPED. MANY ranks keep fewer bytes
 * in the caches. Where reading is dear, longer blocks are short. */
enum { MANY = 8, MAPPED = 2 << 10, FEWER = 4 << 10, SHORT = 16 << 10, LONG = 128 << 10 };

static int64_t usual(const struct tt_map *map)
{
    bool many = map->p > MANY;
    if (map->mapped) return MAPPED;
    if (map->reads && map->read_cost <= 1) return many ? FEWER : SHORT;
    return many ? SHORT : LONG;
}

/* Returns where in the window of rank `from` the block for rank `to` lies; -1: it is long, as both
 * of them know. */
static int64_t place(const struct tt_call *call, const struct tt_map *map, int from, int to,
                     int64_t len)
{
    const struct tt_parts parts = tt_parts_of(map, map->p - 1);
    bool fits = len <= tt_slice_bytes(call, usual(map));
    return fits ? tt_part_at(&parts, tt_part_of(map->p, from, to), len) : -1;
}

/* Copies the short blocks for other ranks into the window, and opens IN if there are long ones. */
static void offer(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, const struct tt_peers *to)
{
    for (int k = 0; k < to->n; k++) {
        int r = tt_peer(to, k);
        struct tt_span block = tt_block_to(call, r);
        int64_t at = place(call, map, me, r, block.len);
        if (at >= 0)
            tt_copy(b, tt_own(TT_WIN, at), tt_own(TT_IN, block.off), block.len);
        else
            tt_open(b, 1 << TT_IN);
    }
}

/* Gets all blocks from other ranks, and signals that the long ones have been read. */
static void take(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map, int me,
                 const struct tt_peers *from)
{
    bool any = false;
    for (int k = 0; k < from->n; k++) {
        int r = tt_peer(from, k);
        struct tt_span block = tt_block_from(call, r);
        struct tt_range to = tt_own(TT_OUT, block.off);
        int64_t at = place(call, map, r, me, block.len);
        if (block.len == 0) continue;
        tt_await(b, r, 1);
        any = any || at < 0;
        if (at < 0) /* IN@r is the segment at r that is meant for this rank */
            tt_wait(b, tt_get(b, to, tt_at(TT_IN, r, 0), block.len));
        else
            tt_copy(b, to, tt_at(TT_WIN, r, at), block.len);
    }
    if (any) tt_signal(b, TT_ALL, 2);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_peers to = tt_peers_to(call, map->p, me), from = tt_peers_from(call, map->p, me);
    struct tt_span mine = tt_block_to(call, me);
    offer(b, call, map, me, &to);
    tt_signal(b, TT_ALL, 1);
    tt_copy(b, tt_own(TT_OUT, tt_block_from(call, me).off), tt_own(TT_IN, mine.off), mine.len);
    take(b, call, map, me, &from);
    for (int k = 0; k < to.n; k++) {
        int r = tt_peer(&to, k);
        if (place(call, map, me, r, tt_block_to(call, r).len) < 0) tt_await(b, r, 2);
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
