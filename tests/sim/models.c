/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Predictions of the models for cases small enough to work out by hand.
 */
#include <string.h>

#include "simulated.h"

enum { TS = 1000000, BYTE = 1000 }; /* the parameters of model_simple and model_links */

/* Checks what forwarding costs. Rank 0 sends to rank 2 over two links; then rank 0 sends to rank 1
 * and rank 2 to rank 3. */
static void forwarding_costs_by_the_link(void **state)
{
    (void)state;
    static const char problem[] = "bcast/u8/1000/p4@mesh:4";
    struct tt_model stores = model_links, hops = model_links;
    stores.stores = true;
    hops.hop_ps = 500;
    int64_t m = 1000 * BYTE;
    assert_int_equal(simulated(problem, "binomial", &model_simple).time_ps, 2 * (TS + m));
    assert_int_equal(simulated(problem, "binomial", &model_links).time_ps, 2 * (TS + m));
    assert_int_equal(simulated(problem, "binomial", &stores).time_ps, 2 * TS + 3 * m);
    assert_int_equal(simulated(problem, "binomial", &hops).time_ps, 2 * (TS + m) + 3 * 500);
}

static void loggp_adds_up(void **state)
{
    (void)state;
    struct tt_model model = {
        .kind = TT_MODEL_loggp, .o_ps = 3, .l_ps = 100, .g_ps = 20, .big_g_ps = 2};
    int64_t one = 3 + 99 * 2 + 100 + 3;
    assert_int_equal(simulated("bcast/u8/100/p2", "binomial", &model).time_ps, one);
    /* Rank 0 sends to rank 2 first. Its message to rank 1 begins later by g + 99 G, where g is the
     * gap after a message and G (big_g_ps) the time of each further byte. Rank 2 sends to rank 3,
     * which gets the data last. */
    assert_int_equal(simulated("bcast/u8/100/p4", "binomial", &model).time_ps, 2 * one);
}

/* Checks that the processor handles one message at a time, from any sender, and needs o (LogGP's
 * overhead) for each message: a root with two children needs 2 o for theirs. A signal to p - 1
 * ranks and as many signals back take 2 (p - 1) o. */
static void loggp_engages_the_processor(void **state)
{
    (void)state;
    struct tt_model model = {.kind = TT_MODEL_loggp, .o_ps = 1000};
    assert_int_equal(simulated("reduce/u8/sum/8/p3", "prt", &model).time_ps, 3 * 1000);
    for (int p = 2; p <= 64; p *= 2) {
        char text[32];
        snprintf(text, sizeof text, "barrier/p%d", p);
        assert_int_equal(simulated(text, "flat", &model).time_ps, 2 * (p - 1) * 1000);
    }
}

/* Checks that messages wait for links: in an alltoall on a mesh of one row of four nodes, the
 * routes of four messages lead through the same link in the middle. The textbook's model does not
 * know links. */
static void links_are_waited_for(void **state)
{
    (void)state;
    static const char problem[] = "alltoall/u8/1000/p4@mesh:4";
    struct outcome simple = simulated(problem, "pairwise", &model_simple);
    struct outcome links = simulated(problem, "pairwise", &model_links);
    assert_int_equal(simple.time_ps, 3 * (TS + 1000 * BYTE));
    assert_true(links.time_ps > simple.time_ps);
    assert_int_equal(links.max_link_bytes, 4000);
}

static void reducing_and_copying_take_their_time(void **state)
{
    (void)state;
    struct tt_model model = model_simple;
    static const char problem[] = "reduce/f64/sum/800/p2";
    int64_t plain = simulated(problem, "binomial", &model).time_ps;
    assert_int_equal(plain, TS + 800 * BYTE);
    model.gamma_ps = 7;
    assert_int_equal(simulated(problem, "binomial", &model).time_ps, plain + 800 * 7);
}

/* Checks that a message within a node does not use the network. Ranks 0 and 1 are on one node, and
 * ranks 2 and 3 on the other node or, in the last case, on the same node. */
