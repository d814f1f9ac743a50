/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Long messages: cuts them into portions and pieces, and pulls the pieces; or, in a split copy, the
 * origin writes some of the pieces.
 *
 * pull.h explains the method. Its words: the *owner* of a message is the context whose handler
 * received it. A *portion* is the part of a message that one context pulls, and is cut into
 * *pieces*. By a *claim word* in a packet ring the target and the origin claim the pieces of a
 * split copy. The packets are RTS (the origin announces a message), SPLIT (the target asks for a
 * split copy) and ACK (the origin acknowledges a piece).
 */
#include "msg/pull.h"

#include <string.h>

#include "msg/thread.h"
#include "msg/wired.h"
#include "type/layout.h"

static struct tt_pieces pieces_by(int64_t take, uint64_t to, int64_t bytes);
static tutti_status pull_read(tutti_context *c, struct tutti_pending *r, int piece);
static const struct tt_pending_handlers split_handlers, pull_handlers;

/* ---- Split copies: the pieces of long messages that the origin writes ---- */

enum {
    /* bytes of the shortest message that is moved by a split copy: for a shorter message, the
     * packets of the split copy cost more than it saves */
    LEAST = 48 << 10,
    /* the most bytes of a piece: a context copies a whole piece before it does anything else */
    SPLIT_PIECE_MOST = 1 << 20,
    /* split copies that a context asks for at a time: one for the message that it pulls now, and
     * one for the next message */
    ASKED = 2
};
/* bytes of the longest message that is split: a claim word cannot count the pieces of a longer
 * one */
#define MOST (INT64_C(32) << 30)

/* ---- A claim word: closed 1 bit | serial 31 | origin's claims 16 | target's claims 16 ---- */

/* Returns where piece i begins; for i == n, where the last piece ends. */
static int64_t piece_begin(const struct tt_pieces *p, int i)
{
    if (i == 0) return 0;
    return i == p->n ? p->take : i * p->bytes - p->lead;
}

enum { TARGETS = 1, ORIGINS = 1 << 16, SERIALS = INT32_MAX };
#define CLOSED (UINT64_C(1) << 63)

/* Returns the serial number after `serial`. It is never 0, so that no message matches a claim word
 * that was never used. */
static uint32_t serial_after(uint32_t serial)
{
    return serial == SERIALS ? 1 : serial + 1;
}

static uint32_t serial_of(uint64_t word)
{
    return (uint32_t)(word >> 32) & SERIALS;
}

static int origins_of(uint64_t word)
{
    return (int)(word / ORIGINS % ORIGINS);
}

static int targets_of(uint64_t word)
{
    return (int)(word % ORIGINS);
}

/* Returns whether all of n pieces are claimed. */
static bool is_full(uint64_t word, int n)
{
    return targets_of(word) + origins_of(word) >= n;
}

/* Returns the index of the first claim word in the peer's ring that no message uses; -1: all are
 * used. */
static int free_claim_word(const struct tt_peer *peer)
{
    for (int i = 0; peer->from && i < TT_CLAIM_WORDS; i++)
        if (!(peer->claim_words & 1u << i)) return i;
    return -1;
}

/* Returns the portion that has the claim word. This is the only portion in which the origin claims
 * pieces, too. */
static struct tt_pull_range *may_split(const struct tutti_pending *r)
{
    return &r->range[r->ranges - 1];
}

static uint64_t word_of(const struct tutti_pending *r)
{
    return atomic_load_explicit(&may_split(r)->claim->word, memory_order_acquire);
}

/* ---- At the target ---- */

/* Returns the most bytes that a piece has in a message that is moved by a split copy. If one
 * context pulls the message alone, target and origin get equally many pieces, and as few as
 * possible: more pieces would only need more acknowledgements. */
static int64_t split_piece(int64_t bytes, int64_t portions)
{
    if (portions > 1) return SPLIT_PIECE_MOST;
    return tt_div_up(bytes, 2 * tt_div_up(bytes, 2 * (int64_t)SPLIT_PIECE_MOST));
}

/* Returns whether a split copy would pay: only the kernel can copy the bytes, the message is long
 * enough, and the origin has a processor of its own. */
