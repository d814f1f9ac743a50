/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads traces. A trace is an array of events, or an object that has such an array as
 * "traceEvents".
 */
#include "draw/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "draw/json-read.h"
#include "plan/words.h"

enum { TRACKS = 64, LOCAL_TEAMS = 4096 };

/* The bits of reading.has, which say which fields were found in the current event. */
enum { HAS_PID = 1, HAS_TS = 2, HAS_DUR = 4, HAS_ID = 8, HAS_PEER = 16, HAS_AT = 32 };

/* The arguments of an event that describes a rank, a team, or how another rank ended. An argument
 * that the event does not have is -1 or "". */
struct said {
    int64_t run, ranks, client, node, pid, wall_ns, last_us, ended, runs, lost_steps, lost_calls,
        cut, silent;
    int64_t size, of;
    int32_t last_ps;
    bool has_client, has_ended, has_wall;
    char id[24], host[64], clock[40], rank_status[64];
};

/* The state of reading one file, and its current event. */
struct reading {
    struct tt_trace *trace;
    struct tt_json json;
    tutti_status status;
    const char *event_at, *name_at;
    unsigned has;
    bool is_call;
    char phase, name[32];
    int64_t pid, tid, id, value, execution, team;
    /* the true time of one end of a message, if the file attaches that end to a step at another
     * time */
    int64_t at_us;
    int32_t at_ps;
    /* found: the number of events so far; own: the index in trace->rank[] of the rank that wrote
     * the file, or -1 if it is not known */
    int64_t found, own;
    struct tt_trace_event event;
    struct tt_trace_call call;
    struct said said;
    /* for each number by which this file names a team: the index in trace->team[]; 65535 if it is
     * not known yet */
    uint16_t team_of[LOCAL_TEAMS];
};

/* A function of this file that returns bool records the first error and returns false after it. */
static bool no_memory(struct reading *r);
static bool grow(void **array, int64_t n, int64_t *room, size_t sz);
static bool word(struct reading *r, uint8_t *number);
static bool reading_has(struct reading *r, unsigned wanted);
static bool noted(struct reading *r, int rank);

/* ---- The parts that only the trace of a real run has ---- */

/* This section reads what only the trace of a real run has: calls, teams, and what ranks report
 * about themselves. */

static const int64_t most_whole = INT64_MAX / 16;

/* ---- Arguments ---- */

static bool whole(struct reading *r, int64_t most, int64_t *value)
{
    return tt_json_whole(&r->json, 0, most, "a whole number", value);
}

static bool flag(struct reading *r, bool *flag)
{
    int64_t value = 0;
    if (!tt_json_whole(&r->json, 0, 1, "0 or 1", &value)) return false;
    *flag = value;
    return true;
}

/* Reads an argument whose value is a text. Sets *known to true if `key` names such an argument;
 * otherwise reads nothing. */
static bool text_argument(struct reading *r, const char *key, bool *known)
{
    struct said *s = &r->said;
    const struct {
        const char *key;
        char *text;
        size_t size;
    } texts[] = {{"id", s->id, sizeof s->id},
                 {"host", s->host, sizeof s->host},
                 {"clock", s->clock, sizeof s->clock},
                 {"rank_status", s->rank_status, sizeof s->rank_status}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(key, texts[i].key) != 0) continue;
        *known = true;
        return tt_json_text(&r->json, texts[i].text, texts[i].size);
    }
    return true;
}

static bool whole_argument(struct reading *r, const char *key, bool *known)
{
    struct said *s = &r->said;
    const struct {
        const char *key;
        int64_t most, *to;
    } numbers[] = {{"run", most_whole, &s->run},
                   {"ranks", TT_PROBLEM_RANKS, &s->ranks},
                   {"client", 1 << 20, &s->client},
                   {"node", 1 << 20, &s->node},
                   {"os_pid", INT32_MAX, &s->pid},
                   {"wall_ns", INT64_MAX / 4, &s->wall_ns},
                   {"ended", 1, &s->ended},
                   {"runs", 1, &s->runs},
                   {"cut", 1, &s->cut},
                   {"silent", 1, &s->silent},
                   {"lost_steps", INT32_MAX, &s->lost_steps},
                   {"lost_calls", INT32_MAX, &s->lost_calls},
                   {"size", TT_PROBLEM_RANKS, &s->size},
                   {"of", TT_PROBLEM_RANKS - 1, &s->of},
                   {"n", most_whole, &r->call.n},
                   {"team", LOCAL_TEAMS - 1, &r->team}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(key, numbers[i].key) != 0) continue;
        *known = true;
        return whole(r, numbers[i].most, numbers[i].to);
    }
    return true;
}

