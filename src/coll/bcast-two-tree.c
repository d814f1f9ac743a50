/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast `two-tree`: the root sends one half of the message down one binary tree and the other
 * half down another one, slice by slice. Each rank passes data on in one of the trees only.
 *
 *         first half              second half
 *          0                          0
 *          4                          3          each rank receives each byte once, and sends it
 *        2   6                      1   5        once in all: half of the bytes to two children
 *       1 3 5                        2 4 6
 *
 * A long message takes as long as with `chain`, but the first slice passes only log2 p ranks and
 * not p - 1.
 * Source: Sanders, Speck, Traff 2009: Two-tree algorithms for full bandwidth broadcast, reduction
 * and scan. Parallel Computing 35(12).
 */
#include "coll/two-tree.h"

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_two_tree_build(b, call, map, me, TT_TWO_DOWN);
}

const struct tt_algorithm tt_bcast_two_tree = {
    .coll = TT_COLL_bcast,
    .name = "two-tree",
    .applies = "always",
    .cost = "(2 log2(p) + 2q) t_s + t_w L",
    .source = "Sanders, Speck, Traff 2009",
    .refuse = tt_refuse_never,
    .build = build,
};
