/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports, the links from them to other ports, and the operations on a link.
 */
#include "fabric/ucx.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/signals.h"

/* ---- Operations ---- */

/* The operations on a link: packets, gets and puts.
 *
 * A put is in place at the peer as soon as a flush that began after the put has ended. A link has
 * one flush at a time, which covers all puts that were started before it, so many puts cost few
 * flushes. */

/* Records that an event for which an operation waits has happened: UCX has completed its request,
 * or a flush that covers it has ended. After the last of these events the operation is complete. */
static void op_event(struct tt_wire_op *op, ucs_status_t status)
{
    struct tt_link *link = op->link;
    if (status != UCS_OK) {
        op->status = TUTTI_ERR_PEER;
        tt_ucx_link_fails(link, status);
    }
    if (--op->awaits == 0) tt_ring_move(&link->port->completed, &op->ring);
}

/* Records for each operation of a list that one event for which it waits has happened (op_event):
 * the flush that covers the operation has ended, or will never end because the link has failed or
 * is closed. An operation whose request UCX has not completed yet moves to link->under_way, and
 * waits there for UCX. The other operations are complete. */
static void ops_event(struct tt_list *ring, ucs_status_t status)
{
    while (!tt_ring_empty(ring)) {
        struct tt_wire_op *op = tt_container_of(ring->next, struct tt_wire_op, ring);
        tt_ring_move(&op->link->under_way, &op->ring);
        op_event(op, status);
    }
}

int tt_ucx_ops_done(struct tt_port *port)
{
    int n = 0;
    for (; !tt_ring_empty(&port->completed); n++) {
        struct tt_wire_op *op = tt_container_of(port->completed.next, struct tt_wire_op, ring);
        tt_ring_take(&op->ring);
        op->done(op, op->status);
    }
    return n;
}

static void request_over(void *request, ucs_status_t status, void *arg)
{
    tt_ucx.ucp_request_free(request);
    op_event(arg, status);
}

/* ---- Starting ---- */

__attribute__((noinline, cold)) static void pause_randomly(struct tt_port *port)
{
    uint64_t most_ns = (uint64_t)port->wire->delay_us * 1000;
    struct timespec time = {.tv_nsec = (long)tt_random_below(&port->random, most_ns + 1)};
    nanosleep(&time, NULL);
}

/* Prepares an operation, and fills in *param, by which UCX completes it. The operation is in no
 * list until UCX has a request for it. */
static tutti_status begin(struct tt_link *link, struct tt_wire_op *op, ucp_request_param_t *param)
{
    struct tt_port *port = link->port;
    if (tt_unlikely(link->failed || link->closing))
        return tt_fail(TUTTI_ERR_PEER, "the connection to another process is lost");
    if (tt_unlikely(port->wire->delay_us > 0)) pause_randomly(port);
    op->link = link;
    op->awaits = 1;
    op->status = TUTTI_OK;
    param->op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param->cb.send = request_over;
    param->user_data = op;
    return TUTTI_OK;
}

/* Handles UCX's answer to a request: the operation is complete (OK), under way (AGAIN), or refused.
 * `doing` says in an error text what was being done. */
static tutti_status begun(struct tt_link *link, struct tt_wire_op *op, ucs_status_ptr_t request,
                          const char *doing)
{
    if (UCS_PTR_IS_PTR(request)) {
        tt_ring_add(&link->under_way, &op->ring);
        return TUTTI_AGAIN;
    }
    if (!request) return TUTTI_OK;
    return tt_ucx_fail(UCS_PTR_STATUS(request), doing);
}

/* ---- Packets ---- */

/* Bytes that UCX (1.13) puts before a packet on TCP: 5 for TCP's transport and 8 for UCP. */
enum { UCX_HEADS = 13 };

