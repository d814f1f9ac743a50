/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proves plans: runs all ranks symbolically, does their steps, and matches the messages between
 * them.
 */
#include "prove/prove-inside.h"

#include <string.h>

enum prove_outcome { STEP_DONE, STEP_BLOCKED, STEP_OVER };

static void ready(struct tt_prover *p, struct tt_proof_lane *lane);

/* ---- Messages ---- */

/* The k-th send and the k-th receive of the same execution, pair of ranks and lane match. The
 * prover moves the bytes of a message as soon as both its send and its receive are posted. It does
 * not matter when exactly the bytes move, because no other step may access the ranges of the send
 * and of the receive between post and wait. */

static bool channels_begin(struct tt_prover *p)
{
    if (p->channels_n) memset(p->channels, 0, p->channels_room * sizeof *p->channels);
    p->channels_n = 0;
    return true;
}

static uint64_t key_of(const struct tt_prover *p, const struct tt_part *part, int lane, int from,
                       int to)
{
    uint64_t key = (uint64_t)part->execution * TT_LANES + (uint64_t)lane;
    return (key * (uint64_t)p->p + (uint64_t)from) * (uint64_t)p->p + (uint64_t)to + 1;
}

/* Returns the channel with this key; or, if there is none, the free entry of the table in which it
 * would have to be. */
static struct tt_channel *find(const struct tt_prover *p, uint64_t key)
{
    uint32_t mask = p->channels_room - 1;
    uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & mask;
    while (p->channels[at].key && p->channels[at].key != key) at = (at + 1) & mask;
    return &p->channels[at];
}

static bool grow(struct tt_prover *p)
{
    struct tt_channel *old = p->channels;
    uint32_t n = p->channels_room;
    struct tt_channel *all = tt_calloc(n ? 2 * n : 256, sizeof *all);
    if (!all) return tt_prove_no_memory(p);
    p->channels = all;
    p->channels_room = n ? 2 * n : 256;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].key) *find(p, old[i].key) = old[i];
    tt_free(old);
    return true;
}

static struct tt_channel *channel_of(struct tt_prover *p, uint64_t key)
{
    if (2 * p->channels_n >= p->channels_room && !grow(p)) return NULL;
    struct tt_channel *channel = find(p, key);
    p->channels_n += channel->key == 0;
    channel->key = key;
    return channel;
}

static struct tt_proof_message *message_new(struct tt_prover *p, const struct tt_place *place)
{
    struct tt_proof_lane *lane = p->running;
    struct tt_proof_message *m = tt_prove_zalloc(p, sizeof *m);
    if (!m) return NULL;
    m->lane = lane;
    m->place = *place;
    m->at = lane->step.at;
    m->peer = lane->step.peer;
    m->is_send = lane->step.kind == TT_SEND;
    if (m->is_send) m->posted = tt_prove_moment(lane);
    return m;
}

static void append(struct tt_channel *channel, struct tt_proof_message *m)
{
    if (channel->head)
        channel->tail->next = m;
    else
        channel->head = m;
    channel->tail = m;
}

static bool deliver(struct tt_prover *p, struct tt_proof_message *send,
                    struct tt_proof_message *recv)
{
    char from[TT_PROVE_STEP_TEXT], to[TT_PROVE_STEP_TEXT];
    const struct tt_part *sender = send->lane->part, *receiver = recv->lane->part;
    if (tt_unlikely(send->place.len != recv->place.len))
        return tt_prove_fault(
            p, TT_FAULT_SIZE, "rank %d's %s sends %ld bytes, rank %d's %s receives %ld (lane %d)",
            sender->rank, tt_prove_say_step(p, from, sender, send->at), (long)send->place.len,
            receiver->rank, tt_prove_say_step(p, to, receiver, recv->at), (long)recv->place.len,
            send->lane->index);
    return tt_prove_peek(p, &send->place, &p->result) &&
           tt_prove_store(p, &recv->place, &p->result);
}

static bool match(struct tt_prover *p, struct tt_channel *channel, struct tt_proof_message *m)
{
    struct tt_proof_message *other = channel->head;
    channel->head = other->next;
    m->partner = other;
    other->partner = m;
    if (other->waiter) ready(p, other->waiter);
    other->waiter = NULL;
    return m->is_send ? deliver(p, m, other) : deliver(p, other, m);
}

