/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proves every algorithm for all small p and all roots, lengths around p, slices of one or three
 * elements, in place or not, commuting or not, with large and tiny windows, with or without access
 * to the memory of other ranks, on one or several nodes, on networks, and twice in a row. `tutti
 * check all`, which the test plan-check runs, proves more.
 */
#include <string.h>

#include "brief.h"
#include "coll/coll-util.h"
#include "prove/prove.h"
#include "plans.h"
#include "topo/logical.h"

/* A brief run (brief.h) proves only one problem in SPREAD. `rarely` is FEWER in the test whose
 * problems `tutti check all` proves in a similar form; there every run, brief or not, proves only
 * one problem in FEWER of those that it would otherwise prove. In all other tests `rarely` is 1.
 * Neither SPREAD nor FEWER has a factor in common with the lengths of the loops over the parameters
 * of a problem, so the problems that are proven have all values of each parameter. */
enum { SPREAD = 11, FEWER = 5 };
static int rarely = 1;

static struct tt_prover *prover;
/* the number of problems to which the current algorithm applies, both those that are proven and
 * those that are left out because only a sample is proven */
static int proven;

/* Proves two executions of which the second starts before the first has ended. */
static void prove(const struct plans *all, const struct tt_map *map)
{
    struct tt_proof_execution once = {(const struct tt_plan *const *)all->plans, all->calls};
    struct tt_proof_execution run[] = {once, once};
    struct tt_proof_case problem = {
        .p = all->p, .executions = 2, .in_flight = 2, .execution = run, .map = map};
    struct tt_proof proof;
    if (tt_prove(prover, &problem, &proof) != TUTTI_OK)
        fail_msg("%s: %s", all->text, tutti_error());
    if (proof.fault != TT_FAULT_NONE)
        fail_msg("%s (slice %lld, window %lld, reads %d, in place %d): %s", all->text,
                 (long long)all->calls[0].slice, (long long)map->win_bytes, map->reads,
                 all->calls[all->calls[0].root].in_place, proof.text);
}

static bool touches(const struct tt_plan *plan, const struct tt_step *s, int rank)
{
    if (s->kind == TT_SEND || s->kind == TT_RECV) return s->peer == rank;
    if (s->kind != TT_PUT && s->kind != TT_GET && s->kind != TT_COPY && s->kind != TT_REDUCE)
        return false;
    for (uint32_t i = 0; i < s->nops; i++)
        if (plan->ranges[s->first + i].rank == rank) return true;
    return false;
}

/* Returns whether the plan awaits a signal of the writer before it touches memory of the writer. */
static bool awaits(const struct tt_plan *plan, int writer)
{
    for (uint32_t i = 0; i < plan->steps_n; i++) {
        if (plan->steps[i].kind == TT_AWAIT && plan->steps[i].peer == writer) return true;
        if (touches(plan, &plan->steps[i], writer)) return false;
    }
    return false;
}

/* The greatest value of a flag in the plans that were proven. */
static uint32_t greatest;

static void note_flags(const struct plans *all)
{
    for (int r = 0; r < all->p; r++)
        for (uint32_t i = 0; i < all->plans[r]->steps_n; i++)
            if (all->plans[r]->steps[i].kind == TT_SIGNAL)
                greatest = (uint32_t)tt_max(greatest, all->plans[r]->steps[i].value);
}

/* In a gatherv or scatterv, only the receiver of a piece compares the count of the sender with its
 * own (coll.h). This function checks that the receiver awaits a signal of the sender before it
 * reads the piece. */
static void compare_what_they_get(const struct tt_algorithm *a, const struct plans *all)
{
    bool pairs = a->coll == TT_COLL_gatherv || a->coll == TT_COLL_scatterv;
    int root = all->calls[0].root;
    if (!pairs || a->first != TT_FIRST_NOTHING) return;
    for (int r = 0; r < all->p; r++) {
        bool gathers = a->coll == TT_COLL_gatherv;
        if (r != root && !awaits(all->plans[gathers ? root : r], gathers ? r : root))
            fail_msg("%s: rank %d does not await rank %d", all->text, gathers ? root : r,
                     gathers ? r : root);
    }
}

