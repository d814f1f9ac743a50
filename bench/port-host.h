/* SPDX-License-Identifier: BSD-3-Clause
 *
 * With BENCH_HOST, a program makes the calls of port-mpi.h in two ways, in turn. In the first way
 * it calls MPI as every program does, so a library between the program and its MPI library, such as
 * Tutti, gets the calls. In the second way it calls the functions of the MPI library, the *host*,
 * directly. Both ways use the same table of functions, so that they differ in nothing else.
 */
#ifndef BENCH_PORT_HOST_H
#define BENCH_PORT_HOST_H

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdbool.h>

#include "measure.h"

/* The number of ways. Way 0 makes calls as programs do, which Tutti may take; way 1 calls the host
 * directly. */
enum { PORT_WAYS = 2 };

/* clang-format off */
#define PORT_FUNCTIONS(F) \
    F(Barrier) F(Bcast) F(Reduce) F(Allreduce) F(Allgather) F(Alltoall) F(Reduce_scatter_block) \
    F(Scan) F(Exscan) F(Gather) F(Scatter) F(Reduce_scatter) F(Allgatherv) F(Gatherv) F(Scatterv) \
    F(Alltoallv)
/* clang-format on */

#define PORT_MEMBER(NAME) __typeof__(MPI_##NAME) *NAME;
static struct port_table {
    PORT_FUNCTIONS(PORT_MEMBER)
} port_call, port_table[PORT_WAYS];
#define PORT_CALL(NAME) port_call.NAME

/* Sets *path to the name of the host's library if `info` is that library. Returns whether it is. */
static inline int port_is_host(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    bool is = strncmp(name, "libmpi.so", 9) == 0 || strncmp(name, "libmpich.so", 11) == 0;
    if (is) *(const char **)path = info->dlpi_name;
    return is;
}

static inline void *port_host(void)
{
    const char *path = NULL;
    dl_iterate_phdr(port_is_host, &path);
    void *host = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!host) die("the process has no libmpi.so or libmpich.so");
    return host;
}

static inline void port_use(int way)
{
    port_call = port_table[way];
}

static inline void port_find_ways(void)
{
    void *host = port_host();
#define PORT_FIND(NAME)                                                                            \
    port_table[0].NAME = MPI_##NAME;                                                               \
    port_table[1].NAME = (__typeof__(MPI_##NAME) *)dlsym(host, "PMPI_" #NAME);                     \
    if (!port_table[1].NAME) die("the host has no PMPI_" #NAME);
    PORT_FUNCTIONS(PORT_FIND)
    port_use(0);
}

#endif
