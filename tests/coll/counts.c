/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What each algorithm says it costs is what its plans are counted to cost, to the byte and the
 * step; and plans stay small.
 */
#include <string.h>

#include "brief.h"
#include "plans.h"

static const int64_t sizes[] = {0, 1, 2, 3, 5, 7, 8, 13, 31, 64, 100, 1000, 1023, 5000, 70000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void compare(const struct plans *all, const char *what, int64_t formula, int64_t counted)
{
    if (formula != counted)
        fail_msg("%s p%d: %s %lld by the formula, %lld in the plans", all->text, all->p, what,
                 (long long)formula, (long long)counted);
}

/* The formulas of alltoallv go by the largest block this rank knows of: exact when all are
 * equal. */
static struct tt_count formula(const struct tt_algorithm *a, const struct plans *all,
                               const struct tt_map *map, int root)
{
    return tt_algorithm_count(a, &all->calls[root], map);
}

static int check(const struct tt_algorithm *a, const struct tt_problem *problem,
                 const struct tt_map *map)
{
    struct plans all;
    if (!plans_make(&all, a, problem, map)) return 0;
    struct tt_count says = formula(a, &all, map, problem->call.root),
                    is = plans_worst(&all, a, map);
    compare(&all, "sent", says.sent, is.sent);
    compare(&all, "received", says.received, is.received);
    compare(&all, "reduced", says.reduced, is.reduced);
    compare(&all, "copied", says.copied, is.copied);
    compare(&all, "messages", says.messages, is.messages);
    compare(&all, "steps", says.steps, is.steps);
    plans_free(&all);
    return 1;
}

static int check_radix(const struct tt_algorithm *a, struct tt_map *map, int radix, int64_t slice,
                       int root, int64_t largest)
{
    int done = 0;
    for (int i = 0; i < SIZES && sizes[i] <= largest; i++) {
        struct tt_problem problem = plans_problem(a->coll, map->p, sizes[i]);
        problem.call.slice = slice;
        problem.call.radix = radix;
        if (tt_coll_has_root(a->coll)) problem.call.root = root;
        done += check(a, &problem, map);
        bool skewed = a->coll == TT_COLL_allgatherv || a->coll == TT_COLL_reduce_scatter;
        for (int skew = 1; skewed && skew < TT_SKEWS; skew++) {
            problem.skew = (enum tt_skew)skew;
            done += check(a, &problem, map);
        }
    }
    return done;
}

static int check_sizes(const struct tt_algorithm *a, struct tt_map *map, int64_t slice, int root,
                       int64_t largest)
{
    int done = check_radix(a, map, 0, slice, root, largest);
    for (int radix = 4; radix <= 16 && plans_exchanges(a); radix *= 2)
        done += check_radix(a, map, radix, slice, root, largest);
    return done;
}

/* With direct access, by messages, and in short slices. */
static int check_long(const struct tt_algorithm *a, int p)
{
    struct tt_map map = plans_map(p);
    int done = check_sizes(a, &map, 24, p / 2, 1000);
    map.direct = false;
    return done + check_sizes(a, &map, 0, p / 2, 1000) + check_sizes(a, &map, 24, 0, 1000);
}

static void formulas_hold_for_more_ranks(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        if (!plans_exchanges(*a)) continue;
        int done = 0;
        for (int p = 2; p <= brief(33, 9); p += p < 17 ? 1 : 4) done += check_long(*a, p);
        assert_true(done > 0);
    }
}

static int check_networks(const struct tt_algorithm *a)
{
    int done = 0;
    for (const char *const *text = plans_networks; *text && plans_need_network(a); text++) {
        struct tt_net net = plans_network(*text);
        struct tt_map map = plans_map(net.ranks);
        map.net = &net;
        done += check_sizes(a, &map, 0, 0, 1000);
        tt_net_free(&net);
    }
    return done;
}

static int check_nodes(const struct tt_algorithm *a, int p)
{
    int node[PLANS_RANKS], done = 0;
    for (int which = 0; which < PLANS_NODES; which++) {
        struct tt_map map = plans_nodes(p, which, node);
        done += check_sizes(a, &map, 0, p / 2, 1023) + check_sizes(a, &map, 24, p / 3, 100);
        map.cores = 1;
        map.win_bytes = 2048;
        done += check_sizes(a, &map, 0, p - 1, 5000);
    }
    return done;
}

/* Operations that do not commute: operands go on uncombined, and a root may get two runs of
 * them. */
static int check_in_order(const struct tt_algorithm *a, int p)
{
    static const int64_t slices[] = {0, 8, 24};
    int node[PLANS_RANKS], done = 0;
    for (int which = 0; which < PLANS_NODES; which++) {
        struct tt_map map = plans_nodes(p, which, node);
        for (int i = 0; i < 9; i++) {
            struct tt_problem problem = plans_problem(a->coll, p, i / 3 * (p + 3));
            problem.call.op = TUTTI_OP_USER;
            problem.call.commutes = false;
            problem.call.slice = slices[i % 3];
            for (int root = 0; root < (tt_coll_has_root(a->coll) ? p : 1); root += 1 + p / 5) {
                problem.call.root = root;
                done += check(a, &problem, &map);
            }
        }
    }
    return done;
}

