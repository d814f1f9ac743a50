/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sending messages: a short message goes in one packet; a long message is announced, and its target
 * pulls it.
 */
#include <string.h>

#include "msg/thread.h"
#include "msg/wired.h"
#include "type/layout.h"

static tutti_status gone(const tutti_context *c, int rank)
{
    char text[160];
    if (tt_common_state(c->f->job, c->f->common, rank) == TT_RANK_LEFT)
        return tt_fail(TUTTI_ERR_PEER, "rank %d has left", rank);
    return tt_fail(TUTTI_ERR_PEER, "%s",
                   tt_common_cause_text(c->f->job, c->f->common, rank, text, sizeof text));
}

tutti_status tt_send_peer(tutti_context *c, const tutti_endpoint *to, struct tt_peer **peer)
{
    if (tt_unlikely(to->msg != c->msg))
        return tt_fail(TUTTI_ERR_ARG, "the endpoint is of another client than the context");
    if (tt_unlikely(atomic_load_explicit(&c->f->job->failures, memory_order_relaxed) !=
                    c->failures))
        tt_peer_look_for_lost(c);
    *peer = tt_peer_of(c, to->rank, to->context);
    if (tt_unlikely(!*peer)) return TUTTI_ERR_MEMORY;
    return tt_unlikely((*peer)->gone || (*peer)->going) ? gone(c, to->rank) : TUTTI_OK;
}

/* ---- Checking arguments ---- */

static tutti_status check(const tutti_send *send, const struct tt_layout *layout, int64_t *bytes)
{
    int64_t span;
    if (!layout)
        return tt_fail(TUTTI_ERR_ARG,
                       "type %d is neither a basic type nor an existing derived type",
                       (int)send->type);
    if (send->count < 0)
        return tt_fail(TUTTI_ERR_ARG, "count is %lld, negative", (long long)send->count);
    if (send->count > 0 && !send->data) return tt_fail(TUTTI_ERR_ARG, "data is NULL");
    if (__builtin_mul_overflow(send->count, layout->packed, bytes) ||
        __builtin_mul_overflow(send->count, layout->extent, &span))
        return tt_fail(TUTTI_ERR_ARG, "%lld elements of %lld bytes are too large",
                       (long long)send->count, (long long)layout->packed);
    return TUTTI_OK;
}

static struct tt_packet packet_of(const tutti_send *send)
{
    return (struct tt_packet){.dispatch = send->dispatch,
                              .header = send->header,
                              .header_bytes = send->header_bytes,
                              .data = send->data};
}

static struct tt_pending *pending_of(tutti_context *c, const tutti_send *send,
                                     enum tt_pending_kind kind, struct tt_peer *peer)
{
    struct tt_pending *pending = tt_pending_new(c, kind, peer);
    if (!pending) return NULL;
    pending->sent = send->sent;
    pending->done = send->delivered;
    pending->arg = send->arg;
    return pending;
}

/* ---- Short messages ---- */

/* Sends a message without a `delivered` function to a peer of this node. If it can be sent at once,
 * no operation is needed. */
static tutti_status send_at_once(tutti_context *c, struct tt_peer *peer, const tutti_send *send,
                                 int64_t bytes)
{
    struct tt_packet p = packet_of(send);
    p.kind = TT_PACKET_EAGER;
    p.bytes = (size_t)bytes;
    if (send->sent && c->depth > 0) return TUTTI_AGAIN;
    TT_TRY(tt_post_now(c, peer, &p));
    peer->risked++;
    if (send->sent) {
        c->depth++;
        send->sent(c, send->arg, TUTTI_OK);
        c->depth--;
    }
    return TUTTI_OK;
}

/* Sends a message with an operation, which calls `sent` and `delivered`. `packed`, if not NULL,
 * holds the data and is freed with the operation. */
static tutti_status send_tracked(tutti_context *c, struct tt_peer *peer, const tutti_send *send,
                                 int64_t bytes, char *packed)
{
    struct tt_packet p = packet_of(send);
    struct tt_pending *pending = pending_of(c, send, TT_PENDING_TRACKED, peer);
    if (!pending) return TUTTI_ERR_MEMORY;
    pending->packed = packed;
    if (packed) p.data = packed;
    p.kind = send->delivered ? TT_PACKET_EAGER_TOLD : TT_PACKET_EAGER;
    p.arg[0] = pending->id;
    p.bytes = (size_t)bytes;
    peer->risked += !send->delivered;
    tutti_status status = tt_post_packet(c, peer, &p, bytes, pending, true);
    if (status == TUTTI_OK) return TUTTI_OK;
    peer->risked -= !send->delivered;
    pending->packed = NULL; /* still belongs to the caller */
    tt_pending_free(c, pending);
    return status;
}

static tutti_status send_short(tutti_context *c, struct tt_peer *peer, const tutti_send *send,
                               int64_t bytes)
{
    if (!send->delivered && peer->shares) {
        tutti_status status = send_at_once(c, peer, send, bytes);
        if (tt_likely(status != TUTTI_AGAIN)) return status;
    }
    return send_tracked(c, peer, send, bytes, NULL);
}

/* ---- Long messages ---- */

/* Over a network the request carries the key by which the target can get the data. */
static void offer(tutti_context *c, struct tt_pending *pending, struct tt_packet *p, char *key)
{
    p->arg[2] = (uint64_t)(uintptr_t)pending->data;
    p->bytes = tt_wired_offer(c, pending, key);
    p->data = key;
}

