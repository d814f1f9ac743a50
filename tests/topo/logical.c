/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the logical trees of random maps. A tree must have the three properties of
 * docs/hierarchy.md. In addition, no rank may have too many children, the children of the
 * identified node must be spread evenly over its ranks, and every rank must be below the root of
 * the whole tree, the top. In the tree for operations that need rank order, the ranks below a local
 * root must be consecutive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../brief.h"
#include "topo/logical.h"

enum { MAPS = 10000, MOST = 200 };

/* A random map in its own memory, and the root of the collective (-1: it has none). */
struct logical_drawn {
    int node[MOST];
    struct tt_map map;
    int root;
};

static int below(struct tt_random *random, int n)
{
    return (int)tt_random_below(random, (uint64_t)n);
}

static void permute(struct tt_random *random, int *list, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int j = below(random, i + 1), kept = list[i];
        list[i] = list[j];
        list[j] = kept;
    }
}

/* Draws a map with few or many nodes, of equal or unequal size, some of them empty, and with ranks
 * in order or permuted. */
static void draw(struct tt_random *random, struct logical_drawn *d)
{
    int p = 1 + below(random, MOST), nodes = 1 + below(random, 1 + below(random, p));
    int skew = 1 + below(random, 3);
    for (int r = 0; r < p; r++) {
        int k = below(random, nodes);
        for (int s = 1; s < skew; s++) k = below(random, k + 1);
        d->node[r] = k;
    }
    if (below(random, 2)) permute(random, d->node, p);
    d->map = (struct tt_map){.p = p, .cores = 4, .nodes = nodes, .node = d->node};
    d->root = below(random, 3) == 0 ? -1 : below(random, p);
}

static int size_of(const struct logical_drawn *d, int node)
{
    int n = 0;
    for (int r = 0; r < d->map.p; r++) n += d->node[r] == node;
    return n;
}

static int largest_size(const struct logical_drawn *d)
{
    int most = 0;
    for (int k = 0; k < d->map.nodes; k++) most = (int)tt_max(most, size_of(d, k));
    return most;
}

/* Checks property 1: the identified node has the most ranks. The global root is one of its ranks
 * and the parent of its other ranks. */
static void first_property(const struct logical_drawn *d, const struct tt_logical *tree)
{
    int home = d->node[tree->global], most = largest_size(d);
    assert_int_equal(size_of(d, home), most);
    assert_int_equal(tree->nodes.of[tree->global], tree->identified);
    for (int r = 0; r < d->map.p; r++)
        if (d->node[r] == home && r != tree->global)
            assert_int_equal(tt_logical_place(tree, r).parent, tree->global);
    bool as_large = d->root < 0 || size_of(d, d->node[d->root]) == most;
    if (d->root >= 0) assert_int_equal(tree->top, d->root);
    if (as_large) assert_int_equal(tree->top, tree->global);
    assert_int_equal(tt_logical_place(tree, tree->global).parent, as_large ? -1 : d->root);
}

/* Checks property 2: exactly one rank of each node has no parent on that node, and this rank is the
 * parent of the node's other ranks. */
static void second_property(const struct logical_drawn *d, const struct tt_logical *tree)
{
    int roots[MOST] = {0};
    for (int r = 0; r < d->map.p; r++) {
        struct tt_logical_place place = tt_logical_place(tree, r);
        assert_int_equal(d->node[place.local], d->node[r]);
        roots[d->node[r]] += place.local == r;
        if (place.local != r)
            assert_int_equal(place.parent, place.local);
        else if (place.parent >= 0)
            assert_int_not_equal(d->node[place.parent], d->node[r]);
    }
    for (int k = 0; k < d->map.nodes; k++) assert_int_equal(roots[k], size_of(d, k) > 0);
}

/* Checks property 3: local roots are children of those ranks of the identified node that are not
 * the global root, as long as these ranks may take more children. No local root is a child of a
 * rank that has other ranks of its own node below it. */
static void third_property(const struct logical_drawn *d, const struct tt_logical *tree)
{
    int spare = tt_nodes_size(&tree->nodes, tree->identified) - 1;
    int others = tree->nodes.n - 1 - (tree->top != tree->global);
    for (int k = 0; k < tree->nodes.n; k++) {
        int parent = tree->parent[k];
        if (parent < 0 || parent == tree->top) continue;
        struct tt_logical_place above = tt_logical_place(tree, parent);
        bool alone = size_of(d, d->node[parent]) == 1;
        assert_true(alone || above.local != parent);
        if (others <= spare * TT_LOGICAL_CHILDREN)
            assert_int_equal(tree->nodes.of[parent], tree->identified);
    }
}

static void children_are_few_and_even(const struct logical_drawn *d, const struct tt_logical *tree)
{
    int edges = 0, least = MOST, most = 0, children = 0;
    for (int r = 0; r < d->map.p; r++) {
        struct tt_logical_place place = tt_logical_place(tree, r);
        bool handed = tree->top != tree->global && r == tree->top;
        assert_in_range(place.children, 0, handed ? 1 : TT_LOGICAL_CHILDREN);
        edges += place.children;
        children = (int)tt_max(children, place.children);
        for (int c = 0; c < place.children; c++)
            assert_int_equal(tt_logical_place(tree, place.child[c]).parent, r);
        bool receives = place.local != r || tt_nodes_size(&tree->nodes, place.node) == 1;
        if (place.node != tree->identified || !receives) continue;
        least = (int)tt_min(least, place.children);
        most = (int)tt_max(most, place.children);
    }
    assert_int_equal(edges, tree->nodes.n - 1);
    assert_int_equal(children, tree->most_children);
    assert_in_range(most - least, 0, 1);
}

