/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The network of a picture: its vertices, its links with what they carried, chosen routes.
 */
#include <stdio.h>
#include <string.h>

#include "draw/picture-inside.h"

static tutti_status no_memory(const struct tt_net *net)
{
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for a picture of %d vertices", net->vertices);
}

void tt_picture_net_free(struct tt_picture_net *net)
{
    for (int i = 0; i < net->routes; i++) tt_free(net->route[i]);
    tt_free(net->vertex);
    tt_free(net->link);
    *net = (struct tt_picture_net){.nodes = 0};
}

static int64_t count_links(const struct tt_net *net)
{
    int64_t n = 0;
    for (int v = 0; v < net->vertices; v++)
        for (int port = 0; port < net->ports; port++) n += tt_net_neighbour(net, v, port) >= 0;
    return n;
}

/* Where no simulation told it: each trip loads the links of its route. NULL: no memory. */
static int64_t *loads_of_trips(const struct tt_picture *picture, const struct tt_net *net)
{
    int64_t *bytes = tt_calloc((size_t)net->vertices * (size_t)net->ports + 1, sizeof *bytes);
    for (int64_t i = 0; bytes && i < picture->trips.n; i++) {
        const struct tt_sim_deed *trip = &picture->trips.at[i];
        struct tt_route route =
            tt_route(tt_net_node(net, trip->rank), tt_net_node(net, trip->peer));
        struct tt_hop hop;
        while (tt_route_next(net, &route, &hop)) bytes[hop.link] += trip->bytes;
    }
    return bytes;
}

static void fill_links(struct tt_picture_net *picture, const struct tt_net *net,
                       const int64_t *bytes)
{
    int64_t total = 0, n = 0;
    for (int v = 0; v < net->vertices; v++)
        for (int port = 0; port < net->ports; port++) {
            int to = tt_net_neighbour(net, v, port);
            if (to < 0) continue;
            int64_t load = bytes[(int64_t)v * net->ports + port];
            picture->link[n++] = (struct tt_picture_link){v, to, load};
            picture->max_link_bytes = tt_max(picture->max_link_bytes, load);
            total += load;
        }
    picture->links = n;
    picture->mean_link_bytes = n ? (double)total / (double)n : 0;
}

static void fill_shape(struct tt_picture_net *picture, const struct tt_net *net, const char *text)
{
    snprintf(picture->text, sizeof picture->text, "%s", text);
    picture->kind = net->kind;
    picture->dims = net->dims;
    memcpy(picture->extent, net->extent, sizeof picture->extent);
    if (net->kind == TT_NET_tree) picture->dims = 2;
    picture->nodes = net->nodes;
}

tutti_status tt_picture_network(struct tt_picture *picture, const struct tt_net *net,
                                const char *text, const int64_t *link_bytes)
{
    struct tt_picture_net *p = &picture->net;
    int64_t links = count_links(net);
    if (links > TT_PICTURE_LINKS)
        return tt_fail(TUTTI_ERR_LIMIT,
                       "%lld links are too many for a picture; up to %d can be had",
                       (long long)links, TT_PICTURE_LINKS);
    int64_t *own = link_bytes ? NULL : loads_of_trips(picture, net);
    fill_shape(p, net, text);
    p->vertex = tt_calloc((size_t)net->vertices, sizeof *p->vertex);
    p->link = tt_calloc((size_t)links + 1, sizeof *p->link);
    tutti_status status = TUTTI_ERR_MEMORY;
    if (p->vertex && p->link && (link_bytes || own)) {
        p->vertices = net->vertices;
        for (int v = 0; v < net->vertices; v++)
            p->vertex[v].rank = v < net->nodes ? tt_net_rank(net, v) : -2;
        fill_links(p, net, link_bytes ? link_bytes : own);
        status = tt_place(p, net);
    }
    tt_free(own);
    if (status == TUTTI_OK) return status;
    tt_picture_net_free(p);
    return no_memory(net);
}

/* ---- Routes ---- */

tutti_status tt_picture_route(struct tt_picture *picture, const struct tt_net *net, int from,
                              int to)
{
    struct tt_picture_net *p = &picture->net;
    struct tt_route route = tt_route(tt_net_node(net, from), tt_net_node(net, to));
    struct tt_hop hop;
    if (p->routes == TT_PICTURE_ROUTES) {
        p->routes_left_out++;
        return TUTTI_OK;
    }
    int *way = tt_alloc(((size_t)tt_route_length(net, route.at, route.to) + 2) * sizeof *way),
        n = 0;
    if (!way) return no_memory(net);
    way[n++] = route.at;
    while (tt_route_next(net, &route, &hop)) way[n++] = hop.to;
    way[n] = -1;
    p->route[p->routes++] = way;
    return TUTTI_OK;
}

/* The same network with nothing missing; vertices == 0 if it cannot be had. */
static struct tt_net whole_of(const struct tt_net *net)
{
    struct tt_net whole = {.kind = net->kind, .dims = net->dims};
    int which;
    memcpy(whole.extent, net->extent, sizeof whole.extent);
    memcpy(whole.up, net->up, sizeof whole.up);
    if (net->kind == TT_NET_hypercube) {
        whole.extent[0] = net->dims;
        whole.dims = 1;
    }
    if (tt_net_shape(&whole, &which)) whole.vertices = 0;
    return whole;
}

static bool leads_through(const struct tt_net *whole, int from, int to, int node)
{
    struct tt_route route = tt_route(from, to);
    struct tt_hop hop;
    while (tt_route_next(whole, &route, &hop))
        if (hop.to == node) return true;
    return false;
}

static tutti_status detours_of(struct tt_picture *picture, const struct tt_net *net,
                               const struct tt_net *whole, int hole)
{
    enum { SHOWN = 6 };
    for (int a = 0; a < whole->ports; a++)
        for (int b = 0; b < whole->ports; b++) {
            int from = tt_net_neighbour(whole, hole, a), to = tt_net_neighbour(whole, hole, b);
            if (from < 0 || to < 0 || from >= net->nodes || to >= net->nodes || from >= to)
                continue;
            if (tt_net_rank(net, from) < 0 || tt_net_rank(net, to) < 0) continue;
            if (picture->net.routes >= SHOWN || !leads_through(whole, from, to, hole)) continue;
            TT_TRY(tt_picture_route(picture, net, tt_net_rank(net, from), tt_net_rank(net, to)));
        }
    return TUTTI_OK;
}

tutti_status tt_picture_detours(struct tt_picture *picture, const struct tt_net *net)
{
    struct tt_net whole = whole_of(net);
    for (int node = 0; whole.vertices && net->rank && node < net->nodes; node++)
        if (net->rank[node] < 0) TT_TRY(detours_of(picture, net, &whole, node));
    if (picture->net.routes || picture->ranks < 2) return TUTTI_OK;
    return tt_picture_route(picture, net, 0, picture->ranks - 1);
}
