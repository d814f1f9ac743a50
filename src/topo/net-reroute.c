/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routes of a network with missing nodes: up/down routing (Schroeder et al. 1991).
 *
 * A breadth-first search from a vertex near the middle puts all vertices that are not missing in an
 * order. A link to an earlier vertex leads up, a link to a later vertex leads down. A route first
 * takes any number of links up and then any number of links down, on channel 0; then it may do this
 * once more on channel 1. So the pairs of a link and a channel have an order in which every route
 * uses them, and no cycle of messages can wait for each other. Such a route always exists, by way
 * of the first vertex.
 *
 * The shortest routes are found backwards from each destination, over pairs (vertex, state). The
 * state of a route is 0 while it goes up and 1 after it has gone down on channel 0; the states 2
 * and 3 are the same for channel 1. On grids nearly all routes are as short as without missing
 * nodes. A hash chooses among routes that are equally short.
 */
#include "topo/net-inside.h"

enum { MOST = 1 << 13 }; /* the most vertices: the memory grows with the square of their number */

/* The state of a search. In search(), `list` has the n vertices that were reached, in the order in
 * which they were reached; `order` is the position of each vertex in `list`, or -1 if it was not
 * reached. In measure(), `list` has pairs (vertex, state) instead, and `distance` is the number of
 * links from each pair to the destination, or -1 if it is not known. The links of vertex v, without
 * those to missing nodes, lead to to[first[v]] .. to[first[v + 1] - 1], by the ports in `port`. The
 * coordinates of v begin at coordinate[v * TT_NET_CUBE]. */
struct search {
    const struct tt_net *net;
    int *order, *list, *distance, n;
    int *first, *to, *coordinate;
    uint8_t *port;
};

enum { STATES = TT_NET_STATES };

static tutti_status list_links(struct search *s)
{
    const struct tt_net *net = s->net;
    int n = 0;
    for (int i = 0; i < net->vertices * net->ports; i++)
        n += tt_net_neighbour(net, i / net->ports, i % net->ports) >= 0;
    s->to = tt_alloc((size_t)n * sizeof *s->to);
    s->port = tt_alloc((size_t)n);
    if (!s->to || !s->port) return TUTTI_ERR_MEMORY;
    n = 0;
    for (int v = 0; v < net->vertices; v++) {
        s->first[v] = n;
        for (int port = 0; port < net->ports; port++) {
            int to = tt_net_neighbour(net, v, port);
            if (to < 0) continue;
            s->to[n] = to;
            s->port[n++] = (uint8_t)port;
        }
    }
    s->first[net->vertices] = n;
    return TUTTI_OK;
}

/* Finds all vertices that can be reached from the vertex `from`, breadth first, and sets s->order,
 * s->list and s->n. */
static void search(struct search *s, int from)
{
    for (int v = 0; v < s->net->vertices; v++) s->order[v] = -1;
    s->n = 0;
    s->order[from] = s->n;
    s->list[s->n++] = from;
    for (int i = 0; i < s->n; i++) {
        for (int k = s->first[s->list[i]]; k < s->first[s->list[i] + 1]; k++) {
            int to = s->to[k];
            if (s->order[to] >= 0) continue;
            s->order[to] = s->n;
            s->list[s->n++] = to;
        }
    }
}

/* Returns whether the link from one vertex to another leads up. */
static bool is_up(const struct search *s, int from, int to)
{
    return s->order[to] < s->order[from];
}

/* Records that the pair (vertex, state) is at this distance from the destination, and appends the
 * pair to the list, which has *n entries. Does nothing if the pair has been reached before. */
static void reach(struct search *s, int *n, int pair, int distance)
{
    if (s->distance[pair] >= 0) return;
    s->distance[pair] = distance;
    s->list[(*n)++] = pair;
}

/* Finds the distance of every pair (vertex, state) to the destination `to`, by following links
 * backwards. After a link up the state is 0 or 2, and after a link down it is 1 or 3. Before the
 * link, the state was the same, or less by one. */
static void measure(struct search *s, int to)
{
    const struct tt_net *net = s->net;
    int n = 0;
    for (int i = 0; i < STATES * net->vertices; i++) s->distance[i] = -1;
    for (int state = 0; state < STATES; state++) reach(s, &n, STATES * to + state, 0);
    for (int i = 0; i < n; i++) {
        int at = s->list[i] / STATES, state = s->list[i] % STATES;
        int next = s->distance[s->list[i]] + 1;
        for (int k = s->first[at]; k < s->first[at + 1]; k++) {
            int before = s->to[k];
            if (is_up(s, before, at) == state % 2) continue;
            reach(s, &n, STATES * before + state, next);
            if (state > 0) reach(s, &n, STATES * before + state - 1, next);
        }
    }
}

