/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the launcher share.
 */
#ifndef TT_LAUNCH_GUARD_H
#define TT_LAUNCH_GUARD_H

#include <hwloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "boot/launch.h"
#include "fabric/segment.h"

/* Process state that the launcher changes for itself, and that ranks get as the launcher found
 * it. */
struct tt_launch_inherited {
    sigset_t mask;
    struct sigaction child;
    struct rlimit files;
};

/* A rank, seen from outside. Invariant: the guard's `running` is the number of ranks with
 * running. */
struct tt_launch_rank {
    pid_t pid;
    int status; /* as waitpid(2) gives it; once it has ended */
    bool running;
    bool unsaid;   /* it failed after the first one did: told at the end */
    bool deserted; /* it exited with 0, but did not leave the job */
    bool lost;     /* it failed, and the job may end well without it */
};

/* The launcher writes one byte for each signal to the guard, with this bit if the ranks got the
 * signal, too. */
enum { TT_LAUNCH_HEARD = 0x80 };

/* The phases of the guard, in their order. */
enum tt_guard_phase {
    TT_GUARD_RUNNING,
    TT_GUARD_GRACE, /* a rank failed: the others may still see the error */
    TT_GUARD_ENDING /* the ranks were asked to end */
};

struct tt_guard {
    const struct tt_launch_options *options;
    const struct tt_launch_inherited *inherited;
    int ranks; /* of all programs */
    struct tt_segment segment;
    struct tt_launch_rank *rank;
    struct tt_cores *cores;   /* to bind to */
    struct tt_output *output; /* of tagged lines, or NULL */
    int launcher;             /* socket to it, which ends when it does */
    int children;             /* signalfd of SIGCHLD */
    int unstarted;            /* pipe: what kept a rank from becoming its program */
    int unstarted_in;         /* its other end, while ranks are being started */
    int null;                 /* /dev/null */
    int folder;               /* options->output, or -1 */
    int running;
    int code;       /* of the job so far */
    int first_code; /* of the first rank that was lost; 0: none was */
    bool asked;     /* the launcher passed on a signal that asks for the end */
    bool orphaned;
    enum tt_guard_phase phase;
    int64_t deadline_ns; /* when the phase ends; INT64_MAX: never */
};

/* The guard's life; returns the job's exit code. */
int tt_guard_main(const struct tt_launch_options *options,
                  const struct tt_launch_inherited *inherited, int launcher);

/* The program of a rank. */
const struct tt_launch_program *tt_launch_program_of(const struct tt_launch_options *options,
                                                     int rank);
/* How many ranks there are of all programs. */
int tt_launch_ranks(const struct tt_launch_options *options);
/* Starts all ranks (launch-start.c); false when it said why that failed. */
bool tt_launch_start(struct tt_guard *g);
/* Says what is in the pipe, once, and returns the exit code for it; 0 when nothing is. */
int tt_launch_unstarted(struct tt_guard *g);

/* ---- launch-report.c: lines "tutti: ..." on stderr, each written at once ---- */

__attribute__((format(printf, 1, 2))) void tt_launch_say(const char *format, ...);
/* How the rank ended; with the library version it is linked to, where that was the reason. */
void tt_launch_say_end(const struct tt_guard *g, int rank);
/* "rank 3" or "ranks 0-2,5" of those that `member` picks; false if there are none. */
typedef bool tt_launch_member(const struct tt_launch_rank *rank, int like);
bool tt_launch_names(const struct tt_guard *g, tt_launch_member *member, int like, char *text,
                     size_t n);
/* Where each rank is bound, and which program it is, as far as the user wants to see that. */
void tt_launch_say_places(const struct tt_guard *g);
/* Prints the messages that were kept for the end, and the ranks that were lost although the job
 * succeeded. */
void tt_launch_say_rest(struct tt_guard *g);

/* ---- launch-tree.c ---- */

/* Ends every descendant of this process that started at `since` (clock ticks after boot) or later,
 * and returns when none is left, or none that this user may end. `alone`: this process has no other
 * children than these. */
void tt_tree_end(unsigned long long since, bool alone);
/* When a process started; 0 if there is none. */
unsigned long long tt_tree_started(pid_t pid);

/* ---- launch-output.c: ranks' lines, each after its [rank], written by a thread ---- */

struct tt_output;
/* Each rank has two pipes, for stdout and stderr. NULL: said why. */
struct tt_output *tt_output_new(int ranks, const struct rlimit *files);
/* Makes the pipes of a rank; its ends in out[2], which the caller closes after the fork. */
bool tt_output_pipes(struct tt_output *output, int rank, int out[2]);
bool tt_output_start(struct tt_output *output);
/* Nothing more will come but what is in the pipes. Returns a descriptor that becomes readable when
 * all is written; -1 if the thread never ran. */
int tt_output_stop(struct tt_output *output);

/* ---- launch-cores.c ---- */

/* Returns the binding that the options ask for. By default a rank gets as many cores as it has
 * threads. */
struct tt_binding tt_cores_wish(const struct tt_launch_options *options);
/* Where `ranks` ranks are bound, which may be nowhere. NULL: what the user asked for cannot be
 * done, and it was said why. */
struct tt_cores *tt_cores_new(int ranks, struct tt_binding binding);
/* Binds this process as rank `rank` is to be; 0 or an errno. */
int tt_cores_bind(const struct tt_cores *cores, int rank);
/* "processor 1 (core 1)", or "not bound: ..." and why. */
void tt_cores_print(const struct tt_cores *cores, int rank, char *text, size_t n);
bool tt_cores_bound(const struct tt_cores *cores);
/* Prints the processors that this process may use, and those of them that other jobs have. False:
 * there are none, or they are not known. */
bool tt_cores_print_allowed(const struct tt_cores *cores, char *text, size_t n);
bool tt_cores_print_taken(const struct tt_cores *cores, char *text, size_t n);
/* Other jobs may look now which processors are taken: this process will start no more ranks. */
void tt_cores_started(struct tt_cores *cores);
void tt_cores_free(struct tt_cores *cores);

/* ---- launch-taken.c ---- */

/* Adds to `taken` what ranks of this user's other jobs are bound to, of what is allowed. */
void tt_taken_find(hwloc_topology_t topology, hwloc_const_bitmap_t allowed, hwloc_bitmap_t taken);
/* Between looking at what is taken and binding, jobs of a user exclude one another: each holds this
 * descriptor, which is closed by exec and at the end of the last process that has it. -1: the
 * others could not be waited for. */
int tt_taken_lock(void);

#endif
