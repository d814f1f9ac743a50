/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives that Tutti does, each for counts of type int and MPI_Count. The arguments are
 * those of MPI's function, except for the communicator, which is a member of the call. A function
 * returns false if the host (the program's MPI) is to do the call; call->choice says why.
 */
#ifndef TT_MPI_TAKE_H
#define TT_MPI_TAKE_H

#include "mpi/later.h"

/* Does a collective of Tutti, or starts it, or prepares it, as the call needs. NAME is the
 * collective's name in tutti.h without "tutti_", followed by its arguments. The value is the
 * status. */
#define TT_MPI_RUN(CALL, NAME, ...)                                                                \
    (tt_mpi_blocks(CALL) ? tt_mpi_tutti.NAME(__VA_ARGS__)                                          \
     : (CALL)->prepares                                                                            \
         ? tt_mpi_tutti.NAME##_init(__VA_ARGS__, TUTTI_REQUEST_DEFAULT, &(CALL)->request)          \
     : tt_mpi_before_start(CALL)                                                                   \
         ? tt_mpi_after_start(CALL, tt_mpi_tutti.i##NAME(__VA_ARGS__, &(CALL)->request))           \
         : (CALL)->status)

#define tt_mpi_do_barrier TT_MPI_OWN(barrier)
#define tt_mpi_do_bcast TT_MPI_OWN(bcast)
#define tt_mpi_do_reduce TT_MPI_OWN(reduce)
#define tt_mpi_do_allreduce TT_MPI_OWN(allreduce)
#define tt_mpi_do_scan TT_MPI_OWN(scan)
#define tt_mpi_do_exscan TT_MPI_OWN(exscan)
#define tt_mpi_do_reduce_scatter TT_MPI_OWN(reduce_scatter)
#define tt_mpi_do_reduce_scatter_block TT_MPI_OWN(reduce_scatter_block)
#define tt_mpi_do_gather TT_MPI_OWN(gather)
#define tt_mpi_do_scatter TT_MPI_OWN(scatter)
#define tt_mpi_do_allgather TT_MPI_OWN(allgather)
#define tt_mpi_do_alltoall TT_MPI_OWN(alltoall)

bool tt_mpi_do_barrier(struct tt_mpi_call *call);
bool tt_mpi_do_bcast(struct tt_mpi_call *call, void *buffer, int64_t count, MPI_Datatype type,
                     int root);

bool tt_mpi_do_reduce(struct tt_mpi_call *call, const void *sendbuf, void *recvbuf, int64_t count,
                      MPI_Datatype type, MPI_Op op, int root);
bool tt_mpi_do_allreduce(struct tt_mpi_call *call, const void *sendbuf, void *recvbuf,
                         int64_t count, MPI_Datatype type, MPI_Op op);
bool tt_mpi_do_scan(struct tt_mpi_call *call, const void *sendbuf, void *recvbuf, int64_t count,
                    MPI_Datatype type, MPI_Op op);
bool tt_mpi_do_exscan(struct tt_mpi_call *call, const void *sendbuf, void *recvbuf, int64_t count,
                      MPI_Datatype type, MPI_Op op);
bool tt_mpi_do_reduce_scatter_block(struct tt_mpi_call *call, const void *sendbuf, void *recvbuf,
                                    int64_t count, MPI_Datatype type, MPI_Op op);
bool tt_mpi_do_reduce_scatter(struct tt_mpi_call *call, const void *sendbuf, void *recvbuf,
                              struct tt_mpi_counts counts, MPI_Datatype type, MPI_Op op);

bool tt_mpi_do_allgather(struct tt_mpi_call *call, const void *sendbuf, int64_t sendcount,
                         MPI_Datatype sendtype, void *recvbuf, int64_t recvcount,
                         MPI_Datatype recvtype);
bool tt_mpi_do_gather(struct tt_mpi_call *call, const void *sendbuf, int64_t sendcount,
                      MPI_Datatype sendtype, void *recvbuf, int64_t recvcount,
                      MPI_Datatype recvtype, int root);
bool tt_mpi_do_scatter(struct tt_mpi_call *call, const void *sendbuf, int64_t sendcount,
                       MPI_Datatype sendtype, void *recvbuf, int64_t recvcount,
                       MPI_Datatype recvtype, int root);
bool tt_mpi_do_alltoall(struct tt_mpi_call *call, const void *sendbuf, int64_t sendcount,
                        MPI_Datatype sendtype, void *recvbuf, int64_t recvcount,
                        MPI_Datatype recvtype);

/* clang-format off */
/* TT_MPI_DO_X calls the function above that does MPI_X, with the arguments of MPI_X. */
#define TT_MPI_DO_Barrier(C, COMM) tt_mpi_do_barrier(C)
#define TT_MPI_DO_Bcast(C, B, N, T, ROOT, COMM) tt_mpi_do_bcast(C, B, N, T, ROOT)
#define TT_MPI_DO_Reduce(C, S, R, N, T, OP, ROOT, COMM) tt_mpi_do_reduce(C, S, R, N, T, OP, ROOT)
#define TT_MPI_DO_Allreduce(C, S, R, N, T, OP, COMM) tt_mpi_do_allreduce(C, S, R, N, T, OP)
#define TT_MPI_DO_Scan(C, S, R, N, T, OP, COMM) tt_mpi_do_scan(C, S, R, N, T, OP)
#define TT_MPI_DO_Exscan(C, S, R, N, T, OP, COMM) tt_mpi_do_exscan(C, S, R, N, T, OP)
#define TT_MPI_DO_Reduce_scatter_block(C, S, R, N, T, OP, COMM) \
    tt_mpi_do_reduce_scatter_block(C, S, R, N, T, OP)
#define TT_MPI_DO_Reduce_scatter(C, S, R, N, T, OP, COMM) \
    tt_mpi_do_reduce_scatter(C, S, R, TT_MPI_LIST(N), T, OP)
#define TT_MPI_DO_Allgather(C, S, SN, ST, R, RN, RT, COMM) \
    tt_mpi_do_allgather(C, S, SN, ST, R, RN, RT)
#define TT_MPI_DO_Alltoall(C, S, SN, ST, R, RN, RT, COMM) \
    tt_mpi_do_alltoall(C, S, SN, ST, R, RN, RT)
#define TT_MPI_DO_Gather(C, S, SN, ST, R, RN, RT, ROOT, COMM) \
    tt_mpi_do_gather(C, S, SN, ST, R, RN, RT, ROOT)
#define TT_MPI_DO_Scatter(C, S, SN, ST, R, RN, RT, ROOT, COMM) \
    tt_mpi_do_scatter(C, S, SN, ST, R, RN, RT, ROOT)
#define TT_MPI_DO_Bcast_c TT_MPI_DO_Bcast
#define TT_MPI_DO_Reduce_c TT_MPI_DO_Reduce
#define TT_MPI_DO_Allreduce_c TT_MPI_DO_Allreduce
#define TT_MPI_DO_Scan_c TT_MPI_DO_Scan
#define TT_MPI_DO_Exscan_c TT_MPI_DO_Exscan
#define TT_MPI_DO_Reduce_scatter_block_c TT_MPI_DO_Reduce_scatter_block
#define TT_MPI_DO_Reduce_scatter_c TT_MPI_DO_Reduce_scatter
#define TT_MPI_DO_Allgather_c TT_MPI_DO_Allgather
#define TT_MPI_DO_Alltoall_c TT_MPI_DO_Alltoall
#define TT_MPI_DO_Gather_c TT_MPI_DO_Gather
#define TT_MPI_DO_Scatter_c TT_MPI_DO_Scatter
/* clang-format on */

#endif
