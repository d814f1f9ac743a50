/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two binary trees that share the work. One half of the message goes through each of them, slice by
 * slice, and each in a lane of its own. A rank that passes data on in one tree is a leaf of the
 * other one, so every rank sends, receives and reduces each byte about once. In a single binary
 * tree, the leaves wait while inner ranks send each byte twice.
 *
 *          0                    0
 *          |                    |               p = 7, root 0: 2, 4 and 6 are the inner
 *          4                    3               ranks of the first tree, 1, 3 and 5 those of the
 *        /   \                /   \             second one
 *       2     6              1     5
 *      / \   /                \   / \
 *     1   3 5                  2 4   6
 *
 * The ranks besides the root are numbered from 1 to m in both trees, and each tree is in order: the
 * ranks below a rank are a run before it and a run behind it. In the first tree the odd numbers are
 * leaves. If m is even, the second tree is the first one with the numbers reversed. If m is odd, it
 * has the numbers shifted by one, and then one rank is a leaf of both trees. But where operands
 * must stay in rank order, the numbers are not shifted: the first rank is put above a tree of the
 * other m - 1 ranks.
 *
 * If the root of a reduce in rank order is neither the first nor the last rank, the ranks before it
 * and those behind it each have two trees of their own, and the root receives each byte twice.
 * Source: Sanders, Speck, Traff 2009: Two-tree algorithms for full bandwidth broadcast, reduction
 * and scan. Parallel Computing 35(12).
 */
#ifndef TT_COLL_TWO_TREE_H
#define TT_COLL_TWO_TREE_H

#include "coll/tree.h"

tt_tree_fn tt_two_tree_first, tt_two_tree_second;

/* The directions in which the data goes through the trees; with both, first up and then down. */
enum tt_two_tree_ways { TT_TWO_UP = 1, TT_TWO_DOWN = 2 };

/* Appends the steps of rank `me`. `ways` says in which directions the data goes (bits of enum
 * tt_two_tree_ways). */
void tt_two_tree_build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                       int me, unsigned ways);

#endif
