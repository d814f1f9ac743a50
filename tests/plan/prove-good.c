/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Correct plans written by hand, in which every kind of step, buffer and order occurs. The prover
 * must accept them alone, one after the other, and with several in flight.
 */
#include "plan/prove-util.h"

#define WIN_LANE "lane 0\n copy WIN[0] <- IN[0] len 8\n signal all 1\n"

static const struct hand good[] = {
    {.name = "allreduce in one round through windows",
     .coll = TT_COLL_allreduce,
     .p = 3,
     .n = 2,
     .in_order = true,
     .plan = {WIN_LANE " await 1 1\n await 2 1\n"
                       " reduce OUT[0] <- IN[0] sum WIN@1[0] sum WIN@2[0] len 8\n",
              WIN_LANE " await 0 1\n await 2 1\n"
                       " reduce OUT[0] <- WIN@0[0] sum IN[0] sum WIN@2[0] len 8\n",
              WIN_LANE " await 0 1\n await 1 1\n"
                       " reduce OUT[0] <- WIN@0[0] sum WIN@1[0] sum IN[0] len 8\n"}},
    {.name = "halving of two with direct access, in place or not",
     .coll = TT_COLL_allreduce,
     .p = 2,
     .n = 4,
     .in_place = true,
     .in_order = true,
     .plan = {"opens IN OUT\nlane 0\n signal 1 1\n await 1 1\n"
              " reduce OUT[0] <- IN[0] sum IN@1[0] len 8\n signal 1 2\n await 1 2\n"
              " get %0 OUT[8] <- OUT@1[8] len 8\n wait %0\n signal 1 3\n await 1 3\n",
              "opens IN OUT\nlane 0\n signal 0 1\n await 0 1\n"
              " reduce OUT[8] <- IN@0[8] sum IN[8] len 8\n signal 0 2\n await 0 2\n"
              " get %0 OUT[0] <- OUT@0[0] len 8\n wait %0\n signal 0 3\n await 0 3\n"}},
    {.name = "reduce by messages to rank 1",
     .coll = TT_COLL_reduce,
     .p = 3,
     .n = 1,
     .root = 1,
     .plan = {"lane 0\n send %0 to 1 IN[0] len 4\n wait %0\n",
              "tmp 128\nlane 0\n recv %0 from 0 TMP[0] len 4\n recv %1 from 2 TMP[64] len 4\n"
              " wait %0\n wait %1\n reduce OUT[0] <- TMP[0] sum IN[0] sum TMP[64] len 4\n",
              "lane 0\n send %0 to 1 IN[0] len 4\n wait %0\n"}},
    {.name = "bcast in slices through half a window, pipelined",
     .coll = TT_COLL_bcast,
     .p = 2,
     .n = 7,
     .win_bytes = 16,
     .plan = {"lane 0\n loop 4 {\n  await 1 -1 + i*1 from 2\n"
              "  copy WIN[0 + i%2*8] <- OUT[0 + i*8] len 8 tail 4\n  signal 1 1 + i*1\n }\n",
              "lane 0\n loop 4 {\n  await 0 1 + i*1\n"
              "  copy OUT[0 + i*8] <- WIN@0[0 + i%2*8] len 8 tail 4\n  signal 0 1 + i*1\n }\n"}},
    {.name = "sends in a loop, waited for a turn later",
     .coll = TT_COLL_bcast,
     .p = 2,
     .n = 9,
     .plan = {"lane 0\n loop 5 {\n  send %0 to 1 OUT[0 + i*8] len 8 tail 4\n  wait %0 -1\n }\n"
              " wait %0 -1\n",
              "lane 0\n loop 5 {\n  recv %0 from 0 OUT[0 + i*8] len 8 tail 4\n  wait %0 -1\n }\n"
              " wait %0 -1\n"}},
    {.name = "a tail of nothing vanishes with its wait",
     .coll = TT_COLL_bcast,
     .p = 2,
     .n = 4,
     .plan = {"lane 0\n loop 3 {\n  send %0 to 1 OUT[0 + i*8] len 8 tail 0\n }\n"
              " wait %0 -1\n wait %0 -2\n wait %0 -3\n",
              "lane 0\n loop 3 {\n  recv %0 from 0 OUT[0 + i*8] len 8 tail 0\n  wait %0\n }\n"}},
    {.name = "alltoall by put",
     .coll = TT_COLL_alltoall,
     .p = 2,
     .n = 1,
     .plan = {"opens OUT\nlane 0\n signal 1 1\n await 1 1\n put %0 OUT@1[0] <- IN[4] len 4\n"
              " copy OUT[0] <- IN[0] len 4\n wait %0\n signal 1 2\n await 1 2\n",
              "opens OUT\nlane 0\n signal 0 1\n await 0 1\n put %0 OUT@0[4] <- IN[0] len 4\n"
              " copy OUT[4] <- IN[4] len 4\n wait %0\n signal 0 2\n await 0 2\n"}},
    {.name = "a strided transpose in scratch",
     .coll = TT_COLL_alltoall,
     .p = 2,
     .n = 2,
     .plan = {"tmp 64\nlane 0\n copy TMP[0] <- IN[0 block 4 stride 8] len 8\n"
              " copy TMP[8] <- IN[4 block 4 stride 8] len 8\n"
              " copy OUT[0 block 4 stride 4] <- TMP[0 block 4 stride 8] len 8\n"
              " copy TMP[16] <- TMP[4 block 4 stride 8] len 8\n"
              " send %0 to 1 TMP[16] len 8\n recv %1 from 1 OUT[8] len 8\n"
              " wait %0\n wait %1\n",
              "lane 0\n recv %0 from 0 OUT[0] len 8\n send %1 to 0 IN[0] len 8\n"
              " copy OUT[8] <- IN[8] len 8\n wait %1\n wait %0\n"}},
    {.name = "allgatherv by put into segments, nothing between them",
     .coll = TT_COLL_allgatherv,
     .p = 2,
     .plan = {"opens OUT\nlane 0\n signal 1 1\n await 1 1\n"
              " copy OUT[0] <- IN[0] len 4\n put %0 OUT@1[0] <- IN[0] len 4\n wait %0\n"
              " signal 1 2\n await 1 2\n",
              "opens OUT\nlane 0\n signal 0 1\n await 0 1\n"
              " copy OUT[8] <- IN[0] len 8\n put %0 OUT@0[0] <- IN[0] len 8\n wait %0\n"
              " signal 0 2\n await 0 2\n"}},
    {.name = "two lanes, joined by signals to oneself",
     .coll = TT_COLL_allgather,
     .p = 2,
     .n = 2,
     .plan = {"lane 0\n send %0 to 1 IN[0] len 8\n recv %1 from 1 OUT[8] len 4\n wait %0\n"
              " wait %1\n await 0.1 1\n copy OUT[0] <- IN[0] len 8\n"
              "lane 1\n recv %0 from 1 OUT[12] len 4\n wait %0\n signal 0 1\n",
              "lane 0\n recv %0 from 0 OUT[0] len 8\n send %1 to 0 IN[0] len 4\n wait %0\n"
              " wait %1\nlane 1\n send %0 to 0 IN[4] len 4\n copy OUT[8] <- IN[0] len 8\n"
              " wait %0\n"}},
    {.name = "a lane that the other one notified of the opening",
     .coll = TT_COLL_bcast,
     .p = 2,
     .n = 2,
     .plan = {"opens OUT\nlane 0\n signal 1 1\n await 1.1 1\n",
              "lane 0\n await 0 1\n signal 1 1\nlane 1\n await 1 1\n"
              " copy OUT[0] <- OUT@0[0] len 8\n signal 0 1\n"}},
    {.name = "barrier by signals to a set",
     .coll = TT_COLL_barrier,
     .p = 3,
     .plan = {"lane 0\n await 1 1\n await 2 1\n signal {1,2} 1\n",
              "lane 0\n signal 0 1\n await 0 1\n", "lane 0\n signal 0 1\n await 0 1\n"}},
    {.name = "barrier by dissemination",
     .coll = TT_COLL_barrier,
     .p = 4,
     .plan = {"lane 0\n signal 1 1\n await 3 1\n signal 2 2\n await 2 2\n",
              "lane 0\n signal 2 1\n await 0 1\n signal 3 2\n await 3 2\n",
              "lane 0\n signal 3 1\n await 1 1\n signal 0 2\n await 0 2\n",
              "lane 0\n signal 0 1\n await 2 1\n signal 1 2\n await 1 2\n"}},
    {.name = "one rank",
     .coll = TT_COLL_allreduce,
     .p = 1,
     .n = 3,
     .plan = {"lane 0\n copy OUT[0] <- IN[0] len 12\n"}},
    {.name = "one rank, in place",
     .coll = TT_COLL_allreduce,
     .p = 1,
     .n = 3,
     .in_place = true,
     .plan = {"lane 0\n"}},
    {.name = "a node apart, by messages",
     .coll = TT_COLL_bcast,
     .p = 2,
     .n = 1,
     .remote = true,
     .plan = {"lane 0\n send %0 to 1 OUT[0] len 4\n wait %0\n",
              "lane 0\n recv %0 from 0 OUT[0] len 4\n wait %0\n"}},
};
enum { N = sizeof good / sizeof *good };

