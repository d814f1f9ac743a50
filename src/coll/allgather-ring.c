/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather(v) `ring`: the pieces go round a ring. In turn i each rank r sends piece r+i to r-1 and
 * receives piece r+i+1 from r+1.
 *
 *     0 <- 1 <- 2 <- 3 <- 0          p-1 rounds, each piece once over each link
 *
 * If all pieces are equal, the steps form a loop of the plan. Otherwise the plan has each step
 * singly.
 * Source: the ring of message-passing allgathers.
 */
#include "coll/ring.h"

static void pass(struct tt_builder *b, const struct tt_call *call, const struct tt_ring_plan *ring)
{
    for (int i = 0; i < ring->p - 1; i++) {
        struct tt_span out = tt_piece(call, tt_after(ring->p, ring->me, i));
        struct tt_span in = tt_piece(call, tt_after(ring->p, ring->me, i + 1));
        tt_started send = tt_send(b, ring->left, tt_own(TT_OUT, out.off), out.len);
        tt_started recv = tt_recv(b, ring->right, tt_own(TT_OUT, in.off), in.len);
        tt_wait(b, recv);
        tt_wait(b, send);
    }
}

static void loop(struct tt_builder *b, const struct tt_ring_plan *ring)
{
    struct tt_range out = tt_own(TT_OUT, 0);
    tt_loop(b, (uint32_t)ring->p - 1);
    tt_started send = tt_send(b, ring->left, tt_ring_block(b, ring, out, 0), ring->block);
    tt_started recv = tt_recv(b, ring->right, tt_ring_block(b, ring, out, 1), ring->block);
    tt_wait(b, recv);
    tt_wait(b, send);
    tt_end(b);
}

/* Returns the time by Thakur, Rabenseifner, Gropp 2005. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t bytes = tt_call_bytes(call);
    return c->tr * (call->in_place ? 0 : bytes) + (map->p - 1) * (c->ts + c->tw_both * bytes);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_ring_plan ring = tt_ring(call, map->p, me);
    struct tt_span mine = tt_piece(call, me);
    ring.block = ring.last = mine.len;
    tt_copy_in(b, call, mine.off, 0, mine.len);
    if (call->out_counts)
        pass(b, call, &ring);
    else
        loop(b, &ring);
}

const struct tt_algorithm tt_allgather_ring = {
    .coll = TT_COLL_allgather,
    .name = "ring",
    .applies = "always",
    .cost = "(p-1) (t_s + t_w L)",
    .source = "ring",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};

const struct tt_algorithm tt_allgatherv_ring = {
    .coll = TT_COLL_allgatherv,
    .name = "ring",
    .applies = "always",
    .cost = "(p-1) t_s + t_w (L_0 + ... + L_(p-1))",
    .source = "ring",
    .refuse = tt_refuse_never,
    .build = build,
};
