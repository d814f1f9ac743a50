/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The record of a packet that this rank sends. One record serves all layers, from the sender down
 * to the wire. It is queued while the packet waits for room or for a connection. It contains the
 * operation that the network completes, the bytes that the network borrows, and the function that
 * is called at the end.
 *
 * A context has a pool of records for its own packets and for messages of users. The record of a
 * message of a plan lies inside the plan's operation (tt_operation in src/run), so the message
 * needs no other memory. If the packet can be sent at once, the record is not queued, and `done` is
 * not called.
 */
#ifndef TT_TRANSFER_H
#define TT_TRANSFER_H

#include "fabric/wire.h"
#include "msg/packet.h"

struct tt_pending;
struct tt_peer;
struct tt_transfer;

typedef void tt_transfer_fn(struct tt_transfer *transfer, tutti_status status);

/* Invariants of a record that waits (tt_transfer_valid): packet.header points to `header`;
 * packet.data points to memory that the sender lent, or into `owned`; `whole` points to the record
 * itself. */
struct tt_transfer {
    struct tt_transfer *next;
    struct tt_packet packet;
    int64_t left; /* bytes of data not sent yet */
    uint64_t number;
    /* This function is called when everything was sent, with OK, or with PEER if the peer is gone.
     * NULL: the record belongs to the pool of the context, which gets it back, and `pending` is
     * notified. */
    tt_transfer_fn *done;
    /* the operation that is notified (tt_pending_gone) when everything was sent */
    struct tt_pending *pending;
    char *owned;
    tutti_context *context;
    struct tt_peer *peer; /* the destination */
    uint64_t pending_id;  /* id of `pending`, which may have ended since */
    /* The record of the whole transfer, if this record is for one of its packets; else this record
     * itself. */
    struct tt_transfer *whole;
    /* the number of packets that the network still reads: those of this record, and those of the
     * records whose `whole` is this record */
    int on_wire;
    /* everything was sent, and the record is in no list; the transfer ends when `on_wire` becomes
     * 0 */
    bool sent;
    bool lent;  /* the data belong to the caller */
    bool users; /* the packet carries a user's message or put */
    char header[TUTTI_HEADER_BYTES];
    struct tt_wire_packet wire; /* set while the network reads the packet */
};

static inline bool tt_transfer_valid(const struct tt_transfer *e)
{
    bool has_owned = e->owned && (const char *)e->packet.data >= e->owned;
    return e->packet.header == e->header && e->left >= 0 && e->whole == e &&
           (e->left == 0 || (e->lent ? !e->owned : has_owned));
}

/* Sends a message of a plan. The caller has set transfer->done and transfer->packet: kind PLAN, a
 * dispatch id of the library, header and data. The header is copied; the data are lent. A message
 * that is too long for one packet is sent as a long message with the same dispatch id. OK: it was
 * sent, and `done` is not called. AGAIN: `done` will be called. Errors: those of tt_msg_send;
 * `done` is not called. */
tutti_status tt_msg_transfer(tutti_context *context, const tutti_endpoint *to,
                             struct tt_transfer *transfer);

/* Take back the memory of a message of a plan that is sent (tt_msg_cancel_transfer), or of a put or
 * get to `rank` or a message of `rank` that is received, by its argument (tt_msg_cancel). It must
 * not have ended. They return true if somebody else still uses the memory: the network has got
 * packets from it or accesses it itself, or another process or thread writes to it. The caller must
 * then call the function again later, until it returns false or the message, put or get has ended.
 * Otherwise nobody uses the memory any more. The message, put or get ends as usual, perhaps within
 * the call. If the target of a long message has not got all data, the message ends there with
 * CANCELLED, with which nothing else ends. */
#define TT_STATUS_CANCELLED TUTTI_ERR_UNSUPPORTED
bool tt_msg_cancel_transfer(tutti_context *context, const struct tt_transfer *transfer);
bool tt_msg_cancel(tutti_context *context, int rank, const void *arg);

/* Handles a PLAN packet that rank `rank` of the job has sent to context 0 of this rank. The
 * pointers in *packet are valid during the call. */
typedef void tt_plan_packet_fn(void *arg, int rank, const struct tt_packet *packet);
void tt_msg_plan_packets(struct tt_msg *msg, tt_plan_packet_fn *fn, void *arg);

#endif
