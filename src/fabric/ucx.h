/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wire (wire.h) over UCX's UCP: what its files share. ucx.c loads the library, creates the
 * context of UCX, registers memory, and checks the sockets of UCX's workers for peers that no
 * longer answer; ucx-link.c has the workers and endpoints of UCX, and the operations on a link.
 * ucx-order.c keeps packets in order.
 *
 * The callers keep the operations. An operation that is under way is in exactly one list:
 *
 *     link->under_way   UCX has a request for it
 *     link->unflushed   a put that no flush covers yet
 *     link->in_flush    a put that the current flush covers
 *     port->completed   complete: the port's next advance calls `done`
 *
 * UCX calls back from any of its functions. The callbacks only move operations and links between
 * lists, and advance calls the user's functions from one place. So the user's functions may call
 * everything but port_advance and port_close.
 */
#ifndef TT_UCX_H
#define TT_UCX_H

#include <pthread.h>
#include <stdatomic.h>
#include <ucp/api/ucp.h>

#include "fabric/ucx-order.h"
#include "fabric/wire.h"

/* The oldest version of UCX that has all functions in TT_UCX_LIST, in the form in which Tutti calls
 * them. */
enum { TT_UCX_MAJOR = 1, TT_UCX_MINOR = 12 };

/* All functions of UCX that are used. */
#define TT_UCX_LIST(X)                                                                             \
    X(ucp_get_version)                                                                             \
    X(ucs_status_string)                                                                           \
    X(ucp_config_read)                                                                             \
    X(ucp_config_modify)                                                                           \
    X(ucp_config_release)                                                                          \
    X(ucp_init_version)                                                                            \
    X(ucp_cleanup)                                                                                 \
    X(ucp_worker_create)                                                                           \
    X(ucp_worker_destroy)                                                                          \
    X(ucp_worker_query)                                                                            \
    X(ucp_worker_release_address)                                                                  \
    X(ucp_worker_progress)                                                                         \
    X(ucp_worker_get_efd)                                                                          \
    X(ucp_worker_arm)                                                                              \
    X(ucp_worker_set_am_recv_handler)                                                              \
    X(ucp_ep_create)                                                                               \
    X(ucp_ep_close_nbx)                                                                            \
    X(ucp_ep_flush_nbx)                                                                            \
    X(ucp_am_send_nbx)                                                                             \
    X(ucp_get_nbx)                                                                                 \
    X(ucp_put_nbx)                                                                                 \
    X(ucp_worker_flush_nbx)                                                                        \
    X(ucp_request_check_status)                                                                    \
    X(ucp_request_free)                                                                            \
    X(ucp_mem_map)                                                                                 \
    X(ucp_mem_unmap)                                                                               \
    X(ucp_rkey_pack)                                                                               \
    X(ucp_rkey_buffer_release)                                                                     \
    X(ucp_ep_rkey_unpack)                                                                          \
    X(ucp_rkey_destroy)

struct tt_ucx_api {
#define TT_UCX_POINTER(name) __typeof__(name) *name;
    TT_UCX_LIST(TT_UCX_POINTER)
#undef TT_UCX_POINTER
};
/* Filled when UCX is loaded (ucx.c); does not change after that. */
extern struct tt_ucx_api tt_ucx;

/* Translates an error of UCX into MEMORY, PEER or SYSTEM. The error text is that of UCX, with
 * `doing`, what was being done. */
__attribute__((cold)) tutti_status tt_ucx_fail(ucs_status_t status, const char *doing);

/* ---- Doubly linked lists ---- */

static inline void tt_ring_init(struct tt_list *ring)
{
    ring->prev = ring->next = ring;
}

static inline bool tt_ring_empty(const struct tt_list *ring)
{
    return ring->next == ring;
}

static inline void tt_ring_take(struct tt_list *item)
{
    item->prev->next = item->next;
    item->next->prev = item->prev;
}

