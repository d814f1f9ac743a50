/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What contexts tell each other, as bytes. A packet is a word that says what follows, and what
 * follows:
 *
 *     mark | args, 8 bytes each, as many as the kind has | header, up to a multiple of 8 | data
 *
 * In shared memory it lies in a ring (ring.h); over a wire the data are apart, and before the mark
 * stands who sends. Whatever comes is decoded by the functions here alone, which look at nothing
 * but their arguments and believe none of them.
 */
#ifndef TT_PACKET_H
#define TT_PACKET_H

#include "msg/msg.h"

/* Ids name an operation (op.h) of the context that the packet goes to, or came from. */
enum tt_packet_kind {
    TT_PACKET_NOTHING,
    TT_PACKET_EAGER,      /* a message, whole */
    TT_PACKET_EAGER_TOLD, /* the same, to be acknowledged: id */
    TT_PACKET_RTS,  /* request to send a long one: id, bytes, address; data: a wire's key, if any */
    TT_PACKET_ACK,  /* it is done, or of help one more piece: id, status */
    TT_PACKET_PULL, /* send me a part of a long message: id of it, offset, bytes, id of mine */
    TT_PACKET_DATA, /* a part of what was asked for: id, offset */
    TT_PACKET_GET,  /* send me a part of a region: region, offset, bytes, id of mine */
    TT_PACKET_PUT,  /* put this into a region: region, offset, id to acknowledge or 0 */
    TT_PACKET_FENCE,   /* acknowledge when all before this is done: id */
    TT_PACKET_CARD,    /* where is your context of this number? data: the address of who asks */
    TT_PACKET_CARD_IS, /* there: number, address as data */
    TT_PACKET_BYE,     /* whoever sent all this leaves: the end of the connection is no failure */
    TT_PACKET_LEAVING, /* whoever sent this takes no more messages: leave.c */
    /* Write pieces of a long message: id of the send, address, bytes, id of mine, serial and seat:
     * help.h. */
    TT_PACKET_HELP,
    TT_PACKET_BULK, /* the data of what comes next lie there: offset in the segment, or 0: ring.h */
    TT_PACKET_KINDS
};

enum {
    TT_ARGS = 5,           /* of a packet, at most */
    TT_BODY_MOST = 1 << 19 /* bytes of data of a packet, at most */
};

struct tt_packet {
    enum tt_packet_kind kind;
    int dispatch;
    uint64_t arg[TT_ARGS];
    const void *header;
    size_t header_bytes;
    const void *data;
    size_t bytes;
};

int tt_packet_args(enum tt_packet_kind kind);

/* Bytes of args and header, the latter rounded up. */
static inline size_t tt_packet_front(int args, size_t header_bytes)
{
    return (size_t)args * 8 + ((header_bytes + 7) & ~(size_t)7);
}

/* The mark's parts, from the lowest bit: 16 for the ring (its lap), kind 8, header bytes 8,
 * dispatch 12, data bytes 20. */
static inline uint64_t tt_packet_mark(const struct tt_packet *p)
{
    return (uint64_t)p->kind << 16 | (uint64_t)p->header_bytes << 24 | (uint64_t)p->dispatch << 32 |
           (uint64_t)p->bytes << 44;
}

static inline size_t tt_mark_bytes(uint64_t mark)
{
    return (size_t)(mark >> 44);
}

static inline size_t tt_mark_header(uint64_t mark)
{
    return (size_t)(mark >> 24 & 0xff);
}

static inline unsigned tt_mark_kind(uint64_t mark)
{
    return (unsigned)(mark >> 16 & 0xff);
}

/* Bytes that follow a mark in one piece; what the mark says is not checked. */
size_t tt_packet_length(uint64_t mark);

/* Args and header into memory that holds them; returns their end, where data go. */
char *tt_packet_write(const struct tt_packet *p, char *to);

/* Reads a packet of which `bytes` bytes follow the mark. Pointers go into them. False: it is
 * none. */
bool tt_packet_read(uint64_t mark, const void *body, size_t bytes, struct tt_packet *p);

/* ---- Of a wire ---- */

/* The head of a packet from (rank, context), into head[TT_WIRE_HEAD]; returns its bytes. */
size_t tt_packet_wire_head(const struct tt_packet *p, int rank, int context, void *head);
/* The other way; rank is found below `ranks`, context below TUTTI_CONTEXTS. False: it is none. */
bool tt_packet_wire_read(const void *head, size_t head_bytes, const void *data, size_t data_bytes,
                         int ranks, int *rank, int *context, struct tt_packet *p);

#endif
