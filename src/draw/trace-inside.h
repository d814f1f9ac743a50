/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the readers of traces share: trace-read.c reads steps, flows and the whole, trace-read-run.c
 * what only a run has: calls, teams, and what its ranks say of themselves.
 *
 */
#ifndef TT_DRAW_TRACE_INSIDE_H
#define TT_DRAW_TRACE_INSIDE_H

#include "draw/json-read.h"
#include "draw/trace.h"

enum { TT_TRACE_TRACKS = 64, TT_TRACE_LOCAL_TEAMS = 4096 };

/* Bits of `has`: what an event must have. */
enum { HAS_PID = 1, HAS_TS = 2, HAS_DUR = 4, HAS_ID = 8, HAS_PEER = 16, HAS_AT = 32 };

/* The arguments of an event that tells of a rank, a team or another rank's end; -1 or "": not
 * said. */
struct said {
    int64_t run, ranks, client, node, pid, wall_ns, last_us, ended, lost_steps, lost_calls, cut,
        silent;
    int64_t size, of;
    int32_t last_ps;
    bool has_client, has_ended, has_wall;
    char id[24], host[64], clock[40], fate[64];
};

/* An event as it stands there. */
struct reading {
    struct tt_trace *trace;
    struct tt_json json;
    tutti_status status;
    const char *event_at, *name_at;
    unsigned has;
    bool is_call;
    char phase, name[32];
    int64_t pid, tid, id, value, execution, team;
    int64_t at_us; /* of a flow that holds on to a step of another time */
    int32_t at_ps;
    int64_t found, own; /* events; the file's own entry among the ranks, -1: none */
    struct tt_trace_event event;
    struct tt_trace_call call;
    struct said said;
    uint16_t team_of[TT_TRACE_LOCAL_TEAMS]; /* the trace's team; 65535: none yet */
};

/* ---- trace-read.c: false, having said what was expected ---- */

bool tt_reading_no_memory(struct reading *r);
bool tt_reading_grow(void **array, int64_t n, int64_t *room, size_t sz);
bool tt_reading_word(struct reading *r, uint8_t *number);
bool tt_reading_noted(struct reading *r, int rank);
bool tt_reading_has(struct reading *r, unsigned wanted);

/* ---- trace-read-run.c: likewise ---- */

/* An argument that steps do not have. */
bool tt_reading_argument(struct reading *r, const char *key);
bool tt_reading_call(struct reading *r);
bool tt_reading_meta(struct reading *r);
/* The trace's number of the team that the event names. */
bool tt_reading_team(struct reading *r, uint16_t *team);
/* The file ends too early. */
void tt_reading_cut(struct reading *r);

#endif
