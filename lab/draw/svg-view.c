/* SPDX-License-Identifier: BSD-3-Clause */
#include "draw/svg-view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Places ---- */

void tt_svg_view_begin(struct tt_svg_view *v, const struct tt_picture_net *net, FILE *out)
{
    double right = -INFINITY, bottom = -INFINITY;
    *v = (struct tt_svg_view){
        .net = net, .out = out, .left = INFINITY, .top = INFINITY, .columns = 1};
    for (int i = 0; i < net->vertices; i++) {
        v->left = fmin(v->left, net->vertex[i].x);
        v->top = fmin(v->top, net->vertex[i].y);
        right = fmax(right, net->vertex[i].x);
        bottom = fmax(bottom, net->vertex[i].y);
    }
    v->width = right - v->left + 1.7;
    v->height = bottom - v->top + 1.7;
}

double tt_svg_slice_width(const struct tt_svg_view *v)
{
    return v->width * v->step;
}

double tt_svg_slice_height(const struct tt_svg_view *v)
{
    return v->height * v->step + (v->net->slices > 1 ? TT_SVG_SLICE_TITLE : 0);
}

struct tt_svg_spot tt_svg_slice_at(const struct tt_svg_view *v, int slice)
{
    return (struct tt_svg_spot){v->origin.x + slice % v->columns * tt_svg_slice_width(v),
                                v->origin.y + slice / v->columns * tt_svg_slice_height(v)};
}

struct tt_svg_spot tt_svg_spot_of(const struct tt_svg_view *v, int vertex)
{
    const struct tt_picture_vertex *at = &v->net->vertex[vertex];
    struct tt_svg_spot slice = tt_svg_slice_at(v, at->slice);
    double title = v->net->slices > 1 ? TT_SVG_SLICE_TITLE : 0;
    return (struct tt_svg_spot){slice.x + (at->x - v->left + 0.85) * v->step,
                                slice.y + title + (at->y - v->top + 0.85) * v->step};
}

/* ---- The direction of a link ---- */

static bool is_grid(const struct tt_picture_net *net)
{
    return (net->kind == TT_NET_mesh || net->kind == TT_NET_torus) && net->dims > 1;
}

/* Returns the direction of the stub of a link to another slice. The direction depends on the
 * dimension in which the coordinates of the two nodes differ, and on the sign of the difference. */
static struct tt_svg_spot slice_direction(const struct tt_picture_net *net, int from, int to)
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
    return (struct tt_svg_spot){(left ? -flat : flat) * sign, -steep * sign};
}

bool tt_svg_is_stub(const struct tt_picture_net *net, int from, int to,
                    struct tt_svg_spot *direction)
{
    const struct tt_picture_vertex *a = &net->vertex[from], *b = &net->vertex[to];
    double dx = b->x - a->x, dy = b->y - a->y, length = hypot(dx, dy);
    if (!is_grid(net)) return false;
    if (a->slice != b->slice) {
        *direction = slice_direction(net, from, to);
        return true;
    }
    *direction = (struct tt_svg_spot){-dx / length, -dy / length};
    return length > 1.5;
}

void tt_svg_link(const struct tt_svg_view *v, int from, int to, double side, struct tt_svg_spot *a,
                 struct tt_svg_spot *b)
{
    struct tt_svg_spot direction;
    *a = tt_svg_spot_of(v, from);
    *b = tt_svg_spot_of(v, to);
    if (tt_svg_is_stub(v->net, from, to, &direction)) {
        double reach = v->node + v->step * (direction.x * direction.y == 0 ? 0.42 : 0.3);
        *b = (struct tt_svg_spot){a->x + direction.x * reach, a->y + direction.y * reach};
    } else {
        double length = fmax(hypot(b->x - a->x, b->y - a->y), 1e-9);
        direction = (struct tt_svg_spot){(b->x - a->x) / length, (b->y - a->y) / length};
    }
    *a = (struct tt_svg_spot){a->x - direction.y * side, a->y + direction.x * side};
    *b = (struct tt_svg_spot){b->x - direction.y * side, b->y + direction.x * side};
}

/* ---- Vertices ---- */

static void hole(const struct tt_svg_view *v, struct tt_svg_spot at)
{
    double r = v->node, d = r * 0.5;
    fprintf(v->out, "<circle class=\"hole\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", at.x, at.y, r);
    fprintf(v->out, "<path class=\"cross\" d=\"M%.1f %.1f l%.1f %.1f M%.1f %.1f l%.1f %.1f\"/>\n",
            at.x - d, at.y - d, 2 * d, 2 * d, at.x + d, at.y - d, -2 * d, 2 * d);
}

static void vertex(const struct tt_svg_view *v, int i)
{
    struct tt_svg_spot at = tt_svg_spot_of(v, i);
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

void tt_svg_vertices(const struct tt_svg_view *v)
{
    for (int i = 0; i < v->net->vertices; i++) vertex(v, i);
}
