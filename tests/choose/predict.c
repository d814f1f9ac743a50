/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The predictor: exact times of small plans under a made-up model, properties that hold for the
 * plans of all algorithms, and agreement with the simulator where both know the same costs.
 */
#include "../brief.h"
#include "../coll/plans.h"

#include "choose/predict.h"
#include "plan/count.h"
#include "model.h"
#include "sim/simulate.h"

static const char *table_path; /* the path of predicted.txt */

static struct tt_prediction predicted(const struct tt_algorithm *a, const struct tt_call *call,
                                      const struct tt_map *map)
{
    struct tt_prediction prediction;
    if (tt_predict(a, call, map, &prediction) != TUTTI_OK)
        fail_msg("%s of %s on %d ranks: %s", a->name, tt_coll_name(call->coll), map->p,
                 tutti_error());
    return prediction;
}

/* Checks the time of a barrier of two ranks: a call, a signal, the transfer of its cache line, and
 * the await that sees it. */
static void barrier_of_two(void **state)
{
    (void)state;
    struct tt_machine m = model_of(1000, 1);
    struct tt_map map = map_of(2, 2, &m);
    struct tt_problem problem = plans_problem(TT_COLL_barrier, 2, 0);
    m.number[TT_MACHINE_call] = 50000;
    m.number[TT_MACHINE_step] = 3000;
    m.number[TT_MACHINE_line] = 120000;
    struct tt_prediction p = predicted(&tt_barrier_flat, &problem.call, &map);
    assert_int_equal(p.time_ps, 50000 + 2 * 3000 + 120000);
    assert_int_equal(p.spent[TT_SPENT_lines], 120000);
    assert_int_equal(p.spent[TT_SPENT_calls], 50000 + 2 * 3000);
}

/* Checks a barrier on one processor: no cache line is exchanged between processors, and each rank
 * has one turn in each call. */
static void ranks_take_turns(void **state)
{
    (void)state;
    struct tt_machine m = model_of(1, 1);
    struct tt_map map = map_of(2, 1, &m);
    struct tt_problem problem = plans_problem(TT_COLL_barrier, 2, 0);
    m.number[TT_MACHINE_line] = 1000000000;
    m.number[TT_MACHINE_turn_2] = 600000;
    struct tt_prediction p = predicted(&tt_barrier_flat, &problem.call, &map);
    assert_in_range(p.time_ps, 600000, 2 * 600000 + 100);
    assert_int_equal(p.spent[TT_SPENT_lines], 0);
}

/* Checks that a call gets short windows only if they suffice, and that two kinds of calls of one
 * element get them. If the bytes of a call do not fit, it gets a long window: with a short one,
 * a rank would copy the bytes in several pieces, in a loop. */
static void short_windows_suffice(const struct tt_algorithm *a, const struct tt_map *map, int64_t n)
{
    bool is_short;
    struct tt_problem problem = plans_problem(a->coll, map->p, n);
    if (a->refuse(&problem.call, map)) return;
    struct tt_map with = tt_plan_map(a, &problem.call, map, &is_short);
    if (a == &tt_allreduce_flat || a == &tt_bcast_composed) assert_true(is_short || n > 1);
    for (int r = 0; r < map->p && is_short; r++) {
        struct tt_plan *plan = tt_algorithm_plan(a, &problem.call, &with, r);
        struct tt_plan *other = tt_algorithm_plan(a, &problem.call, map, r);
        assert_non_null(plan);
        assert_non_null(other);
        if (plan->loops && !other->loops)
            fail_msg("%s of %s: %d ranks, %d elements", a->name, tt_coll_name(a->coll), map->p,
                     (int)n);
        tt_plan_free(plan);
        tt_plan_free(other);
    }
}

static void no_piece_exceeds_a_short_window(void **state)
{
    (void)state;
    struct tt_machine m = model_of(1000, 1);
    for (int p = 2; p <= 33; p += p < 9 ? 1 : p == 9 ? 7 : 17) {
        struct tt_map one = map_of(p, 2, &m), two = one;
        int node[33];
        for (int r = 0; r < p; r++) node[r] = r >= 4;
        two.node = p > 5 ? node : NULL;
        two.nodes = p > 5 ? 2 : 1;
        for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
            for (int64_t n = 1; n <= 64; n++) {
                short_windows_suffice(*a, &one, n);
                short_windows_suffice(*a, &two, n);
            }
    }
}

