/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sending packets, and the queue of packets that wait.
 */
#include "msg/inside.h"

#include <string.h>

#include "msg/thread.h"

/* ---- The send queue ---- */

/* The send-queue entries of a context: packets that wait. Some entries are kept in reserve. A
 * received packet is handled only when there are enough of them to answer it, so no answer is lost
 * for want of memory. */

static bool add(tutti_context *c)
{
    struct tt_transfer *p = tt_alloc_lines(sizeof *p);
    if (!p) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for a message that has to wait");
        return false;
    }
    p->next = c->spare_entry;
    p->owned = NULL;
    c->spare_entry = p;
    c->spare_entries++;
    return true;
}

bool tt_transfer_reserve(tutti_context *c)
{
    while (c->spare_entries < TT_SEND_ENTRIES_RESERVED)
        if (!add(c)) return false;
    return true;
}

struct tt_transfer *tt_transfer_take(tutti_context *c)
{
    if (!c->spare_entry && !add(c)) return NULL;
    struct tt_transfer *p = c->spare_entry;
    c->spare_entry = p->next;
    c->spare_entries--;
    *p = (struct tt_transfer){0};
    return p;
}

void tt_transfer_give(tutti_context *c, struct tt_transfer *p)
{
    if (p->owned) tt_free(p->owned);
    p->owned = NULL;
    p->next = c->spare_entry;
    c->spare_entry = p;
    c->spare_entries++;
}

void tt_send_queue_append(struct tt_send_queue *queue, struct tt_transfer *p)
{
    p->next = NULL;
    *queue->end = p;
    queue->end = &p->next;
}

struct tt_transfer *tt_send_queue_shift(struct tt_send_queue *queue)
{
    struct tt_transfer *p = queue->first;
    if (!p) return NULL;
    queue->first = p->next;
    if (!p->next) queue->end = &queue->first;
    return p;
}

void tt_send_queue_drop(tutti_context *c, struct tt_send_queue *queue)
{
    for (struct tt_transfer *p; (p = tt_send_queue_shift(queue)) != NULL;) {
        p->sent = true;
        p->pending = NULL;
        if (p->on_wire > 0) continue;
        if (p->done)
            tt_post_finish(c, p);
        else
            tt_transfer_give(c, p);
    }
}

void tt_transfer_close(tutti_context *c)
{
    for (struct tt_transfer *next; c->spare_entry; c->spare_entry = next) {
        next = c->spare_entry->next;
        tt_free(c->spare_entry);
    }
}

/* ---- Sending ---- */

/* Sending packets. The packets to one peer are sent in order: a packet that finds no room or no
 * connection waits, and later packets wait behind it. */

/* ---- Sending at once ---- */

/* Makes the packet ring for the first packet. AGAIN: the peer's rank has no mailbox yet. */
static tutti_status open_ring(tutti_context *c, struct tt_peer *peer)
{
    struct tt_mailbox *mailbox = tt_mailbox_of(c->f, peer->rank);
    if (!mailbox) return TUTTI_AGAIN;
    TT_TRY(tt_out_open(c->f, c->index, c->msg->ring_bytes, &peer->out));
    peer->out.fill = tt_fill_method(c->msg->fill, c->f->streams, c->f->job->arenas, c->f->cores);
    tt_out_announce(c->f, &peer->out, &mailbox->context[peer->context]);
    return TUTTI_OK;
}

static tutti_status send_into_ring(tutti_context *c, struct tt_peer *peer,
                                   const struct tt_packet *p, struct tt_transfer *entry)
{
    (void)entry;
    if (tt_unlikely(!peer->out.ring)) TT_TRY(open_ring(c, peer));
    uint64_t mark = tt_packet_mark(p);
    size_t n = tt_packet_length(mark);
    bool is_long = p->bytes >= peer->out.long_least;
    char *at = tt_out_begin(&peer->out, n);
    if (tt_unlikely(!at)) {
        peer->out.is_full |= is_long;
        return TUTTI_AGAIN;
    }
    if (tt_unlikely(c->signals)) TT_TRY(c->f->ops->signalling(c->f->ops, c->f));
    tt_packet_write(p, at);
    if (tt_unlikely(is_long))
        tt_out_fill(&peer->out, at + n - p->bytes, p->data, p->bytes);
    else if (p->bytes)
        tt_memcpy(at + n - p->bytes, p->data, p->bytes);
    tt_out_end(&peer->out, mark, at, n);
    tt_fabric_signalled_context(c->f, peer->rank, peer->context);
    return TUTTI_OK;
}

