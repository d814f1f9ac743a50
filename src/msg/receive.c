/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receiving: a context takes packets from the rings that its peers write and from the network, and
 * handles the messages that they carry. A struct tutti_pending (pull.h) is the record of a message
 * that this context receives, and a struct tt_pending (inside.h) that of an operation that it has
 * started.
 */
#include "msg/pull.h"

#include <stdio.h>
#include <string.h>

#include "msg/inside.h"
#include "msg/thread.h"
#include "msg/wired.h"
#include "type/layout.h"

/* ---- Messages ---- */

/* Received messages: calling their handlers, and storing the payload where the handler wants it.
 *
 *     NEW --handler--> read in place, copied, dropped            all done
 *                 `--> PUT_OFF --tutti_message_receive--.
 *                 `------------------------------------> PULLED --> all done
 *
 * The words in capitals are the states of a message (enum tt_receipt_state). The handler of a NEW
 * message reads the payload in place, has it copied, or drops the message, which is then done. Or
 * it puts the message off until the program calls tutti_message_receive. A short message that was
 * put off is then copied and done at once; a long one is PULLED while its payload arrives. */

/* ---- Pending messages ---- */

/* Reserves what the handling of one packet may need: send-queue entries, and memory for a message.
 * False: there is no memory. */
static bool reserve(tutti_context *c)
{
    if (!tt_transfer_reserve(c)) return false;
    if (!c->spare) c->spare = tt_alloc_lines(sizeof *c->spare);
    if (!c->spare_data) c->spare_data = tt_alloc_lines(c->msg->packet_most);
    if (c->spare && c->spare_data) return true;
    (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for a message that may be put off");
    return false;
}

/* ---- Messages that are not done, and fences ---- */

/* Acknowledges a fence of the peer. The status is PEER if this rank, while leaving, has dropped a
 * message of the peer and no earlier fence has reported that; otherwise OK. */
static void pass_fence(tutti_context *c, struct tt_peer *peer, uint64_t id)
{
    tutti_status status = peer->dropped ? TUTTI_ERR_PEER : TUTTI_OK;
    peer->dropped = false;
    tt_post_answer(c, peer, TT_PACKET_ACK, id, (uint64_t)status);
}

static void pass_fences(tutti_context *c, struct tt_peer *peer)
{
    for (struct tt_transfer *fence; (fence = peer->fences.first) != NULL;) {
        if (peer->oldest && peer->oldest->number <= fence->number) return;
        uint64_t id = fence->packet.arg[0];
        tt_transfer_give(c, tt_send_queue_shift(&peer->fences));
        pass_fence(c, peer, id);
    }
}

static void unlist(struct tt_peer *peer, struct tt_open *open)
{
    *(open->prev ? &open->prev->next : &peer->oldest) = open->next;
    *(open->next ? &open->next->prev : &peer->newest) = open->prev;
}

static void close_one(tutti_context *c, struct tt_peer *peer, struct tt_open *open)
{
    unlist(peer, open);
    if (tt_unlikely(peer->fences.first != NULL)) pass_fences(c, peer);
}

/* Acknowledges a fence now, or when all messages that came before it are done. */
static void take_fence(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    if (!peer->oldest) {
        pass_fence(c, peer, p->arg[0]);
        return;
    }
    struct tt_transfer *fence = tt_transfer_take(c);
    fence->packet.arg[0] = p->arg[0];
    fence->number = peer->arrived;
    tt_send_queue_append(&peer->fences, fence);
}

void tt_receive_drop(struct tt_peer *peer)
{
    while (peer->oldest) {
        struct tutti_pending *r = tt_container_of(peer->oldest, struct tutti_pending, open);
        unlist(peer, &r->open);
        tt_receipt_unref(r);
    }
}

/* ---- Storing the payload ---- */

/* Computes how many of `bytes` bytes fit into `into`, by the layout of its type. ARG: type or count
 * is wrong. */
static tutti_status fit(const tutti_receive *into, const struct tt_layout *layout, int64_t bytes,
                        int64_t *take)
{
    int64_t room;
    if (!layout)
        return tt_fail(TUTTI_ERR_ARG,
                       "type %d is neither a basic type nor an existing derived type",
                       (int)into->type);
    if (into->count < 0)
        return tt_fail(TUTTI_ERR_ARG, "count is %lld, negative", (long long)into->count);
    if (__builtin_mul_overflow(into->count, layout->packed, &room)) room = INT64_MAX;
    *take = tt_min(room, bytes);
    return TUTTI_OK;
}

/* Unpacks `bytes` bytes. The last element may be incomplete: the bytes that `packed` lacks keep
 * their values at the destination. */
static tutti_status unpack(const struct tt_layout *l, const char *packed, char *to, int64_t bytes)
{
    int64_t whole = bytes / l->packed, rest = bytes % l->packed;
    char *one = rest ? tt_alloc((size_t)l->packed) : NULL;
    if (rest && !one)
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for an element of %lld bytes",
                       (long long)l->packed);
    tt_layout_unpack(l, packed, to, whole);
    if (!one) return TUTTI_OK;
    tt_layout_pack(l, one, to + whole * l->extent, 1);
    memcpy(one, packed + whole * l->packed, (size_t)rest);
    tt_layout_unpack(l, one, to + whole * l->extent, 1);
    tt_free(one);
    return TUTTI_OK;
}