/* Returns the gap between a header of this many bytes and its data.
 *
 * TCP copies what is sent into pages, and the first byte of a packet mostly to the beginning of a
 * page. On some processors (AMD's Zen 4) the kernel's copy takes several times as long if the
 * destination's offset in its page is above the source's offset by 1 to 15 bytes
 * (bench/results/2026-11-22-amd-epyc-zen4.md). Without a gap the destination's offset would be the
 * number of bytes before the data (`before`), so data whose offset is a little smaller would be
 * copied slowly. With the gap the data have the same offset in a cache line in the copy as they
 * have here, so the two offsets never differ by 1 to 15 bytes. */
static size_t gap_before(const void *data, size_t head_bytes)
{
    size_t before = UCX_HEADS + sizeof(struct tt_packet_head) + head_bytes;
    return ((uintptr_t)data - before) % TT_LINE;
}

/* Writes a struct tt_packet_head before the head of a packet, and zeros into the gap of `gap` bytes
 * after the head (gap_before says what the gap is for). Returns the number of bytes before the
 * data. */
static size_t fill_head(struct tt_wire_packet *packet, size_t head_bytes, size_t gap)
{
    struct tt_link *link = packet->op.link;
    struct tt_packet_head before = {.pass = link->pass,
                                    .origin = link->origin,
                                    .number = link->number,
                                    .head_bytes = (uint16_t)head_bytes,
                                    .gap = (uint8_t)gap,
                                    .form = TT_PACKET_FORM};
    memcpy(packet->bytes, &before, sizeof before);
    memset(packet->bytes + sizeof before + head_bytes, 0, gap);
    return sizeof before + head_bytes + gap;
}

/* Sends a packet completely, Tutti's head and the data, in what UCX calls the header. Such a packet
 * takes the shorter path through UCX. */
static ucs_status_ptr_t send_short(struct tt_wire_packet *packet, const ucp_request_param_t *param,
                                   size_t head_bytes, const void *data, size_t data_bytes)
{
    size_t bytes = fill_head(packet, head_bytes, 0);
    if (data_bytes) memcpy(packet->bytes + bytes, data, data_bytes);
    return tt_ucx.ucp_am_send_nbx(packet->op.link->endpoint, 0, packet->bytes, bytes + data_bytes,
                                  NULL, 0, param);
}

/* Reads a byte of each page of data that UCX is to send without copying them. If this memory is not
 * readable, UCX believes that the connection is broken (1.13: sendmsg fails with EFAULT), and the
 * peer, which did nothing wrong, would count as failed. With this function, such memory ends the
 * process of the caller who passed it (SIGSEGV), as it does where the data are copied. The kernel
 * reads the pages next, so the reads here take hardly any time. */
static void touch(const void *data, size_t bytes)
{
    enum { PAGE = 4096 }; /* bytes of the smallest page */
    const volatile char *at = data, *end = at + bytes;
    for (; at < end; at += PAGE - (uintptr_t)at % PAGE) (void)*at;
}

/* Sends a packet, Tutti's head and the data, as what UCX calls data. What UCX calls the header
 * stays empty, since UCX may put it after the data. */
static ucs_status_ptr_t send_long(struct tt_wire_packet *packet, ucp_request_param_t *param,
                                  size_t head_bytes, const void *data, size_t data_bytes)
{
    touch(data, data_bytes);
    size_t bytes = fill_head(packet, head_bytes, gap_before(data, head_bytes));
    packet->part[0] = (struct tt_wire_part){.memory = packet->bytes, .bytes = bytes};
    packet->part[1] = (struct tt_wire_part){.memory = (void *)(uintptr_t)data, .bytes = data_bytes};
    param->op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param->datatype = ucp_dt_make_iov();
    return tt_ucx.ucp_am_send_nbx(packet->op.link->endpoint, 0, NULL, 0, packet->part, 2, param);
}

