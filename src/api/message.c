/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Contexts, endpoints and messages: arguments are checked here, the rest is msg's.
 */
#include "api/api.h"
#include "msg/msg.h"

/* ---- Contexts ---- */

tutti_status tutti_contexts(tutti_client *client, int n, tutti_context **contexts)
{
    if (!client || !contexts)
        return tt_fail(TUTTI_ERR_ARG, "%s is NULL", client ? "contexts" : "client");
    if (n < 1) return tt_fail(TUTTI_ERR_ARG, "n is %d, not at least 1", n);
    if (n > TUTTI_CONTEXTS)
        return tt_fail(TUTTI_ERR_LIMIT, "a client has at most %d contexts, not %d more",
                       TUTTI_CONTEXTS, n);
    return tt_msg_add_contexts(client->msg, n, contexts);
}

tutti_context *tutti_context_at(tutti_client *client, int index)
{
    return client ? tt_msg_context(client->msg, index) : NULL;
}

tutti_status tutti_post(tutti_context *context, tutti_work_fn *work, void *arg)
{
    if (!context || !work) return tt_fail(TUTTI_ERR_ARG, "context or work is NULL");
    return tt_msg_post(context, work, arg);
}

/* ---- Endpoints ---- */

tutti_status tutti_endpoint_to(tutti_client *client, int rank, int context,
                               tutti_endpoint **endpoint)
{
    if (!client || !endpoint) return tt_fail(TUTTI_ERR_ARG, "client or endpoint is NULL");
    if (rank < 0 || rank >= client->fabric.size)
        return tt_fail(TUTTI_ERR_ARG, "rank %d is not in the job of %d", rank, client->fabric.size);
    if (context < 0 || context >= TUTTI_CONTEXTS)
        return tt_fail(TUTTI_ERR_ARG, "context %d is not in 0..%d", context, TUTTI_CONTEXTS - 1);
    return tt_msg_endpoint(client->msg, rank, context, endpoint);
}

int tutti_endpoint_rank(const tutti_endpoint *endpoint)
{
    return endpoint ? tt_msg_rank(endpoint) : -1;
}

int tutti_endpoint_context(const tutti_endpoint *endpoint)
{
    return endpoint ? tt_msg_context_of(endpoint) : -1;
}

/* ---- Messages ---- */

static tutti_status bad_dispatch(int id)
{
    return tt_fail(TUTTI_ERR_ARG, "dispatch %d is not in 0..%d", id, TUTTI_DISPATCHES - 1);
}

static bool is_dispatch(int id)
{
    return (unsigned)id < TUTTI_DISPATCHES;
}

tutti_status tutti_dispatch(tutti_client *client, int id, tutti_message_fn *fn, void *arg)
{
    if (!client) return tt_fail(TUTTI_ERR_ARG, "client is NULL");
    if (!is_dispatch(id)) return bad_dispatch(id);
    return tt_msg_dispatch(client->msg, id, fn, arg);
}

tutti_status tutti_message_receive(tutti_context *context, tutti_pending *pending,
                                   const tutti_receive *receive)
{
    if (!context || !pending || !receive)
        return tt_fail(TUTTI_ERR_ARG, "context, pending or receive is NULL");
    return tt_msg_receive(context, pending, receive);
}

static tutti_status check_header(const void *header, size_t bytes)
{
    if (bytes > TUTTI_HEADER_BYTES)
        return tt_fail(TUTTI_ERR_ARG, "a header has at most %d bytes, not %zu", TUTTI_HEADER_BYTES,
                       bytes);
    return bytes == 0 || header ? TUTTI_OK : tt_fail(TUTTI_ERR_ARG, "header is NULL");
}

tutti_status tutti_message_send(tutti_context *context, const tutti_send *send)
{
    if (tt_unlikely(!context || !send || !send->to))
        return tt_fail(TUTTI_ERR_ARG, "%s is NULL",
                       !context ? "context"
                       : !send  ? "send"
                                : "send->to");
    if (tt_unlikely(!is_dispatch(send->dispatch))) return bad_dispatch(send->dispatch);
    if (send->header_bytes) TT_TRY(check_header(send->header, send->header_bytes));
    return tt_msg_send(context, send);
}

tutti_status tutti_message_immediate(tutti_context *context, tutti_endpoint *to, int dispatch,
                                     const void *header, size_t header_bytes, const void *data,
                                     size_t bytes)
{
    if (tt_unlikely(!context || !to))
        return tt_fail(TUTTI_ERR_ARG, "%s is NULL", context ? "to" : "context");
    if (tt_unlikely(!is_dispatch(dispatch))) return bad_dispatch(dispatch);
    if (header_bytes) TT_TRY(check_header(header, header_bytes));
    if (tt_unlikely(bytes > TUTTI_IMMEDIATE_BYTES - header_bytes))
        return tt_fail(TUTTI_ERR_ARG, "an immediate message has at most %d bytes, not %zu",
                       TUTTI_IMMEDIATE_BYTES, header_bytes + bytes);
    if (tt_unlikely(bytes && !data)) return tt_fail(TUTTI_ERR_ARG, "data is NULL");
    return tt_msg_immediate(context, to, dispatch, header, header_bytes, data, bytes);
}

/* ---- One-sided ---- */

tutti_status tutti_region_register(tutti_client *client, void *memory, size_t bytes,
                                   tutti_region **region)
{
    if (!client || !memory || !region)
        return tt_fail(TUTTI_ERR_ARG, "client, memory or region is NULL");
    if (bytes == 0 || bytes > INT64_MAX || (uintptr_t)memory + bytes < bytes)
        return tt_fail(TUTTI_ERR_ARG, "a region of %zu bytes cannot be", bytes);
    return tt_msg_region(client->msg, memory, bytes, region);
}

tutti_status tutti_region_free(tutti_region *region)
{
    return region ? tt_msg_region_free(region) : TUTTI_OK;
}

tutti_status tutti_region_key(const tutti_region *region, tutti_key *key)
{
    if (!region || !key) return tt_fail(TUTTI_ERR_ARG, "%s is NULL", region ? "key" : "region");
    return tt_msg_region_key(region, key);
}

static tutti_status check_transfer(const tutti_context *context, const tutti_endpoint *owner,
                                   const void *memory, const tutti_key *key, int64_t bytes)
{
    if (!context || !owner || !key) return tt_fail(TUTTI_ERR_ARG, "context, owner or key is NULL");
    if (bytes > 0 && !memory) return tt_fail(TUTTI_ERR_ARG, "the memory here is NULL");
    return TUTTI_OK;
}

tutti_status tutti_get(tutti_context *context, tutti_endpoint *owner, void *to,
                       const tutti_key *key, int64_t offset, int64_t bytes, tutti_done_fn *done,
                       void *arg)
{
    TT_TRY(check_transfer(context, owner, to, key, bytes));
    return tt_msg_get(context, owner, to, key, offset, bytes, done, arg);
}

tutti_status tutti_put(tutti_context *context, tutti_endpoint *owner, const void *from,
                       const tutti_key *key, int64_t offset, int64_t bytes, tutti_done_fn *done,
                       void *arg)
{
    TT_TRY(check_transfer(context, owner, from, key, bytes));
    return tt_msg_put(context, owner, from, key, offset, bytes, done, arg);
}

tutti_status tutti_fence(tutti_context *context, tutti_endpoint *to, tutti_done_fn *done, void *arg)
{
    if (!context) return tt_fail(TUTTI_ERR_ARG, "context is NULL");
    return tt_msg_fence(context, to, done, arg);
}