/* Checks that the predicted time of a bcast is that of the rank that reads, which has more to do
 * than the root. */
static void root_runs_ahead(void **state)
{
    (void)state;
    struct tt_machine m = model_of(1, 1);
    struct tt_map map = map_of(2, 2, &m);
    struct tt_problem problem = plans_problem(TT_COLL_bcast, 2, 1024);
    for (int i = 0; i < TT_MACHINE_POINTS; i++)
        m.table[TT_MACHINE_copy_other_memory][i] = 100 * tt_machine_bytes[i];
    struct tt_prediction p = predicted(&tt_bcast_flat, &problem.call, &map);
    assert_in_range(p.time_ps, 100 * 8192, 100 * 8192 + 10);
}

static void set_table(struct tt_machine *m, enum tt_machine_table table, int64_t byte_ps)
{
    for (int i = 0; i < TT_MACHINE_POINTS; i++) m->table[table][i] = byte_ps * tt_machine_bytes[i];
}

/* Checks a machine on which plain stores to lines that another processor has read are slow. Ranks
 * then fill their windows by stores that bypass the caches, so the reader takes the bytes from
 * memory. Pieces of less than TT_STREAM_LEAST bytes are stored plainly. */
static void windows_are_streamed(void **state)
{
    (void)state;
    struct tt_machine m = model_of(1, 1);
    struct tt_map map = map_of(2, 2, &m);
    struct tt_problem longer = plans_problem(TT_COLL_bcast, 2, 1024);
    struct tt_problem shorter = plans_problem(TT_COLL_bcast, 2, 128);
    int64_t bytes = 8192;
    set_table(&m, TT_MACHINE_copy_memory_other, 100);
    set_table(&m, TT_MACHINE_copy_cached_other, 3);
    set_table(&m, TT_MACHINE_stream_memory, 20);
    assert_in_range(predicted(&tt_bcast_flat, &longer.call, &map).time_ps, 100 * bytes,
                    100 * bytes + 10);
    set_table(&m, TT_MACHINE_copy_cached_other, 4);
    assert_in_range(predicted(&tt_bcast_flat, &longer.call, &map).time_ps, 20 * bytes,
                    20 * bytes + 10);
    assert_in_range(predicted(&tt_bcast_flat, &shorter.call, &map).time_ps, 100 * bytes / 8,
                    100 * bytes / 8 + 10);
    set_table(&m, TT_MACHINE_copy_memory_memory, 50);
    assert_in_range(predicted(&tt_bcast_flat, &longer.call, &map).time_ps, 50 * bytes,
                    50 * bytes + 10);
}

static void each_algorithm(void (*check)(const struct tt_algorithm *, const struct tt_call *, int p,
                                         int cores))
{
    static const int ranks[] = {2, 3, 5, 8, 16}, cores[] = {1, 2, 3, 16};
    static const int64_t sizes[] = {1, 1000, 32768, 300000};
    int cases = 0;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
        for (int i = 0; i < 5 * 4 * 4; i++) {
            int p = ranks[i % 5], on = cores[i / 5 % 4];
            struct tt_problem problem = plans_problem((*a)->coll, p, sizes[i / 20]);
            struct tt_map map = map_of(p, on, NULL);
            struct tt_call call[PLANS_RANKS];
            int64_t *room = tt_calloc((size_t)p, tt_problem_room(&problem) * sizeof *room + 8);
            for (int r = 0; r < p; r++)
                call[r] =
                    tt_problem_call(&problem, r, room + (size_t)r * tt_problem_room(&problem));
            if (!(*a)->refuse(call, &map) && sampled(&cases, 13)) check(*a, call, p, on);
            tt_free(room);
        }
}

/* Checks that a call takes twice as long if each cost is twice as high. */
static void doubles(const struct tt_algorithm *a, const struct tt_call *call, int p, int cores)
{
    struct tt_machine once = model_of(64000, 64), twice = model_of(128000, 128);
    struct tt_map map = map_of(p, cores, &once);
    struct tt_prediction x, y;
    if (tt_predict_calls(a, call, &map, &x) != TUTTI_OK) {
        assert_non_null(strstr(tutti_error(), "too many steps"));
        return;
    }
    map.machine = &twice;
    assert_int_equal(tt_predict_calls(a, call, &map, &y), TUTTI_OK);
    int64_t rounding = 100;
    assert_true(x.time_ps > 0);
    if (y.time_ps < 2 * x.time_ps - rounding || y.time_ps > 2 * x.time_ps + rounding)
        fail_msg("%s of %s on %d ranks: %lld, %lld", a->name, tt_coll_name(call->coll), p,
                 (long long)x.time_ps, (long long)y.time_ps);
}

