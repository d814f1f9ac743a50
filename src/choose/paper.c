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

tutti_status tt_paper_run(const struct tt_paper *paper, struct tt_sim_result *result)
{
    struct run run = {.paper = paper};
    struct tt_sim_job job = {.model = paper->model,
                             .net = paper->map->net,
                             .p = paper->map->p,
                             .plan = plan_of,
                             .progress = progress,
                             .step = paper->step ? step : NULL,
                             .message = paper->message ? message : NULL,
                             .arg = &run};
    tutti_status status = TUTTI_ERR_MEMORY;
    run.room = tt_alloc((tt_problem_room(paper->problem) + 1) * sizeof *run.room);
    if (run.room) {
        struct tt_call call = tt_problem_call(paper->problem, 0, run.room);
        job.phases = tt_algorithm_phases(paper->algorithm, &call, paper->map);
        run.builder = tt_builder_new(job.p, 0, &call, paper->algorithm->name);
    }
    if (run.builder)
        status = tt_sim(&job, result);
    else
        (void)tt_fail(status, "no memory to simulate %d ranks", job.p);
    tt_builder_free(run.builder);
    tt_free(run.room);
    return status;
}

int64_t tt_paper_formula_ps(const struct tt_paper *paper)
{
    const struct tt_model *m = paper->model;
    struct tt_costs costs = {.ts = m->ts_ps,
                             .tw = m->tw_ps,
                             .tr = m->tr_ps,
                             .gamma = m->gamma_ps,
                             .all_ports = m->all_ports};
    struct tt_problem problem = *paper->problem;
    if (m->kind == TT_MODEL_loggp || !paper->algorithm->time || tt_call_counts(&problem.call))
        return -1;
    struct tt_call call = tt_problem_call(&problem, 0, NULL);
    return paper->algorithm->time(&call, paper->map, &costs);
}
