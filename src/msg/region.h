/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registered memory, and the keys by which others reach it.
 */
#ifndef TT_REGION_H
#define TT_REGION_H

#include "msg/wired.h"

struct tutti_region {
    struct tt_msg *msg;
    char *memory;
    size_t bytes;
    uint64_t id; /* never given twice */
    tutti_region *next, **link;
    struct tt_wire_region *wire; /* NULL: none, or it cannot be mapped: then by messages */
};

/* What a tutti_key holds. */
struct tt_region_key {
    uint64_t hash; /* of the rest, but for `wire` */
    int32_t rank, client;
    uint64_t region;
    uint64_t address; /* in its machine, as tt_fabric_tell has it; in its process */
    uint64_t memory, bytes, wire_bytes;
    unsigned char wire[TT_WIRE_KEY];
};
_Static_assert(sizeof(struct tt_region_key) <= TUTTI_KEY_BYTES, "a key holds all of it");

/* What the key says, if it is one of this rank and [offset, offset + bytes) is in its region. Errors: ARG. */
tutti_status tt_region_open(const struct tt_msg *msg, const tutti_key *key, int rank,
                            int64_t offset, int64_t bytes, struct tt_region_key *opened);

#endif
