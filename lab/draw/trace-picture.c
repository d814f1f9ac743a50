/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes a picture from a trace.
 */
#include <inttypes.h>
#include <string.h>

#include "draw/trace.h"

static bool is_seen(const struct tt_trace *trace, int rank)
{
    return trace->seen && trace->seen[rank / 8] >> rank % 8 & 1;
}

static tutti_status nothing_missing(const struct tt_trace *trace)
{
    int missing = 0, first = 0;
    if (trace->ranks == 0) return tt_fail(TUTTI_ERR_ARG, "there are no events");
    for (int r = trace->ranks - 1; r >= 0; r--) {
        if (is_seen(trace, r)) continue;
        missing++;
        first = r;
    }
    if (!missing || trace->calls) return TUTTI_OK;
    if (missing == 1)
        return tt_fail(TUTTI_ERR_ARG, "of %d ranks, rank %d has no trace", trace->ranks, first);
    return tt_fail(TUTTI_ERR_ARG, "of %d ranks, %d have no trace, the first of them rank %d",
                   trace->ranks, missing, first);
}

static tutti_status has_execution(const struct tt_trace *trace, int64_t execution)
{
    uint64_t last = 0, first = UINT64_MAX;
    bool found = false;
    for (int64_t i = 0; i < trace->events; i++) {
        const struct tt_trace_event *e = &trace->event[i];
        if (e->kind > TT_REDUCE) continue;
        last = e->execution > last ? e->execution : last;
        first = e->execution < first ? e->execution : first;
        found |= execution < 0 || e->execution == (uint64_t)execution;
    }
    for (int64_t i = 0; i < trace->calls; i++) {
        const struct tt_trace_call *c = &trace->call[i];
        last = c->execution > last ? c->execution : last;
        first = c->execution < first ? c->execution : first;
        found |= execution < 0 || c->execution == (uint64_t)execution;
    }
    if (found) return TUTTI_OK;
    if (first > last) return tt_fail(TUTTI_ERR_ARG, "there are no events");
    return tt_fail(TUTTI_ERR_ARG,
                   "there is no execution %" PRId64 "; the first is %" PRIu64 ", the last %" PRIu64,
                   execution, first, last);
}

/* Returns ERR_ARG if a time of the picture would exceed TT_TRACE_MOST_PS, otherwise TUTTI_OK. */
static tutti_status within_reach(const struct tt_trace *trace)
{
    int64_t first = trace->whole ? 0 : INT64_MAX, last = 0;
    for (int64_t i = 0; i < trace->events; i++) {
        const struct tt_trace_event *e = &trace->event[i];
        first = tt_min(first, e->us);
        last = tt_max(last, e->us + e->dur_us);
    }
    for (int64_t i = 0; i < trace->calls; i++) {
        const struct tt_trace_call *c = &trace->call[i];
        first = tt_min(first, c->us);
        last = tt_max(last, tt_max(c->us + c->dur_us, c->blocked ? c->blocked_us : 0));
    }
    for (int64_t i = 0; i < trace->flows; i++) last = tt_max(last, trace->flow[i].us);
    if (last - tt_min(first, last) < TT_TRACE_MOST_US) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_ARG, "the events lie more than 50 days apart");
}

/* ---- A whole trace ---- */

static void whole_steps(const struct tt_trace *trace, struct tt_picture *picture)
{
    for (int64_t i = 0; i < trace->events; i++) {
        const struct tt_trace_event *e = &trace->event[i];
        int64_t begin = e->us * 1000000 + e->ps;
        struct tt_sim_event event = {.kind = (enum tt_kind)e->kind,
                                     .rank = e->rank,
                                     .lane = e->track * TT_LANES + e->lane,
                                     .peer = e->peer,
                                     .begin_ps = begin,
                                     .end_ps = begin + e->dur_us * 1000000 + e->dur_ps,
                                     .bytes = e->bytes};
        if (e->kind <= TT_REDUCE) tt_picture_step(picture, &event);
    }
}

