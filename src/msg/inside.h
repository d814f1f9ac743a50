/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the message layer share: a client's messaging, its contexts, and what each
 * knows of the contexts that it has to do with.
 *
 *   tt_msg           of a client: handlers, contexts, what all its contexts pull together (pull.h)
 *     tutti_context  what one thread at a time advances
 *       tt_peer      another context, of whatever rank: the way to it, and what came from it and is
 *                    not done
 *       tt_inlet     a ring that a peer writes
 *       tt_op        what was started here and will be told of by a packet (op.h)
 *       tt_parcel    a packet that waits for room, or for a connection
 *
 * A context and all it points to is used by the thread that uses the context, but for `posted` and
 * what lies beside it, and for what is in pull.h. So no line of memory is written by two threads
 * that use two contexts, unless they pull one message together.
 */
#ifndef TT_MSG_INSIDE_H
#define TT_MSG_INSIDE_H

#include <errno.h>
#include <pthread.h>

#include "base/handle.h"
#include "boot/boot.h"
#include "fabric/wire.h"
#include "msg/ring.h"

struct tt_layout;

/* Posted work: a stack that any thread pushes to, taken as a whole by who advances. */
struct tt_work {
    struct tt_work *next;
    tutti_work_fn *work;
    void *arg;
    void (*drop)(
        struct tt_work *work); /* when it is never done; NULL: it is freed, as after it was done */
};

/* Those of a peer's messages that are not done, in the order in which they came. */
struct tt_open {
    struct tt_open *prev, *next;
    uint64_t number;
};

/* What was started here. Named in packets by `id`, which holds its place in the table and is never
 * used twice. */
enum tt_op_kind {
    TT_OP_NONE,
    TT_OP_TOLD,
    TT_OP_LONG,
    TT_OP_PULL,
    TT_OP_HELP,
    TT_OP_GET,
    TT_OP_PUT,
    TT_OP_FENCE
};
struct tt_op {
    enum tt_op_kind kind;
    uint64_t id;
    struct tt_peer *peer;
    tutti_done_fn *sent, *done;
    void *arg;
    const char *data; /* of a long message: what is pulled */
    int64_t bytes;
    char *packed; /* freed with it */
    char *to;     /* where DATA go; `left` are to come */
    int64_t left;
    bool users;    /* the user's own, of a long message */
    uint64_t upto; /* of a fence: the peer's `risked` when it began ... */
    bool missed;   /* ... and whether something was lost with the peer */
    int flows;     /* parcels that send parts of `data` ... */
    bool answered; /* ... after which it ends */
    /* Of a pull, or of help: then `flows` pieces were told of. */
    struct tutti_pending *receipt;
    tutti_status status;
    bool ended;   /* waits to be told of */
    bool on_wire; /* which will end it */
    struct tt_op *next;
    struct tt_wire_region *region; /* of a long message on a wire */
    struct tt_wire_key *key;
};

/* Invariant: packet.header points to `header`, packet.data to what the sender lent or to
 * `owned`. */
struct tt_parcel {
    struct tt_parcel *next;
    struct tt_packet packet;
    int64_t left; /* bytes of data not sent yet */
    uint64_t number;
    struct tt_op *op; /* told when all of it has gone */
    char *owned;
    tutti_context *context;
    struct tt_peer *peer; /* it goes to */
    uint64_t op_id;       /* op's: it may have ended since */
    int on_wire;          /* pieces that a wire still reads */
    bool sent;            /* no longer in a list: given back with the last of them */
    bool lent;            /* its data are not its own */
    char header[TUTTI_HEADER_BYTES];
};

struct tt_parcels {
    struct tt_parcel *first, **end;
};

