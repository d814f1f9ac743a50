/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti's client in this process, and the teams of communicators.
 */
#ifndef TT_MPI_TEAM_H
#define TT_MPI_TEAM_H

#include <sched.h>

#include "mpi/host.h"

/* The ranks of the world have agreed on this before Tutti starts (agree.h). */
struct tt_mpi_all {
    bool one_node;            /* whether all can share memory */
    bool undriven;            /* whether the host of any rank cannot drive Tutti */
    uint64_t host;            /* where this rank runs: equal on ranks that can share memory */
    cpu_set_t own_processors; /* that this rank may use */
    cpu_set_t processors;     /* that any rank may use */
};
/* Calls of Tutti that are in flight while the program is in the host. */
struct tt_mpi_flights {
    atomic_int n;
    int (*push)(void); /* completes those that have ended, and returns how many these are */
};
/* Starts Tutti in this process. Collective over the world; on all ranks or none. If the host can
 * drive Tutti, each look of its progress advances Tutti once and then calls flights->push, as long
 * as calls are in flight and Tutti does not drive the host. `flights` may be NULL: there are none.
 */
#define tt_mpi_begin TT_MPI_OWN(begin)
bool tt_mpi_begin(const struct tt_mpi_all *all, struct tt_mpi_flights *flights);
/* Whether the progress of this host can call functions. */
#define tt_mpi_drivable TT_MPI_OWN(drivable)
bool tt_mpi_drivable(void);
/* Makes the host get on; one that can drive Tutti does so. Returns how much the host has handled; 1
 * if it does not say. */
#define tt_mpi_push_host TT_MPI_OWN(push_host)
int tt_mpi_push_host(void);
/* Makes the host handle what has arrived. */
#define tt_mpi_clear_host TT_MPI_OWN(clear_host)
void tt_mpi_clear_host(void);
/* Ends it. Collective over the world. */
#define tt_mpi_end TT_MPI_OWN(end)
void tt_mpi_end(void);

/* Whether the host does all calls of this collective on the communicator, because it was faster.
 * Only for collectives whose shape has no bytes; others are known to be left when their arguments
 * are read. */
#define tt_mpi_lost TT_MPI_OWN(lost)
bool tt_mpi_lost(struct tt_mpi_call *call);
/* Whether Tutti does this call, which it can do: call->team is the team then, or call->status an
 * error. `bytes` is what the call moves, as all ranks know it; 0: they do not. Calls at which a
 * team is made or a trial ends are collective; a nonblocking call is none of these, but the
 * preparation of each persistent call is one: it makes a team for this call. */
#define tt_mpi_ready TT_MPI_OWN(ready)
bool tt_mpi_ready(struct tt_mpi_call *call, int64_t bytes);
/* Records when a call ended whose times are measured, on either side. */
#define tt_mpi_measured TT_MPI_OWN(measured)
void tt_mpi_measured(struct tt_mpi_call *call);
/* Frees the team of a persistent call. Waits for nobody. */
#define tt_mpi_drop_prepared TT_MPI_OWN(drop_prepared)
void tt_mpi_drop_prepared(tutti_team *team);
/* Frees the team of a communicator that is about to be freed. Waits for nobody. */
#define tt_mpi_drop TT_MPI_OWN(drop)
void tt_mpi_drop(struct tt_mpi_comm *record);
/* Tells the error handler of call->comm, if that is a communicator, of call->status, which is an
 * error, and returns its code. `earlier`: the text of an error that was found earlier; NULL: it was
 * found now, and if a rank has died, the function first gives the launcher time to end the job. */
#define tt_mpi_failed TT_MPI_OWN(failed)
int tt_mpi_failed(const struct tt_mpi_call *call, const char *earlier);

#endif
