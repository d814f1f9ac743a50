/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A stage runs all ranks of a job in one thread, and its scheduler decides when each step is done.
 * It runs plans with the real interpreter over the real shared-memory transport, in random orders
 * drawn from a seed. So a run can be repeated, and a deadlock is noticed at once: no rank can take
 * a step.
 *
 * These things make it hard on plans:
 * - ranks run ahead of each other as far as they may, with several executions in flight;
 * - priorities: the stage advances the first rank, in an order of priority, that can do something,
 *   so that one rank does everything it can before another does anything. In one of eight cases the
 *   stage searches from a random place in the order on; in one of 24 cases it shuffles the order;
 * - sends that wait for their receives;
 * - puts and gets that are completed late, up to their wait;
 * - different data in every execution and on every rank;
 * - callers that reuse their buffers as soon as their call is complete.
 */
#ifndef TT_TEST_STAGE_H
#define TT_TEST_STAGE_H

#include "plan/plan.h"

/* The result of a run. */
#define STAGE_RESULT_LIST(X)                                                                       \
    X(GOOD, "good")                                                                                \
    X(WRONG, "wrong result")                                                                       \
    X(STUCK, "stuck")                                                                              \
    X(ERROR, "error of the library")                                                               \
    X(OUTSIDE, "wrote outside its buffers")                                                        \
    X(LATE, "wrote to a buffer after the call")
enum stage_result {
#define STAGE_RESULT_ENUM(name, text) STAGE_##name,
    STAGE_RESULT_LIST(STAGE_RESULT_ENUM)
#undef STAGE_RESULT_ENUM
        STAGE_RESULTS
};
const char *stage_result_name(enum stage_result result);

/* STAGE_WINDOW: bytes of a window, which stage_open sets for the whole process. STAGE_RANKS: the
 * most ranks of a case. */
enum { STAGE_WINDOW = 4096, STAGE_RANKS = 16 };

/* plans[r] and calls[r] belong to rank r. The stage runs `times` executions on one team, with 1 ..
 * in_flight of them in flight at once. Every plan must be structurally valid. */
struct stage_case {
    int p, times, in_flight;
    const struct tt_plan *const *plans;
    const struct tt_call *calls;
    int64_t win_bytes; /* bytes of a window that the plans may use, at most STAGE_WINDOW */
    /* how many of these bytes lie in the short window in alltoallv, gatherv and scatterv: the plans
     * were made for this number */
    int64_t low_bytes;
};

/* Sets up the process for the stage. Must be called before any other function of the library. */
void stage_open(void);
/* Runs the case. Equal seeds give equal runs. Odd seeds make transfers late. With seeds that are 2
 * modulo 4, messages are eager; with all other seeds messages use rendezvous. */
enum stage_result stage_run(const struct stage_case *c, uint64_t seed);

/* Returns the operation for calls with commutes == false. The first call creates it. */
tutti_op stage_compose(void);

#endif
