/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between nodes: each context has a port of the wire, and links from it to the ports that
 * it sends to.
 *
 * A link is opened for the first packet. Each rank publishes the addresses of its contexts by
 * src/boot. For a context that is made after the start of the job this may be slow, so context 0 of
 * the rank is asked for the address as well. Context 0 answers as soon as it is advanced. In this
 * picture, context 2 of this rank has a first packet for context 1 of rank r:
 *
 *     context 2 here                              rank r
 *     ADDRESS(1, my address)   -- link to 0 -->      context 0: opens a link back
 *     opens a link to 1        <-- ADDRESS_IS(1, address) --   when there is a context 1
 *
 * The wire borrows a send-queue entry with everything it points to, and the entry is freed when the
 * wire has ended the last packet of the entry. The end of this file says how links end.
 */
#include "msg/wired.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "boot/watch.h"
#include "msg/region.h"
#include "msg/thread.h"

static void end_lost(tutti_context *c, struct tt_peer *peer);

/* The most bytes of a key to which no network card has added a key of its own (are_worth_it): a
 * frame of 8, UCX's own part of 9, and 1 byte for each of up to 6 transports that need no key. */
enum { SOFTWARE_KEY = 8 + 9 + 6 };

#define ASK_FIRST_NS INT64_C(50000000)

/* ---- Clients ---- */

/* Returns whether keys are worth using, which they are if a network card does the accesses. The
 * card then adds a key of its own to each key, which makes the key longer than SOFTWARE_KEY.
 * Without a network card, UCX at the other end does gets and puts in software, with a round trip
 * for every few kilobytes, while messages do the same with half the processor time. */
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

/* Warns that TUTTI_REMOTE_KEYS=1 is set and no network card serves the keys. Only rank 0 of a job
 * prints this, and only once. */
static void warn_of_software(const struct tt_msg *msg)
{
    static atomic_bool logged;
    if (msg->f->me == 0 && !atomic_exchange(&logged, true))
        tt_warn(
            "TUTTI_REMOTE_KEYS=1, but no network card accesses memory by remote keys: UCX does it "
            "in software, for every process that connects to it, and may abort a rank when "
            "another one dies");
}

/* Opens the wire, with remote memory access only if that is used. With this access, the network
 * library might read and write this process's memory in software for anybody who reaches the
 * process by the network. */