static void one(const struct tt_algorithm *a, const struct tt_problem *problem,
                const struct tt_map *map)
{
    struct plans all;
    if (a->refuse(&problem->call, map)) return;
    if (proven++ % (brief(1, SPREAD) * rarely)) return;
    assert_true(plans_make(&all, a, problem, map));
    prove(&all, map);
    compare_what_they_get(a, &all);
    note_flags(&all);
    plans_free(&all);
}

/* The caller has proven this problem, which has unequal blocks, not in place and with an operation
 * that does not commute. This function proves the other three combinations: in place or not, with
 * an operation that commutes or does not. */
static void unequal_blocks(const struct tt_algorithm *a, struct tt_problem problem,
                           struct tt_map *map)
{
    problem.call.in_place = true;
    one(a, &problem, map);
    problem.call.op = TUTTI_SUM;
    problem.call.commutes = true;
    one(a, &problem, map);
    problem.call.in_place = false;
    one(a, &problem, map);
}

/* Proves the problem with an operation that commutes and with one that does not, in place and not,
 * with equal and with skewed counts, as far as the collective has these. */
static void variants(const struct tt_algorithm *a, struct tt_problem problem, struct tt_map *map)
{
    one(a, &problem, map);
    if (tt_coll_has_place(a->coll)) {
        problem.call.in_place = true;
        one(a, &problem, map);
    }
    if (tt_coll_has_op(a->coll)) {
        problem.call.op = TUTTI_OP_USER;
        problem.call.commutes = false;
        one(a, &problem, map);
        problem.call.in_place = false;
        one(a, &problem, map);
    }
    for (int skew = 1; tt_call_counts(&problem.call) && skew < TT_SKEWS; skew++) {
        problem.skew = (enum tt_skew)skew;
        problem.call.in_place = false;
        one(a, &problem, map);
        problem.call.in_place = tt_coll_has_place(a->coll) && !tt_coll_has_op(a->coll);
        if (problem.call.in_place) one(a, &problem, map);
        if (a->coll == TT_COLL_reduce_scatter) unequal_blocks(a, problem, map);
    }
}

static void slices(const struct tt_algorithm *a, struct tt_problem problem, struct tt_map *map)
{
    static const int64_t lengths[] = {0, 8, 24};
    static const int radices[] = {0, 4, 8};
    for (int i = 0; i < (plans_exchanges(a) ? 9 : 3); i++) {
        problem.call.slice = lengths[i % 3];
        problem.call.radix = radices[i / 3];
        variants(a, problem, map);
    }
}

static void sizes(const struct tt_algorithm *a, struct tt_map *map, int root, bool all_sizes)
{
    int p = map->p;
    const int64_t n[] = {2 * p + 3, 1, 0, p - 1, p, 7 * p + 1, 64};
    for (int i = 0; i < (all_sizes ? 7 : 1); i++) {
        struct tt_problem problem = plans_problem(a->coll, p, n[i]);
        if (tt_coll_has_root(a->coll)) problem.call.root = root;
        slices(a, problem, map);
    }
}

static void maps(const struct tt_algorithm *a, int p)
{
    int roots = tt_coll_has_root(a->coll) ? p : 1;
    struct tt_map map = plans_map(p);
    for (int root = 0; root < roots; root++) sizes(a, &map, root, root == 0);
    plans_window(&map, 2 * p * 8 + 16);
    sizes(a, &map, p / 2 % roots, true);
    map.reads = map.writes = map.mapped = false;
    map.cores = 1;
    sizes(a, &map, p / 3 % roots, true);
    int node[PLANS_RANKS];
    for (int which = 0; which < PLANS_NODES; which++) {
        map = plans_nodes(p, which, node);
        plans_window(&map, which % 2 ? 500 : map.win_bytes);
        for (int root = 0; root < roots; root += 1 + p / 4)
            sizes(a, &map, root, plans_span_nodes(a));
    }
}

