/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who is whose parent: nodes first, spread over the identified node's ranks, then the ranks of each node.
 */
#include "topo/logical.h"

#include <stdlib.h>

/* While the tree grows: nodes still to be placed, and who may take them. */
struct growth {
    uint64_t *order; /* nodes as size << 32 | number, so that sorting puts small ones first */
    int left;        /* of them, from the end */
    int *receiver;   /* of the level placed last */
    int receivers;
};

static int smaller_first(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* All but the identified node and that of `top`; of equal size the first comes last. */
static void order_nodes(const struct tt_logical *tree, struct growth *g)
{
    const struct tt_nodes *nodes = &tree->nodes;
    for (int k = 0; k < nodes->n; k++) {
        if (k == tree->identified || k == nodes->of[tree->top]) continue;
        g->order[g->left++] =
            (uint64_t)tt_nodes_size(nodes, k) << 32 | (uint32_t)(nodes->n - 1 - k);
    }
    qsort(g->order, (size_t)g->left, sizeof *g->order, smaller_first);
}

static int next_node(const struct tt_logical *tree, struct growth *g)
{
    return tree->nodes.n - 1 - (int)(uint32_t)g->order[--g->left];
}

static void add_receivers(const struct tt_logical *tree, struct growth *g, int k)
{
    const int *rank = tt_nodes_ranks(&tree->nodes, k);
    int size = tt_nodes_size(&tree->nodes, k);
    for (int i = 0; i < size; i++)
        if (size == 1 || rank[i] != tree->root[k]) g->receiver[g->receivers++] = rank[i];
}

/* Hangs up a level of nodes on the receivers, and makes theirs the next. */
static void add_level(struct tt_logical *tree, struct growth *g)
{
    int old = g->receivers, now = (int)tt_min(g->left, (int64_t)old * TT_LOGICAL_CHILDREN);
    tree->most_children = (int)tt_max(tree->most_children, (now + old - 1) / old);
    for (int i = 0; i < now; i++) {
        int k = next_node(tree, g), *parent = &tree->parent[k];
        *parent = g->receiver[i % old];
        tree->level[k] = tree->level[tree->nodes.of[*parent]] + 1;
        tree->levels = (int)tt_max(tree->levels, tree->level[k] + 1);
        add_receivers(tree, g, k);
    }
    g->receiver += old;
    g->receivers -= old;
}

static void place_roots(struct tt_logical *tree, int root)
{
    struct tt_nodes *nodes = &tree->nodes;
    int largest = tt_nodes_largest(nodes), home = root < 0 ? largest : nodes->of[root];
    bool as_large = tt_nodes_size(nodes, home) == tt_nodes_size(nodes, largest);
    tree->identified = as_large ? home : largest;
    for (int k = 0; k < nodes->n; k++) {
        tree->root[k] = tt_nodes_ranks(nodes, k)[0];
        tree->parent[k] = -1;
        tree->level[k] = 0;
    }
    if (root >= 0) tree->root[home] = root;
    tree->global = tree->root[tree->identified];
    tree->top = tree->root[home];
    if (!as_large) tree->parent[tree->identified] = tree->top;
    tree->level[tree->identified] = !as_large;
    tree->levels = 1 + !as_large;
    tree->most_children = !as_large;
}

bool tt_logical_of(const struct tt_map *map, int root, struct tt_logical *tree)
{
    *tree = (struct tt_logical){0};
    if (!tt_nodes_of(map, &tree->nodes)) return false;
    size_t n = (size_t)tree->nodes.n;
    tree->root = tt_alloc(3 * n * sizeof(int));
    struct growth g = {.order = tt_alloc(n * sizeof(uint64_t)),
                       .receiver = tt_alloc((size_t)map->p * sizeof(int))};
    int *receiver = g.receiver;
    bool there_is_room = tree->root && g.order && g.receiver;
    if (there_is_room) {
        tree->parent = tree->root + n;
        tree->level = tree->parent + n;
        place_roots(tree, root);
        order_nodes(tree, &g);
        add_receivers(tree, &g, tree->identified);
        while (g.left > 0) add_level(tree, &g);
    }
    tt_free(g.order);
    tt_free(receiver);
    if (!there_is_room) tt_logical_free(tree);
    return there_is_room;
}

void tt_logical_free(struct tt_logical *tree)
{
    tt_nodes_free(&tree->nodes);
    tt_free(tree->root);
    *tree = (struct tt_logical){0};
}

struct tt_logical_place tt_logical_place(const struct tt_logical *tree, int me)
{
    int node = tree->nodes.of[me], local = tree->root[node];
    struct tt_logical_place place = {
        .node = node, .local = local, .parent = me == local ? tree->parent[node] : local};
    for (int k = 0; k < tree->nodes.n; k++) {
        if (tree->parent[k] != me) continue;
        int at = place.children++;
        for (; at > 0 && place.child[at - 1] > tree->root[k]; at--)
            place.child[at] = place.child[at - 1];
        place.child[at] = tree->root[k];
    }
    return place;
}
