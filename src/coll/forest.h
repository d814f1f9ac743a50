/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Of each rank of a network a tree of shortest ways to all others, from member to member.
 *
 *     torus:3x3-hole(1,1)      0 1 2      the tree of 0:     0 -- 1 -- 6
 *                              3 . 4                         | -- 2
 *                              5 6 7                         | -- 3 -- 4
 *                                                            | -- 5 -- 7
 *
 * Where a rank can be reached over several neighbours, as 4 by 2 and 3, a hash of where it lies as
 * seen from the source says over which: so the trees of a whole torus are the same one moved, and
 * the links of a direction have equal shares; and with holes it stays near to that.
 *
 * Trees depend on the network alone, so all ranks find the same. In each the ranks are numbered in
 * preorder: what is behind a link is one run of them.
 */
#ifndef TT_COLL_FOREST_H
#define TT_COLL_FOREST_H

#include "topo/net.h"

enum { TT_FOREST_RANKS = 1 << 10 }; /* what is kept grows with the square */

/* Invariants, for each tree s and rank v: order[s * p + at[s * p + v]] == v; order[s * p] == s;
 * those in the tree below v are the size[s * p + v] ranks from v on in this order; parent[s * p +
 * s] == s, depth[s * p + s] == 0. */
struct tt_neighbour {
    int rank, port;
};
struct tt_forest {
    int p, ports;
    const struct tt_net *net;
    struct tt_neighbour *neighbour; /* those of rank v, from v * (ports + 1) on to one of rank -1 */
    int *coordinate;                /* of rank v, at v * TT_NET_CUBE; those of the network */
    uint16_t *parent, *depth, *size, *order, *at;
    int deepest;
};

/* NULL, or why there are none. */
const char *tt_forest_refuse(const struct tt_net *net, int p);
/* False: no memory. Freed by tt_forest_free, also then. */
bool tt_forest_make(struct tt_forest *forest, const struct tt_net *net);
void tt_forest_free(struct tt_forest *forest);

static inline const struct tt_neighbour *tt_forest_neighbours(const struct tt_forest *forest, int v)
{
    return forest->neighbour + (int64_t)v * (forest->ports + 1);
}

/* Whether what s sends passes the link between two neighbours, as its `depth`-th. */
static inline bool tt_forest_passes(const struct tt_forest *forest, int s, int from, int to,
                                    int depth)
{
    int64_t i = (int64_t)s * forest->p + to;
    return forest->depth[i] == depth && forest->parent[i] == from;
}

#endif
