/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A copy of the plan is changed at random. If the result is structurally invalid (a loop without
 * its end, a rank outside the team), another random change is tried on a new copy.
 */
#include "plan/mutate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TRIES = 200, GONE = UINT32_MAX };

/* The copy of a plan with writable arrays. There is room for one more step. */
struct mutate_mutant {
    struct tt_plan *plan;
    struct tt_step *steps;
    struct tt_range *ranges;
    struct tt_shape *shapes;
    struct tt_vary *varies;
    int32_t *ranks;
    struct tt_exchange *exchanges;
    struct tt_entry *entries;
    struct tt_random *random;
    char *what;
    size_t size;
};

/* ---- The copy ---- */

static void *place(char **at, const void *from, size_t n, size_t sz, size_t room)
{
    void *to = *at;
    if (n) memcpy(to, from, n * sz);
    *at += tt_round_up((int64_t)(room * sz), 8);
    return to;
}

static bool copy_plan(struct mutate_mutant *m, const struct tt_plan *plan)
{
    m->plan = tt_alloc((size_t)plan->bytes + sizeof(struct tt_step) + 8 * 8);
    if (!m->plan) return false;
    char *at = (char *)m->plan + tt_round_up(sizeof *plan, 8);
    *m->plan = *plan;
    m->steps = place(&at, plan->steps, plan->steps_n, sizeof *m->steps, (size_t)plan->steps_n + 1);
    m->ranges = place(&at, plan->ranges, plan->ranges_n, sizeof *m->ranges, plan->ranges_n);
    m->shapes = place(&at, plan->shapes, plan->shapes_n, sizeof *m->shapes, plan->shapes_n);
    m->varies = place(&at, plan->varies, plan->varies_n, sizeof *m->varies, plan->varies_n);
    m->ranks = place(&at, plan->ranks, plan->ranks_n, sizeof *m->ranks, plan->ranks_n);
    m->exchanges =
        place(&at, plan->exchanges, plan->exchanges_n, sizeof *m->exchanges, plan->exchanges_n);
    m->entries = place(&at, plan->entries, plan->entries_n, sizeof *m->entries, plan->entries_n);
    m->plan->steps = m->steps;
    m->plan->ranges = m->ranges;
    m->plan->shapes = m->shapes;
    m->plan->varies = m->varies;
    m->plan->ranks = m->ranks;
    m->plan->exchanges = m->exchanges;
    m->plan->entries = m->entries;
    m->plan->bytes = at - (char *)m->plan;
    return true;
}

/* ---- Random choices ---- */

static uint32_t below(struct mutate_mutant *m, uint32_t n)
{
    return (uint32_t)tt_random_below(m->random, n);
}

/* Returns a random small number, positive or negative, never 0. */
static int nudge(struct mutate_mutant *m)
{
    static const int by[] = {-16, -8, -4, -2, -1, 1, 2, 4, 8, 16};
    return by[below(m, sizeof by / sizeof *by)];
}

__attribute__((format(printf, 3, 4))) static bool did(struct mutate_mutant *m, uint32_t step,
                                                      const char *format, ...)
{
    va_list args;
    int used = snprintf(m->what, m->size, "step %u: ", step);
    va_start(args, format);
    if (used > 0 && (size_t)used < m->size)
        vsnprintf(m->what + used, m->size - (size_t)used, format, args);
    va_end(args);
    return true;
}

/* Returns a random rank other than `than`, where TT_SELF means this rank. If there is only one
 * rank, returns that rank. */
static int32_t other_rank(struct mutate_mutant *m, int32_t than)
{
    int32_t p = m->plan->p;
    if (than == TT_SELF) than = m->plan->me;
    if (p < 2) return than;
    int32_t r = (int32_t)below(m, (uint32_t)p - 1);
    return r >= than ? r + 1 : r;
}

static bool has_ranges(const struct tt_step *s)
{
    return tt_kind_starts((enum tt_kind)s->kind) || s->kind == TT_COPY || s->kind == TT_REDUCE;
}

static struct tt_range *some_range(struct mutate_mutant *m, const struct tt_step *s)
{
    return has_ranges(s) ? &m->ranges[s->first + below(m, s->nops)] : NULL;
}

/* ---- Repairing the structure after steps were added, removed or moved ---- */

