/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking and persistent calls that Tutti does. For a nonblocking one, the program gets a
 * generalized request of the host (MPI_Grequest_start), so that all functions of the host that take
 * requests understand it. Tutti's own request belongs to a struct tt_mpi_later, and all of these
 * are in a list. The host's progress advances Tutti, wherever in MPI the program waits, and then
 * goes through the list: it looks at Tutti's requests, without advancing them once more, and
 * completes the host's request of each one that has ended. So only a host whose progress calls
 * functions of others can have this (tt_mpi_drivable).
 *
 * The program may free types and communicators while a call is in flight. So the call duplicates
 * its derived types, and the record of a communicator, with its team, lives until its last request
 * is freed. An operation of the program cannot be duplicated, so the host does nonblocking calls
 * with one.
 *
 * A persistent call must look like a request that the program can start again and again. A
 * generalized request cannot be started. So the program gets a *stand-in*: a persistent request to
 * receive a message of no bytes from this process itself, on a communicator of our own. When the
 * program starts it, the host starts the stand-in, and we start Tutti's persistent request. When
 * that has ended, we send the message. To every function of the host that waits for requests, tests
 * or asks for them, the stand-in is therefore active, complete and inactive at the right times, and
 * only the functions that start and free requests are in our table. If the call has failed, the
 * message is a byte longer than the receiver expects. So the host finds an error in the function
 * that completes the request, and calls the error handler of our communicator; this one calls that
 * of the program's communicator.
 *
 * MPI lets every rank start the persistent calls of a communicator in its own order (MPI 4.0,
 * 6.13), but all ranks must start Tutti's requests on one team in the same order. So each
 * persistent call has a team of its own. It is made when the call is prepared: all ranks prepare
 * the same calls in the same order, and MPI lets them wait for each other there. No other thread
 * uses this team, as the list has the call only while it is active.
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

/* Make ready for persistent calls, and end that. False: the host has an error. */
#define tt_mpi_later_open TT_MPI_OWN(later_open)
bool tt_mpi_later_open(void);
#define tt_mpi_later_close TT_MPI_OWN(later_close)
void tt_mpi_later_close(void);
/* Does what tt_mpi_later_begun does for a call that is prepared. */
#define tt_mpi_later_prepared TT_MPI_OWN(later_prepared)
int tt_mpi_later_prepared(struct tt_mpi_call *call, MPI_Request *request);
/* Starts a persistent call, whose request the host has started. An error is found when the program
 * completes the request. */
#define tt_mpi_later_start TT_MPI_OWN(later_start)
void tt_mpi_later_start(struct tt_mpi_later *later);
/* Frees a persistent call, whose request the program frees. */
#define tt_mpi_later_free TT_MPI_OWN(later_free)
void tt_mpi_later_free(struct tt_mpi_later *later);

/* The host's progress drives these. */
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

/* Does what tt_mpi_pack does; for a persistent call, each time it is started. */
#define tt_mpi_collect TT_MPI_OWN(collect)
void tt_mpi_collect(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, const void *from,
                    int64_t count, void *to);
/* The layout of bytes. */
#define tt_mpi_bytes TT_MPI_OWN(bytes)
extern const struct tt_mpi_layout tt_mpi_bytes;
/* Does what tt_mpi_unpack does; for a nonblocking or persistent call, each time it has ended. */
#define tt_mpi_deliver TT_MPI_OWN(deliver)
void tt_mpi_deliver(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, const void *from,
                    int64_t count, void *to);

#endif
