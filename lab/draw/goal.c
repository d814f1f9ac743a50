/* SPDX-License-Identifier: BSD-3-Clause */
#include "draw/goal.h"

#include <inttypes.h>
#include <stdlib.h>

/* The kinds of messages. Each kind has a tag of its own in each lane. */
enum tag { MESSAGE, SIGNAL, PUT, ASK, ANSWER };
enum { SMALL = 8 };

/* An operation that rank `at` has to do because of a step of rank `from`. `tag` says which: the
 * answer to a get (ASK), or the receive of a put (PUT) or of a signal (SIGNAL). */
struct counterpart {
    int at, from;
    uint8_t tag, lane;
    bool heard;
    uint32_t value, order;
    int64_t bytes;
};

struct goal {
    struct tt_plan *const *plans;
    int p;
    int64_t copy_ps, reduce_ps;
    FILE *out;
    struct counterpart *counterpart;
    size_t n, room;
    tutti_status status;
};

/* The state of writing a lane. `required` lists the labels of the n operations that must end before
 * the next operation of the lane. `last` is the label of the latest operation of the lane. */
struct writer {
    struct goal *g;
    int me, lane;
    int *label; /* the label of the rank's next operation */
    int last;
    /* for each step that starts a transfer: the labels of the operations for its last TT_IN_FLIGHT
     * instances (a step in a loop has an instance in each turn) */
    int *started;
    int *required;
    size_t n, room;
};

static void no_memory(struct goal *g)
{
    if (g->status == TUTTI_OK)
        g->status = tt_fail(TUTTI_ERR_MEMORY, "no memory for the GOAL text of %d ranks", g->p);
}

/* ---- What other ranks have to do ---- */

static void add_counterpart(struct goal *g, struct counterpart c)
{
    if (g->n == g->room) {
        size_t room = g->room ? 2 * g->room : 1024;
        struct counterpart *more = tt_realloc(g->counterpart, room * sizeof *more);
        if (!more) {
            no_memory(g);
            return;
        }
        g->counterpart = more;
        g->room = room;
    }
    c.order = (uint32_t)g->n;
    g->counterpart[g->n++] = c;
}

static void add_signal(struct goal *g, int me, int lane, const struct tt_plain *s)
{
    struct counterpart c = {
        .from = me, .tag = SIGNAL, .lane = (uint8_t)lane, .value = s->value, .bytes = SMALL};
    if (s->peer >= 0) {
        c.at = s->peer;
        add_counterpart(g, c);
    } else if (s->peer == TT_ALL) {
        for (c.at = 0; c.at < g->p; c.at++)
            if (c.at != me) add_counterpart(g, c);
    } else {
        for (uint32_t i = 0; i < s->nops; i++) {
            c.at = s->set[i];
            add_counterpart(g, c);
        }
    }
}

static void add_step(struct goal *g, int me, int lane, const struct tt_plain *s)
{
    struct counterpart c = {.at = s->peer, .from = me, .lane = (uint8_t)lane, .bytes = s->len};
    if (s->kind == TT_SIGNAL) add_signal(g, me, lane, s);
    c.tag = s->kind == TT_PUT ? PUT : ASK;
    if (s->kind == TT_PUT || s->kind == TT_GET) add_counterpart(g, c);
    if (s->kind != TT_COPY && s->kind != TT_REDUCE) return;
    for (uint32_t i = 1; i < s->nops; i++) {
        c.at = s->range[i].rank;
        if (c.at != TT_SELF) add_counterpart(g, c);
    }
}

typedef void step_fn(struct writer *w, const struct tt_plain *s);

static void each_step(struct writer *w, step_fn *fn)
{
    const struct tt_plan *plan = w->g->plans[w->me];
    void *memory = tt_alloc(tt_iter_bytes(plan, w->lane) + 8);
    struct tt_iter iter;
    struct tt_plain step;
    if (!memory) {
        no_memory(w->g);
        return;
    }
    tt_iter_begin(&iter, plan, w->lane, memory);
    while (w->g->status == TUTTI_OK && tt_iter_next(&iter, &step)) fn(w, &step);
    tt_free(memory);
}

