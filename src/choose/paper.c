/* SPDX-License-Identifier: BSD-3-Clause */
#include "choose/paper.h"

struct run {
    const struct tt_paper *paper;
    struct tt_builder *builder;
    int64_t *room;
};

static struct tt_plan *plan_of(void *arg, int rank, int phase)
{
    const struct run *run = arg;
    const struct tt_paper *paper = run->paper;
    struct tt_call call = tt_problem_call(paper->problem, rank, run->room);
    tt_builder_reset(run->builder, paper->map->p, rank, &call, paper->algorithm->name);
    tt_algorithm_build(paper->algorithm, run->builder, &call, paper->map, rank, phase);
    return tt_builder_finish(run->builder);
}

static void progress(void *arg, int ended, int64_t messages)
{
    const struct tt_paper *paper = ((const struct run *)arg)->paper;
    if (paper->progress) paper->progress(paper->arg, ended, messages);
}

static void step(void *arg, const struct tt_sim_deed *deed)
{
    const struct tt_paper *paper = ((const struct run *)arg)->paper;
    paper->step(paper->arg, deed);
}

static void message(void *arg, const struct tt_sim_deed *deed)
{
    const struct tt_paper *paper = ((const struct run *)arg)->paper;
    paper->message(paper->arg, deed);
}

static bool begin(struct run *run, const struct tt_paper *paper, int *phases)
{
    *run = (struct run){.paper = paper};
    run->room = tt_alloc((tt_problem_room(paper->problem) + 1) * sizeof *run->room);
    if (!run->room) return false;
    struct tt_call call = tt_problem_call(paper->problem, 0, run->room);
    *phases = tt_algorithm_phases(paper->algorithm, &call, paper->map);
    run->builder = tt_builder_new(paper->map->p, 0, &call, paper->algorithm->name);
    return run->builder != NULL;
}

static void end(struct run *run)
{
    tt_builder_free(run->builder);
    tt_free(run->room);
}

tutti_status tt_paper_run(const struct tt_paper *paper, struct tt_sim_result *result)
{
    struct run run;
    struct tt_sim_job job = {.model = paper->model,
                             .net = paper->map->net,
                             .node = paper->map->node,
                             .p = paper->map->p,
                             .plan = plan_of,
                             .progress = progress,
                             .step = paper->step ? step : NULL,
                             .message = paper->message ? message : NULL,
                             .arg = &run};
    tutti_status status = TUTTI_ERR_MEMORY;
    if (begin(&run, paper, &job.phases))
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

/* Counts the messages of all lanes; returns a negative number if there is no memory. */
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

int64_t tt_paper_messages(const struct tt_paper *paper)
{
    enum { SOME = 61 };
    struct run run;
    int p = paper->map->p, some = tt_min(p, SOME), phases = 0;
    int64_t sum = 0;
    bool good = begin(&run, paper, &phases);
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

int64_t tt_paper_formula_ps(const struct tt_paper *paper)
{
    const struct tt_model *m = paper->model;
    struct tt_costs costs = {.ts = m->ts_ps,
                             .tw = m->tw_ps,
                             .tw_both = tt_max(m->tw_ps, m->tw_both_ps),
                             .tr = m->tr_ps,
                             .gamma = m->gamma_ps,
                             .all_ports = m->all_ports,
                             .starts_side_by_side = m->kind == TT_MODEL_links};
    struct tt_problem problem = *paper->problem;
    if (paper->map->net && paper->map->net->reduces) costs.gamma = 0;
    bool moves = problem.p > 1 && (problem.call.n > 0 || problem.call.coll == TT_COLL_barrier);
    bool shares = paper->map->node && paper->map->nodes < problem.p; /* a formula knows no nodes */
    if (m->kind == TT_MODEL_loggp || !paper->algorithm->time || !moves || shares ||
        tt_call_counts(&problem.call))
        return -1;
    struct tt_call call = tt_problem_call(&problem, 0, NULL);
    return paper->algorithm->time(&call, paper->map, &costs);
}
