/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce_scatter(_block) `circulant`: in each round a rank r sends the upper half of the blocks
 * that it still reduces to rank r + s, and adds what comes from rank r - s to the lower half, where
 * s is the skip of the round.
 *
 *     rank r of 5, skip 3    r r+1 r+2 | r+3 r+4     sends 2 blocks to r+3, adds 2 to blocks r r+1
 *                  skip 2    r r+1 | r+2             sends 1 block to r+2
 *                  skip 1    r | r+1                 sends 1 block to r+1
 *                            r                       the result
 *
 * There are ceil(log2 p) rounds for any p, in which each rank sends, receives and reduces p - 1
 * blocks: no algorithm needs fewer rounds or blocks. `halving` needs a power of two for that, but
 * keeps rank order; here the operation must commute.
 * Source: Traeff 2024, Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms.
 */
#include "coll/circulant.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    (void)map;
    return call->commutes ? NULL : tt_needs_order;
}

/* Returns whether, in a call in place, the only round (p = 2) would write the result over input
 * that it still reads. */
static bool must_wait(const struct tt_call *call, const struct tt_map *map)
{
    return call->in_place && map->p == 2;
}

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t bytes = tt_call_bytes(call);
    return tt_circulant_reduce_time_ps(map->p, bytes, c) +
           (must_wait(call, map) ? c->tr * bytes : 0);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_circulant c = tt_circulant(b, call, map->p, me);
    struct tt_range out = tt_own(TT_OUT, 0);
    bool wait = must_wait(call, map);
    tt_circulant_reduce(b, &c, wait ? c.blocks : out);
    if (wait) tt_copy(b, out, c.blocks, tt_call_block_bytes(call, me));
}

const struct tt_algorithm tt_reduce_scatter_block_circulant = {
    .coll = TT_COLL_reduce_scatter_block,
    .name = "circulant",
    .applies = "commuting operations",
    .cost = "log2(p) t_s + (p-1) (t_w + gamma) L",
    .source = "Traeff 2024",
    .refuse = refuse,
    .build = build,
    .time = time_ps,
};

const struct tt_algorithm tt_reduce_scatter_circulant = {
    .coll = TT_COLL_reduce_scatter,
    .name = "circulant",
    .applies = "commuting operations",
    .cost = "log2(p) t_s + (t_w + gamma) (L_0 + ... + L_(p-1))",
    .source = "Traeff 2024",
    .refuse = refuse,
    .build = build,
};
