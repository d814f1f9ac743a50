/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces of long messages that their origin writes.
 */
#include "msg/help.h"

#include "msg/wired.h"

enum {
    LEAST = 48 << 10,     /* bytes of a message: below, telling costs more than it saves */
    PIECE_MOST = 1 << 20, /* between two looks at everything else */
    ASKED = 2             /* messages at a time: the one that is pulled, and the next */
};
#define MOST (INT64_C(32) << 30) /* so that a seat can count the pieces */

/* ---- Seats: closed, 1 bit | serial, 31 | claimed by the origin, 16 | by the target, 16 ---- */

enum { TARGETS = 1, ORIGINS = 1 << 16, SERIALS = INT32_MAX };
#define CLOSED (UINT64_C(1) << 63)

/* Never 0: a seat that nobody ever sat on is nobody's. */
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

/* Whether all of n pieces are claimed. */
static bool is_full(uint64_t word, int n)
{
    return targets_of(word) + origins_of(word) >= n;
}

/* The first that no message sits on; -1: none. */
static int free_seat(const struct tt_peer *peer)
{
    for (int i = 0; peer->from && i < TT_SEATS; i++)
        if (!(peer->seated & 1u << i)) return i;
    return -1;
}

/* The portion that an origin helps with. */
static struct tt_range *helped(const struct tutti_pending *r)
{
    return &r->range[r->ranges - 1];
}

static uint64_t word_of(const struct tutti_pending *r)
{
    return atomic_load_explicit(&helped(r)->seat->word, memory_order_acquire);
}

/* ---- At the target ---- */

/* If one context pulls it alone, as few as are of the same number for both: more would only be more
 * to tell of. */
int64_t tt_help_piece(int64_t bytes, int64_t portions)
{
    if (portions > 1) return PIECE_MOST;
    return tt_div_up(bytes, 2 * tt_div_up(bytes, 2 * (int64_t)PIECE_MOST));
}

/* Where ranks outnumber processors somebody works in any case. */
static bool is_of_use(const tutti_context *c)
{
    return c->msg->helped >= 0 ? c->msg->helped != 0 : c->f->job->arenas <= c->f->cores;
}

bool tt_help_wanted(const tutti_context *c, const struct tutti_pending *r)
{
    const struct tt_fabric *f = c->f;
    bool writes = f->writes && tt_fabric_may(f, r->peer->rank, TT_READS);
    bool kernel = writes && r->take > c->msg->rings_most && !tt_fabric_reach(f, r->address);
    return kernel && r->take >= LEAST && r->take <= MOST && r->peer->shares &&
           r->peer->rank != f->me && is_of_use(c);
}

/* With a serial that no message had there lately. The first pieces may be claimed already. */
static void sit_down(struct tutti_pending *r, int i)
{
    struct tt_range *range = helped(r);
    struct tt_help_seat *seat = &r->peer->from->seat[i];
    uint64_t before = atomic_load_explicit(&seat->word, memory_order_relaxed);
    int next = atomic_load_explicit(&range->next, memory_order_relaxed);
    range->seat = seat;
    range->serial = serial_after(serial_of(before));
    atomic_store_explicit(&seat->word, (uint64_t)range->serial << 32 | (uint32_t)next,
                          memory_order_relaxed);
    r->peer->seated |= 1u << i;
}

static void stand_up(struct tutti_pending *r)
{
    r->peer->seated &= ~(1u << (helped(r)->seat - r->peer->from->seat));
}

static tutti_status post(tutti_context *c, const struct tutti_pending *r, const struct tt_op *op)
{
    const struct tt_range *range = helped(r);
    uint64_t pages = (uint64_t)r->pieces.bytes / TT_PAGE;
    uint64_t i = (uint64_t)(range->seat - r->peer->from->seat);
    struct tt_packet p = {.kind = TT_PACKET_HELP,
                          .arg = {r->id, (uint64_t)(uintptr_t)r->to, (uint64_t)r->take, op->id,
                                  (uint64_t)range->serial << 32 | pages << 16 | i}};
    return tt_post_now(c, r->peer, &p);
}

static bool ask(tutti_context *c, struct tutti_pending *r)
{
    int i = free_seat(r->peer);
    struct tt_op *op = i >= 0 ? tt_op_new(c, TT_OP_HELP, r->peer) : NULL;
    if (!op) return false;
    sit_down(r, i);
    if (post(c, r, op) != TUTTI_OK) {
        stand_up(r);
        helped(r)->seat = NULL;
        tt_op_free(c, op);
        return false;
    }
    op->receipt = r;
    r->help = op;
    atomic_fetch_add(&r->refs, 1);
    return true;
}

