/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between machines: a port of the wire for each context, and links from it to the ports
 * that it writes to.
 *
 * A link is opened when the first packet goes. Where the contexts of a rank are, it has told boot.
 * That may be slow to tell of one that is made later, so then context 0 is asked too, which answers
 * at once, when it is advanced:
 *
 *     context 2 here                              rank r
 *     CARD(1, my address)   -- link to 0 -->      context 0: opens a link back
 *     opens a link to 1     <-- CARD_IS(1, address) --   when there is a context 1
 *
 * A parcel is lent to the wire with all it points to, and finished when the wire has ended its last
 * piece. How links end is in wired-end.c.
 */
#include "msg/wired.h"

#include <stdio.h>
#include <string.h>

#include "boot/watch.h"
#include "msg/region.h"

enum { SOFTWARE_KEY = 8 + 9 + 6 }; /* bytes of a key, at most, that no network card is behind */

#define ASK_FIRST_NS INT64_C(50000000)

/* ---- A client's ---- */

static bool is_far(const struct tt_msg *msg, int rank)
{
    return !tt_fabric_shares(msg->f, rank) || (msg->forced && rank != msg->f->me);
}

/* Whether a key holds more than the frame (8 bytes), the library's own (9), and a byte for each of
 * a few transports that need none. Without, the library at the other end does gets and puts in
 * software, with a way there and back for every few kilobytes; by messages the same takes half the
 * time of the processors. */
static bool are_worth_it(struct tt_msg *msg)
{
    struct tt_wire_region *region;
    char key[TT_WIRE_KEY];
    size_t bytes = sizeof key;
    if (msg->ops->map(msg->wire, msg, sizeof *msg, &region) != TUTTI_OK) return false;
    bool packed = msg->ops->pack(region, key, &bytes) == TUTTI_OK;
    msg->ops->unmap(region);
    return packed && bytes > SOFTWARE_KEY;
}

/* One rank of a job tells, once. */
static void warn_of_software(const struct tt_msg *msg)
{
    static atomic_bool told;
    if (msg->f->me == 0 && !atomic_exchange(&told, true))
        tt_warn("TUTTI_REMOTE_KEYS=1 with no network card behind the keys: UCX reads and writes "
                "memory in software then, for whoever connects to it, and may abort a rank when "
                "another one dies");
}

/* With memory to be reached only where that is used: wire.h says why. */
static tutti_status open_wire(struct tt_msg *msg)
{
    int64_t asked = tt_setting_int("TUTTI_REMOTE_KEYS", -1, 0, 1);
    msg->keys = asked != 0;
    TT_TRY(msg->ops->open(msg->keys, &msg->wire));
    bool worth_it = msg->keys && are_worth_it(msg);
    if (asked == 1 && !worth_it) warn_of_software(msg);
    if (asked >= 0 || worth_it) return TUTTI_OK;
    msg->ops->close(msg->wire);
    msg->wire = NULL;
    msg->keys = false;
    return msg->ops->open(false, &msg->wire);
}

tutti_status tt_wired_open(struct tt_msg *msg)
{
    bool wanted = false;
    msg->forced = tt_setting_int("TUTTI_WIRE", 0, 0, 1) != 0 && !msg->f->job->threads;
    for (int r = 0; r < msg->f->size && !wanted; r++) wanted = is_far(msg, r);
    if (!wanted) return TUTTI_OK;
    msg->ops = &tt_wire_ucx;
    tutti_status status = open_wire(msg);
    if (status != TUTTI_OK) msg->ops = NULL;
    return status;
}

void tt_wired_close(struct tt_msg *msg)
{
    if (msg->wire) msg->ops->close(msg->wire);
}

bool tt_wired_is_far(const tutti_context *c, int rank)
{
    return c->msg->ops && is_far(c->msg, rank);
}

/* ---- A context's ---- */

static void arrive(void *arg, const void *head, size_t head_bytes, const void *data,
                   size_t data_bytes)
{
    tutti_context *c = arg;
    struct tt_packet p;
    int rank, context;
    if (data_bytes > TT_WIRE_DATA ||
        !tt_packet_wire_read(head, head_bytes, data, data_bytes, c->f->size, &rank, &context, &p)) {
        tt_take_fault(c, tt_fail(TUTTI_ERR_ARG, "a broken packet came over the network"));
        return;
    }
    struct tt_peer *peer = tt_peer_of(c, rank, context);
    tutti_status status = peer ? tt_take(c, peer, &p) : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK) return;
    /* It is lost: the sender must not think that it was taken. */
    tt_common_fail(c->f->job, c->f->common, c->f->me, TT_CAUSE_STATUS, (int)status);
    tt_take_fault(c, status);
}

