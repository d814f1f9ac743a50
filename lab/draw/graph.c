/* SPDX-License-Identifier: BSD-3-Clause */
#include "draw/graph.h"

#include <inttypes.h>

#include "draw/palette.h"
#include "text/text.h"

/* A step and its place. `place` is its index among the steps of all ranks. `nth` is the number of
 * earlier steps of the lane that have the same kind (such as send) and the same peer. */
struct node {
    int rank, lane, place, nth;
    struct tt_plain step;
};

struct graph {
    struct tt_plan *const *plans;
    struct node *node;
    int p, n;
    bool full;
    FILE *out;
};

/* ---- Nodes ---- */

static void print_node(const struct graph *g, const struct node *node)
{
    fprintf(g->out, "    n%d [label=\"", node->place);
    tt_plan_print_step(g->plans[node->rank], &node->step, g->out);
    if (node->step.kind == TT_REDUCE)
        fprintf(g->out, "\" style=filled fillcolor=\"%s\"]\n", tt_palette_light("row-marked"));
    else
        fputs("\"]\n", g->out);
}

/* Returns how many earlier steps of the same lane have the same kind and peer. */
static int count_before(const struct graph *g, const struct node *node)
{
    int n = 0;
    for (int i = g->n - 1; i >= 0 && g->node[i].rank == node->rank; i--) {
        const struct node *other = &g->node[i];
        n += other->lane == node->lane && other->step.kind == node->step.kind &&
             other->step.peer == node->step.peer;
    }
    return n;
}

static tutti_status add_lane(struct graph *g, int rank, int lane)
{
    struct tt_iter iter;
    struct node node = {.rank = rank, .lane = lane};
    void *memory = tt_alloc(tt_iter_bytes(g->plans[rank], lane) + 8);
    if (!memory) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a graph");
    fprintf(g->out, "  subgraph cluster_%d_%d {\n    label=\"rank %d%s\"\n", rank, lane, rank,
            lane ? ", another lane" : "");
    tt_iter_begin(&iter, g->plans[rank], lane, memory);
    int first = g->n;
    while (!g->full && tt_iter_next(&iter, &node.step)) {
        node.place = g->n;
        node.nth = count_before(g, &node);
        print_node(g, &node);
        g->node[g->n++] = node;
        g->full = g->n == TT_GRAPH_STEPS;
    }
    for (int i = first + 1; i < g->n; i++)
        fprintf(g->out, "    n%d -> n%d [color=\"%s\"]\n", i - 1, i, tt_palette_light("quiet"));
    fprintf(g->out, "  }\n");
    tt_free(memory);
    if (!g->full) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_LIMIT, "%d steps or more are too many for a graph", TT_GRAPH_STEPS);
}

/* ---- Edges between lanes ---- */

/* Returns the step that waits for the end of the step `start`; returns `start` itself if no step
 * waits for it. */
static const struct node *completion(const struct graph *g, const struct node *start)
{
    for (int i = start->place + 1; i < g->n; i++) {
        const struct node *node = &g->node[i];
        if (node->rank != start->rank || node->lane != start->lane) break;
        if (node->step.kind == TT_WAIT && node->step.value == start->step.value &&
            node->step.instance == start->step.instance)
            return node;
    }
    return start;
}

static void message(const struct graph *g, const struct node *send)
{
    for (int i = 0; i < g->n; i++) {
        const struct node *node = &g->node[i];
        if (node->step.kind != TT_RECV || node->rank != send->step.peer ||
            node->step.peer != send->rank || node->lane != send->lane || node->nth != send->nth)
            continue;
        fprintf(g->out, "  n%d -> n%d [label=\"%" PRId64 "\" color=\"%s\" penwidth=1.6]\n",
                send->place, completion(g, node)->place, send->step.len, tt_palette_light("send"));
    }
}

/* Returns whether the step `signal` sends a signal to this rank. The list of its targets, step.set,
 * is part of the plan, so it is still valid after the iterator that read the step has gone on. */
static bool is_for(const struct node *signal, int rank)
{
    if (signal->step.peer >= 0) return signal->step.peer == rank;
    if (signal->step.peer == TT_ALL) return true;
    for (uint32_t i = 0; i < signal->step.nops; i++)
        if (signal->step.set[i] == rank) return true;
    return false;
}

static void awaited(const struct graph *g, const struct node *await)
{
    for (int i = 0; i < g->n; i++) {
        const struct node *node = &g->node[i];
        if (node->step.kind != TT_SIGNAL || node->rank != await->step.peer ||
            node->lane != (int)await->step.lane || node->step.value < await->step.value ||
            !is_for(node, await->rank))
            continue;
        fprintf(g->out, "  n%d -> n%d [color=\"%s\" style=dashed]\n", node->place, await->place,
                tt_palette_light("signal"));
        return;
    }
}

tutti_status tt_plan_graph(struct tt_plan *const *plans, int p, FILE *out)
{
    struct graph g = {.plans = plans, .p = p, .out = out};
    tutti_status status = TUTTI_OK;
    g.node = tt_calloc(TT_GRAPH_STEPS, sizeof *g.node);
    if (!g.node) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a graph");
    fprintf(out, "digraph plan {\n  // %s by %s\n", tt_coll_name(plans[0]->coll),
            plans[0]->algorithm);
    fprintf(out, "  node [shape=box fontname=\"monospace\" fontsize=10]\n  edge [arrowsize=0.6 "
                 "fontsize=9]\n");
    for (int r = 0; r < p && status == TUTTI_OK; r++)
        for (int lane = 0; lane < (int)plans[r]->lanes && status == TUTTI_OK; lane++)
            status = add_lane(&g, r, lane);
    for (int i = 0; i < g.n && status == TUTTI_OK; i++) {
        if (g.node[i].step.kind == TT_SEND) message(&g, &g.node[i]);
        if (g.node[i].step.kind == TT_AWAIT) awaited(&g, &g.node[i]);
    }
    fprintf(out, "}\n");
    tt_free(g.node);
    return status;
}
