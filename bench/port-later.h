/* SPDX-License-Identifier: BSD-3-Clause
 *
 * With BENCH_LATER, the functions of port-mpi.h begin a call, but do not complete it: they start a
 * nonblocking call or, if `port_prepares` is true, prepare a persistent one. port_request is its
 * request.
 */
#ifndef BENCH_PORT_LATER_H
#define BENCH_PORT_LATER_H

#include <mpi.h>
#include <stdbool.h>

static MPI_Request port_request;
static bool port_prepares;

/* The functions of persistent collectives belong to MPI 4, or to an extension of Open MPI. */
#ifdef OPEN_MPI
#include <mpi-ext.h>
#define PORT_INIT(NAME) MPIX_##NAME##_init
#else
#define PORT_INIT(NAME) MPI_##NAME##_init
#endif
#define PORT_BEGIN(NAME, LOWER, ...)                                                               \
    (void)(port_prepares ? PORT_INIT(NAME)(__VA_ARGS__, MPI_INFO_NULL, &port_request)              \
                         : MPI_I##LOWER(__VA_ARGS__, &port_request))

/* clang-format off */
#define PORT_CALL(NAME) port_begin_##NAME
#define port_begin_Barrier(...) PORT_BEGIN(Barrier, barrier, __VA_ARGS__)
#define port_begin_Bcast(...) PORT_BEGIN(Bcast, bcast, __VA_ARGS__)
#define port_begin_Reduce(...) PORT_BEGIN(Reduce, reduce, __VA_ARGS__)
#define port_begin_Allreduce(...) PORT_BEGIN(Allreduce, allreduce, __VA_ARGS__)
#define port_begin_Allgather(...) PORT_BEGIN(Allgather, allgather, __VA_ARGS__)
#define port_begin_Alltoall(...) PORT_BEGIN(Alltoall, alltoall, __VA_ARGS__)
#define port_begin_Reduce_scatter_block(...) \
    PORT_BEGIN(Reduce_scatter_block, reduce_scatter_block, __VA_ARGS__)
#define port_begin_Scan(...) PORT_BEGIN(Scan, scan, __VA_ARGS__)
#define port_begin_Exscan(...) PORT_BEGIN(Exscan, exscan, __VA_ARGS__)
#define port_begin_Gather(...) PORT_BEGIN(Gather, gather, __VA_ARGS__)
#define port_begin_Scatter(...) PORT_BEGIN(Scatter, scatter, __VA_ARGS__)
#define port_begin_Reduce_scatter(...) PORT_BEGIN(Reduce_scatter, reduce_scatter, __VA_ARGS__)
#define port_begin_Allgatherv(...) PORT_BEGIN(Allgatherv, allgatherv, __VA_ARGS__)
#define port_begin_Gatherv(...) PORT_BEGIN(Gatherv, gatherv, __VA_ARGS__)
#define port_begin_Scatterv(...) PORT_BEGIN(Scatterv, scatterv, __VA_ARGS__)
#define port_begin_Alltoallv(...) PORT_BEGIN(Alltoallv, alltoallv, __VA_ARGS__)
/* clang-format on */

#endif
