/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types and functions that the files of the launcher share: the guard (launch-guard.c), its
 * messages (launch-report.c), and the parts that it uses.
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

/* Properties of the launcher's process that the launcher changes for itself. Each rank gets the
 * original values back before it executes its program. */
struct tt_launch_inherited {
    sigset_t mask;
    struct sigaction child;
    struct rlimit files;
};

/* A rank as the guard sees it. Invariant (tt_guard_valid checks it): tt_guard.running is the number
 * of ranks with `running` set. */
struct tt_launch_rank {
    pid_t pid;
    int status; /* from waitpid(2), once the rank has ended */
    bool running;
    bool unsaid;   /* the rank failed after the first failure, and this is printed at the end */
    bool deserted; /* the rank exited with 0 while it had a client that it had not finalized */
    bool lost;     /* the rank failed, and the job may still succeed without it */
};

/* For each signal, the launcher writes one byte to the guard: the number of the signal, and this
 * bit if the ranks have got the signal, too. */
enum { TT_LAUNCH_HEARD = 0x80 };

/* The phases of the guard, in their order. */
enum tt_guard_phase {
    TT_GUARD_RUNNING,
    TT_GUARD_GRACE, /* a rank failed, and the other ranks have time to return the error */
    TT_GUARD_ENDING /* the ranks were asked to end */
};

/* The state of the guard, the parent process of all ranks. */
struct tt_guard {
    const struct tt_launch_options *options;
    const struct tt_launch_inherited *inherited;
    int ranks; /* the number of ranks of all programs */
    struct tt_segment segment;
    struct tt_launch_rank *rank;
    struct tt_cores *cores; /* decides where ranks are bound */
    /* writes the lines of the ranks with tags; NULL if lines are not tagged */
    struct tt_output *output;
    /* the socket to the launcher, on which the guard sees the launcher's end */
    int launcher;
    int children; /* a signalfd for SIGCHLD */
    /* a signalfd for signals that are sent to the guard itself; -1 before it is open */
    int signals;
    /* the end for reading of the pipe through which a rank reports why it could not execute its
     * program */
    int unstarted;
    int unstarted_in; /* the end for writing of that pipe; -1 when all ranks have been started */
    int null;         /* a descriptor of /dev/null */
    int folder;       /* a descriptor of the output folder; -1 if there is no such folder */
    int running;
    int code;       /* the exit code of the job, as far as it is known */
    int first_code; /* the exit code of the first rank that was lost; 0 if no rank was lost */
    bool asked;     /* the launcher passed on a signal that asks the job to end */
    bool orphaned;
    enum tt_guard_phase phase;
    int64_t deadline_ns; /* the time at which the phase ends; INT64_MAX if it has no limit */
};

static inline bool tt_guard_valid(const struct tt_guard *g)
{
    int running = 0;
    for (int r = 0; r < g->ranks; r++) running += g->rank[r].running;
    return running == g->running;
}

/* Runs the guard until the job has ended. Returns the job's exit code. */
int tt_guard_main(const struct tt_launch_options *options,
                  const struct tt_launch_inherited *inherited, int launcher);

/* Returns the program that a rank runs. */
const struct tt_launch_program *tt_launch_program_of(const struct tt_launch_options *options,
                                                     int rank);

/* ---- launch-report.c: lines "tutti: ..." on stderr, each in one write ---- */

__attribute__((format(printf, 1, 2))) void tt_launch_say(const char *format, ...);
/* Returns which limit of the system may be the cause of an error, as " (a limit on ...)"; "" if
 * none is. `error` is a value of errno. */
const char *tt_launch_hint(int error);
/* Prints how the rank ended; and, if the rank is linked to another version of the library than this
 * command, also that version, which may be the reason. */
void tt_launch_say_end(const struct tt_guard *g, int rank);
/* tt_launch_names writes "rank 3" or "ranks 0-2,5": the ranks for which member(rank, like) returns
 * true. It does not use `like` itself. Returns false if there are none. */
