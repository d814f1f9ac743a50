/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that have come: their handlers, and what these want done with the payload.
 *
 *     NEW --handler--> read in place, copied, dropped            all done
 *                 `--> PUT_OFF --tutti_message_receive--.
 *                 `------------------------------------> PULLED --> all done
 */
#include <string.h>

#include "msg/pull.h"
#include "type/layout.h"

/* ---- Receipts ---- */

bool tt_receive_reserve(tutti_context *c)
{
    if (tt_likely(c->spare && c->spare_data)) return true;
    if (!c->spare) c->spare = tt_alloc_lines(sizeof *c->spare);
    if (!c->spare_data) c->spare_data = tt_alloc_lines(c->msg->packet_most);
    if (c->spare && c->spare_data) return true;
    (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for a message that may be put off");
    return false;
}

/* What it takes to receive it. */
static void release(struct tutti_pending *r)
{
    if (r->layout) tt_layout_drop(r->layout);
    tt_free(r->packed);
    tt_free(r->data);
    r->layout = NULL;
    r->packed = r->data = NULL;
}

void tt_receive_unref(struct tutti_pending *r)
{
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
    if (r->range != &r->one) tt_free(r->range);
    release(r);
    tt_free(r);
}

/* ---- Those that are not done, and fences ---- */

static void open_one(struct tt_peer *peer, struct tt_open *open)
{
    *open = (struct tt_open){.prev = peer->newest, .number = ++peer->arrived};
    if (peer->newest)
        peer->newest->next = open;
    else
        peer->oldest = open;
    peer->newest = open;
}

/* What was dropped is told once. */
static void pass_fence(tutti_context *c, struct tt_peer *peer, uint64_t id)
{
    tutti_status status = peer->dropped ? TUTTI_ERR_PEER : TUTTI_OK;
    peer->dropped = false;
    tt_post_answer(c, peer, TT_PACKET_ACK, id, (uint64_t)status);
}

static void pass_fences(tutti_context *c, struct tt_peer *peer)
{
    for (struct tt_parcel *fence; (fence = peer->fences.first) != NULL;) {
        if (peer->oldest && peer->oldest->number <= fence->number) return;
        uint64_t id = fence->packet.arg[0];
        tt_parcel_give(c, tt_parcel_first(&peer->fences));
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

void tt_receive_fence(tutti_context *c, struct tt_peer *peer, uint64_t id)
{
    if (!peer->oldest) {
        pass_fence(c, peer, id);
        return;
    }
    struct tt_parcel *fence = tt_parcel_take(c);
    fence->packet.arg[0] = id;
    fence->number = peer->arrived;
    tt_parcel_append(&peer->fences, fence);
}

void tt_receive_drop(struct tt_peer *peer)
{
    while (peer->oldest) {
        struct tutti_pending *r = tt_container_of(peer->oldest, struct tutti_pending, open);
        unlist(peer, &r->open);
        tt_receive_unref(r);
    }
}

/* ---- Where the payload goes ---- */

/* How many of `bytes` fit, by the type's layout. ARG: it says nothing that could be. */
static tutti_status fit(const tutti_receive *into, const struct tt_layout *layout, int64_t bytes,
                        int64_t *take)
{
    int64_t room;
    if (!layout)
        return tt_fail(TUTTI_ERR_ARG, "type %d is no basic and no live derived type",
                       (int)into->type);
    if (into->count < 0)
        return tt_fail(TUTTI_ERR_ARG, "count is %lld, negative", (long long)into->count);
    if (__builtin_mul_overflow(into->count, layout->packed, &room)) room = INT64_MAX;
    *take = tt_min(room, bytes);
    return TUTTI_OK;
}

/* The last element may have come in part: what is missing of it stays as it is. */
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

static tutti_status place(const struct tt_layout *layout, const tutti_receive *into,
                          const void *data, int64_t bytes)
{
    if (!layout->solid) return unpack(layout, data, into->to, bytes);
    tt_memcpy(into->to, data, (size_t)bytes);
    return TUTTI_OK;
}

/* Of a message whose payload is here. */
static tutti_status copy_in(const tutti_receive *into, const void *data, int64_t bytes)
{
    int64_t take = 0;
    const struct tt_layout *layout = tt_layout_find(into->type);
    if (!into->to) return TUTTI_OK;
    TT_TRY(fit(into, layout, bytes, &take));
    if (take > 0) TT_TRY(place(layout, into, data, take));
    return take < bytes ? TUTTI_ERR_TRUNCATED : TUTTI_OK;
}

/* ---- Done ---- */

static void tell(tutti_context *c, const tutti_receive *into, tutti_status status)
{
    if (!into->done) return;
    c->depth++;
    into->done(c, into->arg, status);
    c->depth--;
}

static void end(tutti_context *c, struct tutti_pending *r, tutti_status status)
{
    release(r);
    if (c->msg->leaving && status == TUTTI_ERR_PEER) r->peer->dropped = true;
    tell(c, &r->into, status);
    c->events++;
    if (r->id) tt_post_answer(c, r->peer, TT_PACKET_ACK, r->id, (uint64_t)status);
    close_one(c, r->peer, &r->open);
    tt_receive_unref(r);
}

void tt_receive_ready(tutti_context *c, struct tutti_pending *r)
{
    tutti_status status = (tutti_status)atomic_load(&r->status);
    tt_pull_end(c, r);
    if (status == TUTTI_OK && r->packed) status = unpack(r->layout, r->packed, r->into.to, r->take);
    if (status == TUTTI_OK && r->take < r->bytes) status = TUTTI_ERR_TRUNCATED;
    end(c, r, status);
}

/* ---- Long ones ---- */

/* What is needed to take it; nothing is begun where it fails. */
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
    if (r->take == 0)
        tt_receive_ready(c, r);
    else
        tt_pull_start(c, r);
}

static void keep(tutti_context *c, struct tutti_pending *r, enum tt_receipt_state state)
{
    c->spare = NULL;
    r->state = state;
    open_one(r->peer, &r->open);
}

/* ---- Handlers ---- */

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

/* The payload goes on lying in the ring for the next message, so it is copied; to what was reserved
 * if there is nothing else. */
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
    r->id = p->kind == TT_PACKET_EAGER_TOLD ? p->arg[0] : 0;
    call(c, p, r, &into);
    if (tt_unlikely(into.put_off)) {
        keep_payload(c, r, p);
        return;
    }
    tutti_status status = into.to ? copy_in(&into, p->data, r->bytes) : TUTTI_OK;
    if (into.done) tell(c, &into, status);
    if (p->kind == TT_PACKET_EAGER_TOLD)
        tt_post_answer(c, peer, TT_PACKET_ACK, p->arg[0], (uint64_t)status);
    if (tt_unlikely(status != TUTTI_OK && !into.done)) tt_take_fault(c, status);
}

/* The wire's key, if any, was put behind the message. */
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
    if (p->bytes == 0) return true;
    r->data = tt_alloc(p->bytes);
    if (r->data) memcpy(r->data, p->data, p->bytes);
    return r->data != NULL;
}

