/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The logical tree of the ranks of a map (map.h): a tree along which collectives send data within
 * nodes and between nodes, which may have different numbers of ranks.
 *
 *     [ 0  1  2  3 ]    the identified node: the node with most ranks; 0 is the global root, and
 *          ^  ^  ^      1 2 3 are its children
 *        [4 5][6][7]    the other nodes: each has a local root (4 6 7), whose children are the
 *                       node's other ranks (5); an arrow leads from a local root to its parent, a
 *                       rank of the identified node that is not the global root
 *
 * docs/hierarchy.md, where the tree comes from, leaves some cases open. They are decided as
 * follows:
 *
 *  - The nodes other than the identified node are spread evenly, large ones first, over its
 *    receivers. The receivers of a node are its ranks except the local root; a node of one rank has
 *    that rank as its receiver. Each receiver takes at most TT_LOGICAL_CHILDREN nodes. The nodes
 *    that remain become children of the receivers of the nodes placed last, in the same way, level
 *    by level.
 *  - A caller may have a root (of a bcast, for example). If the node of the caller's root is as
 *    large as any other node, it is the identified node, and the caller's root is the global root
 *    and the local root of this node. If it is smaller, the tree is built without that node, and
 *    the global root becomes a child of the caller's root, which is the local root of its own node.
 *    So data pass one more edge of the tree, and no node is visited twice.
 *  - Operations that do not commute need operands in rank order. For these, each local root's own
 *    node and the nodes below it are adjacent in rank order, so that the local root can combine
 *    their operands into one. The nodes on either side of the identified node are cut into runs of
 *    adjacent nodes. There are at most as many runs as the receivers of the identified node
 *    together may have children. If they may have all these nodes as children, each run is one
 *    node. The largest node of a run becomes a child, and among equally large ones the one nearest
 *    to the middle of the run; the other nodes of the run are attached to the receivers of this
 *    child in the same way. No receiver takes more than TT_LOGICAL_CHILDREN. A caller's root that
 *    is not on the identified node may lie on a node between other nodes. The global root then
 *    sends it two operands: one for the nodes before it, and one for the nodes after it.
 *
 * Source: docs/hierarchy.md.
 */
#ifndef TT_TOPO_LOGICAL_H
#define TT_TOPO_LOGICAL_H

#include "topo/nodes.h"

/* The most local roots of other nodes that one rank takes as children. The rank receives a long
 * message from each child through the same network port, so the time grows in proportion to the
 * number of children, while the number of levels of the tree falls only with the logarithm to this
 * base. */
enum { TT_LOGICAL_CHILDREN = 4 };

struct tt_logical {
    struct tt_nodes nodes;
    int identified;    /* the node with most ranks */
    int top;           /* the root of the whole tree: the caller's root, or the global root */
    int global;        /* the global root, on the identified node */
    int levels;        /* levels of nodes: 1 for the identified node alone */
    int most_children; /* the most children on other nodes that any rank has */
    /* how many operands the global root sends: 2 if the tree is in rank order, `top` is not on the
     * identified node, and the node of `top` is neither the first nor the last node; else 1 */
    int runs;
    int *root;   /* the local root of each node */
    int *parent; /* the parent of each node's local root; -1 for the node of `top` */
    int *level;  /* the level of each node; 0 for the node of `top` */
    /* Only in a tree in rank order: begin[k] is the lowest number among node k and the nodes below
     * its local root. These nodes have adjacent numbers, except that the node of `top` may lie
     * between the identified node and nodes below it. Not set for the node of `top`, unless this is
     * the identified node. */
    int *begin;
};

/* Builds the tree. `root`: the caller's root; negative: there is none. `in_order`: in rank order,
 * for operations that do not commute. Returns false if there is no memory. The caller frees the
 * tree with tt_logical_free. */
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
/* For a tree in rank order: the local root `local` combines the operands of some ranks into an
 * operand that it sends. Returns the lowest of these ranks. `run` is 0 if the local root sends one
 * operand. The global root may send two (tree->runs): `run` is 0 for the operand of the ranks
 * before the node of the caller's root, and 1 for the operand of the ranks after this node. */
int tt_logical_first(const struct tt_logical *tree, int local, int run);

#endif
