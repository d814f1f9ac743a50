/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `two-tree`: each half of the vector goes up a binary tree of its own to rank 0, slice
 * by slice, and the result comes down the same tree. Each rank except 0 reduces in at most one of
 * the trees.
 *
 *         first half              second half
 *          0                          0
 *          4                          3          each rank sends and receives each byte once on the
 *        2   6                      1   5        way up and once on the way down
 *       1 3 5                        2 4 6
 *
 * An inner rank of a single tree moves 6 L bytes, where L is the length of the vector. A rank in
 * these two trees moves 4 L bytes, as in `halving`, for any number of ranks. Both trees are in
 * order, so any operation can be reduced (two-tree.h).
 * Source: Sanders, Speck, Traff 2009: Two-tree algorithms for full bandwidth broadcast, reduction
 * and scan. Parallel Computing 35(12).
 */
#include "coll/two-tree.h"

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_two_tree_build(b, call, map, me, TT_TWO_UP | TT_TWO_DOWN);
}

const struct tt_algorithm tt_allreduce_two_tree = {
    .coll = TT_COLL_allreduce,
    .name = "two-tree",
    .applies = "always",
    .cost = "(4 log2(p) + 4q) t_s + (max(gamma, t_w) + t_w) L",
    .source = "Sanders, Speck, Traff 2009",
    .refuse = tt_refuse_never,
    .build = build,
};
