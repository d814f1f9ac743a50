/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The messaging of a client and its contexts: opening, advancing and closing. A *peer* (struct
 * tt_peer) is another context with which a context exchanges messages.
 */
#include "msg/inside.h"

#include <string.h>

#include "msg/pull.h"
#include "msg/region.h"
#include "msg/thread.h"
#include "msg/wired.h"

/* ---- Contexts ---- */

static struct tt_handles contexts_made = TT_HANDLES(tutti_context, 8);
static struct tt_handles endpoints_made = TT_HANDLES(tutti_endpoint, 8);

static void free_peer(tutti_context *c, struct tt_peer *peer)
{
    tt_receive_drop(peer);
    tt_send_queue_drop(c, &peer->waiting);
    tt_send_queue_drop(c, &peer->fences);
    tt_send_queue_drop(c, &peer->address_requests);
    tt_boot_address_end(&peer->address);
    tt_free(peer);
}

static void free_context(tutti_context *c)
{
    if (c->peer) tt_wired_close_port(c);
    if (c->peer) tt_peer_each(c, free_peer);
    tt_pending_close(c);
    tt_split_copy_close(c);
    tt_transfer_close(c);
    tt_free(c->spare);
    tt_free(c->spare_data);
    tt_free(c->inlet);
    tt_free(c->peer);
    tt_handle_free(&contexts_made, c);
}

static tutti_status make_context(struct tt_msg *msg, int index, tutti_context **made)
{
    struct tt_fabric *f = msg->f;
    tutti_context *c = tt_handle_new(&contexts_made);
    if (!c) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a context");
    c->msg = msg;
    c->f = f;
    c->mailbox = &msg->mailbox->context[index];
    c->index = index;
    c->signals = f->ops->signalling != NULL;
    c->failures = atomic_load(&f->job->failures);
    c->peer = tt_alloc_lines((size_t)f->size * sizeof *c->peer);
    tutti_status status =
        c->peer ? tt_wired_open_port(c) : tt_fail(TUTTI_ERR_MEMORY, "no memory for a context");
    if (status != TUTTI_OK)
        free_context(c);
    else
        *made = c;
    return status;
}

/* Adds all contexts or none. Other threads see them when the count `contexts` rises, and other
 * ranks when their addresses are published. */
tutti_status tt_msg_add_contexts(struct tt_msg *msg, int n, tutti_context **contexts)
{
    int before = atomic_load(&msg->contexts);
    if (before + n > TUTTI_CONTEXTS)
        return tt_fail(TUTTI_ERR_LIMIT, "a client has at most %d contexts, this one has %d",
                       TUTTI_CONTEXTS, before);
    for (int i = 0; i < n; i++) {
        tutti_status status = make_context(msg, before + i, &msg->context[before + i]);
        if (status == TUTTI_OK) continue;
        while (i > 0) free_context(msg->context[before + --i]);
        return status;
    }
    for (int i = 0; i < n; i++) contexts[i] = msg->context[before + i];
    atomic_store(&msg->contexts, before + n);
    for (int i = 0; i < n && before > 0; i++) tt_wired_publish(contexts[i]);
    return TUTTI_OK;
}

tutti_context *tt_msg_context(struct tt_msg *msg, int index)
{
    return index >= 0 && index < atomic_load(&msg->contexts) ? msg->context[index] : NULL;
}

int tt_msg_index(const tutti_context *context)
{
    return context->index;
}

tutti_client *tt_msg_client(const tutti_context *context)
{
    return context->msg->client;
}

bool tt_msg_is_idle(const tutti_context *context)
{
    return atomic_load_explicit(&context->mailbox->news, memory_order_relaxed) == 0;
}

bool tt_msg_is_drained(const tutti_context *context)
{
    bool queues = context->waiting != NULL;
    return !queues && (!context->port || context->msg->ops->port_has_sent(context->port));
}

/* ---- Clients ---- */

/* Returns the size in bytes of the largest message that is sent eagerly: the value of TUTTI_EAGER,
 * or `unasked` if this is not set. The result is at most `packet`, the bytes of data that a packet
 * holds, and at least TUTTI_IMMEDIATE_BYTES. */
static int64_t whole(int64_t unasked, int64_t packet)
{
    int64_t most = tt_setting_int_or("TUTTI_EAGER", unasked);
    return tt_max(TUTTI_IMMEDIATE_BYTES, tt_min(most, packet));
}

/* Returns the size in bytes of the largest message within the node that goes through a packet ring.
 * Longer messages are moved by split copies, which halve the time of reading. Where reading another
 * process' memory is slow (tt_reads_dearly), all messages go through the ring. Elsewhere the limit
 * is 256 KiB, which are a few packets, if two measurements favour the ring: moving bytes through
 * shared memory is faster than reading, and the kind of stores that fills rings was measured to be
 * the faster kind. Otherwise the result is 0, and no long message goes through a ring. */
