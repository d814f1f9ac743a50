/* SPDX-License-Identifier: BSD-3-Clause
 *
 * in-start LIBRARY: tests that a nonblocking or persistent call that can end in its start is
 * completed there. MPI_Wait then needs no progress of the host (the program's MPI), which would
 * advance Tutti. LIBRARY is that of advances.c, which counts how often Tutti is advanced.
 */
#include <dlfcn.h>
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#define MPI_Bcast_init MPIX_Bcast_init
#endif
#include <stdio.h>

#include "parts.h"

enum { ROUNDS = 24 };

/* When rank 1 starts its bcast, rank 0 has sent the data. Tutti's bcast on two ranks of a node
 * needs nothing else. */
int main(int argc, char **argv)
{
    int data = 0;
    MPI_Request kept;
    begin(&argc, &argv, 0);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
    const long *advances = library ? dlsym(library, "advances") : NULL;
    EXPECT(advances && p == 2);
    warm_up(world);
    MPI_Bcast_init(&data, 1, MPI_INT, 0, world, MPI_INFO_NULL, &kept);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request started = kept;
        if (me == 1) MPI_Recv(&data, 0, MPI_INT, 0, 1, world, MPI_STATUS_IGNORE);
        data = me == 0 ? round : -1;
        long before = *advances;
        if (round % 2 == 0) MPI_Ibcast(&data, 1, MPI_INT, 0, world, &started);
        if (round % 2 == 1) MPI_Start(&started);
        MPI_Wait(&started, MPI_STATUS_IGNORE);
        EXPECT(data == round);
        EXPECT(me == 0 || *advances == before);
        if (me == 0) MPI_Send(&data, 0, MPI_INT, 1, 1, world);
    }
    MPI_Request_free(&kept);
    MPI_Finalize();
    if (me == 0) printf("done\n");
    return 0;
}
