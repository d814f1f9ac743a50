/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls that are recognised at once as left to the host, because they are like the last one that
 * was left (left.h).
 */
#include "mpi/left.h"
#include "mpi/type.h"

__thread struct tt_mpi_left tt_left[TT_MPI_INDEXES] __attribute__((tls_model("initial-exec")));

/* Returns by how many bytes a call grows if its count grows by one; 0: unknown. */
static int64_t unit_of(const struct tt_mpi_call *call, enum tt_mpi_index index, uint64_t type)
{
    int64_t size = type ? tt_mpi_predefined_size(type) : 1;
    return index == TT_MPI_INDEX_Reduce_scatter_block ? size * call->record->members : size;
}

void tt_mpi_remember_left(const struct tt_mpi_call *call, enum tt_mpi_index index, int64_t count,
                          uint64_t type, uint64_t op)
{
    int magnitude = call->shape % TT_MPI_MAGNITUDES;
    int64_t unit = unit_of(call, index, type), least = 0, most = 0;
    /* Calls of the largest magnitude have no upper limit of bytes, so they are not remembered. */
    if (unit == 0 || magnitude == TT_MPI_MAGNITUDES - 1) return;
    if (magnitude > 0) {
        int64_t bytes = INT64_C(1) << (magnitude - 1);
        least = (bytes + unit - 1) / unit;
        most = (2 * bytes - 1) / unit;
    }
    if (count < least || count > most) return;
    tt_left[index] = (struct tt_mpi_left){
        .comm = TT_MPI_KEY(call->comm),
        .type = type,
        .op = op,
        .least = least,
        .more = (uint64_t)(most - least),
        .removed = atomic_load_explicit(&tt_removed, memory_order_acquire),
        .rank = call->record->rank,
    };
}
