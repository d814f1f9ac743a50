/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The measured choice without an MPI: shapes, trials, decisions of several ranks from times that
 * the test makes up, and decisions that are inherited. Also the maps and the rows of the counter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "mpi/trial.h"

enum { RANKS = 3 };

/* Each collective and magnitude has a shape of its own, below the number of shapes. */
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

/* The ranks make the calls of a trial. A call of the host takes host_ns and one of Tutti tutti_ns
 * after the last rank has begun; the ranks begin late in turn, and `slow` calls of each side take
 * much longer. Returns the shape's decision, which is the same on all ranks. */
static struct tt_mpi_decision try(struct tt_mpi_trials *all, int shape, bool one_clock,
                                  int64_t host_ns, int64_t tutti_ns, int slow)
{
    int64_t clock[RANKS] = {1000, 1000, 1000}, most[TT_MPI_NUMBERS];
    int calls[2] = {0}, recorded[2] = {0};
    if (!one_clock) clock[1] = 777777777;
    for (int call = 0; tt_mpi_next_of(&all[0], shape) != TT_MPI_NEXT_DECIDE; call++) {
        bool tutti = tt_mpi_next_of(&all[0], shape) == TT_MPI_NEXT_TUTTI;
        int late = call % RANKS, number = -1;
        calls[tutti]++;
        for (int r = 0; r < RANKS; r++) {
            assert_int_equal(tt_mpi_next_of(&all[r], shape) == TT_MPI_NEXT_TUTTI, tutti);
            number = tt_mpi_trial_begin(&all[r], shape);
            int64_t takes = (tutti ? tutti_ns : host_ns) + (recorded[tutti] < slow ? 1000000 : 0);
            if (r != late) takes += 50000; /* it waits for the late rank */
            if (number >= 0)
                tt_mpi_trial_record(&all[r], shape, number, clock[r] + (r == late ? 50000 : 0),
                                    clock[r] + takes + (r == late ? 50000 : 0));
            clock[r] += 100000;
        }
        recorded[tutti] += number >= 0;
    }
    assert_int_equal(recorded[0], TT_MPI_MEASURED / 2);
    assert_int_equal(recorded[1], TT_MPI_MEASURED / 2);
    assert_true(calls[0] > recorded[0] && calls[1] > recorded[1]);
    for (int r = 0; r < RANKS; r++) {
        int64_t own[TT_MPI_NUMBERS];
        tt_mpi_trial_numbers(&all[r], shape, one_clock, own);
        for (int i = 0; i < TT_MPI_NUMBERS; i++)
            if (r == 0 || own[i] > most[i]) most[i] = own[i];
    }
    struct tt_mpi_decision first = {0};
    for (int r = 0; r < RANKS; r++) {
        tt_mpi_trial_decide(&all[r], shape, one_clock, most);
        struct tt_mpi_decision d = tt_mpi_trial_decision(&all[r], shape);
        if (r == 0) first = d;
        assert_memory_equal(&first, &d, sizeof d);
    }
    return first;
}

static void free_all(struct tt_mpi_trials *all)
{
    for (int r = 0; r < RANKS; r++) tt_mpi_trials_free(&all[r]);
}

/* The first calls are the host's, so that a program with few calls loses nothing. */
static void first_calls(void **state)
{
    (void)state;
    struct tt_mpi_trials all = {0};
    int shape = tt_mpi_shape_of(TT_MPI_INDEX_Bcast, false, 8), host = 0;
    for (; tt_mpi_next_of(&all, shape) == TT_MPI_NEXT_HOST; host++) tt_mpi_trial_begin(&all, shape);
    assert_true(host >= 4);
    assert_int_equal(tt_mpi_next_of(&all, shape), TT_MPI_NEXT_TUTTI);
    tt_mpi_trials_free(&all);
}