static size_t ring_most(const tutti_context *c)
{
    return tt_ring_data_most(c->msg->ring_bytes);
}

const struct tt_transport tt_transport_ring = {
    .copies = true, .most = ring_most, .send = send_into_ring};

tutti_status tt_post_now(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    bool now = peer->transport->copies && !peer->waiting.first;
    return now ? peer->transport->send(c, peer, p, NULL) : TUTTI_AGAIN;
}

/* ---- Queueing ---- */

static void list(tutti_context *c, struct tt_peer *peer)
{
    if (peer->listed) return;
    tt_context_used(c);
    peer->listed = true;
    peer->next_waiting = c->waiting;
    c->waiting = peer;
}

static bool keep_data(struct tt_transfer *entry, int64_t bytes)
{
    entry->owned = tt_alloc((size_t)bytes);
    if (!entry->owned) return false;
    tt_memcpy(entry->owned, entry->packet.data, (size_t)bytes);
    entry->packet.data = entry->owned;
    return true;
}

/* Whether the packet carries a user's message or put. Only for these the rank waits when it leaves:
 * messages of the library to a team that failed may never be received. */
static bool is_users(const struct tt_packet *p)
{
    bool message =
        p->kind == TT_PACKET_EAGER || p->kind == TT_PACKET_EAGER_TOLD || p->kind == TT_PACKET_RTS;
    return (message && p->dispatch < TUTTI_DISPATCHES) || p->kind == TT_PACKET_PUT;
}

/* Makes an entry, which is in no list yet. NULL: no memory. */
static struct tt_transfer *make_entry(tutti_context *c, struct tt_peer *peer,
                                      const struct tt_packet *p, int64_t bytes,
                                      struct tt_pending *pending, bool lent)
{
    struct tt_transfer *entry = tt_transfer_take(c);
    if (!entry) return NULL;
    entry->packet = *p;
    entry->left = bytes;
    entry->pending = pending;
    entry->pending_id = pending ? pending->id : 0;
    entry->context = c;
    entry->peer = peer;
    entry->lent = lent && bytes > 0;
    entry->users = is_users(p);
    if (p->header_bytes) memcpy(entry->header, p->header, p->header_bytes);
    entry->packet.header = entry->header;
    if (bytes > 0 && !lent && !keep_data(entry, bytes)) {
        tt_transfer_give(c, entry);
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for a message that has to wait");
        return NULL;
    }
    tt_assert(tt_transfer_valid(entry));
    peer->send_entries++;
    peer->users_send_entries += entry->users;
    peer->lent += entry->lent;
    return entry;
}

/* Sends one packet's worth of a send-queue entry. In DATA and PUT packets arg[1] is the offset of
 * the data; only the last packet of a put asks for an acknowledgement. */
static tutti_status send_piece(tutti_context *c, struct tt_peer *peer, struct tt_transfer *entry)
{
    struct tt_packet piece = entry->packet;
    bool last = entry->left <= peer->packet_most;
    piece.bytes = (size_t)(last ? entry->left : peer->packet_most);
    if (piece.kind == TT_PACKET_PUT && !last) piece.arg[2] = 0;
    TT_TRY(peer->transport->send(c, peer, &piece, entry));
    entry->left -= (int64_t)piece.bytes;
    if (piece.bytes) entry->packet.data = (const char *)entry->packet.data + piece.bytes;
    entry->packet.arg[1] += piece.bytes;
    tt_assert(tt_transfer_valid(entry));
    return TUTTI_OK;
}

void tt_post_finish(tutti_context *c, struct tt_transfer *entry)
{
    struct tt_pending *pending = entry->pending;
    bool lives = pending && pending->id == entry->pending_id && !pending->ended &&
                 pending->kind != TT_PENDING_NONE;
    entry->peer->send_entries--;
    entry->peer->users_send_entries -= entry->users;
    entry->peer->lent -= entry->lent;
    c->events++;
    if (entry->done) {
        /* once the links are being closed, nobody waits for the end of a transfer any more */
        if (!c->msg->parting) entry->done(entry, entry->peer->gone ? TUTTI_ERR_PEER : TUTTI_OK);
        return;
    }
    tt_transfer_give(c, entry);
    if (lives) tt_pending_gone(c, pending);
}