/* Records, as the error text, that a message has ended with this status. Returns the status. */
static tutti_status ends_with(const struct tutti_pending *r, tutti_status status)
{
    return tt_fail(status, "a message of %lld bytes from context %d of rank %d: %s",
                   (long long)r->bytes, r->peer->context, r->peer->rank, tutti_status_text(status));
}

/* Stores a payload that has arrived completely. */
static tutti_status copy_in(const struct tutti_pending *r, const tutti_receive *into,
                            const void *data)
{
    int64_t take = 0;
    const struct tt_layout *layout = tt_layout_find(into->type);
    if (!into->to) return TUTTI_OK;
    TT_TRY(fit(into, layout, r->bytes, &take));
    if (take > 0 && layout->solid)
        tt_memcpy(into->to, data, (size_t)take);
    else if (take > 0)
        TT_TRY(unpack(layout, data, into->to, take));
    return take < r->bytes ? ends_with(r, TUTTI_ERR_TRUNCATED) : TUTTI_OK;
}

/* ---- Ending a message ---- */

static void call_done(tutti_context *c, const tutti_receive *into, tutti_status status)
{
    if (!into->done) return;
    c->depth++;
    into->done(c, into->arg, status);
    c->depth--;
}

static void end(tutti_context *c, struct tutti_pending *r, tutti_status status);

static void end_later(tutti_context *c, void *arg)
{
    struct tutti_pending *r = arg;
    tutti_status status = (tutti_status)atomic_load(&r->status);
    end(c, r, status == TUTTI_OK ? TUTTI_OK : ends_with(r, status));
}

static void drop_end(struct tt_work *work)
{
    (void)work; /* tt_receive_drop frees the message, which is still in the list of its peer */
}

/* Ends a message. tutti_advance returns an error that no `done` gets, except for the loss of the
 * origin, which the job reports. If too many completion functions are running inside one another,
 * the next advance ends the message, so that a program which receives the next message in each
 * `done` needs no more stack. */
static void end(tutti_context *c, struct tutti_pending *r, tutti_status status)
{
    if (tt_unlikely(c->depth >= TT_DEPTH_MOST)) {
        r->state = TT_RECEIPT_PULLED;
        atomic_store(&r->status, (int)status);
        r->finish = (struct tt_work){.work = end_later, .arg = r, .drop = drop_end};
        tt_work_post(c, &r->finish);
        return;
    }
    tt_receipt_release(r);
    if (c->msg->leaving && status == TUTTI_ERR_PEER) r->peer->dropped = true;
    bool is_fault = status != TUTTI_OK && status != TUTTI_ERR_PEER && !r->into.done;
    if (tt_unlikely(is_fault)) tt_context_fault(c, status);
    call_done(c, &r->into, status);
    c->events++;
    if (r->id) tt_post_answer(c, r->peer, TT_PACKET_ACK, r->id, (uint64_t)status);
    close_one(c, r->peer, &r->open);
    tt_receipt_unref(r);
}