static inline void tt_ring_add(struct tt_list *ring, struct tt_list *item)
{
    item->prev = ring->prev;
    item->next = ring;
    ring->prev->next = item;
    ring->prev = item;
}

static inline void tt_ring_move(struct tt_list *ring, struct tt_list *item)
{
    tt_ring_take(item);
    tt_ring_add(ring, item);
}

/* ---- The types that wire.h declares ---- */

struct tt_wire {
    ucp_context_h context;
    _Atomic bool left; /* a worker of this wire was not destroyed (ucx-link.c) */
    bool reaches;      /* UCX may read and write registered memory, here and at peers */
    int64_t delay_us;  /* TUTTI_FAULT=delay=US: each operation is delayed by up to this time */
};

struct tt_wire_region {
    struct tt_wire *wire;
    ucp_mem_h memory;
};

struct tt_wire_key {
    ucp_rkey_h key;
    struct tt_link *link;
};

/* The sockets of a port whose peers did not answer at the last check. */
struct tt_ucx_watch {
    /* times of the next and of the last check; last_ms 0: there was none */
    int64_t next_ms, last_ms;
    struct tt_ucx_stuck {
        uint64_t inode;
        int64_t since_ms, seen_ms; /* when the socket was first, and last, found stuck */
    } * stuck;
    /* n of `room` records are in use; next: the record with which the next search begins */
    size_t n, room, next;
};

struct tt_port {
    struct tt_wire *wire;
    ucp_worker_h worker;
    struct tt_ucx_order *order;
    uint64_t pass; /* packets to this port without this number are refused: ucx-order.h */
    struct tt_list links, completed;
    unsigned advances;
    /* the worker's epoll set: the wake descriptor of the port, and the way to find the worker's
     * sockets */
    int descriptor;
    struct tt_ucx_watch watch;
    bool failed;            /* a link failed while operations were under way on it */
    bool drained;           /* when last checked, UCX had nothing waiting to be sent */
    ucs_status_ptr_t drain; /* a flush of the worker; NULL: none */
    /* A link needs the next advance: it has failed, has puts to flush, or can be freed. */
    bool stirred;
    struct tt_random random;
};

struct tt_link {
    struct tt_list ring; /* in the list of its port */
    struct tt_port *port;
    ucp_ep_h endpoint;   /* NULL once UCX has closed it */
    void *close_request; /* UCX's request to close the endpoint, while it exists */
    tt_wire_lost_fn *lost;
    void *arg;
    uint64_t origin;  /* a random number by which receivers distinguish links */
    uint64_t pass;    /* pass of the other port */
    uint32_t number;  /* number of the next packet */
    ucs_status_t why; /* why the link failed */
    ucs_status_t end; /* how the closing of the endpoint ended */
    /* failed: nothing more can be started. dropped: the user has closed it. notified: `lost` was
     * called or must not be called. closing: UCX was asked to close the endpoint. flushing: a flush
     * is under way. */
    bool failed, dropped, notified, closing, flushing;
    struct tt_list under_way, unflushed, in_flush;
    int keys; /* number of open keys */
};

/* UCX must accept headers of this many bytes: struct tt_packet_head, which this wire puts before
 * the head of a packet, and the longest head. UCX reads the bytes of a packet, and the list of its
 * parts, until it has sent the packet, so struct tt_wire_part has the form of ucp_dt_iov_t. */
enum { TT_UCX_HEAD = TT_WIRE_BEFORE + TT_WIRE_HEAD };
_Static_assert(sizeof(struct tt_packet_head) == TT_WIRE_BEFORE, "stands before the head");
_Static_assert(sizeof(struct tt_wire_part) == sizeof(ucp_dt_iov_t) &&
                   offsetof(struct tt_wire_part, bytes) == offsetof(ucp_dt_iov_t, length),
               "UCX reads the parts");

/* ---- ucx.c ---- */

/* Returns UNSUPPORTED, because the wire was opened for packets only (`open` without `reach`,
 * wire.h), and so it has no registered memory. */
