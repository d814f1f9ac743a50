/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws a network with the loads of its links, or with chosen routes. A grid of three or more
 * dimensions is drawn as two-dimensional slices. The two links between neighbours lie side by side,
 * each on the right side as seen in its direction. A link that closes a ring or leads to another
 * slice is drawn as a stub where it begins:
 *
 *     a stub beyond the edge of a slice   closes the ring of that dimension
 *     a stub to the upper right           leads to the next slice in the third dimension
 *     a stub to the lower left            leads to the previous slice in the third dimension
 *
 * In the fourth dimension, stubs go to the upper left and to the lower right. In the fifth and
 * sixth, they go to the same sides as in the third and fourth, but are less steep.
 */
#include <math.h>

#include "draw/svg-view.h"

enum { WIDE = 1060, HIGH = 860, NARROW = 560 };
/* routes have the classes of colours r0 .. r7 and of dashes d0 .. d3 (svg.h) */
enum { COLOURS = 8, DASHES = 4 };

static int slice_rows(const struct tt_svg_view *v)
{
    return (int)tt_div_up(v->net->slices, v->columns);
}

/* Sets v->step to the largest distance of neighbours, at most 66 points, with which all slices of
 * the network fit in a picture of WIDE by HIGH points. The distance is at least about 12 points,
 * and a larger network gets a larger picture. Also sets the radius of nodes, and how many slices
 * lie in a row. */
static void find_step(struct tt_svg_view *v)
{
    const double least = 13, most = 66;
    for (v->step = most; v->step > least; v->step *= 0.96) {
        v->columns = (int)fmin(fmax(floor(WIDE / tt_svg_slice_width(v)), 1), v->net->slices);
        if (tt_svg_slice_width(v) <= WIDE && slice_rows(v) * tt_svg_slice_height(v) <= HIGH) break;
    }
    v->columns = (int)tt_div_up(v->net->slices, slice_rows(v));
    v->node = fmin(v->step * 0.27, 14);
}

/* ---- Links ---- */

static void link_line(const struct tt_svg_view *v, const struct tt_picture_link *link)
{
    struct tt_svg_spot a, b;
    int load = tt_svg_load(link->bytes, v->net->max_link_bytes);
    double side = fmin(v->step * 0.06, 3.2), thick = fmin(v->step * 0.09, 1.1 + 0.26 * load);
    tt_svg_link(v, link->from, link->to, side, &a, &b);
    fprintf(v->out, "<path class=\"h%d\" stroke-width=\"%.2f\" d=\"M%.1f %.1f L%.1f %.1f\"/>\n",
            load, thick, a.x, a.y, b.x, b.y);
}

/* Draws links with larger loads above those with smaller ones. */
static void links(const struct tt_svg_view *v)
{
    for (int load = 0; load <= TT_SVG_LOADS; load++)
        for (int64_t i = 0; i < v->net->links; i++)
            if (tt_svg_load(v->net->link[i].bytes, v->net->max_link_bytes) == load)
                link_line(v, &v->net->link[i]);
}

static void bare_links(const struct tt_svg_view *v)
{
    for (int64_t i = 0; i < v->net->links; i++) {
        struct tt_picture_link link = v->net->link[i];
        link.bytes = 0;
        link_line(v, &link);
    }
}

/* ---- Vertices ---- */

static void vertices(const struct tt_svg_view *v)
{
    char title[32];
    for (int s = 0; v->net->slices > 1 && s < v->net->slices; s++) {
        struct tt_svg_spot at = tt_svg_slice_at(v, s);
        int z = s, used = 0;
        for (int d = 2; d < v->net->dims; z /= v->net->extent[d++])
            used += snprintf(title + used, sizeof title - (size_t)used, "%s%c = %d",
                             used ? ", " : "", "xyzuvw"[d], z % v->net->extent[d]);
        tt_svg_text(at.x + tt_svg_slice_width(v) / 2, at.y + 14, "minor", "middle", title, v->out);
    }
    tt_svg_vertices(v);
}

/* ---- Routes ---- */

static void stroke(const struct tt_svg_view *v, const char *form, struct tt_svg_spot a,
                   struct tt_svg_spot b)
{
    fprintf(v->out, form, a.x, a.y, b.x, b.y);
}

/* Returns the point at which route i passes a vertex. The routes are drawn side by side, so most of
 * them pass beside the middle of the vertex. */
