/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keeps calls that Tutti has done, so that later calls are recognised by them (again.h).
 */
#include "mpi/again.h"

#include <stdlib.h>

/* The largest communicator on which calls with lists are kept. Reading long lists takes little time
 * beside the collective. */
enum { MOST_PIECES = 64 };

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

/* Keeps the lists of a call that has some: those of the program, and the lengths and places of the
 * pieces in bytes. Returns false if they cannot be kept. The type of the pieces is predefined and
 * has no gaps, or the data would have been packed. */
static bool keep_lists(struct tt_mpi_again *again, struct tt_mpi_key key, int members)
{
    again->pieces = 0;
    if (!key.counts.at) return true;
    int64_t size = tt_mpi_predefined_size(key.all_type);
    if (members > MOST_PIECES) return false;
    if (!again->count) again->count = malloc(4 * (size_t)members * sizeof *again->count);
    if (!again->count) return false;
    again->displ = again->count + members;
    again->n = again->displ + members;
    again->at = again->n + members;
    for (int r = 0; r < members; r++) {
        again->count[r] = tt_mpi_at(key.counts, r);
        again->displ[r] = tt_mpi_at(key.displs, r);
        again->n[r] = again->count[r] * size;
        again->at[r] = again->count[r] > 0 ? again->displ[r] * size : 0;
    }
    again->pieces = members;
    return true;
}

void tt_mpi_keep_again(const struct tt_mpi_call *call, enum tt_mpi_index index,
                       struct tt_mpi_key key)
{
    struct tt_mpi_comm *record = call->record;
    struct tt_mpi_again *again = &record->again[index];
    if (call->choice != TT_MPI_TAKEN || call->copies || call->user || !record->one_node) return;
    if (!is_settled(call) || !is_predefined(key.type) || !is_predefined(key.all_type)) return;
    again->kept = keep_lists(again, key, record->members);
    again->plain = call->plain;
    again->key = key;
    record->repeats = record->repeats || again->kept;
}
