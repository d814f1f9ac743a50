/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A long message at its target: the contexts of the client pull it together.
 *
 *     |<------------- portion of context 0 ----------->|<------- portion of context 1 ----- ...
 *     |  piece 0  |  piece 1  |  piece 2  |  piece 3   |  piece 4  |  ...
 *        page boundaries ^           ^           ^
 *
 * Each context is posted its portion, and claims its pieces one by one; one that has nothing of its
 * own left claims those of others. So a portion whose context nobody advances holds nobody up, and
 * nobody waits for the slowest. A context that has not taken the portion that it was posted last
 * gets no other: what it holds on to is one receipt, however many come.
 *
 * Whoever claims a piece has it there before its advance returns (it is copied, or the kernel reads
 * it), or has told the network to get it, or asks its origin to send it. Only the owner asks. So
 * nothing waits for packets to a context that stopped being advanced but for what its own handlers
 * took; and the origin, whose one context sends all that is asked for, would send it no faster to
 * several. A piece that another context claimed, and that the network turns out not to reach for
 * it, goes back to the owner as posted work. Pieces of the last portion its origin may claim too:
 * help.h.
 *
 * A claim is a fetch-and-add of the portion's counter, before which one that the origin helps with
 * is claimed in its seat: who gets a number below the end has the piece, alone. Whoever ends the
 * last piece (the count of those left becomes 0) hands the receipt back to the context whose
 * handler took the message, by its work queue; that one completes it, once. What it takes to
 * receive it (the packed copy, the hold on the layout, the wire's key) goes then: no piece is left
 * that could use it. The receipt itself lasts until nobody refers to it: the owner until it is
 * complete, the operation by which its origin helps, each posted portion until its context took it
 * from its queue, each piece under way, and who looks for pieces.
 */
#ifndef TT_PULL_H
#define TT_PULL_H

#include "msg/inside.h"

/* How a message's bytes are cut. Where pieces begin, but for the first, the destination begins a
 * page. */
struct tt_pieces {
    int64_t take;  /* bytes in all */
    int64_t bytes; /* of a piece, but for the first and the last */
    int64_t lead;  /* by which the first one's destination stands behind a page's beginning */
    int n;
};

enum { TT_PAGE = 4096 };

/* Of `take` bytes to an address: in pieces of `bytes` bytes, some pages. */
struct tt_pieces tt_pieces_by(int64_t take, uint64_t to, int64_t bytes);
/* In `portions` portions, of pieces of `most` bytes, or a page more, at most. */
struct tt_pieces tt_pieces_of(int64_t take, uint64_t to, int64_t portions, int64_t most);
/* Where piece i begins; i == n: where the last one ends. */
static inline int64_t tt_piece_begin(const struct tt_pieces *p, int i)
{
    if (i == 0) return 0;
    return i == p->n ? p->take : i * p->bytes - p->lead;
}

struct tt_range {
    _Alignas(TT_LINE) _Atomic int next; /* the next piece to claim; from `end` on: none */
    _Atomic int end;                    /* less those that the origin told of */
    struct tt_help_seat *seat; /* where the origin claims too; NULL: it does not (help.h) */
    uint32_t serial;           /* there */
    struct tutti_pending *receipt;
    struct tt_work work;
    struct tt_range *next_of_context;
};

enum tt_receipt_state { TT_RECEIPT_NEW, TT_RECEIPT_PUT_OFF, TT_RECEIPT_PULLED };

/* A message that is being received, or will be. */
struct tutti_pending {
    struct tt_open open; /* in its peer's list, unless NEW */
    enum tt_receipt_state state;
    tutti_context *context; /* of its handler: the owner */
    struct tt_peer *peer;
    uint64_t id; /* of the send at its origin; 0: nobody is to be told */
    bool is_long;
    int64_t bytes;
    tt_address address; /* of a long one, at its origin */
    char *data;         /* of another: a copy of the payload */
    size_t key_bytes;   /* of a wire's key in `data`; of a long one */
    /* How it is received. */
    tutti_receive into;
    struct tt_layout *layout; /* held */
    int64_t take;             /* bytes that fit */
    char *to, *packed;        /* where they go; packed: to be unpacked from there */
    /* How it is pulled. */
    struct tt_pieces pieces;
    int ranges;
    struct tt_range *range; /* &one, or of the heap */
    struct tt_range one;
    struct tt_op *help; /* told of what the origin moved; NULL: it was not asked */
    struct tt_work finish;
    struct tutti_pending *next_shared, **link; /* in the client's list */
    _Alignas(TT_LINE) _Atomic int left;        /* pieces */
    _Atomic int refs, status;
};

/* Pulls receipt->take bytes to receipt->to; tt_receive_ready is called in its context when they are
 * there, maybe before this returns. */
void tt_pull_start(tutti_context *context, struct tutti_pending *receipt);
/* Pulls a piece, if there is one to pull. */
void tt_pull_advance(tutti_context *context);
/* Whether there is. */
static inline bool tt_pull_wanted(const tutti_context *context)
{
    return context->ranges ||
           tt_unlikely(atomic_load_explicit(&context->msg->pulls.n, memory_order_acquire) > 0);
}
/* Reads a piece of one that lies within this machine, where the kernel can. */
tutti_status tt_pull_read(tutti_context *context, struct tutti_pending *receipt, int piece);
/* One of the receipt's pieces has ended. Some context of the client. */
void tt_pull_piece_ended(tutti_context *context, struct tutti_pending *receipt,
                         tutti_status status);
/* What a pull asked for has come, or never will. */
void tt_pull_answered(tutti_context *context, struct tt_op *op, tutti_status status);
/* All of it is done: nobody looks for its pieces any more. */
void tt_pull_end(tutti_context *context, struct tutti_pending *receipt);
void tt_pull_close(tutti_context *context);

/* ---- receive.c ---- */

/* All pieces have come, or failed. */
void tt_receive_ready(tutti_context *context, struct tutti_pending *receipt);
/* One reference less; with the last one it goes. */
void tt_receive_unref(struct tutti_pending *receipt);
/* Those of a peer that will never be complete. */
void tt_receive_drop(struct tt_peer *peer);

#endif
