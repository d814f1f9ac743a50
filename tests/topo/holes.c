/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks with missing nodes: routes pass only through nodes that are not missing, and never
 * deadlock. A network without such routes is refused.
 */
#include <stdio.h>
#include <string.h>

#include "../brief.h"
#include "networks.h"

static void passes_members_only(const struct tt_net *net)
{
    struct tt_hop hop;
    for (int i = 0; i < net->ranks; i++) {
        for (int j = 0; j < net->ranks; j++) {
            struct tt_route route = tt_route(tt_net_node(net, i), tt_net_node(net, j));
            int length = 0;
            while (tt_route_next(net, &route, &hop)) {
                if (hop.to < net->nodes) assert_true(tt_net_rank(net, hop.to) >= 0);
                assert_in_range(++length, 0, 2 * net->vertices);
            }
            assert_int_equal(route.at, tt_net_node(net, j));
        }
    }
}

static void routes_pass_members_only(void **state)
{
    (void)state;
    networks_each(networks_holed, passes_members_only);
}

static void has_no_deadlock(const struct tt_net *net)
{
    assert_true(network_is_deadlock_free(net));
}

static void routes_never_deadlock(void **state)
{
    (void)state;
    networks_each(networks_holed, has_no_deadlock);
}

/* Tries 200 random tori (in a brief run 40) with a few or many nodes missing. Each is either
 * refused, or its routes have the properties that the tests above check. */
static void random_holes_are_routed_or_refused(void **state)
{
    (void)state;
    const int step = brief(1, 5), tori = 200 / step;
    int routed = 0;
    for (int seed = 0; seed < 200; seed += step) {
        char text[64];
        struct tt_net net;
        snprintf(text, sizeof text, "torus:4x3x4-random(%d,%d)", 1 + seed % 24, seed);
        if (tt_network_parse(text, &net, NULL) != TUTTI_OK) continue;
        passes_members_only(&net);
        assert_true(network_is_deadlock_free(&net));
        tt_net_free(&net);
        routed++;
    }
    assert_in_range(routed, tori / 2, tori - 1);
}

static void what_is_cut_off_is_named(void **state)
{
    (void)state;
    struct tt_net net;
    struct tt_reader_error error;
    assert_int_equal(tt_network_parse("mesh:5x5-wall(x=2)", &net, &error), TUTTI_ERR_ARG);
    assert_string_equal(error.text, "nodes 0 (0,0) and 3 (3,0) cannot reach one another");
    assert_int_equal(error.at, strlen("mesh:5x5"));
    assert_int_equal(tt_network_parse("tree:2x7-hole(1)", &net, &error), TUTTI_ERR_ARG);
    assert_string_equal(error.text, "nodes 0 and 3 cannot reach one another");
    struct tt_net torus = network("torus:5x5-wall(x=2)");
    assert_int_equal(torus.ranks, 20);
    tt_net_free(&torus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_pass_members_only),
        cmocka_unit_test(routes_never_deadlock),
        cmocka_unit_test(random_holes_are_routed_or_refused),
        cmocka_unit_test(what_is_cut_off_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
