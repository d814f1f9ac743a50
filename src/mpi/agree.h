/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks agree here before Tutti starts. One collective of the host says whether anything
 * differs. Only then do the ranks ask each other what, for the text of the error.
 */
#ifndef TT_MPI_AGREE_H
#define TT_MPI_AGREE_H

#include "mpi/shim.h"
#include "mpi/team.h"

/* Returns the mode of all ranks, and fills in what team.c must know of them if they take calls. If
 * the modes or the lists of functions differ, or a rank cannot load Tutti, nothing is counted or
 * taken, and a rank says why. If one rank wants a report, there is one. Collective over the
 * world. */
#define tt_mpi_agree TT_MPI_OWN(agree)
enum tt_mpi_mode tt_mpi_agree(struct tt_mpi_all *all);

#endif
