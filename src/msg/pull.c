/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cutting a long message into portions and pieces, and pulling these.
 */
#include "msg/pull.h"

#include <string.h>

#include "msg/help.h"
#include "msg/wired.h"

enum {
    /* What a context woken for a portion costs, some microseconds, is to be a small part of what
     * copying it does. */
    PORTION_LEAST = 128 << 10,
    PIECE_MOST = 1 << 20, /* between two looks at everything else */
    ASKED_MOST = 4 /* pieces of a context that are on their way: enough to hide how long it is */
};

/* ---- Cutting ---- */

struct tt_pieces tt_pieces_by(int64_t take, uint64_t to, int64_t bytes)
{
    int64_t lead = (int64_t)(to & (TT_PAGE - 1));
    return (struct tt_pieces){
        .take = take, .bytes = bytes, .lead = lead, .n = (int)tt_div_up(take + lead, bytes)};
}

struct tt_pieces tt_pieces_of(int64_t take, uint64_t to, int64_t portions, int64_t most)
{
    int64_t lead = (int64_t)(to & (TT_PAGE - 1));
    int64_t pieces = portions * tt_div_up(tt_div_up(take, portions), most);
    return tt_pieces_by(take, to, tt_round_up(tt_div_up(take + lead, pieces), TT_PAGE));
}

static void cut(tutti_context *c, struct tutti_pending *r, int contexts)
{
    int64_t portions = tt_max(1, tt_min(contexts, r->take / PORTION_LEAST));
    int64_t most = tt_help_wanted(c, r) ? tt_help_piece(r->take, portions) : PIECE_MOST;
    r->pieces = tt_pieces_of(r->take, (uint64_t)(uintptr_t)r->to, portions, most);
    r->ranges = (int)tt_min(portions, r->pieces.n);
}

/* ---- One portion ---- */

static int claim(struct tt_range *range)
{
    int end = atomic_load_explicit(&range->end, memory_order_relaxed);
    if (atomic_load_explicit(&range->next, memory_order_relaxed) >= end) return -1;
    if (range->seat && !tt_help_claim(range)) return -1;
    int piece = atomic_fetch_add_explicit(&range->next, 1, memory_order_relaxed);
    return piece < end ? piece : -1;
}

static void append(tutti_context *c, struct tt_range *range)
{
    struct tt_range **end = &c->ranges;
    while (*end) end = &(*end)->next_of_context;
    range->next_of_context = NULL;
    *end = range;
}

static void take_range(tutti_context *c, void *arg)
{
    atomic_store_explicit(&c->has_portion, false, memory_order_relaxed);
    append(c, arg);
}

static void drop_range(struct tt_work *work)
{
    tt_receive_unref(tt_container_of(work, struct tt_range, work)->receipt);
}

static void finish(tutti_context *c, void *arg)
{
    tt_receive_ready(c, arg);
}

static void drop_finish(struct tt_work *work)
{
    (void)work; /* its owner has another hold on the receipt */
}

/* ---- The client's list: receipts whose pieces any context may claim ---- */

static void share(struct tt_shared_pulls *pulls, struct tutti_pending *r)
{
    pthread_mutex_lock(&pulls->lock);
    r->next_shared = pulls->first;
    if (pulls->first) pulls->first->link = &r->next_shared;
    r->link = &pulls->first;
    pulls->first = r;
    atomic_fetch_add(&pulls->n, 1);
    pthread_mutex_unlock(&pulls->lock);
}

static void unshare_locked(struct tt_shared_pulls *pulls, struct tutti_pending *r)
{
    if (!r->link) return;
    *r->link = r->next_shared;
    if (r->next_shared) r->next_shared->link = r->link;
    r->link = NULL;
    atomic_fetch_sub(&pulls->n, 1);
}

static int claim_any(struct tutti_pending *r)
{
    for (int i = 0; i < r->ranges; i++) {
        int piece = claim(&r->range[i]);
        if (piece >= 0) return piece;
    }
    return -1;
}

/* A piece of whichever receipt has one left, and a reference to that. One that has none is of no
 * more use in the list. */
