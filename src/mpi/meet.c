/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives with which ranks meet and exchange data when MPI begins and ends.
 */
#include <time.h>

#include "mpi/meet.h"

/* LOOKS: how many times a rank tests a request before it sleeps between tests. PAUSE_NS: how long
 * it sleeps. LATE_SECONDS: after this time it prints that other ranks are late. */
enum { LOOKS = 1000, PAUSE_NS = 50000, LATE_SECONDS = 5 };

/* Completes a request of the host MPI, unless `code` says that the call that began it has failed.
 * Advances `context` meanwhile, if it is not NULL. `late`: a line to print after LATE_SECONDS;
 * NULL: none. */
static bool finish(int code, MPI_Request *request, tutti_context *context, const char *late)
{
    int done = 0, events;
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    const int64_t began_ns = tt_mpi_now_ns();
    for (int looks = 0; code == MPI_SUCCESS && !done; looks++) {
        code = tt_host.Test(request, &done, MPI_STATUS_IGNORE);
        if (context) tt_mpi_tutti.advance(context, &events);
        if (done || looks < LOOKS) continue;
        nanosleep(&pause, NULL);
        if (!late || tt_mpi_now_ns() - began_ns < LATE_SECONDS * INT64_C(1000000000)) continue;
        tt_mpi_say("%s", late);
        late = NULL;
    }
    return code == MPI_SUCCESS;
}

void tt_mpi_meet(MPI_Comm comm, tutti_context *context, const char *late)
{
    MPI_Request request;
    int code = tt_host.Ibarrier(comm, &request);
    (void)finish(code, &request, context, late);
}

bool tt_mpi_duplicate(MPI_Comm comm, MPI_Comm *copy)
{
    MPI_Request request;
    int code = tt_host.Comm_idup(comm, copy, &request);
    return finish(code, &request, NULL, NULL);
}

bool tt_mpi_combine(const void *own, void *all, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm)
{
    MPI_Request request;
    int code = tt_host.Iallreduce(own, all, count, type, op, comm, &request);
    return finish(code, &request, NULL, NULL);
}

bool tt_mpi_give(void *data, int bytes, MPI_Comm comm)
{
    MPI_Request request;
    int code = tt_host.Ibcast(data, bytes, tt_handle.byte, 0, comm, &request);
    return finish(code, &request, NULL, NULL);
}

int tt_mpi_gather_all(const void *in, void *out, size_t bytes, void *comm)
{
    MPI_Request request;
    int n = (int)bytes;
    int code = tt_host.Iallgather(in, n, tt_handle.byte, out, n, tt_handle.byte, *(MPI_Comm *)comm,
                                  &request);
    return !finish(code, &request, NULL, NULL);
}

bool tt_mpi_all_can(const char *why, MPI_Comm comm)
{
    int rank, ranks, least = 0;
    tt_host.Comm_rank(comm, &rank);
    tt_host.Comm_size(comm, &ranks);
    int first = why ? rank : ranks;
    if (!tt_mpi_combine(&first, &least, 1, tt_handle.integer, tt_handle.min, comm)) return false;
    if (least == rank) tt_mpi_say("off on all ranks: rank %d: %s", rank, why);
    return least == ranks;
}
