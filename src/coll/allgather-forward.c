/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather(v) `forward`: every piece goes down a tree of shortest paths from its owner, from rank
 * to rank of a network. In each round neighbours exchange what they received in the round before.
 * There are as many rounds as there are links between the two ranks that are farthest apart.
 *
 *     torus:3x3-hole(1,1)      0 1 2     round 1    0 -> 1 [0]        its own piece, piece 0
 *                              3 . 4     round 2    1 -> 6 [0] [2]    pieces that 0 and 2 sent to 1
 *                              5 6 7
 *
 * The trees consist of links between ranks. A node that is missing from the network (the dot) has
 * no rank, so no message passes it, whichever nodes are missing.
 * Source: CN101114273, "torus discontinuities"; trees by breadth-first search.
 */
#include "coll/forward.h"

static int64_t own(const struct tt_forward *f)
{
    (void)f;
    return 0;
}

static int64_t bytes(const struct tt_forward *f, int s, int v)
{
    (void)v;
    return tt_piece(f->call, s).len;
}

static void pack(struct tt_forward *f, int s, int v)
{
    (void)v;
    struct tt_span piece = tt_piece(f->call, s);
    tt_forward_take(f, tt_own(TT_OUT, piece.off), piece.len);
}

static const struct tt_forward_ops ops = {.own = own, .bytes = bytes, .pack = pack};

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_forward_build(b, &ops, call, map, me);
}

#define ROW(which)                                                                                 \
    const struct tt_algorithm tt_##which##_forward = {                                             \
        .coll = TT_COLL_##which,                                                                   \
        .name = "forward",                                                                         \
        .applies = "a network whose ranks are joined directly, also with holes; p <= 4096",        \
        .cost = "for each of its rounds: t_s + t_w (most that goes over a link)",                  \
        .source = "CN101114273, around holes",                                                     \
        .refuse = tt_forward_refuse,                                                               \
        .build = build,                                                                            \
    }

ROW(allgather);
ROW(allgatherv);
