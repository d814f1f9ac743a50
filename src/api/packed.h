/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of derived types: at the start the elements are packed into memory of the request,
 * the plan runs on that memory, and at the end the result is unpacked.
 */
#ifndef TT_PACKED_H
#define TT_PACKED_H

#include "api/api.h"

struct tt_layout;

/* Elements of the user's memory, and their place in the packed memory. */
struct tt_packed_piece {
    struct tt_layout *layout;
    char *user, *packed;
    int64_t n;
};

/* Invariants (tt_packed_valid): pieces[0..packs-1] are packed at each start. The `unpacks`
 * pieces after them are unpacked at its end; `pending` is true until then. */
struct tt_packed {
    /* The layout of all pieces, to which this object holds a reference. NULL in an alltoallw: there
     * each piece holds a reference to its own layout. */
    struct tt_layout *layout;
    struct tt_arena *arena; /* the arena of `memory`; NULL: it is from the heap */
    int64_t offset;         /* of `memory` in the segment */
    char *memory, *in, *out;
    struct tt_args args; /* the call in terms of the packed elements */
    bool pending;
    int packs, unpacks;
    struct tt_packed *next; /* of those that are parked */
    struct tt_packed_piece *pieces;
    struct tt_neighbors neighbors; /* of a neighbourhood collective */
    /* by place (packed.c): what the pieces of `args` consist of; NULL: its type says so */
    struct tt_contents *contents[2];
    int contents_n; /* of both sides together */
    /* The type of all pieces, as struct tt_contents has it. Set only if there are contents. */
    int32_t type;
    /* the packed bytes of an element of the derived type; 0: the type is basic, or there are
     * several */
    int64_t element;
    int64_t counts[]; /* counts and displacements of `args` */
};

bool tt_packed_valid(const struct tt_packed *packed);

/* Prepares packing for a call that was checked. Errors: ARG (NULL, overflow, elements too large for
 * a user-defined operation), LIMIT, MEMORY. */
tutti_status tt_packed_new(tutti_team *team, const struct tt_args *rq, struct tt_packed **packed);
/* Frees it and drops its reference to the layout. NULL is allowed. */
void tt_packed_free(struct tt_packed *packed);

/* Frees it when this process has no client any more. If a call failed on this rank, a member that
 * has not noticed may still read the packed elements. If that member is a thread of this process,
 * freed memory would crash it. NULL is allowed. Memory of an arena may not be parked. Any thread
 * may call these functions. */
void tt_packed_park(struct tt_packed *packed);
/* Counts the clients of this process: one more, and one less. */
void tt_packed_enter(void);
void tt_packed_leave(void);

/* Packs the input, at each start. */
void tt_packed_begin(struct tt_packed *packed);
/* Called once for each tt_packed_begin. `good`: the call succeeded, so the result is unpacked. */
void tt_packed_end(struct tt_packed *packed, bool good);

#endif
