/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slices that go up and down the logical tree of a map (topo/logical.h). Within a node they go
 * through windows; between a local root and its parent on another node they go in messages.
 *
 *     up       rank: IN -> WIN; its local root: IN op WIN@1 op ... -> message to its parent;
 *              parent: IN op message -> WIN, which the local root of its own node combines ...
 *     down     local root: OUT -> WIN; the other ranks of its node: WIN -> OUT; some of them:
 *              OUT -> message to the local root of another node; this local root: OUT -> WIN ...
 *
 * Each rank handles all its slices in one loop. While one node reduces a slice, the slice before it
 * travels between nodes, and the next node reduces the one before that: all stages work at once.
 *
 * For an operation that does not commute, operands must stay in rank order. The tree is then made
 * so that the nodes below each local root are adjacent (topo/logical.h), and the local root
 * combines them into one operand. A receiver is a rank with children on other nodes. Its operand
 * and those of these children need not be adjacent to each other. So the receiver does not combine
 * them: it puts them side by side into its window, and its local root combines all of them.
 *
 * In one case the global root (topo/logical.h) sends two operands, in two messages, to the root of
 * the call: when the ranks of that root's node lie, in rank order, between the ranks that the
 * global root combines. If the ranks of a node are not adjacent, the call is refused: nothing could
 * be combined before all operands are at one rank, which would be a gather.
 */
#ifndef TT_COLL_LOGICAL_H
#define TT_COLL_LOGICAL_H

#include "coll/coll-util.h"
#include "topo/logical.h"

/* The directions in which the data goes. With both, lane 0 goes up and lane 1 goes down. With
 * neither, only signals go up and down: a barrier. */
enum tt_logical_ways { TT_UP = 1, TT_DOWN = 2 };

/* Returns NULL if the logical tree can carry the call in these directions (bits of enum
 * tt_logical_ways), else a static text that says why not. */
const char *tt_logical_refuse(const struct tt_call *call, const struct tt_map *map, unsigned ways);
/* Appends the steps of rank `me`. Errors are kept in the builder. */
void tt_logical_build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                      int me, unsigned ways);

#endif
