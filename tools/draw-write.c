/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes a picture to a file: chooses what to draw if the user has not, checks that the picture
 * contains this, and prints it in the format that the user asks for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "command.h"
#include "draw.h"
#include "draw/goal.h"
#include "draw/graph.h"
#include "png.h"
#include "write.h"

/* Returns whether the path ends in `ending`, in small letters or capitals. */
static bool has_ending(const char *path, const char *ending)
{
    size_t n = strlen(path), k = strlen(ending);
    return n > k && strcasecmp(path + n - k, ending) == 0;
}

enum tt_draw_format tt_draw_format_of(const char *path, bool *png)
{
    static const char *const endings[] = {".svg", ".html", ".dot", ".json", ".trace.json", ".goal"};
    *png = has_ending(path, ".png");
    if (strcmp(path, "-") == 0 || *png) return TT_DRAW_AS_svg;
    for (int i = TT_DRAW_FORMATS_N - 1; i >= 0; i--)
        if (has_ending(path, endings[i])) return (enum tt_draw_format)i;
    return TT_DRAW_FORMATS_N;
}

/* ---- The plans ---- */

static tutti_status make_plans(const struct tt_draw *draw, struct tt_plan **plans)
{
    const struct tt_case *c = draw->c;
    for (int r = 0; r < c->map.p; r++) {
        struct tt_call call = tt_problem_call(&c->problem, r, c->room);
        plans[r] = tt_algorithm_plan(draw->algorithm, &call, &c->map, r);
        if (!plans[r]) return TUTTI_ERR_MEMORY;
    }
    return TUTTI_OK;
}

static tutti_status print_made(const struct tt_draw *draw, struct tt_plan **plans, FILE *out)
{
    int p = draw->c->map.p;
    TT_TRY(make_plans(draw, plans));
    if (draw->format == TT_DRAW_AS_goal)
        return tt_plan_goal(plans, p, draw->model->tr_ps, draw->model->gamma_ps, out);
    return tt_plan_graph(plans, p, out);
}

/* Prints the plans as a graph, or as GOAL, the language of the simulator LogGOPSim
 * (lab/draw/goal.h). */
static tutti_status print_plans(const struct tt_draw *draw, FILE *out)
{
    int p = draw->c->map.p;
    if (draw->format == TT_DRAW_AS_dot && p > TT_GRAPH_STEPS)
        return tt_fail(TUTTI_ERR_LIMIT, "%d ranks are too many for a graph of their plans", p);
    struct tt_plan **plans = tt_calloc((size_t)p, sizeof(struct tt_plan *));
    if (!plans) return tt_fail(TUTTI_ERR_MEMORY, "no memory for %d plans", p);
    tutti_status status = print_made(draw, plans, out);
    for (int r = 0; r < p; r++) tt_plan_free(plans[r]);
    tt_free(plans);
    return status;
}

/* ---- What to draw ---- */

static enum tt_draw_what default_of(const struct tt_draw *draw)
{
    if (draw->format == TT_DRAW_AS_svg && draw->picture.calls.bars && draw->from < 0 &&
        draw->to < 0)
        return TT_DRAW_calls;
    if (draw->format != TT_DRAW_AS_dot)
        return draw->from >= 0 || draw->to >= 0 ? TT_DRAW_routes : TT_DRAW_time;
    return draw->picture.edges ? TT_DRAW_tree : draw->net ? TT_DRAW_network : TT_DRAW_plan;
}

static int complain(int code, const char *text)
{
    fprintf(stderr, "tutti draw: %s\n", text);
    return code;
}

static int check_network(const struct tt_draw *draw)
{
    char text[160];
    if (!draw->net)
        return complain(TT_EXIT_USAGE, "the network is missing: end the problem with it, as in "
                                       "...@torus:4x4; for a trace, give "
                                       "--network torus:4x4");
    if (draw->picture.net.vertices == 0)
        return complain(TT_EXIT_FAILED, "the network is too large for a picture");
    if (draw->format != TT_DRAW_AS_svg || draw->picture.net.vertices <= TT_SVG_VERTICES)
        return TT_EXIT_OK;
    snprintf(text, sizeof text,
             "%d vertices are too many for an SVG, which takes %d; .html takes more",
             draw->picture.net.vertices, TT_SVG_VERTICES);
    return complain(TT_EXIT_FAILED, text);
}

