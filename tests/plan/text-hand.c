/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans written by hand print exactly as they were written. So do the plans in docs/plan.md (the
 * program's argument), apart from comments.
 */
#include "plan/text-util.h"

#include <ctype.h>

/* A plan with everything that the grammar has, in its printed form. */
static const char everything[] = "plan allreduce algorithm all-of-it rank 1 of 9 type f64 op sum\n"
                                 "opens IN OUT TMP\n"
                                 "tmp 4K\n"
                                 "lane 0\n"
                                 "  send %0 to 0 IN[0] len 8\n"
                                 "  recv %1 from 8 TMP[3K] len 1M\n"
                                 "  put %2 OUT@2[64] <- IN[1000] len 12345\n"
                                 "  get %3 TMP[0] <- TMP@3[2K] len 2K\n"
                                 "  wait %0\n"
                                 "  wait %3\n"
                                 "  signal 0 1\n"
                                 "  signal all 2\n"
                                 "  signal {0..3,7} 3\n"
                                 "  signal {8,0,2..3} 100\n"
                                 "  signal 1 101\n"
                                 "  await 0 1\n"
                                 "  await 1.1 7\n"
                                 "  copy WIN[0] <- IN@4[0] len 8\n"
                                 "  copy TMP[0 block 64 stride 4K] <- IN[8] len 256\n"
                                 "  reduce OUT[0] <- IN[0] len 8\n"
                                 "  reduce OUT[0] <- IN[0] sum WIN@2[0] sum WIN@3[0] len 8\n"
                                 "  loop 7 {\n"
                                 "    send %4 to 5 IN[64 + i*4K] len 4K tail 100\n"
                                 "    wait %4\n"
                                 "    wait %4 -1\n"
                                 "    wait %4 -3 from 3\n"
                                 "    signal all 101 + i*1 from 1\n"
                                 "    await 0 -1 + i*2\n"
                                 "    loop 6 {\n"
                                 "      copy WIN[0 + i%2*4K] <- IN[0 + (i+1)%3*8 - j*64] len 8\n"
                                 "      copy OUT[1G - i*8] <- IN[0 + (i+4)*8 + j*1M] len 8 tail 0\n"
                                 "      copy OUT[0] <- IN[0] len 8 tail 4 every 3 phase 2 from 5\n"
                                 "      copy OUT[0] <- IN[0] len 8 tail 4 every 2\n"
                                 "      signal 2 1024\n"
                                 "      signal 2 5 + i*1 + j*6\n"
                                 "    }\n"
                                 "  }\n"
                                 "  wait %4 -1\n"
                                 "lane 1\n"
                                 "  exchange %0 from IN order random seed 7 chunk 2K window 2\n"
                                 "    entry 2 IN[5000] -> OUT@2[0] len 5000\n"
                                 "    entry 3 IN[10000] -> OUT@3[0] len 70000\n"
                                 "  exchange %1 from OUT order shift chunk 1 window 4\n"
                                 "    entry 0 OUT[0] -> OUT@0[7] len 1\n"
                                 "  signal 1 7\n"
                                 "lane 2\n";

static void prints_as_written(void **state)
{
    (void)state;
    struct tt_plan *plan = parsed(everything);
    char *text = printed(plan);
    assert_string_equal(text, everything);
    free(text);
    comes_back(plan);
    tt_plan_free(plan);
}

static void fields_are_set(void **state)
{
    (void)state;
    struct tt_plan *plan = parsed(everything);
    assert_int_equal(plan->coll, TT_COLL_allreduce);
    assert_int_equal(plan->me, 1);
    assert_int_equal(plan->p, 9);
    assert_int_equal(plan->type, TUTTI_F64);
    assert_int_equal(plan->op, TUTTI_SUM);
    assert_int_equal(plan->opens, 1 << TT_IN | 1 << TT_OUT | 1 << TT_TMP);
    assert_int_equal(plan->tmp_bytes, 4096);
    assert_int_equal(plan->lanes, 3);
    assert_int_equal(plan->operands, 4);
    assert_true(plan->loops);
    assert_false(plan->segments);
    const struct tt_step *put = &plan->steps[2];
    assert_int_equal(put->kind, TT_PUT);
    assert_int_equal(put->peer, 2);
    assert_int_equal(put->len, 12345);
    assert_int_equal(plan->ranges[put->first].rank, 2);
    assert_int_equal(plan->ranges[put->first + 1].off, 1000);
    tt_plan_free(plan);
}

static void blanks_and_comments_do_not_matter(void **state)
{
    (void)state;
    struct tt_plan *plain = parsed("plan barrier algorithm x rank 0 of 2 type i8\n"
                                   "lane 0\n"
                                   "  signal all 1\n"
                                   "  await 1 1\n");
    struct tt_plan *other = parsed("# a comment\r\n"
                                   "\n"
                                   "   plan  barrier algorithm\tx rank 0 of 2 type i8 # one\n"
                                   "lane 0 # two\n"
                                   "\n"
                                   "# three\n"
                                   "signal all 1\n"
                                   "\tawait 1 1");
    assert_true(tt_plan_equal(plain, other));
    tt_plan_free(plain);
    tt_plan_free(other);
}

static void several_plans(void **state)
{
    (void)state;
    static const char text[] = "plan bcast algorithm x rank 0 of 2 type i8\n"
                               "lane 0\n"
                               "  send %0 to 1 OUT[0] len 8\n"
                               "  wait %0\n"
                               "plan bcast algorithm x rank 1 of 2 type i8\n"
                               "lane 0\n"
                               "  recv %0 from 0 OUT[0] len 8\n"
                               "  wait %0\n";
    struct tt_plan *plans[3];
    assert_int_equal(tt_plans_parse(text, plans, 3, NULL), 2);
    assert_int_equal(plans[0]->me, 0);
    assert_int_equal(plans[1]->me, 1);
    assert_false(tt_plan_equal(plans[0], plans[1]));
    tt_plan_free(plans[0]);
    tt_plan_free(plans[1]);
    assert_int_equal(tt_plans_parse(text, plans, 1, NULL), -1);
    assert_null(tt_plan_parse(text, NULL));
}

static void unrolls(void **state)
{
    (void)state;
    struct tt_plan *plan =
        parsed("plan bcast algorithm x rank 0 of 2 type i8\n"
               "lane 0\n"
               "  loop 3 {\n"
               "    put %0 OUT@1[8 + i*4K block 8 stride 16] <- IN[0] len 4K tail 8\n"
               "    wait %0 -1\n"
               "    signal 1 1 + i*2 from 1\n"
               "  }\n"
               "  wait %0 -1\n");
    char *text = unrolled(plan);
    assert_string_equal(text, "plan bcast algorithm x rank 0 of 2 type i8\n"
                              "lane 0\n"
                              "  put %0 OUT@1[8 block 8 stride 16] <- IN[0] len 4K\n"
                              "  put %0.1 OUT@1[4104 block 8 stride 16] <- IN[0] len 4K\n"
                              "  wait %0\n"
                              "  signal 1 3\n"
                              "  put %0.2 OUT@1[8200 block 8 stride 16] <- IN[0] len 8\n"
                              "  wait %0.1\n"
                              "  signal 1 5\n"
                              "  wait %0.2\n");
    free(text);
    tt_plan_free(plan);
}

/* ---- The plans in the documentation ---- */

static char *document;

static void read_document(const char *path)
{
    FILE *in = fopen(path, "r");
    size_t size = 0, used = 0;
    for (int c; in && (c = fgetc(in)) != EOF; document[used++] = (char)c)
        if (used + 1 >= size) document = realloc(document, size = 2 * size + 4096);
    if (in) fclose(in);
    if (document) document[used] = '\0';
}

/* Returns the next block of lines with an indent of four that begins with "    plan ", and sets *at
 * to the text after it. Returns NULL if there is no such block. The caller frees the block. */
static char *next_block(const char **at)
{
    const char *begin = strstr(*at, "\n    plan "), *end = begin;
    if (!begin) return NULL;
    while (strncmp(end, "\n    ", 5) == 0) end += 1 + strcspn(end + 1, "\n");
    *at = end;
    return strndup(begin, (size_t)(end - begin));
}

/* Returns a copy without comments, indentation and trailing blanks. */
static char *bare(const char *text)
{
    char *copy = calloc(1, strlen(text) + 1), *to = copy;
    assert_non_null(copy);
    for (const char *line = text; *line; line += strcspn(line, "\n")) {
        line += strspn(line, " \n");
        const char *end = line + strcspn(line, "#\n");
        while (end > line && isspace((unsigned char)end[-1])) end--;
        to = mempcpy(to, line, (size_t)(end - line));
        if (end > line) *to++ = '\n';
    }
    return copy;
}

static void documented_plans_parse(void **state)
{
    (void)state;
    assert_non_null(document);
    const char *at = document;
    int n = 0;
    for (char *block; (block = next_block(&at)); n++) {
        struct tt_plan *plan = parsed(block);
        char *text = printed(plan), *written = bare(block), *back = bare(text);
        assert_string_equal(back, written);
        free(back);
        free(written);
        free(text);
        free(block);
        comes_back(plan);
        tt_plan_free(plan);
    }
    assert_true(n >= 3);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_as_written),
        cmocka_unit_test(fields_are_set),
        cmocka_unit_test(blanks_and_comments_do_not_matter),
        cmocka_unit_test(several_plans),
        cmocka_unit_test(unrolls),
        cmocka_unit_test(documented_plans_parse),
    };
    if (argc > 1) read_document(argv[1]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(document);
    return failed;
}
