/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The iterator, which reads a plan's steps and unrolls loops and generators, so that no other code
 * has to handle them. Plans without loops and generators are read in place (tt_iter_next in plan.h)
 * and do not use this file. A *turn* is one pass through the steps of a loop, and an *instance* of
 * a step one transfer that it starts (docs/plan.md).
 */
#include "plan/plan.h"

#include <string.h>

/* The state of an exchange under way. order[0 .. active-1] are the entries that are not finished,
 * in the order of this round, and `at` is the position of the next entry. During a round, the
 * entries that need another round are moved to the front of the array; `kept` is their number.
 * `started` puts have been started, and `waited` of them have been waited for. */
struct tt_generator {
    const struct tt_exchange *how;
    const struct tt_entry *entries;
    uint32_t id, step;
    uint32_t active, at, kept;
    uint64_t started, waited;
    uint32_t *order;
    int64_t *done; /* bytes already put, for each entry */
};

static uint32_t most_entries(const struct tt_plan *plan)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->exchanges_n; i++)
        if (plan->exchanges[i].n > n) n = plan->exchanges[i].n;
    return n;
}

static size_t instances_bytes(const struct tt_plan *plan, int lane)
{
    return plan->loops ? plan->lane[lane].starts * sizeof(uint64_t) : 0;
}

static bool wants_scratch(const struct tt_plan *plan)
{
    return plan->loops || plan->exchanges_n;
}

size_t tt_iter_bytes(const struct tt_plan *plan, int lane)
{
    size_t bytes = instances_bytes(plan, lane);
    if (wants_scratch(plan)) bytes += plan->operands * sizeof(struct tt_range);
    if (plan->exchanges_n)
        bytes += sizeof(struct tt_generator) +
                 most_entries(plan) * (sizeof(int64_t) + sizeof(uint32_t)) + 8;
    return (size_t)tt_round_up((int64_t)bytes, 8); /* values of 8 bytes may follow */
}

void tt_iter_begin_unrolled(struct tt_iter *iter, void *memory)
{
    char *at = memory;
    const struct tt_plan *plan = iter->plan;
    iter->depth = 0;
    iter->generating = false;
    iter->instances = NULL;
    if (plan->loops) iter->instances = memset(at, 0, instances_bytes(plan, iter->lane));
    at += instances_bytes(plan, iter->lane);
    iter->scratch = (struct tt_range *)at;
    iter->generator = (struct tt_generator *)(at + plan->operands * sizeof(struct tt_range));
}

/* ---- The exchange ---- */

static void draw_order(struct tt_generator *g, int me)
{
    struct tt_random random;
    uint32_t n = g->how->n, first = 0;
    bool shifted = g->how->order != TT_ORDER_RANK;
    while (shifted && first < n && g->entries[first].peer <= me) first++;
    for (uint32_t i = 0; i < n; i++) g->order[i] = (first + i) % n;
    if (g->how->order != TT_ORDER_RANDOM) return;
    tt_random_seed(&random, g->how->seed * 0x9e3779b97f4a7c15u + (uint64_t)me);
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = (uint32_t)tt_random_below(&random, i + 1), swap = g->order[i];
        g->order[i] = g->order[j];
        g->order[j] = swap;
    }
}

static void exchange_begin(struct tt_iter *iter, const struct tt_step *s)
{
    struct tt_generator *g = iter->generator;
    g->how = &iter->plan->exchanges[s->first];
    g->entries = iter->plan->entries + g->how->first;
    g->id = s->value;
    g->step = iter->at - 1; /* iter->at is already behind the step */
    g->active = g->how->n;
    g->at = g->kept = 0;
    g->started = g->waited = iter->instances ? iter->instances[g->id] : 0;
    g->done = (int64_t *)(g + 1);
    g->order = (uint32_t *)(g->done + g->how->n);
    memset(g->done, 0, g->how->n * sizeof *g->done);
    draw_order(g, iter->plan->me);
    iter->generating = true;
}

static void exchange_wait(struct tt_generator *g, struct tt_plain *out)
{
    *out =
        (struct tt_plain){.kind = TT_WAIT, .value = g->id, .instance = g->waited++, .at = g->step};
}

static void exchange_put(struct tt_iter *iter, struct tt_generator *g, struct tt_plain *out)
{
    uint32_t which = g->order[g->at++];
    const struct tt_entry *e = &g->entries[which];
    int64_t done = g->done[which], len = tt_min(g->how->chunk, e->len - done);
    iter->scratch[0] = tt_at(TT_OUT, e->peer, e->theirs + done);
    iter->scratch[1] = tt_own(g->how->from, e->mine + done);
    *out = (struct tt_plain){.kind = TT_PUT,
                             .peer = e->peer,
                             .value = g->id,
                             .instance = g->started++,
                             .nops = 2,
                             .len = len,
                             .range = iter->scratch,
                             .at = g->step};
    g->done[which] = done + len;
    if (g->done[which] < e->len) g->order[g->kept++] = which;
    if (g->at < g->active) return;
    g->active = g->kept;
    g->at = g->kept = 0;
}