/* Completes the message when all pieces have arrived or failed. */
static void ready(tutti_context *c, void *arg)
{
    struct tutti_pending *r = arg;
    tutti_status status = (tutti_status)atomic_load(&r->status);
    tt_pull_end(c, r);
    if (status == TUTTI_OK && r->packed)
        status = unpack(r->layout, r->packed, r->into.to, r->take);
    else if (status != TUTTI_OK && atomic_load(&c->msg->contexts) > 1)
        (void)ends_with(r, status); /* a thread of another context may have found the error */
    if (status == TUTTI_OK && r->take < r->bytes) status = ends_with(r, TUTTI_ERR_TRUNCATED);
    end(c, r, status);
}

/* ---- Long messages ---- */

/* Prepares *r for receiving into `into`. If there is an error, *r is unchanged except for
 * `take`. */
static tutti_status prepare(struct tutti_pending *r, const tutti_receive *into)
{
    struct tt_layout *layout = tt_layout_hold(into->type);
    tutti_status status = fit(into, layout, r->bytes, &r->take);
    if (status == TUTTI_OK && !layout->solid && r->take > 0) {
        r->packed = tt_alloc((size_t)r->take);
        if (!r->packed)
            status = tt_fail(TUTTI_ERR_MEMORY, "no memory for %lld bytes of packed elements",
                             (long long)r->take);
    }
    if (status != TUTTI_OK) {
        if (layout) tt_layout_drop(layout);
        return status;
    }
    r->layout = layout;
    r->into = *into;
    r->to = r->packed ? r->packed : into->to;
    return TUTTI_OK;
}

static void start(tutti_context *c, struct tutti_pending *r)
{
    r->state = TT_RECEIPT_PULLED;
    r->ready = ready;
    if (r->take == 0)
        ready(c, r);
    else
        tt_pull_start(c, r);
}

/* Keeps the record of a message that is not done when its handler returns. */
static void keep(tutti_context *c, struct tutti_pending *r, enum tt_receipt_state state)
{
    struct tt_peer *peer = r->peer;
    c->spare = NULL;
    r->state = state;
    r->open = (struct tt_open){.prev = peer->newest, .number = ++peer->arrived};
    *(peer->newest ? &peer->newest->next : &peer->oldest) = &r->open;
    peer->newest = &r->open;
}

/* ---- Calling handlers ---- */

static void call(tutti_context *c, const struct tt_packet *p, struct tutti_pending *r,
                 tutti_receive *into)
{
    const struct tt_handler *handler = &c->msg->handler[p->dispatch];
    tutti_message message = {.rank = r->peer->rank,
                             .context = r->peer->context,
                             .dispatch = p->dispatch,
                             .header = p->header,
                             .header_bytes = p->header_bytes,
                             .data = r->is_long ? NULL : p->data,
                             .bytes = r->bytes,
                             .pending = r};
    handler->fn(c, &message, into, handler->arg);
}

/* Copies the payload of a message that was put off, since later packets overwrite it in the packet
 * ring. If no other memory can be allocated, uses the reserved memory. */
static void keep_payload(tutti_context *c, struct tutti_pending *r, const struct tt_packet *p)
{
    r->data = tt_alloc(p->bytes + 1);
    if (!r->data) {
        r->data = c->spare_data;
        c->spare_data = NULL;
    }
    tt_memcpy(r->data, p->data, p->bytes);
    keep(c, r, TT_RECEIPT_PUT_OFF);
}

static void handle_short(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    struct tutti_pending *r = c->spare;
    tutti_receive into = {0};
    r->peer = peer;
    r->bytes = (int64_t)p->bytes;
    r->is_long = false;
    r->id = p->kind == TT_PACKET_EAGER_ACKED ? p->arg[0] : 0;
    call(c, p, r, &into);
    if (tt_unlikely(into.put_off)) {
        keep_payload(c, r, p);
        return;
    }
    tutti_status status = into.to ? copy_in(r, &into, p->data) : TUTTI_OK;
    if (into.done) call_done(c, &into, status);
    if (p->kind == TT_PACKET_EAGER_ACKED)
        tt_post_answer(c, peer, TT_PACKET_ACK, p->arg[0], (uint64_t)status);
    if (tt_unlikely(status != TUTTI_OK && !into.done)) tt_context_fault(c, status);
}

