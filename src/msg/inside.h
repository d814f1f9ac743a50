/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The structures that the files of the message layer share: the messaging state of a client, its
 * contexts, and a context's records about the contexts that it exchanges messages with.
 *
 *   tt_msg           one per client: handlers, contexts, and the long messages that its contexts
 *                    pull together (pull.h)
 *     tutti_context  is advanced by one thread at a time
 *       tt_peer      another context, of any rank: the path to it, and the messages from it that
 *                    are not done
 *       tt_inlet     a packet ring that a peer writes
 *       tt_pending   a pending operation that this context started (pending.c); a packet
 *                    completes it
 *       tt_transfer  a packet that waits for room, or for a connection (transfer.h)
 *
 * At any time at most one thread uses a context. Only that thread accesses the context and
 * everything that the context points to. The exceptions are the member `posted`, the members on the
 * cache line of `posted`, and the data of pull.h. So threads that use different contexts never
 * write the same cache line, unless they pull one message together.
 */
#ifndef TT_MSG_INSIDE_H
#define TT_MSG_INSIDE_H

#include <pthread.h>

#include "base/handle.h"
#include "boot/boot.h"
#include "fabric/wire.h"
#include "msg/ring.h"
#include "msg/transfer.h"

struct tt_layout;
struct tt_pending;

/* Posted work: an entry of a context's stack `posted`. Any thread pushes an entry; the thread that
 * advances the context takes the whole stack at once. */
struct tt_work {
    struct tt_work *next;
    tutti_work_fn *work;
    void *arg;
    /* called if the work is never done; NULL: a user posted the work, and the library frees this
     * struct after the work was done */
    void (*drop)(struct tt_work *work);
};

/* A message of a peer that has arrived and whose payload is not stored yet: its handler has put the
 * message off, or the payload is being pulled. The list of a peer's messages is in the order of
 * arrival. */
struct tt_open {
    struct tt_open *prev, *next;
    uint64_t number;
};

/* The kinds of pending operations (struct tt_pending). */
enum tt_pending_kind {
    TT_PENDING_NONE,    /* the entry of the table is free */
    TT_PENDING_TRACKED, /* a short message that waits for room, or that has completion functions */
    TT_PENDING_LONG,    /* a long message, at its origin */
    TT_PENDING_PULL,    /* a piece of a long message: the network gets it, or the origin sends it */
    TT_PENDING_SPLIT,   /* a split copy, at its target */
    TT_PENDING_GET,
    TT_PENDING_PUT,
    TT_PENDING_FENCE
};
/* The functions by which a pull or a split copy (pull.c) handles an acknowledgement and the loss of
 * its peer. Operations of other kinds have no such functions; pending.c ends them. */
struct tt_pending_handlers {
    /* Handles an acknowledgement. False: the operation expects none, so the packet is wrong. */
    bool (*answered)(tutti_context *context, struct tt_pending *pending, tutti_status status);
    /* Ends the operation, because its peer is gone. */
    void (*lost)(tutti_context *context, struct tt_pending *pending);
};

/* An operation that a context started and that is pending. Packets name the operation by `id`,
 * which contains its index in the context's table of operations. An id is never used twice. */
struct tt_pending {
    enum tt_pending_kind kind;
    uint64_t id;
    const struct tt_pending_handlers *handlers; /* NULL: tt_pending_end ends the operation */
    struct tt_peer *peer;
    tutti_done_fn *sent, *done;
    void *arg;
    const char *data; /* of a long message: its payload */
    int64_t bytes;
    char *packed; /* a packed copy of the payload, freed with the operation */
    char *to;     /* where to store the data of DATA packets; `left` bytes have not arrived yet */
    int64_t left;
    bool users; /* of a long message: a user sent it, not the library */
    /* of a long message, put, get or pull of a plan: its memory must not be used any more
     * (tt_msg_cancel) */
    bool cancelled;
    /* of a fence: the value of the counter `risked` of the peer (struct tt_peer) when the fence
     * began; the fence covers what the counter had counted by then */
    uint64_t upto;
    bool missed; /* of a fence: messages to the peer may be lost, since the peer is gone */
    int flows; /* of a long message or put: how many send-queue entries send parts of the memory */
    bool answered; /* the acknowledgement has come; the operation ends when `flows` is 0 */
    /* The message that is received, if the operation is a pull or a split copy (TT_PENDING_SPLIT).
     * In a split copy, `flows` counts the pieces that the origin has acknowledged. */
    struct tutti_pending *receipt;
    tutti_status status;
    bool ended;   /* complete; its functions are called at the next advance */
    bool on_wire; /* the network executes the operation and will report its end */
    struct tt_wire_op wire;
    struct tt_pending *next;
    /* of a long message over a network: the registration of `data` */
    struct tt_wire_region *region;
    struct tt_wire_key *key;
};

