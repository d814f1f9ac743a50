/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall `flat`: every rank copies the blocks for the others into its window, and then copies the
 * blocks that are meant for it out of all windows. WIN@1 is the window of rank 1.
 *
 *     WIN@0        [to 1][to 2]
 *     WIN@1  [to 0]      [to 2]  ==> OUT@1 [from 0][from 1][from 2]
 *     WIN@2  [to 0][to 1]
 *
 * There is one round if p - 1 blocks fit the window. Otherwise a turn takes the same part of each
 * block, and the turns alternate between the halves of WIN, as in allgather `flat`.
 * Source: the shared buffer of shared-memory collectives.
 */
#include "coll/coll-util.h"

/* How the blocks are cut: each of `turns` turns exchanges `part` bytes of every block, and a last
 * turn exchanges `rest` bytes, unless `rest` is 0. The parts lie in WIN from byte `base` on. */
struct alltoall_flat_cut {
    int64_t base, part, rest;
    uint32_t turns;
};

/* Parts at least this large begin and end with a cache line. */
#define WHOLE_LINES 1024

static struct alltoall_flat_cut cut(const struct tt_call *call, const struct tt_map *map)
{
    struct alltoall_flat_cut c;
    int64_t bytes = tt_call_bytes(call), others = tt_max(map->p - 1, 1);
    struct tt_call blocks = *call;
    blocks.slice *= others;
    struct tt_slices s = tt_window_slices(&blocks, map, others * bytes, others * call->sz, &c.base);
    c.part = s.len / others;
    if (c.part >= WHOLE_LINES && TT_LINE % call->sz == 0) c.part -= c.part % TT_LINE;
    c.turns = (uint32_t)tt_min(bytes / c.part, UINT32_MAX);
    c.rest = bytes % c.part;
    return c;
}

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    return tt_refuse_window(map, (map->p - 1) * tt_min(tt_call_bytes(call), 2 * call->sz));
}

/* Copies to `win` the part that this turn exchanges of each of n blocks, beginning with block
 * `first`. The slices `s` begin at byte `done` of each block. */
static void offer(struct tt_builder *b, const struct tt_call *call, const struct tt_slices *s,
                  struct tt_range win, int64_t first, int64_t n, int64_t done)
{
    int64_t bytes = tt_call_bytes(call);
    struct tt_range blocks = tt_own(TT_IN, first * bytes + done);
    if (n > 1 && s->len < bytes) blocks = tt_strided(b, blocks, s->len, bytes);
    tt_copy(b, win, tt_slice(b, s, blocks), n * s->len);
}

/* Appends the turns that exchange the slices `s` of each block. `first` is the number of turns that
 * came before these. */
static void exchange(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                     int me, const struct alltoall_flat_cut *c, struct tt_slices s, int64_t first)
{
    int64_t bytes = tt_call_bytes(call), done = first * c->part, others = map->p - 1;
    struct tt_range win = tt_own(TT_WIN, c->base + first % 2 * others * c->part);
    if (s.turns > 1) win = tt_rotating(b, win, others * s.len, 2, 0);
    struct tt_range above = win;
    above.off += me * s.len;
    tt_slices_begin(b, &s);
    offer(b, call, &s, win, 0, me, done);
    offer(b, call, &s, above, me + 1, others - me, done);
    tt_slice_signal(b, &s, TT_ALL, (uint32_t)first + 1, 1);
    for (int k = 1; k < map->p; k++) {
        int r = tt_after(map->p, me, k);
        struct tt_range from = above;
        from.rank = r;
        if (r < me) from.off -= s.len;
        tt_slice_await(b, &s, r, (uint32_t)first + 1, 1);
        tt_copy(b, tt_slice(b, &s, tt_own(TT_OUT, r * bytes + done)), from, s.len);
    }
    tt_slices_end(b, &s);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct alltoall_flat_cut c = cut(call, map);
    int64_t bytes = tt_call_bytes(call);
    struct tt_slices full = {.len = c.part, .tail = c.part, .turns = c.turns};
    struct tt_slices rest = {.len = c.rest, .tail = c.rest, .turns = 1};
    exchange(b, call, map, me, &c, full, 0);
    if (c.rest > 0) exchange(b, call, map, me, &c, rest, c.turns);
    tt_copy(b, tt_own(TT_OUT, me * bytes), tt_own(TT_IN, me * bytes), bytes);
}

const struct tt_algorithm tt_alltoall_flat = {
    .coll = TT_COLL_alltoall,
    .name = "flat",
    .applies = "one node, windows with room for 2(p-1) elements",
    .cost = "t_s + 2 p t_w m",
    .source = "a buffer shared by all ranks of a node",
    .refuse = refuse,
    .build = build,
};