/* Finds the port by which a shortest route from vertex v to vertex `to` goes on, for each state
 * (see above) that the route may have at v. If there are several such ports, takes the one with the
 * least pseudo-random number. */
static void choose(const struct search *s, int v, int to, uint8_t best[STATES])
{
    const int *here = s->coordinate + v * TT_NET_CUBE, *there = s->coordinate + to * TT_NET_CUBE;
    const int *left = s->distance + STATES * v;
    uint64_t least[STATES];
    for (int state = 0; state < STATES; state++) least[state] = UINT64_MAX;
    for (int k = s->first[v]; k < s->first[v + 1]; k++) {
        uint64_t drawn = tt_net_draw(s->net, here, there, s->port[k]);
        for (int state = 0; state < STATES; state++) {
            int then = tt_net_state(state, is_up(s, v, s->to[k]));
            if (then < 0 || drawn > least[state]) continue;
            if (s->distance[STATES * s->to[k] + then] != left[state] - 1) continue;
            least[state] = drawn;
            best[state] = s->port[k];
        }
    }
}

static void fill(struct search *s, uint8_t *port, int to)
{
    measure(s, to);
    for (int v = 0; v < s->net->vertices; v++)
        if (v != to && s->distance[STATES * v] > 0) choose(s, v, to, port + STATES * v);
}

/* Returns a vertex near the middle of the network: finds the vertex farthest from the first rank's
 * node, sorts all vertices by their distance from this vertex, and returns the one in the middle of
 * the list. */
static int middle(struct search *s)
{
    search(s, s->net->node[0]);
    search(s, s->list[s->n - 1]);
    return s->list[s->n / 2];
}

/* Goes through the nodes of all ranks, and returns the first node that the search has not reached;
 * -1: it has reached all of them. */
static int unreached(const struct search *s)
{
    const struct tt_net *net = s->net;
    for (int r = 0; r < net->ranks; r++)
        if (s->order[net->node[r]] < 0) return net->node[r];
    return -1;
}

static tutti_status find_cut(struct search *s, int cut[2])
{
    search(s, s->net->node[0]);
    cut[0] = s->net->node[0];
    cut[1] = unreached(s);
    return cut[1] >= 0 ? TUTTI_ERR_ARG : TUTTI_OK;
}

static tutti_status route_all(struct search *s, struct tt_net *net)
{
    search(s, middle(s));
    for (int v = 0; v < net->vertices; v++)
        (void)tt_net_coordinates(net, v, s->coordinate + v * TT_NET_CUBE);
    net->route_port = tt_calloc((size_t)net->vertices * (size_t)net->vertices, STATES);
    if (!net->route_port) return TUTTI_ERR_MEMORY;
    for (int r = 0; r < net->ranks; r++)
        fill(s, net->route_port + STATES * (int64_t)net->node[r] * net->vertices, net->node[r]);
    return TUTTI_OK;
}

static tutti_status reroute(struct search *s, struct tt_net *net, bool routes, int cut[2])
{
    TT_TRY(list_links(s));
    TT_TRY(find_cut(s, cut));
    return routes ? route_all(s, net) : TUTTI_OK;
}

tutti_status tt_net_reroute(struct tt_net *net, bool routes, int cut[2])
{
    if (net->vertices > MOST || net->ports > UINT8_MAX) return TUTTI_ERR_LIMIT;
    size_t n = (size_t)net->vertices;
    int *room = tt_alloc(((2 * STATES + TT_NET_CUBE + 1) * n + 1) * sizeof *room);
    net->order = tt_alloc(n * sizeof *net->order);
    if (!room || !net->order) {
        tt_free(room);
        return TUTTI_ERR_MEMORY;
    }
    struct search s = {.net = net,
                       .order = net->order,
                       .list = room,
                       .distance = room + STATES * n,
                       .coordinate = room + 2 * STATES * n,
                       .first = room + (2 * STATES + TT_NET_CUBE) * n};
    tutti_status status = reroute(&s, net, routes, cut);
    tt_free(s.port);
    tt_free(s.to);
    tt_free(room);
    return status;
}
