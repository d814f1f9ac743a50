/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types and functions that the files of the launcher share.
 */
#ifndef TT_LAUNCH_GUARD_H
#define TT_LAUNCH_GUARD_H

#include <hwloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "launch.h"
#include "job/segment.h"

/* Process state that the launcher changes for itself; ranks get it as the launcher found it. */
struct tt_launch_inherited {
    sigset_t mask;
    struct sigaction child;
    struct rlimit files;
};

/* A rank as the guard sees it. Invariant (tt_guard_valid): the guard's `running` is the number of
 * ranks with running. */
struct tt_launch_rank {
    pid_t pid;
    int status; /* from waitpid(2), once the rank has ended */
    bool running;
    bool unsaid;   /* it failed after the first failure: printed at the end */
    bool deserted; /* it exited with 0, but did not leave the job */
    bool lost;     /* it failed, and the job may end well without it */
};

/* The launcher writes one byte for each signal to the guard. This bit says that the ranks got the
 * signal, too. */
enum { TT_LAUNCH_HEARD = 0x80 };

/* The phases of the guard, in their order. */
enum tt_guard_phase {
    TT_GUARD_RUNNING,
    TT_GUARD_GRACE, /* a rank failed: the others have time to return the error */
    TT_GUARD_ENDING /* the ranks were asked to end */
};

/* The state of the guard, the parent process of all ranks. */
struct tt_guard {
    const struct tt_launch_options *options;
    const struct tt_launch_inherited *inherited;
    int ranks; /* of all programs */
    struct tt_segment segment;
    struct tt_launch_rank *rank;
    struct tt_cores *cores;   /* where ranks are bound */
    struct tt_output *output; /* for tagged lines, or NULL */
    int launcher;             /* the socket to the launcher; it ends when the launcher does */
    int children;             /* signalfd of SIGCHLD */
    int signals;              /* signalfd of signals to the guard itself; -1: not yet */
    /* pipe through which a rank reports why it could not execute its program */
    int unstarted;
    int unstarted_in; /* the other end, while ranks are being started */
    int null;         /* /dev/null */
    int folder;       /* options->output, or -1 */
    int running;
    int code;       /* exit code of the job so far */
    int first_code; /* of the first rank that was lost; 0: none was */
    bool asked;     /* the launcher passed on a signal that asks the job to end */
    bool orphaned;
    enum tt_guard_phase phase;
    int64_t deadline_ns; /* when the phase ends; INT64_MAX: never */
};

static inline bool tt_guard_valid(const struct tt_guard *g)
{
    int running = 0;
    for (int r = 0; r < g->ranks; r++) running += g->rank[r].running;
    return running == g->running;
}

/* Runs the guard; returns the job's exit code. */
int tt_guard_main(const struct tt_launch_options *options,
                  const struct tt_launch_inherited *inherited, int launcher);

/* The program of a rank. */
const struct tt_launch_program *tt_launch_program_of(const struct tt_launch_options *options,
                                                     int rank);

/* ---- launch-report.c: lines "tutti: ..." on stderr, each in one write ---- */

__attribute__((format(printf, 1, 2))) void tt_launch_say(const char *format, ...);
/* Returns which limit of the system may be the cause of an error, as " (a limit on ...)"; "" if
 * none is. `error` is a value of errno. */
const char *tt_launch_hint(int error);
/* Prints how the rank ended, and the library version it is linked to if that was the reason. */
void tt_launch_say_end(const struct tt_guard *g, int rank);
/* Writes "rank 3" or "ranks 0-2,5" for the ranks that `member` picks. Returns false if there are
 * none. */
typedef bool tt_launch_member(const struct tt_launch_rank *rank, int like);
bool tt_launch_names(const struct tt_guard *g, tt_launch_member *member, int like, char *text,
                     size_t n);
/* Prints where each rank is bound and which program it runs, as far as the user asked for that. */
void tt_launch_say_places(const struct tt_guard *g);
/* Prints the messages that were kept for the end, and the ranks that were lost although the job
 * succeeded. */
void tt_launch_say_rest(struct tt_guard *g);

/* ---- launch-tree.c ---- */

/* Kills every descendant of this process that started at `since` (clock ticks after boot) or later.
 * Returns when none is left, or none that this user may kill. `alone`: this process has no other
 * children. */
void tt_tree_end(unsigned long long since, bool alone);
/* The start time of a process in clock ticks after boot; 0 if there is none. */
unsigned long long tt_tree_started(pid_t pid);

/* ---- launch-output.c: a thread writes the ranks' lines, each after its [rank] ---- */

struct tt_output;
/* Makes the state for two pipes for each rank, stdout and stderr. NULL: it failed; the error was
 * printed. */
struct tt_output *tt_output_new(int ranks, const struct rlimit *files);
/* Makes the pipes of a rank. Its ends are in out[2]; the caller closes them after the fork. */
bool tt_output_pipes(struct tt_output *output, int rank, int out[2]);
/* Starts the thread. Returns false if that failed; the error was printed. */
bool tt_output_start(struct tt_output *output);
/* Makes the thread end when it has written what is in the pipes. Returns a descriptor that becomes
 * readable then; -1 if the thread never ran. */
int tt_output_stop(struct tt_output *output);
/* Whether a line could not be written although somebody reads it; the error was printed. */
bool tt_output_lost(const struct tt_output *output);

/* ---- launch-cores.c ---- */

/* Determines where `ranks` ranks are bound, or that they are not bound. By default a rank gets as
 * many cores as it has threads. NULL: the user's request cannot be met; the error was printed. */
struct tt_cores *tt_cores_new(int ranks, const struct tt_launch_options *options);
/* Prints what the user may not expect: that a rank gets fewer cores than --cores-per-rank asks for,
 * and, on a terminal, that the ranks share processors because of other jobs. */
void tt_cores_say(const struct tt_cores *cores);
/* Binds this process as rank `rank`. Returns 0 or an errno. */
int tt_cores_bind(const struct tt_cores *cores, int rank);
/* Writes "processor 1 (core 1)", or "not bound: ..." with the reason. */
void tt_cores_print(const struct tt_cores *cores, int rank, char *text, size_t n);
/* Whether ranks are bound. */
bool tt_cores_bound(const struct tt_cores *cores);
/* Writes the processors that this process may use; `taken`: those of them that other jobs have
 * taken. Returns false if there are none, or they are not known. */
bool tt_cores_print_all(const struct tt_cores *cores, bool taken, char *text, size_t n);
/* Releases the lock, so that other jobs can find out which processors are taken. This process
 * starts no ranks after that. */
void tt_cores_started(struct tt_cores *cores);
void tt_cores_free(struct tt_cores *cores);

/* ---- launch-taken.c ---- */

/* Adds to `taken` those of the allowed processors that ranks of this user's other jobs are bound
 * to. */
void tt_taken_find(hwloc_topology_t topology, hwloc_const_bitmap_t allowed, hwloc_bitmap_t taken);
/* Takes a lock, so that the jobs of a user do not look for free processors at the same time. A job
 * holds it from that look until its ranks are bound. Returns a descriptor; the lock is released
 * when the last process that has it closes it, executes a program, or ends. -1: the job could not
 * get the lock in time. */
int tt_taken_lock(void);

#endif
