/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The algorithm `forward` on networks with missing nodes: every message goes over one link between
 * two neighbours, data take shortest paths and are spread evenly over the links. Where the
 * algorithm cannot be used it says why.
 */
#include <string.h>

#include "brief.h"
#include "plans.h"

static const enum tt_coll colls[] = {TT_COLL_alltoall, TT_COLL_alltoallv, TT_COLL_allgather,
                                     TT_COLL_allgatherv};
enum { COLLS = 4 };

/* ---- The links that messages take ---- */

static int port_to(const struct tt_net *net, int me, int peer)
{
    assert_in_range(peer, 0, net->ranks - 1);
    for (int q = 0; q < net->ports; q++)
        if (tt_net_neighbour(net, tt_net_node(net, me), q) == tt_net_node(net, peer)) return q;
    fail_msg("rank %d to %d: no link", me, peer);
    return -1;
}

/* Adds the bytes that a plan sends over each link to `link`. Fails if a message goes to a rank that
 * is not a neighbour. */
static void walk(const struct tt_plan *plan, const struct tt_net *net, int64_t *link)
{
    struct tt_iter iter;
    struct tt_plain step;
    int64_t room[512];
    assert_in_range(plan->lanes, 1, 1);
    assert_in_range(tt_iter_bytes(plan, 0), 0, sizeof room);
    tt_iter_begin(&iter, plan, 0, room);
    while (tt_iter_next(&iter, &step)) {
        assert_true(step.kind == TT_SEND || step.kind == TT_RECV || step.kind == TT_WAIT ||
                    step.kind == TT_COPY);
        for (uint32_t i = 0; i < step.nops; i++) assert_int_equal(step.range[i].rank, TT_SELF);
        if (step.kind != TT_SEND && step.kind != TT_RECV) continue;
        int port = port_to(net, plan->me, step.peer);
        if (step.kind == TT_SEND) link[tt_net_node(net, plan->me) * net->ports + port] += step.len;
    }
}

/* Returns the bytes on each link when each rank sends `bytes` (in an alltoall: to each other rank).
 * The caller frees the array. */
static int64_t *loads(const struct tt_net *net, enum tt_coll coll, int64_t bytes)
{
    struct tt_problem problem = plans_problem(coll, net->ranks, bytes / 8);
    struct tt_map map = plans_map(net->ranks);
    struct plans all;
    int64_t *link = tt_calloc((size_t)net->nodes * (size_t)net->ports, sizeof *link);
    assert_non_null(link);
    map.net = net;
    assert_true(plans_make(&all, tt_algorithm_find(coll, "forward"), &problem, &map));
    for (int r = 0; r < net->ranks; r++) walk(all.plans[r], net, link);
    plans_free(&all);
    return link;
}

static int64_t sum(const struct tt_net *net, const int64_t *link, int64_t *most, int64_t *links)
{
    int64_t all = 0;
    *most = *links = 0;
    for (int i = 0; i < net->nodes * net->ports; i++) {
        all += link[i];
        *most = tt_max(*most, link[i]);
        *links += tt_net_neighbour(net, i / net->ports, i % net->ports) >= 0;
    }
    return all;
}

/* Returns the sum of the distances from one member to all others. */
static int64_t distances(const struct tt_net *net, int from)
{
    int *distance = tt_calloc((size_t)net->nodes, sizeof *distance);
    int *list = tt_calloc((size_t)net->nodes, sizeof *list), n = 0;
    int64_t all = 0;
    assert_true(distance && list);
    list[n++] = from;
    for (int i = 0; i < n; i++) {
        all += distance[list[i]];
        for (int q = 0; q < net->ports; q++) {
            int to = tt_net_neighbour(net, list[i], q);
            if (to < 0 || to == from || distance[to] > 0) continue;
            distance[to] = distance[list[i]] + 1;
            list[n++] = to;
        }
    }
    assert_int_equal(n, net->ranks);
    tt_free(distance);
    tt_free(list);
    return all;
}

/* Checks the bytes on all links: the blocks of an alltoall take shortest paths, and a block of an
 * allgather reaches each member once. */
static void goes_by_links(const struct tt_net *net)
{
    int64_t p = net->ranks, ways = 0, most, links;
    for (int r = 0; r < p; r++) ways += distances(net, tt_net_node(net, r));
    for (int c = 0; c < COLLS; c++) {
        int64_t *link = loads(net, colls[c], 16), wanted = p * (p - 1);
        if (c < 2) wanted = ways;
        assert_int_equal(sum(net, link, &most, &links), 16 * wanted);
        tt_free(link);
    }
}