/* Checks that the picture contains what is to be drawn. Returns TT_EXIT_OK, or another exit code
 * after printing the error. */
static int check_what(const struct tt_draw *draw)
{
    bool dot = draw->format == TT_DRAW_AS_dot;
    switch (draw->what) {
    case TT_DRAW_tree:
        if (draw->picture.edges) return TT_EXIT_OK;
        return complain(TT_EXIT_FAILED, "the data does not go along a tree");
    case TT_DRAW_network: return check_network(draw);
    case TT_DRAW_routes:
        if (dot) return complain(TT_EXIT_USAGE, "routes are drawn as SVG only");
        return check_network(draw);
    case TT_DRAW_steps:
        if (dot) return complain(TT_EXIT_USAGE, "steps are drawn as SVG only");
        if (draw->net && draw->picture.net.slices > 1)
            return complain(TT_EXIT_FAILED, "steps are drawn of networks in a plane only");
        return check_network(draw);
    case TT_DRAW_calls:
    case TT_DRAW_summary:
        if (draw->picture.calls.bars) return TT_EXIT_OK;
        return complain(TT_EXIT_USAGE,
                        "calls are known of real runs only: TUTTI_TRACE=DIR, then tutti draw DIR");
    case TT_DRAW_time:
    case TT_DRAW_traffic:
        return dot ? complain(TT_EXIT_USAGE, "a .dot shows a tree, network or plan") : TT_EXIT_OK;
    case TT_DRAW_plan:
        if (!dot) return complain(TT_EXIT_USAGE, "the graph of the plans is a .dot");
        if (draw->c) return TT_EXIT_OK;
        return complain(TT_EXIT_USAGE, "a trace does not hold the plans");
    case TT_DRAW_costs: /* draw-costs.c draws the costs, without a struct tt_picture */
    case TT_DRAW_DEFAULT: break;
    }
    return TT_EXIT_USAGE;
}

/* ---- Routes ---- */

static tutti_status add_routes(struct tt_draw *draw)
{
    struct tt_picture *p = &draw->picture;
    if (draw->from < 0 && draw->to < 0) return tt_picture_detours(p, draw->net);
    if (draw->from >= 0 && draw->to >= 0)
        return tt_picture_route(p, draw->net, draw->from, draw->to);
    for (int r = 0; r < p->ranks; r++) {
        int from = draw->from >= 0 ? draw->from : r, to = draw->to >= 0 ? draw->to : r;
        if (from != to) TT_TRY(tt_picture_route(p, draw->net, from, to));
    }
    return TUTTI_OK;
}

/* ---- Printing ---- */

static tutti_status print_svg(struct tt_draw *draw, FILE *out)
{
    char left_out[200] = "";
    tutti_status status = TUTTI_OK;
    switch (draw->what) {
    case TT_DRAW_time: tt_svg_time(&draw->picture, draw->first, draw->last, left_out, out); break;
    case TT_DRAW_calls: tt_svg_calls(&draw->picture, draw->first, draw->last, left_out, out); break;
    case TT_DRAW_summary:
        tt_calls_summary(&draw->picture.calls, draw->picture.ranks, draw->picture.time_ps,
                         INT32_MAX, out);
        break;
    case TT_DRAW_tree: tt_svg_tree(&draw->picture, out); break;
    case TT_DRAW_network: tt_svg_network(&draw->picture, out); break;
    case TT_DRAW_routes: tt_svg_routes(&draw->picture, left_out, out); break;
    case TT_DRAW_steps: status = tt_svg_steps(&draw->picture, draw->net, left_out, out); break;
    case TT_DRAW_traffic: tt_svg_traffic(&draw->picture, out); break;
    case TT_DRAW_plan:
    case TT_DRAW_costs:
    case TT_DRAW_DEFAULT: break;
    }
    if (left_out[0]) fprintf(stderr, "tutti draw: %s\n", left_out);
    return status;
}

