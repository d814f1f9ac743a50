/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds out, before Tutti starts, whether the ranks have the same settings. One collective of the
 * host MPI shows whether anything differs. Only if something differs, further collectives find out
 * which setting it is, and on which ranks, for the text of the error.
 */
#ifndef TT_MPI_AGREE_H
#define TT_MPI_AGREE_H

#include "mpi/shim.h"
#include "mpi/team.h"

/* Returns the mode of all ranks, and fills in *all, which team.c needs, if Tutti is to take calls.
 * If the modes or the lists of functions differ, or a rank cannot load libtutti.so, returns
 * TT_MPI_OFF on all ranks, and a rank prints why. If Tutti is to take calls and any rank wants a
 * report, sets tt_mpi_setting.report on all ranks. Collective over the world. */
#define tt_mpi_agree TT_MPI_OWN(agree)
enum tt_mpi_mode tt_mpi_agree(struct tt_mpi_all *all);

#endif
