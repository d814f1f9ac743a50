/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cost of a byte while a rank sends and receives at the same time, in cases small enough to
 * work out by hand.
 */
#include <stdio.h>

#include "simulated.h"

enum { TS = 1000000, TW = 1000 }; /* the parameters of model_simple */

static struct tt_model both(int64_t tw_both)
{
    struct tt_model model = model_simple;
    model.tw_both_ps = tw_both;
    return model;
}

/* ---- Plans by hand: at most one message from each rank, between two copies ---- */

enum { NOBODY = -1 };
struct wish {
    int64_t before, bytes, after;
    int to, from;
};

static struct tt_plan *plan_of(void *arg, int rank, int phase)
{
    (void)phase;
    const struct wish *all = arg, *wish = &all[rank];
    struct tt_call call = {
        .coll = TT_COLL_bcast, .n = 1 << 20, .type = TUTTI_U8, .sz = 1, .commutes = true};
    struct tt_builder *b = tt_builder_new(3, rank, &call, "by-hand");
    assert_non_null(b);
    struct tt_range tmp = tt_scratch(b, 1 << 20), room = tt_scratch(b, 1 << 20);
    tt_started send = 0, recv = 0;
    tt_copy(b, room, tmp, wish->before);
    if (wish->to != NOBODY) send = tt_send(b, wish->to, tmp, wish->bytes);
    if (wish->from != NOBODY) recv = tt_recv(b, wish->from, room, all[wish->from].bytes);
    if (wish->from != NOBODY) tt_wait(b, recv);
    if (wish->to != NOBODY) tt_wait(b, send);
    tt_copy(b, tmp, room, wish->after);
    struct tt_plan *plan = tt_builder_finish(b);
    tt_builder_free(b);
    return plan;
}

/* Returns the simulated time of three ranks, whose plans plan_of makes from wishes[0 .. 2]. Copying
 * a byte takes a picosecond. */
static int64_t by_hand(struct wish *wishes, int64_t ts, int64_t tw_both)
{
    struct tt_model model = both(tw_both);
    model.ts_ps = ts;
    model.tr_ps = 1;
    struct tt_sim_job job = {.model = &model, .p = 3, .phases = 1, .plan = plan_of, .arg = wishes};
    struct tt_sim_result result;
    assert_int_equal(tt_sim(&job, &result), TUTTI_OK);
    return result.time_ps; /* the result holds memory only if there is a network */
}

/* Returns the time in which rank 0 sends `out` bytes to rank 1, and rank 1 sends `back` bytes to
 * rank 0, `later` picoseconds later. */
static int64_t two(int64_t out, int64_t back, int64_t later, int64_t ts, int64_t tw_both)
{
    struct wish wishes[] = {
        {0, out, 0, 1, 1}, {later, back, 0, 0, 0}, {.to = NOBODY, .from = NOBODY}};
    return by_hand(wishes, ts, tw_both);
}

static void only_what_overlaps_is_slower(void **state)
{
    (void)state;
    assert_int_equal(two(1000, 1000, 0, TS, TW), TS + 1000 * TW);
    assert_int_equal(two(1000, 1000, 0, TS, 1500), TS + 1000 * 1500);
    assert_int_equal(two(1000, 400, 0, TS, 1999), TS + 400 * 1999 + 600 * TW);
}

/* Checks messages that begin or end while a byte of the other message is in the middle of its
 * transfer. */
static void parts_of_bytes_are_reckoned(void **state)
{
    (void)state;
    /* In the first 3333 ps, 3.333 of 10 bytes travel alone. Then 5 bytes travel while 5 bytes come
     * back, and at last 1.667 bytes travel alone. */
    assert_int_equal(two(10, 5, 3333, 0, 1501), 3333 + 5 * 1501 + 1667);
    /* First 3.333 of 10 bytes travel alone. The other 6.667 bytes travel while data come back,
     * which takes 10007.2 ps, rounded up to a whole picosecond. Of the 20 bytes that come back, 20
     * - 10008 / 1501 = 13.3324 are left after that, and travel alone. */
    assert_int_equal(two(10, 20, 3333, 0, 1501), 3333 + 10008 + 13333);
}

