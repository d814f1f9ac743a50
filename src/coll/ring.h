/* SPDX-License-Identifier: BSD-3-Clause
 *
 * p blocks of one buffer going round a ring of p ranks in a loop, so that the plan stays small
 * whatever p is. A loop's ranges move by equal steps: all blocks are equal but the last, which has
 * the rest of the division too.
 */
#ifndef TT_COLL_RING_H
#define TT_COLL_RING_H

#include "coll/coll-util.h"

struct tt_ring {
    int p, me;
    int left, right;     /* the ranks to send to, to receive from */
    int64_t block, last; /* bytes; block > 0 */
};

static inline const char *tt_ring_refuse(const struct tt_call *call, int p)
{
    return call->n > 0 && call->n < p ? "needs at least one element for each rank" : NULL;
}

/* Of rank `me` in the ring's own order. */
static inline struct tt_ring tt_ring(const struct tt_call *call, int p, int me)
{
    int64_t block = call->n / p * call->sz;
    return (struct tt_ring){.p = p,
                            .me = me,
                            .left = tt_after(p, me, p - 1),
                            .right = tt_after(p, me, 1),
                            .block = block,
                            .last = tt_call_bytes(call) - (p - 1) * block};
}

/* Block me + ahead + i of what begins at r, in turn i. */
static inline struct tt_range tt_ring_block(struct tt_builder *b, const struct tt_ring *ring,
                                            struct tt_range r, int ahead)
{
    return tt_rotating(b, r, ring->block, ring->p, tt_after(ring->p, ring->me, ahead));
}

/* The step just appended is about that block, which may be the last. */
static inline void tt_ring_tail(struct tt_builder *b, const struct tt_ring *ring, int ahead)
{
    if (ring->last != ring->block)
        tt_tail_at(b, ring->last, ring->p, tt_after(ring->p, ring->me, ahead));
}

#endif
