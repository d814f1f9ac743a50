/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Total exchange among the ranks of a line, in which each rank sends to its neighbours only. In
 * step i all blocks that have at least i steps to go move on by one rank. Each rank keeps the
 * blocks that have arrived at their destination.
 *
 *     step 1    me -> [for me + 1][for me + 2][for me + 3]    my own blocks
 *     step 2    me -> [for me + 1][for me + 2]                these came from me - 1 in step 1
 *     step 3    me -> [for me + 1]                            these came from me - 1 in step 2
 *
 * The line is closed: the first rank follows the last one. It is either a whole ring of ranks, or
 * the ranks of a grid that differ in one coordinate only. In the second case each place of the line
 * gets a set of blocks: the blocks for the ranks that have this coordinate.
 */
#ifndef TT_COLL_LINE_H
#define TT_COLL_LINE_H

#include "coll/coll-util.h"

/* The line as the rank at place `at` sees it. The rank at place c is first + c * stride. The blocks
 * for one place are `bytes` in total. They lie in runs of `run` bytes: the first run is at c * run,
 * and each further one `places` runs behind the one before. */
struct tt_rank_line {
    int places, at, first, stride;
    int64_t run, bytes;
};

/* The data that go round in one direction: `step` is 1 or -1. Each of the `n` nearest places gets
 * all of its blocks, except that the farthest one gets only `last` bytes of its blocks, from
 * `last_off` on. */
struct tt_direction {
    int step, n;
    int64_t last, last_off;
    struct tt_range tmp[2];
};

/* Returns the direction with the given values of the members of struct tt_direction: `step` (1:
 * upwards, -1: downwards), `n`, `last` and `last_off`. Allocates its two scratch buffers in the
 * plan that `b` builds. */
struct tt_direction tt_direction_of(struct tt_builder *b, const struct tt_rank_line *line, int step,
                                    int n, int64_t last, int64_t last_off);
/* Copies to the scratch the blocks that are to be sent, which lie in the buffer `from`. If `from`
 * is OUT, its blocks may be overwritten afterwards. */
void tt_direction_pack(struct tt_builder *b, const struct tt_rank_line *line,
                       const struct tt_direction *direction, enum tt_buffer from);
/* Appends step i, counted from 1, of one or two directions at once, and copies the blocks that have
 * arrived at their destination to OUT. */
void tt_direction_step(struct tt_builder *b, const struct tt_rank_line *line,
                       const struct tt_direction *directions, int n_directions, int i);

/* Copies the blocks of this place itself from IN to OUT. */
void tt_line_keep(struct tt_builder *b, const struct tt_rank_line *line);
/* Appends the whole exchange in one direction: in each step, each rank sends to the next place of
 * the line and receives from the place before. */
void tt_line_exchange(struct tt_builder *b, const struct tt_rank_line *line, enum tt_buffer from);

#endif
