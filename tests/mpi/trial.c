/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the measured choice (src/mpi/trial.h) without an MPI: shapes, trials, decisions of several
 * ranks from times that the test makes up, and decisions that are inherited. Tests also the maps
 * and the rows of the counter (src/mpi/count.c). The two *sides*, each of which can do a call, are
 * the host MPI (side 0) and Tutti (side 1).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/trial.h"

enum { RANKS = 3 };

/* Tests that each collective, with and without an operation of the program, has a shape of its own
 * for each magnitude (power of two) of its bytes, and that a shape is a number below TT_MPI_SHAPES.
 */
static void shapes(void **state)
{
    (void)state;
    char seen[TT_MPI_SHAPES] = {0};
    for (int user = 0; user < 2; user++)
        for (int index = 0; index < TT_MPI_INDEXES; index++)
            for (int magnitude = 0; magnitude < TT_MPI_MAGNITUDES; magnitude++) {
                int64_t least = magnitude ? INT64_C(1) << (magnitude - 1) : 0;
                int shape = tt_mpi_shape_of((enum tt_mpi_index)index, user, least);
                assert_in_range(shape, 0, TT_MPI_SHAPES - 1);
                assert_false(seen[shape]++);
                int64_t most =
                    magnitude < TT_MPI_MAGNITUDES - 1 ? 2 * least - (least > 0) : INT64_MAX;
                assert_int_equal(tt_mpi_shape_of((enum tt_mpi_index)index, user, most), shape);
            }
}

/* Stores in most[] the maximum over the ranks of each of n numbers. */
static void combine(int64_t own[RANKS][TT_MPI_TIMED], int64_t *most, int n)
{
    for (int i = 0; i < n; i++) {
        most[i] = own[0][i];
        for (int r = 1; r < RANKS; r++)
            if (own[r][i] > most[i]) most[i] = own[r][i];
    }
}

/* Makes the decision on a shape at the end of its trial, checks that it is the same on all ranks,
 * and returns it. */
static struct tt_mpi_decision decide(struct tt_mpi_trials *all, int shape)
{
    int64_t own[RANKS][TT_MPI_TIMED], last_began[TT_MPI_TIMED], costs[TT_MPI_RUNS + 1];
    struct tt_mpi_decision first = {0};
    for (int r = 0; r < RANKS; r++) tt_mpi_trial_began(&all[r], shape, own[r]);
    combine(own, last_began, TT_MPI_TIMED);
    for (int r = 0; r < RANKS; r++) tt_mpi_trial_costs(&all[r], shape, last_began, own[r]);
    combine(own, costs, TT_MPI_RUNS + 1);
    for (int r = 0; r < RANKS; r++) {
        tt_mpi_trial_decide(&all[r], shape, 100 + (uint64_t)shape, costs);
        struct tt_mpi_decision d = tt_mpi_trial_decision(&all[r], shape);
        if (r == 0) first = d;
        assert_memory_equal(&first, &d, sizeof d);
    }
    struct tt_mpi_decision found;
    assert_int_equal(tt_mpi_trial_recall(100 + (uint64_t)shape, &found, 1), 1);
    assert_memory_equal(&first, &found, sizeof found);
    return first;
}

/* How long a call takes if one side does it, in nanoseconds: at the root, at the other ranks, and
 * from when the root has begun the call until it may end at other ranks. In a call without a root,
 * all ranks wait for the last one, and then need `other`. */
struct takes {
    int64_t root, other, latency;
};

/* Simulates one call, which all ranks make on the same side. Rank r begins it at clock[r], and rank
 * `late` (-1: none) 50 microseconds later. */
