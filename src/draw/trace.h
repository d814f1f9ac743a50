/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traces, as TUTTI_TRACE lets each rank of a real run write one, and as tt_picture_trace writes a
 * whole picture: Chrome's trace event format. They come from files that may be cut, damaged or
 * somebody else's, so every field is checked; what is wrong is told with its place.
 *
 *     begin, add the text of each file, end  ->  a picture
 *
 * A rank that was killed has left an array that does not say "ended"; one whose file is cut lacks
 * what came after the last whole event. Both are taken as they are, and so is a run of which some
 * ranks' files are missing, if it has calls: the picture says so.
 *
 * Of a real run, what went from whom to whom is found by matching: the k-th send of a rank to
 * another in an execution and lane with the k-th receive there, an await with the first signal of
 * its rank that has reached the value, a put or get with its own peer, and what a copy or reduction
 * reads of another's memory with that.
 */
#ifndef TT_DRAW_TRACE_H
#define TT_DRAW_TRACE_H

#include "draw/picture.h"

/* line and column from 1; 0 where no place is at fault. */
struct tt_trace_error {
    int line, column;
    char text[200];
};

enum { TT_TRACE_EVENTS = 1 << 22, TT_TRACE_NAMES = 64 };

/* Times are in microseconds, and picoseconds beyond them. */
struct tt_trace_event {
    int64_t us, dur_us, bytes;
    uint64_t execution;
    int32_t ps, dur_ps;
    int32_t rank, peer;
    uint32_t value;
    uint16_t team;
    uint8_t lane, track, kind, call, algorithm; /* kind: enum tt_kind, or one of the following */
};
enum { TT_TRACE_READ = 64, TT_TRACE_WRITE };

/* What goes from rank to rank, as it is written by tt_picture_trace: a beginning, an end. */
struct tt_trace_flow {
    int64_t id, us, bytes;
    int32_t ps, rank, peer;
    uint8_t lane, kind;
    bool ends;
    size_t place;
};

/* A collective that a rank called; dur: until it ended or, `open`, until the rank was seen last. */
struct tt_trace_call {
    int64_t us, dur_us, blocked_us, bytes, n; /* blocked: when its caller began to wait */
    uint64_t execution;
    int32_t ps, dur_ps, blocked_ps;
    int32_t rank, root; /* in the job; -1: none */
    uint16_t team;
    uint8_t coll, algorithm, type, op, track, status;
    bool blocks, open, blocked;
};

/* What a rank says of itself, and others of it. */
struct tt_trace_rank {
    int32_t rank, client, node, pid, lost_steps, lost_calls;
    int64_t wall_ns, last_us; /* last: when it was seen */
    int32_t last_ps, clock;   /* clock: which of the trace's */
    bool said, ended, cut;    /* said: it has a file */
    char host[64], fate[64];
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
    struct tt_trace_rank *rank; /* in no order; several of a rank, by client */
    int64_t said, rank_room;
    struct tt_trace_team *team;
    int64_t teams, team_room;
    int clocks;
    char clock[TT_TRACE_CLOCKS][40];
    int64_t clock_error_ps; /* of the worst, where there are several; -1: by the time of day */
    int whole_clocks;       /* of a whole trace: how many were put together */
    uint8_t *seen;          /* bits: ranks that there is something of */
    int ranks;              /* the highest rank that was named, + 1 */
    int files;
    int64_t run_id;  /* of the run that all files are of; 0: not told yet */
    bool whole, run; /* whole: written by tt_picture_trace */
    int64_t time_ps, deeds_left_out, trips_left_out;
    char problem[TT_PROBLEM_TEXT], algorithm[64], model[16];
    int names;
    char name[TT_TRACE_NAMES][32]; /* of calls and algorithms; the first is "" */
};

void tt_trace_begin(struct tt_trace *trace);
/* ARG with *error filled in; MEMORY. */
tutti_status tt_trace_add(struct tt_trace *trace, const char *text, size_t n,
                          struct tt_trace_error *error);
/* There is a trace of this rank, even if nothing is in it. MEMORY. */
tutti_status tt_trace_seen(struct tt_trace *trace, int rank);
/* The picture of one execution, or of all (-1), to be freed by the caller. ARG: there are no
 * events, or of some ranks none and no calls, or no such execution; MEMORY. */
tutti_status tt_trace_end(struct tt_trace *trace, int64_t execution, struct tt_picture *picture);
void tt_trace_free(struct tt_trace *trace);

/* All of these at once, of one text. */
tutti_status tt_trace_read(struct tt_picture *picture, const char *text, size_t n,
                           struct tt_trace_error *error);

/* ---- trace-clock.c ---- */

/* Puts the times of ranks with several clocks on that of the first rank. MEMORY. */
tutti_status tt_trace_align(struct tt_trace *trace);

/* ---- trace-calls.c ---- */

/* Calls, teams and ranks of one execution, or all. MEMORY. */
tutti_status tt_trace_fill_calls(const struct tt_trace *trace, int64_t execution,
                                 struct tt_picture *picture);

/* ---- trace-match.c ---- */

/* When the first step or call of a run begins. */
void tt_trace_base(const struct tt_trace *trace, int64_t execution, int64_t *us, int64_t *ps);

/* Steps and messages of a real run. base_us: when it begins. MEMORY. */
tutti_status tt_trace_match(const struct tt_trace *trace, int64_t execution,
                            struct tt_picture *picture);

#endif
