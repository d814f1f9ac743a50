/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the vertices of a network are drawn: each kind as the textbooks draw it.
 *
 *     ring, torus of one dimension    a circle, clockwise from the top
 *     mesh, torus                     a grid; of more than two dimensions one slice for each place
 *                                     in the others
 *     hypercube                       up to four dimensions sums of four edges; beyond a circle in
 *                                     Gray code order, where neighbours on the circle are
 *                                     neighbours in the cube
 *     tree                            level by level, parents above the middle of their children
 *     fat tree                        nodes in a row, levels of switches above
 *     dragonfly                       groups on a circle, each a circle of routers with their nodes
 *                                     outside
 */
#include <math.h>

#include "draw/picture-inside.h"

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
    /* Of each vertex: how many leaves are under it; where the next of its children begins. */
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

/* Levels so far apart that a link to the last child of a wide fan does not lie across the one
 * before: there it has to be further above than a vertex is high. */
static void stretch(const int *parent, struct tt_picture_net *p)
{
    const double above = 0.42; /* of the distance of neighbours */
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

tutti_status tt_place(struct tt_picture_net *picture, const struct tt_net *net)
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
