/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the choice by estimate. The algorithm with the least predicted time is chosen, or that of
 * the table if no other one's time is shorter by a fifth, whatever was chosen before. Where there
 * is no model of the machine, or no estimate is wanted, the table of the library chooses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "../brief.h"
#include "choose/choose.h"
#include "choose/predict.h"
#include "choose/table.h"
#include "model.h"
#include "text/problem.h"

static struct tt_call call_of(const char *text)
{
    struct tt_problem problem;
    assert_int_equal(tt_problem_parse(text, &problem, NULL), TUTTI_OK);
    return problem.call;
}

/* Returns the algorithm that applies with the least predicted time, where the time of the algorithm
 * that the table chooses counts as a fifth shorter. Both the times and the table's choice are those
 * for an operation that commutes (choose/estimate.h). */
static const struct tt_algorithm *fastest(const struct tt_call *call, const struct tt_map *map)
{
    struct tt_call commutes = *call;
    commutes.commutes = true;
    const struct tt_algorithm *best = NULL, *tabled = tt_table_choose(&commutes, map);
    struct tt_prediction p;
    int64_t least = INT64_MAX;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        if ((*a)->coll != call->coll || (*a)->refuse(call, map)) continue;
        if (tt_predict(*a, &commutes, map, &p) != TUTTI_OK) continue;
        int64_t time_ps = *a == tabled ? p.time_ps - p.time_ps / 5 : p.time_ps;
        if (time_ps >= least) continue;
        best = *a;
        least = time_ps;
    }
    return best == tabled ? tt_table_choose(call, map) : best;
}

