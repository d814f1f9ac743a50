/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registered memory, and the keys by which others reach it.
 */
#ifndef TT_REGION_H
#define TT_REGION_H

#include "msg/wired.h"

/* A word in the owner's shared memory, which holds the region's id as long as it is registered.
 * Used again for other regions of the client and for nothing else, so an old key never finds its id
 * there. */
struct tt_mark {
    int64_t offset; /* in the segment */
    struct tt_mark *next;
};

struct tutti_region {
    struct tt_handle head;
    struct tt_msg *msg;
    struct tt_mark *mark;
    char *memory;
    size_t bytes;
    uint64_t id; /* never given twice */
    tutti_region *next, **link;
    struct tt_wire_region *wire; /* NULL: none, or it cannot be mapped: then by messages */
};

/* What a tutti_key holds. */
struct tt_region_key {
    uint64_t hash; /* of all the rest */
    int32_t rank, client;
    uint64_t region;
    int64_t mark;     /* its offset */
    uint64_t address; /* in its machine, as tt_fabric_tell has it; in its process */
    uint64_t memory, bytes, wire_bytes;
    unsigned char wire[TT_WIRE_KEY];
};
_Static_assert(sizeof(struct tt_region_key) == TUTTI_KEY_BYTES, "the hash is of a whole key");

/* What the key says, if it is one of this rank, of a region that is not known to have been freed,
 * and [offset, offset + bytes) is in it. Errors: ARG. */
tutti_status tt_region_open(const struct tt_msg *msg, const tutti_key *key, int rank,
                            int64_t offset, int64_t bytes, struct tt_region_key *opened);
void tt_region_close(struct tt_msg *msg);

#endif
