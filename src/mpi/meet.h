/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives with which ranks meet and exchange data when MPI begins and ends.
 *
 * If there are more ranks than processors, a blocking collective of the host (the program's MPI)
 * may take tens of milliseconds, since its ranks poll without a pause and take the processors from
 * the ranks for which they wait. So only nonblocking collectives are called here, and a rank that
 * waits for the end sleeps between tests. A collective then takes about a millisecond. Other code
 * must not call a blocking collective of the host in MPI_Init or MPI_Finalize, except for a report
 * of calls.
 *
 * All functions here are collective over a communicator.
 */
#ifndef TT_MPI_MEET_H
#define TT_MPI_MEET_H

#include "mpi/host.h"

/* Waits until all ranks of a communicator have called this function. Advances `context` meanwhile,
 * if it is not NULL. `late`: a line to print if that takes seconds; NULL: none. */
#define tt_mpi_meet TT_MPI_OWN(meet)
void tt_mpi_meet(MPI_Comm comm, tutti_context *context, const char *late);
/* Duplicates a communicator. False: the host failed. */
#define tt_mpi_duplicate TT_MPI_OWN(duplicate)
bool tt_mpi_duplicate(MPI_Comm comm, MPI_Comm *copy);
/* Reduces `count` elements at `own` of all ranks by `op`, and stores the result at `all` on every
 * rank. False: the host failed. */
#define tt_mpi_combine TT_MPI_OWN(combine)
bool tt_mpi_combine(const void *own, void *all, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm);
/* Copies `bytes` bytes at `data` from rank 0 to all ranks. False: the host failed. */
#define tt_mpi_give TT_MPI_OWN(give)
bool tt_mpi_give(void *data, int bytes, MPI_Comm comm);
/* Gathers `bytes` of each rank at all ranks. `comm` points to a communicator. Returns 0, or another
 * number if the host failed. The function has the type that tutti_init_with requires. */
#define tt_mpi_gather_all TT_MPI_OWN(gather_all)
int tt_mpi_gather_all(const void *in, void *out, size_t bytes, void *comm);
/* Returns whether `why` is NULL on all ranks. Otherwise the lowest rank that has a reason prints
 * it. */
#define tt_mpi_all_can TT_MPI_OWN(all_can)
bool tt_mpi_all_can(const char *why, MPI_Comm comm);

#endif
