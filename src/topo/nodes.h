/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks of a map, node by node.
 */
#ifndef TT_TOPO_NODES_H
#define TT_TOPO_NODES_H

#include "topo/map.h"

/* Nodes are numbered by their first ranks, and none is empty, whatever numbers the map gives them.
 * The ranks of node k are rank[first[k]] .. rank[first[k + 1] - 1], ascending. */
struct tt_nodes {
    int n;
    int *first;    /* n + 1 */
    int *rank;     /* p */
    int *of;       /* p: the node of each rank */
    bool adjacent; /* the ranks of each node are adjacent */
};

/* False: no memory. */
bool tt_nodes_of(const struct tt_map *map, struct tt_nodes *nodes);
void tt_nodes_free(struct tt_nodes *nodes);

static inline int tt_nodes_size(const struct tt_nodes *nodes, int k)
{
    return nodes->first[k + 1] - nodes->first[k];
}

static inline const int *tt_nodes_ranks(const struct tt_nodes *nodes, int k)
{
    return nodes->rank + nodes->first[k];
}

/* The one with most ranks; of those with as many the first. */
int tt_nodes_largest(const struct tt_nodes *nodes);

#endif
