/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures the cost of a call of an MPI program: a barrier on a communicator of one rank, the
 * cheapest collective there is. Prints the least time of a call over many batches, in ns.
 * bench/commands/passing.py runs it with and without libtutti_mpi.so.
 */
#include <mpi.h>
#include <stdio.h>

enum { BATCHES = 200, CALLS = 20000 };

int main(int argc, char **argv)
{
    double least = 1;
    MPI_Init(&argc, &argv);
    for (int batch = 0; batch < BATCHES; batch++) {
        double began = MPI_Wtime();
        for (int i = 0; i < CALLS; i++) MPI_Barrier(MPI_COMM_SELF);
        double seconds = MPI_Wtime() - began;
        if (seconds < least) least = seconds;
    }
    printf("%.2f\n", least / CALLS * 1e9);
    MPI_Finalize();
    return 0;
}