tutti_status tt_ucx_send(struct tt_link *link, struct tt_wire_packet *packet, size_t head_bytes,
                         const void *data, size_t data_bytes)
{
    ucp_request_param_t param;
    tt_assert(head_bytes <= TT_WIRE_HEAD);
    TT_TRY(begin(link, &packet->op, &param));
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER; /* the message layer does rendezvous itself */
    ucs_status_ptr_t request = head_bytes + data_bytes <= TT_WIRE_HEAD
                                   ? send_short(packet, &param, head_bytes, data, data_bytes)
                                   : send_long(packet, &param, head_bytes, data, data_bytes);
    tutti_status status = begun(link, &packet->op, request, "sending a packet");
    if (status == TUTTI_OK || status == TUTTI_AGAIN) link->number++;
    return status;
}

/* ---- One-sided operations ---- */

tutti_status tt_ucx_get(struct tt_link *link, void *to, uint64_t from, struct tt_wire_key *key,
                        size_t bytes, struct tt_wire_op *op)
{
    ucp_request_param_t param;
    TT_TRY(begin(link, op, &param));
    ucs_status_ptr_t request =
        bytes ? tt_ucx.ucp_get_nbx(link->endpoint, to, bytes, from, key->key, &param) : NULL;
    return begun(link, op, request, "reading registered memory");
}

static void flush_over(struct tt_link *link, ucs_status_t status)
{
    link->flushing = false;
    ops_event(&link->in_flush, status);
    if (!tt_ring_empty(&link->unflushed)) link->port->stirred = true;
}

static void flushed(void *request, ucs_status_t status, void *arg)
{
    tt_ucx.ucp_request_free(request);
    flush_over(arg, status);
}

static void ucx_flush(struct tt_link *link)
{
    ucp_request_param_t param = {.op_attr_mask =
                                     UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                 .cb.send = flushed,
                                 .user_data = link};
    while (!tt_ring_empty(&link->unflushed)) tt_ring_move(&link->in_flush, link->unflushed.next);
    link->flushing = true;
    ucs_status_ptr_t request = tt_ucx.ucp_ep_flush_nbx(link->endpoint, &param);
    if (!UCS_PTR_IS_PTR(request)) flush_over(link, UCS_PTR_STATUS(request));
}

tutti_status tt_ucx_put(struct tt_link *link, uint64_t to, const void *from,
                        struct tt_wire_key *key, size_t bytes, struct tt_wire_op *op)
{
    ucp_request_param_t param;
    touch(from, bytes);
    TT_TRY(begin(link, op, &param));
    ucs_status_ptr_t request =
        bytes ? tt_ucx.ucp_put_nbx(link->endpoint, from, bytes, to, key->key, &param) : NULL;
    if (bytes == 0 || UCS_PTR_IS_ERR(request))
        return begun(link, op, request, "writing registered memory");
    op->awaits = request ? 2 : 1;
    tt_ring_add(&link->unflushed, &op->ring);
    link->port->stirred = true;
    return TUTTI_AGAIN;
}

/* ---- Links ---- */

/* A link is an endpoint of UCX in the mode in which UCX reports that a peer is gone. A link ends in
 * three steps. First it fails, or the user closes it, or both in any order. Then UCX closes the
 * endpoint, which returns every buffer that was lent to it. Then the link is freed. Operations
 * complete when UCX has returned their buffers, not when the failure is noticed: somebody who still
 * reads a freed buffer would be worse than a late PEER. */

static struct tt_link *link_of(struct tt_list *ring)
{
    return tt_container_of(ring, struct tt_link, ring);
}

/* ---- Opening ---- */

void tt_ucx_link_fails(struct tt_link *link, ucs_status_t why)
{
    if (link->failed) return;
    link->failed = true;
    link->why = why;
    link->port->stirred = true;
    link->port->failed |= !tt_ucx_link_is_idle(link);
    if (tt_log_on(TT_LOG_fabric))
        tt_log("UCX has given up a link: %s", tt_ucx.ucs_status_string(why));
}

static void peer_is_gone(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    (void)endpoint;
    tt_ucx_link_fails(arg, status);
}

