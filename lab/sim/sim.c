/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulator: the ranks with their messages and flags, the steps that they do, and the loop over
 * the events.
 */
#include "sim/sim-inside.h"

#include <stdio.h>
#include <string.h>

#include "plan/words.h"

/* The two lists of a rank: messages that have come, but whose receive is not posted yet; and posted
 * receives whose message has not come yet. */
enum { TT_CAME, TT_POSTED };
#define TT_SEEN 255 /* the stage of a signal that has come */

enum { STEP_TEXT = 280 }; /* bytes of the text that names a step */

struct tt_flag {
    /* stands for writer, lane and reader of the flag; 0 if this entry of the table is free */
    uint64_t key;
    uint32_t value;
    uint32_t wanted; /* the reader's lanes (1 << lane) that wait for a change of the flag */
};

static struct tt_flag *flag_of(struct tt_sim *sim, int writer, int lane, int reader);
static void out_of_memory(struct tt_sim *sim);
static void end_lane(struct tt_sim *sim, struct tt_sim_rank *rank, struct tt_sim_lane *l);

/* ---- Messages ---- */

/* This section has the memory and the lists of messages. All messages are in one growing array,
 * whose free entries are listed in another array. Each rank has a list of messages that have come
 * and a list of receives that wait for messages, both in the order in which they came or were
 * posted. */

static bool more_messages(struct tt_sim *sim)
{
    uint32_t room = sim->message_room ? 2 * sim->message_room : 1024;
    struct tt_sim_message *message = tt_realloc(sim->message, room * sizeof *message);
    if (!message) return false;
    sim->message = message;
    uint32_t *unused = tt_realloc(sim->unused, room * sizeof *unused);
    if (!unused) return false;
    sim->unused = unused;
    sim->message_room = room;
    if (sim->messages == 0) sim->messages = 1;
    return true;
}

/* Stores a message and returns its index; 0 if there is no memory. A call may move the array, so
 * pointers to messages are valid only until the next call. */
static uint32_t message_new(struct tt_sim *sim, const struct tt_sim_message *message)
{
    uint32_t place = 0;
    if (sim->unused_n)
        place = sim->unused[--sim->unused_n];
    else if (sim->messages < sim->message_room || more_messages(sim))
        place = sim->messages++;
    else
        out_of_memory(sim);
    if (place) sim->message[place] = *message;
    return place;
}

static void message_free(struct tt_sim *sim, uint32_t place)
{
    sim->unused[sim->unused_n++] = place;
}

static void messages_add(struct tt_sim *sim, struct tt_sim_rank *rank, int which, uint32_t place)
{
    sim->message[place].next = 0;
    if (rank->met[which])
        sim->message[rank->met_last[which]].next = place;
    else
        rank->met[which] = place;
    rank->met_last[which] = place;
}

/* Removes from the list `which` of the rank the first entry for a message from rank `from` and lane
 * `lane`, and returns its index; 0 if there is none. */
static uint32_t messages_take(struct tt_sim *sim, struct tt_sim_rank *rank, int which, int from,
                              int lane)
{
    uint32_t before = 0, place = rank->met[which];
    while (place && (sim->message[place].from != from || sim->message[place].lane != lane)) {
        before = place;
        place = sim->message[place].next;
    }
    if (!place) return 0;
    uint32_t next = sim->message[place].next;
    if (before)
        sim->message[before].next = next;
    else
        rank->met[which] = next;
    if (rank->met_last[which] == place) rank->met_last[which] = before;
    return place;
}

/* Keeps a posted receive until its message comes. */
static void post(struct tt_sim *sim, struct tt_sim_rank *rank, struct tt_sim_posted posted)
{
    if (!rank->posted.there && !rank->met[TT_POSTED]) {
        rank->posted = posted;
        return;
    }
    struct tt_sim_message entry = {.from = posted.from, .lane = posted.lane, .value = posted.start};
    uint32_t place = message_new(sim, &entry);
    if (place) messages_add(sim, rank, TT_POSTED, place);
}

/* Removes the oldest posted receive for a message from rank `from` and lane `lane`, and sets *start
 * to its `start`. Returns false if there is none. */
static bool take_posted(struct tt_sim *sim, struct tt_sim_rank *rank, int from, int lane,
                        uint32_t *start)
{
    struct tt_sim_posted *oldest = &rank->posted;
    if (oldest->there && oldest->from == from && oldest->lane == lane) {
        oldest->there = false;
        *start = oldest->start;
        return true;
    }
    uint32_t place = messages_take(sim, rank, TT_POSTED, from, lane);
    if (!place) return false;
    *start = sim->message[place].value;
    message_free(sim, place);
    return true;
}