static bool split_wanted(const tutti_context *c, const struct tutti_pending *r)
{
    const struct tt_fabric *f = c->f;
    bool other = r->peer->transport->shares && r->peer->rank != f->me;
    if (!c->msg->splits || !other || r->take < LEAST || r->take > MOST) return false;
    return f->writes && tt_fabric_may(f, r->peer->rank, TT_READS) && r->take > c->msg->rings_most &&
           !tt_fabric_reach(f, r->peer->rank, r->address);
}

/* Takes claim word i for the message, with the next serial number of that word. The target may have
 * claimed pieces of the message already; the word starts with their number. */
static void take_claim_word(struct tutti_pending *r, int i)
{
    struct tt_pull_range *range = may_split(r);
    struct tt_claim_word *claim = &r->peer->from->claim[i];
    uint64_t before = atomic_load_explicit(&claim->word, memory_order_relaxed);
    int next = atomic_load_explicit(&range->next, memory_order_relaxed);
    range->claim = claim;
    range->serial = serial_after(serial_of(before));
    atomic_store_explicit(&claim->word, (uint64_t)range->serial << 32 | (uint32_t)next,
                          memory_order_relaxed);
    r->peer->claim_words |= 1u << i;
}

static void return_claim_word(struct tutti_pending *r)
{
    r->peer->claim_words &= ~(1u << (may_split(r)->claim - r->peer->from->claim));
}

static tutti_status post(tutti_context *c, const struct tutti_pending *r,
                         const struct tt_pending *pending)
{
    const struct tt_pull_range *range = may_split(r);
    uint64_t pages = (uint64_t)r->pieces.bytes / TT_PAGE;
    uint64_t i = (uint64_t)(range->claim - r->peer->from->claim);
    struct tt_packet p = {.kind = TT_PACKET_SPLIT,
                          .arg = {r->id, (uint64_t)(uintptr_t)r->to, (uint64_t)r->take, pending->id,
                                  (uint64_t)range->serial << 32 | pages << 16 | i}};
    return tt_post_now(c, r->peer, &p);
}

static bool ask_split(tutti_context *c, struct tutti_pending *r)
{
    int i = free_claim_word(r->peer);
    struct tt_pending *pending = i >= 0 ? tt_pending_new(c, TT_PENDING_SPLIT, r->peer) : NULL;
    if (!pending) return false;
    take_claim_word(r, i);
    if (post(c, r, pending) != TUTTI_OK) {
        return_claim_word(r);
        may_split(r)->claim = NULL;
        tt_pending_free(c, pending);
        return false;
    }
    pending->handlers = &split_handlers;
    pending->receipt = r;
    r->split_copy = pending;
    atomic_fetch_add(&r->refs, 1);
    return true;
}

/* Asks the origin for a split copy of this message, if that would pay and the origin was not asked
 * yet. Returns false if that is not possible now, because a claim word, room or memory is
 * missing. */
static bool split_ask(tutti_context *c, struct tutti_pending *r)
{
    bool ends = r->peer->gone || c->msg->leaving ||
                atomic_load_explicit(&r->status, memory_order_relaxed) != TUTTI_OK;
    return r->split_copy || ends || !split_wanted(c, r) || ask_split(c, r);
}

/* Asks for split copies of the next messages that this context alone pulls, at most ASKED. Skips a
 * message in which no piece is left for the origin to claim. In the first message one piece counts
 * as claimed already, because this context usually claims it right after this call. */
static void split_ask_next(tutti_context *c)
{
    int n = 0;
    for (struct tt_pull_range *range = c->ranges; range && n < ASKED;
         range = range->next_of_context) {
        int next = atomic_load_explicit(&range->next, memory_order_relaxed) + (n++ == 0);
        bool leaves = next < atomic_load_explicit(&range->end, memory_order_relaxed);
        if (leaves && range->receipt->ranges == 1 && !split_ask(c, range->receipt)) return;
    }
}

/* Claims, for the target, a piece of a portion that has a claim word. Any context of the client may
 * call this function. Returns false if no piece is left. */
static bool split_claim(struct tt_pull_range *range)
{
    _Atomic uint64_t *word = &range->claim->word;
    uint64_t now = atomic_load_explicit(word, memory_order_relaxed);
    while (serial_of(now) == range->serial && !is_full(now, range->receipt->pieces.n))
        if (atomic_compare_exchange_weak_explicit(word, &now, now + TARGETS, memory_order_acq_rel,
                                                  memory_order_relaxed))
            return true;
    return false;
}

