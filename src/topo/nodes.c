/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Groups ranks by node: numbers the nodes in the order of their first ranks, and then lists the
 * ranks of each node.
 */
#include "topo/nodes.h"

static int node_of(const struct tt_map *map, int r)
{
    return map->node ? map->node[r] : 0;
}

/* Numbers the nodes in the order of their first ranks. The caller has set number[] to -1 for every
 * node of the map. */
static void number_nodes(const struct tt_map *map, struct tt_nodes *nodes, int *number)
{
    nodes->n = 0;
    nodes->adjacent = true;
    for (int r = 0; r < map->p; r++) {
        int *k = &number[node_of(map, r)];
        if (*k >= 0 && nodes->of[r - 1] != *k) nodes->adjacent = false;
        if (*k < 0) *k = nodes->n++;
        nodes->of[r] = *k;
    }
}

/* Fills first[] and rank[] by a counting sort. While it runs, first[k + 1] is the index in rank[]
 * at which the next rank of node k is stored. At the end it is the index after the last rank of
 * node k. */
static void sort_ranks(struct tt_nodes *nodes, int p)
{
    int *first = nodes->first, sum = 0;
    for (int k = 0; k <= nodes->n; k++) first[k] = 0;
    for (int r = 0; r < p; r++) first[nodes->of[r] + 1]++;
    for (int k = 0; k < nodes->n; k++) {
        int size = first[k + 1];
        first[k + 1] = sum;
        sum += size;
    }
    for (int r = 0; r < p; r++) nodes->rank[first[nodes->of[r] + 1]++] = r;
}

bool tt_nodes_of(const struct tt_map *map, struct tt_nodes *nodes)
{
    size_t p = (size_t)map->p, most = map->node ? (size_t)map->nodes : 1;
    int *all = tt_alloc((2 * p + 2 * most + 1) * sizeof *all);
    *nodes = (struct tt_nodes){.first = all};
    if (!all) return false;
    nodes->rank = all + most + 1;
    nodes->of = nodes->rank + p;
    int *number = nodes->of + p;
    for (size_t k = 0; k < most; k++) number[k] = -1;
    number_nodes(map, nodes, number);
    sort_ranks(nodes, map->p);
    return true;
}

void tt_nodes_free(struct tt_nodes *nodes)
{
    tt_free(nodes->first);
    *nodes = (struct tt_nodes){0};
}

int tt_nodes_largest(const struct tt_nodes *nodes)
{
    int largest = 0;
    for (int k = 1; k < nodes->n; k++)
        if (tt_nodes_size(nodes, k) > tt_nodes_size(nodes, largest)) largest = k;
    return largest;
}
