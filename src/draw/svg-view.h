/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the vertices of a network come to lie in an SVG, and which way its links leave them.
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
    double step, node;               /* points between neighbours, radius of a node */
    double left, top, width, height; /* in steps: of the vertices of a slice */
    int columns;                     /* of slices */
    struct tt_svg_spot origin;       /* of the first slice */
};

/* Sets all but step, node and origin. */
void tt_svg_view_begin(struct tt_svg_view *v, const struct tt_picture_net *net, FILE *out);
/* In points. */
double tt_svg_slice_width(const struct tt_svg_view *v);
double tt_svg_slice_height(const struct tt_svg_view *v);
struct tt_svg_spot tt_svg_slice_at(const struct tt_svg_view *v, int slice);
struct tt_svg_spot tt_svg_spot_of(const struct tt_svg_view *v, int vertex);
/* False: the link leads to a neighbour in the picture. Else *way is where its stub points. */
bool tt_svg_is_stub(const struct tt_picture_net *net, int from, int to, struct tt_svg_spot *way);
/* Where a link begins and ends, its stub if it is one, to the right of who looks along it. */
void tt_svg_link(const struct tt_svg_view *v, int from, int to, double side, struct tt_svg_spot *a,
                 struct tt_svg_spot *b);
/* Nodes with their ranks, switches, missing nodes. */
void tt_svg_vertices(const struct tt_svg_view *v);

#endif