static void messages_are_single_links(void **state)
{
    (void)state;
    static const char *const more[] = {
        "torus:5x5-hole(0,0)-hole(3,1)", "mesh:6x5-hole(2,2)-hole(3,2)",
        "torus:6x4x3-wall(x=2)",         "torus:4x4x4-wall(y=1)-random(9,3)",
        "mesh:4x4x4-hole(1,1,1)",        NULL};
    const char *const *lists[] = {plans_networks, more};
    int large = 0;
    for (int i = 0; i < 2; i++) {
        for (const char *const *text = lists[i]; *text; text++) {
            if (i == 1 && !sampled(&large, 2)) continue;
            struct tt_net net = plans_network(*text);
            goes_by_links(&net);
            tt_net_free(&net);
        }
    }
}

/* Tries 50 networks with a few or many nodes missing. The parser refuses networks that are not
 * connected. */
static void random_holes_are_gone_round(void **state)
{
    (void)state;
    int tried = 0, enough = brief(50, 3);
    for (int seed = 0; seed < 100 && tried < enough; seed++) {
        char text[64];
        struct tt_net net;
        snprintf(text, sizeof text, "torus:4x3x4-random(%d,%d)", 1 + seed % 20, seed);
        if (tt_network_parse(text, &net, NULL) != TUTTI_OK) continue;
        goes_by_links(&net);
        tt_net_free(&net);
        tried++;
    }
    assert_int_equal(tried, enough);
}

/* ---- Even load ---- */

static const struct {
    const char *network;
    enum tt_coll coll;
    double at_most; /* the most bytes on a link, divided by the mean of all links */
} spreads[] = {
    {"torus:6x6x6", TT_COLL_alltoall, 1.2},
    {"torus:6x6x6-hole(3,3,3)", TT_COLL_alltoall, 1.45},
    {"torus:6x6x6-wall(x=2)", TT_COLL_alltoall, 1.5},
    {"torus:6x6x6-random(20,7)", TT_COLL_alltoall, 1.65},
    {"torus:6x6x6", TT_COLL_allgather, 1.5},
    {"torus:6x6x6-hole(3,3,3)", TT_COLL_allgather, 1.7},
};

/* Checks that no link carries much more than the mean. The loads are the same in any build, so a
 * brief run tries only a torus without missing nodes. */
static void links_are_evenly_filled(void **state)
{
    (void)state;
    int cases = 0;
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
        if (!sampled(&cases, 6)) continue;
        struct tt_net net = plans_network(spreads[i].network);
        int64_t *link = loads(&net, spreads[i].coll, 8), most, links;
        double mean = (double)sum(&net, link, &most, &links) / (double)links;
        if ((double)most > spreads[i].at_most * mean)
            fail_msg("%s %s: %.2f times the mean", tt_coll_name(spreads[i].coll),
                     spreads[i].network, (double)most / mean);
        tt_free(link);
        tt_net_free(&net);
    }
}

/* ---- Many ranks ---- */

/* Returns the bytes that the plan receives. Fails if a peer is not a neighbour. */
static int64_t received(const struct tt_plan *plan, const struct tt_net *net)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < plan->lane[0].n; i++) {
        const struct tt_step *step = &plan->steps[plan->lane[0].first + i];
        if (step->kind == TT_SEND || step->kind == TT_RECV)
            (void)port_to(net, plan->me, step->peer);
        if (step->kind == TT_RECV) bytes += step->len;
    }
    return bytes;
}

/* Sets sums[0] to the bytes that the plan sends to the peer, and sums[1] to the bytes that it
 * receives from the peer. */
static void between(const struct tt_plan *plan, int peer, int64_t sums[2])
{
    sums[0] = sums[1] = 0;
    for (uint32_t i = 0; i < plan->lane[0].n; i++) {
        const struct tt_step *step = &plan->steps[plan->lane[0].first + i];
        if (step->peer != peer) continue;
        if (step->kind == TT_SEND) sums[0] += step->len;
        if (step->kind == TT_RECV) sums[1] += step->len;
    }
}

/* Returns a network of 1,330 ranks, for which a proof takes too long for a test. In a brief run
 * (brief.h), the network has 215 ranks. */
static struct tt_net many_ranks(void)
{
    static const char *const networks[] = {"torus:6x6x6-hole(3,3,3)", "torus:11x11x11-hole(3,3,3)"};
    struct tt_net net = plans_network(networks[brief(1, 0)]);
    assert_int_equal(net.ranks, brief(1330, 215));
    return net;
}

/* Checks that in an allgather on many ranks each rank receives the piece of each other rank
 * once. */
