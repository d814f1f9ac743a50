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
 *     tutti_message_send(context, &send)  ----->   the thread that advances the target's context
 *                                                  calls the handler registered for send.dispatch,
 *                                                  which sets the destination of the data
 *     send.sent(...): the buffer is free again
 *     send.delivered(...): the target has it       receive.done(...): the data have arrived
 *
 * The length of a message decides how it travels: in one packet (immediate, eager), in several
 * packets, or by rendezvous. In a rendezvous the origin first notifies the target. If the target's
 * contexts can reach the data, they pull it in parallel, each context a portion; otherwise the
 * origin sends the data to the handler's context. Within a node the origin may also write parts of
 * the data to their destination while its context is advanced, about a mebibyte at a time.
 *
 * Messages from one context to one endpoint reach their handlers in the order of sending. The
 * library never loses a message: if there is no room, the message waits at its origin, and
 * tutti_finalize of the origin waits for it. A context receives nothing unless some thread advances
 * it.
 *
 * Leaving: tutti_finalize advances all contexts of the client until the target's context has
 * received every message and put that the library accepted. (A short message counts as received
 * when it lies where the target finds it.) The call may therefore wait for a rank that goes on and
 * does not advance that context. It does not wait for ranks that have failed or are in
 * tutti_finalize themselves. It calls no handler and runs no posted work. It may call completion
 * functions, but not for operations that are still under way when it returns. A rank in
 * tutti_finalize drops messages that arrive during the call, and messages that arrived before and
 * for which it has not called a handler yet. The completion functions of their senders get PEER.
 *
 * In all declarations, "local" means that only this process is concerned, and a function blocks
 * only if its comment says so. The calling thread uses a context for the length of a call, so only
 * one thread at a time may pass it to a function. The exception is tutti_post, which any thread may
 * call at any time.
 *
 * The library calls handlers, completion functions and posted work while their context is advanced:
 * in tutti_advance and its variants, and for context 0 also in every call that waits for a
 * collective or tests one. It calls completion functions also in tutti_finalize, and in the call
 * that starts an operation if the operation completes at once. These functions may call, for the
 * same client:
 *   allowed       tutti_message_send, _immediate, _receive, tutti_get, tutti_put and tutti_fence in
 *                 the context that they were given; tutti_post to any context; tutti_endpoint_to,
 *                 tutti_region_* and tutti_contexts under their rules on threads; functions that
 *                 only return information
 *   not allowed   functions that advance or wait: tutti_advance and its variants, of any context;
 *                 collectives, blocking or started, tutti_test and tutti_wait, and functions that
 *                 make, free, agree on or shrink teams; tutti_helper_stop; tutti_dispatch;
 *                 tutti_init; tutti_finalize
 * If one of these functions advances or waits all the same, a build with assertions prints that and
 * ends the process; in other builds the behaviour is undefined.
 */
#ifndef TUTTI_MESSAGE_H
#define TUTTI_MESSAGE_H

#include <tutti/tutti.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TUTTI_CONTEXTS = 64,         /* most contexts of a client */
    TUTTI_DISPATCHES = 256,      /* most dispatch ids of a client: 0 .. 255 */
    TUTTI_HEADER_BYTES = 128,    /* most bytes of a message's header */
    TUTTI_IMMEDIATE_BYTES = 512, /* most bytes of an immediate message, with its header */
    TUTTI_KEY_BYTES = 512        /* size of a tutti_key */
};

/* ---- Contexts ------------------------------------------------------------------------------- */

/* Makes n contexts of the client and stores them in contexts[0..n-1]. A client starts with context
 * 0, which collectives use; new contexts get the next numbers. tutti_finalize frees them. Errors:
 * ARG, LIMIT (TUTTI_CONTEXTS per client, or no file descriptors are left for the network), MEMORY,
 * SYSTEM (the network). Local; one thread per client at a time. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_contexts(tutti_client *client, int n,
                                                       tutti_context **contexts);

/* Returns context `index` of the client; NULL if there is none. Local, any thread. */
TUTTI_API tutti_context *tutti_context_at(tutti_client *client, int index);

