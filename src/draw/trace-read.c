/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading traces: an array of events, or an object that has one as "traceEvents".
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "draw/trace-inside.h"
#include "plan/words.h"

static const int64_t most_bytes = INT64_C(1) << 56;
static const char rank_words[] = "a rank: a whole number from 0 to 1048575";

/* ---- Memory ---- */

bool tt_reading_no_memory(struct reading *r)
{
    r->status =
        tt_fail(TUTTI_ERR_MEMORY, "no memory for a trace of %" PRId64 " events", r->trace->events);
    return tt_json_expect(&r->json, r->json.at, "more memory");
}

bool tt_reading_grow(void **array, int64_t n, int64_t *room, size_t sz)
{
    enum { FIRST_ROOM = 256 };
    if (n < *room) return true;
    int64_t more = *room ? 2 * *room : FIRST_ROOM;
    void *grown = tt_realloc(*array, (size_t)more * sz);
    if (!grown) return false;
    *array = grown;
    *room = more;
    return true;
}

tutti_status tt_trace_seen(struct tt_trace *trace, int rank)
{
    if (!trace->seen) trace->seen = tt_calloc(TT_PROBLEM_RANKS / 8, 1);
    if (!trace->seen) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a trace");
    trace->seen[rank / 8] |= (uint8_t)(1 << rank % 8);
    trace->ranks = (int)tt_max(trace->ranks, rank + 1);
    return TUTTI_OK;
}

/* ---- Names of calls and algorithms ---- */

/* Its number; beyond TT_TRACE_NAMES all are "". */
static uint8_t number_of(struct tt_trace *trace, const char *name)
{
    for (int i = 0; i < trace->names; i++)
        if (strcmp(trace->name[i], name) == 0) return (uint8_t)i;
    if (trace->names == TT_TRACE_NAMES) return 0;
    memcpy(trace->name[trace->names], name, strnlen(name, 31) + 1);
    return (uint8_t)trace->names++;
}

bool tt_reading_word(struct reading *r, uint8_t *number)
{
    char name[32];
    if (!tt_json_text(&r->json, name, sizeof name)) return false;
    *number = number_of(r->trace, name);
    return true;
}

/* ---- One event ---- */

static bool argument(struct reading *r, const char *key)
{
    struct tt_json *json = &r->json;
    int64_t peer;
    if (strcmp(key, "bytes") == 0)
        return tt_json_whole(json, 0, most_bytes, "bytes: a whole number", &r->event.bytes);
    if (strcmp(key, "value") == 0)
        return tt_json_whole(json, 0, UINT32_MAX, "a whole number below 2^32", &r->value);
    if (strcmp(key, "execution") == 0)
        return tt_json_whole(json, 0, INT64_MAX / 16, "a whole number", &r->execution);
    if (strcmp(key, "call") == 0) return tt_reading_word(r, &r->event.call);
    if (strcmp(key, "algorithm") == 0) return tt_reading_word(r, &r->event.algorithm);
    if (strcmp(key, "peer") != 0) return tt_reading_argument(r, key);
    if (!tt_json_whole(json, -2, TT_PROBLEM_RANKS - 1, "a rank, or -1", &peer)) return false;
    r->event.peer = (int32_t)peer;
    r->has |= HAS_PEER;
    return true;
}

static bool arguments(struct reading *r)
{
    char key[32];
    int64_t n = 0;
    if (tt_json_peek(&r->json) != '{') return tt_json_skip(&r->json);
    while (tt_json_member(&r->json, &n, key, sizeof key))
        if (!argument(r, key)) return false;
    return !r->json.wrong_at;
}

static bool phase(struct reading *r)
{
    char text[8];
    const char *at = r->json.at;
    if (!tt_json_text(&r->json, text, sizeof text)) return false;
    r->phase = text[0];
    return strlen(text) == 1 || tt_json_expect(&r->json, at, "a phase: one letter, as \"X\"");
}

static bool category(struct reading *r)
{
    char text[8] = "";
    if (!tt_json_text(&r->json, text, sizeof text)) return false;
    r->is_call = strcmp(text, "call") == 0;
    return true;
}