static struct tutti_pending *help(struct tt_shared_pulls *pulls, int *piece)
{
    struct tutti_pending *r;
    pthread_mutex_lock(&pulls->lock);
    while ((r = pulls->first) != NULL) {
        *piece = claim_any(r);
        if (*piece >= 0) {
            atomic_fetch_add(&r->refs, 1);
            break;
        }
        unshare_locked(pulls, r);
    }
    pthread_mutex_unlock(&pulls->lock);
    return r;
}

/* ---- One piece ---- */

void tt_pull_piece_ended(tutti_context *c, struct tutti_pending *r, tutti_status status)
{
    int ok = TUTTI_OK;
    if (status != TUTTI_OK) atomic_compare_exchange_strong(&r->status, &ok, (int)status);
    if (atomic_fetch_sub_explicit(&r->left, 1, memory_order_acq_rel) != 1) return;
    if (c == r->context)
        tt_receive_ready(c, r);
    else {
        r->finish = (struct tt_work){.work = finish, .arg = r, .drop = drop_finish};
        tt_work_post(r->context, &r->finish);
    }
}

static struct tt_op *new_pull(tutti_context *c, struct tutti_pending *r, struct tt_peer *peer,
                              int64_t begin, int64_t bytes)
{
    struct tt_op *op = tt_op_new(c, TT_OP_PULL, peer);
    if (!op) return NULL;
    op->to = r->to + begin;
    op->bytes = op->left = bytes;
    op->receipt = r;
    return op;
}

/* By the network, if it can reach it; else the origin is asked to send it, by the owner.
 * UNSUPPORTED: by that one. */
static tutti_status start_pull(tutti_context *c, struct tutti_pending *r, struct tt_op *op,
                               int64_t begin)
{
    tutti_status status = TUTTI_ERR_UNSUPPORTED;
    struct tt_packet p = {.kind = TT_PACKET_PULL,
                          .arg = {r->id, (uint64_t)begin, (uint64_t)op->bytes, op->id}};
    if (r->key_bytes)
        status = tt_wired_move(c, op, r->data, r->key_bytes, r->address + (uint64_t)begin, op->to);
    if (status != TUTTI_ERR_UNSUPPORTED || c != r->context) return status;
    status = tt_post_packet(c, op->peer, &p, 0, NULL, false);
    return status == TUTTI_OK ? TUTTI_AGAIN : status;
}

/* AGAIN: it is under way. UNSUPPORTED: the owner can. */
static tutti_status ask(tutti_context *c, struct tutti_pending *r, int64_t begin, int64_t bytes)
{
    struct tt_peer *peer = tt_peer_of(c, r->peer->rank, r->peer->context);
    if (!peer) return TUTTI_ERR_MEMORY;
    if (peer->gone) return TUTTI_ERR_PEER;
    struct tt_op *op = new_pull(c, r, peer, begin, bytes);
    if (!op) return TUTTI_ERR_MEMORY;
    tutti_status status = start_pull(c, r, op, begin);
    if (status != TUTTI_AGAIN) {
        tt_op_free(c, op);
        return status;
    }
    atomic_fetch_add(&r->refs, 1);
    c->pulling++;
    return TUTTI_AGAIN;
}

void tt_pull_answered(tutti_context *c, struct tt_op *op, tutti_status status)
{
    struct tutti_pending *r = op->receipt;
    tt_op_free(c, op);
    c->pulling--;
    c->events++;
    tt_pull_piece_ended(c, r, status);
    tt_receive_unref(r);
}

/* An address in the segment that is none: whoever told it is broken. */
static bool is_wild(const struct tt_fabric *f, tt_address from, int64_t bytes)
{
    int64_t offset = (int64_t)(from & ~TT_ADDRESS_IN_SEGMENT);
    return from & TT_ADDRESS_IN_SEGMENT && !tt_segment_holds(f->segment, offset, bytes);
}

static const void *reach(const struct tt_fabric *f, const struct tutti_pending *r, tt_address from)
{
    const void *near = tt_fabric_reach(f, from);
    return near || r->peer->rank != f->me ? near : (const void *)(uintptr_t)from;
}

