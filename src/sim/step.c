/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Steps on paper: a lane goes through them until one has to wait, and is woken when that has come.
 */
#include "sim/sim-inside.h"

/* ---- Waking ---- */

/* Lanes are numbered rank * TT_LANES + lane. */
static uint32_t lane_number(const struct tt_sim *sim, const struct tt_sim_rank *rank, int lane)
{
    return (uint32_t)((rank - sim->rank) * TT_LANES + lane);
}

void tt_sim_wake(struct tt_sim *sim, struct tt_sim_rank *rank, int lane, int64_t time)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    if (time >= l->due) return;
    l->due = time;
    tt_sim_at(sim, time, TT_EVENT_LANE, lane_number(sim, rank, lane));
}

static uint32_t start_of(const struct tt_plain *s)
{
    return s->value * TT_IN_FLIGHT + (uint32_t)(s->instance % TT_IN_FLIGHT);
}

/* A start of a lane is complete at `time`, which may be to come. */
static void complete(struct tt_sim *sim, struct tt_sim_rank *rank, int lane, uint32_t start,
                     int64_t time)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    l->complete[start] = time;
    if (l->due == TT_NEVER && l->has_step && l->step.kind == TT_WAIT && start_of(&l->step) == start)
        tt_sim_wake(sim, rank, lane, tt_max(time, sim->clock));
}

/* ---- Sends and receives meet ---- */

static void receive(struct tt_sim *sim, struct tt_sim_rank *rank, int lane,
                    const struct tt_plain *s)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    uint32_t came = tt_parcels_take(sim, rank, TT_CAME, s->peer, lane);
    l->complete[start_of(s)] = TT_NEVER;
    if (came) {
        complete(sim, rank, lane, start_of(s), tt_max(l->now, sim->parcel[came].since));
        tt_parcel_free(sim, came);
        return;
    }
    struct tt_parcel posted = {.from = s->peer, .lane = (uint8_t)lane, .value = start_of(s)};
    uint32_t place = tt_parcel_new(sim, &posted);
    if (place) tt_parcels_add(sim, rank, TT_POSTED, place);
}

static void send_came(struct tt_sim *sim, uint32_t place, int64_t time)
{
    struct tt_parcel *parcel = &sim->parcel[place];
    struct tt_sim_rank *rank = &sim->rank[parcel->to];
    uint32_t posted = tt_parcels_take(sim, rank, TT_POSTED, parcel->from, parcel->lane);
    parcel->since = time;
    if (!posted) {
        tt_parcels_add(sim, rank, TT_CAME, place);
        return;
    }
    complete(sim, rank, parcel->lane, sim->parcel[posted].value, time);
    tt_parcel_free(sim, posted);
    tt_parcel_free(sim, place);
}

/* ---- Flags ---- */

/* Seen from `clock` on. */
void tt_sim_seen(struct tt_sim *sim, uint32_t place)
{
    const struct tt_parcel *parcel = &sim->parcel[place];
    struct tt_flag *flag = tt_flag(sim, parcel->from, parcel->lane, parcel->to);
    if (!flag) {
        tt_sim_out_of_memory(sim);
        return;
    }
    if (parcel->value > flag->value) flag->value = parcel->value;
    if (flag->wanted) tt_sim_wake(sim, &sim->rank[parcel->to], (int)flag->wanted - 1, sim->clock);
    flag->wanted = 0;
    tt_parcel_free(sim, place);
}

static bool awaits(struct tt_sim *sim, struct tt_sim_rank *rank, int lane, const struct tt_plain *s)
{
    int me = (int)(rank - sim->rank);
    if (s->value == 0) return false;
    struct tt_flag *flag = tt_flag(sim, s->peer, (int)s->lane, me);
    if (!flag) tt_sim_out_of_memory(sim);
    if (!flag || flag->value >= s->value) return false;
    flag->wanted = (uint32_t)lane + 1;
    return true;
}

/* ---- What the wire tells ---- */

void tt_sim_left(struct tt_sim *sim, uint32_t place, int64_t time)
{
    const struct tt_parcel *parcel = &sim->parcel[place];
    if (parcel->kind == TT_PARCEL_SEND)
        complete(sim, &sim->rank[parcel->from], parcel->lane, parcel->value, time);
}