static struct tt_svg_spot route_spot(const struct tt_svg_view *v, int i, int vertex)
{
    struct tt_svg_spot at = tt_svg_spot_of(v, vertex);
    double aside = (i % 5 - 2) * fmin(v->step * 0.05, 2.6);
    return (struct tt_svg_spot){at.x + aside, at.y + aside};
}

static double stub_reach(const struct tt_svg_view *v, struct tt_svg_spot direction)
{
    return v->node + v->step * (direction.x * direction.y == 0 ? 0.42 : 0.3);
}

/* Returns the direction, as a vector of length 1, in which the link from `from` arrives at vertex
 * `to`. */
static struct tt_svg_spot arrives(const struct tt_svg_view *v, int from, int to)
{
    struct tt_svg_spot a = tt_svg_spot_of(v, from), b = tt_svg_spot_of(v, to), direction;
    double length = fmax(hypot(b.x - a.x, b.y - a.y), 1e-9);
    if (tt_svg_is_stub(v->net, from, to, &direction)) return direction;
    return (struct tt_svg_spot){(b.x - a.x) / length, (b.y - a.y) / length};
}

/* Returns the place where route i meets the circle around its last vertex. The circle is a little
 * larger than the vertex, because the line is thick. */
static struct tt_svg_spot route_end(const struct tt_svg_view *v, int i, int from, int to)
{
    struct tt_svg_spot middle = tt_svg_spot_of(v, to), at = route_spot(v, i, to);
    struct tt_svg_spot direction = arrives(v, from, to);
    double x = at.x - middle.x, y = at.y - middle.y, rim = v->node + 2.2;
    double along = x * direction.x + y * direction.y;
    double back = along + sqrt(fmax(along * along + rim * rim - x * x - y * y, 0));
    return (struct tt_svg_spot){at.x - direction.x * back, at.y - direction.y * back};
}

static void route_hop(const struct tt_svg_view *v, int i, const int *path)
{
    struct tt_svg_spot a = route_spot(v, i, path[0]), b = route_spot(v, i, path[1]), stub;
    struct tt_svg_spot end = path[2] < 0 ? route_end(v, i, path[0], path[1]) : b;
    if (!tt_svg_is_stub(v->net, path[0], path[1], &stub)) {
        stroke(v, "M%.1f %.1f L%.1f %.1f ", a, end);
        return;
    }
    double reach = stub_reach(v, stub), x = stub.x * reach, y = stub.y * reach;
    stroke(v, "M%.1f %.1f l%.1f %.1f ", a, (struct tt_svg_spot){x, y});
    stroke(v, "M%.1f %.1f L%.1f %.1f ", (struct tt_svg_spot){b.x - x, b.y - y}, end);
}

static int last_hop(const int *path)
{
    int n = 0;
    while (path[n + 1] >= 0) n++;
    return n;
}

/* Draws the arrow head of route i with a solid line, even if the line of the route is dashed. */
static void route_head(const struct tt_svg_view *v, int i)
{
    const double turned = 0.5, size = 9;
    const int *path = v->net->route[i];
    int n = last_hop(path);
    if (n == 0) return;
    struct tt_svg_spot at = route_end(v, i, path[n - 1], path[n]);
    struct tt_svg_spot along = arrives(v, path[n - 1], path[n]);
    double angle = atan2(-along.y, -along.x);
    fprintf(v->out, "<path class=\"route r%d\" d=\"", i % COLOURS);
    for (int k = -1; k <= 1; k += 2)
        fprintf(v->out, "M%.1f %.1f l%.1f %.1f ", at.x, at.y, size * cos(angle + k * turned),
                size * sin(angle + k * turned));
    fputs("\"/>\n", v->out);
}

/* Writes the entry of a route in the legend. Returns text. */
static char *route_text(const struct tt_svg_view *v, int i, char text[64])
{
    const int *path = v->net->route[i];
    int n = last_hop(path);
    snprintf(text, 64, "%d to %d: %d link%s", v->net->vertex[path[0]].rank,
             v->net->vertex[path[n]].rank, n, n == 1 ? "" : "s");
    return text;
}

/* an entry of the legend has its text this many points to the right of its begin */
enum { ROUTE_TEXT = 33 };

/* Returns the width of an entry in the legend of routes. In common fonts a text can be 1.2 times as
 * wide as tt_svg_text_width estimates. */