static bool is_start(const struct tt_step *s)
{
    return tt_kind_starts((enum tt_kind)s->kind) || s->kind == TT_EXCHANGE;
}

/* Returns the new position of the step that had this id, among the steps of the lane that start a
 * transfer; GONE if that step was removed. */
static uint32_t place_of(const struct tt_step *s, uint32_t n, uint32_t id)
{
    for (uint32_t i = 0, place_now = 0; i < n; i++) {
        if (!is_start(&s[i])) continue;
        if (s[i].value == id) return place_now;
        place_now++;
    }
    return GONE;
}

/* Renumbers the steps of a lane that start a transfer, and adapts the waits. Removes waits for a
 * step that was removed. */
static void settle_ids(struct tt_step *s, struct tt_lane *lane)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < lane->n; i++)
        if (s[i].kind == TT_WAIT) s[i].value = place_of(s, lane->n, s[i].value);
    lane->starts = 0;
    for (uint32_t i = 0; i < lane->n; i++) {
        if (s[i].kind == TT_WAIT && s[i].value == GONE) continue;
        if (is_start(&s[i])) s[i].value = lane->starts++;
        s[kept++] = s[i];
    }
    lane->n = kept;
}

static void settle_loops(struct tt_step *s, uint32_t n)
{
    uint32_t open[TT_DEPTH + 1], depth = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (s[i].kind == TT_LOOP && depth <= TT_DEPTH) open[depth++] = i;
        if (s[i].kind == TT_END && depth > 0) s[i].value = i - open[--depth];
    }
}

/* Closes the gaps between lanes. */
static void settle(struct mutate_mutant *m)
{
    uint32_t to = 0;
    for (uint32_t l = 0; l < m->plan->lanes; l++) {
        struct tt_lane *lane = &m->plan->lane[l];
        struct tt_step *s = m->steps + lane->first;
        settle_ids(s, lane);
        settle_loops(s, lane->n);
        memmove(m->steps + to, s, lane->n * sizeof *s);
        lane->first = to;
        to += lane->n;
    }
    m->plan->steps_n = to;
}

static struct tt_lane *lane_of(struct mutate_mutant *m, uint32_t step)
{
    uint32_t l = 0;
    while (step >= m->plan->lane[l].first + m->plan->lane[l].n) l++;
    return &m->plan->lane[l];
}

static void take_out(struct mutate_mutant *m, uint32_t step)
{
    struct tt_lane *lane = lane_of(m, step);
    uint32_t end = lane->first + lane->n;
    memmove(m->steps + step, m->steps + step + 1, (end - step - 1) * sizeof *m->steps);
    lane->n--;
}

/* Inserts a step. The lane must have lost a step before, or be the last lane, after which there is
 * room. */
static void put_in(struct mutate_mutant *m, struct tt_lane *lane, uint32_t at, struct tt_step step)
{
    uint32_t end = lane->first + lane->n;
    memmove(m->steps + at + 1, m->steps + at, (end - at) * sizeof step);
    m->steps[at] = step;
    lane->n++;
}

/* ---- Mutations: each returns false if it cannot change this step ---- */

static bool change_peer(struct mutate_mutant *m, uint32_t at)
{
    struct tt_step *s = &m->steps[at];
    bool has_peer =
        tt_kind_starts((enum tt_kind)s->kind) || s->kind == TT_SIGNAL || s->kind == TT_AWAIT;
    if (!has_peer || s->peer == TT_SET) return false;
    int32_t old = s->peer;
    s->peer = other_rank(m, old);
    for (uint32_t k = 0; has_ranges(s) && k < s->nops; k++)
        if (m->ranges[s->first + k].rank == old) m->ranges[s->first + k].rank = s->peer;
    return did(m, at, "peer %d -> %d", old, s->peer);
}

static bool change_audience(struct mutate_mutant *m, uint32_t at)
{
    struct tt_step *s = &m->steps[at];
    if (s->kind != TT_SIGNAL) return false;
    if (s->peer == TT_SET) {
        int32_t *rank = &m->ranks[s->first + below(m, s->nops)], old = *rank;
        *rank = other_rank(m, old);
        return did(m, at, "in the set, %d -> %d", old, *rank);
    }
    s->peer = s->peer == TT_ALL ? other_rank(m, m->plan->me) : TT_ALL;
    return did(m, at, "signals %d", s->peer);
}

