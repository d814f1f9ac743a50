/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slices going up and down the logical tree of a map (topo/logical.h): through windows within a
 * node, by messages between local roots and their parents on other nodes.
 *
 *     up       IN -> WIN == local root: IN op WIN@1 op ... -> message -> parent: IN op message ->
 *              WIN == ...
 *     down     OUT -> WIN == OUT of the node's others, of which some send it on -> message -> local
 *              root's OUT ...
 *
 * Each rank goes through all its slices in one loop, so that while a slice is reduced on one node
 * the one before it is between the nodes, and the one before that is reduced on the next: all
 * stages are busy at once.
 *
 * Operands that must stay in rank order: the tree is made so that the nodes below each local root
 * are a run (topo/logical.h), which it combines into one operand. Of that the runs below a receiver
 * and its own operand are parts that do not lie next to each other; so it hands them on uncombined,
 * side by side in its window, and its local root combines. Only what the global root has for a
 * caller's root on a node between others is two runs, sent as two messages. Where the ranks of a
 * node are not adjacent it is refused: nothing could be combined before all operands are at one
 * rank, which is a gather.
 */
#ifndef TT_COLL_LOGICAL_H
#define TT_COLL_LOGICAL_H

#include "coll/coll-util.h"
#include "topo/logical.h"

/* Which ways the data goes; both: up in lane 0, down in lane 1. */
enum tt_logical_ways { TT_UP = 1, TT_DOWN = 2 };

/* Any reason not to. */
const char *tt_logical_refuse(const struct tt_call *call, const struct tt_map *map, unsigned ways);
/* The most of any rank. */
struct tt_count tt_logical_count(const struct tt_call *call, const struct tt_map *map,
                                 unsigned ways);
void tt_logical_build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                      int me, unsigned ways);

#endif
