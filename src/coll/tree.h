/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trees of ranks, and data that goes up and down them in slices. In most trees the ranks of a
 * subtree are adjacent, so that operands stay in rank order.
 *
 * Ranks are counted from a base, which is the root of the tree. The base is the root of the
 * collective; but where operands must stay in rank order it is rank 0, which then sends the result
 * on to the root of the collective. Trees in order (tt_tree_in_order, tt_tree_chain, and the two
 * trees of two-tree.h) keep the rank order with any root: the ranks below a rank are a run before
 * it and a run behind it.
 */
#ifndef TT_COLL_TREE_H
#define TT_COLL_TREE_H

#include "coll/coll-util.h"

enum { TT_CHILDREN = 32 };

/* The neighbours of a rank in the tree. In a binomial or radix tree the ranks of a subtree are
 * adjacent (mod p), and children are in the order of their ranks. */
struct tt_tree {
    int parent; /* -1 at the root */
    int children;
    int child[TT_CHILDREN];
};
/* Returns the neighbours of rank `me` in the tree whose root is `base`. Only the member `radix` of
 * the call is read, except by tt_tree_chain. tt_tree_network follows the links of the map's network
 * if that is a tree; on another network it numbers the tree breadth first. In both cases the ranks
 * of a subtree are not adjacent. In tt_tree_in_order the ranks of a subtree are adjacent, and some
 * of the children come before their parent in rank order. In tt_tree_chain each rank has one child,
 * the next rank (mod p). But in a reduce in rank order, two chains lead to the root: one of the
 * ranks with lower numbers, and one of the ranks with higher numbers. */
typedef struct tt_tree tt_tree_fn(const struct tt_call *call, const struct tt_map *map, int base,
                                  int me);
tt_tree_fn tt_tree_binomial, tt_tree_radix, tt_tree_in_order, tt_tree_network, tt_tree_chain;
/* Return NULL, or a static text that says why there is no tree with the radix of the call, or no
 * tree of the network. */
const char *tt_refuse_radix(const struct tt_call *call, const struct tt_map *map);
const char *tt_refuse_network(const struct tt_call *call, const struct tt_map *map);

/* Append the steps of rank `me` for a reduce and a bcast along a tree. `slice` is the slice length
 * in bytes if the call does not say. In a reduce an inner rank keeps its reduced slices in OUT, or,
 * where it may not write to OUT, in scratch for two slices. */
void tt_tree_reduce(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                    int me, tt_tree_fn *shape, int64_t slice);
void tt_tree_bcast(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                   int me, int base, tt_tree_fn *shape, int64_t slice);
/* Append the steps of tt_tree_reduce and of tt_tree_bcast for the bytes `part` of the message only,
 * in the tree with the root `base`. In a reduce, `base` then sends the result to the root of the
 * collective, if that is another rank. */
void tt_tree_reduce_part(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                         int me, int base, tt_tree_fn *shape, struct tt_span part, int64_t slice);
void tt_tree_bcast_part(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                        int me, int base, tt_tree_fn *shape, struct tt_span part, int64_t slice);

/* Return the times, in picoseconds, of a reduce and of a bcast along a full tree, in which each
 * inner rank has the same number of children and all leaves have the same depth, with equal slices;
 * -1 for other trees or slices. */
int64_t tt_tree_reduce_time_ps(const struct tt_call *call, const struct tt_map *map,
                               const struct tt_costs *c, tt_tree_fn *shape, int64_t slice);
int64_t tt_tree_bcast_time_ps(const struct tt_call *call, const struct tt_map *map,
                              const struct tt_costs *c, int base, tt_tree_fn *shape, int64_t slice);

/* The functions phases and build of an allreduce along a tree: the first phase is a reduce, the
 * second one a bcast. */
int tt_tree_allreduce_phases(const struct tt_call *call, const struct tt_map *map);
void tt_tree_allreduce(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                       int me, int phase, tt_tree_fn *shape, int64_t slice);
int64_t tt_tree_allreduce_time_ps(const struct tt_call *call, const struct tt_map *map,
                                  const struct tt_costs *c, tt_tree_fn *shape, int64_t slice);

#endif
