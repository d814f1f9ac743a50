/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks: what each link carried, or chosen routes. The links of a pair of neighbours lie side by side, each to the right
 * of who looks along it. A link that closes a ring, or leads to another slice, is a stub where it begins:
 *
 *     beyond the edge     closes the ring of that dimension
 *     to the upper right  to the next slice (third dimension), to the lower left to the one before; further
 *                         dimensions to the upper left and lower right
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw/svg.h"

enum { WIDE = 1060, HIGH = 860, SLICE_TITLE = 20, NARROW = 560 };

struct view {
    const struct tt_picture_net *net;
    FILE *out;
    double step, node;               /* points between neighbours, radius of a node */
    double left, top, width, height; /* in steps: of the vertices of a slice */
    int columns;
};

struct spot {
    double x, y;
};

/* ---- Places ---- */

static void find_bounds(struct view *v)
{
    const struct tt_picture_net *net = v->net;
    double right = -INFINITY, bottom = -INFINITY;
    v->left = v->top = INFINITY;
    for (int i = 0; i < net->vertices; i++) {
        v->left = fmin(v->left, net->vertex[i].x);
        v->top = fmin(v->top, net->vertex[i].y);
        right = fmax(right, net->vertex[i].x);
        bottom = fmax(bottom, net->vertex[i].y);
    }
    v->width = right - v->left + 1.7;
    v->height = bottom - v->top + 1.7;
}

static double slice_width(const struct view *v)
{
    return v->width * v->step;
}

static double slice_height(const struct view *v)
{
    return v->height * v->step + (v->net->slices > 1 ? SLICE_TITLE : 0);
}

static int slice_rows(const struct view *v)
{
    return (int)tt_div_up(v->net->slices, v->columns);
}

/* The largest step with which all slices fit; one can always be had. */
static void find_step(struct view *v)
{
    const double least = 13, most = 66;
    for (v->step = most; v->step > least; v->step *= 0.96) {
        v->columns = (int)fmin(fmax(floor(WIDE / slice_width(v)), 1), v->net->slices);
        if (slice_width(v) <= WIDE && slice_rows(v) * slice_height(v) <= HIGH) break;
    }
    v->columns = (int)tt_div_up(v->net->slices, slice_rows(v));
    v->node = fmin(v->step * 0.27, 14);
}

static struct spot slice_at(const struct view *v, int slice)
{
    double all = v->columns * slice_width(v), indent = fmax(NARROW - all, 0) / 2;
    return (struct spot){TT_SVG_MARGIN + indent + slice % v->columns * slice_width(v),
                         TT_SVG_TOP + slice / v->columns * slice_height(v)};
}

static struct spot spot_of(const struct view *v, int vertex)
{
    const struct tt_picture_vertex *at = &v->net->vertex[vertex];
    struct spot slice = slice_at(v, at->slice);
    double title = v->net->slices > 1 ? SLICE_TITLE : 0;
    return (struct spot){slice.x + (at->x - v->left + 0.85) * v->step,
                         slice.y + title + (at->y - v->top + 0.85) * v->step};
}

/* ---- Which way a link leaves ---- */

static bool is_grid(const struct tt_picture_net *net)
{
    return (net->kind == TT_NET_mesh || net->kind == TT_NET_torus) && net->dims > 1;
}

/* Where a link to another slice points: by the dimension in which the two differ, and the way round. */
static struct spot slice_direction(const struct tt_picture_net *net, int from, int to)
{
    int stride = 1, d = 0, a = 0, b = 0;
    for (; d < net->dims && a == b; d++) {
        a = from / stride % net->extent[d];
        b = to / stride % net->extent[d];
        stride *= net->extent[d];
    }
    double sign = (b > a) == (abs(b - a) == 1) ? 1 : -1;
    double flat = d - 1 > 3 ? 0.92 : 0.7, steep = sqrt(1 - flat * flat);
    bool left = (d - 1) % 2 == 1;
    return (struct spot){(left ? -flat : flat) * sign, -steep * sign};
}

/* False: the link leads to a neighbour in the picture. Else *way is where its stub points. */
static bool is_stub(const struct tt_picture_net *net, int from, int to, struct spot *way)
{
    const struct tt_picture_vertex *a = &net->vertex[from], *b = &net->vertex[to];
    double dx = b->x - a->x, dy = b->y - a->y, length = hypot(dx, dy);
    if (!is_grid(net)) return false;
    if (a->slice != b->slice) {
        *way = slice_direction(net, from, to);
        return true;
    }
    *way = (struct spot){-dx / length, -dy / length};
    return length > 1.5;
}

