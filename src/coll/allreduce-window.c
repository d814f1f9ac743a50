/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `window`: the vector goes in slices. Each rank reduces its own block of a slice, from
 * its input and the windows of the others, into its own window. Then every rank collects the
 * blocks. WIN@1 is the window of rank 1.
 *
 *               block 0   block 1   block 2
 *     WIN@0    [  sum  ]  [ input ]  [ input ]
 *     WIN@1    [ input ]  [  sum  ]  [ input ]    two rounds of signals for each slice
 *     WIN@2    [ input ]  [ input ]  [  sum  ]
 *
 * Slices alternate between the halves of WIN. Each rank raises its flag for the first round of
 * slice k + 1 only after it has read slice k in all windows. So a rank that has awaited these flags
 * of all ranks may fill the half of slice k again. The algorithm needs no access to user buffers,
 * and makes two copies beyond the reduction.
 * Source: reduce-scatter and allgather (Rabenseifner 2004) through shared memory.
 */
#include "coll/coll-util.h"

/* How the message is cut. The slices pass through WIN from byte `base` on. In each turn, block r of
 * the slice begins at byte r * block of the slice and has `block` bytes; the last slice may end in
 * the middle of a block. */
struct allreduce_window_cut {
    struct tt_slices s;
    int64_t base, block;
};

/* Cuts the message into slices that are as equal as possible. */
static struct allreduce_window_cut cut(const struct tt_call *call, const struct tt_map *map)
{
    struct allreduce_window_cut c;
    int64_t bytes = tt_call_bytes(call), unit = map->p * call->sz;
    struct tt_slices most = tt_window_slices(call, map, bytes, unit, &c.base);
    /* `most` has the longest slices that fit in the window. Slices of equal length, as many as
     * these, are not longer, so they fit, too. */
    c.s = most.turns == 1 ? most
                          : tt_slices(bytes, tt_round_up(tt_div_up(bytes, most.turns), unit), unit);
    c.block = tt_round_up(tt_div_up(c.s.len, map->p), call->sz);
    return c;
}

static int64_t clipped(const struct allreduce_window_cut *c, int r, int64_t slice)
{
    return tt_max(0, tt_min(c->block, slice - r * c->block));
}

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    if (map->p > TT_OPERANDS) return tt_needs_fewer;
    return tt_refuse_window(map, tt_min(tt_call_bytes(call), 2 * map->p * call->sz));
}

static void tail(struct tt_builder *b, const struct allreduce_window_cut *c, int r)
{
    int64_t len = clipped(c, r, c->s.tail);
    if (len != clipped(c, r, c->s.len)) tt_tail(b, len);
}

/* Copies into the window the part of the slice that begins at `off` and has at most `most` bytes.
 * */
static void offer_part(struct tt_builder *b, const struct tt_slices *s, struct tt_range win,
                       int64_t off, int64_t most)
{
    struct tt_range in = tt_slice(b, s, tt_own(TT_IN, off));
    int64_t len = tt_max(0, tt_min(most, s->len - off));
    int64_t tail_len = tt_max(0, tt_min(most, s->tail - off));
    win.off += off;
    tt_copy(b, win, in, len);
    if (tail_len != len) tt_tail(b, tail_len);
}

/* Copies into the window what the other ranks need: the slice without this rank's block. */
static void offer(struct tt_builder *b, const struct allreduce_window_cut *c, struct tt_range win,
                  int me)
{
    int64_t below = me * c->block;
    offer_part(b, &c->s, win, 0, below);
    offer_part(b, &c->s, win, below + c->block, c->s.len);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct allreduce_window_cut c = cut(call, map);
    const struct tt_slices *s = &c.s;
    struct tt_range out = tt_slice(b, s, tt_own(TT_OUT, 0));
    struct tt_range in = tt_slice(b, s, tt_own(TT_IN, 0));
    struct tt_range win = tt_half(b, s, tt_own(TT_WIN, c.base));
    tt_slices_begin(b, s);
    offer(b, &c, win, me);
    tt_slice_signal(b, s, TT_ALL, 1, 2);
    for (int k = 1; k < map->p; k++) tt_slice_await(b, s, tt_after(map->p, me, k), 1, 2);
    win.off += me * c.block;
    in.off = me * c.block;
    tt_combine_all(b, map->p, me, win, win, in, clipped(&c, me, s->len));
    tail(b, &c, me);
    tt_slice_signal(b, s, TT_ALL, 2, 2);
    for (int k = 0; k < map->p; k++) {
        int r = tt_after(map->p, me, k);
        win.rank = r;
        out.off = r * c.block;
        win.off = c.base + out.off;
        if (k > 0) tt_slice_await(b, s, r, 2, 2);
        tt_copy(b, out, win, clipped(&c, r, s->len));
        tail(b, &c, r);
    }
    tt_slices_end(b, s);
}

const struct tt_algorithm tt_allreduce_window = {
    .coll = TT_COLL_allreduce,
    .name = "window",
    .applies = "one node",
    .cost = "q (2 t_s) + 4 t_w L + (p-1)/p gamma L",
    .source = "Rabenseifner 2004, through shared memory",
    .refuse = refuse,
    .build = build,
};
