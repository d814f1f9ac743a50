/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plan files: the version, the problem, plans for one rank or any rank, expressions and blocks; and
 * the errors, each with its file, line and column.
 */
#include "plan/text-util.h"

#include "text/plan-file.h"

#define BEGIN "tutti plan 1\nproblem allreduce/f64/sum/8/p3\n"
#define HEAD BEGIN "plan allreduce algorithm x rank r of p type f64 op sum\nlane 0\n"

/* Returns the call of the problem for which the texts are parsed. */
static struct tt_call call_of(const char *text, int *p)
{
    struct tt_problem problem;
    assert_int_equal(tt_problem_parse(text, &problem, NULL), TUTTI_OK);
    *p = problem.p;
    return tt_problem_call(&problem, 0, NULL);
}

/* Parses the text as a file for the problem, and compares the plan of the rank with `expected`. */
static void gives(const char *text, const char *problem, int rank, const char *expected)
{
    struct tt_plan_file file;
    int p;
    struct tt_call call = call_of(problem, &p);
    if (tt_plan_file_text(&file, "file", text) != TUTTI_OK) fail_msg("%s\n%s", tutti_error(), text);
    struct tt_plan *plan = tt_plan_file_plan(&file, &call, p, rank);
    if (!plan) fail_msg("%s\n%s", tutti_error(), text);
    struct tt_plan *wanted = parsed(expected);
    char *got = printed(plan);
    if (!tt_plan_equal(plan, wanted)) fail_msg("got\n%s\nwanted\n%s", got, expected);
    comes_back(plan);
    free(got);
    tt_plan_free(wanted);
    tt_plan_free(plan);
    tt_plan_file_close(&file);
}

static void ranks_are_variables(void **state)
{
    (void)state;
    static const char flat[] = "tutti plan 1\n"
                               "plan allreduce algorithm flat rank r of p type f64 op sum\n"
                               "lane 0\n"
                               "  copy WIN[0] <- IN[0] len bytes\n"
                               "  signal all 1\n"
                               "  for k in 1..(p-1) {\n"
                               "    await (r+k)%p 1\n"
                               "  }\n"
                               "  reduce OUT[0] <- WIN@0..(p-1)[0] len bytes\n";
    gives(flat, "allreduce/f64/sum/8/p3", 1,
          "plan allreduce algorithm flat rank 1 of 3 type f64 op sum\n"
          "lane 0\n  copy WIN[0] <- IN[0] len 8\n  signal all 1\n  await 2 1\n  await 0 1\n"
          "  reduce OUT[0] <- WIN@0[0] sum WIN[0] sum WIN@2[0] len 8\n");
    gives(flat, "allreduce/f64/sum/16/p2", 0,
          "plan allreduce algorithm flat rank 0 of 2 type f64 op sum\n"
          "lane 0\n  copy WIN[0] <- IN[0] len 16\n  signal all 1\n  await 1 1\n"
          "  reduce OUT[0] <- WIN[0] sum WIN@1[0] len 16\n");
}

/* Checks that a plan for one rank has priority over the plan for any rank. Also checks that a wait
 * refers to the transfer that has its id in the text, even if the builder drops transfers of length
 * 0 and renumbers the others. */
static void blocks_and_ids(void **state)
{
    (void)state;
    static const char text[] = "tutti plan 1\n"
                               "plan bcast algorithm x rank r of p type u8\n"
                               "lane 0\n"
                               "  recv %0 from root OUT[0] len (bytes-10)\n"
                               "  recv %1 from root OUT[0] len bytes\n"
                               "  wait %1\n"
                               "  wait %0\n"
                               "  if (r == 2) {\n"
                               "    loop (p-p) {  # in braces, of which this line has one\n"
                               "    }\n"
                               "    send %2 to 0 OUT[0] len 1\n"
                               "  }\n"
                               "plan bcast algorithm x rank 0 of 3 type i8\n"
                               "lane 0\n"
                               "  for k in 1..2 {\n"
                               "    for l in 0..(k-1) {\n"
                               "      send %0 to k OUT[l*4] len (bytes >> l)\n"
                               "      wait %0\n"
                               "    }\n"
                               "  }\n";
    gives(text, "bcast/u8/10/p3", 1,
          "plan bcast algorithm x rank 1 of 3 type u8\nlane 0\n"
          "  recv %0 from 0 OUT[0] len 10\n  wait %0\n");
    gives(text, "bcast/u8/10/p3", 0,
          "plan bcast algorithm x rank 0 of 3 type u8\nlane 0\n"
          "  send %0 to 1 OUT[0] len 10\n  wait %0\n"
          "  send %1 to 2 OUT[0] len 10\n  wait %1\n"
          "  send %2 to 2 OUT[4] len 5\n  wait %2\n");
}

