/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking and persistent calls that Tutti does. For a nonblocking call, the program gets a
 * generalized request of the host, the program's MPI (MPI_Grequest_start), so that all functions of
 * the host that take requests accept it. Tutti's own request belongs to a struct tt_mpi_later, and
 * all of these are in a list. The host's progress, or a thread (drive.h), advances Tutti, wherever
 * in MPI the program waits, and then goes through the list: it looks at Tutti's requests, without
 * advancing them once more, and completes the host's request of each call that has ended. A call
 * that ends in its start is completed there, and does not come into the list.
 *
 * The program may free types, operations and communicators while a call is in flight. So the call
 * duplicates its derived types, and the record of a communicator, with its team, is kept until the
 * last request on it is freed. An operation cannot be duplicated, so MPI_Op_free is in our table:
 * the program's handle becomes MPI_OP_NULL at once, and the host frees the operation when the last
 * call that uses it has been freed. The program's function gets the type that the program passed,
 * and not a duplicate, because it may compare handles. The host does not delete this type while a
 * type that was made of it exists, and each call has such a type.
 *
 * Tutti calls operations of the program wherever it advances, so the host's progress, or a thread
 * of the library (drive.h), may call the program's function. This is safe:
 *
 *   - The host's own nonblocking reductions do the same: their steps run in the host's progress, in
 *     any thread that is in MPI, or in the host's progress thread if it has one. MPI does not say
 *     which thread calls the function. Below MPI_THREAD_MULTIPLE, only a thread that is in MPI runs
 *     the progress, so the function runs in a thread that may call MPI at that time. With
 *     MPI_THREAD_MULTIPLE any thread may call MPI, and so may the thread of drain.h.
 *   - MPI allows the function to call only functions that do not communicate. These go to the host,
 *     because tt_depth is raised. If one of them runs the host's progress all the same, Tutti is
 *     not advanced from there (TT_MPI_IN_OPERATION), so a step of a collective never begins within
 *     another one.
 *   - The thread that calls the function may hold the lock of Tutti's client and `held` of a
 *     record, but not tt_mpi_lock, and not MPICH's lock, which MPICH gives back before it calls the
 *     function. Two calls do not deadlock: a thread that waits for the client's lock holds no lock
 *     of the host, and the function needs none of Tutti's.
 *
 * A persistent call must look like a request that the program can start again and again. A
 * generalized request cannot be started. So the program gets a *stand-in*: a persistent request to
 * receive a message of no bytes from this process itself, on a communicator of our own. When the
 * program starts its request, the host starts the stand-in, and we start Tutti's persistent
 * request. When Tutti's request has ended, we send the message. To every function of the host that
 * waits for requests, tests or asks for them, the stand-in is therefore active, complete and
 * inactive at the right times, and only the functions that start and free requests are in our
 * table. If the call has failed, the message is a byte longer than the receiver expects. So the
 * host finds an error in the function that completes the request, and calls the error handler of
 * our communicator, which calls the error handler of the program's communicator. MPICH calls our
 * handler only for a function that completes a single request, and otherwise that of
 * MPI_COMM_WORLD, as after an error of its own.
 *
 * MPI lets every rank start the persistent calls of a communicator in its own order (MPI 4.0,
 * 6.13), but all ranks must start Tutti's requests on one team in the same order. So each
 * persistent call has a team of its own. The team is made when the call is prepared: all ranks
 * prepare the same calls in the same order, and MPI lets them wait for each other in these
 * functions. No other thread uses this team, as the call is in the list only while it is active.
 *
 * Only one thread at a time may use a team. While calls are in flight on a communicator, a blocking
 * call on this communicator is therefore also started and then tested until it ends: if the
 * blocking call waited inside Tutti, no other thread could complete the calls in flight, on which
 * the program may depend.
 */
#ifndef TT_MPI_LATER_H
#define TT_MPI_LATER_H

#include "mpi/team.h"
#include "mpi/type.h"

/* Returns a new nonblocking or persistent call, most of whose members the caller sets; NULL: there
 * is no memory. */
#define tt_mpi_later_new TT_MPI_OWN(later_new)
struct tt_mpi_call *tt_mpi_later_new(void);
/* Makes the operation of the program in a nonblocking or persistent reduction ready for the call,
 * and keeps the operation and its type until the call is freed. Sets r->type and r->op. Returns
 * false if there was an error, which the call records. */
