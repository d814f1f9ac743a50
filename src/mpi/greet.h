/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds out, at the end of MPI_Init, whether all ranks have this library.
 */
#ifndef TT_MPI_GREET_H
#define TT_MPI_GREET_H

#include "mpi/host.h"

/* Whether all ranks of the world have this library; called at the end of MPI_Init. The answer is
 * the same on all ranks that have it; if it is false, a rank has said so. With launchers that have
 * no names, prints a line and waits for ever if a rank does not have it. */
#define tt_mpi_greet TT_MPI_OWN(greet)
bool tt_mpi_greet(void);

#endif