/* Records what a request to send (RTS) says. Its data are the network's key, if there is one.
 * False: the packet is broken. */
static bool note_long(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    struct tutti_pending *r = c->spare;
    if (p->arg[1] > INT64_MAX || p->bytes > TT_WIRE_KEY) return false;
    r->peer = peer;
    r->id = p->arg[0];
    r->bytes = (int64_t)p->arg[1];
    r->address = p->arg[2];
    r->is_long = true;
    r->key_bytes = p->bytes;
    return true;
}

static bool keep_key(struct tutti_pending *r, const struct tt_packet *p)
{
    r->data = tt_alloc(p->bytes);
    if (r->data) memcpy(r->data, p->data, p->bytes);
    return r->data != NULL;
}

static void handle_long(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    struct tutti_pending *r = c->spare;
    tutti_receive into = {0};
    if (!note_long(c, peer, p)) {
        tt_context_fault(
            c, tt_fail(TUTTI_ERR_ARG, "rank %d sent a broken request to send", peer->rank));
        return;
    }
    call(c, p, r, &into);
    /* if the key cannot be kept, the context asks the origin to send the data */
    if (p->bytes > 0 && !keep_key(r, p)) r->key_bytes = 0;
    if (into.put_off) {
        keep(c, r, TT_RECEIPT_PUT_OFF);
        return;
    }
    tutti_status status = into.to ? prepare(r, &into) : TUTTI_OK;
    keep(c, r, TT_RECEIPT_PULLED);
    if (into.to && status == TUTTI_OK) {
        start(c, r);
        return;
    }
    r->into = into;
    end(c, r, status);
}

/* Handles a message whose dispatch id has no handler. This happens to all messages on a rank that
 * leaves, because it has removed its handlers. */
static void handle_nobodys(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    tutti_status status = c->msg->leaving ? TUTTI_ERR_PEER : TUTTI_ERR_ARG;
    peer->dropped |= c->msg->leaving;
    if (status == TUTTI_ERR_ARG)
        tt_context_fault(c, tt_fail(status,
                                    "a message from context %d of rank %d has dispatch %d, which "
                                    "nobody registered here",
                                    peer->context, peer->rank, p->dispatch));
    if (p->kind != TT_PACKET_EAGER)
        tt_post_answer(c, peer, TT_PACKET_ACK, p->arg[0], (uint64_t)status);
}

/* Calls the handler of a message that has arrived, and does what the handler asks for. */
static void receive_packet(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    struct tutti_pending *r = c->spare;
    r->state = TT_RECEIPT_NEW;
    r->context = c;
    r->range = &r->one;
    r->split_copy = NULL;
    r->data = NULL;
    atomic_store_explicit(&r->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&r->status, TUTTI_OK, memory_order_relaxed);
    if (tt_unlikely(!c->msg->handler[p->dispatch].fn))
        handle_nobodys(c, peer, p);
    else if (tt_likely(p->kind != TT_PACKET_RTS))
        handle_short(c, peer, p);
    else
        handle_long(c, peer, p);
}

/* ---- Receiving a message that was put off ---- */

static tutti_status receive_short(tutti_context *c, struct tutti_pending *r,
                                  const tutti_receive *into)
{
    tutti_status status = copy_in(r, into, r->data);
    /* nothing was done; the caller may try again */
    if (status == TUTTI_ERR_ARG || status == TUTTI_ERR_MEMORY) return status;
    r->into = *into;
    end(c, r, status);
    return TUTTI_OK;
}

