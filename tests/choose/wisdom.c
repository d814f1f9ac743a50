/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests lines of wisdom: they are printed and parsed again; the right line decides for a call; and
 * no line is lost if processes add to a file at the same time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "choose/choose.h"
#include "model.h"
#include "text/problem.h"

static const char sliced[] =
    "allreduce/f64/sum/1M/p4 halving slice=32K radix=4 us=613.520 others=window:702.101,"
    "chain/slice=4K:9.000 cores=2 reach=read date=2026-11-25T18:03:11Z tutti=0.9.0 machine=m-2";
static const char *const lines[] = {
    sliced,
    "barrier/p2 flat us=0.190 cores=2 reach=load date=unknown tutti=1 machine=m",
    "allreduce/f64/sum/1M/p4@nodes:2,2 parts slice=32K lanes=8 us=12.000 cores=2 reach=kernel "
    "date=x tutti=1 machine=m",
    "gather/u8/24/p5@nodes:2,2,1 composed us=12.000 cores=2 reach=kernel date=x tutti=1 machine=m",
    "gather/u8/24/p96@nodes:1*96 composed us=12.000 cores=2 reach=window date=x tutti=1 machine=m",
};

static void text_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct tt_wisdom_line line;
        struct tt_problem problem;
        char why[TT_FILE_WHY], text[TT_WISDOM_LINE];
        if (!tt_wisdom_parse(lines[i], &line, why)) fail_msg("%s: %s", lines[i], why);
        assert_string_equal(tt_wisdom_print(&line, text), lines[i]);
        *strchr(text, ' ') = '\0'; /* leaves the problem, which must parse as it is */
        assert_int_equal(tt_problem_parse(text, &problem, NULL), TUTTI_OK);
        assert_int_equal(problem.p, line.wise.p);
        assert_int_equal((int)problem.call.coll, line.wise.coll);
        assert_int_equal(problem.n * problem.call.sz, line.wise.bytes);
    }
}

/* Checks that lines are refused that differ from a valid line in one thing. */
static void wrong_lines(void **state)
{
    (void)state;
    static const char *const end = " us=1.000 cores=2 reach=read date=d tutti=1 machine=m";
    static const char *const wrong[] = {
        "",
        "nonsense/p2 flat",
        "barrier/p1 flat",
        "barrier/p-2 flat",
        "barrier/8/p2 flat",
        "bcast/u8/p2 flat",
        "bcast/u8/x/p2 flat",
        "bcast/u8/8/p2/root=1 flat",
        "allreduce/f64/8/p2 flat",
        "bcast/u8/8/p4@nodes:2,1 flat",
        "bcast/u8/8/p4@nodes:4 flat",
        "bcast/u8/8/p4@nodes:4*1 flat",
        "bcast/u8/8/p4@nodes:2*0 flat",
        "bcast/u8/8/p4@nodes:2* flat",
        "bcast/u8/8/p4@torus:2x2 flat",
        "bcast/u8/8/p2 quick",
        "bcast/u8/8/p2 flat us=x",
        "bcast/u8/8/p2 flat slice=-1",
        "bcast/u8/8/p2 flat unknown=1",
        "bcast/u8/8/p2 flat radix",
        "bcast/u8/8/p2 flat radix=1",
        "bcast/u8/8/p2 flat radix=1025",
        "bcast/u8/8/p2 flat lanes=0",
        "bcast/u8/8/p2 flat lanes=9",
        "bcast/u8/8/p2 flat lanes=65537",
        "bcast/u8/8/p2 flat cores=0",
    };
    char text[256], why[TT_FILE_WHY];
    struct tt_wisdom_line line;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "%s%s", wrong[i], end);
        if (tt_wisdom_parse(text, &line, why)) fail_msg("accepted: %s", text);
        assert_int_not_equal(strlen(why), 0);
    }
    snprintf(text, sizeof text, "bcast/u8/8/p2 flat%s", end);
    assert_true(tt_wisdom_parse(text, &line, why));
    *strstr(text, " reach") = '\0'; /* the keys from `reach` on are missing */
    assert_false(tt_wisdom_parse(text, &line, why));
    snprintf(text, sizeof text, "bcast/u8/8/p2 flat%s", end + strlen(" us=1.000"));
    assert_false(tt_wisdom_parse(text, &line, why));
    snprintf(text, sizeof text, "bcast/u8/8/p2 flat%s\r", end); /* an editor may add a carriage
                                                                 * return */
    assert_true(tt_wisdom_parse(text, &line, why));
    assert_string_equal(line.machine, "m");
}

static struct tt_wise wise_of(const char *problem, const char *algorithm)
{
    char text[256], why[TT_FILE_WHY];
    struct tt_wisdom_line line;
    snprintf(text, sizeof text, "%s %s us=1 cores=2 reach=read date=d tutti=1 machine=m", problem,
             algorithm);
    if (!tt_wisdom_parse(text, &line, why)) fail_msg("%s: %s", text, why);
    return line.wise;
}