bool tt_help_ask(tutti_context *c, struct tutti_pending *r)
{
    bool ends = r->peer->gone || c->msg->leaving ||
                atomic_load_explicit(&r->status, memory_order_relaxed) != TUTTI_OK;
    return r->help || ends || !tt_help_wanted(c, r) || ask(c, r);
}

/* The first one's next piece is claimed here, now. */
void tt_help_ask_next(tutti_context *c)
{
    int n = 0;
    for (struct tt_range *range = c->ranges; range && n < ASKED; range = range->next_of_context) {
        int next = atomic_load_explicit(&range->next, memory_order_relaxed) + (n++ == 0);
        bool leaves = next < atomic_load_explicit(&range->end, memory_order_relaxed);
        if (leaves && range->receipt->ranges == 1 && !tt_help_ask(c, range->receipt)) return;
    }
}

bool tt_help_claim(struct tt_range *range)
{
    _Atomic uint64_t *word = &range->seat->word;
    uint64_t now = atomic_load_explicit(word, memory_order_relaxed);
    while (serial_of(now) == range->serial && !is_full(now, range->receipt->pieces.n))
        if (atomic_compare_exchange_weak_explicit(word, &now, now + TARGETS, memory_order_acq_rel,
                                                  memory_order_relaxed))
            return true;
    return false;
}

void tt_help_end(tutti_context *c, struct tutti_pending *r)
{
    struct tt_op *op = r->help;
    r->help = NULL;
    stand_up(r);
    tt_op_free(c, op);
    tt_receive_unref(r);
}

/* One that the origin claimed has ended; with the last piece of the message the operation goes. */
static void count(tutti_context *c, struct tt_op *op, tutti_status status)
{
    struct tutti_pending *r = op->receipt;
    op->flows++;
    atomic_store_explicit(&helped(r)->end, r->pieces.n - op->flows, memory_order_relaxed);
    if (status != TUTTI_AGAIN) tt_pull_piece_ended(c, r, status); /* else its answer ends it */
}

/* Pieces that the origin has claimed and not told of. */
static int untold(const struct tt_op *op)
{
    const struct tutti_pending *r = op->receipt;
    int left = r->pieces.n - atomic_load_explicit(&helped(r)->next, memory_order_relaxed);
    return (int)tt_min(left, origins_of(word_of(r))) - op->flows;
}

/* An origin does not wait until a target that leaves has read. */
bool tt_help_told(tutti_context *c, struct tt_op *op, tutti_status status)
{
    struct tutti_pending *r = op->receipt;
    if (untold(op) <= 0) return false;
    if (status != TUTTI_OK)
        status = c->msg->leaving ? TUTTI_ERR_PEER : tt_pull_read(c, r, r->pieces.n - 1 - op->flows);
    count(c, op, status);
    return true;
}

bool tt_help_is_written(const struct tt_op *op)
{
    return op->kind == TT_OP_HELP && untold(op) > 0;
}

void tt_help_stop(struct tt_op *op)
{
    if (op->kind == TT_OP_HELP)
        atomic_fetch_or_explicit(&helped(op->receipt)->seat->word, CLOSED, memory_order_acq_rel);
}

/* With the last piece of the message the operation is gone. */
void tt_help_lost(tutti_context *c, struct tt_op *op)
{
    tt_help_stop(op);
    for (int left = untold(op); left > 0; left--) count(c, op, TUTTI_ERR_PEER);
}

/* ---- At the origin ---- */

/* A message whose target asked for help. */
struct tt_help {
    struct tt_help *next;
    struct tt_peer *peer;
    uint64_t send, op; /* op: the target's */
    tt_address to;
    struct tt_pieces pieces;
    uint32_t serial;
    int seat;
};

static int seat_of(const struct tt_packet *p)
{
    return (int)(p->arg[4] & UINT16_MAX);
}

static int64_t piece_of(const struct tt_packet *p)
{
    return (int64_t)(p->arg[4] >> 16 & UINT16_MAX) * TT_PAGE;
}

static struct tt_help *read_packet(struct tt_peer *peer, const struct tt_packet *p)
{
    struct tt_help *h = tt_alloc(sizeof *h);
    if (!h) return NULL;
    *h = (struct tt_help){.peer = peer,
                          .send = p->arg[0],
                          .to = p->arg[1],
                          .pieces = tt_pieces_by((int64_t)p->arg[2], p->arg[1], piece_of(p)),
                          .op = p->arg[3],
                          .serial = serial_of(p->arg[4]),
                          .seat = seat_of(p)};
    return h;
}