static void expressions(void **state)
{
    static const struct {
        const char *text;
        int value;
    } cases[] = {
        {"7", 7},
        {"(2+3)*4", 20},
        {"(2+3*4)", 14},
        {"7/2", 3},
        {"(r-1)%p", 2},
        {"((0-7)/2+8)", 4},
        {"(1<<4)", 16},
        {"(17>>2)", 4},
        {"(5^1)", 4},
        {"(6&3|8)", 10},
        {"(3 == 3)", 1},
        {"(3 != 3 || 2 > 1)", 1},
        {"(1 < 2 && 2 <= 1)", 0},
        {"((p >= 3)+1)", 2},
        {"bytes/sz", 1},
        {"1K*2", 2048},
        {"(2 - -3)", 5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400], expected[200];
        snprintf(text, sizeof text, HEAD "  signal 1 %s\n", cases[i].text);
        snprintf(expected, sizeof expected,
                 "plan allreduce algorithm x rank 0 of 3 type f64 op sum\nlane 0\n  signal 1 %d\n",
                 cases[i].value);
        gives(text, "allreduce/f64/sum/8/p3", 0, expected);
    }
}

static const struct {
    const char *text, *says;
} errors[] = {
    {"", "file:1:1: expected 'tutti plan 1', the version of the format"},
    {"plan allreduce", "file:1:1: expected 'tutti plan 1', the version of the format"},
    {"# mine\n\ntutti plan 2\n", "file:3:12: this is version 2 of the format, and version 1"},
    {"tutti plan 1\nproblem allreduce/f64/sum/9/p3\n", "file:2:27: "},
    {"tutti plan 1\nproblem x\n", "file:2:9: "},
    {"tutti plan 1\n", "file:2:1: expected 'plan'"},
    {BEGIN "send %0\n", "file:3:1: expected 'plan'"},
    {BEGIN "plan allreduce algorithm x rank q of 3", "file:3:33: expected a rank: a number, or r"},
    {HEAD "plan allreduce algorithm x rank r of 3", "file:5:33: line 3 has a plan for any rank"},
    {BEGIN "plan allreduce algorithm x rank 1 of 3\nplan allreduce algorithm x rank 1 of 3",
     "file:4:33: line 3 has a plan for rank 1 already"},
    {BEGIN "plan allreduce algorithm x rank 1 of 3 type f64 op sum\nlane 0\n",
     "file:5:1: expected a plan for rank 0 of 3, or one for any rank (rank r)"},
    {HEAD "plan allreduce algorithm x rank 3 of 4 type f64 op sum\n",
     "file:5:1: the plan is for rank 3, and the problem has 3 ranks"},
    {BEGIN "plan allreduce algorithm x rank r of 4 type f64 op sum\n",
     "file:3:38: the plan is for 4 ranks, and the problem has 3"},
    {BEGIN "plan bcast algorithm x rank r of p type f64\n",
     "file:3:6: the plan is for the collective bcast, and the problem has allreduce"},
    {BEGIN "plan allreduce algorithm x rank r of p type f32 op sum\n",
     "file:3:45: the plan is for the type f32, and the problem has f64"},
    {BEGIN "plan allreduce algorithm x rank r of p type f64 op max\n",
     "file:3:52: the plan is for the operation max, and the problem has sum"},
    {BEGIN "plan allreduce algorithm x rank r of p type f64 op user\n",
     "file:3:52: the plan is for the operation user, and the problem has sum"},
    {HEAD "  signal (r+1)%q 1\n",
     "file:5:16: expected a rank, a number or one of r p sz bytes inplace; "
     "there is no 'q'"},
    {HEAD "  signal (r+3) 1\n", "file:5:10: a rank must be from 0 to 2, and this is 3"},
    {HEAD "  signal 1 r/0\n", "file:5:14: a division by 0"},
    {HEAD "  signal 1 (1 << 63)\n", "file:5:18: 1 cannot be shifted by 63"},
    {HEAD "  signal 1 (4G*4G*4G)\n", "file:5:16: the result does not fit into 64 bits"},
    {HEAD "  signal 1 (1+\n", "file:5:15: expected a flag value, a number"},
    {HEAD "  signal 1 (1\n", "file:5:14: expected ')'"},
    {HEAD "  for i in 0..1 {\n", "file:5:7: i is the turn of a loop"},
    {HEAD "  for p in 0..1 {\n", "file:5:7: there is a variable p already"},
    {HEAD "  for k of 0..1 {\n", "file:5:9: expected 'in'"},
    {HEAD "  for k in 0..1\n", "file:5:16: expected '{'"},
    {HEAD "  for k in 0..1 {\n", "file:6:1: expected } or a step"},
    {HEAD "  for k in 1..0 {\n  if (1) {\n  }\n", "file:8:1: expected the } of the block"},
    {HEAD "  for k in 0..4M {\n  for l in 0..4M {\n  }\n  }\n", "file:7:3: the blocks `for` of a"},
    {HEAD "  if (r == 1) {\n", "file:6:1: expected the } of the block"},
    {HEAD "  if r == 1 {\n", "file:5:8: expected '{'"},
    {HEAD "  }\n", "file:5:3: no loop is open, and no other block"},
    {HEAD "  for k in 0..1 {\n    wait %0\n  }\n", "file:6:11: %0 has not been started"},
    {HEAD "  send %0 to 1 IN[0] len 8\n  send %0 to 1 IN[0] len 8\n",
     "file:6:9: the lane's next id is %1"},
    {HEAD "  jump\n", "file:5:3: expected a step, a lane, a plan or the end"},
};

