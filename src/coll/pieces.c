/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces that go up and down the logical tree. A rank that passes pieces on keeps them in scratch,
 * in the order of the walk (pieces.h). So the pieces of a message to or from a child lie side by
 * side in the scratch.
 */
#include "coll/pieces.h"

#include "topo/logical.h"

/* A child: the ranks below it, itself included, are rank[at] .. rank[at + n - 1] of the walk. */
struct below {
    int child, at, n;
};

/* The ranks below rank `me` in the order of the walk, which begins with `me`, and the children of
 * `me`. */
struct tree_walk {
    struct tt_logical tree;
    int n, children, parent;
    int *rank;
    struct below *below;
};

/* ---- The walk ---- */

static void visit(struct tree_walk *w, int rank)
{
    struct tt_logical_place at = tt_logical_place(&w->tree, rank);
    const int *mates = tt_nodes_ranks(&w->tree.nodes, at.node);
    int others = at.local == rank ? tt_nodes_size(&w->tree.nodes, at.node) : 0;
    w->rank[w->n++] = rank;
    for (int i = 0; i < others; i++)
        if (mates[i] != rank) visit(w, mates[i]);
    for (int c = 0; c < at.children; c++) visit(w, at.child[c]);
}

static void visit_child(struct tree_walk *w, int child)
{
    struct below *below = &w->below[w->children++];
    below->child = child;
    below->at = w->n;
    visit(w, child);
    below->n = w->n - below->at;
}

static void visit_children(struct tree_walk *w, int me)
{
    struct tt_logical_place at = tt_logical_place(&w->tree, me);
    const int *mates = tt_nodes_ranks(&w->tree.nodes, at.node);
    int others = at.local == me ? tt_nodes_size(&w->tree.nodes, at.node) : 0;
    w->parent = at.parent;
    w->rank[w->n++] = me;
    for (int i = 0; i < others; i++)
        if (mates[i] != me) visit_child(w, mates[i]);
    for (int c = 0; c < at.children; c++) visit_child(w, at.child[c]);
}

static void walk_free(struct tree_walk *w)
{
    tt_free(w->rank);
    tt_free(w->below);
    tt_logical_free(&w->tree);
}

/* Fills in *w for rank `me`. Returns false if there is no memory. The caller frees the walk with
 * walk_free. */
static bool walk_from(const struct tt_call *call, const struct tt_map *map, int me,
                      struct tree_walk *w)
{
    size_t p = (size_t)map->p;
    *w = (struct tree_walk){.n = 0};
    if (!tt_logical_of(map, call->root, false, &w->tree)) return false;
    w->rank = tt_alloc(p * sizeof *w->rank);
    w->below = tt_alloc(p * sizeof *w->below);
    if (!w->rank || !w->below) {
        walk_free(w);
        return false;
    }
    visit_children(w, me);
    return true;
}

/* Returns how many ranks of the walk, from place `at` on and before `end`, have consecutive
 * numbers. */
static int run_of(const struct tree_walk *w, int at, int end)
{
    int n = 1;
    while (at + n < end && w->rank[at + n] == w->rank[at] + n) n++;
    return n;
}

static bool is_run(const struct tree_walk *w, const struct below *below)
{
    return run_of(w, below->at, below->at + below->n) == below->n;
}

/* ---- Places of pieces ---- */

/* The pieces at one rank. `whole` is the root's buffer, with the pieces in rank order; `scratch`
 * has pieces in the order of the walk. */
struct pieces {
    const struct tree_walk *walk;
    struct tt_range whole, scratch;
    bool root;
    int64_t bytes;
};

static struct tt_range piece(struct tt_range of, int64_t i, int64_t bytes)
{
    of.off += i * bytes;
    return of;
}

static bool needs_scratch(const struct tree_walk *w, bool root)
{
    bool needs = !root && w->n > 1;
    for (int c = 0; c < w->children && root; c++) needs = needs || !is_run(w, &w->below[c]);
    return needs;
}

static struct pieces pieces_of(struct tt_builder *b, const struct tt_call *call,
                               const struct tree_walk *w, int me)
{
    struct pieces pieces = {.walk = w, .root = me == call->root, .bytes = tt_call_bytes(call)};
    pieces.whole = tt_own(call->coll == TT_COLL_gather ? TT_OUT : TT_IN, 0);
    if (needs_scratch(w, pieces.root)) pieces.scratch = tt_scratch(b, w->n * pieces.bytes);
    return pieces;
}

