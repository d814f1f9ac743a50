/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Problem strings: a valid string has the documented meaning and prints back in one canonical form.
 * For an invalid one the error gives the position and the reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "text/problem.h"

/* `printed` is the canonical form; NULL: the text itself. */
static const struct {
    const char *text, *printed;
} good[] = {
    {"barrier/p16", NULL},
    {"barrier/p1K", "barrier/p1024"},
    {"barrier/p1M/seed=9223372036854775807", "barrier/p1048576/seed=9223372036854775807"},
    {"allreduce/f64/sum/1M/p16", NULL},
    {"allreduce/f64/sum/1024K/p16", "allreduce/f64/sum/1M/p16"},
    {"allreduce/f64/sum/0/p16", NULL},
    {"allreduce/f64/sum/8/p1/order=rank", NULL},
    {"allreduce/f64/sum/8/p1/order=any", "allreduce/f64/sum/8/p1"},
    {"allreduce/i32/user/8/p4", NULL},
    {"allreduce/i32/user/8/p4/order=rank", "allreduce/i32/user/8/p4"},
    {"allreduce/i32/user/8/p4/order=any", NULL},
    {"allreduce/f64_i64/maxloc/16/p4/inplace=1", NULL},
    {"allreduce/f64/sum/8/p4/inplace=0/seed=0", "allreduce/f64/sum/8/p4"},
    {"reduce/f32/max/64K/p9/root=8/slice=4K/order=rank/inplace=1/seed=7", NULL},
    {"reduce/f32/max/64K/p9/seed=7/inplace=1/order=rank/slice=4K/root=8",
     "reduce/f32/max/64K/p9/root=8/slice=4K/order=rank/inplace=1/seed=7"},
    {"bcast/f32/8/p9/root=3@nodes:4,4,1", NULL},
    {"alltoall/u8/1K/p511@torus:8x8x8-hole(3,3,3)", NULL},
    {"bcast/f32/8/p9/root=0", "bcast/f32/8/p9"},
    {"allgather/bool/3/p5@nodes:1,1,1,1,1", NULL},
    {"reduce_scatter_block/f64/sum/8/p2", NULL},
    {"reduce_scatter/f64/user/8/p2/inplace=1/skew=zero", NULL},
    {"gather/u8/3/p5/root=4/inplace=1", NULL},
    {"scatter/u8/3/p5/root=4/inplace=1", NULL},
    {"scan/f64/sum/8/p2", NULL},
    {"exscan/f64/user/8/p2/inplace=1", NULL},
    {"reduce/f64/sum/1M/p9/root=2/slice=64K/radix=3/order=rank", NULL},
    {"barrier/p4/radix=8", NULL},
    {"allreduce/f64/sum/1M/p8/lanes=8/slice=4K@nodes:4,4",
     "allreduce/f64/sum/1M/p8/slice=4K/lanes=8@nodes:4,4"},
    {"reduce/f64/sum/1M/p9/root=2/radix=3/lanes=1", NULL},
    {"allgatherv/u8/64K/p64/skew=uniform", NULL},
    {"alltoall/i16/2/p64@nodes:4*16", NULL},
    {"barrier/p9@nodes:4,2*2,1+dealt", NULL},
    {"alltoallv/u8/64K/p64/skew=zipf", NULL},
    {"alltoallv/u8/64K/p64/skew=zero/seed=3@nodes:32,8*3,4*2",
     "alltoallv/u8/64K/p64/seed=3/skew=zero@nodes:32,8*3,4*2"},
    {"alltoallv/u8/64K/p64/skew=equal", "alltoallv/u8/64K/p64"},
    {"gatherv/u8/64K/p64/root=7/skew=zipf", NULL},
    {"scatterv/f32/64K/p64/inplace=1/skew=zero", NULL},
    {"alltoall/i8/4398046511103/p1048576", NULL},
    {"alltoallv/f64/8/p12/graph=grid:4x3", NULL},
    {"alltoallv/f64/8/p12/graph=torus:2x3x2/skew=zero@torus:3x4",
     "alltoallv/f64/8/p12/skew=zero/graph=torus:2x3x2@torus:3x4"},
    {"alltoallv/f64/8/p12/seed=4/graph=random:3@nodes:4*3", NULL},
};