/* A fence to one peer or to all peers. The fence starts one operation (TT_PENDING_FENCE) for each
 * of these peers, and the `arg` of these operations is this struct; the operation that ends last
 * calls `done`. `left` is the number of operations that have not ended, plus 1 while operations are
 * still being started. */
struct tt_fence {
    tutti_done_fn *done; /* NULL: nobody waits for the result */
    void *arg;
    int left;
    tutti_status status;
    struct tt_work work; /* by which the next advance goes on with the fence: onesided.c */
};

struct tt_send_queue {
    struct tt_transfer *first, **end;
};

/* How packets travel to a peer: through a packet ring (tt_transport_ring in send.c) or over the
 * network (tt_transport_wire in wired.c). All other steps of sending are the same for both. A
 * client has a copy of each of the two tables, with its own `packet_most` and `eager_most`. */
struct tt_transport {
    /* True: the peer's rank shares memory with this one. When `send` returns, it has copied the
     * packet; and the fabric may reach the peer's memory. False: the network may read a packet
     * until `on_wire` of its send-queue entry (struct tt_transfer) is 0, and the network reaches
     * the peer's memory only by a key. */
    bool shares;
    int64_t packet_most; /* bytes of data that a packet holds, at most */
    int64_t eager_most;  /* bytes of the largest message that is sent eagerly */
    /* Sends a packet. Preconditions: no packet to the peer waits before this one. The packet holds
     * at most packet_most bytes of data. If the packet is a fence, the network has completed all
     * puts to the peer. `entry` has the packet, or is NULL if the transport shares memory. Results:
     * OK: the packet was sent, or entry->on_wire counts it as a packet that the network still
     * reads. AGAIN: the packet was not sent, because there is no room or no connection yet. Other
     * errors: MEMORY, LIMIT, PEER (the peer is gone), and those of the wire. */
    tutti_status (*send)(tutti_context *context, struct tt_peer *peer,
                         const struct tt_packet *packet, struct tt_transfer *entry);
    /* Stores in the request to send (RTS) where the target finds the data of the long message: an
     * address and, as the data of the packet, a key. `key` has TT_WIRE_KEY bytes of room, which
     * must last as long as the packet. */
    void (*offer)(tutti_context *context, struct tt_pending *pending, struct tt_packet *rts,
                  char *key);
};
extern const struct tt_transport tt_transport_ring, tt_transport_wire;

struct tt_peer {
    _Alignas(TT_LINE) struct tt_out out;
    const struct tt_transport *transport;
    struct tt_send_queue waiting;
    /* `risked`: the number of messages to the peer whose loss no completion function reports, plus
     * the number of operations that were lost with the peer. `settled`: how many of these a fence
     * has covered or has reported as lost. */
    uint64_t risked, settled;
    /* this rank, while leaving, has dropped a message of the peer and not reported this loss yet;
     * the acknowledgement of the peer's next fence reports it */
    bool dropped;
    int rank, context;
    /* the peer's rank has failed or left; packets that it sent before are still to be handled */
    bool going;
    bool ending; /* the peer was `going` before this advance handled the last packets of peers */
    /* the peer's rank has failed or left, and all its packets were handled; nothing is sent to the
     * peer any more */
    bool gone;
    bool leaving;  /* the peer has notified this context that the peer's rank leaves */
    bool notified; /* this context notified the peer that this rank leaves */
    bool listed;   /* in the list of peers with send-queue entries */
    /* the packet ring that the peer writes; NULL: no packet of the peer came by shared memory */
    struct tt_msg_ring *from;
    unsigned claim_words; /* bit mask: which claim words of `from` are in use (pull.h) */
    int pulling; /* pieces that this context has asked the peer for and that have not arrived */
    struct tt_peer *next_of_rank, *next_waiting;
    /* The messages from the peer whose payload is not stored yet, in ascending order of their
     * numbers. A fence of the peer has the number of the last message that arrived before it; it
     * waits in `fences` for the messages up to that number. */
    struct tt_open *oldest, *newest;
    uint64_t arrived;
    struct tt_send_queue fences;
    /* The members from here to `part_by_ns` are for a peer that is reached over the network. */
    tutti_context *owner;
    struct tt_link *link;
    int64_t linked_ns; /* when the link was opened */
    bool bye;          /* the peer has sent BYE, its last packet */
    /* until when this context waits for BYE after the peer's rank has left (if the link has failed:
     * the time of the failure), and how often it has looked whether BYE has come */
    int64_t bye_by_ns;
    int bye_looks;
    /* if the peer's rank has left: the time at which the link is made to fail if it is not idle
     * before that time */
    int64_t part_by_ns;
    /* send-queue entries that wait, or whose packets the network still reads */
    int send_entries;
    int users_send_entries; /* entries of `send_entries` with a user's message or put */
    int lent;               /* entries of `send_entries` whose data belong to the caller */
    int wire_puts;          /* puts that the network executes now */
    bool asked;             /* context 0 of the peer's rank was asked for the peer's address */
    /* the earliest time to ask context 0 of the peer's rank for the peer's address */
    int64_t ask_first_ns;
    struct tt_asked address; /* the question to the job's server for the address of the peer */
    /* ADDRESS packets from the peer that ask for contexts of this rank which do not exist yet */
    struct tt_send_queue address_requests;
};