static bool field(struct reading *r, const char *key)
{
    static const char time_words[] = "a time: microseconds, not negative";
    struct tt_json *json = &r->json;
    struct tt_trace_event *e = &r->event;
    tt_json_peek(json);
    if (strcmp(key, "name") == 0) {
        r->name_at = json->at;
        return tt_json_text(json, r->name, sizeof r->name);
    }
    if (strcmp(key, "ph") == 0) return phase(r);
    if (strcmp(key, "cat") == 0) return category(r);
    if (strcmp(key, "args") == 0) return arguments(r);
    if (strcmp(key, "pid") == 0) {
        r->has |= HAS_PID;
        return tt_json_whole(json, 0, TT_PROBLEM_RANKS - 1, rank_words, &r->pid);
    }
    if (strcmp(key, "tid") == 0)
        return tt_json_whole(json, 0, TT_LANES * TT_TRACE_TRACKS - 1,
                             "a lane: 8 times its track plus 0 to 7, below 512", &r->tid);
    if (strcmp(key, "ts") == 0) {
        r->has |= HAS_TS;
        return tt_json_millionths(json, time_words, &e->us, &e->ps);
    }
    if (strcmp(key, "dur") == 0) {
        r->has |= HAS_DUR;
        return tt_json_millionths(json, time_words, &e->dur_us, &e->dur_ps);
    }
    if (strcmp(key, "id") != 0) return tt_json_skip(json);
    r->has |= HAS_ID;
    return tt_json_whole(json, 0, INT64_MAX / 16, "a whole number", &r->id);
}

bool tt_reading_has(struct reading *r, unsigned wanted)
{
    static const char *const words[] = {"an event with a \"pid\"", "an event with a \"ts\"",
                                        "an event with a \"dur\"", "an event with an \"id\"",
                                        "an event with a \"peer\" among its \"args\""};
    for (unsigned i = 0; i < 5; i++)
        if (wanted & ~r->has & 1u << i) return tt_json_expect(&r->json, r->event_at, words[i]);
    return true;
}

/* Of a step, or of the two ways to reach another's memory. */
static bool kind_of_name(struct reading *r)
{
    int kind = tt_word_find(&tt_step_words, r->name, strlen(r->name));
    if (strcmp(r->name, "read") == 0) kind = TT_TRACE_READ;
    if (strcmp(r->name, "write") == 0) kind = TT_TRACE_WRITE;
    r->event.kind = (uint8_t)kind;
    if (kind >= TT_TRACE_READ || (kind >= 0 && kind <= TT_REDUCE)) return true;
    return tt_json_expect(&r->json, r->name_at ? r->name_at : r->event_at,
                          "an event named send, recv, put, get, wait, signal, await, copy, reduce, "
                          "read or write");
}

bool tt_reading_noted(struct reading *r, int rank)
{
    return tt_trace_seen(r->trace, rank) == TUTTI_OK || tt_reading_no_memory(r);
}

static bool add_step(struct reading *r)
{
    struct tt_trace *trace = r->trace;
    if (!tt_reading_has(r, HAS_PID | HAS_TS | HAS_DUR) || !kind_of_name(r) ||
        !tt_reading_noted(r, (int)r->pid))
        return false;
    if (trace->events == TT_TRACE_EVENTS) {
        trace->left_out++;
        return true;
    }
    if (!tt_reading_grow((void **)&trace->event, trace->events, &trace->event_room,
                         sizeof *trace->event))
        return tt_reading_no_memory(r);
    r->event.rank = (int32_t)r->pid;
    r->event.lane = (uint8_t)(r->tid % TT_LANES);
    r->event.track = (uint8_t)(r->tid / TT_LANES);
    if (!tt_reading_team(r, &r->event.team)) return false;
    r->event.value = (uint32_t)r->value;
    r->event.execution = (uint64_t)r->execution;
    trace->ranks = (int)tt_max(trace->ranks, r->event.peer + 1);
    trace->event[trace->events++] = r->event;
    return true;
}

static bool kind_of_flow(struct reading *r)
{
    static const char words[] = "a flow named send, put, get or signal";
    if (!kind_of_name(r)) return false;
    switch (r->event.kind) {
    case TT_SEND:
    case TT_PUT:
    case TT_GET:
    case TT_SIGNAL: return true;
    default: return tt_json_expect(&r->json, r->event_at, words);
    }
}

static bool add_flow(struct reading *r)
{
    struct tt_trace *trace = r->trace;
    bool ends = r->phase == 'f';
    if (!tt_reading_has(r, HAS_PID | HAS_TS | HAS_ID) || !tt_reading_noted(r, (int)r->pid))
        return false;
    if (!ends && (!tt_reading_has(r, HAS_PEER) || !kind_of_flow(r))) return false;
    if (trace->flows == 2 * TT_PICTURE_MOST) return true;
    if (!tt_reading_grow((void **)&trace->flow, trace->flows, &trace->flow_room,
                         sizeof *trace->flow))
        return tt_reading_no_memory(r);
    trace->ranks = (int)tt_max(trace->ranks, r->event.peer + 1);
    trace->flow[trace->flows++] =
        (struct tt_trace_flow){.id = r->id,
                               .us = r->has & HAS_AT ? r->at_us : r->event.us,
                               .ps = r->has & HAS_AT ? r->at_ps : r->event.ps,
                               .bytes = r->event.bytes,
                               .rank = (int32_t)r->pid,
                               .peer = r->event.peer,
                               .lane = (uint8_t)(r->tid % TT_LANES),
                               .kind = r->event.kind,
                               .ends = ends,
                               .place = (size_t)(r->event_at - r->json.begin)};
    return true;
}

