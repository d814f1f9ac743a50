/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds out, at the end of MPI_Init, whether all ranks have this library.
 */
#ifndef TT_MPI_GREET_H
#define TT_MPI_GREET_H

#include "mpi/host.h"

/* Returns whether all ranks of the world have this library. Is called at the end of MPI_Init. The
 * answer is the same on all ranks that have the library; if it is false, one of these ranks has
 * printed a line about it. If the launcher has no name service (MPI_Publish_name), and a rank does
 * not have the library, this function prints a line and waits for ever. */
#define tt_mpi_greet TT_MPI_OWN(greet)
bool tt_mpi_greet(void);

#endif