/* Ends the split copy when all pieces of the message have ended. */
static void split_end(tutti_context *c, struct tutti_pending *r)
{
    struct tt_pending *pending = r->split_copy;
    r->split_copy = NULL;
    return_claim_word(r);
    tt_pending_free(c, pending);
    tt_receipt_unref(r);
}

/* Counts a piece that the origin had claimed and that has ended. If it was the last piece of the
 * message, the message is completed, which frees `pending`. */
static void count(tutti_context *c, struct tt_pending *pending, tutti_status status)
{
    struct tutti_pending *r = pending->receipt;
    pending->flows++;
    atomic_store_explicit(&may_split(r)->end, r->pieces.n - pending->flows, memory_order_relaxed);
    /* AGAIN: the target has asked the origin for the piece, which ends when the origin answers */
    if (status != TUTTI_AGAIN) tt_pull_piece_ended(c, r, status);
}

/* Returns how many pieces the origin has claimed and has not acknowledged yet. */
static int unacknowledged(const struct tt_pending *pending)
{
    const struct tutti_pending *r = pending->receipt;
    int left = r->pieces.n - atomic_load_explicit(&may_split(r)->next, memory_order_relaxed);
    return (int)tt_min(left, origins_of(word_of(r))) - pending->flows;
}

/* Handles an ACK for a split copy: the origin has written a piece, or could not, in which case the
 * target reads the piece itself. False: no such piece was claimed, so the ACK is wrong. A target
 * that leaves does not read the piece itself, since the origin does not wait for that. */
static bool acknowledged(tutti_context *c, struct tt_pending *pending, tutti_status status)
{
    struct tutti_pending *r = pending->receipt;
    if (unacknowledged(pending) <= 0) return false;
    if (status != TUTTI_OK)
        status =
            c->msg->leaving ? TUTTI_ERR_PEER : pull_read(c, r, r->pieces.n - 1 - pending->flows);
    count(c, pending, status);
    return true;
}

bool tt_split_copy_is_written(const struct tt_pending *pending)
{
    return pending->kind == TT_PENDING_SPLIT && unacknowledged(pending) > 0;
}

void tt_split_copy_stop(struct tt_pending *pending)
{
    if (pending->kind == TT_PENDING_SPLIT)
        atomic_fetch_or_explicit(&may_split(pending->receipt)->claim->word, CLOSED,
                                 memory_order_acq_rel);
}

/* Ends the pieces that a lost origin had claimed. If the last piece of the message ends here, the
 * message is completed, which frees `pending`. */
static void split_lost(tutti_context *c, struct tt_pending *pending)
{
    tt_split_copy_stop(pending);
    for (int left = unacknowledged(pending); left > 0; left--) count(c, pending, TUTTI_ERR_PEER);
}

static const struct tt_pending_handlers split_handlers = {.answered = acknowledged,
                                                          .lost = split_lost};

/* ---- At the origin ---- */

/* A message whose target has asked this origin for a split copy. */
struct tt_split_copy {
    struct tt_split_copy *next;
    struct tt_peer *peer;
    uint64_t send, pending; /* ids of the operations here and at the target */
    tt_address to;
    struct tt_pieces pieces;
    uint32_t serial;
    int claim;
};

static int claim_word_of(const struct tt_packet *p)
{
    return (int)(p->arg[4] & UINT16_MAX);
}

static int64_t piece_of(const struct tt_packet *p)
{
    return (int64_t)(p->arg[4] >> 16 & UINT16_MAX) * TT_PAGE;
}

static struct tt_split_copy *read_packet(struct tt_peer *peer, const struct tt_packet *p)
{
    struct tt_split_copy *h = tt_alloc(sizeof *h);
    if (!h) return NULL;
    *h = (struct tt_split_copy){.peer = peer,
                                .send = p->arg[0],
                                .to = p->arg[1],
                                .pieces = pieces_by((int64_t)p->arg[2], p->arg[1], piece_of(p)),
                                .pending = p->arg[3],
                                .serial = serial_of(p->arg[4]),
                                .claim = claim_word_of(p)};
    return h;
}

/* Checks a SPLIT packet: the message exists, the packet's numbers (bytes, size of a piece, serial
 * number, claim word) are possible, and the kernel can write to the target's process. */
