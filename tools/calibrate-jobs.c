/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs small jobs of `tutti bench` on at most two processors, and sets each number of the model so
 * that the predictor, given the model, returns the time that the job took:
 *
 *     call       a barrier of two ranks: a signal in each direction and two calls
 *     turn_K     a barrier of K ranks on each processor
 *     message    an allreduce of 8 bytes of two ranks that send messages
 *
 * The cost of a step, and a lower limit for the cost of a call, are measured in this process, by
 * plans of small copies.
 *
 * Other programs can only make a job slower. So the jobs run several times in turn, and the least
 * time of each counts. Each number has a lower limit. If the predictor returns more than the time
 * that a job took even with the lower limit, the measured times contradict each other.
 */
#include <sched.h>
#include <stdio.h>

#include "api/api.h"
#include "bench-job.h"
#include "calibrate-jobs.h"
#include "choose/predict.h"
#include "command.h"
#include "problem.h"

enum { STEPS = 1000, STRIDE = 16, BATCHES = 15, PS_OF_NS = 1000 };
enum { REPEATS = 3, TOLERATED = 4 };

/* ---- A step ---- */

/* the call signature of the plans that are measured here, which belong to no collective */
static const struct tt_call_signature steps_signature = {.coll = -1};

static struct tt_plan *make_copies(int n)
{
    const struct tt_call call = {.coll = TT_COLL_allreduce,
                                 .type = TUTTI_F64,
                                 .op = TUTTI_SUM,
                                 .n = STEPS,
                                 .sz = 8,
                                 .commutes = true};
    struct tt_builder *builder = tt_builder_new(1, 0, &call, "copies");
    for (int i = 0; builder && i < n; i++)
        tt_copy(builder, tt_own(TT_OUT, i * STRIDE), tt_own(TT_IN, i * STRIDE), 8);
    struct tt_plan *plan = builder ? tt_builder_finish(builder) : NULL;
    tt_builder_free(builder);
    return plan;
}

static tutti_status time_copies(struct tt_exec *exec, int turns, int64_t *least_ns)
{
    *least_ns = INT64_MAX;
    for (int batch = 0; batch < BATCHES; batch++) {
        int64_t begin = tt_clock_ns();
        for (int i = 0; i < turns; i++) {
            tt_exec_start(exec);
            TT_TRY(tt_exec_wait(exec));
        }
        *least_ns = tt_min(*least_ns, tt_clock_ns() - begin);
    }
    return TUTTI_OK;
}

/* Sets *ps to the time of an execution of a plan of n copies, on average over `turns`
 * executions. */
static tutti_status measure_copies(tutti_team *world, int n, int turns, int64_t *ps)
{
    static char in[STEPS * STRIDE], out[STEPS * STRIDE];
    int64_t ns = 0;
    struct tt_plan *plan = make_copies(n);
    struct tt_exec *exec = plan ? tt_exec_new(&world->run, plan, TT_SHORT_WINDOWS) : NULL;
    if (exec) {
        exec->buffer[TT_IN] = in;
        exec->buffer[TT_OUT] = out;
        exec->bytes[TT_IN] = exec->bytes[TT_OUT] = sizeof in;
        exec->signature = &steps_signature;
        exec->shape = 1;
    }
    tutti_status status = exec ? time_copies(exec, turns, &ns) : TUTTI_ERR_MEMORY;
    tt_exec_free(exec);
    tt_plan_free(plan);
    *ps = ns * PS_OF_NS / turns;
    return status;
}

/* Sets the cost of a step, and a lower limit for the cost of a call. The limit is the time of an
 * execution with one step, minus the cost of the step. */
