/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans written by hand, compared with costs that were counted by hand.
 */
#include "plan/text-util.h"

#include "plan/count.h"

enum { MOST = 8 };

static void counted(const char *text, int p, struct tt_count *count)
{
    struct tt_plan *plans[MOST];
    struct tt_text_error error = {0};
    int n = tt_plans_parse(text, plans, MOST, &error);
    if (n != p) fail_msg("line %d: %s", error.line, error.text);
    assert_int_equal(tt_count_plans((const struct tt_plan *const *)plans, p, count), TUTTI_OK);
    while (n > 0) tt_plan_free(plans[--n]);
}

static void same(const struct tt_count *got, struct tt_count want)
{
    assert_int_equal(got->sent, want.sent);
    assert_int_equal(got->received, want.received);
    assert_int_equal(got->reduced, want.reduced);
    assert_int_equal(got->copied, want.copied);
    assert_int_equal(got->messages, want.messages);
    assert_int_equal(got->steps, want.steps);
}

static void operands_of_others(void **state)
{
    (void)state;
    struct tt_count count[2];
    counted("plan allreduce algorithm flat rank 0 of 2 type f64 op sum\n"
            "lane 0\n"
            "  copy WIN[0] <- IN[0] len 8\n"
            "  signal all 1\n"
            "  await 1 1\n"
            "  reduce OUT[0] <- IN[0] sum WIN@1[0] len 8\n"
            "plan allreduce algorithm flat rank 1 of 2 type f64 op sum\n"
            "lane 0\n"
            "  copy WIN[0] <- IN[0] len 8\n"
            "  signal all 1\n"
            "  await 0 1\n"
            "  reduce OUT[0] <- WIN@0[0] sum IN[0] len 8\n",
            2, count);
    struct tt_count each = {
        .sent = 8, .received = 8, .reduced = 8, .copied = 8, .messages = 1, .steps = 4};
    same(&count[0], each);
    same(&count[1], each);
}

static void messages_and_transfers(void **state)
{
    (void)state;
    struct tt_count count[3];
    counted("plan bcast algorithm x rank 0 of 3 type u8\n"
            "opens OUT\n"
            "lane 0\n"
            "  send %0 to 1 OUT[0] len 100\n"
            "  wait %0\n"
            "  signal 2 1\n"
            "  await 2 1\n"
            "plan bcast algorithm x rank 1 of 3 type u8\n"
            "lane 0\n"
            "  recv %0 from 0 OUT[0] len 100\n"
            "  wait %0\n"
            "lane 1\n"
            "  put %0 OUT@2[100] <- OUT[0] len 7\n"
            "  wait %0\n"
            "plan bcast algorithm x rank 2 of 3 type u8\n"
            "opens OUT\n"
            "lane 0\n"
            "  await 0 1\n"
            "  get %0 OUT[0] <- OUT@0[0] len 30\n"
            "  copy OUT[30] <- OUT@0[30] len 70\n"
            "  reduce OUT[200] <- OUT[0] len 5\n"
            "  wait %0\n"
            "  signal 0 1\n",
            3, count);
    same(&count[0], (struct tt_count){.sent = 200, .messages = 1, .steps = 4});
    same(&count[1], (struct tt_count){.sent = 7, .received = 100, .messages = 1, .steps = 4});
    same(&count[2], (struct tt_count){.received = 107, .copied = 5, .messages = 2, .steps = 6});
    same(&(struct tt_count[]){tt_count_worst(count, 3)}[0],
         (struct tt_count){.sent = 200, .received = 107, .copied = 5, .messages = 2, .steps = 6});
    same(&(struct tt_count[]){tt_count_sum(count, 3)}[0],
         (struct tt_count){.sent = 207, .received = 207, .copied = 5, .messages = 4, .steps = 14});
}

static void loops_are_unrolled(void **state)
{
    (void)state;
    struct tt_count count[1];
    counted("plan reduce algorithm x rank 0 of 1 type f64 op sum\n"
            "lane 0\n"
            "  loop 3 {\n"
            "    loop 4 {\n"
            "      reduce OUT[0 + i*8] <- IN[0 + i*8] sum IN[64] sum IN[128] len 8 tail 2\n"
            "      copy TMP[0] <- IN[0] len 10 from 3\n"
            "    }\n"
            "    copy TMP[0] <- IN[0] len 1K tail 0\n"
            "  }\n",
            1, count);
    same(&count[0], (struct tt_count){.reduced = 3 * 2 * (3 * 8 + 2),
                                      .copied = 3 * 10 + 2048,
                                      .steps = 12 + 3 + 2});
}

/* Checks waits for a transfer that an earlier turn of a loop has started. In the first turns there
 * is no such transfer, and the wait is left out. */