static bool change_owner(struct mutate_mutant *m, uint32_t at)
{
    const struct tt_step *s = &m->steps[at];
    struct tt_range *r = some_range(m, s);
    if (!r || (s->kind != TT_COPY && s->kind != TT_REDUCE)) return false;
    int32_t old = r->rank;
    r->rank = other_rank(m, old);
    if (r->rank == m->plan->me) r->rank = TT_SELF;
    if (r->rank == old) return false;
    return did(m, at, "owner of a range %d -> %d", old, r->rank);
}

static bool change_offset(struct mutate_mutant *m, uint32_t at)
{
    struct tt_range *r = some_range(m, &m->steps[at]);
    if (!r) return false;
    int64_t old = r->off;
    r->off += nudge(m);
    return did(m, at, "offset %ld -> %ld", (long)old, (long)r->off);
}

static bool change_length(struct mutate_mutant *m, uint32_t at)
{
    struct tt_step *s = &m->steps[at];
    if (!has_ranges(s)) return false;
    int64_t old = s->len;
    s->len += nudge(m);
    return did(m, at, "length %ld -> %ld", (long)old, (long)s->len);
}

static bool change_buffer(struct mutate_mutant *m, uint32_t at)
{
    static const char *const name[] = {"IN", "OUT", "TMP", "WIN"};
    struct tt_range *r = some_range(m, &m->steps[at]);
    if (!r) return false;
    uint8_t old = r->buf;
    r->buf = (uint8_t)((old + 1 + below(m, TT_BUFFERS - 1)) % TT_BUFFERS);
    return did(m, at, "%s -> %s", name[old], name[r->buf]);
}

static bool change_value(struct mutate_mutant *m, uint32_t at)
{
    struct tt_step *s = &m->steps[at];
    if (s->kind != TT_SIGNAL && s->kind != TT_AWAIT && s->kind != TT_LOOP) return false;
    uint32_t old = s->value;
    s->value += below(m, 2) ? 1u : -1u;
    return did(m, at, "%s %u -> %u", s->kind == TT_LOOP ? "turns" : "value", old, s->value);
}

static bool change_ago(struct mutate_mutant *m, uint32_t at)
{
    struct tt_step *s = &m->steps[at];
    if (s->kind != TT_WAIT || !m->plan->loops) return false;
    uint8_t old = s->sub;
    s->sub = (uint8_t)((old + 1 + below(m, TT_IN_FLIGHT - 1)) % TT_IN_FLIGHT);
    return did(m, at, "waits for %d turns ago -> %d", old, s->sub);
}

static bool change_waited(struct mutate_mutant *m, uint32_t at)
{
    struct tt_step *s = &m->steps[at];
    uint32_t starts = lane_of(m, at)->starts;
    if (s->kind != TT_WAIT || starts < 2) return false;
    uint32_t old = s->value;
    s->value = (old + 1 + below(m, starts - 1)) % starts;
    return did(m, at, "waits for %%%u -> %%%u", old, s->value);
}

static bool change_operands(struct mutate_mutant *m, uint32_t at)
{
    struct tt_step *s = &m->steps[at];
    if (s->kind != TT_REDUCE || s->nops < 3) return false;
    uint32_t i = 1 + below(m, s->nops - 1), k = 1 + below(m, s->nops - 2);
    struct tt_range *r = m->ranges + s->first, kept = r[i];
    k += k >= i;
    switch (below(m, 3)) {
    case 0:
        r[i] = r[k];
        r[k] = kept;
        return did(m, at, "operands %u and %u swapped", i, k);
    case 1: r[i] = r[k]; return did(m, at, "operand %u -> %u", i, k);
    default:
        memmove(r + i, r + i + 1, (s->nops - i - 1) * sizeof *r);
        s->nops--;
        return did(m, at, "without operand %u", i);
    }
}

static bool change_shape(struct mutate_mutant *m, uint32_t at)
{
    const struct tt_range *r = some_range(m, &m->steps[at]);
    if (!r || !r->shape) return false;
    struct tt_shape *s = &m->shapes[r->shape];
    int by = nudge(m);
    switch (below(m, 5)) {
    case 0: s->step[0] += by; return did(m, at, "step of a loop %+d", by);
    case 1:
        s->step[1] += by;
        return s->step[1] != by && did(m, at, "step of the outer loop %+d", by);
    case 2: s->mod += s->mod ? 1 : 0; return s->mod && did(m, at, "rotates by one more");
    case 3: s->phase++; return s->mod && did(m, at, "phase one later");
    default: s->stride += by; return s->block && did(m, at, "stride %+d", by);
    }
}

