/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `prt`, the pipelined tree: slices go up a binary (k-ary) tree to rank 0, and the result
 * comes down again. L is the length of the vector in bytes.
 *
 *         0            on the way up, an inner rank receives 2 L bytes and sends L;
 *       /   \          on the way down, it receives L and sends 2 L
 *      1     4         the baseline that `halving` is measured against
 *     2 3   5 6
 *
 * Source: the prior art of CN101206588.
 */
#include "coll/tree.h"

enum { SLICE = 64 << 10 };

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    return tt_tree_allreduce_time_ps(call, map, c, tt_tree_radix, SLICE);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    tt_tree_allreduce(b, call, map, me, phase, tt_tree_radix, SLICE);
}

const struct tt_algorithm tt_allreduce_prt = {
    .coll = TT_COLL_allreduce,
    .name = "prt",
    .applies = "always",
    .cost = "2 log2(p) t_s + max(2 gamma + 3 t_w, 6 t_w) L",
    .source = "prior art of CN101206588",
    .refuse = tt_refuse_radix,
    .build = build,
    .time = time_ps,
    .phases = tt_tree_allreduce_phases,
};