/* ---- Flags ---- */

/* A flag is the highest value that a lane has signalled to a rank. The flags are in a hash table
 * with open addressing, whose size doubles when it is three quarters full. */

struct tt_flags {
    struct tt_flag *flag;
    uint64_t n, room; /* room: a power of two */
};

static uint64_t key_of(int writer, int lane, int reader)
{
    return 1 +
           ((uint64_t)(uint32_t)writer << 36 | (uint64_t)(uint32_t)reader << 8 | (uint64_t)lane);
}

static struct tt_flag *place(const struct tt_flags *flags, uint64_t key)
{
    uint64_t at = key * 0x9e3779b97f4a7c15u >> 20;
    for (;; at++) {
        struct tt_flag *flag = &flags->flag[at & (flags->room - 1)];
        if (flag->key == key || flag->key == 0) return flag;
    }
}

static bool grow(struct tt_flags *flags)
{
    struct tt_flags larger = {.n = flags->n, .room = flags->room ? 2 * flags->room : 1024};
    larger.flag = tt_calloc(larger.room, sizeof *larger.flag);
    if (!larger.flag) return false;
    for (uint64_t i = 0; i < flags->room; i++)
        if (flags->flag[i].key) *place(&larger, flags->flag[i].key) = flags->flag[i];
    tt_free(flags->flag);
    *flags = larger;
    return true;
}

/* Returns the flag that lane `lane` of rank `writer` raises for rank `reader`, and creates it at
 * the first call. Returns NULL if there is no memory. */
static struct tt_flag *flag_of(struct tt_sim *sim, int writer, int lane, int reader)
{
    if (!sim->flags && !(sim->flags = tt_calloc(1, sizeof *sim->flags))) return NULL;
    struct tt_flags *flags = sim->flags;
    if (4 * flags->n >= 3 * flags->room && !grow(flags)) return NULL;
    uint64_t key = key_of(writer, lane, reader);
    struct tt_flag *flag = place(flags, key);
    if (flag->key == 0) {
        flag->key = key;
        flags->n++;
    }
    return flag;
}

static void flags_free(struct tt_sim *sim)
{
    if (sim->flags) tt_free(sim->flags->flag);
    tt_free(sim->flags);
    sim->flags = NULL;
}

/* ---- Steps ---- */

/* This section simulates the steps. A lane does its steps until one has to wait, and is woken by
 * the event for which the step waits. */

/* Returns the rank for which a number of the plan stands (share.h). Other values, which stand for
 * several ranks or for the rank itself, stay as they are. */
static int named(const struct tt_sim_rank *rank, int number)
{
    if (!rank->named || number < 0) return number;
    return number < TT_SHARE_RANKS ? rank->named[number] : number - TT_SHARE_RANKS;
}

/* ---- Waking ---- */

/* Returns the number by which events name the lane (tt_event.who). */
static uint32_t lane_number(const struct tt_sim *sim, const struct tt_sim_rank *rank, int lane)
{
    return (uint32_t)((rank - sim->rank) * TT_LANES + lane);
}

static void wake(struct tt_sim *sim, struct tt_sim_rank *rank, int lane, int64_t time)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    if (time >= l->due) return;
    l->due = time;
    tt_sim_at(sim, time, TT_EVENT_LANE, lane_number(sim, rank, lane));
}

/* Wakes the lanes of the reader that wait for a change of the flag. */
static void wake_all(struct tt_sim *sim, struct tt_sim_rank *reader, struct tt_flag *flag)
{
    for (; flag->wanted; flag->wanted &= flag->wanted - 1)
        wake(sim, reader, __builtin_ctz(flag->wanted), sim->clock);
}

/* Returns the index in l->complete[] of the message that a step starts or waits for. */
static uint32_t start_of(const struct tt_sim_lane *l, const struct tt_plain *s)
{
    if (!l->unrolled) return s->value;
    return s->value * TT_IN_FLIGHT + (uint32_t)(s->instance % TT_IN_FLIGHT);
}

/* Sets the time at which a started step of this lane is complete, and wakes the lane if it waits
 * for this step. The time may be later than sim->clock. */
static void complete(struct tt_sim *sim, struct tt_sim_rank *rank, int lane, uint32_t start,
                     int64_t time)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    l->complete[start] = time;
    if (l->awaited == start && l->due == TT_NEVER) wake(sim, rank, lane, tt_max(time, sim->clock));
}

