/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `two-tree`: one half of the vector goes up one binary tree to the root, and the other half
 * goes up another one, slice by slice. Each rank reduces in one of the trees only.
 *
 *         first half              second half
 *          0                          0
 *          4                          3          each rank sends each byte once, and receives and
 *        2   6                      1   5        reduces half of the bytes from two children
 *       1 3 5                        2 4 6
 *
 * A long vector takes as long as with `chain`, but the first slice passes only log2 p ranks and not
 * p - 1. Both trees are in order, so any operation can be reduced (two-tree.h).
 * Source: Sanders, Speck, Traff 2009: Two-tree algorithms for full bandwidth broadcast, reduction
 * and scan. Parallel Computing 35(12).
 */
#include "coll/two-tree.h"

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_two_tree_build(b, call, map, me, TT_TWO_UP);
}

const struct tt_algorithm tt_reduce_two_tree = {
    .coll = TT_COLL_reduce,
    .name = "two-tree",
    .applies = "always",
    .cost = "(2 log2(p) + 2q) t_s + max(gamma, t_w) L",
    .source = "Sanders, Speck, Traff 2009",
    .refuse = tt_refuse_never,
    .build = build,
};
