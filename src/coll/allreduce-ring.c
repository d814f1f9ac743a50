/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `ring`: p blocks go round a ring. On the first round trip each block collects every
 * rank's part; then the finished blocks go round once more.
 *
 *     0 <- 1 <- 2 <- 3 <- 0      turn i: rank r adds its part to block r+1+i and sends it to r-1
 *
 * Each rank sends 2(p-1) messages of L/p bytes (L: the bytes of the vector), which is the least
 * possible traffic, in 2(p-1) rounds. Each block is combined in the order of the ring, beginning at
 * another rank, so the operation must commute.
 * Source: Patarasuk, Yuan 2009.
 */
#include "coll/ring.h"

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    (void)map;
    return call->commutes ? NULL : tt_needs_order;
}

/* Appends the first round trip: in turn i block me+1+i comes in, is reduced and is sent on. Returns
 * the last send, which is not waited for here, because its receiver posts the matching receive in
 * the second round trip. */
static tt_started scatter(struct tt_builder *b, const struct tt_ring_plan *ring)
{
    struct tt_range tmp = tt_scratch(b, ring->last);
    struct tt_range in = tt_ring_block(b, ring, tt_own(TT_IN, 0), 1);
    struct tt_range out = tt_ring_block(b, ring, tt_own(TT_OUT, 0), 1);
    tt_started first = tt_send(b, ring->left, tt_own(TT_IN, ring->me * ring->block),
                               ring->me == ring->p - 1 ? ring->last : ring->block);
    tt_loop(b, (uint32_t)ring->p - 1);
    tt_started recv = tt_recv(b, ring->right, tmp, ring->block);
    tt_ring_tail(b, ring, 1);
    tt_wait(b, recv);
    tt_combine(b, out, (struct tt_range[]){in, tmp}, 2, ring->block);
    tt_ring_tail(b, ring, 1);
    tt_started send = tt_send(b, ring->left, out, ring->block);
    tt_ring_tail(b, ring, 1);
    tt_wait_ago(b, send, 1);
    tt_end(b);
    tt_wait(b, first);
    return send;
}

/* Appends the second round trip: in turn i block me+i comes in and, except for the last one, is
 * sent on. */
static void gather(struct tt_builder *b, const struct tt_ring_plan *ring)
{
    struct tt_range out = tt_ring_block(b, ring, tt_own(TT_OUT, 0), 0);
    int last = tt_after(ring->p, ring->me, ring->p - 2);
    tt_loop(b, (uint32_t)ring->p - 2);
    tt_started recv = tt_recv(b, ring->right, out, ring->block);
    tt_ring_tail(b, ring, 0);
    tt_wait(b, recv);
    tt_started send = tt_send(b, ring->left, out, ring->block);
    tt_ring_tail(b, ring, 0);
    tt_wait_ago(b, send, 1);
    tt_end(b);
    tt_started end = tt_recv(b, ring->right, tt_own(TT_OUT, last * ring->block),
                             last == ring->p - 1 ? ring->last : ring->block);
    if (ring->p > 2) tt_wait_ago(b, send, 1);
    tt_wait(b, end);
}

/* Appends both round trips of a message that has fewer elements than there are ranks, and goes
 * round as a whole (ring.h). In turn i block me+i is sent and block me+1+i comes in; in the first
 * p-1 turns it is reduced. */
static void go_round(struct tt_builder *b, const struct tt_call *call,
                     const struct tt_ring_plan *ring)
{
    int p = ring->p;
    struct tt_range in = tt_own(TT_IN, 0), out = tt_own(TT_OUT, 0);
    struct tt_range tmp = tt_scratch(b, tt_call_bytes(call));
    for (int i = 0; i < 2 * (p - 1); i++) {
        int64_t leaves = tt_ring_whole_block(call, tt_after(p, ring->me, i));
        int64_t comes = tt_ring_whole_block(call, tt_after(p, ring->me, i + 1));
        bool reduces = i < p - 1;
        tt_started send = tt_send(b, ring->left, i == 0 ? in : out, leaves);
        tt_started recv = tt_recv(b, ring->right, reduces ? tmp : out, comes);
        tt_wait(b, recv);
        if (reduces) tt_combine(b, out, (struct tt_range[]){in, tmp}, 2, comes);
        tt_wait(b, send);
    }
}

/* Returns the time by Patarasuk, Yuan 2009; -1 if the blocks are not equal. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    struct tt_ring_plan ring = tt_ring(call, map->p, 0);
    if (ring.last != ring.block) return -1;
    return (map->p - 1) * (2 * (c->ts + c->tw_both * ring.block) + c->gamma * ring.block);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_ring_plan ring = tt_ring(call, map->p, me);
    if (tt_ring_is_whole(call, map->p)) {
        go_round(b, call, &ring);
        return;
    }
    tt_started sent = scatter(b, &ring);
    gather(b, &ring);
    tt_wait_ago(b, sent, 1);
}

const struct tt_algorithm tt_allreduce_ring = {
    .coll = TT_COLL_allreduce,
    .name = "ring",
    .applies = "commuting operations",
    .cost = "2 (p-1) t_s + (p-1)/p (2 t_w + gamma) L",
    .source = "Patarasuk, Yuan 2009",
    .refuse = refuse,
    .build = build,
    .time = time_ps,
};