static double route_column(const struct tt_svg_view *v)
{
    char text[64];
    double column = 150;
    for (int i = 0; i < v->net->routes; i++)
        column = fmax(column, ROUTE_TEXT + 1.2 * tt_svg_text_width(route_text(v, i, text), 11) + 8);
    return column;
}

/* Draws the line of a route, and its entry of the legend at (x, y). */
static void route(const struct tt_svg_view *v, int i, double x, double y)
{
    const int *path = v->net->route[i];
    char text[64], look[32];
    int n = last_hop(path);
    snprintf(look, sizeof look, "route r%d d%d", i % COLOURS, i / COLOURS % DASHES);
    fprintf(v->out, "<path class=\"%s\" d=\"", look);
    for (int k = 0; k < n; k++) route_hop(v, i, path + k);
    fprintf(v->out, "\"/>\n<path class=\"%s\" d=\"M%.1f %.1f h23\"/>\n", look, x + 2, y - 4);
    tt_svg_text(x + ROUTE_TEXT, y, "minor", "start", route_text(v, i, text), v->out);
}

/* ---- The whole picture ---- */

static struct tt_svg_view view_of(const struct tt_picture *picture, FILE *out)
{
    struct tt_svg_view v;
    tt_svg_view_begin(&v, &picture->net, out);
    find_step(&v);
    double indent = fmax(NARROW - v.columns * tt_svg_slice_width(&v), 0) / 2;
    v.origin = (struct tt_svg_spot){TT_SVG_MARGIN + indent, TT_SVG_TOP};
    return v;
}

static double begin(const struct tt_svg_view *v, const struct tt_picture *picture, const char *what,
                    double below)
{
    double width = fmax(v->columns * tt_svg_slice_width(v), NARROW) + 2 * TT_SVG_MARGIN;
    double bottom = TT_SVG_TOP + slice_rows(v) * tt_svg_slice_height(v);
    tt_svg_begin(picture, what, width, bottom + below, v->out);
    return bottom;
}

/* Returns which classes of loads (tt_svg_load) occur, as a bit mask. */
static unsigned classes_of(const struct tt_picture_net *net)
{
    unsigned present = 0;
    for (int64_t i = 0; i < net->links; i++)
        present |= 1u << tt_svg_load(net->link[i].bytes, net->max_link_bytes);
    return present;
}

void tt_svg_network(const struct tt_picture *picture, FILE *out)
{
    struct tt_svg_view v = view_of(picture, out);
    char what[TT_PROBLEM_MAP + 64], text[96], mean[32];
    snprintf(what, sizeof what, "What the links of %s carry", picture->net.text);
    double bottom = begin(&v, picture, what, 62);
    links(&v);
    vertices(&v);
    snprintf(text, sizeof text, "bytes of a link, each direction on its right side; mean %s",
             tt_svg_bytes_text(mean, picture->net.mean_link_bytes));
    tt_svg_load_legend(TT_SVG_MARGIN, bottom + 14, classes_of(&picture->net),
                       picture->net.max_link_bytes, text, out);
    tt_svg_end(out);
}

static void write_left_out(const struct tt_picture_net *net, char text[200])
{
    text[0] = '\0';
    if (net->routes_left_out)
        snprintf(text, 200, "the first %d routes are shown; %d are left out", net->routes,
                 net->routes_left_out);
}

void tt_svg_routes(const struct tt_picture *picture, char left_out[200], FILE *out)
{
    enum { ROW = 20 };
    struct tt_svg_view v = view_of(picture, out);
    int n = picture->net.routes;
    double column = route_column(&v), wide = fmax(v.columns * tt_svg_slice_width(&v), NARROW);
    int columns = (int)fmax(floor(wide / column), 1);
    int rows = (int)tt_div_up(n, columns);
    char what[TT_PROBLEM_MAP + 64];
    snprintf(what, sizeof what, "Routes on %s", picture->net.text);
    write_left_out(&picture->net, left_out);
    double bottom = begin(&v, picture, what, 24 + ROW * (rows + !!left_out[0]));
    bare_links(&v);
    for (int i = 0; i < n; i++)
        route(&v, i, TT_SVG_MARGIN + i % columns * column, bottom + 18 + i / columns * ROW);
    for (int i = 0; i < n; i++) route_head(&v, i);
    if (left_out[0])
        tt_svg_text(TT_SVG_MARGIN, bottom + 18 + rows * ROW, "minor", "start", left_out, out);
    vertices(&v);
    tt_svg_end(out);
}
