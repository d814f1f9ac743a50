/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a plan costs a rank, counted from its steps. A byte read through X@r counts as received by
 * the reader and sent by r; so a rank's own plan tells what it receives, and all ranks' plans
 * together what each sends.
 */
#ifndef TT_PLAN_COUNT_H
#define TT_PLAN_COUNT_H

#include "plan/plan.h"

struct tt_count {
    int64_t sent, received; /* bytes, of send, recv, put, get and operands X@r */
    int64_t reduced;        /* bytes combined: (operands - 1) * length */
    int64_t copied;         /* bytes of copies within the rank */
    int64_t messages;       /* sends, puts, gets and far operands started by the rank */
    int64_t steps;          /* signals and awaits included, loops unrolled */
};

/* count[r] for every rank r, from the p plans. TUTTI_OK, ERR_MEMORY. */
tutti_status tt_count_plans(const struct tt_plan *const *plans, int p, struct tt_count *count);
/* Field by field, the largest. */
struct tt_count tt_count_worst(const struct tt_count *count, int p);

#endif