static void formulas_hold_in_rank_order(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        if (!plans_span_nodes(*a) || !tt_coll_has_op((*a)->coll)) continue;
        int done = 0;
        for (int p = 2; p <= brief(33, 9); p += p < 9 ? 1 : 8) done += check_in_order(*a, p);
        assert_true(done > 0);
    }
}

static void formulas_hold_on_several_nodes(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
        for (int p = plans_span_nodes(*a) ? 2 : brief(9, 8);
             p <= brief(plans_span_nodes(*a) ? 33 : 9, 8); p += p < 9 ? 1 : 8)
            check_nodes(*a, p);
}

static void formulas_are_what_is_counted(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        int done = 0;
        for (int p = 1; p <= brief(17, 9); p++) {
            struct tt_map map = plans_map(p);
            done += check_sizes(*a, &map, 0, p / 2, 70000);
            done += check_sizes(*a, &map, 0, 0, 1023);
            map.cores = 1;
            done += check_sizes(*a, &map, 0, p - 1, 70000);
            map.win_bytes = 4096;
            done += check_sizes(*a, &map, 0, p - 1, 5000);
            done += check_sizes(*a, &map, 24, p / 3, 1023);
        }
        done += check_networks(*a);
        if (done == 0) fail_msg("%s %s never applied", tt_coll_name((*a)->coll), (*a)->name);
    }
}

static void check_networks_in_place(const struct tt_algorithm *a)
{
    for (const char *const *text = plans_networks; *text && plans_need_network(a); text++) {
        struct tt_net net = plans_network(*text);
        struct tt_map map = plans_map(net.ranks);
        struct tt_problem problem = plans_problem(a->coll, map.p, 100);
        problem.call.in_place = true;
        map.net = &net;
        check(a, &problem, &map);
        tt_net_free(&net);
    }
}

static void in_place_saves_a_copy_at_most(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        enum tt_coll coll = (*a)->coll;
        if (!tt_coll_has_place(coll)) continue;
        for (int p = 1; p <= 9; p++) {
            struct tt_map map = plans_map(p);
            struct tt_problem problem = plans_problem(coll, p, 100);
            problem.call.in_place = true;
            check(*a, &problem, &map);
        }
        check_networks_in_place(*a);
    }
}

/* The product's promise: under 4 KiB a rank for 16 ranks, whatever the length. */
static void allreduce_plans_do_not_grow(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        if ((*a)->coll != TT_COLL_allreduce) continue;
        for (int64_t n = 1; n <= (int64_t)1 << 26; n = 3 * n + 1) {
            struct tt_problem problem = plans_problem(TT_COLL_allreduce, 16, n);
            struct tt_map map = plans_map(16);
            map.direct = n % 2;
            struct plans all;
            if (!plans_make(&all, *a, &problem, &map)) continue;
            for (int r = 0; r < 16; r++)
                if (all.plans[r]->bytes >= 4096)
                    fail_msg("%s n %lld rank %d: a plan of %lld bytes", all.text, (long long)n, r,
                             (long long)all.plans[r]->bytes);
            plans_free(&all);
        }
    }
}

static void names_are_found(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        assert_ptr_equal(tt_algorithm_find((*a)->coll, (*a)->name), *a);
        assert_true((*a)->applies && (*a)->cost && (*a)->source);
    }
    assert_null(tt_algorithm_find(TT_COLL_barrier, "no such"));
}

/* Slices of a long vector, each in a lane; not on one node, nor where each rank is alone. */
static int lanes_of(const struct tt_algorithm *a, int64_t bytes, int nodes)
{
    int node[8];
    struct plans all;
    struct tt_map map = plans_map(8);
    struct tt_problem problem = plans_problem(a->coll, 8, bytes / 8);
    for (int r = 0; r < 8; r++) node[r] = r * nodes / 8;
    map.nodes = nodes;
    map.node = node;
    assert_true(plans_make(&all, a, &problem, &map));
    int lanes = (int)all.plans[0]->lanes;
    for (int r = 0; r < 8; r++) assert_int_equal(all.plans[r]->lanes, lanes);
    plans_free(&all);
    return lanes;
}

static void long_vectors_stream_through_composed_plans(void **state)
{
    (void)state;
    const struct tt_algorithm *rows[] = {&tt_allreduce_composed, &tt_reduce_composed};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lanes_of(rows[i], 1 << 20, 3), 4);
        assert_int_equal(lanes_of(rows[i], 128 << 10, 3), 2);
        assert_int_equal(lanes_of(rows[i], 64 << 10, 3), 1);
        assert_int_equal(lanes_of(rows[i], 1 << 20, 1), 1);
        assert_int_equal(lanes_of(rows[i], 1 << 20, 8), 1);
    }
    assert_int_equal(lanes_of(&tt_bcast_composed, 1 << 20, 3), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(formulas_are_what_is_counted),
        cmocka_unit_test(formulas_hold_for_more_ranks),
        cmocka_unit_test(formulas_hold_on_several_nodes),
        cmocka_unit_test(formulas_hold_in_rank_order),
        cmocka_unit_test(long_vectors_stream_through_composed_plans),
        cmocka_unit_test(in_place_saves_a_copy_at_most),
        cmocka_unit_test(allreduce_plans_do_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
