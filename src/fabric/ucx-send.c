/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes over a link: packets, gets and puts.
 *
 * A put is in place there once a flush that began after it is over. One flush is under way on a
 * link at a time; it serves all the puts that were begun before it, so that many puts cost few
 * flushes.
 */
#include <string.h>
#include <time.h>

#include "fabric/ucx.h"

enum { CHUNK = 64 }; /* operations that are allocated together */

/* ---- Operations ---- */

struct chunk {
    struct tt_ring ring;
    struct tt_ucx_op ops[CHUNK];
};

static bool allocate(struct tt_port *port)
{
    struct chunk *chunk = tt_alloc(sizeof *chunk);
    if (!chunk) return false;
    tt_ring_add(&port->chunks, &chunk->ring);
    for (int i = 0; i < CHUNK; i++) tt_ring_add(&port->idle, &chunk->ops[i].ring);
    return true;
}

void tt_ucx_ops_free(struct tt_port *port)
{
    while (!tt_ring_empty(&port->chunks)) {
        struct tt_ring *ring = port->chunks.next;
        tt_ring_take(ring);
        tt_free(tt_container_of(ring, struct chunk, ring));
    }
}

/* In no ring until it is begun. The one last used is taken first: its lines are in the cache. */
static struct tt_ucx_op *take_op(struct tt_link *link, tt_wire_done_fn *done, void *arg)
{
    struct tt_port *port = link->port;
    if (tt_unlikely(tt_ring_empty(&port->idle)) && !allocate(port)) return NULL;
    struct tt_ucx_op *op = tt_container_of(port->idle.prev, struct tt_ucx_op, ring);
    tt_ring_take(&op->ring);
    op->link = link;
    op->done = done;
    op->arg = arg;
    op->awaits = 1;
    op->status = TUTTI_OK;
    return op;
}

static void put_back(struct tt_port *port, struct tt_ucx_op *op)
{
    tt_ring_add(&port->idle, &op->ring);
}

void tt_ucx_op_event(struct tt_ucx_op *op, ucs_status_t status)
{
    struct tt_link *link = op->link;
    if (status != UCS_OK) {
        op->status = TUTTI_ERR_PEER;
        tt_ucx_link_fails(link, status);
    }
    if (--op->awaits == 0) tt_ring_move(&link->port->completed, &op->ring);
}

/* Operations that still wait for their request belong to UCX, and not to a flush any more. */
void tt_ucx_ops_event(struct tt_ring *ring, ucs_status_t status)
{
    while (!tt_ring_empty(ring)) {
        struct tt_ucx_op *op = tt_container_of(ring->next, struct tt_ucx_op, ring);
        tt_ring_move(&op->link->under_way, &op->ring);
        tt_ucx_op_event(op, status);
    }
}

int tt_ucx_ops_done(struct tt_port *port)
{
    int n = 0;
    for (; !tt_ring_empty(&port->completed); n++) {
        struct tt_ucx_op *op = tt_container_of(port->completed.next, struct tt_ucx_op, ring);
        struct tt_ucx_op over = {.done = op->done, .arg = op->arg, .status = op->status};
        tt_ring_take(&op->ring);
        put_back(port, op);
        if (over.status == TUTTI_ERR_PEER)
            (void)tt_fail(TUTTI_ERR_PEER, "the connection to another process is lost");
        over.done(over.arg, over.status);
    }
    return n;
}

static void request_over(void *request, ucs_status_t status, void *arg)
{
    tt_ucx.ucp_request_free(request);
    tt_ucx_op_event(arg, status);
}

static void request_param(ucp_request_param_t *param, struct tt_ucx_op *op)
{
    param->op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param->cb.send = request_over;
    param->user_data = op;
}

/* ---- Beginning ---- */

__attribute__((noinline, cold)) static void pause_randomly(struct tt_port *port)
{
    uint64_t most_ns = (uint64_t)port->wire->delay_us * 1000;
    struct timespec time = {.tv_nsec = (long)tt_random_below(&port->random, most_ns + 1)};
    nanosleep(&time, NULL);
}

static tutti_status begin(struct tt_link *link, tt_wire_done_fn *done, void *arg,
                          struct tt_ucx_op **op)
{
    if (tt_unlikely(link->failed || link->closing))
        return tt_fail(TUTTI_ERR_PEER, "the connection to another process is lost");
    if (tt_unlikely(link->port->wire->delay_us > 0)) pause_randomly(link->port);
    *op = take_op(link, done, arg);
    return *op ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no memory for what is under way");
}

/* Handles UCX's answer to a request: it is complete, under way, or refused. */
static tutti_status begun(struct tt_link *link, struct tt_ucx_op *op, ucs_status_ptr_t request,
                          const char *doing)
{
    if (UCS_PTR_IS_PTR(request)) {
        tt_ring_add(&link->under_way, &op->ring);
        return TUTTI_AGAIN;
    }
    put_back(link->port, op);
    if (!request) return TUTTI_OK;
    return tt_ucx_fail(UCS_PTR_STATUS(request), doing);
}

/* ---- Packets ---- */

/* UCX's own bytes in front of ours, on TCP (1.13): 5 of its TCP's, 8 of UCP's. */
enum { UCX_HEADS = 13 };

