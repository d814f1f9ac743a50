/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keeps calls that Tutti has done, so that later calls are recognised by them (again.h).
 */
#include "mpi/again.h"

static bool is_predefined(uint64_t type)
{
    return type == 0 || tt_mpi_predefined_size(type) > 0;
}

/* Returns whether Tutti does all later calls of the call's shape on its communicator. */
static bool is_settled(const struct tt_mpi_call *call)
{
    if (tt_mpi_setting.mode == TT_MPI_TAKE) return true;
    return call->shape >= 0 && call->record->trials->calls[call->shape] == TT_MPI_FOR_TUTTI;
}

void tt_mpi_keep_again(const struct tt_mpi_call *call, enum tt_mpi_index index,
                       struct tt_mpi_key key)
{
    struct tt_mpi_comm *record = call->record;
    if (call->choice != TT_MPI_TAKEN || call->copies || call->user || !record->one_node) return;
    if (!is_settled(call) || !is_predefined(key.type) || !is_predefined(key.all_type)) return;
    record->again[index] = (struct tt_mpi_again){.kept = true, .plain = call->plain, .key = key};
    record->repeats = true;
}
