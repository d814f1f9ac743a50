/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress. While Tutti waits it *drives* the host, the program's MPI: it calls the host's
 * progress, since another rank may be waiting for a message that the host of this rank has yet to
 * send. While the program waits in the host, the host drives Tutti, in two cases:
 *
 *   - Between nodes, what a call of Tutti has sent may need further progress when the call has
 *     returned, for example to connect. Over MPICH, a thread does this for blocking calls
 *     (drain.h). On one node, nothing is left to do when a blocking call has returned.
 *   - Nonblocking calls must advance wherever the program waits in the host. A program may start a
 *     call and wait for a message that another rank sends when its own call has ended.
 *
 * Open MPI's progress calls functions that a library registers. That of MPICH 4.0 does not, and the
 * poll functions of its generalized requests (MPIX_Grequest_start) are called only while the
 * program waits for these requests. But wherever MPICH over UCX waits, it calls UCX's function
 * ucp_worker_progress in each turn. MPICH's library calls this function by its address, which the
 * dynamic linker has stored in a word of memory of this library (tt_mpi_host_import). There we
 * store the address of our own function, which calls that of UCX and then drives Tutti. Only
 * MPICH's library uses this word, so UCX is as it was for the rest of the process.
 *
 * With MPI_THREAD_MULTIPLE, MPICH holds its lock while it calls UCX, and stops the program if a
 * function of MPI is called meanwhile. But any thread may call MPI then. So the thread of drain.h
 * pushes nonblocking calls (tt_mpi_push_flights), with pauses, and so do the poll functions of
 * generalized requests, which MPICH calls without its lock. Nothing that MPICH calls with its lock
 * may wait for a lock of Tutti: another thread that holds Tutti's lock may be in an operation of
 * the program, for which it needs MPICH's lock.
 */
#ifndef TT_MPI_DRIVE_H
#define TT_MPI_DRIVE_H

#include "mpi/host.h"

/* Tutti's nonblocking calls, which are in flight while the program is in the host MPI. */
struct tt_mpi_flights {
    atomic_int n;
    int (*push)(void); /* completes the calls that have ended, and returns how many these are */
    unsigned looks;    /* how often the host's progress has run outside Tutti; used over MPICH */
    bool threaded;     /* whether a thread pushes the calls: over MPICH with MPI_THREAD_MULTIPLE */
};
/* Returns whether the progress of this host MPI calls functions that a library registers, as that
 * of Open MPI does. */
#define tt_mpi_drivable TT_MPI_OWN(drivable)
bool tt_mpi_drivable(void);
/* Returns whether nonblocking calls of Tutti can be pushed at this rank while the program waits in
 * the host. To find out over MPICH, replaces UCX's function for a moment, and looks whether MPICH's
 * progress calls the replacement. May be called once, after MPI has begun and before the program's
 * first message. */
#define tt_mpi_pushable TT_MPI_OWN(pushable)
bool tt_mpi_pushable(void);
/* Calls the progress of the host MPI, which advances Tutti (tt_mpi_begin). Returns the number
 * of events that the host has handled; for MPICH, 1 if it has received a message of buffered.h, and
 * otherwise 0. */
#define tt_mpi_push_host TT_MPI_OWN(push_host)
int tt_mpi_push_host(void);
/* Does the same, but the host's progress does not advance Tutti. `arg` is not used. */
#define tt_mpi_drive_host TT_MPI_OWN(drive_host)
void tt_mpi_drive_host(void *arg);
/* Calls the progress of the host MPI until the host has handled what has arrived. */
#define tt_mpi_clear_host TT_MPI_OWN(clear_host)
void tt_mpi_clear_host(void);
/* Advances Tutti if nonblocking calls are in flight and no progress of the host does so
 * (flights->threaded), and completes those that have ended. Returns whether calls are then still in
 * flight. */
#define tt_mpi_push_flights TT_MPI_OWN(push_flights)
bool tt_mpi_push_flights(void);
/* Begins driving, in both directions. The host drives Tutti if there will be nonblocking calls, and
 * a host that is tt_mpi_drivable also if the ranks are on several nodes (`spread`). Its progress
 * then advances Tutti each time that it runs and nonblocking calls are in flight, and after that
 * calls flights->push. If the ranks are on several nodes, the progress always advances Tutti: a
 * call that has ended may have left packets behind. While Tutti itself calls the host's progress,
 * the progress does neither. `flights`: NULL if there will be no nonblocking calls. Sets
 * flights->threaded: the host does not drive Tutti then, and the caller opens the thread of
 * drain.h. Returns NULL, or why it fails. */
#define tt_mpi_drive_open TT_MPI_OWN(drive_open)
const char *tt_mpi_drive_open(tutti_client *client, struct tt_mpi_flights *flights, bool spread);
/* Makes the host stop driving Tutti. */
#define tt_mpi_drive_close TT_MPI_OWN(drive_close)
void tt_mpi_drive_close(void);

#endif