/* The faster side is chosen, and waiting for late ranks is not measured. */
static void decisions(void **state)
{
    (void)state;
    struct tt_mpi_trials all[RANKS] = {0};
    int64_t bytes = 1;
    for (int one_clock = 0; one_clock < 2; one_clock++)
        for (int slow = 0; slow <= 2; slow++)
            for (int tutti = 0; tutti < 2; tutti++, bytes *= 2) {
                int shape = tt_mpi_shape_of(TT_MPI_INDEX_Allreduce, false, bytes);
                struct tt_mpi_decision d =
                    try(all, shape, one_clock, tutti ? 2000 : 1900, tutti ? 1900 : 2000, slow);
                assert_int_equal(d.shape, shape);
                assert_int_equal(d.tutti, tutti);
                assert_int_equal(d.host_ns, tutti ? 2000 : 1900);
                assert_int_equal(d.tutti_ns, tutti ? 1900 : 2000);
                assert_int_equal(all[1].calls[shape], tutti ? TT_MPI_FOR_TUTTI : TT_MPI_FOR_HOST);
            }
    free_all(all);
}

/* On several hosts, a rank may leave a rooted collective at once: the longest time counts. */
static void rooted(void **state)
{
    (void)state;
    struct tt_mpi_trials all[RANKS] = {0};
    int shape = tt_mpi_shape_of(TT_MPI_INDEX_Bcast, false, 8);
    struct tt_mpi_decision d = try(all, shape, false, 1000, 3000, 0);
    assert_int_equal(d.host_ns, 51000);
    assert_int_equal(d.tutti_ns, 53000);
    assert_false(d.tutti);
    free_all(all);
}

/* If a rank has no times, the host gets the shape on all ranks, though Tutti is faster. */
static void missing_times(void **state)
{
    (void)state;
    struct tt_mpi_trials with = {0}, without = {0};
    int shape = tt_mpi_shape_of(TT_MPI_INDEX_Barrier, false, 0);
    int64_t a[TT_MPI_NUMBERS], b[TT_MPI_NUMBERS];
    while (tt_mpi_next_of(&with, shape) != TT_MPI_NEXT_DECIDE) {
        int64_t takes = tt_mpi_next_of(&with, shape) == TT_MPI_NEXT_TUTTI ? 1 : 100;
        int number = tt_mpi_trial_begin(&with, shape);
        if (number >= 0) tt_mpi_trial_record(&with, shape, number, 5, 5 + takes);
        tt_mpi_trial_begin(&without, shape);
    }
    tt_mpi_trial_numbers(&with, shape, true, a);
    tt_mpi_trial_numbers(&without, shape, true, b);
    for (int i = 0; i < TT_MPI_NUMBERS; i++)
        if (b[i] > a[i]) a[i] = b[i];
    tt_mpi_trial_decide(&with, shape, true, a);
    assert_int_equal(with.calls[shape], TT_MPI_FOR_HOST);
    tt_mpi_trials_free(&with);
    tt_mpi_trials_free(&without);
}

/* Decisions are found by the group, the last one of a shape counts, and old ones make room. */
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
    tt_mpi_trials_free(&all);
    for (int i = 0; i < 2000; i++) tt_mpi_trial_remember(1000 + (uint64_t)i, &d);
    assert_int_equal(tt_mpi_trial_recall(7, found, 8), 0);
    assert_int_equal(tt_mpi_trial_recall(2999, found, 8), 1);
}

/* A map keeps what was not removed, however the hashes collide. */
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

/* Calls of a shape are one row, with the costs that were measured last and all that was saved. */
static void rows(void **state)
{
    (void)state;
    struct tt_mpi_shape shape = {.function = TT_MPI_Bcast, .ranks = 2, .type = tt_mpi_text("int")};
    struct tt_mpi_costs costs = {.host_ns = 9, .tutti_ns = 4, .saved_ns = 5};
    size_t n = 0;
    tt_mpi_count(&shape, 8, 100, NULL);
    tt_mpi_count(&shape, 15, 100, &costs);
    tt_mpi_count(&shape, 9, 100, &costs);
    tt_mpi_count(&shape, 16, 100, &costs);
    struct tt_mpi_row *row = tt_mpi_rows(&n);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes), cmocka_unit_test(first_calls),   cmocka_unit_test(decisions),
        cmocka_unit_test(rooted), cmocka_unit_test(missing_times), cmocka_unit_test(inheritance),
        cmocka_unit_test(maps),   cmocka_unit_test(rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