static void good_ones_come_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct tt_problem problem, again;
        struct tt_problem_error error;
        char text[TT_PROBLEM_TEXT], twice[TT_PROBLEM_TEXT];
        if (tt_problem_parse(good[i].text, &problem, &error) != TUTTI_OK)
            fail_msg("%s: at %zu: %s", good[i].text, error.at, error.text);
        tt_problem_print(&problem, text);
        assert_string_equal(text, good[i].printed ? good[i].printed : good[i].text);
        assert_int_equal(tt_problem_parse(text, &again, NULL), TUTTI_OK);
        assert_string_equal(tt_problem_print(&again, twice), text);
        assert_memory_equal(&again, &problem, sizeof problem);
    }
}

static struct tt_problem problem_of(const char *text)
{
    struct tt_problem problem;
    assert_int_equal(tt_problem_parse(text, &problem, NULL), TUTTI_OK);
    return problem;
}

static void fields_are_set(void **state)
{
    (void)state;
    struct tt_problem r = problem_of("reduce/f32/max/64K/p9/root=8/slice=4K/inplace=1/seed=7");
    assert_int_equal(r.call.coll, TT_COLL_reduce);
    assert_int_equal(r.call.type, TUTTI_F32);
    assert_int_equal(r.call.op, TUTTI_MAX);
    assert_true(r.call.commutes);
    assert_true(r.call.in_place);
    assert_int_equal(r.call.root, 8);
    assert_int_equal(r.call.sz, 4);
    assert_int_equal(r.call.n, 16384);
    assert_int_equal(r.call.slice, 4096);
    assert_int_equal(r.p, 9);
    assert_int_equal(r.n, 16384);
    assert_int_equal(r.seed, 7);

    struct tt_problem user = problem_of("allreduce/i32/user/8/p4");
    assert_int_equal(user.call.op, TUTTI_OP_USER);
    assert_false(user.call.commutes);
    assert_false(problem_of("allreduce/i32/sum/8/p4/order=rank").call.commutes);

    struct tt_problem v = problem_of("alltoallv/u16/64K/p64/skew=zipf");
    assert_int_equal(v.call.n, 0);
    assert_int_equal(v.n, 32768);
    assert_int_equal(v.skew, TT_SKEW_zipf);
}

