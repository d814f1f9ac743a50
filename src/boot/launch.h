/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starting the ranks of a job on this machine, and leaving nothing of it behind.
 *
 *     launcher ---- guard ---- rank 0 ---- whatever it starts
 *         |            +------ rank 1
 *         passes       |
 *         signals on   starts, watches, reports, ends
 *
 * Two processes, because each must survive the other: the guard sees the launcher's end on their
 * socket and ends the job; the launcher sees the guard's end as its child's and does the same. Both
 * are subreapers (prctl(2)): a process that lost its parent, even one that made a session of its
 * own, becomes a child of the guard (or, without it, of the launcher) and so can be found.
 */
#ifndef TT_LAUNCH_H
#define TT_LAUNCH_H

#include "base/base.h"

enum { TT_LAUNCH_RANKS = 4096 }; /* at most on one machine */

/* tt_launch returns these besides the ranks' own codes. The numbers are those of timeout(1). */
enum {
    TT_LAUNCH_TIMED_OUT = 124,
    TT_LAUNCH_REFUSED = 125, /* the launcher itself could not */
    TT_LAUNCH_NOT_RUNNABLE = 126,
    TT_LAUNCH_NOT_FOUND = 127,
    TT_LAUNCH_SIGNAL = 128 /* + number of the signal */
};

/* The fate of the other ranks, and the job's exit code, when a rank fails. */
enum tt_on_failure {
    TT_ON_FAILURE_END,          /* they are ended; the code is that of the first that failed */
    TT_ON_FAILURE_CONTINUE,     /* they go on; 0 if those that were not lost end with 0 */
    TT_ON_FAILURE_CONTINUE_FAIL /* they go on; the code is that of the first that failed */
};

/* The unit that a rank is bound to. The default is one core, or one processor of a core if there
 * are more ranks than cores; ranks are not bound if other jobs of this user leave too few free
 * (launch-places.h). */
enum tt_bind {
    TT_BIND_DEFAULT,
    TT_BIND_NONE,
    TT_BIND_THREAD, /* a processor: a hardware thread of a core */
    TT_BIND_CORE,
    TT_BIND_NUMA,
    TT_BIND_PACKAGE
};
/* In which order the ranks come to cores: one after the other, or in turn to NUMA nodes or
 * packages. */
enum tt_map_by { TT_MAP_CORE, TT_MAP_NUMA, TT_MAP_PACKAGE };

struct tt_binding {
    enum tt_bind bind;
    enum tt_map_by map;
    int cores; /* of a rank; 0: one, or as many as OMP_NUM_THREADS says */
};

/* One of the programs of a job; its ranks follow those of the program before it. */
struct tt_launch_program {
    int ranks; /* 1 .. TT_LAUNCH_RANKS; 0: as many as there are cores, for a single program */
    char *const *argv;  /* the program and its arguments, then NULL */
    char **set;         /* NAME=VALUE for the environment of its ranks */
    int sets;           /* of them */
    const char *folder; /* where its ranks run; NULL: where the launcher does */
};

struct tt_segment;

struct tt_launch_options {
    const struct tt_launch_program *program;
    int programs;       /* at least 1, with TT_LAUNCH_RANKS ranks together at most */
    const char *output; /* a folder that exists, for a file of each rank's output; or NULL */
    int64_t timeout_ns; /* 0: none */
    bool tag;           /* lines of output begin with [rank] */
    struct tt_binding binding;
    bool report_bindings; /* says on stderr what each rank is bound to */
    bool display_map;     /* the same, with its program */
    enum tt_on_failure on_failure;
    /* Prints who is missing, after a heading: for a time limit that has passed, and SIGQUIT. NULL:
     * nobody does. */
    void (*call_roll)(const struct tt_segment *job, const char *heading);
};

/* Runs the job to its end and returns its exit code: 0 if every rank exited with 0, else that of
 * the first that failed (where on_failure says so, of the first that failed without being lost), or
 * one of the above. Says on stderr what went wrong. Descriptors without close-on-exec are inherited
 * by the ranks. Blocks; for a process with one thread. */
int tt_launch(const struct tt_launch_options *options);

#endif
