/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proving many cases: every algorithm on every number of ranks, shared out among threads.
 */
#ifndef TT_CHECK_RUN_H
#define TT_CHECK_RUN_H

#include "check-cases.h"

struct tt_check_job {
    const struct tt_algorithm *const *algorithms; /* n of them */
    int n, first_p, last_p;
    int64_t most; /* cases of an algorithm on one p; 0: fewer the larger p is */
    int threads;
    bool progress; /* on stderr */
};

struct tt_check_tally {
    uint64_t cases, sequences, refuted, failed; /* failed: could not be built or proven */
    uint64_t steps;
    uint64_t *by_algorithm; /* cases proven of each, n of them */
};

/* Prints what is refuted on stdout. OK, ERR_MEMORY. tally->by_algorithm is the caller's array. */
tutti_status tt_check_run(const struct tt_check_job *job, struct tt_check_tally *tally);

#endif
