/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Contexts, endpoints and messages: this file checks the arguments, and calls src/msg for the rest.
 */
#include "api/api.h"
#include "msg/msg.h"

/* ---- Contexts ---- */

tutti_status tutti_contexts(tutti_client *client, int n, tutti_context **contexts)
{
    TT_TRY_HANDLE(client);
    TT_LOCKED(client->lock, tutti_contexts(client, n, contexts));
    if (!contexts) return tt_fail(TUTTI_ERR_ARG, "contexts is NULL");
    if (n < 1) return tt_fail(TUTTI_ERR_ARG, "n is %d, not at least 1", n);
    if (n > TUTTI_CONTEXTS)
        return tt_fail(TUTTI_ERR_LIMIT, "a client has at most %d contexts, not %d more",
                       TUTTI_CONTEXTS, n);
    return tt_msg_add_contexts(client->msg, n, contexts);
}

tutti_context *tutti_context_at(tutti_client *client, int index)
{
    return tt_handle_lives(client) ? tt_msg_context(client->msg, index) : NULL;
}

tutti_status tutti_post(tutti_context *context, tutti_work_fn *work, void *arg)
{
    TT_TRY_HANDLE(context);
    if (!work) return tt_fail(TUTTI_ERR_ARG, "work is NULL");
    return tt_msg_post(context, work, arg);
}

/* ---- Endpoints ---- */

tutti_status tutti_endpoint_to(tutti_client *client, int rank, int context,
                               tutti_endpoint **endpoint)
{
    TT_TRY_HANDLE(client);
    TT_LOCKED(client->lock, tutti_endpoint_to(client, rank, context, endpoint));
    if (!endpoint) return tt_fail(TUTTI_ERR_ARG, "endpoint is NULL");
    if (rank < 0 || rank >= client->fabric.size)
        return tt_fail(TUTTI_ERR_ARG, "rank %d is not in the job of %d", rank, client->fabric.size);
    if (context < 0 || context >= TUTTI_CONTEXTS)
        return tt_fail(TUTTI_ERR_ARG, "context %d is not in 0..%d", context, TUTTI_CONTEXTS - 1);
    return tt_msg_endpoint(client->msg, rank, context, endpoint);
}

int tutti_endpoint_rank(const tutti_endpoint *endpoint)
{
    return tt_handle_lives(endpoint) ? tt_msg_rank(endpoint) : -1;
}

int tutti_endpoint_context(const tutti_endpoint *endpoint)
{
    return tt_handle_lives(endpoint) ? tt_msg_context_of(endpoint) : -1;
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
    TT_TRY_HANDLE(client);
    TT_LOCKED(client->lock, tutti_dispatch(client, id, fn, arg));
    if (!is_dispatch(id)) return bad_dispatch(id);
    return tt_msg_dispatch(client->msg, id, fn, arg);
}

tutti_status tutti_message_receive(tutti_context *context, tutti_pending *pending,
                                   const tutti_receive *receive)
{
    TT_TRY_HANDLE(context);
    TT_LOCKED(TT_CONTEXT_LOCK(context), tutti_message_receive(context, pending, receive));
    if (!pending || !receive) return tt_fail(TUTTI_ERR_ARG, "pending or receive is NULL");
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
    TT_TRY_HANDLE(context);
    TT_LOCKED(TT_CONTEXT_LOCK(context), tutti_message_send(context, send));
    if (tt_unlikely(!send)) return tt_fail(TUTTI_ERR_ARG, "send is NULL");
    TT_TRY_HANDLE(send->to);
    if (tt_unlikely(!is_dispatch(send->dispatch))) return bad_dispatch(send->dispatch);
    if (send->header_bytes) TT_TRY(check_header(send->header, send->header_bytes));
    return tt_msg_send(context, send);
}