static void one_call(struct tt_mpi_trials *all, int shape, const struct takes *takes, bool rooted,
                     int late, int64_t clock[RANKS])
{
    int64_t began[RANKS], last = 0;
    bool meets;
    for (int r = 0; r < RANKS; r++) {
        began[r] = clock[r] + (r == late ? 50000 : 0);
        if (began[r] > last) last = began[r];
    }
    for (int r = 0; r < RANKS; r++) {
        int64_t ended = last + takes->other;
        if (rooted) ended = began[r] + (r ? takes->other : takes->root);
        if (rooted && r > 0 && ended < began[0] + takes->latency) ended = began[0] + takes->latency;
        int number = tt_mpi_trial_begin(&all[r], shape, &meets);
        if (number >= 0) tt_mpi_trial_record(&all[r], shape, number, began[r], ended);
        clock[r] = ended;
    }
}

/* Returns whether the ranks have to meet in a barrier before the next call of a shape. */
static bool meets_next(const struct tt_mpi_trials *all, int shape)
{
    struct tt_mpi_trials copy = *all;
    bool meets;
    tt_mpi_trial_begin(&copy, shape, &meets);
    return meets;
}

/* Simulates the calls of a trial, which the ranks make in a loop. In the first `slow` runs of each
 * side, a call takes longer by 20 microseconds. If `tardy`, in each call another rank begins late.
 * Returns the decision. */
static struct tt_mpi_decision try(struct tt_mpi_trials *all, int shape, const struct takes side[2],
                                  bool rooted, bool tardy, int slow)
{
    int64_t clock[RANKS] = {1000, 1000, 1000};
    int calls[2] = {0}, runs[2] = {0};
    for (int call = 0; tt_mpi_next_of(&all[0], shape) != TT_MPI_NEXT_DECIDE; call++) {
        bool tutti = tt_mpi_next_of(&all[0], shape) == TT_MPI_NEXT_TUTTI;
        if (meets_next(&all[0], shape)) {
            for (int r = 0; r < RANKS; r++) clock[r] = 1000000 * (call + 1);
            runs[tutti]++;
        }
        struct takes takes = side[tutti];
        if (runs[tutti] > 0 && runs[tutti] <= slow) takes.other += 20000;
        for (int r = 1; r < RANKS; r++)
            assert_int_equal(tt_mpi_next_of(&all[r], shape) == TT_MPI_NEXT_TUTTI, tutti);
        one_call(all, shape, &takes, rooted, tardy ? call % RANKS : -1, clock);
        calls[tutti]++;
    }
    assert_int_equal(runs[0], TT_MPI_RUNS / 2);
    assert_int_equal(runs[1], TT_MPI_RUNS / 2);
    int timed = TT_MPI_RUNS / 2 * tt_mpi_trial_run(shape);
    assert_true(calls[0] > timed && calls[1] > timed && calls[0] + calls[1] < TT_MPI_FOR_HOST);
    return decide(all, shape);
}

static void free_all(struct tt_mpi_trials *all)
{
    for (int r = 0; r < RANKS; r++) tt_mpi_trials_free(&all[r]);
}

/* Tests how many calls a run of each shape has: TT_MPI_RUN_MOST in the shapes of short calls in
 * which some ranks only send, and 8 in all others. */
static void runs(void **state)
{
    (void)state;
    static const enum tt_mpi_index one_way[] = {TT_MPI_INDEX_Bcast,  TT_MPI_INDEX_Reduce,
                                                TT_MPI_INDEX_Gather, TT_MPI_INDEX_Scatter,
                                                TT_MPI_INDEX_Scan,   TT_MPI_INDEX_Exscan};
    for (size_t i = 0; i < sizeof one_way / sizeof *one_way; i++)
        for (int64_t bytes = 1; bytes < 4096; bytes *= 2) {
            int run = tt_mpi_trial_run(tt_mpi_shape_of(one_way[i], i % 2, bytes));
            assert_int_equal(run, bytes < 1024 ? TT_MPI_RUN_MOST : 8);
        }
    assert_int_equal(tt_mpi_trial_run(tt_mpi_shape_of(TT_MPI_INDEX_Allreduce, false, 8)), 8);
    assert_int_equal(tt_mpi_trial_run(tt_mpi_shape_of(TT_MPI_INDEX_Alltoallv, false, 0)), 8);
    assert_int_equal(tt_mpi_trial_run(tt_mpi_shape_of(TT_MPI_INDEX_Gatherv, false, 0)),
                     TT_MPI_RUN_MOST);
}

