/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What each kind of step does to memory, messages and flags.
 */
#include "plan/prove-inside.h"

static enum tt_outcome outcome(bool going_on)
{
    return going_on ? TT_STEP_DONE : TT_STEP_OVER;
}

/* ---- Signals ---- */

static uint32_t flag_of(const struct tt_lane_run *lane)
{
    return lane->given_n ? lane->given[lane->given_n - 1].value : 0;
}

static int targets(const struct tt_prover *p, const struct tt_plain *s)
{
    if (s->peer == TT_ALL) return p->p - 1;
    return s->peer == TT_SET ? (int)s->nops : 1;
}

static bool peers_exist(struct tt_prover *p, const struct tt_plain *s)
{
    bool all = s->peer == TT_ALL || (s->peer >= 0 && s->peer < p->p);
    if (s->peer == TT_SET) {
        all = true;
        for (uint32_t i = 0; i < s->nops; i++) all &= s->set[i] >= 0 && s->set[i] < p->p;
    }
    return all || tt_prove_fault(p, TT_FAULT_OUTSIDE, "signals a rank that is not there");
}

static struct tt_given *give(struct tt_prover *p, struct tt_lane_run *lane)
{
    if (lane->given_n == lane->given_room) {
        uint32_t room = lane->given_room ? 2 * lane->given_room : 8;
        struct tt_given *more = tt_prove_alloc(p, room * sizeof *more);
        if (!more) return NULL;
        for (uint32_t i = 0; i < lane->given_n; i++) more[i] = lane->given[i];
        if (lane->given) tt_prove_release(p, lane->given, lane->given_room * sizeof *more);
        lane->given = more;
        lane->given_room = room;
    }
    return &lane->given[lane->given_n++];
}

/* Those who wait for at most `value`; at the lane's end all, to be told. */
static void wake(struct tt_prover *p, struct tt_lane_run *lane, uint32_t value)
{
    struct tt_lane_run **at = &lane->waiters;
    while (*at) {
        struct tt_lane_run *waiter = *at;
        if (waiter->step.value <= value) {
            *at = waiter->next;
            tt_prove_ready(p, waiter);
        } else
            at = &waiter->next;
    }
}

static enum tt_outcome give_signal(struct tt_prover *p, struct tt_lane_run *lane)
{
    const struct tt_plain *s = &lane->step;
    if (s->value <= flag_of(lane))
        return outcome(tt_prove_fault(p, TT_FAULT_FLAG,
                                      "the flag is raised to %u, and is %u already", s->value,
                                      flag_of(lane)));
    if (!peers_exist(p, s)) return TT_STEP_OVER;
    struct tt_given *g = give(p, lane);
    if (!g) return TT_STEP_OVER;
    /* With one lane a rank, whoever has awaited it needs it no more. */
    *g = (struct tt_given){.value = s->value,
                           .n = s->nops,
                           .peer = s->peer,
                           .left = p->lanes == 1 ? targets(p, s) : -1,
                           .set = s->set,
                           .when = tt_prove_moment(lane)};
    wake(p, lane, s->value);
    return TT_STEP_DONE;
}

