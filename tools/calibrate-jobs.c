/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs small jobs of `tutti bench` on at most two processors, and sets each number of the model so
 * that the predictor comes to the time that the job took:
 *
 *     call       a barrier of two ranks, which is a line each way and two calls
 *     message    an allreduce of 8 bytes of two ranks that send messages
 *     turn_K     a barrier of K ranks on each processor
 *
 * The cost of a step is measured in this process, by a plan of many small copies.
 */
#include <sched.h>
#include <stdio.h>

#include "api/api.h"
#include "bench-job.h"
#include "calibrate-jobs.h"
#include "choose/predict.h"
#include "command.h"
#include "problem.h"

enum { STEPS = 1000, STRIDE = 16, BATCHES = 15, TURNS = 20, PS_OF_NS = 1000 };

/* ---- A step ---- */

static const struct tt_call_signature steps_signature = {.coll = -1}; /* not a collective */

static struct tt_plan *make_copies(void)
{
    const struct tt_call call = {.coll = TT_COLL_allreduce,
                                 .type = TUTTI_F64,
                                 .op = TUTTI_SUM,
                                 .n = STEPS,
                                 .sz = 8,
                                 .commutes = true};
    struct tt_builder *builder = tt_builder_new(1, 0, &call, "copies");
    for (int i = 0; builder && i < STEPS; i++)
        tt_copy(builder, tt_own(TT_OUT, i * STRIDE), tt_own(TT_IN, i * STRIDE), 8);
    struct tt_plan *plan = builder ? tt_builder_finish(builder) : NULL;
    tt_builder_free(builder);
    return plan;
}

static tutti_status time_copies(struct tt_exec *exec, int64_t *least_ns)
{
    *least_ns = INT64_MAX;
    for (int batch = 0; batch < BATCHES; batch++) {
        int64_t begin = tt_clock_ns();
        for (int i = 0; i < TURNS; i++) {
            tt_exec_start(exec);
            TT_TRY(tt_exec_wait(exec));
        }
        *least_ns = tt_min(*least_ns, tt_clock_ns() - begin);
    }
    return TUTTI_OK;
}

static tutti_status measure_step(tutti_team *world, struct tt_machine *m)
{
    static char in[STEPS * STRIDE], out[STEPS * STRIDE];
    int64_t ns = 0;
    struct tt_plan *plan = make_copies();
    struct tt_exec *exec = plan ? tt_exec_new(&world->run, plan, TT_SHORT_WINDOWS) : NULL;
    if (exec) {
        exec->buffer[TT_IN] = in;
        exec->buffer[TT_OUT] = out;
        exec->bytes[TT_IN] = exec->bytes[TT_OUT] = sizeof in;
        exec->signature = &steps_signature;
        exec->shape = 1;
    }
    tutti_status status = exec ? time_copies(exec, &ns) : TUTTI_ERR_MEMORY;
    tt_exec_free(exec);
    tt_plan_free(plan);
    m->number[TT_MACHINE_step] = tt_max(1, ns * PS_OF_NS / TURNS / STEPS);
    return status;
}

static bool set_step(struct tt_machine *m)
{
    tutti_client *client;
    tutti_status status = tutti_init(&client);
    if (status == TUTTI_OK) {
        status = measure_step(tutti_world(client), m);
        tutti_status ended = tutti_finalize(client);
        if (status == TUTTI_OK) status = ended;
    }
    if (status != TUTTI_OK) fprintf(stderr, "tutti calibrate: %s\n", tutti_error());
    return status == TUTTI_OK;
}

/* ---- Jobs ---- */

struct fit {
    enum tt_machine_number number;
    const char *problem; /* up to /p */
    const char *algorithm;
    int on_each; /* ranks on each processor */
};

static const struct fit fits[] = {
    {TT_MACHINE_call, "barrier", "flat", 1},
    {TT_MACHINE_message, "allreduce/f64/sum/8", "doubling", 1},
    {TT_MACHINE_turn_2, "barrier", "flat", 2},
    {TT_MACHINE_turn_4, "barrier", "flat", 4},
    {TT_MACHINE_turn_8, "barrier", "flat", 8},
};

static bool predict(const struct tt_machine *m, const struct tt_problem *problem,
                    const char *algorithm, int cores, int64_t *ps)
{
    const struct tt_call call = tt_problem_call(problem, 0, NULL);
    const struct tt_map map = {.p = problem->p,
                               .cores = cores,
                               .win_bytes = tt_team_window(),
                               .direct = true,
                               .read_cost = 1,
                               .nodes = 1,
                               .machine = m};
    struct tt_prediction prediction;
    const struct tt_algorithm *a = tt_algorithm_find(call.coll, algorithm);
    tutti_status status = tt_predict(a, &call, &map, &prediction);
    if (status != TUTTI_OK) fprintf(stderr, "tutti calibrate: %s\n", tutti_error());
    *ps = prediction.time_ps;
    return status == TUTTI_OK;
}

/* Sets the number by bisection: the predicted time grows with it. */
static bool set_number(struct tt_machine *m, enum tt_machine_number number,
                       const struct tt_problem *problem, const char *algorithm, int cores,
                       int64_t measured_ps)
{
    int64_t low = 1, high = tt_min(TT_MACHINE_MOST, tt_max(2, measured_ps)), ps;
    while (high - low > 1) {
        m->number[number] = low + (high - low) / 2;
        if (!predict(m, problem, algorithm, cores, &ps)) return false;
        if (ps > measured_ps)
            high = m->number[number];
        else
            low = m->number[number];
    }
    m->number[number] = low;
    return true;
}

static bool fit_one(struct tt_machine *m, const struct fit *f, int cores)
{
    enum { TIME_NS = 60000000, BATCH_NS = 200000 };
    char text[TT_PROBLEM_TEXT];
    struct tt_bench_case c = {.algorithm = f->algorithm, .time_ns = TIME_NS, .batch_ns = BATCH_NS};
    struct tt_bench_result result = {0};
    int64_t ns_of_us = 1000;
    snprintf(text, sizeof text, "%s/p%d", f->problem, (int)tt_max(2, f->on_each * cores));
    if (!tt_problem_open(&c.problem, text) || !tt_bench_processes(&c, &result)) return false;
    if (result.refused) {
        fprintf(stderr, "tutti calibrate: %s: %s\n", text, result.why);
        return false;
    }
    int64_t ps = (int64_t)(result.min_us * (double)(ns_of_us * PS_OF_NS));
    return set_number(m, f->number, &c.problem, f->algorithm, cores, ps);
}

/* Leaves this process, and so the jobs, at most two of its processors. */
static int take_two(cpu_set_t *before)
{
    cpu_set_t two;
    CPU_ZERO(&two);
    if (sched_getaffinity(0, sizeof *before, before) != 0) return 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; cpu++)
        if (CPU_ISSET(cpu, before)) CPU_SET(cpu, &two);
    return sched_setaffinity(0, sizeof two, &two) == 0 ? CPU_COUNT(&two) : 0;
}

bool tt_calibrate_jobs(struct tt_machine *machine)
{
    cpu_set_t before;
    bool good = set_step(machine);
    int cores = good ? take_two(&before) : 0;
    if (good && cores == 0) perror("tutti calibrate: binding to processors");
    good = good && cores > 0;
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++)
        machine->number[i] = tt_max(1, machine->number[i]);
    for (size_t i = 0; good && i < sizeof fits / sizeof *fits; i++)
        good = fit_one(machine, &fits[i], (int)tt_min(cores, tt_usable_cores()));
    if (cores > 0) (void)sched_setaffinity(0, sizeof before, &before);
    return good;
}
