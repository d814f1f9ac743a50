/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti ps`: finding the jobs of this user on this machine (ps-find.c), and showing them (ps.c).
 */
#ifndef TT_TOOLS_PS_H
#define TT_TOOLS_PS_H

#include <sys/types.h>

#include "run/roll.h"

/* A job's memory as it was found. Of processes: a descriptor to read it by. Of the threads of a
 * process: where in that it lies. */
struct tt_found {
    struct tt_source source;
    pid_t pid; /* the process that it was found in */
    dev_t device;
    ino_t file;
};

struct tt_jobs {
    struct tt_found *job;
    int n, room;
    bool no_memory;
};

/* All that this user may look at. Stops nobody, and writes nothing. */
void tt_jobs_find(struct tt_jobs *jobs);
void tt_jobs_free(struct tt_jobs *jobs);

/* What stands in /proc/PID/NAME, up to its first end of line, blanks for other control characters;
 * "" if nothing. */
char *tt_proc_text(pid_t pid, const char *name, char *buffer, size_t n);
/* 0: there is none. */
pid_t tt_proc_parent(pid_t pid);

#endif
