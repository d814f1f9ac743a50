/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two trees of two-tree.h.
 *
 * The first tree of n nodes, numbered from 1: a node whose number is a multiple of 2^l but not of
 * 2^(l+1) is on level l. A node on level 0 has no children. Otherwise one child is the node 2^(l-1)
 * before it. The other child is the node 2^j after it, for the greatest j < l for which the tree
 * has such a node; node n has no such child.
 */
#include "coll/two-tree.h"

/* How a tree is made from the first tree (two-tree.h): with its numbers, with the numbers reversed,
 * or with the numbers shifted by one. HEADED: the tree is one of m - 1 nodes, numbered from 2;
 * number 1 is the parent of its top. */
enum numbering { SAME, REVERSED, SHIFTED, HEADED };

/* A tree of m ranks below the root. The rank with the number u is rank (before + u) mod p. */
struct numbered {
    enum numbering by;
    int m, before;
};

/* ---- Nodes and numbers ---- */

static int nodes_of(const struct numbered *t)
{
    return t->by == HEADED ? t->m - 1 : t->m;
}

/* Each place in the tree *t has two numbers: `node` is the number of the same place in the first
 * tree, and `number` stands for the rank at this place (struct numbered). number_of returns the
 * number for a node, and node_of the node for a number. Node 0 stands for the parent of the tree's
 * top: its number is 0, which is the root's, or, in a HEADED tree, 1. */
static int number_of(const struct numbered *t, int node)
{
    if (node == 0) return t->by == HEADED;
    switch (t->by) {
    case SAME: break;
    case REVERSED: return t->m + 1 - node;
    case SHIFTED: return node % t->m + 1;
    case HEADED: return node + 1;
    }
    return node;
}

static int node_of(const struct numbered *t, int number)
{
    switch (t->by) {
    case SAME: break;
    case REVERSED: return t->m + 1 - number;
    case SHIFTED: return (number + t->m - 2) % t->m + 1;
    case HEADED: return number - 1;
    }
    return number;
}

/* ---- The trees ---- */

/* Returns the neighbours of a node in the first tree of the nodes 1 .. n. Node 0 is above this
 * tree: it is the parent of the top, and the top is its child. */
static struct tt_tree nodes_around(int n, int node)
{
    int bit = node & -node;
    int64_t up = (int64_t)(node - bit) | 2 * (int64_t)bit;
    struct tt_tree t = {.parent = up <= n ? (int)up : node - bit};
    if (node == 0) {
        t.parent = 0;
        if (n > 0) t.child[t.children++] = tt_pow2_below(n);
        return t;
    }
    if (bit > 1) t.child[t.children++] = node - bit / 2;
    for (int half = bit / 2; half > 0; half /= 2) {
        if (node + half > n) continue;
        t.child[t.children++] = node + half;
        break;
    }
    return t;
}

static int rank_of(const struct numbered *t, int p, int base, int number)
{
    return number == 0 ? base : tt_after(p, t->before, number);
}

/* Returns the neighbours of the rank with that number in the tree *in; the root `base` is the
 * parent of the top of this tree. The children are in the order of their numbers. */
static struct tt_tree ranks_around(const struct numbered *in, int p, int base, int number)
{
    struct tt_tree t = nodes_around(nodes_of(in), node_of(in, number)), ranks = t;
    bool is_head = in->by == HEADED && number == 1;
    ranks.parent = is_head ? base : rank_of(in, p, base, number_of(in, t.parent));
    for (int c = 0; c < t.children; c++) {
        int child = t.child[in->by == REVERSED ? t.children - 1 - c : c];
        ranks.child[c] = rank_of(in, p, base, number_of(in, child));
    }
    return ranks;
}

/* Returns the number at the top of the tree, below the root. */
static int top_of(const struct numbered *in)
{
    return in->by == HEADED ? 1 : number_of(in, tt_pow2_below(in->m));
}

/* Sets to[] to the first trees, or if `second` to the second trees, below the root `base`. There is
 * one tree of all other ranks, or, where operands must stay in rank order, one tree of the ranks
 * before the root and one of the ranks after it. Returns the number of trees. */
static int trees_below(const struct tt_call *call, int p, int base, bool second,
                       struct numbered *to)
{
    bool ordered = tt_coll_has_op(call->coll) && !call->commutes;
    int n = 0;
    if (ordered && base > 0) to[n++] = (struct numbered){.m = base, .before = p - 1};
    if (!ordered || base < p - 1)
        to[n++] = (struct numbered){.m = ordered ? p - 1 - base : p - 1, .before = base};
    for (int i = 0; i < n && second; i++)
        to[i].by = to[i].m % 2 == 0 ? REVERSED : ordered ? HEADED : SHIFTED;
    return n;
}

static struct tt_tree around(const struct tt_call *call, int p, int base, int me, bool second)
{
    struct numbered below[2];
    struct tt_tree t = {.parent = -1};
    int n = trees_below(call, p, base, second, below);
    for (int i = 0; i < n && me != base; i++) {
        int number = tt_after(p, me, p - below[i].before);
        if (number >= 1 && number <= below[i].m) return ranks_around(&below[i], p, base, number);
    }
    for (int i = 0; i < n; i++)
        t.child[t.children++] = rank_of(&below[i], p, base, top_of(&below[i]));
    return t;
}

struct tt_tree tt_two_tree_first(const struct tt_call *call, const struct tt_map *map, int base,
                                 int me)
{
    return around(call, map->p, base, me, false);
}

struct tt_tree tt_two_tree_second(const struct tt_call *call, const struct tt_map *map, int base,
                                  int me)
{
    return around(call, map->p, base, me, true);
}

/* ---- Plans ---- */

void tt_two_tree_build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                       int me, unsigned ways)
{
    enum { SLICE = 64 << 10 };
    tt_tree_fn *const shape[] = {tt_two_tree_first, tt_two_tree_second};
    int base = tt_coll_has_root(call->coll) ? call->root : 0;
    for (int i = 0; i < 2; i++) {
        struct tt_span half = tt_block(call, 2, i);
        if (half.len == 0) continue;
        if (i > 0) tt_lane(b);
        if (ways & TT_TWO_UP) tt_tree_reduce_part(b, call, map, me, base, shape[i], half, SLICE);
        if (ways & TT_TWO_DOWN) tt_tree_bcast_part(b, call, map, me, base, shape[i], half, SLICE);
    }
}