struct tt_inlet {
    _Alignas(TT_LINE) struct tt_in in;
    struct tt_peer *peer;
};

/* The long messages that all contexts of a client pull together. */
struct tt_shared_pulls {
    _Alignas(TT_LINE) _Atomic int n; /* how many messages are in the list */
    pthread_mutex_t lock;
    struct tutti_pending *first;
};

struct tt_endpoints;

struct tt_msg {
    struct tt_fabric *f;
    tutti_client *client;
    struct tt_mailbox *mailbox;
    int64_t ring_bytes;
    int fill; /* by which stores to fill packet rings (TUTTI_FILL, enum tt_fill); -1: not set */
    /* largest message in bytes that goes through a packet ring instead of being read by the
     * target */
    int64_t rings_most;
    size_t packet_most; /* bytes that a received packet can carry, at most */
    struct tt_handler {
        tutti_message_fn *fn;
        void *arg;
    } handler[TT_DISPATCHES];
    tt_plan_packet_fn
        *plan_packet; /* handles PLAN packets; NULL: there are no plans between nodes */
    void *plan_packet_arg;
    _Atomic int contexts;
    tutti_context *context[TUTTI_CONTEXTS];
    struct tt_endpoints **endpoints; /* by rank; NULL: no endpoint to the rank was made */
    tutti_region *regions;
    uint64_t regions_made;
    struct tt_region_mark *free_marks; /* marks that no region uses: region.h */
    pthread_mutex_t region_lock;
    /* how packets travel within the node (`ring`) and to other nodes (`network`, which is used if
     * `ops` is not NULL) */
    struct tt_transport ring, network;
    const struct tt_wire_ops *ops; /* NULL: all ranks are on this node */
    tt_wire_arrive_fn *arrive;     /* handles the packets of the network */
    struct tt_wire *wire;
    bool forced;          /* the network is used within the node too: TUTTI_WIRE=1 */
    bool keys;            /* the network reads and writes registered memory by itself */
    bool splits;          /* long messages within the node may be moved by split copies: pull.h */
    tt_opened_fn *opened; /* decides whether peers may access memory that is in no region */
    void *opened_arg;
    /* this rank leaves: messages that arrive are dropped, and work that users posted is not done */
    bool leaving;
    bool parting; /* the links are being closed */
    struct tt_shared_pulls pulls;
};

struct tutti_endpoint {
    struct tt_handle head;
    struct tt_msg *msg;
    int rank, context;
};

/* The endpoints of a rank by context index; NULL: the endpoint was not made yet. */
struct tt_endpoints {
    tutti_endpoint *to[TUTTI_CONTEXTS];
};

/* How many completion functions may run inside one another. This happens if a completion function
 * starts something that completes at once: it sends or receives a message, gets, puts or fences. */
enum { TT_DEPTH_MOST = 16 };

