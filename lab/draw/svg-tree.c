/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws the logical tree, level by level.
 */
#include <math.h>

#include "draw/picture.h"
#include "draw/svg.h"

struct svg_tree_tree {
    int n;
    /* rank[i]: the rank that is at place i in breadth-first order; parent[i]: the place of its
     * parent; place[r]: the place of rank r */
    int *rank, *place, *parent;
    struct tt_picture_vertex *at;
    int *node;     /* for each rank: its node; NULL if the nodes are not known */
    bool up, down; /* directions in which the data goes */
    /* in points: step: the distance of neighbours; high: the distance of levels; left: the left
     * edge of the tree; circle: the radius of a rank */
    double step, high, left, circle;
};

static bool lay_out(const struct tt_picture *picture, struct svg_tree_tree *t)
{
    size_t n = (size_t)picture->ranks;
    *t = (struct svg_tree_tree){.n = picture->ranks,
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

static double x_of(const struct svg_tree_tree *t, double x)
{
    return t->left + (x + 0.5) * t->step;
}

static double y_of(const struct svg_tree_tree *t, double y)
{
    return TT_SVG_TOP + (y + 0.6) * t->high;
}

/* ---- Nodes ---- */

struct box {
    /* left and right are in units of the distance of neighbours, top and bottom in units of the
     * distance of levels; right < left means that the box is empty */
    double left, top, right, bottom;
};

static struct box box_of(const struct svg_tree_tree *t, int node)
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

/* Returns whether all ranks inside the box are on the node `node`. */
static bool is_clear(const struct svg_tree_tree *t, const struct box *box, int node)
{
    for (int i = 0; i < t->n; i++) {
        const struct tt_picture_vertex *v = &t->at[i];
        bool inside =
            v->x >= box->left && v->x <= box->right && v->y >= box->top && v->y <= box->bottom;
        if (inside && t->node[t->rank[i]] != node) return false;
    }
    return true;
}

/* Draws a box around the ranks of each node whose box contains no rank of another node. */
static void print_nodes(const struct svg_tree_tree *t, FILE *out)
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

/* ---- The whole picture ---- */

/* Finds in which directions the data goes along the edges: down if the root sent something, up if
 * the root received something. */
static void find_directions(const struct tt_picture *picture, struct svg_tree_tree *t)
{
    int root = t->rank[0];
    t->down = picture->pairs.sent_ps[root] >= 0;
    t->up = picture->pairs.received[root];
}

static void head(const struct svg_tree_tree *t, const char *class, double x, double y,
                 double direction, FILE *out)
{
    double size = fmin(t->circle * 0.75, 8);
    fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"/>\n", class, x, y,
            size * 0.42, -direction * size, -size * 0.84);
}

/* Draws an edge from the parent straight to a point above the child, and down to the child. So an
 * edge comes near the level of the children only above its own child. However many children there
 * are, no edges cross. */
static void print_edge(const struct svg_tree_tree *t, int child, FILE *out)
{
    const struct tt_picture_vertex *a = &t->at[t->parent[child]], *b = &t->at[child];
    bool remote = t->node && t->node[t->rank[child]] != t->node[t->rank[t->parent[child]]];
    const char *class = remote ? "between" : "edge";
    const char *heads = remote ? "between-head" : "edge-head";
    double x0 = x_of(t, a->x), y0 = y_of(t, a->y), x1 = x_of(t, b->x), y1 = y_of(t, b->y);
    double bend = y1 - fmin((y1 - y0) * 0.45, t->circle + 20);
    fprintf(out, "<path class=\"%s\" fill-opacity=\"0\" d=\"M%.1f %.1fL%.1f %.1fV%.1f\"/>\n", class,
            x0, y0, x1, bend, y1);
    if (t->down) head(t, heads, x1, y1 - t->circle, 1, out);
    if (!t->up) return;
    double length = hypot(x1 - x0, bend - y0), x = (x1 - x0) / length, y = (bend - y0) / length;
    fprintf(out, "<path class=\"%s\" d=\"", heads);
    tt_svg_arrow(x0 + x * (t->circle + 9), y0 + y * (t->circle + 9), x0 + x * t->circle,
                 y0 + y * t->circle, fmin(t->circle * 0.75, 8), out);
    fputs("\"/>\n", out);
}

static void print_edges(const struct svg_tree_tree *t, FILE *out)
{
    for (int i = 1; i < t->n; i++) print_edge(t, i, out);
}

static void print_ranks(const struct svg_tree_tree *t, FILE *out)
{
    for (int i = 0; i < t->n; i++) {
        double x = x_of(t, t->at[i].x), y = y_of(t, t->at[i].y);
        char name[16];
        fprintf(out,
                "<circle class=\"node\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>rank "
                "%d</title></circle>\n",
                x, y, t->circle, t->rank[i]);
        snprintf(name, sizeof name, "%d", t->rank[i]);
        if (t->circle >= 7)
            tt_svg_text(x, y + 3.8, t->circle < 11 ? "small" : "", "middle", name, out);
    }
}

/* Draws the legend from y downwards: the kinds of edges that occur, with their directions, and the
 * box of a node. Returns the y of its last line. If `out` is NULL, only computes this y. */
static double legend(const struct svg_tree_tree *t, double y, double width, FILE *out)
{
    bool within = false, between = false;
    struct tt_svg_legend l = {TT_SVG_MARGIN, width - TT_SVG_MARGIN, TT_SVG_MARGIN, y, out};
    const char *directions = t->up && t->down ? ", up and down" : t->up ? ", up" : ", down";
    char text[64];
    for (int i = 1; i < t->n; i++) {
        bool remote = t->node && t->node[t->rank[i]] != t->node[t->rank[t->parent[i]]];
        between = between || remote;
        within = within || !remote;
    }
    snprintf(text, sizeof text, "data%s%s", t->node ? " within a node" : "", directions);
    if (within) tt_svg_key(&l, TT_SVG_ARROW, "edge", text);
    snprintf(text, sizeof text, "between nodes%s", directions);
    if (between) tt_svg_key(&l, TT_SVG_ARROW, "between", text);
    if (t->node) tt_svg_key(&l, TT_SVG_BAR, "box", "a node");
    return l.y;
}

static void print(const struct tt_picture *picture, struct svg_tree_tree *t, FILE *out)
{
    double right = 0, bottom = 0;
    for (int i = 0; i < t->n; i++) {
        right = fmax(right, t->at[i].x);
        bottom = fmax(bottom, t->at[i].y);
    }
    t->step = fmin(fmax(1000 / (right + 1), 16), 60);
    t->high = fmax(t->step, 36);
    t->circle = fmin(t->step * 0.36, 15);
    double bottom_of = TT_SVG_TOP + (bottom + 1.2) * t->high + 20;
    double width = (right + 1) * t->step + 2 * TT_SVG_MARGIN;
    t->left = TT_SVG_MARGIN + fmax(560 - width, 0) / 2;
    width = fmax(width, 560);
    tt_svg_begin(picture, t->node ? "The tree, a box for each node" : "The logical tree", width,
                 legend(t, bottom_of, width, NULL) + 20, out);
    print_nodes(t, out);
    print_edges(t, out);
    print_ranks(t, out);
    legend(t, bottom_of, width, out);
    tt_svg_end(out);
}

void tt_svg_tree(const struct tt_picture *picture, FILE *out)
{
    struct svg_tree_tree t;
    if (lay_out(picture, &t)) {
        t.node = tt_picture_nodes(picture);
        find_directions(picture, &t);
        print(picture, &t, out);
        tt_free(t.node);
    }
    tt_free(t.rank);
    tt_free(t.place);
    tt_free(t.parent);
    tt_free(t.at);
}
