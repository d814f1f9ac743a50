/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of the measuring programs in MPI. The names are the same as in port-tutti.h, so that
 * one source measures either library. MPI itself ends the job when one of its calls fails.
 */
#ifndef BENCH_PORT_MPI_H
#define BENCH_PORT_MPI_H

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#define PORT_NAME "mpi"

#ifdef BENCH_LATER
#include "port-later.h"
#elif defined BENCH_HOST
#include "port-host.h"
#else
#define PORT_CALL(NAME) MPI_##NAME
#endif

static inline void port_init(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
#ifdef BENCH_HOST
    port_find_ways();
#endif
}

static inline void port_finish(void)
{
    MPI_Finalize();
}

static inline int port_rank(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static inline int port_size(void)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

/* Returns NULL: MPI has no memory of its own that would speed up its collectives. */
static inline void *port_shared_memory(size_t bytes)
{
    (void)bytes;
    return NULL;
}

static inline void port_barrier(void)
{
    PORT_CALL(Barrier)(MPI_COMM_WORLD);
}

static inline void port_bcast(double *buffer, int64_t n, int root)
{
    PORT_CALL(Bcast)(buffer, (int)n, MPI_DOUBLE, root, MPI_COMM_WORLD);
}

static inline void port_reduce(const double *in, double *out, int64_t n, int root)
{
    PORT_CALL(Reduce)(in, out, (int)n, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
}

static inline void port_allreduce(const double *in, double *out, int64_t n)
{
    PORT_CALL(Allreduce)(in, out, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static inline void port_allgather(const double *in, double *out, int64_t n)
{
    PORT_CALL(Allgather)(in, (int)n, MPI_DOUBLE, out, (int)n, MPI_DOUBLE, MPI_COMM_WORLD);
}

static inline void port_alltoall(const double *in, double *out, int64_t n)
{
    PORT_CALL(Alltoall)(in, (int)n, MPI_DOUBLE, out, (int)n, MPI_DOUBLE, MPI_COMM_WORLD);
}

static inline void port_reduce_scatter_block(const double *in, double *out, int64_t n)
{
    PORT_CALL(Reduce_scatter_block)(in, out, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static inline void port_scan(const double *in, double *out, int64_t n)
{
    PORT_CALL(Scan)(in, out, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static inline void port_exscan(const double *in, double *out, int64_t n)
{
    PORT_CALL(Exscan)(in, out, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static inline void port_gather(const double *in, double *out, int64_t n, int root)
{
    PORT_CALL(Gather)(in, (int)n, MPI_DOUBLE, out, (int)n, MPI_DOUBLE, root, MPI_COMM_WORLD);
}

static inline void port_scatter(const double *in, double *out, int64_t n, int root)
{
    PORT_CALL(Scatter)(in, (int)n, MPI_DOUBLE, out, (int)n, MPI_DOUBLE, root, MPI_COMM_WORLD);
}

/* The type of the numbers in the lists of counts and displacements that the calls below take. */
typedef int port_count;

static inline void port_reduce_scatter(const double *in, double *out, const port_count *counts)
{
    PORT_CALL(Reduce_scatter)(in, out, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static inline void port_allgatherv(const double *in, int64_t n, double *out,
                                   const port_count *counts, const port_count *displs)
{
    PORT_CALL(Allgatherv)(in, (int)n, MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, MPI_COMM_WORLD);
}

static inline void port_gatherv(const double *in, int64_t n, double *out, const port_count *counts,
                                const port_count *displs, int root)
{
    PORT_CALL(Gatherv)
    (in, (int)n, MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, root, MPI_COMM_WORLD);
}

static inline void port_scatterv(const double *in, const port_count *counts,
                                 const port_count *displs, double *out, int64_t n, int root)
{
    PORT_CALL(Scatterv)
    (in, counts, displs, MPI_DOUBLE, out, (int)n, MPI_DOUBLE, root, MPI_COMM_WORLD);
}

static inline void port_alltoallv(const double *in, double *out, const port_count *counts,
                                  const port_count *displs)
{
    PORT_CALL(Alltoallv)
    (in, counts, displs, MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, MPI_COMM_WORLD);
}

#ifndef BENCH_LATER
/* Returns the largest of the ranks' values, on every rank. */
static inline double port_max(double value)
{
    double most;
    PORT_CALL(Allreduce)(&value, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}
#endif

#endif