static bool is_sound(tutti_context *c, const struct tt_peer *peer, const struct tt_packet *p)
{
    const struct tt_fabric *f = c->f;
    const struct tt_pending *pending = tt_pending_find(c, p->arg[0], peer);
    bool kernel = tt_fabric_may(f, peer->rank, TT_WRITES) && !tt_fabric_maps(f, peer->rank) &&
                  peer->transport->shares && peer->rank != f->me &&
                  !(p->arg[1] & TT_ADDRESS_IN_SEGMENT);
    return kernel && pending && pending->kind == TT_PENDING_LONG && peer->out.ring &&
           p->arg[2] > 0 && p->arg[2] <= (uint64_t)tt_min(MOST, pending->bytes) &&
           piece_of(p) > 0 && serial_of(p->arg[4]) != 0 && claim_word_of(p) < TT_CLAIM_WORDS;
}

/* Records the request of a SPLIT packet. The origin may ignore the packet, for instance because the
 * message has ended already; then the target moves all pieces itself. */
void tt_split_copy_asked(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    if (!is_sound(c, peer, p)) return;
    struct tt_split_copy *h = read_packet(peer, p), **end = &c->split_copies;
    if (!h) return;
    while (*end) end = &(*end)->next;
    *end = h;
}

/* Returns whether the origin can claim a piece: the claim word still belongs to this message and is
 * open, and a piece is left that nobody has claimed. */
static bool has_piece(const struct tt_split_copy *h, uint64_t word)
{
    return serial_of(word) == h->serial && !(word & CLOSED) && !is_full(word, h->pieces.n);
}

static _Atomic uint64_t *claim_word(const struct tt_split_copy *h)
{
    return &h->peer->out.ring->claim[h->claim].word;
}

/* Claims the last of the pieces that nobody has claimed, and returns its index; -1: there is none.
 */
static int claim_last(const struct tt_split_copy *h)
{
    uint64_t now = atomic_load_explicit(claim_word(h), memory_order_relaxed);
    do {
        if (!has_piece(h, now)) return -1;
    } while (!atomic_compare_exchange_weak_explicit(claim_word(h), &now, now + ORIGINS,
                                                    memory_order_acq_rel, memory_order_relaxed));
    return h->pieces.n - 1 - origins_of(now);
}

static tutti_status write_piece(tutti_context *c, const struct tt_split_copy *h,
                                const struct tt_pending *pending, int piece)
{
    int64_t begin = piece_begin(&h->pieces, piece);
    int64_t bytes = piece_begin(&h->pieces, piece + 1) - begin;
    return tt_fabric_write(c->f, h->peer->rank, h->to + (uint64_t)begin, pending->data + begin,
                           bytes);
}

/* Returns whether an acknowledgement could be sent at once. If not, the origin claims no piece,
 * since it must acknowledge a piece before its advance returns. */
static bool may_acknowledge(struct tt_peer *peer)
{
    return !peer->waiting.first && tt_out_begin(&peer->out, 2 * sizeof(uint64_t));
}

/* An attempt to write one piece has one of these results. OVER: no piece is left to claim. LATER:
 * the acknowledgement of a piece could not be sent now, so no piece was claimed. WROTE: a piece was
 * written. */
enum split_outcome { OVER, LATER, WROTE };

static enum split_outcome split_with(tutti_context *c, struct tt_split_copy *h)
{
    const struct tt_pending *pending = h->peer->gone ? NULL : tt_pending_find(c, h->send, h->peer);
    bool is_there = pending && pending->kind == TT_PENDING_LONG && !pending->cancelled;
    if (!is_there || !has_piece(h, atomic_load_explicit(claim_word(h), memory_order_relaxed)))
        return OVER;
    if (!may_acknowledge(h->peer) || !tt_transfer_reserve(c)) return LATER;
    int piece = claim_last(h);
    if (piece < 0) return OVER;
    tutti_status status = write_piece(c, h, pending, piece);
    if (status > TUTTI_AGAIN && status != TUTTI_ERR_UNSUPPORTED) tt_error_undo();
    tt_post_answer(c, h->peer, TT_PACKET_ACK, h->pending, (uint64_t)status);
    c->events++;
    return WROTE;
}

/* Writes one piece. If a target does not read its packet ring, its split copies wait in the list
 * and do not delay the split copies of other targets. The list holds at most as many split copies
 * of a target as the ring has claim words. */
void tt_split_copy_advance(tutti_context *c)
{
    enum split_outcome outcome = LATER;
    for (struct tt_split_copy *h, **at = &c->split_copies; (h = *at) != NULL && outcome != WROTE;) {
        outcome = split_with(c, h);
        if (outcome == LATER) at = &h->next;
        if (outcome != OVER) continue;
        *at = h->next;
        tt_free(h);
    }
}