/* ---- Sends and receives meet ---- */

static void receive(struct tt_sim *sim, struct tt_sim_rank *rank, int lane,
                    const struct tt_plain *s)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    uint32_t came = messages_take(sim, rank, TT_CAME, s->peer, lane), start = start_of(l, s);
    l->complete[start] = TT_NEVER;
    if (came) {
        complete(sim, rank, lane, start, tt_max(l->now, sim->message[came].since));
        message_free(sim, came);
        return;
    }
    post(sim, rank, (struct tt_sim_posted){true, (uint8_t)lane, s->peer, start});
}

static void send_came(struct tt_sim *sim, uint32_t place, int64_t time)
{
    struct tt_sim_message *message = &sim->message[place];
    struct tt_sim_rank *rank = &sim->rank[message->to];
    uint32_t start;
    message->since = time;
    if (!take_posted(sim, rank, message->from, message->lane, &start)) {
        messages_add(sim, rank, TT_CAME, place);
        return;
    }
    complete(sim, rank, message->lane, start, time);
    message_free(sim, place);
}

/* ---- Flags ---- */

/* Handles the event of a signal that has come: the receiver sees it from sim->clock on. */
static void seen(struct tt_sim *sim, uint32_t place)
{
    const struct tt_sim_message *message = &sim->message[place];
    struct tt_flag *flag = flag_of(sim, message->from, message->lane, message->to);
    if (!flag) {
        out_of_memory(sim);
        return;
    }
    if (message->value > flag->value) flag->value = message->value;
    wake_all(sim, &sim->rank[message->to], flag);
    message_free(sim, place);
}

static bool awaits(struct tt_sim *sim, struct tt_sim_rank *rank, int lane, const struct tt_plain *s)
{
    int me = (int)(rank - sim->rank);
    if (s->value == 0) return false;
    struct tt_flag *flag = flag_of(sim, s->peer, (int)s->lane, me);
    if (!flag) out_of_memory(sim);
    if (!flag || flag->value >= s->value) return false;
    flag->wanted |= UINT32_C(1) << lane;
    return true;
}

/* ---- What wire.c reports ---- */

void tt_sim_left(struct tt_sim *sim, uint32_t place, int64_t time)
{
    const struct tt_sim_message *message = &sim->message[place];
    if (message->kind == TT_SIM_SEND)
        complete(sim, &sim->rank[message->from], message->lane, message->value, time);
}

static void operand_came(struct tt_sim *sim, struct tt_sim_rank *rank, int lane, int64_t time)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    l->now = tt_max(l->now, time);
    if (--l->gets > 0) return;
    l->fetched = true;
    wake(sim, rank, lane, l->now);
}

/* the `value` of a message that fetches an operand, for which no wait step exists */
#define OPERAND UINT32_MAX

static void report_message(const struct tt_sim *sim, const struct tt_sim_message *message,
                           int64_t time)
{
    static const enum tt_kind kinds[] = {[TT_SIM_SEND] = TT_SEND,
                                         [TT_SIM_PUT] = TT_PUT,
                                         [TT_SIM_GET] = TT_GET,
                                         [TT_SIM_SIGNAL] = TT_SIGNAL};
    struct tt_sim_event event = {.kind = kinds[message->kind],
                                 .rank = message->from,
                                 .lane = message->lane,
                                 .peer = message->to,
                                 .begin_ps = message->since,
                                 .end_ps = time,
                                 .bytes = message->bytes};
    sim->job->message(sim->job->arg, &event);
}

void tt_sim_came(struct tt_sim *sim, uint32_t place, int64_t time)
{
    struct tt_sim_message *message = &sim->message[place];
    if (sim->job->message) report_message(sim, message, time);
    int starter = message->kind == TT_SIM_GET ? message->to : message->from;
    struct tt_sim_rank *rank = &sim->rank[starter];
    switch ((enum tt_sim_message_kind)message->kind) {
    case TT_SIM_SEND: send_came(sim, place, time); return;
    case TT_SIM_SIGNAL:
        message->step = TT_SEEN;
        tt_sim_at(sim, time, TT_EVENT_MESSAGE, place);
        return;
    case TT_SIM_PUT: complete(sim, rank, message->lane, message->value, time); break;
    case TT_SIM_GET:
        if (message->value == OPERAND)
            operand_came(sim, rank, message->lane, time);
        else
            complete(sim, rank, message->lane, message->value, time);
        break;
    }
    message_free(sim, place);
}

/* ---- Steps ---- */