/* ---- Links ---- */

static void link_line(const struct view *v, const struct tt_picture_link *link)
{
    struct spot a = spot_of(v, link->from), b = spot_of(v, link->to), way;
    int load = tt_svg_load(link->bytes, v->net->max_link_bytes);
    double side = fmin(v->step * 0.06, 3.2), thick = fmin(v->step * 0.09, 1.1 + 0.26 * load);
    if (is_stub(v->net, link->from, link->to, &way)) {
        double reach = v->node + v->step * (way.x * way.y == 0 ? 0.42 : 0.3);
        b = (struct spot){a.x + way.x * reach, a.y + way.y * reach};
    } else {
        double length = fmax(hypot(b.x - a.x, b.y - a.y), 1e-9);
        way = (struct spot){(b.x - a.x) / length, (b.y - a.y) / length};
    }
    fprintf(v->out, "<path class=\"h%d\" stroke-width=\"%.2f\" d=\"M%.1f %.1f L%.1f %.1f\"/>\n",
            load, thick, a.x - way.y * side, a.y + way.x * side, b.x - way.y * side,
            b.y + way.x * side);
}

/* The fuller over the emptier. */
static void links(const struct view *v)
{
    for (int load = 0; load <= TT_SVG_LOADS; load++)
        for (int64_t i = 0; i < v->net->links; i++)
            if (tt_svg_load(v->net->link[i].bytes, v->net->max_link_bytes) == load)
                link_line(v, &v->net->link[i]);
}

static void bare_links(const struct view *v)
{
    for (int64_t i = 0; i < v->net->links; i++) {
        struct tt_picture_link link = v->net->link[i];
        link.bytes = 0;
        link_line(v, &link);
    }
}

/* ---- Vertices ---- */

static void hole(const struct view *v, struct spot at)
{
    double r = v->node, d = r * 0.5;
    fprintf(v->out, "<circle class=\"hole\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", at.x, at.y, r);
    fprintf(v->out, "<path class=\"cross\" d=\"M%.1f %.1f l%.1f %.1f M%.1f %.1f l%.1f %.1f\"/>\n",
            at.x - d, at.y - d, 2 * d, 2 * d, at.x + d, at.y - d, -2 * d, 2 * d);
}

static void vertex(const struct view *v, int i)
{
    struct spot at = spot_of(v, i);
    int rank = v->net->vertex[i].rank;
    char name[16];
    if (rank == -1) {
        hole(v, at);
    } else if (rank == -2) {
        double r = v->node * 0.8;
        fprintf(v->out,
                "<rect class=\"switch\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                "rx=\"2\"/>\n",
                at.x - r, at.y - r, 2 * r, 2 * r);
    } else {
        fprintf(v->out, "<circle class=\"node\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", at.x, at.y,
                v->node);
        snprintf(name, sizeof name, "%d", rank);
        bool fits = v->node * 1.75 > 6.5 * (double)strlen(name) || v->node >= 13;
        if (fits && v->node >= 7) tt_svg_text(at.x, at.y + 3.6, "small", "middle", name, v->out);
    }
}

static void vertices(const struct view *v)
{
    char title[32];
    for (int s = 0; v->net->slices > 1 && s < v->net->slices; s++) {
        struct spot at = slice_at(v, s);
        int z = s, used = 0;
        for (int d = 2; d < v->net->dims; z /= v->net->extent[d++])
            used += snprintf(title + used, sizeof title - (size_t)used, "%s%c = %d",
                             used ? ", " : "", "xyzuvw"[d], z % v->net->extent[d]);
        tt_svg_text(at.x + slice_width(v) / 2, at.y + 14, "minor", "middle", title, v->out);
    }
    for (int i = 0; i < v->net->vertices; i++) vertex(v, i);
}

/* ---- Routes ---- */

static void stroke(const struct view *v, const char *form, struct spot a, struct spot b)
{
    fprintf(v->out, form, a.x, a.y, b.x, b.y);
}

static void route_hop(const struct view *v, int from, int to)
{
    struct spot a = spot_of(v, from), b = spot_of(v, to), way;
    if (!is_stub(v->net, from, to, &way)) {
        stroke(v, "M%.1f %.1f L%.1f %.1f ", a, b);
    } else if (v->net->vertex[from].slice != v->net->vertex[to].slice) {
        struct spot up = {(a.x + b.x) / 2, fmin(a.y, b.y) - v->step * 0.8};
        fprintf(v->out, "M%.1f %.1f Q%.1f %.1f %.1f %.1f ", a.x, a.y, up.x, up.y, b.x, b.y);
    } else {
        double reach = v->node + v->step * 0.42;
        struct spot out = {a.x + way.x * reach, a.y + way.y * reach};
        struct spot in = {b.x - way.x * reach, b.y - way.y * reach};
        stroke(v, "M%.1f %.1f L%.1f %.1f ", a, out);
        stroke(v, "M%.1f %.1f L%.1f %.1f ", in, b);
    }
}

