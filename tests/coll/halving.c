/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks by counting in the plans that pipelined recursive halving, and beside it the pipelined
 * tree `prt`, have the costs that the tables in their source files state. Also checks the overlap
 * in the plans: every reduction happens while a slice travels, and a rank has never more than one
 * slice under way to each partner, and one from it.
 */
#include "plans.h"

static int radix; /* radix of all plans that are made; 0: the algorithm's own */

static struct plans made(const char *name, enum tt_coll coll, int p, int64_t n, int64_t slice,
                         int root, bool direct)
{
    struct plans all;
    struct tt_map map = plans_map(p);
    struct tt_problem problem = plans_problem(coll, p, n);
    map.reads = map.writes = direct;
    problem.call.slice = slice;
    problem.call.radix = radix;
    problem.call.root = root;
    assert_true(plans_make(&all, tt_algorithm_find(coll, name), &problem, &map));
    return all;
}

/* moved: the most bytes that a rank has to send and to receive, added up. reduced: the most bytes
 * that a rank reduces. */
struct worst {
    int64_t moved, reduced;
};

static struct worst worst_of(struct plans *all)
{
    struct worst most = {0};
    struct tt_count *count = plans_counts(all);
    for (int r = 0; r < all->p; r++) {
        most.moved = tt_max(most.moved, count[r].sent + count[r].received);
        most.reduced = tt_max(most.reduced, count[r].reduced);
    }
    tt_free(count);
    plans_free(all);
    return most;
}

static struct worst worst(const char *name, enum tt_coll coll, int p, int64_t n, bool direct)
{
    struct plans all = made(name, coll, p, n, 0, 0, direct);
    return worst_of(&all);
}

/* Returns the greatest costs of any rank for an operation that does not commute. */
static struct worst worst_in_order(enum tt_coll coll, int p, int64_t n, bool direct)
{
    struct plans all;
    struct tt_map map = plans_map(p);
    struct tt_problem problem = plans_problem(coll, p, n);
    map.reads = map.writes = direct;
    problem.call.commutes = false;
    problem.call.radix = radix;
    assert_true(plans_make(&all, tt_algorithm_find(coll, "halving"), &problem, &map));
    return worst_of(&all);
}

static void halving_meets_its_table(void **state)
{
    (void)state;
    for (int direct = 0; direct < 2; direct++)
        for (int p = 2; p <= 64; p *= 2) {
            int64_t n = 64 * 12, part = n * 8 / p * (p - 1); /* (p-1)/p of the vector, in bytes */
            struct worst reduce = worst("halving", TT_COLL_reduce, p, n, direct);
            struct worst allreduce = worst("halving", TT_COLL_allreduce, p, n, direct);
            assert_int_equal(reduce.reduced, part);
            assert_int_equal(allreduce.reduced, part);
            assert_int_equal(reduce.moved, 3 * part);
            assert_int_equal(allreduce.moved, 4 * part);
        }
}

/* Checks that a reduce_scatter_block and a gather, which are the two phases of a reduce, cost as
 * much on their own as within the reduce. For an operation that does not commute, the
 * reduce_scatter_block has to swap blocks in addition. */
static void its_phases_meet_theirs(void **state)
{
    (void)state;
    for (int direct = 0; direct < 2; direct++)
        for (int p = 2; p <= 64; p *= 2) {
            int64_t n = 12, part = n * 8 * (p - 1); /* (p-1)/p of the vector, in bytes */
            struct worst scatter = worst("halving", TT_COLL_reduce_scatter_block, p, n, direct);
            struct worst gather = worst("binomial", TT_COLL_gather, p, n, direct);
            assert_int_equal(scatter.reduced, part);
            assert_int_equal(scatter.moved, 2 * part);
            assert_int_equal(gather.reduced, 0);
            assert_int_equal(gather.moved, part);
            int64_t ordered = worst_in_order(TT_COLL_reduce_scatter_block, p, n, direct).moved;
            assert_int_equal(ordered, 2 * part + (p > 2 ? 2 * n * 8 : 0));
        }
}

static void the_tree_meets_its_table(void **state)
{
    (void)state;
    for (int p = 8; p <= 64; p *= 2) {
        int64_t n = 1000, bytes = 8 * n;
        struct worst reduce = worst("prt", TT_COLL_reduce, p, n, false);
        struct worst allreduce = worst("prt", TT_COLL_allreduce, p, n, false);
        assert_int_equal(reduce.reduced, 2 * bytes);
        assert_int_equal(allreduce.reduced, 2 * bytes);
        assert_int_equal(reduce.moved, 3 * bytes);
        assert_int_equal(allreduce.moved, 6 * bytes);
    }
}

/* Checks the additional cost if the number of ranks is not a power of two: a rank reduces half of
 * the vector more, and in an allreduce the result is sent once more. */
