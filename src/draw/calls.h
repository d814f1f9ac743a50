/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives that the ranks of a real run called, as plain data, and who came late to them.
 *
 * A rank that is blocked in a call until a time waits, as seen from outside, for the last of those
 * who had come by then: nobody who came after it was through can have been waited for. So of a call
 * of rank r,
 *
 *     late(r)    the rank that began last among those of the team that began before r was through
 *     waited(r)  from when r was blocked until late(r) began; 0 where that was before
 *
 * A member that never came, though others did, is waited for until they give up. This is the most
 * that r can have waited for its peers to come; what the work itself took is not in it.
 *
 */
#ifndef TT_DRAW_CALLS_H
#define TT_DRAW_CALLS_H

#include <stdio.h>

#include "base/base.h"

enum { TT_CALLS_NAME = 32 };

struct tt_call_bar {
    int32_t rank, root;                                        /* root: in the job; -1: none */
    int32_t team, group;                                       /* group: of the same execution */
    int64_t execution, begin_ps, blocked_ps, end_ps, bytes, n; /* blocked_ps, n: -1: not known */
    uint8_t coll, algorithm, type, op, track, status;          /* names; "" is 0 */
    bool blocks, open; /* open: end_ps is only when the rank was seen last */
    /* ---- found by tt_calls_end */
    int32_t late;
    int64_t waited_ps;
};

/* One execution, of all its ranks. */
struct tt_call_group {
    int64_t first, n;                              /* bars, in the order of ranks */
    int64_t begin_ps, end_ps, waited_ps, worst_ps; /* from first to last; in all; of one rank */
    int64_t shortest_ps, median_ps, longest_ps;    /* how long the ranks were in it */
    int64_t late_ps; /* how much later the last came than the last but one, or than it alone: 0 */
    int32_t late;    /* who came last; of those that never came the first */
    bool open;       /* somebody did not come out */
    bool missing;    /* `late` never came */
};

struct tt_call_rank {
    int32_t rank, client, node, pid;
    int64_t last_ps; /* when it was seen last */
    int32_t lost_steps, lost_calls;
    bool said, ended, cut;
    char host[64], fate[64];
    /* ---- found by tt_calls_end */
    int64_t in_ps, waited_ps,
        caused_ps; /* in calls; waiting there; how long others waited for it */
    int64_t calls, came_last;
};

struct tt_call_team {
    uint64_t id;
    int32_t client, size;
    /* ---- found by tt_calls_end */
    char label[48];  /* "world", "ranks 0, 2" */
    int64_t largest; /* the group with most of its members */
};

/* Invariants after tt_calls_end: bars are in the order of group, then rank; groups in that of
 * their begin; ranks in that of rank, then client. */
struct tt_calls {
    struct tt_call_bar *bar;
    struct tt_call_group *group;
    struct tt_call_rank *rank;
    struct tt_call_team *team;
    int64_t bars, groups, ranks, teams, left_out;
    int names;
    char (*name)[TT_CALLS_NAME];
    int clocks; /* that the ranks had; with more than one their times were put together ... */
    int64_t clock_error_ps; /* ... so well; -1: by the time of day */
};

/* Fills in what is found. MEMORY. */
tutti_status tt_calls_end(struct tt_calls *calls);
void tt_calls_free(struct tt_calls *calls);
/* What a rank said; NULL: nothing. */
const struct tt_call_rank *tt_calls_rank(const struct tt_calls *calls, int rank, int client);

enum { TT_CALLS_COUNT = 32 };
/* "n=131072", or "1 MiB" where the trace tells no number of elements; "" of a call without data.
 * Returns it. */
char *tt_calls_count_text(const struct tt_call_bar *bar, char text[TT_CALLS_COUNT]);
/* "allreduce n=131072 f64 sum", of n bytes; returns it. */
char *tt_calls_text(const struct tt_calls *calls, const struct tt_call_bar *bar, char *text,
                    size_t n);
/* What became of a rank that did not come to an orderly end, as "died: signal 9 (Killed)"; ""
 * where it did. */
const char *tt_calls_end_text(const struct tt_call_rank *rank);

/* ---- calls-summary.c ---- */

/* Executions of the same team that are alike, those in which ranks waited most first. */
struct tt_call_shape {
    const struct tt_call_bar *bar; /* one of them */
    int64_t n, begin_ps, shortest_ps, longest_ps, time_ps, waited_ps;
    int32_t late;   /* who came last most often, ... */
    int64_t late_n; /* ... so often */
};
struct tt_call_sample {
    const struct tt_call_group *group;
    const struct tt_call_bar *bar;
};
/* To be freed by tt_free. MEMORY. */
tutti_status tt_calls_shapes(const struct tt_calls *calls, struct tt_call_shape **shape,
                             int64_t *n);
/* The `most` executions in which ranks waited longest; returns how many there are. */
int64_t tt_calls_longest(const struct tt_calls *calls, int64_t most,
                         const struct tt_call_group **found);

/* What is missing, "" if nothing is; how the clocks go together. */
void tt_calls_lost(const struct tt_calls *calls, int ranks, char *text, size_t n);
void tt_calls_clocks(const struct tt_calls *calls, char *text, size_t n);

/* Who was late how often, and where the time went, for a terminal; ranks and kinds of calls beyond
 * `most` are counted. */
void tt_calls_summary(const struct tt_calls *calls, int ranks, int64_t whole_ps, int most,
                      FILE *out);

#endif