static tutti_status create_endpoint(struct tt_link *link, const void *address)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLER,
                              .address = address,
                              .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                              .err_handler = {.cb = peer_is_gone, .arg = link}};
    TT_TRY(tt_ucx_room("connecting to another process"));
    ucs_status_t status = tt_ucx.ucp_ep_create(link->port->worker, &params, &link->endpoint);
    if (status == UCS_OK) return TUTTI_OK;
    if (status == UCS_ERR_UNREACHABLE)
        return tt_fail(TUTTI_ERR_PEER, "UCX finds no network that both this process and the other "
                                       "can use: look at UCX_TLS and UCX_NET_DEVICES of both");
    return tt_ucx_fail(status, "connecting to another process");
}

tutti_status tt_ucx_link_open(struct tt_port *port, const void *address, size_t bytes,
                              tt_wire_lost_fn *lost, void *arg, struct tt_link **link)
{
    uint64_t pass;
    const void *inside = tt_ucx_address_read(address, bytes, &pass);
    if (!inside) return TUTTI_ERR_ARG;
    struct tt_link *opened = tt_calloc(1, sizeof *opened);
    if (!opened) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a link");
    opened->port = port;
    opened->lost = lost;
    opened->arg = arg;
    opened->pass = pass;
    opened->origin = tt_random_next(&port->random);
    tt_ring_init(&opened->under_way);
    tt_ring_init(&opened->unflushed);
    tt_ring_init(&opened->in_flush);
    tutti_status status = create_endpoint(opened, inside);
    if (status != TUTTI_OK) {
        tt_free(opened);
        return status;
    }
    tt_ring_add(&port->links, &opened->ring);
    *link = opened;
    return TUTTI_OK;
}

/* ---- Closing ---- */

/* Completes all operations that UCX has not returned. UCX does not access them any more, since it
 * has closed the endpoint. Closing the endpoint was also a flush, so puts that no other flush
 * covered get the result of the closing. */
static void give_up(struct tt_link *link)
{
    struct tt_list *rings[] = {&link->under_way, &link->in_flush};
    ops_event(&link->unflushed, link->end);
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
        for (struct tt_list *at = rings[i]->next; at != rings[i]; at = at->next)
            tt_container_of(at, struct tt_wire_op, ring)->awaits = 1;
    }
    ops_event(&link->in_flush, UCS_ERR_CANCELED);
    while (!tt_ring_empty(&link->under_way))
        op_event(tt_container_of(link->under_way.next, struct tt_wire_op, ring), UCS_ERR_CANCELED);
    link->flushing = false;
}

static void endpoint_closed(struct tt_link *link, ucs_status_t status)
{
    link->endpoint = NULL;
    link->close_request = NULL;
    link->end = link->failed ? UCS_ERR_CANCELED : status;
    link->port->stirred = true;
}

static void closed(void *request, ucs_status_t status, void *arg)
{
    tt_ucx.ucp_request_free(request);
    endpoint_closed(arg, status);
}

/* Asks UCX to close the endpoint. force: nothing more is sent, and operations under way are
 * cancelled. */
static void close_endpoint(struct tt_link *link, bool force)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS |
                                                 UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA,
                                 .flags = force ? UCP_EP_CLOSE_FLAG_FORCE : 0,
                                 .cb.send = closed,
                                 .user_data = link};
    link->closing = true;
    ucs_status_ptr_t request = tt_ucx.ucp_ep_close_nbx(link->endpoint, &param);
    if (UCS_PTR_IS_PTR(request))
        link->close_request = request;
    else
        endpoint_closed(link, UCS_PTR_STATUS(request));
}

/* Closes the endpoint without force, unless the link has failed. UCX does not notify a live peer of
 * an endpoint that was closed by force, and the peer's UCX (1.13) can even stop at an assertion
 * when another packet from that endpoint arrives. */
void tt_ucx_link_close(struct tt_link *link)
{
    link->dropped = link->notified = true;
    link->port->stirred = true;
    if (link->closing) return;
    close_endpoint(link, link->failed);
}

