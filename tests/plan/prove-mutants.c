/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random single mutations of correct plans: the prover judges each, rejects most, and names the
 * position in its report. Whether the verdicts are right is tested by running the mutants
 * (tests/run/oracle.c). This test checks that every kind of fault which a mutation can cause is
 * found.
 */
#include "plan/mutate.h"
#include "plan/prove-util.h"

#include "coll/coll.h"

enum { MUTANTS = 60, P = 3 };

struct prove_mutants_tally {
    int judged, rejected;
    int by_fault[TT_FAULTS];
};

struct prove_mutants_team {
    struct tt_call call;
    struct tt_map map;
    struct tt_plan *plan[P];
    struct tt_call calls[P];
};

static int64_t count_of_all(const struct tt_all_counts *all, int from, int to)
{
    (void)all, (void)from, (void)to;
    return 4;
}

static bool team_of(struct prove_mutants_team *t, const struct tt_algorithm *a)
{
    static const int64_t counts[P] = {4, 4, 4}, displs[P] = {0, 4, 8}, only_root[P] = {4},
                         nothing[P] = {0};
    static const struct tt_all_counts all = {count_of_all};
    t->map = (struct tt_map){.p = P,
                             .cores = P,
                             .win_bytes = 4096,
                             .reads = true,
                             .writes = true,
                             .mapped = true,
                             .nodes = 1};
    t->call = (struct tt_call){.coll = a->coll,
                               .type = TUTTI_I32,
                               .op = TUTTI_SUM,
                               .commutes = true,
                               .n = 13,
                               .sz = 4,
                               .slice = 8};
    if (a->coll == TT_COLL_barrier || tt_call_segments(&t->call)) t->call.n = 0;
    if (tt_call_segments(&t->call)) {
        t->call.out_counts = counts;
        t->call.out_displs = displs;
    }
    if (tt_coll_pairs(a->coll)) {
        t->call.in_counts = counts;
        t->call.in_displs = displs;
        t->call.longest = counts[0];
        t->call.all_counts = &all;
    }
    if (a->coll == TT_COLL_reduce_scatter) {
        t->call.out_counts = counts;
        t->call.n = 12;
    }
    if (a->refuse(&t->call, &t->map)) return false;
    for (int r = 0; r < P; r++) {
        t->calls[r] = t->call;
        if (a->coll == TT_COLL_gatherv) t->calls[r].in_counts = only_root;
        if (a->coll == TT_COLL_gatherv && r > 0) t->calls[r].out_counts = nothing;
        if (a->coll == TT_COLL_scatterv) t->calls[r].out_counts = only_root;
        if (a->coll == TT_COLL_scatterv && r > 0) t->calls[r].in_counts = nothing;
        t->plan[r] = tt_algorithm_plan(a, &t->calls[r], &t->map, r);
        assert_non_null(t->plan[r]);
        assert_null(tt_plan_invalid(t->plan[r], NULL));
    }
    return true;
}

static struct tt_proof judge(struct tt_prover *prover, const struct prove_mutants_team *t)
{
    struct tt_proof_execution execution = {(const struct tt_plan *const *)t->plan, t->calls};
    struct tt_proof_case c = {.p = P, .executions = 1, .execution = &execution, .map = &t->map};
    struct tt_proof proof;
    assert_int_equal(tt_prove(prover, &c, &proof), TUTTI_OK);
    return proof;
}

