/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces that go up and down the logical tree of a map (topo/logical.h): a gather and a scatter.
 *
 *     [ 0  1  2  3 ]    rank 4 has the pieces of 4 and 5, and sends them to rank 1; rank 1 has then
 *          ^  ^  ^      those of 1, 4 and 5, and sends them to rank 0
 *        [4 5][6][7]
 *
 * Each rank below the root sends one message to its parent, or gets one from it, with the pieces of
 * all ranks below it. Their order is that of a walk through the tree: a rank, then what is below
 * each of its children, of which those on the rank's own node come first. If the ranks below a
 * child of the root have consecutive numbers in this order, the message lies in the root's buffer
 * as it is; otherwise the root copies the pieces between its buffer and scratch.
 */
#ifndef TT_COLL_PIECES_H
#define TT_COLL_PIECES_H

#include "coll/coll-util.h"

/* Append the steps of rank `me` in a gather and in a scatter. Errors are kept in the builder. */
void tt_pieces_gather(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                      int me);
void tt_pieces_scatter(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                       int me);

#endif
