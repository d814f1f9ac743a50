/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The backends of this library: those for whose host the build found an mpi.h.
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
