/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives that the ranks of a real run called, as plain data, and which ranks came late to
 * them.
 *
 * Seen from outside, a rank that was blocked in a call until some time waited for the last of the
 * ranks that had entered the call by then. It cannot have waited for a rank that entered later. So
 * for a call of rank r:
 *
 *     late(r)    the member of the team that entered last among those that entered before r left
 *     waited(r)  the time from when r was blocked until late(r) entered; 0 if late(r) came first
 *
 * If a member never comes although others do, the others wait for it until they give up. waited(r)
 * is an upper bound of the time that r waited for other ranks to come. It does not contain the time
 * of the work itself.
 */
#ifndef TT_DRAW_CALLS_H
#define TT_DRAW_CALLS_H

#include <stdio.h>

#include "base/base.h"

enum { TT_CALLS_NAME = 32 };

struct tt_call_bar {
    int32_t rank, root;                                        /* root: in the job; -1: none */
    int32_t team, group;                                       /* group: index of its execution */
    int64_t execution, begin_ps, blocked_ps, end_ps, bytes, n; /* blocked_ps, n: -1: not known */
    uint8_t coll, algorithm, type, op, track, status;          /* coll to op: index in name[] */
    bool blocks, open; /* open: the call did not end; end_ps is when the rank was last seen */
    /* ---- set by tt_calls_end */
    int32_t late;
    int64_t waited_ps;
};

/* One execution: the calls of all its ranks. */
struct tt_call_group {
    int64_t first, n;                              /* range in bar[], in rank order */
    int64_t begin_ps, end_ps, waited_ps, worst_ps; /* waited_ps: by all ranks; worst_ps: by one */
    int64_t shortest_ps, median_ps, longest_ps;    /* the times that the ranks spent in the call */
    /* the rank for which the others waited longest in all; if they waited for nobody, the one that
     * came last; or the first one that never came */
    int32_t late;
    int64_t late_ps; /* how much later `late` came than the rank before it; 0 if alone */
    bool open;       /* a rank did not come out of the call */
    bool missing;    /* `late` never came */
    bool blocked;    /* a caller was blocked in the call, or until it was complete */
};

struct tt_call_rank {
    int32_t rank, client, node, pid;
    int64_t last_ps; /* when the rank was last seen */
    int32_t lost_steps, lost_calls;
    bool said, ended, runs, cut; /* as in struct tt_trace_rank */
    char host[64], rank_status[64];
    /* ---- set by tt_calls_end */
    /* the time that the rank was in calls, the part of it that the rank waited, and the time that
     * other ranks waited for this one */
    int64_t in_ps, waited_ps, caused_ps;
    int64_t calls, came_late;
};

struct tt_call_team {
    uint64_t id;
    int32_t client, size;
    /* ---- set by tt_calls_end */
    char label[48];  /* such as "world" or "ranks 0, 2" */
    int64_t largest; /* the group with most of the team's members */
};

/* Invariants after tt_calls_end (tt_calls_valid): bars are ordered by group, then rank; groups
 * by their begin; ranks by rank, then client. */
struct tt_calls {
    struct tt_call_bar *bar;
    struct tt_call_group *group;
    struct tt_call_rank *rank;
    struct tt_call_team *team;
    int64_t bars, groups, ranks, teams, left_out;
    int names;
    char (*name)[TT_CALLS_NAME];
    int clocks; /* number of clocks of the ranks; their times are converted to one clock */
    int64_t clock_error_ps; /* the error of that conversion; -1: it uses the time of day */
};

bool tt_calls_valid(const struct tt_calls *calls);

/* Groups and orders the bars and computes what is marked as set by tt_calls_end. Returns TUTTI_OK
 * or ERR_MEMORY. */
tutti_status tt_calls_end(struct tt_calls *calls);
void tt_calls_free(struct tt_calls *calls);
/* Returns what the trace says of a rank; NULL: nothing. */
const struct tt_call_rank *tt_calls_rank(const struct tt_calls *calls, int rank, int client);

enum { TT_CALLS_COUNT = 32 };
/* Returns the time from which the caller was blocked; -1: it never was, because it did other things
 * until its call was complete. */
static inline int64_t tt_calls_blocked_from(const struct tt_call_bar *bar)
{
    return bar->blocks ? bar->begin_ps : bar->blocked_ps;
}

/* Returns the text for a waiting time of 0. */
static inline const char *tt_calls_no_wait_text(bool blocked)
{
    return blocked ? "0" : "nonblocking";
}

/* Writes "n=131072"; or "1 MiB" if the trace has no number of elements; or "" for a call without
 * data. Returns text. */
char *tt_calls_count_text(const struct tt_call_bar *bar, char text[TT_CALLS_COUNT]);
/* Writes for example "allreduce n=131072 f64 sum" into text, of n bytes. Returns text. */
char *tt_calls_text(const struct tt_calls *calls, const struct tt_call_bar *bar, char *text,
                    size_t n);
/* Writes "execution 3", or "agreement 0" for tutti_team_agree and _shrink. Returns text. */
char *tt_calls_number_text(const struct tt_call_bar *bar, char text[TT_CALLS_COUNT]);
/* The number of the execution or agreement. */
int64_t tt_calls_number(const struct tt_call_bar *bar);
/* Returns why a rank did not end in an orderly way, such as "died: signal 9 (Killed)"; "" if it
 * did. */
const char *tt_calls_end_text(const struct tt_call_rank *rank);
/* Returns what to say of the rank that is missing in a group: it "never came", or, if it runs, it
 * "has not come". */
const char *tt_calls_missing_text(const struct tt_calls *calls, const struct tt_call_group *group);

/* ---- calls-summary.c ---- */

/* Executions of one team with the same call. Shapes are ordered by the time that ranks waited, most
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
/* The caller frees *shape by tt_free. Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_calls_shapes(const struct tt_calls *calls, struct tt_call_shape **shape,
                             int64_t *n);
/* Sets `found` to the `most` executions in which ranks waited longest. Returns how many there
 * are. */
int64_t tt_calls_longest(const struct tt_calls *calls, int64_t most,
                         const struct tt_call_group **found);

/* Describe what is missing in the trace ("" if nothing is), and how its clocks were converted to
 * one. */
void tt_calls_lost(const struct tt_calls *calls, int ranks, char *text, size_t n);
void tt_calls_clocks(const struct tt_calls *calls, char *text, size_t n);

/* Prints for a terminal which rank was late how often, and where the time went. Ranks and kinds of
 * calls beyond `most` are only counted. */
void tt_calls_summary(const struct tt_calls *calls, int ranks, int64_t whole_ps, int most,
                      FILE *out);

#endif