static tutti_status open_wire(struct tt_msg *msg)
{
    int64_t asked = tt_setting_int_or("TUTTI_REMOTE_KEYS", -1);
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

tutti_status tt_wired_open(struct tt_msg *msg, tt_wire_arrive_fn *arrive)
{
    bool wanted = false;
    msg->forced =
        tt_setting_int("TUTTI_WIRE") != 0 && !msg->f->job->threads && !msg->f->job->nested;
    for (int r = 0; r < msg->f->size && !wanted; r++) wanted = tt_peer_is_remote(msg, r);
    if (!wanted) return TUTTI_OK;
    msg->ops = &tt_wire_ucx;
    msg->arrive = arrive;
    tutti_status status = open_wire(msg);
    if (status != TUTTI_OK) msg->ops = NULL;
    return status;
}

void tt_wired_close(struct tt_msg *msg)
{
    if (msg->wire) msg->ops->close(msg->wire);
}

/* ---- Contexts ---- */

static bool arm(void *arg)
{
    const tutti_context *c = arg;
    tutti_status status = c->msg->ops->port_arm(c->port);
    /* if arming fails, arrivals do not wake the waiter, which then looks only from time to time */
    if (status > TUTTI_AGAIN) tt_error_undo();
    return status != TUTTI_AGAIN;
}

const struct tt_wake_descriptor *tt_msg_wake_descriptor(const tutti_context *c)
{
    return c->port ? &c->wake : NULL;
}

tutti_status tt_wired_open_port(tutti_context *c)
{
    const struct tt_wire_ops *ops = c->msg->ops;
    if (!ops) return TUTTI_OK;
    TT_TRY(ops->port_open(c->msg->wire, c->msg->arrive, c, &c->port));
    c->wake = (struct tt_wake_descriptor){
        .descriptor = ops->port_descriptor(c->port), .arm = arm, .arg = c};
    c->address_bytes = sizeof c->address;
    /* a context with a port always counts as used (tt_msg_is_idle), since a packet that comes over
     * the network leaves no trace in the context's mailbox */
    tt_context_used(c);
    return ops->port_address(c->port, c->address, &c->address_bytes);
}

/* Opens the port of context 0 again, since the settings on which the ranks agreed change how ports
 * are made. Nobody knows the old port yet. */
static tutti_status open_again(tutti_context *c)
{
    c->msg->ops->port_close(c->port);
    c->port = NULL;
    return tt_wired_open_port(c);
}

/* Publishes the context's address within the node, if the network is used within the node, too. */
static tutti_status publish_here(const tutti_context *c)
{
    if (!c->msg->forced || !c->port) return TUTTI_OK;
    return tt_mailbox_publish_port(c->f, c->mailbox, c->address, c->address_bytes);
}

/* Publishes the address. An error is only logged and not returned, because context 0 also answers
 * questions for the address. */
void tt_wired_publish(const tutti_context *c)
{
    tutti_status status = publish_here(c);
    if (status == TUTTI_OK && c->port)
        status = tt_boot_show_context(c->f, c->index, c->address, c->address_bytes);
    if (status == TUTTI_OK) return;
    if (tt_log_on(TT_LOG_boot)) tt_log("where context %d is: %s", c->index, tutti_error());
    tt_error_undo();
}

/* Publishes an empty address after an error, since the other ranks wait for an address, and keeps
 * the text of the first error. */
static tutti_status show_none(struct tt_msg *msg, tutti_status status)
{
    char text[256];
    snprintf(text, sizeof text, "%s", tutti_error());
    (void)tt_boot_show(msg->f, NULL, 0);
    return tt_fail(status, "%s", text);
}

tutti_status tt_wired_met(struct tt_msg *msg)
{
    tutti_context *first = msg->context[0];
    bool changed = msg->ops && msg->f->one_kernel && msg->ops->set_one_kernel(msg->wire);
    tutti_status status = changed ? open_again(first) : TUTTI_OK;
    if (status == TUTTI_OK) status = publish_here(first);
    if (status != TUTTI_OK) return show_none(msg, status);
    return tt_boot_show(msg->f, first->address, first->address_bytes);
}

/* ---- Links ---- */

static void lost(void *arg, tutti_status status)
{
    struct tt_peer *peer = arg;
    (void)status;
    peer->bye_by_ns = tt_clock_ns();
    tt_watch_lost(peer->owner->f, peer->rank);
}

static tutti_status link_to(tutti_context *c, struct tt_peer *peer, const void *address,
                            size_t bytes)
{
    if (peer->link) return TUTTI_OK;
    peer->linked_ns = tt_clock_ns();
    return c->msg->ops->link_open(c->port, address, bytes, lost, peer, &peer->link);
}

/* Finds the published address of the peer. AGAIN: the address is not published yet. */
static tutti_status address_of(tutti_context *c, struct tt_peer *peer, char *address, size_t *bytes)
{
    struct tt_fabric *f = c->f;
    *bytes = TT_WIRE_ADDRESS;
    if (tt_fabric_shares(f, peer->rank)) {
        const struct tt_mailbox *mailbox = tt_mailbox_of(f, peer->rank);
        bool published =
            mailbox && tt_mailbox_port(f, &mailbox->context[peer->context], address, bytes);
        return published ? TUTTI_OK : TUTTI_AGAIN;
    }
    if (peer->context == 0) return tt_boot_address(f, peer->rank, &peer->address, address, bytes);
    return tt_boot_context_address(f, peer->rank, peer->context, &peer->address, address, bytes);
}

/* Asks context 0 of the peer's rank for the peer's address, once. In the first client of the job
 * (number 0), the rank asks only if the server of the launcher (boot/directory.h) does not know the
 * address within ASK_FIRST_NS: the question needs a link to context 0, which this rank might need
 * for nothing else, and which might be cut while it is being set up. In other clients the rank asks
 * at once, because the contexts of these clients are not published on the server. */
static tutti_status ask_first(tutti_context *c, struct tt_peer *peer)
{
    struct tt_packet p = {
        .kind = TT_PACKET_ADDRESS, .arg = {(uint64_t)peer->context}, .data = c->address};
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
    /* the links are being closed, so nothing is sent any more */
    if (c->msg->parting) return TUTTI_AGAIN;
    tutti_status status = address_of(c, peer, address, &bytes);
    if (status == TUTTI_OK) return link_to(c, peer, address, bytes);
    bool published_elsewhere = peer->context == 0 || tt_fabric_shares(c->f, peer->rank);
    if (status == TUTTI_AGAIN && !published_elsewhere) TT_TRY(ask_first(c, peer));
    return status;
}

static bool is_address(const struct tt_packet *p)
{
    return p->arg[0] < TUTTI_CONTEXTS && p->bytes > 0 && p->bytes <= TT_WIRE_ADDRESS;
}

/* Answers an ADDRESS packet that asks for context `wanted`, unless the peer is gone. False: the
 * context does not exist yet. */
static bool answer_address_request(tutti_context *c, struct tt_peer *peer, uint64_t wanted)
{
    if (peer->gone) return true;
    if (wanted >= (uint64_t)atomic_load(&c->msg->contexts)) return false;
    const tutti_context *asked = c->msg->context[wanted];
    struct tt_packet p = {.kind = TT_PACKET_ADDRESS_IS, .arg = {wanted}, .data = asked->address};
    tutti_status status = tt_post_packet(c, peer, &p, (int64_t)asked->address_bytes, NULL, false);
    if (status != TUTTI_OK) tt_context_fault(c, status);
    return true;
}

void tt_wired_handle_address(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    if (peer->gone) return;
    if (!c->port || !is_address(p)) {
        tt_context_fault(c, tt_fail(TUTTI_ERR_ARG,
                                    "rank %d asked for the address of an invalid context",
                                    peer->rank));
        return;
    }
    tutti_status status = link_to(c, peer, p->data, p->bytes);
    if (status != TUTTI_OK) {
        tt_context_fault(c, status);
        return;
    }
    if (answer_address_request(c, peer, p->arg[0])) return;
    struct tt_transfer *request = tt_transfer_take(c); /* cannot fail: an entry was reserved */
    request->packet.arg[0] = p->arg[0];
    tt_send_queue_append(&peer->address_requests, request);
    c->address_requests++;
}

void tt_wired_handle_address_is(tutti_context *c, struct tt_peer *first, const struct tt_packet *p)
{
    struct tt_peer *peer = is_address(p) ? tt_peer_of(c, first->rank, (int)p->arg[0]) : NULL;
    bool asked = peer && c->port && peer->asked;
    tutti_status status =
        asked
            ? link_to(c, peer, p->data, p->bytes)
            : tt_fail(TUTTI_ERR_ARG, "rank %d sent an address that was not asked for", first->rank);
    if (status != TUTTI_OK) tt_context_fault(c, status);
}

static void answer_address_requests(tutti_context *c, struct tt_peer *peer)
{
    struct tt_send_queue address_requests = peer->address_requests;
    if (!address_requests.first) return;
    peer->address_requests = (struct tt_send_queue){.end = &peer->address_requests.first};
    for (struct tt_transfer *request; (request = address_requests.first) != NULL;) {
        address_requests.first = request->next;
        if (answer_address_request(c, peer, request->packet.arg[0])) {
            tt_transfer_give(c, request);
            c->address_requests--;
        } else
            tt_send_queue_append(&peer->address_requests, request);
    }
}

/* ---- Sending ---- */

static void sent(struct tt_wire_op *op, tutti_status status)
{
    struct tt_transfer *record = tt_container_of(op, struct tt_transfer, wire.op);
    struct tt_transfer *entry = record->whole;
    (void)status; /* the loss of a peer is handled when its link fails, not for each packet */
    if (record != entry) tt_transfer_give(entry->context, record);
    if (--entry->on_wire == 0 && entry->sent) tt_post_finish(entry->context, entry);
}

/* Handles a link that is lost. Returns PEER with a text that names the peer's rank, in place of the
 * error of the network, which does not know the rank. */
static tutti_status name_lost(struct tt_peer *peer)
{
    char text[160];
    const struct tt_fabric *f = peer->owner->f;
    const char *host = f->job->rank[peer->rank].host;
    tt_error_undo();
    lost(peer, TUTTI_ERR_PEER);
    if (tt_common_state(f->job, f->common, peer->rank) == TT_RANK_FAILED)
        return tt_fail(TUTTI_ERR_PEER, "%s",
                       tt_common_cause_text(f->job, f->common, peer->rank, text, sizeof text));
    return tt_fail(TUTTI_ERR_PEER, "the connection to rank %d%s%s is lost", peer->rank,
                   host[0] ? " on " : "", host);
}

/* Handles an error of the link to a peer. The packets to the peer wait until this rank has found
 * out why the peer's rank cannot be reached. If that rank then counts as failed, or already does,
 * the next advance gives the peer up and drops the packets. */
static tutti_status no_link(struct tt_peer *peer, tutti_status status)
{
    tutti_context *c = peer->owner;
    if (status != TUTTI_ERR_PEER || peer->gone) return status;
    status = name_lost(peer);
    tt_peer_look_for_lost(c);
    if (!peer->going && !tt_watch_seeks(c->f)) return status;
    tt_error_undo();
    return TUTTI_AGAIN;
}

static tutti_status send_over_wire(tutti_context *c, struct tt_peer *peer,
                                   const struct tt_packet *p, struct tt_transfer *entry)
{
    struct tt_wire_packet *wire = &entry->wire;
    tutti_status status = tt_likely(peer->link != NULL) ? TUTTI_OK : link_up(c, peer);
    if (status != TUTTI_OK) return no_link(peer, status);
    size_t n = tt_packet_wire_head(p, c->f->me, c->index, wire->bytes + TT_WIRE_BEFORE);
    wire->op.done = sent;
    status = c->msg->ops->send(peer->link, wire, n, p->data, p->bytes);
    entry->whole->on_wire += status == TUTTI_AGAIN;
    return tt_likely(status <= TUTTI_AGAIN) ? TUTTI_OK : no_link(peer, status);
}

static void offer_by_key(tutti_context *c, struct tt_pending *pending, struct tt_packet *p,
                         char *key)
{
    p->arg[2] = (uint64_t)(uintptr_t)pending->data;
    p->bytes = tt_region_offer(c, pending, key);
    p->data = key;
}

const struct tt_transport tt_transport_wire = {
    .packet_most = TT_WIRE_DATA, .send = send_over_wire, .offer = offer_by_key};

/* ---- Advancing ---- */

void tt_wired_advance(tutti_context *c)
{
    if (c->address_requests > 0 && c->address_requests_seen != atomic_load(&c->msg->contexts)) {
        c->address_requests_seen = atomic_load(&c->msg->contexts);
        tt_peer_each(c, answer_address_requests);
    }
    if (tt_unlikely(c->lost_some)) {
        c->lost_some = false;
        tt_peer_each(c, end_lost);
    }
    int n = c->msg->ops->port_advance(c->port);
    c->events += n;
    /* While nothing else is to be done, this rank looks for the reason why a rank cannot be
     * reached. */
    if (n == 0 && tt_watch_seeks(c->f)) tt_watch_look(c->f);
}

/* ---- Remote memory access ---- */

static void moved(struct tt_wire_op *op, tutti_status status)
{
    struct tt_pending *pending = tt_container_of(op, struct tt_pending, wire);
    struct tt_peer *peer = pending->peer;
    pending->on_wire = false;
    peer->wire_puts -= pending->kind == TT_PENDING_PUT;
    if (status == TT_STATUS_CANCELLED) status = TUTTI_ERR_SYSTEM; /* nobody has cancelled it */
    (void)tt_pending_answer(peer->owner, pending, status);
}

/* Uses the link to the peer itself, not a link to another context of the peer's rank: without a
 * network card, the access goes on only while a thread advances the context to which the link goes.
 * The caller knows of no thread that advances another context. */
tutti_status tt_wired_move(tutti_context *c, struct tt_pending *pending, const void *key,
                           size_t key_bytes, uint64_t there, char *here)
{
    const struct tt_wire_ops *ops = c->msg->ops;
    tutti_status status = link_up(c, pending->peer);
    struct tt_link *link = pending->peer->link;
    if (status == TUTTI_OK) status = ops->key_open(link, key, key_bytes, &pending->key);
    if (status > TUTTI_AGAIN) tt_error_undo(); /* the caller uses messages, or reports the loss */
    if (status != TUTTI_OK) return TUTTI_ERR_UNSUPPORTED;
    size_t n = (size_t)pending->bytes;
    struct tt_wire_op *op = &pending->wire;
    op->done = moved;
    status = pending->kind == TT_PENDING_PUT ? ops->put(link, there, here, pending->key, n, op)
                                             : ops->get(link, here, there, pending->key, n, op);
    if (tt_unlikely(status == TUTTI_ERR_PEER)) return name_lost(pending->peer);
    if (status == TUTTI_AGAIN) {
        pending->on_wire = true;
        pending->peer->wire_puts += pending->kind == TT_PENDING_PUT;
    }
    return status;
}

/* ---- The end of links ---- */

/* How links between nodes end. If a rank is known to have died, its link is made to fail; the
 * operations on it then end with PEER once nobody reads their buffers any more. If a rank has left,
 * or cannot go on but still runs, its link is closed properly once it is idle. That rank closes its
 * side in the same way, because neither side can close a link properly without the other side. UCX
 * does not notify a live process of a link that the other side made to fail. Such a process stops
 * at an assertion (UCX 1.13, ucp_ep_update_remote_id) if it is still setting up its side of the
 * link. */

#define SETTING_UP_NS INT64_C(500000000)
/* How long, and for how many advances at least, a context waits for BYE from a rank that has
 * left. */
#define BYE_NS (2 * TT_PARTING_NS)
enum { BYE_LOOKS = 100 };

/* ---- Ranks that are gone ---- */

static void close_link(tutti_context *c, struct tt_peer *peer)
{
    struct tt_link *link = peer->link;
    peer->link = NULL;
    if (link) c->msg->ops->link_close(link);
}

/* Closes the link to a rank that has left and still answers for a while. The link stays open until
 * the rank's BYE has come, so that everything it sent is read. The link is made to fail if it does
 * not become idle in time, or if the network still reads the memory of a message that was already
 * reported as lost. */
static void part_from(tutti_context *c, struct tt_peer *peer)
{
    int64_t now = tt_clock_ns();
    bool idle = c->msg->ops->link_is_idle(peer->link);
    if (peer->part_by_ns == 0) peer->part_by_ns = now + TT_PARTING_NS;
    if (idle && peer->bye)
        close_link(c, peer);
    else if (!idle && now < peer->part_by_ns && peer->lent == 0)
        c->lost_some = true; /* the next advance looks at the link again */
    else if (!idle)
        c->msg->ops->link_fail(peer->link);
}

/* Returns whether the rank has left the client. If another rank still needed it, it counts as
 * failed, with the cause LEFT. */
static bool has_left(const struct tt_fabric *f, int rank)
{
    return tt_common_state(f->job, f->common, rank) == TT_RANK_LEFT ||
           tt_rank_cause(tt_common_rank_status(f->job, f->common, rank)) == TT_CAUSE_LEFT;
}

/* Returns whether the process of a rank that counts as gone may still run and answer. */
static bool may_live(const struct tt_fabric *f, int rank)
{
    if (has_left(f, rank)) return true;
    switch (tt_rank_cause(tt_common_rank_status(f->job, f->common, rank))) {
    case TT_CAUSE_STATUS:
    case TT_CAUSE_SETTING:
    case TT_CAUSE_LEFT: return true;
    case TT_CAUSE_NONE:
    case TT_CAUSE_SIGNAL:
    case TT_CAUSE_EXIT:
    case TT_CAUSE_ABSENT:
    case TT_CAUSE_LOST:
    case TT_CAUSE_GONE:
    case TT_CAUSE_SILENT: break;
    }
    return false;
}

/* Returns whether answers of a peer may still come, although its rank has left. Shared memory may
 * report that the rank has left while the last packets of the peer are still on their way, or lie
 * unread in this context's port.
 *
 * Why no answer is missed: everything that answers this context's packets comes from the peer that
 * they were sent to. A rank that leaves sends BYE after these answers, and the packets of a link
 * are handled in the order of sending. So when BYE was handled, the answers were handled too.
 *
 * Why the wait ends: BYE may never come, for example because the peer has never heard of this
 * context, the rank has died while it was leaving, or its host is cut off. So the wait also ends
 * when the link has failed, which ends the connection in both directions, or after BYE_NS. By then
 * the leaving rank has stopped sending: it takes TT_PARTING_NS at most to send BYE, and as long to
 * close the links. This thread may have slept meanwhile, and not have read the port. So in both
 * cases BYE_LOOKS advances, each of which reads the port, come before the end of the wait. */
static bool may_answer(const tutti_context *c, struct tt_peer *peer)
{
    if (peer->bye || !has_left(c->f, peer->rank)) return false;
    int64_t now = tt_clock_ns();
    if (peer->bye_by_ns == 0) peer->bye_by_ns = now + BYE_NS;
    if (peer->bye_looks >= BYE_LOOKS) return now < peer->bye_by_ns;
    peer->bye_looks++;
    return true;
}

/* Without a link, nothing was sent to the peer that it could answer. */
bool tt_wired_may_cut(const tutti_context *c, struct tt_peer *peer)
{
    if (!peer->link || !may_live(c->f, peer->rank)) return true;
    if (may_answer(c, peer)) return false;
    return peer->lent == 0 || tt_clock_ns() >= peer->linked_ns + SETTING_UP_NS;
}

/* Ends the link to a peer that is gone: closes it if the process of the peer's rank may still run,
 * and otherwise makes the link fail. */
static void end_lost(tutti_context *c, struct tt_peer *peer)
{
    if (!peer->gone || !peer->link) return;
    if (may_live(c->f, peer->rank))
        part_from(c, peer);
    else
        c->msg->ops->link_fail(peer->link);
}

/* ---- Leaving ---- */

static void say_bye(tutti_context *c, struct tt_peer *peer)
{
    if (peer->transport->shares || peer->gone) return;
    (void)tt_post_packet(c, peer, &(struct tt_packet){.kind = TT_PACKET_BYE}, 0, NULL, false);
}

/* Sends BYE to all peers that are reached over the network, so that they do not take the end of the
 * links for a failure. */
void tt_wired_say_bye(struct tt_msg *msg)
{
    int n = msg->ops ? atomic_load(&msg->contexts) : 0;
    for (int i = 0; i < n; i++) tt_peer_each(msg->context[i], say_bye);
}

static bool is_sending(const tutti_context *c)
{
    for (int r = 0; r < c->f->size; r++)
        for (const struct tt_peer *peer = c->peer[r]; peer; peer = peer->next_of_rank)
            if (!peer->gone && ((peer->link && peer->waiting.first) || peer->wire_puts > 0))
                return true;
    return false;
}

bool tt_wired_is_sending(const struct tt_msg *msg)
{
    int n = msg->ops ? atomic_load(&msg->contexts) : 0;
    for (int i = 0; i < n; i++)
        if (is_sending(msg->context[i])) return true;
    return false;
}

void tt_wired_handle_bye(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    (void)p;
    peer->bye = c->lost_some = true;
    if (!tt_fabric_shares(c->f, peer->rank)) tt_common_left(c->f->job, c->f->common, peer->rank);
}

/* Closes all links of a context, and before them the keys that were opened on these links. */
static void close_links(tutti_context *c)
{
    tt_pending_close_keys(c);
    tt_peer_each(c, close_link);
}

/* Returns whether the closing of the context's links is over. A context whose port could not be
 * opened again (open_again) has no port. */
static bool is_drained(const tutti_context *c)
{
    return !c->port || c->msg->ops->port_drain(c->port);
}

/* Closes the links of all contexts, and then drains the ports of the contexts, each a little in
 * every round, since another rank that closes its links may wait for any of these ports. */
void tt_wired_close_links(struct tt_msg *msg)
{
    int64_t end = tt_clock_ns() + TT_PARTING_NS;
    int n = msg->ops ? atomic_load(&msg->contexts) : 0;
    bool waits = n > 0;
    msg->parting = true;
    for (int i = 0; i < n; i++) close_links(msg->context[i]);
    while (waits && tt_clock_ns() < end) {
        waits = false;
        for (int i = 0; i < n; i++) waits |= !is_drained(msg->context[i]);
        if (waits) sched_yield(); /* other ranks have to answer */
    }
}

/* Closes the links and the port. Closing the port ends every operation that still reads lent
 * memory, so the caller frees such memory after this call. */
void tt_wired_close_port(tutti_context *c)
{
    if (!c->port) return;
    close_links(c);
    c->msg->ops->port_close(c->port);
    c->port = NULL;
}
