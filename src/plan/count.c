/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counting. Each step adds its bytes to the counts of the ranks that send, receive, reduce or copy
 * them, multiplied by the number of times that the step is done. This number follows from the turns
 * of the loops around the step, so the time to count grows with the length of the plan, not with
 * the turns of its loops. Counting must give the same numbers as adding up the steps that the
 * iterator returns; tests/coll/counts.c compares both.
 *
 * A *turn* is one pass through the steps of a loop. Each time that a step which starts a transfer
 * is done, it starts one more *instance* of this transfer, and a wait step names an instance
 * (docs/plan.md). A *vary entry* (struct tt_vary, plan.h) says how a step changes with the turns.
 */
#include "plan/count.h"

/* Adds n to a number; a sum that does not fit in 63 bits becomes TT_COUNT_MOST. */
static void add(int64_t *to, int64_t n)
{
    if (__builtin_add_overflow(*to, n, to)) *to = TT_COUNT_MOST;
}

/* Returns n times k, neither of which is negative. A product that does not fit in 63 bits becomes
 * TT_COUNT_MOST. */
static int64_t times_of(int64_t n, int64_t k)
{
    int64_t product;
    return __builtin_mul_overflow(n, k, &product) ? TT_COUNT_MOST : product;
}

/* Counts `len` bytes that move from `writer` to `reader`; both may be the same rank. */
static void moved(struct tt_count *count, int writer, int reader, int64_t len)
{
    add(&count[writer].sent, len);
    add(&count[reader].received, len);
}

static int owner(const struct tt_plan *plan, const struct tt_range *r)
{
    return r->rank == TT_SELF ? plan->me : r->rank;
}

/* The lane that is counted, and the loops around the current step. */
struct counted_lane {
    const struct tt_plan *plan;
    struct tt_count *count;
    int depth;
    struct {
        uint32_t begin, turns;
    } loop[TT_DEPTH]; /* the outer loop first */
    struct start *start;
};

/* A step of the lane that starts transfers with an id. `at` is the index of the step, `each` is how
 * many instances it starts each time that it is done, and the other members are the loops around
 * it. */
struct start {
    uint32_t at;
    int64_t each;
    int depth;
    uint32_t begin[TT_DEPTH], turns[TT_DEPTH];
};

/* ---- How often a step is done ---- */

static uint32_t inner_turns(const struct counted_lane *c)
{
    return c->depth > 0 ? c->loop[c->depth - 1].turns : 1;
}

static int64_t outer_turns(const struct counted_lane *c)
{
    return c->depth == 2 ? c->loop[0].turns : 1;
}

/* Returns how many turns the innermost loop has from turn `from` on; 0 if there are none. */
static int64_t turns_from(const struct counted_lane *c, int64_t from)
{
    return tt_max(0, (int64_t)inner_turns(c) - from);
}

/* Returns the number of turns i < n in which the step has the length `tail`: those with (i + phase)
 * % mod == mod - 1, where mod and phase are tail_mod and tail_phase. */
static int64_t tails_before(const struct tt_vary *v, int64_t n)
{
    int64_t first = (v->tail_mod - 1 - v->tail_phase % v->tail_mod) % v->tail_mod;
    return n > first ? (n - 1 - first) / v->tail_mod + 1 : 0;
}

/* Returns in how many turns of the innermost loop the step is done with the length `tail`. */
static int64_t tails(const struct counted_lane *c, const struct tt_vary *v)
{
    int64_t n = inner_turns(c);
    if (v->tail < 0 || c->depth == 0) return 0;
    if (v->tail_mod == 0) return turns_from(c, v->from) > 0;
    return tt_max(0, tails_before(v, n) - tails_before(v, v->from));
}

/* ---- Steps that move bytes ---- */

/* Counts one message for each operand of the step that belongs to another rank. Returns the number
 * of these operands. */
static uint32_t far_operands(const struct counted_lane *c, const struct tt_step *s, int64_t bytes,
                             int64_t times)
{
    const struct tt_range *range = c->plan->ranges + s->first;
    uint32_t far = 0;
    for (uint32_t k = 1; k < s->nops; k++) {
        if (range[k].rank == TT_SELF) continue;
        moved(c->count, owner(c->plan, &range[k]), c->plan->me, bytes);
        far++;
    }
    add(&c->count[c->plan->me].messages, times_of(far, times));
    return far;
}

static void one_sided(const struct counted_lane *c, const struct tt_step *s, int64_t bytes,
                      int64_t times)
{
    const struct tt_range *range = c->plan->ranges + s->first;
    moved(c->count, owner(c->plan, &range[1]), owner(c->plan, &range[0]), bytes);
    add(&c->count[c->plan->me].messages, times);
}