static bool small(struct reading *r, int64_t most, const char *what, int32_t *to)
{
    int64_t value = 0;
    if (!tt_json_whole(&r->json, 0, most, what, &value)) return false;
    *to = (int32_t)value;
    return true;
}

/* Reads an argument that events other than steps may have. */
static bool reading_argument(struct reading *r, const char *key)
{
    static const char time_words[] = "a time: microseconds, not negative";
    bool known = false;
    int32_t status = 0;
    struct tt_trace_call *call = &r->call;
    if (!text_argument(r, key, &known) || !whole_argument(r, key, &known)) return false;
    r->said.has_ended |= strcmp(key, "ended") == 0;
    r->said.has_client |= strcmp(key, "client") == 0;
    if (known) return true;
    if (strcmp(key, "type") == 0) return word(r, &call->type);
    if (strcmp(key, "op") == 0) return word(r, &call->op);
    if (strcmp(key, "blocks") == 0) return flag(r, &call->blocks);
    if (strcmp(key, "open") == 0) return flag(r, &call->open);
    if (strcmp(key, "root") == 0)
        return small(r, TT_PROBLEM_RANKS - 1, "a rank: a whole number", &call->root);
    if (strcmp(key, "last") == 0)
        return tt_json_millionths(&r->json, time_words, &r->said.last_us, &r->said.last_ps);
    if (strcmp(key, "at") == 0) {
        r->has |= HAS_AT;
        return tt_json_millionths(&r->json, time_words, &r->at_us, &r->at_ps);
    }
    if (strcmp(key, "status") == 0) {
        if (!small(r, 255, "a status", &status)) return false;
        call->status = (uint8_t)status;
        return true;
    }
    if (strcmp(key, "blocked") != 0) return tt_json_skip(&r->json);
    call->blocked = true;
    return tt_json_millionths(&r->json, time_words, &call->blocked_us, &call->blocked_ps);
}

/* ---- Teams ---- */

static bool find_team(struct reading *r, uint64_t id, int client, int64_t size, uint16_t *number)
{
    struct tt_trace *t = r->trace;
    for (int64_t i = 0; i < t->teams; i++) {
        if (t->team[i].id != id || t->team[i].client != client) continue;
        t->team[i].size = (int32_t)tt_max(t->team[i].size, size);
        *number = (uint16_t)i;
        return true;
    }
    if (t->teams == TT_TRACE_TEAMS)
        return tt_json_expect(&r->json, r->event_at, "no more than 4096 teams");
    if (!grow((void **)&t->team, t->teams, &t->team_room, sizeof *t->team)) return no_memory(r);
    t->team[t->teams] = (struct tt_trace_team){id, client, (int32_t)size};
    *number = (uint16_t)t->teams++;
    return true;
}

static int client_of(const struct reading *r)
{
    return r->own >= 0 ? r->trace->rank[r->own].client : 0;
}

/* Sets *team to the index in the trace of the team of the current event. The event names the team
 * by a number that is valid in its file only. If no event has described that team, the number
 * becomes the id of a new team. */
static bool reading_team(struct reading *r, uint16_t *team)
{
    uint16_t *known = &r->team_of[r->team];
    if (*known == UINT16_MAX && !find_team(r, (uint64_t)r->team, client_of(r), 0, known))
        return false;
    *team = *known;
    return true;
}

static bool add_team(struct reading *r)
{
    int client = r->said.has_client ? (int)r->said.client : client_of(r);
    return find_team(r, strtoull(r->said.id, NULL, 16), client, r->said.size, &r->team_of[r->team]);
}

/* ---- Ranks ---- */

static struct tt_trace_rank *rank_of(struct reading *r, int rank, int client)
{
    struct tt_trace *t = r->trace;
    for (int64_t i = 0; i < t->said; i++)
        if (t->rank[i].rank == rank && t->rank[i].client == client) return &t->rank[i];
    if (!grow((void **)&t->rank, t->said, &t->rank_room, sizeof *t->rank)) {
        (void)no_memory(r);
        return NULL;
    }
    t->rank[t->said] = (struct tt_trace_rank){.rank = rank, .client = client, .clock = -1};
    return &t->rank[t->said++];
}

static int clock_of(struct tt_trace *t, const char *name)
{
    if (!name[0]) return -1;
    for (int i = 0; i < t->clocks; i++)
        if (strcmp(t->clock[i], name) == 0) return i;
    if (t->clocks == TT_TRACE_CLOCKS) return -1;
    memcpy(t->clock[t->clocks], name, sizeof t->clock[0]);
    return t->clocks++;
}

/* Adds the rank that wrote the file. A trace of another program, without Tutti's own events, has no
 * such rank. */
