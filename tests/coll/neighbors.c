/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoallv algorithms where most pairs of ranks have nothing for each other: they are proven on
 * grids, tori and random graphs, on one node and on several; a plan between neighbours does not
 * grow with the number of ranks; and in any alltoallv, ranks without data for each other send no
 * message and wait for nothing.
 */
#include "brief.h"
#include "plans.h"
#include "prove/prove.h"

static const struct tt_algorithm *const algorithms[] = {
    &tt_alltoallv_flat, &tt_alltoallv_pairwise, &tt_alltoallv_exchange, &tt_alltoallv_mixed};
enum { ALGORITHMS = 4, GRAPHS = 4, MAPS = 3, SLICE = 24 };

/* Returns a graph of ranks: a grid (0) or torus (1) that is as square as p allows, or a random
 * graph with about three destinations for each rank (2) or with all ranks as destinations (3). */
static struct tt_problem_graph graph(int p, int which)
{
    struct tt_problem_graph g = {.kind = which ? TT_GRAPH_torus : TT_GRAPH_grid, .dims = 2};
    for (int n = 1; n * n <= p; n++)
        if (p % n == 0) g.dim[0] = p / n, g.dim[1] = n;
    if (which < 2) return g;
    return (struct tt_problem_graph){
        .kind = TT_GRAPH_random, .dims = 1, .dim = {which == 2 ? 3 : p}};
}

/* Returns a map: all ranks on one node (0), or on several nodes without (1) or with (2) puts and
 * gets between them. */
static struct tt_map map_of(int p, int which, int *node)
{
    if (which == 0) return plans_map(p);
    struct tt_map map = plans_nodes(p, p % PLANS_NODES, node);
    map.rdma = which == 2;
    return map;
}

/* Proves two executions, of which the second begins before the first has ended. */
static void prove(struct tt_prover *prover, const struct plans *all, const struct tt_map *map)
{
    struct tt_proof_execution once = {(const struct tt_plan *const *)all->plans, all->calls};
    struct tt_proof_execution run[] = {once, once};
    struct tt_proof_case problem = {
        .p = all->p, .executions = 2, .in_flight = 2, .execution = run, .map = map};
    struct tt_proof proof;
    if (tt_prove(prover, &problem, &proof) != TUTTI_OK)
        fail_msg("%s: %s", all->text, tutti_error());
    if (proof.fault != TT_FAULT_NONE) fail_msg("%s: %s", all->text, proof.text);
}

static int prove_graph(struct tt_prover *prover, const struct tt_algorithm *a, int p, int which)
{
    int node[PLANS_RANKS], proven = 0;
    for (int i = 0; i < TT_SKEWS * MAPS; i++) {
        struct tt_map map = map_of(p, i % MAPS, node);
        struct tt_problem problem = plans_problem(TT_COLL_alltoallv, p, 5);
        struct plans all;
        problem.graph = graph(p, which);
        problem.skew = (enum tt_skew)(i / MAPS);
        problem.call.slice = SLICE;
        if (!plans_make(&all, a, &problem, &map)) continue;
        prove(prover, &all, &map);
        plans_free(&all);
        proven++;
    }
    return proven;
}

static void neighbours_are_proven(void **state)
{
    (void)state;
    struct tt_prover *prover = tt_prover_new();
    assert_non_null(prover);
    for (int i = 0; i < ALGORITHMS; i++) {
        int proven = 0;
        for (int p = 2; p <= brief(33, 9); p++)
            for (int which = 0; which < GRAPHS; which++)
                proven += prove_graph(prover, algorithms[i], p, which);
        print_message("%s: %d proofs\n", algorithms[i]->name, proven);
        assert_true(proven >= (brief(33, 9) - 1) * GRAPHS * TT_SKEWS);
    }
    tt_prover_free(prover);
}

/* ---- The size of plans ---- */

/* The plan of one rank of p, and the call that it was made for. */
struct ranks_plan {
    struct tt_call call;
    struct tt_plan *plan;
    int64_t *room;
    int *node;
};

static struct ranks_plan one_of(const struct tt_algorithm *a, const struct tt_problem *problem,
                                int me, bool apart)
{
    struct ranks_plan one = {.room = tt_calloc(tt_problem_room(problem), sizeof(int64_t)),
                             .node = tt_calloc((size_t)problem->p, sizeof(int))};
    struct tt_map map = plans_map(problem->p);
    assert_true(one.room && one.node);
    for (int r = 0; r < problem->p; r++) one.node[r] = r;
    if (apart) map.node = one.node, map.nodes = problem->p, map.rdma = true;
    one.call = tt_problem_call(problem, me, one.room);
    assert_null(a->refuse(&one.call, &map));
    one.plan = tt_algorithm_plan(a, &one.call, &map, me);
    assert_non_null(one.plan);
    return one;
}