tutti_status tt_msg_receive(tutti_context *c, struct tutti_pending *r, const tutti_receive *into)
{
    if (r->state != TT_RECEIPT_PUT_OFF)
        return tt_fail(TUTTI_ERR_ARG, "this message was not put off");
    if (r->context != c)
        return tt_fail(TUTTI_ERR_ARG,
                       "a message is received in the context of its handler: %d, not %d",
                       r->context->index, c->index);
    tt_assert(tt_enter(c));
    tutti_status status = TUTTI_OK;
    if (!r->is_long)
        status = receive_short(c, r, into);
    else if (!into->to) {
        r->into = *into;
        end(c, r, TUTTI_OK);
    } else if ((status = prepare(r, into)) == TUTTI_OK)
        start(c, r);
    tt_assert(tt_leave(c));
    return status;
}

/* ---- Packets ---- */

/* Handles received packets by their kind. Every number in a packet is checked, here or where it is
 * used: ids against the table of operations, offsets and lengths against what was asked for. */

/* Reports a wrong packet. A rank that died may have sent an answer to an operation that has ended
 * since; that is no error. */
static void broken(tutti_context *c, const struct tt_peer *peer, const char *what)
{
    if (peer->gone) return;
    tt_context_fault(c, tt_fail(TUTTI_ERR_ARG, "context %d of rank %d sent %s", peer->context,
                                peer->rank, what));
}

static void take_ack(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    struct tt_pending *pending = tt_pending_find(c, p->arg[0], peer);
    /* an operation does not end with AGAIN */
    bool sound = pending && p->arg[1] <= TUTTI_ERR_SYSTEM && p->arg[1] != TUTTI_AGAIN;
    if (!sound || !tt_pending_answer(c, pending, (tutti_status)p->arg[1]))
        broken(c, peer, "an acknowledgement of an unknown operation");
}

/* Answers the packet PULL or GET: sends, in DATA packets, as many bytes as the packet asks for.
 * `pending` is the long message that a PULL asks for; NULL for a GET. A DATA packet does not need
 * args 2 and 3, so they keep the region and the offset that the GET named, for as long as the
 * packet waits (may_read in send.c). */
static void stream(tutti_context *c, struct tt_peer *peer, const struct tt_packet *asks,
                   const char *from, struct tt_pending *pending)
{
    uint64_t id = asks->arg[3];
    int64_t bytes = (int64_t)asks->arg[2];
    struct tt_packet p = {
        .kind = TT_PACKET_DATA, .arg = {id, 0, asks->arg[0], asks->arg[1]}, .data = from};
    if (pending) pending->flows++;
    tutti_status status = tt_post_packet(c, peer, &p, bytes, pending, true);
    if (status == TUTTI_OK) return;
    if (pending) pending->flows--;
    tt_post_answer(c, peer, TT_PACKET_ACK, id, (uint64_t)status);
}

static bool is_part(uint64_t offset, uint64_t bytes, int64_t whole)
{
    return bytes > 0 && bytes <= (uint64_t)whole && offset <= (uint64_t)whole - bytes;
}

static void take_pull(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    struct tt_pending *pending = tt_pending_find(c, p->arg[0], peer);
    if (!pending || pending->kind != TT_PENDING_LONG || pending->answered ||
        !is_part(p->arg[1], p->arg[2], pending->bytes))
        tt_post_answer(c, peer, TT_PACKET_ACK, p->arg[3], TUTTI_ERR_ARG);
    else if (pending->cancelled)
        tt_post_answer(c, peer, TT_PACKET_ACK, p->arg[3], TT_STATUS_CANCELLED);
    else
        stream(c, peer, p, pending->data + p->arg[1], pending);
}

static void take_data(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    struct tt_pending *pending = tt_pending_find(c, p->arg[0], peer);
    bool asked = pending && (pending->kind == TT_PENDING_PULL || pending->kind == TT_PENDING_GET);
    if (!asked || p->arg[1] != (uint64_t)(pending->bytes - pending->left) ||
        p->bytes > (uint64_t)pending->left) {
        broken(c, peer, "data for an unknown request");
        return;
    }
    if (p->bytes && !pending->cancelled)
        tt_memcpy(pending->to + (pending->bytes - pending->left), p->data, p->bytes);
    pending->left -= (int64_t)p->bytes;
    if (pending->left == 0) (void)tt_pending_answer(c, pending, TUTTI_OK);
}