static const char *decided(const struct tt_wisdom *wisdom, const char *text, int cores)
{
    struct tt_problem problem;
    struct tt_choice a;
    enum tt_chosen_by by;
    assert_int_equal(tt_problem_parse(text, &problem, NULL), TUTTI_OK);
    struct tt_map map = map_of(problem.p, cores, NULL);
    map.wisdom = wisdom;
    assert_int_equal(tt_choose(&problem.call, &map, NULL, &a, &by), TUTTI_OK);
    return by == TT_CHOSEN_WISDOM ? a.algorithm->name : "none";
}

/* Checks that a line can name 64 nodes that have equally many ranks, but not 64 nodes of which one
 * has more ranks than the others. */
static void many_nodes(void **state)
{
    (void)state;
    enum { NODES = 64, EACH = 4, P = NODES * EACH };
    struct tt_problem problem;
    struct tt_wise wise, line = wise_of("allreduce/f64/sum/8K/p256@nodes:4*64", "ring");
    char layout[TT_WISDOM_LAYOUT];
    int node[P + 1];
    assert_int_equal(tt_problem_parse("allreduce/f64/sum/8K/p256", &problem, NULL), TUTTI_OK);
    struct tt_map map = map_of(P, P, NULL);
    for (int r = 0; r <= P; r++) node[r] = (int)tt_min(r / EACH, NODES - 1);
    map.nodes = NODES;
    map.node = node;
    assert_true(tt_wisdom_place(&problem.call, &map, &wise, layout));
    assert_string_equal(layout, "4*64");
    assert_int_equal(wise.layout, line.layout);
    map.p++; /* the last node has one rank more */
    assert_false(tt_wisdom_place(&problem.call, &map, &wise, layout));
}

/* Checks that a line with a radix that its algorithm does not accept decides nothing. */
static void parameters_are_checked(void **state)
{
    (void)state;
    struct tt_wisdom w = {.n = 0};
    w.line[w.n++] = wise_of("allreduce/f64/sum/8K/p40", "multiplying radix=40");
    assert_string_equal(decided(&w, "allreduce/f64/sum/8K/p40", 2), "none");
    w.line[w.n++] = wise_of("allreduce/f64/sum/8K/p40", "multiplying radix=8");
    assert_string_equal(decided(&w, "allreduce/f64/sum/8K/p40", 2), "multiplying");
}

/* Checks that a call gets the lanes of the line that decides, unless it has its own. */
static void lanes_are_those_of_the_line(void **state)
{
    (void)state;
    static const int node[] = {0, 0, 1, 1};
    struct tt_map map = map_of(4, 2, NULL);
    struct tt_wisdom w = {.n = 1};
    struct tt_problem problem;
    map.nodes = 2;
    map.node = node;
    map.wisdom = &w;
    w.line[0] = wise_of("allreduce/f64/sum/1M/p4@nodes:2,2", "composed lanes=2");
    w.line[0].reach = TT_REACH_window;
    assert_int_equal(tt_problem_parse("allreduce/f64/sum/1M/p4", &problem, NULL), TUTTI_OK);
    for (int lanes = 0; lanes <= TT_LANES_MOST; lanes++) {
        struct tt_call call = problem.call;
        call.lanes = lanes;
        const struct tt_wise *wise = tt_wisdom_find(&call, &map);
        assert_ptr_equal(wise, &w.line[0]);
        tt_tune(&call, wise->slice, wise->radix, wise->lanes);
        struct tt_plan *plan = tt_algorithm_plan(tt_wisdom_algorithm(wise), &call, &map, 0);
        assert_non_null(plan);
        assert_int_equal(plan->lanes, lanes ? lanes : 2);
        tt_plan_free(plan);
    }
}

/* Checks which line decides: one with the same bytes, or else one with the same next power of two.
 * The ranks, the processors and the reach (how ranks access each other's buffers) must be the same,
 * and the algorithm must apply. */
static void nearest_line_decides(void **state)
{
    (void)state;
    struct tt_wisdom w = {.n = 0};
    w.line[w.n++] = wise_of("allreduce/f32/sum/8K/p4", "ring");
    w.line[w.n++] = wise_of("allreduce/f64/sum/8K/p4", "window");
    w.line[w.n++] = wise_of("allreduce/f64/sum/6K/p4", "direct");
    w.line[w.n++] = wise_of("allreduce/f64/sum/8K/p3", "doubling");
    assert_string_equal(decided(&w, "allreduce/f64/sum/8K/p4", 2), "window");
    assert_string_equal(decided(&w, "allreduce/f64/sum/6K/p4", 2), "direct");
    assert_string_equal(decided(&w, "allreduce/f64/sum/5K/p4", 2), "window");
    assert_string_equal(decided(&w, "allreduce/f32/sum/5K/p4", 2), "ring");
    assert_string_equal(decided(&w, "allreduce/i8/max/8K/p4", 2), "ring");
    assert_string_equal(decided(&w, "allreduce/f64/sum/8K/p3", 2), "doubling");
    assert_string_equal(decided(&w, "allreduce/f64/sum/16K/p4", 2), "none");
    assert_string_equal(decided(&w, "allreduce/f64/sum/8K/p4", 4), "none");
    assert_string_equal(decided(&w, "reduce/f64/sum/8K/p4", 2), "none");
    assert_string_equal(decided(&w, "allreduce/f64/user/8K/p4", 2), "window"); /* `ring` does not
                                                                                * accept a user's
                                                                                * operation */
}