static bool add_event(struct reading *r)
{
    switch (r->phase) {
    case 'X': return r->is_call ? tt_reading_call(r) : add_step(r);
    case 's':
    case 'f': return add_flow(r);
    case 'M': return tt_reading_meta(r);
    default: return true;
    }
}

static bool read_event(struct reading *r)
{
    char key[32];
    int64_t n = 0;
    tt_json_peek(&r->json);
    r->event = (struct tt_trace_event){.peer = -1};
    r->event_at = r->json.at;
    r->name_at = NULL;
    r->has = 0;
    r->phase = r->name[0] = '\0';
    r->pid = r->tid = r->id = r->value = r->execution = r->team = 0;
    r->is_call = false;
    r->call = (struct tt_trace_call){.root = -1, .n = -1};
    r->said = (struct said){.of = -1};
    while (tt_json_member(&r->json, &n, key, sizeof key))
        if (!field(r, key)) return false;
    if (r->json.wrong_at) return false;
    if (!r->phase) return tt_json_expect(&r->json, r->event_at, "an event with a \"ph\"");
    return add_event(r);
}

static bool read_events(struct reading *r)
{
    int64_t n = 0;
    while (tt_json_item(&r->json, &n)) {
        if (!read_event(r)) return false;
        r->found++;
    }
    return !r->json.wrong_at;
}

/* ---- What a whole trace is of ---- */

static bool read_small(struct tt_json *json, int most, int *value)
{
    int64_t read = 0;
    if (!tt_json_whole(json, 0, most, "a small number", &read)) return false;
    *value = (int)read;
    return true;
}

/* What only a run has. */
static bool read_run(struct tt_trace *t, struct tt_json *json, const char *key)
{
    const int64_t most = INT64_MAX / 4;
    if (strcmp(key, "clocks") == 0) return read_small(json, TT_TRACE_CLOCKS, &t->whole_clocks);
    if (strcmp(key, "clock_error_ps") == 0)
        return tt_json_whole(json, -1, most, "picoseconds", &t->clock_error_ps);
    if (strcmp(key, "calls_left_out") == 0)
        return tt_json_whole(json, 0, most, "a whole number", &t->calls_left_out);
    return tt_json_skip(json);
}

static bool read_other(struct reading *r, const char *key)
{
    struct tt_trace *t = r->trace;
    struct tt_json *json = &r->json;
    const int64_t most = INT64_MAX / 4;
    char text[32];
    int64_t ranks;
    tt_json_peek(json);
    const char *at = json->at;
    if (strcmp(key, "problem") == 0) return tt_json_text(json, t->problem, sizeof t->problem);
    if (strcmp(key, "algorithm") == 0) return tt_json_text(json, t->algorithm, sizeof t->algorithm);
    if (strcmp(key, "model") == 0) return tt_json_text(json, t->model, sizeof t->model);
    if (strcmp(key, "time_ps") == 0)
        return tt_json_whole(json, 0, most, "picoseconds", &t->time_ps);
    if (strcmp(key, "deeds_left_out") == 0)
        return tt_json_whole(json, 0, most, "a whole number", &t->deeds_left_out);
    if (strcmp(key, "trips_left_out") == 0)
        return tt_json_whole(json, 0, most, "a whole number", &t->trips_left_out);
    if (strcmp(key, "tutti") == 0) {
        t->whole = true;
        if (!tt_json_text(json, text, sizeof text)) return false;
        return strcmp(text, "trace 1") == 0 || tt_json_expect(json, at, "\"trace 1\"");
    }
    if (strcmp(key, "source") == 0) {
        if (!tt_json_text(json, text, sizeof text)) return false;
        t->run = strcmp(text, "run") == 0;
        return t->run || strcmp(text, "simulation") == 0 ||
               tt_json_expect(json, at, "\"simulation\" or \"run\"");
    }
    if (strcmp(key, "ranks") != 0) return read_run(t, json, key);
    if (!tt_json_whole(json, 1, TT_PROBLEM_RANKS, "a number of ranks", &ranks)) return false;
    t->ranks = (int)tt_max(t->ranks, ranks);
    return true;
}