/* Tests that before each run of a shape `warm` calls follow the meeting of the ranks, whose times
 * are not recorded. */
static void check_warm_up(int shape, int warm)
{
    struct tt_mpi_trials all = {0};
    int unrecorded = 0, runs = 0;
    while (tt_mpi_next_of(&all, shape) != TT_MPI_NEXT_DECIDE) {
        bool meets;
        int number = tt_mpi_trial_begin(&all, shape, &meets);
        if (meets) unrecorded = 0;
        if (number >= 0 && number % tt_mpi_trial_run(shape) == 0) {
            assert_int_equal(unrecorded, warm);
            runs++;
        }
        unrecorded += number < 0;
    }
    assert_int_equal(runs, TT_MPI_RUNS);
    tt_mpi_trials_free(&all);
}

/* Tests how many calls warm up a side: enough to fill the memory for messages if the senders run
 * ahead, and few otherwise. */
static void warm_up(void **state)
{
    (void)state;
    check_warm_up(tt_mpi_shape_of(TT_MPI_INDEX_Bcast, false, 8), 40);
    check_warm_up(tt_mpi_shape_of(TT_MPI_INDEX_Scatterv, false, 0), 40);
    check_warm_up(tt_mpi_shape_of(TT_MPI_INDEX_Bcast, false, 4096), 2);
    check_warm_up(tt_mpi_shape_of(TT_MPI_INDEX_Allreduce, false, 8), 2);
}

/* Tests that the host does the first calls, so that a program with few calls loses nothing. */
static void first_calls(void **state)
{
    (void)state;
    struct tt_mpi_trials all = {0};
    int shape = tt_mpi_shape_of(TT_MPI_INDEX_Bcast, false, 8), host = 0;
    bool meets;
    for (; tt_mpi_next_of(&all, shape) == TT_MPI_NEXT_HOST; host++)
        tt_mpi_trial_begin(&all, shape, &meets);
    assert_true(host >= 4);
    assert_int_equal(tt_mpi_next_of(&all, shape), TT_MPI_NEXT_TUTTI);
    tt_mpi_trials_free(&all);
}

/* Tests that the faster side is chosen, also if ranks wait for late ranks and if one run of each
 * side is slow. */
static void decisions(void **state)
{
    (void)state;
    struct tt_mpi_trials all[RANKS] = {0};
    int64_t bytes = 1;
    for (int slow = 0; slow <= 1; slow++)
        for (int tutti = 0; tutti < 2; tutti++)
            for (int tardy = 0; tardy < 2; tardy++, bytes *= 2) {
                const struct takes side[2] = {{.other = tutti ? 2000 : 1900},
                                              {.other = tutti ? 1900 : 2000}};
                int shape = tt_mpi_shape_of(TT_MPI_INDEX_Allreduce, false, bytes);
                struct tt_mpi_decision d = try(all, shape, side, false, tardy, slow);
                assert_int_equal(d.shape, shape);
                assert_int_equal(d.tutti, tutti);
                assert_int_equal(d.host_ns, side[0].other);
                assert_int_equal(d.tutti_ns, side[1].other);
                assert_int_equal(all[1].calls[shape], tutti ? TT_MPI_FOR_TUTTI : TT_MPI_FOR_HOST);
            }
    free_all(all);
}

/* Tests that the host keeps a shape that Tutti does only a little faster. */
static void nearly_equal(void **state)
{
    (void)state;
    struct tt_mpi_trials all[RANKS] = {0};
    const struct takes side[2] = {{.other = 2000}, {.other = 1910}};
    int shape = tt_mpi_shape_of(TT_MPI_INDEX_Allreduce, false, 8);
    assert_false(try(all, shape, side, false, false, 0).tutti);
    free_all(all);
}