/* Counts a step that moves `len` bytes and is done `times` times. A step of length 0 counts
 * nothing. */
static void add_moves(const struct counted_lane *c, const struct tt_step *s, int64_t len,
                      int64_t times)
{
    struct tt_count *mine = &c->count[c->plan->me];
    int64_t bytes = times_of(len, times);
    if (bytes == 0) return;
    add(&mine->steps, times);
    switch ((enum tt_kind)s->kind) {
    case TT_SEND:
        add(&mine->sent, bytes);
        add(&mine->messages, times);
        break;
    case TT_RECV: add(&mine->received, bytes); break;
    case TT_PUT:
    case TT_GET: one_sided(c, s, bytes, times); break;
    case TT_COPY:
        if (far_operands(c, s, bytes, times) == 0) add(&mine->copied, bytes);
        break;
    case TT_REDUCE:
        if (far_operands(c, s, bytes, times) == 0 && s->nops == 2) add(&mine->copied, bytes);
        add(&mine->reduced, times_of((int64_t)s->nops - 2, bytes));
        break;
    case TT_WAIT:
    case TT_SIGNAL:
    case TT_AWAIT:
    case TT_LOOP:
    case TT_END:
    case TT_EXCHANGE: break;
    }
}

static void add_varying(const struct counted_lane *c, const struct tt_step *s)
{
    const struct tt_vary *v = &c->plan->varies[s->vary];
    int64_t outer = outer_turns(c), from = s->vary ? v->from : 0, n = turns_from(c, from);
    int64_t tail = s->vary ? tails(c, v) : 0;
    add_moves(c, s, s->len, (n - tail) * outer);
    if (tail > 0) add_moves(c, s, v->tail, tail * outer);
}

/* ---- Exchanges: a put and a wait for each piece ---- */

static int64_t pieces(const struct tt_plan *plan, const struct tt_exchange *how)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < how->n; i++)
        add(&n, (plan->entries[how->first + i].len - 1) / how->chunk + 1);
    return n;
}

static void add_exchange(const struct counted_lane *c, const struct tt_step *s)
{
    const struct tt_plan *plan = c->plan;
    const struct tt_exchange *how = &plan->exchanges[s->first];
    int64_t times = outer_turns(c) * inner_turns(c), puts = times_of(pieces(plan, how), times);
    for (uint32_t i = 0; i < how->n; i++) {
        const struct tt_entry *e = &plan->entries[how->first + i];
        moved(c->count, plan->me, e->peer, times_of(e->len, times));
    }
    add(&c->count[plan->me].messages, puts);
    add(&c->count[plan->me].steps, times_of(2, puts));
}

/* ---- Waits, without those for an instance that was never started ---- */

/* Returns how many of the loops around the current step are also around the step `start`, which
 * starts the transfers. */
static int common_loops(const struct counted_lane *c, const struct start *start)
{
    int n = 0;
    while (n < c->depth && n < start->depth && start->begin[n] == c->loop[n].begin) n++;
    return n;
}

/* A wait step names an instance of a transfer. Returns the first turn in which this instance has
 * been started when the wait step is reached. The turns are those of the innermost loop that
 * contains both the wait step and the step `start`. If there is a loop around this one, its next
 * turn does not count them from 0 again, but goes on counting. In each turn, `start` starts the
 * same number of instances, either before or after the wait. */
static int64_t first_turn(const struct start *start, const struct tt_step *s, uint32_t at,
                          int common)
{
    int64_t started = start->each, ago = (int64_t)s->sub + s->first;
    for (int d = common; d < start->depth; d++) started = times_of(started, start->turns[d]);
    if (start->at < at) ago -= started;
    return ago > 0 ? (ago - 1) / started + 1 : 0;
}

static void add_wait(const struct counted_lane *c, const struct tt_step *s, uint32_t at)
{
    const struct start *start = &c->start[s->value];
    int common = common_loops(c, start);
    int64_t first = first_turn(start, s, at, common), outer = outer_turns(c),
            turns = inner_turns(c);
    int64_t from = s->vary ? c->plan->varies[s->vary].from : 0, n = turns_from(c, from) * outer;
    if (common == 0) {
        n = first > 0 ? 0 : n;
    } else if (common < c->depth) {
        n = turns_from(c, from) * tt_max(0, outer - first);
    } else {
        /* the turns of the outer loop in which the step waits; in the first of these, it waits only
         * from turn first % turns of the inner loop on */
        int64_t left = outer - first / turns;
        n = turns_from(c, tt_max(from, first % turns)) + turns_from(c, from) * (left - 1);
        if (left <= 0) n = 0;
    }
    add(&c->count[c->plan->me].steps, n);
}

