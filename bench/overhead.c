/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures the cost of a call if there is no other rank: a job of one rank.
 *
 *   call       a blocking allreduce of 8 bytes
 *   dispatch   a step of a plan: the time of a plan of 1,000 copies of 8 bytes, minus that of a C
 *              loop of the same copies, divided by 1,000
 *   cached     finding a plan that was made before: the time of blocking calls minus that of
 *              persistent ones, with 64 shapes in turn
 *
 * The output is one line of JSON for each figure, the least of several batches, because the figure
 * should be the cost of the code alone.
 */
#include "measure.h"

#include "api/api.h"

enum { BATCHES = 31, STEPS = 1000, SHAPES = 64, STRIDE = 16 };

static tutti_team *world;

static void check(tutti_status status)
{
    if (status != TUTTI_OK) die("%s: %s", tutti_status_text(status), tutti_error());
}

/* Returns the seconds for one turn of `work`: the least of the batches. */
static double least(void (*work)(void *), void *arg, int turns)
{
    double best = 1e9;
    for (int batch = 0; batch < BATCHES; batch++) {
        double begin = seconds();
        for (int i = 0; i < turns; i++) work(arg);
        double took = (seconds() - begin) / turns;
        best = took < best ? took : best;
    }
    return best;
}

static void print(const char *name, double each, const char *more)
{
    printf("{\"target\": \"%s\", \"ns\": %.2f%s}\n", name, 1e9 * each, more);
}

/* ---- One call ---- */

static void call_allreduce(void *arg)
{
    static double out;
    check(tutti_allreduce(world, arg, &out, 1, TUTTI_F64, TUTTI_SUM));
}

/* ---- A step of a plan ---- */

static char copy_in[STEPS * STRIDE], copy_out[STEPS * STRIDE];

static struct tt_plan *copies(void)
{
    struct tt_call call = {.coll = TT_COLL_allreduce,
                           .type = TUTTI_F64,
                           .op = TUTTI_SUM,
                           .n = STEPS,
                           .sz = 8,
                           .commutes = true};
    struct tt_builder *builder = tt_builder_new(1, 0, &call, "copies");
    if (!builder) die("%s", tutti_error());
    for (int i = 0; i < STEPS; i++) {
        tt_copy(builder, tt_own(TT_OUT, i * STRIDE), tt_own(TT_IN, i * STRIDE), 8);
    }
    struct tt_plan *plan = tt_builder_finish(builder);
    tt_builder_free(builder);
    if (!plan) die("%s", tutti_error());
    return plan;
}

static void run_plan(void *arg)
{
    tt_exec_start(arg);
    check(tt_exec_wait(arg));
}

static void run_loop(void *arg)
{
    (void)arg;
    for (int i = 0; i < STEPS; i++) {
        memcpy(copy_out + i * STRIDE, copy_in + i * STRIDE, 8);
        __asm__ volatile("" : : : "memory"); /* keeps the compiler from merging copies */
    }
}

static const struct tt_call_signature copies_signature = {.coll = -1}; /* the plan belongs to no
                                                                        * collective */

static void measure_dispatch(void)
{
    struct tt_plan *plan = copies();
    struct tt_exec *exec = tt_exec_new(&world->run, plan, TT_SHORT_WINDOWS);
    if (!exec) die("%s", tutti_error());
    exec->buffer[TT_IN] = copy_in;
    exec->buffer[TT_OUT] = copy_out;
    exec->bytes[TT_IN] = exec->bytes[TT_OUT] = sizeof copy_in;
    exec->signature = &copies_signature;
    exec->shape = 1;
    memset(copy_in, 7, sizeof copy_in);
    double by_plan = least(run_plan, exec, 100), by_loop = least(run_loop, NULL, 100);
    if (copy_out[(STEPS - 1) * STRIDE] != 7) die("the plan of copies did not copy");
    char more[100];
    snprintf(more, sizeof more, ", \"plan_ns\": %.1f, \"loop_ns\": %.1f", 1e9 * by_plan,
             1e9 * by_loop);
    print("dispatch", (by_plan - by_loop) / STEPS, more);
    tt_exec_free(exec);
    tt_plan_free(plan);
}

/* ---- The figure `cached`: what it costs to find a plan that was made before ---- */

static double shape_in[SHAPES], shape_out[SHAPES];

static void all_blocking(void *arg)
{
    (void)arg;
    for (int n = 1; n <= SHAPES; n++) {
        check(tutti_allreduce(world, shape_in, shape_out, n, TUTTI_F64, TUTTI_SUM));
    }
}

static void all_persistent(void *arg)
{
    tutti_request **requests = arg;
    for (int i = 0; i < SHAPES; i++) {
        check(tutti_start(requests[i]));
        check(tutti_wait(requests[i]));
    }
}

static void measure_cached(void)
{
    tutti_request *requests[SHAPES];
    for (int i = 0; i < SHAPES; i++) {
        check(tutti_allreduce_init(world, shape_in, shape_out, i + 1, TUTTI_F64, TUTTI_SUM,
                                   TUTTI_REQUEST_DEFAULT, &requests[i]));
    }
    double blocking = least(all_blocking, NULL, 200) / SHAPES;
    double persistent = least(all_persistent, requests, 200) / SHAPES;
    char more[100];
    snprintf(more, sizeof more, ", \"blocking_ns\": %.1f, \"persistent_ns\": %.1f", 1e9 * blocking,
             1e9 * persistent);
    print("cached", blocking - persistent, more);
    for (int i = 0; i < SHAPES; i++) check(tutti_request_free(requests[i]));
}

int main(void)
{
    double in = 1;
    tutti_client *client;
    check(tutti_init(&client));
    world = tutti_world(client);
    print("call", least(call_allreduce, &in, 20000), "");
    measure_dispatch();
    measure_cached();
    check(tutti_finalize(client));
    return 0;
}