static void take_get(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    const char *from = tt_region_find(c->msg, p->arg[0], p->arg[1], p->arg[2]);
    if (from)
        stream(c, peer, p, from, NULL);
    else
        tt_post_answer(c, peer, TT_PACKET_ACK, p->arg[3], TUTTI_ERR_ARG);
}

static void take_put(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    char *to = tt_region_find(c->msg, p->arg[0], p->arg[1], p->bytes);
    if (to && p->bytes) tt_memcpy(to, p->data, p->bytes);
    if (p->arg[2]) tt_post_answer(c, peer, TT_PACKET_ACK, p->arg[2], to ? TUTTI_OK : TUTTI_ERR_ARG);
}

/* Handles a LEAVING packet: the sender's rank receives no more messages in any of its contexts. */
static void take_leaving(tutti_context *c, struct tt_peer *sender, const struct tt_packet *p)
{
    (void)p;
    for (struct tt_peer *peer = c->peer[sender->rank]; peer; peer = peer->next_of_rank)
        peer->leaving = true;
}

/* Handles a message of a plan. It has to come to context 0, since plans run in the thread of
 * context 0. A rank that leaves drops it. */
static void take_plan(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    if (tt_likely(c->msg->plan_packet && c->index == 0))
        c->msg->plan_packet(c->msg->plan_packet_arg, peer->rank, p);
    else if (!c->msg->leaving)
        broken(c, peer, "a message of a plan to a context that runs no plans");
}

/* The functions that handle packets, by the kind of the packet. */
typedef void take_fn(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p);
static take_fn *const take[TT_PACKET_KINDS] = {[TT_PACKET_EAGER] = receive_packet,
                                               [TT_PACKET_EAGER_ACKED] = receive_packet,
                                               [TT_PACKET_RTS] = receive_packet,
                                               [TT_PACKET_ACK] = take_ack,
                                               [TT_PACKET_PULL] = take_pull,
                                               [TT_PACKET_DATA] = take_data,
                                               [TT_PACKET_GET] = take_get,
                                               [TT_PACKET_PUT] = take_put,
                                               [TT_PACKET_FENCE] = take_fence,
                                               [TT_PACKET_ADDRESS] = tt_wired_handle_address,
                                               [TT_PACKET_ADDRESS_IS] = tt_wired_handle_address_is,
                                               [TT_PACKET_BYE] = tt_wired_handle_bye,
                                               [TT_PACKET_LEAVING] = take_leaving,
                                               [TT_PACKET_SPLIT] = tt_split_copy_asked,
                                               [TT_PACKET_PLAN] = take_plan};

tutti_status tt_take(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    bool ready = c->spare && c->spare_data && c->spare_entries >= TT_SEND_ENTRIES_RESERVED;
    if (tt_unlikely(!ready) && !reserve(c)) return TUTTI_ERR_MEMORY;
    c->events++;
    tt_assert(take[p->kind]);
    take[p->kind](c, peer, p);
    return TUTTI_OK;
}

/* ---- The network ---- */

void tt_take_from_wire(void *arg, const void *head, size_t head_bytes, const void *data,
                       size_t data_bytes)
{
    tutti_context *c = arg;
    struct tt_packet p;
    int rank, context;
    if (data_bytes > TT_WIRE_DATA ||
        !tt_packet_wire_read(head, head_bytes, data, data_bytes, c->f->size, &rank, &context, &p)) {
        tt_context_fault(c, tt_fail(TUTTI_ERR_ARG, "a broken packet came over the network"));
        return;
    }
    struct tt_peer *peer = c->peer[rank];
    if (tt_unlikely(!peer || peer->context != context)) peer = tt_peer_of(c, rank, context);
    tutti_status status = peer ? tt_take(c, peer, &p) : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK) return;
    /* The packet is lost. This rank fails, so that the sender does not believe that the packet was
     * received. */
    tt_common_fail(c->f->job, c->f->common, c->f->me, TT_CAUSE_STATUS, (int)status);
    tt_context_fault(c, status);
}

