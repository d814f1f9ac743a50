/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Takes back the memory that a plan has lent to a message, a put or a get, before it has ended.
 *
 *   message of one packet, in the send queue   removed from the queue
 *   long message that is sent, or put          marked as cancelled. Parts of a long message that
 *                                              wait in the send queue are replaced by an error
 *                                              (send_piece in send.c), and so is the answer to a
 *                                              later PULL packet; the rest of a put is left out
 *   long message that is received, or get      data that come in packets are dropped; the target
 *                                              asks for no more pieces
 *   packet that the network reads, memory      cannot be taken back: the caller has to wait
 *   that somebody else writes, or memory that
 *   the target reads by a key of the network
 *
 * An operation stays in the table of operations until the other side answers, since packets name
 * it. So a cancelled operation ends as any other does.
 */
#include "msg/pull.h"

/* Returns the operation that has this argument and uses memory of the caller. NULL: there is
 * none. */
static struct tt_pending *pending_of(const tutti_context *c, const void *arg)
{
    for (int i = 0; i < c->pendings; i++) {
        struct tt_pending *pending = c->pending[i];
        bool lends = pending->kind == TT_PENDING_LONG || pending->kind == TT_PENDING_PUT ||
                     pending->kind == TT_PENDING_GET;
        if (lends && pending->arg == arg) return pending;
    }
    return NULL;
}

/* Returns the message of the rank whose payload is being received with this argument. NULL: there
 * is none. */
static struct tutti_pending *receipt_of(const tutti_context *c, int rank, const void *arg)
{
    for (const struct tt_peer *peer = c->peer[rank]; peer; peer = peer->next_of_rank)
        for (struct tt_open *open = peer->oldest; open; open = open->next) {
            struct tutti_pending *r = tt_container_of(open, struct tutti_pending, open);
            if (r->state == TT_RECEIPT_PULLED && r->into.arg == arg) return r;
        }
    return NULL;
}

/* Ends the pull of a message early: asks for no more pieces, and drops the data of those that were
 * asked for. Returns false if somebody else still writes to the destination: the network, the
 * origin, or another context. Then the owner must call this again later. If no piece is left, the
 * message is completed within the call.
 *
 * Why nobody writes if this returns true: first the owner claims the pieces that were left, so
 * every piece is claimed. `left` counts a piece that anyone is moving until that has ended
 * (release; the owner reads `left` with acquire). So if `left` is the number of pieces whose data
 * this context will drop, all others have ended, and no piece can be claimed any more. */
static bool stop_pull(tutti_context *c, struct tutti_pending *r)
{
    int ok = TUTTI_OK, dropped = 0;
    atomic_fetch_add(&r->refs, 1);
    atomic_compare_exchange_strong(&r->status, &ok, (int)TT_STATUS_CANCELLED);
    if (r->split_copy) tt_split_copy_stop(r->split_copy);
    while (tt_pull_claim_any(r) >= 0) tt_pull_piece_ended(c, r, TT_STATUS_CANCELLED);
    for (int i = 0; i < c->pendings; i++) {
        struct tt_pending *pending = c->pending[i];
        bool pulls = pending->kind == TT_PENDING_PULL && pending->receipt == r;
        if (!pulls || pending->on_wire) continue;
        pending->cancelled = true;
        dropped++;
    }
    bool stopped = atomic_load_explicit(&r->left, memory_order_acquire) == dropped;
    tt_receipt_unref(r);
    return stopped;
}

/* Cancels a long message that is sent, a put or a get. Returns whether the network uses its memory:
 * the network itself executes the put or get, the target may read a long message by a key of the
 * network, or the network has got packets. Of the send-queue entries that
 * send parts of the memory (`flows`), those that are not in the queue any more are on the
 * network. */
static bool cancel_pending(struct tt_pending *pending)
{
    int on_wire = pending->flows;
    bool uses = pending->on_wire || pending->region;
    pending->cancelled = true;
    for (struct tt_transfer *x = pending->peer->waiting.first; x; x = x->next) {
        if (x->pending != pending || x->pending_id != pending->id) continue;
        uses |= x->on_wire > 0;
        on_wire--;
    }
    return uses || on_wire > 0;
}

/* Cancels a message of one packet. Returns whether the network reads its memory. If not, the
 * message waits in the send queue, and ends here. */
static bool cancel_packet(tutti_context *c, const struct tt_transfer *transfer)
{
    struct tt_send_queue *queue = &transfer->peer->waiting;
    struct tt_transfer **link = &queue->first, *x;
    while ((x = *link) != NULL && x != transfer) link = &x->next;
    if (!x) return true;
    *link = x->next;
    if (!x->next) queue->end = link;
    tt_post_finish(c, x);
    return false;
}

bool tt_msg_cancel_transfer(tutti_context *c, const struct tt_transfer *transfer)
{
    struct tt_pending *pending = pending_of(c, transfer);
    return pending ? cancel_pending(pending) : cancel_packet(c, transfer);
}

bool tt_msg_cancel(tutti_context *c, int rank, const void *arg)
{
    struct tt_pending *pending = pending_of(c, arg);
    struct tutti_pending *r = pending ? NULL : receipt_of(c, rank, arg);
    if (pending) return cancel_pending(pending);
    return r && !stop_pull(c, r);
}