static bool add_rank(struct reading *r)
{
    struct tt_trace *t = r->trace;
    const struct said *s = &r->said;
    if (!s->has_ended) return true;
    struct tt_trace_rank *rank = rank_of(r, (int)r->pid, (int)s->client);
    if (!rank) return false;
    r->own = rank - t->rank;
    rank->said = !s->silent;
    rank->node = (int32_t)s->node;
    rank->pid = (int32_t)s->pid;
    rank->lost_steps = (int32_t)s->lost_steps;
    rank->lost_calls = (int32_t)s->lost_calls;
    rank->wall_ns = s->wall_ns;
    rank->last_us = s->last_us;
    rank->last_ps = s->last_ps;
    rank->ended = s->ended;
    rank->runs = s->runs;
    rank->cut = s->cut;
    rank->clock = clock_of(t, s->clock);
    memcpy(rank->host, s->host, sizeof rank->host);
    if (s->rank_status[0]) memcpy(rank->rank_status, s->rank_status, sizeof rank->rank_status);
    return true;
}

/* Checks that all files belong to one run. */
static bool add_process(struct reading *r)
{
    struct tt_trace *t = r->trace;
    const struct said *s = &r->said;
    if (!(r->has & HAS_PID)) return true;
    if (t->run_id && s->run && s->run != t->run_id)
        return tt_json_expect(&r->json, r->event_at,
                              "a trace of the same run as the files before it (remove the files of "
                              "other runs, or name those of one run)");
    if (s->run) t->run_id = s->run;
    t->ranks = (int)tt_max(t->ranks, s->ranks);
    return noted(r, (int)r->pid) && add_rank(r);
}

static bool add_rank_status(struct reading *r)
{
    if (r->said.of < 0) return true;
    struct tt_trace_rank *rank = rank_of(r, (int)r->said.of, client_of(r));
    if (!rank) return false;
    if (!rank->rank_status[0])
        memcpy(rank->rank_status, r->said.rank_status, sizeof rank->rank_status);
    r->trace->ranks = (int)tt_max(r->trace->ranks, r->said.of + 1);
    return true;
}

static bool meta(struct reading *r)
{
    if (strcmp(r->name, "process_name") == 0) return add_process(r);
    if (strcmp(r->name, "rank") == 0) return !(r->has & HAS_PID) || add_rank(r);
    if (strcmp(r->name, "team") == 0) return add_team(r);
    return strcmp(r->name, "rank_status") != 0 || add_rank_status(r);
}

/* Records that the file is cut, so that the end of its trace is missing. */
static void reading_cut(struct reading *r)
{
    if (r->own >= 0) r->trace->rank[r->own].cut = true;
}

/* ---- Calls ---- */

static bool reading_call(struct reading *r)
{
    struct tt_trace *t = r->trace;
    struct tt_trace_call *call = &r->call;
    if (!reading_has(r, HAS_PID | HAS_TS | HAS_DUR) || !noted(r, (int)r->pid)) return false;
    if (!reading_team(r, &call->team)) return false;
    if (t->calls == TT_TRACE_EVENTS) {
        t->calls_left_out++;
        return true;
    }
    if (!grow((void **)&t->call, t->calls, &t->call_room, sizeof *t->call)) return no_memory(r);
    call->us = r->event.us;
    call->ps = r->event.ps;
    call->dur_us = r->event.dur_us;
    call->dur_ps = r->event.dur_ps;
    call->bytes = r->event.bytes;
    call->execution = (uint64_t)r->execution;
    call->rank = (int32_t)r->pid;
    call->coll = r->event.call;
    call->algorithm = r->event.algorithm;
    call->track = (uint8_t)(r->tid / TT_LANES);
    t->ranks = (int)tt_max(t->ranks, call->root + 1);
    t->call[t->calls++] = *call;
    return true;
}

/* ---- The reader ---- */

static const int64_t most_bytes = INT64_C(1) << 56;
static const char rank_words[] = "a rank: a whole number from 0 to 1048575";

/* ---- Memory ---- */

static bool no_memory(struct reading *r)
{
    r->status =
        tt_fail(TUTTI_ERR_MEMORY, "no memory for a trace of %" PRId64 " events", r->trace->events);
    return tt_json_expect(&r->json, r->json.at, "more memory");
}

static bool grow(void **array, int64_t n, int64_t *room, size_t sz)
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

/* Returns the index of a name in name[]. If there are TT_TRACE_NAMES names already, returns 0 for a
 * new one, which is the index of "". */
static uint8_t number_of(struct tt_trace *trace, const char *name)
{
    for (int i = 0; i < trace->names; i++)
        if (strcmp(trace->name[i], name) == 0) return (uint8_t)i;
    if (trace->names == TT_TRACE_NAMES) return 0;
    memcpy(trace->name[trace->names], name, strnlen(name, 31) + 1);
    return (uint8_t)trace->names++;
}

