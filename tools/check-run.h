/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proves many cases: every algorithm on every number of ranks, distributed over threads.
 */
#ifndef TT_CHECK_RUN_H
#define TT_CHECK_RUN_H

#include "check-cases.h"

struct tt_check_job {
    const struct tt_algorithm *const *algorithms; /* array of n algorithms */
    int n, first_p, last_p;
    /* how many cases to prove at most for an algorithm on one number of ranks; 0: the default,
     * which is lower for more ranks */
    int64_t most;
    int threads;
    bool progress; /* show progress on stderr */
};

struct tt_check_tally {
    /* failed: cases that could not be built or decided */
    uint64_t cases, sequences, refuted, failed;
    uint64_t steps;
    uint64_t *by_algorithm; /* for each of the n algorithms: how many of its cases were proven */
};

/* Runs the job and prints refuted cases on stdout. The caller owns the array tally->by_algorithm,
 * of job->n counters set to 0. Returns OK or ERR_MEMORY. */
tutti_status tt_check_run(const struct tt_check_job *job, struct tt_check_tally *tally);

#endif
