/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Get and put, by the shortest of the ways that are open: plain loads and stores, the kernel, the
 * network, messages to who advances the owner's context. And fences.
 */
#include <errno.h>
#include <string.h>

#include "msg/region.h"

/* One of the two, under way. */
struct transfer {
    tutti_context *context;
    struct tt_peer *peer;
    struct tt_op *op;
    char *here;
    struct tt_region_key key;
    int64_t offset, bytes;
    bool put;
};

static tutti_status by_kernel(const struct transfer *t, tt_address there)
{
    struct tt_fabric *f = t->context->f;
    errno = 0;
    tutti_status status = t->put ? tt_fabric_write(f, t->peer->rank, there, t->here, t->bytes)
                                 : tt_fabric_read(f, t->peer->rank, t->here, there, t->bytes);
    if (!tt_is_unmapped(status)) return status;
    return tt_fail(
        TUTTI_ERR_ARG,
        "the kernel cannot %s %lld bytes %s rank %d: the region's memory was unmapped while it "
        "was registered, or the buffer here is none",
        t->put ? "put" : "get", (long long)t->bytes, t->put ? "to" : "from", t->peer->rank);
}

static tutti_status by_fabric(const struct transfer *t)
{
    tt_address there = t->key.address + (uint64_t)t->offset;
    char *near = tt_fabric_reach(t->context->f, there);
    if (!near) return by_kernel(t, there);
    tt_memcpy(t->put ? near : t->here, t->put ? t->here : near, (size_t)t->bytes);
    return TUTTI_OK;
}

static tutti_status by_messages(const struct transfer *t)
{
    uint64_t region = t->key.region, offset = (uint64_t)t->offset;
    struct tt_packet get = {.kind = TT_PACKET_GET,
                            .arg = {region, offset, (uint64_t)t->bytes, t->op->id}};
    struct tt_packet put = {
        .kind = TT_PACKET_PUT, .arg = {region, offset, t->op->id}, .data = t->here};
    if (t->put) TT_TRY(tt_post_packet(t->context, t->peer, &put, t->bytes, t->op, true));
    if (!t->put) TT_TRY(tt_post_packet(t->context, t->peer, &get, 0, NULL, false));
    return TUTTI_AGAIN;
}

/* AGAIN: it will be told. */
static tutti_status move(const struct transfer *t)
{
    const struct tt_fabric *f = t->context->f;
    if (t->bytes == 0) return TUTTI_OK;
    if (!t->peer->shares && t->key.wire_bytes) {
        tutti_status status = tt_wired_move(t->context, t->op, t->key.wire, t->key.wire_bytes,
                                            t->key.memory + (uint64_t)t->offset, t->here);
        if (status != TUTTI_ERR_UNSUPPORTED) return status;
    }
    bool may = tt_fabric_may(f, t->peer->rank, t->put ? TT_WRITES : TT_READS);
    bool reached = t->peer->shares && (may || tt_fabric_reach(f, t->key.address));
    tutti_status status = reached ? by_fabric(t) : TUTTI_ERR_UNSUPPORTED;
    return status == TUTTI_ERR_UNSUPPORTED ? by_messages(t) : status;
}

typedef tutti_status move_fn(const struct transfer *t);

static tutti_status begin_by(struct transfer *t, move_fn *by, const tutti_endpoint *owner,
                             tutti_done_fn *done, void *arg)
{
    tutti_context *c = t->context;
    TT_TRY(tt_send_peer(c, owner, &t->peer));
    t->op = tt_op_new(c, t->put ? TT_OP_PUT : TT_OP_GET, t->peer);
    if (!t->op) return TUTTI_ERR_MEMORY;
    t->op->done = done;
    t->op->arg = arg;
    t->op->to = t->here;
    t->op->bytes = t->op->left = t->bytes;
    tutti_status status = by(t);
    if (status == TUTTI_OK)
        tt_op_end(c, t->op, TUTTI_OK);
    else if (status != TUTTI_AGAIN)
        tt_op_free(c, t->op);
    return status == TUTTI_AGAIN ? TUTTI_OK : status;
}

static tutti_status begin(struct transfer *t, const tutti_endpoint *owner, const tutti_key *key,
                          tutti_done_fn *done, void *arg)
{
    tutti_context *c = t->context;
    TT_TRY(tt_region_open(c->msg, key, owner->rank, t->offset, t->bytes, &t->key));
    return begin_by(t, move, owner, done, arg);
}

static tutti_status begin_at(struct transfer *t, tutti_endpoint *owner, uint64_t address,
                             tutti_done_fn *done, void *arg)
{
    t->key.region = TT_REGION_OPENED;
    t->offset = (int64_t)address;
    tt_enter(t->context);
    tutti_status status = begin_by(t, by_messages, owner, done, arg);
    tt_leave(t->context);
    return status;
}

tutti_status tt_msg_get_at(tutti_context *c, tutti_endpoint *owner, void *to, uint64_t address,
                           int64_t bytes, tutti_done_fn *done, void *arg)
{
    struct transfer t = {.context = c, .here = to, .bytes = bytes};
    return begin_at(&t, owner, address, done, arg);
}

