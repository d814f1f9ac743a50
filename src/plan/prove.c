/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The run that decides: starts executions as the runner would, and lets every lane go on until it
 * blocks, until all have ended or nobody can go on.
 */
#include "plan/prove-inside.h"

#include <string.h>

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

void tt_prove_ready(struct tt_prover *p, struct tt_lane_run *lane)
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

/* The moment after all lanes. */
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

/* The buffers are the caller's again; the reference is looked at once more. */
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

static bool all_waited(struct tt_prover *p, const struct tt_lane_run *lane)
{
    uint32_t n = lane->part->plan->lane[lane->index].starts * TT_IN_FLIGHT;
    for (uint32_t i = 0; lane->under_way && i < n; i++) {
        const struct tt_begun *b = &lane->begun[i];
        if (b->under_way)
            return tt_prove_fault_at_end(
                p, lane->part, TT_FAULT_NOT_WAITED,
                "lane %d ends without a wait for instance %lu of %%%u (step %u)", lane->index,
                (unsigned long)b->instance, i / TT_IN_FLIGHT, b->at);
    }
    return true;
}

static bool end_lane(struct tt_prover *p, struct tt_lane_run *lane)
{
    if (!all_waited(p, lane)) return false;
    lane->state = TT_LANE_DONE;
    while (lane->waiters) { /* they wait in vain, and shall say so */
        struct tt_lane_run *waiter = lane->waiters;
        lane->waiters = waiter->next;
        tt_prove_ready(p, waiter);
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

static bool start_lane(struct tt_prover *p, struct tt_lane_run *lane, struct tt_vclock *seen)
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
    tt_prove_ready(p, lane);
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

/* What the caller of execution k has waited for: its own k - in_flight, and everybody's k -
 * held. */
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

static bool run_lane(struct tt_prover *p, struct tt_lane_run *lane)
{
    enum tt_outcome outcome = TT_STEP_DONE;
    p->running = lane;
    lane->state = TT_LANE_READY;
    if (lane->blocked) outcome = tt_prove_step(p, lane);
    while (outcome == TT_STEP_DONE) {
        lane->blocked = false;
        if (!tt_iter_next(&lane->iter, &lane->step)) return end_lane(p, lane);
        outcome = tt_prove_step(p, lane);
    }
    if (outcome == TT_STEP_OVER) return false;
    lane->blocked = true;
    lane->state = TT_LANE_BLOCKED;
    return true;
}

static bool run_all(struct tt_prover *p)
{
    for (int r = 0; r < p->p; r++)
        if (!start_more(p, r)) return false;
    while (p->head) {
        struct tt_lane_run *lane = p->head;
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
    struct tt_access *accesses =
        tt_prove_grow(p, p->accesses, &p->accesses_room, 1, sizeof *accesses);
    if (accesses) p->accesses = accesses;
    struct tt_reader *readers = tt_prove_grow(p, p->readers, &p->readers_room, 1, sizeof *readers);
    if (readers) p->readers = readers;
    if (!accesses || !readers) return false;
    p->accesses[0] = (struct tt_access){.end = 0};
    p->readers[0] = (struct tt_reader){.access = 0};
    p->accesses_n = p->readers_n = 1;
    return tt_prove_channels_begin(p) && tt_prove_values_begin(p);
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
    if (c->p < 1 || c->executions < 1) return tt_fail(TUTTI_ERR_ARG, "nothing to prove");
    for (int k = 0; k < c->executions; k++)
        for (int r = 0; r < c->p; r++) {
            const struct tt_plan *plan = c->execution[k].plans[r];
            const struct tt_call *call = &c->execution[k].calls[r];
            if (plan->p != c->p || plan->me != r || plan->coll != call->coll ||
                call->coll != c->execution[k].calls[0].coll)
                return tt_fail(TUTTI_ERR_ARG, "execution %d: rank %d's plan is that of %d of %d", k,
                               r, plan->me, plan->p);
            if (tt_coll_has_op(call->coll) && (plan->type != call->type || plan->op != call->op))
                return tt_fail(TUTTI_ERR_ARG, "execution %d: rank %d's plan reduces otherwise", k,
                               r);
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