/* Creates a message, counts it and sends it. */
static void dispatch(struct tt_sim *sim, int lane, enum tt_sim_message_kind kind, int from, int to,
                     int64_t bytes, uint32_t value)
{
    struct tt_sim_message message = {.from = from,
                                     .to = to,
                                     .kind = (uint8_t)kind,
                                     .lane = (uint8_t)lane,
                                     .value = value,
                                     .bytes = bytes,
                                     .since = sim->clock};
    uint32_t place = message_new(sim, &message);
    if (!place) return;
    sim->result.messages++;
    if (kind != TT_SIM_SIGNAL) {
        if (__builtin_add_overflow(sim->result.bytes, bytes, &sim->result.bytes))
            sim->status = tt_fail(TUTTI_ERR_LIMIT, "more bytes are sent than 63 bits hold");
        sim->rank[from].sent++;
    }
    tt_wire_send(sim, place);
}

static void signal_one(struct tt_sim *sim, int me, int lane, int to, uint32_t value)
{
    struct tt_flag *own;
    if (to != me) {
        dispatch(sim, lane, TT_SIM_SIGNAL, me, to, TT_SIGNAL_BYTES, value);
    } else if ((own = flag_of(sim, me, lane, me)) != NULL) {
        own->value = (uint32_t)tt_max(own->value, value);
        wake_all(sim, &sim->rank[me], own);
    } else {
        out_of_memory(sim);
    }
}

static void signal_all(struct tt_sim *sim, struct tt_sim_rank *rank, int lane,
                       const struct tt_plain *s)
{
    int me = (int)(rank - sim->rank);
    if (s->peer >= 0) {
        signal_one(sim, me, lane, s->peer, s->value);
    } else if (s->peer == TT_ALL) {
        for (int k = 1; k < sim->job->p; k++)
            signal_one(sim, me, lane, (me + k) % sim->job->p, s->value);
    } else {
        for (uint32_t i = 0; i < s->nops; i++)
            signal_one(sim, me, lane, named(rank, s->set[i]), s->value);
    }
}

/* Starts the messages that fetch the operands of a copy or reduction from other ranks. Returns how
 * many operands are fetched. */
static int fetch(struct tt_sim *sim, struct tt_sim_rank *rank, int lane, const struct tt_plain *s)
{
    int far = 0, me = (int)(rank - sim->rank);
    for (uint32_t i = 1; i < s->nops; i++) {
        if (s->range[i].rank == TT_SELF) continue;
        far++;
        dispatch(sim, lane, TT_SIM_GET, named(rank, s->range[i].rank), me, s->len, OPERAND);
    }
    return far;
}

static int64_t work_ps(const struct tt_sim *sim, const struct tt_plain *s)
{
    const struct tt_model *model = sim->job->model;
    if (s->kind == TT_COPY) return s->range[1].rank == TT_SELF ? model->tr_ps * s->len : 0;
    if (sim->job->net && sim->job->net->reduces) return 0;
    return s->nops > 2 ? model->gamma_ps * s->len * (s->nops - 2) : 0;
}

/* Does a copy or a reduction. Returns false if the lane first has to wait for operands of other
 * ranks. */
static bool work(struct tt_sim *sim, struct tt_sim_rank *rank, int lane, const struct tt_plain *s)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    if (!l->fetched && (l->gets = fetch(sim, rank, lane, s)) > 0) return false;
    l->fetched = false;
    l->now += work_ps(sim, s);
    return true;
}

/* Does a wait step. Returns true if the lane has to wait. */
static bool waits(struct tt_sim_lane *l, const struct tt_plain *s)
{
    uint32_t start = start_of(l, s);
    int64_t when = l->complete[start];
    l->awaited = when == TT_NEVER ? start : TT_NOTHING;
    if (when == TT_NEVER) return true;
    l->now = tt_max(l->now, when);
    return false;
}

static void start(struct tt_sim *sim, struct tt_sim_rank *rank, int lane, const struct tt_plain *s)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    uint32_t which = start_of(l, s);
    int me = (int)(rank - sim->rank);
    bool get = s->kind == TT_GET;
    enum tt_sim_message_kind kind = get ? TT_SIM_GET : s->kind == TT_PUT ? TT_SIM_PUT : TT_SIM_SEND;
    l->complete[which] = TT_NEVER;
    dispatch(sim, lane, kind, get ? s->peer : me, get ? me : s->peer, s->len, which);
}

/* Returns whether the step affects other ranks or depends on them. Such a step must not be done
 * before sim->clock reaches the lane's time, because steps of other ranks may come first. */
