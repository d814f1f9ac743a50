/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoallv `forward`: every piece goes from rank to rank of a network, along a shortest path, as
 * the blocks of an alltoall do (alltoall-forward.c). Pieces have any lengths.
 *
 *     torus:3x3-hole(1,1)      0 1 2      round 1    0 -> 1 [for 1] [for 6]
 *                              3 . 4      round 2    1 -> 6 [0's for 6] [2's for 6]
 *                              5 6 7      1 sends what it has, and what was sent to it for others
 *
 * A rank on the way has to know the lengths of the pieces that pass it. So the ranks exchange all
 * counts before, by an allgather along the same paths. No message passes a node without a rank,
 * whichever nodes are missing.
 * Source: CN101114273, "torus discontinuities"; trees by breadth-first search.
 */
#include "coll/forward.h"

static int64_t count(const struct tt_forward *f, int s, int to)
{
    return f->call->all_counts->count(f->call->all_counts, s, to) * f->call->sz;
}

/* Returns the bytes of source s for the ranks whose positions in the tree of s are `at` to end - 1.
 * These ranks are in the subtree of this rank. */
static int64_t bytes_for(const struct tt_forward *f, int s, int at, int end)
{
    const struct tt_forest *forest = &f->forest;
    int64_t bytes = 0, start = forest->start[s] - tt_forest_place(forest, s, f->me)->at;
    for (; at < end; at++) bytes += count(f, s, forest->behind[start + at]);
    return bytes;
}

static int64_t own(const struct tt_forward *f)
{
    return tt_block_to(f->call, f->me).off;
}

static int64_t bytes(const struct tt_forward *f, int s, int v)
{
    const struct tt_tree_place *to = tt_forest_place(&f->forest, s, v);
    return bytes_for(f, s, to->at, to->at + to->size);
}

/* Packs the pieces of source s for neighbour v and the ranks behind v (the ranks below v in the
 * tree of s). They are in the order of this tree, in which this rank has also received them. */
static void pack(struct tt_forward *f, int s, int v)
{
    const struct tt_tree_place *to = tt_forest_place(&f->forest, s, v);
    if (s != f->me) {
        int64_t before = bytes_for(f, s, tt_forest_place(&f->forest, s, f->me)->at, to->at);
        tt_forward_take(f, tt_own(TT_TMP, f->place[s] + before), bytes(f, s, v));
        return;
    }
    for (int i = to->at; i < to->at + to->size; i++) {
        struct tt_span piece = tt_block_to(f->call, f->forest.order[i]);
        tt_forward_take(f, tt_own(TT_IN, piece.off), piece.len);
    }
}

static const struct tt_forward_ops ops = {.lists = true, .own = own, .bytes = bytes, .pack = pack};

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    if (call->all_counts)
        tt_forward_build(b, &ops, call, map, me);
    else
        tt_builder_fail(b, "needs the counts of all ranks");
}

const struct tt_algorithm tt_alltoallv_forward = {
    .coll = TT_COLL_alltoallv,
    .name = "forward",
    .applies = "a network whose ranks are joined directly, also with holes; p <= 4096",
    .cost = "for each of its rounds: t_s + t_w (most that goes over a link)",
    .source = "CN101114273, around holes",
    .refuse = tt_forward_refuse,
    .build = build,
    .first = TT_FIRST_COUNTS,
};
