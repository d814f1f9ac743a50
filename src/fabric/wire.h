/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A network between the machines of a job, as the message layer sees it.
 *
 *   wire   of a client: the library behind it and its registered memory
 *   port   of a context: what is advanced, by one thread at a time; its address is plain data
 *   link   from a port to another one, which need not know of it
 *
 * Packets of a link arrive whole, once, and in the order of sending, or the link fails. Nothing
 * here blocks.
 *
 * A port has a pass, a random number that is part of its address and of each packet to it; packets
 * without it are dropped unread. So whoever is told addresses may send, and they are told to the
 * processes of the job only. Nothing is encrypted: who can listen to the network learns passes too.
 *
 * `arrive`, `done` and `lost` are called inside `advance` of the port (`done` also in port_drain
 * and port_close), never one inside another, and may begin and close whatever they like but advance
 * and close the port. A link that failed completes everything that was under way on it with PEER,
 * once nobody reads or writes its buffers any more.
 */
#ifndef TT_WIRE_H
#define TT_WIRE_H

#include "base/base.h"

struct tt_wire;
struct tt_port;
struct tt_link;
struct tt_wire_region; /* registered memory */
struct tt_wire_key;    /* the same, of another process, as a link uses it */

/* A packet has come: valid during the call. */
typedef void tt_wire_arrive_fn(void *arg, const void *head, size_t head_bytes, const void *data,
                               size_t data_bytes);
typedef void tt_wire_done_fn(void *arg, tutti_status status);
/* The process behind a link is gone, or its machine cannot be reached. Called once. */
typedef void tt_wire_lost_fn(void *arg, tutti_status status);

enum {
    TT_WIRE_ADDRESS = 1024, /* bytes of a port's address, at most */
    TT_WIRE_KEY = 448,      /* of a packed key */
    TT_WIRE_HEAD = 256,     /* of a packet's head */
    /* The bytes of data in a packet at which a message layer should cut: each packet costs both
     * sides some system calls, and lies in a buffer of the receiver. */
    TT_WIRE_DATA = 256 << 10
};

/* Starting functions return OK when all is done already (then `done` is not called), AGAIN when
 * `done` will be called, or an error (PEER, MEMORY, LIMIT, SYSTEM) with nothing started. Buffers
 * are borrowed until then; `head` is copied. */
struct tt_wire_ops {
    const char *name;
    /* UNSUPPORTED, saying what is missing or too old, where the library behind it is not to be had.
     * `reach`: registered memory is wanted. Where no network card is behind it the library reads
     * and writes memory in software, then for anybody who reaches this process by the network and
     * speaks the library's language; without `reach` it does not, and map and key_open return
     * UNSUPPORTED. */
    tutti_status (*open)(bool reach, struct tt_wire **wire);
    void (*close)(struct tt_wire *wire); /* its ports and regions are closed before */
    /* All that links will go to run under this kernel, in containers with addresses of their own:
     * the way is short, and what is sent need not lie in long queues. True: this holds for ports
     * that are opened from now on, of all wires of the process; false: it held before. */
    bool (*near)(struct tt_wire *wire);

    tutti_status (*port_open)(struct tt_wire *wire, tt_wire_arrive_fn *arrive, void *arg,
                              struct tt_port **port);
    /* Advances a port whose links are closed, taking nothing more of what comes. True: nothing is
     * left to wait for. Whoever closes a port before leaves peers with connections that are cut in
     * the middle; ports of one process that peers wait for are drained in turn. */
    bool (*port_drain)(struct tt_port *port);
    void (*port_close)(struct tt_port *port); /* its links are closed before; at once */
    tutti_status (*port_address)(struct tt_port *port, void *address, size_t *bytes);
    /* How many things happened. */
    int (*port_advance)(struct tt_port *port);
    /* A descriptor that becomes readable when something comes, after `arm` returned OK (AGAIN:
     * something came: advance). */
    int (*port_descriptor)(struct tt_port *port);
    tutti_status (*port_arm)(struct tt_port *port);

    tutti_status (*link_open)(struct tt_port *port, const void *address, size_t bytes,
                              tt_wire_lost_fn *lost, void *arg, struct tt_link **link);
    /* The link is the wire's from here on: `lost` is not called any more. Its keys are closed
     * before. What is under way is completed as the port is advanced or drained, as if nothing had
     * been closed, or with PEER if the link fails; what then is left when the port is closed, with
     * PEER by that. */
    void (*link_close)(struct tt_link *link);
    /* Somebody else knows that the peer is gone: as if that had been noticed here. The next advance
     * calls `lost`, and what is under way is completed with PEER. */
    void (*link_fail)(struct tt_link *link);
    /* Nothing is under way on it, and no key of it is open. */
    bool (*link_is_idle)(const struct tt_link *link);

    tutti_status (*send)(struct tt_link *link, const void *head, size_t head_bytes,
                         const void *data, size_t data_bytes, tt_wire_done_fn *done, void *arg);

    tutti_status (*map)(struct tt_wire *wire, void *memory, size_t bytes,
                        struct tt_wire_region **region);
    void (*unmap)(struct tt_wire_region *region); /* nothing of it is under way here or there */
    tutti_status (*pack)(struct tt_wire_region *region, void *key, size_t *bytes);
    tutti_status (*key_open)(struct tt_link *link, const void *key, size_t bytes,
                             struct tt_wire_key **opened);
    void (*key_close)(struct tt_wire_key *key);
    /* done: the bytes are here; in place there. */
    tutti_status (*get)(struct tt_link *link, void *to, uint64_t from, struct tt_wire_key *key,
                        size_t bytes, tt_wire_done_fn *done, void *arg);
    tutti_status (*put)(struct tt_link *link, uint64_t to, const void *from,
                        struct tt_wire_key *key, size_t bytes, tt_wire_done_fn *done, void *arg);
};

/* UCX's UCP, loaded when first opened. Without UCX at build time its `open` says so. */
extern const struct tt_wire_ops tt_wire_ucx;
/* "1.13.1 (libucp.so.0)", kept for ever; or UNSUPPORTED with the reason. Any thread. */
tutti_status tt_wire_ucx_version(const char **version);

#endif