/* Checks that a message in its start-up time does not slow down the other message. */
static void start_up_slows_nothing_down(void **state)
{
    (void)state;
    assert_int_equal(two(1000, 1000, 1000 * TW, TS, 2000), 1000 * TW + TS + 1000 * TW);
}

/* Checks that a message arrives as slowly as it is sent: rank 1 sends to rank 2 while it receives
 * from rank 0, and rank 2, which does nothing else, has the last byte when rank 1 has sent it. */
static void what_is_sent_slowly_comes_slowly(void **state)
{
    (void)state;
    struct wish wishes[] = {
        {0, 1000, 0, 1, NOBODY}, {0, 2000, 0, 2, 0}, {.after = 7, .to = NOBODY, .from = 1}};
    assert_int_equal(by_hand(wishes, 0, 2000), 1000 * 2000 + 1000 * TW + 7);
}

/* ---- Algorithms ---- */

/* Checks tw_both, the time of a byte at a rank that sends and receives at the same time: it changes
 * nothing if no rank does so, and every byte takes tw_both if all ranks do so all the time. */
static void trees_and_exchanges(void **state)
{
    (void)state;
    static const char *const trees[][2] = {{"bcast/u8/1000/p23", "binomial"},
                                           {"reduce/u8/sum/1000/p23", "binomial"},
                                           {"gather/u8/1000/p23", "binomial"}};
    struct tt_model model = both(1700), slow = model_simple;
    slow.tw_ps = 1700;
    for (int i = 0; i < 3; i++)
        assert_int_equal(simulated(trees[i][0], trees[i][1], &model).time_ps,
                         simulated(trees[i][0], trees[i][1], &model_simple).time_ps);
    static const char *const exchanges[] = {"pairwise", "ring", "ring-both", "bruck", "mesh"};
    for (int i = 0; i < 5; i++)
        assert_int_equal(simulated("alltoall/u8/1000/p12", exchanges[i], &model).time_ps,
                         simulated("alltoall/u8/1000/p12", exchanges[i], &slow).time_ps);
}

/* Checks messages of which many begin and end in the same picosecond: none may be lost, and a port
 * carries one message at a time. */
static void what_happens_at_once_is_not_lost(void **state)
{
    (void)state;
    static const char *const problems[][2] = {{"allreduce/f64/sum/768", "direct"},
                                              {"alltoall/u8/96", "direct"},
                                              {"alltoall/u8/96", "exchange"},
                                              {"allgather/u8/96", "exchange"}};
    struct tt_model model = both(2000);
    for (int p = 2; p <= 40; p++) {
        for (int i = 0; i < 4; i++) {
            char text[64];
            model.ts_ps = p % 2 ? 0 : TS;
            snprintf(text, sizeof text, "%s/p%d", problems[i][0], p);
            struct outcome o = simulated(text, problems[i][1], &model);
            assert_true(o.time_ps * p >= o.bytes * TW + o.messages * model.ts_ps);
        }
    }
}

static void other_models_know_no_such_cost(void **state)
{
    (void)state;
    struct tt_model links = model_links, all = both(2000);
    links.tw_both_ps = 2000;
    all.all_ports = true;
    assert_int_equal(simulated("alltoall/u8/100/p8@ring:8", "ring", &links).time_ps,
                     simulated("alltoall/u8/100/p8@ring:8", "ring", &model_links).time_ps);
    assert_int_equal(simulated("alltoall/u8/100/p8", "pairwise", &all).time_ps,
                     7 * (TS + 100 * TW));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_overlaps_is_slower),
        cmocka_unit_test(parts_of_bytes_are_reckoned),
        cmocka_unit_test(start_up_slows_nothing_down),
        cmocka_unit_test(trees_and_exchanges),
        cmocka_unit_test(what_is_sent_slowly_comes_slowly),
        cmocka_unit_test(what_happens_at_once_is_not_lost),
        cmocka_unit_test(other_models_know_no_such_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
