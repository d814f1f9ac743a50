/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dragonflies (Kim et al. 2008). The routers of a group are all joined to each other, and any two
 * groups are joined by one link.
 *
 *     ports of a node:    0, to its router
 *     ports of a router:  its nodes; the other routers of the group; its links to other groups
 *
 * The links of a group to other groups are numbered from its first router on. Link 0 leads to the
 * next group, link 1 to the group after that, and so on.
 */
#include "topo/net-inside.h"

struct sizes {
    int hosts, routers, globals, groups;
};

static struct sizes sizes(const struct tt_net *net)
{
    return (struct sizes){net->extent[0], net->extent[1], net->extent[2], net->extent[3]};
}

static const char *shape(struct tt_net *net, int *which)
{
    for (*which = 0; *which < net->dims; ++*which)
        if (net->extent[*which] < 1 || net->extent[*which] > TT_NET_NODES)
            return "must be from 1 to 1048576";
    if (net->dims == 3)
        net->extent[3] =
            (int)tt_min((int64_t)net->extent[1] * net->extent[2] + 1, TT_NET_NODES + 1);
    struct sizes s = sizes(net);
    *which = net->dims - 1;
    if ((int64_t)s.routers * s.globals < s.groups - 1)
        return "there are more groups than the links of one group reach";
    int routers = tt_net_times(s.routers, s.groups);
    net->nodes = tt_net_times(s.hosts, routers);
    if (net->nodes > TT_NET_NODES) return "makes more than 1048576 nodes";
    net->vertices = net->nodes + routers;
    net->ports = s.hosts + s.routers - 1 + s.globals;
    return NULL;
}

static int neighbour(const struct tt_net *net, int vertex, int port)
{
    struct sizes s = sizes(net);
    if (vertex < net->nodes) return port == 0 ? net->nodes + vertex / s.hosts : -1;
    int router = vertex - net->nodes, group = router / s.routers, r = router % s.routers;
    if (port < s.hosts) return router * s.hosts + port;
    port -= s.hosts;
    if (port < s.routers - 1) return net->nodes + group * s.routers + port + (port >= r);
    int link = r * s.globals + port - (s.routers - 1);
    if (link >= s.groups - 1) return -1;
    int other = (group + link + 1) % s.groups, back = s.groups - 2 - link;
    return net->nodes + other * s.routers + back / s.globals;
}

/* Returns the port from router r of a group to another router of the same group. */
static int local_port(const struct sizes *s, int r, int other)
{
    return s->hosts + other - (other > r);
}

/* Returns the port by which the route goes on (tt_net_ops.next_port). route->state is 1 if the
 * route has left its first group, and otherwise 0. */
static int next_port(const struct tt_net *net, struct tt_route *route, int *channel)
{
    struct sizes s = sizes(net);
    *channel = route->state;
    if (route->at < net->nodes) return 0;
    int router = route->at - net->nodes, group = router / s.routers, r = router % s.routers;
    int target = route->to / s.hosts, there = target / s.routers;
    if (router == target) return route->to % s.hosts;
    if (group == there) return local_port(&s, r, target % s.routers);
    int link = (there - group - 1 + s.groups) % s.groups;
    if (link / s.globals != r) return local_port(&s, r, link / s.globals);
    route->state = 1;
    return s.hosts + s.routers - 1 + link % s.globals;
}

const struct tt_net_ops tt_net_dragonfly = {
    .shape = shape,
    .neighbour = neighbour,
    .next_port = next_port,
    .least = 3,
    .most = 4,
};
