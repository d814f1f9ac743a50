/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of pending operations: what a context has started and a packet or the network
 * completes.
 *
 * An id is (how many times the table entry was used) << 32 | index + 1. So an answer that comes
 * twice, late, or from a wrong sender finds no operation. The member `risked` of a peer (inside.h)
 * counts the messages and operations whose loss only a fence reports.
 */
#include <string.h>

#include "msg/inside.h"

static bool grow(tutti_context *c)
{
    int room = c->pending_room ? 2 * c->pending_room : 16;
    struct tt_pending **pending = tt_alloc_lines((size_t)room * sizeof *pending);
    if (!pending) return false;
    if (c->pendings) memcpy(pending, c->pending, (size_t)c->pendings * sizeof *pending);
    tt_free(c->pending);
    c->pending = pending;
    c->pending_room = room;
    return true;
}

static struct tt_pending *add(tutti_context *c)
{
    if (c->pendings == c->pending_room && !grow(c)) return NULL;
    struct tt_pending *pending = tt_alloc_lines(sizeof *pending);
    if (!pending) return NULL;
    *pending = (struct tt_pending){.id = (uint64_t)c->pendings + 1};
    c->pending[c->pendings++] = pending;
    return pending;
}

struct tt_pending *tt_pending_new(tutti_context *c, enum tt_pending_kind kind, struct tt_peer *peer)
{
    struct tt_pending *pending = c->free_pending;
    if (pending)
        c->free_pending = pending->next;
    else if (!(pending = add(c))) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory to start a message");
        return NULL;
    }
    *pending =
        (struct tt_pending){.kind = kind, .id = pending->id + (UINT64_C(1) << 32), .peer = peer};
    /* The context must be advanced even if no packet ever arrives: if the peer is gone, only an
     * advance ends the operation. */
    tt_context_used(c);
    return pending;
}

struct tt_pending *tt_pending_find(tutti_context *c, uint64_t id, const struct tt_peer *peer)
{
    uint64_t place = (id & UINT32_MAX) - 1;
    if (place >= (uint64_t)c->pendings) return NULL;
    struct tt_pending *pending = c->pending[place];
    bool same = pending->kind != TT_PENDING_NONE && !pending->ended && pending->id == id &&
                pending->peer->rank == peer->rank;
    return same ? pending : NULL;
}

void tt_pending_free(tutti_context *c, struct tt_pending *pending)
{
    const struct tt_wire_ops *wire = c->msg->ops;
    if (pending->region) wire->unmap(pending->region);
    if (pending->key) wire->key_close(pending->key);
    if (pending->packed) tt_free(pending->packed);
    pending->region = NULL;
    pending->key = NULL;
    pending->packed = NULL;
    pending->kind = TT_PENDING_NONE;
    pending->next = c->free_pending;
    c->free_pending = pending;
}

/* ---- Calling completion functions ---- */

/* Calls the functions of an operation that has ended. Frees the operation first, so that new
 * operations which the functions start can use its table entry. */
static void call_done(tutti_context *c, struct tt_pending *pending)
{
    struct tt_pending ended = *pending;
    tt_pending_free(c, pending);
    c->depth++;
    c->events++;
    /* If the status is PEER, the operation was given up, and `sent` gets PEER, too. With any other
     * status the buffer was sent, and `sent` gets OK. */
    bool buffer = ended.status != TUTTI_ERR_PEER;
    if (ended.sent) ended.sent(c, ended.arg, buffer ? TUTTI_OK : ended.status);
    if (ended.done) ended.done(c, ended.arg, ended.status);
    c->depth--;
}

/* Returns whether a fence must report the loss of this operation. Short messages without a
 * `delivered` function are not counted here: the peer's `risked` counts them when they are sent. */
static bool is_risked(const struct tt_pending *pending)
{
    return (pending->kind == TT_PENDING_TRACKED && pending->done) ||
           pending->kind == TT_PENDING_LONG || pending->kind == TT_PENDING_PUT;
}

void tt_pending_end(tutti_context *c, struct tt_pending *pending, tutti_status status)
{
    pending->status = status;
    if (tt_unlikely(status == TUTTI_ERR_PEER) && !pending->peer->gone)
        pending->peer->risked += is_risked(pending);
    if (!pending->sent && !pending->done) {
        tt_pending_free(c, pending);
        return;
    }
    if (c->depth < TT_DEPTH_MOST) {
        call_done(c, pending);
        return;
    }
    pending->ended = true;
    pending->next = c->ended;
    c->ended = pending;
}

void tt_pending_call_ended(tutti_context *c)
{
    struct tt_pending *pending = c->ended, *first = NULL;
    c->ended = NULL;
    for (struct tt_pending *next; pending; pending = next) {
        next = pending->next;
        pending->next = first;
        first = pending;
    }
    for (struct tt_pending *next; first; first = next) {
        next = first->next;
        call_done(c, first);
    }
}

