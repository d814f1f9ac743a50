/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes transfers late: unrolls the steps of a lane into a list, gives puts and gets new positions
 * in the list, and builds a new plan from the list.
 */
#include "run/delay.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 4000, NONE = -1 };

/* A step, its position in time, and for a wait the index of the step that it waits for. */
struct item {
    struct tt_plain step;
    struct tt_range *ranges;
    double when;
    int start;
    bool waited, never;
    tt_started id; /* set once the step is built */
};

struct list {
    const struct tt_plan *plan;
    struct tt_random *random;
    int n;
    bool good;
    struct item item[STEPS];
};

static int find_start(const struct list *l, const struct tt_plain *wait)
{
    for (int i = l->n - 1; i >= 0; i--) {
        const struct tt_plain *s = &l->item[i].step;
        if (tt_kind_starts(s->kind) && s->value == wait->value && s->instance == wait->instance)
            return i;
    }
    return NONE;
}

static void add(struct list *l, const struct tt_plain *step)
{
    struct item *x = &l->item[l->n];
    *x = (struct item){.step = *step, .when = l->n, .start = NONE};
    if (step->nops && step->kind != TT_SIGNAL) {
        x->ranges = malloc(step->nops * sizeof *x->ranges);
        if (!x->ranges) abort();
        memcpy(x->ranges, step->range, step->nops * sizeof *x->ranges);
        x->step.range = x->ranges;
    }
    if (step->kind == TT_WAIT) {
        x->start = find_start(l, step);
        if (x->start == NONE) l->good = false;
    }
    l->n++;
}

static void collect(struct list *l, int lane)
{
    struct tt_iter iter;
    struct tt_plain step;
    void *memory = calloc(1, tt_iter_bytes(l->plan, lane) + 1);
    if (!memory) abort();
    l->n = 0;
    l->good = true;
    tt_iter_begin(&iter, l->plan, lane, memory);
    while (l->good && tt_iter_next(&iter, &step)) {
        if (l->n == STEPS)
            l->good = false;
        else
            add(l, &step);
    }
    free(memory);
}

/* ---- New positions ---- */

static bool is_transfer(const struct item *x)
{
    return x->step.kind == TT_PUT || x->step.kind == TT_GET;
}

/* Returns a random time after the start at position `from` and before the step at position `to`. */
static double somewhere(struct list *l, int from, int to)
{
    return from + (double)tt_random_below(l->random, 1000) / 1000 * (to - from - 0.5);
}

/* Gives each put and get a new time between its start and its wait. If a transfer has several
 * waits, only the first one counts, since the later ones change nothing. A transfer without a wait
 * gets any time after its start, or is left out (`never`). */
static void move_all(struct list *l)
{
    for (int i = 0; i < l->n; i++) {
        struct item *wait = &l->item[i], *start = &l->item[wait->start == NONE ? 0 : wait->start];
        if (wait->start == NONE || start->waited) continue;
        start->waited = true;
        if (is_transfer(start)) start->when = somewhere(l, wait->start, i);
    }
    for (int i = 0; i < l->n; i++) {
        if (!is_transfer(&l->item[i]) || l->item[i].waited) continue;
        l->item[i].when = somewhere(l, i, l->n + 1);
        l->item[i].never = tt_random_below(l->random, 2);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;
    return (x->when > y->when) - (x->when < y->when);
}

/* ---- Building the new plan ---- */

static struct tt_range again(const struct list *l, struct tt_builder *b, struct tt_range r)
{
    const struct tt_shape *s = r.shape ? &l->plan->shapes[r.shape] : NULL;
    r.shape = 0;
    return s && s->block > 0 ? tt_strided(b, r, s->block, s->stride) : r;
}

static void build_combine(struct list *l, struct tt_builder *b, struct item *x)
{
    for (uint32_t i = 0; i < x->step.nops; i++) x->ranges[i] = again(l, b, x->ranges[i]);
    tt_combine(b, x->ranges[0], x->ranges + 1, (int)x->step.nops - 1, x->step.len);
}

static void build_signal(struct tt_builder *b, const struct tt_plain *s)
{
    if (s->peer == TT_SET)
        tt_signal_set(b, s->set, s->nops, s->value);
    else
        tt_signal(b, s->peer, s->value);
}

static void build_item(struct list *l, struct tt_builder *b, struct item *x)
{
    const struct tt_plain *s = &x->step;
    struct tt_range first = {0}, second = {0};
    if (x->ranges) first = again(l, b, x->ranges[0]);
    if (x->ranges && s->nops > 1) second = again(l, b, x->ranges[1]);
    switch (s->kind) {
    case TT_SEND: x->id = tt_send(b, s->peer, first, s->len); break;
    case TT_RECV: x->id = tt_recv(b, s->peer, first, s->len); break;
    case TT_PUT: x->id = tt_put(b, first, second, s->len); break;
    case TT_GET: x->id = tt_get(b, first, second, s->len); break;
    case TT_WAIT: tt_wait(b, l->item[x->start].id); break;
    case TT_SIGNAL: build_signal(b, s); break;
    case TT_AWAIT: tt_await_lane(b, s->peer, (int)s->lane, s->value); break;
    case TT_COPY: tt_copy(b, first, second, s->len); break;
    case TT_REDUCE: build_combine(l, b, x); break;
    case TT_LOOP:
    case TT_END:
    case TT_EXCHANGE: abort(); /* the iterator never returns these kinds */
    }
}

static void build_lane(struct list *l, struct tt_builder *b)
{
    static struct item *order[STEPS];
    for (int i = 0; i < l->n; i++) order[i] = &l->item[i];
    qsort(order, (size_t)l->n, sizeof *order, by_time);
    for (int i = 0; i < l->n; i++)
        if (!order[i]->never) build_item(l, b, order[i]);
}

static void release(struct list *l)
{
    for (int i = 0; i < l->n; i++) free(l->item[i].ranges);
    l->n = 0;
}

struct tt_plan *delay(const struct tt_plan *plan, const struct tt_call *call,
                      struct tt_random *random)
{
    static struct list list;
    list.plan = plan;
    list.random = random;
    bool good = true;
    struct tt_builder *b = tt_builder_new(plan->p, plan->me, call, "late");
    if (!b) abort();
    tt_open(b, plan->opens);
    tt_scratch(b, plan->tmp_bytes);
    for (uint32_t lane = 0; lane < plan->lanes && good; lane++) {
        if (lane) tt_lane(b);
        collect(&list, (int)lane);
        good = list.good;
        if (good) move_all(&list);
        if (good) build_lane(&list, b);
        release(&list);
    }
    struct tt_plan *late = good ? tt_builder_finish(b) : NULL;
    tt_builder_free(b);
    return late;
}
