/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the algorithm `exchange`, in which a rank puts its segments in chunks, here with one put
 * under way at a time. The plans are proven for the orders of puts that many seeds give. The memory
 * of a rank depends on the number of ranks, not on the number of chunks. An alltoallv with equal
 * displacements is an allgather, wherever in the input the common segment lies.
 */
#include <string.h>

#include "brief.h"
#include "prove/prove.h"
#include "plans.h"

enum { MOST = 17 };

static struct tt_prover *prover;

static void one_put_at_a_time(const struct plans *all)
{
    for (int r = 0; r < all->p; r++) {
        const struct tt_plan *plan = all->plans[r];
        for (uint32_t i = 0; i < plan->exchanges_n; i++)
            ((struct tt_exchange *)plan->exchanges)[i].window = 1;
    }
}

static void prove(const struct plans *all, const struct tt_map *map)
{
    struct tt_proof_execution run = {(const struct tt_plan *const *)all->plans, all->calls};
    struct tt_proof_case problem = {
        .p = all->p, .executions = 1, .in_flight = 1, .execution = &run, .map = map};
    struct tt_proof proof;
    if (tt_prove(prover, &problem, &proof) != TUTTI_OK)
        fail_msg("%s: %s", all->text, tutti_error());
    if (proof.fault != TT_FAULT_NONE) fail_msg("%s: %s", all->text, proof.text);
}

/* Returns a problem with segments of about six elements and chunks of one to four elements. */
static struct tt_problem drawn(enum tt_coll coll, int p, uint64_t seed)
{
    struct tt_problem problem = plans_problem(coll, p, 6);
    problem.seed = seed;
    problem.skew = (enum tt_skew)(seed / MOST % TT_SKEWS);
    if (!tt_call_counts(&problem.call)) problem.skew = TT_SKEW_equal;
    problem.call.slice = 8 * (int64_t)(1 + seed % 4);
    problem.call.commutes = seed % 10 != 0; /* one seed in ten puts in rank order, and the others in
                                             * a random order */
    return problem;
}

static void each_seed_is_proven(const struct tt_algorithm *a)
{
    prover = tt_prover_new();
    assert_non_null(prover);
    const uint64_t seeds = (uint64_t)brief(1000, 40);
    for (uint64_t i = 0; i < seeds * (MOST - 1); i++) {
        int p = 2 + (int)(i % (MOST - 1));
        struct tt_problem problem = drawn(a->coll, p, 1 + i / (MOST - 1));
        struct tt_map map = plans_map(p);
        struct plans all;
        assert_true(plans_make(&all, a, &problem, &map));
        one_put_at_a_time(&all);
        prove(&all, &map);
        plans_free(&all);
    }
    tt_prover_free(prover);
}

static void every_seed_is_proven(void **state)
{
    (void)state;
    each_seed_is_proven(&tt_alltoallv_exchange);
    each_seed_is_proven(&tt_alltoall_exchange);
    each_seed_is_proven(&tt_allgatherv_exchange);
    each_seed_is_proven(&tt_allgather_exchange);
}

/* Checks that the prover finds a wrong address in the plan. If the prover accepted everything, the
 * tests above would pass, too. */
static void a_wrong_place_is_found(void **state)
{
    (void)state;
    struct tt_problem problem = drawn(TT_COLL_alltoall, 5, 3);
    struct tt_map map = plans_map(5);
    struct plans all;
    struct tt_proof proof;
    assert_true(plans_make(&all, &tt_alltoall_exchange, &problem, &map));
    one_put_at_a_time(&all);
    ((struct tt_entry *)all.plans[2]->entries)[1].theirs += 8;
    struct tt_proof_execution run = {(const struct tt_plan *const *)all.plans, all.calls};
    struct tt_proof_case wrong = {
        .p = 5, .executions = 1, .in_flight = 1, .execution = &run, .map = &map};
    prover = tt_prover_new();
    assert_non_null(prover);
    assert_int_equal(tt_prove(prover, &wrong, &proof), TUTTI_OK);
    assert_int_not_equal(proof.fault, TT_FAULT_NONE);
    tt_prover_free(prover);
    plans_free(&all);
}

static size_t memory_of(int p, int64_t n, int64_t chunk)
{
    struct tt_problem problem = plans_problem(TT_COLL_alltoall, p, n);
    struct tt_map map = plans_map(p);
    struct plans all;
    problem.call.slice = chunk;
    assert_true(plans_make(&all, &tt_alltoall_exchange, &problem, &map));
    size_t bytes = (size_t)all.plans[0]->bytes + tt_iter_bytes(all.plans[0], 0);
    plans_free(&all);
    return bytes;
}

static void memory_goes_with_the_ranks(void **state)
{
    (void)state;
    size_t whole = memory_of(64, 1 << 20, INT64_C(8) << 20);
    assert_int_equal(memory_of(64, 1 << 20, 8), whole);
    assert_true(memory_of(128, 1 << 20, 8) < 2 * whole + 64);
    assert_true(whole < 64 * 128);
}

/* Returns the call of an alltoallv at rank `me` that gathers: each rank sends the same counts[me]
 * elements, from offset `where` on, to all ranks, and the results are in rank order. `room` is
 * memory for the counts and displacements of the input and of the output, p numbers each. */
static struct tt_call gathering(int p, const int64_t *counts, int me, int64_t where, int64_t *room)
{
    struct tt_call call = {.coll = TT_COLL_alltoallv, .type = TUTTI_F64, .commutes = true, .sz = 8};
    int64_t at = 0;
    for (int r = 0; r < p; r++) {
        room[r] = counts[me];
        room[p + r] = where;
        room[2 * p + r] = counts[r];
        room[3 * p + r] = at;
        at += counts[r];
    }
    call.in_counts = room;
    call.in_displs = room + p;
    call.out_counts = room + 2 * p;
    call.out_displs = room + 3 * p;
    call.slice = 16;
    return call;
}

/* Proves alltoallv calls in which all ranks get the first segment of each rank's input, and calls
 * in which they get a later segment. */
static void allgather_from_any_segment(void **state)
{
    (void)state;
    int64_t counts[MOST], room[MOST][4 * MOST];
    prover = tt_prover_new();
    assert_non_null(prover);
    for (int p = 2; p <= MOST; p++) {
        for (int64_t where = 0; where < 3; where++) {
            struct tt_call calls[MOST];
            struct tt_plan *plans[MOST];
            struct plans all = {.p = p, .calls = calls, .plans = plans};
            struct tt_map map = plans_map(p);
            for (int r = 0; r < p; r++) counts[r] = where == 2 ? 1 + r % 4 : 3;
            for (int r = 0; r < p; r++) {
                calls[r] = gathering(p, counts, r, 5 * where, room[r]);
                plans[r] = tt_algorithm_plan(&tt_alltoallv_exchange, &calls[r], &map, r);
                assert_non_null(plans[r]);
            }
            snprintf(all.text, sizeof all.text, "allgather by alltoallv, p %d, from %d", p,
                     (int)(5 * where));
            prove(&all, &map);
            for (int r = 0; r < p; r++) tt_plan_free(plans[r]);
        }
    }
    tt_prover_free(prover);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_seed_is_proven),
        cmocka_unit_test(a_wrong_place_is_found),
        cmocka_unit_test(memory_goes_with_the_ranks),
        cmocka_unit_test(allgather_from_any_segment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
