/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For each rank of a network, a tree of shortest paths from it to all other ranks. The edges of a
 * tree are links between ranks.
 *
 *     torus:3x3-hole(1,1)      0 1 2      the tree of 0:     0 -- 1 -- 6
 *                              3 . 4                         | -- 2
 *                              5 6 7                         | -- 3 -- 4
 *                                                            | -- 5 -- 7
 *
 * Where shortest paths reach a rank over several neighbours, as they reach 4 over 2 and over 3, a
 * hash chooses one. On a grid the hash depends only on the position of the rank relative to the
 * source. So in a whole torus all trees are the same tree shifted, and all links of a direction
 * carry equal shares; with holes the shares stay close to equal.
 *
 * The trees depend on the network alone, so all ranks compute the same trees. Within a tree the
 * ranks are numbered in preorder, so the ranks behind a link are consecutive. A rank needs to know
 * of each tree only its own place and those of its neighbours, so it keeps only these.
 */
#ifndef TT_COLL_FOREST_H
#define TT_COLL_FOREST_H

#include "topo/net.h"

/* The most ranks of a network. The time to compute the trees grows with the square of their number:
 * for 4,096 ranks it is about a second. */
enum { TT_FOREST_RANKS = 1 << 12 };

/* Where rank v stands in the tree of source s; kept if v is `me` or a neighbour of `me`. depth: the
 * distance from s. size: the number of ranks in the subtree of v. at: the position of v in
 * preorder. */
struct tt_tree_place {
    uint16_t parent, depth, size, at;
};
struct tt_neighbour {
    int rank, port;
};
struct tt_forest {
    int p, ports;
    const struct tt_net *net;
    struct tt_neighbour *neighbour; /* the neighbours of rank v, from v * (ports + 1) on, ended by
                                     * an entry of rank -1 */
    int *coordinate;                /* the coordinates of rank v in the network, at v *
                                     * TT_NET_CUBE */
    int *column;                    /* for each rank, the index of its column in `place`; -1: its
                                     * places are not kept */
    int columns;
    struct tt_tree_place *place; /* the place of rank v in the tree of source s is at s * columns +
                                  * column[v] */
    uint16_t *order;             /* the ranks of the tree of `me`, in preorder */
    uint16_t *behind;            /* for each source s, from start[s] on: the ranks of the subtree of
                                  * `me` in the tree of s, in preorder; NULL: not asked for */
    int64_t *start, room;        /* room: how many ranks fit in `behind` */
    int deepest;                 /* the greatest depth in any tree */
};

/* Returns NULL, or a static text that says why this network has no such trees for p ranks. */
const char *tt_forest_refuse(const struct tt_net *net, int p);
/* Computes the trees for rank `me`, and, if `lists`, also fills in `behind`. Returns false if there
 * is no memory. The caller frees the forest with tt_forest_free in either case. */
bool tt_forest_make(struct tt_forest *forest, const struct tt_net *net, int me, bool lists);
void tt_forest_free(struct tt_forest *forest);

/* Returns the neighbours of rank v, ended by an entry of rank -1. */
static inline const struct tt_neighbour *tt_forest_neighbours(const struct tt_forest *forest, int v)
{
    return forest->neighbour + (int64_t)v * (forest->ports + 1);
}

/* Returns the place of rank v in the tree of source s. The forest must keep the places of v: v is
 * the rank for which it was made, or a neighbour of that rank. */
static inline const struct tt_tree_place *tt_forest_place(const struct tt_forest *forest, int s,
                                                          int v)
{
    return forest->place + (int64_t)s * forest->columns + forest->column[v];
}

/* Returns whether the tree of source s contains the link from rank `from` to its neighbour `to`,
 * and `to` is at this depth of the tree. `to` must be the rank for which the forest was made, or a
 * neighbour of that rank. */
static inline bool tt_forest_passes(const struct tt_forest *forest, int s, int from, int to,
                                    int depth)
{
    const struct tt_tree_place *place = tt_forest_place(forest, s, to);
    return place->depth == depth && place->parent == from;
}

#endif
