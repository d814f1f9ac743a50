/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that need room in a buffer of the program (MPI_Buffer_attach, MPI_Bsend).
 *
 * The host frees the room of a message when the news has come that the receiver has the message.
 * A program may rely on it that this has happened behind a collective, and give its buffer just
 * enough room for the messages between two collectives. Behind a collective of the host it has
 * happened, because the host delivers what it sends from one rank to another in order: the messages
 * of its collective come behind the news. Behind one of Tutti's it need not have, for two reasons:
 *
 *  1. The news have come, but the sender has not looked. So it looks after each collective that
 *     Tutti does, while the program has a buffer.
 *  2. The receiver has not sent the news. UCX, over which MPICH moves its data, writes news into a
 *     queue of 64 places in the memory of the sender. If the sender does not run for a while, the
 *     queue is full, and the receiver keeps the other news until it is in the host again. Nothing
 *     that the sender does would bring them.
 *
 * Because of the second reason, each rank lets the others know whether it has a buffer. Before a
 * collective that Tutti does, a rank sends an empty message of the host to each other member that
 * has one, and waits until it is on its way; then the news before it are, too. A rank with a buffer
 * receives these messages when it looks. So this costs a program without such buffers one load for
 * each call.
 *
 * A rank that attaches a buffer writes that into the memory of the others, and they see it before
 * they receive a message that needs room in it.
 *
 * Only hosts that cannot drive Tutti need this. All their ranks are on one node.
 */
#ifndef TT_MPI_BUFFERED_H
#define TT_MPI_BUFFERED_H

#include "mpi/host.h"

/* Makes the memory that other ranks write. `own`: a communicator with the ranks of the world on
 * which there are no other messages. Returns NULL, or why the rank cannot go on. Local. */
#define tt_mpi_buffered_open TT_MPI_OWN(buffered_open)
const char *tt_mpi_buffered_open(tutti_client *client, MPI_Comm own);
/* Lets the ranks of the world write into each other's memory, once all have opened theirs. If a
 * rank could not make its memory, the others cannot let it know of their buffers. Collective over
 * the world. */
#define tt_mpi_buffered_meet TT_MPI_OWN(buffered_meet)
void tt_mpi_buffered_meet(void);
/* Frees what that made, but for the memory of the client, which must still live. */
#define tt_mpi_buffered_close TT_MPI_OWN(buffered_close)
void tt_mpi_buffered_close(void);
/* The program has a buffer from now on, or no more. Lets all ranks know. */
#define tt_mpi_buffered_set TT_MPI_OWN(buffered_set)
void tt_mpi_buffered_set(bool has);

/* The first number says whether any rank of the world ever had a buffer, and number 1 + r whether
 * rank r has one now. Other ranks write there. NULL: nobody does. */
#define tt_mpi_buffers TT_MPI_OWN(buffers)
extern unsigned char *tt_mpi_buffers;
static inline bool tt_mpi_buffers_are(void)
{
    return tt_mpi_buffers && __atomic_load_n(&tt_mpi_buffers[0], __ATOMIC_ACQUIRE);
}
/* Hands over to the host's transport what this rank has for those of n members that have buffers.
 * `members`: their ranks in the world; NULL: 0, 1, 2 ... */
#define tt_mpi_buffered_hand_over TT_MPI_OWN(buffered_hand_over)
void tt_mpi_buffered_hand_over(int n, const int *members);

#endif
