/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives that the ranks of a real run called, as plain data, and which ranks came late to
 * these calls.
 *
 * A trace does not say for which rank a rank waits. So a rank that was blocked in a call is taken
 * to have waited for the last of the ranks that entered the call before this rank left it. It
 * cannot have waited for a rank that entered after it left. For a call of rank r:
 *
 *     late(r)    the member of the team that entered last among those that entered before r left
 *     waited(r)  the time from when r was blocked until late(r) entered; 0 if late(r) had entered
 *                before r was blocked
 *
 * If a member never enters a call that others have entered, the others wait for this member until
 * their calls end. waited(r) is an upper bound of the time that r waited for other ranks to come.
 * It does not contain the time of the work itself.
 */
#ifndef TT_DRAW_CALLS_H
#define TT_DRAW_CALLS_H

#include <stdio.h>

#include "base/base.h"

enum { TT_CALLS_NAME = 32 };

/* A call of one rank, which pictures show as a bar. */
struct tt_call_bar {
    /* root: the rank of the root in the job; -1 if the call has no root */
    int32_t rank, root;
    /* group: the index in tt_calls.group[] of the execution to which the call belongs */
    int32_t team, group;
    /* blocked_ps: when the caller of a nonblocking call began to wait for its end, or -1 if it
     * never did; n: the number of elements, or -1 if the trace does not have it */
    int64_t execution, begin_ps, blocked_ps, end_ps, bytes, n;
    /* coll, algorithm, type, op: indices into tt_calls.name[] */
    uint8_t coll, algorithm, type, op, track, status;
    /* open: the call did not end, and end_ps is the time at which the rank was last seen */
    bool blocks, open;
    /* ---- set by tt_calls_end */
    int32_t late;
    int64_t waited_ps;
};

/* One execution of a collective on a team, with the calls of all ranks that took part. */
struct tt_call_group {
    /* the calls are tt_calls.bar[first .. first + n - 1], in the order of their ranks */
    int64_t first, n;
    /* waited_ps: how long all ranks together waited; worst_ps: the longest time that one rank
     * waited */
    int64_t begin_ps, end_ps, waited_ps, worst_ps;
    int64_t shortest_ps, median_ps, longest_ps; /* the times that the ranks spent in the call */
    /* the first member that never came; if all came, the rank for which the other ranks together
     * waited longest; if no rank waited, the rank that came last */
    int32_t late;
    /* how much later the rank `late` came than the rank that came before it; 0 if it came first,
     * alone or never */
    int64_t late_ps;
    bool open;    /* a rank did not leave the call */
    bool missing; /* the rank `late` never came */
    /* at least one caller was blocked in the call, or waited later for the end of its nonblocking
     * call */
    bool blocked;
};

struct tt_call_rank {
    int32_t rank, client, node, pid;
    int64_t last_ps; /* when the rank was last seen */
    int32_t lost_steps, lost_calls;
    bool said, ended, runs, cut; /* said: the rank has a trace; ended: the trace says that the rank
                                  * ended in an orderly way; runs: the rank still ran when its trace
                                  * was read; cut: the file of its trace is cut */
    char host[64], rank_status[64];
    /* ---- set by tt_calls_end */
    /* in_ps: the time that the rank was in calls; waited_ps: the part of in_ps for which the rank
     * waited for other ranks; caused_ps: the time for which other ranks waited for this rank */
    int64_t in_ps, waited_ps, caused_ps;
    int64_t calls, came_late;
};

struct tt_call_team {
    uint64_t id;
    int32_t client, size;
    /* ---- set by tt_calls_end */
    char label[48]; /* the name of the team, such as "world" or "ranks 0, 2" */
    /* the index in tt_calls.group[] of the execution in which the most members took part */
    int64_t largest;
};

/* All calls of a run. Invariants after tt_calls_end (tt_calls_valid checks them): bar[] is sorted
 * by group and then by rank; group[] is sorted by begin; rank[] is sorted by rank and then by
 * client. */
struct tt_calls {
    struct tt_call_bar *bar;
    struct tt_call_group *group;
    struct tt_call_rank *rank;
    struct tt_call_team *team;
    int64_t bars, groups, ranks, teams, left_out;
    int names;
    char (*name)[TT_CALLS_NAME];
    /* the number of different clocks of the ranks; their times are converted to one clock */
    int clocks;
    /* the largest error of the conversion; -1 if a clock could only be converted by the time of
     * day */
    int64_t clock_error_ps;
};