tutti_status tt_msg_put_at(tutti_context *c, tutti_endpoint *owner, const void *from,
                           uint64_t address, int64_t bytes, tutti_done_fn *done, void *arg)
{
    struct transfer t = {.context = c, .here = (char *)from, .bytes = bytes, .put = true};
    return begin_at(&t, owner, address, done, arg);
}

tutti_status tt_msg_get(tutti_context *c, tutti_endpoint *owner, void *to, const tutti_key *key,
                        int64_t offset, int64_t bytes, tutti_done_fn *done, void *arg)
{
    struct transfer t = {.context = c, .here = to, .offset = offset, .bytes = bytes};
    tt_enter(c);
    tutti_status status = begin(&t, owner, key, done, arg);
    tt_leave(c);
    return status;
}

tutti_status tt_msg_put(tutti_context *c, tutti_endpoint *owner, const void *from,
                        const tutti_key *key, int64_t offset, int64_t bytes, tutti_done_fn *done,
                        void *arg)
{
    struct transfer t = {
        .context = c, .here = (char *)from, .offset = offset, .bytes = bytes, .put = true};
    tt_enter(c);
    tutti_status status = begin(&t, owner, key, done, arg);
    tt_leave(c);
    return status;
}

/* ---- Fences ---- */

/* A fence to each peer; the last to come tells. `left` counts one more until all have been
 * started. */
struct fence {
    tutti_done_fn *done;
    void *arg;
    int left;
    tutti_status status;
};

static void passed(tutti_context *c, void *arg, tutti_status status)
{
    struct fence *fence = arg;
    if (fence->status == TUTTI_OK) fence->status = status;
    if (--fence->left > 0) return;
    if (fence->done) fence->done(c, fence->arg, fence->status);
    tt_free(fence);
}

void tt_fence_drop(struct tt_op *op)
{
    struct fence *fence = op->arg;
    if (--fence->left == 0) tt_free(fence);
}

bool tt_fence_is_heard(const struct tt_op *op)
{
    const struct fence *fence = op->arg;
    return fence->done != NULL;
}

void tt_fence_answered(tutti_context *c, struct tt_op *op, tutti_status status)
{
    struct tt_peer *peer = op->peer;
    bool settles = status == TUTTI_OK || tt_fence_is_heard(op);
    if (settles && op->upto > peer->settled) peer->settled = op->upto;
    tt_op_end(c, op, status);
}

static tutti_status fence_peer(tutti_context *c, struct tt_peer *peer, struct fence *fence)
{
    struct tt_op *op = tt_op_new(c, TT_OP_FENCE, peer);
    if (!op) return TUTTI_ERR_MEMORY;
    op->done = passed;
    op->arg = fence;
    op->upto = peer->risked;
    struct tt_packet p = {.kind = TT_PACKET_FENCE, .arg = {op->id}};
    fence->left++;
    tutti_status status = tt_post_packet(c, peer, &p, 0, NULL, false);
    if (status == TUTTI_OK) return TUTTI_OK;
    fence->left--;
    tt_op_free(c, op);
    return status;
}

/* Whether anything was ever sent there: else there is nothing to wait for. */
static bool was_used(const struct tt_peer *peer)
{
    return peer->out.ring || peer->waiting.first || peer->link;
}

/* What a rank that is gone may not have got. */
static void tell_missed(struct tt_peer *peer, struct fence *fence)
{
    if (!peer->gone || peer->risked == peer->settled) return;
    peer->settled = peer->risked;
    if (fence->status == TUTTI_OK) fence->status = TUTTI_ERR_PEER;
}

/* First what can fail. */
static tutti_status fence_all(tutti_context *c, struct fence *fence)
{
    for (int r = 0; r < c->f->size; r++)
        for (struct tt_peer *peer = c->peer[r]; peer; peer = peer->next_of_rank)
            if (!peer->gone && was_used(peer)) TT_TRY(fence_peer(c, peer, fence));
    for (int r = 0; r < c->f->size; r++)
        for (struct tt_peer *peer = c->peer[r]; peer; peer = peer->next_of_rank)
            tell_missed(peer, fence);
    return TUTTI_OK;
}

/* What was started before an error is passed in silence. */
static tutti_status start(tutti_context *c, const tutti_endpoint *to, struct fence *fence)
{
    struct tt_peer *peer = NULL;
    tutti_status status = to ? tt_send_peer(c, to, &peer) : TUTTI_OK;
    if (status == TUTTI_OK && !peer) status = fence_all(c, fence);
    if (status == TUTTI_OK && peer && was_used(peer)) status = fence_peer(c, peer, fence);
    if (status != TUTTI_OK) fence->done = NULL;
    passed(c, fence, TUTTI_OK);
    return status;
}

tutti_status tt_msg_fence(tutti_context *c, tutti_endpoint *to, tutti_done_fn *done, void *arg)
{
    struct fence *fence = tt_alloc(sizeof *fence);
    if (!fence) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a fence");
    *fence = (struct fence){.done = done, .arg = arg, .left = 1};
    tt_enter(c);
    tutti_status status = start(c, to, fence);
    tt_leave(c);
    return status;
}
