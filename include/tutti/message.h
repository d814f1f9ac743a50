/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti: messages. The model is that of a parallel active messaging interface:
 *
 *   client     one independent user of the library in a process (tutti_init makes one)
 *   context    a unit of progress of a client: its own queues and network resources, advanced by
 *              one thread at a time, so that threads with different contexts never contend
 *   endpoint   (client, rank of the job, context): where messages go
 *
 *     rank 0                                       rank 1
 *     tutti_message_send(context, &send)  ----->   whoever advances the target's context calls the
 *                                                  handler registered for send.dispatch, which
 *                                                  says where
 *     send.sent(...): the buffer is free           the data go
 *     send.delivered(...): taken at the target     receive.done(...): they are there
 *
 * How a message travels depends on its length: in one packet (immediate, eager), in several, or by
 * rendezvous: then the target learns of it first, and its contexts pull the data, each a portion,
 * in parallel where they can reach it (where the origin has to send it, the handler's context does
 * it alone). On one machine the origin, when it is advanced, may write parts of it to where it
 * goes, about a mebibyte at a time.
 *
 * Messages from one context to one endpoint reach their handlers in the order of sending. A message
 * is never lost: where there is no room it waits at its origin, which does not leave before.
 * Nothing arrives at a context that nobody advances.
 *
 * Leaving: tutti_finalize advances all contexts of the client until every message and put that was
 * accepted has been taken by its target's context (a short one: lies where that one finds it; a
 * long one: is received there), so it may wait for a rank that goes on and does not advance that
 * context. It does not wait for ranks that are gone or in tutti_finalize too. No handler is called
 * and no posted work done in it; completion functions may be, and are not any more for what is
 * still under way when it returns. What comes to a rank in tutti_finalize, and what it has not
 * taken before, is dropped: the sender's completion functions get PEER.
 *
 * In all declarations: "local" concerns this process alone; none of these functions blocks but
 * where it says so; a context given to a function is in use by the calling thread for the length of
 * the call, so it may be given to one thread at a time (tutti_post alone takes it from any thread
 * at any time).
 *
 * Handlers, completion functions and posted work are called while their context is advanced: in
 * tutti_advance and what waits by it, for context 0 in any call that waits for a collective or
 * tests one, completion functions also in the call that starts what completes at once, and in
 * tutti_finalize. In them, of the same client:
 *   may be called       tutti_message_send, _immediate, _receive, tutti_get, tutti_put,
 *                       tutti_fence, in the context that they were given; tutti_post to any;
 *                       tutti_endpoint_to, tutti_region_*, tutti_contexts, as far as their rules on
 *                       threads allow; whatever only tells something
 *   may not be called   whatever advances or waits: tutti_advance and its kin, of any context;
 *                       collectives, blocking or started, tutti_test and tutti_wait, and calls that
 *                       make, free, agree on or shrink teams; tutti_helper_stop; tutti_dispatch;
 *                       tutti_init; tutti_finalize
 * Builds with assertions end the process at the first advance or wait inside another one of the
 * client, and say so; elsewhere what happens is undefined.
 */
#ifndef TUTTI_MESSAGE_H
#define TUTTI_MESSAGE_H

#include <tutti/tutti.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TUTTI_CONTEXTS = 64,         /* of a client, at most */
    TUTTI_DISPATCHES = 256,      /* of a client: ids are 0 .. 255 */
    TUTTI_HEADER_BYTES = 128,    /* of a message's header, at most */
    TUTTI_IMMEDIATE_BYTES = 512, /* header and payload of an immediate message, at most */
    TUTTI_KEY_BYTES = 512        /* of a tutti_key */
};

/* ---- Contexts ------------------------------------------------------------------------------- */

/* Makes n contexts of the client together, into contexts[0..n-1]. A client starts with one (index
 * 0), used by collectives; these are numbered after those that exist. They are freed with the
 * client. Errors: ARG, LIMIT (TUTTI_CONTEXTS per client), MEMORY. Local; not while another thread
 * creates. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_contexts(tutti_client *client, int n,
                                                       tutti_context **contexts);

/* Context `index` of the client; NULL if there is none. Local, any thread. */
TUTTI_API tutti_context *tutti_context_at(tutti_client *client, int index);

/* Moves on whatever the context has under way, without blocking: messages in and out, posted work,
 * and (context 0) what was started on the client's teams. *events, if not NULL, gets the number of
 * things that happened. Errors: that which broke a team, once a team and only if no call on that
 * team has told it (calls on it go on telling it); of messages the first that could not be handled
 * since the last call and that no completion function was there to be told of (a dispatch that
 * nobody registered: ARG). One thread per context at a time. */