struct tt_peer {
    _Alignas(TT_LINE) struct tt_out out;
    struct tt_parcels waiting;
    /* Messages that went there of which nobody tells, and what was lost; so many of them were
     * fenced, or told to be lost. */
    uint64_t risked, settled;
    bool dropped; /* something of it, since this rank leaves, of which no fence was told */
    int rank, context;
    bool shares; /* reached through shared memory */
    bool going;  /* it has gone; what it sent before is handled first */
    bool gone;
    bool leaving;             /* it has told so by a packet ... */
    bool told;                /* ... or has been */
    bool listed;              /* among those with parcels */
    struct tt_msg_ring *from; /* by which its packets come; NULL: none came by shared memory */
    unsigned seated;          /* seats of it that are taken, a bit each */
    struct tt_peer *next_of_rank, *next_waiting;
    /* What came from it and is not done: ascending numbers. Fences wait for those before them. */
    struct tt_open *oldest, *newest;
    uint64_t arrived;
    struct tt_parcels fences;
    /* Of a wire. */
    tutti_context *owner;
    struct tt_link *link;
    int64_t linked_ns;       /* when the link was opened */
    bool bye;                /* it has told that it leaves, as the last thing */
    int64_t part_by_ns;      /* it has left: then the link fails, if it is not idle */
    int parcels;             /* that wait for it or that a wire has not ended */
    int users_parcels;       /* of these, its user's own ... */
    int lent;                /* ... and those whose data are not copied */
    int wire_puts;           /* under way */
    bool asked;              /* for the address of another context than 0 ... */
    int64_t ask_first_ns;    /* ... which is from then on */
    struct tt_asked address; /* its own, as long as it is not there */
    struct tt_parcels cards; /* of contexts that it asked for and that are not there yet */
};

struct tt_inlet {
    _Alignas(TT_LINE) struct tt_in in;
    struct tt_peer *peer;
};

/* What the contexts of a client work on together. */
struct tt_shared_pulls {
    _Alignas(TT_LINE) _Atomic int n; /* in the list */
    pthread_mutex_t lock;
    struct tutti_pending *first;
};

struct tt_msg {
    struct tt_fabric *f;
    tutti_client *client;
    struct tt_mail *mail;
    int64_t ring_bytes;
    int way;            /* of filling rings: what TUTTI_FILL says (fill.h) */
    int64_t rings_most; /* bytes of a message that goes through a ring rather than being read */
    int64_t eager_most, wire_eager_most; /* bytes of a message that goes whole */
    size_t packet_most;                  /* that may come with a packet */
    struct tt_handler {
        tutti_message_fn *fn;
        void *arg;
    } handler[TT_DISPATCHES];
    _Atomic int contexts;
    tutti_context *context[TUTTI_CONTEXTS];
    tutti_endpoint *endpoints;
    tutti_region *regions;
    uint64_t regions_made;
    struct tt_mark *free_marks; /* region.h */
    pthread_mutex_t region_lock;
    const struct tt_wire_ops *ops; /* NULL: all ranks are on this machine */
    struct tt_wire *wire;
    bool forced; /* the wire is used within the machine too: TUTTI_WIRE=1 */
    bool keys;   /* it reaches into memory by itself */
    int helped; /* TUTTI_HELP: whether origins help to move long messages; -1: where it is of use */
    tt_opened_fn *opened; /* whether memory may be touched that is in no region ... */
    void *opened_arg;
    bool leaving; /* what comes is dropped, what is posted not done */
    bool parting; /* links are closed */
    struct tt_shared_pulls pulls;
};

struct tutti_endpoint {
    struct tt_handle head;
    struct tt_msg *msg;
    int rank, context;
    tutti_endpoint *next;
};

struct tutti_context {
    struct tt_handle head;
    struct tt_msg *msg;
    struct tt_fabric *f;
    struct tt_mail_context *mail;
    int index;
    bool signals; /* somebody listens to signals given (fabric/fault.c) */
    _Alignas(TT_LINE) struct tt_work *_Atomic posted;
    _Atomic bool has_portion; /* of a long message, posted and not taken: pull.h */
    /* The rest is of whoever uses the context. */
    _Alignas(TT_LINE) struct tt_inlet *inlet;
    int inlets, inlet_room;
    /* The list of rings that were taken from the post box and not looked at; 0: none. */
    int64_t announced;
    uint32_t failures;     /* of the job, when last looked */
    struct tt_peer **peer; /* by rank, linked through next_of_rank */
    struct tt_peer *waiting;
    struct tt_op *ended;     /* to be told of at the next advance, the last first */
    struct tt_range *ranges; /* that it pulls: pull.h */
    struct tt_help *helps;   /* that it was asked for: help.h */
    int pulling;             /* pieces asked for, not here yet */
    int depth;               /* of completion functions within each other */
    int events;
    tutti_status status; /* of what nobody was told of, and the text of the error */
    char why[192];
    struct tt_op **op; /* the table */
    struct tt_op *free_op;
    int ops, op_room;
    struct tt_parcel *parcel; /* free */
    int parcels;
    struct tutti_pending *spare; /* for the next message that is put off ... */
    char *spare_data;            /* ... and its payload, if there is no other memory */
    struct tt_port *port;
    struct tt_alarm alarm; /* the port's */
    char address[TT_WIRE_ADDRESS];
    size_t address_bytes;
    int cards;                  /* asked for and not told */
    int cards_seen;             /* contexts there were when the cards were last looked through */
    bool losing;                /* some peers are going */
    bool lost_some;             /* whose links are to be closed */
    _Atomic(const void *) user; /* the thread that uses it; of builds with assertions */
    int users;
    const tutti_context *outer; /* that this thread advances, and in which it advances this one */
};

