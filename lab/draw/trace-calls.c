/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fills a picture with the calls of a trace, and with the facts that its ranks report about
 * themselves, such as their ends.
 */
#include <string.h>

#include "draw/trace.h"

struct filling {
    const struct tt_trace *trace;
    struct tt_picture *picture;
    int64_t base_us, base_ps;
};

static int64_t ps_of(const struct filling *f, int64_t us, int64_t ps)
{
    return (us - f->base_us) * 1000000 + ps - f->base_ps;
}

static struct tt_call_bar bar_of(const struct filling *f, const struct tt_trace_call *c)
{
    int64_t begin = ps_of(f, c->us, c->ps), end = begin + c->dur_us * 1000000 + c->dur_ps;
    int64_t blocked = c->blocked ? ps_of(f, c->blocked_us, c->blocked_ps) : -1;
    return (struct tt_call_bar){.rank = c->rank,
                                .root = c->root,
                                .team = c->team,
                                .execution = (int64_t)c->execution,
                                .begin_ps = begin,
                                .blocked_ps = blocked >= begin && blocked <= end ? blocked : -1,
                                .end_ps = end,
                                .bytes = c->bytes,
                                .n = c->n,
                                .coll = c->coll,
                                .algorithm = c->algorithm,
                                .type = c->type,
                                .op = c->op,
                                .track = c->track,
                                .status = c->status,
                                .blocks = c->blocks,
                                .open = c->open};
}

static void fill_bars(const struct filling *f, int64_t execution)
{
    const struct tt_trace *t = f->trace;
    struct tt_calls *calls = &f->picture->calls;
    for (int64_t i = 0; i < t->calls; i++) {
        const struct tt_trace_call *c = &t->call[i];
        if (execution >= 0 && c->execution != (uint64_t)execution) continue;
        if (calls->bars == TT_PICTURE_MOST) {
            calls->left_out++;
            continue;
        }
        struct tt_call_bar bar = bar_of(f, c);
        f->picture->time_ps = tt_max(f->picture->time_ps, bar.end_ps);
        calls->bar[calls->bars++] = bar;
    }
    calls->left_out += t->calls_left_out;
}

/* Returns the time in the picture at which the rank was last seen; 0 if it is not known, or lies
 * before the begin of the picture. */
static int64_t last_of(const struct filling *f, const struct tt_trace_rank *said)
{
    int64_t us = said->last_us - f->base_us;
    if (!said->said || us < 0 || us > TT_TRACE_MOST_US) return 0;
    return tt_max(0, ps_of(f, said->last_us, said->last_ps));
}

static void fill_ranks(const struct filling *f)
{
    const struct tt_trace *t = f->trace;
    struct tt_calls *calls = &f->picture->calls;
    for (int64_t i = 0; i < t->said; i++) {
        const struct tt_trace_rank *said = &t->rank[i];
        struct tt_call_rank *rank = &calls->rank[calls->ranks++];
        *rank = (struct tt_call_rank){.rank = said->rank,
                                      .client = said->client,
                                      .node = said->node,
                                      .pid = said->pid,
                                      .last_ps = last_of(f, said),
                                      .lost_steps = said->lost_steps,
                                      .lost_calls = said->lost_calls,
                                      .said = said->said,
                                      .ended = said->ended,
                                      .runs = said->runs,
                                      .cut = said->cut};
        memcpy(rank->host, said->host, sizeof rank->host);
        memcpy(rank->rank_status, said->rank_status, sizeof rank->rank_status);
    }
}

static void fill_teams(const struct filling *f)
{
    const struct tt_trace *t = f->trace;
    struct tt_calls *calls = &f->picture->calls;
    for (int64_t i = 0; i < t->teams; i++)
        calls->team[calls->teams++] = (struct tt_call_team){
            .id = t->team[i].id, .client = t->team[i].client, .size = t->team[i].size};
}

static bool make_room(const struct tt_trace *t, struct tt_calls *calls)
{
    size_t bars = (size_t)tt_min(t->calls, TT_PICTURE_MOST);
    calls->bar = tt_calloc(bars + 1, sizeof *calls->bar);
    calls->rank = tt_calloc((size_t)t->said + 1, sizeof *calls->rank);
    calls->team = tt_calloc((size_t)t->teams + 1, sizeof *calls->team);
    calls->name = tt_calloc((size_t)t->names, sizeof *calls->name);
    return calls->bar && calls->rank && calls->team && calls->name;
}

tutti_status tt_trace_fill_calls(const struct tt_trace *trace, int64_t execution,
                                 struct tt_picture *picture)
{
    struct filling f = {.trace = trace, .picture = picture};
    struct tt_calls *calls = &picture->calls;
    if (trace->calls + trace->said == 0) return TUTTI_OK;
    if (!make_room(trace, calls))
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for the calls of a run");
    if (!trace->whole) tt_trace_base(trace, execution, &f.base_us, &f.base_ps);
    calls->names = trace->names;
    memcpy(calls->name, trace->name, (size_t)trace->names * sizeof *calls->name);
    calls->clocks = trace->whole ? trace->whole_clocks : trace->clocks;
    calls->clock_error_ps = trace->clock_error_ps;
    fill_bars(&f, execution);
    fill_ranks(&f);
    fill_teams(&f);
    return tt_calls_end(calls);
}