static void collect_step(struct writer *w, const struct tt_plain *s)
{
    add_step(w->g, w->me, w->lane, s);
}

static int by_place(const void *a, const void *b)
{
    const struct counterpart *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static void collect(struct goal *g)
{
    for (int r = 0; r < g->p; r++) {
        for (int lane = 0; lane < (int)g->plans[r]->lanes; lane++) {
            struct writer w = {.g = g, .me = r, .lane = lane};
            each_step(&w, collect_step);
        }
    }
    if (g->n) qsort(g->counterpart, g->n, sizeof *g->counterpart, by_place);
}

/* Returns the index in g->counterpart of the first operation that rank `at` does for rank `from` or
 * a higher rank; if there is none, the index at which one would be inserted. */
static size_t first_counterpart(const struct goal *g, int at, int from)
{
    size_t low = 0, high = g->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct counterpart *c = &g->counterpart[middle];
        if (c->at < at || (c->at == at && c->from < from))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- Operations ---- */

static int tag_of(enum tag tag, int lane)
{
    return (int)tag * TT_LANES + lane;
}

/* Makes the next operation of the lane wait for the end of the operation `label`. */
static void require(struct writer *w, int label)
{
    if (w->n == w->room) {
        size_t room = w->room ? 2 * w->room : 16;
        int *more = tt_realloc(w->required, room * sizeof *more);
        if (!more) {
            no_memory(w->g);
            return;
        }
        w->required = more;
        w->room = room;
    }
    w->required[w->n++] = label;
}

/* Writes the dependences of the operation that was just printed: the operations in w->required must
 * have ended, and the lane's previous operation must have begun. Returns the label of the
 * operation. */
static int follows(struct writer *w)
{
    int label = (*w->label)++;
    for (size_t i = 0; i < w->n; i++)
        fprintf(w->g->out, "  l%d requires l%d\n", label, w->required[i]);
    if (w->last) fprintf(w->g->out, "  l%d irequires l%d\n", label, w->last);
    w->n = 0;
    w->last = label;
    return label;
}

static int send_op(struct writer *w, enum tag tag, int to, int64_t bytes)
{
    fprintf(w->g->out, "  l%d: send %" PRId64 "b to %d tag %d cpu %d\n", *w->label, bytes, to,
            tag_of(tag, w->lane), w->lane);
    return follows(w);
}

/* Writes a receive; `lane` is the lane of the sender. */
static int recv_op(struct writer *w, enum tag tag, int from, int lane, int64_t bytes)
{
    fprintf(w->g->out, "  l%d: recv %" PRId64 "b from %d tag %d cpu %d\n", *w->label, bytes, from,
            tag_of(tag, lane), w->lane);
    return follows(w);
}

static int get_op(struct writer *w, int from, int64_t bytes)
{
    send_op(w, ASK, from, SMALL);
    return recv_op(w, ANSWER, from, w->lane, bytes);
}

static void calc_op(struct writer *w, int64_t ps)
{
    fprintf(w->g->out, "  l%d: calc %" PRId64 " cpu %d\n", *w->label, (ps + 999) / 1000, w->lane);
    require(w, follows(w));
}

/* ---- Steps ---- */

/* Writes the receives that stand for an await. Each signal of the awaited lane to this rank, up to
 * the awaited value, gets a receive here, unless an earlier await has received it already. */
static void hear(struct writer *w, const struct tt_plain *s)
{
    struct goal *g = w->g;
    for (size_t i = first_counterpart(g, w->me, s->peer); i < g->n; i++) {
        struct counterpart *c = &g->counterpart[i];
        if (c->at != w->me || c->from != s->peer) return;
        if (c->tag != SIGNAL || c->lane != s->lane || c->heard) continue;
        if (c->value > s->value) return;
        c->heard = true;
        require(w, recv_op(w, SIGNAL, c->from, c->lane, SMALL));
    }
}

static void signal_ops(struct writer *w, const struct tt_plain *s)
{
    if (s->peer >= 0) {
        send_op(w, SIGNAL, s->peer, SMALL);
    } else if (s->peer == TT_ALL) {
        for (int k = 1; k < w->g->p; k++) send_op(w, SIGNAL, (w->me + k) % w->g->p, SMALL);
    } else {
        for (uint32_t i = 0; i < s->nops; i++) send_op(w, SIGNAL, s->set[i], SMALL);
    }
}

static void work_ops(struct writer *w, const struct tt_plain *s)
{
    const struct goal *g = w->g;
    int64_t ps = s->kind == TT_COPY ? g->copy_ps * s->len : g->reduce_ps * s->len * (s->nops - 2);
    bool remote = false;
    for (uint32_t i = 1; i < s->nops; i++) {
        if (s->range[i].rank == TT_SELF) continue;
        int got = get_op(w, s->range[i].rank, s->len);
        require(w, got);
        remote = true;
    }
    if (s->kind == TT_COPY ? !remote : s->nops > 2) calc_op(w, ps);
}

static void write_step(struct writer *w, const struct tt_plain *s)
{
    int *started = tt_kind_starts(s->kind) || s->kind == TT_WAIT
                       ? &w->started[s->value * TT_IN_FLIGHT + s->instance % TT_IN_FLIGHT]
                       : NULL;
    switch (s->kind) {
    case TT_SEND: *started = send_op(w, MESSAGE, s->peer, s->len); break;
    case TT_RECV: *started = recv_op(w, MESSAGE, s->peer, w->lane, s->len); break;
    case TT_PUT: *started = send_op(w, PUT, s->peer, s->len); break;
    case TT_GET: *started = get_op(w, s->peer, s->len); break;
    case TT_WAIT:
        if (*started) require(w, *started);
        break;
    case TT_SIGNAL: signal_ops(w, s); break;
    case TT_AWAIT: hear(w, s); break;
    case TT_COPY:
    case TT_REDUCE: work_ops(w, s); break;
    case TT_LOOP:
    case TT_END:
    case TT_EXCHANGE: break;
    }
}

/* ---- Ranks ---- */

static void write_lane(struct goal *g, int me, int lane, int *label)
{
    struct writer w = {.g = g, .me = me, .lane = lane, .label = label};
    w.started = tt_calloc(g->plans[me]->lane[lane].starts * TT_IN_FLIGHT + 1, sizeof *w.started);
    if (!w.started) no_memory(g);
    if (g->status == TUTTI_OK) each_step(&w, write_step);
    tt_free(w.started);
    tt_free(w.required);
}

/* Writes the operations that rank `me` does because of steps of other ranks: receives of puts,
 * receives of signals that no step awaits, and answers to gets. They may take place at any time.
 * The operations for one step form a chain that depends on no step of this rank. */
static void serve(struct goal *g, int me, int *label)
{
    for (size_t i = first_counterpart(g, me, 0); i < g->n && g->counterpart[i].at == me; i++) {
        const struct counterpart *c = &g->counterpart[i];
        struct writer w = {.g = g, .me = me, .lane = c->lane, .label = label};
        if (c->tag == PUT || (c->tag == SIGNAL && !c->heard))
            recv_op(&w, (enum tag)c->tag, c->from, c->lane, c->bytes);
        if (c->tag != ASK) continue;
        require(&w, recv_op(&w, ASK, c->from, c->lane, SMALL));
        send_op(&w, ANSWER, c->from, c->bytes);
        tt_free(w.required);
    }
}

tutti_status tt_plan_goal(struct tt_plan *const *plans, int p, int64_t copy_ps, int64_t reduce_ps,
                          FILE *out)
{
    struct goal g = {
        .plans = plans, .p = p, .copy_ps = copy_ps, .reduce_ps = reduce_ps, .out = out};
    collect(&g);
    fprintf(out, "num_ranks %d\n", p);
    for (int r = 0; r < p && g.status == TUTTI_OK; r++) {
        int label = 1;
        fprintf(out, "\nrank %d {\n", r);
        for (int lane = 0; lane < (int)plans[r]->lanes; lane++) write_lane(&g, r, lane, &label);
        serve(&g, r, &label);
        fprintf(out, "}\n");
    }
    tt_free(g.counterpart);
    return g.status;
}
