/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads libtutti.so when MPI begins and Tutti is to take collectives. Earlier, and in processes
 * that do not use MPI, libtutti.so is not needed.
 */
#ifndef TT_MPI_LOAD_H
#define TT_MPI_LOAD_H

#include <tutti/message.h>
#include <tutti/tutti.h>

/* clang-format off */
/* The functions of libtutti.so that libtutti_mpi.so calls: F(NAME) for tutti_NAME. */
#define TT_MPI_OF_TUTTI(F) \
    F(build) F(error) F(init_with) F(finalize) F(world) F(client_hook) F(client_sleep) \
    F(client_share) F(context_at) F(advance) F(drain) F(team_of) F(team_free) F(type_struct) \
    F(type_free) F(op_create) F(op_bind) F(op_free) F(barrier) F(bcast) F(reduce) F(allreduce) \
    F(reduce_scatter_block) F(reduce_scatter) F(gather) F(allgather) F(allgatherv) F(scatter) \
    F(gatherv) F(scatterv) F(scan) F(exscan) F(alltoall) F(alltoallv) F(ibarrier) F(ibcast) \
    F(ireduce) F(iallreduce) F(ireduce_scatter_block) F(ireduce_scatter) F(igather) F(iallgather) \
    F(iallgatherv) F(iscatter) F(igatherv) F(iscatterv) F(iscan) F(iexscan) F(ialltoall) \
    F(ialltoallv) F(test) F(request_check) F(request_free) F(start) \
    F(barrier_init) F(bcast_init) F(reduce_init) F(allreduce_init) F(reduce_scatter_block_init) \
    F(reduce_scatter_init) F(gather_init) F(allgather_init) F(allgatherv_init) F(scatter_init) \
    F(gatherv_init) F(scatterv_init) F(scan_init) F(exscan_init) F(alltoall_init) \
    F(alltoallv_init) F(alloc) F(region_register) F(region_key) F(endpoint_to) F(put)
/* clang-format on */

#define TT_MPI_TUTTI_MEMBER(NAME) __typeof__(tutti_##NAME) *NAME;
struct tt_mpi_tutti {
    TT_MPI_OF_TUTTI(TT_MPI_TUTTI_MEMBER)
};
#undef TT_MPI_TUTTI_MEMBER

/* The addresses of these functions, after tt_mpi_load has succeeded. */
extern struct tt_mpi_tutti tt_mpi_tutti;

/* Loads libtutti.so and looks up its functions. Returns NULL, or why it cannot be used. */
const char *tt_mpi_load(void);

#endif