/* Records that a put was sent, or one part of a long message, which the target asked for. */
static void part_gone(tutti_context *c, struct tt_pending *pending)
{
    if (--pending->flows == 0 && pending->answered) tt_pending_end(c, pending, pending->status);
}

/* Calls the completion function `sent` of a short message: its buffer may be used again. The
 * operation goes on until the target acknowledges the message. */
static void buffer_free(tutti_context *c, struct tt_pending *pending)
{
    tutti_done_fn *sent = pending->sent;
    if (!sent || c->depth >= TT_DEPTH_MOST) return; /* `sent` is called when the operation ends */
    pending->sent = NULL;
    c->depth++;
    sent(c, pending->arg, TUTTI_OK);
    c->depth--;
}

void tt_pending_gone(tutti_context *c, struct tt_pending *pending)
{
    if (pending->kind == TT_PENDING_TRACKED && !pending->done)
        tt_pending_end(c, pending, TUTTI_OK);
    else if (pending->kind == TT_PENDING_TRACKED)
        buffer_free(c, pending);
    else if (pending->flows > 0)
        part_gone(c, pending);
}

/* Returns whether somebody waits for the result of this fence. */
static bool is_awaited(const struct tt_pending *pending)
{
    const struct tt_fence *fence = pending->arg;
    return fence->done != NULL;
}

/* Ends a fence that the target has acknowledged. */
static void fence_answered(tutti_context *c, struct tt_pending *pending, tutti_status status)
{
    struct tt_peer *peer = pending->peer;
    bool settles = status == TUTTI_OK || is_awaited(pending);
    if (settles && pending->upto > peer->settled) peer->settled = pending->upto;
    tt_pending_end(c, pending, status);
}

/* Drops an operation of a fence, since the context is closed before the operation has ended. Frees
 * the struct tt_fence with its last operation. */
static void fence_drop(struct tt_pending *pending)
{
    struct tt_fence *fence = pending->arg;
    if (--fence->left == 0) tt_free(fence);
}

bool tt_pending_answer(tutti_context *c, struct tt_pending *pending, tutti_status status)
{
    if (pending->handlers) return pending->handlers->answered(c, pending, status);
    if (pending->kind == TT_PENDING_FENCE)
        fence_answered(c, pending, status);
    else if (pending->flows == 0)
        tt_pending_end(c, pending, status);
    else {
        pending->answered = true;
        pending->status = status;
    }
    return true;
}

/* Records, in the fences to a peer that is gone, whether messages or operations may be lost. The
 * caller does this before it calls any completion function, since such a function may begin another
 * fence. */
static void note_missed(tutti_context *c, struct tt_peer *peer)
{
    for (int i = 0; i < c->pendings; i++)
        peer->risked +=
            c->pending[i]->peer == peer && !c->pending[i]->ended && is_risked(c->pending[i]);
    if (peer->risked == peer->settled) return;
    bool awaited = false;
    for (int i = 0; i < c->pendings; i++) {
        struct tt_pending *pending = c->pending[i];
        if (pending->kind != TT_PENDING_FENCE || pending->peer != peer || pending->ended) continue;
        pending->missed = true;
        awaited |= is_awaited(pending);
    }
    if (awaited) peer->settled = peer->risked;
}

static void end_lost(tutti_context *c, struct tt_pending *pending)
{
    if (pending->handlers)
        pending->handlers->lost(c, pending);
    else if (pending->kind == TT_PENDING_FENCE)
        tt_pending_end(c, pending, pending->missed ? TUTTI_ERR_PEER : TUTTI_OK);
    else
        tt_pending_end(c, pending, TUTTI_ERR_PEER);
}

void tt_pending_end_lost(tutti_context *c, struct tt_peer *peer)
{
    note_missed(c, peer);
    for (int i = 0; i < c->pendings; i++) {
        struct tt_pending *pending = c->pending[i];
        bool open = pending->kind != TT_PENDING_NONE && !pending->ended && !pending->on_wire &&
                    pending->peer == peer;
        if (open) end_lost(c, pending);
    }
}

void tt_pending_close_keys(tutti_context *c)
{
    for (int i = 0; i < c->pendings; i++) {
        struct tt_pending *pending = c->pending[i];
        if (pending->key) c->msg->ops->key_close(pending->key);
        pending->key = NULL;
    }
}

void tt_pending_close(tutti_context *c)
{
    for (int i = 0; i < c->pendings; i++) {
        if (c->pending[i]->kind == TT_PENDING_FENCE) fence_drop(c->pending[i]);
        tt_pending_free(c, c->pending[i]);
        tt_free(c->pending[i]);
    }
    tt_free(c->pending);
}