/* Posts the send or receive that is the current step of the running lane. */
static struct tt_proof_message *prove_post(struct tt_prover *p, const struct tt_place *place)
{
    struct tt_proof_lane *lane = p->running;
    int me = lane->part->rank, peer = lane->step.peer;
    bool send = lane->step.kind == TT_SEND;
    if (peer < 0 || peer >= p->p) {
        tt_prove_fault(p, TT_FAULT_OUTSIDE, "there is no rank %d", peer);
        return NULL;
    }
    struct tt_channel *channel =
        channel_of(p, key_of(p, lane->part, lane->index, send ? me : peer, send ? peer : me));
    struct tt_proof_message *m = channel ? message_new(p, place) : NULL;
    if (!m) return NULL;
    if (channel->head && channel->head->is_send != send) return match(p, channel, m) ? m : NULL;
    append(channel, m);
    return m;
}

int tt_prove_other_lane(struct tt_prover *p, const struct tt_proof_message *m)
{
    int me = m->lane->part->rank, peer = m->peer;
    for (int l = 0; l < TT_LANES; l++) {
        const struct tt_channel *c =
            find(p, key_of(p, m->lane->part, l, m->is_send ? me : peer, m->is_send ? peer : me));
        if (l != m->lane->index && c->head && c->head->is_send != m->is_send) return l;
    }
    return -1;
}

/* ---- Steps ---- */

/* This section executes the steps: it applies the effect of each kind of step to memory, messages
 * and flags. */

static enum prove_outcome outcome(bool going_on)
{
    return going_on ? STEP_DONE : STEP_OVER;
}

/* ---- Signals ---- */

static uint32_t flag_of(const struct tt_proof_lane *lane)
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

static struct tt_given *give(struct tt_prover *p, struct tt_proof_lane *lane)
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

/* The flag of `lane` has risen to `value`: makes the lanes ready that await this value or a lower
 * one. */
static void wake(struct tt_prover *p, struct tt_proof_lane *lane, uint32_t value)
{
    struct tt_proof_lane **at = &lane->waiters;
    while (*at) {
        struct tt_proof_lane *waiter = *at;
        if (waiter->step.value <= value) {
            *at = waiter->next;
            ready(p, waiter);
        } else
            at = &waiter->next;
    }
}

static enum prove_outcome give_signal(struct tt_prover *p, struct tt_proof_lane *lane)
{
    const struct tt_plain *s = &lane->step;
    if (s->value <= flag_of(lane))
        return outcome(tt_prove_fault(p, TT_FAULT_FLAG,
                                      "the flag is raised to %u, and is %u already", s->value,
                                      flag_of(lane)));
    if (!peers_exist(p, s)) return STEP_OVER;
    struct tt_given *g = give(p, lane);
    if (!g) return STEP_OVER;
    /* The memory of a signal's clock is freed when all its targets have awaited the signal. Targets
     * are counted only if each rank has one lane, because several lanes of a rank may await the
     * same signal. */
    *g = (struct tt_given){.value = s->value,
                           .n = s->nops,
                           .peer = s->peer,
                           .left = p->lanes == 1 ? targets(p, s) : -1,
                           .set = s->set,
                           .when = tt_prove_moment(lane)};
    wake(p, lane, s->value);
    return STEP_DONE;
}