static tutti_status print_dot(struct tt_draw *draw, FILE *out)
{
    if (draw->what != TT_DRAW_tree && draw->what != TT_DRAW_network) return print_plans(draw, out);
    if (draw->what == TT_DRAW_tree)
        tt_picture_dot_tree(&draw->picture, out);
    else
        tt_picture_dot_network(&draw->picture, out);
    return TUTTI_OK;
}

static tutti_status print(void *arg, FILE *out)
{
    struct tt_draw *draw = arg;
    switch (draw->format) {
    case TT_DRAW_AS_svg: return print_svg(draw, out);
    case TT_DRAW_AS_html: tt_picture_html(&draw->picture, out); break;
    case TT_DRAW_AS_dot: return print_dot(draw, out);
    case TT_DRAW_AS_json: tt_picture_json(&draw->picture, out); break;
    case TT_DRAW_AS_trace: tt_picture_trace(&draw->picture, out); break;
    case TT_DRAW_AS_goal: return print_plans(draw, out);
    case TT_DRAW_FORMATS_N: break;
    }
    return TUTTI_OK;
}

/* Prints how many steps, messages and routes are missing in the picture, because they exceed its
 * limits. */
static void write_left_out(const struct tt_picture *p)
{
    if (p->steps.left_out)
        fprintf(stderr, "tutti draw: %lld steps beyond the first %d are left out\n",
                (long long)p->steps.left_out, TT_PICTURE_MOST);
    if (p->messages.left_out)
        fprintf(stderr, "tutti draw: %lld messages beyond the first %d are left out\n",
                (long long)p->messages.left_out, TT_PICTURE_MOST);
    if (p->net.routes_left_out)
        fprintf(stderr, "tutti draw: %d routes beyond the first %d are left out\n",
                p->net.routes_left_out, TT_PICTURE_ROUTES);
}

/* A function that prints an SVG, which print_png converts to PNG, and its argument. */
struct draw_write_svg {
    tutti_status (*print)(void *arg, FILE *out);
    void *arg;
};

static tutti_status print_png(void *arg, FILE *out)
{
    const struct draw_write_svg *svg = arg;
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    if (!memory) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a .png");
    tutti_status status = svg->print(svg->arg, memory);
    bool kept = !ferror(memory);
    kept = fclose(memory) == 0 && kept;
    if (status == TUTTI_OK && !kept) status = tt_fail(TUTTI_ERR_MEMORY, "no memory for a .png");
    if (status == TUTTI_OK) status = tt_png_print(text, n, out);
    free(text);
    return status;
}

bool tt_draw_put(const struct tt_draw *draw, tutti_status (*print_it)(void *arg, FILE *out),
                 void *arg)
{
    struct draw_write_svg svg = {print_it, arg};
    if (!draw->png) return tt_write_whole("tutti draw", draw->output, print_it, arg);
    return tt_write_whole("tutti draw", draw->output, print_png, &svg);
}

int tt_draw_write(struct tt_draw *draw)
{
    bool all = draw->format != TT_DRAW_AS_svg && draw->format != TT_DRAW_AS_dot;
    if (draw->format == TT_DRAW_AS_goal && !draw->c)
        return complain(TT_EXIT_USAGE, "a trace does not hold the plans");
    if (draw->what == TT_DRAW_DEFAULT) draw->what = default_of(draw);
    int code = all ? TT_EXIT_OK : check_what(draw);
    if (code != TT_EXIT_OK) return code;
    bool routes = draw->what == TT_DRAW_routes || all;
    if (routes && draw->net && draw->picture.net.vertices && add_routes(draw) != TUTTI_OK)
        return complain(TT_EXIT_FAILED, tutti_error());
    if (all && draw->format != TT_DRAW_AS_goal) write_left_out(&draw->picture);
    return tt_draw_put(draw, print, draw) ? TT_EXIT_OK : TT_EXIT_FAILED;
}