/* Whether nobody but the owner can do anything: every piece has to be asked for. */
static bool is_owners_alone(const tutti_context *c, const struct tutti_pending *r)
{
    if (!r->peer->shares) return r->key_bytes == 0;
    return !tt_fabric_may(c->f, r->peer->rank, TT_READS) && !reach(c->f, r, r->address);
}

/* Whether the origin is to send the piece. Where the kernel reads dearly two copies through the
 * ring, made by two processors at the same time, are the shorter way; the other contexts, which do
 * not ask, read. */
static bool asks(const tutti_context *c, const struct tutti_pending *r)
{
    return c == r->context && r->take <= c->msg->rings_most;
}

static tutti_status by_kernel(tutti_context *c, struct tutti_pending *r, int64_t begin,
                              int64_t bytes)
{
    errno = 0;
    tutti_status status =
        tt_fabric_read(c->f, r->peer->rank, r->to + begin, r->address + (uint64_t)begin, bytes);
    if (!tt_is_unmapped(status)) return status;
    return tt_fail(TUTTI_ERR_ARG,
                   "the kernel cannot read %lld bytes of a message from rank %d: what it was sent "
                   "from, or where it is received, is no memory",
                   (long long)bytes, r->peer->rank);
}

/* In this machine: from where it lies, by the kernel, or by messages. */
static tutti_status pull_near(tutti_context *c, struct tutti_pending *r, int64_t begin,
                              int64_t bytes)
{
    struct tt_fabric *f = c->f;
    tt_address from = r->address + (uint64_t)begin;
    if (is_wild(f, from, bytes))
        return tt_fail(TUTTI_ERR_ARG, "rank %d told an address that is none", r->peer->rank);
    const void *near = reach(f, r, from);
    if (near) {
        tt_memcpy(r->to + begin, near, (size_t)bytes);
        return TUTTI_OK;
    }
    tutti_status status = asks(c, r) ? TUTTI_ERR_UNSUPPORTED : by_kernel(c, r, begin, bytes);
    bool asked = status == TUTTI_ERR_UNSUPPORTED && c == r->context;
    return asked ? ask(c, r, begin, bytes) : status;
}

tutti_status tt_pull_read(tutti_context *c, struct tutti_pending *r, int piece)
{
    int64_t begin = tt_piece_begin(&r->pieces, piece);
    return pull_near(c, r, begin, tt_piece_begin(&r->pieces, piece + 1) - begin);
}

static void give_back(struct tutti_pending *r, int piece);

static void pull(tutti_context *c, struct tutti_pending *r, int piece)
{
    int64_t begin = tt_piece_begin(&r->pieces, piece);
    int64_t bytes = tt_piece_begin(&r->pieces, piece + 1) - begin;
    tutti_status status = (tutti_status)atomic_load_explicit(&r->status, memory_order_relaxed);
    if (c->msg->leaving) status = TUTTI_ERR_PEER; /* the origin does not wait for it any more */
    if (status == TUTTI_OK)
        status = r->peer->shares ? pull_near(c, r, begin, bytes) : ask(c, r, begin, bytes);
    c->events++;
    if (status == TUTTI_ERR_UNSUPPORTED && c != r->context)
        give_back(r, piece);
    else if (status != TUTTI_AGAIN)
        tt_pull_piece_ended(c, r, status);
}

/* ---- Back to the owner ---- */

struct returned {
    struct tt_work work;
    struct tutti_pending *receipt;
    int piece;
};

static void forget(struct returned *back)
{
    tt_receive_unref(back->receipt);
    tt_free(back);
}

static void take_back(tutti_context *c, void *arg)
{
    struct returned *back = arg;
    pull(c, back->receipt, back->piece);
    forget(back);
}

static void drop_returned(struct tt_work *work)
{
    forget(tt_container_of(work, struct returned, work));
}

static void give_back(struct tutti_pending *r, int piece)
{
    struct returned *back = tt_alloc(sizeof *back);
    if (!back) {
        tt_pull_piece_ended(NULL, r, TUTTI_ERR_MEMORY);
        return;
    }
    *back = (struct returned){.receipt = r, .piece = piece};
    back->work = (struct tt_work){.work = take_back, .arg = back, .drop = drop_returned};
    atomic_fetch_add(&r->refs, 1);
    tt_work_post(r->context, &back->work);
}

