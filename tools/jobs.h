/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The jobs of this user on this machine, found in /proc and read without asking their ranks.
 */
#ifndef TT_TOOLS_JOBS_H
#define TT_TOOLS_JOBS_H

#include <sys/types.h>

#include "run/roll.h"

/* Where the memory of a job was found. For a job of processes, `source` holds a descriptor, which
 * tt_jobs_free closes; for a job of threads, it holds the address in the process, and `file` is
 * 0. */
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

/* Finds all jobs that this user may look at. Does not stop any process and does not write to its
 * memory. The caller ends with tt_jobs_free, also if no_memory says that some jobs are missing. */
void tt_jobs_find(struct tt_jobs *jobs);
void tt_jobs_free(struct tt_jobs *jobs);

/* The process that started the ranks: the launcher, and not the guard process between it and the
 * ranks. 0: the ranks are threads, or it is not known. Writes its name. */
enum { TT_STARTER_NAME = 32 };
pid_t tt_job_starter(const struct tt_job_page *page, pid_t found_in, char name[TT_STARTER_NAME]);
/* Whether the process is a rank of the job on this machine, its starter, or the process in which it
 * was found. */
bool tt_job_has(const struct tt_job_page *page, pid_t starter, pid_t found_in, pid_t pid);
/* Whether a rank of the job runs on this machine. After the last one, children of ranks may still
 * hold the job's memory. Also true if no rank has a process yet, and if a rank is in another PID
 * namespace, where nobody can look from here. */
bool tt_job_runs(const struct tt_job_page *page, pid_t found_in);
/* The command line of the lowest rank that is here and still runs, or else of the process in which
 * the job was found. If a process has cleared its command line, its name in brackets. */
char *tt_job_program(const struct tt_job_page *page, pid_t found_in, char *text, size_t n);

#endif
