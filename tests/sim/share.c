/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulator keeps equal plans once, with numbers instead of the ranks that they name, and each
 * rank still gets its own ranks back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "coll/coll.h"
#include "sim/share.h"

enum { P = 16 * TT_SHARE_RANKS };

static const struct tt_call call = {.coll = TT_COLL_allreduce,
                                    .n = 4,
                                    .type = TUTTI_F64,
                                    .sz = 8,
                                    .op = TUTTI_SUM,
                                    .commutes = true};

/* Returns the plan in which rank `me` sends 8 bytes to each of the n ranks after it, or, if
 * `generates`, puts them there by a generator. */
static struct tt_plan *plan_of(int me, int n, bool generates)
{
    struct tt_builder *b = tt_builder_new(P, me, &call, "by-hand");
    assert_non_null(b);
    for (int k = 1; k <= n; k++) {
        int to = (me + k) % P;
        if (generates)
            tt_entry(b, &(struct tt_entry){.len = 8, .peer = to});
        else
            tt_wait(b, tt_send(b, to, tt_own(TT_IN, 0), 8));
    }
    if (generates) tt_exchange(b, &(struct tt_exchange){.window = 1, .chunk = 8});
    tt_copy(b, tt_own(TT_OUT, 0), tt_at(TT_IN, (me + 1) % P, 0), 8);
    struct tt_plan *plan = tt_builder_finish(b);
    assert_non_null(plan);
    tt_builder_free(b);
    return plan;
}

static int rank_of(const struct tt_named *named, int number)
{
    return number < TT_SHARE_RANKS ? named->rank[number] : number - TT_SHARE_RANKS;
}

/* Plans that differ only in the ranks that they name are kept once. */
static void plans_that_differ_in_ranks_are_shared(void **state)
{
    (void)state;
    struct tt_shares shares = {.n = 0};
    struct tt_shared *shared[P];
    for (int me = 0; me < P; me++) {
        struct tt_named named;
        shared[me] = tt_share(&shares, plan_of(me, 3, false), &named);
        assert_ptr_equal(shared[me], shared[0]);
        assert_int_equal(named.n, 3);
        for (int k = 0; k < 3; k++) assert_int_equal(named.rank[k], (me + 1 + k) % P);
    }
    assert_int_equal(shares.n, 1);
    assert_int_equal(shared[0]->users, P);
    for (int me = 0; me < P; me++) tt_unshare(&shares, shared[me]);
    assert_int_equal(shares.n, 0);
    tt_shares_free(&shares);
}

/* Returns the number of plans in the fullest bucket of the table. */
static int fullest(const struct tt_shares *shares)
{
    int most = 0;
    for (size_t i = 0; i < shares->room; i++) {
        int n = 0;
        for (const struct tt_shared *s = shares->bucket[i]; s; s = s->next) n++;
        most = (int)tt_max(most, n);
    }
    return most;
}

/* A plan may name more ranks than a list of ranks has room for. */
static void every_number_stands_for_its_rank(void **state)
{
    (void)state;
    enum { MANY = TT_SHARE_RANKS + 5 };
    struct tt_shares shares = {.n = 0};
    struct tt_shared *shared[P];
    for (int me = 0; me < P; me++) {
        struct tt_named named;
        shared[me] = tt_share(&shares, plan_of(me, MANY, false), &named);
        const struct tt_plan *plan = shared[me]->plan;
        for (int k = 0; k < MANY; k++)
            assert_int_equal(rank_of(&named, plan->steps[2 * k].peer), (me + 1 + k) % P);
        assert_int_equal(rank_of(&named, plan->ranges[plan->ranges_n - 1].rank), (me + 1) % P);
    }
    assert_int_equal(shares.n, P);
    assert_true(fullest(&shares) < 16);
    for (int me = 0; me < P; me++) tt_unshare(&shares, shared[me]);
    assert_int_equal(shares.n, 0);
    tt_shares_free(&shares);
}

/* A plan with a generator keeps its ranks. */
static void generators_are_not_shared(void **state)
{
    (void)state;
    struct tt_shares shares = {.n = 0};
    struct tt_named named;
    struct tt_shared *a = tt_share(&shares, plan_of(1, 3, true), &named);
    struct tt_shared *b = tt_share(&shares, plan_of(1, 3, true), &named);
    assert_ptr_not_equal(a, b);
    assert_int_equal(named.n, 0);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(a->plan->entries[i].peer, 2 + i);
    assert_int_equal(a->plan->ranges[0].rank, TT_SELF);
    assert_int_equal(a->plan->ranges[1].rank, 2);
    tt_unshare(&shares, a);
    tt_unshare(&shares, b);
    tt_shares_free(&shares);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_that_differ_in_ranks_are_shared),
        cmocka_unit_test(every_number_stands_for_its_rank),
        cmocka_unit_test(generators_are_not_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