void tt_ucx_link_fail(struct tt_link *link)
{
    tt_ucx_link_fails(link, UCS_ERR_ENDPOINT_TIMEOUT);
}

bool tt_ucx_link_is_idle(const struct tt_link *link)
{
    return tt_ring_empty(&link->under_way) && tt_ring_empty(&link->unflushed) &&
           tt_ring_empty(&link->in_flush) && link->keys == 0;
}

/* ---- Links, in an advance of their port ---- */

static void notify(struct tt_link *link)
{
    link->notified = true;
    link->lost(link->arg, link->why == UCS_ERR_NO_MEMORY ? TUTTI_ERR_MEMORY : TUTTI_ERR_PEER);
}

static int settle_failure(struct tt_link *link)
{
    ops_event(&link->unflushed, link->why);
    if (!link->closing) close_endpoint(link, true);
    if (link->notified) return 0;
    notify(link);
    return 1;
}

static void settle_end(struct tt_link *link)
{
    give_up(link);
    if (!link->dropped) return;
    tt_ring_take(&link->ring);
    tt_free(link);
}

/* Reports the failure of a link if it has failed, begins a flush if puts need one, and at last
 * frees the link if it has ended. Returns the number of events. The user's function `lost`, which
 * this function calls, may close any link but frees none. */
static int settle(struct tt_link *link)
{
    int n = link->failed ? settle_failure(link) : 0;
    bool wants_flush = !tt_ring_empty(&link->unflushed) && !link->flushing && !link->closing;
    if (wants_flush) ucx_flush(link);
    if (link->closing && !link->endpoint) settle_end(link);
    return n;
}

int tt_ucx_links_settle(struct tt_port *port)
{
    int n = 0;
    port->stirred = false;
    for (struct tt_list *at = port->links.next, *next; at != &port->links; at = next) {
        next = at->next;
        n += settle(link_of(at));
    }
    return n;
}

void tt_ucx_links_abandon(struct tt_port *port)
{
    for (struct tt_list *at = port->links.next; at != &port->links; at = at->next) {
        struct tt_link *link = link_of(at);
        if (link->close_request) tt_ucx.ucp_request_free(link->close_request);
        link->close_request = NULL;
    }
}

void tt_ucx_links_drop(struct tt_port *port)
{
    while (!tt_ring_empty(&port->links)) {
        struct tt_link *link = link_of(port->links.next);
        tt_assert(link->dropped);
        if (link->endpoint) link->end = UCS_ERR_CANCELED;
        give_up(link);
        tt_ring_take(&link->ring);
        tt_free(link);
    }
}

/* ---- Keys ---- */

tutti_status tt_ucx_key_open(struct tt_link *link, const void *key, size_t bytes,
                             struct tt_wire_key **opened)
{
    if (!link->port->wire->reaches) return tt_ucx_no_reach();
    const void *inside = tt_ucx_unframe("the key of registered memory", key, bytes, 1);
    if (!inside) return TUTTI_ERR_ARG;
    if (link->failed || link->closing)
        return tt_fail(TUTTI_ERR_PEER, "the connection to another process is lost");
    struct tt_wire_key *unpacked = tt_calloc(1, sizeof *unpacked);
    if (!unpacked) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a key");
    ucs_status_t status = tt_ucx.ucp_ep_rkey_unpack(link->endpoint, inside, &unpacked->key);
    if (status != UCS_OK) {
        tt_free(unpacked);
        return tt_ucx_fail(status, "reading the key of registered memory");
    }
    unpacked->link = link;
    link->keys++;
    *opened = unpacked;
    return TUTTI_OK;
}

void tt_ucx_key_close(struct tt_wire_key *key)
{
    key->link->keys--;
    tt_ucx.ucp_rkey_destroy(key->key);
    tt_free(key);
}

/* ---- Ports ---- */