/* Checks that every rank reaches the root of the whole tree in at most two steps per level. */
static void everyone_hangs_on_the_top(const struct logical_drawn *d, const struct tt_logical *tree)
{
    for (int r = 0; r < d->map.p; r++) {
        int at = r, steps = 0;
        for (; at != tree->top; at = tt_logical_place(tree, at).parent)
            assert_in_range(++steps, 1, 2 * tree->levels);
    }
}

/* Returns whether node k is node `above`, or below the local root of that node. */
static bool is_below(const struct tt_logical *tree, int k, int above)
{
    while (k != above && tree->parent[k] >= 0) k = tree->nodes.of[tree->parent[k]];
    return k == above;
}

/* Checks for each node that the node and the nodes below its local root are consecutive, and that
 * `begin` of the tree holds the first of them. For the identified node, they may form two runs of
 * consecutive nodes, on either side of the top's node. The top's node itself is checked only if it
 * is the identified node. */
static void subtrees_are_runs(const struct tt_logical *tree)
{
    int top = tree->nodes.of[tree->top], home = tree->identified;
    for (int above = 0; above < tree->nodes.n; above++) {
        int first = -1, runs = 0, second = -1;
        if (above == top && above != home) continue;
        for (int k = 0; k < tree->nodes.n; k++) {
            if (!is_below(tree, k, above) || (k > 0 && is_below(tree, k - 1, above))) continue;
            if (runs++ == 0) first = k;
            second = k;
        }
        int local = tree->root[above];
        assert_int_equal(tree->begin[above], first);
        assert_int_equal(tt_logical_first(tree, local, 0), tt_nodes_ranks(&tree->nodes, first)[0]);
        assert_int_equal(runs, above == home ? tree->runs : 1);
        if (runs == 2)
            assert_int_equal(tt_logical_first(tree, local, 1),
                             tt_nodes_ranks(&tree->nodes, second)[0]);
    }
}

/* Checks the bound on levels: at the first level, the nodes on either side of the identified node
 * form runs of at most half of all nodes. Below, a run of n nodes consists of one node and of runs
 * of at most a third of the other n - 1 nodes. */
static void runs_are_not_deep(const struct tt_logical *tree)
{
    int levels = 1 + (tree->top != tree->global), n = (tree->nodes.n - levels + 1) / 2;
    if (tree->nodes.n > levels) levels++;
    for (; n > 1; n = (n - 1 + 2) / 3) levels++;
    assert_in_range(tree->levels, 1, levels);
}

static void random_tree(const struct logical_drawn *d, bool in_order, struct tt_logical *tree)
{
    assert_true(tt_logical_of(&d->map, d->root, in_order, tree));
    first_property(d, tree);
    second_property(d, tree);
    third_property(d, tree);
    children_are_few_and_even(d, tree);
    everyone_hangs_on_the_top(d, tree);
    if (in_order) subtrees_are_runs(tree);
    if (in_order) runs_are_not_deep(tree);
}

static void random_maps(void **state)
{
    (void)state;
    struct tt_random random;
    struct logical_drawn d;
    tt_random_seed(&random, 20);
    const int maps = brief(MAPS, MAPS / 5);
    int deep = 0, handed = 0, cut = 0;
    for (int i = 0; i < maps; i++) {
        struct tt_logical tree;
        draw(&random, &d);
        random_tree(&d, true, &tree);
        cut += tree.runs == 2;
        tt_logical_free(&tree);
        random_tree(&d, false, &tree);
        deep += tree.levels > 3;
        handed += tree.top != tree.global;
        tt_logical_free(&tree);
    }
    /* the rare cases have occurred */
    assert_true(deep > maps / 100 && handed > maps / 10 && cut > maps / 20);
}

/* Checks the tree in the picture of topo/logical.h. */
static void the_pictures_tree(void **state)
{
    (void)state;
    int node[] = {0, 0, 0, 0, 1, 1, 2, 3};
    struct tt_map map = {.p = 8, .nodes = 4, .node = node};
    struct tt_logical tree;
    assert_true(tt_logical_of(&map, -1, false, &tree));
    static const int parents[] = {-1, 0, 0, 0, 1, 4, 2, 3};
    for (int r = 0; r < 8; r++) assert_int_equal(tt_logical_place(&tree, r).parent, parents[r]);
    assert_int_equal(tree.levels, 2);
    tt_logical_free(&tree);
    assert_true(tt_logical_of(&map, 6, false, &tree));
    assert_int_equal(tree.top, 6);
    assert_int_equal(tree.global, 0);
    assert_int_equal(tt_logical_place(&tree, 0).parent, 6);
    tt_logical_free(&tree);
}

/* Checks that the depth of the tree grows with the logarithm of the number of nodes: with one rank
 * on each node, trees of 1, 1 + 4, 1 + 4 + 16 ... nodes have 1, 2, 3 ... levels. */
static void nodes_of_one_rank(void **state)
{
    (void)state;
    static int node[341];
    for (int r = 0; r < 341; r++) node[r] = 340 - r;
    for (int p = 1, levels = 1; p <= 341; p = 4 * p + 1, levels++) {
        struct tt_map map = {.p = p, .nodes = 341, .node = node};
        struct tt_logical tree;
        assert_true(tt_logical_of(&map, -1, false, &tree));
        assert_int_equal(tree.levels, levels);
        tt_logical_free(&tree);
        assert_true(tt_logical_of(&map, -1, true, &tree));
        assert_int_equal(tree.levels, levels);
        tt_logical_free(&tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pictures_tree),
        cmocka_unit_test(nodes_of_one_rank),
        cmocka_unit_test(random_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