static bool is_for_others(const struct tt_plain *s, const struct tt_sim_lane *l)
{
    switch (s->kind) {
    case TT_COPY:
    case TT_REDUCE:
        for (uint32_t i = 1; i < s->nops; i++)
            if (s->range[i].rank != TT_SELF) return !l->fetched;
        return false;
    case TT_WAIT: return false;
    default: return true;
    }
}

/* Does a step of a lane. Returns false if the step has to wait. */
static bool do_step(struct tt_sim *sim, struct tt_sim_rank *rank, int lane,
                    const struct tt_plain *s)
{
    switch (s->kind) {
    case TT_SEND:
    case TT_PUT:
    case TT_GET: start(sim, rank, lane, s); return true;
    case TT_RECV: receive(sim, rank, lane, s); return true;
    case TT_WAIT: return !waits(&rank->lane[lane], s);
    case TT_SIGNAL: signal_all(sim, rank, lane, s); return true;
    case TT_AWAIT: return !awaits(sim, rank, lane, s);
    case TT_COPY:
    case TT_REDUCE: return work(sim, rank, lane, s);
    case TT_LOOP:
    case TT_END:
    case TT_EXCHANGE: break;
    }
    sim->status = tt_fail(TUTTI_ERR_ARG, "the plan has a step of an unknown kind");
    return false;
}

/* Returns whether the step takes processor time because it starts a message under the model
 * loggp. */
static bool engages(const struct tt_sim *sim, const struct tt_plain *s)
{
    return sim->job->model->kind == TT_MODEL_loggp &&
           (s->kind == TT_SEND || s->kind == TT_PUT || s->kind == TT_GET || s->kind == TT_SIGNAL);
}

static void report_step(const struct tt_sim *sim, int me, int lane, const struct tt_sim_lane *l,
                        const struct tt_plain *s)
{
    bool alone = s->kind == TT_COPY || s->kind == TT_REDUCE || s->kind == TT_WAIT;
    struct tt_sim_event event = {.kind = s->kind,
                                 .rank = me,
                                 .lane = lane,
                                 .peer = alone ? -1 : s->peer,
                                 .begin_ps = l->begun,
                                 .end_ps = l->now,
                                 .bytes = s->kind == TT_SIGNAL ? 0 : s->len};
    sim->job->step(sim->job->arg, &event);
}

static void too_long(struct tt_sim *sim)
{
    if (sim->status == TUTTI_OK)
        sim->status =
            tt_fail(TUTTI_ERR_LIMIT, "it takes more than the %d days that can be simulated",
                    (int)(TT_SIM_LONGEST / 86400 / INT64_C(1000000000000)));
}

/* Returns how many bytes a step may move so that their costs under the model are at most
 * TT_SIM_LONGEST. `near`: the step transfers within a node. `works`: the step copies or reduces. */
static int64_t most_bytes(const struct tt_sim_job *job, bool near, bool works)
{
    const struct tt_model *m = job->model;
    int64_t byte_ps = m->kind == TT_MODEL_loggp ? m->big_g_ps : 2 * m->tw_ps;
    if (near) byte_ps = tt_max(byte_ps, m->near_tw_ps);
    if (works) byte_ps += m->tr_ps + m->gamma_ps;
    return TT_SIM_LONGEST / tt_max(1, byte_ps);
}

/* Gets the step that the lane has begun or, if there is none, begins the next step. Returns false
 * at the end of the lane. */
static inline bool get_step(const struct tt_sim_rank *rank, int lane, struct tt_plain *s)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    if (l->unrolled) {
        if (!l->has_step && !tt_iter_next(&l->unrolled->iter, &l->unrolled->step)) return false;
        *s = l->unrolled->step;
    } else {
        if (!l->has_step && l->at == l->end) return false;
        if (!l->has_step) l->at++;
        s->at = l->at - 1;
        tt_iter_plain(rank->plan, &rank->plan->steps[s->at], s);
    }
    s->peer = named(rank, s->peer);
    if (!l->has_step) l->begun = l->now;
    l->has_step = true;
    return true;
}

/* Returns whether the time at which the next step of the lane ends fits in 64 bits. */
static bool is_countable(const struct tt_sim *sim, int me, const struct tt_sim_lane *l,
                         const struct tt_plain *s)
{
    const int *node = sim->job->node;
    bool works = s->kind == TT_COPY || s->kind == TT_REDUCE;
    if (l->now > TT_SIM_LONGEST) return false;
    if (works) return s->len <= sim->most_worked / s->nops;
    if (!tt_kind_starts(s->kind)) return true;
    return s->len <= (node && node[me] == node[s->peer] ? sim->most_near : sim->most_far);
}