void tt_split_copy_close(tutti_context *c)
{
    for (struct tt_split_copy *h; (h = c->split_copies) != NULL; tt_free(h))
        c->split_copies = h->next;
}

/* ---- Pulling ---- */

enum {
    /* The least bytes of a portion. Waking a context for a portion costs some microseconds. That
     * should be a small part of the time for copying the portion. */
    PORTION_LEAST = 128 << 10,
    /* the most bytes of a piece: a context copies a whole piece before it does anything else */
    PIECE_MOST = 1 << 20,
    ASKED_MOST = 4 /* pieces that a context asks a peer for at a time: enough to hide the latency */
};

/* ---- Cutting ---- */

/* Cuts `take` bytes for destination `to` into pieces of `bytes` bytes, a multiple of TT_PAGE. */
static struct tt_pieces pieces_by(int64_t take, uint64_t to, int64_t bytes)
{
    int64_t lead = (int64_t)(to & (TT_PAGE - 1));
    return (struct tt_pieces){
        .take = take, .bytes = bytes, .lead = lead, .n = (int)tt_div_up(take + lead, bytes)};
}

/* Cuts `take` bytes for destination `to` into pieces of at most `most` bytes plus a page. As far as
 * possible each of `portions` portions gets the same number of pieces. */
static struct tt_pieces pieces_of(int64_t take, uint64_t to, int64_t portions, int64_t most)
{
    int64_t lead = (int64_t)(to & (TT_PAGE - 1));
    /* page boundaries do not matter to a single piece */
    if (portions == 1 && take <= most) return (struct tt_pieces){.take = take, .n = 1};
    int64_t pieces = portions * tt_div_up(tt_div_up(take, portions), most);
    return pieces_by(take, to, tt_round_up(tt_div_up(take + lead, pieces), TT_PAGE));
}

static void cut(tutti_context *c, struct tutti_pending *r, int contexts)
{
    int64_t portions = contexts > 1 ? tt_max(1, tt_min(contexts, r->take / PORTION_LEAST)) : 1;
    int64_t most = split_wanted(c, r) ? split_piece(r->take, portions) : PIECE_MOST;
    r->pieces = pieces_of(r->take, (uint64_t)(uintptr_t)r->to, portions, most);
    r->ranges = portions > 1 ? (int)tt_min(portions, r->pieces.n) : 1;
}

/* ---- The record of a message, and how its origin is reached ---- */

void tt_receipt_release(struct tutti_pending *r)
{
    /* a layout without fields is that of a basic type, to which no reference is held */
    if (r->layout && r->layout->field) tt_layout_drop(r->layout);
    if (r->packed) tt_free(r->packed);
    if (r->data) tt_free(r->data);
    r->layout = NULL;
    r->packed = r->data = NULL;
}

void tt_receipt_unref(struct tutti_pending *r)
{
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
    if (r->range != &r->one) tt_free(r->range);
    tt_receipt_release(r);
    tt_free(r);
}

static const void *reach(const struct tt_fabric *f, const struct tutti_pending *r, tt_address from)
{
    const void *loadable = tt_fabric_reach(f, r->peer->rank, from);
    return loadable || r->peer->rank != f->me ? loadable : (const void *)(uintptr_t)from;
}

/* Returns whether only the owner can pull pieces of the message. This is so if the origin has to be
 * asked for each piece, because only the owner asks. */
static bool is_owners_alone(const tutti_context *c, const struct tutti_pending *r)
{
    if (!r->peer->transport->shares) return r->key_bytes == 0;
    return !tt_fabric_may(c->f, r->peer->rank, TT_READS) && !reach(c->f, r, r->address);
}

/* Returns whether the network or the origin has to answer if this context pulls a piece. */
static bool needs_answer(const tutti_context *c, const struct tutti_pending *r)
{
    bool reads = tt_fabric_may(c->f, r->peer->rank, TT_READS) &&
                 (c != r->context || r->take > c->msg->rings_most);
    return !r->peer->transport->shares || (!reads && !reach(c->f, r, r->address));
}

/* Returns whether this context has to wait for pieces that it has asked the origin for, before it
 * asks for a piece of this message. Each origin has a limit of its own, so an origin that nobody
 * advances delays only its own messages. */
