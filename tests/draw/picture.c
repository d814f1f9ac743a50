/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The picture of a simulation contains exactly what happened, and the tree along which the data
 * went.
 */
#include "drawn.h"

#include <string.h>

static int64_t count(const struct tt_picture_list *list, enum tt_kind kind)
{
    int64_t n = 0;
    for (int64_t i = 0; i < list->n; i++) n += list->at[i].kind == kind;
    return n;
}

static int64_t traffic(const struct tt_picture *p)
{
    int64_t all = 0;
    for (int i = 0; i < p->groups * p->groups; i++) all += p->traffic[i];
    return all;
}

static void edges_are(const struct tt_picture *p, const int (*edge)[2], int n)
{
    assert_int_equal(p->edges, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(p->edge[i][0], edge[i][0]);
        assert_int_equal(p->edge[i][1], edge[i][1]);
    }
}

/* Checks a broadcast by a binomial tree: seven messages of m = 1 KiB, in three rounds. A round
 * takes t_s + t_w m, the start-up time of a message and the time of its bytes (drawn.h). */
static void binomial_broadcast(void **state)
{
    static const int edge[][2] = {{0, 1}, {0, 2}, {0, 4}, {2, 3}, {4, 5}, {4, 6}, {6, 7}};
    struct drawn *d = drawn("bcast/u8/1K/p8", "binomial");
    const struct tt_picture *p = &d->picture;
    assert_int_equal(d->result.time_ps, 3 * (1000000 + 1024 * 1000));
    assert_int_equal(p->messages.n, 7);
    assert_int_equal(count(&p->messages, TT_SEND), 7);
    assert_int_equal(p->steps.n, 28);
    assert_int_equal(count(&p->steps, TT_SEND), 7);
    assert_int_equal(count(&p->steps, TT_RECV), 7);
    assert_int_equal(count(&p->steps, TT_WAIT), 14);
    for (int64_t i = 0; i < 7; i++) assert_int_equal(p->messages.at[i].bytes, 1024);
    assert_int_equal(traffic(p), 7 * 1024);
    assert_int_equal(p->traffic[0 * 8 + 4], 1024);
    assert_int_equal(p->traffic[4 * 8 + 0], 0);
    edges_are(p, edge, 7);
    drawn_free(d);
    (void)state;
}

/* Checks the top of the tree: it is the root of the collective, in whichever direction the data go.
 * In an allreduce it is the rank at which the reduction ends and the broadcast begins. */
static void roots(void **state)
{
    static const struct {
        const char *problem, *algorithm;
        int root, edges;
    } cases[] = {
        {"bcast/u8/1K/p9/root=4", "binomial", 4, 8},
        {"reduce/f64/sum/1K/p9/root=4", "binomial", 4, 8},
        {"gather/u8/64/p7/root=2", "binomial", 2, 6},
        {"allreduce/f64/sum/64K/p8", "prt", 0, 7},
        {"bcast/u8/1K/p2/root=1", "binomial", 1, 1},
        {"reduce/f64/sum/64K/p8/root=5", "prt", 5, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct drawn *d = drawn(cases[i].problem, cases[i].algorithm);
        assert_int_equal(d->picture.edges, cases[i].edges);
        assert_int_equal(d->picture.edge[0][0], cases[i].root);
        drawn_free(d);
    }
    (void)state;
}

static void no_tree(void **state)
{
    static const char *const cases[][2] = {{"allreduce/f64/sum/1K/p4", "ring"},
                                           {"allreduce/f64/sum/8/p8", "doubling"},
                                           {"alltoall/u8/8/p5", "pairwise"},
                                           {"barrier/p8", "dissemination"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct drawn *d = drawn(cases[i][0], cases[i][1]);
        assert_int_equal(d->picture.edges, 0);
        assert_null(d->picture.edge);
        drawn_free(d);
    }
    (void)state;
}

/* Checks the matrix of the bytes that ranks send each other, with so many ranks that each row and
 * each column stands for two ranks. No byte may be lost. */
static void groups(void **state)
{
    struct drawn *d = drawn("alltoall/u8/16/p100", "pairwise");
    assert_int_equal(d->picture.per_group, 2);
    assert_int_equal(d->picture.groups, 50);
    assert_int_equal(traffic(&d->picture), 100 * 99 * 16);
    assert_int_equal(d->picture.traffic[0], 2 * 16);
    assert_int_equal(d->picture.traffic[7 * 50 + 31], 4 * 16);
    drawn_free(d);
    (void)state;
}

/* Checks that a step begins when its lane reaches it, and that the lane reaches the next step when
 * the step has ended. */
static void lanes_go_on(void **state)
{
    struct drawn *d = drawn("allreduce/f64/sum/64K/p8", "halving");
    const struct tt_picture_list *steps = &d->picture.steps;
    int64_t worked = 0;
    for (int64_t i = 0; i < steps->n; i++) {
        const struct tt_sim_event *a = &steps->at[i];
        assert_true(a->begin_ps <= a->end_ps && a->end_ps <= d->result.time_ps);
        if (a->kind == TT_REDUCE) worked += a->end_ps - a->begin_ps;
        if (i == 0 || a[-1].rank != a->rank || a[-1].lane != a->lane) continue;
        assert_true(a[-1].end_ps <= a->begin_ps);
    }
    assert_int_equal(worked, 8 * (64 * 1024 - 64 * 1024 / 8) * INT64_C(500));
    drawn_free(d);
    (void)state;
}

static void what_is_too_much_is_counted(void **state)
{
    struct tt_picture p;
    struct tt_sim_event event = {.kind = TT_SEND, .rank = 0, .peer = 1, .bytes = 1};
    assert_int_equal(tt_picture_begin(&p, 2), TUTTI_OK);
    for (int i = 0; i < TT_PICTURE_MOST + 3; i++) {
        tt_picture_step(&p, &event);
        tt_picture_message(&p, &event);
    }
    assert_int_equal(tt_picture_end(&p, -1), TUTTI_OK);
    assert_int_equal(p.steps.n, TT_PICTURE_MOST);
    assert_int_equal(p.steps.left_out, 3);
    assert_int_equal(p.messages.left_out, 3);
    assert_int_equal(p.traffic[1], TT_PICTURE_MOST + 3);
    tt_picture_free(&p);
    (void)state;
}

/* Checks that an error reports a lack of memory, whichever allocation fails. */
static void no_memory(void **state)
{
    struct drawn *d = drawn("bcast/u8/1K/p8", "binomial");
    bool failed = true;
    int tries = 0;
    for (; failed; tries++) {
        struct tt_picture p;
        tt_memory_fail_at(tries);
        tutti_status status = tt_picture_begin(&p, 8);
        if (status == TUTTI_OK) {
            for (int64_t i = 0; i < d->picture.steps.n; i++)
                tt_picture_step(&p, &d->picture.steps.at[i]);
            for (int64_t i = 0; i < d->picture.messages.n; i++)
                tt_picture_message(&p, &d->picture.messages.at[i]);
            status = tt_picture_end(&p, 0);
            tt_picture_free(&p);
        }
        failed = status == TUTTI_ERR_MEMORY;
        assert_true(failed || status == TUTTI_OK);
    }
    tt_memory_fail_at(-1);
    assert_true(tries > 8);
    drawn_free(d);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binomial_broadcast),
        cmocka_unit_test(roots),
        cmocka_unit_test(no_tree),
        cmocka_unit_test(groups),
        cmocka_unit_test(lanes_go_on),
        cmocka_unit_test(what_is_too_much_is_counted),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
