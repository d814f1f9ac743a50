/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks, phase after phase, and the events that drive them.
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
    if (time > TT_SIM_LONGEST && sim->status == TUTTI_OK)
        sim->status =
            tt_fail(TUTTI_ERR_LIMIT, "it takes more than the %d days that can be simulated",
                    (int)(TT_SIM_LONGEST / 86400 / INT64_C(1000000000000)));
    if (!tt_queue_put(&sim->queue, (struct tt_event){time, what, who})) tt_sim_out_of_memory(sim);
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
        tt_sim_wake(sim, rank, (int)i, time);
    }
}

void tt_sim_end_lane(struct tt_sim *sim, struct tt_sim_rank *rank, struct tt_sim_lane *l)
{
    l->ended = true;
    int64_t time = 0;
    if (--rank->lanes_left > 0) return;
    for (uint32_t i = 0; i < rank->plan->lanes; i++) time = tt_max(time, rank->lane[i].now);
    begin_phase(sim, rank, time);
}

/* ---- The whole ---- */

static void event(struct tt_sim *sim, struct tt_event e)
{
    sim->clock = e.time;
    if (e.what == TT_EVENT_PORT) {
        tt_both_step(sim, e.who);
        return;
    }
    if (e.what == TT_EVENT_PARCEL) {
        if (sim->parcel[e.who].step == TT_SEEN)
            tt_sim_seen(sim, e.who);
        else
            tt_wire_step(sim, e.who);
        return;
    }
    struct tt_sim_rank *rank = &sim->rank[e.who / TT_LANES];
    int lane = (int)(e.who % TT_LANES);
    if (!rank->plan || rank->lane[lane].due != e.time) return;
    rank->lane[lane].due = TT_NEVER;
    tt_sim_run_lane(sim, rank, lane);
}

/* After each so many events, or ranks that have begun. */
static void tell_progress(const struct tt_sim *sim, int64_t n)
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
        tell_progress(sim, n);
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
        if (__builtin_add_overflow(result->total_link_bytes, result->link_bytes[i],
                                   &result->total_link_bytes))
            sim->status = tt_fail(TUTTI_ERR_LIMIT, "the links carry more bytes than 63 bits hold");
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
    tt_free(sim->port);
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
    for (int r = 0; r < job->p && sim.status == TUTTI_OK; r++) {
        begin_phase(&sim, &sim.rank[r], 0);
        tell_progress(&sim, r + 1);
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