struct tutti_context {
    struct tt_handle head;
    struct tt_msg *msg;
    struct tt_fabric *f;
    struct tt_mailbox_context *mailbox;
    int index;
    /* a wrapper of the fabric wants to be called before each signal (fabric/fault.c) */
    bool signals;
    _Alignas(TT_LINE) struct tt_work *_Atomic posted;
    /* a portion of a long message was posted to this context, which has not taken it yet: pull.h */
    _Atomic bool has_portion;
    /* Only the thread that uses the context accesses the members from here on. */
    _Alignas(TT_LINE) struct tt_inlet *inlet;
    int inlets, inlet_room;
    /* The context takes from its mailbox the list of the packet rings that peers have announced,
     * and then opens the rings one after the other. This is the offset, in the segment, of the
     * first ring that is not open yet; 0: all are open. */
    int64_t announced;
    uint32_t failures;     /* the job's count of failures when it was last read */
    struct tt_peer **peer; /* by rank; contexts of a rank are linked by next_of_rank */
    struct tt_peer *waiting;
    /* operations that have ended and whose functions are called at the next advance; the operation
     * that ended last is the first in the list */
    struct tt_pending *ended;
    struct tt_pull_range *ranges; /* portions that this context pulls: pull.h */
    /* split copies that targets asked this context for: pull.h */
    struct tt_split_copy *split_copies;
    int pulling; /* the sum of `pulling` of all peers */
    /* all messages of this context's portions have to wait for answers of their origins */
    bool all_wait;
    int depth; /* how many completion functions are running inside one another */
    int events;
    tutti_status status; /* the first error that no completion function received, and its text */
    char why[192];
    struct tt_pending **pending; /* the table of operations */
    struct tt_pending *free_pending;
    int pendings, pending_room;
    struct tt_transfer *spare_entry; /* the first of the free send-queue entries */
    int spare_entries;
    struct tutti_pending *spare; /* the record for the next message that arrives */
    /* memory for the payload of a message that is put off, in case no other can be allocated */
    char *spare_data;
    struct tt_port *port;
    struct tt_wake_descriptor wake; /* the port's wake descriptor */
    char address[TT_WIRE_ADDRESS];
    size_t address_bytes;
    int address_requests; /* ADDRESS packets not answered yet */
    /* how many contexts this client had when this context last went through the ADDRESS packets
     * that are not answered */
    int address_requests_seen;
    bool losing;    /* some peers are `going` */
    bool lost_some; /* links of peers that are gone have to be closed */
    /* the thread that uses the context; only in builds with assertions */
    _Atomic(const void *) user;
    int users;
    /* the context, of another client, that the thread was advancing when it began to advance this
     * one; NULL: none */
    const tutti_context *outer;
};

/* Returns whether reading another process' memory is so slow that long messages go through packet
 * rings. This is the case if the ranks of this node cannot all read each other's memory, or if
 * reading takes at least 1.25 times as long as moving the bytes through shared memory that plain
 * stores fill. (read_stored_cost is this ratio, rounded to 1 if it is below 1.25, and to 2 or more
 * otherwise.) */
static inline bool tt_reads_dearly(const struct tt_fabric *f)
{
    return !f->reads || f->read_stored_cost > 1;
}

/* Records that the context has something to advance (tt_msg_is_idle). Any thread. */
static inline void tt_context_used(tutti_context *c)
{
    if (!(atomic_load_explicit(&c->mailbox->news, memory_order_relaxed) & TT_MAILBOX_IN_USE))
        atomic_fetch_or_explicit(&c->mailbox->news, TT_MAILBOX_IN_USE, memory_order_relaxed);
}

/* ---- Peers (peer.c) ---- */

/* Returns whether messages to the rank go over the network, provided that the job has one. */
bool tt_peer_is_remote(const struct tt_msg *msg, int rank);
/* Returns the record of context `index` of a rank and makes it if necessary. NULL: no memory. */
struct tt_peer *tt_peer_of(tutti_context *context, int rank, int index);
/* Marks the peers whose rank has failed or left as `going` and sets context->losing. */
void tt_peer_look_for_lost(tutti_context *context);
/* Calls fn for each peer. */
typedef void tt_peer_fn(tutti_context *context, struct tt_peer *peer);
void tt_peer_each(tutti_context *context, tt_peer_fn *fn);

/* ---- Sending packets (send.c) ---- */

/* Sends a packet with `bytes` bytes of packet->data, or queues it. For DATA and PUT packets,
 * `bytes` may be more than one packet holds. If `lent`, the data must stay valid until they are
 * sent, and then `pending`, if it is not NULL, is notified (tt_pending_gone). Otherwise the call
 * copies the data. On an error nothing is sent. Errors: MEMORY, LIMIT. */
tutti_status tt_post_packet(tutti_context *context, struct tt_peer *peer,
                            const struct tt_packet *packet, int64_t bytes,
                            struct tt_pending *pending, bool lent);
/* Sends the packet at once if the transport copies it and there is room; else returns AGAIN. */
tutti_status tt_post_now(tutti_context *context, struct tt_peer *peer,
                         const struct tt_packet *packet);
/* Sends the packet of a transfer, or queues it (tt_msg_transfer calls this). The data fit in one
 * packet. If the network cannot be used now, the next advance tries again and reports the error. */
tutti_status tt_post_transfer(tutti_context *context, struct tt_peer *peer,
                              struct tt_transfer *transfer);
/* Sends an answer: a packet with the args a and b and without data. Cannot fail for want of memory,
 * since a send-queue entry was reserved (tt_transfer_reserve). */
