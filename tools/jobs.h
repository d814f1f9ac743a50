/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the jobs of this user on this machine in /proc, and reads their memory without help of
 * their ranks.
 */
#ifndef TT_TOOLS_JOBS_H
#define TT_TOOLS_JOBS_H

#include <sys/types.h>

#include "run/roll.h"

/* Where the memory of a job was found. For a job of processes, `source` holds a descriptor, which
 * tt_jobs_free closes; for a job of threads, `source` holds the address of the memory in the
 * process, and `file` is 0. */
struct tt_job_found {
    struct tt_source source;
    pid_t pid; /* the process in which the job was found */
    dev_t device;
    ino_t file;
};

struct tt_jobs {
    struct tt_job_found *job;
    int n, room;
    bool no_memory;
};

/* Finds all jobs that this user may look at. Stops no process and writes to no memory of a process.
 * The caller frees the list with tt_jobs_free, also if no_memory says that some jobs are
 * missing. */
void tt_jobs_find(struct tt_jobs *jobs);
void tt_jobs_free(struct tt_jobs *jobs);

/* Returns the id that the process of a rank has in the PID namespace of this process. Returns 0 if
 * the rank is on another machine or in another PID namespace, or has no process yet. */
pid_t tt_job_pid(const struct tt_job_page *page, int rank);
/* tt_job_starter returns the process that started the ranks, and writes its name. If there is a
 * guard process between launcher and ranks, the result is the launcher. Returns 0 if the ranks are
 * threads or the process is not known. */
enum { TT_STARTER_NAME = 32 };
pid_t tt_job_starter(const struct tt_job_page *page, pid_t found_in, char name[TT_STARTER_NAME]);
/* Returns whether the process `pid` is a rank of the job on this machine, the process that started
 * the ranks, or the process in which the job was found. */
bool tt_job_has(const struct tt_job_page *page, pid_t starter, pid_t found_in, pid_t pid);
/* Returns whether a rank of the job runs on this machine. If not, children of ranks may still hold
 * the job's memory. Also returns true if no rank has a process yet, and if a rank is in another PID
 * namespace, where this process cannot look. */
bool tt_job_runs(const struct tt_job_page *page, pid_t found_in);
/* Writes the command line of the lowest rank that runs on this machine, or else of the process in
 * which the job was found. If a process has cleared its command line, writes its name in
 * brackets. */
char *tt_job_program(const struct tt_job_page *page, pid_t found_in, char *text, size_t n);

#endif
