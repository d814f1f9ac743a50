/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For MPI programs that consist of parts, of which the command line names the one to run.
 */
#ifndef PARTS_H
#define PARTS_H

#include <mpi.h>
#include <stdio.h>

#define EXPECT(CONDITION)                                                                          \
    do {                                                                                           \
        if (!(CONDITION)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #CONDITION);                \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

static int me, p; /* the rank in the world, and the number of ranks */
static const MPI_Comm world = MPI_COMM_WORLD;

/* Makes the team of a communicator, if it has none. */
static void warm_up(MPI_Comm comm)
{
    for (int i = 0; i < 6; i++) MPI_Barrier(comm);
}

static void begin(int *argc, char ***argv, int threads)
{
    int level;
    if (threads)
        MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
    else
        MPI_Init(argc, argv);
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &p);
}

#endif
