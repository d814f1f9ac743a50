/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starts the ranks of a job on this host, and leaves nothing of it behind.
 *
 *     launcher ---- guard ---- rank 0 ---- whatever it starts
 *         |            +------ rank 1
 *         passes       |
 *         signals on   starts, watches, reports, ends
 *
 * There are two processes because each must survive the other: the guard sees the launcher's end on
 * the socket between them and ends the job; the launcher sees the guard's end as that of a child
 * and does the same. Both are subreapers (prctl(2)): a process that lost its parent, even one in a
 * session of its own, becomes a child of the guard (or, without it, of the launcher) and so can be
 * found.
 */
#ifndef TT_LAUNCH_H
#define TT_LAUNCH_H

#include "base/base.h"

enum { TT_LAUNCH_RANKS = 4096 }; /* at most on one host */

/* tt_launch returns these besides the ranks' own codes. The numbers are those of timeout(1). */
enum {
    TT_LAUNCH_TIMED_OUT = 124,
    TT_LAUNCH_REFUSED = 125, /* the launcher itself failed */
    TT_LAUNCH_NOT_RUNNABLE = 126,
    TT_LAUNCH_NOT_FOUND = 127,
    TT_LAUNCH_SIGNAL = 128 /* plus the number of the signal */
};

/* What happens to the other ranks, and to the job's exit code, when a rank fails. */
enum tt_on_failure {
    TT_ON_FAILURE_END, /* they are ended; the code is the code of the rank that failed first */
    /* they continue; the code is 0 if all ranks that were not lost exit with 0 */
    TT_ON_FAILURE_CONTINUE,
    TT_ON_FAILURE_CONTINUE_FAIL /* they continue; the code is as with END */
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
/* The order in which ranks get cores: one after the other, or in turn to NUMA nodes or packages. */
enum tt_map_by { TT_MAP_CORE, TT_MAP_NUMA, TT_MAP_PACKAGE };

/* How the user wants ranks to be bound. */
struct tt_binding {
    enum tt_bind bind;
    enum tt_map_by map;
    int cores; /* for each rank; 0: one, or as many as OMP_NUM_THREADS says */
};

/* One of the programs of a job; its ranks follow those of the program before it. */
struct tt_launch_program {
    /* 1 .. TT_LAUNCH_RANKS; 0: as many as there are cores, for a single program */
    int ranks;
    char *const *argv;  /* the program and its arguments, then NULL */
    char **set;         /* NAME=VALUE for the environment of its ranks */
    int sets;           /* the number of entries in `set` */
    const char *folder; /* working directory of its ranks; NULL: that of the launcher */
};

struct tt_segment;

/* The arguments of tt_launch. */
struct tt_launch_options {
    const struct tt_launch_program *program;
    int programs;       /* at least 1, with TT_LAUNCH_RANKS ranks together at most */
    const char *output; /* an existing folder for a file of each rank's output; or NULL */
    int64_t timeout_ns; /* 0: none */
    bool tag;           /* each line of output begins with [rank] */
    struct tt_binding binding;
    bool report_bindings; /* prints on stderr what each rank is bound to */
    bool display_map;     /* also prints its program */
    enum tt_on_failure on_failure;
    /* NULL, or set to the signal by which the user ended the job; 0: there was none. A caller that
     * would go on with other work ends by it (tt_launch_obey). */
    int *ended_by;
    /* Prints the roll call after a heading, when the time limit has passed and on SIGQUIT. NULL: no
     * roll call. */
    void (*call_roll)(const struct tt_segment *job, const char *heading);
};

/* Runs the job to its end and returns its exit code: 0 if every rank exited with 0, else that of
 * the first rank that failed (with TT_ON_FAILURE_CONTINUE, of the first that failed without being
 * lost), or one of the codes above. Prints errors on stderr. The ranks inherit descriptors without
 * close-on-exec. Blocks; the calling process must have one thread. */
int tt_launch(const struct tt_launch_options *options);
/* Ends this process by the signal by which the user ended a job, unless it ignores this signal, as
 * under nohup. 0: does nothing. */
void tt_launch_obey(int signal);

#endif
