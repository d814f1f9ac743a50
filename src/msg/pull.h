/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the target of a long message gets the data: the contexts of its client pull the message
 * together.
 *
 *     |<------------- portion of context 0 ----------->|<------- portion of context 1 ----- ...
 *     |  piece 0  |  piece 1  |  piece 2  |  piece 3   |  piece 4  |  ...
 *        page boundaries ^           ^           ^
 *
 * Each context receives one portion as posted work and claims the pieces of that portion one by
 * one. A context that has no pieces of its own left claims pieces of other portions. So a context
 * that nobody advances delays no message, and nobody waits for the slowest context. A context gets
 * no further portion until it has taken the last portion that was posted to it. So a context that
 * nobody advances holds on to at most one message, however many messages arrive.
 *
 * The context that claims a piece does one of three things:
 *
 * - it copies the piece, or has the kernel read it, before its advance returns;
 * - it starts a get of the network;
 * - it asks the origin to send the piece. Only the owner does so, which is the context whose
 *   handler received the message.
 *
 * If every context asked, the origin might send pieces to a context that nobody advances any more,
 * and any message would have to wait for them. As only the owner asks, such a context can delay
 * only the messages that its own handlers received. Several contexts could not make the origin
 * faster either, since one context of the origin sends everything that was asked for. If another
 * context has claimed a piece and turns out not to reach the data by the network, the piece goes
 * back to the owner as posted work. The origin may claim pieces of the last portion, too: see split
 * copies below.
 *
 * Why each piece is pulled once: a claim is a fetch-and-add of the portion's counter, and the
 * context that gets a number below the end has the piece. In a portion with a claim word (below)
 * the context claims by the claim word first. The context that ends the last piece (it reduces the
 * count of pieces left to 0) posts the message back to the owner, which completes it once. The
 * completion frees what the transfer needed (the packed copy, the hold on the layout, the network's
 * key), since no piece is left that could use it. The struct itself is freed with its last
 * reference. These hold references: the owner, until the message is complete; the operation of a
 * split copy; each portion that a context has; each piece under way; and a context that looks for
 * pieces. When a context claims the last piece of its portion, the piece takes over the portion's
 * reference.
 */
#ifndef TT_PULL_H
#define TT_PULL_H

#include "msg/inside.h"

/* How the bytes of a message are cut into pieces. Each piece but the first begins at a page
 * boundary of the destination. */
struct tt_pieces {
    int64_t take;  /* bytes of the whole message */
    int64_t bytes; /* bytes of a piece, except the first and the last */
    int64_t lead;  /* bytes between the start of the destination's first page and the destination */
    int n;
};

enum { TT_PAGE = 4096 };

/* A portion of a long message. */
struct tt_pull_range {
    _Alignas(TT_LINE) _Atomic int next; /* the next piece to claim; `end` or more: none is left */
    /* one more than the index of the portion's last piece; a split copy lowers it by 1 for each
     * piece that the origin has acknowledged */
    _Atomic int end;
    /* the claim word by which the origin, too, claims pieces (see below); NULL: the origin claims
     * none */
    struct tt_claim_word *claim;
    uint32_t serial; /* the message's serial number in the claim word */
    struct tutti_pending *receipt;
    struct tt_work work;
    struct tt_pull_range *next_of_context;
};

/* The state of a message that has arrived. NEW: its handler is running or has not been called.
 * PUT_OFF: its handler has put it off. PULLED: its payload is being received. */
enum tt_receipt_state { TT_RECEIPT_NEW, TT_RECEIPT_PUT_OFF, TT_RECEIPT_PULLED };

/* A message that is being received, or that its handler has put off. */
struct tutti_pending {
    /* the entry in the peer's list of messages that are not done (struct tt_peer); a message in the
     * state NEW is not in the list */
    struct tt_open open;
    enum tt_receipt_state state;
    tutti_context *context; /* the context whose handler received the message: the owner */
    struct tt_peer *peer;
    /* id of the send operation at the origin; 0: the origin needs no acknowledgement */
    uint64_t id;
    bool is_long;
    int64_t bytes;
    tt_address address; /* long message: where the data are at the origin */
    char *data;         /* short message: a copy of the payload; long message: the network's key */
    size_t key_bytes;   /* long message: bytes of the key; 0: none */
    /* Where the data are to be stored. */
    tutti_receive into;
    /* the layout of the destination's type, to which this struct holds a reference */
    struct tt_layout *layout;
    int64_t take;      /* bytes of the payload that fit into the destination */
    char *to, *packed; /* destination; packed: a buffer to unpack from, NULL if not needed */
    /* How the data are pulled. */
    struct tt_pieces pieces;
    int ranges;
    struct tt_pull_range *range; /* the portions: &one, or allocated */
    struct tt_pull_range one;
    struct tt_pending *split_copy; /* the operation of the split copy; NULL: there is none */
    tutti_work_fn *ready;          /* completes the message in the owner's context */
    struct tt_work finish;
    struct tutti_pending *next_shared, **link; /* in the list of messages that all contexts pull */
    _Alignas(TT_LINE) _Atomic int left;        /* pieces that have not ended */
    _Atomic int refs, status;
};

