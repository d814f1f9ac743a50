/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks that join the nodes of a machine, as pure arithmetic. A network has *vertices*: its
 * nodes 0 .. nodes-1, which hold one rank each, and after them its switches. A vertex has *ports*.
 * A port that leads to another vertex is a *link*, which has one direction. A route is a chain of
 * links that depends only on its first and last node.
 *
 *     ring:12                12 nodes in a circle
 *     mesh:4x4  torus:8x8x8  1 to 6 dimensions of any extents; a torus closes each to a ring
 *     hypercube:10           2^10 nodes
 *     tree:2x1023            1023 nodes, each with 2 children: 0 is the root, 1 and 2 its children
 *                            ... tree:2x1023+reduce: the network adapters can reduce data
 *     fattree:4x4x4          4 nodes per leaf switch, 4 such switches under each switch of the next
 *                            level, 4 of these under each switch above. fattree:4x4x4up1x2x2: a
 *                            node has 1 parent, and switches of levels 1 and 2 have 2 parents
 *                            (without this, a switch has as many parents as children)
 *     dragonfly:2x4x2        2 nodes per router, 4 routers per group, 2 links of each router to
 *                            other groups; a fourth number: how many groups (without this, as many
 *                            as possible: 4 x 2 + 1 = 9)
 *
 * Nodes may be missing, together with all their links. The ranks are the nodes that are not
 * missing, in the order of the nodes. plan/network.h has the syntax of networks.
 *
 * Coordinates: the number of the node at (x, y, z, ...) in a grid of X x Y x Z ... nodes is
 * x + X (y + Y (z + ...)). The coordinates of a hypercube are the bits of the node number, the
 * least significant first.
 *
 * Routes never deadlock (Dally and Seitz 1987: no cycle of channels that wait for each other). They
 * need at most two virtual channels for each link, as in tt_hop.channel:
 *
 *     grids        one dimension after the other, x first (on a hypercube: E-cube). On a ring the
 *                  shorter of the two paths; if both are equally long, ascending from even
 *                  coordinates and descending from odd ones. The channel changes at the link
 *                  between the last and the first node of a ring
 *     trees        up to the common ancestor and down; in a fat tree the destination chooses the
 *                  path up
 *     dragonfly    within the group, to the destination's group, within that group; the channel
 *                  changes after the link between the groups
 *     with missing nodes: first up and then down in an order of the vertices (Autonet's up/down
 *                  routing, Schroeder et al. 1991); then perhaps up and down once more, on the
 *                  second channel. It is the shortest such path (net-reroute.c)
 */
#ifndef TT_TOPO_NET_H
#define TT_TOPO_NET_H

#include "base/base.h"

/* The most dimensions of a grid; the most dimensions of a hypercube; the most nodes; the most
 * levels of a fat tree. */
enum { TT_NET_DIMS = 6, TT_NET_CUBE = 20, TT_NET_NODES = 1 << 20, TT_NET_LEVELS = 8 };

#define TT_NET_LIST(X) X(ring) X(mesh) X(torus) X(hypercube) X(tree) X(fattree) X(dragonfly)
enum tt_net_kind {
#define TT_NET_ENUM(name) TT_NET_##name,
    TT_NET_LIST(TT_NET_ENUM)
#undef TT_NET_ENUM
        TT_NET_KINDS
};

struct tt_net;
/* One link of a route. */
struct tt_hop {
    int to;       /* the vertex the link leads to */
    int channel;  /* virtual channel: 0 or 1 */
    int64_t link; /* number of the link: vertex * ports + port */
};

/* A route that is being followed: it has reached the vertex `at` on its way to node `to`. `state`
 * is what the next steps need to know of the path so far; each kind of network gives it a meaning
 * of its own. */
struct tt_route {
    int at, to, state;
};

/* Invariants (tt_net_valid, after tt_net_settle): ranks <= nodes <= vertices; node[r] ascends with
 * r, and rank[node[r]] == r; node == NULL: rank r is node r. A link is vertex * ports + port. */