/* Returns the gap between a header of so many bytes and its data.
 *
 * TCP copies what is sent into pages, the first byte of a packet mostly to a page's beginning, and
 * on some processors (AMD's Zen 4) a copy to less than 16 bytes behind its source, in their pages,
 * takes four times as long (docs/figures.md). Data that begin a page, as large arrays do, would be
 * copied so behind UCX's 13 bytes. With the gap they come as far into a cache line as they are
 * here. */
static size_t gap_before(const void *data, size_t head_bytes)
{
    size_t before = UCX_HEADS + sizeof(struct tt_packet_head) + head_bytes;
    return ((uintptr_t)data - before) % TT_LINE;
}

static size_t fill_head(struct tt_ucx_op *op, const void *head, size_t head_bytes, size_t gap)
{
    struct tt_link *link = op->link;
    struct tt_packet_head packet = {.pass = link->pass,
                                    .origin = link->origin,
                                    .number = link->number,
                                    .head_bytes = (uint16_t)head_bytes,
                                    .gap = (uint8_t)gap,
                                    .form = TT_PACKET_FORM};
    memcpy(op->head, &packet, sizeof packet);
    if (head_bytes) memcpy(op->head + sizeof packet, head, head_bytes);
    memset(op->head + sizeof packet + head_bytes, 0, gap);
    return sizeof packet + head_bytes + gap;
}

static void packet_param(ucp_request_param_t *param, struct tt_ucx_op *op)
{
    request_param(param, op);
    param->op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    param->flags = UCP_AM_SEND_FLAG_EAGER; /* whoever wants rendezvous does it above us */
}

/* All in what UCX calls the header: the way through it is shorter. */
static ucs_status_ptr_t send_short(struct tt_ucx_op *op, const void *head, size_t head_bytes,
                                   const void *data, size_t data_bytes)
{
    ucp_request_param_t param;
    size_t bytes = fill_head(op, head, head_bytes, 0);
    if (data_bytes) memcpy(op->head + bytes, data, data_bytes);
    packet_param(&param, op);
    return tt_ucx.ucp_am_send_nbx(op->link->endpoint, 0, op->head, bytes + data_bytes, NULL, 0,
                                  &param);
}

/* Nothing in the header, which UCX may put behind the data. */
static ucs_status_ptr_t send_long(struct tt_ucx_op *op, const void *head, size_t head_bytes,
                                  const void *data, size_t data_bytes)
{
    ucp_request_param_t param;
    size_t bytes = fill_head(op, head, head_bytes, gap_before(data, head_bytes));
    op->part[0] = (ucp_dt_iov_t){.buffer = op->head, .length = bytes};
    op->part[1] = (ucp_dt_iov_t){.buffer = (void *)(uintptr_t)data, .length = data_bytes};
    packet_param(&param, op);
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype = ucp_dt_make_iov();
    return tt_ucx.ucp_am_send_nbx(op->link->endpoint, 0, NULL, 0, op->part, 2, &param);
}

tutti_status tt_ucx_send(struct tt_link *link, const void *head, size_t head_bytes,
                         const void *data, size_t data_bytes, tt_wire_done_fn *done, void *arg)
{
    struct tt_ucx_op *op;
    tt_assert(head_bytes <= TT_WIRE_HEAD);
    TT_TRY(begin(link, done, arg, &op));
    ucs_status_ptr_t request = head_bytes + data_bytes <= TT_WIRE_HEAD
                                   ? send_short(op, head, head_bytes, data, data_bytes)
                                   : send_long(op, head, head_bytes, data, data_bytes);
    tutti_status status = begun(link, op, request, "sending a packet");
    if (status == TUTTI_OK || status == TUTTI_AGAIN) link->number++;
    return status;
}

/* ---- One-sided ---- */

tutti_status tt_ucx_get(struct tt_link *link, void *to, uint64_t from, struct tt_wire_key *key,
                        size_t bytes, tt_wire_done_fn *done, void *arg)
{
    struct tt_ucx_op *op;
    ucp_request_param_t param;
    TT_TRY(begin(link, done, arg, &op));
    request_param(&param, op);
    ucs_status_ptr_t request =
        bytes ? tt_ucx.ucp_get_nbx(link->endpoint, to, bytes, from, key->key, &param) : NULL;
    return begun(link, op, request, "reading registered memory");
}

static void flush_over(struct tt_link *link, ucs_status_t status)
{
    link->flushing = false;
    tt_ucx_ops_event(&link->in_flush, status);
    if (!tt_ring_empty(&link->unflushed)) link->port->stirred = true;
}

static void flushed(void *request, ucs_status_t status, void *arg)
{
    tt_ucx.ucp_request_free(request);
    flush_over(arg, status);
}

void tt_ucx_flush(struct tt_link *link)
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
                        struct tt_wire_key *key, size_t bytes, tt_wire_done_fn *done, void *arg)
{
    struct tt_ucx_op *op;
    ucp_request_param_t param;
    TT_TRY(begin(link, done, arg, &op));
    request_param(&param, op);
    ucs_status_ptr_t request =
        bytes ? tt_ucx.ucp_put_nbx(link->endpoint, from, bytes, to, key->key, &param) : NULL;
    if (bytes == 0 || UCS_PTR_IS_ERR(request))
        return begun(link, op, request, "writing registered memory");
    op->awaits = request ? 2 : 1;
    tt_ring_add(&link->unflushed, &op->ring);
    link->port->stirred = true;
    return TUTTI_AGAIN;
}
