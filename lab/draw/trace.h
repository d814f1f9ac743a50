/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads traces in Chrome's trace event format. With TUTTI_TRACE each rank of a real run writes a
 * trace, and tt_picture_trace writes a whole picture as a trace. The files may be cut, damaged or
 * written by another program. So every field is checked, and errors are reported with their place.
 *
 *     tt_trace_begin; tt_trace_add for each file; tt_trace_end, which makes the picture
 *
 * A rank that was killed leaves a trace that does not say "ended". A file that is cut ends
 * somewhere, and its events are read up to the last whole one. Neither is an error. A run that has
 * calls is read even if the files of some ranks are missing; the picture says so.
 *
 * The messages of a real run are found by matching. In each execution and lane, the k-th send of
 * rank a to rank b belongs to the k-th receive of rank b from rank a. An await belongs to the first
 * signal of the awaited lane whose value is high enough. A put or get names its peer, and so does
 * each read of another rank's memory in a copy or reduction.
 */
#ifndef TT_DRAW_TRACE_H
#define TT_DRAW_TRACE_H

#include "draw/picture.h"

/* An error in a trace. line and column count from 1, and are 0 if the error has no place. */
struct tt_trace_error {
    int line, column;
    char text[200];
};

enum { TT_TRACE_EVENTS = 1 << 22, TT_TRACE_NAMES = 64 };

/* The latest time in a picture, counted from its beginning, in microseconds (50 days) and in
 * picoseconds, so that every time in picoseconds fits in 63 bits. */
#define TT_TRACE_MOST_US (INT64_C(1) << 42)
#define TT_TRACE_MOST_PS ((TT_TRACE_MOST_US + 1) * 1000000)

/* A step, or a read or write of another rank's memory. Its begin is `us` microseconds plus `ps`
 * picoseconds, and its duration is `dur_us` microseconds plus `dur_ps` picoseconds. */
struct tt_trace_event {
    int64_t us, dur_us, bytes;
    uint64_t execution;
    int32_t ps, dur_ps;
    int32_t rank, peer;
    uint32_t value;
    uint16_t team;
    /* kind: an enum tt_kind, or TT_TRACE_READ or TT_TRACE_WRITE */
    uint8_t lane, track, kind, call, algorithm;
};
enum { TT_TRACE_READ = 64, TT_TRACE_WRITE };

/* One end of a message, as tt_picture_trace writes it. */
struct tt_trace_flow {
    int64_t id, us, bytes;
    int32_t ps, rank, peer;
    uint8_t lane, kind;
    bool ends;
    size_t place;
};

/* A collective that a rank called. dur_us and dur_ps are the time until the call ended or, if the
 * call is `open`, until the last time at which the rank still ran, as its trace shows. */
struct tt_trace_call {
    /* blocked_us: when the caller of a nonblocking call began to wait */
    int64_t us, dur_us, blocked_us, bytes, n;
    uint64_t execution;
    int32_t ps, dur_ps, blocked_ps;
    int32_t rank, root; /* root: the rank of the root in the job; -1 if the call has no root */
    uint16_t team;
    uint8_t coll, algorithm, type, op, track, status;
    bool blocks, open, blocked;
};

/* The facts that a rank's own trace and the traces of other ranks report about the rank. */
struct tt_trace_rank {
    int32_t rank, client, node, pid, lost_steps, lost_calls;
    /* last_us, last_ps: the last time at which the rank still ran, as its trace shows */
    int64_t wall_ns, last_us;
    int32_t last_ps, clock; /* clock: index into tt_trace.clock[] */
    /* said: the rank has a trace; ended: the trace says that the rank ended in an orderly way;
     * runs: the rank still ran when its trace was read; cut: the file of its trace is cut */
    bool said, ended, runs, cut;
    char host[64], rank_status[64];
};

struct tt_trace_team {
    uint64_t id;
    int32_t client, size;
};

enum { TT_TRACE_TEAMS = 4096, TT_TRACE_CLOCKS = 64 };

struct tt_trace {
    struct tt_trace_event *event;
    int64_t events, event_room, left_out;
    struct tt_trace_flow *flow;
    int64_t flows, flow_room;
    struct tt_trace_call *call;
    int64_t calls, call_room, calls_left_out;
    struct tt_trace_rank *rank; /* not sorted; a rank has one entry for each client */
    int64_t said, rank_room;
    struct tt_trace_team *team;
    int64_t teams, team_room;
    int clocks;
    char clock[TT_TRACE_CLOCKS][40];
    /* the largest error of the conversion of clocks; -1 if a clock could only be converted by the
     * time of day */
    int64_t clock_error_ps;
    /* in a trace of a whole picture: how many different clocks (of hosts) the ranks of the drawn
     * run had, as the file says. `clocks` counts the clocks that the files themselves name. */
    int whole_clocks;
    uint8_t *seen; /* bit mask of the ranks that occur in the trace */
    int ranks;     /* the highest rank that occurs, plus 1 */
    int files;
    int64_t run_id; /* the id of the run to which all files belong; 0 if it is not known yet */
    /* whole: the trace was written by tt_picture_trace and contains a whole picture; run: that
     * picture shows a real run */
    bool whole, run;
    int64_t time_ps, steps_left_out, messages_left_out;
    char problem[TT_PROBLEM_TEXT], algorithm[64], model[16];
    int names;
    char name[TT_TRACE_NAMES]
             [32]; /* names of calls, algorithms, types, operations; the first is "" */
};

void tt_trace_begin(struct tt_trace *trace);
/* Adds the text of a file. Returns TUTTI_OK; ERR_ARG with *error filled in; ERR_MEMORY. */
tutti_status tt_trace_add(struct tt_trace *trace, const char *text, size_t n,
                          struct tt_trace_error *error);
/* Records that there is a trace of this rank, even if nothing is in it. Returns TUTTI_OK or
 * ERR_MEMORY. */
tutti_status tt_trace_seen(struct tt_trace *trace, int rank);
/* Makes the picture of one execution, or of all executions if `execution` is -1. The caller frees
 * the picture. Returns TUTTI_OK; ERR_ARG if the trace has no events, if some ranks have no events
 * and the trace has no calls, or if there is no such execution; or ERR_MEMORY. */
tutti_status tt_trace_end(struct tt_trace *trace, int64_t execution, struct tt_picture *picture);
void tt_trace_free(struct tt_trace *trace);

/* Makes the picture of all executions from a single text, with the functions above. */
tutti_status tt_trace_read(struct tt_picture *picture, const char *text, size_t n,
                           struct tt_trace_error *error);

/* ---- trace-clock.c ---- */

/* Converts the times of ranks with several clocks to one clock. Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_trace_align(struct tt_trace *trace);

/* ---- trace-calls.c ---- */

/* Fills in the calls, teams and ranks of one execution, or of all executions if `execution` is -1.
 * Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_trace_fill_calls(const struct tt_trace *trace, int64_t execution,
                                 struct tt_picture *picture);

/* ---- trace-match.c ---- */

/* Sets *us to the whole microseconds, and *ps to the picoseconds beyond them, of the time at which
 * the first step or call of the execution begins; if `execution` is -1, the first of all
 * executions. */
void tt_trace_base(const struct tt_trace *trace, int64_t execution, int64_t *us, int64_t *ps);

/* Fills in the steps and messages of a real run. Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_trace_match(const struct tt_trace *trace, int64_t execution,
                            struct tt_picture *picture);

#endif