typedef bool tt_launch_member(const struct tt_launch_rank *rank, int like);
bool tt_launch_names(const struct tt_guard *g, tt_launch_member *member, int like, char *text,
                     size_t n);
/* Prints where each rank is bound and which program it runs, as far as the user asks for this. */
void tt_launch_say_places(const struct tt_guard *g);
/* Prints at the end of the job the failures that were not printed yet, and which ranks were lost if
 * the job succeeded without them. */
void tt_launch_say_rest(struct tt_guard *g);

/* ---- launch-tree.c ---- */

/* Kills every descendant of this process that started at `since` (clock ticks after boot) or later.
 * Returns when no such process is left, or only processes that this user may not kill. alone: this
 * process has no children that started before `since`. */
void tt_tree_end(unsigned long long since, bool alone);
/* Returns the start time of a process in clock ticks after boot; 0 if there is no such process. */
unsigned long long tt_tree_started(pid_t pid);

/* ---- launch-output.c: a thread writes the lines of the ranks, with [rank] before each line
 * ---- */

struct tt_output;
/* Makes the object that reads two pipes from each rank, for stdout and stderr. `files` is the limit
 * on descriptors that this process has; it is raised if it is too low for the pipes. Returns NULL
 * after printing the error. */
struct tt_output *tt_output_new(int ranks, const struct rlimit *files);
/* Makes the pipes of a rank. out[0] and out[1] become the ends to which the rank writes. The caller
 * closes its copies of them after the fork. Returns false after printing the error. */
bool tt_output_pipes(struct tt_output *output, int rank, int out[2]);
/* Starts the thread. Returns false after printing the error. */
bool tt_output_start(struct tt_output *output);
/* Makes the thread end when it has written all data that are in the pipes. Returns a descriptor
 * that becomes readable when the thread has done so; -1 if the thread was not started. */
int tt_output_stop(struct tt_output *output);
/* Returns whether a line could not be written. Lines whose reader has gone do not count. The error
 * has been printed. */
bool tt_output_lost(const struct tt_output *output);

/* ---- launch-cores.c ---- */

/* Decides where the ranks are bound, or that they are not bound. By default a rank gets as many
 * cores as it has threads. Returns NULL, after printing the error, if the user's request cannot be
 * met. */
struct tt_cores *tt_cores_new(int ranks, const struct tt_launch_options *options);
/* Prints what the user may not expect: that a rank gets fewer cores than --cores-per-rank asks for,
 * and, on a terminal, that the ranks share processors because of other jobs. */
void tt_cores_say(const struct tt_cores *cores);
/* Binds this process to the processors of `rank`. Returns 0 or an errno. */
int tt_cores_bind(const struct tt_cores *cores, int rank);
/* Writes "processor 1 (core 1)", or "not bound: ..." with the reason. */
void tt_cores_print(const struct tt_cores *cores, int rank, char *text, size_t n);
/* Returns whether ranks are bound. */
bool tt_cores_bound(const struct tt_cores *cores);
/* Writes the list of the processors that this process may use; if `taken` is true, only of those
 * that other jobs have taken. Returns false if there are none, or they are not known. */
bool tt_cores_print_all(const struct tt_cores *cores, bool taken, char *text, size_t n);
/* Releases the lock that keeps other jobs from looking for free processors. Call this when the last
 * rank of this job is started. */
void tt_cores_started(struct tt_cores *cores);
void tt_cores_free(struct tt_cores *cores);

/* ---- launch-taken.c ---- */

/* Adds to `taken` those of the allowed processors that ranks of this user's other jobs are bound
 * to. */
void tt_taken_find(hwloc_topology_t topology, hwloc_const_bitmap_t allowed, hwloc_bitmap_t taken);
/* Takes a lock, so that the jobs of a user do not look for free processors at the same time. A job
 * holds the lock until its ranks are bound. Returns a descriptor, or -1 if the lock could not be
 * taken in time. The lock is released when the last process that has the descriptor closes it,
 * executes a program, or ends. */
int tt_taken_lock(void);

#endif