static void mutate_one(struct tt_prover *prover, struct prove_mutants_team *t,
                       struct tt_random *random, struct prove_mutants_tally *tally)
{
    char what[MUTATE_TEXT];
    int r = (int)tt_random_below(random, P);
    struct tt_plan *good = t->plan[r], *bad = mutate(good, random, what, sizeof what);
    if (!bad) return;
    assert_null(tt_plan_invalid(bad, NULL));
    t->plan[r] = bad;
    struct tt_proof proof = judge(prover, t);
    t->plan[r] = good;
    if (getenv("PROVE_VERBOSE"))
        printf("%s %s rank %d, %s: %s %s\n", tt_coll_name(t->call.coll), good->algorithm, r, what,
               tt_fault_name(proof.fault), proof.text);
    assert_true((proof.fault == TT_FAULT_NONE) == (proof.text[0] == '\0'));
    tally->judged++;
    tally->rejected += proof.fault != TT_FAULT_NONE;
    tally->by_fault[proof.fault]++;
    tt_plan_free(bad);
}

static void judge_mutants(struct tt_prover *prover, struct prove_mutants_tally *tally)
{
    struct tt_random random;
    tt_random_seed(&random, 1);
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        struct prove_mutants_team t;
        if (!team_of(&t, *a)) continue;
        assert_int_equal(judge(prover, &t).fault, TT_FAULT_NONE);
        for (int i = 0; i < MUTANTS; i++) mutate_one(prover, &t, &random, tally);
        for (int r = 0; r < P; r++) tt_plan_free(t.plan[r]);
    }
}

static void mutants_are_judged(void **state)
{
    (void)state;
    struct prove_mutants_tally tally = {0};
    struct tt_prover *prover = tt_prover_new();
    assert_non_null(prover);
    judge_mutants(prover, &tally);
    tt_prover_free(prover);
    for (int f = 0; f < TT_FAULTS; f++)
        if (tally.by_fault[f])
            printf("%6d %s\n", tally.by_fault[f], tt_fault_text((enum tt_fault)f));
    assert_true(tally.judged > 1000);
    assert_in_range(tally.rejected, tally.judged / 2, tally.judged - 1);
    static const enum tt_fault by_chance[] = {
        TT_FAULT_UNWRITTEN, TT_FAULT_WRONG,           TT_FAULT_TWICE,      TT_FAULT_MISALIGNED,
        TT_FAULT_DEADLOCK,  TT_FAULT_NEVER_SIGNALLED, TT_FAULT_FLAG,       TT_FAULT_UNMATCHED,
        TT_FAULT_SIZE,      TT_FAULT_NOT_WAITED,      TT_FAULT_BARRIER,    TT_FAULT_RACE,
        TT_FAULT_OUTSIDE,   TT_FAULT_INPUT,           TT_FAULT_NOT_OPENED, TT_FAULT_UNOPENED,
        TT_FAULT_CLOSED};
    for (size_t i = 0; i < sizeof by_chance / sizeof *by_chance; i++)
        if (!tally.by_fault[by_chance[i]]) fail_msg("no mutant is %s", tt_fault_name(by_chance[i]));
}

/* Checks that equal seeds give equal mutants, and that the original plan is not changed. */
static void mutants_are_repeatable(void **state)
{
    (void)state;
    struct prove_mutants_team t;
    assert_true(team_of(&t, tt_algorithm_find(TT_COLL_allreduce, "flat")));
    struct tt_plan *again =
        tt_algorithm_plan(tt_algorithm_find(TT_COLL_allreduce, "flat"), &t.call, &t.map, 0);
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct tt_random a, b;
        char what[2][MUTATE_TEXT];
        tt_random_seed(&a, seed);
        tt_random_seed(&b, seed);
        struct tt_plan *x = mutate(t.plan[0], &a, what[0], MUTATE_TEXT);
        struct tt_plan *y = mutate(t.plan[0], &b, what[1], MUTATE_TEXT);
        assert_non_null(x);
        assert_non_null(y);
        assert_true(tt_plan_equal(x, y));
        assert_string_equal(what[0], what[1]);
        tt_plan_free(x);
        tt_plan_free(y);
    }
    assert_true(tt_plan_equal(t.plan[0], again));
    tt_plan_free(again);
    for (int r = 0; r < P; r++) tt_plan_free(t.plan[r]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutants_are_judged),
        cmocka_unit_test(mutants_are_repeatable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
