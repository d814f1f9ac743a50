/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A port is a worker of UCX. Any thread may advance it, one at a time, which UCX calls serialized;
 * it promises nothing less for that than for a single thread.
 */
#include <string.h>
#include <sys/random.h>

#include "fabric/ucx.h"

/* While something happens all the time, the clock is looked at only so often. */
enum { BUSY = 4096 };

static ucs_status_t packet_came(void *arg, const void *header, size_t header_length, void *data,
                                size_t length, const ucp_am_recv_param_t *param)
{
    struct tt_port *port = arg;
    /* A packet that is not contiguous, or has not arrived as a whole, is not looked at. */
    bool whole = !(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) && !(header_length && length);
    const void *bytes = header_length ? header : data;
    size_t n = header_length ? header_length : length;
    if (tt_order_take(port->order, bytes, whole ? n : 0) == TUTTI_ERR_MEMORY) {
        /* A packet is lost, so no order is left to keep: the links fail, rather than that somebody
         * waits for ever. */
        for (struct tt_ring *at = port->links.next; at != &port->links; at = at->next)
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

/* UCX may not have granted what was asked for: checks the worker that it made. */
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
    pthread_mutex_lock(&tt_ucx_environment);
    ucs_status_t status = tt_ucx.ucp_worker_create(port->wire->context, &params, &port->worker);
    pthread_mutex_unlock(&tt_ucx_environment);
    if (status != UCS_OK) return tt_ucx_fail(status, "creating a worker");
    tutti_status checked = check_worker(port);
    if (checked == TUTTI_OK) checked = listen_for_packets(port);
    if (checked == TUTTI_OK) checked = find_descriptor(port);
    if (checked != TUTTI_OK) tt_ucx.ucp_worker_destroy(port->worker);
    return checked;
}

/* Links are told apart by random numbers: 64 bits, from the system, are not met twice; nor is the
 * pass guessed, which has its own, so that no number that is sent tells of it. */
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
    tt_ring_init(&opened->idle);
    tt_ring_init(&opened->completed);
    tt_ring_init(&opened->chunks);
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

/* A flush of the whole worker waits for connections too that others make, of which UCX tells
 * nothing else. What they send may come until the last advance: so only one that had nothing to
 * wait for shows that nothing waits. */
static bool is_drained(struct tt_port *port)
{
    ucp_request_param_t param = {0};
    if (port->drain && tt_ucx.ucp_request_check_status(port->drain) == UCS_INPROGRESS) return false;
    if (port->drain) tt_ucx.ucp_request_free(port->drain);
    ucs_status_ptr_t flush = tt_ucx.ucp_worker_flush_nbx(port->worker, &param);
    port->drain = UCS_PTR_IS_PTR(flush) ? flush : NULL;
    return flush == NULL;
}

bool tt_ucx_port_drain(struct tt_port *port)
{
    tt_ucx.ucp_worker_progress(port->worker);
    tt_ucx_ops_done(port);
    tt_ucx_links_settle(port);
    if (!tt_ring_empty(&port->links)) return false;
    port->drained = !port->failed && is_drained(port);
    return !port->drain;
}

/* LeakSanitizer stops where a thread of UCX is still there: builds with it destroy every worker. */
#if defined(__SANITIZE_ADDRESS__)
#define KEEPS_WORKERS false
#elif defined(__has_feature)
#define KEEPS_WORKERS !__has_feature(address_sanitizer)
#else
#define KEEPS_WORKERS true
#endif

/* UCX 1.13 stops at an assertion (ucp_request.c: wireup; gone in later ones, openucx/ucx pull
 * request 8175) when a worker is destroyed in which messages of a connection's set-up still wait,
 * as they do after a peer was given up, or never took them. So such a worker is left as it is: it,
 * the context it belongs to (tt_ucx_close) and its sockets go with the process. */
static void end_worker(struct tt_port *port)
{
    if (port->drain) tt_ucx.ucp_request_free(port->drain);
    if (port->drained || !KEEPS_WORKERS) {
        tt_ucx.ucp_worker_destroy(port->worker);
        return;
    }
    atomic_store(&port->wire->left, true);
    if (tt_log_on(TT_LOG_fabric)) tt_log("a worker of UCX is left: not all that it had was sent");
}

void tt_ucx_port_close(struct tt_port *port)
{
    if (!port->drained) (void)tt_ucx_port_drain(port);
    tt_ucx_links_abandon(port);
    end_worker(port);
    tt_ucx_links_drop(port);
    tt_ucx_ops_done(port);
    tt_ucx_ops_free(port);
    tt_order_free(port->order);
    tt_free(port->watch.stuck);
    tt_free(port);
}

/* ---- Address: the pass, and UCX's ---- */

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
    if (!tt_ring_empty(&port->completed)) n += tt_ucx_ops_done(port);
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