/* ---- Rings that peers write ---- */

/* The packet rings that peers write to a context. The context finds them in its mailbox and reads
 * them in turn. A peer that never announced a ring costs nothing; an empty ring costs a look at one
 * line. */

enum { AT_A_TIME = 64 }; /* packets read from one ring before the next ring is looked at */

static bool grow(tutti_context *c)
{
    int room = c->inlet_room ? 2 * c->inlet_room : 4;
    struct tt_inlet *inlet = tt_alloc_lines((size_t)room * sizeof *inlet);
    if (!inlet) return false;
    if (c->inlets) memcpy(inlet, c->inlet, (size_t)c->inlets * sizeof *inlet);
    tt_free(c->inlet);
    c->inlet = inlet;
    c->inlet_room = room;
    return true;
}

static tutti_status no_memory(void)
{
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for a new peer's messages");
}

static tutti_status adopt_one(tutti_context *c, int64_t offset, int64_t *next)
{
    struct tt_in in;
    *next = 0;
    if (!tt_in_open(c->f, offset, &in) || in.bulk_bytes != c->msg->ring_bytes) {
        tt_context_fault(c, tt_fail(TUTTI_ERR_ARG, "a broken ring was announced"));
        return TUTTI_OK;
    }
    if (c->inlets == c->inlet_room && !grow(c)) return no_memory();
    struct tt_peer *peer = tt_peer_of(c, in.ring->rank, in.ring->context);
    if (!peer) return TUTTI_ERR_MEMORY;
    *next = in.ring->next;
    if (!peer->from) peer->from = in.ring;
    c->inlet[c->inlets++] = (struct tt_inlet){.in = in, .peer = peer};
    return TUTTI_OK;
}

/* Adopts all rings in the list in the mailbox. c->announced is the rest of a list that was taken
 * from the mailbox before. If there is no memory for a ring now, the next advance adopts it. */
tutti_status tt_rings_adopt(tutti_context *c)
{
    while (true) {
        if (c->announced == 0) {
            uint64_t news = atomic_exchange_explicit(&c->mailbox->news, TT_MAILBOX_IN_USE,
                                                     memory_order_acquire);
            c->announced = (int64_t)(news & ~(uint64_t)TT_MAILBOX_IN_USE);
        }
        if (c->announced == 0) return TUTTI_OK;
        int64_t next;
        TT_TRY(adopt_one(c, c->announced, &next));
        c->announced = next;
    }
}

static void wake_writer(tutti_context *c, const struct tt_peer *peer)
{
    tt_fabric_signalled_context(c->f, peer->rank, peer->context);
}

static tutti_status read_one(tutti_context *c, int i, uint64_t mark)
{
    struct tt_packet p;
    struct tt_peer *peer = c->inlet[i].peer;
    size_t n = tt_packet_length(mark);
    const void *body = tt_in_body(&c->inlet[i].in, n);
    bool sound = body && tt_packet_read(mark, body, n, &p);
    if (tt_likely(sound))
        TT_TRY(tt_take(c, peer, &p));
    else
        tt_context_fault(c,
                         tt_fail(TUTTI_ERR_ARG, "a broken packet came from rank %d", peer->rank));
    if (tt_unlikely(tt_in_next(&c->inlet[i].in, n))) wake_writer(c, peer);
    return TUTTI_OK;
}

tutti_status tt_rings_read_last(tutti_context *c)
{
    uint64_t mark;
    for (int i = 0; i < c->inlets; i++)
        while (c->inlet[i].peer->ending && (mark = tt_in_look(&c->inlet[i].in)) != 0)
            TT_TRY(read_one(c, i, mark));
    return TUTTI_OK;
}

tutti_status tt_rings_read(tutti_context *c)
{
    uint64_t mark;
    for (int i = 0; i < c->inlets; i++)
        for (int k = 0; k < AT_A_TIME && (mark = tt_in_look(&c->inlet[i].in)) != 0; k++)
            TT_TRY(read_one(c, i, mark));
    return TUTTI_OK;
}
