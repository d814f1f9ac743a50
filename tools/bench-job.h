/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways to run a case: as threads, as processes that are started for it, and as the processes of
 * a job that a launcher has started.
 */
#ifndef TT_BENCH_JOB_H
#define TT_BENCH_JOB_H

#include "bench.h"

/* A launcher's job to which this process belongs as rank 0. */
struct tt_bench_job {
    tutti_client *client;
    int ranks;
    bool failed; /* a case has failed, and the job can run no other one */
};

/* If a launcher (`tutti run`, or one with PMIx) has started this process as one of several ranks,
 * joins this job, sets *code to the exit code, and returns true. Rank 0 calls lead(job, arg), which
 * parses the arguments of the command, and the other ranks run the cases that rank 0 passes to
 * tt_bench_processes. The exit code is the one that `lead` has returned, or with which it has
 * called exit(), on all ranks; but TT_EXIT_FAILED, after printing the error, if this rank could not
 * take part until the end. Returns false otherwise, also if the launcher has started only this
 * process, such as the shell of an interactive session. */
bool tt_bench_as_rank(int lead(struct tt_bench_job *job, void *arg), void *arg, int *code);

/* Run one case and wait for its end. Return false after printing the error. The processes are those
 * of `job`; if it is NULL, they are started for the case. After an error in a case, `job` runs no
 * other case, and each further call returns false at once. */
bool tt_bench_threads(const struct tt_bench_case *c, struct tt_bench_result *result);
bool tt_bench_processes(struct tt_bench_job *job, const struct tt_bench_case *c,
                        struct tt_bench_result *result);

#endif