#define tt_mpi_hold_reduction TT_MPI_OWN(hold_reduction)
bool tt_mpi_hold_reduction(struct tt_mpi_call *call, struct tt_mpi_reduction *r);
/* MPI_Op_free: frees an operation as soon as no call needs it any more. */
#define tt_mpi_op_free TT_MPI_OWN(op_free)
int tt_mpi_op_free(MPI_Op *op);
/* Sets *request to the request of a nonblocking call that Tutti has started. If the start failed,
 * calls the error handler, and frees the call. Returns the code for the program. If `request` is
 * NULL, the host does the call, and this function only frees `call`. */
#define tt_mpi_later_begun TT_MPI_OWN(later_begun)
int tt_mpi_later_begun(struct tt_mpi_call *call, MPI_Request *request);

/* tt_mpi_later_open prepares this process for persistent calls; false: the host reported an error.
 * tt_mpi_later_close frees what tt_mpi_later_open has made. */
#define tt_mpi_later_open TT_MPI_OWN(later_open)
bool tt_mpi_later_open(void);
#define tt_mpi_later_close TT_MPI_OWN(later_close)
void tt_mpi_later_close(void);
/* Sets *request to the stand-in of a persistent call that Tutti has prepared. If the preparation
 * failed, calls the error handler, and frees the call. Returns the code for the program. If
 * `request` is NULL, the host does the call, and this function only frees `call`. */
#define tt_mpi_later_prepared TT_MPI_OWN(later_prepared)
int tt_mpi_later_prepared(struct tt_mpi_call *call, MPI_Request *request);
/* Starts a persistent call, whose stand-in the host has started. An error is reported when the
 * program completes the request. */
#define tt_mpi_later_start TT_MPI_OWN(later_start)
void tt_mpi_later_start(struct tt_mpi_later *later);
/* Frees a persistent call when the program frees its request. */
#define tt_mpi_later_free TT_MPI_OWN(later_free)
void tt_mpi_later_free(struct tt_mpi_later *later);

/* The nonblocking calls in flight, and active persistent calls, which the host's progress
 * completes. */
#define tt_mpi_in_flight TT_MPI_OWN(in_flight)
extern struct tt_mpi_flights tt_mpi_in_flight;

/* Returns whether requests still need the record of a communicator that is about to be freed. If
 * so, freeing the last of these requests frees the record and its team. */
#define tt_mpi_outlives TT_MPI_OWN(outlives)
bool tt_mpi_outlives(struct tt_mpi_comm *record);

/* Are called before and after Tutti's function that starts a collective. The first returns false if
 * there is an error. The second returns the status of the start; for a blocking call, it waits for
 * the end of the call and returns the status of the whole call. If a nonblocking call has already
 * ended, it frees call->request and sets call->later->over. */
#define tt_mpi_before_start TT_MPI_OWN(before_start)
bool tt_mpi_before_start(struct tt_mpi_call *call);
#define tt_mpi_after_start TT_MPI_OWN(after_start)
tutti_status tt_mpi_after_start(struct tt_mpi_call *call, tutti_status status);

/* Returns whether Tutti's blocking function does the call: not while nonblocking calls are in
 * flight on the communicator, nor, with TUTTI_CHOICE=measure, after the first one. */
static inline bool tt_mpi_blocks(const struct tt_mpi_call *call)
{
    return !call->later && atomic_load_explicit(&call->record->started, memory_order_acquire) == 0;
}

/* Packs `count` elements at `from` into bytes without gaps at `to`. For a persistent call, this is
 * not done now, but each time the call is started. */
#define tt_mpi_collect TT_MPI_OWN(collect)
void tt_mpi_collect(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, const void *from,
                    int64_t count, void *to);
/* The layout of single bytes. */
#define tt_mpi_bytes TT_MPI_OWN(bytes)
extern const struct tt_mpi_layout tt_mpi_bytes;
/* Unpacks bytes without gaps at `from` into `count` elements at `to`. For a nonblocking or
 * persistent call, this is not done now, but each time the call has ended. */
#define tt_mpi_deliver TT_MPI_OWN(deliver)
void tt_mpi_deliver(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, const void *from,
                    int64_t count, void *to);

#endif
