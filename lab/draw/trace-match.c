/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the messages of a real run by matching its events, such as sends with receives. This needs
 * no common clock, only the order of the events within a lane. Each list of events is sorted by the
 * fields that must be equal and then by time; among entries with equal fields, the k-th of one list
 * matches the k-th of the other list.
 */
#include <stdlib.h>

#include "draw/trace.h"

/* An event (a step, or an access to another rank's memory) with the fields by which it is matched:
 * it matches an event with the same team, execution, a, b and c. What a, b and c stand for depends
 * on the list. done_ps: for a send, receive, put or get, the end of the wait step that waits for
 * it, if that step was found; otherwise the end of the event itself. */
struct mark {
    uint64_t execution;
    int64_t begin_ps, done_ps, at; /* at: the index of the event in the trace */
    int32_t a, b;
    uint32_t c;
    uint16_t team;
    const struct tt_trace_event *event;
};

struct marks {
    struct mark *mark;
    int64_t n;
};

struct matching {
    const struct tt_trace *trace;
    struct tt_picture *picture;
    /* base_us microseconds plus base_ps picoseconds are the time at which the first step or call of
     * `execution` begins; if `execution` is negative, the first one of the whole trace */
    int64_t execution, base_us, base_ps;
    /* for each event (index in the trace): its mark, if the event is a send, receive, put or get
     * whose wait step was found */
    struct mark *done_of;
};

static bool chosen(const struct matching *m, const struct tt_trace_event *e)
{
    return m->execution < 0 || e->execution == (uint64_t)m->execution;
}

static int64_t begin_of(const struct matching *m, const struct tt_trace_event *e)
{
    return (e->us - m->base_us) * 1000000 + e->ps - m->base_ps;
}

static int64_t end_of(const struct matching *m, const struct tt_trace_event *e)
{
    return begin_of(m, e) + e->dur_us * 1000000 + e->dur_ps;
}

/* ---- Sorted lists of events ---- */

static int same(const struct mark *x, const struct mark *y)
{
    if (x->team != y->team) return x->team < y->team ? -1 : 1;
    if (x->execution != y->execution) return x->execution < y->execution ? -1 : 1;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    if (x->b != y->b) return x->b < y->b ? -1 : 1;
    return (x->c > y->c) - (x->c < y->c);
}