/* Checks that on one processor a call takes at least as long as copying and combining all bytes of
 * all ranks, in whatever order the ranks run. */
static void works_for_it(const struct tt_algorithm *a, const struct tt_call *call, int p, int cores)
{
    enum { BYTE_PS = 1000 };
    struct tt_machine m = model_of(1, BYTE_PS);
    struct tt_map map = map_of(p, cores, &m);
    struct tt_prediction x;
    struct tt_count count[PLANS_RANKS] = {{0}};
    bool is_short;
    if (cores > 1 || tt_predict_calls(a, call, &map, &x) != TUTTI_OK) return;
    struct tt_map with = tt_plan_map(a, call, &map, &is_short);
    for (int r = 0; r < p; r++) {
        struct tt_plan *plan = tt_algorithm_plan(a, &call[r], &with, r);
        assert_int_equal(tt_count_plan(plan, count), TUTTI_OK);
        tt_plan_free(plan);
    }
    struct tt_count sum = tt_count_sum(count, p);
    if (x.time_ps < BYTE_PS * (sum.copied + sum.reduced))
        fail_msg("%s of %s on %d ranks: %lld ps for %lld bytes", a->name, tt_coll_name(call->coll),
                 p, (long long)x.time_ps, (long long)(sum.copied + sum.reduced));
}

static bool has_odd_turns(const struct tt_plan *plan)
{
    for (uint32_t i = 1; i < plan->varies_n; i++)
        if (plan->varies[i].from > TT_IN_FLIGHT || plan->varies[i].tail_mod > 0) return true;
    return false;
}

/* Checks tt_plan_steps, by which the predictor refuses plans with too many steps. If it is to leave
 * out some turns of each loop, as the predictor asks it to, it must not count more steps than the
 * unrolled plan has. For a plan without loops and exchanges (tt_exchange) it must count all steps.
 */
static void has_the_steps(const struct tt_algorithm *a, const struct tt_call *call, int p,
                          int cores)
{
    struct tt_map map = map_of(p, cores, NULL);
    for (int r = 0; r < p; r++) {
        struct tt_count count[PLANS_RANKS] = {{0}};
        struct tt_plan *plan = tt_algorithm_plan(a, &call[r], &map, r);
        assert_int_equal(tt_count_plan(plan, count), TUTTI_OK);
        int64_t steps = tt_plan_steps(plan, TT_IN_FLIGHT + 1);
        if (!has_odd_turns(plan) && steps > count[r].steps)
            fail_msg("%s of %s on %d ranks: %lld steps instead of %lld", a->name,
                     tt_coll_name(call->coll), p, (long long)steps, (long long)count[r].steps);
        if (!plan->loops && plan->exchanges_n == 0)
            assert_int_equal(tt_plan_steps(plan, 0), count[r].steps);
        tt_plan_free(plan);
    }
}

static void steps_are_counted(void **state)
{
    (void)state;
    each_algorithm(has_the_steps);
}

static void work_counts(void **state)
{
    (void)state;
    each_algorithm(works_for_it);
}

static void costs_scale(void **state)
{
    (void)state;
    each_algorithm(doubles);
}

/* Checks that the parts of the time of the rank that ends last add up to the predicted time, within
 * a factor of two. They are not exactly equal: the predicted time counts from when all ranks have
 * ended the first calls, and this rank may have ended them earlier. */
static void adds_up(const struct tt_algorithm *a, const struct tt_call *call, int p, int cores)
{
    struct tt_machine m = model_of(64000, 64);
    struct tt_map map = map_of(p, cores, &m);
    struct tt_prediction x;
    int64_t sum = 0;
    if (cores < p || tt_predict_calls(a, call, &map, &x) != TUTTI_OK) return;
    for (int i = 0; i < TT_SPENT_N; i++) sum += x.spent[i];
    if (sum < x.time_ps / 2 || sum > 2 * x.time_ps)
        fail_msg("%s of %s on %d ranks: %lld of %lld", a->name, tt_coll_name(call->coll), p,
                 (long long)sum, (long long)x.time_ps);
}

