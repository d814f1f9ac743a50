/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls that are recognised at once as left to the host (the program's MPI), because Tutti was not
 * measured to be faster. Such calls must cost next to nothing more than without Tutti. So each
 * thread remembers, for each collective, the last call that was left for this reason: its
 * communicator, type and operation, and the range of counts that have the same shape (trial.h). If
 * the next call agrees with it, the call goes to the host at once, and its other arguments are not
 * looked at.
 *
 * All ranks still do the same. A call that agrees has a shape that is decided for the host, for as
 * long as the communicator exists, or it has a wrong argument. In both cases the host would do the
 * call anyway, and the call would not be counted in a trial. A handle must mean what it meant when
 * it was remembered. The handle of a communicator keeps its meaning until a communicator is freed,
 * which tt_removed counts. Types are remembered only if they are predefined. For an operation, it
 * matters only whether it is one of the program or of MPI.
 */
#ifndef TT_MPI_LEFT_H
#define TT_MPI_LEFT_H

#include "mpi/host.h"

struct tt_mpi_left {
    uint64_t comm, type, op; /* the handles as numbers (TT_MPI_KEY); comm 0: no call is remembered;
                              * type or op 0: the call has none */
    int64_t least;           /* the least count with the same shape */
    uint64_t more;           /* counts from least up to least + more have the same shape */
    unsigned removed;        /* tt_removed when the call was remembered */
    int rank;                /* the rank of this process in the communicator */
};
#define tt_left TT_MPI_OWN(left)
extern __thread struct tt_mpi_left tt_left[TT_MPI_INDEXES]
    __attribute__((tls_model("initial-exec")));

/* TT_MPI_BY_X(RANK, arguments of MPI_X) makes four values from a call of the function MPI_X: the
 * number of the collective, and the count, the type and the operation by which the call is
 * recognised (0: none). Only gather and scatter use the macro RANK: RANK(X) is the rank of this
 * process in the communicator of the call, or in that of the remembered call of MPI_X if the two
 * are to be compared. */
/* clang-format off */
#define TT_MPI_BY_NOTHING(NAME) TT_MPI_INDEX_##NAME, 0, 0, 0
#define TT_MPI_BY_TYPE(NAME, N, T) TT_MPI_INDEX_##NAME, N, TT_MPI_KEY(T), 0
#define TT_MPI_BY_OP(NAME, N, T, OP) TT_MPI_INDEX_##NAME, N, TT_MPI_KEY(T), TT_MPI_KEY(OP)
#define TT_MPI_BY_Barrier(RANK, COMM) TT_MPI_BY_NOTHING(Barrier)
#define TT_MPI_BY_Bcast(RANK, B, N, T, ROOT, COMM) TT_MPI_BY_TYPE(Bcast, N, T)
#define TT_MPI_BY_Reduce(RANK, S, R, N, T, OP, ROOT, COMM) TT_MPI_BY_OP(Reduce, N, T, OP)
#define TT_MPI_BY_Allreduce(RANK, S, R, N, T, OP, COMM) TT_MPI_BY_OP(Allreduce, N, T, OP)
#define TT_MPI_BY_Scan(RANK, S, R, N, T, OP, COMM) TT_MPI_BY_OP(Scan, N, T, OP)
#define TT_MPI_BY_Exscan(RANK, S, R, N, T, OP, COMM) TT_MPI_BY_OP(Exscan, N, T, OP)
#define TT_MPI_BY_Reduce_scatter_block(RANK, S, R, N, T, OP, COMM) \
    TT_MPI_BY_OP(Reduce_scatter_block, N, T, OP)
#define TT_MPI_BY_Allgather(RANK, S, SN, ST, R, RN, RT, COMM) TT_MPI_BY_TYPE(Allgather, RN, RT)
#define TT_MPI_BY_Alltoall(RANK, S, SN, ST, R, RN, RT, COMM) TT_MPI_BY_TYPE(Alltoall, RN, RT)
#define TT_MPI_BY_Gather(RANK, S, SN, ST, R, RN, RT, ROOT, COMM) \
    TT_MPI_BY_TYPE(Gather, ROOT == RANK(Gather) ? RN : SN, ROOT == RANK(Gather) ? RT : ST)
#define TT_MPI_BY_Scatter(RANK, S, SN, ST, R, RN, RT, ROOT, COMM) \
    TT_MPI_BY_TYPE(Scatter, ROOT == RANK(Scatter) ? SN : RN, ROOT == RANK(Scatter) ? ST : RT)
#define TT_MPI_BY_Gatherv(...) TT_MPI_BY_NOTHING(Gatherv)
#define TT_MPI_BY_Scatterv(...) TT_MPI_BY_NOTHING(Scatterv)
#define TT_MPI_BY_Alltoallv(...) TT_MPI_BY_NOTHING(Alltoallv)
#define TT_MPI_BY_Alltoallw(...) TT_MPI_BY_NOTHING(Alltoallw)
/* The bytes of an allgatherv or a reduce_scatter depend on all its counts. So no call of these two
 * is remembered: the count -1 agrees with no range of counts. */
#define TT_MPI_BY_Allgatherv(...) TT_MPI_INDEX_Allgatherv, -1, 0, 0
#define TT_MPI_BY_Reduce_scatter(...) TT_MPI_INDEX_Reduce_scatter, -1, 0, 0
#define TT_MPI_BY_Bcast_c TT_MPI_BY_Bcast
#define TT_MPI_BY_Reduce_c TT_MPI_BY_Reduce
#define TT_MPI_BY_Allreduce_c TT_MPI_BY_Allreduce
#define TT_MPI_BY_Scan_c TT_MPI_BY_Scan
#define TT_MPI_BY_Exscan_c TT_MPI_BY_Exscan
#define TT_MPI_BY_Reduce_scatter_block_c TT_MPI_BY_Reduce_scatter_block
#define TT_MPI_BY_Reduce_scatter_c TT_MPI_BY_Reduce_scatter
#define TT_MPI_BY_Allgather_c TT_MPI_BY_Allgather
#define TT_MPI_BY_Allgatherv_c TT_MPI_BY_Allgatherv
#define TT_MPI_BY_Alltoall_c TT_MPI_BY_Alltoall
#define TT_MPI_BY_Alltoallv_c TT_MPI_BY_Alltoallv
#define TT_MPI_BY_Alltoallw_c TT_MPI_BY_Alltoallw
#define TT_MPI_BY_Gather_c TT_MPI_BY_Gather
#define TT_MPI_BY_Gatherv_c TT_MPI_BY_Gatherv
#define TT_MPI_BY_Scatter_c TT_MPI_BY_Scatter
#define TT_MPI_BY_Scatterv_c TT_MPI_BY_Scatterv
/* clang-format on */

/* Returns whether a call agrees with the one that this thread remembers for the collective. */
static inline bool tt_mpi_is_left(MPI_Comm comm, enum tt_mpi_index index, int64_t count,
                                  uint64_t type, uint64_t op)
{
    const struct tt_mpi_left *left = &tt_left[index];
    return left->comm == TT_MPI_KEY(comm) &&
           left->removed == atomic_load_explicit(&tt_removed, memory_order_acquire) &&
           left->type == type && left->op == op && (uint64_t)(count - left->least) <= left->more;
}

/* Remembers a call that was left to the host, if later calls can be recognised by it. */
#define tt_mpi_remember_left TT_MPI_OWN(remember_left)
void tt_mpi_remember_left(const struct tt_mpi_call *call, enum tt_mpi_index index, int64_t count,
                          uint64_t type, uint64_t op);

#endif