static int64_t rings_most(const struct tt_msg *msg)
{
    const struct tt_fabric *f = msg->f;
    bool better =
        f->read_percent >= 125 && tt_fill_is_measured(msg->fill, f->job->arenas, f->cores);
    return tt_reads_dearly(f) ? INT64_MAX : better ? 256 << 10 : 0;
}

static void set_sizes(struct tt_msg *msg)
{
    msg->ring_bytes = 1;
    while (msg->ring_bytes * 2 <= tt_setting_must_match(TT_MUST_MATCH_RING)) msg->ring_bytes *= 2;
    msg->fill = tt_fill_asked();
    msg->ring.packet_most = (int64_t)tt_ring_data_most(msg->ring_bytes);
    msg->network.eager_most = whole(TT_WIRE_DATA, TT_WIRE_DATA);
    msg->packet_most = tt_max(tt_ring_most(msg->ring_bytes), TT_WIRE_DATA);
}

/* Sets the limits that depend on what the ranks measured when they met. If messages of several
 * packets go through the packet ring (rings_most is not 0), every message that fits in one packet
 * is sent eagerly. Split copies are not used if there are more ranks than processors, because then
 * the origin has no idle processor for them. */
static void settle(struct tt_msg *msg)
{
    int64_t packet = msg->ring.packet_most;
    int64_t splits = tt_setting_int_or("TUTTI_SPLIT_COPY", -1);
    msg->rings_most = rings_most(msg);
    msg->splits = splits >= 0 ? splits != 0 : msg->f->job->arenas <= msg->f->cores;
    msg->ring.eager_most = whole(msg->rings_most > 0 ? packet : msg->f->eager_most, packet);
}

tutti_status tt_msg_met(struct tt_msg *msg)
{
    settle(msg);
    return tt_wired_met(msg);
}

tutti_status tt_msg_open(struct tt_fabric *f, tutti_client *client, struct tt_msg **made)
{
    tutti_context *first;
    struct tt_msg *msg = tt_alloc_lines(sizeof *msg);
    if (!msg) return tt_fail(TUTTI_ERR_MEMORY, "no memory for messages");
    msg->f = f;
    msg->client = client;
    msg->ring = tt_transport_ring;
    msg->network = tt_transport_wire;
    pthread_mutex_init(&msg->region_lock, NULL);
    pthread_mutex_init(&msg->pulls.lock, NULL);
    set_sizes(msg);
    msg->endpoints = tt_calloc((size_t)f->size, sizeof(struct tt_endpoints *));
    tutti_status status = msg->endpoints ? tt_mailbox_open(f, &msg->mailbox)
                                         : tt_fail(TUTTI_ERR_MEMORY, "no memory for endpoints");
    if (status == TUTTI_OK) status = tt_wired_open(msg, tt_take_from_wire);
    if (status == TUTTI_OK) status = tt_msg_add_contexts(msg, 1, &first);
    if (status != TUTTI_OK) {
        tt_msg_close(msg);
        return status;
    }
    *made = msg;
    return TUTTI_OK;
}

static void free_endpoints(struct tt_msg *msg)
{
    for (int r = 0; msg->endpoints && r < msg->f->size; r++) {
        for (int i = 0; msg->endpoints[r] && i < TUTTI_CONTEXTS; i++)
            tt_handle_free(&endpoints_made, msg->endpoints[r]->to[i]);
        tt_free(msg->endpoints[r]);
    }
    tt_free(msg->endpoints);
}

/* Drops posted work and pulls first: they hold references to messages that are being received, and
 * such a message is freed with its last reference. */
void tt_msg_close(struct tt_msg *msg)
{
    if (!msg) return;
    int n = atomic_load(&msg->contexts);
    for (int i = 0; i < n; i++) {
        tt_work_drop(msg->context[i]);
        tt_pull_close(msg->context[i]);
    }
    tt_region_close(msg);
    tt_wired_close_links(msg);
    for (int i = 0; i < n; i++) free_context(msg->context[i]);
    tt_wired_close(msg);
    free_endpoints(msg);
    pthread_mutex_destroy(&msg->region_lock);
    pthread_mutex_destroy(&msg->pulls.lock);
    tt_free(msg);
}

tutti_status tt_msg_dispatch(struct tt_msg *msg, int id, tutti_message_fn *fn, void *arg)
{
    if (id < 0 || id >= TT_DISPATCHES)
        return tt_fail(TUTTI_ERR_ARG, "dispatch %d is not in 0..%d", id, TUTTI_DISPATCHES - 1);
    msg->handler[id] = (struct tt_handler){fn, arg};
    return TUTTI_OK;
}

void tt_msg_plan_packets(struct tt_msg *msg, tt_plan_packet_fn *fn, void *arg)
{
    msg->plan_packet = fn;
    msg->plan_packet_arg = arg;
}