/* Advances everything that the context has under way, without blocking: incoming and outgoing
 * messages, posted work, and, for context 0, collectives in flight on the client's teams. If events
 * is not NULL, *events receives the number of events, also if the function returns an error of a
 * team or a message. Events are handled messages, and operations, posted work and collectives that
 * have ended. If a team is broken, the function returns the error of the team once, and only if no
 * call on that team has returned it before. (Calls on the team return it each time.) The function
 * also returns the first error of a message since the last call, if there is no completion function
 * that gets this error. ARG: the message's dispatch id has no handler, or its handler gave a wrong
 * type, count or buffer. TRUNCATED: the message was longer than its destination. MEMORY or LIMIT:
 * the message waits because it could not be sent or received yet; a later call tries again. MEMORY
 * also: the message could not be unpacked, and its data are lost. One thread per context at a
 * time. */
TUTTI_API tutti_status tutti_advance(tutti_context *context, int *events);

/* Advances contexts[0..n-1] of one client in turn, even if one of them has an error, and returns
 * the first error; later calls return the errors of the other contexts. Errors: ARG, and as for
 * tutti_advance. */
TUTTI_API tutti_status tutti_advance_all(tutti_context *const *contexts, int n, int *events);

/* Advances the context as tutti_advance does, and blocks until there was an event. The call also
 * ends with OK, perhaps without an event, when some rank has died or left, and with AGAIN when
 * timeout_ms milliseconds have passed; a negative timeout_ms never ends it. Sets *events as
 * tutti_advance does. If the error of a broken team was returned before, this team does not end the
 * wait. The function spins, yields and sleeps as collectives do; tutti_post of another thread wakes
 * it. */
TUTTI_API tutti_status tutti_advance_wait(tutti_context *context, int timeout_ms, int *events);

/* Finds out, without blocking, whether all packets that the context has sent have left this
 * process. A packet has left when it lies where its target finds it, or when the system or the
 * network card has it. If some packets have not left, the function advances the messages of the
 * context, and checks once more; it does not advance collectives. Returns OK if all packets have
 * left, and AGAIN if some of them still wait for room or for a connection. Before a program stops
 * advancing a context for a long time, because it computes or waits in another library, it calls
 * this function until it returns OK; otherwise other ranks may wait for these packets meanwhile. If
 * a rank is lost, the packets to that rank are dropped, and OK no longer covers packets to other
 * nodes that the network library still holds. Errors: ARG. The errors of messages and teams stay
 * for tutti_advance to return. One thread per context at a time. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_drain(tutti_context *context);

/* Posts `work` to a context from any thread. The thread that advances the context next calls
 * work(context, arg). Functions that were posted to one context are called in the order of posting.
 * The function is lock-free except for the memory that it allocates. Errors: ARG, MEMORY. */
typedef void tutti_work_fn(tutti_context *context, void *arg);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_post(tutti_context *context, tutti_work_fn *work,
                                                   void *arg);

/* Starts a thread of the library that advances the context from now on. The thread sleeps until a
 * message or posted work wakes it, and blocks all signals. It calls the handlers, completion
 * functions and posted work of the context. Until tutti_helper_stop other threads may use the
 * context only by tutti_post. Errors: ARG (context 0, or the context has such a thread already),
 * LIMIT (no more threads), MEMORY. Local. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_helper_start(tutti_context *context);
/* Stops the thread of tutti_helper_start when the function that it is calling returns, and blocks
 * until the thread has ended. Work that was posted and has not run stays posted. Returns the last
 * error that tutti_advance returned to the thread, or ARG (there is no such thread, or it calls
 * this function itself). tutti_finalize stops the thread, too. Local. */
TUTTI_API tutti_status tutti_helper_stop(tutti_context *context);

/* ---- Endpoints ------------------------------------------------------------------------------ */

/* Stores the endpoint of (rank, context index) in *endpoint; it belongs to the client. Calls with
 * the same rank and index return the same endpoint, in constant time. The target's context need not
 * exist yet: messages to it wait at this rank. The library connects nothing before the first
 * message. Errors: ARG (the rank is outside the job, or the index outside 0..63), MEMORY. Local,
 * one thread per client at a time. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_endpoint_to(tutti_client *client, int rank,
                                                          int context, tutti_endpoint **endpoint);
/* Return the rank and the context index of an endpoint. Local, any thread. */
TUTTI_API int tutti_endpoint_rank(const tutti_endpoint *endpoint);
TUTTI_API int tutti_endpoint_context(const tutti_endpoint *endpoint);

