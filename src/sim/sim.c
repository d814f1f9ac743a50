/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks: each lane goes through its steps until one has to wait, and is woken when that has come.
 */
#include "sim/sim-inside.h"

#include <string.h>

static const char *const step_words[] = {
    [TT_SEND] = "send",   [TT_RECV] = "recv", [TT_PUT] = "put",
    [TT_GET] = "get",     [TT_WAIT] = "wait", [TT_SIGNAL] = "signal",
    [TT_AWAIT] = "await", [TT_COPY] = "copy", [TT_REDUCE] = "reduce",
    [TT_LOOP] = "loop",   [TT_END] = "end",   [TT_EXCHANGE] = "exchange",
};

void tt_sim_out_of_memory(struct tt_sim *sim)
{
    if (sim->status == TUTTI_OK)
        sim->status =
            tt_fail(TUTTI_ERR_MEMORY, "no memory for a simulation of %d ranks", sim->job->p);
}

void tt_sim_at(struct tt_sim *sim, int64_t time, uint32_t what, uint32_t who)
{
    if (!tt_queue_put(&sim->queue, (struct tt_event){time, what, who})) tt_sim_out_of_memory(sim);
}

/* ---- Waking ---- */

/* Lanes are numbered rank * TT_LANES + lane. */
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
        wake(sim, rank, lane, tt_max(time, sim->clock));
}

/* ---- Sends and receives meet ---- */