static const struct {
    const char *text;
    size_t at;
    const char *message; /* a text that the message must contain */
} bad[] = {
    {"", 0, "expected a collective"},
    {"/", 0, "expected a collective"},
    {"allredduce/f64/sum/8/p4", 0,
     "unknown collective 'allredduce', expected one of barrier bcast reduce"},
    {"allreduce/f65/sum/8/p4", 10, "unknown type 'f65', expected one of i8 i16 i32"},
    {"allreduce", 9, "expected / and a type"},
    {"allreduce/", 10, "expected a type"},
    {"allreduce//sum/8/p4", 10, "expected a type"},
    {"allreduce/f64/8/p4", 14, "unknown operation '8', expected one of sum"},
    {"allreduce/f64/user2/8/p4", 14, "bxor minloc maxloc user"},
    {"allreduce/f64/bxor/8/p4", 14, "bxor is not defined for f64"},
    {"allreduce/f64/sum", 17, "expected / and a number of bytes"},
    {"allreduce/f64/sum/8k/p4", 18, "'8k' is not a number of bytes"},
    {"allreduce/f64/sum/-8/p4", 18, "'-8' is not a number of bytes"},
    {"allreduce/f64/sum/12/p4", 18, "12 bytes are no multiple of f64, which has 8"},
    {"allreduce/f64/sum/99999999999G/p4", 18, "is not a number of bytes"},
    {"allreduce/f64/sum/8", 19, "expected / and pN, where N is the number of ranks"},
    {"allreduce/f64/sum/8@nodes:4", 19, "expected / and pN, where N is the number of ranks"},
    {"allreduce/f64/sum/8/4", 20, "'4' is not a number of ranks, as in p4"},
    {"allreduce/f64/sum/8/p", 20, "'p' is not a number of ranks"},
    {"allreduce/f64/sum/8/p0", 20, "0 ranks: must be from 1 to 1048576"},
    {"allreduce/f64/sum/8/p1048577", 20, "must be from 1 to 1048576"},
    {"alltoall/i8/4398046511104/p1048576", 12, "more than can be counted"},
    {"barrier/f64/p4", 8, "'f64' is not a number of ranks"},
    {"barrier/p4/", 11, "unknown key ''"},
    {"barrier/p4/slot=1", 11, "unknown key 'slot', expected one of root slice order"},
    {"barrier/p4/seed", 15, "expected = and a value"},
    {"barrier/p4/seed=", 16, "'' is not a whole number"},
    {"barrier/p4/seed=x", 16, "'x' is not a whole number"},
    {"barrier/p4/slice=8", 11, "barrier has no slice"},
    {"barrier/p4/root=0", 11, "barrier has no root"},
    {"allreduce/f64/sum/8/p4/root=0", 23, "allreduce has no root"},
    {"bcast/f64/8/p4/order=rank", 15, "bcast has no order"},
    {"bcast/f64/8/p4/inplace=1", 15, "bcast has no inplace"},
    {"reduce_scatter_block/f64/sum/8/p4/skew=zipf", 34, "reduce_scatter_block has no skew"},
    {"reduce_scatter/f64/sum/8/p4/root=1", 28, "reduce_scatter has no root"},
    {"gather/f64/8/p4/order=rank", 16, "gather has no order"},
    {"scatter/f64/8/p4/skew=zipf", 17, "scatter has no skew"},
    {"scan/f64/sum/8/p4/root=1", 18, "scan has no root"},
    {"allgather/f64/8/p4/skew=zipf", 19, "allgather has no skew"},
    {"bcast/f64/8/p4/root=4", 20, "root 4 of 4 ranks"},
    {"bcast/f64/8/p4/root=-1", 20, "'-1' is not a rank"},
    {"bcast/f64/8/p4/root=1/root=1", 22, "root is given twice"},
    {"bcast/f64/8/p4/slice=4", 21, "4 bytes are no multiple of f64"},
    {"bcast/f64/8/p4/slice=0", 21, "a slice of nothing"},
    {"bcast/f64/8/p4/slice=2048G", 21, "a slice of more than 1024G"},
    {"reduce/f64/sum/8/p4/order=some", 26, "unknown order 'some', expected one of rank any"},
    {"reduce/f64/sum/8/p4/inplace=2", 28, "unknown inplace '2', expected one of 0 1"},
    {"alltoallv/u8/8/p4/skew=odd", 23, "expected one of equal uniform zipf zero"},
    {"alltoallv/u8/8/p4/graph=ring:4", 24, "unknown graph 'ring', expected one of grid torus"},
    {"alltoallv/u8/8/p4/graph=grid", 28, "expected : and numbers"},
    {"alltoallv/u8/8/p4/graph=grid:", 29, "'' is not a whole number"},
    {"alltoallv/u8/8/p4/graph=grid:2x", 31, "'' is not a whole number"},
    {"alltoallv/u8/8/p4/graph=grid:0x4", 29, "0 of 4 ranks"},
    {"alltoallv/u8/8/p4/graph=torus:2x3", 30, "as many places as there are ranks: 4"},
    {"alltoallv/u8/8/p4/graph=grid:1x1x1x1x4", 37, "more than 4 numbers"},
    {"alltoallv/u8/8/p4/graph=random:2x2", 33, "more than 1 numbers"},
    {"alltoall/u8/8/p4/graph=grid:4", 17, "alltoall has no graph"},
    {"barrier/p4@", 11, "unknown map '', expected nodes: or a network: ring mesh torus"},
    {"barrier/p4@taurus:4", 11, "unknown map 'taurus'"},
    {"barrier/p4@torus:5", 11, "the network has 5 nodes for 4 ranks"},
    {"barrier/p4@torus:2x2-hole(0,0)", 11, "the network has 3 nodes for 4 ranks"},
    {"barrier/p4@torus:2x2x", 21, "expected a number"},
    {"barrier/p4@nodes", 16, "expected : and the nodes' ranks"},
    {"barrier/p4@nodes:", 17, "'' is not a number of ranks"},
    {"barrier/p4@nodes:2,x", 19, "'x' is not a number of ranks"},
    {"barrier/p4@nodes:2,0,2", 19, "0 of 4 ranks on a node"},
    {"barrier/p4@nodes:2,", 19, "'' is not a number of ranks"},
    {"barrier/p4@nodes:5", 17, "5 of 4 ranks on a node"},
    {"barrier/p4@nodes:2*x", 19, "'x' is not a number of nodes"},
    {"barrier/p4@nodes:2*5", 19, "5 nodes of 4 ranks"},
    {"barrier/p4@nodes:2*9223372036854775807", 19, "9223372036854775807 nodes of 4 ranks"},
    {"barrier/p4@nodes:2*0,4", 19, "0 nodes of 4 ranks"},
    {"barrier/p4@nodes:2,2+deal", 20, "expected +dealt or the end"},
    {"barrier/p4@nodes:2,2+dealt,1", 20, "expected +dealt or the end"},
    {"barrier/p4@nodes:2,1", 11, "the nodes hold 3 ranks of 4"},
    {"barrier/p4@nodes:2*2,1", 11, "the nodes hold 5 ranks of 4"},
};

