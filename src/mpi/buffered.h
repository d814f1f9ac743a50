/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that need room in a buffer of the program (MPI_Buffer_attach, MPI_Bsend).
 *
 * The host (the program's MPI) frees the room of a message in the buffer when its sender has
 * received the acknowledgement that the receiver has the message. A program may rely on this having
 * happened after a collective, and give its buffer just enough room for the messages between two
 * collectives. After a collective of the host it has happened, because the host delivers what it
 * sends from one rank to another in order: the messages of its collective arrive after the
 * acknowledgements. After a collective that Tutti does, it may not have happened, for two reasons:
 *
 *  1. The acknowledgements have arrived, but the sender has not called the host, which would handle
 *     them. So, while the program has a buffer, a sender calls the host's progress after each
 *     collective that Tutti does.
 *  2. The receiver has not sent the acknowledgements. UCX, over which MPICH moves its data, writes
 *     them into a queue of 64 places in the memory of the sender. If the sender does not run for a
 *     while, the queue is full, and the receiver keeps further acknowledgements until it calls the
 *     host again. The sender cannot do anything to receive these acknowledgements.
 *
 * Because of the second reason, each rank publishes whether it has a buffer. Before a collective
 * that Tutti does, a rank sends an empty message of the host to each other member that has a
 * buffer, and waits until the host has sent the message; the acknowledgements before this message
 * are then sent, too. A rank with a buffer receives these empty messages when it calls the host's
 * progress. A program without such buffers pays only one load for each call.
 *
 * A rank that attaches a buffer writes a byte that says so into the memory of all other ranks of
 * its node. They see this byte before they receive a message that needs room in the buffer. Between
 * nodes there is no such queue, and this file deals only with reason 1. So if the system has no
 * room for an acknowledgement to another node, the acknowledgement stays with the receiver until
 * the receiver calls the host, and the sender may find its buffer full meanwhile.
 *
 * Only hosts whose progress cannot call Tutti (MPICH) need this.
 */
#ifndef TT_MPI_BUFFERED_H
#define TT_MPI_BUFFERED_H

#include "mpi/host.h"

/* Allocates the memory into which other ranks write. `own`: a communicator with all ranks of the
 * world, which the program does not know, so that it carries no messages but those of buffered.c.
 * `node`: a number that is equal on ranks of one node. Returns NULL, or a text that says why it
 * fails. Local. */
#define tt_mpi_buffered_open TT_MPI_OWN(buffered_open)
const char *tt_mpi_buffered_open(tutti_client *client, MPI_Comm own, uint64_t node);
/* Lets the ranks of each node write into each other's memory, after each has called
 * tt_mpi_buffered_open. A rank that could not allocate its memory does not learn of the buffers of
 * other ranks. Collective over the world. */
#define tt_mpi_buffered_meet TT_MPI_OWN(buffered_meet)
void tt_mpi_buffered_meet(void);
/* Frees what tt_mpi_buffered_open has made, except for the memory that the client owns. The client
 * must still exist. */
#define tt_mpi_buffered_close TT_MPI_OWN(buffered_close)
void tt_mpi_buffered_close(void);
/* Publishes to all ranks of this node whether this rank has a buffer from now on. */
#define tt_mpi_buffered_set TT_MPI_OWN(buffered_set)
void tt_mpi_buffered_set(bool has);

/* Byte 0 says whether any other rank of this node ever had a buffer, and byte 1 + r whether rank r
 * has one now. Other ranks write these bytes. NULL: no rank writes them. */
#define tt_mpi_buffers TT_MPI_OWN(buffers)
extern unsigned char *tt_mpi_buffers;
static inline bool tt_mpi_buffers_are(void)
{
    return tt_mpi_buffers && __atomic_load_n(&tt_mpi_buffers[0], __ATOMIC_ACQUIRE);
}
/* Makes the host send the acknowledgements that this rank still keeps for those of n members that
 * have buffers. `members`: the members' ranks in the world; NULL: 0, 1, 2 ... */
#define tt_mpi_buffered_hand_over TT_MPI_OWN(buffered_hand_over)
void tt_mpi_buffered_hand_over(int n, const int *members);

#endif
