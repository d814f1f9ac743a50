/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fills a picture with steps and messages, with the tree along which data went, and with the
 * network.
 */
#include "draw/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The logical tree ---- */

/* This section finds the logical tree: the pairs of ranks between which data went, if these pairs
 * are the edges of a tree. It does not matter whether the data went up, down or both ways. The root
 * of the tree is the root of the collective, or, if that is not known, a rank that find_root picks
 * from the messages. */

static bool pairs_begin(struct tt_picture_pairs *pairs, int ranks)
{
    size_t p = (size_t)ranks, room = 4;
    while (room < 2 * p) room *= 2;
    pairs->key = tt_calloc(room, sizeof *pairs->key);
    pairs->sent_ps = tt_alloc(p * sizeof *pairs->sent_ps);
    pairs->received = tt_calloc(p, sizeof *pairs->received);
    pairs->room = room;
    for (size_t r = 0; pairs->sent_ps && r < p; r++) pairs->sent_ps[r] = -1;
    return pairs->key && pairs->sent_ps && pairs->received;
}

static void pairs_free(struct tt_picture_pairs *pairs)
{
    tt_free(pairs->key);
    tt_free(pairs->sent_ps);
    tt_free(pairs->received);
}

static void add_pair(struct tt_picture_pairs *pairs, uint64_t key, int most)
{
    size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 20) & (pairs->room - 1);
    while (pairs->key[at] && pairs->key[at] != key) at = (at + 1) & (pairs->room - 1);
    if (pairs->key[at]) return;
    pairs->many = pairs->n == most;
    if (pairs->many) return;
    pairs->key[at] = key;
    pairs->n++;
}

static void pairs_add(struct tt_picture *picture, const struct tt_sim_event *message)
{
    struct tt_picture_pairs *pairs = &picture->pairs;
    int64_t *sent = &pairs->sent_ps[message->rank];
    uint64_t low = (uint64_t)tt_min(message->rank, message->peer);
    uint64_t high = (uint64_t)tt_max(message->rank, message->peer);
    if (pairs->many || low == high) return;
    if (*sent < 0 || message->begin_ps < *sent) *sent = message->begin_ps;
    pairs->received[message->peer] = true;
    add_pair(pairs, low * (uint64_t)picture->ranks + high + 1, picture->ranks - 1);
}

/* ---- The root ---- */

/* Returns the only rank that never received data, or else the only rank that never sent data. If
 * neither exists, returns the rank whose first send is the latest: in a tree, the root sends data
 * down only when the data of all other ranks have come up. */
static int find_root(const struct tt_picture *picture)
{
    const struct tt_picture_pairs *pairs = &picture->pairs;
    int givers = 0, giver = 0, takers = 0, taker = 0, last = 0;
    for (int r = 0; r < picture->ranks; r++) {
        if (!pairs->received[r]) givers++, giver = r;
        if (pairs->sent_ps[r] < 0) takers++, taker = r;
        if (pairs->sent_ps[r] > pairs->sent_ps[last]) last = r;
    }
    return givers == 1 ? giver : takers == 1 ? taker : last;
}

/* ---- Edges ---- */

/* The graph whose edges are the pairs of ranks between which data went. The neighbours of rank r
 * are neighbor[first[r] .. first[r + 1] - 1], in ascending order. walk() uses `queue` and `seen` to
 * visit the ranks breadth first. */
struct adjacency {
    int *first, *neighbor, *queue;
    bool *seen;
};