static bool change_variation(struct mutate_mutant *m, uint32_t at)
{
    if (!m->steps[at].vary) return false;
    struct tt_vary *v = &m->varies[m->steps[at].vary];
    switch (below(m, 3)) {
    case 0: v->inc[0]++; return did(m, at, "value grows by one more");
    case 1: v->from += v->from && below(m, 2) ? -1u : 1u; return did(m, at, "from %u", v->from);
    default: v->tail += nudge(m); return did(m, at, "tail %ld", (long)v->tail);
    }
}

static bool change_exchange(struct mutate_mutant *m, uint32_t at)
{
    if (m->steps[at].kind != TT_EXCHANGE) return false;
    const struct tt_exchange *x = &m->exchanges[m->steps[at].first];
    struct tt_entry *e = &m->entries[x->first + below(m, x->n)];
    int by = nudge(m);
    switch (below(m, 4)) {
    case 0: e->peer = other_rank(m, e->peer); return did(m, at, "entry for rank %d", e->peer);
    case 1: e->mine += by; return did(m, at, "source of an entry %+d", by);
    case 2: e->theirs += by; return did(m, at, "destination of an entry %+d", by);
    default: e->len += by; return did(m, at, "length of an entry %+d", by);
    }
}

static bool close_buffer(struct mutate_mutant *m, uint32_t at)
{
    uint32_t bit = 1u << below(m, TT_WIN);
    if (!(m->plan->opens & bit)) return false;
    m->plan->opens &= ~bit;
    return did(m, at, "a buffer is not opened");
}

static bool drop(struct mutate_mutant *m, uint32_t at)
{
    take_out(m, at);
    settle(m);
    return did(m, at, "dropped");
}

static bool duplicate(struct mutate_mutant *m, uint32_t at)
{
    struct tt_lane *lane = lane_of(m, at);
    /* After a lane that is not the last one there is no room for another step. */
    if (lane != &m->plan->lane[m->plan->lanes - 1]) return false;
    put_in(m, lane, at, m->steps[at]);
    settle(m);
    return did(m, at, "twice");
}

static bool swap_next(struct mutate_mutant *m, uint32_t at)
{
    const struct tt_lane *lane = lane_of(m, at);
    if (at + 1 == lane->first + lane->n) return false;
    struct tt_step s = m->steps[at];
    m->steps[at] = m->steps[at + 1];
    m->steps[at + 1] = s;
    settle(m);
    return did(m, at, "swapped with the next");
}

static bool move(struct mutate_mutant *m, uint32_t at)
{
    struct tt_lane *lane = lane_of(m, at);
    if (lane->n < 2) return false;
    struct tt_step step = m->steps[at];
    uint32_t to = lane->first + below(m, lane->n);
    take_out(m, at);
    put_in(m, lane, to, step);
    settle(m);
    return to != at && did(m, at, "moved to %u", to);
}

static bool (*const mutations[])(struct mutate_mutant *, uint32_t) = {
    change_peer,      change_audience, change_owner,  change_offset, change_length,   change_buffer,
    change_value,     change_ago,      change_waited, drop,          change_operands, change_shape,
    change_variation, change_exchange, close_buffer,  duplicate,     swap_next,       move,
};

/* ---- Trying until the result is structurally valid ---- */

static bool try_once(struct mutate_mutant *m)
{
    uint32_t which = below(m, sizeof mutations / sizeof *mutations);
    return mutations[which](m, below(m, m->plan->steps_n)) && !tt_plan_invalid(m->plan, NULL);
}

struct tt_plan *mutate(const struct tt_plan *plan, struct tt_random *random, char *what,
                       size_t size)
{
    struct mutate_mutant m = {.random = random, .what = what, .size = size};
    for (int i = 0; i < TRIES && plan->steps_n; i++) {
        if (!copy_plan(&m, plan)) return NULL;
        if (try_once(&m)) return m.plan;
        tt_plan_free(m.plan);
    }
    return NULL;
}
