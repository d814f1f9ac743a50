/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who plays what: a random small problem for an algorithm, and the good plans of all its ranks.
 * Everything that a proof may hinge on is drawn: ranks, counts about the number of ranks, slices of
 * an element or a few, roots, in place, an operation that does not commute, gaps, windows small and
 * large, direct access or none.
 */
#ifndef TESTS_RUN_CAST_H
#define TESTS_RUN_CAST_H

#include "coll/coll.h"
#include "plan/network.h"
#include "plan/problem.h"

enum { CAST_RANKS = 8, CAST_TEXT = TT_PROBLEM_TEXT + 96 };

struct cast {
    int p;
    struct tt_map map;
    struct tt_net net; /* what map.net points to, for algorithms that need one */
    struct tt_call calls[CAST_RANKS];
    struct tt_plan *plans[CAST_RANKS];
    int64_t room[CAST_RANKS][4 * CAST_RANKS];
    char text[CAST_TEXT]; /* which problem, for messages */
};

/* 2 .. most ranks; radix 0: the algorithms' own. Problems that the algorithm refuses are drawn
 * again; aborts if a plan cannot be built or is not valid. */
void cast_draw(struct cast *cast, const struct tt_algorithm *algorithm, struct tt_random *random,
               int most, int radix);
void cast_free(struct cast *cast);

#endif