static void networks(const struct tt_algorithm *a)
{
    for (const char *const *text = plans_networks; *text && plans_need_network(a); text++) {
        struct tt_net net = plans_network(*text);
        struct tt_map map = plans_map(net.ranks);
        map.net = &net;
        sizes(a, &map, map.p / 2 * tt_coll_has_root(a->coll), true);
        tt_net_free(&net);
    }
}

/* Proves problems with vectors so long that the algorithm uses its stages for long vectors: 40 KiB
 * in slices of 4 KiB. */
static void long_ones(const struct tt_algorithm *a, int p)
{
    int node[PLANS_RANKS];
    for (int which = 0; which < PLANS_NODES; which++) {
        struct tt_map map = plans_nodes(p, which, node);
        struct tt_problem problem = plans_problem(a->coll, p, 5000);
        if (tt_coll_has_root(a->coll)) problem.call.root = p / 3;
        for (int i = 0; i < 2; i++) {
            variants(a, problem, &map);
            problem.call.slice = 4096;
            plans_window(&map, 9000);
        }
        plans_window(&map, 128 << 10);
        problem.call.n = 20000; /* three slices; each rank of a node reduces a part of each slice */
        problem.call.slice = 40 << 10;
        problem.call.in_place = false;
        if (tt_coll_has_op(a->coll) && !tt_call_counts(&problem.call)) variants(a, problem, &map);
    }
}

static void spanning_algorithms_are_proven_for_long_vectors(void **state)
{
    (void)state;
    prover = tt_prover_new();
    assert_non_null(prover);
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
        for (int p = 5; p <= brief(17, 5) && plans_span_nodes(*a); p += 4) long_ones(*a, p);
    tt_prover_free(prover);
}

/* Returns whether the algorithm cuts a long vector into slices, each with a lane. */
static bool has_lanes(const struct tt_algorithm *a)
{
    bool reduces = a->coll == TT_COLL_reduce || a->coll == TT_COLL_allreduce;
    return reduces && plans_span_nodes(a) && strcmp(a->name, "logical") != 0;
}

/* Checks that every rank has this many lanes. */
static void count_lanes(const struct tt_algorithm *a, const struct tt_problem *problem,
                        const struct tt_map *map, uint32_t lanes)
{
    struct plans all;
    assert_true(plans_make(&all, a, problem, map));
    for (int r = 0; r < all.p; r++) assert_int_equal(all.plans[r]->lanes, lanes);
    plans_free(&all);
}

/* Proves the algorithm with each number of lanes, and with 0: the algorithm's own, which is 3. The
 * ranks are on two nodes, in two different ways. A vector of nine slices is long enough for eight
 * lanes, and one of three slices for three. */
static void each_number_of_lanes(const struct tt_algorithm *a, int p)
{
    int node[PLANS_RANKS];
    for (int lanes = 0; lanes <= TT_LANES; lanes++) {
        struct tt_map map = plans_map(p);
        struct tt_problem problem = plans_problem(a->coll, p, 9 * 512);
        problem.call.slice = 512 * problem.call.sz;
        problem.call.lanes = lanes;
        if (tt_coll_has_root(a->coll)) problem.call.root = p / 2;
        for (int r = 0; r < p; r++) node[r] = lanes % 2 ? r % 2 : 2 * r / p;
        map.nodes = 2;
        map.node = node;
        count_lanes(a, &problem, &map, lanes ? (uint32_t)lanes : 3);
        variants(a, problem, &map);
        problem.call.n = problem.n = 3 * 512;
        count_lanes(a, &problem, &map, lanes == 1 || lanes == 2 ? (uint32_t)lanes : 3);
    }
}

static void every_number_of_lanes_is_proven(void **state)
{
    (void)state;
    int algorithms = 0;
    prover = tt_prover_new();
    assert_non_null(prover);
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        if (!has_lanes(*a)) continue;
        algorithms++;
        for (int p = 3; p <= brief(13, 8); p += 5) each_number_of_lanes(*a, p);
    }
    assert_int_equal(algorithms, 3);
    tt_prover_free(prover);
}

