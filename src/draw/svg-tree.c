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
    int *node; /* of a rank; NULL: not known */
    double step, high, left,
        circle; /* points: between neighbours, levels; of the first place; of a rank's radius */
};

static bool lay_out(const struct tt_picture *picture, struct tree *t)
{
    size_t n = (size_t)picture->ranks;
    *t = (struct tree){.n = picture->ranks,
                       .rank = tt_calloc(n, sizeof(int)),
                       .place = tt_calloc(n, sizeof(int)),
                       .parent = tt_calloc(n, sizeof(int)),
                       .at = tt_calloc(n, sizeof *t->at)};
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

/* ---- Places in points ---- */

static double x_of(const struct tree *t, double x)
{
    return t->left + (x + 0.5) * t->step;
}

static double y_of(const struct tree *t, double y)
{
    return TT_SVG_TOP + (y + 0.6) * t->high;
}

/* ---- Nodes ---- */

struct box {
    double left, top, right, bottom; /* in steps and levels; right < left: none */
};

static struct box box_of(const struct tree *t, int node)
{
    struct box box = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < t->n; i++) {
        if (t->node[t->rank[i]] != node) continue;
        box.left = fmin(box.left, t->at[i].x);
        box.right = fmax(box.right, t->at[i].x);
        box.top = fmin(box.top, t->at[i].y);
        box.bottom = fmax(box.bottom, t->at[i].y);
    }
    return box;
}

/* Nobody of another node stands in it. */
static bool is_clear(const struct tree *t, const struct box *box, int node)
{
    for (int i = 0; i < t->n; i++) {
        const struct tt_picture_vertex *v = &t->at[i];
        bool inside =
            v->x >= box->left && v->x <= box->right && v->y >= box->top && v->y <= box->bottom;
        if (inside && t->node[t->rank[i]] != node) return false;
    }
    return true;
}

/* A box around the ranks of each node that stand together. */
static void print_nodes(const struct tree *t, FILE *out)
{
    double wide = t->circle + fmin(t->step * 0.1, 5), high = t->circle + 5;
    for (int node = 0; t->node && node < t->n; node++) {
        struct box box = box_of(t, node);
        if (box.right < box.left || !is_clear(t, &box, node)) continue;
        fprintf(out,
                "<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                "rx=\"8\"><title>node %d</title></rect>\n",
                x_of(t, box.left) - wide, y_of(t, box.top) - high,
                (box.right - box.left) * t->step + 2 * wide,
                (box.bottom - box.top) * t->high + 2 * high, node);
    }
}

/* ---- The whole ---- */

static void print_edges(const struct tree *t, FILE *out)
{
    for (int i = 1; i < t->n; i++) {
        const struct tt_picture_vertex *a = &t->at[i], *b = &t->at[t->parent[i]];
        bool far = t->node && t->node[t->rank[i]] != t->node[t->rank[t->parent[i]]];
        fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1f l%.1f %.1f\"/>\n", far ? "far" : "edge",
                x_of(t, a->x), y_of(t, a->y), (b->x - a->x) * t->step, (b->y - a->y) * t->high);
    }
}

static void print_ranks(const struct tree *t, FILE *out)
{
    for (int i = 0; i < t->n; i++) {
        double x = x_of(t, t->at[i].x), y = y_of(t, t->at[i].y);
        char name[16];
        fprintf(out, "<circle class=\"node\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", x, y,
                t->circle);
        snprintf(name, sizeof name, "%d", t->rank[i]);
        if (t->circle >= 7)
            tt_svg_text(x, y + 3.8, t->circle < 11 ? "small" : "", "middle", name, out);
    }
}

static void print(const struct tt_picture *picture, struct tree *t, FILE *out)
{
    double right = 0, bottom = 0;
    for (int i = 0; i < t->n; i++) {
        right = fmax(right, t->at[i].x);
        bottom = fmax(bottom, t->at[i].y);
    }
    t->step = fmin(fmax(1000 / (right + 1), 16), 60);
    t->high = fmax(t->step, 36);
    t->circle = fmin(t->step * 0.36, 15);
    double width = (right + 1) * t->step + 2 * TT_SVG_MARGIN;
    t->left = TT_SVG_MARGIN + fmax(560 - width, 0) / 2;
    tt_svg_begin(picture, t->node ? "The tree, a box for each node" : "The logical tree",
                 fmax(width, 560), TT_SVG_TOP + (bottom + 1.6) * t->high, out);
    print_nodes(t, out);
    print_edges(t, out);
    print_ranks(t, out);
    tt_svg_end(out);
}

void tt_svg_tree(const struct tt_picture *picture, FILE *out)
{
    struct tree t;
    if (lay_out(picture, &t)) {
        t.node = tt_picture_nodes(picture);
        print(picture, &t, out);
        tt_free(t.node);
    }
    tt_free(t.rank);
    tt_free(t.place);
    tt_free(t.parent);
    tt_free(t.at);
}