/* ---- The steps of a lane ---- */

static void enter_or_leave(struct counted_lane *c, const struct tt_step *s, uint32_t at)
{
    if (s->kind == TT_END) {
        c->depth--;
    } else {
        c->loop[c->depth].begin = at;
        c->loop[c->depth++].turns = s->value;
    }
}

static void note_start(struct counted_lane *c, const struct tt_step *s, uint32_t at)
{
    struct start *start = &c->start[s->value];
    bool exchange = s->kind == TT_EXCHANGE;
    *start = (struct start){.at = at, .each = 1, .depth = c->depth};
    if (exchange) start->each = pieces(c->plan, &c->plan->exchanges[s->first]);
    for (int d = 0; d < c->depth; d++) {
        start->begin[d] = c->loop[d].begin;
        start->turns[d] = c->loop[d].turns;
    }
}

static void add_step(struct counted_lane *c, const struct tt_step *s, uint32_t at)
{
    switch ((enum tt_kind)s->kind) {
    case TT_SEND:
    case TT_RECV:
    case TT_PUT:
    case TT_GET:
    case TT_COPY:
    case TT_REDUCE: add_varying(c, s); break;
    case TT_WAIT: add_wait(c, s, at); break;
    case TT_SIGNAL:
    case TT_AWAIT:
        add(&c->count[c->plan->me].steps,
            turns_from(c, s->vary ? c->plan->varies[s->vary].from : 0) * outer_turns(c));
        break;
    case TT_EXCHANGE: add_exchange(c, s); break;
    case TT_LOOP:
    case TT_END: enter_or_leave(c, s, at); break;
    }
}

static void find_starts(struct counted_lane *c, const struct tt_lane *lane)
{
    for (uint32_t at = lane->first; at < lane->first + lane->n; at++) {
        const struct tt_step *s = &c->plan->steps[at];
        if (s->kind == TT_LOOP || s->kind == TT_END) enter_or_leave(c, s, at);
        if (tt_kind_starts(s->kind) || s->kind == TT_EXCHANGE) note_start(c, s, at);
    }
}

static tutti_status add_lane(const struct tt_plan *plan, const struct tt_lane *lane,
                             struct tt_count *count)
{
    struct counted_lane c = {.plan = plan, .count = count};
    c.start = tt_calloc((size_t)lane->starts + 1, sizeof *c.start);
    if (!c.start) return tt_fail(TUTTI_ERR_MEMORY, "no memory to count a plan");
    find_starts(&c, lane);
    for (uint32_t at = lane->first; at < lane->first + lane->n; at++)
        add_step(&c, &plan->steps[at], at);
    tt_free(c.start);
    return TUTTI_OK;
}

tutti_status tt_count_plan(const struct tt_plan *plan, struct tt_count *count)
{
    for (uint32_t i = 0; i < plan->lanes; i++) TT_TRY(add_lane(plan, &plan->lane[i], count));
    return TUTTI_OK;
}

tutti_status tt_count_plans(const struct tt_plan *const *plans, int p, struct tt_count *count)
{
    for (int r = 0; r < p; r++) count[r] = (struct tt_count){0};
    for (int r = 0; r < p; r++) TT_TRY(tt_count_plan(plans[r], count));
    return TUTTI_OK;
}

struct tt_count tt_count_worst(const struct tt_count *count, int p)
{
    struct tt_count worst = {0};
#define RAISE(field) worst.field = tt_max(worst.field, count[r].field);
    for (int r = 0; r < p; r++) {
        TT_COUNT_FIELDS(RAISE)
    }
#undef RAISE
    return worst;
}

struct tt_count tt_count_sum(const struct tt_count *count, int p)
{
    struct tt_count sum = {0};
#define ADD(field) add(&sum.field, count[r].field);
    for (int r = 0; r < p; r++) {
        TT_COUNT_FIELDS(ADD)
    }
#undef ADD
    return sum;
}

int64_t tt_plan_steps(const struct tt_plan *plan, int64_t spared)
{
    int64_t turns[TT_DEPTH + 1] = {1}, steps = 0;
    int depth = 0;
    for (uint32_t i = 0; i < plan->steps_n; i++) {
        const struct tt_step *step = &plan->steps[i];
        if (step->kind == TT_LOOP) {
            turns[depth + 1] = turns[depth] * tt_max(0, (int64_t)step->value - spared);
            depth++;
        } else if (step->kind == TT_END) {
            depth--;
        } else if (step->kind != TT_EXCHANGE) {
            steps += turns[depth];
        }
    }
    return steps;
}
