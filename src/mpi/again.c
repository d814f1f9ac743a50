/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keeps calls that Tutti has done, so that later calls are recognised by them (again.h).
 */
#include "mpi/again.h"

#include <stdlib.h>

/* The largest communicator on which calls with lists of counts are kept for comparison with the
 * next call. On a larger one the collective takes so long that reading the lists anew hardly
 * matters. */
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

/* Copies the lists of a buffer to `memory`, which has room for 4 * pieces numbers. The pieces are
 * of a predefined type without gaps: data with gaps would have been packed. */
static struct tt_mpi_kept_lists lists_at(int64_t *memory, int pieces, struct tt_mpi_counts counts,
                                         struct tt_mpi_counts displs, uint64_t type)
{
    struct tt_mpi_kept_lists kept = {.count = memory,
                                     .displ = memory + pieces,
                                     .n = memory + 2 * pieces,
                                     .at = memory + 3 * pieces};
    int64_t size = tt_mpi_predefined_size(type);
    for (int r = 0; r < pieces; r++) {
        kept.count[r] = tt_mpi_at(counts, r);
        kept.displ[r] = tt_mpi_at(displs, r);
        kept.n[r] = kept.count[r] * size;
        kept.at[r] = kept.count[r] > 0 ? kept.displ[r] * size : 0;
    }
    return kept;
}

/* Keeps the lists of a call that has some. Returns false if they cannot be kept. */
static bool keep_lists(struct tt_mpi_again *again, struct tt_mpi_key key, int members)
{
    again->pieces = 0;
    if (!key.counts.at) return true;
    if (members > MOST_PIECES) return false;
    size_t numbers = (key.in_counts.at ? 8 : 4) * (size_t)members;
    int64_t *memory = again->all.count ? again->all.count : malloc(numbers * sizeof *memory);
    if (!memory) return false;
    again->all = lists_at(memory, members, key.counts, key.displs, key.all_type);
    if (key.in_counts.at)
        again->in =
            lists_at(memory + 4 * (size_t)members, members, key.in_counts, key.in_displs, key.type);
    again->pieces = members;
    return true;
}

void tt_mpi_keep_again(const struct tt_mpi_call *call, enum tt_mpi_index index,
                       struct tt_mpi_key key)
{
    struct tt_mpi_comm *record = call->record;
    struct tt_mpi_again *again = &record->again[index];
    if (call->choice != TT_MPI_TAKEN || call->copies || call->user || !record->one_node) return;
    if (!is_predefined(key.type) || !is_predefined(key.all_type)) return;
    bool can = keep_lists(again, key, record->members), settled = is_settled(call);
    again->kept = can && settled && !tt_mpi_setting.report;
    again->tried = can && !settled;
    again->plain = call->plain;
    again->key = key;
}
