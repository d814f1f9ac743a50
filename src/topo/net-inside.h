/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions that each kind of network defines in its own file, for its shape, links and routes.
 */
#ifndef TT_TOPO_NET_INSIDE_H
#define TT_TOPO_NET_INSIDE_H

#include "topo/net.h"

struct tt_net_ops {
    /* Sets nodes, vertices, ports and the other members from extent[0 .. dims-1] (and up[]).
     * Returns NULL, or a static text that says what is wrong with extent[*which]. */
    const char *(*shape)(struct tt_net *net, int *which);
    int (*neighbour)(const struct tt_net *net, int vertex, int port);
    /* Returns the port by which the route leaves route->at, and sets *channel. The function may
     * keep in route->state what it needs to know in the next steps. */
    int (*next_port)(const struct tt_net *net, struct tt_route *route, int *channel);
    /* the least and the most numbers that the text of a network of this kind has; 8x8x8 has 3 */
    int least, most;
    bool transit; /* routes pass through nodes, so missing nodes block them */
};

extern const struct tt_net_ops tt_net_grid, tt_net_cube, tt_net_tree, tt_net_fattree,
    tt_net_dragonfly;
const struct tt_net_ops *tt_net_ops(const struct tt_net *net);

/* A route in a network with missing nodes first goes up and then down in an order of the vertices,
 * on each of two channels (net-reroute.c). Its state is 2 * channel, plus 1 if it has gone down on
 * that channel. tt_net_state returns the state after one more link up or down; -1: the route may
 * not go up again. */
enum { TT_NET_STATES = 4 };
static inline int tt_net_state(int state, bool up)
{
    if (!up) return state | 1;
    return state == TT_NET_STATES - 1 ? -1 : state + state % 2;
}

/* Checks whether all ranks can reach each other. If `routes` is true, also fills net->route_port.
 * Errors and `cut` are those of tt_net_settle. */
tutti_status tt_net_reroute(struct tt_net *net, bool routes, int cut[2]);

/* Returns a * b, or INT32_MAX if the product is larger. */
static inline int tt_net_times(int a, int b)
{
    int64_t product = (int64_t)a * b;
    return product < INT32_MAX ? (int)product : INT32_MAX;
}

#endif
