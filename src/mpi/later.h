/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking calls that Tutti does. The program gets a generalized request of the host
 * (MPI_Grequest_start), so that all functions of the host that take requests understand it. Tutti's
 * own request belongs to a struct tt_mpi_later, and all of these are in a list. The host's progress
 * advances Tutti, wherever in MPI the program waits, and then goes through the list: it looks at
 * Tutti's requests, without advancing them once more, and completes the host's request of each one
 * that has ended. So only a host whose progress calls functions of others can have this
 * (tt_mpi_drivable).
 *
 * The program may free types and communicators while a call is in flight. So the call duplicates
 * its derived types, and the record of a communicator, with its team, lives until its last request
 * is freed. An operation of the program cannot be duplicated, so the host does nonblocking calls
 * with one.
 *
 * Only one thread at a time may use a team. While calls are in flight on a communicator, a blocking
 * call on it is therefore also started and then tested until it ends: if it waited inside Tutti, no
 * other thread could complete the calls in flight, on which the program may depend.
 */
#ifndef TT_MPI_LATER_H
#define TT_MPI_LATER_H

#include "mpi/team.h"
#include "mpi/type.h"

/* Returns a nonblocking call, whose other members the caller sets; NULL: there is no memory. */
#define tt_mpi_later_new TT_MPI_OWN(later_new)
struct tt_mpi_call *tt_mpi_later_new(void);
/* Gives the program a request for a call that Tutti does, or tells the error handler why there is
 * none and frees the call. Returns the code for the program. If `request` is NULL, the host does
 * the call, which is only freed. */
#define tt_mpi_later_begun TT_MPI_OWN(later_begun)
int tt_mpi_later_begun(struct tt_mpi_call *call, MPI_Request *request);

/* What the host's progress drives. */
#define tt_mpi_in_flight TT_MPI_OWN(in_flight)
extern struct tt_mpi_flights tt_mpi_in_flight;

/* Whether requests still need the record of a communicator that is about to be freed. The last one
 * frees it then, and drops its team. */
#define tt_mpi_outlives TT_MPI_OWN(outlives)
bool tt_mpi_outlives(struct tt_mpi_comm *record);

/* These two stand around the start of a collective. The first returns false if there is an error;
 * the second returns the status, after a blocking call has ended. */
#define tt_mpi_before_start TT_MPI_OWN(before_start)
bool tt_mpi_before_start(struct tt_mpi_call *call);
#define tt_mpi_after_start TT_MPI_OWN(after_start)
tutti_status tt_mpi_after_start(struct tt_mpi_call *call, tutti_status status);

/* Whether Tutti's blocking function can do the call. */
static inline bool tt_mpi_blocks(const struct tt_mpi_call *call)
{
    return !call->later && atomic_load_explicit(&call->record->started, memory_order_acquire) == 0;
}

/* Does what tt_mpi_unpack does; for a nonblocking call, when it has ended. */
#define tt_mpi_deliver TT_MPI_OWN(deliver)
void tt_mpi_deliver(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, const void *from,
                    int64_t count, void *to);

#endif
