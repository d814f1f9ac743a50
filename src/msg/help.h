/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A long message within a machine that its origin helps to move: while the target reads pieces of
 * it, the origin writes others into the target's memory, each once, by two processors at the same
 * time.
 *
 *     target                                  origin
 *       <------------------------ RTS ---------
 *     takes a seat: serial | 0 | 0
 *       -- HELP(send, to, bytes, op, seat) --->
 *     reads piece 0                           writes piece n - 1
 *     reads piece 1                           writes piece n - 2
 *       <------------------------ ACK(op) -----   one for each
 *       ------------------------- ACK(send) -->   when all have ended, as ever
 *
 * A seat is a word in the ring that the request came by: a serial number, how many pieces the
 * origin has claimed, and up to which the target has. The target's contexts take them from the
 * front and the origin from the end: so where the same places are used again and again, each part
 * of them stays in the cache of one processor. Of a message that several contexts pull in portions
 * (pull.h) the last portion is the one with a seat, which is there before another context knows of
 * the message.
 *
 * All claim by compare-and-swap of the whole word, and only while it bears the message's serial and
 * the two numbers together are below that of the pieces: so each piece is claimed once, and nobody
 * claims by a word that has become another message's. That may be as soon as all pieces have ended.
 * An origin that never advances claims nothing, and holds nobody up; one that claims a piece has
 * room for telling of it, and writes it and tells before its advance returns. What it has written
 * lies in the target's memory before its ACK is published (release), which the target reads before
 * it counts the piece (acquire). A ring keeps its order, so the k-th ACK is about the k-th piece
 * from the end.
 *
 * When the origin is lost the seat is closed to it, and what it claimed and told nothing of has
 * failed. A target that leaves closes it too, and waits until it has been told of what was claimed,
 * since that is being written to its memory. A rank that was given up but still runs may write the
 * one piece that it is at: as with any buffer, what an error left under way is over when the rank
 * is. A broken origin may write to its ring what it likes: that may end its message early, or
 * never; no piece that there is not is ever moved.
 */
#ifndef TT_HELP_H
#define TT_HELP_H

#include "msg/pull.h"

/* ---- At the target ---- */

/* Whether the origin's help would be of use: it has a processor of its own, and the kernel moves
 * the bytes. */
bool tt_help_wanted(const tutti_context *context, const struct tutti_pending *receipt);
/* Bytes of a piece of such a message, at most. */
int64_t tt_help_piece(int64_t bytes, int64_t portions);
/* Asks for it, once, if it is wanted. False: not now, for want of a seat, room or memory. */
bool tt_help_ask(tutti_context *context, struct tutti_pending *receipt);
/* For the messages that this context alone pulls next. */
void tt_help_ask_next(tutti_context *context);
/* Whether there is a piece of this portion, which the origin helps with, that nobody has: then it
 * is claimed for the target. Any context. */
bool tt_help_claim(struct tt_range *range);
/* All pieces have ended. */
void tt_help_end(tutti_context *context, struct tutti_pending *receipt);
/* An ACK has come for this operation: a piece is written, or could not be, then it is read. False:
 * that can not be. */
bool tt_help_told(tutti_context *context, struct tt_op *op, tutti_status status);
/* The origin is gone. */
void tt_help_lost(tutti_context *context, struct tt_op *op);
/* Of any operation: if it is one of help the origin claims no more. */
void tt_help_stop(struct tt_op *op);
/* Of any operation: whether an origin may be writing to memory for it. */
bool tt_help_is_written(const struct tt_op *op);

/* ---- At the origin ---- */

/* HELP has come. */
void tt_help_asked(tutti_context *context, struct tt_peer *peer, const struct tt_packet *packet);
/* Writes a piece, if there is one that can be told of. */
void tt_help_advance(tutti_context *context);
void tt_help_close(tutti_context *context);

#endif
