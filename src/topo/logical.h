/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The logical tree of a map of unequal nodes.
 *
 *     [ 0  1  2  3 ]    the identified node: most ranks; 0 is the global root, 1 2 3 its children
 *          ^  ^  ^
 *        [4 5][6][7]    every other node: a local root, its other ranks the children of that; and
 *                       the local root a child of one of the identified node's ranks other than 0
 *
 * What the document leaves open is decided so:
 *  - Other nodes are spread evenly, large ones first, over the ranks that may take them: a node's
 *    receivers, which are its ranks but the local root, or that one where it is alone. Each takes
 *    TT_LOGICAL_CHILDREN at most; what is left then becomes children of the receivers of the nodes
 *    placed last, in the same way, level by level.
 *  - A caller's root is global and local root where its node is as large as any. Where it is not,
 *    the tree stands as without that node, and the global root is a child of the caller's root,
 *    which is its own node's local root: the result is handed on over one more edge, and no node is
 *    visited twice.
 *  - In order, for operations that do not commute: below each local root lie nodes in a row, its
 *    own among them, so that it can make one operand of them. The nodes on either side of the
 *    identified one are cut into as many runs as there may be children (of one node each, if that
 *    is enough); of each run the largest node, of several the one nearest the middle, is the child,
 *    on whose receivers the rest of the run hangs in the same way. A rank takes as few children as
 *    above. A caller's root that is not on the identified node cuts the row in two: what comes to
 *    it are two runs.
 * Source: docs/hierarchy.md.
 */
#ifndef TT_TOPO_LOGICAL_H
#define TT_TOPO_LOGICAL_H

#include "topo/nodes.h"

/* Local roots that one rank takes. Each is a stream that the rank's port receives in full, so that
 * the time of a long message grows with them, while the levels of the tree only grow with the
 * logarithm of the nodes to this base. */
enum { TT_LOGICAL_CHILDREN = 4 };

struct tt_logical {
    struct tt_nodes nodes;
    int identified; /* node */
    int top;    /* the rank at which the whole tree stands: a caller's root, or the global root */
    int global; /* the global root, on the identified node */
    int levels; /* of nodes: 1 for the identified node alone */
    int most_children; /* of any rank */
    int runs;  /* in order: 2 if the node of `top` cuts in two what the global root sums; else 1 */
    int *root; /* of each node: its local root */
    int *parent; /* of each node: the rank that is its local root's parent, -1 for that of `top` */
    int *level;  /* of each node: 0 for that of `top` */
    /* In order, of each node but that of `top`: the first of the nodes below its local root. */
    int *begin;
};

/* root < 0: no caller's root. False: no memory. */
bool tt_logical_of(const struct tt_map *map, int root, bool in_order, struct tt_logical *tree);
void tt_logical_free(struct tt_logical *tree);

/* A rank's place in it. */
struct tt_logical_place {
    int node;   /* its node, whose local root is `local` */
    int local;  /* may be the rank itself */
    int parent; /* of a local root: a rank of another node, or -1 at the top; of others `local` */
    int children;
    int child[TT_LOGICAL_CHILDREN + 1]; /* local roots of other nodes, ascending */
};
struct tt_logical_place tt_logical_place(const struct tt_logical *tree, int me);
/* In order: the first rank of all below a local root; of the global root's second run, if `run` is
 * 1. */
int tt_logical_first(const struct tt_logical *tree, int local, int run);

#endif