/* ---- One user at a time (context.c): told where there are assertions ---- */

#ifdef NDEBUG
static inline void tt_enter(tutti_context *context)
{
    (void)context;
}
static inline void tt_leave(tutti_context *context)
{
    (void)context;
}
#else
void tt_enter(tutti_context *context);
void tt_leave(tutti_context *context);
#endif

/* Whether two copies by way of a ring, made by two processors at the same time, take at most half
 * as long as one made by the kernel. */
static inline bool tt_reads_dearly(const struct tt_fabric *f)
{
    return !f->reads || f->read_cost > 1;
}

/* Whether the kernel found memory unmapped, after a read or write by the fabric that errno was 0
 * before: the argument's fault, on one side or the other. */
static inline bool tt_is_unmapped(tutti_status status)
{
    return status == TUTTI_ERR_SYSTEM && errno == EFAULT;
}

/* It has something to advance: tt_msg_is_idle. Any thread. */
static inline void tt_context_used(tutti_context *c)
{
    if (!(atomic_load_explicit(&c->mail->news, memory_order_relaxed) & TT_MAIL_IN_USE))
        atomic_fetch_or_explicit(&c->mail->news, TT_MAIL_IN_USE, memory_order_relaxed);
}

/* Sizes that follow from what the ranks settled when they met (context.c). */
void tt_msg_settle(struct tt_msg *msg);

/* ---- Peers (peer.c) ---- */

/* NULL: no memory. */
struct tt_peer *tt_peer_of(tutti_context *context, int rank, int index);
/* Notes which ranks are gone (context->losing). */
void tt_peer_look_for_lost(tutti_context *context);
/* What is under way to these completes with PEER: when all has been read that came from them, among
 * it the answers to what they took. */
void tt_peer_lose(tutti_context *context);
void tt_peer_close(tutti_context *context, struct tt_peer *peer);
/* Calls fn for each. */
typedef void tt_peer_fn(tutti_context *context, struct tt_peer *peer);
void tt_peer_each(tutti_context *context, tt_peer_fn *fn);

/* ---- Sending packets (post.c) ---- */

/* Sends a packet, or has it wait; `bytes` of its data, which may be more than a packet holds if it
 * is DATA or PUT, are lent until op is told (tt_op_gone) or copied. Errors, nothing being sent:
 * MEMORY, LIMIT. */
tutti_status tt_post_packet(tutti_context *context, struct tt_peer *peer,
                            const struct tt_packet *packet, int64_t bytes, struct tt_op *op,
                            bool lent);
/* Sends it now through shared memory, or AGAIN. */
tutti_status tt_post_now(tutti_context *context, struct tt_peer *peer,
                         const struct tt_packet *packet);
/* An answer without data, for which a parcel was reserved. */
void tt_post_answer(tutti_context *context, struct tt_peer *peer, enum tt_packet_kind kind,
                    uint64_t a, uint64_t b);
/* Sends what waits and can go. Errors: those of making a ring or a link. */
tutti_status tt_post_waiting(tutti_context *context);
/* A parcel that is wholly sent, and that no wire reads any more. */
void tt_post_finish(tutti_context *context, struct tt_parcel *parcel);
/* Bytes of data, at most, of a packet to this peer. */
size_t tt_post_most(const tutti_context *context, const struct tt_peer *peer);