static void parts_add_up(void **state)
{
    (void)state;
    each_algorithm(adds_up);
}

/* Returns the prediction under measured_model, with the network of add_network if the problem has
 * several nodes. time_ps is -1 if the algorithm does not exist or does not apply. */
static struct tt_prediction prediction_of(const char *problem_text, int cores,
                                          const char *algorithm)
{
    struct tt_machine m = measured_model();
    struct tt_problem problem;
    struct tt_prediction prediction = {.time_ps = -1};
    struct tt_call call[PLANS_RANKS];
    int node[PLANS_RANKS];
    assert_int_equal(tt_problem_parse(problem_text, &problem, NULL), TUTTI_OK);
    struct tt_map map = map_of(problem.p, cores, &m);
    tt_problem_map(&problem, &map, node);
    if (map.nodes > 1) add_network(&m);
    int64_t *room = tt_calloc((size_t)problem.p, tt_problem_room(&problem) * sizeof *room + 8);
    for (int r = 0; r < problem.p; r++)
        call[r] = tt_problem_call(&problem, r, room + (size_t)r * tt_problem_room(&problem));
    const struct tt_algorithm *a = tt_algorithm_find(problem.call.coll, algorithm);
    if (a && !a->refuse(call, &map))
        assert_int_equal(tt_predict_calls(a, call, &map, &prediction), TUTTI_OK);
    tt_free(room);
    return prediction;
}

/* Checks that turns which the predictor skips, and its other short cuts, change no prediction. */
static void as_if_each_step_was_followed(void **state)
{
    char line[200], problem[100], algorithm[50];
    FILE *file = fopen(table_path, "r");
    long long time;
    int cores, lines = 0;
    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (*line == '#' || !sampled(&lines, 5)) continue;
        assert_int_equal(sscanf(line, "%99s %d %49s %lld", problem, &cores, algorithm, &time), 4);
        long long now = prediction_of(problem, cores, algorithm).time_ps;
        if (now != time)
            fail_msg("%s of %s on %d processors: %lld ps, and not %lld", algorithm, problem, cores,
                     now, time);
    }
    assert_true(lines > 300);
    fclose(file);
}

/* Checks that only a small part of the turns of long loops is followed, also on several nodes and
 * in plans of several lanes. On 8 ranks, the prediction follows at least two calls of some 66,000,
 * 119,000, 48,000 and 31,000 steps. */
