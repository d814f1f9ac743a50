/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions that libtutti_mpi.so exports: for each function X in the table of functions.h,
 * MPI_X and PMPI_X, because the Fortran layers of some MPIs call PMPI_X; and for each function of
 * Open MPI's extension, MPIX_X and PMPIX_X. Each function jumps to the address in `table`. This
 * file is compiled with optimisation in every build, so that the compiler turns the call into a
 * jump: the function in the table then sees the return address in the program.
 *
 * With TT_MPI_STATIC, the file is for a program that is linked statically (static.c): it exports
 * only MPI_X, because the program's MPI defines PMPI_X.
 */
#include "mpi/shim.h"

/* The types of MPI, as machine words, because arguments are passed on as such words. A handle is an
 * int in some MPIs; the upper half of its word is then undefined, and is passed on as it is. */
typedef intptr_t MPI_Datatype, MPI_Op, MPI_Comm, MPI_Count, MPI_Aint, MPI_Info, MPI_Request;

#define EXPORT __attribute__((visibility("default")))

/* clang-format off */
#define JUMP(NAME, PARAMETERS, ARGUMENTS) \
    return ((int(*) PARAMETERS)table[TT_MPI_##NAME])ARGUMENTS;

/* The address to which each exported function X jumps; until the first call, that of first_X. */
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
