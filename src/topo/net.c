/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions that all kinds of networks share: missing nodes, and following a route.
 */
#include "topo/net-inside.h"

const struct tt_net_ops *tt_net_ops(const struct tt_net *net)
{
    static const struct tt_net_ops *const ops[TT_NET_KINDS] = {
        [TT_NET_ring] = &tt_net_grid,           [TT_NET_mesh] = &tt_net_grid,
        [TT_NET_torus] = &tt_net_grid,          [TT_NET_hypercube] = &tt_net_cube,
        [TT_NET_tree] = &tt_net_tree,           [TT_NET_fattree] = &tt_net_fattree,
        [TT_NET_dragonfly] = &tt_net_dragonfly,
    };
    return ops[net->kind];
}

void tt_net_free(struct tt_net *net)
{
    tt_free(net->node);
    tt_free(net->rank);
    tt_free(net->order);
    tt_free(net->route_port);
    net->node = net->rank = net->order = NULL;
    net->route_port = NULL;
}

/* ---- Making ---- */

void tt_net_numbers(enum tt_net_kind kind, int *least, int *most)
{
    const struct tt_net_ops *ops = tt_net_ops(&(struct tt_net){.kind = kind});
    *least = ops->least;
    *most = kind == TT_NET_ring ? 1 : ops->most;
}

const char *tt_net_shape(struct tt_net *net, int *which)
{
    const char *wrong = tt_net_ops(net)->shape(net, which);
    net->ranks = net->nodes;
    return wrong;
}

tutti_status tt_net_remove(struct tt_net *net, int node)
{
    tt_assert(node >= 0 && node < net->nodes);
    if (!net->rank) net->rank = tt_calloc((size_t)net->nodes, sizeof *net->rank);
    if (!net->rank) return TUTTI_ERR_MEMORY;
    net->ranks -= net->rank[node] >= 0;
    net->rank[node] = -1;
    return TUTTI_OK;
}

static void number_ranks(struct tt_net *net)
{
    for (int node = 0, r = 0; node < net->nodes; node++) {
        if (net->rank[node] < 0) continue;
        net->rank[node] = r;
        net->node[r++] = node;
    }
}

bool tt_net_valid(const struct tt_net *net)
{
    bool valid = net->ranks <= net->nodes && net->nodes <= net->vertices;
    if (!net->node) return valid && net->ranks == net->nodes;
    for (int r = 0; r < net->ranks; r++)
        valid =
            valid && net->rank[net->node[r]] == r && (r == 0 || net->node[r - 1] < net->node[r]);
    return valid;
}

static tutti_status settle(struct tt_net *net, bool routes, int cut[2])
{
    cut[0] = cut[1] = -1;
    tt_assert(net->rank || tt_net_valid(net));
    if (!net->rank) return TUTTI_OK;
    if (net->ranks == 0) return TUTTI_ERR_ARG;
    net->node = tt_alloc((size_t)net->ranks * sizeof *net->node);
    if (!net->node) return TUTTI_ERR_MEMORY;
    number_ranks(net);
    tt_assert(tt_net_valid(net));
    return tt_net_ops(net)->transit ? tt_net_reroute(net, routes, cut) : TUTTI_OK;
}

tutti_status tt_net_settle(struct tt_net *net, int cut[2])
{
    return settle(net, true, cut);
}

tutti_status tt_net_join(struct tt_net *net, int cut[2])
{
    return settle(net, false, cut);
}

/* ---- Walking ---- */

static bool is_missing(const struct tt_net *net, int vertex)
{
    return net->rank && vertex < net->nodes && net->rank[vertex] < 0;
}

int tt_net_neighbour(const struct tt_net *net, int vertex, int port)
{
    int to = tt_net_ops(net)->neighbour(net, vertex, port);
    return to < 0 || is_missing(net, to) || is_missing(net, vertex) ? -1 : to;
}

int tt_net_coordinates(const struct tt_net *net, int node, int coordinate[TT_NET_CUBE])
{
    coordinate[0] = node;
    if (!tt_net_is_grid(net)) return 1;
    for (int d = 0; d < net->dims; d++) coordinate[d] = node / net->stride[d] % net->extent[d];
    return net->dims;
}

/* Hashes two numbers to one (the last steps of splitmix64). */
static uint64_t hash(uint64_t a, uint64_t b)
{
    uint64_t x = (a << 32 | b) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t tt_net_draw(const struct tt_net *net, const int *from, const int *to, int port)
{
    int offset = 0;
    if (!tt_net_is_grid(net))
        return hash(hash((uint64_t)from[0], (uint64_t)to[0]) >> 32, (uint64_t)port);
    for (int d = 0; d < net->dims; d++) {
        int distance = to[d] - from[d];
        offset += (distance < 0 ? distance + net->extent[d] : distance) * net->stride[d];
    }
    return hash((uint64_t)offset, (uint64_t)port);
}

static int port_around(const struct tt_net *net, struct tt_route *route)
{
    return net->route_port[TT_NET_STATES * ((int64_t)route->to * net->vertices + route->at) +
                           route->state];
}

bool tt_route_next(const struct tt_net *net, struct tt_route *route, struct tt_hop *hop)
{
    if (route->at == route->to) return false;
    hop->channel = 0;
    int port = net->route_port ? port_around(net, route)
                               : tt_net_ops(net)->next_port(net, route, &hop->channel);
    hop->to = tt_net_ops(net)->neighbour(net, route->at, port);
    hop->link = (int64_t)route->at * net->ports + port;
    if (net->route_port) {
        route->state = tt_net_state(route->state, net->order[hop->to] < net->order[route->at]);
        hop->channel = route->state / 2;
    }
    route->at = hop->to;
    return true;
}

int tt_route_length(const struct tt_net *net, int from, int to)
{
    struct tt_route route = tt_route(from, to);
    struct tt_hop hop;
    int length = 0;
    while (tt_route_next(net, &route, &hop)) length++;
    return length;
}