static void operand_came(struct tt_sim *sim, struct tt_sim_rank *rank, int lane, int64_t time)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    l->now = tt_max(l->now, time);
    if (--l->gets > 0) return;
    l->fetched = true;
    tt_sim_wake(sim, rank, lane, l->now);
}

#define OPERAND UINT32_MAX /* the value of a get that no wait is for */

static void tell_message(const struct tt_sim *sim, const struct tt_parcel *parcel, int64_t time)
{
    static const enum tt_kind kinds[] = {[TT_PARCEL_SEND] = TT_SEND,
                                         [TT_PARCEL_PUT] = TT_PUT,
                                         [TT_PARCEL_GET] = TT_GET,
                                         [TT_PARCEL_SIGNAL] = TT_SIGNAL};
    struct tt_sim_deed deed = {.kind = kinds[parcel->kind],
                               .rank = parcel->from,
                               .lane = parcel->lane,
                               .peer = parcel->to,
                               .begin_ps = parcel->since,
                               .end_ps = time,
                               .bytes = parcel->bytes};
    sim->job->message(sim->job->arg, &deed);
}

void tt_sim_came(struct tt_sim *sim, uint32_t place, int64_t time)
{
    struct tt_parcel *parcel = &sim->parcel[place];
    if (sim->job->message) tell_message(sim, parcel, time);
    int starter = parcel->kind == TT_PARCEL_GET ? parcel->to : parcel->from;
    struct tt_sim_rank *rank = &sim->rank[starter];
    switch ((enum tt_parcel_kind)parcel->kind) {
    case TT_PARCEL_SEND: send_came(sim, place, time); return;
    case TT_PARCEL_SIGNAL:
        parcel->step = TT_SEEN;
        tt_sim_at(sim, time, TT_EVENT_PARCEL, place);
        return;
    case TT_PARCEL_PUT: complete(sim, rank, parcel->lane, parcel->value, time); break;
    case TT_PARCEL_GET:
        if (parcel->value == OPERAND)
            operand_came(sim, rank, parcel->lane, time);
        else
            complete(sim, rank, parcel->lane, parcel->value, time);
        break;
    }
    tt_parcel_free(sim, place);
}

/* ---- Steps ---- */

/* On its way, and counted. */
static void dispatch(struct tt_sim *sim, int lane, enum tt_parcel_kind kind, int from, int to,
                     int64_t bytes, uint32_t value)
{
    struct tt_parcel parcel = {.from = from,
                               .to = to,
                               .kind = (uint8_t)kind,
                               .lane = (uint8_t)lane,
                               .value = value,
                               .bytes = bytes,
                               .since = sim->clock};
    uint32_t place = tt_parcel_new(sim, &parcel);
    if (!place) return;
    sim->result.messages++;
    if (kind != TT_PARCEL_SIGNAL) {
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
        dispatch(sim, lane, TT_PARCEL_SIGNAL, me, to, TT_SIGNAL_BYTES, value);
    } else if ((own = tt_flag(sim, me, lane, me)) != NULL) {
        own->value = (uint32_t)tt_max(own->value, value);
        if (own->wanted) tt_sim_wake(sim, &sim->rank[me], (int)own->wanted - 1, sim->clock);
        own->wanted = 0;
    } else {
        tt_sim_out_of_memory(sim);
    }
}

static void signal_all(struct tt_sim *sim, int me, int lane, const struct tt_plain *s)
{
    if (s->peer >= 0) {
        signal_one(sim, me, lane, s->peer, s->value);
    } else if (s->peer == TT_ALL) {
        for (int k = 1; k < sim->job->p; k++)
            signal_one(sim, me, lane, (me + k) % sim->job->p, s->value);
    } else {
        for (uint32_t i = 0; i < s->nops; i++) signal_one(sim, me, lane, s->set[i], s->value);
    }
}

