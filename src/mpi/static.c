/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host (the program's MPI) in a program that is linked statically, as in
 *
 *     cc app.o -l:libtutti_mpi.a -l:libmpich.a
 *
 * Tutti's library then defines the functions MPI_..., and the host PMPI_... The references here
 * make the linker take the host's functions from its archive. They are functions of MPI 3, which
 * every host has; functions that MPI 4 added stay the host's own. Tutti itself calls a few
 * functions of MPI 4 if the host has them. These are in the same members of MPICH's archive as
 * functions of MPI 3, so weak references find them there, and are NULL with a host that does not
 * have them.
 */
#include <string.h>

#include "mpi/shim.h"

/* clang-format off */
#define DECLARE(NAME, ...) extern void PMPI_##NAME(void);
TT_MPI_LIFE_3(DECLARE)
TT_MPI_COLLECTIVES_3(DECLARE)
TT_MPI_NEEDED_3(DECLARE)
#define DECLARE_WEAK(NAME) extern void PMPI_##NAME(void) __attribute__((weak));
TT_MPI_NEEDED_4(DECLARE_WEAK)

#define ROW(NAME, ...) {"PMPI_" #NAME, PMPI_##NAME},
static const struct {
    const char *name;
    tt_mpi_function function;
} functions[] = {TT_MPI_LIFE_3(ROW) TT_MPI_COLLECTIVES_3(ROW) TT_MPI_NEEDED_3(ROW)
                     TT_MPI_NEEDED_4(ROW)};
/* clang-format on */

bool tt_mpi_find_host(void)
{
    return true;
}

/* Returns NULL: the host's code and the program's share such a place. */
_Atomic(tt_mpi_function) *tt_mpi_host_import(const char *name, bool *sealed)
{
    (void)name, (void)sealed;
    return NULL;
}

const char *tt_mpi_host_path(void)
{
    return "this program";
}

void *tt_mpi_host_symbol(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strcmp(functions[i].name, name) == 0) return (void *)functions[i].function;
    return NULL;
}

/* Returns NULL: the linker has decided already which function MPI_X is in a static program. */
void *tt_mpi_tool_symbol(const char *name)
{
    (void)name;
    return NULL;
}

/* Returns NULL: the handles of MPICH, the only host with a static library, are constants and not
 * variables. */
void *tt_mpi_host_variable(const char *name)
{
    (void)name;
    return NULL;
}

const char *tt_mpi_own_path(void)
{
    return "";
}

/* Returns false, because no call from inside the host reaches this library: the library defines
 * only functions MPI_..., and code in the host calls the host's functions PMPI_... */
bool tt_mpi_in_host(const void *address)
{
    (void)address;
    return false;
}
