/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A link is an endpoint of UCX, in the mode in which UCX tells of peers that are gone. Its end
 * takes three steps, in any of these orders: it fails, or the user closes it, or both; UCX closes
 * the endpoint, which gives back every buffer that was lent to it; then the link is freed.
 * Operations are completed when UCX has let go of their buffers, not when the failure is noticed: a
 * late reader of a freed buffer would be worse than a late PEER.
 */
#include <string.h>

#include "fabric/ucx.h"

static struct tt_link *link_of(struct tt_ring *ring)
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

/* All that UCX has not given back by now it never will, nor look at it again. The closing of the
 * endpoint was a flush too, so that puts which no other served share its end. */
static void give_up(struct tt_link *link)
{
    struct tt_ring *rings[] = {&link->under_way, &link->in_flush};
    tt_ucx_ops_event(&link->unflushed, link->end);
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
        for (struct tt_ring *at = rings[i]->next; at != rings[i]; at = at->next)
            tt_container_of(at, struct tt_ucx_op, ring)->awaits = 1;
    }
    tt_ucx_ops_event(&link->in_flush, UCS_ERR_CANCELED);
    while (!tt_ring_empty(&link->under_way))
        tt_ucx_op_event(tt_container_of(link->under_way.next, struct tt_ucx_op, ring),
                        UCS_ERR_CANCELED);
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

/* With force nothing more is sent, and what is under way comes back as cancelled. */
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

/* Without force, unless the link failed: UCX does not tell a peer that lives of an endpoint closed
 * by force, and that peer's UCX (1.13) can even stop at an assertion when it hears from it
 * again. */
void tt_ucx_link_close(struct tt_link *link)
{
    link->dropped = link->told = true;
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

/* ---- What advance does about them ---- */

static void tell(struct tt_link *link)
{
    link->told = true;
    tutti_status status = link->why == UCS_ERR_NO_MEMORY ? TUTTI_ERR_MEMORY : TUTTI_ERR_PEER;
    (void)tt_fail(status, "the connection to another process is lost (UCX says: %s)",
                  tt_ucx.ucs_status_string(link->why));
    link->lost(link->arg, status);
}

static int settle_failure(struct tt_link *link)
{
    tt_ucx_ops_event(&link->unflushed, link->why);
    if (!link->closing) close_endpoint(link, true);
    if (link->told) return 0;
    tell(link);
    return 1;
}

static void settle_end(struct tt_link *link)
{
    give_up(link);
    if (!link->dropped) return;
    tt_ring_take(&link->ring);
    tt_free(link);
}

/* `lost` may close any link, but frees none: only this frees, and of `link` itself as the last
 * thing. */
static int settle(struct tt_link *link)
{
    int n = link->failed ? settle_failure(link) : 0;
    bool wants_flush = !tt_ring_empty(&link->unflushed) && !link->flushing && !link->closing;
    if (wants_flush) tt_ucx_flush(link);
    if (link->closing && !link->endpoint) settle_end(link);
    return n;
}

int tt_ucx_links_settle(struct tt_port *port)
{
    int n = 0;
    port->stirred = false;
    for (struct tt_ring *at = port->links.next, *next; at != &port->links; at = next) {
        next = at->next;
        n += settle(link_of(at));
    }
    return n;
}

void tt_ucx_links_abandon(struct tt_port *port)
{
    for (struct tt_ring *at = port->links.next; at != &port->links; at = at->next) {
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
