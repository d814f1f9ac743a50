/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The backends in this library: one for each MPI whose mpi.h the build has found.
 */
#include "mpi/shim.h"

extern const struct tt_mpi_backend tt_mpi_backend_openmpi, tt_mpi_backend_mpich;

const struct tt_mpi_backend *const tt_mpi_backends[] = {
#ifdef TT_MPI_OPENMPI
    &tt_mpi_backend_openmpi,
#endif
#ifdef TT_MPI_MPICH
    &tt_mpi_backend_mpich,
#endif
    NULL,
};
