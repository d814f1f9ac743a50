/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A library that audits the dynamic linker (rtld-audit(7)). The linker calls it for each function
 * that libtutti_mpi.so looks up in the host MPI, and so it can put counters before the collectives.
 * When the host's MPI_Finalize is called, each rank prints how many collectives libtutti_mpi.so has
 * called: blocking ones, and nonblocking ones. If the program calls none, Tutti has made all these
 * calls.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The counted functions have at most ten parameters, which are integers and pointers. */
typedef intptr_t word;
typedef int function(word, word, word, word, word, word, word, word, word, word);
#define PARAMETERS (word a, word b, word c, word d, word e, word f, word g, word h, word i, word j)
#define ARGUMENTS (a, b, c, d, e, f, g, h, i, j)

/* clang-format off */
#define COLLECTIVES(F) \
    F(Barrier) F(Bcast) F(Gather) F(Gatherv) F(Scatter) F(Scatterv) F(Allgather) F(Allgatherv) \
    F(Alltoall) F(Alltoallv) F(Reduce) F(Allreduce) F(Reduce_scatter) F(Reduce_scatter_block) \
    F(Scan) F(Exscan) F(Comm_dup) F(Comm_split_type)
#define STARTED(F) \
    F(Ibarrier) F(Ibcast) F(Igather) F(Igatherv) F(Iscatter) F(Iscatterv) F(Iallgather) \
    F(Iallgatherv) F(Ialltoall) F(Ialltoallv) F(Ireduce) F(Iallreduce) F(Ireduce_scatter) \
    F(Ireduce_scatter_block) F(Iscan) F(Iexscan) F(Comm_idup)
/* clang-format on */

static int blocking, started;
static function *host_Finalize;

#define COUNT(NAME, NUMBER)                                                                        \
    static function *host_##NAME;                                                                  \
    static int count_##NAME PARAMETERS                                                             \
    {                                                                                              \
        NUMBER++;                                                                                  \
        return host_##NAME ARGUMENTS;                                                              \
    }
#define COUNT_BLOCKING(NAME) COUNT(NAME, blocking)
#define COUNT_STARTED(NAME) COUNT(NAME, started)
COLLECTIVES(COUNT_BLOCKING)
STARTED(COUNT_STARTED)

static int end_Finalize PARAMETERS
{
    fprintf(stderr, "blocking %d, started %d\n", blocking, started);
    return host_Finalize ARGUMENTS;
}

/* Keeps the address of a function of the host MPI, and returns the function that counts its calls,
 * or the function itself if its calls are not counted. */
static function *replace(const char *name, function *of_host)
{
#define REPLACE(NAME, NEW)                                                                         \
    if (strcmp(name, "PMPI_" #NAME) == 0) {                                                        \
        host_##NAME = of_host;                                                                     \
        return NEW##_##NAME;                                                                       \
    }
#define REPLACE_COUNTED(NAME) REPLACE(NAME, count)
    COLLECTIVES(REPLACE_COUNTED)
    STARTED(REPLACE_COUNTED)
    REPLACE(Finalize, end)
    return of_host;
}

/* ---- What the dynamic linker calls ---- */

unsigned la_version(unsigned version)
{
    return version;
}

/* Makes the linker call la_symbind64 for the functions that libtutti_mpi.so finds in a host MPI. */
unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    (void)space, (void)cookie;
    if (strstr(map->l_name, "/libtutti_mpi.so")) return LA_FLG_BINDFROM;
    return strstr(map->l_name, "/libmpi") ? LA_FLG_BINDTO : 0;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                       unsigned *flags, const char *name)
{
    (void)index, (void)from, (void)to, (void)flags;
    return (uintptr_t)replace(name, (function *)symbol->st_value);
}