/* ---- Ranks in any order over the nodes ---- */

/* Returns a map of p ranks. which = 0 to 2: the ranks are distributed in turn over 2, 3 or 5 nodes;
 * 3: at random; 4: over nodes with about 1/2, 1/4, 1/8 ... of the ranks. */
enum { SCATTERS = 5 };
static struct tt_map scattered(int p, int which, int *node)
{
    static const int nodes[] = {2, 3, 5};
    struct tt_map map = plans_map(p);
    struct tt_random random;
    tt_random_seed(&random, (uint64_t)p);
    for (int r = 0; r < p; r++)
        node[r] = which < 3    ? r % nodes[which]
                  : which == 3 ? (int)tt_random_below(&random, 1 + (uint64_t)p / 3)
                               : __builtin_ctz((unsigned)r + 1);
    map.nodes = PLANS_RANKS;
    map.node = node;
    return map;
}

/* Proves the problem, whose operation commutes. Fails if the algorithm refuses it. */
static void must_prove(const struct tt_algorithm *a, const struct tt_problem *problem,
                       const struct tt_map *map)
{
    int before = proven;
    one(a, problem, map);
    if (proven != before + 1) fail_msg("%s %s: refused", tt_coll_name(a->coll), a->name);
}

static void scatter_ranks(const struct tt_algorithm *a, int p)
{
    int node[PLANS_RANKS];
    for (int which = 0; which < SCATTERS; which++) {
        struct tt_map map = scattered(p, which, node);
        struct tt_problem problem = plans_problem(a->coll, p, 3);
        if (tt_coll_has_root(a->coll)) problem.call.root = p - 1;
        must_prove(a, &problem, &map);
        problem.call.in_place = tt_coll_has_place(a->coll);
        problem.call.n = problem.n = tt_call_counts(&problem.call) ? 3 : 2 * p + 1;
        must_prove(a, &problem, &map);
    }
}

static void ranks_may_be_in_any_order_over_the_nodes(void **state)
{
    (void)state;
    prover = tt_prover_new();
    assert_non_null(prover);
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        if (!plans_span_nodes(*a)) continue;
        proven = 0;
        for (int p = 2; p <= brief(33, 17); p++) scatter_ranks(*a, p);
        assert_int_equal(proven, (brief(33, 17) - 1) * SCATTERS * 2);
    }
    tt_prover_free(prover);
}

/* ---- Operands in rank order, on the logical tree ---- */

/* How many hard cases were tried. `deep`: logical trees with more than two levels of nodes. `cut`:
 * roots that are not on the identified node and whose node lies between other nodes in rank order,
 * so that the global root sends two operands: one from the nodes before the root's node, and one
 * from the nodes after it. */
struct hard {
    int deep, cut;
};

static bool is_hard(const struct tt_map *map, int root, struct hard *hard)
{
    struct tt_logical tree;
    assert_true(tt_logical_of(map, root, true, &tree));
    bool adjacent = tree.nodes.adjacent;
    hard->deep += adjacent && tree.levels > 2;
    hard->cut += adjacent && tree.runs == 2;
    tt_logical_free(&tree);
    return adjacent;
}

/* Proves the algorithm for an operation that does not commute, in place and not, in slices of one
 * and of three elements. Fails if the algorithm refuses one of these problems. */
static void in_order(const struct tt_algorithm *a, const struct tt_map *map, int root)
{
    struct tt_problem problem = plans_problem(a->coll, map->p, 7);
    problem.call.op = TUTTI_OP_USER;
    problem.call.commutes = false;
    if (root >= 0) problem.call.root = root;
    for (int i = 0; i < 4; i++) {
        int before = proven;
        problem.call.slice = i < 2 ? 8 : 24;
        problem.call.in_place = i % 2;
        one(a, &problem, map);
        if (proven != before + 1) fail_msg("%d ranks, root %d: refused", map->p, root);
    }
}

