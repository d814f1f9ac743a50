/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The logical tree, level by level.
 */
#include <math.h>

#include "draw/picture-inside.h"
#include "draw/svg.h"

struct tree {
    int n;
    int *rank, *place, *parent; /* of a place, in breadth-first order; place: of a rank */
    struct tt_picture_vertex *at;
};

static bool lay_out(const struct tt_picture *picture, struct tree *t)
{
    size_t n = (size_t)picture->ranks;
    *t = (struct tree){picture->ranks, tt_calloc(n, sizeof(int)), tt_calloc(n, sizeof(int)),
                       tt_calloc(n, sizeof(int)), tt_calloc(n, sizeof *t->at)};
    if (!t->rank || !t->place || !t->parent || !t->at) return false;
    t->rank[0] = picture->edge[0][0];
    t->parent[0] = -1;
    for (int i = 0; i < picture->edges; i++) {
        t->rank[i + 1] = picture->edge[i][1];
        t->place[picture->edge[i][1]] = i + 1;
        t->parent[i + 1] = t->place[picture->edge[i][0]];
    }
    return tt_place_tree(t->parent, t->n, t->at) == TUTTI_OK;
}

static void print(const struct tt_picture *picture, const struct tree *t, FILE *out)
{
    double right = 0, bottom = 0;
    for (int i = 0; i < t->n; i++) {
        right = fmax(right, t->at[i].x);
        bottom = fmax(bottom, t->at[i].y);
    }
    double step = fmin(fmax(1000 / (right + 1), 16), 60), high = fmax(step, 36);
    double node = fmin(step * 0.36, 15), width = (right + 1) * step + 2 * TT_SVG_MARGIN;
    double indent = fmax(560 - width, 0) / 2;
    tt_svg_begin(picture, "The logical tree", fmax(width, 560), TT_SVG_TOP + (bottom + 1.6) * high,
                 out);
    for (int pass = 0; pass < 2; pass++)
        for (int i = pass == 0; i < t->n; i++) {
            const struct tt_picture_vertex *a = &t->at[i], *b = i ? &t->at[t->parent[i]] : a;
            double x = TT_SVG_MARGIN + indent + (a->x + 0.5) * step;
            double y = TT_SVG_TOP + (a->y + 0.6) * high, up = (b->y - a->y) * high;
            char name[16];
            if (pass == 0) {
                fprintf(out, "<path class=\"edge\" d=\"M%.1f %.1f l%.1f %.1f\"/>\n", x, y,
                        (b->x - a->x) * step, up);
                continue;
            }
            fprintf(out, "<circle class=\"node\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", x, y,
                    node);
            snprintf(name, sizeof name, "%d", t->rank[i]);
            if (node >= 7) tt_svg_text(x, y + 3.8, node < 11 ? "small" : "", "middle", name, out);
        }
    tt_svg_end(out);
}

void tt_svg_tree(const struct tt_picture *picture, FILE *out)
{
    struct tree t;
    if (lay_out(picture, &t)) print(picture, &t, out);
    tt_free(t.rank);
    tt_free(t.place);
    tt_free(t.parent);
    tt_free(t.at);
}
