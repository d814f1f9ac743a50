/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages from one rank to another, in order: a ring in shared memory with one writer and one
 * reader.
 *
 * There is one channel for each (sender, receiver, slot, lane), so the messages in it belong to one
 * lane of one execution and both sides know from their plans what comes, how long it is, and in
 * which order: nothing is matched, nothing comes unexpected. The length travels before each message
 * all the same: ranks whose calls do not match must be told, not be given another's bytes.
 *
 *   eager        the bytes go through the ring, piece by piece if they are more than fit; the
 *                send is complete when the last piece is in
 *   rendezvous   the address goes through the ring, the receiver reads from there, and the send is
 *                complete when the receiver has gone past it
 *
 * Which of the two depends on the length and the fabric alone, so both sides know. Where the system
 * forbids the receiver to read after all, the plan stays the same: it has the bytes sent
 * (run/served.c).
 *
 * Why it is right: `head` is written by the sender only and `tail` by the receiver only, both with
 * release after the bytes they speak of were written or read, and read by the other with acquire;
 * the sender writes only to [head, tail + bytes), the receiver reads only [tail, head).
 */
#ifndef TT_CHANNEL_H
#define TT_CHANNEL_H

#include "fabric/fabric.h"

/* What is sent and received, at one side. */
struct tt_message {
    struct tt_message *next;
    char *at; /* the next byte to move */
    int64_t left;
    uint64_t end; /* sender: complete when the reader has passed this */
    bool rendezvous;
    bool headed; /* the length has gone, or come */
    bool complete;
    /* Receiver, where the system forbids reading: whoever owns the end asks the sender for what
     * lies at `from`, sets that to 0, and `lacking` when it is there. */
    bool asked_for;
    int lacking;
    tt_address from;
};

struct tt_ring {
    _Alignas(TT_LINE) _Atomic uint64_t head;
    _Alignas(TT_LINE) _Atomic uint64_t tail;
    _Alignas(TT_LINE) char data[];
};

/* One side. Invariants: position is head (sender) or tail (receiver); messages complete in
 * order. */
struct tt_end {
    struct tt_ring *ring;    /* NULL: not made yet, or not found yet */
    _Atomic uint64_t *place; /* where the ring's offset in the segment is told; 0: not yet */
    uint64_t position;
    int peer; /* in the job */
    bool sending;
    bool listed;                  /* in a list of ends with messages */
    const _Atomic uint64_t *told; /* what the peer says that it runs ... */
    uint64_t mark;                /* ... which must be this */
    struct tt_message *first, *last;
    struct tt_message *unsent; /* sender: the first that is not wholly in the ring */
    struct tt_end *next;
};

void tt_end_init(struct tt_end *end, bool sending, int peer, _Atomic uint64_t *place);
/* Appends a message of len > 0 bytes; nothing moves before tt_end_advance. */
void tt_end_post(struct tt_fabric *f, struct tt_end *end, struct tt_message *m, void *memory,
                 int64_t len);
/* Moves what can be moved without waiting. Errors: those of the fabric's read; MEMORY, LIMIT when a
 * ring is made; MISMATCH when the other side runs something else, before any of it is moved. */
tutti_status tt_end_advance(struct tt_fabric *f, struct tt_end *end);

#endif