static void one_free(struct ranks_plan *one)
{
    tt_plan_free(one->plan);
    tt_free(one->room);
    tt_free(one->node);
}

static void plans_do_not_grow_with_the_ranks(void **state)
{
    (void)state;
    for (int i = 0; i < ALGORITHMS * 2; i++) {
        struct tt_problem few = plans_problem(TT_COLL_alltoallv, 64, 5), many;
        if (algorithms[i / 2] == &tt_alltoallv_mixed && i % 2)
            continue; /* `mixed` is for one node */
        /* `mixed` sends a block that is longer than a slice in another way than a shorter one. With
         * slices of one element all blocks are longer, whatever p is. */
        few.call.slice = few.call.sz;
        many = few;
        few.graph = (struct tt_problem_graph){TT_GRAPH_torus, 3, {4, 4, 4}};
        many.graph = (struct tt_problem_graph){TT_GRAPH_torus, 3, {16, 16, 16}};
        many.p = 4096;
        struct ranks_plan of_few = one_of(algorithms[i / 2], &few, 21, i % 2);
        struct ranks_plan of_many = one_of(algorithms[i / 2], &many, 1234, i % 2);
        assert_int_equal(of_few.call.neighbors->to_n, 6);
        assert_int_equal(of_many.plan->steps_n, of_few.plan->steps_n);
        assert_int_equal(of_many.plan->ranks_n, of_few.plan->ranks_n);
        assert_int_equal(of_many.plan->entries_n, of_few.plan->entries_n);
        assert_in_range(of_many.plan->steps_n, 6, 4 * 6 + 4);
        one_free(&of_few);
        one_free(&of_many);
    }
}

/* Returns how many steps of this kind the plan has. */
static int steps(const struct tt_plan *plan, enum tt_kind kind)
{
    int n = 0;
    for (uint32_t i = 0; i < plan->steps_n; i++) n += plan->steps[i].kind == kind;
    return n;
}

/* Returns how many of the counts for other ranks are not 0. */
static int pieces(const int64_t *counts, int p, int me)
{
    int n = 0;
    for (int r = 0; r < p; r++) n += r != me && counts[r] > 0;
    return n;
}

/* Checks that ranks whose counts for each other are 0 have no steps for each other. About half of
 * the counts are 0. */
static void ranks_without_data_for_each_other_do_nothing(void **state)
{
    enum { P = 33 };
    (void)state;
    for (int me = 0; me < P; me++) {
        struct tt_problem problem = plans_problem(TT_COLL_alltoallv, P, 5);
        problem.skew = TT_SKEW_zero;
        for (int apart = 0; apart < 2; apart++) {
            struct ranks_plan flat = one_of(&tt_alltoallv_flat, &problem, me, apart);
            struct ranks_plan sent = one_of(&tt_alltoallv_pairwise, &problem, me, apart);
            struct ranks_plan put = one_of(&tt_alltoallv_exchange, &problem, me, apart);
            struct ranks_plan mixed = one_of(&tt_alltoallv_mixed, &problem, me, false);
            int to = pieces(flat.call.in_counts, P, me), from = pieces(flat.call.out_counts, P, me);
            assert_in_range(to, 5, P - 6);
            assert_int_equal(steps(flat.plan, TT_AWAIT), to + from);
            assert_int_equal(steps(put.plan, TT_AWAIT), to + from);
            assert_int_equal(flat.plan->ranks_n, apart ? to + from : 0);
            assert_int_equal(put.plan->ranks_n, apart ? to + from : 0);
            assert_int_equal(steps(sent.plan, TT_SEND), to);
            assert_int_equal(steps(sent.plan, TT_RECV), from);
            assert_int_equal(steps(sent.plan, TT_SIGNAL) + steps(sent.plan, TT_AWAIT), 0);
            assert_int_equal(steps(mixed.plan, TT_AWAIT), from);
            assert_in_range(steps(mixed.plan, TT_COPY), to + from, to + from + 1);
            one_free(&flat);
            one_free(&mixed);
            one_free(&sent);
            one_free(&put);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_are_proven),
        cmocka_unit_test(plans_do_not_grow_with_the_ranks),
        cmocka_unit_test(ranks_without_data_for_each_other_do_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
