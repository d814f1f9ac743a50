/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests routes, mostly of networks without missing nodes: they follow links, take a shortest path,
 * and never deadlock. In some patterns of communication on hypercubes, rings and fat trees, they
 * spread the messages evenly over the links.
 */
#include "../brief.h"
#include "networks.h"

#include <stdio.h>
#include <stdlib.h>

/* Writes the distances from a vertex to all others, by breadth-first search. */
static void distances(const struct tt_net *net, int from, int *distance, int *list)
{
    int n = 0;
    for (int v = 0; v < net->vertices; v++) distance[v] = -1;
    distance[from] = 0;
    list[n++] = from;
    for (int i = 0; i < n; i++) {
        for (int port = 0; port < net->ports; port++) {
            int to = tt_net_neighbour(net, list[i], port);
            if (to < 0 || distance[to] >= 0) continue;
            distance[to] = distance[list[i]] + 1;
            list[n++] = to;
        }
    }
}

/* Follows a route, checks that each hop is a link, and returns its length. */
static int walk(const struct tt_net *net, int from, int to)
{
    struct tt_route route = tt_route(from, to);
    struct tt_hop hop;
    int at = from, length = 0;
    for (; tt_route_next(net, &route, &hop); at = hop.to, length++) {
        assert_int_equal(hop.link / net->ports, at);
        assert_int_equal(tt_net_neighbour(net, at, (int)(hop.link % net->ports)), hop.to);
        assert_in_range(hop.channel, 0, 1);
        assert_in_range(length, 0, 2 * net->vertices);
    }
    assert_int_equal(at, to);
    return length;
}

static void leads_by_shortest_ways(const struct tt_net *net)
{
    int *distance = malloc((size_t)net->vertices * sizeof *distance);
    int *list = malloc((size_t)net->vertices * sizeof *list);
    for (int from = 0; from < net->nodes; from++) {
        distances(net, from, distance, list);
        for (int to = 0; to < net->nodes; to++) {
            int length = walk(net, from, to);
            /* In a dragonfly, a detour through the only link between two groups may be longer than
             * a path through a third group. */
            if (net->kind == TT_NET_dragonfly)
                assert_in_range(length, distance[to], 5);
            else
                assert_int_equal(length, distance[to]);
            assert_int_equal(length, tt_route_length(net, from, to));
        }
    }
    free(distance);
    free(list);
}

static void routes_are_shortest(void **state)
{
    (void)state;
    networks_each(networks_whole, leads_by_shortest_ways);
}

/* Checks that up/down routing with two virtual channels finds shortest paths on the tori below, in
 * which nodes are missing. */
static void routes_round_holes_are_shortest(void **state)
{
    (void)state;
    static const char *const texts[] = {"torus:6x6x6-hole(3,3,3)", "torus:5x6x4-wall(y=2)",
                                        "torus:9x9-hole(4,4)", NULL};
    for (const char *const *text = texts; *text; text++) {
        struct tt_net net = network(*text);
        int *distance = malloc((size_t)net.vertices * sizeof *distance);
        int *list = malloc((size_t)net.vertices * sizeof *list);
        for (int i = 0; i < net.ranks; i++) {
            distances(&net, net.node[i], distance, list);
            for (int j = 0; j < net.ranks; j++)
                assert_int_equal(walk(&net, net.node[i], net.node[j]), distance[net.node[j]]);
        }
        free(distance);
        free(list);
        tt_net_free(&net);
    }
}

static void has_no_deadlock(const struct tt_net *net)
{
    assert_true(network_is_deadlock_free(net));
}

static void routes_never_deadlock(void **state)
{
    (void)state;
    networks_each(networks_whole, has_no_deadlock);
}

/* Checks that the deadlock check can fail: routes around a ring that use one channel only. */
static void one_channel_round_a_ring_deadlocks(void **state)
{
    (void)state;
    struct tt_net net = network("ring:5-hole(2)");
    assert_true(network_is_deadlock_free(&net));
    /* All routes take the upward channel. */
    for (int i = 0; i < 4 * net.vertices * net.vertices; i++) net.route_port[i] = 0;
    tt_free(net.rank);
    net.rank = NULL;
    net.ranks = 5;
    tt_free(net.node);
    net.node = NULL;
    for (int v = 0; v < 5; v++)
        net.order[v] = 0; /* removes the order by which links count as up or down */
    assert_false(network_is_deadlock_free(&net));
    tt_net_free(&net);
}

/* Checks Grama et al., section 4.5: in step j of a total exchange, where node i exchanges with node
 * i XOR j, E-cube routes share no link. */
static void pairs_of_a_step_share_no_link(const struct tt_net *net, int j, char *taken)
{
    struct tt_hop hop;
    for (int i = 0; i < net->nodes; i++) {
        struct tt_route route = tt_route(i, i ^ j);
        while (tt_route_next(net, &route, &hop)) assert_int_equal(taken[hop.link]++, 0);
    }
    for (int64_t link = 0; link < (int64_t)net->nodes * net->ports; link++) taken[link] = 0;
}

static void pairwise_on_a_hypercube_is_free_of_congestion(void **state)
{
    (void)state;
    for (int d = 1; d <= brief(10, 8); d++) {
        char text[32];
        snprintf(text, sizeof text, "hypercube:%d", d);
        struct tt_net net = network(text);
        char *taken = calloc((size_t)net.nodes * (size_t)net.ports, 1);
        for (int j = 1; j < net.nodes; j++) pairs_of_a_step_share_no_link(&net, j, taken);
        free(taken);
        tt_net_free(&net);
    }
}

/* Checks that messages that go half around a ring use both directions, so that both carry the same
 * load. */
static void halfway_round_goes_both_ways(void **state)
{
    (void)state;
    struct tt_net net = network("ring:8");
    int up = 0;
    struct tt_hop hop;
    for (int i = 0; i < 8; i++) {
        struct tt_route route = tt_route(i, (i + 4) % 8);
        assert_true(tt_route_next(&net, &route, &hop));
        up += hop.to == (i + 1) % 8;
    }
    assert_int_equal(up, 4);
    tt_net_free(&net);
}

/* Checks D-mod-k routing: messages to different nodes below a switch come down on different
 * paths. */
static void fat_trees_spread_by_destination(void **state)
{
    (void)state;
    struct tt_net net = network("fattree:4x4x4");
    char *taken = calloc((size_t)net.vertices * (size_t)net.ports, 1);
    struct tt_hop hop;
    /* In a shift each node sends one message and receives one, so no link has to carry two. */
    for (int i = 0; i < net.nodes; i++) {
        struct tt_route route = tt_route(i, (i + 16) % net.nodes);
        while (tt_route_next(&net, &route, &hop)) assert_int_equal(taken[hop.link]++, 0);
    }
    free(taken);
    tt_net_free(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_are_shortest),
        cmocka_unit_test(routes_round_holes_are_shortest),
        cmocka_unit_test(routes_never_deadlock),
        cmocka_unit_test(one_channel_round_a_ring_deadlocks),
        cmocka_unit_test(pairwise_on_a_hypercube_is_free_of_congestion),
        cmocka_unit_test(halfway_round_goes_both_ways),
        cmocka_unit_test(fat_trees_spread_by_destination),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