/* Returns the place of the message from or to a child. */
static struct tt_range place_of(const struct pieces *pieces, const struct below *below)
{
    if (pieces->root && is_run(pieces->walk, below))
        return piece(pieces->whole, pieces->walk->rank[below->at], pieces->bytes);
    return piece(pieces->scratch, below->at, pieces->bytes);
}

/* Copies, at the root, the pieces below a child from scratch to the root's buffer (`back`), or from
 * this buffer to scratch. */
static void rearrange(struct tt_builder *b, const struct pieces *pieces, const struct below *below,
                      bool back)
{
    const struct tree_walk *w = pieces->walk;
    int end = below->at + below->n;
    if (!pieces->root || is_run(w, below)) return;
    for (int at = below->at, n; at < end; at += n) {
        n = run_of(w, at, end);
        struct tt_range in_walk = piece(pieces->scratch, at, pieces->bytes);
        struct tt_range in_order = piece(pieces->whole, w->rank[at], pieces->bytes);
        tt_copy(b, back ? in_order : in_walk, back ? in_walk : in_order, n * pieces->bytes);
    }
}

/* ---- Plans ---- */

static const char needs_memory[] = "has no memory for the tree of nodes";

static void gather(struct tt_builder *b, const struct tt_call *call, const struct tree_walk *w,
                   int me)
{
    struct pieces pieces = pieces_of(b, call, w, me);
    struct tt_bounded got = tt_bounded(call);
    for (int c = 0; c < w->children; c++) {
        const struct below *below = &w->below[c];
        tt_bounded_room(b, &got);
        tt_bounded_add(&got,
                       tt_recv(b, below->child, place_of(&pieces, below), below->n * pieces.bytes));
    }
    if (pieces.root)
        tt_copy_in(b, call, me * pieces.bytes, 0, pieces.bytes);
    else if (w->n > 1)
        tt_copy(b, pieces.scratch, tt_own(TT_IN, 0), pieces.bytes);
    tt_bounded_end(b, &got);
    for (int c = 0; c < w->children; c++) rearrange(b, &pieces, &w->below[c], true);
    struct tt_range all = w->n > 1 ? pieces.scratch : tt_own(TT_IN, 0);
    if (!pieces.root) tt_wait(b, tt_send(b, w->parent, all, w->n * pieces.bytes));
}

/* Appends the steps of rank `me` in a scatter. The children on other nodes come last in the walk,
 * but get their pieces first, because their messages take longer. */
static void scatter(struct tt_builder *b, const struct tt_call *call, const struct tree_walk *w,
                    int me)
{
    struct pieces pieces = pieces_of(b, call, w, me);
    struct tt_bounded sent = tt_bounded(call);
    struct tt_range all = w->n > 1 ? pieces.scratch : tt_own(TT_OUT, 0);
    if (!pieces.root) tt_wait(b, tt_recv(b, w->parent, all, w->n * pieces.bytes));
    for (int c = w->children - 1; c >= 0; c--) {
        const struct below *below = &w->below[c];
        rearrange(b, &pieces, below, false);
        tt_bounded_room(b, &sent);
        tt_bounded_add(&sent,
                       tt_send(b, below->child, place_of(&pieces, below), below->n * pieces.bytes));
    }
    if (pieces.root)
        tt_copy_in(b, call, 0, me * pieces.bytes, pieces.bytes);
    else if (w->n > 1)
        tt_copy(b, tt_own(TT_OUT, 0), pieces.scratch, pieces.bytes);
    tt_bounded_end(b, &sent);
}

void tt_pieces_gather(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                      int me)
{
    struct tree_walk w;
    if (!walk_from(call, map, me, &w)) {
        tt_builder_fail(b, needs_memory);
        return;
    }
    gather(b, call, &w, me);
    walk_free(&w);
}

void tt_pieces_scatter(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                       int me)
{
    struct tree_walk w;
    if (!walk_from(call, map, me, &w)) {
        tt_builder_fail(b, needs_memory);
        return;
    }
    scatter(b, call, &w, me);
    walk_free(&w);
}