/* Tests loops of rooted calls. If the root is the slowest rank, its time counts, although the other
 * ranks find their data ready; if other ranks are slower, the root's time does not count. The time
 * in which data get from the root to another rank does not count. */
static void rooted(void **state)
{
    (void)state;
    struct tt_mpi_trials all[RANKS] = {0};
    const struct takes slow_root[2] = {{60, 70, 150}, {110, 40, 100}};
    const struct takes slow_others[2] = {{40, 120, 50}, {90, 80, 100}};
    int shape = tt_mpi_shape_of(TT_MPI_INDEX_Bcast, false, 8);
    struct tt_mpi_decision d = try(all, shape, slow_root, true, false, 0);
    assert_in_range(d.host_ns, 70, 80);
    assert_in_range(d.tutti_ns, 110, 115);
    assert_false(d.tutti);
    shape = tt_mpi_shape_of(TT_MPI_INDEX_Bcast, false, 16);
    d = try(all, shape, slow_others, true, false, 0);
    assert_in_range(d.host_ns, 120, 125);
    assert_in_range(d.tutti_ns, 90, 100);
    assert_true(d.tutti);
    free_all(all);
}

/* Tests that the host gets the shape on all ranks if one rank has no times, although Tutti is
 * faster. */
static void missing_times(void **state)
{
    (void)state;
    struct tt_mpi_trials with = {0}, without = {0};
    int shape = tt_mpi_shape_of(TT_MPI_INDEX_Barrier, false, 0);
    int64_t began[TT_MPI_TIMED], a[TT_MPI_RUNS + 1], b[TT_MPI_RUNS + 1];
    while (tt_mpi_next_of(&with, shape) != TT_MPI_NEXT_DECIDE) {
        int64_t takes = tt_mpi_next_of(&with, shape) == TT_MPI_NEXT_TUTTI ? 1 : 100;
        bool meets;
        int number = tt_mpi_trial_begin(&with, shape, &meets);
        if (number >= 0) tt_mpi_trial_record(&with, shape, number, 5, 5 + takes);
        tt_mpi_trial_begin(&without, shape, &meets);
    }
    tt_mpi_trial_began(&with, shape, began);
    tt_mpi_trial_costs(&with, shape, began, a);
    assert_int_equal(a[TT_MPI_RUNS], 0);
    tt_mpi_trial_costs(&without, shape, began, b);
    for (int i = 0; i <= TT_MPI_RUNS; i++)
        if (b[i] > a[i]) a[i] = b[i];
    tt_mpi_trial_decide(&with, shape, 6, a);
    assert_int_equal(with.calls[shape], TT_MPI_FOR_HOST);
    tt_mpi_trials_free(&with);
    tt_mpi_trials_free(&without);
}

/* Tests the decisions that communicators inherit: they are found by the group of ranks, the last
 * one on a shape counts, and new ones replace the oldest. */
static void inheritance(void **state)
{
    (void)state;
    struct tt_mpi_decision found[8], d = {.shape = 3, .tutti = 1, .host_ns = 20, .tutti_ns = 10};
    assert_int_equal(tt_mpi_trial_recall(7, found, 8), 0);
    tt_mpi_trial_remember(7, &d);
    d.shape = 4;
    tt_mpi_trial_remember(8, &d);
    d.tutti = 0;
    tt_mpi_trial_remember(8, &d);
    d.shape = 5;
    tt_mpi_trial_remember(8, &d);
    assert_int_equal(tt_mpi_trial_recall(8, found, 8), 2);
    assert_int_equal(tt_mpi_trial_recall(8, found, 1), 1);
    assert_int_equal(found[0].shape, 4);
    assert_false(found[0].tutti);
    struct tt_mpi_trials all = {0};
    assert_int_equal(tt_mpi_trial_recall(7, found, 8), 1);
    tt_mpi_trial_adopt(&all, &found[0]);
    assert_int_equal(all.calls[3], TT_MPI_FOR_TUTTI);
    struct tt_mpi_decision again = tt_mpi_trial_decision(&all, 3);
    assert_memory_equal(&again, &found[0], sizeof again);
    /* A later decision does not replace the one that was adopted. */
    again.tutti = 0;
    again.host_ns = 5;
    tt_mpi_trial_adopt(&all, &again);
    again = tt_mpi_trial_decision(&all, 3);
    assert_memory_equal(&again, &found[0], sizeof again);
    tt_mpi_trials_free(&all);
    for (int i = 0; i < 2000; i++) tt_mpi_trial_remember(1000 + (uint64_t)i, &d);
    assert_int_equal(tt_mpi_trial_recall(7, found, 8), 0);
    assert_int_equal(tt_mpi_trial_recall(2999, found, 8), 1);
}

