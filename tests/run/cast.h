/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cast is a random small problem for an algorithm and the correct plans of all its ranks. The
 * draw covers everything that a proof may depend on: the number of ranks, counts near that number,
 * slices of one or a few elements, roots, in-place calls, an operation that does not commute, gaps,
 * small and large windows, with or without access to the memory of other ranks.
 */
#ifndef TESTS_RUN_CAST_H
#define TESTS_RUN_CAST_H

#include "coll/coll.h"
#include "plan/network.h"
#include "text/problem.h"

enum { CAST_RANKS = 8, CAST_TEXT = TT_PROBLEM_TEXT + 96 };

struct cast {
    int p;
    struct tt_map map;
    struct tt_net net; /* the network that map.net points to, for algorithms that need one */
    struct tt_call calls[CAST_RANKS];
    struct tt_plan *plans[CAST_RANKS];
    int64_t room[CAST_RANKS][4 * CAST_RANKS];
    char text[CAST_TEXT]; /* the problem in words, for messages */
};

/* Draws a problem for 2 .. most ranks, and draws again while the algorithm refuses the problem.
 * radix 0 selects the algorithm's own radix. Aborts if a plan cannot be built or is invalid. */
void cast_draw(struct cast *cast, const struct tt_algorithm *algorithm, struct tt_random *random,
               int most, int radix);
void cast_free(struct cast *cast);

#endif