static tutti_status make_endpoint(struct tt_msg *msg, int rank, int context)
{
    struct tt_endpoints **of = &msg->endpoints[rank];
    if (!*of) *of = tt_calloc(1, sizeof **of);
    tutti_endpoint *e = *of ? tt_handle_new(&endpoints_made) : NULL;
    if (!e) return tt_fail(TUTTI_ERR_MEMORY, "no memory for an endpoint");
    e->msg = msg;
    e->rank = rank;
    e->context = context;
    (*of)->to[context] = e;
    return TUTTI_OK;
}

tutti_status tt_msg_endpoint(struct tt_msg *msg, int rank, int context, tutti_endpoint **endpoint)
{
    const struct tt_endpoints *of = msg->endpoints[rank];
    if (!of || !of->to[context]) TT_TRY(make_endpoint(msg, rank, context));
    *endpoint = msg->endpoints[rank]->to[context];
    return TUTTI_OK;
}

int tt_msg_rank(const tutti_endpoint *endpoint)
{
    return endpoint->rank;
}

int tt_msg_context_of(const tutti_endpoint *endpoint)
{
    return endpoint->context;
}

/* ---- Ranks that are gone ---- */

static void lose(tutti_context *c, struct tt_peer *peer)
{
    if (peer->gone || !peer->ending) return;
    if (!tt_wired_may_cut(c, peer)) {
        c->losing = true; /* the next advance tries again to give up this peer */
        return;
    }
    peer->gone = c->lost_some = true;
    tt_send_queue_drop(c, &peer->waiting);
    tt_send_queue_drop(c, &peer->fences);
    tt_pending_end_lost(c, peer);
}

static void begin_to_lose(tutti_context *c, struct tt_peer *peer)
{
    (void)c;
    peer->ending = peer->going;
}

/* Gives up the peers whose rank has failed or left (`going`). If answers of such a peer may still
 * come over the network, or the link to it may still be being set up (tt_wired_may_cut), a later
 * advance gives the peer up. Operations with these peers end with PEER. A fence for which nothing
 * was lost ends with OK. An operation that the network executes ends when the network reports its
 * end.
 *
 * First handles all packets of these peers, because the packets may acknowledge what the peers
 * received. Meanwhile a handler or completion function that sends something may find that a further
 * rank has left, and mark its peers as `going`. Their packets may not have been read, so the next
 * advance gives them up. The same holds for all peers if there is no memory for their packets. */
static tutti_status lose_peers(tutti_context *c)
{
    c->losing = false;
    tt_peer_each(c, begin_to_lose);
    tutti_status status = tt_rings_read_last(c);
    if (status == TUTTI_OK)
        tt_peer_each(c, lose);
    else
        c->losing = true;
    return status;
}

/* ---- Advancing ---- */

static tutti_status advance(tutti_context *c)
{
    tutti_status status = TUTTI_OK;
    if (tt_unlikely(atomic_load_explicit(&c->posted, memory_order_relaxed) != NULL))
        c->events += tt_work_do(c);
    if (tt_unlikely(atomic_load_explicit(&c->f->job->failures, memory_order_relaxed) !=
                    c->failures))
        tt_peer_look_for_lost(c);
    uint64_t news = atomic_load_explicit(&c->mailbox->news, memory_order_relaxed);
    if (tt_unlikely((news & ~(uint64_t)TT_MAILBOX_IN_USE) || c->announced))
        status = tt_rings_adopt(c);
    if (tt_unlikely(c->losing && status == TUTTI_OK)) status = lose_peers(c);
    if (tt_likely(status == TUTTI_OK && c->inlets > 0)) status = tt_rings_read(c);
    if (tt_unlikely(c->port != NULL)) tt_wired_advance(c);
    bool pulls = c->ranges || atomic_load_explicit(&c->msg->pulls.n, memory_order_acquire) > 0;
    if (tt_unlikely(pulls)) tt_pull_advance(c);
    if (tt_unlikely(c->split_copies != NULL)) tt_split_copy_advance(c);
    if (tt_unlikely(c->waiting != NULL)) {
        tutti_status sent = tt_post_waiting(c);
        if (status == TUTTI_OK) status = sent;
    }
    if (tt_unlikely(c->ended != NULL)) tt_pending_call_ended(c);
    return status;
}

tutti_status tt_msg_advance(tutti_context *c, int *events)
{
    tt_assert(tt_enter_advance(c));
    c->events = 0;
    tutti_status status = advance(c);
    if (tt_unlikely(status != TUTTI_OK)) tt_context_fault(c, status);
    *events = c->events;
    tt_assert(tt_leave_advance(c));
    return tt_likely(c->status == TUTTI_OK) ? TUTTI_OK : tt_fail(c->status, "%s", c->why);
}

void tt_msg_error_returned(tutti_context *context)
{
    context->status = TUTTI_OK;
}