static void whole_messages(const struct tt_trace *trace, struct tt_picture *picture)
{
    for (int64_t i = 0; i + 1 < trace->flows; i += 2) {
        const struct tt_trace_flow *from = &trace->flow[i], *to = from + 1;
        struct tt_sim_event message = {.kind = (enum tt_kind)from->kind,
                                       .rank = from->rank,
                                       .lane = from->lane,
                                       .peer = to->rank,
                                       .begin_ps = from->us * 1000000 + from->ps,
                                       .end_ps = to->us * 1000000 + to->ps,
                                       .bytes = from->bytes};
        tt_picture_message(picture, &message);
    }
}

static void whole_head(const struct tt_trace *trace, struct tt_picture *picture)
{
    memcpy(picture->problem, trace->problem, sizeof picture->problem);
    memcpy(picture->algorithm, trace->algorithm, sizeof picture->algorithm);
    memcpy(picture->model, trace->model, sizeof picture->model);
    picture->run = trace->run;
    picture->steps.left_out += trace->steps_left_out;
    picture->messages.left_out += trace->messages_left_out;
    if (trace->time_ps) picture->time_ps = trace->time_ps;
}

/* ---- A real run ---- */

/* Returns the name of the collective (if `call` is true) or of the algorithm to which all steps
 * belong; "" if the steps differ in it. Looks at the steps of one execution, or of all executions
 * if `execution` is -1. */
static const char *common(const struct tt_trace *trace, int64_t execution, bool call)
{
    int found = -1;
    for (int64_t i = 0; i < trace->events; i++) {
        const struct tt_trace_event *e = &trace->event[i];
        int name = call ? e->call : e->algorithm;
        if (e->kind > TT_REDUCE || (execution >= 0 && e->execution != (uint64_t)execution))
            continue;
        if (found >= 0 && found != name) return "";
        found = name;
    }
    return found >= 0 ? trace->name[found] : "";
}

static void run_head(const struct tt_trace *trace, int64_t execution, struct tt_picture *picture)
{
    picture->run = true;
    picture->steps.left_out += trace->left_out;
    snprintf(picture->problem, sizeof picture->problem, "%s", common(trace, execution, true));
    snprintf(picture->algorithm, sizeof picture->algorithm, "%s", common(trace, execution, false));
}

/* Returns the root of the picture's problem, or -1. Parses the problem without its map: the map may
 * name a file, and reading a trace must not open other files. */
static int root_of(const struct tt_picture *picture)
{
    struct tt_problem problem;
    char text[TT_PROBLEM_TEXT];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(picture->problem, "@"), picture->problem);
    if (tt_problem_parse(text, &problem, NULL) != TUTTI_OK) return -1;
    bool rooted = tt_coll_has_root(problem.call.coll) && problem.call.root < picture->ranks;
    return rooted ? problem.call.root : -1;
}

tutti_status tt_trace_end(struct tt_trace *trace, int64_t execution, struct tt_picture *picture)
{
    tutti_status status = TUTTI_OK;
    if (!trace->whole || trace->ranks == 0) TT_TRY(nothing_missing(trace));
    if (!trace->whole) TT_TRY(has_execution(trace, execution));
    if (!trace->whole) TT_TRY(tt_trace_align(trace));
    TT_TRY(within_reach(trace));
    TT_TRY(tt_picture_begin(picture, trace->ranks));
    if (trace->whole) {
        whole_steps(trace, picture);
        whole_messages(trace, picture);
        whole_head(trace, picture);
    } else {
        status = tt_trace_match(trace, execution, picture);
        run_head(trace, execution, picture);
    }
    if (status == TUTTI_OK) status = tt_trace_fill_calls(trace, execution, picture);
    if (status == TUTTI_OK) status = tt_picture_end(picture, root_of(picture));
    if (status != TUTTI_OK) tt_picture_free(picture);
    return status;
}

tutti_status tt_trace_read(struct tt_picture *picture, const char *text, size_t n,
                           struct tt_trace_error *error)
{
    struct tt_trace trace;
    tt_trace_begin(&trace);
    tutti_status status = tt_trace_add(&trace, text, n, error);
    if (status == TUTTI_OK) {
        status = tt_trace_end(&trace, -1, picture);
        if (status != TUTTI_OK) snprintf(error->text, sizeof error->text, "%s", tutti_error());
    }
    tt_trace_free(&trace);
    return status;
}