static bool arm(void *arg)
{
    const tutti_context *c = arg;
    /* Where it cannot be armed, the pauses are all there is. */
    return c->msg->ops->port_arm(c->port) != TUTTI_AGAIN;
}

const struct tt_alarm *tt_msg_alarm(const tutti_context *c)
{
    return c->port ? &c->alarm : NULL;
}

tutti_status tt_wired_context(tutti_context *c)
{
    const struct tt_wire_ops *ops = c->msg->ops;
    if (!ops) return TUTTI_OK;
    TT_TRY(ops->port_open(c->msg->wire, arrive, c, &c->port));
    c->alarm = (struct tt_alarm){.descriptor = ops->port_descriptor(c->port), .arm = arm, .arg = c};
    c->address_bytes = sizeof c->address;
    tt_context_used(c); /* always: what comes over the network is not seen otherwise */
    return ops->port_address(c->port, c->address, &c->address_bytes);
}

/* What the ranks settled changes how ports are: nobody knows this one yet. */
static tutti_status open_again(tutti_context *c)
{
    c->msg->ops->port_close(c->port);
    c->port = NULL;
    return tt_wired_context(c);
}

/* On this machine, where the wire is asked for here too. */
static tutti_status tell_here(const tutti_context *c)
{
    if (!c->msg->forced || !c->port) return TUTTI_OK;
    return tt_mail_tell_port(c->f, c->mail, c->address, c->address_bytes);
}

/* It is no great loss if this fails: context 0 tells, too. */
void tt_wired_tell(const tutti_context *c)
{
    tutti_status status = tell_here(c);
    if (status == TUTTI_OK && c->port)
        status = tt_boot_show_context(c->f, c->index, c->address, c->address_bytes);
    if (status != TUTTI_OK && tt_log_on(TT_LOG_boot))
        tt_log("where context %d is: %s", c->index, tutti_error());
}

/* The others wait for this rank's address, though it may have none; what was said first is told. */
static tutti_status show_none(struct tt_msg *msg, tutti_status status)
{
    char text[256];
    snprintf(text, sizeof text, "%s", tutti_error());
    (void)tt_boot_show(msg->f, NULL, 0);
    return tt_fail(status, "%s", text);
}

tutti_status tt_msg_met(struct tt_msg *msg)
{
    tutti_context *first = msg->context[0];
    tt_msg_settle(msg);
    bool changed = msg->ops && msg->f->one_kernel && msg->ops->near(msg->wire);
    tutti_status status = changed ? open_again(first) : TUTTI_OK;
    if (status == TUTTI_OK) status = tell_here(first);
    if (status != TUTTI_OK) return show_none(msg, status);
    return tt_boot_show(msg->f, first->address, first->address_bytes);
}

/* ---- Links ---- */

static void lost(void *arg, tutti_status status)
{
    struct tt_peer *peer = arg;
    (void)status;
    struct tt_fabric *f = peer->owner->f;
    if (tt_watch_lost(f, peer->rank)) return;
    tt_common_fail(f->job, f->common, peer->rank, TT_CAUSE_LOST, 0);
}

static tutti_status link_to(tutti_context *c, struct tt_peer *peer, const void *address,
                            size_t bytes)
{
    if (peer->link) return TUTTI_OK;
    peer->linked_ns = tt_clock_ns();
    return c->msg->ops->link_open(c->port, address, bytes, lost, peer, &peer->link);
}

/* AGAIN: that has not been told yet. */
static tutti_status address_of(tutti_context *c, struct tt_peer *peer, char *address, size_t *bytes)
{
    struct tt_fabric *f = c->f;
    *bytes = TT_WIRE_ADDRESS;
    if (tt_fabric_shares(f, peer->rank)) {
        const struct tt_mail *mail = tt_mail_of(f, peer->rank);
        bool told = mail && tt_mail_port(f, &mail->context[peer->context], address, bytes);
        return told ? TUTTI_OK : TUTTI_AGAIN;
    }
    if (peer->context == 0) return tt_boot_address(f, peer->rank, &peer->address, address, bytes);
    return tt_boot_context_address(f, peer->rank, peer->context, &peer->address, address, bytes);
}

