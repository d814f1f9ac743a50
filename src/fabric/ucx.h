/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wire over UCX's UCP: what its files share. ucx-load.c finds the library, ucx-wire.c has its
 * context and registered memory, ucx-port.c its workers, ucx-link.c its endpoints, ucx-send.c what
 * goes over them; ucx-order.c keeps packets in order.
 *
 * A link owns its operations, each in exactly one ring:
 *
 *     link->under_way   UCX has a request for it
 *     link->unflushed   a put that no flush serves yet
 *     link->in_flush    a put that the flush under way serves
 *     port->completed   over: `done` is called by the port's next advance
 *     port->idle        free for the next one
 *
 * UCX calls back from wherever it likes; what it calls only moves operations and links between
 * rings, and advance calls the user's functions from one place. So they may call everything but
 * port_advance and port_close.
 */
#ifndef TT_UCX_H
#define TT_UCX_H

#include <pthread.h>
#include <stdatomic.h>
#include <ucp/api/ucp.h>

#include "fabric/ucx-order.h"
#include "fabric/wire.h"

/* The least version that has all of what follows as it is used here. */
enum { TT_UCX_MAJOR = 1, TT_UCX_MINOR = 12 };

/* Every function of UCX that is used. */
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
/* Filled once tt_ucx_load returned OK, and never emptied. */
extern struct tt_ucx_api tt_ucx;

/* Loads the library at the first call, of whichever thread; later ones tell the same. UNSUPPORTED
 * with the reason. */
tutti_status tt_ucx_load(void);

/* An error of UCX as one of ours: MEMORY, PEER or SYSTEM, with its text and what was being done. */
__attribute__((cold)) tutti_status tt_ucx_fail(ucs_status_t status, const char *doing);

/* ---- Rings ---- */

struct tt_ring {
    struct tt_ring *prev, *next;
};

static inline void tt_ring_init(struct tt_ring *ring)
{
    ring->prev = ring->next = ring;
}

static inline bool tt_ring_empty(const struct tt_ring *ring)
{
    return ring->next == ring;
}

static inline void tt_ring_take(struct tt_ring *item)
{
    item->prev->next = item->next;
    item->next->prev = item->prev;
}

static inline void tt_ring_add(struct tt_ring *ring, struct tt_ring *item)
{
    item->prev = ring->prev;
    item->next = ring;
    ring->prev->next = item;
    ring->prev = item;
}

static inline void tt_ring_move(struct tt_ring *ring, struct tt_ring *item)
{
    tt_ring_take(item);
    tt_ring_add(ring, item);
}

/* ---- What is behind the names of wire.h ---- */

struct tt_wire {
    ucp_context_h context;
    _Atomic bool left; /* a worker of it is */
    bool reaches;      /* UCX reads and writes registered memory, here and there */
    int64_t delay_us;  /* TUTTI_FAULT=delay=US: each operation is begun so much later, at most */
};

struct tt_wire_region {
    struct tt_wire *wire;
    ucp_mem_h memory;
};

struct tt_wire_key {
    ucp_rkey_h key;
    struct tt_link *link;
};

/* A port's sockets that had no answer when they were looked at last. */
struct tt_ucx_watch {
    int64_t next_ms, last_ms; /* when to look again; when last; 0: never looked */
    struct tt_ucx_stuck {
        uint64_t inode;
        int64_t since_ms, seen_ms; /* it was found stuck first, and last */
    } * stuck;
    size_t n, room, next; /* `next`: where to look for one first */
};

struct tt_port {
    struct tt_wire *wire;
    ucp_worker_h worker;
    struct tt_order *order;
    uint64_t pass; /* a packet without it is not for us: ucx-order.h */
    struct tt_ring links, idle, completed, chunks;
    unsigned advances;
    int descriptor; /* of the worker's set of epoll: its wake-up, and by it its sockets */
    struct tt_ucx_watch watch;
    bool failed;            /* some link did, on which something was under way */
    bool drained;           /* nothing of UCX's waited to be sent when this was last looked for */
    ucs_status_ptr_t drain; /* a flush of the worker; NULL: none */
    /* A link has something for the next advance: it failed, is to be flushed, or can be freed. */
    bool stirred;
    struct tt_random random;
};

struct tt_link {
    struct tt_ring ring; /* of its port */
    struct tt_port *port;
    ucp_ep_h endpoint;   /* NULL once UCX has closed it */
    void *close_request; /* of UCX, while it does */
    tt_wire_lost_fn *lost;
    void *arg;
    uint64_t origin;  /* by which receivers tell links apart */
    uint64_t pass;    /* the other port's */
    uint32_t number;  /* of the next packet */
    ucs_status_t why; /* it failed */
    ucs_status_t end; /* how the closing of the endpoint ended */
    /* failed: nothing more can be begun. dropped: the user has closed it. told: `lost` was called
     * or is not to be. closing: UCX was asked to close the endpoint. flushing: a flush is under
     * way. */
    bool failed, dropped, told, closing, flushing;
    struct tt_ring under_way, unflushed, in_flush;
    int keys; /* open */
};

enum { TT_UCX_HEAD = sizeof(struct tt_packet_head) + TT_WIRE_HEAD };

struct tt_ucx_op {
    struct tt_ring ring;
    struct tt_link *link;
    tt_wire_done_fn *done;
    void *arg;
    int awaits; /* events: the request, and of a put the flush */
    tutti_status status;
    /* UCX borrows a packet until it is sent: its header with the gap behind it, and the parts that
     * it is sent from. */
    unsigned char head[TT_UCX_HEAD + TT_LINE];
    ucp_dt_iov_t part[2];
};

