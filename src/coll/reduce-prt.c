/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `prt`, the pipelined tree: slices go up a binary tree (k-ary, with the radix of the call).
 * Each inner rank waits for slice i of its children, reduces it with its own, and sends it on while
 * slice i+1 arrives. L is the length of the vector in bytes.
 *
 *         0            an inner rank receives 2 L bytes, and sends L
 *       /   \          it reduces 2 L bytes
 *      1     4         the baseline that `halving` is measured against
 *     2 3   5 6
 *
 * The ranks of a subtree are adjacent, so any operation can be reduced.
 * Source: the prior art of CN101206588.
 */
#include "coll/tree.h"

enum { SLICE = 64 << 10 };

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    return tt_tree_reduce_time_ps(call, map, c, tt_tree_radix, SLICE);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_tree_reduce(b, call, map, me, tt_tree_radix, SLICE);
}

const struct tt_algorithm tt_reduce_prt = {
    .coll = TT_COLL_reduce,
    .name = "prt",
    .applies = "always",
    .cost = "log2(p) t_s + max(2 gamma, 3 t_w) L",
    .source = "prior art of CN101206588",
    .refuse = tt_refuse_radix,
    .build = build,
    .time = time_ps,
};
