/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Building the logical tree (logical.h): each node gets a parent, by spreading the nodes over
 * receivers. Without a rank order the nodes are placed level by level, large ones first; in rank
 * order they are placed run by run, where a run is some adjacent nodes.
 */
#include "topo/logical.h"

#include <stdlib.h>

/* The state while a tree without rank order is built: the nodes that are not placed yet, and the
 * ranks that may become their parents. */
struct growth {
    /* the nodes that are not placed yet, each as size << 32 | (n - 1 - number), so that sorting
     * puts small nodes first; the last node of the list is placed next */
    uint64_t *order;
    int left;      /* the number of nodes in `order` */
    int *receiver; /* the receivers of the level placed last */
    int receivers;
};

static int smaller_first(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts by size all nodes except the identified node and the node of the tree's root (tree->top).
 * The next node to place is at the end of the list: the largest one, and among equally large ones
 * the one with the lowest number. */
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

/* Attaches one level of nodes to the receivers of the level above, which are the ranks that may
 * become their parents (logical.h). The receivers of the attached nodes become the receivers for
 * the next level. */
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

static void spread(struct tt_logical *tree, struct growth *g)
{
    order_nodes(tree, g);
    add_receivers(tree, g, tree->identified);
    while (g->left > 0) add_level(tree, g);
}

/* ---- In rank order ---- */

/* A run of adjacent nodes: begin .. end - 1. */
struct run {
    int begin, end;
};

/* Returns the number of pieces if these runs are cut into pieces of at most `most` nodes. */
static int pieces(const struct run *run, int runs, int most)
{
    int n = 0;
    for (int i = 0; i < runs; i++) n += (run[i].end - run[i].begin + most - 1) / most;
    return n;
}

static int head_of(const struct tt_logical *tree, struct run run)
{
    int middle = (run.begin + run.end) / 2, head = middle;
    for (int k = run.begin; k < run.end; k++) {
        int larger = tt_nodes_size(&tree->nodes, k) - tt_nodes_size(&tree->nodes, head);
        if (larger > 0 || (larger == 0 && abs(k - middle) < abs(head - middle))) head = k;
    }
    return head;
}

static int receivers_of(const struct tt_logical *tree, int k)
{
    return (int)tt_max(1, tt_nodes_size(&tree->nodes, k) - 1);
}

/* Returns the i-th receiver (logical.h) of node k. */
static int receiver(const struct tt_logical *tree, int k, int i)
{
    const int *rank = tt_nodes_ranks(&tree->nodes, k);
    bool alone = tt_nodes_size(&tree->nodes, k) == 1;
    return rank[!alone && rank[i] >= tree->root[k] ? i + 1 : i];
}

/* Cuts the runs into at most as many pieces as the receivers of node k may have children. The
 * largest node of a piece is its head. Attaches the head to a receiver, and the other nodes of the
 * piece to the head's receivers in the same way. */
static void hang(struct tt_logical *tree, int k, const struct run *run, int runs)
{
    int receivers = receivers_of(tree, k), most = 1, made = 0;
    while (pieces(run, runs, most) > receivers * TT_LOGICAL_CHILDREN) most++;
    for (int i = 0; i < runs; i++) {
        int64_t n = run[i].end - run[i].begin, cuts = pieces(&run[i], 1, most);
        for (int j = 0; j < cuts; j++) {
            int begin = run[i].begin + (int)(n * j / cuts);
            int end = run[i].begin + (int)(n * (j + 1) / cuts);
            int head = head_of(tree, (struct run){begin, end});
            tree->parent[head] = receiver(tree, k, made++ % receivers);
            tree->level[head] = tree->level[k] + 1;
            tree->levels = (int)tt_max(tree->levels, tree->level[head] + 1);
            tree->begin[head] = begin;
            hang(tree, head, (struct run[]){{begin, head}, {head + 1, end}}, 2);
        }
    }
    tree->most_children = (int)tt_max(tree->most_children, (made + receivers - 1) / receivers);
}

/* Builds a tree in rank order: attaches to the identified node all other nodes except the node of
 * the tree's root (tree->top). */
static void line_up(struct tt_logical *tree)
{
    int top = tree->nodes.of[tree->top], n = tree->nodes.n;
    int first = (int)tt_min(top, tree->identified), second = (int)tt_max(top, tree->identified);
    struct run run[] = {{0, first}, {first + 1, (int)tt_max(first + 1, second)}, {second + 1, n}};
    bool handed = top != tree->identified;
    tree->begin[tree->identified] = top == 0 && handed;
    if (handed && top > 0 && top < n - 1) tree->runs = 2;
    hang(tree, tree->identified, run, 3);
}

/* ---- The tree ---- */

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
    tree->runs = 1;
}

bool tt_logical_of(const struct tt_map *map, int root, bool in_order, struct tt_logical *tree)
{
    *tree = (struct tt_logical){0};
    if (!tt_nodes_of(map, &tree->nodes)) return false;
    size_t n = (size_t)tree->nodes.n;
    tree->root = tt_alloc(4 * n * sizeof(int));
    struct growth g = {.order = tt_alloc(n * sizeof(uint64_t)),
                       .receiver = tt_alloc((size_t)map->p * sizeof(int))};
    int *receiver = g.receiver;
    bool there_is_room = tree->root && g.order && g.receiver;
    if (there_is_room) {
        tree->parent = tree->root + n;
        tree->level = tree->parent + n;
        tree->begin = tree->level + n;
        place_roots(tree, root);
        if (in_order)
            line_up(tree);
        else
            spread(tree, &g);
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

int tt_logical_first(const struct tt_logical *tree, int local, int run)
{
    const int *of = tree->nodes.of;
    int k = run == 0 ? tree->begin[of[local]] : of[tree->top] + 1;
    return tt_nodes_ranks(&tree->nodes, k)[0];
}