static void tree_in_order(const struct tt_algorithm *a, int p, struct hard *hard)
{
    int node[PLANS_RANKS], rooted = tt_coll_has_root(a->coll);
    for (int which = 0; which < PLANS_NODES; which++) {
        struct tt_map map = plans_nodes(p, which, node);
        for (int root = rooted - 1; root < (rooted ? p : 0); root += p < 10 ? 1 : p / 6)
            if (is_hard(&map, root, hard)) in_order(a, &map, root);
    }
}

static void the_logical_tree_keeps_any_order(void **state)
{
    (void)state;
    struct hard hard = {0};
    prover = tt_prover_new();
    assert_non_null(prover);
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
        for (int p = 2; p <= brief(33, 17) && !strcmp((*a)->name, "logical"); p += p < 10 ? 1 : 4)
            if (tt_coll_has_op((*a)->coll)) tree_in_order(*a, p, &hard);
    print_message("%d deep, %d with a root between\n", hard.deep, hard.cut);
    assert_true(hard.deep > 20 && hard.cut > 20);
    tt_prover_free(prover);
}

/* ---- All algorithms ---- */

static void every_algorithm_is_proven(void **state)
{
    (void)state;
    prover = tt_prover_new();
    assert_non_null(prover);
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        proven = 0;
        rarely = FEWER;
        for (int p = 1; p <= brief(9, 4); p++) maps(*a, p);
        rarely = 1;
        networks(*a);
        print_message("%s %s: %d problems\n", tt_coll_name((*a)->coll), (*a)->name, proven);
        assert_true(proven > 0);
    }
    tt_prover_free(prover);
}

/* Checks that the algorithm `neighbour` refuses odd numbers of ranks, and proves it for all even
 * ones. */
static void neighbours_exchange_in_even_numbers(void **state)
{
    (void)state;
    prover = tt_prover_new();
    assert_non_null(prover);
    for (int p = 1; p <= 33; p++) {
        struct tt_problem problem = plans_problem(TT_COLL_allgather, p, 3);
        struct tt_map map = plans_map(p);
        int before = proven;
        one(&tt_allgather_neighbour, &problem, &map);
        problem.call.in_place = true;
        one(&tt_allgather_neighbour, &problem, &map);
        assert_int_equal(proven - before, p == 1 || p % 2 == 0 ? 2 : 0);
    }
    tt_prover_free(prover);
}

/* Proves problems with equal and skewed counts, with roots at the beginning, in the middle and at
 * the end, in place or not, with windows for all pieces and for none, with and without access to
 * the memory of other ranks. */
static void rooted_lists(const struct tt_algorithm *a, int p)
{
    for (int i = 0; i < 3 * 2 * 2; i++) {
        struct tt_problem problem = plans_problem(a->coll, p, 5);
        struct tt_map map = plans_map(p);
        problem.call.root = i % 3 * (p - 1) / 2;
        if (i / 3 % 2) plans_window(&map, 64);
        if (i / 6) map.reads = map.writes = map.mapped = false;
        variants(a, problem, &map);
    }
}

static void only_the_root_knows_the_counts_of_others(void **state)
{
    (void)state;
    prover = tt_prover_new();
    assert_non_null(prover);
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        if ((*a)->coll != TT_COLL_gatherv && (*a)->coll != TT_COLL_scatterv) continue;
        proven = 0;
        for (int p = 1; p <= brief(33, 17); p++) rooted_lists(*a, p);
        print_message("%s %s: %d problems\n", tt_coll_name((*a)->coll), (*a)->name, proven);
        assert_true(proven >= 100 * brief(33, 17) / 4);
    }
    tt_prover_free(prover);
}

/* Proves problems in which reading another rank's memory is very slow or forbidden. So a piece that
 * is longer than its place in the window passes through this place in slices, which use the two
 * halves of the place in turn. Each half has room for one or two elements, and pieces have up to 66
 * slices. */
