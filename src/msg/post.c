/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets on their way out. Those to one peer go in order: what finds no room, or nobody connected,
 * waits, and what comes after it waits behind it.
 */
#include <string.h>

#include "msg/wired.h"

/* ---- Now ---- */

static tutti_status signalling(tutti_context *c)
{
    return tt_unlikely(c->signals) ? c->f->ops->signalling(c->f->ops, c->f) : TUTTI_OK;
}

/* A ring, when the first packet goes. AGAIN: the peer has no post box yet. */
static tutti_status open_ring(tutti_context *c, struct tt_peer *peer)
{
    struct tt_mail *mail = tt_mail_of(c->f, peer->rank);
    if (!mail) return TUTTI_AGAIN;
    TT_TRY(tt_out_open(c->f, c->index, c->msg->ring_bytes, &peer->out));
    tt_fill_init(&peer->out.fill, c->msg->way, c->f->streams, c->f->job->arenas, c->f->cores);
    tt_out_announce(c->f, &peer->out, &mail->context[peer->context]);
    return TUTTI_OK;
}

static tutti_status into_ring(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    size_t n = tt_packet_front(tt_packet_args(p->kind), p->header_bytes) + p->bytes;
    bool is_long = tt_fill_is_long(p->bytes, c->msg->ring_bytes);
    if (tt_unlikely(is_long) && tt_fill_begin(c->f, &peer->out, n))
        tt_fabric_signalled_context(c->f, peer->rank, peer->context);
    char *at = tt_out_begin(&peer->out, n);
    if (tt_unlikely(!at)) {
        if (is_long) tt_fill_full(&peer->out);
        return TUTTI_AGAIN;
    }
    TT_TRY(signalling(c));
    char *data = tt_packet_write(p, at);
    if (tt_unlikely(is_long))
        tt_fill_copy(&peer->out, data, p->data, p->bytes);
    else if (p->bytes)
        tt_memcpy(data, p->data, p->bytes);
    tt_out_end(&peer->out, tt_packet_mark(p), at, n);
    tt_fabric_signalled_context(c->f, peer->rank, peer->context);
    return TUTTI_OK;
}

size_t tt_post_most(const tutti_context *c, const struct tt_peer *peer)
{
    return peer->shares ? tt_ring_data_most(c->msg->ring_bytes) : TT_WIRE_DATA;
}

static tutti_status put_out(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    if (tt_unlikely(!peer->out.ring)) TT_TRY(open_ring(c, peer));
    return into_ring(c, peer, p);
}

static bool may_go_now(const struct tt_peer *peer, const struct tt_packet *p)
{
    return !peer->waiting.first && (p->kind != TT_PACKET_FENCE || peer->wire_puts == 0);
}

tutti_status tt_post_now(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    return peer->waiting.first ? TUTTI_AGAIN : put_out(c, peer, p);
}

/* ---- Later ---- */

static void list(tutti_context *c, struct tt_peer *peer)
{
    if (peer->listed) return;
    tt_context_used(c);
    peer->listed = true;
    peer->next_waiting = c->waiting;
    c->waiting = peer;
}

static bool keep_data(struct tt_parcel *parcel, int64_t bytes, bool lent)
{
    if (lent || bytes == 0) return true;
    parcel->owned = tt_alloc((size_t)bytes);
    if (!parcel->owned) return false;
    tt_memcpy(parcel->owned, parcel->packet.data, (size_t)bytes);
    parcel->packet.data = parcel->owned;
    return true;
}

static void await(tutti_context *c, struct tt_peer *peer, struct tt_parcel *parcel)
{
    tt_parcel_append(&peer->waiting, parcel);
    list(c, peer);
}

/* The library's own messages to a team that failed may be taken by nobody. */
static bool is_users(const struct tt_packet *p)
{
    bool message =
        p->kind == TT_PACKET_EAGER || p->kind == TT_PACKET_EAGER_TOLD || p->kind == TT_PACKET_RTS;
    return (message && p->dispatch < TUTTI_DISPATCHES) || p->kind == TT_PACKET_PUT;
}

static tutti_status enqueue(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p,
                            int64_t bytes, struct tt_op *op, bool lent)
{
    struct tt_parcel *parcel = tt_parcel_take(c);
    if (!parcel) return TUTTI_ERR_MEMORY;
    parcel->packet = *p;
    parcel->left = bytes;
    parcel->op = op;
    parcel->op_id = op ? op->id : 0;
    parcel->context = c;
    parcel->peer = peer;
    parcel->lent = lent && bytes > 0;
    if (p->header_bytes) memcpy(parcel->header, p->header, p->header_bytes);
    parcel->packet.header = parcel->header;
    if (!keep_data(parcel, bytes, lent)) {
        tt_parcel_give(c, parcel);
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for a message that has to wait");
    }
    peer->parcels++;
    peer->users_parcels += is_users(p);
    peer->lent += parcel->lent;
    await(c, peer, parcel);
    return TUTTI_OK;
}