/* A head where the route arrives, on the rim of its last vertex. */
static void route_head(const struct view *v, int from, int to)
{
    struct spot a = spot_of(v, from), b = spot_of(v, to), way;
    double length = fmax(hypot(b.x - a.x, b.y - a.y), 1e-9), turned = 0.5, size = 9;
    bool stub = is_stub(v->net, from, to, &way);
    bool same = v->net->vertex[from].slice == v->net->vertex[to].slice;
    if (!stub || !same) way = (struct spot){(b.x - a.x) / length, (b.y - a.y) / length};
    double angle = atan2(-way.y, -way.x), x = b.x - way.x * v->node, y = b.y - way.y * v->node;
    for (int k = -1; k <= 1; k += 2)
        fprintf(v->out, "M%.1f %.1f l%.1f %.1f ", x, y, size * cos(angle + k * turned),
                size * sin(angle + k * turned));
}

static void route(const struct view *v, int i, double x, double y)
{
    const int *way = v->net->route[i], colours = 6;
    int n = 0;
    char text[64];
    double aside = (i % 5 - 2) * fmin(v->step * 0.05, 2.6);
    fprintf(v->out, "<path class=\"route r%d\" transform=\"translate(%.1f %.1f)\" d=\"",
            i % colours, aside, aside);
    for (; way[n + 1] >= 0; n++) route_hop(v, way[n], way[n + 1]);
    if (n > 0) route_head(v, way[n - 1], way[n]);
    fprintf(v->out, "\"/>\n<path class=\"route r%d\" d=\"M%.1f %.1f h20\"/>\n", i % colours, x,
            y - 4);
    snprintf(text, sizeof text, "%d to %d: %d link%s", v->net->vertex[way[0]].rank,
             v->net->vertex[way[n]].rank, n, n == 1 ? "" : "s");
    tt_svg_text(x + 28, y, "minor", "start", text, v->out);
}

/* ---- The whole ---- */

static struct view view_of(const struct tt_picture *picture, FILE *out)
{
    struct view v = {.net = &picture->net, .out = out, .columns = 1};
    find_bounds(&v);
    find_step(&v);
    return v;
}

static double begin(const struct view *v, const struct tt_picture *picture, const char *what,
                    double below)
{
    double width = fmax(v->columns * slice_width(v), NARROW) + 2 * TT_SVG_MARGIN;
    double bottom = TT_SVG_TOP + slice_rows(v) * slice_height(v);
    tt_svg_begin(picture, what, width, bottom + below, v->out);
    return bottom;
}

void tt_svg_network(const struct tt_picture *picture, FILE *out)
{
    struct view v = view_of(picture, out);
    char what[TT_PROBLEM_MAP + 64], text[96], mean[32];
    snprintf(what, sizeof what, "What the links of %s carry", picture->net.text);
    double bottom = begin(&v, picture, what, 62);
    links(&v);
    vertices(&v);
    snprintf(text, sizeof text, "bytes of a link in a direction; mean %s",
             tt_svg_bytes_text(mean, picture->net.mean_link_bytes));
    tt_svg_load_legend(TT_SVG_MARGIN, bottom + 14, picture->net.max_link_bytes, text, out);
    tt_svg_end(out);
}

void tt_svg_routes(const struct tt_picture *picture, FILE *out)
{
    enum { SHOWN = 24, COLUMN = 150, ROW = 20 };
    struct view v = view_of(picture, out);
    int n = (int)tt_min(picture->net.routes, SHOWN);
    int columns = (int)fmax(floor(fmax(v.columns * slice_width(&v), NARROW) / COLUMN), 1);
    char what[TT_PROBLEM_MAP + 64];
    snprintf(what, sizeof what, "Routes on %s", picture->net.text);
    double bottom = begin(&v, picture, what, 24 + ROW * tt_div_up(n, columns));
    bare_links(&v);
    for (int i = 0; i < n; i++)
        route(&v, i, TT_SVG_MARGIN + i % columns * COLUMN, bottom + 18 + i / columns * ROW);
    vertices(&v);
    tt_svg_end(out);
}