/* A port is a worker of UCX. Any thread may advance it, one thread at a time. UCX calls this mode
 * serialized, and guarantees for it all that it guarantees for a single thread. */

/* An advance of a port that has handled no event calls tt_ucx_watch, which reads the clock and
 * perhaps checks the sockets. Of the advances that have handled events, only one in BUSY calls it.
 */
enum { BUSY = 4096 };

static ucs_status_t packet_came(void *arg, const void *header, size_t header_length, void *data,
                                size_t length, const ucp_am_recv_param_t *param)
{
    struct tt_port *port = arg;
    /* A packet that is not contiguous, or has not arrived completely, is refused. */
    bool whole = !(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) && !(header_length && length);
    const void *bytes = header_length ? header : data;
    size_t n = header_length ? header_length : length;
    tutti_status status = tt_order_take(port->order, bytes, whole ? n : 0);
    if (tt_unlikely(status != TUTTI_OK)) tt_error_undo(); /* no call of the user has failed */
    if (tt_unlikely(status == TUTTI_ERR_MEMORY)) {
        /* A packet is lost, so the order cannot be kept any more: the links fail, so that nobody
         * waits for ever. */
        for (struct tt_list *at = port->links.next; at != &port->links; at = at->next)
            tt_ucx_link_fails(tt_container_of(at, struct tt_link, ring), UCS_ERR_NO_MEMORY);
    }
    return UCS_OK;
}

/* ---- Opening ---- */

static tutti_status listen_for_packets(struct tt_port *port)
{
    ucp_am_handler_param_t param = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = 0,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = packet_came,
        .arg = port};
    ucs_status_t status = tt_ucx.ucp_worker_set_am_recv_handler(port->worker, &param);
    return status == UCS_OK ? TUTTI_OK : tt_ucx_fail(status, "waiting for packets");
}

/* Checks that several threads may use the worker in turn, and that packets may have heads of
 * TT_UCX_HEAD bytes, since not every build or transport of UCX allows this. */
static tutti_status check_worker(struct tt_port *port)
{
    ucp_worker_attr_t attr = {.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE |
                                            UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER};
    ucs_status_t status = tt_ucx.ucp_worker_query(port->worker, &attr);
    if (status != UCS_OK) return tt_ucx_fail(status, "asking a worker what it can do");
    if (attr.thread_mode < UCS_THREAD_MODE_SERIALIZED)
        return tt_fail(TUTTI_ERR_UNSUPPORTED,
                       "this UCX lets only one thread use a worker: it was built without "
                       "--enable-mt");
    if (attr.max_am_header < TT_UCX_HEAD)
        return tt_fail(TUTTI_ERR_UNSUPPORTED,
                       "the transports that UCX found carry heads of %zu bytes, and %d are needed: "
                       "choose others by UCX_TLS",
                       attr.max_am_header, TT_UCX_HEAD);
    return TUTTI_OK;
}

static tutti_status find_descriptor(struct tt_port *port)
{
    ucs_status_t status = tt_ucx.ucp_worker_get_efd(port->worker, &port->descriptor);
    return status == UCS_OK ? TUTTI_OK : tt_ucx_fail(status, "asking for a worker's descriptor");
}

static tutti_status create_worker(struct tt_port *port)
{
    ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    TT_TRY(tt_ucx_room("creating a worker"));
    sigset_t before;
    pthread_mutex_lock(&tt_ucx_environment);
    tt_signals_block(&before); /* UCX may start a thread */
    ucs_status_t status = tt_ucx.ucp_worker_create(port->wire->context, &params, &port->worker);
    tt_signals_restore(&before);
    pthread_mutex_unlock(&tt_ucx_environment);
    if (status != UCS_OK) return tt_ucx_fail(status, "creating a worker");
    tutti_status checked = check_worker(port);
    if (checked == TUTTI_OK) checked = listen_for_packets(port);
    if (checked == TUTTI_OK) checked = find_descriptor(port);
    if (checked != TUTTI_OK) tt_ucx.ucp_worker_destroy(port->worker);
    return checked;
}

