/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fat trees: extended generalised fat trees (Öhring et al. 1995) of h levels of switches. The
 * vertices of level l have m[l] children and w[l+1] parents.
 *
 * A vertex of level l has two numbers (a, b). Below it are the nodes whose number divided by M =
 * m[1] m[2] .. m[l], rounded down, is a. The number b in 0 .. W-1, with W = w[1] w[2] .. w[l],
 * distinguishes the vertices that are above the same nodes. The parents of the vertex are (a /
 * m[l+1], b + c W), for c in 0 .. w[l+1] - 1. Its children are (a m[l] + c, b mod V), for c in 0 ..
 * m[l] - 1, with V = w[1] .. w[l-1]. The first ports of a vertex lead to its children, the others
 * to its parents.
 *
 * The destination alone chooses the path up: from level l, a message to a node goes to the parent
 * with c = (node / W) mod w[l+1] (Zahavi 2012, D-mod-k). All messages to one node come down by one
 * path, and messages to different nodes spread over the paths.
 */
#include "topo/net-inside.h"

static int m(const struct tt_net *net, int level)
{
    return level > 0 ? net->extent[level - 1] : 0;
}

static int w(const struct tt_net *net, int level)
{
    return level <= net->dims ? net->up[level - 1] : 0;
}

/* m[l] and w[l] are the numbers of children and of parents, as above. below() returns the product
 * m[1] ... m[level], which is the number of nodes below a switch of that level. beside() returns
 * the product w[1] ... w[level], which is the number of switches above the same nodes. */
static int below(const struct tt_net *net, int level)
{
    int all = 1;
    for (int l = 1; l <= level; l++) all = tt_net_times(all, m(net, l));
    return all;
}

static int beside(const struct tt_net *net, int level)
{
    int all = 1;
    for (int l = 1; l <= level; l++) all = tt_net_times(all, w(net, l));
    return all;
}

static void choose_parents(struct tt_net *net)
{
    for (int l = 0; l < net->dims; l++) net->up[l] = l == 0 ? 1 : net->extent[l - 1];
}

static const char *shape(struct tt_net *net, int *which)
{
    if (net->up[0] == 0) choose_parents(net);
    for (int l = 0; l < net->dims; l++) {
        *which = l;
        if (net->extent[l] < 1 || net->up[l] < 1) return "must be at least 1";
        if (net->extent[l] > TT_NET_NODES || net->up[l] > TT_NET_NODES)
            return "must be at most 1048576";
    }
    net->nodes = below(net, net->dims);
    net->first[0] = 0;
    int64_t vertices = net->nodes;
    for (int l = 1; l <= net->dims; l++) {
        net->first[l] = (int)tt_min(vertices, INT32_MAX);
        vertices += (int64_t)(net->nodes / below(net, l)) * beside(net, l);
        net->ports = (int)tt_max(net->ports, m(net, l) + w(net, l + 1));
    }
    net->ports = (int)tt_max(net->ports, w(net, 1));
    if (net->nodes > TT_NET_NODES || vertices > 8 * (int64_t)TT_NET_NODES)
        return "makes more than 1048576 nodes, or 8 times as many switches";
    net->vertices = (int)vertices;
    return NULL;
}

struct spot {
    int level, a, b;
};

static struct spot spot_of(const struct tt_net *net, int vertex)
{
    int level = net->dims;
    while (level > 0 && vertex < net->first[level]) level--;
    int wide = beside(net, level), at = vertex - net->first[level];
    return (struct spot){level, at / wide, at % wide};
}

static int vertex_of(const struct tt_net *net, struct spot s)
{
    return net->first[s.level] + s.a * beside(net, s.level) + s.b;
}

static int neighbour(const struct tt_net *net, int vertex, int port)
{
    struct spot s = spot_of(net, vertex);
    int children = m(net, s.level), c = port - children;
    if (c < 0)
        return vertex_of(
            net, (struct spot){s.level - 1, s.a * children + port, s.b % beside(net, s.level - 1)});
    if (c >= w(net, s.level + 1)) return -1;
    return vertex_of(
        net, (struct spot){s.level + 1, s.a / m(net, s.level + 1), s.b + c * beside(net, s.level)});
}

static int next_port(const struct tt_net *net, struct tt_route *route, int *channel)
{
    struct spot s = spot_of(net, route->at);
    *channel = 0;
    if (route->to / below(net, s.level) == s.a)
        return route->to / below(net, s.level - 1) % m(net, s.level);
    return m(net, s.level) + route->to / beside(net, s.level) % w(net, s.level + 1);
}

const struct tt_net_ops tt_net_fattree = {
    .shape = shape,
    .neighbour = neighbour,
    .next_port = next_port,
    .least = 1,
    .most = TT_NET_LEVELS,
};
