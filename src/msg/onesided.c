/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions for get, put and fence. A get or put takes the shortest path that is open: plain
 * loads and stores, the kernel, the network, or messages to the thread that advances the owner's
 * context.
 */
#include <string.h>

#include "msg/region.h"
#include "msg/wired.h"
#include "msg/thread.h"

/* A get or a put. */
struct onesided_access {
    tutti_context *context;
    struct tt_peer *peer;
    struct tt_pending *pending;
    char *here;
    struct tt_region_key key;
    int64_t offset, bytes;
    bool put;
};

static tutti_status by_kernel(const struct onesided_access *t, tt_address there)
{
    struct tt_fabric *f = t->context->f;
    return t->put ? tt_fabric_write(f, t->peer->rank, there, t->here, t->bytes)
                  : tt_fabric_read(f, t->peer->rank, t->here, there, t->bytes);
}

static tutti_status by_fabric(const struct onesided_access *t)
{
    tt_address there = t->key.address + (uint64_t)t->offset;
    char *loadable = tt_fabric_reach(t->context->f, t->peer->rank, there);
    if (!loadable) return by_kernel(t, there);
    tt_memcpy(t->put ? loadable : t->here, t->put ? t->here : loadable, (size_t)t->bytes);
    return TUTTI_OK;
}

static tutti_status by_messages(const struct onesided_access *t)
{
    uint64_t region = t->key.region, offset = (uint64_t)t->offset;
    struct tt_packet get = {.kind = TT_PACKET_GET,
                            .arg = {region, offset, (uint64_t)t->bytes, t->pending->id}};
    struct tt_packet put = {
        .kind = TT_PACKET_PUT, .arg = {region, offset, t->pending->id}, .data = t->here};
    if (t->put) t->pending->flows = 1;
    if (t->put) TT_TRY(tt_post_packet(t->context, t->peer, &put, t->bytes, t->pending, true));
    if (!t->put) TT_TRY(tt_post_packet(t->context, t->peer, &get, 0, NULL, false));
    return TUTTI_AGAIN;
}

/* Does the access by the first path that reaches the memory. AGAIN: the operation is under way and
 * will be completed later. */
static tutti_status move(const struct onesided_access *t)
{
    const struct tt_fabric *f = t->context->f;
    if (t->bytes == 0) return TUTTI_OK;
    if (!t->peer->transport->shares && t->key.wire_bytes) {
        tutti_status status = tt_wired_move(t->context, t->pending, t->key.wire, t->key.wire_bytes,
                                            t->key.memory + (uint64_t)t->offset, t->here);
        if (status != TUTTI_ERR_UNSUPPORTED) return status;
    }
    bool may = tt_fabric_may(f, t->peer->rank, t->put ? TT_WRITES : TT_READS);
    bool reached =
        t->peer->transport->shares && (may || tt_fabric_reach(f, t->peer->rank, t->key.address));
    tutti_status status = reached ? by_fabric(t) : TUTTI_ERR_UNSUPPORTED;
    return status == TUTTI_ERR_UNSUPPORTED ? by_messages(t) : status;
}

typedef tutti_status move_fn(const struct onesided_access *t);

static tutti_status begin_by(struct onesided_access *t, move_fn *by, const tutti_endpoint *owner,
                             tutti_done_fn *done, void *arg)
{
    tutti_context *c = t->context;
    TT_TRY(tt_send_peer(c, owner, &t->peer));
    t->pending = tt_pending_new(c, t->put ? TT_PENDING_PUT : TT_PENDING_GET, t->peer);
    if (!t->pending) return TUTTI_ERR_MEMORY;
    t->pending->done = done;
    t->pending->arg = arg;
    t->pending->to = t->here;
    t->pending->bytes = t->pending->left = t->bytes;
    tutti_status status = by(t);
    if (status == TUTTI_OK)
        tt_pending_end(c, t->pending, TUTTI_OK);
    else if (status != TUTTI_AGAIN)
        tt_pending_free(c, t->pending);
    return status == TUTTI_AGAIN ? TUTTI_OK : status;
}

static tutti_status begin(struct onesided_access *t, const tutti_endpoint *owner,
                          const tutti_key *key, tutti_done_fn *done, void *arg)
{
    tutti_context *c = t->context;
    TT_TRY(tt_region_open(c->msg, key, owner->rank, t->offset, t->bytes, &t->key));
    return begin_by(t, move, owner, done, arg);
}

static tutti_status begin_at(struct onesided_access *t, tutti_endpoint *owner, uint64_t address,
                             tutti_done_fn *done, void *arg)
{
    t->key.region = TT_REGION_OPENED;
    t->offset = (int64_t)address;
    tt_assert(tt_enter(t->context));
    tutti_status status = begin_by(t, by_messages, owner, done, arg);
    tt_assert(tt_leave(t->context));
    return status;
}

tutti_status tt_msg_get_at(tutti_context *c, tutti_endpoint *owner, void *to, uint64_t address,
                           int64_t bytes, tutti_done_fn *done, void *arg)
{
    struct onesided_access t = {.context = c, .here = to, .bytes = bytes};
    return begin_at(&t, owner, address, done, arg);
}

tutti_status tt_msg_put_at(tutti_context *c, tutti_endpoint *owner, const void *from,
                           uint64_t address, int64_t bytes, tutti_done_fn *done, void *arg)
{
    struct onesided_access t = {.context = c, .here = (char *)from, .bytes = bytes, .put = true};
    return begin_at(&t, owner, address, done, arg);
}