static void each_end(const struct tt_picture *picture, int *first, int *neighbor)
{
    for (size_t i = 0; i < picture->pairs.room; i++) {
        if (!picture->pairs.key[i]) continue;
        uint64_t key = picture->pairs.key[i] - 1;
        int a = (int)(key / (uint64_t)picture->ranks), b = (int)(key % (uint64_t)picture->ranks);
        if (neighbor) {
            neighbor[first[a + 1]++] = b;
            neighbor[first[b + 1]++] = a;
        } else {
            first[a + 2]++;
            first[b + 2]++;
        }
    }
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void find_neighbors(const struct tt_picture *picture, struct adjacency *graph)
{
    int p = picture->ranks;
    each_end(picture, graph->first, NULL);
    for (int r = 2; r <= p; r++) graph->first[r + 1] += graph->first[r];
    each_end(picture, graph->first, graph->neighbor);
    for (int r = 0; r < p; r++)
        qsort(graph->neighbor + graph->first[r], (size_t)(graph->first[r + 1] - graph->first[r]),
              sizeof *graph->neighbor, ascending);
}

/* Visits the ranks breadth first from the root, and records the edges on the way. Returns how many
 * ranks it has visited. */
static int walk(struct tt_picture *picture, struct adjacency *graph, int root)
{
    int n = 0, edges = 0;
    graph->queue[n++] = root;
    graph->seen[root] = true;
    for (int i = 0; i < n; i++) {
        int r = graph->queue[i];
        for (int k = graph->first[r]; k < graph->first[r + 1]; k++) {
            int child = graph->neighbor[k];
            if (graph->seen[child]) continue;
            graph->seen[child] = true;
            graph->queue[n++] = child;
            picture->edge[edges][0] = r;
            picture->edge[edges++][1] = child;
        }
    }
    return n;
}

/* Sets picture->edges and picture->edge, if the pairs of ranks between which data went form a
 * tree. */
static tutti_status picture_tree(struct tt_picture *picture, int root)
{
    size_t p = (size_t)picture->ranks;
    if (picture->pairs.many || picture->pairs.n != picture->ranks - 1 || p < 2) return TUTTI_OK;
    struct adjacency graph = {tt_calloc(p + 2, sizeof(int)), tt_calloc(2 * p, sizeof(int)),
                              tt_calloc(p, sizeof(int)), tt_calloc(p, sizeof(bool))};
    picture->edge = tt_calloc(p, sizeof *picture->edge);
    bool room = graph.first && graph.neighbor && graph.queue && graph.seen && picture->edge;
    if (room) find_neighbors(picture, &graph);
    if (room && walk(picture, &graph, root < 0 ? find_root(picture) : root) == picture->ranks)
        picture->edges = picture->ranks - 1;
    tt_free(graph.first);
    tt_free(graph.neighbor);
    tt_free(graph.queue);
    tt_free(graph.seen);
    return room ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no memory for a tree of %zu ranks", p);
}

/* ---- The places of a network's vertices ---- */

/* This section computes the places of a network's vertices. Each kind of network is drawn as in
 * textbooks:
 *
 *     ring, torus of one dimension    a circle, clockwise from the top
 *     mesh, torus                     a grid; with more than two dimensions, several grids (slices)
 *                                     side by side, one for each value of the further coordinates
 *     hypercube                       up to four dimensions: a projection of the cube, in which all
 *                                     links of a dimension are parallel; more dimensions: a circle
 *                                     in Gray code order, so neighbours on the circle are
 *                                     neighbours in the cube
 *     tree                            level by level, parents above the middle of their children
 *     fat tree                        nodes in a row, levels of switches above
 *     dragonfly                       groups on a circle, each a circle of routers with their nodes
 *                                     outside */

static const double turn = 6.283185307179586;

static void on_circle(struct tt_picture_vertex *v, double cx, double cy, double radius, double part)
{
    v->x = cx + radius * sin(turn * part);
    v->y = cy - radius * cos(turn * part);
}

static double circle_of(int n)
{
    return fmax(n / turn, 0.9);
}

static void place_circle(struct tt_picture_net *p)
{
    double radius = circle_of(p->nodes);
    for (int i = 0; i < p->nodes; i++)
        on_circle(&p->vertex[i], radius, radius, radius, (double)i / p->nodes);
}

static void place_grid(struct tt_picture_net *p, const struct tt_net *net)
{
    int width = net->extent[0], height = net->dims > 1 ? net->extent[1] : 1;
    for (int i = 0; i < p->nodes; i++) {
        p->vertex[i].x = i % width;
        p->vertex[i].y = i / width % height;
        p->vertex[i].slice = i / width / height;
    }
    p->slices = p->nodes / width / height;
}

static void place_cube(struct tt_picture_net *p)
{
    static const double edge[4][2] = {{1.9, 0.16}, {0.12, -1.9}, {0.85, -0.75}, {4.2, 1.5}};
    for (int i = 0; i < p->nodes; i++) {
        struct tt_picture_vertex *v = &p->vertex[i];
        for (int d = 0; d < p->dims; d++) {
            v->x += (i >> d & 1) * edge[d][0];
            v->y += (i >> d & 1) * edge[d][1];
        }
    }
}

static void place_large_cube(struct tt_picture_net *p)
{
    double radius = circle_of(p->nodes);
    for (int i = 0; i < p->nodes; i++)
        on_circle(&p->vertex[i ^ i >> 1], radius, radius, radius, (double)i / p->nodes);
}

/* ---- Trees ---- */

static void widths(const int *parent, int n, double *width)
{
    for (int i = n - 1; i >= 0; i--) {
        if (width[i] < 1) width[i] = 1;
        if (i > 0) width[parent[i]] += width[i];
    }
}

tutti_status tt_place_tree(const int *parent, int n, struct tt_picture_vertex *vertex)
{
    /* width[i]: the number of leaves below vertex i; next[i]: the x at which its next child
     * begins */
    double *width = tt_calloc((size_t)n, sizeof *width), *next = tt_calloc((size_t)n, sizeof *next);
    if (width && next) {
        widths(parent, n, width);
        for (int i = 0; i < n; i++) {
            double left = i > 0 ? next[parent[i]] : 0;
            next[i] = left;
            if (i > 0) next[parent[i]] += width[i];
            vertex[i].x = left + (width[i] - 1) / 2;
            vertex[i].y = i > 0 ? vertex[parent[i]].y + 1.4 : 0;
        }
    }
    tutti_status status = width && next ? TUTTI_OK : TUTTI_ERR_MEMORY;
    tt_free(width);
    tt_free(next);
    return status;
}

/* Makes the distance of the levels so large that the link from a vertex with many children to its
 * outermost child does not touch the child beside that one, but passes above it. */
static void stretch(const int *parent, struct tt_picture_net *p)
{
    const double above = 0.42; /* in units of the distance of neighbours */
    double widest = 0;
    for (int i = 1; i < p->nodes; i++)
        widest = fmax(widest, fabs(p->vertex[i].x - p->vertex[parent[i]].x));
    double by = fmax(above * widest / 1.4, 1);
    for (int i = 0; i < p->nodes; i++) p->vertex[i].y *= by;
}

static tutti_status place_tree(struct tt_picture_net *p, const struct tt_net *net)
{
    int *parent = tt_calloc((size_t)p->nodes, sizeof *parent);
    if (!parent) return TUTTI_ERR_MEMORY;
    for (int i = 0; i < p->nodes; i++) parent[i] = i > 0 ? (i - 1) / net->extent[0] : -1;
    tutti_status status = tt_place_tree(parent, p->nodes, p->vertex);
    stretch(parent, p);
    tt_free(parent);
    return status;
}

static void place_fattree(struct tt_picture_net *p, const struct tt_net *net)
{
    for (int level = 0; level <= net->dims; level++) {
        int first = net->first[level];
        int end = level < net->dims ? net->first[level + 1] : net->vertices;
        for (int v = first; v < end; v++) {
            p->vertex[v].x = (v - first + 0.5) * p->nodes / (end - first) - 0.5;
            p->vertex[v].y = 2.0 * (net->dims - level);
        }
    }
}

static void place_dragonfly(struct tt_picture_net *p, const struct tt_net *net)
{
    int hosts = net->extent[0], routers = net->extent[1], groups = net->extent[3];
    double inner = circle_of(routers), outer = fmax(inner + 0.9, routers * hosts / turn);
    double radius = groups > 1 ? fmax((2 * outer + 1) * groups / turn, outer + 1) : 0;
    double middle = radius + outer;
    for (int v = 0; v < net->vertices; v++) {
        bool node = v < net->nodes;
        int router = node ? v / hosts : v - net->nodes, group = router / routers;
        struct tt_picture_vertex at;
        on_circle(&at, middle, middle, radius, (double)group / groups);
        double part = node ? (v % (hosts * routers) + 0.5) / (hosts * routers)
                           : (router % routers + 0.5) / routers;
        on_circle(&p->vertex[v], at.x, at.y, node ? outer : inner, part);
    }
}

/* Places the vertices: sets x and y of each vertex, in which two-dimensional slice of a larger grid
 * it lies, and the number of slices. Returns TUTTI_OK or ERR_MEMORY. */
static tutti_status place(struct tt_picture_net *picture, const struct tt_net *net)
{
    picture->slices = 1;
    switch (net->kind) {
    case TT_NET_ring: place_circle(picture); break;
    case TT_NET_mesh:
    case TT_NET_torus:
        if (net->dims == 1 && net->kind == TT_NET_torus)
            place_circle(picture);
        else
            place_grid(picture, net);
        break;
    case TT_NET_hypercube:
        if (net->dims <= 4)
            place_cube(picture);
        else
            place_large_cube(picture);
        break;
    case TT_NET_tree: return place_tree(picture, net);
    case TT_NET_fattree: place_fattree(picture, net); break;
    case TT_NET_dragonfly: place_dragonfly(picture, net); break;
    case TT_NET_KINDS: break;
    }
    return TUTTI_OK;
}

/* ---- The network ---- */

/* This section fills in the network of a picture: its vertices, the loads of its links, and the
 * chosen routes. */

static tutti_status no_memory(const struct tt_net *net)
{
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for a picture of %d vertices", net->vertices);
}

static void picture_net_free(struct tt_picture_net *net)
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

/* Returns the bytes on each link for a picture that does not come from a simulation: adds the bytes
 * of each message to the links of its route. Returns NULL if there is no memory. */
static int64_t *loads_of_messages(const struct tt_picture *picture, const struct tt_net *net)
{
    int64_t *bytes = tt_calloc((size_t)net->vertices * (size_t)net->ports + 1, sizeof *bytes);
    for (int64_t i = 0; bytes && i < picture->messages.n; i++) {
        const struct tt_sim_event *message = &picture->messages.at[i];
        struct tt_route route =
            tt_route(tt_net_node(net, message->rank), tt_net_node(net, message->peer));
        struct tt_hop hop;
        while (tt_route_next(net, &route, &hop)) bytes[hop.link] += message->bytes;
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
    int64_t *own = link_bytes ? NULL : loads_of_messages(picture, net);
    fill_shape(p, net, text);
    p->vertex = tt_calloc((size_t)net->vertices, sizeof *p->vertex);
    p->link = tt_calloc((size_t)links + 1, sizeof *p->link);
    tutti_status status = TUTTI_ERR_MEMORY;
    if (p->vertex && p->link && (link_bytes || own)) {
        p->vertices = net->vertices;
        for (int v = 0; v < net->vertices; v++)
            p->vertex[v].rank = v < net->nodes ? tt_net_rank(net, v) : -2;
        fill_links(p, net, link_bytes ? link_bytes : own);
        status = place(p, net);
    }
    tt_free(own);
    if (status == TUTTI_OK) return status;
    picture_net_free(p);
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
    int *path = tt_alloc(((size_t)tt_route_length(net, route.at, route.to) + 2) * sizeof *path),
        n = 0;
    if (!path) return no_memory(net);
    path[n++] = route.at;
    while (tt_route_next(net, &route, &hop)) path[n++] = hop.to;
    path[n] = -1;
    p->route[p->routes++] = path;
    return TUTTI_OK;
}

/* Returns the complete network: the same one as *net, but with all the nodes that are missing in
 * *net. If such a network cannot exist, the result has vertices == 0. */
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

tutti_status tt_picture_begin(struct tt_picture *picture, int ranks)
{
    *picture = (struct tt_picture){.ranks = ranks, .last = ranks - 1};
    picture->per_group = (int)tt_div_up(ranks, TT_PICTURE_GROUPS);
    picture->groups = (int)tt_div_up(ranks, picture->per_group);
    size_t cells = (size_t)picture->groups * (size_t)picture->groups;
    picture->traffic = tt_calloc(cells, sizeof *picture->traffic);
    if (picture->traffic && pairs_begin(&picture->pairs, ranks)) return TUTTI_OK;
    tt_picture_free(picture);
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for a picture of %d ranks", ranks);
}

void tt_picture_free(struct tt_picture *picture)
{
    tt_free(picture->steps.at);
    tt_free(picture->messages.at);
    tt_free(picture->traffic);
    tt_free(picture->edge);
    pairs_free(&picture->pairs);
    picture_net_free(&picture->net);
    tt_calls_free(&picture->calls);
    *picture = (struct tt_picture){0};
}

static void add(struct tt_picture *picture, struct tt_picture_list *list,
                const struct tt_sim_event *event)
{
    enum { FIRST_ROOM = 1024 };
    if (list->n == list->room && list->n < TT_PICTURE_MOST) {
        int64_t room = tt_min(list->room ? 2 * list->room : FIRST_ROOM, TT_PICTURE_MOST);
        struct tt_sim_event *at = tt_realloc(list->at, (size_t)room * sizeof *at);
        if (!at) {
            picture->status =
                tt_fail(TUTTI_ERR_MEMORY, "no memory for %lld events", (long long)room);
            return;
        }
        list->at = at;
        list->room = room;
    }
    if (list->n == list->room)
        list->left_out++;
    else
        list->at[list->n++] = *event;
}

static bool is_kept(const struct tt_picture *p, int rank)
{
    return rank >= p->first && rank <= p->last;
}

void tt_picture_step(void *picture, const struct tt_sim_event *event)
{
    struct tt_picture *p = picture;
    struct tt_sim_event kept = *event;
    kept.peer = (int)tt_max(event->peer, -1);
    p->time_ps = tt_max(p->time_ps, event->end_ps);
    if (is_kept(p, event->rank)) add(p, &p->steps, &kept);
}

void tt_picture_message(void *picture, const struct tt_sim_event *message)
{
    struct tt_picture *p = picture;
    p->time_ps = tt_max(p->time_ps, message->end_ps);
    if (is_kept(p, message->rank) || is_kept(p, message->peer)) add(p, &p->messages, message);
    if (message->kind == TT_SIGNAL) return;
    int row = message->rank / p->per_group, column = message->peer / p->per_group;
    p->traffic[row * p->groups + column] += message->bytes;
    pairs_add(p, message);
}

/* Compares events for qsort by rank, lane and time, so that a picture does not depend on the order
 * in which the events were added. A step that takes no time comes before other steps that begin at
 * the same time. */
static int earlier(const void *a, const void *b)
{
    const struct tt_sim_event *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    if (x->begin_ps != y->begin_ps) return x->begin_ps < y->begin_ps ? -1 : 1;
    if (x->end_ps != y->end_ps) return x->end_ps < y->end_ps ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->peer != y->peer) return x->peer < y->peer ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static void sort(struct tt_picture_list *list)
{
    if (list->n) qsort(list->at, (size_t)list->n, sizeof *list->at, earlier);
}

static bool list_is_valid(const struct tt_picture *p, const struct tt_picture_list *list, int least)
{
    bool valid = true;
    for (int64_t i = 0; i < list->n; i++) {
        const struct tt_sim_event *e = &list->at[i];
        valid = valid && e->rank >= 0 && e->rank < p->ranks && e->peer >= least &&
                e->peer < p->ranks && e->begin_ps <= e->end_ps && e->bytes >= 0;
    }
    return valid;
}

bool tt_picture_valid(const struct tt_picture *p)
{
    return list_is_valid(p, &p->steps, -1) && list_is_valid(p, &p->messages, 0) &&
           (p->ranks == 0 || (p->ranks - 1) / p->per_group < p->groups);
}

tutti_status tt_picture_end(struct tt_picture *picture, int root)
{
    TT_TRY(picture->status);
    sort(&picture->steps);
    sort(&picture->messages);
    tt_assert(tt_picture_valid(picture));
    return picture_tree(picture, root);
}