/* Tests that a map keeps what was not removed, however the hashes collide. */
static void maps(void **state)
{
    (void)state;
    struct tt_mpi_map map = {0};
    for (uint64_t i = 1; i <= 1000; i++) assert_true(tt_mpi_map_set(&map, i * 4096, (int64_t)i));
    for (uint64_t i = 1; i <= 1000; i += 3) tt_mpi_map_remove(&map, i * 4096);
    tt_mpi_map_remove(&map, 5);
    for (uint64_t i = 1; i <= 1000; i++) {
        const int64_t *at = tt_mpi_map_find(&map, i * 4096);
        assert_int_equal(at ? *at : -1, i % 3 == 1 ? -1 : (int64_t)i);
    }
    free(map.entry);
}

/* Tests that calls of one shape are counted in one row, with the costs that were measured last and
 * the sum of the times saved. */
static void rows(void **state)
{
    (void)state;
    struct tt_mpi_shape shape = {.function = TT_MPI_Bcast, .ranks = 2, .type = tt_mpi_text("int")};
    struct tt_mpi_costs costs = {.host_ns = 9, .tutti_ns = 4, .saved_ns = 5};
    size_t n = 0;
    tt_mpi_count(TT_MPI_CALL, &shape, 8, 100, NULL);
    tt_mpi_count(TT_MPI_CALL, &shape, 15, 100, &costs);
    tt_mpi_count(TT_MPI_CALL, &shape, 9, 100, &costs);
    tt_mpi_count(TT_MPI_CALL, &shape, 16, 100, &costs);
    struct tt_mpi_row *row = tt_mpi_rows(&n, NULL);
    assert_non_null(row);
    assert_int_equal(n, 2);
    assert_int_equal(row[0].calls, 3);
    assert_int_equal(row[0].least, 8);
    assert_int_equal(row[0].most, 15);
    assert_int_equal(row[0].bytes, 32);
    assert_int_equal(row[0].costs.saved_ns, 10);
    assert_int_equal(row[0].costs.host_ns, 9);
    assert_string_equal(row[1].type, "int");
    free(row);
}

/* Tests that texts keep their numbers, however many there are. */
static void texts(void **state)
{
    enum { MANY = 3000 };
    static int number[MANY];
    (void)state;
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < MANY; i++) {
            char text[TT_MPI_NAME];
            snprintf(text, sizeof text, "text %d", i);
            int got = tt_mpi_text(text);
            assert_int_not_equal(got, 0);
            if (turn == 0) number[i] = got;
            assert_int_equal(got, number[i]);
            if (i > 0) assert_int_not_equal(got, number[i - 1]);
        }
    assert_int_equal(tt_mpi_text(""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),      cmocka_unit_test(runs),
        cmocka_unit_test(first_calls), cmocka_unit_test(decisions),
        cmocka_unit_test(warm_up),     cmocka_unit_test(nearly_equal),
        cmocka_unit_test(rooted),      cmocka_unit_test(missing_times),
        cmocka_unit_test(inheritance), cmocka_unit_test(maps),
        cmocka_unit_test(rows),        cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
