/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Invalid plan texts: the error gives the line, the column and the reason. A valid text that is cut
 * or changed at any place gives either a valid plan or an error position within the text.
 */
#include "plan/text-util.h"

#define HEAD                                                                                       \
    "plan allreduce algorithm x rank 0 of 4 type f64 op sum\n"                                     \
    "opens IN\n"                                                                                   \
    "tmp 64\n"                                                                                     \
    "lane 0\n"

#define IF4 "  if 1 {\n  if 1 {\n  if 1 {\n  if 1 {\n"
#define DEEP IF4 IF4 IF4 IF4 "  if 1 {\n  signal all 1\n"

static const struct {
    const char *text;
    int line, column;
    const char *message; /* a text that the message must contain */
} cases[] = {
    {"", 1, 1, "expected 'plan'"},
    {"# nothing\n\n", 3, 1, "expected 'plan'"},
    {"plan allredduce algorithm", 1, 6, "expected a collective, one of barrier bcast"},
    {"plan bcast x", 1, 12, "expected 'algorithm'"},
    {"plan bcast algorithm ! rank", 1, 22, "expected an algorithm's name"},
    {"plan bcast algorithm xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx rank", 1, 22,
     "expected an algorithm's name of 1 to 47"},
    {"plan bcast algorithm x rank 4 of 4 type i8\n", 1, 34, "rank 4 of 4"},
    {"plan bcast algorithm x rank 0 of 0 type i8\n", 1, 34, "must be from 1"},
    {"plan bcast algorithm x rank 0 of 2000000 type i8\n", 1, 34, "from 1 to 1048576"},
    {"plan bcast algorithm x rank 0 of 4 type i9\n", 1, 41, "expected a type, one of i8 i16"},
    {"plan reduce algorithm x rank 0 of 4 type i8\n", 1, 44, "expected 'op'"},
    {"plan reduce algorithm x rank 0 of 4 type i8 op plus\n", 1, 48, "no operation 'plus'"},
    {"plan bcast algorithm x rank 0 of 4 type i8 op sum\n", 1, 44, "end of the line"},
    {"plan bcast algorithm x rank 0 of 4 type i8\nopens IN WIN\n", 2, 10, "WIN is always open"},
    {"plan bcast algorithm x rank 0 of 4 type i8\ntmp 65\n", 2, 5, "a multiple of 64"},
    {"plan bcast algorithm x rank 0 of 4 type i8\n", 2, 1, "expected 'lane'"},
    {"plan bcast algorithm x rank 0 of 4 type i8\nlane 1\n", 2, 6, "the next lane is 0"},
    {HEAD "lane 2\n", 5, 6, "the next lane is 1"},
    {HEAD "lane 1\nlane 2\nlane 3\nlane 4\nlane 5\nlane 6\nlane 7\nlane 8\n", 12, 6,
     "must be from 0 to 7"},
    {HEAD "  jump\n", 5, 3, "expected a step, a lane or the end"},
    {HEAD "  sending %0\n", 5, 3, "expected a step"},
    {HEAD DEEP, 21, 8, "blocks are at most 16 deep"},
    {HEAD "  signal all (1/0)\n", 5, 17, "the divisor must be at least 1"},
    {HEAD "  send 0 to 1 IN[0] len 8\n", 5, 8, "expected '%'"},
    {HEAD "  send %1 to 1 IN[0] len 8\n", 5, 9, "the lane's next id is %0"},
    {HEAD "  send %0 to 4 IN[0] len 8\n", 5, 14, "a rank must be from 0 to 3"},
    {HEAD "  send %0 to 1 INN[0] len 8\n", 5, 16, "expected a buffer, one of IN OUT TMP WIN"},
    {HEAD "  send %0 to 1 IN@1[0] len 8\n", 5, 18, "expected '['"},
    {HEAD "  send %0 to 1 IN[-8] len 8\n", 5, 19, "an offset must be from 0"},
    {HEAD "  send %0 to 1 IN[0 + k] len 8\n", 5, 23, "expected 'i'"},
    {HEAD "  loop 2 {\n  send %0 to 1 IN[0 + i*8 + i*8] len 8\n", 6, 29, "i is there already"},
    {HEAD "  loop 2 {\n  send %0 to 1 IN[0 + i%0*8] len 8\n", 6, 25, "a modulus must be from 1"},
    {HEAD "  loop 2 {\n  send %0 to 1 IN[0 + (i+1*8] len 8\n", 6, 27, "expected ')'"},
    {HEAD "  send %0 to 1 IN[0 block 8] len 8\n", 5, 28, "expected 'stride'"},
    {HEAD "  send %0 to 1 IN[0 block 8 stride 7] len 8\n", 5, 36, "must be from 8"},
    {HEAD "  send %0 to 1 IN[0] len 0\n", 5, 26, "a length must be from 1"},
    {HEAD "  send %0 to 1 IN[0]\n", 5, 21, "expected 'len'"},
    {HEAD "  send %0 to 1 IN[0] len 8x\n", 5, 26, "expected a length, a number"},
    {HEAD "  send %0 to 1 IN[0] len 99999999999G\n", 5, 26, "expected a length, a number"},
    {HEAD "  send %0 to 1 IN[4611686018427387904] len 8\n", 5, 19, "an offset must be from 0 to"},
    {HEAD "  loop 4 {\n  copy OUT[0 + i*4611686018427387903] <- IN[0] len 8\n  }\n", 6, 3,
     "this step is wrong: a range that does not fit in 64 bits"},
    {HEAD "  send %0 to 1 IN[0] len 8 8\n", 5, 28, "the end of the line"},
    {HEAD "  put %0 OUT[0] <- IN[0] len 8\n", 5, 13, "expected '@'"},
    {HEAD "  put %0 OUT@0[0] <- IN[0] len 8\n", 5, 14, "rank 0 is this rank itself"},
    {HEAD "  get %0 OUT[0] <- IN[0] len 8\n", 5, 22, "expected '@'"},
    {HEAD "  copy OUT@1[0] <- IN[0] len 8\n", 5, 11, "expected '['"},
    {HEAD "  copy OUT[0] < IN[0] len 8\n", 5, 15, "expected '<-'"},
    {HEAD "  reduce OUT[0] <- IN[0] prod IN@1[0] len 8\n", 5, 26, "expected 'sum', the operation"},
    {HEAD "  wait %0\n", 5, 9, "%0 has not been started"},
    {HEAD "  recv %0 from 1 IN[0] len 8\n  wait %0 -4\n", 6, 12, "must be from 1 to 3"},
    {HEAD "  signal 1\n", 5, 11, "expected a flag value"},
    {HEAD "  signal {} 1\n", 5, 11, "expected a rank"},
    {HEAD "  signal {0,1 1\n", 5, 15, "expected '}'"},
    {HEAD "  signal {3..1} 1\n", 5, 14, "the run ends before it begins"},
    {HEAD "  signal {0..3,0} 1\n", 5, 16, "more ranks than there are"},
    {HEAD "  loop 2 {\n  signal 1 1 + i + i\n", 6, 20, "i is there already"},
    {HEAD "  signal 1 1 + 1\n", 5, 16, "expected 'i'"},
    {HEAD "  await 1.8 1\n", 5, 11, "a lane must be from 0 to 7"},
    {HEAD "  loop 2 {\n  await 1 1 from 0\n", 6, 18, "the first turn must be from 1"},
    {HEAD "  copy OUT[0] <- IN[0] len 8 tail 4\n", 5, 30, "'tail' is for steps in loops"},
    {HEAD "  send %0 to 1 IN[0 + i*8] len 8\n", 5, 23, "expected a loop around this step"},
    {HEAD "  reduce OUT[0] <- IN[0] sum TMP[0 + (i+1)%2*8] len 8\n", 5, 39, "'i' is for steps in"},
    {HEAD "  signal 1 1 + i\n", 5, 16, "'i' is for steps in loops: expected a loop around"},
    {HEAD "  loop 2 {\n  await 1 1 + j\n", 6, 15, "'j' is for steps in loops: expected two loops"},
    {HEAD "  loop 2 {\n  copy OUT[0 + j*8] <- IN[0] len 8\n", 6, 16, "expected two loops"},
    {HEAD "  loop 2 {\n  signal 1 1 + i\n  }\n  await 1 1 from 1\n", 8, 13,
     "'from' is for steps in loops: expected a loop around this step"},
    {HEAD "  loop 0 {\n", 5, 8, "a number of turns must be from 1"},
    {HEAD "  loop 2\n", 5, 9, "expected '{'"},
    {HEAD "  loop 2 {\n", 6, 1, "expected } or a step"},
    {HEAD "  loop 2 {\nlane 1\n", 6, 1, "expected } or a step"},
    {HEAD "  }\n", 5, 3, "no loop is open"},
    {HEAD "  loop 2 {\n  loop 2 {\n  loop 2 {\n", 7, 3, "at most 2 deep"},
    {HEAD "  exchange %0 from TMP\n", 5, 20, "expected 'IN'"},
    {HEAD "  exchange %0 from IN order any\n", 5, 29,
     "expected an order, one of shift random rank"},
    {HEAD "  exchange %0 from IN order shift seed 99999999999999999999 chunk 1 window 1\n", 5, 40,
     "below 2^64"},
    {HEAD "  exchange %0 from IN order shift chunk 1 window 5\n", 5, 50, "from 1 to 4"},
    {HEAD "  exchange %0 from IN order shift chunk 1 window 1\nlane 1\n", 6, 1, "expected 'entry'"},
    {HEAD "  exchange %0 from IN order shift chunk 1 window 1\n"
          "    entry 1 OUT[0] -> OUT@1[0] len 8\n",
     6, 13, "expected 'IN'"},
    {HEAD "  exchange %0 from IN order shift chunk 1 window 1\n"
          "    entry 1 IN[0] -> OUT@2[0] len 8\n",
     6, 26, "an entry for rank 1"},
    {HEAD "  copy OUT[0 block 8 stride 8] <- IN[0] len 12\n", 5, 3, "no multiple of a block"},
    {HEAD "  send %0 to 1 IN[0 block 8 stride 16] len 16\n", 5, 3, "no copy, put or get"},
    {HEAD "  recv %0 from 1 TMP[0 block 8 stride 16] len 16\n", 5, 3, "no copy, put or get"},
    {HEAD "  reduce OUT[0] <- IN[0 block 8 stride 16] sum TMP[0] len 16\n", 5, 3,
     "no copy, put or get"},
    {HEAD "  loop 2 {\n  loop 3 {\n  copy OUT[0 + i%2*8] <- IN[0] len 8\n  }\n  }\n", 7, 3,
     "this step is wrong: a loop whose turns are no multiple of a rotation in it"},
    {HEAD "  signal 1 1\nlane 1\n  # a comment\n  if (1) {\n  for k in 0..3 {\n"
          "    copy OUT[k*8 block 8 stride 8] <- IN[0] len (8+k/3)\n  }\n  }\n",
     10, 5, "this step is wrong: a length that is no multiple of a block"},
    {HEAD "  loop 2G {\n  signal 1 1 + i\n  }\n", 5, 8, "turns must be from 1 to 1073741824"},
};