/* Parcels that may be wanted while something that came is handled. */
enum { TT_PARCELS_RESERVED = 4 };
bool tt_parcel_reserve(tutti_context *context);
struct tt_parcel *tt_parcel_take(tutti_context *context); /* NULL: no memory */
void tt_parcel_give(tutti_context *context, struct tt_parcel *parcel);
void tt_parcel_append(struct tt_parcels *parcels, struct tt_parcel *parcel);
struct tt_parcel *tt_parcel_first(struct tt_parcels *parcels); /* taken off */
void tt_parcel_drop(tutti_context *context, struct tt_parcels *parcels);
void tt_parcel_close(tutti_context *context);

/* The peer at an endpoint. Errors: ARG (of another client), MEMORY, PEER. */
tutti_status tt_send_peer(tutti_context *context, const tutti_endpoint *to, struct tt_peer **peer);

/* ---- Operations (op.c) ---- */

struct tt_op *tt_op_new(tutti_context *context, enum tt_op_kind kind, struct tt_peer *peer);
/* The one of this id, kind, and peer's rank; NULL: it came from nowhere. */
struct tt_op *tt_op_find(tutti_context *context, uint64_t id, const struct tt_peer *peer);
void tt_op_free(tutti_context *context, struct tt_op *op);
/* All of what was lent for it has gone. */
void tt_op_gone(tutti_context *context, struct tt_op *op);
/* It is complete: its functions are called, now or, where they call each other too deeply, at the
 * next advance. */
void tt_op_end(tutti_context *context, struct tt_op *op, tutti_status status);
void tt_op_tell_ended(tutti_context *context);
/* Ends those of a peer that is gone. */
void tt_op_end_lost(tutti_context *context, struct tt_peer *peer);
/* Its ACK has come. */
void tt_op_answer(tutti_context *context, struct tt_op *op, tutti_status status);
/* Of a fence (onesided.c): whether somebody is told. */
bool tt_fence_is_heard(const struct tt_op *op);
/* The target has answered it. */
void tt_fence_answered(tutti_context *context, struct tt_op *op, tutti_status status);
/* What belongs to a fence that will not be told of any more. */
void tt_fence_drop(struct tt_op *op);
/* Of a wire, before its ports are closed. */
void tt_op_close_keys(tutti_context *context);
void tt_op_close(tutti_context *context);

/* ---- What comes (take.c) ---- */

/* Handles a packet from the peer. Errors: MEMORY: not handled, to be given again. */
tutti_status tt_take(tutti_context *context, struct tt_peer *peer, const struct tt_packet *packet);
/* Notes what tutti_advance is to return. */
void tt_take_fault(tutti_context *context, tutti_status status);

/* ---- Rings that come (inbox.c) ---- */

/* Looks for new ones. Errors: MEMORY. */
tutti_status tt_inbox_adopt(tutti_context *context);
/* Handles what is in them. Errors: MEMORY: what comes next waits in its ring. */
tutti_status tt_inbox_read(tutti_context *context);
/* All that is there from those that are going. */
tutti_status tt_inbox_read_last(tutti_context *context);

/* ---- Messages received (receive.c) ---- */

void tt_receive_packet(tutti_context *context, struct tt_peer *peer,
                       const struct tt_packet *packet);
/* Memory for what comes next. */
bool tt_receive_reserve(tutti_context *context);
/* Acknowledges now, or when what came before it is done. */
void tt_receive_fence(tutti_context *context, struct tt_peer *peer, uint64_t id);

/* ---- Leaving (leave.c) ---- */

/* The rank takes no more messages. */
void tt_leave_heard(tutti_context *context, int rank);

/* ---- Regions (region.c) ---- */

/* In place of a region's id: the offset is an address of what a collective has opened here. */
#define TT_REGION_OPENED UINT64_MAX
/* Bytes [offset, offset + bytes) of this client's region; NULL: there are none such. */
char *tt_region_find(struct tt_msg *msg, uint64_t region, uint64_t offset, uint64_t bytes);

/* ---- Posted work (work.c) ---- */

void tt_work_post(tutti_context *context, struct tt_work *work);
int tt_work_do(tutti_context *context);
void tt_work_drop(tutti_context *context);

#endif