static const char *const problems[] = {
    "barrier/p2",
    "bcast/u8/8/p2",
    "bcast/u8/64K/p4",
    "allreduce/f64/sum/8/p4",
    "allreduce/f64/sum/1M/p4",
    "allgather/u8/4K/p8",
    "alltoall/u8/64K/p5",
    "gather/u8/32K/p3",
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static struct tt_map map_for(const char *problem, const struct tt_machine *m)
{
    struct tt_problem parsed;
    assert_int_equal(tt_problem_parse(problem, &parsed, NULL), TUTTI_OK);
    struct tt_map map = map_of(parsed.p, 4, m);
    map.estimates = true;
    return map;
}

static void least_time_wins(void **state)
{
    (void)state;
    struct tt_machine m = model_of(100000, 200);
    for (int i = 0; i < PROBLEMS; i++) {
        struct tt_call call = call_of(problems[i]);
        struct tt_map map = map_for(problems[i], &m);
        struct tt_choice a;
        enum tt_chosen_by by;
        assert_int_equal(tt_choose(&call, &map, NULL, &a, &by), TUTTI_OK);
        assert_int_equal(by, TT_CHOSEN_ESTIMATE);
        assert_ptr_equal(a.algorithm, fastest(&call, &map));
    }
}

/* Lets each allocation of a choice fail once. In a brief run every seventh one fails: for the first
 * problem the first, eighth and so on, for the next problem the second, ninth and so on. The rank
 * gets an error then, and when there is memory again it chooses as if nothing had happened. */
static void a_lack_of_memory_is_forgotten(void **state)
{
    static struct tt_rankings kept;
    struct tt_machine m = model_of(100000, 200);
    int lacks = 0;
    (void)state;
    for (int problem = 0; problem < PROBLEMS; problem++) {
        struct tt_call call = call_of(problems[problem]);
        struct tt_map map = map_for(problems[problem], &m);
        const struct tt_algorithm *usual = fastest(&call, &map);
        struct tt_choice a = {.algorithm = NULL};
        const int step = brief(1, 7);
        for (int i = problem % step; !a.algorithm; i += step, lacks++) {
            memset(&kept, 0, sizeof kept);
            tt_memory_fail_at(i);
            tutti_status status = tt_choose(&call, &map, &kept, &a, NULL);
            tt_memory_fail_at(-1);
            if (status == TUTTI_OK) break;
            assert_int_equal(status, TUTTI_ERR_MEMORY);
            assert_int_equal(tt_choose(&call, &map, &kept, &a, NULL), TUTTI_OK);
            assert_ptr_equal(a.algorithm, usual);
            a.algorithm = NULL;
        }
        assert_ptr_equal(a.algorithm, usual);
    }
    assert_true(lacks > 0);
}

/* The estimate stops the prediction of an algorithm once its time is known to be too long
 * (tt_predict_up_to). Checks that this changes no choice, also if the fastest algorithm does not
 * apply to the call. */
static void choice_of(const char *coll, const char *size, int p, int cores, bool commutes)
{
    char text[100];
    int node[TT_PREDICT_RANKS];
    struct tt_problem problem;
    struct tt_machine m = measured_model();
    add_network(&m);
    snprintf(text, sizeof text, coll, size, p);
    assert_int_equal(tt_problem_parse(text, &problem, NULL), TUTTI_OK);
    struct tt_call call = problem.call;
    struct tt_map map = map_of(p, cores, &m);
    tt_problem_map(&problem, &map, node);
    if (tt_coll_has_op(call.coll)) call.commutes = commutes;
    const struct tt_algorithm *a = tt_estimate(NULL, &call, &map, NULL),
                              *best = fastest(&call, &map);
    if (a != best)
        fail_msg("%s on %d processors: %s instead of %s", text, cores, a ? a->name : "none",
                 best->name);
}

static void the_rest_need_not_be_followed(void **state)
{
    static const char *const colls[] = {
        "bcast/u8/%s/p%d",          "reduce/f64/sum/%s/p%d",
        "allreduce/f64/sum/%s/p%d", "reduce_scatter_block/f64/sum/%s/p%d",
        "gather/u8/%s/p%d",         "allgather/u8/%s/p%d",
        "alltoall/u8/%s/p%d",       "scatter/u8/%s/p%d",
        "scan/f64/sum/%s/p%d"};
    static const char *const sizes[] = {"8", "4K", "64K", "512K", "2M"};
    static const int ranks[] = {3, 8, 16};
    int cases = 0;
    (void)state;
    for (size_t i = 0; i < sizeof colls / sizeof *colls; i++)
        for (int k = 0; k < 5 * 3 * 3; k++) {
            int p = ranks[k / 5 % 3], n = k / 15;
            if (sampled(&cases, 7)) choice_of(colls[i], sizes[k % 5], p, n == 0 ? p : 2, n < 2);
        }
}

/* Checks the same between nodes, where ranks run further ahead of each other: a rank may work for
 * messages of calls that it has not begun. */
static void nor_between_nodes(void **state)
{
    static const char *const colls[] = {
        "reduce/f64/sum/%s/p%d@nodes:1*8",    "gather/u8/%s/p%d@nodes:1*8",
        "bcast/u8/%s/p%d@nodes:2,1,5",        "scatter/u8/%s/p%d@nodes:4,4",
        "allreduce/f64/sum/%s/p%d@nodes:4,4", "reduce_scatter_block/f64/sum/%s/p%d@nodes:1*8"};
    static const char *const sizes[] = {"8", "64", "1K", "8K", "64K", "1M"};
    (void)state;
    for (size_t i = 0; i < sizeof colls / sizeof *colls; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            choice_of(colls[i], sizes[k], 8, 15, true);
}

static void set_reads(struct tt_machine *m, int64_t ps)
{
    for (int i = 0; i < TT_MACHINE_POINTS; i++)
        for (int t = TT_MACHINE_read_memory_cached; t <= TT_MACHINE_write_memory_memory; t++)
            m->table[t][i] = ps;
}

/* Checks that the costs decide: an algorithm that reads the memory of another process is chosen if
 * reading costs next to nothing, and no such algorithm if reading costs much. */
static void costs_decide(void **state)
{
    (void)state;
    struct tt_machine m = model_of(1000, 200);
    struct tt_call call = call_of("bcast/u8/1M/p2");
    struct tt_map map = map_for("bcast/u8/1M/p2", &m);
    struct tt_choice cheap, dear;
    struct tt_prediction p;
    set_reads(&m, 1);
    assert_int_equal(tt_choose(&call, &map, NULL, &cheap, NULL), TUTTI_OK);
    set_reads(&m, TT_MACHINE_MOST);
    assert_int_equal(tt_choose(&call, &map, NULL, &dear, NULL), TUTTI_OK);
    assert_int_equal(tt_predict(cheap.algorithm, &call, &map, &p), TUTTI_OK);
    assert_true(p.time_ps >= TT_MACHINE_MOST);
    assert_int_equal(tt_predict(dear.algorithm, &call, &map, &p), TUTTI_OK);
    assert_true(p.time_ps < TT_MACHINE_MOST);
}

static int64_t time_of(const struct tt_algorithm *a, const struct tt_call *call,
                       const struct tt_map *map)
{
    struct tt_prediction p;
    return !a->refuse(call, map) && tt_predict(a, call, map, &p) == TUTTI_OK ? p.time_ps
                                                                             : INT64_MAX;
}

/* Checks that the algorithm of the table stays if another one is predicted to be faster by a tenth
 * at most, and is left if one is predicted to be faster by three tenths. */
static void the_table_is_left_for_clear_gains(void **state)
{
    (void)state;
    int kept = 0, left = 0;
    for (int64_t ps = 1000; ps < TT_MACHINE_MOST; ps += ps / 8) {
        struct tt_machine m = model_of(1000, 200);
        struct tt_call call = call_of("bcast/u8/1M/p2");
        struct tt_map map = map_for("bcast/u8/1M/p2", &m);
        set_reads(&m, ps);
        const struct tt_algorithm *tabled = tt_table_choose(&call, &map);
        int64_t time_ps = time_of(tabled, &call, &map), least_ps = INT64_MAX;
        for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
            if ((*a)->coll == call.coll && *a != tabled)
                least_ps = tt_min(least_ps, time_of(*a, &call, &map));
        bool stays = tt_estimate(NULL, &call, &map, NULL) == tabled;
        double gain = 1 - (double)least_ps / (double)time_ps;
        if (gain <= 0.1) assert_true(stays);
        if (gain >= 0.3) assert_false(stays);
        kept += stays && least_ps < time_ps;
        left += !stays;
    }
    assert_true(kept > 0 && left > 0);
}

/* Checks that the rankings that are kept do not change the choice, in whatever order the calls
 * come. */
static void history_does_not_matter(void **state)
{
    (void)state;
    struct tt_machine m = model_of(100000, 200);
    static const char *const calls[] = {"allreduce/f64/sum/8/p4",    "allreduce/i8/max/5/p4",
                                        "allreduce/f32/sum/3000/p4", "allreduce/f64/user/8/p4",
                                        "allreduce/f64/sum/2M/p4",   "allreduce/u8/sum/4097/p4"};
    enum { CALLS = sizeof calls / sizeof *calls };
    for (int first = 0; first < CALLS; first++) {
        struct tt_rankings kept = {0};
        for (int i = 0; i < CALLS; i++) {
            struct tt_call call = call_of(calls[(first + i) % CALLS]);
            struct tt_map map = map_for(calls[0], &m);
            const struct tt_algorithm *a = tt_estimate(&kept, &call, &map, NULL);
            assert_non_null(a);
            assert_null(a->refuse(&call, &map));
            assert_ptr_equal(a, tt_estimate(NULL, &call, &map, NULL));
        }
    }
}

/* Checks that two teams that are spread over nodes in different ways have different rankings, that
 * rankings for several nodes are kept in no file, and that the table chooses if the model has no
 * network. */
static void nodes_have_their_rankings(void **state)
{
    (void)state;
    static const int nodes[][4] = {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 1, 1}, {0, 1, 2, 3}};
    static const char *const calls[] = {"allreduce/f64/sum/8/p4", "allreduce/f64/sum/16K/p4",
                                        "bcast/u8/8K/p4", "alltoall/u8/8/p4", "barrier/p4"};
    enum { MAPS = sizeof nodes / sizeof *nodes, CALLS = sizeof calls / sizeof *calls };
    struct tt_machine near = measured_model(), m = near;
    struct tt_rankings kept = {0};
    uint32_t computed = 0;
    int differ = 0;
    add_network(&m);
    for (int i = 0; i < 2 * MAPS * CALLS; i++) {
        struct tt_call call = call_of(calls[i % CALLS]);
        struct tt_map map = map_for(calls[0], &m);
        const int *node = nodes[i / CALLS % MAPS];
        map.node = node[3] > 0 ? node : NULL;
        map.nodes = node[3] + 1;
        const struct tt_algorithm *a = tt_estimate(&kept, &call, &map, NULL), *one = NULL;
        assert_ptr_equal(a, fastest(&call, &map));
        if (map.nodes == 1) computed = kept.computed;
        assert_int_equal(kept.computed, computed);
        map.machine = &near;
        if (map.nodes > 1) assert_null(tt_estimate(&kept, &call, &map, NULL));
        map.nodes = 1;
        map.node = NULL;
        one = fastest(&call, &map);
        differ += a != one;
    }
    assert_true(computed > 0 && differ > 0);
}

/* Checks that calls with another number of lanes have other rankings, which follow the plans with
 * this number of lanes; and that on one node, where the number has no effect, all share one. */
static void lanes_have_their_rankings(void **state)
{
    (void)state;
    static const int node[] = {0, 0, 1, 1};
    struct tt_machine m = measured_model();
    struct tt_rankings kept = {0};
    struct tt_prediction prediction[1 + TT_LANES_MOST];
    struct tt_call call = call_of("allreduce/f64/sum/1M/p4");
    add_network(&m);
    for (int i = 0; i <= TT_LANES_MOST; i++) {
        struct tt_map map = map_for("allreduce/f64/sum/1M/p4", &m);
        call.lanes = i;
        assert_non_null(tt_estimate(&kept, &call, &map, NULL));
        assert_int_equal(kept.n, 1 + i);
        map.node = node;
        map.nodes = 2;
        assert_ptr_equal(tt_estimate(&kept, &call, &map, NULL), fastest(&call, &map));
        assert_int_equal(kept.n, 2 + i);
        assert_int_equal(tt_predict(&tt_allreduce_composed, &call, &map, &prediction[i]), TUTTI_OK);
    }
    assert_int_equal(prediction[3].time_ps, prediction[0].time_ps);
    assert_int_not_equal(prediction[1].time_ps, prediction[0].time_ps);
    assert_int_not_equal(prediction[8].time_ps, prediction[0].time_ps);
}

/* Gives the model a fast network: a message takes 1.5 us and 0.08 ns for each byte. */
static void add_fast_network(struct tt_machine *m)
{
    enum { START_PS = 1500000, WORK_PS = 300000, BYTE_PS = 80, WORK_BYTE_PS = 5 };
    m->network.look = START_PS / 15;
    for (int i = 0; i < TT_MACHINE_POINTS; i++) {
        int64_t bytes = tt_machine_bytes[i], work_ps = WORK_PS + WORK_BYTE_PS * bytes;
        m->network.wire[TT_MACHINE_wire_time][i] = START_PS + BYTE_PS * bytes;
        m->network.wire[TT_MACHINE_wire_send][i] = work_ps;
        m->network.wire[TT_MACHINE_wire_receive][i] = work_ps;
        m->network.wire[TT_MACHINE_wire_gap][i] = tt_max(WORK_PS, BYTE_PS * bytes);
    }
}

static bool has_any(const struct tt_parameters *with)
{
    return with->slice != 0 || with->radix != 0 || with->lanes != 0;
}

/* Chooses for a call of 2^log2 bytes, and checks that the choice has other parameters than the
 * algorithm's own only if they are predicted to take a fifth less time, that the ranking that is
 * kept gives the same ones, and that parameters of the call stay. Returns whether the choice has
 * other parameters. */
static bool tunes(const char *coll, int log2, struct tt_map *map, struct tt_rankings *kept)
{
    char text[100];
    struct tt_parameters with = {-1, -1, -1}, again = with;
    snprintf(text, sizeof text, "%s/%lld/p%d", coll, 1LL << log2, map->p);
    struct tt_call call = call_of(text), tuned = call;
    const struct tt_algorithm *a = tt_estimate(kept, &call, map, &with);
    assert_ptr_equal(tt_estimate(kept, &call, map, &again), a);
    assert_memory_equal(&with, &again, sizeof with);
    assert_ptr_equal(a, fastest(&call, map));
    tt_tune(&tuned, with.slice, with.radix, with.lanes);
    if (has_any(&with)) {
        int64_t own_ps = time_of(a, &call, map), ps = time_of(a, &tuned, map);
        if (ps > own_ps - own_ps / TT_ESTIMATE_FAVOUR + 1) fail_msg("%s: no clear gain", text);
    }
    tuned.slice = tuned.slice ? tuned.slice : tuned.sz;
    tuned.radix = tuned.radix ? tuned.radix : 2;
    tuned.lanes = tuned.lanes ? tuned.lanes : 1;
    (void)tt_estimate(kept, &tuned, map, &again);
    assert_false(has_any(&again));
    return has_any(&with);
}

/* Checks when the estimate chooses parameters: on several nodes with a processor for each rank, and
 * never on one node or with fewer processors than ranks. */
static void parameters_are_left_for_clear_gains(void **state)
{
    (void)state;
    static const int node[] = {0, 1, 2, 3};
    static const char *const colls[] = {"bcast/u8", "reduce_scatter_block/f64/sum", "scan/f64/sum"};
    struct tt_machine m = measured_model();
    struct tt_rankings kept = {0};
    int tuned = 0, cases = 0;
    add_fast_network(&m);
    for (int i = 0; i < 3; i++)
        for (int log2 = 12; log2 <= 20; log2 += 4) {
            struct tt_map map = map_for("barrier/p4", &m), apart = map;
            apart.node = node;
            apart.nodes = 4;
            apart.reads = apart.writes = false;
            tuned += tunes(colls[i], log2, &apart, &kept);
            cases++;
            apart.cores = 3;
            assert_false(tunes(colls[i], log2, &apart, &kept));
            assert_false(tunes(colls[i], log2, &map, &kept));
        }
    assert_true(tuned > 0 && tuned < cases);
}

static void table_otherwise(void **state)
{
    (void)state;
    struct tt_machine m = model_of(100000, 200);
    for (int i = 0; i < PROBLEMS; i++) {
        struct tt_call call = call_of(problems[i]);
        struct tt_map map = map_for(problems[i], &m);
        struct tt_choice with, without;
        enum tt_chosen_by by;
        map.estimates = false;
        assert_int_equal(tt_choose(&call, &map, NULL, &with, &by), TUTTI_OK);
        assert_int_equal(by, TT_CHOSEN_TABLE);
        map.estimates = true;
        map.machine = NULL;
        assert_int_equal(tt_choose(&call, &map, NULL, &without, &by), TUTTI_OK);
        assert_int_equal(by, TT_CHOSEN_TABLE);
        assert_ptr_equal(with.algorithm, without.algorithm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_time_wins),
        cmocka_unit_test(the_rest_need_not_be_followed),
        cmocka_unit_test(nor_between_nodes),
        cmocka_unit_test(costs_decide),
        cmocka_unit_test(the_table_is_left_for_clear_gains),
        cmocka_unit_test(history_does_not_matter),
        cmocka_unit_test(nodes_have_their_rankings),
        cmocka_unit_test(lanes_have_their_rankings),
        cmocka_unit_test(parameters_are_left_for_clear_gains),
        cmocka_unit_test(table_otherwise),
        cmocka_unit_test(a_lack_of_memory_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