static bool reported(const struct tt_text_error *error, int i)
{
    return error->line == cases[i].line && error->column == cases[i].column &&
           strstr(error->text, cases[i].message) && strstr(tutti_error(), error->text);
}

static void errors_have_places(void **state)
{
    (void)state;
    int wrong = 0;
    for (int i = 0; i < (int)(sizeof cases / sizeof cases[0]); i++) {
        struct tt_text_error error = {0};
        struct tt_plan *plan = tt_plan_parse(cases[i].text, &error);
        if (!plan && reported(&error, i)) continue;
        print_error("case %d: got %d:%d: %s\n     wanted %d:%d: %s\n%s\n", i, error.line,
                    error.column, error.text, cases[i].line, cases[i].column, cases[i].message,
                    cases[i].text);
        tt_plan_free(plan);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static const char good[] = HEAD "  send %0 to 1 IN[64] len 4K\n"
                                "  recv %1 from 2 TMP[0] len 64\n"
                                "  loop 3 {\n"
                                "    copy OUT[0] <- IN[64 + (i+1)%2*4K block 8 stride 1K] len 4K\n"
                                "    put %2 OUT@1[0] <- IN[0 + i*8] len 8 tail 4 every 2 phase 1\n"
                                "    wait %2 -1 from 1\n"
                                "    signal {0..2,3} 1 + i*2\n"
                                "  }\n"
                                "  await 1.1 3\n"
                                "  reduce OUT[0] <- IN[0] sum WIN@1[0] sum IN@2[0] len 8\n"
                                "lane 1\n"
                                "  exchange %0 from IN order random seed 7 chunk 2K window 2\n"
                                "    entry 1 IN[5000] -> OUT@1[0] len 5000\n"
                                "    entry 2 IN[10000] -> OUT@2[0] len 70000\n";

/* Parses a text and checks the plan or the error. Returns whether the text was accepted. Sanitizers
 * check that nothing leaks in either case. */
static bool judged(const char *text)
{
    struct tt_text_error error = {0};
    struct tt_plan *plan = tt_plan_parse(text, &error);
    if (plan) {
        comes_back(plan);
    } else {
        int lines = 1;
        for (const char *at = text; *at; at++) lines += *at == '\n';
        assert_true(error.line >= 1 && error.line <= lines);
        assert_true(error.column >= 1 && error.column <= (int)strlen(text) + 1);
        assert_true(error.text[0]);
    }
    tt_plan_free(plan);
    return plan;
}

static void cut_anywhere(void **state)
{
    (void)state;
    int taken = 0;
    for (size_t n = 0; n < sizeof good; n++) {
        char *cut = strndup(good, n); /* in its own allocation, so that sanitizers notice reads
                                       * beyond its end */
        taken += judged(cut);
        free(cut);
    }
    assert_true(taken > 10);
    assert_true(judged(good));
}

static void changed_anywhere(void **state)
{
    (void)state;
    static const char others[] = "\n 09-%@[}#x\xff";
    int taken = 0;
    for (size_t n = 0; n + 1 < sizeof good; n++) {
        for (const char *other = others; *other; other++) {
            char *changed = strdup(good);
            changed[n] = *other;
            taken += judged(changed);
            free(changed);
        }
    }
    assert_true(taken > 100);
}

static void without_memory(void **state)
{
    (void)state;
    bool done = false;
    int i = 0;
    for (; !done; i++) {
        tt_memory_fail_at(i);
        struct tt_plan *plan = tt_plan_parse(good, NULL);
        tt_memory_fail_at(-1);
        done = plan;
        tt_plan_free(plan);
        if (!done) assert_non_null(strstr(tutti_error(), "memory"));
    }
    assert_true(i > 3);
    assert_true(judged(good));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory),
        cmocka_unit_test(errors_have_places),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(changed_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