/* Sends an entry, which is the first in the queue or not in it yet. AGAIN: some of it has to wait.
 * If the network still reads its data, its completion frees the entry (wired.c). */
static tutti_status send_entry(tutti_context *c, struct tt_peer *peer, struct tt_transfer *entry)
{
    /* a fence is sent only when the network has completed all puts before it */
    if (entry->packet.kind == TT_PACKET_FENCE && peer->wire_puts > 0) return TUTTI_AGAIN;
    do TT_TRY(send_piece(c, peer, entry));
    while (entry->left > 0);
    if (peer->waiting.first == entry) (void)tt_send_queue_shift(&peer->waiting);
    entry->sent = true;
    if (entry->on_wire == 0) tt_post_finish(c, entry);
    return TUTTI_OK;
}

/* Sends all entries of a peer that can be sent. */
static tutti_status send_all(tutti_context *c, struct tt_peer *peer)
{
    while (peer->waiting.first) TT_TRY(send_entry(c, peer, peer->waiting.first));
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

/* ---- Sending at once or queueing ---- */

/* Sends a packet with an entry, which waits behind others that wait. If sending fails, the next
 * advance tries again and reports the error. */
static tutti_status send_or_queue(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p,
                                  int64_t bytes, struct tt_pending *pending, bool lent)
{
    struct tt_transfer *entry = make_entry(c, peer, p, bytes, pending, lent);
    if (!entry) return TUTTI_ERR_MEMORY;
    if (!peer->waiting.first && send_entry(c, peer, entry) == TUTTI_OK) return TUTTI_OK;
    tt_send_queue_append(&peer->waiting, entry);
    list(c, peer);
    return TUTTI_OK;
}

tutti_status tt_post_packet(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p,
                            int64_t bytes, struct tt_pending *pending, bool lent)
{
    struct tt_packet whole = *p;
    whole.bytes = (size_t)bytes;
    bool now = peer->transport->copies && bytes <= peer->packet_most;
    tutti_status status = now ? tt_post_now(c, peer, &whole) : TUTTI_AGAIN;
    if (status == TUTTI_AGAIN) return send_or_queue(c, peer, p, bytes, pending, lent);
    if (status == TUTTI_OK && pending) tt_pending_gone(c, pending);
    return status;
}

void tt_post_answer(tutti_context *c, struct tt_peer *peer, enum tt_packet_kind kind, uint64_t a,
                    uint64_t b)
{
    struct tt_packet p = {.kind = kind, .arg = {a, b}};
    if (peer->gone) return;
    if (tt_post_now(c, peer, &p) == TUTTI_OK) return;
    /* cannot lack memory: an entry is in reserve */
    tutti_status status = send_or_queue(c, peer, &p, 0, NULL, false);
    if (status != TUTTI_OK) tt_context_fault(c, status);
}

/* Counts a transfer that did not end at once. */
static void count_transfer(struct tt_peer *peer, struct tt_transfer *x)
{
    x->lent = x->packet.bytes > 0;
    peer->send_entries++;
    peer->lent += x->lent;
}

static void queue_transfer(tutti_context *c, struct tt_peer *peer, struct tt_transfer *x)
{
    memcpy(x->header, x->packet.header, x->packet.header_bytes);
    x->packet.header = x->header;
    x->left = (int64_t)x->packet.bytes;
    tt_assert(tt_transfer_valid(x));
    tt_send_queue_append(&peer->waiting, x);
    list(c, peer);
}

tutti_status tt_post_transfer(tutti_context *c, struct tt_peer *peer, struct tt_transfer *x)
{
    x->context = c;
    x->peer = peer;
    x->pending = NULL;
    x->owned = NULL;
    x->left = x->on_wire = 0;
    x->users = x->sent = false;
    tutti_status status =
        peer->waiting.first ? TUTTI_AGAIN : peer->transport->send(c, peer, &x->packet, x);
    if (tt_likely(status == TUTTI_OK && x->on_wire == 0)) return TUTTI_OK;
    if (status > TUTTI_AGAIN && peer->transport->copies) return status;
    count_transfer(peer, x);
    x->sent = status == TUTTI_OK;
    if (!x->sent) queue_transfer(c, peer, x);
    return TUTTI_AGAIN;
}
