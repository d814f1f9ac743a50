/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks of a map, grouped by node.
 */
#ifndef TT_TOPO_NODES_H
#define TT_TOPO_NODES_H

#include "topo/map.h"

/* The ranks of each node. Nodes are numbered in the order of their first ranks. No node is empty,
 * whatever numbers the map uses. The ranks of node k are rank[first[k]] .. rank[first[k + 1] - 1],
 * in ascending order. */
struct tt_nodes {
    int n;
    int *first;    /* n + 1 entries */
    int *rank;     /* p entries */
    int *of;       /* the node of each rank; p entries */
    bool adjacent; /* whether the ranks of each node have consecutive numbers */
};

/* Groups the ranks of the map. Returns false if there is no memory. The caller frees *nodes with
 * tt_nodes_free. */
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

/* Returns the node with most ranks; of several such nodes, the first. */
int tt_nodes_largest(const struct tt_nodes *nodes);

#endif