static struct tt_given *find_given(const struct tt_lane_run *writer, uint32_t value)
{
    uint32_t low = 0, high = writer->given_n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (writer->given[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < writer->given_n && writer->given[low].value == value;
    return found ? &writer->given[low] : NULL;
}

static bool given_to(const struct tt_given *g, int writer, int rank)
{
    if (g->peer == TT_ALL) return rank != writer;
    if (g->peer != TT_SET) return g->peer == rank;
    for (uint32_t i = 0; i < g->n; i++)
        if (g->set[i] == rank) return true;
    return false;
}

static bool learn(struct tt_prover *p, struct tt_lane_run *lane, struct tt_given *g)
{
    if (g->when.clock == lane->now.clock) return true;
    bool news = lane->now.seen->t[g->when.clock] < g->when.time;
    if (!tt_prove_join(p, &lane->now.seen, &g->when)) return false;
    if (news && g->left > 0 && --g->left == 0) {
        tt_prove_clock_drop(p, g->when.seen);
        g->when.seen = NULL;
    }
    return true;
}

static struct tt_lane_run *writer_of(struct tt_prover *p, const struct tt_lane_run *lane)
{
    const struct tt_plain *s = &lane->step;
    if (s->peer >= 0 && s->peer < p->p) {
        struct tt_part *part = tt_prove_part(p, lane->part->execution, s->peer);
        if (s->lane < part->plan->lanes) return &part->lane[s->lane];
    }
    tt_prove_fault(p, TT_FAULT_NEVER_SIGNALLED, "there is no lane %u of rank %d", s->lane, s->peer);
    return NULL;
}

static enum tt_outcome await_signal(struct tt_prover *p, struct tt_lane_run *lane)
{
    const struct tt_plain *s = &lane->step;
    int me = lane->part->rank;
    struct tt_lane_run *writer = writer_of(p, lane);
    if (!writer) return TT_STEP_OVER;
    struct tt_given *g = find_given(writer, s->value);
    if (!g && (flag_of(writer) > s->value || writer->state == TT_LANE_DONE))
        return outcome(tt_prove_fault(p, TT_FAULT_NEVER_SIGNALLED,
                                      "rank %d's flag goes to %u without %u", s->peer,
                                      flag_of(writer), s->value));
    if (!g) {
        lane->next = writer->waiters;
        writer->waiters = lane;
        return TT_STEP_BLOCKED;
    }
    if (!given_to(g, s->peer, me))
        return outcome(tt_prove_fault(p, TT_FAULT_NEVER_SIGNALLED,
                                      "rank %d signals %u to others, not to rank %d", s->peer,
                                      s->value, me));
    if (!learn(p, lane, g)) return TT_STEP_OVER;
    if (lane->opened && !lane->opened[s->peer]) lane->opened[s->peer] = lane->now.time;
    return TT_STEP_DONE;
}

/* ---- Copies and reductions ---- */

static bool same_place(const struct tt_place *a, const struct tt_place *b)
{
    return a->memory == b->memory && a->off == b->off && a->block == b->block &&
           a->stride == b->stride;
}

/* A source that is also the destination is not read apart: the write stands for it. */
static bool load(struct tt_prover *p, const struct tt_place *from, const struct tt_place *to,
                 uint32_t access, struct tt_runs *runs)
{
    if (same_place(from, to)) return tt_prove_peek(p, from, runs);
    return tt_prove_load(p, from, access, runs);
}

static bool writes_own(struct tt_prover *p, const struct tt_range *to)
{
    if (to->rank == TT_SELF || to->rank == p->running->part->rank) return true;
    return tt_prove_fault(p, TT_FAULT_REACH, "only a put writes the buffers of another rank");
}

static bool copy(struct tt_prover *p, const struct tt_plain *s, bool under_way, uint32_t *access)
{
    struct tt_place to, from;
    if (!tt_prove_place(p, &s->range[0], s->len, true, &to) ||
        !tt_prove_place(p, &s->range[1], s->len, false, &from))
        return false;
    *access = tt_prove_access(p, under_way);
    return *access && load(p, &from, &to, *access, &p->result) && tt_prove_claim(p, &to, *access) &&
           tt_prove_store(p, &to, &p->result);
}

static bool whole_elements(struct tt_prover *p, const struct tt_place *at)
{
    char said[80];
    int64_t sz = p->running->part->call->sz;
    if (at->len % sz == 0 && at->off % sz == 0 && at->block % sz == 0 && at->stride % sz == 0)
        return true;
    return tt_prove_fault(p, TT_FAULT_MISALIGNED, "%s: not whole elements of %ld bytes",
                          tt_prove_say_bytes(p, said, sizeof said, at->memory, at->off, at->block),
                          (long)sz);
}

static bool load_operands(struct tt_prover *p, const struct tt_plain *s, uint32_t access,
                          const struct tt_place *to)
{
    for (uint32_t k = 1; k < s->nops; k++) {
        struct tt_place from;
        struct tt_runs *runs = &p->operands[k - 1];
        if (!tt_prove_place(p, &s->range[k], s->len, false, &from) || !whole_elements(p, &from) ||
            !load(p, &from, to, access, runs))
            return false;
        runs->next = 0;
    }
    return true;
}

/* The next bytes, of which each operand holds one run: into p->one. */
static void next_piece(struct tt_prover *p, uint32_t k)
{
    int64_t len = INT64_MAX;
    for (uint32_t i = 0; i < k; i++) {
        p->one[i] = p->operands[i].at[p->operands[i].next];
        len = tt_min(len, p->one[i].len);
    }
    for (uint32_t i = 0; i < k; i++) {
        struct tt_run *run = &p->operands[i].at[p->operands[i].next];
        p->one[i].len = len;
        run->len -= len;
        run->coord += len;
        p->operands[i].next += run->len == 0;
    }
}

static bool combine(struct tt_prover *p, uint32_t k, int64_t len)
{
    p->result.n = 0;
    for (int64_t done = 0; done < len; done += p->one[0].len) {
        next_piece(p, k);
        struct tt_run run = p->one[0];
        if (k > 1 && !(run.node = tt_prove_combine(p, p->one, k))) return false;
        if (!tt_prove_runs_add(p, &p->result, run)) return false;
    }
    return true;
}

static bool room_for_operands(struct tt_prover *p, uint32_t k)
{
    uint32_t had = p->operands_room, room = had;
    if (k <= had) return true;
    struct tt_run *one = tt_prove_grow(p, p->one, &room, k, sizeof *one);
    if (!one) return false;
    p->one = one;
    room = had;
    struct tt_runs *operands = tt_prove_grow(p, p->operands, &room, k, sizeof *operands);
    if (!operands) return false;
    p->operands = operands;
    for (uint32_t i = had; i < room; i++) operands[i] = (struct tt_runs){.n = 0};
    p->operands_room = room;
    return true;
}

static bool reduce(struct tt_prover *p, const struct tt_plain *s)
{
    struct tt_place to;
    uint32_t k = s->nops - 1;
    if (!writes_own(p, &s->range[0]) || !room_for_operands(p, k) ||
        !tt_prove_place(p, &s->range[0], s->len, true, &to) || !whole_elements(p, &to))
        return false;
    uint32_t access = tt_prove_access(p, false);
    return access && load_operands(p, s, access, &to) && combine(p, k, s->len) &&
           tt_prove_claim(p, &to, access) && tt_prove_store(p, &to, &p->result);
}

/* ---- Starting and waiting ---- */

static struct tt_begun *begin(struct tt_prover *p, struct tt_lane_run *lane)
{
    const struct tt_plain *s = &lane->step;
    struct tt_begun *b = &lane->begun[s->value * TT_IN_FLIGHT + s->instance % TT_IN_FLIGHT];
    if (b->under_way) {
        tt_prove_fault(p, TT_FAULT_IN_FLIGHT,
                       "instance %lu of %%%u starts while instance %lu is under way",
                       (unsigned long)s->instance, s->value, (unsigned long)b->instance);
        return NULL;
    }
    *b = (struct tt_begun){.instance = s->instance, .at = s->at, .under_way = true};
    lane->counts[s->value] = s->instance + 1;
    lane->under_way++;
    return b;
}

static bool post(struct tt_prover *p, const struct tt_plain *s, struct tt_begun *b)
{
    struct tt_place place;
    if (!tt_prove_place(p, &s->range[0], s->len, s->kind == TT_RECV, &place)) return false;
    b->access = tt_prove_access(p, true);
    if (!b->access) return false;
    bool touched = s->kind == TT_RECV ? tt_prove_claim(p, &place, b->access)
                                      : tt_prove_load(p, &place, b->access, &p->result);
    if (!touched) return false;
    b->message = tt_prove_post(p, &place);
    return b->message != NULL;
}

static enum tt_outcome start(struct tt_prover *p, struct tt_lane_run *lane)
{
    const struct tt_plain *s = &lane->step;
    struct tt_begun *b = begin(p, lane);
    if (!b) return TT_STEP_OVER;
    if (s->kind == TT_SEND || s->kind == TT_RECV) return outcome(post(p, s, b));
    if (s->kind == TT_GET && !writes_own(p, &s->range[0])) return TT_STEP_OVER;
    return outcome(copy(p, s, true, &b->access));
}

/* Instances of an id so far, those that vanished included. */
static uint64_t instances(const struct tt_lane_run *lane, uint32_t id)
{
    uint64_t n = lane->counts[id];
    if (lane->iter.instances && lane->iter.instances[id] > n) n = lane->iter.instances[id];
    return n;
}

static bool wait_over(struct tt_prover *p, struct tt_lane_run *lane, struct tt_begun *b)
{
    struct tt_message *m = b->message;
    if (m && !m->is_send) {
        struct tt_moment *posted = &m->partner->posted;
        if (posted->clock != lane->now.clock && !tt_prove_join(p, &lane->now.seen, posted))
            return false;
        tt_prove_clock_drop(p, posted->seen);
        posted->seen = NULL;
    }
    p->accesses[b->access].end = lane->now.time;
    b->under_way = false;
    lane->under_way--;
    return true;
}

static enum tt_outcome wait_for(struct tt_prover *p, struct tt_lane_run *lane)
{
    const struct tt_plain *s = &lane->step;
    if (s->instance >= instances(lane, s->value))
        return outcome(tt_prove_fault(p, TT_FAULT_NEVER_STARTED,
                                      "instance %lu of %%%u has not been started here",
                                      (unsigned long)s->instance, s->value));
    struct tt_begun *b = &lane->begun[s->value * TT_IN_FLIGHT + s->instance % TT_IN_FLIGHT];
    if (!b->under_way || b->instance != s->instance) return TT_STEP_DONE;
    if (b->message && !b->message->partner) {
        b->message->waiter = lane;
        return TT_STEP_BLOCKED;
    }
    return outcome(wait_over(p, lane, b));
}

enum tt_outcome tt_prove_step(struct tt_prover *p, struct tt_lane_run *lane)
{
    uint32_t access;
    const struct tt_plain *s = &lane->step;
    p->proof->steps++;
    switch (s->kind) {
    case TT_SEND:
    case TT_RECV:
    case TT_PUT:
    case TT_GET: return start(p, lane);
    case TT_WAIT: return wait_for(p, lane);
    case TT_SIGNAL: return give_signal(p, lane);
    case TT_AWAIT: return await_signal(p, lane);
    case TT_COPY: return outcome(writes_own(p, &s->range[0]) && copy(p, s, false, &access));
    case TT_REDUCE: return outcome(reduce(p, s));
    case TT_LOOP:
    case TT_END:
    case TT_EXCHANGE: break; /* never come out of the iterator */
    }
    return TT_STEP_DONE;
}