tutti_status tt_msg_get(tutti_context *c, tutti_endpoint *owner, void *to, const tutti_key *key,
                        int64_t offset, int64_t bytes, tutti_done_fn *done, void *arg)
{
    struct onesided_access t = {.context = c, .here = to, .offset = offset, .bytes = bytes};
    tt_assert(tt_enter(c));
    tutti_status status = begin(&t, owner, key, done, arg);
    tt_assert(tt_leave(c));
    return status;
}

tutti_status tt_msg_put(tutti_context *c, tutti_endpoint *owner, const void *from,
                        const tutti_key *key, int64_t offset, int64_t bytes, tutti_done_fn *done,
                        void *arg)
{
    struct onesided_access t = {
        .context = c, .here = (char *)from, .offset = offset, .bytes = bytes, .put = true};
    tt_assert(tt_enter(c));
    tutti_status status = begin(&t, owner, key, done, arg);
    tt_assert(tt_leave(c));
    return status;
}

/* ---- Fences ---- */

static void passed(tutti_context *c, void *arg, tutti_status status)
{
    struct tt_fence *fence = arg;
    if (fence->status == TUTTI_OK) fence->status = status;
    if (--fence->left > 0) return;
    if (fence->done) fence->done(c, fence->arg, fence->status);
    tt_free(fence);
}

static tutti_status fence_peer(tutti_context *c, struct tt_peer *peer, struct tt_fence *fence)
{
    struct tt_pending *pending = tt_pending_new(c, TT_PENDING_FENCE, peer);
    if (!pending) return TUTTI_ERR_MEMORY;
    pending->done = passed;
    pending->arg = fence;
    pending->upto = peer->risked;
    struct tt_packet p = {.kind = TT_PACKET_FENCE, .arg = {pending->id}};
    fence->left++;
    tutti_status status = tt_post_packet(c, peer, &p, 0, NULL, false);
    if (status == TUTTI_OK) return TUTTI_OK;
    fence->left--;
    tt_pending_free(c, pending);
    return status;
}

/* Returns whether this context ever sent anything to the peer, or the network is executing a put to
 * it. If not, a fence has nothing to wait for. */
static bool was_used(const struct tt_peer *peer)
{
    return peer->out.ring || peer->waiting.first || peer->link || peer->wire_puts > 0;
}

/* Reports messages that a rank may not have received before it failed or left. */
static void report_missed(struct tt_peer *peer, struct tt_fence *fence)
{
    if (!peer->gone || peer->risked == peer->settled) return;
    peer->settled = peer->risked;
    if (fence->status == TUTTI_OK) fence->status = TUTTI_ERR_PEER;
}

/* Starts a fence to each peer that was sent anything and is not gone. Then reports what was lost
 * with peers that are gone; this comes last, because starting a fence can fail. */
static tutti_status fence_all(tutti_context *c, struct tt_fence *fence)
{
    for (int r = 0; r < c->f->size; r++)
        for (struct tt_peer *peer = c->peer[r]; peer; peer = peer->next_of_rank)
            if (!peer->gone && was_used(peer)) TT_TRY(fence_peer(c, peer, fence));
    for (int r = 0; r < c->f->size; r++)
        for (struct tt_peer *peer = c->peer[r]; peer; peer = peer->next_of_rank)
            report_missed(peer, fence);
    return TUTTI_OK;
}

static void drop_started(struct tt_work *work)
{
    struct tt_fence *fence = tt_container_of(work, struct tt_fence, work);
    if (--fence->left == 0) tt_free(fence);
}

/* Records that all operations of the fence were started, which ends the fence if none is left. If
 * too many completion functions are running inside one another, the next advance does this. */
static void started(tutti_context *c, void *arg)
{
    struct tt_fence *fence = arg;
    if (c->depth >= TT_DEPTH_MOST) {
        fence->work = (struct tt_work){.work = started, .arg = fence, .drop = drop_started};
        tt_work_post(c, &fence->work);
        return;
    }
    c->depth++;
    passed(c, fence, TUTTI_OK);
    c->depth--;
}

/* Starts the fence to the peer `to` or, if `to` is NULL, to all peers. If there is an error, the
 * fences that were started before the error end without calling `done`. */
static tutti_status start(tutti_context *c, const tutti_endpoint *to, struct tt_fence *fence)
{
    struct tt_peer *peer = NULL;
    tutti_status status = to ? tt_send_peer(c, to, &peer) : TUTTI_OK;
    if (status == TUTTI_OK && !peer) status = fence_all(c, fence);
    if (status == TUTTI_OK && peer && was_used(peer)) status = fence_peer(c, peer, fence);
    if (status != TUTTI_OK) fence->done = NULL;
    started(c, fence);
    return status;
}

tutti_status tt_msg_fence(tutti_context *c, tutti_endpoint *to, tutti_done_fn *done, void *arg)
{
    struct tt_fence *fence = tt_alloc(sizeof *fence);
    if (!fence) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a fence");
    *fence = (struct tt_fence){.done = done, .arg = arg, .left = 1};
    tt_assert(tt_enter(c));
    tutti_status status = start(c, to, fence);
    tt_assert(tt_leave(c));
    return status;
}
