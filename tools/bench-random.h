/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Problems drawn at random, for `tutti bench --random`.
 */
#ifndef TT_BENCH_RANDOM_H
#define TT_BENCH_RANDOM_H

#include "text/problem.h"

struct tt_drawn {
    struct tt_problem problem;
    /* the algorithm to force, which may not apply to the problem; NULL: the library chooses */
    const char *algorithm;
    bool gaps, reversed, beside; /* gaps: a derived type with gaps; reversed: ranks in reverse
                                  * order; beside: two teams at the same time (struct
                                  * tt_bench_case) */
    /* the value of TUTTI_NODES for a job of processes; "" stands for one node */
    char nodes[64];
    int threads; /* in a job of processes: struct tt_bench_case */
};

/* Draws problem i of a seed. The result depends on `seed` and `i` alone. */
void tt_bench_draw(struct tt_drawn *drawn, uint64_t seed, uint64_t i);

#endif