/* Of DATA and PUT a piece at a time goes; arg[1] is its offset, and only the last one of a PUT is
 * acknowledged. */
static tutti_status send_piece(tutti_context *c, struct tt_peer *peer, struct tt_parcel *parcel)
{
    struct tt_packet piece = parcel->packet;
    piece.bytes = (size_t)tt_min(parcel->left, (int64_t)tt_post_most(c, peer));
    bool last = (int64_t)piece.bytes == parcel->left;
    if (piece.kind == TT_PACKET_PUT && !last) piece.arg[2] = 0;
    TT_TRY(peer->shares ? put_out(c, peer, &piece) : tt_wired_send(c, peer, &piece, parcel));
    parcel->left -= (int64_t)piece.bytes;
    if (piece.bytes) parcel->packet.data = (const char *)parcel->packet.data + piece.bytes;
    parcel->packet.arg[1] += piece.bytes;
    return TUTTI_OK;
}

/* A fence goes when the network has put what was put before it. */
static bool may_go(const struct tt_peer *peer, const struct tt_parcel *parcel)
{
    return parcel->packet.kind != TT_PACKET_FENCE || peer->wire_puts == 0;
}

void tt_post_finish(tutti_context *c, struct tt_parcel *parcel)
{
    struct tt_op *op = parcel->op;
    bool lives = op && op->id == parcel->op_id && !op->ended && op->kind != TT_OP_NONE;
    parcel->peer->parcels--;
    parcel->peer->users_parcels -= is_users(&parcel->packet);
    parcel->peer->lent -= parcel->lent;
    tt_parcel_give(c, parcel);
    c->events++;
    if (lives) tt_op_gone(c, op);
}

/* A wire may still read what it was given: then it finishes the parcel. */
static tutti_status send_all(tutti_context *c, struct tt_peer *peer)
{
    for (struct tt_parcel *parcel; (parcel = peer->waiting.first) != NULL;) {
        if (!may_go(peer, parcel)) return TUTTI_AGAIN;
        do TT_TRY(send_piece(c, peer, parcel));
        while (parcel->left > 0);
        (void)tt_parcel_first(&peer->waiting);
        parcel->sent = true;
        if (parcel->on_wire == 0) tt_post_finish(c, parcel);
    }
    return TUTTI_OK;
}

tutti_status tt_post_waiting(tutti_context *c)
{
    tutti_status first = TUTTI_OK;
    struct tt_peer *peer = c->waiting;
    c->waiting = NULL;
    for (struct tt_peer *next; peer; peer = next) {
        next = peer->next_waiting;
        peer->listed = false;
        tutti_status status = send_all(c, peer);
        if (peer->waiting.first) list(c, peer);
        if (status > TUTTI_AGAIN && first == TUTTI_OK) first = status;
    }
    return first;
}

/* ---- Now or later ---- */

static tutti_status later(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p,
                          int64_t bytes, struct tt_op *op, bool lent)
{
    bool first = !peer->waiting.first;
    TT_TRY(enqueue(c, peer, p, bytes, op, lent));
    if (first)
        (void)send_all(c, peer); /* what fails is tried, and told, when the context is advanced */
    return TUTTI_OK;
}

tutti_status tt_post_packet(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p,
                            int64_t bytes, struct tt_op *op, bool lent)
{
    struct tt_packet whole = *p;
    whole.bytes = (size_t)bytes;
    if (!peer->shares || bytes > (int64_t)tt_post_most(c, peer))
        return later(c, peer, p, bytes, op, lent);
    tutti_status status = may_go_now(peer, p) ? put_out(c, peer, &whole) : TUTTI_AGAIN;
    if (status == TUTTI_AGAIN) return later(c, peer, p, bytes, op, lent);
    if (status == TUTTI_OK && op) tt_op_gone(c, op);
    return status;
}

void tt_post_answer(tutti_context *c, struct tt_peer *peer, enum tt_packet_kind kind, uint64_t a,
                    uint64_t b)
{
    struct tt_packet p = {.kind = kind, .arg = {a, b}};
    if (peer->gone) return;
    if (peer->shares && tt_post_now(c, peer, &p) == TUTTI_OK) return;
    tutti_status status = later(c, peer, &p, 0, NULL, false); /* there are parcels in reserve */
    if (status != TUTTI_OK) tt_take_fault(c, status);
}