static void waits_without_an_instance_are_left_out(void **state)
{
    (void)state;
    struct tt_count count[2];
    counted("plan bcast algorithm x rank 0 of 2 type u8\n"
            "lane 0\n"
            "  loop 3 {\n"
            "    send %0 to 1 OUT[0] len 8\n"
            "    loop 5 {\n"
            "      send %1 to 1 OUT[0] len 8 tail 3 every 2\n"
            "      wait %1 -3 from 2\n"
            "      signal 1 1 from 2\n"
            "    }\n"
            "    wait %0 -1\n"
            "    wait %1 -1\n"
            "  }\n"
            "  wait %0\n"
            "  wait %1\n"
            "plan bcast algorithm x rank 1 of 2 type u8\n"
            "lane 0\n",
            2, count);
    same(&count[0], (struct tt_count){.sent = 3 * 8 + 3 * (3 * 8 + 2 * 3),
                                      .messages = 3 + 15,
                                      .steps = 3 + 15 + (2 + 3 + 3) + 9 + 2 + 3 + 2});
}

/* Checks that the steps of a plan are counted at once, even if its loops make 2^46 turns. */
static void long_loops_take_no_time(void **state)
{
    (void)state;
    struct tt_count count[1];
    counted("plan bcast algorithm x rank 0 of 1 type u8\n"
            "lane 0\n"
            "  loop 65536 {\n"
            "    loop 1073741824 {\n"
            "      copy TMP[0] <- TMP[64] len 8\n"
            "    }\n"
            "  }\n",
            1, count);
    same(&count[0], (struct tt_count){.copied = INT64_C(8) << 46, .steps = INT64_C(1) << 46});
}

/* Checks that a number that does not fit in 63 bits becomes TT_COUNT_MOST, also in the sum over
 * ranks. */
static void large_numbers_stay_the_largest(void **state)
{
    (void)state;
    struct tt_count count[1];
    counted("plan bcast algorithm x rank 0 of 1 type u8\n"
            "lane 0\n"
            "  loop 65536 {\n"
            "    loop 1073741824 {\n"
            "      copy TMP[0] <- TMP[1M] len 1M\n"
            "      copy TMP[0] <- TMP[64] len 8\n"
            "    }\n"
            "  }\n",
            1, count);
    same(&count[0], (struct tt_count){.copied = TT_COUNT_MOST, .steps = INT64_C(2) << 46});
    struct tt_count both[] = {{.sent = INT64_MAX - 1, .steps = 1}, {.sent = 2, .steps = 1}};
    same(&(struct tt_count[]){tt_count_sum(both, 2)}[0],
         (struct tt_count){.sent = TT_COUNT_MOST, .steps = 2});
}

static void exchanges_are_unrolled(void **state)
{
    (void)state;
    struct tt_count count[3];
    counted("plan alltoallv algorithm exchange rank 0 of 3 type u8\n"
            "opens OUT\n"
            "lane 0\n"
            "  exchange %0 from IN order random seed 7 chunk 2K window 2\n"
            "    entry 1 IN[5000] -> OUT@1[0] len 5000\n"
            "    entry 2 IN[10000] -> OUT@2[0] len 70000\n"
            "plan alltoallv algorithm exchange rank 1 of 3 type u8\n"
            "lane 0\n"
            "plan alltoallv algorithm exchange rank 2 of 3 type u8\n"
            "lane 0\n",
            3, count);
    int puts = 3 + 35; /* each put has at most 2 KiB */
    same(&count[0], (struct tt_count){.sent = 75000, .messages = puts, .steps = 2 * puts});
    same(&count[1], (struct tt_count){.received = 5000});
    same(&count[2], (struct tt_count){.received = 70000});
}

static void without_memory(void **state)
{
    (void)state;
    struct tt_plan *plan = parsed("plan alltoallv algorithm x rank 0 of 1 type u8\n"
                                  "lane 0\n"
                                  "  loop 2 {\n"
                                  "    copy OUT[0] <- IN[0] len 8\n"
                                  "  }\n");
    const struct tt_plan *plans[] = {plan};
    struct tt_count count;
    tt_memory_fail_at(0);
    assert_int_equal(tt_count_plans(plans, 1, &count), TUTTI_ERR_MEMORY);
    tt_memory_fail_at(-1);
    assert_int_equal(tt_count_plans(plans, 1, &count), TUTTI_OK);
    assert_int_equal(count.copied, 16);
    tt_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_of_others),
        cmocka_unit_test(messages_and_transfers),
        cmocka_unit_test(loops_are_unrolled),
        cmocka_unit_test(large_numbers_stay_the_largest),
        cmocka_unit_test(exchanges_are_unrolled),
        cmocka_unit_test(waits_without_an_instance_are_left_out),
        cmocka_unit_test(long_loops_take_no_time),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