/* Draws random numbers from the system. 64 random bits identify a link, so two links hardly ever
 * get the same ones. The pass has its own 64 bits, so it cannot be guessed, and no other number
 * that is sent reveals it. */
static tutti_status draw(struct tt_port *port)
{
    uint64_t bits[2];
    if (getrandom(bits, sizeof bits, 0) != sizeof bits)
        return tt_fail_errno(TUTTI_ERR_SYSTEM, "no random number from the system");
    tt_random_seed(&port->random, bits[0]);
    port->pass = bits[1];
    return TUTTI_OK;
}

static tutti_status begin_order(struct tt_port *port, tt_wire_arrive_fn *arrive, void *arg)
{
    TT_TRY(draw(port));
    port->order = tt_order_create(port->pass, arrive, arg);
    return port->order ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no memory for a port");
}

tutti_status tt_ucx_port_open(struct tt_wire *wire, tt_wire_arrive_fn *arrive, void *arg,
                              struct tt_port **port)
{
    struct tt_port *opened = tt_calloc(1, sizeof *opened);
    if (!opened) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a port");
    opened->wire = wire;
    tt_ring_init(&opened->links);
    tt_ring_init(&opened->completed);
    tutti_status status = begin_order(opened, arrive, arg);
    if (status == TUTTI_OK) status = create_worker(opened);
    if (status == TUTTI_OK) {
        *port = opened;
        return TUTTI_OK;
    }
    tt_order_free(opened->order);
    tt_free(opened);
    return status;
}

/* ---- Closing ---- */

/* Returns OK if nothing waits to be sent, INPROGRESS if something does, or an error of UCX. The
 * function flushes the whole worker, because only such a flush also waits for connections that
 * peers are opening. A flush that began earlier may not cover connections that peers have opened
 * since. So only a flush that completes at once shows that nothing waits. */
static ucs_status_t flush_worker(struct tt_port *port)
{
    ucp_request_param_t param = {0};
    if (port->drain && tt_ucx.ucp_request_check_status(port->drain) == UCS_INPROGRESS)
        return UCS_INPROGRESS;
    if (port->drain) tt_ucx.ucp_request_free(port->drain);
    ucs_status_ptr_t flush = tt_ucx.ucp_worker_flush_nbx(port->worker, &param);
    port->drain = UCS_PTR_IS_PTR(flush) ? flush : NULL;
    return port->drain ? UCS_INPROGRESS : UCS_PTR_STATUS(flush);
}

bool tt_ucx_port_drain(struct tt_port *port)
{
    tt_ucx.ucp_worker_progress(port->worker);
    tt_ucx_ops_done(port);
    tt_ucx_links_settle(port);
    if (!tt_ring_empty(&port->links)) return false;
    port->drained = !port->failed && flush_worker(port) == UCS_OK;
    return !port->drain;
}

bool tt_ucx_port_has_sent(struct tt_port *port)
{
    return port->failed || flush_worker(port) != UCS_INPROGRESS;
}

/* LeakSanitizer cannot run while a thread of UCX is still there, so builds with LeakSanitizer
 * destroy every worker. */
#if defined(__SANITIZE_ADDRESS__)
#define KEEPS_WORKERS false
#elif defined(__has_feature)
#define KEEPS_WORKERS !__has_feature(address_sanitizer)
#else
#define KEEPS_WORKERS true
#endif

/* Destroys the worker of a port, if UCX can do so. UCX 1.13 stops at an assertion (ucp_request.c:
 * wireup; fixed by openucx/ucx pull request 8175) if a worker is destroyed while messages that set
 * up a connection still wait in it. Such messages wait after a peer was given up, or if the peer
 * has not answered them, for example because its thread is busy with another client. Such a worker
 * is not destroyed: the worker, its context (ucx_close) and its sockets end with the process. */