static void bad_ones_are_reported(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tt_problem problem;
        struct tt_problem_error error = {0};
        tutti_status status = tt_problem_parse(bad[i].text, &problem, &error);
        if (status == TUTTI_ERR_ARG && error.at == bad[i].at &&
            strstr(error.text, bad[i].message) && strstr(tutti_error(), bad[i].text))
            continue;
        print_error("%s\n  got %zu: %s\n  wanted %zu: %s\n", bad[i].text, error.at, error.text,
                    bad[i].at, bad[i].message);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static void long_ones_are_refused(void **state)
{
    (void)state;
    struct tt_problem problem;
    struct tt_problem_error error;
    char text[4096] = "barrier/p512@nodes:1";
    for (int i = 1; i < 512; i++) strcat(text, ",1");
    assert_int_equal(tt_problem_parse(text, &problem, &error), TUTTI_ERR_ARG);
    assert_non_null(strstr(error.text, "a map of more than 255 characters"));
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(tt_problem_parse(text, &problem, &error), TUTTI_ERR_ARG);
    assert_int_equal(error.at, 0);
    assert_non_null(strstr(error.text, "expected one of barrier"));
}

/* Checks a text that was cut or changed anywhere: it must give either a problem that prints and
 * parses again, or an error position within the text. */
static void judged(const char *text)
{
    struct tt_problem problem, again;
    struct tt_problem_error error;
    char printed[TT_PROBLEM_TEXT];
    if (tt_problem_parse(text, &problem, &error) != TUTTI_OK) {
        assert_true(error.at <= strlen(text));
        return;
    }
    tt_problem_print(&problem, printed);
    assert_int_equal(tt_problem_parse(printed, &again, NULL), TUTTI_OK);
    assert_memory_equal(&again, &problem, sizeof problem);
}

static void cut_or_changed_anywhere(void **state)
{
    (void)state;
    static const char others[] = "/@=,*09pK x\xff";
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        size_t length = strlen(good[i].text);
        for (size_t n = 0; n <= length; n++) {
            char *text = strndup(good[i].text, n);
            judged(text);
            free(text);
            text = strdup(good[i].text);
            for (const char *other = others; n < length && *other; other++) {
                text[n] = *other;
                judged(text);
            }
            free(text);
        }
    }
}

static void shows_the_place(void **state)
{
    (void)state;
    struct tt_problem problem;
    struct tt_problem_error error;
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(tt_problem_parse("bcast/f64/8/p4/root=4", &problem, &error), TUTTI_ERR_ARG);
    FILE *out = open_memstream(&text, &size);
    tt_problem_complain(out, "tutti plan", "bcast/f64/8/p4/root=4", &error);
    fclose(out);
    assert_string_equal(text, "tutti plan: bad problem: root 4 of 4 ranks\n"
                              "  bcast/f64/8/p4/root=4\n"
                              "                      ^\n");
    free(text);
}

static void maps_are_spread(void **state)
{
    (void)state;
    int node[9];
    struct tt_map map = {.cores = 3};
    struct tt_problem problem = problem_of("barrier/p9@nodes:4,2*2,1");
    tt_problem_map(&problem, &map, node);
    static const int want[] = {0, 0, 0, 0, 1, 1, 2, 2, 3};
    assert_memory_equal(node, want, sizeof want);
    assert_ptr_equal(map.node, node);
    assert_int_equal(map.nodes, 4);
    assert_int_equal(map.p, 9);
    assert_int_equal(map.cores, 3);
    problem = problem_of("barrier/p9@nodes:4,2*2,1+dealt");
    tt_problem_map(&problem, &map, node);
    static const int dealt[] = {0, 1, 2, 3, 0, 1, 2, 0, 0};
    assert_memory_equal(node, dealt, sizeof dealt);
    assert_int_equal(map.nodes, 4);
    problem = problem_of("barrier/p9");
    tt_problem_map(&problem, &map, node);
    assert_true(tt_map_one_node(&map));
    assert_true(tt_map_same_node(&map, 0, 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_ones_come_back),     cmocka_unit_test(fields_are_set),
        cmocka_unit_test(bad_ones_are_reported),   cmocka_unit_test(long_ones_are_refused),
        cmocka_unit_test(cut_or_changed_anywhere), cmocka_unit_test(shows_the_place),
        cmocka_unit_test(maps_are_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