static tutti_status measure_step(tutti_team *world, struct tt_machine *m)
{
    enum { MANY = 20, FEW = 20000 };
    int64_t all, one;
    TT_TRY(measure_copies(world, STEPS, MANY, &all));
    TT_TRY(measure_copies(world, 1, FEW, &one));
    m->number[TT_MACHINE_step] = tt_max(1, all / STEPS);
    m->number[TT_MACHINE_call] = tt_max(1, one - m->number[TT_MACHINE_step]);
    return TUTTI_OK;
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

/* A job, and the number of the model (`number`, a cost) that is computed from the time of the job.
 * This number is not set below a lower limit. The limit is the value of the model's number `least`;
 * but if `least` and `number` name the same number, the limit is the value that was measured for
 * this number in this process. */
struct fit {
    enum tt_machine_number number, least;
    const char *problem; /* the problem, without its number of ranks */
    const char *algorithm;
    int on_each; /* the number of ranks on each processor */
};

static const struct fit fits[] = {
    {TT_MACHINE_call, TT_MACHINE_call, "barrier", "flat", 1},
    {TT_MACHINE_turn_2, TT_MACHINE_step, "barrier", "flat", 2},
    {TT_MACHINE_turn_4, TT_MACHINE_step, "barrier", "flat", 4},
    {TT_MACHINE_turn_8, TT_MACHINE_step, "barrier", "flat", 8},
    {TT_MACHINE_message, TT_MACHINE_step, "allreduce/f64/sum/8", "doubling", 1},
};
enum { FITS = sizeof fits / sizeof *fits };

/* The jobs, and the least time that each of them took. */
struct small_jobs {
    int cores;
    struct tt_problem problem[FITS];
    int64_t ps[FITS];
};

static bool predict(const struct tt_machine *m, const struct small_jobs *jobs, int i, int64_t *ps)
{
    const struct tt_call call = tt_problem_call(&jobs->problem[i], 0, NULL);
    const struct tt_map map = {.p = jobs->problem[i].p,
                               .cores = jobs->cores,
                               .win_bytes = tt_team_window(),
                               .eager = tt_setting_must_match(TT_MUST_MATCH_EAGER),
                               .reads = true,
                               .writes = true,
                               .read_cost = 1,
                               .nodes = 1,
                               .machine = m};
    struct tt_prediction prediction;
    const struct tt_algorithm *a = tt_algorithm_find(call.coll, fits[i].algorithm);
    tutti_status status = tt_predict(a, &call, &map, &prediction);
    if (status != TUTTI_OK) fprintf(stderr, "tutti calibrate: %s\n", tutti_error());
    *ps = prediction.time_ps;
    return status == TUTTI_OK;
}

/* Sets a number of the model by bisection, so that the predicted time of job i, which grows with
 * the number, is the time that the job took. `least` is the lower limit of the number. Sets *agrees
 * to false if even the time that is predicted with this limit exceeds the time of the job by more
 * than a quarter; otherwise to true. Returns false after printing an error. */
static bool set_number(struct tt_machine *m, enum tt_machine_number number, int64_t least,
                       const struct small_jobs *jobs, int i, bool *agrees)
{
    int64_t low = least, high = tt_min(TT_MACHINE_MOST, tt_max(least + 1, jobs->ps[i])), ps;
    m->number[number] = low;
    if (!predict(m, jobs, i, &ps)) return false;
    *agrees = ps <= jobs->ps[i] + jobs->ps[i] / TOLERATED;
    if (ps > jobs->ps[i]) high = low;
    while (high - low > 1) {
        m->number[number] = low + (high - low) / 2;
        if (!predict(m, jobs, i, &ps)) return false;
        if (ps > jobs->ps[i])
            high = m->number[number];
        else
            low = m->number[number];
    }
    m->number[number] = low;
    return true;
}

/* Sets the number `line`, the time that a signal takes to another processor, anew from the time of
 * job i, a barrier of two ranks. Called if the barrier was faster than the measured `line` allows,
 * because other programs then disturbed the measurement of `line`. */
static bool set_line(struct tt_machine *m, const struct small_jobs *jobs, int i, bool *agrees)
{
    return set_number(m, TT_MACHINE_line, PS_OF_NS, jobs, i, agrees);
}

/* Sets all numbers by the times of the jobs. Sets *wrong to the index of the first job that took
 * clearly less time than the model predicts, although the number that is found from this job
 * (struct fit) is at its lower limit; to FITS if there is no such job. With one processor, a
 * barrier mainly measures the turns of the ranks, so the number `call` stays as measured in this
 * process. */
static bool set_numbers(struct tt_machine *m, const struct small_jobs *jobs, int *wrong)
{
    struct tt_machine before = *m;
    bool agrees = true;
    *wrong = FITS;
    for (int i = 0; i < FITS; i++) {
        bool is_call = fits[i].number == TT_MACHINE_call;
        if (is_call && jobs->cores < 2) continue;
        int64_t least = before.number[fits[i].least];
        if (!set_number(m, fits[i].number, least, jobs, i, &agrees)) return false;
        if (!agrees && is_call && !set_line(m, jobs, i, &agrees)) return false;
        if (!agrees && *wrong == FITS) *wrong = i;
    }
    return true;
}

static bool run_job(struct small_jobs *jobs, int i)
{
    enum { TIME_NS = 60000000, BATCH_NS = 200000 };
    struct tt_bench_case c = {.problem = jobs->problem[i],
                              .algorithm = fits[i].algorithm,
                              .time_ns = TIME_NS,
                              .batch_ns = BATCH_NS};
    struct tt_bench_result result = {0};
    int64_t ns_of_us = 1000;
    if (!tt_bench_processes(NULL, &c, &result)) return false;
    if (result.refused) {
        fprintf(stderr, "tutti calibrate: %s: %s\n", fits[i].problem, result.why);
        return false;
    }
    jobs->ps[i] = tt_min(jobs->ps[i], (int64_t)(result.min_us * (double)(ns_of_us * PS_OF_NS)));
    return true;
}

static bool open_jobs(struct small_jobs *jobs)
{
    char text[TT_PROBLEM_TEXT];
    for (int i = 0; i < FITS; i++) {
        int p = (int)tt_max(2, fits[i].on_each * jobs->cores);
        snprintf(text, sizeof text, "%s/p%d", fits[i].problem, p);
        jobs->ps[i] = INT64_MAX;
        if (!tt_problem_open("tutti calibrate", &jobs->problem[i], text)) return false;
    }
    return true;
}

/* Writes to `why` that job i took less time than the model predicts for its steps, whose times were
 * measured separately. Returns false. */
static bool disagrees(struct tt_machine *m, const struct small_jobs *jobs, int i,
                      char why[TT_MACHINE_WHY])
{
    const double us = 1e-6;
    int64_t ps = 0;
    (void)predict(m, jobs, i, &ps);
    return tt_file_refuse(why, "%s by %s took %.3f us, and its parts alone %.3f", fits[i].problem,
                          fits[i].algorithm, us * (double)jobs->ps[i], us * (double)ps);
}

/* Runs each job REPEATS times, one job after the other, and sets the numbers. Returns false after
 * printing an error, or with the reason in `why` if the times contradict each other. */
static bool fit_all(struct tt_machine *m, struct small_jobs *jobs, char why[TT_MACHINE_WHY])
{
    int wrong = FITS;
    for (int i = 0; i < REPEATS * FITS; i++)
        if (!run_job(jobs, i % FITS)) return false;
    if (!set_numbers(m, jobs, &wrong)) return false;
    return wrong == FITS || disagrees(m, jobs, wrong, why);
}

/* Binds this process, and so the jobs that it starts, to at most two of its processors. Returns
 * their number; 0 after an error. */
static int take_two(cpu_set_t *before)
{
    cpu_set_t two;
    CPU_ZERO(&two);
    if (sched_getaffinity(0, sizeof *before, before) != 0) return 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; cpu++)
        if (CPU_ISSET(cpu, before)) CPU_SET(cpu, &two);
    return sched_setaffinity(0, sizeof two, &two) == 0 ? CPU_COUNT(&two) : 0;
}

bool tt_calibrate_jobs(struct tt_machine *machine, char why[TT_MACHINE_WHY])
{
    cpu_set_t before;
    why[0] = '\0';
    bool good = set_step(machine);
    int cores = good ? take_two(&before) : 0;
    if (good && cores == 0) perror("tutti calibrate: binding to processors");
    struct small_jobs jobs = {.cores = (int)tt_min(cores, tt_usable_cores())};
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++)
        machine->number[i] = tt_max(1, machine->number[i]);
    good = good && cores > 0 && open_jobs(&jobs) && fit_all(machine, &jobs, why);
    if (cores > 0) (void)sched_setaffinity(0, sizeof before, &before);
    return good;
}
