/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plans of every algorithm are structurally valid, and parse from their printed text as the
 * same plans: each by itself, and those of all ranks from a plan file as `tutti plan` prints it.
 */
#include "plan/text-util.h"

#include "brief.h"
#include "coll/coll.h"
#include "text/plan-file.h"

static const char *const problems[] = {
    "barrier/p%d",
    "bcast/u8/1000/p%d",
    "bcast/f64/64K/p%d/root=%d/slice=4K",
    "reduce/i32/sum/40/p%d",
    "reduce/f64/sum/4K/p%d/root=%d/slice=64",
    "reduce/f64/user/64K/p%d/root=%d",
    "allreduce/f64/sum/8/p%d",
    "allreduce/f32/sum/100K/p%d/slice=4K",
    "allreduce/f32/sum/100K/p%d/slice=4K/inplace=1",
    "allreduce/i64/user/4000/p%d",
    "reduce_scatter_block/f64/sum/8/p%d",
    "reduce_scatter_block/f32/sum/20K/p%d/slice=4K/inplace=1",
    "reduce_scatter_block/i64/user/4000/p%d",
    "reduce_scatter/i32/max/4000/p%d/skew=zipf/seed=1/inplace=1",
    "reduce_scatter/i64/user/4000/p%d/skew=zero/seed=1",
    "gather/u8/77/p%d/root=%d",
    "gather/f64/64K/p%d/root=%d/inplace=1",
    "scatter/u8/77/p%d/root=%d",
    "scatter/f64/64K/p%d/root=%d/inplace=1/slice=4K",
    "scan/f32/sum/100K/p%d/slice=4K",
    "scan/i64/user/4000/p%d/inplace=1",
    "exscan/f32/sum/100K/p%d/slice=4K/inplace=1",
    "exscan/i64/user/4000/p%d",
    "allgather/u8/77/p%d",
    "allgather/f64/64K/p%d/inplace=1",
    "allgatherv/f32/4000/p%d/skew=zipf/seed=1",
    "allgatherv/f32/4000/p%d/skew=zero/seed=1",
    "alltoall/f64/8/p%d",
    "alltoall/f64/64K/p%d",
    "alltoallv/i16/4000/p%d/skew=uniform/seed=1",
    "alltoallv/i16/4000/p%d/skew=zero/seed=1",
    "gatherv/i16/4000/p%d/root=%d/skew=uniform/seed=1",
    "gatherv/f64/64K/p%d/root=%d/inplace=1/skew=zero/seed=1",
    "scatterv/i16/4000/p%d/root=%d/skew=uniform/seed=1",
    "scatterv/f64/64K/p%d/root=%d/inplace=1/skew=zero/seed=1",
};

/* Problems with a network, for algorithms that need one. */
static const char *const networked[] = {
    "alltoall/f64/8/p8@torus:3x3-hole(1,1)",
    "allgather/u8/77/p8@torus:3x3-hole(1,1)",
    "allgatherv/f32/4000/p12/skew=zipf/seed=1@torus:4x4-wall(x=1)",
};

/* Properties of machines; the nodes come from the problem. */
static const struct tt_map machines[] = {
    {.cores = 2, .win_bytes = 1 << 16, .reads = true, .writes = true, .mapped = true},
    {.cores = 64, .win_bytes = 1 << 20, .reads = true, .writes = true},
    {.cores = 2, .win_bytes = 4096},
};

static struct tt_plan *one(const struct tt_algorithm *algorithm, const struct tt_call *call,
                           const struct tt_map *map, int me)
{
    struct tt_plan *plan = tt_algorithm_plan(algorithm, call, map, me);
    if (!plan) fail_msg("%s: %s", algorithm->name, tutti_error());
    const char *invalid = tt_plan_invalid(plan, NULL);
    if (invalid) fail_msg("%s, rank %d of %d: %s", algorithm->name, me, map->p, invalid);
    assert_string_equal(plan->algorithm, algorithm->name);
    comes_back(plan);
    return plan;
}

