/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages from one rank to another in order. There is one channel for each (sender, receiver,
 * slot, lane). All messages in it therefore belong to one lane of one execution at a time, and both
 * sides know from their plans which messages come, how long they are and in which order. So the
 * message that comes next belongs to the recv that was posted first, and no tag has to be compared.
 *
 * From another node a message comes in a packet that names its execution and lane, and remote.c
 * gives it to the first recv of the receiver's end (tt_end_take). Within a node the channel is a
 * byte ring in shared memory with one writer and one reader. Both sides know the length, and yet it
 * travels with each message: if the calls of the two ranks do not match, the receiver must return
 * an error and not deliver the bytes of another message. A message goes through the ring in one of
 * two ways:
 *
 *   eager        The bytes go through the ring, in several parts if they do not fit at once. The
 *                send is complete when the last part is in the ring.
 *   rendezvous   The address of the data goes through the ring, and the receiver reads the data
 *                from that address. The send is complete when the receiver has read the data and
 *                has moved `tail` past the address.
 *
 * The length and the fabric alone decide which of the two ways is used, so both sides know it. If
 * the system turns out to forbid the receiver to read the data, the message stays a rendezvous: the
 * receiver asks the sender to send the bytes (run/served.c).
 *
 * Why the ring is right: only the sender writes `head` and only the receiver writes `tail`, each
 * with a release store after it wrote or read the bytes that the new value covers. The opposite
 * side loads the value with acquire. The sender writes only to [head, tail + bytes); the receiver
 * reads only [tail, head).
 *
 * A team has many channels, and most of them carry short messages only. So the first ring of a
 * channel is just large enough for a few messages like the first one, and the sender continues in
 * a larger ring when a longer message comes, or when many have passed. It does so only while the
 * ring is empty: it makes the new ring, with `head` and `tail` at its position, and stores the
 * ring's offset in `next` of the old one, with release. A receiver that finds no byte in its ring
 * looks at `next`.
 *
 * Why no byte is lost: the sender moves to the next ring only after it has loaded a `tail` that is
 * equal to its `head`. Then the receiver has taken all bytes of the old ring, and has stored its
 * position. The sender never writes to the old ring again, so a receiver that finds `next` set has
 * nothing left to read there, and both go on at the same position.
 */
#ifndef TT_CHANNEL_H
#define TT_CHANNEL_H

#include "fabric/fabric.h"

/* A message as one of the two sides sees it. */
struct tt_message {
    struct tt_message *next;
    char *at; /* the next byte to move */
    int64_t left;
    /* sender: the message is complete when the receiver's position (`tail`) reaches this value */
    uint64_t end;
    bool rendezvous;
    bool headed; /* the length was sent or received */
    bool complete;
    int peer; /* if the execution is traced: the other side's rank in the team */
    /* For a receiver that the system forbids to read the data of a rendezvous: `asked_for` is set,
     * and the execution asks the sender for the data (served.c). `from`: the address of the data
     * until the sender is asked, then 0. `lacking`: 1 until the data have arrived, then 0. */
    bool asked_for;
    int lacking;
    tt_address from;
};

struct tt_byte_ring {
    _Alignas(TT_LINE) _Atomic uint64_t head;
    _Atomic uint64_t next; /* offset of the ring in which the channel continues; 0: none */
    int64_t bytes;         /* the size of `data`, a power of two */
    _Alignas(TT_LINE) _Atomic uint64_t tail;
    _Alignas(TT_LINE) char data[];
};

/* One side of a channel. An end is all zero at first; its owner sets `place`, `peer` and `sending`
 * before it advances the end. Invariants (tt_end_valid, between calls that succeed): `position`
 * equals head (sender) or tail (receiver); messages complete in order, so no message in the list is
 * complete. */
struct tt_end {
    struct tt_byte_ring *ring; /* NULL: not made yet (sender) or not found yet (receiver) */
    int64_t bytes;             /* ring->bytes */
    /* the word that holds the first ring's offset in the segment, or 0 while it is not made */
    _Atomic uint64_t *place;
    uint64_t position;
    int peer; /* rank in the job */
    bool sending;
    bool remote;  /* the peer is on another node: there is no ring, and the end is never advanced */
    bool listed;  /* the end is in a list of ends that have messages */
    uint8_t lane; /* the lane of the plan to which the channel belongs; unused if `remote` */
    /* receiver: the word in which the peer publishes the call that it runs; NULL: no check */
    const _Atomic uint64_t *shape;
    uint64_t mark; /* receiver: the value that `shape` must have */
    struct tt_message *first, *last;
    struct tt_message *unsent; /* sender: the first message that is not wholly in the ring */
    struct tt_end *next;
};

bool tt_end_valid(const struct tt_end *end);

/* Appends a message of len > 0 bytes to the queue of this end, and the end to a list of ends that
 * have messages, unless it is in the list already. Moves no bytes. */
void tt_end_post(struct tt_end *end, struct tt_message *m, void *memory, int64_t len,
                 struct tt_end **list);
/* Takes the first message off the queue of this end. NULL: the queue is empty. */
struct tt_message *tt_end_take(struct tt_end *end);

#endif
