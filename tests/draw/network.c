/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The network of a picture: loads, positions, missing nodes, and routes around them.
 */
#include "drawn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const networks[][2] = {
    {"alltoall/u8/64/p16@torus:4x4", "pairwise"},
    {"alltoall/u8/64/p12@ring:12", "pairwise"},
    {"alltoall/u8/64/p24@mesh:2x3x4", "pairwise"},
    {"alltoall/u8/64/p35@torus:6x6-hole(2,2)", "pairwise"},
    {"alltoall/u8/64/p63@torus:4x4x4-hole(1,1,1)", "pairwise"},
    {"alltoall/u8/64/p8@hypercube:3", "pairwise"},
    {"alltoall/u8/64/p31@hypercube:5-hole(3)", "pairwise"},
    {"alltoall/u8/64/p15@tree:2x15", "pairwise"},
    {"alltoall/u8/64/p16@fattree:4x4", "pairwise"},
    {"alltoall/u8/64/p72@dragonfly:2x4x2", "pairwise"},
};
enum { NETWORKS = sizeof networks / sizeof networks[0] };

static void loads(void **state)
{
    struct drawn *d = drawn("alltoall/u8/1K/p16@torus:4x4", "pairwise");
    struct tt_picture_net *net = &d->picture.net;
    assert_int_equal(tt_picture_network(&d->picture, &d->net, "torus:4x4", d->result.link_bytes),
                     TUTTI_OK);
    assert_int_equal(net->vertices, 16);
    assert_int_equal(net->links, 64);
    for (int i = 0; i < 64; i++) assert_int_equal(net->link[i].bytes, 8192);
    assert_int_equal(net->max_link_bytes, 8192);
    assert_true(net->mean_link_bytes == 8192);
    assert_int_equal(net->slices, 1);
    for (int v = 0; v < 16; v++) {
        assert_true(net->vertex[v].x == v % 4 && net->vertex[v].y == v / 4);
        assert_int_equal(net->vertex[v].rank, v);
    }
    drawn_free(d);
    (void)state;
}

/* Checks the bytes that the picture has for each link. The picture adds up the bytes of all
 * messages along their routes, and the simulator has counted the bytes on each link by itself; both
 * numbers must be equal. */
static void loads_are_those_of_the_routes(void **state)
{
    for (int i = 0; i < NETWORKS; i++) {
        struct drawn *d = drawn(networks[i][0], networks[i][1]);
        struct tt_picture *p = &d->picture;
        assert_int_equal(tt_picture_network(p, &d->net, d->problem.map, NULL), TUTTI_OK);
        for (int64_t at = 0, k = 0; at < d->result.link_room; at++) {
            int from = (int)(at / d->net.ports), port = (int)(at % d->net.ports);
            if (tt_net_neighbour(&d->net, from, port) < 0) continue;
            assert_int_equal(p->net.link[k].from, from);
            assert_int_equal(p->net.link[k++].bytes, d->result.link_bytes[at]);
        }
        assert_int_equal(p->net.max_link_bytes, d->result.max_link_bytes);
        drawn_free(d);
    }
    (void)state;
}

/* Checks that no two vertices have the same position. */
static void places_differ(void **state)
{
    for (int i = 0; i < NETWORKS; i++) {
        struct drawn *d = drawn(networks[i][0], networks[i][1]);
        const struct tt_picture_net *net = &d->picture.net;
        assert_int_equal(tt_picture_network(&d->picture, &d->net, d->problem.map, NULL), TUTTI_OK);
        for (int a = 0; a < net->vertices; a++)
            for (int b = 0; b < a; b++) {
                const struct tt_picture_vertex *x = &net->vertex[a], *y = &net->vertex[b];
                assert_true(x->slice >= 0 && x->slice < net->slices);
                if (x->slice == y->slice) assert_true(hypot(x->x - y->x, x->y - y->y) > 0.6);
            }
        drawn_free(d);
    }
    (void)state;
}

