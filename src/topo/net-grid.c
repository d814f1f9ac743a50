/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings, meshes, tori and hypercubes. Routes go along one dimension after the other.
 *
 *     ports of dimension d: 2d leads upwards, 2d + 1 downwards; of a hypercube: d
 *
 * A dimension of two places has one link in each direction, even in a ring or torus.
 */
#include "topo/net-inside.h"

static const char *shape(struct tt_net *net, int *which)
{
    net->nodes = 1;
    for (int d = 0; d < net->dims; d++) {
        *which = d;
        if (net->extent[d] < 1) return "must be at least 1";
        net->stride[d] = net->nodes;
        net->nodes = tt_net_times(net->nodes, net->extent[d]);
        if (net->nodes > TT_NET_NODES) return "makes more than 1048576 nodes";
    }
    net->wraps = net->kind == TT_NET_ring || net->kind == TT_NET_torus;
    net->vertices = net->nodes;
    net->ports = 2 * net->dims;
    return NULL;
}

static inline int place(const struct tt_net *net, int node, int d)
{
    return node / net->stride[d] % net->extent[d];
}

static inline bool closed(const struct tt_net *net, int d)
{
    return net->wraps && net->extent[d] > 2;
}

static int neighbour(const struct tt_net *net, int node, int port)
{
    int d = port / 2, at = place(net, node, d), extent = net->extent[d];
    int to = port % 2 ? at - 1 : at + 1;
    if (to >= 0 && to < extent) return node + (to - at) * net->stride[d];
    return closed(net, d) ? node + ((to + extent) % extent - at) * net->stride[d] : -1;
}

static bool ascends(const struct tt_net *net, int d, int at, int to)
{
    int extent = net->extent[d], up = (to - at + extent) % extent;
    if (!closed(net, d)) return to > at;
    return 2 * up == extent ? at % 2 == 0 : 2 * up < extent;
}

/* Returns the port by which the route goes on (tt_net_ops.next_port). route->state is twice the
 * dimension in which the route moves, plus 1 if the route has passed the link that closes the ring
 * of that dimension. */
static int next_port(const struct tt_net *net, struct tt_route *route, int *channel)
{
    int d = route->state / 2, at, to;
    while ((at = place(net, route->at, d)) == (to = place(net, route->to, d))) d++;
    if (d != route->state / 2) route->state = 2 * d;
    bool up = ascends(net, d, at, to);
    *channel = route->state % 2;
    if (up ? at == net->extent[d] - 1 : at == 0) route->state |= 1;
    return 2 * d + !up;
}

const struct tt_net_ops tt_net_grid = {
    .shape = shape,
    .neighbour = neighbour,
    .next_port = next_port,
    .least = 1,
    .most = TT_NET_DIMS,
    .transit = true,
};

/* ---- The hypercube ---- */

static const char *cube_shape(struct tt_net *net, int *which)
{
    int bits = net->extent[0];
    *which = 0;
    if (bits < 0 || bits > TT_NET_CUBE) return "must be from 0 to 20";
    net->nodes = net->vertices = 1 << bits;
    net->dims = net->ports = bits;
    for (int d = 0; d < bits; d++) {
        net->extent[d] = 2;
        net->stride[d] = 1 << d;
    }
    return NULL;
}

static int cube_neighbour(const struct tt_net *net, int node, int port)
{
    (void)net;
    return node ^ 1 << port;
}

static int cube_next_port(const struct tt_net *net, struct tt_route *route, int *channel)
{
    (void)net;
    *channel = 0;
    return __builtin_ctz((unsigned)(route->at ^ route->to));
}

const struct tt_net_ops tt_net_cube = {
    .shape = cube_shape,
    .neighbour = cube_neighbour,
    .next_port = cube_next_port,
    .least = 1,
    .most = 1,
    .transit = true,
};
