/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `in-order`: slices go up a tree in which the ranks below each rank are adjacent to it,
 * half of them before it and half of them behind it. The root of the tree is the root of the
 * collective, whichever that is.
 *
 *           3                 p = 8, root 3: the root combines 0..2 op 3 op 4..7
 *         /   \
 *        1     5              a binary tree; k-ary with the radix of the call
 *       / \   / \
 *      0   2 4   6
 *                 \
 *                  7
 *
 * So operands stay in rank order, and the result needs no further message to the root. (`binomial`
 * and `prt` reduce to rank 0 if operands must stay in rank order, which then sends the result on.)
 * Source: trees in order, as in Sanders, Speck, Traff 2009.
 */
#include "coll/tree.h"

enum { SLICE = 64 << 10 };

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    return tt_tree_reduce_time_ps(call, map, c, tt_tree_in_order, SLICE);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_tree_reduce(b, call, map, me, tt_tree_in_order, SLICE);
}

const struct tt_algorithm tt_reduce_in_order = {
    .coll = TT_COLL_reduce,
    .name = "in-order",
    .applies = "always",
    .cost = "log2(p) t_s + max(2 gamma, 3 t_w) L",
    .source = "trees in order",
    .refuse = tt_refuse_radix,
    .build = build,
    .time = time_ps,
};