TUTTI_API tutti_status tutti_advance(tutti_context *context, int *events);

/* The same for contexts[0..n-1] of one client, in turn: all of them, whatever becomes of one.
 * Errors: the first (what another has to tell it tells the next time); ARG. */
TUTTI_API tutti_status tutti_advance_all(tutti_context *const *contexts, int n, int *events);

/* Advances the context as tutti_advance does, and blocks until that found something to do, until
 * timeout_ms have passed (negative: never; then AGAIN), or until some rank died or left. A team
 * that was broken and told before does not end it. Spins, yields and sleeps as collectives do; what
 * is posted by another thread wakes it too. */
TUTTI_API tutti_status tutti_advance_wait(tutti_context *context, int timeout_ms, int *events);

/* Hands `work` to a context from any thread: it is called with (context, arg) by whoever advances
 * the context next, in the order of posting. Lock-free but for the memory it takes. Errors: ARG,
 * MEMORY. */
typedef void tutti_work_fn(tutti_context *context, void *arg);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_post(tutti_context *context, tutti_work_fn *work,
                                                   void *arg);

/* Has a thread of the library advance the context from now on, asleep while nothing comes: a
 * message or posted work wakes it. Handlers, completion functions and posted work of the context
 * are called in that thread, in which all signals are blocked. Nobody else may use the context
 * until tutti_helper_stop but by tutti_post. Not for context 0 (ARG). Errors: ARG (it has one
 * already), LIMIT (no more threads), MEMORY. Local. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_helper_start(tutti_context *context);
/* Blocks until that thread has ended, after what it is calling; what is posted and not done stays
 * posted. Returns the last error that tutti_advance gave it, or ARG (there is no helper; or it is
 * called in it). tutti_finalize does it too. Local. */
TUTTI_API tutti_status tutti_helper_stop(tutti_context *context);

/* ---- Endpoints ------------------------------------------------------------------------------ */

/* The address (rank, context index) as seen from this client; belongs to the client. The target's
 * context need not exist yet: what is sent to it waits for it, on this side. Nothing is connected
 * before the first message. Errors: ARG (rank outside the job, index outside 0..63), MEMORY. Local,
 * one thread per client at a time. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_endpoint_to(tutti_client *client, int rank,
                                                          int context, tutti_endpoint **endpoint);
/* Its parts. Local, any thread. */
TUTTI_API int tutti_endpoint_rank(const tutti_endpoint *endpoint);
TUTTI_API int tutti_endpoint_context(const tutti_endpoint *endpoint);

/* ---- Messages ------------------------------------------------------------------------------- */

/* Tells that something is complete; called once, while the context it was started on is
 * advanced. */
typedef void tutti_done_fn(tutti_context *context, void *arg, tutti_status status);

/* A message whose handler has put it off. Belongs to the library; lasts until tutti_message_receive
 * returned OK for it, or else until tutti_finalize, also if its origin is gone meanwhile (then
 * `done` of a long one gets PEER). The pointer that a handler gets is good for nothing after it
 * returned without putting the message off. */
typedef struct tutti_pending tutti_pending;

/* What a handler is told of a message. Lasts until the handler returns. */
typedef struct tutti_message {
    int rank, context; /* where it comes from */
    int dispatch;
    const void *header;
    size_t header_bytes;
    const void *data; /* the payload as it was packed, if it is here already; else NULL */
    int64_t bytes;    /* of the payload, packed */
    tutti_pending *pending;
} tutti_message;

/* Where the payload is to go: count elements of a type at `to`. Borrowed until `done`. */
typedef struct tutti_receive {
    void *to;
    int64_t count;
    tutti_type type;
    tutti_done_fn
        *done; /* NULL: nobody wants to know. TRUNCATED: more came than fits, the rest is dropped */
    void *arg;
    int put_off; /* non-zero: tutti_message_receive(message->pending, ...) will say so later */
} tutti_receive;

/* Called once for each message. It may read message->data in place, if that is not NULL, and leave
 * *receive as it is (all zero); or say in *receive where the payload is to go; or put it off. Where
 * it does neither, a payload that has not come yet is dropped. */
typedef void tutti_message_fn(tutti_context *context, const tutti_message *message,
                              tutti_receive *receive, void *arg);