bool tt_calls_valid(const struct tt_calls *calls);

/* Sorts the bars, groups them by execution, and sets the members that are marked "set by
 * tt_calls_end". Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_calls_end(struct tt_calls *calls);
void tt_calls_free(struct tt_calls *calls);
/* Returns the information that the trace has about a rank; NULL if there is none. */
const struct tt_call_rank *tt_calls_rank(const struct tt_calls *calls, int rank, int client);

enum { TT_CALLS_COUNT = 32 };
/* Returns the time from which the caller was blocked in the call; -1 if the caller was never
 * blocked, because it did other work until its nonblocking call was complete. */
static inline int64_t tt_calls_blocked_from(const struct tt_call_bar *bar)
{
    return bar->blocks ? bar->begin_ps : bar->blocked_ps;
}

/* Returns the text for a waiting time of 0: "0", or "nonblocking" if no caller was blocked. */
static inline const char *tt_calls_no_wait_text(bool blocked)
{
    return blocked ? "0" : "nonblocking";
}

/* Writes the amount of data: "n=131072" elements; or "1 MiB" if the trace has no number of
 * elements; or "" for a call without data. Returns text. */
char *tt_calls_count_text(const struct tt_call_bar *bar, char text[TT_CALLS_COUNT]);
/* Writes for example "allreduce n=131072 f64 sum" into text, of n bytes. Returns text. */
char *tt_calls_text(const struct tt_calls *calls, const struct tt_call_bar *bar, char *text,
                    size_t n);
/* Writes "execution 3", or "agreement 0" for tutti_team_agree and _shrink. Returns text. */
char *tt_calls_number_text(const struct tt_call_bar *bar, char text[TT_CALLS_COUNT]);
/* Returns the number that tt_calls_number_text writes. */
int64_t tt_calls_number(const struct tt_call_bar *bar);
/* Returns "" if the rank ended in an orderly way and its whole trace is there; "runs" if it still
 * runs; otherwise what happened to the rank or its trace, such as "died: signal 9 (Killed)". */
const char *tt_calls_end_text(const struct tt_call_rank *rank);
/* Returns the verb that a picture or table uses for the rank that is missing in a group: "has not
 * come" if the rank still runs, otherwise "never came". */
const char *tt_calls_missing_text(const struct tt_calls *calls, const struct tt_call_group *group);

/* ---- calls-summary.c ---- */

/* The sums over all executions on one team whose calls have the same collective, algorithm, type,
 * operation, root and bytes. tt_calls_shapes sorts them by the time that ranks waited, longest
 * first. */
struct tt_call_shape {
    const struct tt_call_bar *bar; /* one of the calls */
    int64_t n, begin_ps, shortest_ps, longest_ps, time_ps, waited_ps;
    bool blocked;   /* a caller was blocked in one of the calls */
    int32_t late;   /* the rank that came late most often */
    int64_t late_n; /* how often it came late */
};
struct tt_call_sample {
    const struct tt_call_group *group;
    const struct tt_call_bar *bar;
};
/* Sets *shape to an array of all shapes, and *n to their number. The caller frees the array by
 * tt_free. Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_calls_shapes(const struct tt_calls *calls, struct tt_call_shape **shape,
                             int64_t *n);
/* Sets found[] to the executions in which ranks waited longest, at most `most` of them. Returns how
 * many entries it has set. */
int64_t tt_calls_longest(const struct tt_calls *calls, int64_t most,
                         const struct tt_call_group **found);

/* tt_calls_lost describes what is missing in the trace ("" if nothing is). tt_calls_clocks
 * describes how the times of several clocks were converted to one clock. */
void tt_calls_lost(const struct tt_calls *calls, int ranks, char *text, size_t n);
void tt_calls_clocks(const struct tt_calls *calls, char *text, size_t n);

/* Prints as text how often each rank came late to calls, and where the time went. Only the first
 * `most` ranks and shapes are printed, and the others are counted. */
void tt_calls_summary(const struct tt_calls *calls, int ranks, int64_t whole_ps, int most,
                      FILE *out);

#endif
