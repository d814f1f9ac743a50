/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A stage: all ranks of a job in one thread, each step done when the scheduler says so. It runs
 * plans by the real interpreter over the real thread fabric, in random orders drawn from a seed, so
 * that a run can be repeated and a deadlock is seen at once: nobody can take a step.
 *
 * What makes it hard on plans: ranks run ahead of each other as far as they may, several executions
 * in flight; strict priorities that change, so that one rank does everything that it can before
 * another does anything; sends that wait for their receives; puts and gets that are done late, up
 * to their wait; other data in every execution and on every rank; and callers that use their
 * buffers for something else as soon as their call is done.
 */
#ifndef TT_TEST_STAGE_H
#define TT_TEST_STAGE_H

#include "plan/plan.h"

/* What came of a run. */
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

/* Bytes of a window, which stage_open sets for the whole process; and ranks, at most. */
enum { STAGE_WINDOW = 4096, STAGE_RANKS = 16 };

/* plans[r], calls[r]: of rank r. `times` executions on one team, in flight 1 .. in_flight at once.
 * Every plan must be structurally valid. */
struct stage_case {
    int p, times, in_flight;
    const struct tt_plan *const *plans;
    const struct tt_call *calls;
    int64_t win_bytes; /* that plans may use, at most STAGE_WINDOW */
};

/* Before anything else of the library is used. */
void stage_open(void);
/* Equal seeds, equal runs. With odd seeds transfers are late; with every fourth messages are eager,
 * with the others by rendezvous. */
enum stage_result stage_run(const struct stage_case *c, uint64_t seed);

/* The operation that plans of calls with commutes == false are run with; created once. */
tutti_op stage_compose(void);

#endif
