/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the kinds of networks are made of, each in its file: shape, links, routes.
 */
#ifndef TT_TOPO_NET_INSIDE_H
#define TT_TOPO_NET_INSIDE_H

#include "topo/net.h"

struct tt_net_ops {
    /* From extent[0 .. dims-1] (and up[]): sets nodes, vertices, ports and the rest, or says what
     * is wrong with number *which; NULL: nothing is. */
    const char *(*shape)(struct tt_net *net, int *which);
    int (*neighbour)(const struct tt_net *net, int vertex, int port);
    /* The port to take, and the channel; keeps what it must remember in route->state. */
    int (*way)(const struct tt_net *net, struct tt_route *route, int *channel);
    int least, most; /* how many numbers there may be */
    bool transit;    /* routes pass nodes, so that missing ones are in the way */
};

extern const struct tt_net_ops tt_net_grid, tt_net_cube, tt_net_tree, tt_net_fattree,
    tt_net_dragonfly;
const struct tt_net_ops *tt_net_ops(const struct tt_net *net);

/* With holes: a route's state after a link up or down, -1 where it may not go up again. Its channel
 * is half of that. */
enum { TT_NET_STATES = 4 };
static inline int tt_net_state(int state, bool up)
{
    if (!up) return state | 1;
    return state == TT_NET_STATES - 1 ? -1 : state + state % 2;
}

/* Sees whether the members reach each other, with `routes` fills net->way; else as
 * tt_net_settle. */
tutti_status tt_net_reroute(struct tt_net *net, bool routes, int cut[2]);

/* a * b, or INT32_MAX if that is more. */
static inline int tt_net_times(int a, int b)
{
    int64_t product = (int64_t)a * b;
    return product < INT32_MAX ? (int)product : INT32_MAX;
}

#endif
