/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of derived types: what they move is packed into memory of their own before the start,
 * the plan runs on that, and what comes is unpacked once it is there.
 */
#ifndef TT_PACKED_H
#define TT_PACKED_H

#include "api/api.h"

struct tt_layout;

/* Elements of the user's memory, and where they lie packed. */
struct tt_packed_piece {
    char *user, *packed;
    int64_t n;
};

/* Invariants: pieces[0..packs-1] are packed at each start, the `unpacks` behind them unpacked at
 * its end, which is to come while `pending`. */
struct tt_packed {
    struct tt_layout *layout; /* held */
    struct tt_arena *arena;   /* where the memory is from; NULL: the heap */
    int64_t offset;           /* of the memory in the segment */
    char *memory, *in, *out;
    struct tt_request request; /* of the packed elements */
    bool pending;
    int packs, unpacks;
    struct tt_packed_piece *pieces;
    int64_t counts[]; /* and displacements, of the request */
};

/* Prepares packing for a request that was checked. Errors: ARG (null, overflow), LIMIT (elements
 * too large for a user-defined operation), MEMORY. */
tutti_status tt_packed_new(tutti_team *team, const struct tt_request *rq,
                           struct tt_packed **packed);
void tt_packed_free(struct tt_packed *packed);

void tt_packed_begin(struct tt_packed *packed);
/* Once, after each beginning; unpacks only what has come (`good`). */
void tt_packed_end(struct tt_packed *packed, bool good);

#endif
