/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decisions of the measured choice (trial.h) that are kept for the next program on this machine, in
 * a text file in the user's cache folder, with a line for each decision:
 *
 *     allreduce/1K/p4@nodes:2,2 by=tutti tutti-us=3.214 host-us=8.020 cores=2 host=open-mpi-v4.1.4
 *         date=2026-11-26T18:03:11Z version=0.9.0 machine=intel-r-xeon-2
 *
 * (in one line). "p4" is four ranks, and "1K" stands for the bytes from 1K up to 2K. "@nodes:2,2"
 * says that there are two ranks on each of two nodes; it is missing if all are on one. `by` is the
 * side that does the calls, "tutti" or "host". tutti-us and host-us are the times of a call on the
 * two sides, in microseconds, and `cores` is the number of processors. "allreduce/user/1K/p4"
 * reduces by an operation of the program. A line is used only with the host (the program's MPI),
 * the kind of machine, the version of Tutti and the number of processors that it names.
 *
 * A decision is kept if one side took at least a tenth less time than the other. If they were
 * closer, the next program measures again. A decision is not kept if the bytes of its calls are
 * unknown, because the calls of another program may be much longer.
 *
 * All ranks of a job must decide alike. So rank 0 alone reads the file, when MPI begins, and sends
 * the decisions to the other ranks. Rank 0 alone writes the file, when MPI ends: the decisions that
 * were made on communicators to which rank 0 belongs. The functions here do not call MPI; team.c
 * calls them.
 */
#ifndef TT_MPI_KEPT_H
#define TT_MPI_KEPT_H

#include "mpi/trial.h"

enum { TT_MPI_KEPT = 512, TT_MPI_LAYOUT = 64, TT_MPI_KEPT_LINE = 512 };

/* Where the decisions of a job are measured. */
struct tt_mpi_place {
    char host[64];    /* the host and its version, such as "open-mpi-v4.1.4" */
    char version[24]; /* the version of Tutti */
    int cores;        /* processors for the ranks of the first node, at most one for each rank */
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

/* Writes the number of ranks on each node, such as "2,2", or "" if all n ranks are on one node.
 * `ranks`: the ranks; NULL: 0, 1, 2 ... node[r] is a number of the node of rank r. False: the ranks
 * of a node are not adjacent, or the text is too long; for these ranks no decision is kept. */
bool tt_mpi_nodes_of(int n, const int *ranks, const int *node, char layout[TT_MPI_LAYOUT]);

/* Reads from the file the decisions that were measured at this place; the last TT_MPI_KEPT of
 * them, if there are more. If there is no file, or it cannot be read, there are none. */
void tt_mpi_kept_read(const struct tt_mpi_place *place, struct tt_mpi_kept *kept);
/* Adds a decision, if it is clear enough to be kept. It replaces an earlier decision on the same
 * shape for communicators of the same number of ranks that are spread over nodes in the same way.
 * If there is no such decision, and TT_MPI_KEPT decisions are kept already, it replaces the oldest
 * one. */
void tt_mpi_kept_add(struct tt_mpi_kept *kept, const struct tt_mpi_keep *keep);
/* Adds these decisions to the file from which tt_mpi_kept_read has read. They replace lines for the
 * same shape, ranks, processors, host and machine. Lines that other processes add meanwhile stay.
 * Does nothing if there are no decisions. If the file cannot be written, prints a line only if
 * TUTTI_MPI_WISDOM names the file. */
void tt_mpi_kept_write(const struct tt_mpi_place *place, const struct tt_mpi_kept *kept);

#endif
