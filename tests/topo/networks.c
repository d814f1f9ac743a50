/* SPDX-License-Identifier: BSD-3-Clause */
#include "networks.h"

#include <stdlib.h>

const char *const networks_whole[] = {"ring:1",
                                      "ring:2",
                                      "ring:3",
                                      "ring:8",
                                      "ring:9",
                                      "mesh:1",
                                      "mesh:4x4",
                                      "mesh:3x5x2",
                                      "mesh:2x2x2x2x2x2",
                                      "torus:1x3",
                                      "torus:2x2",
                                      "torus:4x4",
                                      "torus:3x4x5",
                                      "torus:8x8",
                                      "torus:3x2x3x2x2x3",
                                      "hypercube:0",
                                      "hypercube:1",
                                      "hypercube:5",
                                      "tree:1x6",
                                      "tree:2x1",
                                      "tree:2x31",
                                      "tree:3x50",
                                      "fattree:4",
                                      "fattree:4x4",
                                      "fattree:2x3x4",
                                      "fattree:2x2x2x2",
                                      "fattree:4x4x4up1x2x2",
                                      "dragonfly:2x4x2",
                                      "dragonfly:1x2x1",
                                      "dragonfly:2x3x2x4",
                                      NULL};

const char *const networks_holed[] = {"ring:9-hole(4)",
                                      "mesh:5x5-hole(2,2)",
                                      "torus:5x5-hole(0,0)-hole(3,1)",
                                      "torus:6x6-wall(x=2)",
                                      "torus:4x4x4-hole(1,1,1)-hole(2,2,2)-hole(3,3,3)",
                                      "torus:8x8-random(12,7)",
                                      "torus:5x4x3-wall(y=1)-hole(0,0,0)",
                                      "hypercube:5-random(6,3)",
                                      "tree:2x31-hole(30)-hole(15)",
                                      "fattree:4x4x4-random(20,1)",
                                      "dragonfly:2x4x2-hole(0)-hole(71)",
                                      NULL};

struct tt_net network(const char *text)
{
    struct tt_net net;
    struct tt_reader_error error;
    if (tt_network_parse(text, &net, &error) != TUTTI_OK)
        fail_msg("%s: %s (at %zu)", text, error.text, error.at);
    return net;
}

void networks_each(const char *const *texts, void (*check)(const struct tt_net *net))
{
    for (; *texts; texts++) {
        struct tt_net net = network(*texts);
        check(&net);
        tt_net_free(&net);
    }
}

/* ---- Channels and their dependencies ---- */

/* waits[a * n + b]: a message that holds channel a may wait for channel b. */
struct networks_graph {
    int n;
    bool *waits;
    int *waited; /* waited[b]: how many channels depend on b */
};

static int channel_of(const struct tt_hop *hop)
{
    return (int)(2 * hop->link + hop->channel);
}

static void follow(struct networks_graph *g, const struct tt_net *net, int from, int to)
{
    struct tt_route route = tt_route(from, to);
    struct tt_hop hop;
    int held = -1;
    for (; tt_route_next(net, &route, &hop); held = channel_of(&hop))
        if (held >= 0) g->waits[(int64_t)held * g->n + channel_of(&hop)] = true;
}

static void follow_all(struct networks_graph *g, const struct tt_net *net)
{
    for (int i = 0; i < net->ranks; i++)
        for (int j = 0; j < net->ranks; j++)
            if (i != j) follow(g, net, tt_net_node(net, i), tt_net_node(net, j));
}

/* Repeatedly removes a channel on which no other channel depends. Returns whether all channels can
 * be removed, that is, whether the dependencies have no cycle. */
static bool has_order(struct networks_graph *g)
{
    int *free_ones = malloc((size_t)g->n * sizeof *free_ones), top = 0, gone = 0;
    for (int b = 0; b < g->n; b++) {
        for (int a = 0; a < g->n; a++) g->waited[b] += g->waits[(int64_t)a * g->n + b];
        if (g->waited[b] == 0) free_ones[top++] = b;
    }
    while (top > 0) {
        int a = free_ones[--top];
        gone++;
        for (int b = 0; b < g->n; b++)
            if (g->waits[(int64_t)a * g->n + b] && --g->waited[b] == 0) free_ones[top++] = b;
    }
    free(free_ones);
    return gone == g->n;
}

bool network_is_deadlock_free(const struct tt_net *net)
{
    struct networks_graph g = {.n = 2 * net->vertices * net->ports};
    if (g.n == 0) return true;
    g.waits = calloc((size_t)g.n * (size_t)g.n, sizeof *g.waits);
    g.waited = calloc((size_t)g.n, sizeof *g.waited);
    assert_non_null(g.waits);
    assert_non_null(g.waited);
    follow_all(&g, net);
    bool order = has_order(&g);
    free(g.waits);
    free(g.waited);
    return order;
}