static void messages_within_a_node_are_local(void **state)
{
    (void)state;
    struct tt_model model = model_simple;
    model.near_ts_ps = 11;
    model.near_tw_ps = 3;
    assert_int_equal(simulated("bcast/u8/1000/p2@nodes:1,1", "binomial", &model).time_ps,
                     TS + 1000 * BYTE);
    int64_t remote = TS + 1000 * BYTE, local = 11 + 3 * 1000;
    assert_int_equal(simulated("bcast/u8/1000/p4@nodes:2,2", "binomial", &model).time_ps,
                     remote + local);
    assert_int_equal(simulated("bcast/u8/1000/p4@nodes:2,2+dealt", "binomial", &model).time_ps,
                     remote + local);
    struct outcome one_node = simulated("bcast/u8/1000/p4@nodes:4", "binomial", &model);
    assert_int_equal(one_node.time_ps, 2 * local);
    assert_int_equal(one_node.formula_ps, -1);
}

/* Checks two messages that leave a node: they leave at the same time, or one after the other if the
 * ranks of the node share the port. */
static void ranks_of_a_node_may_share_its_port(void **state)
{
    (void)state;
    struct tt_model model = model_simple;
    static const char problem[] = "allreduce/f64/sum/800/p4@nodes:2,2+dealt";
    int64_t one = TS + 800 * BYTE;
    assert_int_equal(simulated(problem, "doubling", &model).time_ps, one);
    model.node_ports = true;
    assert_int_equal(simulated(problem, "doubling", &model).time_ps, 2 * one);
}

/* Checks a reduction along the links of a tree: each link carries every byte once. If the adapters
 * have reduction units, the processors spend no time on the reduction. */
static void adapters_reduce(void **state)
{
    (void)state;
    struct tt_model model = model_links;
    model.gamma_ps = 5000;
    struct outcome slow = simulated("reduce/f64/sum/1M/p15@tree:2x15", "tree", &model);
    struct outcome fast = simulated("reduce/f64/sum/1M/p15@tree:2x15+reduce", "tree", &model);
    struct outcome free = simulated("reduce/f64/sum/1M/p15@tree:2x15", "tree", &model_links);
    assert_int_equal(slow.max_link_bytes, 1 << 20);
    assert_int_equal(slow.bytes, 14 << 20);
    assert_int_equal(fast.time_ps, free.time_ps);
    assert_true(slow.time_ps > fast.time_ps);
}

static void the_same_again_gives_the_same(void **state)
{
    (void)state;
    static const char problem[] = "alltoall/u8/100/p27@torus:3x3x3";
    int64_t first = simulated(problem, "pairwise", &model_links).time_ps;
    for (int i = 0; i < 3; i++)
        assert_int_equal(simulated(problem, "pairwise", &model_links).time_ps, first);
}

/* ---- Invalid plans ---- */

/* Makes the plan of a rank that waits for a message which the other rank sends only afterwards, so
 * that both wait for ever. */
static struct tt_plan *circle(void *arg, int rank, int phase)
{
    (void)phase;
    struct tt_call *call = arg;
    struct tt_builder *b = tt_builder_new(2, rank, call, "circle");
    assert_non_null(b);
    tt_wait(b, tt_recv(b, 1 - rank, tt_own(TT_OUT, 0), 8));
    tt_wait(b, tt_send(b, 1 - rank, tt_own(TT_OUT, 0), 8));
    struct tt_plan *plan = tt_builder_finish(b);
    tt_builder_free(b);
    return plan;
}

static void who_waits_for_ever_is_named(void **state)
{
    (void)state;
    struct tt_call call = {
        .coll = TT_COLL_bcast, .n = 8, .type = TUTTI_U8, .sz = 1, .commutes = true};
    struct tt_sim_job job = {
        .model = &model_simple, .p = 2, .phases = 1, .plan = circle, .arg = &call};
    struct tt_sim_result result;
    assert_int_equal(tt_sim(&job, &result), TUTTI_ERR_ARG);
    assert_non_null(strstr(tutti_error(), "2 of 2 ranks wait for ever: rank 0 at its wait"));
    assert_null(result.link_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forwarding_costs_by_the_link),
        cmocka_unit_test(loggp_adds_up),
        cmocka_unit_test(loggp_engages_the_processor),
        cmocka_unit_test(links_are_waited_for),
        cmocka_unit_test(reducing_and_copying_take_their_time),
        cmocka_unit_test(messages_within_a_node_are_local),
        cmocka_unit_test(ranks_of_a_node_may_share_its_port),
        cmocka_unit_test(adapters_reduce),
        cmocka_unit_test(the_same_again_gives_the_same),
        cmocka_unit_test(who_waits_for_ever_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
