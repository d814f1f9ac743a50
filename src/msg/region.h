/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registered memory, and the keys by which other ranks access it.
 */
#ifndef TT_REGION_H
#define TT_REGION_H

#include "msg/inside.h"

/* The mark of a region: a word in the owner's shared memory that holds the region's id while the
 * region is registered. The client uses the word again for other regions and for nothing else, so
 * the word never again holds the id of a region that was freed. */
struct tt_region_mark {
    int64_t offset; /* offset in the segment */
    struct tt_region_mark *next;
};

struct tutti_region {
    struct tt_handle head;
    struct tt_msg *msg;
    struct tt_region_mark *mark;
    char *memory;
    size_t bytes;
    uint64_t id; /* no id is given twice */
    tutti_region *next, **link;
    /* the region as the network knows it; NULL: there is no network, or it cannot map the memory,
     * and messages do the accesses */
    struct tt_wire_region *wire;
};

/* The contents of a tutti_key. */
struct tt_region_key {
    uint64_t hash; /* a hash of all other members */
    int32_t rank, client;
    uint64_t region;
    int64_t mark; /* offset of the mark in the segment */
    /* `address`: where the region lies as seen within the node (tt_fabric_address); `memory`: where
     * it lies in the owner's process */
    uint64_t address;
    uint64_t memory, bytes, wire_bytes;
    unsigned char wire[TT_WIRE_KEY];
};
_Static_assert(sizeof(struct tt_region_key) == TUTTI_KEY_BYTES, "the hash is of a whole key");

/* Decodes a key. Checks that it belongs to a region of rank `rank` in this client, that the region
 * is not known to have been freed, and that [offset, offset + bytes) is in it. Errors: ARG. */
tutti_status tt_region_open(const struct tt_msg *msg, const tutti_key *key, int rank,
                            int64_t offset, int64_t bytes, struct tt_region_key *opened);
/* Frees all regions of a client. */
void tt_region_close(struct tt_msg *msg);

/* Makes memory accessible to the network. NULL: not possible. */
struct tt_wire_region *tt_region_map(struct tt_msg *msg, const void *memory, size_t bytes);
/* Makes the data of a long message accessible to the network and stores the key in
 * key[TT_WIRE_KEY]. Returns the bytes of the key; 0: not possible. */
size_t tt_region_offer(tutti_context *context, struct tt_pending *pending, void *key);

#endif