/* Whether there is such a message, a seat that was taken once, and a process to write to by the
 * kernel. */
static bool is_sound(tutti_context *c, const struct tt_peer *peer, const struct tt_packet *p)
{
    const struct tt_fabric *f = c->f;
    const struct tt_op *op = tt_op_find(c, p->arg[0], peer);
    bool kernel = tt_fabric_may(f, peer->rank, TT_WRITES) && !f->mapped && peer->shares &&
                  peer->rank != f->me && !(p->arg[1] & TT_ADDRESS_IN_SEGMENT);
    return kernel && op && op->kind == TT_OP_LONG && peer->out.ring && p->arg[2] > 0 &&
           p->arg[2] <= (uint64_t)tt_min(MOST, op->bytes) && piece_of(p) > 0 &&
           serial_of(p->arg[4]) != 0 && seat_of(p) < TT_SEATS;
}

/* Nothing is lost where it is not heard: the target moves all. The message may have ended
 * already. */
void tt_help_asked(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    if (!is_sound(c, peer, p)) return;
    struct tt_help *h = read_packet(peer, p), **end = &c->helps;
    if (!h) return;
    while (*end) end = &(*end)->next;
    *end = h;
}

/* Whether there is a piece to claim: not all are, and no others sit there. */
static bool has_piece(const struct tt_help *h, uint64_t word)
{
    return serial_of(word) == h->serial && !(word & CLOSED) && !is_full(word, h->pieces.n);
}

static _Atomic uint64_t *seat_word(const struct tt_help *h)
{
    return &h->peer->out.ring->seat[h->seat].word;
}

/* The last piece that nobody has; -1: there is none. */
static int claim_last(const struct tt_help *h)
{
    uint64_t now = atomic_load_explicit(seat_word(h), memory_order_relaxed);
    do {
        if (!has_piece(h, now)) return -1;
    } while (!atomic_compare_exchange_weak_explicit(seat_word(h), &now, now + ORIGINS,
                                                    memory_order_acq_rel, memory_order_relaxed));
    return h->pieces.n - 1 - origins_of(now);
}

static tutti_status write_piece(tutti_context *c, const struct tt_help *h, const struct tt_op *op,
                                int piece)
{
    int64_t begin = tt_piece_begin(&h->pieces, piece);
    int64_t bytes = tt_piece_begin(&h->pieces, piece + 1) - begin;
    return tt_fabric_write(c->f, h->peer->rank, h->to + (uint64_t)begin, op->data + begin, bytes);
}

/* Whether it can be told at once that a piece is written: else nothing is claimed, since who claims
 * must tell before its advance returns. */
static bool may_tell(struct tt_peer *peer)
{
    return !peer->waiting.first && tt_out_begin(&peer->out, 2 * sizeof(uint64_t));
}

enum outcome { OVER, LATER, WROTE };

static enum outcome help(tutti_context *c, struct tt_help *h)
{
    const struct tt_op *op = h->peer->gone ? NULL : tt_op_find(c, h->send, h->peer);
    bool is_there = op && op->kind == TT_OP_LONG;
    if (!is_there || !has_piece(h, atomic_load_explicit(seat_word(h), memory_order_relaxed)))
        return OVER;
    if (!may_tell(h->peer) || !tt_parcel_reserve(c)) return LATER;
    int piece = claim_last(h);
    if (piece < 0) return OVER;
    tutti_status status = write_piece(c, h, op, piece);
    tt_post_answer(c, h->peer, TT_PACKET_ACK, h->op, (uint64_t)status);
    c->events++;
    return WROTE;
}

/* One piece. A target that does not read, so cannot be told, holds up nobody else: as many as it
 * has seats stay in the list. */
void tt_help_advance(tutti_context *c)
{
    enum outcome outcome = LATER;
    for (struct tt_help *h, **at = &c->helps; (h = *at) != NULL && outcome != WROTE;) {
        outcome = help(c, h);
        if (outcome == LATER) at = &h->next;
        if (outcome != OVER) continue;
        *at = h->next;
        tt_free(h);
    }
}

void tt_help_close(tutti_context *c)
{
    for (struct tt_help *h; (h = c->helps) != NULL; tt_free(h)) c->helps = h->next;
}
