/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Takes back the memory that a plan has lent to a put or to a message, before all of it was sent.
 *
 *   message of one packet, in the send queue   removed from the queue
 *   long message, or put                       marked as cancelled. Parts of a long message that
 *                                              wait in the send queue are replaced by an error
 *                                              (send_piece in send.c), and so is the answer to a
 *                                              later PULL packet; the rest of a put is left out
 *   packet that the network reads              cannot be taken back: the caller has to wait
 *
 * The operation stays in the table of operations until the target answers, since packets name it.
 * So a cancelled operation ends as any other does.
 */
#include "msg/inside.h"

/* Returns the operation that has this argument and that reads memory of the caller. NULL: there is
 * none. */
static struct tt_pending *reader(const tutti_context *c, const void *arg)
{
    for (int i = 0; i < c->pendings; i++) {
        struct tt_pending *pending = c->pending[i];
        bool lends = pending->kind == TT_PENDING_LONG || pending->kind == TT_PENDING_PUT;
        if (lends && pending->arg == arg) return pending;
    }
    return NULL;
}

/* Cancels a long message or a put. Returns whether the network reads its memory: the network itself
 * executes the put, or it has got packets. Of the send-queue entries that send parts of the memory
 * (`flows`), those that are not in the queue any more are on the network. */
static bool cancel_pending(struct tt_pending *pending)
{
    int on_wire = pending->flows;
    bool reads = pending->on_wire;
    pending->cancelled = true;
    for (struct tt_transfer *x = pending->peer->waiting.first; x; x = x->next) {
        if (x->pending != pending || x->pending_id != pending->id) continue;
        reads |= x->on_wire > 0;
        on_wire--;
    }
    return reads || on_wire > 0;
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

bool tt_msg_cancel(tutti_context *c, const void *arg)
{
    struct tt_pending *pending = reader(c, arg);
    return pending ? cancel_pending(pending) : cancel_packet(c, arg);
}