static void most_turns_are_skipped(void **state)
{
    static const struct {
        const char *problem, *algorithm;
        int64_t most;
    } cases[] = {
        {"reduce_scatter_block/f64/sum/4M/p8@nodes:4,4", "parts", 5000},
        {"reduce_scatter_block/f64/sum/4M/p8@nodes:4,4", "composed", 5000},
        {"allgather/u8/4M/p8@nodes:4,4", "composed", 20000},
        {"allreduce/f64/sum/4M/p8@nodes:4,4", "parts", 35000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_prediction p = prediction_of(cases[i].problem, 8, cases[i].algorithm);
        assert_true(p.time_ps > 0);
        if (p.followed > cases[i].most)
            fail_msg("%s of %s: %lld steps", cases[i].algorithm, cases[i].problem,
                     (long long)p.followed);
    }
}

/* Predicts the time of a problem on several nodes whose ranks have a processor each, without limits
 * and with these limits. */
static void predict_both(const char *problem_text, const char *algorithm,
                         const struct tt_limits *limits, struct tt_prediction *whole,
                         struct tt_prediction *limited)
{
    struct tt_machine m = measured_model();
    struct tt_problem problem;
    int node[PLANS_RANKS];
    add_network(&m);
    assert_int_equal(tt_problem_parse(problem_text, &problem, NULL), TUTTI_OK);
    struct tt_map map = map_of(problem.p, 5 * problem.p, &m);
    tt_problem_map(&problem, &map, node);
    const struct tt_algorithm *a = tt_algorithm_find(problem.call.coll, algorithm);
    assert_non_null(a);
    assert_int_equal(tt_predict(a, &problem.call, &map, whole), TUTTI_OK);
    assert_int_equal(tt_predict_up_to(a, &problem.call, &map, limits, limited), TUTTI_OK);
}

static const struct {
    const char *problem, *algorithm;
} long_cases[] = {
    {"allreduce/f64/sum/4M/p8@nodes:1,2,5", "composed"},
    {"allreduce/f64/sum/4M/p8@nodes:1,2,5", "parts"},
    {"reduce_scatter_block/f64/sum/1M/p8@nodes:1,2,5", "composed"},
};
enum { LONG_CASES = sizeof long_cases / sizeof *long_cases };

/* Checks that a prediction follows no more steps than its limit, also of plans whose calls have far
 * more steps, and that the time that it then guesses is about the predicted one. */
static void long_plans_are_guessed(void **state)
{
    static const struct tt_limits limits = {INT64_MAX, 5000, 20000};
    struct tt_prediction whole, limited;
    (void)state;
    for (int i = 0; i < LONG_CASES; i++) {
        predict_both(long_cases[i].problem, long_cases[i].algorithm, &limits, &whole, &limited);
        double ratio = (double)limited.time_ps / (double)whole.time_ps;
        if (whole.followed <= limits.most_steps || limited.followed > limits.most_steps + 64 ||
            ratio < 0.5 || ratio > 2)
            fail_msg("%s of %s: %lld steps, %.2f times the time", long_cases[i].algorithm,
                     long_cases[i].problem, (long long)limited.followed, ratio);
    }
}

/* Checks that no step is followed if the work of a processor or of a link alone takes longer than
 * the time that matters. */
static void hopeless_plans_are_not_followed(void **state)
{
    struct tt_prediction whole, limited;
    (void)state;
    for (int i = 0; i < LONG_CASES; i++) {
        static const struct tt_limits none = {INT64_MAX, INT64_MAX, INT64_MAX};
        predict_both(long_cases[i].problem, long_cases[i].algorithm, &none, &whole, &limited);
        assert_int_equal(limited.time_ps, whole.time_ps);
        struct tt_limits limits = {whole.time_ps / 8, INT64_MAX, INT64_MAX};
        predict_both(long_cases[i].problem, long_cases[i].algorithm, &limits, &whole, &limited);
        assert_int_equal(limited.time_ps, TT_PREDICT_MORE);
        assert_int_equal(limited.followed, 0);
    }
}

static bool copies_to_other(int table)
{
    bool streams = table >= TT_MACHINE_stream_cached && table < TT_MACHINE_add_cached;
    return streams || (table < TT_MACHINE_stream_cached && table % TT_DATA_PLACES == TT_DATA_OTHER);
}

/* Checks that the predictor agrees with the simulator, which knows the latency of a message and the
 * time that its sender needs for each byte. If nothing else costs anything, both give the same time
 * for plans that send messages and in which all ranks wait for each other. */
static void agrees_with_simulator(void **state)
{
    (void)state;
    static const struct tt_algorithm *const algorithms[] = {
        &tt_barrier_dissemination, &tt_allreduce_doubling, &tt_allreduce_ring,
        &tt_allgather_ring,        &tt_allgather_bruck,    &tt_alltoall_pairwise};
    const struct tt_model model = {
        .kind = TT_MODEL_simple, .ts_ps = 1, .tw_ps = 1, .near_ts_ps = 1000000, .near_tw_ps = 1000};
    struct tt_machine m = model_of(1, 0);
    for (int t = 0; t < TT_MACHINE_TABLES_N; t++)
        for (int i = 0; i < TT_MACHINE_POINTS; i++)
            m.table[t][i] = copies_to_other(t) ? 1000 * tt_machine_bytes[i] : 1;
    m.number[TT_MACHINE_line] = 1000000;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        for (int p = 2; p <= 9; p++) {
            int node[PLANS_RANKS] = {0};
            struct tt_problem problem = plans_problem(algorithms[i]->coll, p, 16 * p);
            struct tt_map map = map_of(p, p, &m), with = map;
            with.node = node;
            struct tt_simulation simulation = {
                .algorithm = algorithms[i], .problem = &problem, .map = &with, .model = &model};
            struct tt_sim_result result;
            if (algorithms[i]->refuse(&problem.call, &map)) continue;
            assert_int_equal(tt_simulate(&simulation, &result), TUTTI_OK);
            int64_t time = predicted(algorithms[i], &problem.call, &map).time_ps;
            if (time < result.time_ps * 97 / 100 || time > result.time_ps * 103 / 100)
                fail_msg("%s on %d ranks: predicted %lld ps, simulated %lld", algorithms[i]->name,
                         p, (long long)time, (long long)result.time_ps);
            tt_sim_free(&result);
        }
}

static void refused(const struct tt_algorithm *a, const struct tt_call *call,
                    const struct tt_map *map, const char *why)
{
    struct tt_prediction prediction;
    assert_int_equal(tt_predict(a, call, map, &prediction), TUTTI_ERR_UNSUPPORTED);
    assert_non_null(strstr(tutti_error(), why));
}

static void says_what_it_cannot(void **state)
{
    (void)state;
    int node[PLANS_RANKS] = {0, 1};
    struct tt_machine m = model_of(1000, 1);
    struct tt_problem problem = plans_problem(TT_COLL_barrier, 2, 0);
    struct tt_map map = map_of(2, 2, NULL);
    refused(&tt_barrier_flat, &problem.call, &map, "no model");
    map = map_of(2, 2, &m);
    map.node = node;
    map.nodes = 2;
    refused(&tt_barrier_dissemination, &problem.call, &map, "tutti calibrate --network");
    map = map_of(TT_PREDICT_RANKS + 1, 2, &m);
    refused(&tt_barrier_flat, &problem.call, &map, "at most 64 ranks");
}

/* Checks that no time overflows: neither of a copy of 2^50 bytes, nor of a loop of short copies
 * that takes days, nor of a plan that cannot exist because its loop has more turns than a plan can
 * count. */
static void gives_up_what_takes_too_long(void **state)
{
    (void)state;
    enum { SLICE = 64, MILLE = 1000 };
    struct tt_prediction prediction;
    struct tt_machine m = model_of(1000, 1);
    struct tt_problem problem = plans_problem(TT_COLL_bcast, 2, INT64_C(1) << 50);
    struct tt_map map = map_of(2, 2, &m);
    refused(&tt_bcast_direct, &problem.call, &map, "it takes too long");
    problem.call.slice = SLICE;
    assert_int_equal(tt_predict(&tt_bcast_flat, &problem.call, &map, &prediction), TUTTI_ERR_LIMIT);
    assert_non_null(strstr(tutti_error(), "cannot build a plan: a loop with more than 2^30 turns"));
    problem = plans_problem(TT_COLL_bcast, 2, INT64_C(1) << 34);
    for (int t = 0; t < TT_MACHINE_TABLES_N; t++)
        for (int i = 0; i < TT_MACHINE_POINTS; i++)
            m.table[t][i] = t < TT_MACHINE_copy_shared ? TT_MACHINE_MOST : MILLE * MILLE;
    assert_true(tt_machine_valid(&m));
    refused(&tt_bcast_direct, &problem.call, &map, "it takes too long");
}

/* ---- Several nodes ---- */

enum { SEND_PS = 1000000, RECEIVE_PS = 2000000, TIME_PS = 10000000, BYTE_PS = 1000 };

/* Returns a model in which everything within a node costs next to nothing. A message between nodes
 * takes TIME_PS and BYTE_PS for each byte; its sender works for SEND_PS, its receiver for
 * RECEIVE_PS. The link moves a byte in link_ps. */
static struct tt_machine model_of_hosts(int64_t link_ps)
{
    struct tt_machine m = model_of(1, 0);
    for (int t = 0; t < TT_MACHINE_copy_shared; t++)
        for (int i = 0; i < TT_MACHINE_POINTS; i++) m.table[t][i] = 1;
    m.network.look = 1;
    for (int i = 0; i < TT_MACHINE_POINTS; i++) {
        m.network.wire[TT_MACHINE_wire_time][i] = TIME_PS + BYTE_PS * tt_machine_bytes[i];
        m.network.wire[TT_MACHINE_wire_send][i] = SEND_PS;
        m.network.wire[TT_MACHINE_wire_receive][i] = RECEIVE_PS;
        m.network.wire[TT_MACHINE_wire_gap][i] = tt_max(RECEIVE_PS, link_ps * tt_machine_bytes[i]);
    }
    return m;
}

static struct tt_map map_of_hosts(const int *node, int nodes, int p, int cores,
                                  const struct tt_machine *machine)
{
    struct tt_map map = map_of(p, cores, machine);
    map.node = node;
    map.nodes = nodes;
    return map;
}

static int64_t time_on(const struct tt_algorithm *a, enum tt_coll coll, int64_t n,
                       const struct tt_map *map)
{
    struct tt_problem problem = plans_problem(coll, map->p, n);
    return predicted(a, &problem.call, map).time_ps;
}

/* Checks that a gather takes at least as long as the link of the root needs for the data of all
 * other ranks, in whatever slices they come: ranks that send run ahead of the root. */
static void the_link_of_the_root_limits(void **state)
{
    (void)state;
    static const int node[] = {0, 1, 2, 3, 4, 5, 6, 7};
    enum { P = 8, N = 1 << 17 };
    struct tt_machine m = model_of_hosts(BYTE_PS);
    struct tt_map map = map_of_hosts(node, P, P, P, &m);
    for (int64_t slice = 0; slice <= 1 << 18; slice = slice ? 4 * slice : 1 << 14) {
        struct tt_problem problem = plans_problem(TT_COLL_gather, P, N);
        problem.call.slice = slice;
        int64_t link_ps = (P - 1) * problem.call.n * problem.call.sz * BYTE_PS;
        assert_true(predicted(&tt_gather_binomial, &problem.call, &map).time_ps >= link_ps);
    }
}

static void is_about(int64_t time, int64_t wanted)
{
    const int64_t steps_ps = 1000;
    if (time < wanted || time > wanted + steps_ps)
        fail_msg("%lld ps, and not %lld", (long long)time, (long long)wanted);
}

/* Checks an exchange of two ranks on two nodes, which begin to send at the same time. Each rank can
 * take the message of the other rank after TIME_PS, and BYTE_PS for each byte. A round of a ring of
 * three ranks takes as long as such an exchange. */
static void ranks_on_hosts_exchange(void **state)
{
    (void)state;
    static const int node[] = {0, 1, 2};
    struct tt_machine m = model_of_hosts(1);
    struct tt_map two = map_of_hosts(node, 2, 2, 2, &m), three = map_of_hosts(node, 3, 3, 3, &m);
    is_about(time_on(&tt_allreduce_doubling, TT_COLL_allreduce, 1, &two), TIME_PS + 8 * BYTE_PS);
    is_about(time_on(&tt_allgather_ring, TT_COLL_allgather, 8, &three),
             2 * (TIME_PS + 8 * 8 * BYTE_PS));
    /* the sender of a long message waits until a short message acknowledges it */
    is_about(time_on(&tt_allreduce_doubling, TT_COLL_allreduce, 1 << 16, &two),
             TIME_PS + (8 << 16) * BYTE_PS + TIME_PS + 8 * BYTE_PS);
    struct tt_problem problem = plans_problem(TT_COLL_allreduce, 2, 1);
    struct tt_prediction p = predicted(&tt_allreduce_doubling, &problem.call, &two);
    assert_in_range(p.spent[TT_SPENT_wire], TIME_PS, TIME_PS + 8 * BYTE_PS);
    assert_int_equal(p.spent[TT_SPENT_lines], 0);
}

/* Checks that the rank with the most work decides the time from one bcast to the next, if many
 * follow each other. This is rank 1, which takes a message and sends one. The other ranks only send
 * or only take messages. */
static void hosts_follow_their_busiest_rank(void **state)
{
    (void)state;
    static const int node[] = {0, 1, 2, 3};
    struct tt_machine m = model_of_hosts(1);
    struct tt_map map = map_of_hosts(node, 4, 4, 4, &m);
    is_about(time_on(&tt_bcast_binomial, TT_COLL_bcast, 1, &map), SEND_PS + RECEIVE_PS);
}

/* Checks that the two ranks of a node share its processor and its link, over which their messages
 * go one after the other. */
static void ranks_of_a_host_share(void **state)
{
    (void)state;
    static const int node[] = {0, 0, 1, 1};
    enum { N = 1 << 16 };
    struct tt_machine m = model_of_hosts(1), slow = model_of_hosts(BYTE_PS);
    struct tt_map map = map_of_hosts(node, 2, 4, 4, &m), one = map_of_hosts(node, 2, 4, 2, &m);
    int64_t bytes = 8 * N;
    is_about(time_on(&tt_allreduce_doubling, TT_COLL_allreduce, 1000, &map),
             TIME_PS + BYTE_PS * 8000 + 8000);
    assert_true(time_on(&tt_allreduce_doubling, TT_COLL_allreduce, 1, &one) >=
                2 * (SEND_PS + RECEIVE_PS));
    map.machine = &slow;
    int64_t shared = time_on(&tt_allreduce_doubling, TT_COLL_allreduce, N, &map);
    assert_true(shared >= 2 * BYTE_PS * bytes);
}

/* Checks that the time does not depend on how the nodes are numbered, and grows with the bytes. */
static void hosts_are_interchangeable(void **state)
{
    (void)state;
    static const int node[][6] = {{0, 0, 1, 1, 2, 2}, {2, 2, 0, 0, 1, 1}, {1, 1, 2, 2, 0, 0}};
    static const struct tt_algorithm *const algorithms[] = {
        &tt_allreduce_doubling, &tt_allreduce_ring, &tt_allreduce_tree, &tt_allreduce_prt};
    struct tt_machine m = model_of_hosts(100);
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        int64_t before = 0;
        for (int64_t n = 8; n <= 8 << 15; n *= 8) {
            int64_t time[3];
            for (int k = 0; k < 3; k++) {
                struct tt_map map = map_of_hosts(node[k], 3, 6, 6, &m);
                time[k] = time_on(algorithms[i], TT_COLL_allreduce, n, &map);
            }
            if (time[0] != time[1] || time[1] != time[2] || time[0] < before)
                fail_msg("%s of %lld: %lld, %lld, %lld ps after %lld", algorithms[i]->name,
                         (long long)n, (long long)time[0], (long long)time[1], (long long)time[2],
                         (long long)before);
            before = time[0];
        }
    }
}

