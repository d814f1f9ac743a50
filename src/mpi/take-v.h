/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives that Tutti does in which each rank's piece has its own length. As in take.h, a
 * function returns false if the host (the program's MPI) is to do the call, and call->choice says
 * why.
 */
#ifndef TT_MPI_TAKE_V_H
#define TT_MPI_TAKE_V_H

#include "mpi/take.h"

#define tt_mpi_do_gatherv TT_MPI_OWN(gatherv)
#define tt_mpi_do_scatterv TT_MPI_OWN(scatterv)
#define tt_mpi_do_allgatherv TT_MPI_OWN(allgatherv)
#define tt_mpi_do_alltoallv TT_MPI_OWN(alltoallv)
#define tt_mpi_do_alltoallw TT_MPI_OWN(alltoallw)

bool tt_mpi_do_allgatherv(struct tt_mpi_call *call, const void *sendbuf, int64_t sendcount,
                          MPI_Datatype sendtype, void *recvbuf, struct tt_mpi_counts recvcounts,
                          struct tt_mpi_counts displs, MPI_Datatype recvtype);
bool tt_mpi_do_gatherv(struct tt_mpi_call *call, const void *sendbuf, int64_t sendcount,
                       MPI_Datatype sendtype, void *recvbuf, struct tt_mpi_counts recvcounts,
                       struct tt_mpi_counts displs, MPI_Datatype recvtype, int root);
bool tt_mpi_do_scatterv(struct tt_mpi_call *call, const void *sendbuf,
                        struct tt_mpi_counts sendcounts, struct tt_mpi_counts displs,
                        MPI_Datatype sendtype, void *recvbuf, int64_t recvcount,
                        MPI_Datatype recvtype, int root);
bool tt_mpi_do_alltoallv(struct tt_mpi_call *call, const void *sendbuf,
                         struct tt_mpi_counts sendcounts, struct tt_mpi_counts sdispls,
                         MPI_Datatype sendtype, void *recvbuf, struct tt_mpi_counts recvcounts,
                         struct tt_mpi_counts rdispls, MPI_Datatype recvtype);
bool tt_mpi_do_alltoallw(struct tt_mpi_call *call, const void *sendbuf,
                         struct tt_mpi_counts sendcounts, struct tt_mpi_counts sdispls,
                         const MPI_Datatype *sendtypes, void *recvbuf,
                         struct tt_mpi_counts recvcounts, struct tt_mpi_counts rdispls,
                         const MPI_Datatype *recvtypes);

/* clang-format off */
#define TT_MPI_DO_Allgatherv(C, S, SN, ST, R, RN, D, RT, COMM) \
    tt_mpi_do_allgatherv(C, S, SN, ST, R, TT_MPI_LIST(RN), TT_MPI_LIST(D), RT)
#define TT_MPI_DO_Allgatherv_c TT_MPI_DO_Allgatherv
#define TT_MPI_DO_Gatherv(C, S, SN, ST, R, RN, D, RT, ROOT, COMM) \
    tt_mpi_do_gatherv(C, S, SN, ST, R, TT_MPI_LIST(RN), TT_MPI_LIST(D), RT, ROOT)
#define TT_MPI_DO_Gatherv_c TT_MPI_DO_Gatherv
#define TT_MPI_DO_Scatterv(C, S, SN, D, ST, R, RN, RT, ROOT, COMM) \
    tt_mpi_do_scatterv(C, S, TT_MPI_LIST(SN), TT_MPI_LIST(D), ST, R, RN, RT, ROOT)
#define TT_MPI_DO_Scatterv_c TT_MPI_DO_Scatterv
#define TT_MPI_DO_Alltoallv(C, S, SN, SD, ST, R, RN, RD, RT, COMM) \
    tt_mpi_do_alltoallv(C, S, TT_MPI_LIST(SN), TT_MPI_LIST(SD), ST, R, TT_MPI_LIST(RN), \
                        TT_MPI_LIST(RD), RT)
#define TT_MPI_DO_Alltoallv_c TT_MPI_DO_Alltoallv
#define TT_MPI_DO_Alltoallw(C, S, SN, SD, ST, R, RN, RD, RT, COMM) \
    tt_mpi_do_alltoallw(C, S, TT_MPI_LIST(SN), TT_MPI_LIST(SD), ST, R, TT_MPI_LIST(RN), \
                        TT_MPI_LIST(RD), RT)
#define TT_MPI_DO_Alltoallw_c TT_MPI_DO_Alltoallw
/* clang-format on */

#endif
