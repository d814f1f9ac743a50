/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces of long messages that their origin writes.
 */
#include "msg/help.h"

#include "msg/wired.h"

enum {
    LEAST = 128 << 10, /* bytes of a message: below, telling costs more than it saves */
    PIECE_LEAST = 64 << 10,
    PIECE_MOST = 512 << 10,
    PIECES = 8,
    ASKED = 2 /* messages at a time: the one that is pulled, and the next */
};

/* ---- Seats ---- */

static uint64_t serial_of(uint64_t word)
{
    return word >> 32;
}

static int next_of(uint64_t word)
{
    return (int)(word & INT32_MAX);
}

/* The first that no message sits on; -1: none. */
static int free_seat(const struct tt_peer *peer)
{
    for (int i = 0; peer->from && i < TT_SEATS; i++)
        if (!(peer->seated & 1u << i)) return i;
    return -1;
}

/* ---- At the target ---- */

int64_t tt_help_piece(int64_t bytes)
{
    return tt_max(PIECE_LEAST, tt_min(PIECE_MOST, tt_div_up(bytes, PIECES)));
}

/* Where ranks outnumber processors somebody works in any case. */
static bool is_of_use(const tutti_context *c)
{
    return c->msg->helped >= 0 ? c->msg->helped != 0 : c->f->job->arenas <= c->f->cores;
}

bool tt_help_wanted(const tutti_context *c, const struct tutti_pending *r)
{
    const struct tt_fabric *f = c->f;
    bool kernel = f->direct && !tt_reads_dearly(f) && !tt_fabric_reach(f, r->address);
    return kernel && r->take >= LEAST && r->peer->shares && r->peer->rank != f->me &&
           atomic_load(&c->msg->contexts) == 1 && is_of_use(c);
}

/* Seats this receipt, which the context pulls alone. False: nothing was done, and may be later. */
static bool ask(tutti_context *c, struct tutti_pending *r)
{
    struct tt_peer *peer = r->peer;
    int i = free_seat(peer);
    struct tt_op *op = i >= 0 ? tt_op_new(c, TT_OP_HELP, peer) : NULL;
    if (!op) return false;
    struct tt_help_seat *seat = &peer->from->seat[i];
    uint64_t serial = serial_of(atomic_load_explicit(&seat->word, memory_order_relaxed)) + 1;
    int next = atomic_load_explicit(&r->one.next, memory_order_relaxed);
    atomic_store_explicit(&seat->word, serial << 32 | (uint32_t)next, memory_order_relaxed);
    struct tt_packet p = {.kind = TT_PACKET_HELP,
                          .arg = {r->id, (uint64_t)(uintptr_t)r->to, (uint64_t)r->take, op->id,
                                  serial << 32 | (uint32_t)i}};
    if (tt_post_now(c, peer, &p) != TUTTI_OK) {
        tt_op_free(c, op);
        return false;
    }
    peer->seated |= 1u << i;
    op->receipt = r;
    r->seat = seat;
    r->mine = next;
    r->help = op;
    atomic_fetch_add(&r->refs, 1);
    return true;
}

void tt_help_ask(tutti_context *c)
{
    int n = 0;
    for (struct tt_range *range = c->ranges; range && n < ASKED;
         range = range->next_of_context, n++) {
        struct tutti_pending *r = range->receipt;
        bool alone = n == 0 && r->pieces.n == 1; /* it is claimed here, now */
        if (r->seat || alone || r->ranges > 1 || r->peer->gone || c->msg->leaving) continue;
        if (tt_help_wanted(c, r) && !ask(c, r)) return;
    }
}

int tt_help_claim(struct tutti_pending *r)
{
    uint64_t word = atomic_load_explicit(&r->seat->word, memory_order_relaxed);
    if (next_of(word) >= r->pieces.n || r->mine + r->help->flows >= r->pieces.n) return -1;
    int piece = next_of(atomic_fetch_add_explicit(&r->seat->word, 1, memory_order_acq_rel));
    if (piece >= r->pieces.n) return -1;
    r->mine++;
    return piece;
}

/* Pieces that the origin has claimed, if so many are. */
static int its(const struct tutti_pending *r, int claimed)
{
    return (int)tt_min(claimed, r->pieces.n) - r->mine;
}

/* The operation goes when all is claimed, and told of. */
static void settle(tutti_context *c, struct tt_op *op)
{
    struct tutti_pending *r = op->receipt;
    if (!op->answered || op->flows < its(r, r->pieces.n)) return;
    tt_op_free(c, op);
    tt_receive_unref(r);
}

void tt_help_end(tutti_context *c, struct tutti_pending *r)
{
    r->help->answered = true;
    r->peer->seated &= ~(1u << (r->seat - r->peer->from->seat));
    settle(c, r->help);
}

/* The operation goes first: with the last piece a completion function is called, which may receive another message, and
 * so have this one's seat given up. */
static void count(tutti_context *c, struct tt_op *op, tutti_status status)
{
    struct tutti_pending *r = op->receipt;
    atomic_fetch_add(&r->refs, 1);
    op->flows++;
    settle(c, op);
    tt_pull_piece_ended(c, r, status);
    tt_receive_unref(r);
}

