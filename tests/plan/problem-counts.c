/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The counts of the v-collectives of a problem: each rank expects what the others send it, the sum
 * of all counts fits the mean count that the problem names, equal seeds give equal counts, and
 * different seeds give different counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "text/problem.h"

/* A problem and the calls of all ranks. */
struct team {
    struct tt_problem problem;
    int p;
    struct tt_call *call;
    int64_t *room;
};

static struct team team_of(const char *text)
{
    struct team team;
    assert_int_equal(tt_problem_parse(text, &team.problem, NULL), TUTTI_OK);
    team.p = team.problem.p;
    size_t each = tt_problem_room(&team.problem), p = (size_t)team.p;
    team.room = calloc(p * each + 1, sizeof *team.room);
    team.call = calloc(p, sizeof *team.call);
    assert_true(team.room && team.call);
    for (size_t r = 0; r < p; r++)
        team.call[r] = tt_problem_call(&team.problem, (int)r, team.room + r * each);
    return team;
}

static void team_free(struct team *team)
{
    free(team->call);
    free(team->room);
}

static void without_gaps(const int64_t *counts, const int64_t *displs, int p)
{
    int64_t sum = 0;
    for (int r = 0; r < p; r++) {
        assert_true(counts[r] >= 0);
        assert_int_equal(displs[r], sum);
        sum += counts[r];
    }
}

static const char *const skews[] = {"equal", "uniform", "zipf", "zero"};

static struct team skewed(const char *coll, int p, const char *skew, int seed)
{
    char text[TT_PROBLEM_TEXT];
    snprintf(text, sizeof text, "%s/f32/4000/p%d/skew=%s/seed=%d", coll, p, skew, seed);
    return team_of(text);
}

static void both_sides_agree(void **state)
{
    (void)state;
    for (int i = 0; i < 4 * 34; i++) {
        int p = 1 + i / 4;
        int64_t longest = 0;
        struct team team = skewed("alltoallv", p, skews[i % 4], i);
        for (int r = 0; r < p; r++) {
            const struct tt_call *call = &team.call[r];
            without_gaps(call->in_counts, call->in_displs, p);
            without_gaps(call->out_counts, call->out_displs, p);
            for (int s = 0; s < p; s++) {
                assert_int_equal(call->in_counts[s], team.call[s].out_counts[r]);
                longest = tt_max(longest, call->in_counts[s]);
            }
        }
        for (int r = 0; r < p; r++) assert_int_equal(team.call[r].longest, longest);
        team_free(&team);
    }
}

/* Checks that only the pieces to the root of a gatherv, and from the root of a scatterv, are not
 * empty. In place, the root has no piece for itself. */
static void others_exchange_nothing_with_each_other(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * 2 * 9; i++) {
        char text[TT_PROBLEM_TEXT];
        int p = 1 + i / 4, root = p / 2;
        bool gathers = i % 2, in_place = i / 2 % 2;
        snprintf(text, sizeof text, "%s/f32/4000/p%d/root=%d/inplace=%d",
                 gathers ? "gatherv" : "scatterv", p, root, in_place);
        struct team team = team_of(text);
        for (int r = 0; r < p; r++)
            for (int s = 0; s < p; s++) {
                bool moves = (gathers ? s : r) == root && !(in_place && r == s);
                assert_int_equal(team.call[r].in_counts[s], moves ? 1000 : 0);
                assert_int_equal(team.call[s].out_counts[r], moves ? 1000 : 0);
            }
        team_free(&team);
    }
}

/* Checks the neighbours and the counts of rank r in a neighbourhood collective: the ranks in its
 * list `to` are those that have r in their list `from`, and r sends something to these ranks only.
 */
static void agree_on_neighbors(const struct team *team, int r)
{
    const struct tt_call *call = &team->call[r];
    const struct tt_neighbors *n = call->neighbors;
    assert_true(tt_call_valid(call, team->p));
    for (int s = 0, i = 0, k = 0; s < team->p; s++) {
        const struct tt_neighbors *other = team->call[s].neighbors;
        bool to = i < n->to_n && n->to[i] == s, found = false;
        for (int j = 0; j < other->from_n; j++) found = found || other->from[j] == r;
        assert_int_equal(to, found);
        assert_int_equal(call->in_counts[s], to ? 1000 : 0);
        assert_int_equal(team->call[s].out_counts[r], to ? 1000 : 0);
        i += to;
        k += k < n->from_n && n->from[k] == s;
        if (s == team->p - 1) assert_true(i == n->to_n && k == n->from_n);
    }
}

static int expect_neighbors(const char *text)
{
    struct team team = team_of(text);
    int most = 0;
    for (int r = 0; r < team.p; r++) {
        agree_on_neighbors(&team, r);
        most = (int)tt_max(most, team.call[r].neighbors->to_n);
    }
    team_free(&team);
    return most;
}

