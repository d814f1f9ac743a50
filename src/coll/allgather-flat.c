/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather(v) `flat`: everyone copies its piece into its window, all others copy it out.
 *
 *     0  IN -> WIN ==\/==> OUT[1] OUT[2]
 *     1  IN -> WIN ==/\==> OUT[0] OUT[2] ...
 *
 * One round for pieces that fit the window. Longer ones go in slices through its two halves; a half
 * is filled again when the flags of the slice between tell that everyone has read it. Pieces of
 * different lengths end in the same turn: shorter ones begin later.
 * Source: the shared buffer of shared-memory collectives.
 */
#include "coll/coll-util.h"

/* All slices have the length of `s`; a piece's last one has its own. */
struct cut {
    struct tt_slices s;
    int64_t base;
};

static int64_t longest(const struct tt_call *call, int p)
{
    int64_t bytes = 0;
    for (int r = 0; r < p; r++) bytes = tt_max(bytes, tt_piece(call, r).len);
    return bytes;
}

static struct cut cut(const struct tt_call *call, const struct tt_map *map)
{
    struct cut c;
    c.s = tt_window_slices(call, map, longest(call, map->p), call->sz, &c.base);
    return c;
}

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    return tt_refuse_window(map, 2 * call->sz);
}

static struct tt_count count(const struct tt_call *call, const struct tt_map *map)
{
    struct cut c = cut(call, map);
    int64_t p = map->p, total = 0, all_turns = 0, most = longest(call, map->p);
    int64_t least = most, least_turns = tt_late_turns(&c.s, most);
    for (int r = 0; r < map->p; r++) {
        int64_t len = tt_piece(call, r).len;
        total += len;
        all_turns += tt_late_turns(&c.s, len);
        least = tt_min(least, len);
        least_turns = tt_min(least_turns, tt_late_turns(&c.s, len));
    }
    return (struct tt_count){.sent = (p - 1) * most,
                             .received = total - least,
                             .copied = most * (call->in_place ? 1 : 2),
                             .messages = all_turns - least_turns,
                             .steps = p * c.s.turns + all_turns + (most > 0 && !call->in_place)};
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct cut c = cut(call, map);
    struct tt_span mine = tt_piece(call, me);
    struct tt_range win = tt_half(b, &c.s, tt_own(TT_WIN, c.base));
    tt_slices_begin(b, &c.s);
    tt_late_copy(b, &c.s, win, tt_own(TT_IN, 0), mine.len);
    tt_slice_signal(b, &c.s, TT_ALL, 1, 1);
    for (int k = 1; k < map->p; k++) {
        int r = tt_after(map->p, me, k);
        struct tt_span piece = tt_piece(call, r);
        win.rank = r;
        tt_slice_await(b, &c.s, r, 1, 1);
        tt_late_copy(b, &c.s, tt_own(TT_OUT, piece.off), win, piece.len);
    }
    tt_slices_end(b, &c.s);
    tt_copy_in(b, call, mine.off, 0, mine.len);
}

const struct tt_algorithm tt_allgather_flat = {
    .coll = TT_COLL_allgather,
    .name = "flat",
    .applies = "one node",
    .cost = "t_s + p t_w L",
    .source = "a buffer shared by all ranks of a node",
    .refuse = refuse,
    .count = count,
    .build = build,
};

const struct tt_algorithm tt_allgatherv_flat = {
    .coll = TT_COLL_allgatherv,
    .name = "flat",
    .applies = "one node",
    .cost = "t_s + t_w (L_0 + ... + L_(p-1))",
    .source = "a buffer shared by all ranks of a node",
    .refuse = refuse,
    .count = count,
    .build = build,
};
