/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `circulant`: the vector is cut into a block for each rank; the rounds of the
 * reduce_scatter `circulant` reduce the blocks, and the same rounds backwards gather them.
 *
 *     skips for 5 ranks    3 2 1 | 1 2 3      2 + 1 + 1 blocks are sent, received and reduced, then
 *                                             1 + 1 + 2 blocks are sent and received
 *
 * For any p there are 2 ceil(log2 p) rounds, in which each rank sends 2 (p-1)/p of the vector in
 * all. So there are as few rounds as in `halving` with p a power of two, and as few bytes as in
 * `ring`. The operation must commute.
 * Source: Traeff 2024, Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms.
 */
#include "coll/circulant.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    (void)map;
    return call->commutes ? NULL : tt_needs_order;
}

/* Returns the time; -1 if the blocks are not equal. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int p = map->p;
    int64_t bytes = call->n / p * call->sz;
    if (call->n % p) return -1;
    return tt_circulant_reduce_time_ps(p, bytes, c) + tt_circulant_gather_time_ps(p, bytes, c);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_circulant c = tt_circulant(b, call, map->p, me);
    tt_circulant_reduce(b, &c, c.blocks);
    tt_circulant_gather(b, &c);
}

const struct tt_algorithm tt_allreduce_circulant = {
    .coll = TT_COLL_allreduce,
    .name = "circulant",
    .applies = "commuting operations",
    .cost = "2 log2(p) t_s + (p-1)/p (2 t_w + gamma) L",
    .source = "Traeff 2024",
    .refuse = refuse,
    .build = build,
    .time = time_ps,
};