static void errors_have_places(void **state)
{
    (void)state;
    int wrong = 0, p;
    struct tt_call call = call_of("allreduce/f64/sum/8/p3", &p);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct tt_plan_file file;
        struct tt_plan *plans[3];
        tutti_status status = tt_plan_file_text(&file, "file", errors[i].text);
        bool good = status == TUTTI_OK && tt_plan_file_plans(&file, &call, p, plans);
        bool reported = strncmp(tutti_error(), errors[i].says, strlen(errors[i].says)) == 0;
        if (good || !reported)
            print_error("got: %s\nwanted: %s\n%s\n", good ? "plans" : tutti_error(), errors[i].says,
                        errors[i].text);
        wrong += good || !reported;
        for (int r = 0; good && r < p; r++) tt_plan_free(plans[r]);
        if (status == TUTTI_OK) tt_plan_file_close(&file);
    }
    assert_int_equal(wrong, 0);
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    struct tt_plan_file file;
    assert_int_equal(tt_plan_file_open(&file, "/no/such/file"), TUTTI_ERR_SYSTEM);
    assert_non_null(strstr(tutti_error(), "the plan file /no/such/file cannot be read: No such"));
    assert_int_equal(tt_plan_file_open(&file, "/"), TUTTI_ERR_SYSTEM);
    assert_non_null(strstr(tutti_error(), "the plan file / cannot be read: Is a directory"));
    assert_int_equal(tt_plan_file_open(&file, "/dev/null"), TUTTI_ERR_ARG);
    assert_non_null(strstr(tutti_error(), "/dev/null:1:1: expected 'tutti plan 1'"));
}

static void without_memory(void **state)
{
    (void)state;
    int p, failures = 0;
    struct tt_call call = call_of("allreduce/f64/sum/8/p3", &p);
    for (bool done = false; !done; failures += !done) {
        struct tt_plan_file file;
        struct tt_plan *plans[3];
        tt_memory_fail_at(failures);
        tutti_status status = tt_plan_file_text(
            &file, "file", HEAD "  reduce OUT[0] <- IN[0] sum WIN@(r+1)%p[0] len bytes\n");
        done = status == TUTTI_OK && tt_plan_file_plans(&file, &call, p, plans);
        tt_memory_fail_at(-1);
        if (!done) assert_non_null(strstr(tutti_error(), "memory"));
        for (int r = 0; done && r < p; r++) tt_plan_free(plans[r]);
        if (status == TUTTI_OK) tt_plan_file_close(&file);
    }
    assert_true(failures > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_variables),
        cmocka_unit_test(blocks_and_ids),
        cmocka_unit_test(expressions),
        cmocka_unit_test(errors_have_places),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
