/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank's part of the job's memory, handed out in pages. The book-keeping is private to the
 * rank: no peer allocates here, so nothing is locked and a dead rank leaves nothing locked.
 */
#ifndef TT_ARENA_H
#define TT_ARENA_H

#include <pthread.h>

#include "fabric/segment.h"

/* Invariants: holes[0..n-1] ascend, are not empty, neither overlap nor touch, lie in [begin, end);
 * pieces likewise are what was handed out; both together are the arena. */
struct tt_extent {
    int64_t begin, end; /* offsets in the segment */
};
struct tt_extents {
    struct tt_extent *all;
    int n, room;
};
struct tt_arena {
    struct tt_segment *segment;
    struct tt_extents holes, pieces;
    pthread_mutex_t
        lock; /* of this process alone: contexts of several threads make their rings here */
};

tutti_status tt_arena_init(struct tt_arena *a, struct tt_segment *segment, int rank);
/* Forgets the book-keeping; the memory stays as it is, for others may still read it, and goes with
 * the segment. */
void tt_arena_release(struct tt_arena *a);
/* A piece of whole pages, zeroed, backed by memory at once: full memory is TUTTI_ERR_MEMORY here and
 * not a SIGBUS later. Any thread. */
tutti_status tt_arena_alloc(struct tt_arena *a, int64_t bytes, int64_t *offset);
/* Gives a piece back to the system. False if there is none that begins there. */
bool tt_arena_free(struct tt_arena *a, int64_t offset);

#endif
