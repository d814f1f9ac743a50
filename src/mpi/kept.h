/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decisions of the measured choice that are kept for the next program on this machine, in a text
 * file in the user's cache folder, a line for each:
 *
 *     allreduce/1K/p4@nodes:2,2 by=tutti tutti-us=3.214 host-us=8.020 cores=2 host=open-mpi-v4.1.4
 *         date=2026-11-26T18:03:11Z version=0.9.0 machine=intel-r-xeon-2
 *
 * (in one line). "allreduce/user/1K/p4" has an operation of the program, and 1K stands for the
 * bytes from 1K up to 2K. A line is used only under the host, on the kind of machine, by the
 * version and with the number of processors that it names.
 *
 * A decision is kept if one side took at least a tenth less than the other. If they were closer,
 * the next program measures again. Nor is it kept if the bytes of its calls are unknown, because
 * the calls of another program may be much longer.
 *
 * All ranks of a job must decide alike. So rank 0 alone reads the file, when MPI begins, and gives
 * the decisions to the others; and rank 0 alone writes those that were made on communicators that
 * it belongs to, when MPI ends. The files here know no MPI; team.c calls them.
 */
#ifndef TT_MPI_KEPT_H
#define TT_MPI_KEPT_H

#include "mpi/trial.h"

enum { TT_MPI_KEPT = 512, TT_MPI_LAYOUT = 64, TT_MPI_KEPT_LINE = 512 };

/* This holds for all decisions of a job. */
struct tt_mpi_place {
    char host[64];    /* "open-mpi-v4.1.4" */
    char version[24]; /* of Tutti */
    int cores;        /* processors of the first node for its ranks, at most one for each */
};

/* A decision, and the communicators that it is for. */
struct tt_mpi_keep {
    struct tt_mpi_decision decision;
    int32_t ranks;
    char layout[TT_MPI_LAYOUT]; /* the ranks of each node, "2,2"; "": there is one node */
};
struct tt_mpi_kept {
    int32_t n;
    struct tt_mpi_keep entry[TT_MPI_KEPT];
};

/* Writes how these n ranks lie on nodes; NULL: 0, 1, 2 ... node[r] stands for the node of rank r.
 * False: the ranks of a node are not adjacent, or the text is too long; no decision is kept for
 * them. */
bool tt_mpi_nodes_of(int n, const int *ranks, const int *node, char layout[TT_MPI_LAYOUT]);

/* Reads the decisions that may be used at this place: the last ones, if there are too many. If
 * there is no file, or it cannot be read, there are none. */
void tt_mpi_kept_read(const struct tt_mpi_place *place, struct tt_mpi_kept *kept);
/* Adds a decision that is clear enough to be kept; replaces one on the same shape for the same
 * ranks. Forgets it if there are too many. */
void tt_mpi_kept_add(struct tt_mpi_kept *kept, const struct tt_mpi_keep *keep);
/* Adds these decisions to the file, where they replace those for the same shape, ranks, processors,
 * host and machine. Lines that other processes add meanwhile stay. Nothing happens if there are
 * none. If the file cannot be written, prints a line only if TUTTI_MPI_WISDOM names it. */
void tt_mpi_kept_write(const struct tt_mpi_place *place, const struct tt_mpi_kept *kept);

#endif
