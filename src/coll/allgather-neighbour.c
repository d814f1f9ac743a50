/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather `neighbour`: each rank exchanges with the rank after it and the rank before it in turn.
 * It first sends its own piece, then this piece and the one that it got, and after that always the
 * two pieces that it got in the step before.
 *
 *     step 0    0 <> 1   2 <> 3   4 <> 5      1 piece each way, so that both have the pair's pieces
 *     step 1    1 <> 2   3 <> 4   5 <> 0      2 pieces: the pair's own
 *     step 2    0 <> 1   2 <> 3   4 <> 5      2 pieces: those of the pair next to it
 *
 * There are p/2 steps, half as many as of `ring`, and as in a ring all messages go to neighbours.
 * Source: Chen, Zhang, Zhang, Yuan 2005: Performance evaluation of allgather algorithms on
 * terascale Linux cluster with Fast Ethernet. HPC Asia 2005.
 */
#include "coll/coll-util.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    (void)call;
    return map->p > 1 && map->p % 2 ? "needs an even number of ranks" : NULL;
}

/* Returns whether rank `me` exchanges with the rank after it in step i, and not with the one before
 * it. */
static bool is_with_next(int me, int i)
{
    return me % 2 == i % 2;
}

/* Returns the span of the pieces that rank `me` has got in step i, and sends in step i+1. They are
 * the pieces of two ranks 2k and 2k+1. Pairs come from both sides in turn, the nearest ones
 * first. */
static struct tt_span got(const struct tt_call *call, int p, int me, int i)
{
    int pairs = p / 2, far = (i + 1) / 2;
    int k = tt_after(pairs, me / 2, is_with_next(me, i) ? far : pairs - far);
    int64_t bytes = 2 * tt_call_bytes(call);
    return (struct tt_span){k * bytes, bytes};
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int p = map->p;
    struct tt_span mine = tt_piece(call, me);
    tt_copy_in(b, call, mine.off, 0, mine.len);
    for (int i = 0; i < p / 2; i++) {
        int peer = tt_after(p, me, is_with_next(me, i) ? 1 : p - 1);
        struct tt_span out = i == 0 ? mine : got(call, p, me, i - 1);
        struct tt_span in = i == 0 ? tt_piece(call, peer) : got(call, p, me, i);
        tt_started send = tt_send(b, peer, tt_own(TT_OUT, out.off), out.len);
        tt_started recv = tt_recv(b, peer, tt_own(TT_OUT, in.off), in.len);
        tt_wait(b, recv);
        tt_wait(b, send);
    }
}

/* Returns the time by Chen et al. 2005: one step that sends one piece, and p/2 - 1 steps that send
 * two. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t p = map->p, bytes = tt_call_bytes(call);
    return c->tr * (call->in_place ? 0 : bytes) + p / 2 * c->ts + (p - 1) * c->tw_both * bytes;
}

const struct tt_algorithm tt_allgather_neighbour = {
    .coll = TT_COLL_allgather,
    .name = "neighbour",
    .applies = "p even",
    .cost = "p/2 t_s + (p-1) t_w L",
    .source = "Chen et al. 2005, neighbour exchange",
    .refuse = refuse,
    .build = build,
    .time = time_ps,
};