/* ---- All of it ---- */

/* A piece of this context's portions. */
static struct tutti_pending *own(tutti_context *c, int *piece)
{
    struct tt_range *range;
    while ((range = c->ranges) != NULL) {
        struct tutti_pending *r = range->receipt;
        *piece = claim(range);
        if (*piece >= 0) {
            atomic_fetch_add(&r->refs, 1);
            return r;
        }
        c->ranges = range->next_of_context;
        tt_receive_unref(r);
    }
    return NULL;
}

void tt_pull_advance(tutti_context *c)
{
    int piece;
    if (c->pulling >= ASKED_MOST) return;
    tt_help_ask_next(c);
    struct tutti_pending *r = own(c, &piece);
    if (!r) r = help(&c->msg->pulls, &piece);
    if (!r) return;
    pull(c, r, piece);
    tt_receive_unref(r);
}

static bool make_ranges(struct tutti_pending *r)
{
    r->range = &r->one;
    if (r->ranges == 1) return true;
    struct tt_range *range = tt_alloc_lines((size_t)r->ranges * sizeof *range);
    if (range) r->range = range;
    return range != NULL;
}

static void fill_ranges(struct tutti_pending *r)
{
    for (int i = 0; i < r->ranges; i++) {
        struct tt_range *range = &r->range[i];
        atomic_store_explicit(&range->next, (int)((int64_t)i * r->pieces.n / r->ranges),
                              memory_order_relaxed);
        atomic_store_explicit(&range->end, (int)((int64_t)(i + 1) * r->pieces.n / r->ranges),
                              memory_order_relaxed);
        range->seat = NULL;
        range->receipt = r;
        range->work = (struct tt_work){.work = take_range, .arg = range, .drop = drop_range};
    }
}

/* Unless it has not taken the last one: then it may not be advanced, and others find the portion in
 * the client's list. */
static void hand_one(tutti_context *to, struct tt_range *range)
{
    if (atomic_exchange_explicit(&to->has_portion, true, memory_order_relaxed)) return;
    atomic_fetch_add(&range->receipt->refs, 1);
    tt_work_post(to, &range->work);
}

/* The owner has the first portion, the others have theirs in the order of their numbers. */
static void hand_out(tutti_context *c, struct tutti_pending *r)
{
    atomic_fetch_add(&r->refs, 1);
    append(c, &r->range[0]);
    for (int i = 1, at = 0; i < r->ranges; i++, at++) {
        if (c->msg->context[at] == c) at++;
        hand_one(c->msg->context[at], &r->range[i]);
    }
}

void tt_pull_start(tutti_context *c, struct tutti_pending *r)
{
    int contexts = atomic_load_explicit(&c->msg->contexts, memory_order_acquire);
    cut(c, r, is_owners_alone(c, r) ? 1 : contexts);
    if (!make_ranges(r)) { /* then alone */
        cut(c, r, 1);
        r->range = &r->one;
    }
    fill_ranges(r);
    atomic_store_explicit(&r->left, r->pieces.n, memory_order_relaxed);
    if (r->ranges > 1) {
        (void)tt_help_ask(c, r); /* before others claim */
        share(&c->msg->pulls, r);
    }
    hand_out(c, r);
    tt_pull_advance(c);
}

void tt_pull_end(tutti_context *c, struct tutti_pending *r)
{
    struct tt_shared_pulls *pulls = &c->msg->pulls;
    if (r->help) tt_help_end(c, r);
    if (r->ranges <= 1) return;
    pthread_mutex_lock(&pulls->lock);
    unshare_locked(pulls, r);
    pthread_mutex_unlock(&pulls->lock);
}

void tt_pull_close(tutti_context *c)
{
    for (struct tt_range *range; (range = c->ranges) != NULL;) {
        c->ranges = range->next_of_context;
        tt_receive_unref(range->receipt);
    }
    for (int i = 0; i < c->ops; i++)
        if (c->op[i]->kind == TT_OP_PULL || c->op[i]->kind == TT_OP_HELP)
            tt_receive_unref(c->op[i]->receipt);
}