/* Where another one is: once, and only if the job's server does not know for a while (of later
 * clients than the first it never does). A connection that is set up for nothing else is one more
 * that may be cut off in the middle of it. */
static tutti_status ask_first(tutti_context *c, struct tt_peer *peer)
{
    struct tt_packet p = {
        .kind = TT_PACKET_CARD, .arg = {(uint64_t)peer->context}, .data = c->address};
    int64_t now = tt_clock_ns();
    if (peer->ask_first_ns == 0) peer->ask_first_ns = now + (c->f->client == 0) * ASK_FIRST_NS;
    if (peer->asked || now < peer->ask_first_ns) return TUTTI_OK;
    struct tt_peer *first = tt_peer_of(c, peer->rank, 0);
    if (!first) return TUTTI_ERR_MEMORY;
    TT_TRY(tt_post_packet(c, first, &p, (int64_t)c->address_bytes, NULL, false));
    peer->asked = true;
    return TUTTI_OK;
}

static tutti_status link_up(tutti_context *c, struct tt_peer *peer)
{
    char address[TT_WIRE_ADDRESS];
    size_t bytes;
    if (tt_likely(peer->link != NULL)) return TUTTI_OK;
    if (peer->gone) return tt_fail(TUTTI_ERR_PEER, "rank %d is gone", peer->rank);
    if (c->msg->parting) return TUTTI_AGAIN; /* nothing goes any more */
    tutti_status status = address_of(c, peer, address, &bytes);
    if (status == TUTTI_OK) return link_to(c, peer, address, bytes);
    bool told_elsewhere = peer->context == 0 || tt_fabric_shares(c->f, peer->rank);
    if (status == TUTTI_AGAIN && !told_elsewhere) TT_TRY(ask_first(c, peer));
    return status;
}

static bool is_address(const struct tt_packet *p)
{
    return p->arg[0] < TUTTI_CONTEXTS && p->bytes > 0 && p->bytes <= TT_WIRE_ADDRESS;
}

/* Answers as soon as there is such a context. */
static bool answer_card(tutti_context *c, struct tt_peer *peer, uint64_t wanted)
{
    const tutti_context *asked = tt_msg_context(c->msg, (int)wanted);
    if (!asked) return false;
    struct tt_packet p = {.kind = TT_PACKET_CARD_IS, .arg = {wanted}, .data = asked->address};
    tutti_status status = tt_post_packet(c, peer, &p, (int64_t)asked->address_bytes, NULL, false);
    if (status != TUTTI_OK) tt_take_fault(c, status);
    return true;
}

void tt_wired_card(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    if (peer->gone) return;
    if (!c->port || !is_address(p)) {
        tt_take_fault(c, tt_fail(TUTTI_ERR_ARG, "rank %d asked for no context", peer->rank));
        return;
    }
    tutti_status status = link_to(c, peer, p->data, p->bytes);
    if (status != TUTTI_OK) {
        tt_take_fault(c, status);
        return;
    }
    if (answer_card(c, peer, p->arg[0])) return;
    struct tt_parcel *card = tt_parcel_take(c); /* one was reserved */
    card->packet.arg[0] = p->arg[0];
    tt_parcel_append(&peer->cards, card);
    c->cards++;
}

void tt_wired_card_is(tutti_context *c, struct tt_peer *first, const struct tt_packet *p)
{
    struct tt_peer *peer = is_address(p) ? tt_peer_of(c, first->rank, (int)p->arg[0]) : NULL;
    bool asked = peer && c->port && peer->asked;
    tutti_status status =
        asked
            ? link_to(c, peer, p->data, p->bytes)
            : tt_fail(TUTTI_ERR_ARG, "rank %d told an address that nobody asked for", first->rank);
    if (status != TUTTI_OK) tt_take_fault(c, status);
}

static void answer_cards(tutti_context *c, struct tt_peer *peer)
{
    struct tt_parcels cards = peer->cards;
    if (!cards.first) return;
    peer->cards = (struct tt_parcels){.end = &peer->cards.first};
    for (struct tt_parcel *card; (card = cards.first) != NULL;) {
        cards.first = card->next;
        if (answer_card(c, peer, card->packet.arg[0])) {
            tt_parcel_give(c, card);
            c->cards--;
        } else
            tt_parcel_append(&peer->cards, card);
    }
}

