/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The packets that contexts send each other, as bytes. A packet consists of a word, the mark, which
 * describes the packet, and of what follows the mark:
 *
 *     mark | args, 8 bytes each, as many as the kind has | header, up to a multiple of 8 | data
 *
 * In shared memory a packet lies in a packet ring (ring.h). Over a network the data are separate,
 * and the sender's rank and context stand before the mark. Only the functions here decode packets.
 * They read nothing but their arguments and check every value in them.
 */
#ifndef TT_PACKET_H
#define TT_PACKET_H

#include "msg/msg.h"

/* The comments list the args of each kind. An id is that of a pending operation (pending.c) of the
 * context that receives the packet (receiver's id) or sends it (sender's id). */
enum tt_packet_kind {
    TT_PACKET_NOTHING,
    TT_PACKET_EAGER,       /* a whole message */
    TT_PACKET_EAGER_ACKED, /* a whole message that the receiver acknowledges; args: sender's id */
    /* request to send a long message; args: sender's id, bytes, address; data: the network key, if
     * any */
    TT_PACKET_RTS,
    /* acknowledgement that an operation, or one more piece of a split copy, is done; args:
     * receiver's id, status */
    TT_PACKET_ACK,
    /* asks for a part of a long message; args: receiver's id, offset, bytes, sender's id */
    TT_PACKET_PULL,
    TT_PACKET_DATA, /* a part of the data that PULL or GET asked for; args: receiver's id, offset */
    TT_PACKET_GET,  /* asks for a part of a region; args: region, offset, bytes, sender's id */
    /* data to store in a region; args: region, offset, sender's id or 0 for no acknowledgement */
    TT_PACKET_PUT,
    /* asks for an acknowledgement when everything before this packet is done; args: sender's id */
    TT_PACKET_FENCE,
    /* asks for the address of a context; args: its number; data: the address of the context that
     * asks */
    TT_PACKET_ADDRESS,
    TT_PACKET_ADDRESS_IS, /* answer to ADDRESS; args: the context's number; data: its address */
    TT_PACKET_BYE,        /* the sender leaves: the end of this connection is no failure */
    TT_PACKET_LEAVING,    /* the sender's rank receives no more messages: leave.c */
    /* Asks the origin of a long message to write pieces of it (pull.h). Args: receiver's id,
     * address, bytes, sender's id, and in one word the serial number of the message, the size of a
     * piece in pages and the index of the claim word. */
    TT_PACKET_SPLIT,
    TT_PACKET_PLAN, /* a whole message of a plan: src/run/remote.c */
    TT_PACKET_KINDS
};

enum {
    TT_ARGS = 5,           /* args of a packet, at most */
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
uint64_t tt_packet_mark(const struct tt_packet *p);
/* Returns how many bytes follow this mark: args, header and data, which lie in one piece. Does not
 * check the mark. */
size_t tt_packet_length(uint64_t mark);
/* Writes args and header to `to`, which must have room for them. Returns how many bytes were
 * written. */
size_t tt_packet_write(const struct tt_packet *p, char *to);

/* Decodes a packet of which `bytes` bytes follow the mark. The pointers in *p refer to these bytes.
 * False: the bytes are no valid packet. */
bool tt_packet_read(uint64_t mark, const void *body, size_t bytes, struct tt_packet *p);

/* ---- Packets on a network ---- */

/* Writes the head of a packet from (rank, context) to head[TT_WIRE_HEAD]; returns its bytes. */
size_t tt_packet_wire_head(const struct tt_packet *p, int rank, int context, void *head);
/* Decodes a packet that tt_packet_wire_head encoded. Checks that rank < ranks and context <
 * TUTTI_CONTEXTS. False: the bytes are no valid packet. */
bool tt_packet_wire_read(const void *head, size_t head_bytes, const void *data, size_t data_bytes,
                         int ranks, int *rank, int *context, struct tt_packet *p);

#endif