/* Does the steps of a lane until one has to wait. */
static void run_lane(struct tt_sim *sim, struct tt_sim_rank *rank, int lane)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    l->now = tt_max(l->now, sim->clock);
    struct tt_plain step;
    int me = (int)(rank - sim->rank);
    while (sim->status == TUTTI_OK) {
        if (!get_step(rank, lane, &step)) {
            end_lane(sim, rank, l);
            return;
        }
        if (!is_countable(sim, me, l, &step)) {
            too_long(sim);
            return;
        }
        if (l->now > sim->clock && is_for_others(&step, l)) {
            wake(sim, rank, lane, l->now);
            return;
        }
        if (!do_step(sim, rank, lane, &step)) return;
        if (engages(sim, &step)) l->now = tt_max(l->now, rank->busy);
        if (sim->job->step) report_step(sim, me, lane, l, &step);
        l->has_step = false;
    }
}

/* ---- The ranks and the events ---- */

/* This section begins and ends the phases of the ranks (consecutive parts of the algorithm's plan),
 * and has the loop over the events. */

static void out_of_memory(struct tt_sim *sim)
{
    if (sim->status == TUTTI_OK)
        sim->status =
            tt_fail(TUTTI_ERR_MEMORY, "no memory for a simulation of %d ranks", sim->job->p);
}

void tt_sim_at(struct tt_sim *sim, int64_t time, uint32_t what, uint32_t who)
{
    if (time > TT_SIM_LONGEST) too_long(sim);
    if (!tt_queue_put(&sim->queue, (struct tt_event){time, what, who})) out_of_memory(sim);
}

/* ---- Ranks ---- */

static void end_phase(struct tt_sim *sim, struct tt_sim_rank *rank)
{
    if (rank->shared) tt_unshare(&sim->shares, rank->shared);
    rank->shared = NULL;
}

static bool unrolls(const struct tt_plan *plan)
{
    return plan->loops || plan->exchanges_n;
}

/* Returns the number of entries of complete[]. */
static uint32_t starts_of(const struct tt_plan *plan, int lane)
{
    return plan->lane[lane].starts * (unrolls(plan) ? TT_IN_FLIGHT : 1);
}

/* Returns the bytes of memory to which a lane points. */
static size_t lane_bytes(const struct tt_plan *plan, int lane)
{
    size_t complete = starts_of(plan, lane) * sizeof(int64_t);
    if (!unrolls(plan)) return complete;
    return complete + sizeof(struct tt_sim_unrolled) + tt_iter_bytes(plan, lane);
}

/* Begins a lane, which uses the memory from `at` on. Returns the end of this memory. */
static char *begin_lane(struct tt_sim_lane *l, const struct tt_plan *plan, int lane, int64_t time,
                        char *at)
{
    char *end = at + lane_bytes(plan, lane);
    uint32_t starts = starts_of(plan, lane), first = plan->lane[lane].first;
    *l = (struct tt_sim_lane){.now = time,
                              .due = TT_NEVER,
                              .at = first,
                              .end = first + plan->lane[lane].n,
                              .awaited = TT_NOTHING};
    l->complete = (int64_t *)(void *)at;
    /* a step of length 0 is never started; with the time 0, a wait for it does not block */
    for (uint32_t i = 0; i < starts; i++) l->complete[i] = 0;
    if (!unrolls(plan)) return end;
    l->unrolled = (struct tt_sim_unrolled *)(void *)(l->complete + starts);
    tt_iter_begin(&l->unrolled->iter, plan, lane, l->unrolled + 1);
    return end;
}

static void free_lanes(struct tt_sim_rank *rank)
{
    tt_free(rank->lane);
    rank->lane = NULL;
    rank->room = 0;
}

/* Makes the rank's block of memory large enough for the lanes of the plan. Its contents are
 * lost. */
static bool make_room(struct tt_sim_rank *rank, const struct tt_named *names)
{
    const struct tt_plan *plan = rank->plan;
    size_t bytes = plan->lanes * sizeof *rank->lane + names->n * sizeof *names->rank;
    for (int i = 0; i < (int)plan->lanes; i++) bytes += lane_bytes(plan, i);
    if (rank->room >= bytes) return true;
    free_lanes(rank);
    rank->lane = tt_alloc(bytes);
    rank->room = rank->lane ? bytes : 0;
    return rank->lane != NULL;
}