/* ---- Sending ---- */

static void sent(void *arg, tutti_status status)
{
    struct tt_parcel *parcel = arg;
    (void)status; /* who is lost, and what with him, is told once for all */
    if (--parcel->on_wire == 0 && parcel->sent) tt_post_finish(parcel->context, parcel);
}

/* Why there is no way to the rank is found out first: until then its packets wait, and are dropped
 * when it counts as failed. */
static tutti_status no_way(struct tt_peer *peer, tutti_status status)
{
    if (status != TUTTI_ERR_PEER || peer->gone) return status;
    lost(peer, status);
    return tt_watch_seeks(peer->owner->f) ? TUTTI_AGAIN : status;
}

tutti_status tt_wired_send(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p,
                           struct tt_parcel *parcel)
{
    char head[TT_WIRE_HEAD];
    tutti_status status = link_up(c, peer);
    if (status != TUTTI_OK) return no_way(peer, status);
    size_t n = tt_packet_wire_head(p, c->f->me, c->index, head);
    status = c->msg->ops->send(peer->link, head, n, p->data, p->bytes, sent, parcel);
    if (status == TUTTI_AGAIN) parcel->on_wire++;
    return status == TUTTI_AGAIN ? TUTTI_OK : no_way(peer, status);
}

/* ---- Advancing ---- */

void tt_wired_advance(tutti_context *c)
{
    if (c->cards > 0 && c->cards_seen != atomic_load(&c->msg->contexts)) {
        c->cards_seen = atomic_load(&c->msg->contexts);
        tt_peer_each(c, answer_cards);
    }
    if (tt_unlikely(c->lost_some)) {
        c->lost_some = false;
        tt_peer_each(c, tt_wired_end_lost);
    }
    if (tt_unlikely(tt_watch_seeks(c->f))) tt_watch_look(c->f);
    c->events += c->msg->ops->port_advance(c->port);
}

/* ---- Reaching into memory ---- */

static bool map(struct tt_msg *msg, const void *memory, size_t bytes,
                struct tt_wire_region **region)
{
    return msg->keys && msg->ops->map(msg->wire, (void *)memory, bytes, region) == TUTTI_OK;
}

void tt_wired_map(struct tt_msg *msg, tutti_region *region)
{
    if (!map(msg, region->memory, region->bytes, &region->wire)) region->wire = NULL;
}

/* A long message is pulled by its key, or, where there is none, by messages. */
size_t tt_wired_offer(tutti_context *c, struct tt_op *op, void *key)
{
    size_t bytes = TT_WIRE_KEY;
    if (!map(c->msg, op->data, (size_t)op->bytes, &op->region)) return 0;
    if (c->msg->ops->pack(op->region, key, &bytes) == TUTTI_OK && bytes <= TT_WIRE_KEY)
        return bytes;
    return 0;
}

/* Any link to the rank serves. */
static struct tt_link *link_of_rank(tutti_context *c, struct tt_peer *peer)
{
    struct tt_peer *first = peer;
    if (!peer->link && peer->context != 0) first = tt_peer_of(c, peer->rank, 0);
    return first && link_up(c, first) == TUTTI_OK ? first->link : NULL;
}

static void moved(void *arg, tutti_status status)
{
    struct tt_op *op = arg;
    struct tt_peer *peer = op->peer;
    op->on_wire = false;
    peer->wire_puts -= op->kind == TT_OP_PUT;
    tt_op_answer(peer->owner, op, status);
}

tutti_status tt_wired_move(tutti_context *c, struct tt_op *op, const void *key, size_t key_bytes,
                           uint64_t there, char *here)
{
    const struct tt_wire_ops *ops = c->msg->ops;
    struct tt_link *link = link_of_rank(c, op->peer);
    if (!link || ops->key_open(link, key, key_bytes, &op->key) != TUTTI_OK)
        return TUTTI_ERR_UNSUPPORTED;
    size_t n = (size_t)op->bytes;
    tutti_status status = op->kind == TT_OP_PUT
                              ? ops->put(link, there, here, op->key, n, moved, op)
                              : ops->get(link, here, there, op->key, n, moved, op);
    if (status == TUTTI_AGAIN) {
        op->on_wire = true;
        op->peer->wire_puts += op->kind == TT_OP_PUT;
    }
    return status;
}
