/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A long message within a machine that its origin helps to move: while the target reads pieces of it, the origin writes
 * others into the target's memory, each once, by two processors at the same time.
 *
 *     target                                  origin
 *       <------------------------ RTS ---------
 *     takes a seat: serial | 0
 *       -- HELP(send, to, bytes, op, seat) --->
 *     reads piece 0                           writes piece 1
 *     reads piece 3                           writes piece 2
 *       <---------------------- HELPED --------   one for each
 *       ------------------------- ACK -------->   when all have ended, as ever
 *
 * A seat is a word in the ring that the request came by: a serial number, and below it the next piece to claim. Both claim by
 * adding one to it: who gets a number below that of the pieces has the piece, alone. The origin adds by compare-and-swap, and
 * only while it finds the serial that it was told: so when all pieces are claimed the seat can be used for another message at
 * once, whatever of the last one the origin has not noticed yet. An origin that never advances claims nothing, and holds
 * nobody up; one that claims a piece has room for telling of it, and writes it and tells before its advance returns. What it
 * has written lies in the target's memory before HELPED is published (release), which the target reads before it counts
 * the piece (acquire).
 *
 * The target counts: pieces claimed, less those claimed here, are the origin's; its operation lasts until as many were told
 * of. When the origin is lost the seat's serial is changed, so that no piece is claimed by it any more, and those that it claimed
 * and told nothing of have failed. A target that leaves does the same, and waits until it has been told of the others,
 * since they are being written to its memory. A rank that was given up but still runs may write the one piece that it is at: as
 * with any buffer, what an error left under way is over when the rank is.
 */
#ifndef TT_HELP_H
#define TT_HELP_H

#include "msg/pull.h"

/* ---- At the target ---- */

/* Whether the origin's help would be of use: it has a processor of its own, and the kernel moves the bytes. */
bool tt_help_wanted(const tutti_context *context, const struct tutti_pending *receipt);
/* Bytes of a piece of such a message, at most: some for each of both, so that they end at the same time. */
int64_t tt_help_piece(int64_t bytes);
/* For the messages that this context pulls next, where there are seats. */
void tt_help_ask(tutti_context *context);
/* The number of a piece; -1: there is none left. */
int tt_help_claim(struct tutti_pending *receipt);
/* All pieces are claimed. */
void tt_help_end(tutti_context *context, struct tutti_pending *receipt);
/* HELPED has come for this operation: a piece is written, or could not be, then it is read. False: that can not be. */
bool tt_help_told(tutti_context *context, struct tt_op *op, tutti_status status, uint64_t piece);
/* The origin is gone. */
void tt_help_lost(tutti_context *context, struct tt_op *op);
/* Of any operation: if it is one of help the origin claims no more. */
void tt_help_stop(struct tt_op *op);
/* Of any operation: whether an origin may be writing to memory for it. */
bool tt_help_is_written(const struct tt_op *op);

/* ---- At the origin ---- */

/* HELP has come. */
void tt_help_asked(tutti_context *context, struct tt_peer *peer, const struct tt_packet *packet);
/* Writes a piece, if there is one. */
void tt_help_advance(tutti_context *context);
void tt_help_close(tutti_context *context);

#endif