static void begin_lanes(struct tt_sim *sim, struct tt_sim_rank *rank, const struct tt_named *names,
                        int64_t time)
{
    const struct tt_plan *plan = rank->plan;
    char *at = (char *)(rank->lane + plan->lanes);
    rank->lanes = rank->lanes_left = (int)plan->lanes;
    for (int i = 0; i < (int)plan->lanes; i++) {
        at = begin_lane(&rank->lane[i], plan, i, time, at);
        wake(sim, rank, i, time);
    }
    rank->named = names->n ? memcpy(at, names->rank, names->n * sizeof *names->rank) : NULL;
}

static void begin_phase(struct tt_sim *sim, struct tt_sim_rank *rank, int64_t time)
{
    int me = (int)(rank - sim->rank);
    struct tt_named names;
    end_phase(sim, rank);
    if (rank->phase == sim->job->phases) {
        free_lanes(rank);
        sim->ended++;
        sim->result.time_ps = tt_max(sim->result.time_ps, time);
        return;
    }
    struct tt_plan *plan = sim->job->plan(sim->job->arg, me, rank->phase++);
    if (plan) rank->shared = tt_share(&sim->shares, plan, &names);
    if (rank->shared) rank->plan = rank->shared->plan;
    if (!plan)
        sim->status = tt_error_status();
    else if (rank->shared && make_room(rank, &names))
        begin_lanes(sim, rank, &names, time);
    else
        out_of_memory(sim);
}

/* Writes the number of the step in its lane, and, if the plans come from a file, the place of the
 * step there. `step`: the index of the step in plan->steps. Returns text. */
static char *say_step(const struct tt_sim *sim, const struct tt_sim_rank *rank, int lane,
                      uint32_t step, char text[STEP_TEXT])
{
    char place[STEP_TEXT - 24] = "";
    if (sim->job->place)
        sim->job->place(sim->job->arg, (int)(rank - sim->rank), step, place, sizeof place);
    snprintf(text, STEP_TEXT, "step %u%s%s", step - rank->plan->lane[lane].first,
             place[0] ? " at " : "", place);
    return text;
}

/* Returns the step of the lane that starts the transfers with this id. Ids ascend. */
static uint32_t starter_of(const struct tt_plan *plan, int lane, uint32_t id)
{
    uint32_t at = plan->lane[lane].first + plan->lane[lane].n - 1;
    while (at > plan->lane[lane].first &&
           (!tt_kind_starts((enum tt_kind)plan->steps[at].kind) || plan->steps[at].value > id))
        at--;
    return at;
}

static void report_unwaited(struct tt_sim *sim, const struct tt_sim_rank *rank, int lane,
                            uint32_t id)
{
    char step[STEP_TEXT];
    sim->status =
        tt_fail(TUTTI_ERR_ARG, "the plan of rank %d ends without a wait for its transfer %%%u (%s)",
                (int)(rank - sim->rank), id,
                say_step(sim, rank, lane, starter_of(rank->plan, lane, id), step));
}

/* Records an error if a transfer that the lane has started is still under way. A plan must wait for
 * each one: when it completes, the memory of the lane may be gone. */
static void check_waits(struct tt_sim *sim, const struct tt_sim_rank *rank,
                        const struct tt_sim_lane *l)
{
    int lane = (int)(l - rank->lane);
    uint32_t starts = starts_of(rank->plan, lane);
    for (uint32_t i = 0; i < starts; i++)
        if (l->complete[i] == TT_NEVER && sim->status == TUTTI_OK)
            report_unwaited(sim, rank, lane, l->unrolled ? i / TT_IN_FLIGHT : i);
}

static void end_lane(struct tt_sim *sim, struct tt_sim_rank *rank, struct tt_sim_lane *l)
{
    l->ended = true;
    int64_t time = 0;
    check_waits(sim, rank, l);
    if (--rank->lanes_left > 0) return;
    for (int i = 0; i < rank->lanes; i++) time = tt_max(time, rank->lane[i].now);
    begin_phase(sim, rank, time);
}

/* ---- Running the simulation ---- */

static void event(struct tt_sim *sim, struct tt_event e)
{
    sim->clock = e.time;
    if (e.what == TT_EVENT_PORT) {
        tt_both_step(sim, e.who);
        return;
    }
    if (e.what == TT_EVENT_MESSAGE) {
        if (sim->message[e.who].step == TT_SEEN)
            seen(sim, e.who);
        else
            tt_wire_step(sim, e.who);
        return;
    }
    struct tt_sim_rank *rank = &sim->rank[e.who / TT_LANES];
    int lane = (int)(e.who % TT_LANES);
    /* the event may be an old one that the lane, or even its phase, no longer waits for */
    if (!rank->shared || lane >= rank->lanes || rank->lane[lane].due != e.time) return;
    rank->lane[lane].due = TT_NEVER;
    run_lane(sim, rank, lane);
}

