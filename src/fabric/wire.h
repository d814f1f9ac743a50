/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A network between the nodes of a job, as the message layer sees it.
 *
 *   wire   one per client: the network library and the memory registered with it
 *   port   one per context; one thread at a time advances it; its address is plain data
 *   link   a connection from a port to another port, which needs no link in the other direction
 *
 * The packets of a link arrive completely, once, and in the order of sending, or the link fails. No
 * function here blocks.
 *
 * A port has a pass, a random number that is part of its address and of each packet sent to it. The
 * port drops packets without its pass and does not look at the rest of them. So every process that
 * knows an address may send, and only processes of the job learn addresses. Nothing is encrypted:
 * someone who can listen to the network learns the passes, too.
 *
 * `arrive`, `done` and `lost` are called inside `advance` of the port (`done` also inside
 * port_drain and port_close), never one inside another. They may start operations and close
 * anything, but not advance or close the port. If a link fails, all operations on it complete with
 * PEER, once nobody reads or writes their buffers any more.
 */
#ifndef TT_WIRE_H
#define TT_WIRE_H

#include "base/base.h"

struct tt_wire;
struct tt_port;
struct tt_link;
struct tt_wire_op;
struct tt_wire_region; /* registered memory */
struct tt_wire_key;    /* registered memory of another process, as a link uses it */

/* The wire calls this function for each packet that arrives; head and data are valid during the
 * call. */
typedef void tt_wire_arrive_fn(void *arg, const void *head, size_t head_bytes, const void *data,
                               size_t data_bytes);
/* The wire calls this function with OK or PEER when an operation is complete. It does not use the
 * operation any more. */
typedef void tt_wire_done_fn(struct tt_wire_op *op, tutti_status status);
/* The wire calls this function once, when the process at the other end of a link is gone or its
 * node cannot be reached. Neither this function nor `done` of an operation finds a text about its
 * status in tutti_error(). */
typedef void tt_wire_lost_fn(void *arg, tutti_status status);

enum {
    TT_WIRE_ADDRESS = 1024, /* bytes of a port's address, at most */
    TT_WIRE_KEY = 448,      /* bytes of a packed key, at most */
    TT_WIRE_HEAD = 256,     /* bytes of a packet's head, at most */
    /* Bytes of data that a message layer should put into one packet, at most: each packet costs
     * both sides some system calls, and lies in a buffer of the receiver. */
    TT_WIRE_DATA = 256 << 10,
    TT_WIRE_BEFORE = 24 /* bytes that the network puts before the head */
};

struct tt_list {
    struct tt_list *prev, *next;
};

/* An operation on a link. It lies inside the record that the caller keeps of it, so that each
 * operation has one record. The caller sets `done`; the other members belong to the wire. */
struct tt_wire_op {
    struct tt_list ring;
    struct tt_link *link;
    tt_wire_done_fn *done;
    int awaits; /* events to wait for: the request, and for a put also the flush */
    tutti_status status;
};

/* A packet and the operation that sends it. The caller writes the head to bytes + TT_WIRE_BEFORE.
 * The network also uses the room after the head. */
struct tt_wire_packet {
    struct tt_wire_op op;
    struct tt_wire_part {
        void *memory;
        size_t bytes;
    } part[2];
    unsigned char bytes[TT_WIRE_BEFORE + TT_WIRE_HEAD + TT_LINE];
};

/* Functions that start an operation return OK if it is complete already (then `done` is not
 * called), AGAIN if `done` will be called, or an error (PEER, MEMORY, LIMIT, SYSTEM) if nothing was
 * started. The wire borrows the operation and the buffers until `done` is called. */
struct tt_wire_ops {
    const char *name;
    /* `reach`: registered memory is needed. If no network card gives access to the memory, the
     * network library reads and writes it in software, and does so for everybody who reaches this
     * process by the network and speaks the library's protocol. Without `reach` the library does
     * not do that, and map and key_open return UNSUPPORTED. Errors: UNSUPPORTED (the network
     * library is missing or too old; the text says which), MEMORY. */
    tutti_status (*open)(bool reach, struct tt_wire **wire);
    /* the ports and regions of the wire must be closed before */
    void (*close)(struct tt_wire *wire);
    /* Notifies the wire that all links will go to ranks under this kernel, in containers with
     * addresses of their own. So latency is small, and data should not lie in long queues. This
     * applies to all ports of this process that are opened from now on. Returns false if it was in
     * effect already. */
    bool (*set_one_kernel)(struct tt_wire *wire);

