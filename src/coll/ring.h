/* SPDX-License-Identifier: BSD-3-Clause
 *
 * p blocks of one buffer that go round a ring of p ranks. The steps are in a loop, so that the plan
 * stays small for any p. The ranges of a loop move by equal distances, so all blocks are equal
 * except the last, which also has the remainder of the division.
 *
 * A message with fewer elements than ranks has no such blocks. It goes round as a whole, as block
 * 0, and all other blocks are empty. The algorithms write out these turns; the builder drops the
 * steps of empty blocks, so these plans are short too.
 */
#ifndef TT_COLL_RING_H
#define TT_COLL_RING_H

#include "coll/coll-util.h"

struct tt_ring_plan {
    int p, me;
    int left, right;     /* left: the rank to send to; right: the rank to receive from */
    int64_t block, last; /* the bytes of a block and of the last block; block is 0 if the message
                          * goes round as a whole */
};

/* Returns whether the message goes round as a whole. */
static inline bool tt_ring_is_whole(const struct tt_call *call, int p)
{
    return call->n < p;
}

/* Returns the bytes of block i of a message that goes round as a whole. */
static inline int64_t tt_ring_whole_block(const struct tt_call *call, int i)
{
    return i == 0 ? tt_call_bytes(call) : 0;
}

/* Returns the ring as rank `me` sees it, in the order of the ranks. */
static inline struct tt_ring_plan tt_ring(const struct tt_call *call, int p, int me)
{
    int64_t block = call->n / p * call->sz;
    return (struct tt_ring_plan){.p = p,
                                 .me = me,
                                 .left = tt_after(p, me, p - 1),
                                 .right = tt_after(p, me, 1),
                                 .block = block,
                                 .last = tt_call_bytes(call) - (p - 1) * block};
}

/* Returns the range that is, in turn i, block (me + ahead + i) mod p of the buffer that begins at
 * r. */
static inline struct tt_range tt_ring_block(struct tt_builder *b, const struct tt_ring_plan *ring,
                                            struct tt_range r, int ahead)
{
    return tt_rotating(b, r, ring->block, ring->p, tt_after(ring->p, ring->me, ahead));
}

/* Gives the step that was just appended another length in one turn: the length of the last block of
 * the buffer, in the turn in which the step handles that block. The caller has made the range of
 * the step by tt_ring_block with the same `ahead`. */
static inline void tt_ring_tail(struct tt_builder *b, const struct tt_ring_plan *ring, int ahead)
{
    if (ring->last != ring->block)
        tt_tail_at(b, ring->last, ring->p, tt_after(ring->p, ring->me, ahead));
}

#endif
