/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions that libtutti_mpi.so exports: for each function X in the table of functions.h,
 * MPI_X and PMPI_X, because the Fortran layers of some MPIs call PMPI_X; and for each function of
 * Open MPI's extension, MPIX_X and PMPIX_X. PMPI_X jumps to the address in `table`, and MPI_X to
 * that in `outer`. This file is compiled with optimisation in every build, so that the compiler
 * turns the call into a jump: the function in the table then sees the return address in the
 * program.
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
#define JUMP(FUNCTION, PARAMETERS, ARGUMENTS) \
    return ((int(*) PARAMETERS)(FUNCTION))ARGUMENTS;

/* The address to which each exported function PMPI_X jumps; until the first call, the address of
 * first_X. */
static tt_mpi_function table[TT_MPI_N];

#define FIRST(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    static int first_##NAME PARAMETERS \
    { \
        tt_mpi_start(table, OUTER); \
        JUMP(table[TT_MPI_##NAME], PARAMETERS, ARGUMENTS) \
    }
#define FIRST_X(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    FIRST(X_##NAME, PARAMETERS, ARGUMENTS, FACT, ROLES)
#define ENTRY(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) (tt_mpi_function)first_##NAME,
#define ENTRY_X(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) (tt_mpi_function)first_X_##NAME,

#ifdef TT_MPI_STATIC

#define OUTER NULL
TT_MPI_FUNCTIONS(FIRST)
TT_MPI_COLLECTIVES_X(FIRST_X)
static tt_mpi_function table[TT_MPI_N] = {
    TT_MPI_FUNCTIONS(ENTRY) TT_MPI_COLLECTIVES_X(ENTRY_X)};

#define STUB(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    EXPORT int MPI_##NAME PARAMETERS; \
    int MPI_##NAME PARAMETERS { JUMP(table[TT_MPI_##NAME], PARAMETERS, ARGUMENTS) }
TT_MPI_LIFE_3(STUB)
TT_MPI_COLLECTIVES_3(STUB)

#else

/* The address to which each exported function MPI_X jumps: the function MPI_X of a tool that the
 * program is linked with, which the program would call without Tutti, and which calls PMPI_X; if
 * there is no tool, the address in `table`. Until the first call, each entry is the address of
 * outer_X. */
#define OUTER outer
static tt_mpi_function outer[TT_MPI_N];

#define FIRST_OUTER(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    static int outer_##NAME PARAMETERS \
    { \
        tt_mpi_start(table, outer); \
        JUMP(outer[TT_MPI_##NAME], PARAMETERS, ARGUMENTS) \
    }
#define FIRST_OUTER_X(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    FIRST_OUTER(X_##NAME, PARAMETERS, ARGUMENTS, FACT, ROLES)
TT_MPI_FUNCTIONS(FIRST)
TT_MPI_COLLECTIVES_X(FIRST_X)
TT_MPI_FUNCTIONS(FIRST_OUTER)
TT_MPI_COLLECTIVES_X(FIRST_OUTER_X)
static tt_mpi_function table[TT_MPI_N] = {
    TT_MPI_FUNCTIONS(ENTRY) TT_MPI_COLLECTIVES_X(ENTRY_X)};
#define ENTRY_OUTER(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) (tt_mpi_function)outer_##NAME,
#define ENTRY_OUTER_X(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) (tt_mpi_function)outer_X_##NAME,
static tt_mpi_function outer[TT_MPI_N] = {
    TT_MPI_FUNCTIONS(ENTRY_OUTER) TT_MPI_COLLECTIVES_X(ENTRY_OUTER_X)};

#define STUB(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    EXPORT int MPI_##NAME PARAMETERS; \
    int MPI_##NAME PARAMETERS { JUMP(outer[TT_MPI_##NAME], PARAMETERS, ARGUMENTS) } \
    EXPORT int PMPI_##NAME PARAMETERS; \
    int PMPI_##NAME PARAMETERS { JUMP(table[TT_MPI_##NAME], PARAMETERS, ARGUMENTS) }
#define STUB_X(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    EXPORT int MPIX_##NAME PARAMETERS; \
    int MPIX_##NAME PARAMETERS { JUMP(outer[TT_MPI_X_##NAME], PARAMETERS, ARGUMENTS) } \
    EXPORT int PMPIX_##NAME PARAMETERS; \
    int PMPIX_##NAME PARAMETERS { JUMP(table[TT_MPI_X_##NAME], PARAMETERS, ARGUMENTS) }
TT_MPI_FUNCTIONS(STUB)
TT_MPI_COLLECTIVES_X(STUB_X)

#endif