/* ---- The file ---- */

enum { WRITERS = 4, EACH = 12 };

static void add_lines(const char *path, int writer)
{
    for (int i = 0; i < EACH; i++) {
        char problem[64];
        snprintf(problem, sizeof problem, "bcast/u8/%d/p%d", 8 + i, 2 + writer);
        struct tt_wisdom_line line = {.wise = wise_of(problem, "flat"), .time_ps = 1000000};
        if (tt_wisdom_add(path, &line, 1) != TUTTI_OK) _exit(1);
    }
    _exit(0);
}

static int lines_that_fit(const char *path)
{
    struct tt_wisdom_file file;
    char why[TT_FILE_WHY];
    int n = 0;
    if (!tt_wisdom_read(path, &file, why)) fail_msg("%s", why);
    for (int i = 0; i < file.n; i++) n += file.entry[i].fits;
    tt_wisdom_close(&file);
    return n;
}

/* Checks that no line is lost while several processes write, and that a new line for the same
 * problem replaces the old one. */
static void writers_at_once(void **state)
{
    (void)state;
    char folder[] = "/tmp/tutti-wisdom-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/wisdom", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "# a comment\na line of the future\n%s\n", lines[1]);
    fclose(file);
    for (int w = 0; w < WRITERS; w++) {
        pid_t pid = fork();
        assert_int_not_equal(pid, -1);
        if (pid == 0) add_lines(path, w);
    }
    for (int w = 0; w < WRITERS; w++) {
        int code;
        assert_int_not_equal(wait(&code), -1);
        assert_int_equal(code, 0);
    }
    assert_int_equal(lines_that_fit(path), WRITERS * EACH);
    struct tt_wisdom_line again = {.wise = wise_of("bcast/u8/8/p2", "direct"), .time_ps = 1};
    assert_int_equal(tt_wisdom_add(path, &again, 1), TUTTI_OK);
    assert_int_equal(lines_that_fit(path), WRITERS * EACH);
    struct tt_wisdom_file all;
    char why[TT_FILE_WHY];
    assert_true(tt_wisdom_read(path, &all, why));
    assert_int_equal(all.n, WRITERS * EACH + 2);
    assert_string_equal(all.entry[0].text, "a line of the future");
    tt_wisdom_close(&all);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* fails if another file is left in the folder */
}

static char *text_of(const char *path)
{
    char why[TT_FILE_WHY];
    bool missing;
    char *text = tt_file_read(path, 4096, &missing, why);
    if (!text) fail_msg("%s", why);
    return text;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Checks a file to which wisdom is added twice: a comment of the user stays and is not doubled, and
 * the comments that the library writes at the beginning of the file are written once. Also checks
 * that a file of another kind is refused and stays as it is. */
static void comments_stay(void **state)
{
    (void)state;
    static const char other[] = "# a model\ntutti 1.0.0\n";
    char path[] = "/tmp/tutti-wisdom-XXXXXX";
    struct tt_wisdom_line line = {.wise = wise_of("bcast/u8/8/p2", "flat"), .time_ps = 1};
    int fd = mkstemp(path);
    assert_int_not_equal(fd, -1);
    close(fd);
    write_text(path, "# mine\n");
    for (int i = 0; i < 2; i++) assert_int_equal(tt_wisdom_add(path, &line, 1), TUTTI_OK);
    char *text = text_of(path), *first = strstr(text, "# mine\n");
    assert_non_null(first);
    assert_null(strstr(first + 1, "# mine\n"));
    assert_ptr_equal(strstr(text, "# Wisdom"), text);
    assert_null(strstr(text + 1, "# Wisdom"));
    assert_int_equal(lines_that_fit(path), 1);
    tt_free(text);
    write_text(path, other);
    assert_int_equal(tt_wisdom_add(path, &line, 1), TUTTI_ERR_SYSTEM);
    assert_non_null(strstr(tutti_error(), "is no file of wisdom"));
    text = text_of(path);
    assert_string_equal(text, other);
    tt_free(text);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_and_back),
        cmocka_unit_test(wrong_lines),
        cmocka_unit_test(parameters_are_checked),
        cmocka_unit_test(nearest_line_decides),
        cmocka_unit_test(lanes_are_those_of_the_line),
        cmocka_unit_test(many_nodes),
        cmocka_unit_test(writers_at_once),
        cmocka_unit_test(comments_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