/* ---- Messages ------------------------------------------------------------------------------- */

/* A completion function. The library calls it once, with the context of the operation, the argument
 * that the caller gave with it, and the status of the operation: OK or an error. The top of this
 * file says when, and which functions it may call. */
typedef void tutti_done_fn(tutti_context *context, void *arg, tutti_status status);

/* A message that its handler has put off. The library owns it until tutti_message_receive has
 * returned OK for it, or else until tutti_finalize, even if its origin has failed meanwhile (`done`
 * of a long message then gets PEER). If a handler returns without putting the message off, the
 * pointer that it got is not valid any more. */
typedef struct tutti_pending tutti_pending;

/* A message as its handler gets it. It lasts until the handler returns. */
typedef struct tutti_message {
    int rank;               /* the rank of the origin */
    int context;            /* the context index of the origin */
    int dispatch;           /* the dispatch id */
    const void *header;     /* the header, in memory of the library */
    size_t header_bytes;    /* size of the header */
    const void *data;       /* the payload as it was packed, if it is here already; else NULL */
    int64_t bytes;          /* size of the packed payload */
    tutti_pending *pending; /* for tutti_message_receive, if the handler puts the message off */
} tutti_message;

/* The destination of the payload: count elements of a type at `to`, which the library borrows until
 * `done`. */
typedef struct tutti_receive {
    void *to;        /* memory of the caller; NULL: the library drops the payload */
    int64_t count;   /* how many elements there is room for */
    tutti_type type; /* the type of the elements */
    /* Called when the data have arrived; may be NULL. Its status is TRUNCATED if the message was
     * longer (the library drops the rest), and PEER if the origin failed before the data had
     * arrived. It is ARG if a buffer at either end is not valid memory or the type or count is
     * wrong, and MEMORY if the data could not be unpacked. */
    tutti_done_fn *done;
    void *arg;   /* the argument of `done` */
    int put_off; /* non-zero: the caller will pass message->pending to tutti_message_receive */
} tutti_receive;

/* A handler. The library calls it once for each message. The handler may do one of three things:
 * read message->data in place if that is not NULL, and leave *receive as it is (all zero); set in
 * *receive where the payload is to go; or put the message off. If the handler does none of these,
 * the library drops a payload that has not arrived yet. */
typedef void tutti_message_fn(tutti_context *context, const tutti_message *message,
                              tutti_receive *receive, void *arg);

/* Registers the handler of messages with the dispatch id `id` in all contexts of the client; NULL
 * removes the handler. Call it before the first such message can arrive (a barrier afterwards
 * ensures that). Errors: ARG. Local; no thread may advance a context of the client meanwhile. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_dispatch(tutti_client *client, int id,
                                                       tutti_message_fn *fn, void *arg);

/* Receives a message that its handler put off, in the context of that handler. The function ignores
 * receive->put_off. If `to` is NULL, it drops the message and calls `done`. Errors: ARG, MEMORY;
 * after both the message is still pending. Local. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_message_receive(tutti_context *context,
                                                              tutti_pending *pending,
                                                              const tutti_receive *receive);

/* A message to send. */
typedef struct tutti_send {
    tutti_endpoint *to;  /* where the message goes */
    int dispatch;        /* the dispatch id, which selects the handler at the target */
    const void *header;  /* at most TUTTI_HEADER_BYTES, copied at once */
    size_t header_bytes; /* size of the header */
    const void *data;    /* count elements of type; borrowed until `sent` */
    int64_t count;       /* how many elements */
    tutti_type type;     /* the type of the elements */
    tutti_done_fn *sent; /* called when the caller may use the buffer again; may be NULL */
    /* Called when the target has received the message: its handler was called, and its receive is
     * complete. If `delivered` is NULL, the target sends an acknowledgement only if the library
     * needs one. */
    tutti_done_fn *delivered;
    void *arg; /* the argument of both functions */
} tutti_send;