static void alone(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++) hand_judged(&good[i]);
}

static void one_after_the_other(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++) {
        struct hand h = good[i];
        h.executions = 6;
        hand_judged(&h);
    }
}

static void several_in_flight(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++)
        for (int in_flight = 2; in_flight <= TT_PROOF_SLOTS; in_flight++) {
            struct hand h = good[i];
            h.executions = EXECUTIONS;
            h.in_flight = in_flight;
            hand_judged(&h);
        }
}

/* Checks that the proof has checked every access: a prover that looked at nothing would accept
 * everything. */
static void work_is_done(void **state)
{
    (void)state;
    struct tt_proof proof = hand_proof(&good[0]);
    assert_int_equal(proof.accesses, 6);
    assert_true(proof.steps >= 15);
    assert_string_equal(proof.text, "");
    assert_int_equal(proof.rank, -1);
}

/* Lets each allocation of a proof fail once, and checks that the prover still works afterwards. */
static void without_memory(void **state)
{
    (void)state;
    struct tt_plan *plans[RANKS];
    struct tt_call calls[RANKS];
    for (int r = 0; r < 3; r++) {
        plans[r] = hand_plan(&good[0], r);
        calls[r] = hand_call(&good[0]);
    }
    struct tt_proof_execution execution = {(const struct tt_plan *const *)plans, calls};
    struct tt_proof_case c = {.p = 3, .executions = 1, .execution = &execution};
    struct tt_proof proof;
    int failures = 0;
    for (int i = 0; i < 1000; i++) {
        struct tt_prover *prover = tt_prover_new();
        assert_non_null(prover);
        tt_memory_fail_at(i);
        tutti_status status = tt_prove(prover, &c, &proof);
        tt_memory_fail_at(-1);
        failures += status == TUTTI_ERR_MEMORY;
        assert_true(status == TUTTI_ERR_MEMORY || status == TUTTI_OK);
        assert_int_equal(tt_prove(prover, &c, &proof), TUTTI_OK);
        assert_int_equal(proof.fault, TT_FAULT_NONE);
        tt_prover_free(prover);
        if (status == TUTTI_OK) break;
    }
    assert_in_range(failures, 5, 999);
    for (int r = 0; r < 3; r++) tt_plan_free(plans[r]);
}

static void plans_of_others_are_refused(void **state)
{
    (void)state;
    struct tt_plan *plan = hand_plan(&good[0], 1);
    struct tt_call call = hand_call(&good[0]);
    const struct tt_plan *plans[] = {plan};
    struct tt_proof_execution execution = {plans, &call};
    struct tt_proof_case c = {.p = 1, .executions = 1, .execution = &execution};
    struct tt_proof proof;
    struct tt_prover *prover = tt_prover_new();
    assert_int_equal(tt_prove(prover, &c, &proof), TUTTI_ERR_ARG);
    tt_prover_free(prover);
    tt_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(several_in_flight),
        cmocka_unit_test(work_is_done),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(plans_of_others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