static bool read_others(struct reading *r)
{
    char key[32];
    int64_t n = 0;
    if (tt_json_peek(&r->json) != '{') return tt_json_skip(&r->json);
    while (tt_json_member(&r->json, &n, key, sizeof key))
        if (!read_other(r, key)) return false;
    return !r->json.wrong_at;
}

static bool read_object(struct reading *r)
{
    char key[32];
    int64_t n = 0;
    bool events = false;
    const char *begin = r->json.at;
    while (tt_json_member(&r->json, &n, key, sizeof key)) {
        bool is_events = strcmp(key, "traceEvents") == 0;
        bool good = is_events                       ? read_events(r)
                    : strcmp(key, "otherData") == 0 ? read_others(r)
                                                    : tt_json_skip(&r->json);
        if (!good) return false;
        events |= is_events;
    }
    if (r->json.wrong_at) return false;
    return events || tt_json_expect(&r->json, begin, "an object with \"traceEvents\"");
}

/* ---- Flows ---- */

static int by_id(const void *a, const void *b)
{
    const struct tt_trace_flow *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return (int)x->ends - (int)y->ends;
}

/* Each that begins ends once, and where it said. */
static bool flows_meet(struct reading *r)
{
    struct tt_trace *t = r->trace;
    if (t->flows) qsort(t->flow, (size_t)t->flows, sizeof *t->flow, by_id);
    for (int64_t i = 0; i < t->flows; i += 2) {
        const struct tt_trace_flow *from = &t->flow[i], *to = from + 1;
        bool meet = i + 1 < t->flows && from->id == to->id && !from->ends && to->ends &&
                    from->peer == to->rank;
        if (!meet)
            return tt_json_expect(
                &r->json, r->json.begin + from->place,
                "a flow of which there is one beginning and one end, at its peer");
        if (to->us < from->us || (to->us == from->us && to->ps < from->ps))
            return tt_json_expect(&r->json, r->json.begin + to->place,
                                  "an end after the beginning");
    }
    return true;
}

/* ---- The whole text ---- */

/* An array of which the end is missing, behind an event at least: its rank was killed, or its disk
 * was full. What was read of it stands. */
static bool is_cut(struct reading *r)
{
    const struct tt_json *json = &r->json;
    if (json->wrong_at != json->end || r->found == 0 || r->status == TUTTI_ERR_MEMORY) return false;
    tt_reading_cut(r);
    return true;
}

static bool read_text(struct reading *r)
{
    char c = tt_json_peek(&r->json);
    if (c != '[' && c != '{')
        return tt_json_expect(&r->json, r->json.at, "a trace: an array of events, or an object");
    if (!(c == '[' ? read_events(r) : read_object(r))) return c == '[' && is_cut(r);
    tt_json_peek(&r->json);
    if (r->json.at < r->json.end) return tt_json_expect(&r->json, r->json.at, "nothing more");
    if (r->trace->whole && r->trace->files > 0)
        return tt_json_expect(&r->json, r->json.begin, "the only file: it is a whole trace");
    return r->trace->whole ? flows_meet(r) : true;
}

static void explain(struct reading *r, struct tt_trace_error *error)
{
    const struct tt_json *json = &r->json;
    tt_json_place(json, json->wrong_at, &error->line, &error->column);
    snprintf(error->text, sizeof error->text, "%s%s expected",
             json->wrong_at >= json->end ? "the text ends here; " : "", json->expected);
}

void tt_trace_begin(struct tt_trace *trace)
{
    *trace = (struct tt_trace){.names = 1};
}

tutti_status tt_trace_add(struct tt_trace *trace, const char *text, size_t n,
                          struct tt_trace_error *error)
{
    struct reading r = {.trace = trace, .status = TUTTI_ERR_ARG, .own = -1};
    memset(r.team_of, 0xff, sizeof r.team_of);
    *error = (struct tt_trace_error){.line = 0};
    tt_json_begin(&r.json, text, n);
    bool good = trace->whole
                    ? tt_json_expect(&r.json, text, "no file beside that of a whole trace:")
                    : read_text(&r);
    trace->files++;
    if (good) return TUTTI_OK;
    explain(&r, error);
    if (r.status == TUTTI_ERR_MEMORY) return r.status;
    return tt_fail(TUTTI_ERR_ARG, "line %d, column %d: %s", error->line, error->column,
                   error->text);
}

void tt_trace_free(struct tt_trace *trace)
{
    tt_free(trace->event);
    tt_free(trace->flow);
    tt_free(trace->call);
    tt_free(trace->rank);
    tt_free(trace->team);
    tt_free(trace->seen);
    *trace = (struct tt_trace){.names = 0};
}