void tt_post_answer(tutti_context *context, struct tt_peer *peer, enum tt_packet_kind kind,
                    uint64_t a, uint64_t b);
/* Sends the queued packets that can be sent now. Errors: those of making a packet ring or a
 * link. */
tutti_status tt_post_waiting(tutti_context *context);
/* Ends a transfer that was sent completely and that no network reads any more. */
void tt_post_finish(tutti_context *context, struct tt_transfer *entry);

/* The number of send-queue entries that the handling of one received packet may need. */
enum { TT_SEND_ENTRIES_RESERVED = 4 };
/* Allocates send-queue entries until TT_SEND_ENTRIES_RESERVED are free. False: no memory. */
bool tt_transfer_reserve(tutti_context *context);
struct tt_transfer *tt_transfer_take(tutti_context *context); /* NULL: no memory */
void tt_transfer_give(tutti_context *context, struct tt_transfer *entry);
void tt_send_queue_append(struct tt_send_queue *queue, struct tt_transfer *entry);
/* Removes and returns the first entry; NULL: none. */
struct tt_transfer *tt_send_queue_shift(struct tt_send_queue *queue);
void tt_send_queue_drop(tutti_context *context, struct tt_send_queue *queue);
void tt_transfer_close(tutti_context *context);

/* Finds the peer that an endpoint names. Errors: ARG (the endpoint belongs to another client),
 * MEMORY, PEER. */
tutti_status tt_send_peer(tutti_context *context, const tutti_endpoint *to, struct tt_peer **peer);

/* ---- Operations (pending.c) ---- */

struct tt_pending *tt_pending_new(tutti_context *context, enum tt_pending_kind kind,
                                  struct tt_peer *peer);
/* Returns the operation with this id. NULL: there is no such operation, or its peer belongs to
 * another rank than `peer` does; so the packet that names the id is wrong or late. */
struct tt_pending *tt_pending_find(tutti_context *context, uint64_t id, const struct tt_peer *peer);
void tt_pending_free(tutti_context *context, struct tt_pending *pending);
/* Records that neither the network nor a packet ring reads any more the data that the caller has
 * lent to the operation. */
void tt_pending_gone(tutti_context *context, struct tt_pending *pending);
/* Completes an operation: calls its functions now, or at the next advance if too many completion
 * functions are running inside one another. */
void tt_pending_end(tutti_context *context, struct tt_pending *pending, tutti_status status);
/* Calls the functions of the operations that tt_pending_end has left to this advance. */
void tt_pending_call_ended(tutti_context *context);
/* Ends all operations of a peer that is gone. */
void tt_pending_end_lost(tutti_context *context, struct tt_peer *peer);
/* Handles the acknowledgement of an operation. False: the operation expects none, so the packet is
 * wrong. */
bool tt_pending_answer(tutti_context *context, struct tt_pending *pending, tutti_status status);
/* Closes the network keys of all operations, before the links and ports are closed. */
void tt_pending_close_keys(tutti_context *context);
void tt_pending_close(tutti_context *context);

/* ---- Packets received (receive.c) ---- */

/* Handles a packet from the peer. Errors: MEMORY (the packet was not handled; pass it again
 * later). */
tutti_status tt_take(tutti_context *context, struct tt_peer *peer, const struct tt_packet *packet);
/* Handles a packet that has come over the network; `context` is the tutti_context that it came
 * to. */
void tt_take_from_wire(void *context, const void *head, size_t head_bytes, const void *data,
                       size_t data_bytes);

/* Drops the messages of a peer that will never be complete. */
void tt_receive_drop(struct tt_peer *peer);

/* ---- Packet rings that peers write (receive.c) ---- */

/* Opens the packet rings that peers have announced. Errors: MEMORY. */
tutti_status tt_rings_adopt(tutti_context *context);
/* Handles the packets in the rings. Errors: MEMORY (the next packet stays in its ring). */
tutti_status tt_rings_read(tutti_context *context);
/* Handles all packets of the peers that are `ending`. Errors: MEMORY. */
tutti_status tt_rings_read_last(tutti_context *context);

/* ---- Regions (region.c) ---- */

/* A packet has this value in place of a region's id if it is about memory that a collective of the
 * owner has opened. The packet's offset is then an address. */
#define TT_REGION_OPENED UINT64_MAX
/* Returns bytes [offset, offset + bytes) of a region of this client; NULL: there is no such region,
 * or the bytes are not inside it. */
char *tt_region_find(struct tt_msg *msg, uint64_t region, uint64_t offset, uint64_t bytes);

#endif
