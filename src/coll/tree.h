/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trees whose subtrees are runs of adjacent ranks, and data going up and down them in slices.
 *
 * The tree stands on ranks counted from a base: the root of the collective, or rank 0 where
 * operands must stay in rank order, whose result is then handed on to the root.
 */
#ifndef TT_COLL_TREE_H
#define TT_COLL_TREE_H

#include "coll/coll-util.h"

enum { TT_CHILDREN = 32 };

/* Ranks; a subtree's are adjacent (mod p), and the children in their order. */
struct tt_tree {
    int parent; /* -1 at the root */
    int children;
    int child[TT_CHILDREN];
};
/* Rank `me`'s place in the tree that stands on `base`; only `radix` of the call is looked at.
 * `network`: along the links of the map's network, a tree; without one, breadth first, and then no
 * subtree's ranks are adjacent. */
typedef struct tt_tree tt_tree_fn(const struct tt_call *call, const struct tt_map *map, int base,
                                  int me);
tt_tree_fn tt_tree_binomial, tt_tree_radix, tt_tree_network;
/* NULL, or why there is no such tree. */
const char *tt_refuse_radix(const struct tt_call *call, const struct tt_map *map);
const char *tt_refuse_network(const struct tt_call *call, const struct tt_map *map);

/* Where the reduced slices of a rank are kept: OUT, or two slices of scratch where there is
 * none. */
void tt_tree_reduce(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                    int me, tt_tree_fn *shape, int64_t slice);
void tt_tree_bcast(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                   int me, int base, tt_tree_fn *shape, int64_t slice);

/* How long these take up, and down again, a full tree (each inner rank has as many children, each
 * leaf is as deep) with slices that are equal; -1 for others. Formulas in picoseconds. */
int64_t tt_tree_reduce_time_ps(const struct tt_call *call, const struct tt_map *map,
                               const struct tt_costs *c, tt_tree_fn *shape, int64_t slice);
int64_t tt_tree_bcast_time_ps(const struct tt_call *call, const struct tt_map *map,
                              const struct tt_costs *c, int base, tt_tree_fn *shape, int64_t slice);

/* What they cost rank `me`. */
struct tt_count tt_tree_reduce_count(const struct tt_call *call, const struct tt_map *map, int me,
                                     tt_tree_fn *shape, int64_t slice);
struct tt_count tt_tree_bcast_count(const struct tt_call *call, const struct tt_map *map, int me,
                                    int base, tt_tree_fn *shape, int64_t slice);

/* An allreduce: up in one phase, down in the next. */
int tt_tree_allreduce_phases(const struct tt_call *call, const struct tt_map *map);
void tt_tree_allreduce(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                       int me, int phase, tt_tree_fn *shape, int64_t slice);
struct tt_count tt_tree_allreduce_count(const struct tt_call *call, const struct tt_map *map,
                                        int me, tt_tree_fn *shape, int64_t slice);
int64_t tt_tree_allreduce_time_ps(const struct tt_call *call, const struct tt_map *map,
                                  const struct tt_costs *c, tt_tree_fn *shape, int64_t slice);

#endif
