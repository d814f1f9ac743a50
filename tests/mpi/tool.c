/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tool that is preloaded before Tutti, as profilers are: it counts allreduces.
 */
#include <mpi.h>
#include <stdio.h>

static int calls;

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    calls++;
    return PMPI_Allreduce(in, out, n, type, op, comm);
}

int MPI_Finalize(void)
{
    fprintf(stderr, "the tool saw %d calls\n", calls);
    return PMPI_Finalize();
}
