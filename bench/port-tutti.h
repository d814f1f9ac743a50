/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of the measuring programs in Tutti. The names are the same as in port-mpi.h, so that
 * one source measures either library. If a call fails, the program prints the error and ends.
 */
#ifndef BENCH_PORT_TUTTI_H
#define BENCH_PORT_TUTTI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/tutti.h>

#define PORT_NAME "tutti"

static tutti_client *port_client;
static tutti_team *port_team;
static bool port_shared; /* all buffers are from tutti_alloc, and a flag of each call says so */

static inline void port_check(tutti_status status)
{
    if (__builtin_expect(status != TUTTI_OK, 0)) {
        fprintf(stderr, "%s: %s\n", tutti_status_text(status), tutti_error());
        exit(1);
    }
}

static inline void port_init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    port_check(tutti_init(&port_client));
    port_team = tutti_world(port_client);
}

static inline void port_finish(void)
{
    port_check(tutti_finalize(port_client));
}

static inline int port_rank(void)
{
    return tutti_rank(port_team);
}

static inline int port_size(void)
{
    return tutti_size(port_team);
}

/* Returns memory that the other ranks can map. It is freed with the client. */
static inline void *port_shared_memory(size_t bytes)
{
    void *memory;
    port_check(tutti_alloc(port_client, bytes, &memory));
    port_shared = true;
    return memory;
}

/* Completes a collective on memory from tutti_alloc. The collective is a persistent request,
 * because blocking calls have no flags. */
static inline void port_complete(tutti_request *request)
{
    port_check(tutti_start(request));
    port_check(tutti_wait(request));
    port_check(tutti_request_free(request));
}
#define PORT_SHARED(COLL, ...)                                                                     \
    if (port_shared) {                                                                             \
        tutti_request *request;                                                                    \
        port_check(tutti_##COLL##_init(port_team, __VA_ARGS__, TUTTI_REQUEST_SHARED, &request));   \
        port_complete(request);                                                                    \
        return;                                                                                    \
    }

static inline void port_barrier(void)
{
    port_check(tutti_barrier(port_team));
}

static inline void port_bcast(double *buffer, int64_t n, int root)
{
    PORT_SHARED(bcast, buffer, n, TUTTI_F64, root)
    port_check(tutti_bcast(port_team, buffer, n, TUTTI_F64, root));
}

static inline void port_reduce(const double *in, double *out, int64_t n, int root)
{
    PORT_SHARED(reduce, in, out, n, TUTTI_F64, TUTTI_SUM, root)
    port_check(tutti_reduce(port_team, in, out, n, TUTTI_F64, TUTTI_SUM, root));
}

static inline void port_allreduce(const double *in, double *out, int64_t n)
{
    PORT_SHARED(allreduce, in, out, n, TUTTI_F64, TUTTI_SUM)
    port_check(tutti_allreduce(port_team, in, out, n, TUTTI_F64, TUTTI_SUM));
}

static inline void port_allgather(const double *in, double *out, int64_t n)
{
    PORT_SHARED(allgather, in, out, n, TUTTI_F64)
    port_check(tutti_allgather(port_team, in, out, n, TUTTI_F64));
}

static inline void port_alltoall(const double *in, double *out, int64_t n)
{
    PORT_SHARED(alltoall, in, out, n, TUTTI_F64)
    port_check(tutti_alltoall(port_team, in, out, n, TUTTI_F64));
}

static inline void port_reduce_scatter_block(const double *in, double *out, int64_t n)
{
    PORT_SHARED(reduce_scatter_block, in, out, n, TUTTI_F64, TUTTI_SUM)
    port_check(tutti_reduce_scatter_block(port_team, in, out, n, TUTTI_F64, TUTTI_SUM));
}

static inline void port_scan(const double *in, double *out, int64_t n)
{
    PORT_SHARED(scan, in, out, n, TUTTI_F64, TUTTI_SUM)
    port_check(tutti_scan(port_team, in, out, n, TUTTI_F64, TUTTI_SUM));
}

static inline void port_exscan(const double *in, double *out, int64_t n)
{
    PORT_SHARED(exscan, in, out, n, TUTTI_F64, TUTTI_SUM)
    port_check(tutti_exscan(port_team, in, out, n, TUTTI_F64, TUTTI_SUM));
}

static inline void port_gather(const double *in, double *out, int64_t n, int root)
{
    PORT_SHARED(gather, in, out, n, TUTTI_F64, root)
    port_check(tutti_gather(port_team, in, out, n, TUTTI_F64, root));
}

static inline void port_scatter(const double *in, double *out, int64_t n, int root)
{
    PORT_SHARED(scatter, in, out, n, TUTTI_F64, root)
    port_check(tutti_scatter(port_team, in, out, n, TUTTI_F64, root));
}

/* The type of the numbers in the lists of counts and displacements that the calls below take. */
typedef int64_t port_count;

static inline void port_reduce_scatter(const double *in, double *out, const port_count *counts)
{
    PORT_SHARED(reduce_scatter, in, out, counts, TUTTI_F64, TUTTI_SUM)
    port_check(tutti_reduce_scatter(port_team, in, out, counts, TUTTI_F64, TUTTI_SUM));
}

static inline void port_allgatherv(const double *in, int64_t n, double *out,
                                   const port_count *counts, const port_count *displs)
{
    (void)n;
    PORT_SHARED(allgatherv, in, out, counts, displs, TUTTI_F64)
    port_check(tutti_allgatherv(port_team, in, out, counts, displs, TUTTI_F64));
}

static inline void port_gatherv(const double *in, int64_t n, double *out, const port_count *counts,
                                const port_count *displs, int root)
{
    PORT_SHARED(gatherv, in, n, out, counts, displs, TUTTI_F64, root)
    port_check(tutti_gatherv(port_team, in, n, out, counts, displs, TUTTI_F64, root));
}

static inline void port_scatterv(const double *in, const port_count *counts,
                                 const port_count *displs, double *out, int64_t n, int root)
{
    PORT_SHARED(scatterv, in, counts, displs, out, n, TUTTI_F64, root)
    port_check(tutti_scatterv(port_team, in, counts, displs, out, n, TUTTI_F64, root));
}

static inline void port_alltoallv(const double *in, double *out, const port_count *counts,
                                  const port_count *displs)
{
    PORT_SHARED(alltoallv, in, counts, displs, out, counts, displs, TUTTI_F64)
    port_check(tutti_alltoallv(port_team, in, counts, displs, out, counts, displs, TUTTI_F64));
}

/* Returns the largest of the ranks' values, on every rank. */
static inline double port_max(double value)
{
    double most;
    port_check(tutti_allreduce(port_team, &value, &most, 1, TUTTI_F64, TUTTI_MAX));
    return most;
}

#endif