static bool must_wait(const tutti_context *c, const struct tutti_pending *r)
{
    const struct tt_peer *peer = c->peer[r->peer->rank];
    while (peer && peer->context != r->peer->context) peer = peer->next_of_rank;
    return peer && peer->pulling >= ASKED_MOST && needs_answer(c, r);
}

/* ---- One portion ---- */

static int claim(struct tt_pull_range *range)
{
    int end = atomic_load_explicit(&range->end, memory_order_relaxed);
    if (atomic_load_explicit(&range->next, memory_order_relaxed) >= end) return -1;
    if (range->claim && !split_claim(range)) return -1;
    int piece = atomic_fetch_add_explicit(&range->next, 1, memory_order_relaxed);
    return piece < end ? piece : -1;
}

static void append(tutti_context *c, struct tt_pull_range *range)
{
    struct tt_pull_range **end = &c->ranges;
    while (*end) end = &(*end)->next_of_context;
    range->next_of_context = NULL;
    *end = range;
    c->all_wait = false;
}

static void take_range(tutti_context *c, void *arg)
{
    atomic_store_explicit(&c->has_portion, false, memory_order_relaxed);
    append(c, arg);
}

static void drop_range(struct tt_work *work)
{
    tt_receipt_unref(tt_container_of(work, struct tt_pull_range, work)->receipt);
}

static void drop_finish(struct tt_work *work)
{
    (void)work; /* nothing to free: the work holds no reference to the message */
}

/* ---- The client's list: messages whose pieces any context may claim ---- */

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

int tt_pull_claim_any(struct tutti_pending *r)
{
    for (int i = 0; i < r->ranges; i++) {
        int piece = claim(&r->range[i]);
        if (piece >= 0) return piece;
    }
    return -1;
}

/* Claims a piece of the first message in the list that has one and need not wait. Returns this
 * message, with a new reference; NULL: there is none. Removes messages without a piece left. */
