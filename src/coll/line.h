/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Total exchange among the ranks of a line, each sending to its neighbours alone: in step i what
 * has i and more steps to go moves on by one, and the nearest of what arrives is kept.
 *
 *     step 1    me -> [for me + 1][for me + 2][for me + 3]      to the next, which keeps the first
 *     step 2    me -> [for me + 1][for me + 2]                  of what came from me - 1
 *     step 3    me -> [for me + 1]
 *
 * The last rank's next one is the first. A line is a whole ring of ranks, or those of a grid that
 * differ in one coordinate alone; then what goes to one of them is for all the ranks behind it, a
 * set of blocks.
 */
#ifndef TT_COLL_LINE_H
#define TT_COLL_LINE_H

#include "coll/coll-util.h"

/* The rank at place c is first + c * stride; the blocks that concern it are `bytes`, in runs of
 * `run` of which the first is at c * run and the next `places` runs further. */
struct tt_line {
    int places, at, first, stride;
    int64_t run, bytes;
};

/* What goes one way round: to the `n` nearest in the direction of `step` (1 or -1); of the farthest
 * only `last` bytes, from `last_off` on. */
struct tt_way {
    int step, n;
    int64_t last, last_off;
    struct tt_range tmp[2];
};

/* To `n` places upwards (step 1) or downwards (-1), with its scratch. */
struct tt_way tt_way(struct tt_builder *b, const struct tt_line *line, int step, int n,
                     int64_t last, int64_t last_off);
/* Takes the blocks out of `from`, which may be OUT: afterwards they may be overwritten. */
void tt_way_pack(struct tt_builder *b, const struct tt_line *line, const struct tt_way *way,
                 enum tt_buffer from);
/* Step i from 1 on, of both ways at once; keeps what has come in OUT. */
void tt_way_step(struct tt_builder *b, const struct tt_line *line, const struct tt_way *ways,
                 int n_ways, int i);
/* What this costs; without what is not sent. */
struct tt_count tt_way_count(int64_t bytes, int n, int64_t last);

/* This place's own blocks. */
void tt_line_keep(struct tt_builder *b, const struct tt_line *line);
/* The whole exchange, one way round. */
void tt_line_exchange(struct tt_builder *b, const struct tt_line *line, enum tt_buffer from);

#endif