static tutti_status send_long(tutti_context *c, struct tt_peer *peer, const tutti_send *send,
                              int64_t bytes, char *packed)
{
    char key[TT_WIRE_KEY];
    struct tt_packet p = packet_of(send);
    struct tt_pending *pending = pending_of(c, send, TT_PENDING_LONG, peer);
    if (!pending) return TUTTI_ERR_MEMORY;
    pending->users = send->dispatch < TUTTI_DISPATCHES;
    pending->packed = packed;
    pending->data = packed ? packed : send->data;
    pending->bytes = bytes;
    p.kind = TT_PACKET_RTS;
    p.data = NULL;
    p.arg[0] = pending->id;
    p.arg[1] = (uint64_t)bytes;
    p.arg[2] = tt_fabric_address(c->f, pending->data);
    if (!peer->shares) offer(c, pending, &p, key);
    tutti_status status = tt_post_packet(c, peer, &p, (int64_t)p.bytes, NULL, false);
    if (status == TUTTI_OK) return TUTTI_OK;
    pending->packed = NULL; /* still belongs to the caller */
    tt_pending_free(c, pending);
    return status;
}

/* Sends elements whose layout in memory is not packed. */
static tutti_status send_packed(tutti_context *c, struct tt_peer *peer, const tutti_send *send,
                                const struct tt_layout *layout, int64_t bytes, bool eager)
{
    char *packed = tt_alloc((size_t)bytes);
    if (!packed)
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for %lld bytes of packed elements",
                       (long long)bytes);
    tt_layout_pack(layout, packed, send->data, send->count);
    tutti_status status = eager ? send_tracked(c, peer, send, bytes, packed)
                                : send_long(c, peer, send, bytes, packed);
    if (status != TUTTI_OK) tt_free(packed);
    return status;
}

tutti_status tt_msg_send(tutti_context *c, const tutti_send *send)
{
    int64_t bytes = 0;
    struct tt_peer *peer = NULL;
    const struct tt_layout *layout = tt_layout_find(send->type);
    TT_TRY(check(send, layout, &bytes));
    tt_enter(c);
    tutti_status status = tt_send_peer(c, send->to, &peer);
    if (tt_likely(status == TUTTI_OK)) {
        bool eager = bytes <= (peer->shares ? c->msg->eager_most : c->msg->wire_eager_most);
        if (tt_unlikely(!layout->solid && bytes > 0))
            status = send_packed(c, peer, send, layout, bytes, eager);
        else if (tt_likely(eager))
            status = send_short(c, peer, send, bytes);
        else
            status = send_long(c, peer, send, bytes, NULL);
    }
    tt_leave(c);
    return status;
}

/* ---- Messages of plans ---- */

static void long_sent(tutti_context *c, void *arg, tutti_status status)
{
    struct tt_transfer *x = arg;
    (void)c;
    x->done(x, status);
}

static tutti_status transfer_long(tutti_context *c, struct tt_peer *peer, struct tt_transfer *x)
{
    const struct tt_packet *p = &x->packet;
    tutti_send send = {.dispatch = p->dispatch,
                       .header = p->header,
                       .header_bytes = p->header_bytes,
                       .data = p->data,
                       .sent = long_sent,
                       .arg = x};
    TT_TRY(send_long(c, peer, &send, (int64_t)p->bytes, NULL));
    return TUTTI_AGAIN;
}

tutti_status tt_msg_transfer(tutti_context *c, const tutti_endpoint *to, struct tt_transfer *x)
{
    struct tt_peer *peer = NULL;
    tt_enter(c);
    tutti_status status = tt_send_peer(c, to, &peer);
    if (tt_likely(status == TUTTI_OK)) {
        int64_t most = peer->shares ? c->msg->eager_most : c->msg->wire_eager_most;
        status = (int64_t)x->packet.bytes <= most ? tt_post_transfer(c, peer, x)
                                                  : transfer_long(c, peer, x);
    }
    tt_leave(c);
    return status;
}

/* ---- Immediate messages ---- */

/* Immediate messages that may wait to be sent to a peer over the network: they take the library's
 * memory. If there are more, the call returns AGAIN. */
enum { IMMEDIATES_MOST = 128 };

static tutti_status immediate(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    tutti_status status;
    if (tt_likely(peer->shares))
        status = tt_post_now(c, peer, p);
    else if (peer->send_entries >= IMMEDIATES_MOST)
        status = TUTTI_AGAIN;
    else
        status = tt_post_packet(c, peer, p, (int64_t)p->bytes, NULL, false);
    peer->risked += status == TUTTI_OK;
    return status;
}

tutti_status tt_msg_immediate(tutti_context *c, tutti_endpoint *to, int dispatch,
                              const void *header, size_t header_bytes, const void *data,
                              size_t bytes)
{
    struct tt_peer *peer = NULL;
    struct tt_packet p = {.kind = TT_PACKET_EAGER,
                          .dispatch = dispatch,
                          .header = header,
                          .header_bytes = header_bytes,
                          .data = data,
                          .bytes = bytes};
    tt_enter(c);
    tutti_status status = tt_send_peer(c, to, &peer);
    if (tt_likely(status == TUTTI_OK)) status = immediate(c, peer, &p);
    tt_leave(c);
    return status;
}
