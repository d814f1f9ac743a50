/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives on circulant graphs: in each round, every rank sends to the rank at a fixed distance,
 * the skip of the round, and receives from the rank at the same distance on its other side.
 *
 * The skips are p halved again and again, rounded up: for p = 11, they are 6, 3, 2, 1. Rank `me`
 * keeps the p blocks in scratch in the order of its own view: position i belongs to rank me + i
 * (mod p). So each message is one contiguous range for any p:
 *
 *     reduce    in the round of skip s, which follows the round of skip e (or e = p): positions
 *               s .. e-1 go to rank me + s, which adds them to its positions 0 .. e-s-1
 *     gather    the same rounds backwards: positions 0 .. e-s-1 go to rank me - s, which puts them
 *               at its positions s .. e-1
 *
 * Both take ceil(log2 p) rounds, and move p - 1 blocks: no algorithm takes fewer rounds or moves
 * less. The skips decide in which order the operands of a block are combined. This is not the rank
 * order, so the operation must commute.
 * Source: Traeff 2024, Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms,
 * arXiv:2410.14234.
 */
#ifndef TT_COLL_CIRCULANT_H
#define TT_COLL_CIRCULANT_H

#include "coll/coll-util.h"

enum { TT_SKIPS = 33 };

/* The rounds as rank `me` sees them. skip[0] is 1, skip[rounds] is p, and skip[k] is half of
 * skip[k+1], rounded up. */
struct tt_circulant {
    const struct tt_call *call;
    int p, me, rounds;
    int skip[TT_SKIPS];
    struct tt_range blocks; /* the scratch for the p blocks, in the order of positions */
};

/* Returns the rounds of rank `me` of p ranks (p > 1), and takes scratch for the p blocks from the
 * plan. */
struct tt_circulant tt_circulant(struct tt_builder *b, const struct tt_call *call, int p, int me);

/* Appends the rounds that reduce. The reduction of this rank's block goes to `result`. IN is read
 * in the first round only. If there is only one round (p = 2), `result` must be the scratch, or
 * must not overlap IN. */
void tt_circulant_reduce(struct tt_builder *b, const struct tt_circulant *c,
                         struct tt_range result);
/* Appends the rounds that gather, and copies all blocks to OUT. This rank's block is at position 0
 * of the scratch. */
void tt_circulant_gather(struct tt_builder *b, const struct tt_circulant *c);

/* Return the times, in picoseconds, of tt_circulant_reduce and of tt_circulant_gather for p blocks
 * of `bytes` bytes each. */
int64_t tt_circulant_reduce_time_ps(int p, int64_t bytes, const struct tt_costs *c);
int64_t tt_circulant_gather_time_ps(int p, int64_t bytes, const struct tt_costs *c);

#endif
