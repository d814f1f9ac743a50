/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gather `flat`: everyone copies its piece into its window, the root copies all of them out.
 *
 *     1  IN -> WIN ==\
 *     2  IN -> WIN ===> root: OUT[1] OUT[2] ...
 *
 * One round. A piece larger than the window goes in slices through its two halves; the root says
 * which slices it has read.
 * Source: the shared buffer of shared-memory collectives.
 */
#include "coll/coll-util.h"

static struct tt_count count(const struct tt_call *call, const struct tt_map *map)
{
    int64_t bytes = tt_call_bytes(call), base, others = map->p - 1;
    int64_t q = tt_window_slices(call, map, bytes, call->sz, &base).turns;
    int64_t root = (2 * others + (q > 2)) * q + !call->in_place, other = 2 * q + tt_max(q - 2, 0);
    return (struct tt_count){.sent = bytes,
                             .received = others * bytes,
                             .copied = bytes,
                             .messages = others * q,
                             .steps = tt_max(root, other)};
}

static struct tt_count count_rank(const struct tt_call *call, const struct tt_map *map, int me)
{
    int64_t bytes = tt_call_bytes(call), base, others = map->p - 1;
    int64_t q = tt_window_slices(call, map, bytes, call->sz, &base).turns;
    if (me != call->root)
        return (struct tt_count){.sent = bytes, .copied = bytes, .steps = 2 * q + tt_max(q - 2, 0)};
    return (struct tt_count){.received = others * bytes,
                             .copied = call->in_place ? 0 : bytes,
                             .messages = others * q,
                             .steps = (2 * others + (q > 2)) * q + !call->in_place};
}

static void drain(struct tt_builder *b, const struct tt_call *call, const struct tt_slices *s,
                  int p, int64_t base)
{
    struct tt_range win = tt_half(b, s, tt_own(TT_WIN, base));
    tt_slices_begin(b, s);
    for (int k = 1; k < p; k++) {
        win.rank = tt_after(p, call->root, k);
        tt_slice_await(b, s, win.rank, 1, 1);
        tt_slice_copy(b, s, tt_slice(b, s, tt_own(TT_OUT, tt_piece(call, win.rank).off)), win);
    }
    if (s->turns > 2) tt_slice_signal(b, s, TT_ALL, 1, 1);
    tt_slices_end(b, s);
    tt_copy_in(b, call, tt_piece(call, call->root).off, 0, tt_call_bytes(call));
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t base;
    struct tt_slices s = tt_window_slices(call, map, tt_call_bytes(call), call->sz, &base);
    if (me == call->root)
        drain(b, call, &s, map->p, base);
    else
        tt_window_fill(b, &s, call->root, base);
}

const struct tt_algorithm tt_gather_flat = {
    .coll = TT_COLL_gather,
    .name = "flat",
    .applies = "one node",
    .cost = "t_s + p t_w L",
    .source = "a buffer shared by all ranks of a node",
    .refuse = tt_refuse_halves,
    .count = count,
    .count_rank = count_rank,
    .build = build,
};