static char *printed_file(const struct tt_problem *problem, struct tt_plan *const *plans)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    tt_plan_file_print_head(problem, out);
    for (int r = 0; r < problem->p; r++) tt_plan_print(plans[r], out);
    fclose(out);
    return text;
}

/* Checks that the plans of all ranks are unchanged when they are read from the file to which they
 * were written. */
static void file_comes_back(const struct tt_problem *problem, const struct tt_call *call,
                            struct tt_plan *const *plans)
{
    struct tt_plan *back[64];
    struct tt_plan_file file;
    char *text = printed_file(problem, plans), again[TT_PROBLEM_TEXT];
    if (tt_plan_file_text(&file, "printed", text) != TUTTI_OK ||
        !tt_plan_file_plans(&file, call, problem->p, back))
        fail_msg("%s\n%s", tutti_error(), text);
    assert_string_equal(file.problem, tt_problem_print(problem, again));
    for (int r = 0; r < problem->p; r++) {
        if (!tt_plan_equal(plans[r], back[r])) fail_msg("rank %d is not equal:\n%s", r, text);
        tt_plan_free(back[r]);
    }
    tt_plan_file_close(&file);
    free(text);
}

static int all_ranks(const struct tt_algorithm *algorithm, const struct tt_problem *problem,
                     const struct tt_map *map, int64_t *room)
{
    struct tt_plan *plans[64];
    struct tt_call call = tt_problem_call(problem, 0, room);
    if (algorithm->refuse(&call, map)) return 0;
    for (int me = 0; me < problem->p; me++) {
        call = tt_problem_call(problem, me, room);
        plans[me] = one(algorithm, &call, map, me);
    }
    file_comes_back(problem, &call, plans);
    for (int me = 0; me < problem->p; me++) tt_plan_free(plans[me]);
    return problem->p;
}

/* Checks the plans of all ranks for the problem in the text, if the algorithm accepts it. Returns
 * the number of plans that were checked. */
static int all_of(const struct tt_algorithm *algorithm, const char *text, const struct tt_map *map)
{
    struct tt_problem problem;
    assert_int_equal(tt_problem_parse(text, &problem, NULL), TUTTI_OK);
    if (problem.call.coll != algorithm->coll) return 0;
    int *node = malloc((size_t)problem.p * sizeof *node);
    int64_t *room = calloc(tt_problem_room(&problem) + 1, sizeof *room);
    assert_true(node && room);
    struct tt_map machine = *map;
    struct tt_net net = {.nodes = 0};
    tt_problem_map(&problem, &machine, node);
    assert_int_equal(tt_problem_net(&problem, &net), TUTTI_OK);
    if (net.nodes > 0) machine.net = &net;
    int plans = all_ranks(algorithm, &problem, &machine, room);
    tt_net_free(&net);
    free(node);
    free(room);
    return plans;
}

/* Checks the plans on all machines, or, if `only` is not negative, only on machine number `only`
 * modulo the number of machines. Returns the number of plans that were checked. */
static int on_machines(const struct tt_algorithm *algorithm, const char *text, int only)
{
    const int n = sizeof machines / sizeof machines[0];
    int plans = 0;
    for (int m = 0; m < n; m++)
        if (only < 0 || only % n == m) plans += all_of(algorithm, text, &machines[m]);
    return plans;
}

static void plans_of_algorithms_come_back(void **state)
{
    (void)state;
    const int most = brief(17, 7);
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        int plans = 0;
        for (size_t i = 0; i < sizeof networked / sizeof networked[0]; i++)
            plans += on_machines(*a, networked[i], -1);
        for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
            for (int p = 1; p <= most; p++) {
                char text[TT_PROBLEM_TEXT];
                snprintf(text, sizeof text, problems[i], p, p - 1);
                /* Each number of ranks above 9 is tried on one machine only, since only the plans
                 * get longer. */
                plans += on_machines(*a, text, p > 9 ? p : -1);
            }
        }
        if (plans == 0) fail_msg("%s applied to nothing", (*a)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans_of_algorithms_come_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
