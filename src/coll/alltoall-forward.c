/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall `forward`: every block goes from rank to rank of a network, along a shortest path. In
 * each round neighbours exchange bundles of blocks. There are as many rounds as there are links
 * between the two ranks that are farthest apart.
 *
 *     mesh:4, sent by 1       round 1    1 -> 2 [for 2] [for 3]            1 -> 0 [for 0]
 *                             round 2    1 -> 2 [0's for 2] [0's for 3]    1 -> 0 [2's for 0]
 *                             round 3                                      1 -> 0 [3's for 0]
 *
 * The rank of a node forwards what passes the node, so no message passes a node without a rank,
 * whichever nodes are missing. A block is sent once for each link of its path. That costs more
 * bytes than `pairwise`, but there are fewer and larger messages, and no two messages of a round
 * share a link.
 * Source: CN101114273, "torus discontinuities"; trees by breadth-first search.
 */
#include "coll/forward.h"

static int64_t own(const struct tt_forward *f)
{
    return tt_block_to(f->call, f->me).off;
}

static int64_t bytes(const struct tt_forward *f, int s, int v)
{
    return tt_forest_place(&f->forest, s, v)->size * tt_call_bytes(f->call);
}

/* Packs the blocks of source s for neighbour v and the ranks behind v (the ranks below v in the
 * tree of s). They are in the order of this tree, in which this rank has also received them. */
static void pack(struct tt_forward *f, int s, int v)
{
    int64_t m = tt_call_bytes(f->call);
    const struct tt_tree_place *to = tt_forest_place(&f->forest, s, v);
    if (s != f->me) {
        int64_t before = (to->at - tt_forest_place(&f->forest, s, f->me)->at) * m;
        tt_forward_take(f, tt_own(TT_TMP, f->place[s] + before), bytes(f, s, v));
        return;
    }
    for (int i = 0; i < to->size; i++)
        tt_forward_take(f, tt_own(TT_IN, tt_block_to(f->call, f->forest.order[to->at + i]).off), m);
}

static const struct tt_forward_ops ops = {.own = own, .bytes = bytes, .pack = pack};

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_forward_build(b, &ops, call, map, me);
}

const struct tt_algorithm tt_alltoall_forward = {
    .coll = TT_COLL_alltoall,
    .name = "forward",
    .applies = "a network whose ranks are joined directly, also with holes; p <= 4096",
    .cost = "for each of its rounds: t_s + t_w m (most blocks that go over a link)",
    .source = "CN101114273, around holes",
    .refuse = tt_forward_refuse,
    .build = build,
};
