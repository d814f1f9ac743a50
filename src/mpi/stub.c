/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions that libtutti_mpi.so exports: for each function of the table MPI_X and PMPI_X,
 * because the Fortran layers of some hosts call PMPI_X, and for those of an extension MPIX_X and
 * PMPIX_X. Each one jumps through `table`. This file is compiled with optimisation in every build,
 * so that the compiler makes a jump of the call: the function in the table then sees the return
 * address in the program.
 *
 * With TT_MPI_STATIC, the file is for a program that is linked statically (static.c): it exports
 * MPI_X only, for PMPI_X is the host's.
 */
#include "mpi/shim.h"

/* The types of MPI as the machine words in which they travel. A handle is an int in some hosts;
 * the upper half of its word is then undefined, and is passed on as it is. */
typedef intptr_t MPI_Datatype, MPI_Op, MPI_Comm, MPI_Count, MPI_Aint, MPI_Info, MPI_Request;

#define EXPORT __attribute__((visibility("default")))

/* clang-format off */
#define JUMP(NAME, PARAMETERS, ARGUMENTS) \
    return ((int(*) PARAMETERS)table[TT_MPI_##NAME])ARGUMENTS;

/* Where a call of each function goes; until the host is known, to first_X. */
static tt_mpi_function table[TT_MPI_N];

#define FIRST(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    static int first_##NAME PARAMETERS \
    { \
        tt_mpi_start(table); \
        JUMP(NAME, PARAMETERS, ARGUMENTS) \
    }
#define FIRST_X(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    FIRST(X_##NAME, PARAMETERS, ARGUMENTS, FACT, ROLES)
TT_MPI_FUNCTIONS(FIRST)
TT_MPI_COLLECTIVES_X(FIRST_X)

#define ENTRY(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) (tt_mpi_function)first_##NAME,
#define ENTRY_X(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) (tt_mpi_function)first_X_##NAME,
static tt_mpi_function table[TT_MPI_N] = {
    TT_MPI_FUNCTIONS(ENTRY) TT_MPI_COLLECTIVES_X(ENTRY_X)};

#define STUB(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    EXPORT int MPI_##NAME PARAMETERS; \
    int MPI_##NAME PARAMETERS { JUMP(NAME, PARAMETERS, ARGUMENTS) }
#define STUB_X(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    EXPORT int MPIX_##NAME PARAMETERS; \
    int MPIX_##NAME PARAMETERS { JUMP(X_##NAME, PARAMETERS, ARGUMENTS) } \
    EXPORT int PMPIX_##NAME PARAMETERS; \
    int PMPIX_##NAME PARAMETERS { JUMP(X_##NAME, PARAMETERS, ARGUMENTS) }
#define STUB_P(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    EXPORT int PMPI_##NAME PARAMETERS; \
    int PMPI_##NAME PARAMETERS { JUMP(NAME, PARAMETERS, ARGUMENTS) }
#ifdef TT_MPI_STATIC
TT_MPI_LIFE_3(STUB)
TT_MPI_COLLECTIVES_3(STUB)
#else
TT_MPI_FUNCTIONS(STUB)
TT_MPI_FUNCTIONS(STUB_P)
TT_MPI_COLLECTIVES_X(STUB_X)
#endif
