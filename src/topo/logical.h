/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The logical tree of a map whose nodes have different numbers of ranks.
 *
 *     [ 0  1  2  3 ]    the identified node: the node with most ranks; 0 is the global root, and
 *          ^  ^  ^      1 2 3 are its children
 *        [4 5][6][7]    every other node: it has a local root, whose children are its other ranks;
 *                       the local root is a child of one of the identified node's ranks, but not
 *                       of the global root
 *
 * The source leaves these cases open, and this tree decides them as follows:
 *
 *  - The other nodes are spread evenly, large ones first, over the receivers of the identified
 *    node. The receivers of a node are its ranks except the local root; a node of one rank has that
 *    rank as its receiver. Each receiver takes at most TT_LOGICAL_CHILDREN. The nodes that are left
 *    become children of the receivers of the nodes placed last, in the same way, level by level.
 *  - If the node of a caller's root is as large as any other, it is the identified node, and the
 *    caller's root is the global root and its local root. If it is smaller, the tree is built
 *    without that node, and the global root becomes a child of the caller's root, which is the
 *    local root of its own node. So the result takes one more edge, and no node is visited twice.
 *  - Operations that do not commute need operands in rank order. Then the nodes below each local
 *    root, with its own node among them, are adjacent, so that it can combine them into one
 *    operand. The nodes on either side of the identified node are cut into at most as many runs as
 *    there may be children (runs of one node each, if that is enough). The child is the largest
 *    node of a run, and among equals the one nearest to the middle; the rest of the run is attached
 *    to the child's receivers in the same way. No receiver takes more than TT_LOGICAL_CHILDREN. A
 *    caller's root that is not on the identified node may divide the row of nodes in two; then the
 *    global root sends it two runs.
 *
 * Source: docs/hierarchy.md.
 */
#ifndef TT_TOPO_LOGICAL_H
#define TT_TOPO_LOGICAL_H

#include "topo/nodes.h"

/* The most local roots that one rank takes as children. Each child is a stream that the port of the
 * rank receives in full, so the time of a long message grows with their number. The levels of the
 * tree only grow with the logarithm of the number of nodes to this base. */
enum { TT_LOGICAL_CHILDREN = 4 };

struct tt_logical {
    struct tt_nodes nodes;
    int identified;    /* the node with most ranks */
    int top;           /* the root of the whole tree: the caller's root, or the global root */
    int global;        /* the global root, on the identified node */
    int levels;        /* levels of nodes: 1 for the identified node alone */
    int most_children; /* the most children that any rank has on other nodes */
    int runs;    /* in rank order: 2 if the node of `top` lies between nodes that the global root
                  * sums; else 1 */
    int *root;   /* of each node, its local root */
    int *parent; /* of each node, the parent of its local root; -1 for the node of `top` */
    int *level;  /* of each node, its level; 0 for the node of `top` */
    /* Where operands stay in rank order, the nodes below a local root are adjacent. `begin` holds
     * the first of them for each node, except for the node of `top`. */
    int *begin;
};

/* Builds the tree; root < 0 means that the caller has no root. Returns false if there is no memory.
 * The caller frees the tree with tt_logical_free. */
bool tt_logical_of(const struct tt_map *map, int root, bool in_order, struct tt_logical *tree);
void tt_logical_free(struct tt_logical *tree);

/* The place of a rank in the tree. */
struct tt_logical_place {
    int node;   /* the rank's node, whose local root is `local` */
    int local;  /* the local root, which may be the rank itself */
    int parent; /* for a local root: a rank of another node, or -1 at the top; for other ranks:
                 * `local` */
    int children;
    int child[TT_LOGICAL_CHILDREN + 1]; /* local roots of other nodes, in ascending order */
};
struct tt_logical_place tt_logical_place(const struct tt_logical *tree, int me);
/* For a tree in rank order: returns the first of the ranks whose operands local root `local`
 * combines. The global root may have two runs; `run` 1 means the second one. */
int tt_logical_first(const struct tt_logical *tree, int local, int run);

#endif