static struct tt_given *find_given(const struct tt_proof_lane *writer, uint32_t value)
{
    uint32_t low = 0, high = writer->given_n;
    /* Most lanes raise their flag by one at a time. In this case, the index of a record in given[]
     * is its value minus the value of given[0]. */
    uint32_t guess = high > 0 ? value - writer->given[0].value : 0;
    if (guess < high && writer->given[guess].value == value) return &writer->given[guess];
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

static bool learn(struct tt_prover *p, struct tt_proof_lane *lane, struct tt_given *g)
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

static struct tt_proof_lane *writer_of(struct tt_prover *p, const struct tt_proof_lane *lane)
{
    const struct tt_plain *s = &lane->step;
    if (s->peer >= 0 && s->peer < p->p) {
        struct tt_part *part = tt_prove_part(p, lane->part->execution, s->peer);
        if (s->lane < part->plan->lanes) return &part->lane[s->lane];
    }
    tt_prove_fault(p, TT_FAULT_NEVER_SIGNALLED, "there is no lane %u of rank %d", s->lane, s->peer);
    return NULL;
}

static enum prove_outcome await_signal(struct tt_prover *p, struct tt_proof_lane *lane)
{
    const struct tt_plain *s = &lane->step;
    int me = lane->part->rank;
    struct tt_proof_lane *writer = writer_of(p, lane);
    if (!writer) return STEP_OVER;
    struct tt_given *g = find_given(writer, s->value);
    if (!g && (flag_of(writer) > s->value || writer->state == TT_LANE_DONE))
        return outcome(tt_prove_fault(p, TT_FAULT_NEVER_SIGNALLED,
                                      "rank %d's flag goes to %u without %u", s->peer,
                                      flag_of(writer), s->value));
    if (!g) {
        lane->next = writer->waiters;
        writer->waiters = lane;
        return STEP_BLOCKED;
    }
    if (!given_to(g, s->peer, me))
        return outcome(tt_prove_fault(p, TT_FAULT_NEVER_SIGNALLED,
                                      "rank %d signals %u to others, not to rank %d", s->peer,
                                      s->value, me));
    if (!learn(p, lane, g)) return STEP_OVER;
    if (lane->opened && !lane->opened[s->peer]) lane->opened[s->peer] = lane->now.time;
    return STEP_DONE;
}

/* ---- Copies and reductions ---- */

static bool same_place(const struct tt_place *a, const struct tt_place *b)
{
    return a->memory == b->memory && a->off == b->off && a->block == b->block &&
           a->stride == b->stride;
}

/* Copies the values of a source into *runs, and records the read. If the source is also the
 * destination of the step, no read is recorded: whatever conflicts with the read conflicts with the
 * step's write, too. */
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

/* In IN and OUT, elements begin at multiples of their size. In TMP and WIN, a piece may begin
 * anywhere; tt_prove_combine checks that the operands there are whole elements. */
static bool whole_elements(struct tt_prover *p, const struct tt_place *at)
{
    char said[80];
    int64_t sz = p->running->part->call->sz;
    bool fixed = at->memory->buf == TT_IN || at->memory->buf == TT_OUT;
    bool begins = !fixed || (at->off % sz == 0 && at->stride % sz == 0);
    if (begins && at->len % sz == 0 && at->block % sz == 0) return true;
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

/* Sets p->one[] to the next bytes of each of the k operands. The length is the largest with which
 * the bytes of every operand are a single run: consecutive bytes of one value. */
static void next_piece(struct tt_prover *p, uint32_t k)
{
    int64_t len = INT64_MAX;
    for (uint32_t i = 0; i < k; i++) {
        p->one[i] = p->operands[i].at[p->operands[i].next];
        len = tt_min(len, p->one[i].len);
    }
    for (uint32_t i = 0; i < k; i++) {
        struct tt_proof_run *run = &p->operands[i].at[p->operands[i].next];
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
        struct tt_proof_run run = p->one[0];
        if (k > 1 && !(run.node = tt_prove_combine(p, p->one, k))) return false;
        if (!tt_prove_runs_add(p, &p->result, run)) return false;
    }
    return true;
}

static bool room_for_operands(struct tt_prover *p, uint32_t k)
{
    uint32_t had = p->operands_room, room = had;
    if (k <= had) return true;
    struct tt_proof_run *one = tt_prove_grow(p, p->one, &room, k, sizeof *one);
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

static struct tt_begun *begin(struct tt_prover *p, struct tt_proof_lane *lane)
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
    b->message = prove_post(p, &place);
    return b->message != NULL;
}

static enum prove_outcome start(struct tt_prover *p, struct tt_proof_lane *lane)
{
    const struct tt_plain *s = &lane->step;
    struct tt_begun *b = begin(p, lane);
    if (!b) return STEP_OVER;
    if (s->kind == TT_SEND || s->kind == TT_RECV) return outcome(post(p, s, b));
    if (s->kind == TT_GET && !writes_own(p, &s->range[0])) return STEP_OVER;
    return outcome(copy(p, s, true, &b->access));
}

/* Returns how many instances of the step with this id the lane has passed so far: if the step is in
 * a loop, one in each turn. Turns in which the step has length 0 count as well, although the
 * iterator of the plan leaves the step out in these turns. */
static uint64_t instances(const struct tt_proof_lane *lane, uint32_t id)
{
    uint64_t n = lane->counts[id];
    if (lane->iter.instances && lane->iter.instances[id] > n) n = lane->iter.instances[id];
    return n;
}

static bool wait_over(struct tt_prover *p, struct tt_proof_lane *lane, struct tt_begun *b)
{
    struct tt_proof_message *m = b->message;
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

static enum prove_outcome wait_for(struct tt_prover *p, struct tt_proof_lane *lane)
{
    const struct tt_plain *s = &lane->step;
    if (s->instance >= instances(lane, s->value))
        return outcome(tt_prove_fault(p, TT_FAULT_NEVER_STARTED,
                                      "instance %lu of %%%u has not been started here",
                                      (unsigned long)s->instance, s->value));
    struct tt_begun *b = &lane->begun[s->value * TT_IN_FLIGHT + s->instance % TT_IN_FLIGHT];
    if (!b->under_way || b->instance != s->instance) return STEP_DONE;
    if (b->message && !b->message->partner) {
        b->message->waiter = lane;
        return STEP_BLOCKED;
    }
    return outcome(wait_over(p, lane, b));
}

static enum prove_outcome prove_step(struct tt_prover *p, struct tt_proof_lane *lane)
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
    case TT_EXCHANGE: break; /* the iterator never returns these kinds */
    }
    return STEP_DONE;
}

/* ---- The run ---- */

/* The run of the prover starts executions as the library would, and lets every lane run until it
 * blocks. The run ends when every rank has ended every execution, or when no lane can go on. */

struct tt_prover *tt_prover_new(void)
{
    struct tt_prover *p = tt_calloc(1, sizeof *p);
    if (!p) (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for a prover");
    return p;
}

void tt_prover_free(struct tt_prover *p)
{
    if (!p) return;
    tt_prove_pool_free(p);
    for (uint32_t i = 0; i < p->operands_room; i++) tt_free(p->operands[i].at);
    void *const arrays[] = {p->accesses, p->readers,   p->nodes,      p->kids,
                            p->buckets,  p->sets,      p->channels,   p->operands,
                            p->one,      p->result.at, p->compared.at};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) tt_free(arrays[i]);
    tt_free(p);
}

/* Appends the lane to the list of lanes that can go on. */
static void ready(struct tt_prover *p, struct tt_proof_lane *lane)
{
    lane->state = TT_LANE_READY;
    lane->next = NULL;
    if (p->head)
        p->tail->next = lane;
    else
        p->head = lane;
    p->tail = lane;
}

/* ---- Ending ---- */

static bool start_more(struct tt_prover *p, int rank);

/* Sets part->end to the moment at which all lanes of this rank have ended the execution. */
static bool end_moment(struct tt_prover *p, struct tt_part *part)
{
    part->end = part->lane[0].now;
    for (uint32_t l = 1; l < part->plan->lanes; l++) {
        if (!tt_prove_join(p, &part->end.seen, &part->lane[l].now)) return false;
        tt_prove_clock_drop(p, part->lane[l].now.seen);
    }
    for (uint32_t l = 0; l < part->plan->lanes; l++)
        p->times[part->lane[l].now.clock] = part->lane[l].now.time;
    return true;
}

/* Frees the records of the buffers of a rank that has ended an execution, because the buffers
 * belong to the caller again. The rank that ended the execution first keeps the record of OUT, with
 * which the results of the other ranks are compared. */
static void drop_buffers(struct tt_prover *p, struct tt_part *part)
{
    for (int buf = TT_IN; buf < TT_WIN; buf++) {
        struct tt_memory *m = &part->memory[buf];
        if (buf == TT_OUT && p->reference[part->execution] == part) continue;
        tt_prove_release(p, m->at, m->room * sizeof *m->at);
        m->n = 0;
    }
}

static bool end_part(struct tt_prover *p, struct tt_part *part)
{
    int k = part->execution;
    if (!end_moment(p, part)) return false;
    part->state = TT_PART_ENDED;
    p->ended++;
    if (!tt_prove_result(p, part)) return false;
    drop_buffers(p, part);
    if (k + p->held < p->problem->executions && !tt_prove_join(p, &p->all[k], &part->end))
        return false;
    bool last = ++p->ends[k] == (uint32_t)p->p;
    for (int r = 0; last && r < p->p; r++)
        if (!start_more(p, r)) return false;
    return start_more(p, part->rank);
}

static bool all_waited(struct tt_prover *p, const struct tt_proof_lane *lane)
{
    uint32_t n = lane->part->plan->lane[lane->index].starts * TT_IN_FLIGHT;
    for (uint32_t i = 0; lane->under_way && i < n; i++) {
        const struct tt_begun *b = &lane->begun[i];
        char step[TT_PROVE_STEP_TEXT];
        if (b->under_way)
            return tt_prove_fault_at_end(
                p, lane->part, TT_FAULT_NOT_WAITED,
                "lane %d ends without a wait for instance %lu of %%%u (%s)", lane->index,
                (unsigned long)b->instance, i / TT_IN_FLIGHT,
                tt_prove_say_step(p, step, lane->part, b->at));
    }
    return true;
}

static bool end_lane(struct tt_prover *p, struct tt_proof_lane *lane)
{
    if (!all_waited(p, lane)) return false;
    lane->state = TT_LANE_DONE;
    /* makes the lanes ready that still await the flag of this lane; they will report a fault */
    while (lane->waiters) {
        struct tt_proof_lane *waiter = lane->waiters;
        lane->waiters = waiter->next;
        ready(p, waiter);
    }
    return --lane->part->lanes_left > 0 || end_part(p, lane->part);
}

/* ---- Starting ---- */

static bool uses_opened(const struct tt_plan *plan)
{
    for (uint32_t i = 0; i < plan->ranges_n; i++)
        if (plan->ranges[i].rank >= 0 && plan->ranges[i].buf != TT_WIN) return true;
    return plan->entries_n > 0;
}

static bool start_lane(struct tt_prover *p, struct tt_proof_lane *lane, struct tt_vclock *seen)
{
    const struct tt_plan *plan = lane->part->plan;
    uint32_t ids = plan->lane[lane->index].starts;
    void *memory = tt_prove_alloc(p, tt_iter_bytes(plan, lane->index));
    lane->begun = tt_prove_zalloc(p, ids * TT_IN_FLIGHT * sizeof *lane->begun);
    lane->counts = tt_prove_zalloc(p, ids * sizeof *lane->counts);
    if (!memory || !lane->begun || !lane->counts) return false;
    if (uses_opened(plan)) {
        lane->opened = tt_prove_zalloc(p, (size_t)p->p * sizeof *lane->opened);
        if (!lane->opened) return false;
    }
    tt_iter_begin(&lane->iter, plan, lane->index, memory);
    uint32_t clock = tt_prove_clock_of(p, lane->part, lane->index);
    lane->now = (struct tt_moment){seen, clock, p->times[clock] + 1};
    lane->born = lane->now.time;
    seen->refs++;
    ready(p, lane);
    return true;
}

static bool start_part(struct tt_prover *p, struct tt_part *part)
{
    struct tt_vclock *user = p->user[part->rank];
    part->state = TT_PART_RUNNING;
    part->lanes_left = (int)part->plan->lanes;
    if (!tt_prove_buffers(p, part)) return false;
    for (uint32_t l = 0; l < part->plan->lanes; l++)
        if (!start_lane(p, &part->lane[l], user)) return false;
    return true;
}

/* Returns whether the rank may start execution k: the rank must have ended execution k - in_flight,
 * and all ranks must have ended execution k - held. */
static bool may_start(const struct tt_prover *p, int rank, int k)
{
    int own = k - p->slots_in_flight, others = k - p->held;
    if (own >= 0 && tt_prove_part(p, own, rank)->state != TT_PART_ENDED) return false;
    return others < 0 || p->ends[others] == (uint32_t)p->p;
}

static bool caller_learns(struct tt_prover *p, int rank, int k)
{
    int own = k - p->slots_in_flight, others = k - p->held;
    if (own >= 0) {
        struct tt_moment *end = &tt_prove_part(p, own, rank)->end;
        if (!tt_prove_join(p, &p->user[rank], end)) return false;
        tt_prove_clock_drop(p, end->seen);
        end->seen = NULL;
    }
    if (others < 0) return true;
    return tt_prove_join_all(p, &p->user[rank], p->all[others]);
}

static bool start_more(struct tt_prover *p, int rank)
{
    int *k = &p->next_start[rank];
    while (*k < p->problem->executions && may_start(p, rank, *k)) {
        if (!caller_learns(p, rank, *k)) return false;
        if (!start_part(p, tt_prove_part(p, (*k)++, rank))) return false;
    }
    return true;
}

/* ---- The run ---- */

static bool run_lane(struct tt_prover *p, struct tt_proof_lane *lane)
{
    enum prove_outcome outcome = STEP_DONE;
    p->running = lane;
    lane->state = TT_LANE_READY;
    if (lane->blocked) outcome = prove_step(p, lane);
    while (outcome == STEP_DONE) {
        lane->blocked = false;
        if (!tt_iter_next(&lane->iter, &lane->step)) return end_lane(p, lane);
        outcome = prove_step(p, lane);
    }
    if (outcome == STEP_OVER) return false;
    lane->blocked = true;
    lane->state = TT_LANE_BLOCKED;
    return true;
}

static bool run_all(struct tt_prover *p)
{
    for (int r = 0; r < p->p; r++)
        if (!start_more(p, r)) return false;
    while (p->head) {
        struct tt_proof_lane *lane = p->head;
        p->head = lane->next;
        if (!run_lane(p, lane)) return false;
    }
    if (p->ended == (uint32_t)(p->p * p->problem->executions)) return true;
    return tt_prove_stuck(p);
}

/* ---- Setting up ---- */

static bool set_part(struct tt_prover *p, int k, int rank)
{
    const struct tt_proof_execution *e = &p->problem->execution[k];
    struct tt_part *part = tt_prove_part(p, k, rank);
    *part = (struct tt_part){
        .plan = e->plans[rank], .call = &e->calls[rank], .rank = rank, .execution = k};
    part->lane = tt_prove_zalloc(p, part->plan->lanes * sizeof *part->lane);
    if (!part->lane) return false;
    for (uint32_t l = 0; l < part->plan->lanes; l++) {
        part->lane[l].part = part;
        part->lane[l].index = (int)l;
    }
    p->lanes = part->plan->lanes > (uint32_t)p->lanes ? (int)part->plan->lanes : p->lanes;
    return true;
}

static bool set_parts(struct tt_prover *p)
{
    size_t n = (size_t)p->problem->executions;
    p->parts = tt_prove_alloc(p, n * (size_t)p->p * sizeof *p->parts);
    if (!p->parts) return false;
    for (int k = 0; k < p->problem->executions; k++)
        for (int r = 0; r < p->p; r++)
            if (!set_part(p, k, r)) return false;
    p->width = (uint32_t)(p->slots_in_flight * p->p * p->lanes);
    p->all = tt_prove_zalloc(p, n * sizeof(void *));
    p->reference = tt_prove_zalloc(p, n * sizeof(void *));
    p->ends = tt_prove_zalloc(p, n * sizeof *p->ends);
    p->times = tt_prove_zalloc(p, p->width * sizeof *p->times);
    return p->all && p->reference && p->ends && p->times;
}

static bool set_clocks(struct tt_prover *p)
{
    p->user = tt_prove_zalloc(p, (size_t)p->p * sizeof(void *));
    p->next_start = tt_prove_zalloc(p, (size_t)p->p * sizeof *p->next_start);
    struct tt_vclock *zero = tt_prove_clock_new(p);
    if (!p->user || !p->next_start || !zero) return false;
    for (int r = 0; r < p->p; r++) p->user[r] = zero;
    for (int k = 0; k < p->problem->executions; k++) p->all[k] = zero;
    zero->refs += (uint32_t)(p->p + p->problem->executions);
    return true;
}

static void measure_windows(struct tt_prover *p)
{
    p->win_bytes = 0;
    for (int i = 0; i < p->p * p->problem->executions; i++)
        p->win_bytes = tt_max(p->win_bytes, p->parts[i].plan->win_bytes);
    if (p->problem->map) p->win_bytes = p->problem->map->win_bytes;
}

static bool set_windows(struct tt_prover *p)
{
    int n = (int)tt_min(TT_PROOF_SLOTS, p->problem->executions) * p->p;
    measure_windows(p);
    p->windows = tt_prove_alloc(p, (size_t)n * sizeof *p->windows);
    if (!p->windows) return false;
    for (int i = 0; i < n; i++) {
        struct tt_memory *m = &p->windows[i];
        *m = (struct tt_memory){.rank = i % p->p, .execution = -1, .buf = TT_WIN};
        if (!tt_prove_memory_set(p, m, p->win_bytes,
                                 tt_prove_leaf(p, TT_NODE_GARBAGE, TT_WIN, m->rank, -1)))
            return false;
    }
    return true;
}

static bool set_tables(struct tt_prover *p)
{
    struct tt_proof_access *accesses =
        tt_prove_grow(p, p->accesses, &p->accesses_room, 1, sizeof *accesses);
    if (accesses) p->accesses = accesses;
    struct tt_proof_reader *readers =
        tt_prove_grow(p, p->readers, &p->readers_room, 1, sizeof *readers);
    if (readers) p->readers = readers;
    if (!accesses || !readers) return false;
    p->accesses[0] = (struct tt_proof_access){.end = 0};
    p->readers[0] = (struct tt_proof_reader){.access = 0};
    p->accesses_n = p->readers_n = 1;
    return channels_begin(p) && tt_prove_values_begin(p);
}

static bool set_up(struct tt_prover *p, const struct tt_proof_case *problem)
{
    tt_prove_pool_reset(p);
    p->problem = problem;
    p->status = TUTTI_OK;
    p->p = problem->p;
    p->lanes = 1;
    p->held = problem->held > 0 ? problem->held : TT_PROOF_SLOTS;
    p->slots_in_flight = problem->in_flight > 0 ? problem->in_flight : 1;
    if (p->slots_in_flight > p->held) p->slots_in_flight = p->held;
    if (p->slots_in_flight > problem->executions) p->slots_in_flight = problem->executions;
    p->head = p->tail = p->running = NULL;
    p->ended = 0;
    return set_tables(p) && set_parts(p) && set_clocks(p) && set_windows(p);
}

static tutti_status check_case(const struct tt_proof_case *c)
{
    if (c->p < 1 || c->executions < 1)
        return tt_fail(TUTTI_ERR_ARG, "p and executions must be at least 1");
    for (int k = 0; k < c->executions; k++)
        for (int r = 0; r < c->p; r++) {
            const struct tt_plan *plan = c->execution[k].plans[r];
            const struct tt_call *call = &c->execution[k].calls[r];
            if (plan->p != c->p || plan->me != r || plan->coll != call->coll ||
                call->coll != c->execution[k].calls[0].coll)
                return tt_fail(
                    TUTTI_ERR_ARG,
                    "execution %d: the plan given for rank %d is for rank %d of %d, or for another "
                    "collective",
                    k, r, plan->me, plan->p);
            if (tt_coll_has_op(call->coll) && (plan->type != call->type || plan->op != call->op))
                return tt_fail(
                    TUTTI_ERR_ARG,
                    "execution %d: the plan of rank %d has another type or operation than its call",
                    k, r);
        }
    return TUTTI_OK;
}

tutti_status tt_prove(struct tt_prover *p, const struct tt_proof_case *problem,
                      struct tt_proof *proof)
{
    TT_TRY(check_case(problem));
    *proof = (struct tt_proof){.execution = -1, .rank = -1, .lane = -1, .step = -1};
    p->proof = proof;
    if (set_up(p, problem)) run_all(p);
    proof->values = p->nodes_n;
    return p->status;
}
