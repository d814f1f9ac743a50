/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trees of shortest paths: a breadth-first search from each source finds the distances, a hash
 * chooses each parent among the neighbours that are nearer to the source, and then the ranks are
 * numbered in preorder.
 */
#include "coll/forest.h"

#include <string.h>

const char *tt_forest_refuse(const struct tt_net *net, int p)
{
    if (!net || net->ranks != p) return "needs to know the network";
    if (net->vertices != net->nodes) return "needs ranks that are joined directly, by no switches";
    if (p > TT_FOREST_RANKS) return "supports at most 4096 ranks";
    return NULL;
}

/* The tree of source s while it is built. All arrays have p entries. For each rank v, parent[v] is
 * its parent, depth[v] its distance from s, size[v] the number of ranks in its subtree, and at[v]
 * its position in preorder. `order` has the ranks in preorder, and `list` in the order of their
 * distance from s; `next` is scratch. Invariants of a finished tree (tree_is_valid):
 *
 *     order[at[v]] == v, order[0] == s, parent[s] == s, depth[s] == 0
 *     the subtree of v is the size[v] ranks from v on in `order` */
struct tree {
    int s, n;
    uint16_t *parent, *depth, *size, *order, *at, *list, *next;
};
enum { TREE_ARRAYS = 7 };

static struct tree tree_in(uint16_t *room, int p)
{
    return (struct tree){.parent = room,
                         .depth = room + p,
                         .size = room + 2 * p,
                         .order = room + 3 * p,
                         .at = room + 4 * p,
                         .list = room + 5 * p,
                         .next = room + 6 * p};
}

static void look_round(struct tt_forest *f)
{
    for (int v = 0; v < f->p; v++) {
        int node = tt_net_node(f->net, v);
        struct tt_neighbour *next = (struct tt_neighbour *)tt_forest_neighbours(f, v);
        (void)tt_net_coordinates(f->net, node, f->coordinate + v * TT_NET_CUBE);
        for (int q = 0; q < f->ports; q++) {
            int to = tt_net_neighbour(f->net, node, q);
            if (to >= 0) *next++ = (struct tt_neighbour){tt_net_rank(f->net, to), q};
        }
        next->rank = -1;
    }
}

/* Finds the distance of each rank from the source, breadth first. */
static void measure(const struct tt_forest *f, struct tree *t)
{
    const int unknown = UINT16_MAX;
    for (int v = 0; v < f->p; v++) t->depth[v] = (uint16_t)unknown;
    t->depth[t->s] = 0;
    t->list[t->n++] = (uint16_t)t->s;
    for (int i = 0; i < t->n; i++) {
        int v = t->list[i];
        for (const struct tt_neighbour *to = tt_forest_neighbours(f, v); to->rank >= 0; to++) {
            if (t->depth[to->rank] != unknown) continue;
            t->depth[to->rank] = (uint16_t)(t->depth[v] + 1);
            t->list[t->n++] = (uint16_t)to->rank;
        }
    }
    tt_assert(t->n == f->p);
}

/* Returns the parent of v: one of its neighbours that are nearer to the source. A pseudo-random
 * number decides between them. */
static int parent_of(const struct tt_forest *f, const struct tree *t, int v)
{
    const int *from = f->coordinate + t->s * TT_NET_CUBE, *to = f->coordinate + v * TT_NET_CUBE;
    uint64_t least = UINT64_MAX;
    int parent = -1;
    for (const struct tt_neighbour *n = tt_forest_neighbours(f, v); n->rank >= 0; n++) {
        if (t->depth[n->rank] >= t->depth[v]) continue;
        uint64_t drawn = tt_net_draw(f->net, from, to, n->port);
        if (drawn > least) continue;
        parent = n->rank;
        least = drawn;
    }
    return parent;
}

static void join(const struct tt_forest *f, struct tree *t)
{
    t->parent[t->s] = (uint16_t)t->s;
    for (int i = 1; i < t->n; i++) t->parent[t->list[i]] = (uint16_t)parent_of(f, t, t->list[i]);
    for (int v = 0; v < f->p; v++) t->size[v] = 1;
    for (int i = t->n - 1; i > 0; i--) {
        int v = t->list[i];
        t->size[t->parent[v]] = (uint16_t)(t->size[t->parent[v]] + t->size[v]);
    }
}

/* Numbers the ranks in preorder, children in the order of the list. next[v] is the number for the
 * next child of v. */