static void end_worker(struct tt_port *port)
{
    if (port->drain) tt_ucx.ucp_request_free(port->drain);
    if (port->drained || !KEEPS_WORKERS) {
        tt_ucx.ucp_worker_destroy(port->worker);
        return;
    }
    atomic_store(&port->wire->left, true);
    if (tt_log_on(TT_LOG_fabric))
        tt_log("a UCX worker was not destroyed, since it still had packets to send");
}

void tt_ucx_port_close(struct tt_port *port)
{
    if (!port->drained) (void)tt_ucx_port_drain(port);
    tt_ucx_links_abandon(port);
    end_worker(port);
    tt_ucx_links_drop(port);
    tt_ucx_ops_done(port);
    tt_order_free(port->order);
    tt_free(port->watch.stuck);
    tt_free(port);
}

/* ---- A port's address: the pass, and UCX's address ---- */

static tutti_status frame_address(const struct tt_port *port, const void *ucx, size_t n,
                                  void *address, size_t *bytes)
{
    char *both = tt_alloc(sizeof port->pass + n);
    if (!both) return tt_fail(TUTTI_ERR_MEMORY, "no memory for an address");
    memcpy(both, &port->pass, sizeof port->pass);
    memcpy(both + sizeof port->pass, ucx, n);
    tutti_status status =
        tt_ucx_frame("the address of a worker (fewer UCX_NET_DEVICES or UCX_TLS "
                     "make it smaller)",
                     both, sizeof port->pass + n, address, TT_WIRE_ADDRESS, bytes);
    tt_free(both);
    return status;
}

const void *tt_ucx_address_read(const void *address, size_t bytes, uint64_t *pass)
{
    const char *both = tt_ucx_unframe("the address of a worker", address, bytes, sizeof *pass + 1);
    if (!both) return NULL;
    memcpy(pass, both, sizeof *pass);
    return both + sizeof *pass;
}

static tutti_status take_address(struct tt_port *port, uint32_t flags, void *address, size_t *bytes)
{
    ucp_worker_attr_t attr = {.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS |
                                            UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS,
                              .address_flags = flags};
    ucs_status_t status = tt_ucx.ucp_worker_query(port->worker, &attr);
    if (status != UCS_OK) return tt_ucx_fail(status, "asking for a worker's address");
    tutti_status framed = frame_address(port, attr.address, attr.address_length, address, bytes);
    tt_ucx.ucp_worker_release_address(port->worker, attr.address);
    return framed;
}

tutti_status tt_ucx_port_address(struct tt_port *port, void *address, size_t *bytes)
{
    tutti_status status = take_address(port, 0, address, bytes);
    if (status != TUTTI_ERR_LIMIT) return status;
    return take_address(port, UCP_WORKER_ADDRESS_FLAG_NET_ONLY, address, bytes);
}

/* ---- Advancing ---- */

int tt_ucx_port_advance(struct tt_port *port)
{
    int n = tt_unlikely(port->stirred) ? tt_ucx_links_settle(port) : 0;
    tt_order_open(port->order, true);
    n += (int)tt_ucx.ucp_worker_progress(port->worker);
    n += tt_order_open(port->order, false);
    if (port->completed.next != &port->completed) n += tt_ucx_ops_done(port);
    if (n == 0 || ++port->advances % BUSY == 0) tt_ucx_watch(port);
    return n;
}

int tt_ucx_port_descriptor(struct tt_port *port)
{
    return port->descriptor;
}

tutti_status tt_ucx_port_arm(struct tt_port *port)
{
    if (port->stirred || !tt_ring_empty(&port->completed) || tt_order_ready(port->order))
        return TUTTI_AGAIN;
    ucs_status_t status = tt_ucx.ucp_worker_arm(port->worker);
    if (status == UCS_OK) return TUTTI_OK;
    return status == UCS_ERR_BUSY ? TUTTI_AGAIN : tt_ucx_fail(status, "arming a worker");
}