/* The operands of a copy or reduction that lie elsewhere are got; how many. */
static int fetch(struct tt_sim *sim, int me, int lane, const struct tt_plain *s)
{
    int far = 0;
    for (uint32_t i = 1; i < s->nops; i++) {
        if (s->range[i].rank == TT_SELF) continue;
        far++;
        dispatch(sim, lane, TT_PARCEL_GET, s->range[i].rank, me, s->len, OPERAND);
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

/* False: the lane waits for what is elsewhere. */
static bool work(struct tt_sim *sim, int me, struct tt_sim_lane *l, int lane)
{
    const struct tt_plain *s = &l->step;
    if (!l->fetched && (l->gets = fetch(sim, me, lane, s)) > 0) return false;
    l->fetched = false;
    l->now += work_ps(sim, s);
    return true;
}

static bool waits(struct tt_sim *sim, struct tt_sim_lane *l)
{
    int64_t when = l->complete[start_of(&l->step)];
    if (when == TT_NEVER) return true;
    l->now = tt_max(l->now, when);
    (void)sim;
    return false;
}

static void start(struct tt_sim *sim, int me, struct tt_sim_lane *l, int lane)
{
    const struct tt_plain *s = &l->step;
    bool get = s->kind == TT_GET;
    enum tt_parcel_kind kind = get                 ? TT_PARCEL_GET
                               : s->kind == TT_PUT ? TT_PARCEL_PUT
                                                   : TT_PARCEL_SEND;
    l->complete[start_of(s)] = TT_NEVER;
    dispatch(sim, lane, kind, get ? s->peer : me, get ? me : s->peer, s->len, start_of(s));
}

/* Whether a step has to be done at its time, since others may do theirs before. */
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

/* True when it is done. */
static bool do_step(struct tt_sim *sim, struct tt_sim_rank *rank, int lane)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    int me = (int)(rank - sim->rank);
    switch (l->step.kind) {
    case TT_SEND:
    case TT_PUT:
    case TT_GET: start(sim, me, l, lane); return true;
    case TT_RECV: receive(sim, rank, lane, &l->step); return true;
    case TT_WAIT: return !waits(sim, l);
    case TT_SIGNAL: signal_all(sim, me, lane, &l->step); return true;
    case TT_AWAIT: return !awaits(sim, rank, lane, &l->step);
    case TT_COPY:
    case TT_REDUCE: return work(sim, me, l, lane);
    case TT_LOOP:
    case TT_END:
    case TT_EXCHANGE: break;
    }
    sim->status = tt_fail(TUTTI_ERR_ARG, "a plan with a step that is none");
    return false;
}

/* Starting messages engages the processor under loggp. */
static bool engages(const struct tt_sim *sim, const struct tt_plain *s)
{
    return sim->job->model->kind == TT_MODEL_loggp &&
           (s->kind == TT_SEND || s->kind == TT_PUT || s->kind == TT_GET || s->kind == TT_SIGNAL);
}

static void tell_step(const struct tt_sim *sim, int me, int lane, const struct tt_sim_lane *l)
{
    const struct tt_plain *s = &l->step;
    bool alone = s->kind == TT_COPY || s->kind == TT_REDUCE || s->kind == TT_WAIT;
    struct tt_sim_deed deed = {.kind = s->kind,
                               .rank = me,
                               .lane = lane,
                               .peer = alone ? -1 : s->peer,
                               .begin_ps = l->begun,
                               .end_ps = l->now,
                               .bytes = s->kind == TT_SIGNAL ? 0 : s->len};
    sim->job->step(sim->job->arg, &deed);
}

void tt_sim_run_lane(struct tt_sim *sim, struct tt_sim_rank *rank, int lane)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    l->now = tt_max(l->now, sim->clock);
    while (sim->status == TUTTI_OK) {
        if (!l->has_step && !tt_iter_next(&l->iter, &l->step)) {
            tt_sim_end_lane(sim, rank, l);
            return;
        }
        if (!l->has_step) l->begun = l->now;
        l->has_step = true;
        if (l->now > sim->clock && is_for_others(&l->step, l)) {
            tt_sim_wake(sim, rank, lane, l->now);
            return;
        }
        if (!do_step(sim, rank, lane)) return;
        if (engages(sim, &l->step)) l->now = tt_max(l->now, rank->busy);
        if (sim->job->step) tell_step(sim, (int)(rank - sim->rank), lane, l);
        l->has_step = false;
    }
}