static void number(struct tree *t)
{
    uint16_t *next = t->next;
    for (int i = 0; i < t->n; i++) {
        int v = t->list[i], up = t->parent[v];
        t->at[v] = i == 0 ? 0 : next[up];
        if (i > 0) next[up] = (uint16_t)(next[up] + t->size[v]);
        next[v] = (uint16_t)(t->at[v] + 1);
        t->order[t->at[v]] = (uint16_t)v;
    }
}

__attribute__((unused)) static bool tree_is_valid(const struct tree *t, int p)
{
    bool valid = t->order[0] == t->s && t->parent[t->s] == t->s && t->depth[t->s] == 0 &&
                 t->at[t->s] == 0 && t->size[t->s] == p;
    for (int v = 0; v < p; v++) {
        int up = t->parent[v];
        valid = valid && t->order[t->at[v]] == v;
        if (v != t->s)
            valid = valid && t->depth[v] == t->depth[up] + 1 && t->at[v] > t->at[up] &&
                    t->at[v] + t->size[v] <= t->at[up] + t->size[up];
    }
    return valid;
}

/* Copies from a finished tree to the forest the places of `me` and of its neighbours, and, if it is
 * the tree of `me`, the order of its ranks. */
static void keep(struct tt_forest *f, const struct tree *t, int me)
{
    for (int v = 0; v < f->p; v++)
        if (f->column[v] >= 0)
            f->place[(int64_t)t->s * f->columns + f->column[v]] =
                (struct tt_tree_place){t->parent[v], t->depth[v], t->size[v], t->at[v]};
    for (int i = 0; i < f->p && t->s == me; i++) f->order[i] = t->order[i];
    f->deepest = (int)tt_max(f->deepest, t->depth[t->list[f->p - 1]]);
}

/* Appends the ranks of the subtree of `me` to `behind`. */
static bool keep_behind(struct tt_forest *f, const struct tree *t, int me)
{
    int64_t n = f->start[t->s];
    if (n + t->size[me] > f->room) {
        int64_t room = 2 * f->room + f->p;
        uint16_t *behind = tt_alloc((size_t)room * sizeof *behind);
        if (!behind) return false;
        if (n > 0) memcpy(behind, f->behind, (size_t)n * sizeof *behind);
        tt_free(f->behind);
        f->behind = behind;
        f->room = room;
    }
    memcpy(f->behind + n, t->order + t->at[me], t->size[me] * sizeof *f->behind);
    f->start[t->s + 1] = n + t->size[me];
    return true;
}

static bool grow(struct tt_forest *f, struct tree *t, int me)
{
    bool enough = true;
    for (int s = 0; s < f->p && enough; s++) {
        t->s = s;
        t->n = 0;
        measure(f, t);
        join(f, t);
        number(t);
        tt_assert(tree_is_valid(t, f->p));
        keep(f, t, me);
        if (f->start) enough = keep_behind(f, t, me);
    }
    return enough;
}

static void give_columns(struct tt_forest *f, int me)
{
    for (int v = 0; v < f->p; v++) f->column[v] = -1;
    f->column[me] = f->columns++;
    for (const struct tt_neighbour *n = tt_forest_neighbours(f, me); n->rank >= 0; n++)
        if (f->column[n->rank] < 0) f->column[n->rank] = f->columns++;
}

bool tt_forest_make(struct tt_forest *f, const struct tt_net *net, int me, bool lists)
{
    size_t p = (size_t)net->ranks, ports = (size_t)net->ports;
    *f = (struct tt_forest){.p = net->ranks, .ports = net->ports, .net = net};
    f->coordinate = tt_alloc(p * TT_NET_CUBE * sizeof *f->coordinate);
    f->neighbour = tt_alloc(p * (ports + 1) * sizeof *f->neighbour);
    f->column = tt_alloc(p * sizeof *f->column);
    f->place = tt_alloc(p * (ports + 1) * sizeof *f->place);
    f->order = tt_alloc((1 + TREE_ARRAYS) * p * sizeof *f->order);
    if (lists) f->start = tt_calloc(p + 1, sizeof *f->start);
    if (!f->coordinate || !f->neighbour || !f->column || !f->place || !f->order ||
        (lists && !f->start))
        return false;
    struct tree tree = tree_in(f->order + p, f->p);
    look_round(f);
    give_columns(f, me);
    return grow(f, &tree, me);
}

void tt_forest_free(struct tt_forest *f)
{
    tt_free(f->coordinate);
    tt_free(f->neighbour);
    tt_free(f->column);
    tt_free(f->place);
    tt_free(f->order);
    tt_free(f->behind);
    tt_free(f->start);
}
