/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce_scatter(_block) `flat`: every rank copies the blocks of the others into its window. Then
 * each rank reduces its own block in one pass, from its input and the windows of the others. WIN@1
 * is the window of rank 1.
 *
 *               block 0   block 1   block 2
 *     WIN@0    [       ]  [ input ]  [ input ]
 *     WIN@1    [ input ]  [       ]  [ input ]      rank r: OUT <- column r, in rank order
 *     WIN@2    [ input ]  [ input ]  [       ]
 *
 * There is one round if all blocks fit the window. Otherwise slices of every block go through the
 * two halves of the window. Each rank raises its flag for slice k + 1 only after it has read slice
 * k. So a rank that has awaited the flags of all ranks for slice k + 1 may fill the half of slice k
 * again. Blocks of different lengths end in the same turn. In place with unequal blocks, the result
 * could overwrite input that is still needed; so the result is kept in scratch until the end.
 * Source: the first half of allreduce `window` (Rabenseifner 2004, through shared memory).
 */
#include "coll/coll-util.h"

/* How the blocks are cut: `s` are the slices of the largest block. The blocks pass through WIN from
 * byte `base` on. If there is one turn, WIN has the layout of IN there; otherwise each half of WIN
 * has room for a slice of each of the p blocks. */
struct reduce_scatter_flat_cut {
    struct tt_slices s;
    int64_t base;
};

static int64_t largest(const struct tt_call *call, int p)
{
    int64_t most = 0;
    for (int r = 0; r < p; r++) most = tt_max(most, tt_call_block_bytes(call, r));
    return most;
}

/* Cuts the blocks into slices that are as equal as possible. */
static struct reduce_scatter_flat_cut cut(const struct tt_call *call, const struct tt_map *map)
{
    struct reduce_scatter_flat_cut c;
    int64_t most = largest(call, map->p), p = map->p;
    struct tt_slices all = tt_window_slices(call, map, p * most, p * call->sz, &c.base);
    int64_t turns = tt_div_up(most, all.len / p);
    c.s = all.turns == 1 ? (struct tt_slices){most, most, 1}
                         : tt_slices(most, tt_round_up(tt_div_up(most, turns), call->sz), call->sz);
    return c;
}

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    if (map->p > TT_OPERANDS) return tt_needs_fewer;
    return tt_refuse_window(map, 2 * map->p * call->sz);
}

/* Returns whether the result must stay in scratch until all input has been read. */
static bool waits(const struct tt_call *call)
{
    return call->in_place && call->out_counts;
}

/* ---- Plans ---- */

/* Returns the place of block r in WIN in this turn. */
static struct tt_range place(struct tt_builder *b, const struct tt_call *call,
                             const struct reduce_scatter_flat_cut *c, int p, int r)
{
    if (c->s.turns == 1) return tt_own(TT_WIN, c->base + tt_call_block_at(call, r));
    return tt_rotating(b, tt_own(TT_WIN, c->base + r * c->s.len), p * c->s.len, 2, 0);
}

/* Copies the blocks of the other ranks into the window. */
static void offer(struct tt_builder *b, const struct tt_call *call,
                  const struct reduce_scatter_flat_cut *c, int p, int me)
{
    int64_t end = tt_call_block_at(call, me), next = end + tt_call_block_bytes(call, me);
    if (c->s.turns == 1) {
        tt_copy(b, tt_own(TT_WIN, c->base), tt_own(TT_IN, 0), end);
        tt_copy(b, tt_own(TT_WIN, c->base + next), tt_own(TT_IN, next),
                tt_call_block_at(call, p) - next);
        return;
    }
    for (int k = 1; k < p; k++) {
        int r = tt_after(p, me, k);
        tt_late_copy(b, &c->s, place(b, call, c, p, r), tt_own(TT_IN, tt_call_block_at(call, r)),
                     tt_call_block_bytes(call, r));
    }
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int p = map->p;
    struct reduce_scatter_flat_cut c = cut(call, map);
    int64_t mine = tt_call_block_bytes(call, me);
    struct tt_range to = waits(call) ? tt_scratch(b, mine) : tt_own(TT_OUT, 0);
    tt_slices_begin(b, &c.s);
    offer(b, call, &c, p, me);
    tt_slice_signal(b, &c.s, TT_ALL, 1, 1);
    for (int k = 1; k < p; k++) tt_slice_await(b, &c.s, tt_after(p, me, k), 1, 1);
    tt_late_combine(b, &c.s, p, me, to, place(b, call, &c, p, me),
                    tt_own(TT_IN, tt_call_block_at(call, me)), mine);
    tt_slices_end(b, &c.s);
    if (waits(call)) tt_copy(b, tt_own(TT_OUT, 0), to, mine);
}

const struct tt_algorithm tt_reduce_scatter_block_flat = {
    .coll = TT_COLL_reduce_scatter_block,
    .name = "flat",
    .applies = "one node",
    .cost = "q t_s + 2 (p-1) t_w L + (p-1) gamma L",
    .source = "Rabenseifner 2004, through shared memory",
    .refuse = refuse,
    .build = build,
};

const struct tt_algorithm tt_reduce_scatter_flat = {
    .coll = TT_COLL_reduce_scatter,
    .name = "flat",
    .applies = "one node",
    .cost = "q t_s + 2 t_w (L_0 + ... + L_(p-1)) + (p-1) gamma max L_i",
    .source = "Rabenseifner 2004, through shared memory",
    .refuse = refuse,
    .build = build,
};