/* ---- ucx-wire.c ---- */
tutti_status tt_ucx_open(bool reach, struct tt_wire **wire);
void tt_ucx_close(struct tt_wire *wire);
bool tt_ucx_near(struct tt_wire *wire);
/* Held while UCX reads the environment, which may change meanwhile otherwise. */
extern pthread_mutex_t tt_ucx_environment;
tutti_status tt_ucx_map(struct tt_wire *wire, void *memory, size_t bytes,
                        struct tt_wire_region **region);
void tt_ucx_unmap(struct tt_wire_region *region);
/* UNSUPPORTED: the wire was opened for packets only. */
__attribute__((cold)) tutti_status tt_ucx_no_reach(void);
tutti_status tt_ucx_pack(struct tt_wire_region *region, void *key, size_t *bytes);
/* Frames bytes that UCX packed with their length and a check sum: UCX reads such bytes without
 * knowing how many there are. */
tutti_status tt_ucx_frame(const char *what, const void *from, size_t n, void *to, size_t most,
                          size_t *bytes);
/* Returns the bytes inside a frame, `least` or more; NULL: ARG, and tutti_error() has the
 * reason. */
const void *tt_ucx_unframe(const char *what, const void *from, size_t n, size_t least);

/* How long a peer may be silent: TUTTI_PEER_TIMEOUT, 2 seconds to an hour. */
int64_t tt_ucx_patience_ms(void);

/* ---- ucx-socket.c ---- */
enum {
    TT_UCX_NEVER_MS = 0x7fffff00
}; /* 24 days: TCP_USER_TIMEOUT of each socket that was looked at */
/* Ends connections whose peer has answered nothing for too long. Looks at the clock, and seldom at
 * more. */
void tt_ucx_watch(struct tt_port *port);
/* LIMIT where so few descriptors are left that UCX might fail: it would take that for a peer's
 * end. */
tutti_status tt_ucx_room(const char *doing);
/* The sockets in a set of epoll and the sets within it. */
typedef void tt_ucx_socket_fn(int fd, uint64_t inode, void *arg);
void tt_ucx_each_socket(int set, tt_ucx_socket_fn *fn, void *arg);

/* ---- ucx-port.c ---- */
tutti_status tt_ucx_port_open(struct tt_wire *wire, tt_wire_arrive_fn *arrive, void *arg,
                              struct tt_port **port);
bool tt_ucx_port_drain(struct tt_port *port);
void tt_ucx_port_close(struct tt_port *port);
tutti_status tt_ucx_port_address(struct tt_port *port, void *address, size_t *bytes);
/* Returns UCX's address inside such an address, and the port's pass in *pass; NULL: ARG, and
 * tutti_error() has the reason. */
const void *tt_ucx_address_read(const void *address, size_t bytes, uint64_t *pass);
int tt_ucx_port_advance(struct tt_port *port);
int tt_ucx_port_descriptor(struct tt_port *port);
tutti_status tt_ucx_port_arm(struct tt_port *port);

/* ---- ucx-link.c ---- */
tutti_status tt_ucx_link_open(struct tt_port *port, const void *address, size_t bytes,
                              tt_wire_lost_fn *lost, void *arg, struct tt_link **link);
void tt_ucx_link_close(struct tt_link *link);
void tt_ucx_link_fail(struct tt_link *link);
bool tt_ucx_link_is_idle(const struct tt_link *link);
tutti_status tt_ucx_key_open(struct tt_link *link, const void *key, size_t bytes,
                             struct tt_wire_key **opened);
void tt_ucx_key_close(struct tt_wire_key *key);
/* Nothing goes over it any more; the next advance tells. */
void tt_ucx_link_fails(struct tt_link *link, ucs_status_t why);
/* A part of advance: begins flushes, reports failures, and frees links that have ended. Returns the
 * number of events. */
int tt_ucx_links_settle(struct tt_port *port);
/* Prepares for the end of the worker: UCX insists that nobody waits for an endpoint to close
 * then. */
void tt_ucx_links_abandon(struct tt_port *port);
/* Frees the links, whatever their state, once their worker is gone; their operations are completed
 * with PEER. */
void tt_ucx_links_drop(struct tt_port *port);

/* ---- ucx-send.c ---- */
tutti_status tt_ucx_send(struct tt_link *link, const void *head, size_t head_bytes,
                         const void *data, size_t data_bytes, tt_wire_done_fn *done, void *arg);
tutti_status tt_ucx_get(struct tt_link *link, void *to, uint64_t from, struct tt_wire_key *key,
                        size_t bytes, tt_wire_done_fn *done, void *arg);
tutti_status tt_ucx_put(struct tt_link *link, uint64_t to, const void *from,
                        struct tt_wire_key *key, size_t bytes, tt_wire_done_fn *done, void *arg);
/* One of those that an operation awaits has happened. */
void tt_ucx_op_event(struct tt_ucx_op *op, ucs_status_t status);
/* All of a ring: the flush that served them is over, or they are given up. */
void tt_ucx_ops_event(struct tt_ring *ring, ucs_status_t status);
void tt_ucx_flush(struct tt_link *link);
/* Calls `done` of what is over; returns of how many. */
int tt_ucx_ops_done(struct tt_port *port);
void tt_ucx_ops_free(struct tt_port *port);

#endif
