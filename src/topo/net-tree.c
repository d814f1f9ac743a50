/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trees in which every vertex is a node. Nodes are numbered in breadth-first order. Port 0 leads to
 * the parent, the other ports to the children. In tree:2x6, 6 nodes have up to 2 children each:
 *
 *              0
 *          1       2
 *        3   4   5
 */
#include "topo/net-inside.h"

static const char *shape(struct tt_net *net, int *which)
{
    *which = 0;
    if (net->extent[0] < 1 || net->extent[0] > 1024) return "must be from 1 to 1024 children";
    *which = 1;
    if (net->extent[1] < 1 || net->extent[1] > TT_NET_NODES)
        return "must be from 1 to 1048576 nodes";
    net->nodes = net->vertices = net->extent[1];
    net->ports = net->extent[0] + 1;
    return NULL;
}

static int neighbour(const struct tt_net *net, int node, int port)
{
    if (port == 0) return node > 0 ? (node - 1) / net->extent[0] : -1;
    int64_t child = (int64_t)node * net->extent[0] + port;
    return child < net->nodes ? (int)child : -1;
}

/* Returns the port to the parent or to a child. Ancestors have lower numbers than their
 * descendants. So the search climbs from the destination until it finds a child of this node, or a
 * number that is not larger than this node's. In the second case the destination is not below this
 * node, and the route goes up. In a chain, where each node has at most one child (k = 1), all nodes
 * with larger numbers are below this node, so no search is needed. */
static int next_port(const struct tt_net *net, struct tt_route *route, int *channel)
{
    int below = route->to, k = net->extent[0];
    *channel = 0;
    if (k == 1) return below > route->at;
    while (below > route->at && (below - 1) / k != route->at) below = (below - 1) / k;
    return below > route->at ? (below - 1) % k + 1 : 0;
}

const struct tt_net_ops tt_net_tree = {
    .shape = shape,
    .neighbour = neighbour,
    .next_port = next_port,
    .least = 2,
    .most = 2,
    .transit = true,
};