static void neighbors_agree(void **state)
{
    (void)state;
    assert_int_equal(expect_neighbors("alltoallv/f32/4000/p1/graph=torus:1"), 0);
    assert_int_equal(expect_neighbors("alltoallv/f32/4000/p12/graph=grid:4x3"), 4);
    assert_int_equal(expect_neighbors("alltoallv/f32/4000/p6/graph=grid:1x6"), 2);
    assert_int_equal(expect_neighbors("alltoallv/f32/4000/p8/graph=torus:2x2x2"), 3);
    assert_int_equal(expect_neighbors("alltoallv/f32/4000/p27/graph=torus:3x3x3"), 6);
    assert_int_equal(expect_neighbors("alltoallv/f32/4000/p9/graph=random:9"), 8);
    assert_in_range(expect_neighbors("alltoallv/f32/4000/p64/graph=random:3"), 3, 16);
}

static void all_gather_alike(void **state)
{
    (void)state;
    for (int i = 0; i < 4 * 10; i++) {
        int p = 1 + i / 4;
        struct team team = skewed("allgatherv", p, skews[i % 4], i);
        for (int r = 0; r < p; r++) {
            const struct tt_call *call = &team.call[r];
            without_gaps(call->out_counts, call->out_displs, p);
            assert_memory_equal(call->out_counts, team.call[0].out_counts,
                                (size_t)p * sizeof *call->out_counts);
            assert_null(call->in_counts);
        }
        team_free(&team);
    }
}

static int64_t total(const struct team *team)
{
    int64_t sum = 0;
    for (int r = 0; r < team->p; r++)
        for (int s = 0; s < team->p; s++) sum += team->call[r].in_counts[s];
    return sum;
}

/* Checks that the average is 1000 elements for each pair of ranks. With 64 * 64 pairs a deviation
 * of a tenth cannot be chance, and the fixed seed gives the same result in each run. */
static void averages(void **state)
{
    (void)state;
    const int p = 64, pairs = p * p, n = 1000;
    struct team equal = skewed("alltoallv", p, "equal", 1);
    assert_int_equal(total(&equal), pairs * n);
    struct team uniform = skewed("alltoallv", p, "uniform", 1);
    assert_in_range(total(&uniform), pairs * n / 10 * 9, pairs * n / 10 * 11);
    struct team zero = skewed("alltoallv", p, "zero", 1);
    assert_in_range(total(&zero), pairs * n / 20 * 9, pairs * n / 20 * 11);
    struct team zipf = skewed("alltoallv", p, "zipf", 1);
    assert_in_range(total(&zipf), pairs * (n - 1), pairs * n);
    team_free(&equal);
    team_free(&uniform);
    team_free(&zero);
    team_free(&zipf);
}

/* Checks the shape `zipf`: the rank that receives the k-th most gets 1/k of what the first one
 * gets, except for rounding down. */
static void zipf_has_its_shape(void **state)
{
    (void)state;
    const int p = 12;
    struct team team = skewed("alltoallv", p, "zipf", 5);
    const int64_t *counts = team.call[3].in_counts;
    int64_t most = 0;
    for (int r = 0; r < p; r++) most = counts[r] > most ? counts[r] : most;
    for (int k = 1; k <= p; k++) {
        int found = 0;
        for (int r = 0; r < p; r++) found += counts[r] * k >= most - k && counts[r] * k <= most + k;
        assert_true(found >= 1);
    }
    team_free(&team);
}

/* Returns whether all ranks of two teams have the same counts and displacements. */
static bool equal_counts(const struct team *a, const struct team *b, int p)
{
    size_t bytes = (size_t)p * sizeof(int64_t);
    for (int r = 0; r < p; r++) {
        const struct tt_call *x = &a->call[r], *y = &b->call[r];
        if (memcmp(x->in_counts, y->in_counts, bytes) != 0 ||
            memcmp(x->in_displs, y->in_displs, bytes) != 0 ||
            memcmp(x->out_counts, y->out_counts, bytes) != 0 ||
            memcmp(x->out_displs, y->out_displs, bytes) != 0)
            return false;
    }
    return true;
}

static void the_seed_decides(void **state)
{
    (void)state;
    for (int skew = 1; skew < 4; skew++) {
        struct team one = skewed("alltoallv", 17, skews[skew], 1);
        struct team same = skewed("alltoallv", 17, skews[skew], 1);
        struct team other = skewed("alltoallv", 17, skews[skew], 2);
        assert_true(equal_counts(&one, &same, 17));
        assert_false(equal_counts(&one, &other, 17));
        team_free(&one);
        team_free(&same);
        team_free(&other);
    }
}

static void others_have_none(void **state)
{
    (void)state;
    struct team team = team_of("alltoall/f32/4000/p3");
    assert_int_equal(tt_problem_room(&team.problem), 0);
    assert_int_equal(team.call[2].n, 1000);
    assert_null(team.call[2].in_counts);
    assert_null(team.call[2].out_counts);
    team_free(&team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_agree),
        cmocka_unit_test(neighbors_agree),
        cmocka_unit_test(all_gather_alike),
        cmocka_unit_test(averages),
        cmocka_unit_test(zipf_has_its_shape),
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(others_have_none),
        cmocka_unit_test(others_exchange_nothing_with_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
