/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cost of a plan for a rank, counted from the steps of the plan. A byte that a rank reads
 * through X@r (buffer X of rank r) counts as received by the reader and sent by r. So the plan of a
 * rank shows what that rank receives, and the plans of all ranks together show what each of them
 * sends. A number that does not fit in 63 bits is TT_COUNT_MOST.
 */
#ifndef TT_PLAN_COUNT_H
#define TT_PLAN_COUNT_H

#include "plan/plan.h"

#define TT_COUNT_MOST INT64_MAX

struct tt_count {
    int64_t sent, received; /* bytes moved by send, recv, put, get and operands X@r */
    int64_t reduced;        /* bytes combined: (operands - 1) * length */
    int64_t copied;         /* bytes of copies within the rank, and of reduces with one operand */
    int64_t messages;       /* number of sends, puts, gets and operands X@r of the rank */
    int64_t steps;          /* number of steps, signals and awaits included, loops unrolled */
};
#define TT_COUNT_FIELDS(X) X(sent) X(received) X(reduced) X(copied) X(messages) X(steps)

/* Adds to count[r], for every rank r, the costs that the plan of one rank shows. The plans of all
 * ranks can be counted one after the other, so that no two of them need be in memory at once.
 * Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_count_plan(const struct tt_plan *plan, struct tt_count *count);
/* Sets count[r] for every rank r from the p plans. Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_count_plans(const struct tt_plan *const *plans, int p, struct tt_count *count);
/* Returns the largest value of each field over all ranks. */
struct tt_count tt_count_worst(const struct tt_count *count, int p);
/* Returns the sum of each field over all ranks. */
struct tt_count tt_count_sum(const struct tt_count *count, int p);
/* Returns the number of steps that a plan does, without unrolling the plan. A step in a loop counts
 * once for each turn of the loop, but `spared` turns of each loop are not counted. Turns that leave
 * the step out (tt_vary) count, too. A generator (TT_EXCHANGE) counts nothing. */
int64_t tt_plan_steps(const struct tt_plan *plan, int64_t spared);

#endif