static void long_pieces(const struct tt_algorithm *a, int p)
{
    for (int i = 0; i < 3 * 2 * 3; i++) {
        static const int64_t n[] = {5, 17, 66};
        struct tt_problem problem = plans_problem(a->coll, p, n[i % 3]);
        struct tt_map map = plans_map(p);
        int64_t part = i / 3 % 2 ? 16 : 32;
        plans_window(&map, 64);
        map.win_bytes = 64 + TT_WIN_LINE + part * (a->coll == TT_COLL_gatherv ? 1 : p - 1);
        map.mapped = false;
        map.read_cost = TT_VERY_DEAR;
        if (i / 6 == 0) map.reads = map.writes = false;
        problem.call.slice = 8;
        problem.call.root = tt_coll_has_root(a->coll) ? i / 6 * (p - 1) / 2 : 0;
        variants(a, problem, &map);
    }
}

static void long_pieces_go_in_slices(void **state)
{
    static const struct tt_algorithm *const with[] = {&tt_gatherv_flat, &tt_scatterv_flat,
                                                      &tt_alltoallv_mixed};
    (void)state;
    prover = tt_prover_new();
    assert_non_null(prover);
    for (int i = 0; i < 3; i++) {
        proven = 0;
        greatest = 0;
        for (int p = 2; p <= brief(7, 4); p++) long_pieces(with[i], p);
        print_message("%s %s: %d problems, flags up to %u\n", tt_coll_name(with[i]->coll),
                      with[i]->name, proven, greatest);
        assert_true(proven >= 100 && greatest >= 34);
    }
    tt_prover_free(prover);
}

/* ---- Flag values of phases ---- */

/* Returns the phase to which the flag value of a step belongs in its last turn, and in *first the
 * phase of its first turn. `loop` is the step that begins the loop around it; NULL: none. */
static uint32_t phases_of(const struct tt_plan *plan, const struct tt_step *s,
                          const struct tt_step *loop, uint32_t *first)
{
    const struct tt_vary none = {.tail = -1}, *v = s->vary ? &plan->varies[s->vary] : &none;
    uint32_t last = loop ? loop->value - 1 : 0;
    *first = (s->value + (uint32_t)v->inc[0] * (loop ? v->from : 0)) / TT_PHASE_VALUES;
    return (s->value + (uint32_t)v->inc[0] * last) / TT_PHASE_VALUES;
}

/* Checks that the values of each step are those of one phase, and returns the number of loops. */
static int check_phases(const struct plans *all, const struct tt_plan *plan)
{
    int loops = 0;
    uint32_t first;
    const struct tt_step *loop = NULL;
    for (uint32_t i = 0; i < plan->steps_n; i++) {
        const struct tt_step *s = &plan->steps[i];
        if (s->kind == TT_LOOP && loop) fail_msg("%s: a loop in a loop", all->text);
        if (s->kind == TT_LOOP || s->kind == TT_END) loop = s->kind == TT_LOOP ? s : NULL;
        loops += s->kind == TT_LOOP;
        if (s->kind != TT_SIGNAL && s->kind != TT_AWAIT) continue;
        if (phases_of(plan, s, loop, &first) != first)
            fail_msg("%s rank %d step %u: values of two phases", all->text, plan->me, i);
    }
    return loops;
}

/* Checks long vectors in short slices: 48 million slices of one element in the first phase. */
static void phases_have_values_of_their_own(void **state)
{
    int node[] = {0, 0, 1, 1};
    struct plans all;
    struct tt_map map = plans_map(4);
    struct tt_problem problem = plans_problem(TT_COLL_allreduce, 4, 192 << 20);
    (void)state;
    problem.call.slice = 8;
    map.nodes = 2;
    map.node = node;
    assert_true(plans_make(&all, &tt_allreduce_composed, &problem, &map));
    for (int r = 0; r < 4; r++) assert_true(check_phases(&all, all.plans[r]) > 0);
    plans_free(&all);
}

