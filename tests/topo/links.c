/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each kind of network has the right number of links, each link has one in the opposite direction,
 * and no link leads to a missing node.
 */
#include "networks.h"

static int links(const struct tt_net *net)
{
    int n = 0;
    for (int v = 0; v < net->vertices; v++)
        for (int port = 0; port < net->ports; port++) n += tt_net_neighbour(net, v, port) >= 0;
    return n;
}

static int links_between(const struct tt_net *net, int from, int to)
{
    int n = 0;
    for (int port = 0; port < net->ports; port++) n += tt_net_neighbour(net, from, port) == to;
    return n;
}

static void has_ways_back(const struct tt_net *net)
{
    for (int v = 0; v < net->vertices; v++) {
        for (int port = 0; port < net->ports; port++) {
            int to = tt_net_neighbour(net, v, port);
            if (to < 0) continue;
            assert_in_range(to, 0, net->vertices - 1);
            assert_int_not_equal(to, v);
            assert_int_equal(links_between(net, to, v), links_between(net, v, to));
        }
    }
}

static void every_link_has_its_way_back(void **state)
{
    (void)state;
    networks_each(networks_whole, has_ways_back);
    networks_each(networks_holed, has_ways_back);
}

static void kinds_have_their_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int nodes, vertices, links;
    } cases[] = {
        {"ring:1", 1, 1, 0},
        {"ring:2", 2, 2, 2},
        {"ring:9", 9, 9, 18},
        {"mesh:4x4", 16, 16, 48},
        {"torus:4x4", 16, 16, 64},
        {"torus:3x4x5", 60, 60, 360},
        {"torus:2x2", 4, 4, 8},
        {"hypercube:5", 32, 32, 160},
        {"tree:2x31", 31, 31, 60},
        {"fattree:4x4x4", 64, 112, 2 * 3 * 64},
        {"fattree:4x4", 16, 24, 64},
        {"fattree:4x4x4up1x2x2", 64, 64 + 16 + 8 + 4, 2 * (64 + 32 + 16)},
        {"dragonfly:2x4x2", 72, 108, 2 * (72 + 9 * 6 + 36)},
        {"torus:8x8x8", 512, 512, 6 * 512},
        {"torus:8x8x8-hole(3,3,3)", 512, 512, 6 * 512 - 12},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_net net = network(cases[i].text);
        assert_int_equal(net.nodes, cases[i].nodes);
        assert_int_equal(net.vertices, cases[i].vertices);
        assert_int_equal(links(&net), cases[i].links);
        tt_net_free(&net);
    }
}

static void x_counts_fastest(void **state)
{
    (void)state;
    int place[TT_NET_CUBE];
    struct tt_net torus = network("torus:3x4x5"), cube = network("hypercube:4");
    assert_int_equal(tt_net_coordinates(&torus, 2 + 3 * (1 + 4 * 3), place), 3);
    assert_int_equal(place[0], 2);
    assert_int_equal(place[1], 1);
    assert_int_equal(place[2], 3);
    assert_int_equal(tt_net_coordinates(&cube, 5, place), 4);
    assert_int_equal(place[0] + 2 * place[1] + 4 * place[2] + 8 * place[3], 5);
    tt_net_free(&torus);
    tt_net_free(&cube);
}

static void ranks_are_the_nodes_left(void **state)
{
    (void)state;
    struct tt_net net = network("torus:3x3-hole(1,0)-hole(2,2)-hole(8)");
    static const int node[] = {0, 2, 3, 4, 5, 6, 7};
    assert_int_equal(net.ranks, 7);
    for (int r = 0; r < 7; r++) {
        assert_int_equal(tt_net_node(&net, r), node[r]);
        assert_int_equal(tt_net_rank(&net, node[r]), r);
    }
    assert_int_equal(tt_net_rank(&net, 1), -1);
    tt_net_free(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_link_has_its_way_back),
        cmocka_unit_test(kinds_have_their_numbers),
        cmocka_unit_test(x_counts_fastest),
        cmocka_unit_test(ranks_are_the_nodes_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
