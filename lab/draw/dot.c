/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes trees and networks for Graphviz.
 */
#include <inttypes.h>
#include <math.h>

#include "draw/picture.h"

static const char head[] =
    "digraph tutti {\n"
    "  node [shape=circle fontname=\"sans-serif\" fontsize=11 width=0.4 fixedsize=true]\n"
    "  edge [arrowsize=0.6]\n";

void tt_picture_dot_tree(const struct tt_picture *picture, FILE *out)
{
    fprintf(out, "%s  // the logical tree: %s by %s\n", head, picture->problem, picture->algorithm);
    for (int i = 0; i < picture->edges; i++)
        fprintf(out, "  %d -> %d\n", picture->edge[i][0], picture->edge[i][1]);
    fprintf(out, "}\n");
}

static void vertex(const struct tt_picture_net *net, int i, FILE *out)
{
    /* a grid with three or more dimensions is drawn as slices, this many of them in a row */
    enum { ACROSS = 6 };
    const struct tt_picture_vertex *v = &net->vertex[i];
    double wide = net->extent[0] + 1.5, high = net->dims > 1 ? net->extent[1] + 1.5 : 0;
    double x = v->x + v->slice % ACROSS * wide, y = -v->y - v->slice / ACROSS * high;
    fprintf(out, "  v%d [pos=\"%.4g,%.4g!\"", i, x, y);
    if (v->rank >= 0)
        fprintf(out, " label=\"%d\"]\n", v->rank);
    else
        fprintf(out, v->rank == -1 ? " label=\"x\" style=dashed]\n" : " label=\"\" shape=box]\n");
}

static void edge(const struct tt_picture_link *link, double most, FILE *out)
{
    enum { LOADS = 8 };
    char colour[16] = "line";
    double part = (double)link->bytes / most;
    if (link->bytes) snprintf(colour, sizeof colour, "load-%d", (int)fmax(ceil(part * LOADS), 1));
    fprintf(out, "  v%d -> v%d [tooltip=\"%" PRId64 " bytes\" penwidth=%.2f color=\"%s\"]\n",
            link->from, link->to, link->bytes, 0.5 + 3 * part, tt_palette_light(colour));
}

void tt_picture_dot_network(const struct tt_picture *picture, FILE *out)
{
    const struct tt_picture_net *net = &picture->net;
    double most = fmax((double)net->max_link_bytes, 1);
    fprintf(out, "%s  layout=neato // %s, loaded by %s by %s\n", head, net->text, picture->problem,
            picture->algorithm);
    for (int i = 0; i < net->vertices; i++) vertex(net, i, out);
    for (int64_t i = 0; i < net->links; i++) edge(&net->link[i], most, out);
    fprintf(out, "}\n");
}
