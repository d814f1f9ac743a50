/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread that does what the progress of the host (the program's MPI) does if it can call Tutti.
 * It sends the packets that Tutti's calls have left behind, in a job on several nodes over a host
 * such as MPICH 4.0; and with MPI_THREAD_MULTIPLE over MPICH it pushes nonblocking calls (drive.h).
 *
 * When a call of Tutti has ended on this rank, some of its packets may still wait in the process,
 * because there was no room for them or no connection yet. Another rank may wait in Tutti for such
 * a packet, and this rank may wait in the host for that rank. So somebody has to advance Tutti
 * meanwhile.
 *
 * This rank cannot simply wait until all its packets have left, because some may not belong to the
 * call. Some wait for a connection to a former member of a freed team, which is set up only when
 * that member advances Tutti. Packets of another thread find room only when their receiver makes
 * the call that they belong to. The member or the receiver may in turn wait for this rank. Tutti
 * does not know which packets belong to which call once UCX has them.
 *
 * So a thread sends them. It sleeps until packets are left behind, and then advances the messages
 * of the client, with pauses, until all packets have left. Unless it pushes nonblocking calls, it
 * advances no collective, so it calls neither the host nor operations of the program. When packets
 * are left behind for the first time, the client becomes one that threads share
 * (tutti_client_share), so that the thread and those of the program take turns.
 */
#ifndef TT_MPI_DRAIN_H
#define TT_MPI_DRAIN_H

#include <tutti/message.h>

#include "mpi/host.h"

/* Makes the thread, which works for context 0 of this client.
 * Returns NULL, or a text that says why it cannot be made. */
#define tt_mpi_drain_open TT_MPI_OWN(drain_open)
const char *tt_mpi_drain_open(tutti_client *client);
/* Ends the thread, if there is one. From now on tt_mpi_drain does nothing. */
#define tt_mpi_drain_close TT_MPI_OWN(drain_close)
void tt_mpi_drain_close(void);
/* Wakes the thread if packets wait in this process. Must be called wherever this rank leaves Tutti
 * for the host or the program. `status`: of the call that has ended; if it is an error, the thread
 * is woken anyway, and the error's text (tutti_error) stays. Does not wait. Does nothing unless
 * tt_mpi_drain_open was called. Any thread. */
#define tt_mpi_drain TT_MPI_OWN(drain)
void tt_mpi_drain(tutti_status status);
/* Wakes the thread when a nonblocking call that it is to push is in flight. Does not wait. */
#define tt_mpi_drain_wake TT_MPI_OWN(drain_wake)
void tt_mpi_drain_wake(void);

#endif
