/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti's client in this process, and the teams of communicators.
 */
#ifndef TT_MPI_TEAM_H
#define TT_MPI_TEAM_H

#include <sched.h>

#include "mpi/drive.h"
#include "mpi/host.h"

/* The facts that the ranks of the world have found out about each other before Tutti starts
 * (agree.h). */
struct tt_mpi_all {
    bool one_node; /* whether all ranks can share memory */
    /* whether the progress of some rank's MPI calls no functions that a library registers */
    bool undriven;
    bool pushes;              /* whether nonblocking calls of Tutti can be pushed at all ranks */
    uint64_t host;            /* a hash that is equal on ranks that can share memory */
    cpu_set_t own_processors; /* processors that this rank may use */
    cpu_set_t processors;     /* processors that any rank may use */
};
/* Starts Tutti in this process. Returns whether it has started: on all ranks or on none. Collective
 * over the world. `flights`: NULL if there will be no nonblocking calls; must be NULL unless
 * all->pushes. */
#define tt_mpi_begin TT_MPI_OWN(begin)
bool tt_mpi_begin(const struct tt_mpi_all *all, struct tt_mpi_flights *flights);
/* Ends Tutti in this process. Collective over the world. */
#define tt_mpi_end TT_MPI_OWN(end)
void tt_mpi_end(void);

/* For alltoallv, alltoallw, gatherv and scatterv, whose shape does not depend on bytes. Returns
 * whether the host does all calls of the collective on this communicator, because Tutti was not
 * measured to be faster; call->choice is set then. The caller calls this before it reads the lists
 * of counts and displacements. For other collectives, tt_mpi_ready decides this when it knows the
 * bytes. */
#define tt_mpi_lost TT_MPI_OWN(lost)
bool tt_mpi_lost(struct tt_mpi_call *call);
/* Decides whether Tutti does a call that it can do. Returns true if so; call->team is then the
 * team, or call->status is an error. `bytes` is what the call moves; 0: not all ranks know it. The
 * function is collective if it makes a team or ends a trial. It does neither for a nonblocking
 * call. When the program prepares a persistent call, the function is always collective, because it
 * decides whether this call gets a team of its own. */
#define tt_mpi_ready TT_MPI_OWN(ready)
bool tt_mpi_ready(struct tt_mpi_call *call, int64_t bytes);
/* Records the times of a call that belongs to a trial and has just ended, whether Tutti or the host
 * did it. */
#define tt_mpi_measured TT_MPI_OWN(measured)
void tt_mpi_measured(struct tt_mpi_call *call, int64_t ended_ns);
/* Frees the team of a persistent call. Waits for no other rank. */
#define tt_mpi_drop_prepared TT_MPI_OWN(drop_prepared)
void tt_mpi_drop_prepared(tutti_team *team);
/* Frees the team, the decisions and the list of ranks of a record, but not the record itself. Waits
 * for no other rank. */
#define tt_mpi_drop TT_MPI_OWN(drop)
void tt_mpi_drop(struct tt_mpi_comm *record);
/* Returns the moment (tt_mpi_now_ns) before which the error call->status of a call that has just
 * failed must not be reported. If a rank has died, the launcher first gets time to end the job, but
 * only once in a process: if it has let the job go on, it will not end the job because of the next
 * error. It gets no time if a call of this rank failed before for another reason, such as calls
 * that do not match: this rank then counts as failed in all its teams, which need not mean that a
 * rank has died. */
#define tt_mpi_last_ns TT_MPI_OWN(last_ns)
int64_t tt_mpi_last_ns(const struct tt_mpi_call *call);
/* Reports the error call->status of a call: prints a line with a text, calls the error handler of
 * call->comm (if that is a communicator) with MPI's code for this error, and returns this code.
 * `earlier` is the text to print if the error was found some time ago, in a nonblocking call; "":
 * the caller has printed it. NULL: the error was found just now. The function then waits until
 * tt_mpi_last_ns, and prints Tutti's text for the error. If an earlier call on the communicator has
 * broken its team, Tutti's text is about that earlier call, and the printed line says so. */
#define tt_mpi_failed TT_MPI_OWN(failed)
int tt_mpi_failed(const struct tt_mpi_call *call, const char *earlier);

#endif