__attribute__((cold)) tutti_status tt_ucx_no_reach(void);
/* Returns the bytes inside a frame of n bytes (length and checksum, which ucx.c adds to bytes that
 * UCX packed); there must be at least `least` of them. NULL: the frame is damaged (ARG), and
 * tutti_error() has the reason. `what` names the bytes in the error text. */
const void *tt_ucx_unframe(const char *what, const void *from, size_t n, size_t least);

/* Checks that enough descriptors are left. Errors: LIMIT (UCX might find no descriptor and take
 * that for the end of a peer). */
tutti_status tt_ucx_room(const char *doing);
/* Returns UCX's address inside the address of a port, and the port's pass in *pass; NULL: the
 * address is damaged (ARG), and tutti_error() has the reason. */
const void *tt_ucx_address_read(const void *address, size_t bytes, uint64_t *pass);

/* This lock is held while UCX reads the environment or this library changes it, because several
 * threads may do so at a time. */
extern pthread_mutex_t tt_ucx_environment;

/* Adds length and checksum to n bytes that UCX packed. Stores the result at to[most], and its
 * length in *bytes. `what` names the bytes in the error text. Errors: LIMIT (`most` is too low). */
tutti_status tt_ucx_frame(const char *what, const void *from, size_t n, void *to, size_t most,
                          size_t *bytes);
/* Shuts down connections whose peer has not answered for too long. */
void tt_ucx_watch(struct tt_port *port);

/* ---- ucx-link.c ---- */
tutti_status tt_ucx_port_open(struct tt_wire *wire, tt_wire_arrive_fn *arrive, void *arg,
                              struct tt_port **port);
bool tt_ucx_port_drain(struct tt_port *port);
bool tt_ucx_port_has_sent(struct tt_port *port);
void tt_ucx_port_close(struct tt_port *port);
tutti_status tt_ucx_port_address(struct tt_port *port, void *address, size_t *bytes);
int tt_ucx_port_advance(struct tt_port *port);
int tt_ucx_port_descriptor(struct tt_port *port);
tutti_status tt_ucx_port_arm(struct tt_port *port);
tutti_status tt_ucx_link_open(struct tt_port *port, const void *address, size_t bytes,
                              tt_wire_lost_fn *lost, void *arg, struct tt_link **link);
void tt_ucx_link_close(struct tt_link *link);
void tt_ucx_link_fail(struct tt_link *link);
bool tt_ucx_link_is_idle(const struct tt_link *link);
tutti_status tt_ucx_key_open(struct tt_link *link, const void *key, size_t bytes,
                             struct tt_wire_key **opened);
void tt_ucx_key_close(struct tt_wire_key *key);
/* Marks a link as failed: nothing is sent on it any more, and the next advance calls `lost`. */
void tt_ucx_link_fails(struct tt_link *link, ucs_status_t why);
/* Does the part of port_advance that concerns links: begins flushes, reports failures, and frees
 * links that have ended. Returns the number of events. */
int tt_ucx_links_settle(struct tt_port *port);
/* Prepares for destroying the worker: UCX requires that no request to close an endpoint exists at
 * that time. */
void tt_ucx_links_abandon(struct tt_port *port);
/* Frees all links in any state, when their worker is gone. Their operations complete with PEER. */
void tt_ucx_links_drop(struct tt_port *port);

tutti_status tt_ucx_send(struct tt_link *link, struct tt_wire_packet *packet, size_t head_bytes,
                         const void *data, size_t data_bytes);
tutti_status tt_ucx_get(struct tt_link *link, void *to, uint64_t from, struct tt_wire_key *key,
                        size_t bytes, struct tt_wire_op *op);
tutti_status tt_ucx_put(struct tt_link *link, uint64_t to, const void *from,
                        struct tt_wire_key *key, size_t bytes, struct tt_wire_op *op);
/* Calls `done` of all complete operations and returns their number. */
int tt_ucx_ops_done(struct tt_port *port);

#endif
