/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/simulate.h"

#include <string.h>

struct simulate_run {
    const struct tt_simulation *simulation;
    struct tt_builder *builder;
    int64_t *room;
    int *node;           /* for each rank: its node */
    struct tt_call call; /* the call of the rank whose plan was made last */
    bool calls_differ;   /* the ranks have calls with different counts */
};

static struct tt_plan *plan_of(void *arg, int rank, int phase)
{
    struct simulate_run *run = arg;
    const struct tt_simulation *simulation = run->simulation;
    if (simulation->algorithm->plans) return tt_plan_copy(simulation->algorithm->plans[rank]);
    if (run->calls_differ) run->call = tt_problem_call(simulation->problem, rank, run->room);
    tt_builder_reset(run->builder, simulation->map->p, rank, &run->call,
                     simulation->algorithm->name);
    tt_algorithm_build(simulation->algorithm, run->builder, &run->call, simulation->map, rank,
                       phase);
    return tt_builder_finish(run->builder);
}

/* Writes the place of a step in the plan file. Uses the call of rank 0, because the plans of all
 * ranks were parsed for this call (tt_plan_file_plans). */
static char *place_of(void *arg, int rank, uint32_t step, char *text, size_t size)
{
    const struct simulate_run *run = arg;
    const struct tt_simulation *simulation = run->simulation;
    struct tt_call call = tt_problem_call(simulation->problem, 0, run->room);
    return tt_plan_file_place(simulation->file, &call, simulation->map->p, rank, step, text, size);
}

static void progress(void *arg, int ended, int64_t messages)
{
    const struct tt_simulation *simulation = ((const struct simulate_run *)arg)->simulation;
    if (simulation->progress) simulation->progress(simulation->arg, ended, messages);
}

static void step(void *arg, const struct tt_sim_event *event)
{
    const struct tt_simulation *simulation = ((const struct simulate_run *)arg)->simulation;
    simulation->step(simulation->arg, event);
}

static void message(void *arg, const struct tt_sim_event *event)
{
    const struct tt_simulation *simulation = ((const struct simulate_run *)arg)->simulation;
    simulation->message(simulation->arg, event);
}

/* Copies the nodes of the ranks from the map. A map without a list of nodes has one node, but a
 * simulator's job without such a list has a node for each rank. */
static bool copy_nodes(struct simulate_run *run, const struct tt_map *map)
{
    run->node = tt_calloc((size_t)map->p, sizeof *run->node);
    if (!run->node) return false;
    if (map->node) memcpy(run->node, map->node, (size_t)map->p * sizeof *run->node);
    return true;
}

static bool begin(struct simulate_run *run, const struct tt_simulation *simulation, int *phases)
{
    *run = (struct simulate_run){.simulation = simulation};
    run->room = tt_alloc((tt_problem_room(simulation->problem) + 1) * sizeof *run->room);
    if (!run->room || !copy_nodes(run, simulation->map)) return false;
    run->call = tt_problem_call(simulation->problem, 0, run->room);
    run->calls_differ = tt_call_counts(&run->call);
    *phases = tt_algorithm_phases(simulation->algorithm, &run->call, simulation->map);
    run->builder = tt_builder_new(simulation->map->p, 0, &run->call, simulation->algorithm->name);
    return run->builder != NULL;
}

static void end(struct simulate_run *run)
{
    tt_builder_free(run->builder);
    tt_free(run->node);
    tt_free(run->room);
}

tutti_status tt_simulate(const struct tt_simulation *simulation, struct tt_sim_result *result)
{
    struct simulate_run run;
    struct tt_sim_job job = {.model = simulation->model,
                             .net = simulation->map->net,
                             .p = simulation->map->p,
                             .plan = plan_of,
                             .place = simulation->file ? place_of : NULL,
                             .progress = progress,
                             .step = simulation->step ? step : NULL,
                             .message = simulation->message ? message : NULL,
                             .arg = &run};
    tutti_status status = TUTTI_ERR_MEMORY;
    bool good = begin(&run, simulation, &job.phases);
    job.node = run.node;
    if (good)
        status = tt_sim(&job, result);
    else
        (void)tt_fail(status, "no memory to simulate %d ranks", job.p);
    end(&run);
    return status;
}

/* ---- How many messages ---- */

static int64_t messages_of(const struct tt_plain *s, int p)
{
    int64_t far = 0;
    switch (s->kind) {
    case TT_SEND:
    case TT_PUT:
    case TT_GET: return 1;
    case TT_SIGNAL: return s->peer >= 0 ? 1 : s->peer == TT_ALL ? p - 1 : (int64_t)s->nops;
    case TT_COPY:
    case TT_REDUCE:
        for (uint32_t i = 1; i < s->nops; i++) far += s->range[i].rank != TT_SELF;
        return far;
    case TT_RECV:
    case TT_WAIT:
    case TT_AWAIT:
    case TT_LOOP:
    case TT_END:
    case TT_EXCHANGE: break;
    }
    return 0;
}

/* Counts the messages of all lanes. Returns -1 if there is no plan or no memory. */
static int64_t messages_in(const struct tt_plan *plan)
{
    int64_t sum = 0;
    for (int lane = 0; plan && lane < (int)plan->lanes; lane++) {
        struct tt_iter iter;
        struct tt_plain step;
        void *memory = tt_alloc(tt_iter_bytes(plan, lane) + 8);
        if (!memory) return -1;
        tt_iter_begin(&iter, plan, lane, memory);
        while (tt_iter_next(&iter, &step)) sum += messages_of(&step, plan->p);
        tt_free(memory);
    }
    return plan ? sum : -1;
}

int64_t tt_simulation_messages(const struct tt_simulation *simulation)
{
    enum { SOME = 61 };
    struct simulate_run run;
    int p = simulation->map->p, some = tt_min(p, SOME), phases = 0;
    int64_t sum = 0;
    bool good = begin(&run, simulation, &phases);
    for (int i = 0; i < some && good; i++) {
        for (int phase = 0; phase < phases && good; phase++) {
            struct tt_plan *plan = plan_of(&run, (int)((int64_t)i * p / some), phase);
            int64_t n = messages_in(plan);
            good = n >= 0;
            sum += n;
            tt_plan_free(plan);
        }
    }
    end(&run);
    return good ? (int64_t)((double)sum / some * p + 0.5) : -1;
}

int64_t tt_simulation_formula_ps(const struct tt_simulation *simulation)
{
    const struct tt_model *m = simulation->model;
    struct tt_costs costs = {.ts = m->ts_ps,
                             .tw = m->tw_ps,
                             .tw_both = tt_max(m->tw_ps, m->tw_both_ps),
                             .tr = m->tr_ps,
                             .gamma = m->gamma_ps,
                             .all_ports = m->all_ports,
                             .starts_side_by_side = m->kind == TT_MODEL_links};
    struct tt_problem problem = *simulation->problem;
    if (simulation->map->net && simulation->map->net->reduces) costs.gamma = 0;
    bool moves = problem.p > 1 && (problem.call.n > 0 || problem.call.coll == TT_COLL_barrier);
    /* the formula of an algorithm's cost (`time`) holds only if no two ranks share a node */
    bool shares = simulation->map->nodes < problem.p;
    if (m->kind == TT_MODEL_loggp || !simulation->algorithm->time || !moves || shares ||
        tt_call_counts(&problem.call))
        return -1;
    struct tt_call call = tt_problem_call(&problem, 0, NULL);
    return simulation->algorithm->time(&call, simulation->map, &costs);
}