    /* Opens a port, which will call arrive(arg, ...) for each packet. */
    tutti_status (*port_open)(struct tt_wire *wire, tt_wire_arrive_fn *arrive, void *arg,
                              struct tt_port **port);
    /* Advances a port whose links are closed, and receives no more packets. True: there is nothing
     * left to wait for. A port that is closed before port_drain has returned true may cut
     * connections that its peers are still setting up. If a process has several ports, peers may
     * wait for any of them: call port_drain for each port once, and repeat this until it has
     * returned true for all of them. */
    bool (*port_drain)(struct tt_port *port);
    /* the links of the port must be closed before; does not wait */
    void (*port_close)(struct tt_port *port);
    /* Stores the port's address in address[TT_WIRE_ADDRESS] and its length in *bytes. Errors: LIMIT
     * (the address is too long), MEMORY, SYSTEM. */
    tutti_status (*port_address)(struct tt_port *port, void *address, size_t *bytes);
    /* Returns the number of events. */
    int (*port_advance)(struct tt_port *port);
    /* Returns whether all that was sent over the port has left this process: the system or the
     * network card has it. If not, advance the port, and ask again. Returns true also in two other
     * cases: the network library cannot say whether all has left; or a link has failed while
     * operations were under way, so packets that still wait for this link are never sent. */
    bool (*port_has_sent)(struct tt_port *port);
    /* port_descriptor returns a descriptor that becomes readable when something arrives, after
     * port_arm has returned OK. port_arm returns AGAIN if something has arrived already: advance
     * the port first. */
    int (*port_descriptor)(struct tt_port *port);
    tutti_status (*port_arm)(struct tt_port *port);

    /* Opens a link to the port with this address; calls lost(arg, status) if the link fails. Does
     * not wait for the peer. Errors: ARG (no valid address), PEER (no network reaches it), MEMORY,
     * LIMIT, SYSTEM. */
    tutti_status (*link_open)(struct tt_port *port, const void *address, size_t bytes,
                              tt_wire_lost_fn *lost, void *arg, struct tt_link **link);
    /* Gives the link to the wire: `lost` is not called any more. The keys of the link must be
     * closed before. Operations under way complete while the port is advanced or drained, as if
     * nothing had been closed, or with PEER if the link fails. Closing the port completes all
     * remaining operations with PEER. */
    void (*link_close)(struct tt_link *link);
    /* Makes the link fail, as if the wire had noticed that the peer is gone. The next advance calls
     * `lost`, and the operations under way complete with PEER. */
    void (*link_fail)(struct tt_link *link);
    /* Returns whether nothing is under way on the link and none of its keys is open. */
    bool (*link_is_idle)(const struct tt_link *link);

    /* Sends a packet; head_bytes <= TT_WIRE_HEAD. */
    tutti_status (*send)(struct tt_link *link, struct tt_wire_packet *packet, size_t head_bytes,
                         const void *data, size_t data_bytes);

    /* Registers memory, so that peers can access it with a key. Errors: UNSUPPORTED, MEMORY, PEER,
     * SYSTEM. */
    tutti_status (*map)(struct tt_wire *wire, void *memory, size_t bytes,
                        struct tt_wire_region **region);
    /* no operation on this memory may be under way, here or at a peer */
    void (*unmap)(struct tt_wire_region *region);
    /* Stores the key of registered memory in key[TT_WIRE_KEY] and its length in *bytes. Errors: as
     * for port_address. */
    tutti_status (*pack)(struct tt_wire_region *region, void *key, size_t *bytes);
    /* Makes a peer's key usable on a link. Errors: UNSUPPORTED, ARG (no valid key), PEER (the link
     * has failed), MEMORY, SYSTEM. */
    tutti_status (*key_open)(struct tt_link *link, const void *key, size_t bytes,
                             struct tt_wire_key **opened);
    void (*key_close)(struct tt_wire_key *key);
    /* `done` is called when the bytes of a get have arrived here, and when those of a put are in
     * place at the peer. */
    tutti_status (*get)(struct tt_link *link, void *to, uint64_t from, struct tt_wire_key *key,
                        size_t bytes, struct tt_wire_op *op);
    tutti_status (*put)(struct tt_link *link, uint64_t to, const void *from,
                        struct tt_wire_key *key, size_t bytes, struct tt_wire_op *op);
};

/* UCX's UCP; it is loaded at the first `open`. If Tutti was built without UCX, `open` returns
 * UNSUPPORTED with that reason. */
extern const struct tt_wire_ops tt_wire_ucx;
/* Returns a text such as "1.13.1 (libucp.so.0)", which stays valid. Errors: UNSUPPORTED, with the
 * reason. Any thread. */
tutti_status tt_wire_ucx_version(const char **version);

#endif
