/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starts the ranks of a job on this host, and leaves no process of the job behind.
 *
 *     launcher ---- guard ---- rank 0 ---- whatever it starts
 *         |            +------ rank 1
 *         passes       |
 *         signals on   starts, watches, reports, ends
 *
 * There are two processes because each must survive the other: the guard sees the launcher's end on
 * the socket between the two processes and ends the job; the launcher sees the guard's end as that
 * of a child process, and ends the job, too. Both are subreapers (prctl(2)): a process that lost
 * its parent, even one in a session of its own, becomes a child of the guard (or of the launcher,
 * if the guard has ended) and so can be found.
 */
#ifndef TT_LAUNCH_H
#define TT_LAUNCH_H

#include "base/base.h"

enum { TT_LAUNCH_RANKS = 4096 }; /* the most ranks on one host */

/* Exit codes that tt_launch returns besides the exit codes of the ranks. timeout(1) uses the same
 * numbers. */
enum {
    TT_LAUNCH_TIMED_OUT = 124,
    TT_LAUNCH_REFUSED = 125, /* the launcher itself failed */
    TT_LAUNCH_NOT_RUNNABLE = 126,
    TT_LAUNCH_NOT_FOUND = 127,
    TT_LAUNCH_SIGNAL = 128 /* the exit code is this number plus the number of the signal */
};

/* The consequences of a rank's failure for the other ranks and for the job's exit code. */
enum tt_on_failure {
    /* the other ranks are ended; the job's exit code is that of the rank that failed first */
    TT_ON_FAILURE_END,
    /* the other ranks continue. A rank is lost if a signal kills it, or if it exits with a code
     * other than 0 before it calls tutti_finalize. The job's exit code is 0 if all ranks that were
     * not lost exit with 0 */
    TT_ON_FAILURE_CONTINUE,
    /* the other ranks continue; the job's exit code is that of the rank that failed first */
    TT_ON_FAILURE_CONTINUE_FAIL
};

/* The unit that a rank is bound to. The default is one core, or one processor of a core if there
 * are more ranks than free cores. If other jobs of this user leave too few processors free, ranks
 * share processors with them (launch-places.h). */
enum tt_bind {
    TT_BIND_DEFAULT,
    TT_BIND_NONE,
    TT_BIND_THREAD, /* a processor: a hardware thread of a core */
    TT_BIND_CORE,
    TT_BIND_NUMA,
    TT_BIND_PACKAGE
};
/* The order in which ranks get cores: the order of the topology (TT_MAP_CORE), or from each NUMA
 * node or package in turn. */
enum tt_map_by { TT_MAP_CORE, TT_MAP_NUMA, TT_MAP_PACKAGE };

/* How the user wants ranks to be bound. */
struct tt_binding {
    enum tt_bind bind;
    enum tt_map_by map;
    /* the number of cores for each rank; 0 stands for one, or for as many as OMP_NUM_THREADS
     * says */
    int cores;
};

/* One of the programs of a job; its ranks follow those of the program before it. */
struct tt_launch_program {
    /* the number of ranks: 1 .. TT_LAUNCH_RANKS; or 0, only for a single program, for as many ranks
     * as there are cores */
    int ranks;
    char *const *argv;  /* the program and its arguments, then NULL */
    char **set;         /* NAME=VALUE for the environment of its ranks */
    int sets;           /* the number of entries in `set` */
    const char *folder; /* the working directory of its ranks; NULL for that of the launcher */
};

struct tt_segment;

/* The arguments of tt_launch. */
struct tt_launch_options {
    const struct tt_launch_program *program;
    /* the number of programs: at least 1, with at most TT_LAUNCH_RANKS ranks together */
    int programs;
    /* an existing folder, in which the output of each rank is written to files; NULL if the ranks
     * write to the launcher's output */
    const char *output;
    int64_t timeout_ns; /* the time limit of the job; 0 if there is none */
    bool tag;           /* each line of output gets the number of its rank as a tag, such as [3] */
    struct tt_binding binding;
    bool report_bindings; /* print on stderr to which processors each rank is bound */
    bool display_map;     /* print the bindings, and also which program each rank runs */
    enum tt_on_failure on_failure;
    /* If this is not NULL, tt_launch stores here the signal by which the user ended the job, or 0
     * if no signal did. The caller should then end by the same signal (tt_launch_obey). */
    int *ended_by;
    /* Prints the heading and then the roll call. It is called when the time limit has passed, and
     * on SIGQUIT. If it is NULL, there is no roll call. */
    void (*call_roll)(const struct tt_segment *job, const char *heading);
};

/* Runs the job to its end and returns its exit code: 0 if every rank exited with 0; one of the
 * TT_LAUNCH codes; otherwise the code of the first rank that failed. With TT_ON_FAILURE_CONTINUE,
 * lost ranks (see there) do not count, unless all ranks were lost. Prints errors on stderr. The
 * ranks inherit descriptors without close-on-exec. Blocks; the calling process must have one
 * thread. */
int tt_launch(const struct tt_launch_options *options);
/* Ends this process by the signal by which the user ended a job. Does nothing if `signal` is 0, or
 * if the process ignores this signal, as under nohup. */
void tt_launch_obey(int signal);

#endif
