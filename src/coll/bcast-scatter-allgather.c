/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast `scatter-allgather`: the root scatters p blocks along a binomial tree. Then the blocks
 * go round a ring until every rank has all of them.
 *
 *     root  [0 1 2 3] -> [2 3] to 2, [1] to 1 ...        (p-1)/p L out of the root
 *     ring  r sends block r+i to r-1 in turn i           (p-1)/p L for everyone
 *
 * L is the length of the message. A long message takes about as long as sending 2 L bytes, and in a
 * tree as long as sending log2(p) L bytes.
 * Source: van de Geijn; Thakur, Rabenseifner, Gropp 2005.
 */
#include "coll/ring.h"

/* Returns the place of a rank. Places are counted from the root, which has place 0. */
static int place(const struct tt_call *call, int p, int me)
{
    return tt_after(p, me, p - call->root);
}

/* The blocks of place v and of its subtree are a run that begins with block v. Returns the end of
 * this run. */
static int subtree_end(int p, int v)
{
    return v == 0 ? p : (int)tt_min(p, v + (v & -v));
}

/* Returns where block v begins; block p begins at the end of the message. */
static int64_t begin(const struct tt_call *call, const struct tt_ring_plan *ring, int v)
{
    if (v == 0) return 0;
    if (v == ring->p || tt_ring_is_whole(call, ring->p)) return tt_call_bytes(call);
    return v * ring->block;
}

/* Returns the bytes of the blocks from `from` up to, but without, `to`. */
static int64_t span(const struct tt_call *call, const struct tt_ring_plan *ring, int from, int to)
{
    return begin(call, ring, to) - begin(call, ring, from);
}

static void scatter(struct tt_builder *b, const struct tt_call *call,
                    const struct tt_ring_plan *ring)
{
    int p = ring->p, v = ring->me, end = subtree_end(p, v);
    tt_started send[32];
    int sends = 0;
    if (v > 0)
        tt_wait(b, tt_recv(b, tt_after(p, v - (v & -v), call->root),
                           tt_own(TT_OUT, begin(call, ring, v)), span(call, ring, v, end)));
    for (int64_t bit = tt_pow2_below(end - v); bit > 0; bit /= 2) {
        int to = v + (int)bit;
        if (to >= end) continue;
        send[sends++] =
            tt_send(b, tt_after(p, to, call->root), tt_own(TT_OUT, begin(call, ring, to)),
                    span(call, ring, to, (int)tt_min(end, to + bit)));
    }
    while (sends > 0) tt_wait(b, send[--sends]);
}

static void gather(struct tt_builder *b, const struct tt_call *call,
                   const struct tt_ring_plan *ring)
{
    struct tt_range mine = tt_ring_block(b, ring, tt_own(TT_OUT, 0), 0);
    struct tt_range next = tt_ring_block(b, ring, tt_own(TT_OUT, 0), 1);
    tt_loop(b, (uint32_t)ring->p - 1);
    tt_started send = tt_send(b, tt_after(ring->p, ring->left, call->root), mine, ring->block);
    tt_ring_tail(b, ring, 0);
    tt_started recv = tt_recv(b, tt_after(ring->p, ring->right, call->root), next, ring->block);
    tt_ring_tail(b, ring, 1);
    tt_wait(b, recv);
    tt_wait(b, send);
    tt_end(b);
}

/* Appends the steps of a rank if the message goes round as a whole (ring.h): the rank gets the
 * message from its neighbour ring->right and passes it on to ring->left. */
static void pass_on(struct tt_builder *b, const struct tt_call *call,
                    const struct tt_ring_plan *ring)
{
    int64_t bytes = tt_call_bytes(call);
    struct tt_range all = tt_own(TT_OUT, 0);
    if (ring->me > 0)
        tt_wait(b, tt_recv(b, tt_after(ring->p, ring->right, call->root), all, bytes));
    if (ring->me != 1)
        tt_wait(b, tt_send(b, tt_after(ring->p, ring->left, call->root), all, bytes));
}

/* Returns the time by Thakur, Rabenseifner, Gropp 2005, for p a power of two and equal blocks,
 * where all ranks begin the ring at the same time; else -1. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int p = map->p;
    struct tt_ring_plan ring = tt_ring(call, p, 0);
    int64_t round = ring.block;
    if (c->all_ports || tt_pow2_below(p) != p || ring.last != round) return -1;
    return (tt_log2_up(p) + p - 1) * c->ts + (p - 1) * (c->tw + c->tw_both) * round;
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_ring_plan ring = tt_ring(call, map->p, place(call, map->p, me));
    scatter(b, call, &ring);
    if (tt_ring_is_whole(call, map->p))
        pass_on(b, call, &ring);
    else
        gather(b, call, &ring);
}

const struct tt_algorithm tt_bcast_scatter_allgather = {
    .coll = TT_COLL_bcast,
    .name = "scatter-allgather",
    .applies = "always",
    .cost = "(log2(p) + p - 1) t_s + 2 (p-1)/p t_w L",
    .source = "van de Geijn; Thakur, Rabenseifner, Gropp 2005",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
