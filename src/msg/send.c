/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sending: packets, the queue of packets that wait, and messages. A short message goes in one
 * packet; a long message is announced by an RTS packet (request to send), and its target pulls it.
 * A *send-queue entry* (struct tt_transfer) is a packet that waits for room or for a connection. An
 * *operation* (struct tt_pending) stands for what the target has still to acknowledge.
 */
#include <string.h>

#include "msg/thread.h"
#include "type/layout.h"

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
    memset(p, 0, offsetof(struct tt_transfer, header));
    p->whole = p;
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

/* Removes an entry from the counts of its peer. */
static void uncount(const struct tt_transfer *entry)
{
    entry->peer->send_entries--;
    entry->peer->users_send_entries -= entry->users;
    entry->peer->lent -= entry->lent;
}

/* An entry of which the network still reads packets stays counted: tt_post_finish removes it from
 * the counts when the network has read them (wired.c). The entries of the queues `fences` and
 * `address_requests` are packets that were received; they have no peer and are not counted. */
void tt_send_queue_drop(tutti_context *c, struct tt_send_queue *queue)
{
    for (struct tt_transfer *p; (p = tt_send_queue_shift(queue)) != NULL;) {
        p->sent = true;
        p->pending = NULL;
        if (p->on_wire > 0) continue;
        if (p->done) {
            tt_post_finish(c, p);
            continue;
        }
        if (p->peer) uncount(p);
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

/* Makes the packet ring for the first packet to this peer. AGAIN: the peer's rank has no mailbox
 * yet. */
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

static void offer_here(tutti_context *c, struct tt_pending *pending, struct tt_packet *p, char *key)
{
    (void)key; /* the target needs no key */
    p->arg[2] = tt_fabric_address(c->f, pending->data);
}

const struct tt_transport tt_transport_ring = {
    .shares = true, .send = send_into_ring, .offer = offer_here};

tutti_status tt_post_now(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    bool now = peer->transport->shares && !peer->waiting.first;
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

/* Returns whether the packet carries a user's message or put. A rank that leaves waits until these
 * were sent. For messages of the library it waits a limited time only (leave.c), because a team
 * that failed may never receive them. */
static bool is_users(const struct tt_packet *p)
{
    bool message =
        p->kind == TT_PACKET_EAGER || p->kind == TT_PACKET_EAGER_ACKED || p->kind == TT_PACKET_RTS;
    return (message && p->dispatch < TUTTI_DISPATCHES) || p->kind == TT_PACKET_PUT;
}

/* Makes a send-queue entry for a packet. The entry is in no list yet. NULL: no memory. */
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

/* Returns the record for the next packet of an entry; NULL: no memory. In shared memory this is the
 * entry itself. Over a network each packet needs a record, since the network completes each packet
 * separately; the last packet uses the entry. */
static struct tt_transfer *record_of(tutti_context *c, struct tt_transfer *entry, bool last)
{
    if (last || entry->peer->transport->shares) return entry;
    /* the records in reserve are for answers */
    struct tt_transfer *record = tt_transfer_reserve(c) ? tt_transfer_take(c) : NULL;
    if (record) record->whole = entry;
    return record;
}

/* Returns whether the operation for which the entry sends data has not ended. */
static bool is_for_pending(const struct tt_transfer *entry)
{
    const struct tt_pending *pending = entry->pending;
    return pending && pending->id == entry->pending_id && !pending->ended &&
           pending->kind != TT_PENDING_NONE;
}

/* Returns whether data that wait in the entry may still be read. While they wait, a plan may cancel
 * a message or put, and the owner of a region from which a peer gets data may free the region. */
static bool may_read(const tutti_context *c, const struct tt_transfer *entry)
{
    const uint64_t *arg = entry->packet.arg; /* of data for a get: see stream in receive.c */
    if (entry->pending) return !is_for_pending(entry) || !entry->pending->cancelled;
    return entry->packet.kind != TT_PACKET_DATA ||
           tt_region_find(c->msg, arg[2], arg[3] + arg[1], (uint64_t)entry->left);
}

/* Drops the data that wait in the entry, and sends an error in place of them. The rest of a put is
 * left out without an error, because only this rank waits for the put. */
static void drop_data(struct tt_transfer *entry)
{
    uint64_t status = entry->pending ? TT_STATUS_CANCELLED : TUTTI_ERR_ARG;
    entry->left = 0;
    entry->packet.data = NULL;
    if (entry->packet.kind == TT_PACKET_DATA)
        entry->packet = (struct tt_packet){
            .kind = TT_PACKET_ACK, .arg = {entry->packet.arg[0], status}, .header = entry->header};
}

/* Sends the next packet of a send-queue entry, whose data may need several packets. In DATA and PUT
 * packets arg[1] is the offset of the data; only the last packet of a put asks for an
 * acknowledgement. */
static tutti_status send_piece(tutti_context *c, struct tt_peer *peer, struct tt_transfer *entry)
{
    if (entry->lent && entry->left > 0 && tt_unlikely(!may_read(c, entry))) drop_data(entry);
    struct tt_packet piece = entry->packet;
    int64_t most = peer->transport->packet_most;
    bool last = entry->left <= most;
    piece.bytes = (size_t)(last ? entry->left : most);
    if (piece.kind == TT_PACKET_PUT && !last) piece.arg[2] = 0;
    struct tt_transfer *record = record_of(c, entry, last);
    int before = entry->on_wire;
    tutti_status status =
        record ? peer->transport->send(c, peer, &piece, record) : TUTTI_ERR_MEMORY;
    if (record && record != entry && entry->on_wire == before) tt_transfer_give(c, record);
    if (status != TUTTI_OK) return status;
    entry->left -= (int64_t)piece.bytes;
    if (piece.bytes) entry->packet.data = (const char *)entry->packet.data + piece.bytes;
    entry->packet.arg[1] += piece.bytes;
    tt_assert(tt_transfer_valid(entry));
    return TUTTI_OK;
}

void tt_post_finish(tutti_context *c, struct tt_transfer *entry)
{
    struct tt_pending *pending = entry->pending;
    bool lives = is_for_pending(entry);
    uncount(entry);
    c->events++;
    if (entry->done) {
        /* once the links are being closed, nobody waits for the end of a transfer any more */
        if (!c->msg->parting) entry->done(entry, entry->peer->gone ? TUTTI_ERR_PEER : TUTTI_OK);
        return;
    }
    tt_transfer_give(c, entry);
    if (lives) tt_pending_gone(c, pending);
}

/* Sends an entry, which is the first in the queue or not in it yet. AGAIN: a part of the entry has
 * to wait. If the network still reads data of the entry, the entry is freed when the network has
 * read them (wired.c). */
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

/* Makes a send-queue entry for a packet and sends it; or queues it behind the entries that wait. If
 * sending fails, the next advance tries again and reports the error. */
static tutti_status send_or_queue(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p,
                                  int64_t bytes, struct tt_pending *pending, bool lent)
{
    struct tt_transfer *entry = make_entry(c, peer, p, bytes, pending, lent);
    if (!entry) return TUTTI_ERR_MEMORY;
    tutti_status status = peer->waiting.first ? TUTTI_AGAIN : send_entry(c, peer, entry);
    if (tt_likely(status == TUTTI_OK)) return TUTTI_OK;
    if (tt_unlikely(status > TUTTI_AGAIN)) tt_error_undo();
    tt_send_queue_append(&peer->waiting, entry);
    list(c, peer);
    return TUTTI_OK;
}

tutti_status tt_post_packet(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p,
                            int64_t bytes, struct tt_pending *pending, bool lent)
{
    if (tt_unlikely(peer->gone)) return TUTTI_ERR_PEER;
    struct tt_packet whole = *p;
    whole.bytes = (size_t)bytes;
    bool now = peer->transport->shares && bytes <= peer->transport->packet_most;
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
    tutti_status status = tt_post_now(c, peer, &p);
    if (tt_likely(status == TUTTI_OK)) return;
    if (tt_unlikely(status > TUTTI_AGAIN)) tt_error_undo(); /* the next advance tries again */
    /* cannot lack memory: an entry is in reserve */
    status = send_or_queue(c, peer, &p, 0, NULL, false);
    if (status != TUTTI_OK) tt_context_fault(c, status);
}

/* Counts a transfer that could not be sent at once among the transfers of its peer that are not
 * complete (`send_entries`), and, if it has data, among those that use memory of the sender
 * (`lent`). */
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
    x->whole = x;
    x->left = x->on_wire = 0;
    x->users = x->sent = false;
    tutti_status status =
        peer->waiting.first ? TUTTI_AGAIN : peer->transport->send(c, peer, &x->packet, x);
    if (tt_likely(status == TUTTI_OK && x->on_wire == 0)) return TUTTI_OK;
    if (status > TUTTI_AGAIN && peer->transport->shares) return status;
    if (tt_unlikely(status > TUTTI_AGAIN)) tt_error_undo(); /* the next advance tries again */
    count_transfer(peer, x);
    x->sent = status == TUTTI_OK;
    if (!x->sent) queue_transfer(c, peer, x);
    return TUTTI_AGAIN;
}

/* ---- Peers ---- */

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
        return tt_fail(TUTTI_ERR_ARG, "the endpoint belongs to another client than the context");
    if (tt_unlikely(atomic_load_explicit(&c->f->job->failures, memory_order_relaxed) !=
                    c->failures))
        tt_peer_look_for_lost(c);
    *peer = c->peer[to->rank];
    if (tt_unlikely(!*peer || (*peer)->context != to->context))
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
    p.kind = send->delivered ? TT_PACKET_EAGER_ACKED : TT_PACKET_EAGER;
    p.arg[0] = pending->id;
    p.bytes = (size_t)bytes;
    peer->risked += !send->delivered;
    tutti_status status = tt_post_packet(c, peer, &p, bytes, pending, true);
    if (status == TUTTI_OK) return TUTTI_OK;
    peer->risked -= !send->delivered;
    pending->packed = NULL; /* the caller frees the packed data if this function fails */
    tt_pending_free(c, pending);
    return status;
}

static tutti_status send_short(tutti_context *c, struct tt_peer *peer, const tutti_send *send,
                               int64_t bytes)
{
    if (!send->delivered && peer->transport->shares) {
        tutti_status status = send_at_once(c, peer, send, bytes);
        if (tt_likely(status != TUTTI_AGAIN)) return status;
    }
    return send_tracked(c, peer, send, bytes, NULL);
}

/* ---- Long messages ---- */

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
    peer->transport->offer(c, pending, &p, key);
    tutti_status status = tt_post_packet(c, peer, &p, (int64_t)p.bytes, NULL, false);
    if (status == TUTTI_OK) return TUTTI_OK;
    pending->packed = NULL; /* the caller frees the packed data if this function fails */
    tt_pending_free(c, pending);
    return status;
}

