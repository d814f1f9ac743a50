/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `flat`: everyone makes its input readable in its window and raises its flag; then
 * everyone reduces all inputs in one pass, the same way, so that all get the same bits.
 *
 *     0  IN -> WIN ==\/==> OUT <- IN op WIN@1 op WIN@2
 *     1  IN -> WIN ==/\==> OUT <- WIN@0 op IN op WIN@2 ...
 *
 * One round, no closing barrier; p-fold work, so for small inputs. Up to 48 bytes travel in the same
 * cache line as the flag.
 * Source: docs/plan.md; the all-to-all exchange of small allreduces.
 */
#include "coll/coll-util.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    if (map->p > TT_OPERANDS) return tt_needs_fewer;
    return tt_refuse_window(map, tt_call_bytes(call));
}

static struct tt_count count(const struct tt_call *call, const struct tt_map *map)
{
    int64_t bytes = tt_call_bytes(call), others = map->p - 1;
    return (struct tt_count){.sent = others * bytes,
                             .received = others * bytes,
                             .reduced = others * bytes,
                             .copied = bytes,
                             .messages = others,
                             .steps = 3 + others};
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_range in = tt_own(TT_IN, 0), win = tt_own(TT_WIN, 0);
    tt_copy(b, win, in, tt_call_bytes(call));
    tt_signal(b, TT_ALL, 1);
    tt_await_all(b, map->p, me, 1);
    tt_combine_all(b, map->p, me, tt_own(TT_OUT, 0), win, in, tt_call_bytes(call));
}

const struct tt_algorithm tt_allreduce_flat = {
    .coll = TT_COLL_allreduce,
    .name = "flat",
    .applies = "one node, the input fits the window",
    .cost = "t_s + t_w L + (p-1) gamma L",
    .source = "all inputs in one round and one pass",
    .refuse = refuse,
    .count = count,
    .build = build,
};