static struct tutti_pending *claim_shared(tutti_context *c, int *piece)
{
    struct tt_shared_pulls *pulls = &c->msg->pulls;
    struct tutti_pending *r, *next;
    pthread_mutex_lock(&pulls->lock);
    for (r = pulls->first; r; r = next) {
        next = r->next_shared;
        if (c->pulling >= ASKED_MOST && must_wait(c, r)) continue;
        *piece = tt_pull_claim_any(r);
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
        r->ready(c, r);
    else {
        r->finish = (struct tt_work){.work = r->ready, .arg = r, .drop = drop_finish};
        tt_work_post(r->context, &r->finish);
    }
}

static struct tt_pending *new_pull(tutti_context *c, struct tutti_pending *r, struct tt_peer *peer,
                                   int64_t begin, int64_t bytes)
{
    struct tt_pending *pending = tt_pending_new(c, TT_PENDING_PULL, peer);
    if (!pending) return NULL;
    pending->handlers = &pull_handlers;
    pending->to = r->to + begin;
    pending->bytes = pending->left = bytes;
    pending->receipt = r;
    return pending;
}

/* Gets a piece by the network, if the network can access the data. Otherwise the owner's context
 * asks the origin to send the data, and any other context returns UNSUPPORTED. */
static tutti_status start_pull(tutti_context *c, struct tutti_pending *r,
                               struct tt_pending *pending, int64_t begin)
{
    tutti_status status = TUTTI_ERR_UNSUPPORTED;
    struct tt_packet p = {.kind = TT_PACKET_PULL,
                          .arg = {r->id, (uint64_t)begin, (uint64_t)pending->bytes, pending->id}};
    if (r->key_bytes)
        status = tt_wired_move(c, pending, r->data, r->key_bytes, r->address + (uint64_t)begin,
                               pending->to);
    if (status != TUTTI_ERR_UNSUPPORTED || c != r->context) return status;
    status = tt_post_packet(c, pending->peer, &p, 0, NULL, false);
    return status == TUTTI_OK ? TUTTI_AGAIN : status;
}

/* Starts to get a piece, by the network or by asking the origin. AGAIN: the piece is under way.
 * UNSUPPORTED: only the owner can get the piece. */
static tutti_status ask_for(tutti_context *c, struct tutti_pending *r, int64_t begin, int64_t bytes)
{
    struct tt_peer *peer = tt_peer_of(c, r->peer->rank, r->peer->context);
    if (!peer) return TUTTI_ERR_MEMORY;
    if (peer->gone) return TUTTI_ERR_PEER;
    struct tt_pending *pending = new_pull(c, r, peer, begin, bytes);
    if (!pending) return TUTTI_ERR_MEMORY;
    tutti_status status = start_pull(c, r, pending, begin);
    if (status != TUTTI_AGAIN) {
        tt_pending_free(c, pending);
        return status;
    }
    atomic_fetch_add(&r->refs, 1);
    peer->pulling++;
    c->pulling++;
    return TUTTI_AGAIN;
}

/* Ends a piece that the network was to get or the origin was asked to send, because its data have
 * arrived or never will. */
static bool pull_answered(tutti_context *c, struct tt_pending *pending, tutti_status status)
{
    struct tutti_pending *r = pending->receipt;
    pending->peer->pulling--;
    c->pulling--;
    c->all_wait = false;
    tt_pending_free(c, pending);
    c->events++;
    tt_pull_piece_ended(c, r, status);
    tt_receipt_unref(r);
    return true;
}

static void pull_lost(tutti_context *c, struct tt_pending *pending)
{
    (void)pull_answered(c, pending, TUTTI_ERR_PEER);
}

static const struct tt_pending_handlers pull_handlers = {.answered = pull_answered,
                                                         .lost = pull_lost};

/* Gets a piece within the node: by a plain copy, by the kernel, or by messages. Where reading by
 * the kernel is slow, the owner asks the origin to send the piece: two processors then copy at the
 * same time, one into the packet ring and one out of it. Other contexts cannot ask; they read the
 * piece by the kernel. */
static tutti_status pull_local(tutti_context *c, struct tutti_pending *r, int64_t begin,
                               int64_t bytes)
{
    struct tt_fabric *f = c->f;
    tt_address from = r->address + (uint64_t)begin;
    /* an address in the segment, but not of memory that was handed out: the origin is broken */
    if (from & TT_ADDRESS_IN_SEGMENT &&
        !tt_segment_holds(f->segment, (int64_t)(from & ~TT_ADDRESS_IN_SEGMENT), bytes))
        return tt_fail(TUTTI_ERR_ARG, "rank %d sent an address outside of the shared memory",
                       r->peer->rank);
    const void *loadable = reach(f, r, from);
    if (loadable) {
        tt_memcpy(r->to + begin, loadable, (size_t)bytes);
        return TUTTI_OK;
    }
    bool owner = c == r->context;
    tutti_status status = owner && r->take <= c->msg->rings_most
                              ? TUTTI_ERR_UNSUPPORTED
                              : tt_fabric_read(f, r->peer->rank, r->to + begin, from, bytes);
    return owner && status == TUTTI_ERR_UNSUPPORTED ? ask_for(c, r, begin, bytes) : status;
}

/* Gets a piece of a message within this node, as pull_local does. AGAIN: the origin was asked to
 * send the piece. */
static tutti_status pull_read(tutti_context *c, struct tutti_pending *r, int piece)
{
    int64_t begin = piece_begin(&r->pieces, piece);
    return pull_local(c, r, begin, piece_begin(&r->pieces, piece + 1) - begin);
}

static void give_back(struct tutti_pending *r, int piece);

static void pull(tutti_context *c, struct tutti_pending *r, int piece)
{
    int64_t begin = piece_begin(&r->pieces, piece);
    int64_t bytes = piece_begin(&r->pieces, piece + 1) - begin;
    tutti_status status = (tutti_status)atomic_load_explicit(&r->status, memory_order_relaxed);
    /* This rank leaves. An origin that leaves, too, does not wait for this rank, so the data may be
     * gone. */
    if (c->msg->leaving) status = TUTTI_ERR_PEER;
    if (status == TUTTI_OK)
        status = r->peer->transport->shares ? pull_local(c, r, begin, bytes)
                                            : ask_for(c, r, begin, bytes);
    c->events++;
    if (status == TUTTI_ERR_UNSUPPORTED && c != r->context)
        give_back(r, piece);
    else if (status != TUTTI_AGAIN)
        tt_pull_piece_ended(c, r, status);
}

/* ---- Giving a piece back to the owner ---- */

struct returned {
    struct tt_work work;
    struct tutti_pending *receipt;
    int piece;
};

static void forget(struct returned *back)
{
    tt_receipt_unref(back->receipt);
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

/* ---- Advancing and starting pulls ---- */

/* Claims a piece of this context's own portions, of the first message that does not have to wait.
 * Returns the message with a reference for the caller: for the last piece of a portion, the
 * reference that the portion held, and otherwise a new one. NULL: there is no such piece. */
static struct tutti_pending *own(tutti_context *c, int *piece)
{
    struct tt_pull_range *range, **at = &c->ranges;
    if (c->all_wait) return NULL;
    while ((range = *at) != NULL) {
        struct tutti_pending *r = range->receipt;
        if (c->pulling >= ASKED_MOST && must_wait(c, r)) {
            at = &range->next_of_context;
            continue;
        }
        *piece = claim(range);
        bool is_last = *piece + 1 == atomic_load_explicit(&range->end, memory_order_relaxed);
        if (*piece >= 0 && !is_last) {
            atomic_fetch_add(&r->refs, 1);
            return r;
        }
        *at = range->next_of_context;
        if (*piece >= 0) return r;
        tt_receipt_unref(r);
    }
    c->all_wait = c->ranges != NULL;
    return NULL;
}

void tt_pull_advance(tutti_context *c)
{
    int piece;
    if (c->msg->splits) split_ask_next(c);
    struct tutti_pending *r = own(c, &piece);
    if (!r && atomic_load_explicit(&c->msg->pulls.n, memory_order_acquire) > 0)
        r = claim_shared(c, &piece);
    if (!r) return;
    pull(c, r, piece);
    tt_receipt_unref(r);
}

static bool make_ranges(struct tutti_pending *r)
{
    struct tt_pull_range *range = tt_alloc_lines((size_t)r->ranges * sizeof *range);
    if (range) r->range = range;
    return range != NULL;
}

static void fill_ranges(struct tutti_pending *r)
{
    for (int i = 0; i < r->ranges; i++) {
        struct tt_pull_range *range = &r->range[i];
        atomic_store_explicit(&range->next, (int)((int64_t)i * r->pieces.n / r->ranges),
                              memory_order_relaxed);
        atomic_store_explicit(&range->end, (int)((int64_t)(i + 1) * r->pieces.n / r->ranges),
                              memory_order_relaxed);
        range->claim = NULL;
        range->receipt = r;
        range->work = (struct tt_work){.work = take_range, .arg = range, .drop = drop_range};
    }
}

/* Posts a portion to a context, except to one that has not yet taken an earlier portion: perhaps no
 * thread advances that context. Other contexts then claim the pieces of this portion, because they
 * find the message in the client's list. */
static void hand_one(tutti_context *to, struct tt_pull_range *range)
{
    if (atomic_exchange_explicit(&to->has_portion, true, memory_order_relaxed)) return;
    atomic_fetch_add(&range->receipt->refs, 1);
    tt_work_post(to, &range->work);
}

/* Gives the first portion to the owner, and one portion each to the other contexts of the client,
 * in the order of their numbers. */
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
    if (contexts > 1 && is_owners_alone(c, r)) contexts = 1;
    cut(c, r, contexts);
    /* if there is no memory, the owner pulls alone */
    if (r->ranges > 1 && !make_ranges(r)) cut(c, r, 1);
    fill_ranges(r);
    atomic_store_explicit(&r->left, r->pieces.n, memory_order_relaxed);
    if (r->ranges > 1) {
        (void)split_ask(c, r); /* before other contexts claim pieces */
        share(&c->msg->pulls, r);
    }
    hand_out(c, r);
    tt_pull_advance(c);
}

void tt_pull_end(tutti_context *c, struct tutti_pending *r)
{
    struct tt_shared_pulls *pulls = &c->msg->pulls;
    if (r->split_copy) split_end(c, r);
    if (r->ranges <= 1) return;
    pthread_mutex_lock(&pulls->lock);
    unshare_locked(pulls, r);
    pthread_mutex_unlock(&pulls->lock);
}

void tt_pull_close(tutti_context *c)
{
    for (struct tt_pull_range *range; (range = c->ranges) != NULL;) {
        c->ranges = range->next_of_context;
        tt_receipt_unref(range->receipt);
    }
    for (int i = 0; i < c->pendings; i++)
        if (c->pending[i]->kind == TT_PENDING_PULL || c->pending[i]->kind == TT_PENDING_SPLIT)
            tt_receipt_unref(c->pending[i]->receipt);
}
