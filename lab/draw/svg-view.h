/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Computes where the vertices of a network are placed in an SVG, and in which direction its links
 * leave the vertices. A grid of three or more dimensions is drawn as two-dimensional slices, and
 * every other network as a single slice. A link between vertices that are not neighbours in the
 * picture is drawn as a stub: a short line at its begin.
 */
#ifndef TT_DRAW_SVG_VIEW_H
#define TT_DRAW_SVG_VIEW_H

#include "draw/svg.h"

enum { TT_SVG_SLICE_TITLE = 20 };

struct tt_svg_spot {
    double x, y;
};

struct tt_svg_view {
    const struct tt_picture_net *net;
    FILE *out;
    /* step: the distance of neighbours in points; node: the radius of a node in points */
    double step, node;
    /* the rectangle that contains the vertices of one slice of the network, in units of `step` */
    double left, top, width, height;
    int columns;               /* the number of slices that are drawn side by side */
    struct tt_svg_spot origin; /* the place of the first slice, in points */
};

/* Sets all members except step, node and origin. */
void tt_svg_view_begin(struct tt_svg_view *v, const struct tt_picture_net *net, FILE *out);
/* The next four functions return sizes and places in points. */
double tt_svg_slice_width(const struct tt_svg_view *v);
double tt_svg_slice_height(const struct tt_svg_view *v);
struct tt_svg_spot tt_svg_slice_at(const struct tt_svg_view *v, int slice);
struct tt_svg_spot tt_svg_spot_of(const struct tt_svg_view *v, int vertex);
/* Returns whether a link is drawn as a stub, because the vertices `from` and `to` are not
 * neighbours in the picture. If so, *direction is the direction of the stub, as a vector of length
 * 1. */
bool tt_svg_is_stub(const struct tt_picture_net *net, int from, int to,
                    struct tt_svg_spot *direction);
/* Sets *a and *b to the ends of the line of a link, or of its stub. The line is shifted by `side`
 * points to the right, as seen in the direction of the link. */
void tt_svg_link(const struct tt_svg_view *v, int from, int to, double side, struct tt_svg_spot *a,
                 struct tt_svg_spot *b);
/* Draws the vertices: nodes with the ranks on them, missing nodes, and switches. */
void tt_svg_vertices(const struct tt_svg_view *v);

#endif