tutti_status tutti_message_immediate(tutti_context *context, tutti_endpoint *to, int dispatch,
                                     const void *header, size_t header_bytes, const void *data,
                                     size_t bytes)
{
    TT_TRY_HANDLE(context);
    TT_LOCKED(TT_CONTEXT_LOCK(context),
              tutti_message_immediate(context, to, dispatch, header, header_bytes, data, bytes));
    TT_TRY_HANDLE(to);
    if (tt_unlikely(!is_dispatch(dispatch))) return bad_dispatch(dispatch);
    if (header_bytes) TT_TRY(check_header(header, header_bytes));
    if (tt_unlikely(bytes > TUTTI_IMMEDIATE_BYTES - header_bytes))
        return tt_fail(TUTTI_ERR_ARG, "an immediate message has at most %d bytes, not %zu",
                       TUTTI_IMMEDIATE_BYTES, header_bytes + bytes);
    if (tt_unlikely(bytes && !data)) return tt_fail(TUTTI_ERR_ARG, "data is NULL");
    return tt_msg_immediate(context, to, dispatch, header, header_bytes, data, bytes);
}

/* ---- One-sided accesses ---- */

tutti_status tutti_region_register(tutti_client *client, void *memory, size_t bytes,
                                   tutti_region **region)
{
    TT_TRY_HANDLE(client);
    TT_LOCKED(client->lock, tutti_region_register(client, memory, bytes, region));
    if (!memory || !region) return tt_fail(TUTTI_ERR_ARG, "memory or region is NULL");
    if (bytes == 0 || bytes > INT64_MAX || (uintptr_t)memory + bytes < bytes)
        return tt_fail(TUTTI_ERR_ARG,
                       "a region of %zu bytes: it must have at least 1 byte and not wrap around "
                       "the address space",
                       bytes);
    return tt_msg_region(client->msg, memory, bytes, region);
}

tutti_status tutti_region_free(tutti_region *region)
{
    if (!region) return TUTTI_OK;
    TT_TRY_HANDLE(region);
    return tt_msg_region_free(region);
}

tutti_status tutti_region_key(const tutti_region *region, tutti_key *key)
{
    TT_TRY_HANDLE(region);
    if (!key) return tt_fail(TUTTI_ERR_ARG, "key is NULL");
    return tt_msg_region_key(region, key);
}

static tutti_status check_access(const tutti_context *context, const tutti_endpoint *owner,
                                 const void *memory, const tutti_key *key, int64_t bytes)
{
    TT_TRY_HANDLE(context);
    TT_TRY_HANDLE(owner);
    if (!key) return tt_fail(TUTTI_ERR_ARG, "key is NULL");
    if (bytes > 0 && !memory)
        return tt_fail(TUTTI_ERR_ARG,
                       "the buffer of this rank is NULL (`to` of tutti_get, `from` of tutti_put)");
    return TUTTI_OK;
}

tutti_status tutti_get(tutti_context *context, tutti_endpoint *owner, void *to,
                       const tutti_key *key, int64_t offset, int64_t bytes, tutti_done_fn *done,
                       void *arg)
{
    TT_TRY(check_access(context, owner, to, key, bytes));
    TT_LOCKED(TT_CONTEXT_LOCK(context),
              tutti_get(context, owner, to, key, offset, bytes, done, arg));
    return tt_msg_get(context, owner, to, key, offset, bytes, done, arg);
}

tutti_status tutti_put(tutti_context *context, tutti_endpoint *owner, const void *from,
                       const tutti_key *key, int64_t offset, int64_t bytes, tutti_done_fn *done,
                       void *arg)
{
    TT_TRY(check_access(context, owner, from, key, bytes));
    TT_LOCKED(TT_CONTEXT_LOCK(context),
              tutti_put(context, owner, from, key, offset, bytes, done, arg));
    return tt_msg_put(context, owner, from, key, offset, bytes, done, arg);
}

tutti_status tutti_fence(tutti_context *context, tutti_endpoint *to, tutti_done_fn *done, void *arg)
{
    TT_TRY_HANDLE(context);
    TT_LOCKED(TT_CONTEXT_LOCK(context), tutti_fence(context, to, done, arg));
    if (to) TT_TRY_HANDLE(to);
    return tt_msg_fence(context, to, done, arg);
}
