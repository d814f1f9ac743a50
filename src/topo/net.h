/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks: what the machine's nodes are joined by, as arithmetic. A network has *vertices*: its
 * nodes 0 .. nodes-1, which hold a rank each, and behind them switches. From a vertex lead *ports*;
 * a port that leads somewhere is a *link*, of one direction. A route is a chain of links that
 * depends on where it begins and ends alone.
 *
 *     ring:12                12 nodes in a circle
 *     mesh:4x4  torus:8x8x8  1 to 6 dimensions of any extents; a torus closes each to a ring
 *     hypercube:10           2^10 nodes
 *     tree:2x1023            1023 nodes, each with 2 children: 0 is the root, 1 and 2 its children
 *                            ... tree:2x1023+reduce: adapters with units that reduce
 *     fattree:4x4x4          4 nodes a leaf switch, 4 such switches under each of the next level
 *                            ...; fattree:4x4x4up1x2x2 with 1, 2, 2 parents (else as many as
 *                            children below)
 *     dragonfly:2x4x2        2 nodes a router, 4 routers a group, 2 links of a router to other
 *                            groups; a fourth number: how many groups (else as many as can be, 9)
 *
 * Nodes may be missing, with all their links: the ranks are then those that are left, in their
 * order. How networks are written: plan/network.h.
 *
 * Node and coordinates: x counts fastest, so node = x + X (y + Y (z + ...)); the coordinates of a
 * hypercube are the bits of the node, the least significant first.
 *
 * Routes never deadlock (Dally and Seitz 1987: no circle of channels that wait for each other),
 * with at most two virtual channels a link, as tt_hop.channel says:
 *     grids        dimension after dimension from x on (on a hypercube: E-cube), on a ring the
 *                  shorter way round; half round: ascending from even places, descending from odd
 *                  ones. The channel changes where a ring closes
 *     trees        up to the common ancestor and down; in a fat tree the way up is chosen by the
 *                  destination
 *     dragonfly    within the group, to the other group, within that group; the channel changes
 *                  between
 *     with holes   up and down a spanning tree's levels (Autonet's up/down routing, Schroeder et
 *                  al. 1991), and once more on the second channel; the shortest such way
 */
#ifndef TT_TOPO_NET_H
#define TT_TOPO_NET_H

#include "base/base.h"

enum { TT_NET_DIMS = 6, TT_NET_CUBE = 20, TT_NET_NODES = 1 << 20, TT_NET_LEVELS = 8 };

#define TT_NET_LIST(X) X(ring) X(mesh) X(torus) X(hypercube) X(tree) X(fattree) X(dragonfly)
enum tt_net_kind {
#define TT_NET_ENUM(name) TT_NET_##name,
    TT_NET_LIST(TT_NET_ENUM)
#undef TT_NET_ENUM
        TT_NET_KINDS
};

struct tt_net;
struct tt_hop {
    int to;      /* the vertex the link leads to */
    int channel; /* virtual channel: 0 or 1 */
    int64_t link;
};

/* A route under way: at the vertex `at`, with what must be remembered of the way so far. */
struct tt_route {
    int at, to, state;
};

/* Invariants: nodes <= vertices; link = vertex * ports + port. node[r] of rank r ascends; NULL:
 * node r. */
struct tt_net {
    enum tt_net_kind kind;
    int nodes, vertices, ports;
    int dims,
        extent[TT_NET_CUBE]; /* grids; levels and children of a fat tree; the dragonfly's numbers */
    int stride[TT_NET_CUBE]; /* of grids: in nodes, of a step of a dimension */
    int up[TT_NET_LEVELS];   /* parents of a level of a fat tree */
    int first[TT_NET_LEVELS + 1]; /* vertex of each of its levels */
    bool wraps;                   /* a grid of rings */
    bool reduces;                 /* a tree whose adapters combine what passes */
    int ranks;                    /* members: nodes that are not missing */
    int *node, *rank;             /* of each rank, of each node (-1: missing); NULL: the same */
    int *order;                   /* with holes: of each vertex; a link to a lower one leads up */
    uint8_t *way; /* with holes: port from vertex v to node d, at (d * vertices + v) * 4 + state */
};

/* ---- Making: kind, dims, extent (and up) are set, the rest zero; then in this order ---- */

/* How many numbers a kind is made of. */
void tt_net_numbers(enum tt_net_kind kind, int *least, int *most);
/* Fills in the rest. NULL, or what is wrong with number *which of extent. */
const char *tt_net_shape(struct tt_net *net, int *which);
/* Nodes that are missing. MEMORY. */
tutti_status tt_net_remove(struct tt_net *net, int node);
/* Numbers the ranks, finds the ways round what is missing. ARG if members cannot all reach each
 * other: cut holds two that cannot, or -1 if there is no member; LIMIT: more than 8192 nodes, or
 * 255 links of one, with some missing; MEMORY. */
tutti_status tt_net_settle(struct tt_net *net, int cut[2]);
/* Does the same quickly and without the paths: such a network has no routes. */
tutti_status tt_net_join(struct tt_net *net, int cut[2]);
void tt_net_free(struct tt_net *net);

/* The vertex behind a port; -1: none, or it is missing. */
int tt_net_neighbour(const struct tt_net *net, int vertex, int port);
/* Where the rank's node lies; returns how many coordinates there are: 1, its number, but for
 * grids. */
int tt_net_coordinates(const struct tt_net *net, int node, int coordinate[TT_NET_CUBE]);

/* For choosing among ports that are all right, from one node to another whose coordinates these
 * are: a number as if drawn. On grids it depends on where the one lies as seen from the other, so
 * that on a torus the same way is chosen everywhere, and all links of a direction have equal
 * shares. */
uint64_t tt_net_draw(const struct tt_net *net, const int *from, const int *to, int port);

static inline int tt_net_node(const struct tt_net *net, int rank)
{
    return net->node ? net->node[rank] : rank;
}

static inline int tt_net_rank(const struct tt_net *net, int node)
{
    return net->rank ? net->rank[node] : node;
}

static inline bool tt_net_is_grid(const struct tt_net *net)
{
    return net->kind <= TT_NET_hypercube;
}

/* From a node to a node; both members. */
static inline struct tt_route tt_route(int from, int to)
{
    return (struct tt_route){from, to, 0};
}

/* The next link of the route; false if it has arrived. */
bool tt_route_next(const struct tt_net *net, struct tt_route *route, struct tt_hop *hop);
/* How many links a route has. */
int tt_route_length(const struct tt_net *net, int from, int to);

#endif