static void receive(struct tt_sim *sim, struct tt_sim_rank *rank, int lane,
                    const struct tt_plain *s)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    uint32_t came = tt_parcels_take(sim, rank, TT_CAME, s->peer, lane);
    l->complete[start_of(s)] = TT_NEVER;
    if (came) {
        complete(sim, rank, lane, start_of(s), tt_max(l->now, sim->parcel[came].ready));
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
    parcel->ready = time;
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
static void signal_came(struct tt_sim *sim, uint32_t place)
{
    const struct tt_parcel *parcel = &sim->parcel[place];
    struct tt_flag *flag = tt_flag(sim, parcel->from, parcel->lane, parcel->to);
    if (!flag) {
        tt_sim_out_of_memory(sim);
        return;
    }
    if (parcel->value > flag->value) flag->value = parcel->value;
    if (flag->wanted) wake(sim, &sim->rank[parcel->to], (int)flag->wanted - 1, sim->clock);
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
    wake(sim, rank, lane, l->now);
}

#define OPERAND UINT32_MAX /* the value of a get that no wait is for */
#define SEEN 255           /* the step of a signal that has come */

void tt_sim_came(struct tt_sim *sim, uint32_t place, int64_t time)
{
    struct tt_parcel *parcel = &sim->parcel[place];
    int starter = parcel->kind == TT_PARCEL_GET ? parcel->to : parcel->from;
    struct tt_sim_rank *rank = &sim->rank[starter];
    switch ((enum tt_parcel_kind)parcel->kind) {
    case TT_PARCEL_SEND: send_came(sim, place, time); return;
    case TT_PARCEL_SIGNAL:
        parcel->step = SEEN;
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
                               .bytes = bytes};
    uint32_t place = tt_parcel_new(sim, &parcel);
    if (!place) return;
    sim->result.messages++;
    if (kind != TT_PARCEL_SIGNAL) {
        sim->result.bytes += bytes;
        sim->rank[from].sent++;
    }
    tt_wire_send(sim, place);
}

static void signal_one(struct tt_sim *sim, int me, int lane, int to, uint32_t value)
{
    enum { SIGNAL_BYTES = 8 };
    struct tt_flag *own;
    if (to != me) {
        dispatch(sim, lane, TT_PARCEL_SIGNAL, me, to, SIGNAL_BYTES, value);
    } else if ((own = tt_flag(sim, me, lane, me)) != NULL) {
        own->value = (uint32_t)tt_max(own->value, value);
        if (own->wanted) wake(sim, &sim->rank[me], (int)own->wanted - 1, sim->clock);
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

static int64_t overhead_ps(const struct tt_sim *sim, const struct tt_plain *s)
{
    const struct tt_model *model = sim->job->model;
    bool sends =
        s->kind == TT_SEND || s->kind == TT_PUT || s->kind == TT_GET || s->kind == TT_SIGNAL;
    return model->kind == TT_MODEL_loggp && sends ? model->o_ps : 0;
}

static void begin_phase(struct tt_sim *sim, struct tt_sim_rank *rank, int64_t time);

static void end_lane(struct tt_sim *sim, struct tt_sim_rank *rank, struct tt_sim_lane *l)
{
    l->ended = true;
    int64_t time = 0;
    if (--rank->lanes_left > 0) return;
    for (uint32_t i = 0; i < rank->plan->lanes; i++) time = tt_max(time, rank->lane[i].now);
    begin_phase(sim, rank, time);
}

static void run_lane(struct tt_sim *sim, struct tt_sim_rank *rank, int lane)
{
    struct tt_sim_lane *l = &rank->lane[lane];
    l->now = tt_max(l->now, sim->clock);
    while (sim->status == TUTTI_OK) {
        if (!l->has_step && !tt_iter_next(&l->iter, &l->step)) {
            end_lane(sim, rank, l);
            return;
        }
        l->has_step = true;
        if (l->now > sim->clock && is_for_others(&l->step, l)) {
            wake(sim, rank, lane, l->now);
            return;
        }
        int64_t cost = overhead_ps(sim, &l->step);
        if (!do_step(sim, rank, lane)) return;
        l->now += cost;
        l->has_step = false;
    }
}

/* ---- Ranks ---- */

static void end_phase(struct tt_sim_rank *rank)
{
    for (uint32_t i = 0; rank->lane && i < rank->plan->lanes; i++) tt_free(rank->lane[i].memory);
    tt_free(rank->lane);
    tt_plan_free(rank->plan);
    rank->lane = NULL;
    rank->plan = NULL;
}

static bool begin_lane(struct tt_sim_lane *l, const struct tt_plan *plan, int lane, int64_t time)
{
    size_t iter = tt_iter_bytes(plan, lane);
    size_t starts = plan->lane[lane].starts * TT_IN_FLIGHT;
    char *memory = tt_alloc(iter + starts * sizeof *l->complete + 8);
    if (!memory) return false;
    *l = (struct tt_sim_lane){.now = time, .due = TT_NEVER, .memory = memory};
    l->complete = (int64_t *)(void *)(memory + iter);
    for (size_t i = 0; i < starts; i++)
        l->complete[i] = 0; /* a wait for what vanished finds it complete */
    tt_iter_begin(&l->iter, plan, lane, memory);
    return true;
}

static void begin_phase(struct tt_sim *sim, struct tt_sim_rank *rank, int64_t time)
{
    int me = (int)(rank - sim->rank);
    end_phase(rank);
    if (rank->phase == sim->job->phases) {
        sim->ended++;
        sim->result.time_ps = tt_max(sim->result.time_ps, time);
        return;
    }
    rank->plan = sim->job->plan(sim->job->arg, me, rank->phase++);
    if (!rank->plan) {
        sim->status = TUTTI_ERR_MEMORY;
        return;
    }
    rank->lanes_left = (int)rank->plan->lanes;
    rank->lane = tt_calloc(rank->plan->lanes, sizeof *rank->lane);
    if (!rank->lane) tt_sim_out_of_memory(sim);
    for (uint32_t i = 0; rank->lane && i < rank->plan->lanes; i++) {
        if (!begin_lane(&rank->lane[i], rank->plan, (int)i, time)) tt_sim_out_of_memory(sim);
        wake(sim, rank, (int)i, time);
    }
}

/* ---- The whole ---- */

static void event(struct tt_sim *sim, struct tt_event e)
{
    sim->clock = e.time;
    if (e.what == TT_EVENT_PARCEL) {
        if (sim->parcel[e.who].step == SEEN)
            signal_came(sim, e.who);
        else
            tt_wire_step(sim, e.who);
        return;
    }
    struct tt_sim_rank *rank = &sim->rank[e.who / TT_LANES];
    int lane = (int)(e.who % TT_LANES);
    if (!rank->plan || rank->lane[lane].due != e.time) return;
    rank->lane[lane].due = TT_NEVER;
    run_lane(sim, rank, lane);
}

static void run(struct tt_sim *sim)
{
    enum { NOW_AND_THEN = 1 << 16 };
    struct tt_event e;
    for (int64_t n = 1; sim->status == TUTTI_OK && tt_queue_take(&sim->queue, &e); n++) {
        event(sim, e);
        if (n % NOW_AND_THEN == 0 && sim->job->progress)
            sim->job->progress(sim->job->arg, sim->ended, sim->result.messages);
    }
}

/* Nothing happens any more, but some have not ended. */
static tutti_status stopped(const struct tt_sim *sim)
{
    int r = 0;
    while (!sim->rank[r].plan) r++;
    for (uint32_t i = 0; i < sim->rank[r].plan->lanes; i++) {
        const struct tt_sim_lane *l = &sim->rank[r].lane[i];
        if (l->ended || !l->has_step) continue;
        return tt_fail(TUTTI_ERR_ARG, "%d of %d ranks wait for ever: rank %d at its %s, step %u",
                       sim->job->p - sim->ended, sim->job->p, r, step_words[l->step.kind],
                       l->step.at);
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
        result->total_link_bytes += result->link_bytes[i];
        result->max_link_bytes = tt_max(result->max_link_bytes, result->link_bytes[i]);
    }
}

static void release(struct tt_sim *sim)
{
    for (int r = 0; sim->rank && r < sim->job->p; r++)
        if (sim->rank[r].plan) end_phase(&sim->rank[r]);
    tt_free(sim->rank);
    tt_free(sim->parcel);
    tt_free(sim->link_free);
    tt_queue_free(&sim->queue);
    tt_flags_free(sim);
}

tutti_status tt_sim(const struct tt_sim_job *job, struct tt_sim_result *result)
{
    struct tt_sim sim = {.job = job};
    tt_assert(job->p <= TT_NET_NODES);
    sim.rank = tt_calloc((size_t)job->p, sizeof *sim.rank);
    if (!sim.rank) tt_sim_out_of_memory(&sim);
    if (sim.rank && sim.status == TUTTI_OK) sim.status = tt_wire_begin(&sim);
    for (int r = 0; r < job->p && sim.status == TUTTI_OK; r++) begin_phase(&sim, &sim.rank[r], 0);
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
