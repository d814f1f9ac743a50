/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a trace of a run has beside steps: calls, teams, and what ranks say of themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "draw/trace-inside.h"

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

/* *known: it is one of these. */
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
                 {"fate", s->fate, sizeof s->fate}};
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
                   {"cut", 1, &s->cut},
                   {"silent", 1, &s->silent},
                   {"lost_steps", INT32_MAX, &s->lost_steps},
                   {"lost_calls", INT32_MAX, &s->lost_calls},
                   {"size", TT_PROBLEM_RANKS, &s->size},
                   {"of", TT_PROBLEM_RANKS - 1, &s->of},
                   {"n", most_whole, &r->call.n},
                   {"team", TT_TRACE_LOCAL_TEAMS - 1, &r->team}};
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

bool tt_reading_argument(struct reading *r, const char *key)
{
    static const char time_words[] = "a time: microseconds, not negative";
    bool known = false;
    int32_t status = 0;
    struct tt_trace_call *call = &r->call;
    if (!text_argument(r, key, &known) || !whole_argument(r, key, &known)) return false;
    r->said.has_ended |= strcmp(key, "ended") == 0;
    r->said.has_client |= strcmp(key, "client") == 0;
    if (known) return true;
    if (strcmp(key, "type") == 0) return tt_reading_word(r, &call->type);
    if (strcmp(key, "op") == 0) return tt_reading_word(r, &call->op);
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
    if (!tt_reading_grow((void **)&t->team, t->teams, &t->team_room, sizeof *t->team))
        return tt_reading_no_memory(r);
    t->team[t->teams] = (struct tt_trace_team){id, client, (int32_t)size};
    *number = (uint16_t)t->teams++;
    return true;
}

static int client_of(const struct reading *r)
{
    return r->own >= 0 ? r->trace->rank[r->own].client : 0;
}

/* One that no event before has made has its number for an id. */
bool tt_reading_team(struct reading *r, uint16_t *team)
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
    if (!tt_reading_grow((void **)&t->rank, t->said, &t->rank_room, sizeof *t->rank)) {
        (void)tt_reading_no_memory(r);
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

/* Who writes. Nothing but the names of processes is known of files that say no more than Chrome's
 * format asks for. */
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
    rank->cut = s->cut;
    rank->clock = clock_of(t, s->clock);
    memcpy(rank->host, s->host, sizeof rank->host);
    return true;
}

/* All files are of one run. */
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
    return tt_reading_noted(r, (int)r->pid) && add_rank(r);
}

static bool add_fate(struct reading *r)
{
    if (r->said.of < 0) return true;
    struct tt_trace_rank *rank = rank_of(r, (int)r->said.of, client_of(r));
    if (!rank) return false;
    if (!rank->fate[0]) memcpy(rank->fate, r->said.fate, sizeof rank->fate);
    r->trace->ranks = (int)tt_max(r->trace->ranks, r->said.of + 1);
    return true;
}

bool tt_reading_meta(struct reading *r)
{
    if (strcmp(r->name, "process_name") == 0) return add_process(r);
    if (strcmp(r->name, "rank") == 0) return !(r->has & HAS_PID) || add_rank(r);
    if (strcmp(r->name, "team") == 0) return add_team(r);
    return strcmp(r->name, "fate") != 0 || add_fate(r);
}

void tt_reading_cut(struct reading *r)
{
    if (r->own >= 0) r->trace->rank[r->own].cut = true;
}

/* ---- Calls ---- */

bool tt_reading_call(struct reading *r)
{
    struct tt_trace *t = r->trace;
    struct tt_trace_call *call = &r->call;
    if (!tt_reading_has(r, HAS_PID | HAS_TS | HAS_DUR) || !tt_reading_noted(r, (int)r->pid))
        return false;
    if (!tt_reading_team(r, &call->team)) return false;
    if (t->calls == TT_TRACE_EVENTS) {
        t->calls_left_out++;
        return true;
    }
    if (!tt_reading_grow((void **)&t->call, t->calls, &t->call_room, sizeof *t->call))
        return tt_reading_no_memory(r);
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
