/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two ways to run a case: as threads and as processes.
 */
#ifndef TT_BENCH_JOB_H
#define TT_BENCH_JOB_H

#include "bench.h"

/* Run one case and wait for its end. Return false after printing the error. */
bool tt_bench_threads(const struct tt_bench_case *c, struct tt_bench_result *result);
bool tt_bench_processes(const struct tt_bench_case *c, struct tt_bench_result *result);

#endif