static int in_order(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;
    int order = same(x, y);
    if (order) return order;
    if (x->begin_ps != y->begin_ps) return x->begin_ps < y->begin_ps ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* A function that decides which events a list has. It sets in *mark the fields by which the event
 * is matched, or returns false if the event does not belong to the list. */
typedef bool list_fn(const struct tt_trace_event *e, struct mark *mark);

static tutti_status list(const struct matching *m, list_fn *of, struct marks *marks)
{
    const struct tt_trace *t = m->trace;
    *marks = (struct marks){tt_alloc((size_t)t->events * sizeof *marks->mark + 1), 0};
    if (!marks->mark) return tt_fail(TUTTI_ERR_MEMORY, "no memory to match events");
    for (int64_t i = 0; i < t->events; i++) {
        const struct tt_trace_event *e = &t->event[i];
        struct mark mark = {.execution = e->execution, .team = e->team, .at = i, .event = e};
        if (!chosen(m, e) || !of(e, &mark)) continue;
        mark.begin_ps = begin_of(m, e);
        mark.done_ps = m->done_of && m->done_of[i].event ? m->done_of[i].done_ps : end_of(m, e);
        marks->mark[marks->n++] = mark;
    }
    if (marks->n) qsort(marks->mark, (size_t)marks->n, sizeof *marks->mark, in_order);
    return TUTTI_OK;
}

static bool lane_and_id(const struct tt_trace_event *e, struct mark *mark)
{
    mark->a = e->rank;
    mark->b = e->lane;
    mark->c = e->value;
    return true;
}

static bool starts(const struct tt_trace_event *e, struct mark *mark)
{
    return e->kind <= TT_GET && lane_and_id(e, mark);
}

static bool waits(const struct tt_trace_event *e, struct mark *mark)
{
    return e->kind == TT_WAIT && lane_and_id(e, mark);
}

static bool sends(const struct tt_trace_event *e, struct mark *mark)
{
    mark->a = e->rank;
    mark->b = e->peer;
    mark->c = e->lane;
    return e->kind == TT_SEND && e->peer >= 0;
}

static bool receives(const struct tt_trace_event *e, struct mark *mark)
{
    mark->a = e->peer;
    mark->b = e->rank;
    mark->c = e->lane;
    return e->kind == TT_RECV && e->peer >= 0;
}

static bool signals(const struct tt_trace_event *e, struct mark *mark)
{
    mark->a = e->rank;
    mark->c = e->value;
    return e->kind == TT_SIGNAL;
}

static bool awaits(const struct tt_trace_event *e, struct mark *mark)
{
    mark->a = e->peer;
    mark->c = e->value;
    return e->kind == TT_AWAIT && e->peer >= 0;
}

/* A list_fn that takes every event. The list is then sorted by rank, and by the begin of the events
 * of a rank. */
static bool of_rank(const struct tt_trace_event *e, struct mark *mark)
{
    mark->execution = mark->team = 0;
    mark->a = e->rank;
    return true;
}

/* Calls `meet` for each pair of an entry of x and an entry of y that match. Among entries with
 * equal fields, the k-th of x matches the k-th of y. */
static void meet_all(struct matching *m, const struct marks *x, const struct marks *y,
                     void (*meet)(struct matching *, const struct mark *, const struct mark *))
{
    int64_t i = 0, j = 0;
    while (i < x->n && j < y->n) {
        int order = same(&x->mark[i], &y->mark[j]);
        if (order == 0) meet(m, &x->mark[i], &y->mark[j]);
        i += order <= 0;
        j += order >= 0;
    }
}

static tutti_status meet_lists(struct matching *m, list_fn *one, list_fn *other,
                               void (*meet)(struct matching *, const struct mark *,
                                            const struct mark *))
{
    struct marks x, y = {NULL, 0};
    tutti_status status = list(m, one, &x);
    if (status == TUTTI_OK) status = list(m, other, &y);
    if (status == TUTTI_OK) meet_all(m, &x, &y, meet);
    tt_free(x.mark);
    tt_free(y.mark);
    return status;
}

/* ---- Messages ---- */

static void message(struct matching *m, enum tt_kind kind, const struct tt_trace_event *e, int from,
                    int to, int64_t begin_ps, int64_t end_ps)
{
    enum { SIGNAL_BYTES = 8 };
    struct tt_sim_event event = {.kind = kind,
                                 .rank = from,
                                 .lane = e->lane,
                                 .peer = to,
                                 .begin_ps = begin_ps,
                                 .end_ps = tt_max(begin_ps, end_ps),
                                 .bytes = kind == TT_SIGNAL ? SIGNAL_BYTES : e->bytes};
    tt_picture_message(m->picture, &event);
}

static void waited(struct matching *m, const struct mark *start, const struct mark *wait)
{
    m->done_of[start->at] = *start;
    m->done_of[start->at].done_ps = wait->done_ps;
}

static void delivered(struct matching *m, const struct mark *send, const struct mark *recv)
{
    const struct tt_trace_event *e = send->event;
    message(m, TT_SEND, e, e->rank, e->peer, send->begin_ps, recv->done_ps);
}

static tutti_status one_sided(struct matching *m)
{
    struct marks started;
    TT_TRY(list(m, starts, &started));
    for (int64_t i = 0; i < started.n; i++) {
        const struct mark *start = &started.mark[i];
        const struct tt_trace_event *e = start->event;
        if (e->kind == TT_PUT && e->peer >= 0)
            message(m, TT_PUT, e, e->rank, e->peer, start->begin_ps, start->done_ps);
        if (e->kind == TT_GET && e->peer >= 0)
            message(m, TT_GET, e, e->peer, e->rank, start->begin_ps, start->done_ps);
    }
    tt_free(started.mark);
    return TUTTI_OK;
}

/* Returns the signal that ends an await: the first signal of the awaited lane to this rank whose
 * value is at least the awaited one. The list has the signals of one writer in the order of their
 * values. */
static const struct mark *signal_for(const struct marks *given, const struct mark *await)
{
    enum { LOOKS = 4096 };
    int64_t low = 0, high = given->n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (same(&given->mark[middle], await) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (int64_t i = low; i < given->n && i < low + LOOKS; i++) {
        const struct mark *signal = &given->mark[i];
        if (signal->team != await->team || signal->execution != await->execution ||
            signal->a != await->a)
            return NULL;
        int peer = signal->event->peer;
        if (peer < 0 || peer == await->event->rank) return signal;
    }
    return NULL;
}

static tutti_status signalled(struct matching *m)
{
    struct marks given, wanted = {NULL, 0};
    tutti_status status = list(m, signals, &given);
    if (status == TUTTI_OK) status = list(m, awaits, &wanted);
    for (int64_t i = 0; status == TUTTI_OK && i < wanted.n; i++) {
        const struct mark *await = &wanted.mark[i], *signal = signal_for(&given, await);
        if (signal && signal->event->rank != await->event->rank)
            message(m, TT_SIGNAL, signal->event, signal->event->rank, await->event->rank,
                    signal->begin_ps, await->done_ps);
    }
    tt_free(given.mark);
    tt_free(wanted.mark);
    return status;
}

/* Adds a message for each read or write of another rank's memory during a copy or reduction. The
 * events of such accesses do not name an execution: an access belongs to the step during which it
 * took place. Accesses during a send, put, get or wait are not added, because they only carry out
 * the step, whose message is added elsewhere. */
static tutti_status reached(struct matching *m)
{
    struct matching all = *m;
    struct marks events;
    const struct mark *work = NULL;
    all.execution = -1;
    TT_TRY(list(&all, of_rank, &events));
    for (int64_t i = 0; i < events.n; i++) {
        const struct mark *mark = &events.mark[i];
        const struct tt_trace_event *e = mark->event;
        bool within = work && work->a == mark->a && mark->begin_ps <= end_of(m, work->event);
        if ((e->kind == TT_COPY || e->kind == TT_REDUCE) && chosen(m, e)) work = mark;
        if (!within || e->peer < 0) continue;
        if (e->kind == TT_TRACE_READ)
            message(m, TT_GET, e, e->peer, e->rank, mark->begin_ps, end_of(m, e));
        if (e->kind == TT_TRACE_WRITE)
            message(m, TT_PUT, e, e->rank, e->peer, mark->begin_ps, end_of(m, e));
    }
    tt_free(events.mark);
    return TUTTI_OK;
}

/* ---- The steps, the begin of a picture, and the matching of all events ---- */

static void steps(struct matching *m)
{
    for (int64_t i = 0; i < m->trace->events; i++) {
        const struct tt_trace_event *e = &m->trace->event[i];
        if (e->kind > TT_REDUCE || !chosen(m, e)) continue;
        struct tt_sim_event event = {.kind = (enum tt_kind)e->kind,
                                     .rank = e->rank,
                                     .lane = e->track * TT_LANES + e->lane,
                                     .peer = e->peer,
                                     .begin_ps = begin_of(m, e),
                                     .end_ps = end_of(m, e),
                                     .bytes = e->bytes};
        tt_picture_step(m->picture, &event);
    }
}

static void take_earlier(int64_t *us, int64_t *ps, int64_t its_us, int64_t its_ps)
{
    if (its_us > *us || (its_us == *us && its_ps >= *ps)) return;
    *us = its_us;
    *ps = its_ps;
}

void tt_trace_base(const struct tt_trace *t, int64_t execution, int64_t *us, int64_t *ps)
{
    *us = INT64_MAX;
    *ps = 0;
    for (int64_t i = 0; i < t->events; i++) {
        const struct tt_trace_event *e = &t->event[i];
        bool taken = execution < 0 || e->execution == (uint64_t)execution;
        if (e->kind <= TT_REDUCE && taken) take_earlier(us, ps, e->us, e->ps);
    }
    for (int64_t i = 0; i < t->calls; i++) {
        const struct tt_trace_call *c = &t->call[i];
        bool taken = execution < 0 || c->execution == (uint64_t)execution;
        if (taken) take_earlier(us, ps, c->us, c->ps);
    }
    if (*us == INT64_MAX) *us = 0;
}

tutti_status tt_trace_match(const struct tt_trace *trace, int64_t execution,
                            struct tt_picture *picture)
{
    struct matching m = {.trace = trace, .picture = picture, .execution = execution};
    tt_trace_base(trace, execution, &m.base_us, &m.base_ps);
    m.done_of = tt_calloc((size_t)trace->events + 1, sizeof *m.done_of);
    if (!m.done_of) return tt_fail(TUTTI_ERR_MEMORY, "no memory to match events");
    steps(&m);
    tutti_status status = meet_lists(&m, starts, waits, waited);
    if (status == TUTTI_OK) status = meet_lists(&m, sends, receives, delivered);
    if (status == TUTTI_OK) status = one_sided(&m);
    if (status == TUTTI_OK) status = signalled(&m);
    if (status == TUTTI_OK) status = reached(&m);
    tt_free(m.done_of);
    return status;
}