struct tt_net {
    enum tt_net_kind kind;
    int nodes, vertices, ports;
    int dims,
        extent[TT_NET_CUBE]; /* the extents of a grid or hypercube; otherwise the numbers in the
                              * text of the network */
    int stride[TT_NET_CUBE]; /* of a grid: by how much node numbers differ in one step along each
                              * dimension */
    int up[TT_NET_LEVELS];   /* of a fat tree: parents of a vertex, for each level */
    int first[TT_NET_LEVELS + 1]; /* of a fat tree: the first vertex of each level */
    bool wraps;                   /* a grid in which every dimension is a ring */
    bool reduces;                 /* a tree whose adapters reduce the data that passes them */
    int ranks;                    /* nodes that are not missing */
    int *node, *rank;             /* the node of each rank, and the rank of each node (-1: it is
                                   * missing); NULL: rank r is node r */
    /* in a network with missing nodes: the position of each vertex in an order; a link to a vertex
     * with a lower position leads up */
    int *order;
    /* In a network with missing nodes: the port by which a route to node d leaves vertex v, at (d *
     * vertices + v) * 4 + state. */
    uint8_t *route_port;
};

bool tt_net_valid(const struct tt_net *net);

/* ---- Making: the caller sets kind, dims and extent (and `up` of a fat tree), sets all other
 * members to zero, and calls the following functions in this order ---- */

/* Sets *least and *most to how many numbers the text of a network of this kind may have. */
void tt_net_numbers(enum tt_net_kind kind, int *least, int *most);
/* Sets the members that follow from kind, dims, extent and up. Returns NULL, or a static text that
 * says what is wrong with extent[*which]. */
const char *tt_net_shape(struct tt_net *net, int *which);
/* Marks a node as missing. Errors: MEMORY. */
tutti_status tt_net_remove(struct tt_net *net, int node);
/* Gives the nodes that are not missing their ranks, and finds routes around missing nodes. Errors:
 *
 *     ARG     some ranks cannot reach each other, and cut[] holds the nodes of two such ranks; or
 *             all nodes are missing, and cut[] holds -1
 *     LIMIT   some nodes are missing, and there are more than 8192 vertices, or more than 255 ports
 *             at a vertex
 *     MEMORY */
tutti_status tt_net_settle(struct tt_net *net, int cut[2]);
/* Gives the ranks to the nodes and checks that all ranks can reach each other, with the same errors
 * as tt_net_settle, but finds no routes. This is quicker. The caller must not ask the network for
 * routes. */
tutti_status tt_net_join(struct tt_net *net, int cut[2]);
void tt_net_free(struct tt_net *net);

/* Returns the vertex to which a port leads; -1: the port leads nowhere, or a node at either end of
 * its link is missing. */
int tt_net_neighbour(const struct tt_net *net, int vertex, int port);
/* Sets the coordinates of a node and returns their number. In a network that is no grid, the only
 * coordinate is the node's number. */
int tt_net_coordinates(const struct tt_net *net, int node, int coordinate[TT_NET_CUBE]);

/* Returns a pseudo-random number for choosing among ports that are equally good, on a route from
 * one node to another whose coordinates are given. On grids the number depends only on the position
 * of the second node relative to the first. So a torus makes the same choice everywhere, and all
 * links of a direction have equal loads. */
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

/* Returns a route, of which no link was followed yet. Neither of its nodes may be missing. */
static inline struct tt_route tt_route(int from, int to)
{
    return (struct tt_route){from, to, 0};
}

/* Follows the next link of the route, and sets *hop to this link. Returns false if the route has
 * arrived. */
bool tt_route_next(const struct tt_net *net, struct tt_route *route, struct tt_hop *hop);
/* Returns the number of links of the route between two nodes. */
int tt_route_length(const struct tt_net *net, int from, int to);

#endif