static void many_ranks_receive_each_piece_once(void **state)
{
    (void)state;
    struct tt_net net = many_ranks();
    struct tt_problem problem = plans_problem(TT_COLL_allgather, net.ranks, 5);
    struct tt_map map = plans_map(net.ranks);
    map.net = &net;
    for (int me = 0; me < net.ranks; me += net.ranks / 3) {
        struct tt_plan *plan = tt_algorithm_plan(&tt_allgather_forward, &problem.call, &map, me);
        assert_non_null(plan);
        assert_null(tt_plan_invalid(plan, NULL));
        assert_int_equal(received(plan, &net), (net.ranks - 1) * 5 * 8);
        tt_plan_free(plan);
    }
    tt_net_free(&net);
}

/* Checks an alltoallv on many ranks: the plans of two neighbours agree on the messages between
 * them, which carry all pieces that pass there. */
static void many_ranks_forward_uneven_pieces(void **state)
{
    (void)state;
    struct tt_net net = many_ranks();
    struct tt_problem problem = plans_problem(TT_COLL_alltoallv, net.ranks, 5);
    struct tt_map map = plans_map(net.ranks);
    int64_t *room = tt_calloc(tt_problem_room(&problem), sizeof *room), bytes[2][2];
    problem.skew = TT_SKEW_zero;
    map.net = &net;
    assert_non_null(room);
    for (int me = 0; me < 2; me++) {
        struct tt_call call = tt_problem_call(&problem, me, room);
        struct tt_plan *plan =
            tt_algorithm_plan(tt_algorithm_find(call.coll, "forward"), &call, &map, me);
        assert_non_null(plan);
        assert_null(tt_plan_invalid(plan, NULL));
        assert_true(received(plan, &net) > 5 * 8 * (int64_t)net.ranks / 4);
        between(plan, 1 - me, bytes[me]);
        tt_plan_free(plan);
    }
    assert_true(bytes[0][0] > 0 && bytes[1][0] > 0);
    assert_int_equal(bytes[0][0], bytes[1][1]);
    assert_int_equal(bytes[1][0], bytes[0][1]);
    tt_free(room);
    tt_net_free(&net);
}

/* ---- Problems that the algorithm refuses ---- */

static const char *refusal(const char *text)
{
    struct tt_net net = plans_network(text);
    struct tt_problem problem = plans_problem(TT_COLL_alltoall, net.ranks, 1);
    struct tt_map map = plans_map(net.ranks);
    map.net = &net;
    const char *why = tt_algorithm_find(TT_COLL_alltoall, "forward")->refuse(&problem.call, &map);
    tt_net_free(&net);
    return why;
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct tt_problem problem = plans_problem(TT_COLL_allgather, 4, 1);
    struct tt_map map = plans_map(4);
    const struct tt_algorithm *gather = tt_algorithm_find(TT_COLL_allgather, "forward");
    assert_string_equal(gather->refuse(&problem.call, &map), "needs to know the network");
    assert_null(refusal("torus:64x64"));
    assert_string_equal(refusal("torus:65x64"), "supports at most 4096 ranks");
    assert_string_equal(refusal("fattree:4x4"),
                        "needs ranks that are joined directly, by no switches");
    assert_string_equal(refusal("dragonfly:1x2x1"),
                        "needs ranks that are joined directly, by no switches");
}

static void lacks_memory(const struct tt_net *net, enum tt_coll coll)
{
    struct tt_problem problem = plans_problem(coll, net->ranks, 1);
    int64_t room[64];
    assert_in_range(tt_problem_room(&problem), 0, 64);
    struct tt_call call = tt_problem_call(&problem, 3, room);
    struct tt_map map = plans_map(net->ranks);
    struct tt_plan *plan = NULL;
    int i = 0;
    map.net = net;
    for (; !plan; i++) {
        tt_memory_fail_at(i);
        plan = tt_algorithm_plan(tt_algorithm_find(coll, "forward"), &call, &map, 3);
        tt_memory_fail_at(-1);
        if (!plan) assert_non_null(strstr(tutti_error(), "memory"));
    }
    assert_in_range(i, 6, 100);
    tt_plan_free(plan);
}

static void lack_of_memory_is_reported(void **state)
{
    (void)state;
    struct tt_net net = plans_network("torus:3x3-hole(1,1)");
    lacks_memory(&net, TT_COLL_alltoall);
    lacks_memory(&net, TT_COLL_alltoallv);
    tt_net_free(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_single_links),
        cmocka_unit_test(random_holes_are_gone_round),
        cmocka_unit_test(links_are_evenly_filled),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(many_ranks_receive_each_piece_once),
        cmocka_unit_test(many_ranks_forward_uneven_pieces),
        cmocka_unit_test(lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