static void other_numbers_cost_what_is_said(void **state)
{
    (void)state;
    for (int p = 3; p <= 33; p += 2) {
        int q = 2;
        while (2 * q <= p) q *= 2;
        if (q == p) continue;
        int64_t bytes = 64 * 12 * 8, part = bytes / q * (q - 1);
        assert_int_equal(worst("halving", TT_COLL_allreduce, p, 64 * 12, true).reduced,
                         part + bytes / 2);
        assert_int_equal(worst("halving", TT_COLL_reduce, p, 64 * 12, false).reduced,
                         part + bytes / 2);
        assert_true(worst("halving", TT_COLL_allreduce, p, 64 * 12, true).moved <=
                    4 * part + 2 * bytes);
    }
}

/* The transfers under way at a point of a rank's plan. */
struct flight {
    int64_t bytes[4], len[4][4096]; /* bytes[kind]: bytes under way by steps of this kind;
                                     * len[kind][id]: bytes of the step with this id */
    int64_t most;
    int reduces, alone; /* number of reductions; number of reductions with no transfer under way */
    bool last_alone;
};

static void take(struct flight *f, enum tt_kind *kind, const struct tt_plain *s)
{
    if (tt_kind_starts(s->kind)) {
        assert_true(s->value < 4096);
        kind[s->value] = s->kind;
        f->len[s->kind][s->value] = s->len;
        f->bytes[s->kind] += s->len;
        f->most = tt_max(f->most, f->bytes[s->kind]);
    } else if (s->kind == TT_WAIT) {
        f->bytes[kind[s->value]] -= f->len[kind[s->value]][s->value];
    } else if (s->kind == TT_REDUCE) {
        f->last_alone = !(f->bytes[TT_SEND] || f->bytes[TT_RECV] || f->bytes[TT_GET]);
        f->reduces++;
        f->alone += f->last_alone;
    }
}

static void fly(const struct tt_plan *plan, struct flight *f)
{
    static enum tt_kind kind[4096];
    struct tt_iter iter;
    struct tt_plain step;
    void *memory = tt_alloc(tt_iter_bytes(plan, 0));
    assert_non_null(memory);
    tt_iter_begin(&iter, plan, 0, memory);
    while (tt_iter_next(&iter, &step)) take(f, kind, &step);
    tt_free(memory);
}

/* Checks that in a step with k - 1 partners, where k is the radix, one slice from each partner is
 * under way at once. */
static void check_flight(enum tt_coll coll, int p, int slices, bool direct)
{
    enum { N = 64 * 64 };
    int k = radix < p ? radix : p;
    struct plans all = made("halving", coll, p, N, N * 8 / k / slices, p - 1, direct);
    for (int r = 0; r < p; r++) {
        static struct flight f;
        f = (struct flight){.reduces = 0};
        fly(all.plans[r], &f);
        assert_true(f.reduces > 0);
        assert_true(f.most <= N * 8 / k / slices * (k - 1));
        if (direct)
            assert_false(f.last_alone);
        else
            assert_int_equal(f.alone, 0);
    }
    plans_free(&all);
}

static void reductions_overlap_transfers(void **state)
{
    (void)state;
    for (int slices = radix; slices <= 64; slices *= radix)
        for (int p = 2; p <= 16; p *= 2) {
            check_flight(TT_COLL_allreduce, p, slices, false);
            check_flight(TT_COLL_allreduce, p, slices, true);
            check_flight(TT_COLL_reduce, p, slices, false);
        }
}

/* Checks that a larger radix moves and reduces the same bytes with the same overlap, in fewer and
 * larger steps. */
static void any_radix_costs_the_same(void **state)
{
    for (radix = 2; radix <= 8; radix *= 2) {
        halving_meets_its_table(state);
        its_phases_meet_theirs(state);
        reductions_overlap_transfers(state);
    }
    radix = 0;
}

/* Checks that a radix that is not a power of two is rounded down to the next power of two. */
static void radices_between_are_rounded(void **state)
{
    (void)state;
    static const int is[][2] = {{0, 2}, {3, 2}, {7, 4}, {1000, 16}};
    struct tt_map map = plans_map(24);
    for (int i = 0; i < 4; i++) {
        struct tt_problem problem = plans_problem(TT_COLL_allreduce, 24, 100);
        const struct tt_algorithm *a = tt_algorithm_find(TT_COLL_allreduce, "halving");
        int64_t steps[2];
        for (int j = 0; j < 2; j++) {
            problem.call.radix = is[i][j];
            struct plans all;
            assert_true(plans_make(&all, a, &problem, &map));
            steps[j] = plans_worst(&all).steps;
            plans_free(&all);
        }
        assert_int_equal(steps[0], steps[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_meets_its_table),
        cmocka_unit_test(other_numbers_cost_what_is_said),
        cmocka_unit_test(any_radix_costs_the_same),
        cmocka_unit_test(radices_between_are_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