/* Reports progress if n, the number of events or of ranks that have begun, is a multiple of
 * NOW_AND_THEN. */
static void print_progress(const struct tt_sim *sim, int64_t n)
{
    enum { NOW_AND_THEN = 1 << 14 };
    if (n % NOW_AND_THEN == 0 && sim->job->progress)
        sim->job->progress(sim->job->arg, sim->ended, sim->result.messages);
}

static void run(struct tt_sim *sim)
{
    struct tt_event e;
    for (int64_t n = 1; sim->status == TUTTI_OK && tt_queue_take(&sim->queue, &e); n++) {
        event(sim, e);
        print_progress(sim, n);
    }
}

/* Records the error that ranks have not ended although no event is left, and returns its status. */
static tutti_status stopped(const struct tt_sim *sim)
{
    int r = 0;
    char step[STEP_TEXT];
    while (!sim->rank[r].shared) r++;
    for (int i = 0; i < sim->rank[r].lanes; i++) {
        const struct tt_sim_lane *l = &sim->rank[r].lane[i];
        struct tt_plain s;
        if (l->ended || !l->has_step || !get_step(&sim->rank[r], i, &s)) continue;
        return tt_fail(TUTTI_ERR_ARG, "%d of %d ranks wait for ever: rank %d at its %s, %s",
                       sim->job->p - sim->ended, sim->job->p, r,
                       tt_word(&tt_step_words, (int)s.kind),
                       say_step(sim, &sim->rank[r], i, s.at, step));
    }
    return tt_fail(TUTTI_ERR_ARG, "rank %d waits for ever", r);
}

static void sum_up(struct tt_sim *sim)
{
    struct tt_sim_result *result = &sim->result;
    for (int r = 0; r < sim->job->p; r++) result->steps = tt_max(result->steps, sim->rank[r].sent);
    for (int64_t i = 0; i < result->link_room; i++) {
        const struct tt_net *net = sim->job->net;
        if (tt_net_neighbour(net, (int)(i / net->ports), (int)(i % net->ports)) < 0) continue;
        result->links++;
        if (__builtin_add_overflow(result->total_link_bytes, result->link_bytes[i],
                                   &result->total_link_bytes))
            sim->status = tt_fail(TUTTI_ERR_LIMIT, "the links carry more bytes than 63 bits hold");
        result->max_link_bytes = tt_max(result->max_link_bytes, result->link_bytes[i]);
    }
}

static void release(struct tt_sim *sim)
{
    for (int r = 0; sim->rank && r < sim->job->p; r++) {
        end_phase(sim, &sim->rank[r]);
        free_lanes(&sim->rank[r]);
    }
    tt_shares_free(&sim->shares);
    tt_free(sim->rank);
    tt_free(sim->message);
    tt_free(sim->unused);
    tt_free(sim->link_free);
    tt_free(sim->port);
    tt_queue_free(&sim->queue);
    flags_free(sim);
}

tutti_status tt_sim(const struct tt_sim_job *job, struct tt_sim_result *result)
{
    struct tt_sim sim = {.job = job};
    tt_assert(job->p <= TT_NET_NODES);
    sim.most_far = most_bytes(job, false, false);
    sim.most_near = most_bytes(job, true, false);
    sim.most_worked = most_bytes(job, job->node != NULL, true);
    sim.rank = tt_calloc((size_t)job->p, sizeof *sim.rank);
    if (!sim.rank) out_of_memory(&sim);
    if (sim.rank && sim.status == TUTTI_OK) sim.status = tt_wire_begin(&sim);
    for (int r = 0; r < job->p && sim.status == TUTTI_OK; r++) {
        begin_phase(&sim, &sim.rank[r], 0);
        print_progress(&sim, r + 1);
    }
    run(&sim);
    if (sim.status == TUTTI_OK && sim.ended < job->p) sim.status = stopped(&sim);
    if (sim.status == TUTTI_OK) sum_up(&sim);
    release(&sim);
    *result = sim.result;
    if (sim.status != TUTTI_OK) tt_sim_free(result);
    return sim.status;
}

void tt_sim_free(struct tt_sim_result *result)
{
    tt_free(result->link_bytes);
    *result = (struct tt_sim_result){.time_ps = 0};
}
