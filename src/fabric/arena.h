/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank's part of the job's memory, handed out in pages. The book-keeping is private to the rank's
 * process: no peer allocates here, so nothing in shared memory is locked and a dead rank leaves
 * nothing locked. The part grows by grants (segment.h). As long as much is left each is at least
 * half as large as what the rank was granted before: so a buffer that is freed and made larger,
 * again and again, takes a few times its size of address space, whatever other ranks do.
 *
 *   store   of a rank: who has what; shared by the clients of a process, perhaps in several threads
 *   arena   of a client: what it takes from the store is its own
 *
 * A client that is finalized leaves its pieces behind, for peers may still read them. They are free
 * again when all ranks have left that client: then the next client of this process finds that its
 * number is gone.
 */
#ifndef TT_ARENA_H
#define TT_ARENA_H

#include <pthread.h>

#include "fabric/common.h"

struct tt_extent {
    int64_t begin, end; /* offsets in the segment */
    int owner;          /* the client's number; -1: nobody's */
};
struct tt_extents {
    struct tt_extent *all;
    int n, room;
};
/* Invariants: holes ascend, are not empty, neither overlap nor touch; pieces likewise are what was
 * handed out; both together are what the rank was granted, `granted` bytes. All under the lock. */
struct tt_store {
    pthread_mutex_t lock;
    struct tt_extents holes, pieces;
    int64_t granted;
};
struct tt_arena {
    const struct tt_segment *segment;
    struct tt_store *store;
    int owner;
};

/* Makes the book-keeping of a rank that has no grant yet. Errors: MEMORY. */
tutti_status tt_store_new(struct tt_store **store);
void tt_store_free(struct tt_store *store);

/* Uses the segment's store, or makes one of its own. Errors: MEMORY. */
tutti_status tt_arena_init(struct tt_arena *a, const struct tt_seat *seat);
/* Forgets what it has; the memory stays as it is, for others may still read it. */
void tt_arena_release(struct tt_arena *a);
/* A piece of whole pages, zeroed, backed by memory at once: full memory is TUTTI_ERR_MEMORY here
 * and not a SIGBUS later. Errors: MEMORY, LIMIT (no address space is left). Any thread. */
tutti_status tt_arena_alloc(struct tt_arena *a, int64_t bytes, int64_t *offset);
/* Gives a piece back to the system. False if it has none that begins there. */
bool tt_arena_free(struct tt_arena *a, int64_t offset);

#endif