/* Registers the handler of messages with this id, in all contexts of the client; NULL: none from
 * now on. To be called before the first such message can come (a barrier after it sees to that).
 * Errors: ARG. Local; while no context is being advanced. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_dispatch(tutti_client *client, int id,
                                                       tutti_message_fn *fn, void *arg);

/* Takes a message whose handler put it off, in the context of that handler. receive->put_off is not
 * looked at. The message is given up where `to` is NULL. Errors: ARG; then it is still pending.
 * Local. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_message_receive(tutti_context *context,
                                                              tutti_pending *pending,
                                                              const tutti_receive *receive);

typedef struct tutti_send {
    tutti_endpoint *to;
    int dispatch;
    const void *header; /* at most TUTTI_HEADER_BYTES, copied at once */
    size_t header_bytes;
    const void *data; /* count elements of type; borrowed until `sent` */
    int64_t count;
    tutti_type type;
    tutti_done_fn *sent; /* the buffer may be used again. NULL: nobody wants to know */
    /* The target has taken the message: its receive is complete, its handler was called. NULL:
     * nobody wants to know, and the target sends nothing back where it has nothing else to tell. */
    tutti_done_fn *delivered;
    void *arg; /* of both */
} tutti_send;

/* Sends. Errors, nothing being sent: ARG, TYPE, MEMORY, PEER (the rank is known to be gone). `sent`
 * and `delivered` get: OK; PEER; of `delivered` also ARG (nobody registered the dispatch there; a
 * buffer, here or there, is no memory) and TRUNCATED. They may be called before this returns. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_message_send(tutti_context *context,
                                                           const tutti_send *send);

/* Sends a header and a few bytes in one packet, copied before this returns. AGAIN: no room now;
 * nothing was sent; advance the context and try again. Errors: ARG, PEER. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_message_immediate(tutti_context *context,
                                                                tutti_endpoint *to, int dispatch,
                                                                const void *header,
                                                                size_t header_bytes,
                                                                const void *data, size_t bytes);

/* ---- One-sided ------------------------------------------------------------------------------ */

typedef struct tutti_region tutti_region; /* registered memory */

/* What others need to reach a region: plain data, to be sent to them in any way. */
typedef struct tutti_key {
    unsigned char bytes[TUTTI_KEY_BYTES];
} tutti_key;

/* Registers memory[0..bytes-1], which stays the caller's and must outlive the region. The region
 * belongs to the client and goes with it at the latest. Errors: ARG, MEMORY, LIMIT (of the job's
 * memory), SYSTEM. Does not block. Local, one thread per client at a time. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_region_register(tutti_client *client, void *memory,
                                                              size_t bytes, tutti_region **region);
/* Ends the registration; the memory stays as it is. Not while somebody gets from it or puts to it:
 * that must have been told complete (done, or a fence) to whoever started it. Keys of it are of no
 * use any more: a get or put that starts later is refused with ARG, by the call on one machine,
 * else by its done. region may be NULL. Errors: ARG (it was freed already). Does not block. Local,
 * one thread per client at a time. */
TUTTI_API tutti_status tutti_region_free(tutti_region *region);
/* The region's key, into *key. It is good in this job, for the client of the same number, until the
 * region is freed, and may be kept and passed on at will. Errors: ARG (region or key is NULL),
 * SYSTEM (the network gives none). Does not block. Local, one thread per client at a time. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_region_key(const tutti_region *region,
                                                         tutti_key *key);

/* Copies `bytes` from `offset` in the region of the key's owner, which is the endpoint's rank.
 * done: they are here. Errors, nothing being started: ARG (outside the region; a key that is none,
 * not of this rank, or, on one machine, of a region that was freed; memory that the kernel finds
 * unmapped), MEMORY, PEER. `done` gets: OK; PEER; ARG (elsewhere: it was freed). The owner must go
 * on advancing its context where neither the machine nor the network reaches into memory by
 * itself. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_get(tutti_context *context, tutti_endpoint *owner,
                                                  void *to, const tutti_key *key, int64_t offset,
                                                  int64_t bytes, tutti_done_fn *done, void *arg);
/* The other way. done: they are in place there, and `from` may be used again. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_put(tutti_context *context, tutti_endpoint *owner,
                                                  const void *from, const tutti_key *key,
                                                  int64_t offset, int64_t bytes,
                                                  tutti_done_fn *done, void *arg);

/* done: all that the context sent or put to the endpoint before (NULL: to any) is delivered or in
 * place. Errors: ARG, MEMORY, PEER (the endpoint's rank is known to be gone); `done` is not called
 * then. It gets: OK; PEER: a rank went, or goes, before it was known to have all of it. What was
 * told so is not told again by fences that begin later. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_fence(tutti_context *context, tutti_endpoint *to,
                                                    tutti_done_fn *done, void *arg);

#ifdef __cplusplus
}
#endif

#endif