/* Pieces that the origin has claimed and not told of. Once all are claimed the seat may be another message's. */
static int untold(const struct tt_op *op)
{
    const struct tutti_pending *r = op->receipt;
    int claimed = r->pieces.n;
    if (!op->answered)
        claimed = next_of(atomic_load_explicit(&r->seat->word, memory_order_acquire));
    return its(r, claimed) - op->flows;
}

bool tt_help_told(tutti_context *c, struct tt_op *op, tutti_status status, uint64_t piece)
{
    struct tutti_pending *r = op->receipt;
    if (untold(op) <= 0 || piece >= (uint64_t)r->pieces.n) return false;
    if (status != TUTTI_OK) status = tt_pull_read(c, r, (int)piece);
    count(c, op, status);
    return true;
}

bool tt_help_is_written(const struct tt_op *op)
{
    return op->kind == TT_OP_HELP && untold(op) > 0;
}

void tt_help_stop(struct tt_op *op)
{
    if (op->kind == TT_OP_HELP && !op->answered)
        atomic_fetch_add_explicit(&op->receipt->seat->word, UINT64_C(1) << 32,
                                  memory_order_acq_rel);
}

/* With the last one counted the operation may be gone. */
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
    uint64_t send, serial, op; /* op: the target's */
    tt_address to;
    struct tt_pieces pieces;
    int seat;
};

static struct tt_help *read_packet(struct tt_peer *peer, const struct tt_packet *p)
{
    struct tt_help *h = tt_alloc(sizeof *h);
    if (!h) return NULL;
    *h = (struct tt_help){.peer = peer,
                          .send = p->arg[0],
                          .to = p->arg[1],
                          .op = p->arg[3],
                          .serial = serial_of(p->arg[4]),
                          .seat = (int)(p->arg[4] & INT32_MAX)};
    h->pieces = tt_pieces_of((int64_t)p->arg[2], h->to, 1, tt_help_piece((int64_t)p->arg[2]));
    return h;
}

/* Whether there is such a message, a seat that was taken once, and a process to write to by the kernel. */
static bool is_sound(tutti_context *c, const struct tt_peer *peer, const struct tt_packet *p)
{
    const struct tt_fabric *f = c->f;
    const struct tt_op *op = tt_op_find(c, p->arg[0], peer);
    bool kernel = f->direct && !f->mapped && peer->shares && peer->rank != f->me &&
                  !(p->arg[1] & TT_ADDRESS_IN_SEGMENT);
    return kernel && op && op->kind == TT_OP_LONG && peer->out.ring && p->arg[2] > 0 &&
           p->arg[2] <= (uint64_t)op->bytes && serial_of(p->arg[4]) != 0 &&
           (p->arg[4] & UINT32_MAX) < TT_SEATS;
}

/* Nothing is lost where it is not heard: the target moves all. The message may have ended already. */
void tt_help_asked(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    if (!is_sound(c, peer, p)) return;
    struct tt_help *h = read_packet(peer, p), **end = &c->helps;
    if (!h) return;
    while (*end) end = &(*end)->next;
    *end = h;
}

/* A piece, or -1: all are claimed, or others sit there. */
static int claim(const struct tt_help *h)
{
    _Atomic uint64_t *word = &h->peer->out.ring->seat[h->seat].word;
    uint64_t now = atomic_load_explicit(word, memory_order_relaxed);
    do {
        if (serial_of(now) != h->serial || next_of(now) >= h->pieces.n) return -1;
    } while (!atomic_compare_exchange_weak_explicit(word, &now, now + 1, memory_order_acq_rel,
                                                    memory_order_relaxed));
    return next_of(now);
}

static tutti_status write_piece(tutti_context *c, const struct tt_help *h, const struct tt_op *op,
                                int piece)
{
    int64_t begin = tt_piece_begin(&h->pieces, piece);
    int64_t bytes = tt_piece_begin(&h->pieces, piece + 1) - begin;
    return tt_fabric_write(c->f, h->peer->rank, h->to + (uint64_t)begin, op->data + begin, bytes);
}

/* Whether it can be told at once that a piece is written: else nothing is claimed, since who claims must tell before its
 * advance returns. */
static bool may_tell(struct tt_peer *peer)
{
    return !peer->waiting.first && tt_out_begin(&peer->out, 3 * sizeof(uint64_t));
}

/* False: it is over. */
static bool help(tutti_context *c, struct tt_help *h)
{
    const struct tt_op *op = h->peer->gone ? NULL : tt_op_find(c, h->send, h->peer);
    if (!op || op->kind != TT_OP_LONG) return false;
    if (!may_tell(h->peer) || !tt_parcel_reserve(c)) return true;
    int piece = claim(h);
    if (piece < 0) return false;
    tutti_status status = write_piece(c, h, op, piece);
    struct tt_packet p = {.kind = TT_PACKET_HELPED,
                          .arg = {h->op, (uint64_t)status, (uint64_t)piece}};
    tt_post_reply(c, h->peer, &p);
    c->events++;
    return true;
}

void tt_help_advance(tutti_context *c)
{
    for (struct tt_help *h; (h = c->helps) != NULL; tt_free(h)) {
        if (help(c, h)) return;
        c->helps = h->next;
    }
}

void tt_help_close(tutti_context *c)
{
    for (struct tt_help *h; (h = c->helps) != NULL; tt_free(h)) c->helps = h->next;
}