static bool word(struct reading *r, uint8_t *number)
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
    if (strcmp(key, "call") == 0) return word(r, &r->event.call);
    if (strcmp(key, "algorithm") == 0) return word(r, &r->event.algorithm);
    if (strcmp(key, "peer") != 0) return reading_argument(r, key);
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
        return tt_json_whole(json, 0, TT_LANES * TRACKS - 1,
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

static bool reading_has(struct reading *r, unsigned wanted)
{
    static const char *const words[] = {"an event with a \"pid\"", "an event with a \"ts\"",
                                        "an event with a \"dur\"", "an event with an \"id\"",
                                        "an event with a \"peer\" among its \"args\""};
    for (unsigned i = 0; i < 5; i++)
        if (wanted & ~r->has & 1u << i) return tt_json_expect(&r->json, r->event_at, words[i]);
    return true;
}

/* Sets the kind of a step, or of a read or write of another rank's memory. */
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

static bool noted(struct reading *r, int rank)
{
    return tt_trace_seen(r->trace, rank) == TUTTI_OK || no_memory(r);
}

static bool add_step(struct reading *r)
{
    struct tt_trace *trace = r->trace;
    if (!reading_has(r, HAS_PID | HAS_TS | HAS_DUR) || !kind_of_name(r) || !noted(r, (int)r->pid))
        return false;
    if (trace->events == TT_TRACE_EVENTS) {
        trace->left_out++;
        return true;
    }
    if (!grow((void **)&trace->event, trace->events, &trace->event_room, sizeof *trace->event))
        return no_memory(r);
    r->event.rank = (int32_t)r->pid;
    r->event.lane = (uint8_t)(r->tid % TT_LANES);
    r->event.track = (uint8_t)(r->tid / TT_LANES);
    if (!reading_team(r, &r->event.team)) return false;
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
    if (!reading_has(r, HAS_PID | HAS_TS | HAS_ID) || !noted(r, (int)r->pid)) return false;
    if (!ends && (!reading_has(r, HAS_PEER) || !kind_of_flow(r))) return false;
    if (trace->flows == 2 * TT_PICTURE_MOST) return true;
    if (!grow((void **)&trace->flow, trace->flows, &trace->flow_room, sizeof *trace->flow))
        return no_memory(r);
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
    case 'X': return r->is_call ? reading_call(r) : add_step(r);
    case 's':
    case 'f': return add_flow(r);
    case 'M': return meta(r);
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

/* ---- The description of a whole trace ---- */

static bool read_small(struct tt_json *json, int most, int *value)
{
    int64_t read = 0;
    if (!tt_json_whole(json, 0, most, "a small number", &read)) return false;
    *value = (int)read;
    return true;
}

/* Reads a member of "otherData", the object in which the trace of a whole picture describes the
 * picture. This function stores the members that only a picture of a real run has, and skips all
 * others. */
static bool read_run(struct tt_trace *t, struct tt_json *json, const char *key)
{
    const int64_t most = INT64_MAX / 4;
    if (strcmp(key, "clocks") == 0) return read_small(json, TT_TRACE_CLOCKS, &t->whole_clocks);
    if (strcmp(key, "clock_error_ps") == 0)
        return tt_json_whole(json, -1, TT_TRACE_MOST_PS, "picoseconds", &t->clock_error_ps);
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
        return tt_json_whole(json, 0, TT_TRACE_MOST_PS, "picoseconds", &t->time_ps);
    if (strcmp(key, "events_left_out") == 0)
        return tt_json_whole(json, 0, most, "a whole number", &t->steps_left_out);
    if (strcmp(key, "messages_left_out") == 0)
        return tt_json_whole(json, 0, most, "a whole number", &t->messages_left_out);
    if (strcmp(key, "tutti") == 0) {
        t->whole = true;
        if (!tt_json_text(json, text, sizeof text)) return false;
        return strcmp(text, "trace 2") == 0 || tt_json_expect(json, at, "\"trace 2\"");
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

/* Checks that each flow (the arrow of a message) has one beginning and one end, and that the end is
 * at the rank that the beginning names as its peer and not earlier than the beginning. */
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

/* Returns whether the text is an array that breaks off after at least one event, because its rank
 * was killed or the disk was full. Such a text is no error, and its events so far are kept. */
static bool is_cut(struct reading *r)
{
    const struct tt_json *json = &r->json;
    if (json->wrong_at != json->end || r->found == 0 || r->status == TUTTI_ERR_MEMORY) return false;
    reading_cut(r);
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
                    ? tt_json_expect(&r.json, text, "only the file that holds a whole trace")
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