static bool are_neighbours(const struct tt_net *net, int from, int to)
{
    for (int port = 0; port < net->ports; port++)
        if (tt_net_neighbour(net, from, port) == to) return true;
    return false;
}

/* Checks the routes around a missing node: they begin and end beside the hole, go from neighbour to
 * neighbour, and never pass through the hole. */
static void detours(void **state)
{
    struct drawn *d = drawn("alltoall/u8/64/p35@torus:6x6-hole(2,2)", "pairwise");
    const struct tt_picture_net *net = &d->picture.net;
    const int hole = 2 + 6 * 2;
    assert_int_equal(tt_picture_network(&d->picture, &d->net, d->problem.map, NULL), TUTTI_OK);
    assert_int_equal(tt_picture_detours(&d->picture, &d->net), TUTTI_OK);
    assert_int_equal(net->vertex[hole].rank, -1);
    assert_true(net->routes >= 2);
    for (int i = 0; i < net->routes; i++) {
        const int *way = net->route[i];
        int n = 0;
        for (; way[n + 1] >= 0; n++) assert_true(are_neighbours(&d->net, way[n], way[n + 1]));
        assert_true(n >= 2);
        struct tt_net whole = {.kind = TT_NET_torus, .dims = 2, .extent = {6, 6}};
        int which;
        assert_null(tt_net_shape(&whole, &which));
        assert_true(are_neighbours(&whole, way[0], hole) && are_neighbours(&whole, way[n], hole));
    }
    drawn_free(d);
    (void)state;
}

static void routes(void **state)
{
    static const int e_cube[] = {2, 3, 1, 5, -1}; /* the route from node 010 to node 101 changes the
                                                   * lowest dimension first */
    struct drawn *d = drawn("alltoall/u8/64/p8@hypercube:3", "pairwise");
    struct tt_picture_net *net = &d->picture.net;
    assert_int_equal(tt_picture_network(&d->picture, &d->net, "hypercube:3", NULL), TUTTI_OK);
    assert_int_equal(tt_picture_route(&d->picture, &d->net, 2, 5), TUTTI_OK);
    assert_int_equal(net->routes, 1);
    assert_memory_equal(net->route[0], e_cube, sizeof e_cube);
    for (int i = 0; i < TT_PICTURE_ROUTES; i++)
        assert_int_equal(tt_picture_route(&d->picture, &d->net, 2, 5), TUTTI_OK);
    assert_int_equal(net->routes, TT_PICTURE_ROUTES);
    assert_int_equal(net->routes_left_out, 1);
    drawn_free(d);
    (void)state;
}

static void too_large(void **state)
{
    struct drawn *d = drawn("barrier/p4", "dissemination");
    struct tt_net net = {.kind = TT_NET_torus, .dims = 3, .extent = {64, 64, 64}};
    int which;
    assert_null(tt_net_shape(&net, &which));
    assert_int_equal(tt_picture_network(&d->picture, &net, "torus:64x64x64", NULL),
                     TUTTI_ERR_LIMIT);
    assert_int_equal(d->picture.net.vertices, 0);
    drawn_free(d);
    (void)state;
}

static void no_memory(void **state)
{
    struct drawn *d = drawn("alltoall/u8/64/p15@tree:2x15", "pairwise");
    tutti_status status = TUTTI_ERR_MEMORY;
    int tries = 0;
    for (; status == TUTTI_ERR_MEMORY; tries++) {
        tt_memory_fail_at(tries);
        status = tt_picture_network(&d->picture, &d->net, "tree:2x15", NULL);
        assert_true(status == TUTTI_OK || d->picture.net.vertices == 0);
    }
    tt_memory_fail_at(-1);
    assert_int_equal(status, TUTTI_OK);
    assert_true(tries > 4);
    drawn_free(d);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads),         cmocka_unit_test(loads_are_those_of_the_routes),
        cmocka_unit_test(places_differ), cmocka_unit_test(detours),
        cmocka_unit_test(routes),        cmocka_unit_test(too_large),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