/* Checks that each phase of an alltoall by `pairwise` has few steps, and that all phases together
 * send to each other rank once. So a simulation needs memory for a few rounds at a time, and not
 * for each pair of ranks. */
static void phases_of_pairwise_are_short(void **state)
{
    enum { RANKS = 4000, ME = 17, STEPS = 32 * 4 + 1 /* 32 rounds and a copy */ };
    static int sends[RANKS];
    const struct tt_problem problem = plans_problem(TT_COLL_alltoall, RANKS, 8);
    struct tt_map map = plans_map(RANKS);
    struct tt_builder *b = tt_builder_new(RANKS, ME, &problem.call, "pairwise");
    (void)state;
    assert_non_null(b);
    int phases = tt_algorithm_phases(&tt_alltoall_pairwise, &problem.call, &map);
    for (int phase = 0; phase < phases; phase++) {
        tt_builder_reset(b, RANKS, ME, &problem.call, "pairwise");
        tt_algorithm_build(&tt_alltoall_pairwise, b, &problem.call, &map, ME, phase);
        struct tt_plan *plan = tt_builder_finish(b);
        assert_non_null(plan);
        assert_in_range(plan->steps_n, 1, STEPS);
        for (uint32_t i = 0; i < plan->steps_n; i++)
            if (plan->steps[i].kind == TT_SEND) sends[plan->steps[i].peer]++;
        tt_plan_free(plan);
    }
    for (int r = 0; r < RANKS; r++) assert_int_equal(sends[r], r != ME);
    tt_builder_free(b);
}

/* Builds a plan of two phases, the first of which raises a flag `turns` times by `inc`. Returns
 * NULL if that fails. */
static struct tt_plan *two_phases(struct tt_builder *b, uint32_t turns, int inc)
{
    const struct tt_problem problem = plans_problem(TT_COLL_barrier, 2, 0);
    tt_builder_reset(b, 2, 0, &problem.call, "phases");
    for (int phase = 0; phase < 2; phase++) {
        tt_phase(b, phase);
        tt_loop(b, turns);
        tt_signal(b, 1, 1);
        tt_per_turn(b, inc, 0);
        tt_end(b);
    }
    return tt_builder_finish(b);
}

static void a_phase_with_too_many_values_is_refused(void **state)
{
    const struct tt_problem problem = plans_problem(TT_COLL_barrier, 2, 0);
    struct tt_builder *b = tt_builder_new(2, 0, &problem.call, "phases");
    (void)state;
    assert_non_null(b);
    struct tt_plan *plan = two_phases(b, TT_PHASE_VALUES / 2 - 1, 2);
    assert_non_null(plan);
    tt_plan_free(plan);
    assert_null(two_phases(b, TT_PHASE_VALUES / 2 + 1, 2));
    assert_non_null(strstr(tutti_error(), "2^24 flag values"));
    for (int last = 255; last <= 256; last++) {
        tt_builder_reset(b, 2, 0, &problem.call, "phases");
        tt_phase(b, last);
        plan = tt_builder_finish(b);
        assert_int_equal(plan != NULL, last == 255);
        tt_plan_free(plan);
    }
    assert_non_null(strstr(tutti_error(), "more than 256 phases"));
    tt_builder_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_may_be_in_any_order_over_the_nodes),
        cmocka_unit_test(the_logical_tree_keeps_any_order),
        cmocka_unit_test(every_algorithm_is_proven),
        cmocka_unit_test(neighbours_exchange_in_even_numbers),
        cmocka_unit_test(only_the_root_knows_the_counts_of_others),
        cmocka_unit_test(long_pieces_go_in_slices),
        cmocka_unit_test(spanning_algorithms_are_proven_for_long_vectors),
        cmocka_unit_test(every_number_of_lanes_is_proven),
        cmocka_unit_test(phases_have_values_of_their_own),
        cmocka_unit_test(phases_of_pairwise_are_short),
        cmocka_unit_test(a_phase_with_too_many_values_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
