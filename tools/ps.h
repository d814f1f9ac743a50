/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti ps`: finds the jobs of this user on this machine (ps-find.c) and shows them (ps.c).
 */
#ifndef TT_TOOLS_PS_H
#define TT_TOOLS_PS_H

#include <sys/types.h>

#include "run/roll.h"

/* Where the memory of a job was found. For a job of processes, `source` holds a descriptor, which
 * tt_jobs_free closes; for a job of threads, it holds the address in the process, and `file` is
 * 0. */
struct tt_found {
    struct tt_source source;
    pid_t pid; /* the process in which the job was found */
    dev_t device;
    ino_t file;
};

struct tt_jobs {
    struct tt_found *job;
    int n, room;
    bool no_memory;
};

/* Finds all jobs that this user may look at. Does not stop any process and does not write to its
 * memory. The caller ends with tt_jobs_free, also if no_memory says that some jobs are missing. */
void tt_jobs_find(struct tt_jobs *jobs);
void tt_jobs_free(struct tt_jobs *jobs);

/* Returns `buffer` with the first n - 1 bytes of /proc/PID/NAME, without line ends at the end and
 * with other control characters replaced by blanks; "" if the file cannot be read. */
char *tt_proc_text(pid_t pid, const char *name, char *buffer, size_t n);
/* The parent's process id; 0 if it cannot be read. */
pid_t tt_proc_parent(pid_t pid);

#endif