/* Pulls receipt->take bytes to receipt->to. When all these bytes have arrived or failed,
 * receipt->ready is called in the owner's context, possibly before this function returns. */
void tt_pull_start(tutti_context *context, struct tutti_pending *receipt);
/* Pulls one piece, if there is one. */
void tt_pull_advance(tutti_context *context);
/* Ends the pull of a message whose pieces have all ended. After this call, no context looks for
 * pieces of the message any more. */
void tt_pull_end(tutti_context *context, struct tutti_pending *receipt);
/* Claims a piece of the message that nobody has claimed. Returns its number; -1: there is none. */
int tt_pull_claim_any(struct tutti_pending *receipt);
/* Records that a piece has ended. After the last piece, the owner's context completes the message.
 * Any context of the client may call this function. */
void tt_pull_piece_ended(tutti_context *context, struct tutti_pending *receipt,
                         tutti_status status);
/* Drops the context's references to messages, before the context is freed. */
void tt_pull_close(tutti_context *context);
/* Frees what was needed only to receive the payload: the reference to the layout, the packed copy,
 * and the network's key or the copy of the data. */
void tt_receipt_release(struct tutti_pending *receipt);
/* Drops a reference; the last one frees the struct. */
void tt_receipt_unref(struct tutti_pending *receipt);

/* ---- Split copies ---- */

/*
 * Split copies: the origin of a long message within a node helps to move it. While the target reads
 * pieces of the message, the origin writes other pieces into the target's memory. Each piece is
 * moved once, and two processors work at the same time.
 *
 *     target                                  origin
 *       <------------------------ RTS ---------
 *     takes a claim word: serial | 0 | 0
 *       -- SPLIT(send, to, bytes, op, claim word) -->
 *     reads piece 0                           writes piece n - 1
 *     reads piece 1                           writes piece n - 2
 *       <------------------------ ACK(op) -----   one for each piece written
 *       ------------------------- ACK(send) -->   when all pieces have ended, as always
 *
 * RTS, SPLIT and ACK are packets (packet.h); RTS is the request to send. In the picture, `send` and
 * `op` are the ids of the operations at the origin and at the target, `to` and `bytes` say where
 * the message lies at the target, and n is the number of pieces. A claim word is a word in the
 * packet ring by which the request to send came. It holds the message's serial number, how many
 * pieces the origin has claimed, and how many the target has claimed. The target's contexts claim
 * pieces from the front and the origin claims them from the end. So if a program uses the same
 * buffers again and again, each part of them stays in the cache of one processor. If several
 * contexts pull a message in portions (above), the last portion is the one with a claim word. The
 * claim word is set up before any other context knows of the message.
 *
 * A claim is a compare-and-swap of the whole word. It succeeds only while the word holds the
 * message's serial number and the sum of the two counts is below the number of pieces. So each
 * piece is claimed once, and nobody claims a piece of this message by a word that belongs to a
 * later message. A later message may take the word as soon as all pieces of this message have
 * ended. An origin that never advances claims nothing and delays nobody. An origin claims a piece
 * only if it has room to acknowledge it, and writes and acknowledges it before its advance returns.
 * The bytes that it wrote are in the target's memory before it publishes the ACK (release); the
 * target reads the ACK before it counts the piece (acquire). A ring preserves order, so the k-th
 * ACK is about the k-th piece from the end.
 *
 * If the origin is lost, the target closes the claim word, and the pieces that the origin claimed
 * and did not acknowledge have failed. A target that leaves also closes the claim word; it then
 * waits until all claimed pieces have been acknowledged, since the origin is writing them to the
 * target's memory. A rank that counts as failed but still runs may go on writing the one piece that
 * it is working on. So the buffer of an operation that ended with an error may still change until
 * that rank has ended. A broken origin may write any value to the words in its own ring. Such a
 * value can end the origin's own message early, or keep it from ending; it cannot make the target
 * read a piece that does not exist.
 */

/* Prevents the origin from claiming more pieces. Does nothing for other kinds of operation. */
void tt_split_copy_stop(struct tt_pending *pending);
/* Returns whether the origin may be writing to this rank's memory for this operation, because it
 * has claimed a piece. Returns false for other kinds of operation. */
bool tt_split_copy_is_written(const struct tt_pending *pending);

/* Handles a SPLIT packet. */
void tt_split_copy_asked(tutti_context *context, struct tt_peer *peer,
                         const struct tt_packet *packet);
/* Writes one piece, if there is one and its acknowledgement can be sent at once. */
void tt_split_copy_advance(tutti_context *context);
void tt_split_copy_close(tutti_context *context);

#endif