/* Checks signals between nodes, which are messages, and the cost of all algorithms: a time is
 * predicted for each of them that applies, unless it accesses the memory of another node. */
static void all_algorithms_between_hosts(void **state)
{
    (void)state;
    static const int node[] = {0, 0, 1, 1};
    struct tt_machine m = model_of_hosts(1);
    struct tt_map map = map_of_hosts(node, 2, 4, 4, &m);
    int n = 0;
    assert_true(time_on(&tt_barrier_flat, TT_COLL_barrier, 0, &map) >= TIME_PS);
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        struct tt_problem problem = plans_problem((*a)->coll, 4, 1000);
        struct tt_prediction prediction;
        struct tt_call call[4];
        int64_t *room = tt_calloc(4, tt_problem_room(&problem) * sizeof *room + 8);
        for (int r = 0; r < 4; r++)
            call[r] = tt_problem_call(&problem, r, room + (size_t)r * tt_problem_room(&problem));
        if (!(*a)->refuse(call, &map)) {
            if (tt_predict_calls(*a, call, &map, &prediction) == TUTTI_OK) {
                n++;
                assert_true(prediction.time_ps > 0);
            } else {
                assert_non_null(strstr(tutti_error(), "memory of another node"));
                assert_string_equal((*a)->name, "exchange");
            }
        }
        tt_free(room);
    }
    assert_true(n > 50);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    table_path = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barrier_of_two),
        cmocka_unit_test(ranks_take_turns),
        cmocka_unit_test(no_piece_exceeds_a_short_window),
        cmocka_unit_test(root_runs_ahead),
        cmocka_unit_test(windows_are_streamed),
        cmocka_unit_test(costs_scale),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(agrees_with_simulator),
        cmocka_unit_test(work_counts),
        cmocka_unit_test(gives_up_what_takes_too_long),
        cmocka_unit_test(says_what_it_cannot),
        cmocka_unit_test(as_if_each_step_was_followed),
        cmocka_unit_test(most_turns_are_skipped),
        cmocka_unit_test(long_plans_are_guessed),
        cmocka_unit_test(hopeless_plans_are_not_followed),
        cmocka_unit_test(steps_are_counted),
        cmocka_unit_test(ranks_on_hosts_exchange),
        cmocka_unit_test(hosts_follow_their_busiest_rank),
        cmocka_unit_test(ranks_of_a_host_share),
        cmocka_unit_test(the_link_of_the_root_limits),
        cmocka_unit_test(hosts_are_interchangeable),
        cmocka_unit_test(all_algorithms_between_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