/* Sends elements that have to be packed first, because their layout in memory is not the packed
 * one. */
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
    tt_assert(tt_enter(c));
    tutti_status status = tt_send_peer(c, send->to, &peer);
    if (tt_likely(status == TUTTI_OK)) {
        bool eager = bytes <= peer->transport->eager_most;
        if (tt_unlikely(!layout->solid && bytes > 0))
            status = send_packed(c, peer, send, layout, bytes, eager);
        else if (tt_likely(eager))
            status = send_short(c, peer, send, bytes);
        else
            status = send_long(c, peer, send, bytes, NULL);
    }
    tt_assert(tt_leave(c));
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
    tt_assert(tt_enter(c));
    tutti_status status = tt_send_peer(c, to, &peer);
    if (tt_likely(status == TUTTI_OK)) {
        bool eager = (int64_t)x->packet.bytes <= peer->transport->eager_most;
        status = eager ? tt_post_transfer(c, peer, x) : transfer_long(c, peer, x);
    }
    tt_assert(tt_leave(c));
    return status;
}

/* ---- Immediate messages ---- */

/* How many send-queue entries of a peer that is reached over the network may wait before
 * tt_msg_immediate returns AGAIN: an immediate message that waits occupies memory of the
 * library. */
enum { IMMEDIATES_MOST = 128 };

static tutti_status immediate(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    tutti_status status;
    if (tt_likely(peer->transport->shares))
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
    tt_assert(tt_enter(c));
    tutti_status status = tt_send_peer(c, to, &peer);
    if (tt_likely(status == TUTTI_OK)) status = immediate(c, peer, &p);
    tt_assert(tt_leave(c));
    return status;
}
