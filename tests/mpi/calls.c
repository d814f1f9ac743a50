/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls every collective (blocking, nonblocking and, where the host MPI has it, persistent), and
 * checks the results of some. How often this program calls each function, and how many bytes the
 * calls move, is also in counts.py, which compares these numbers with a report. The program runs on
 * any number of ranks.
 */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(CONDITION)                                                                          \
    do {                                                                                           \
        if (!(CONDITION)) {                                                                        \
            fprintf(stderr, "calls.c:%d: not so: %s\n", __LINE__, #CONDITION);                     \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

static MPI_Request request;

static void complete(void)
{
    EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

#define BLOCKING(NAME, ...) EXPECT(MPI_##NAME(__VA_ARGS__) == MPI_SUCCESS)
#define NONBLOCKING(NAME, ...)                                                                     \
    EXPECT(MPI_I##NAME(__VA_ARGS__, &request) == MPI_SUCCESS);                                     \
    complete()
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PREPARE(NAME, ...) MPIX_##NAME##_init(__VA_ARGS__, MPI_INFO_NULL, &request)
#elif MPI_VERSION >= 4
#define PREPARE(NAME, ...) MPI_##NAME##_init(__VA_ARGS__, MPI_INFO_NULL, &request)
#endif
/* Starts and completes a persistent collective a second time. Does nothing over MPICH, which does
 * this collective itself here: MPICH 4.0 fails when a persistent collective is started again. */
static void start_all(void)
{
#ifdef OPEN_MPI
    EXPECT(MPI_Startall(1, &request) == MPI_SUCCESS);
    complete();
#endif
}

#ifdef PREPARE
#define PERSISTENT(NAME, ...)                                                                      \
    EXPECT(PREPARE(NAME, __VA_ARGS__) == MPI_SUCCESS);                                             \
    EXPECT(MPI_Start(&request) == MPI_SUCCESS);                                                    \
    complete();                                                                                    \
    start_all();                                                                                   \
    MPI_Request_free(&request)
#else
#define PERSISTENT(NAME, ...)
#endif
#if MPI_VERSION >= 4
#define BLOCKING_C(NAME, ...) EXPECT(MPI_##NAME##_c(__VA_ARGS__) == MPI_SUCCESS)
#else
#define BLOCKING_C(NAME, ...)
#endif
#define ALL(NAME, LOWER, ...)                                                                      \
    BLOCKING(NAME, __VA_ARGS__);                                                                   \
    NONBLOCKING(LOWER, __VA_ARGS__);                                                               \
    PERSISTENT(NAME, __VA_ARGS__)
#define SCALAR(NAME, LOWER, ...)                                                                   \
    ALL(NAME, LOWER, __VA_ARGS__);                                                                 \
    BLOCKING_C(NAME, __VA_ARGS__)

enum { MOST = 64, N = 3 };

static int p, me;
static double in[MOST * MOST], out[MOST * MOST];
static int ints[MOST * MOST], more[MOST * MOST];
static int grows[MOST], starts[MOST]; /* rank r has r + 1 elements */
static int sums[MOST], at[MOST], at_bytes[MOST];
static MPI_Datatype types[MOST];
static const MPI_Comm world = MPI_COMM_WORLD;

static void prepare(void)
{
    MPI_Comm_size(world, &p);
    MPI_Comm_rank(world, &me);
    EXPECT(p <= MOST);
    for (int r = 0; r < p; r++) {
        grows[r] = r + 1;
        starts[r] = r * (r + 1) / 2;
        sums[r] = me + r;
        at[r] = r ? at[r - 1] + sums[r - 1] : 0;
        at_bytes[r] = at[r] * (int)sizeof(int);
    }
    for (int i = 0; i < MOST; i++) types[i] = MPI_INT;
}

static void rooted(void)
{
    ALL(Barrier, barrier, world);
    SCALAR(Bcast, bcast, in, N, MPI_DOUBLE, p - 1, world);
    SCALAR(Reduce, reduce, in, out, N, MPI_DOUBLE, MPI_SUM, 0, world);
    SCALAR(Gather, gather, in, N, MPI_DOUBLE, out, N, MPI_DOUBLE, 0, world);
    BLOCKING(Gather, me ? in : MPI_IN_PLACE, me ? N : -5, MPI_DOUBLE, out, N, MPI_DOUBLE, 0, world);
    ALL(Gatherv, gatherv, in, me + 1, MPI_DOUBLE, out, grows, starts, MPI_DOUBLE, 0, world);
    BLOCKING(Gatherv, me ? in : MPI_IN_PLACE, me ? me + 1 : -5, MPI_DOUBLE, out, grows, starts,
             MPI_DOUBLE, 0, world);
    SCALAR(Scatter, scatter, in, N, MPI_DOUBLE, out, N, MPI_DOUBLE, 0, world);
    BLOCKING(Scatter, in, N, MPI_DOUBLE, me ? out : MPI_IN_PLACE, me ? N : -5, MPI_DOUBLE, 0,
             world);
    ALL(Scatterv, scatterv, in, grows, starts, MPI_DOUBLE, out, me + 1, MPI_DOUBLE, 0, world);
}

static void to_all(void)
{
    double sum = me, expected = p * (p - 1) / 2.0;
    SCALAR(Allgather, allgather, in, N, MPI_DOUBLE, out, N, MPI_DOUBLE, world);
    BLOCKING(Allgather, MPI_IN_PLACE, -5, MPI_DOUBLE, out, N, MPI_DOUBLE, world);
    ALL(Allgatherv, allgatherv, in, me + 1, MPI_DOUBLE, out, grows, starts, MPI_DOUBLE, world);
    BLOCKING(Allgatherv, MPI_IN_PLACE, -5, MPI_DOUBLE, out, grows, starts, MPI_DOUBLE, world);
    SCALAR(Alltoall, alltoall, in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, world);
    BLOCKING(Alltoall, MPI_IN_PLACE, -5, MPI_DOUBLE, out, 1, MPI_DOUBLE, world);
    ALL(Alltoallv, alltoallv, ints, sums, at, MPI_INT, more, sums, at, MPI_INT, world);
    BLOCKING(Alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_INT, more, sums, at, MPI_INT, world);
    ALL(Alltoallw, alltoallw, ints, sums, at_bytes, types, more, sums, at_bytes, types, world);
    BLOCKING(Allreduce, MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, world);
    EXPECT(sum == expected);
    SCALAR(Allreduce, allreduce, in, out, N, MPI_DOUBLE, MPI_MAX, world);
    SCALAR(Scan, scan, in, out, N, MPI_DOUBLE, MPI_SUM, world);
    SCALAR(Exscan, exscan, in, out, N, MPI_DOUBLE, MPI_SUM, world);
    ALL(Reduce_scatter, reduce_scatter, in, out, grows, MPI_DOUBLE, MPI_SUM, world);
    SCALAR(Reduce_scatter_block, reduce_scatter_block, in, out, 2, MPI_DOUBLE, MPI_SUM, world);
#if MPI_VERSION >= 4
    MPI_Count big[MOST];
    MPI_Aint start[MOST];
    for (int r = 0; r < p; r++) {
        big[r] = sums[r];
        start[r] = at[r];
    }
    BLOCKING_C(Alltoallv, ints, big, start, MPI_INT, more, big, start, MPI_INT, world);
#endif
}

static void to_neighbours(void)
{
    MPI_Comm ring;
    const int circle = 1;
    const MPI_Aint bytes[2] = {0, sizeof(int)};
    BLOCKING(Cart_create, world, 1, &p, &circle, 0, &ring);
    BLOCKING(Comm_set_name, ring, "ring \"of\" all\n\xff");
    SCALAR(Neighbor_allgather, neighbor_allgather, in, N, MPI_DOUBLE, out, N, MPI_DOUBLE, ring);
    const int three[2] = {N, N}, apart[2] = {0, N}, same[2] = {2, 2}, beside[2] = {0, 2};
    ALL(Neighbor_allgatherv, neighbor_allgatherv, in, N, MPI_DOUBLE, out, three, apart, MPI_DOUBLE,
        ring);
    SCALAR(Neighbor_alltoall, neighbor_alltoall, in, N, MPI_DOUBLE, out, N, MPI_DOUBLE, ring);
    ALL(Neighbor_alltoallv, neighbor_alltoallv, in, same, beside, MPI_DOUBLE, out, same, beside,
        MPI_DOUBLE, ring);
    const int ones[2] = {1, 1};
    ALL(Neighbor_alltoallw, neighbor_alltoallw, ints, ones, bytes, types, more, ones, bytes, types,
        ring);
    MPI_Comm_free(&ring);
}

static void first(void *a, void *b, int *n, MPI_Datatype *type)
{
    for (int i = 0; i < *n; i++) ((double *)b)[2 * i] = ((double *)a)[2 * i];
    (void)type;
}

/* Makes calls with an operation of the program, with derived types, and on several communicators.
 */
static void others(void)
{
    MPI_Op op;
    MPI_Datatype gaps;
    MPI_Comm half, between;
    MPI_Op_create(first, 0, &op);
    MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &gaps);
    MPI_Type_commit(&gaps);
    BLOCKING(Reduce, in, out, 2, gaps, op, 0, world);
    BLOCKING(Comm_split, world, me % 2, me, &half);
    PMPI_Barrier(half);
    if (p > 1) {
        /* Rank 0 of the even group sends to the odd group. */
        BLOCKING(Intercomm_create, half, 0, world, me % 2 ? 0 : 1, 9, &between);
        int root = me % 2 ? 0 : me ? MPI_PROC_NULL : MPI_ROOT;
        BLOCKING(Bcast, ints, 5, MPI_INT, root, between);
        MPI_Comm_free(&between);
    }
    MPI_Comm_free(&half);
    MPI_Type_free(&gaps);
    MPI_Op_free(&op);
}

int main(int argc, char **argv)
{
    (void)setlocale(LC_ALL, ""); /* as Python does; a locale may be missing */
    MPI_Init(&argc, &argv);
    /* A program that sets its process title overwrites the memory of its environment. */
    char *report = getenv("TUTTI_MPI_REPORT");
    if (report) memset(report, 'x', strlen(report));
    prepare();
    rooted();
    to_all();
    to_neighbours();
    others();
    MPI_Finalize();
    return 0;
}
