/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of derived types: at the start the library packs the elements into memory of the
 * request, the plan runs on that memory, and at the end the library unpacks the result.
 */
#ifndef TT_PACKED_H
#define TT_PACKED_H

#include "api/api.h"

struct tt_layout;

/* n elements in the user's memory, and where their packed form lies. */
struct tt_packed_piece {
    struct tt_layout *layout;
    char *user, *packed;
    int64_t n;
};

/* Invariants (tt_packed_valid): each start packs pieces[0..packs-1], and the end of each execution
 * unpacks the `unpacks` pieces after them. `pending` is true from a start to its end. */
struct tt_packed {
    /* The layout of all pieces. This object holds a reference to it. NULL in an alltoallw, where
     * each piece holds a reference to its own layout. */
    struct tt_layout *layout;
    struct tt_arena *arena; /* the arena from which `memory` comes; NULL: the heap */
    int64_t offset;         /* the offset of `memory` in the segment, if `memory` comes from an
                             * arena */
    int64_t bytes;          /* the bytes of `memory`, if it comes from the heap */
    char *memory, *in, *out;
    struct tt_args args; /* the call in terms of the packed elements */
    bool pending;
    int packs, unpacks;
    struct tt_packed_piece *pieces;
    struct tt_neighbors neighbors; /* if the call is a neighbourhood collective */
    /* The contents of the pieces of the input, contents[0], and of the output, contents[1]; NULL:
     * the type in `args` determines them. Each of the two has an entry for each rank or, in a
     * neighbourhood collective, for each neighbour and this rank. */
    struct tt_contents *contents[2];
    int contents_n; /* the number of entries of contents[0] and contents[1] together */
    /* The type of all pieces, as a value of tt_contents.type. Set only if contents[0] is not NULL.
     */
    int32_t type;
    /* the packed bytes of an element of the derived type; 0: the type is basic, or the pieces have
     * several types */
    int64_t element;
    int64_t counts[]; /* counts and displacements of `args` */
};

bool tt_packed_valid(const struct tt_packed *packed);

/* Prepares the packing of a checked call. The caller frees *packed. Errors: ARG (NULL, overflow,
 * elements too large for a user-defined operation), LIMIT, MEMORY. */
tutti_status tt_packed_new(tutti_team *team, const struct tt_args *args, struct tt_packed **packed);
/* Frees the object and its memory, and drops its references to layouts. If other members may still
 * access the packed elements (tt_exec_is_reachable), the caller gives the client's fabric as
 * `reached`, which then keeps the memory (tt_fabric_park); memory of an arena stays allocated as
 * long as the client. `reached` is NULL if nobody accesses the elements. NULL is allowed. */
void tt_packed_free(struct tt_packed *packed, const struct tt_fabric *reached);

/* Packs the input. The caller calls this function at each start. */
void tt_packed_begin(struct tt_packed *packed);
/* Unpacks the result if the call succeeded (`good`). The caller calls this function once after each
 * tt_packed_begin; further calls do nothing. */
void tt_packed_end(struct tt_packed *packed, bool good);

#endif