/* Sends a message. If the function returns ARG, MEMORY or PEER (the rank is known to have failed or
 * left), it has sent nothing. `sent` and `delivered` get the status OK or PEER. `delivered` may
 * also get ARG (the target has no handler for the dispatch id, or a buffer at either end is not
 * valid memory), MEMORY (the target could not unpack the data) or TRUNCATED. The library may call
 * both before the function returns. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_message_send(tutti_context *context,
                                                           const tutti_send *send);

/* Sends a header and data of at most TUTTI_IMMEDIATE_BYTES together in one packet. The function
 * copies both before it returns. AGAIN: there is no room, and nothing was sent; advance the context
 * and try again. After an error (ARG, MEMORY, PEER) nothing was sent, either. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_message_immediate(tutti_context *context,
                                                                tutti_endpoint *to, int dispatch,
                                                                const void *header,
                                                                size_t header_bytes,
                                                                const void *data, size_t bytes);

/* ---- One-sided ------------------------------------------------------------------------------ */

typedef struct tutti_region tutti_region; /* registered memory */

/* A key with which other ranks reach a region: plain data that may be sent in any way. */
typedef struct tutti_key {
    unsigned char bytes[TUTTI_KEY_BYTES]; /* in a format of the library */
} tutti_key;

/* Registers memory[0..bytes-1], which belongs to the caller and must outlive the region. The region
 * belongs to the client; tutti_finalize frees it at the latest. Errors: ARG, MEMORY, LIMIT (the
 * job's shared memory is used up). Does not block. Local, one thread per client at a time. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_region_register(tutti_client *client, void *memory,
                                                              size_t bytes, tutti_region **region);
/* Ends the registration; the memory stays as it is. No get or put of the region may be under way:
 * their origins must have seen them complete, by `done` or by a fence. Later gets and puts with
 * keys of the region get ARG: the call returns it if the owner is on the same node, and otherwise
 * `done` gets it. region may be NULL. Errors: ARG (the region was freed already). Does not block.
 * Local, one thread per client at a time. */
TUTTI_API tutti_status tutti_region_free(tutti_region *region);
/* Stores the region's key in *key. The key is valid in this job until the region is freed. A rank
 * uses it with its client of the same number as this client (client k, see tutti_init); ranks may
 * keep the key and pass it on. Errors: ARG (region or key is NULL), MEMORY, LIMIT (the network's
 * key does not fit: fewer UCX_NET_DEVICES make it shorter), SYSTEM (the network provides no key).
 * Does not block. Local, one thread per client at a time. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_region_key(const tutti_region *region,
                                                         tutti_key *key);

/* Copies `bytes` bytes from byte `offset` of a region to `to`, which the library borrows until
 * `done`. The endpoint's rank owns the region. The library calls `done`, unless it is NULL, when
 * the bytes have arrived, with OK, PEER, or ARG (the region, on another node, was freed). If the
 * function returns ARG, MEMORY or PEER, it has started nothing. ARG: the range lies outside the
 * region, the key is invalid or belongs to another rank, or the kernel finds the memory unmapped.
 * ARG also if the region is on this node and was freed, by tutti_region_free or by tutti_finalize.
 * If neither loads and stores, nor the kernel, nor a network card can access the owner's memory,
 * the owner must go on advancing the context that the endpoint names. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_get(tutti_context *context, tutti_endpoint *owner,
                                                  void *to, const tutti_key *key, int64_t offset,
                                                  int64_t bytes, tutti_done_fn *done, void *arg);
/* Copies `bytes` bytes from `from` to byte `offset` of a region, with the errors of tutti_get. The
 * library calls `done` when the bytes are in place, and after that the caller may use `from`
 * again. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_put(tutti_context *context, tutti_endpoint *owner,
                                                  const void *from, const tutti_key *key,
                                                  int64_t offset, int64_t bytes,
                                                  tutti_done_fn *done, void *arg);

/* Calls `done` when all messages and puts that the context has sent to the endpoint before this
 * call are delivered or in place; if `to` is NULL, all that it has sent to any endpoint. `done`
 * gets PEER if a rank failed or left, and this rank does not know whether that rank has received
 * all of them; later fences do not report this failure again. If the function returns ARG, MEMORY
 * or PEER (the endpoint's rank is known to have failed or left), it does not call `done`. done may
 * be NULL. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_fence(tutti_context *context, tutti_endpoint *to,
                                                    tutti_done_fn *done, void *arg);

#ifdef __cplusplus
}
#endif

#endif