/* Sets *out to the next step of the exchange. Returns false when the exchange has ended. */
static bool exchange_next(struct tt_iter *iter, struct tt_plain *out)
{
    struct tt_generator *g = iter->generator;
    uint64_t under_way = g->started - g->waited;
    if (g->active && under_way < g->how->window)
        exchange_put(iter, g, out);
    else if (under_way)
        exchange_wait(g, out);
    else {
        if (iter->instances) iter->instances[g->id] = g->started;
        iter->generating = false;
        return false;
    }
    return true;
}

/* ---- Steps and loops ---- */

static uint32_t turn(const struct tt_iter *iter, int out)
{
    return iter->depth > out ? iter->loop[iter->depth - 1 - out].turn : 0;
}

static void resolve_ranges(struct tt_iter *iter, struct tt_plain *out)
{
    for (uint32_t k = 0; k < out->nops; k++) {
        struct tt_range r = out->range[k];
        if (r.shape) {
            const struct tt_shape *s = &iter->plan->shapes[r.shape];
            uint64_t i = (uint64_t)turn(iter, 0) + (uint64_t)s->phase;
            if (s->mod > 0) i %= (uint64_t)s->mod;
            r.off += (int64_t)i * s->step[0] + (int64_t)turn(iter, 1) * s->step[1];
        }
        iter->scratch[k] = r;
    }
    out->range = iter->scratch;
}

static bool has_tail(const struct tt_iter *iter, const struct tt_vary *v)
{
    if (v->tail < 0 || iter->depth == 0) return false;
    uint32_t i = turn(iter, 0), last = iter->loop[iter->depth - 1].turns - 1;
    if (v->tail_mod == 0) return i == last;
    return (i + (uint32_t)v->tail_phase) % (uint32_t)v->tail_mod == (uint32_t)v->tail_mod - 1;
}

/* Sets the members of *out that vary with the turn. Returns false in a turn that leaves this step
 * out. */
static bool resolve_vary(const struct tt_iter *iter, const struct tt_step *s, struct tt_plain *out)
{
    const struct tt_vary *v = &iter->plan->varies[s->vary];
    if (!tt_kind_starts(s->kind) && s->kind != TT_WAIT)
        out->value += turn(iter, 0) * (uint32_t)v->inc[0] + turn(iter, 1) * (uint32_t)v->inc[1];
    if (has_tail(iter, v)) out->len = v->tail;
    return turn(iter, 0) >= v->from;
}

static void loop_begin(struct tt_iter *iter, const struct tt_step *s)
{
    int d = iter->depth++;
    iter->loop[d].begin = iter->at;
    iter->loop[d].turn = 0;
    iter->loop[d].turns = s->value;
}

static void loop_end(struct tt_iter *iter)
{
    int d = iter->depth - 1;
    if (++iter->loop[d].turn < iter->loop[d].turns)
        iter->at = iter->loop[d].begin;
    else
        iter->depth--;
}

/* Sets the instance of the started step for which this wait step waits. Returns false if that
 * instance was never started. */
static bool resolve_wait(const struct tt_iter *iter, const struct tt_step *s, struct tt_plain *out)
{
    uint64_t ago = (uint64_t)s->sub + s->first;
    uint64_t starts = iter->instances ? iter->instances[s->value] : 1;
    out->instance = starts - ago;
    return starts >= ago;
}

/* Resolves a step of a plan with loops or generators. Returns false if nothing is to be done for it
 * in this turn. */
static bool resolve(struct tt_iter *iter, const struct tt_step *s, struct tt_plain *out)
{
    bool here = !s->vary || resolve_vary(iter, s, out);
    if (tt_kind_starts(s->kind) && iter->instances) out->instance = iter->instances[s->value]++;
    if (!here) return false;
    if (s->kind == TT_WAIT) return resolve_wait(iter, s, out);
    if (s->kind == TT_SIGNAL || s->kind == TT_AWAIT) return true;
    resolve_ranges(iter, out);
    return out->len > 0;
}

bool tt_iter_next_unrolled(struct tt_iter *iter, struct tt_plain *out)
{
    const struct tt_plan *plan = iter->plan;
    for (;;) {
        if (tt_unlikely(iter->generating) && exchange_next(iter, out)) return true;
        if (iter->at == iter->end) return false;
        const struct tt_step *s = &plan->steps[iter->at];
        out->at = iter->at++;
        if (s->kind == TT_LOOP)
            loop_begin(iter, s);
        else if (s->kind == TT_END)
            loop_end(iter);
        else if (s->kind == TT_EXCHANGE)
            exchange_begin(iter, s);
        else {
            tt_iter_plain(plan, s, out);
            if (resolve(iter, s, out)) return true;
        }
    }
}
