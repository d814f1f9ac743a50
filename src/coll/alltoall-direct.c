/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall `direct`: everyone takes the blocks meant for it out of the others' inputs.
 *
 *     IN@0  [to 0][to 1][to 2]
 *     IN@1  [to 0][to 1][to 2]  ==> OUT@1 [from 0][from 1][from 2]
 *     IN@2  [to 0][to 1][to 2]
 *
 * One copy; two rounds: the inputs are open, all has been read. Each rank begins with the one after
 * it. For alltoallv it is called `flat`: the place of a segment is told when the input is opened,
 * so that nobody needs to know others' counts. Source: single-copy exchange by cross-memory attach.
 */
#include "coll/coll-util.h"

static struct tt_count count(const struct tt_call *call, const struct tt_map *map)
{
    int64_t p = map->p, m = tt_largest_block(call, map->p);
    return (struct tt_count){.sent = (p - 1) * m,
                             .received = (p - 1) * m,
                             .copied = m,
                             .messages = m > 0 ? p - 1 : 0,
                             .steps = 2 * p + (m > 0 ? p : 0)};
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_span from = tt_block_to(call, me), mine = tt_block_from(call, me);
    tt_open(b, 1 << TT_IN);
    tt_signal(b, TT_ALL, 1);
    tt_copy(b, tt_own(TT_OUT, mine.off), tt_own(TT_IN, from.off), mine.len);
    for (int k = 1; k < map->p; k++) {
        int r = tt_after(map->p, me, k);
        struct tt_span block = tt_block_from(call, r);
        tt_await(b, r, 1);
        /* In alltoallv, IN@r is the segment meant for me. */
        tt_copy(b, tt_own(TT_OUT, block.off),
                tt_at(TT_IN, r, tt_call_segments(call) ? 0 : from.off), block.len);
    }
    tt_signal(b, TT_ALL, 2);
    tt_await_all(b, map->p, me, 2);
}

const struct tt_algorithm tt_alltoall_direct = {
    .coll = TT_COLL_alltoall,
    .name = "direct",
    .applies = "one node, direct access",
    .cost = "2 t_s + p t_w m",
    .source = "single copy by cross-memory attach",
    .refuse = tt_refuse_direct,
    .count = count,
    .build = build,
};

const struct tt_algorithm tt_alltoallv_flat = {
    .coll = TT_COLL_alltoallv,
    .name = "flat",
    .applies = "one node, direct access",
    .cost = "2 t_s + t_w (m_0 + ... + m_(p-1))",
    .source = "single copy by cross-memory attach",
    .refuse = tt_refuse_direct,
    .count = count,
    .build = build,
};
