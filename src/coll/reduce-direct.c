/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `direct`: each rank reduces its own block straight from all inputs, in one pass, and puts
 * it into the root's result, slice by slice out of a scratch that stays in cache.
 *
 *              block 0   block 1   block 2
 *     IN@*    --v-v-v-- --v-v-v-- --v-v-v--
 *     rank 0  [TMP]      rank 1    [TMP] rank 2
 *                |      (the root)   |
 *     OUT@1   [  sum  ] [  sum  ] [  sum  ]
 *
 * Two rounds; the work is shared by all ranks. In place it is right as it is: block r of the root's
 * input is read by rank r alone, which then overwrites it.
 * Source: reduce-scatter and gather (Rabenseifner 2004) by single copy.
 */
#include "coll/coll-util.h"

enum { SLICE = 64 << 10 };

static struct tt_slices slices(const struct tt_call *call, int64_t bytes)
{
    return tt_slices(bytes, tt_slice_bytes(call, SLICE), call->sz);
}

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    if (map->p > TT_OPERANDS) return tt_needs_fewer;
    return tt_refuse_direct(call, map);
}

static struct tt_count count(const struct tt_call *call, const struct tt_map *map)
{
    int64_t p = map->p, bytes = tt_call_bytes(call);
    int64_t most = tt_block(call, map->p, 0).len, roots = tt_block(call, map->p, call->root).len;
    int64_t other = tt_block(call, map->p, call->root == 0).len;
    int64_t q = other > 0 ? slices(call, other).turns : 0;
    return (struct tt_count){.sent = bytes,
                             .received = tt_max((p - 1) * other, bytes + (p - 2) * roots),
                             .reduced = (p - 1) * most,
                             .messages = tt_max(q * p, p - 1),
                             .steps = 2 * p + tt_max(3 * q, 1)};
}

static void reduce_and_put(struct tt_builder *b, const struct tt_call *call, int p, int me,
                           struct tt_span mine)
{
    struct tt_slices s = slices(call, mine.len);
    struct tt_range in = tt_slice(b, &s, tt_own(TT_IN, mine.off));
    struct tt_range part = tt_half(b, &s, tt_scratch(b, 2 * s.len));
    tt_slices_begin(b, &s);
    tt_combine_all(b, p, me, part, in, in, s.len);
    if (s.tail != s.len) tt_tail(b, s.tail);
    tt_started put = tt_put(b, tt_slice(b, &s, tt_at(TT_OUT, call->root, mine.off)), part, s.len);
    if (s.tail != s.len) tt_tail(b, s.tail);
    tt_wait_ago(b, put, s.turns > 1);
    tt_slices_end(b, &s);
    if (s.turns > 1) tt_wait_ago(b, put, 1);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int p = map->p;
    bool root = me == call->root;
    struct tt_span mine = tt_block(call, p, me);
    struct tt_range in = tt_own(TT_IN, mine.off);
    tt_open(b, 1 << TT_IN | (root ? 1 << TT_OUT : 0));
    tt_signal(b, TT_ALL, 1);
    tt_await_all(b, p, me, 1);
    if (root)
        tt_combine_all(b, p, me, tt_own(TT_OUT, mine.off), in, in, mine.len);
    else if (mine.len > 0)
        reduce_and_put(b, call, p, me, mine);
    tt_signal(b, TT_ALL, 2);
    tt_await_all(b, p, me, 2);
}

const struct tt_algorithm tt_reduce_direct = {
    .coll = TT_COLL_reduce,
    .name = "direct",
    .applies = "one node, direct access",
    .cost = "2 t_s + (1 + 1/p) t_w L + (p-1)/p gamma L",
    .source = "Rabenseifner 2004, by single copy",
    .refuse = refuse,
    .count = count,
    .build = build,
};