static void handle_long(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    struct tutti_pending *r = c->spare;
    tutti_receive into = {0};
    if (!note_long(c, peer, p)) {
        tt_take_fault(c,
                      tt_fail(TUTTI_ERR_ARG, "rank %d sent a broken request to send", peer->rank));
        return;
    }
    call(c, p, r, &into);
    if (!keep_key(r, p)) r->key_bytes = 0; /* then it is asked for */
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
    if (status != TUTTI_OK && !into.done) tt_take_fault(c, status);
    end(c, r, status);
}

/* One that leaves has no handlers left. */
static void handle_nobodys(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    tutti_status status = c->msg->leaving ? TUTTI_ERR_PEER : TUTTI_ERR_ARG;
    peer->dropped |= c->msg->leaving;
    if (status == TUTTI_ERR_ARG)
        tt_take_fault(c, tt_fail(status,
                                 "a message from context %d of rank %d has dispatch %d, which "
                                 "nobody registered here",
                                 peer->context, peer->rank, p->dispatch));
    if (p->kind != TT_PACKET_EAGER)
        tt_post_answer(c, peer, TT_PACKET_ACK, p->arg[0], (uint64_t)status);
}

static void renew(tutti_context *c)
{
    struct tutti_pending *r = c->spare;
    r->state = TT_RECEIPT_NEW;
    r->context = c;
    r->range = &r->one;
    r->help = NULL;
    r->data = NULL;
    atomic_store_explicit(&r->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&r->status, TUTTI_OK, memory_order_relaxed);
}

void tt_receive_packet(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    renew(c);
    if (tt_unlikely(!c->msg->handler[p->dispatch].fn))
        handle_nobodys(c, peer, p);
    else if (tt_likely(p->kind != TT_PACKET_RTS))
        handle_short(c, peer, p);
    else
        handle_long(c, peer, p);
}

/* ---- Later ---- */

static tutti_status receive_short(tutti_context *c, struct tutti_pending *r,
                                  const tutti_receive *into)
{
    tutti_status status = copy_in(into, r->data, r->bytes);
    if (status == TUTTI_ERR_ARG || status == TUTTI_ERR_MEMORY) return status; /* nothing was done */
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
    tt_enter(c);
    tutti_status status = TUTTI_OK;
    if (!r->is_long)
        status = receive_short(c, r, into);
    else if (!into->to)
        end(c, r, TUTTI_OK);
    else if ((status = prepare(r, into)) == TUTTI_OK)
        start(c, r);
    tt_leave(c);
    return status;
}
