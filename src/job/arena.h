/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank's part of the job's shared memory, which the rank allocates in pages. The bookkeeping is
 * private to the rank's process: no other rank allocates in this part, so there is no lock in
 * shared memory that a dead rank could hold. The part grows by grants (segment.h). As long as
 * enough memory is left, each grant is at least half as large as all earlier grants of the rank
 * together. So if a program again and again frees a buffer and allocates a larger one, the address
 * space that the rank takes is only a few times the size of the last buffer, whatever other ranks
 * do.
 *
 *   store   one per rank: the lists of its holes (free memory) and pieces (allocated memory); the
 *           clients of a process share it, perhaps in several threads
 *   arena   one per client: the pieces that the client has taken from the store
 *
 * It takes much time to get pages from the system and to return them, because the ranks of a node
 * wait for each other at one lock of the kernel, and each rank has to map the new pages. So a rank
 * keeps some pages of teams that were freed, for the next teams that it makes (tt_arena_put,
 * tt_arena_take).
 *
 * When a client is finalized, its pieces stay allocated, since other ranks may still read them.
 * When all ranks of the node have left the client, its number disappears from the job page. The
 * next client that this process makes frees the pieces of all such clients.
 */
#ifndef TT_ARENA_H
#define TT_ARENA_H

#include <pthread.h>

#include "job/common.h"

struct tt_extent {
    int64_t begin, end; /* offsets in the segment */
    /* the number of the client that has the piece; -1: the extent is no piece */
    int owner;
};
struct tt_extents {
    struct tt_extent *all;
    int n, room;
};
/* Invariants (tt_store_valid): holes are ascending and not empty, and neither overlap nor touch
 * each other. The extents in `kept` (free memory whose pages were not returned to the system) are
 * in the same form; they have kept_bytes bytes together, at most tt_arena_keeps(). `pieces` are the
 * allocated extents, in ascending order. Holes, pieces and kept extents together are the `granted`
 * bytes that the rank was granted, except holes that were lost because there was no memory to
 * record them. In a job of processes, each page of a piece or of a kept extent is backed, unless
 * the page lies in `bare`. In a job of threads, the kernel backs a page when a rank touches it, and
 * `bare` is empty. The lock protects all members. */
struct tt_store {
    pthread_mutex_t lock;
    struct tt_extents holes, pieces, kept, bare;
    int64_t granted, kept_bytes;
    int64_t unchecked; /* bytes backed since the rank last checked how much memory is left */
};
/* Returns whether the invariants hold. The caller holds the lock. */
bool tt_store_valid(const struct tt_store *store);

struct tt_arena {
    const struct tt_segment *segment;
    struct tt_store *store;
    int owner;
};

/* Makes the bookkeeping of a rank that has no grant yet. Errors: MEMORY. */
tutti_status tt_store_new(struct tt_store **store);
/* Frees the bookkeeping; the memory itself stays as it is. */
void tt_store_free(struct tt_store *store);

/* Makes the arena of a client. It uses the segment's store, or makes a store of its own if the
 * segment has none. Errors: MEMORY. */
tutti_status tt_arena_init(struct tt_arena *a, const struct tt_seat *seat);
/* Ends the arena; its memory stays as it is, since peers may still read it. */
void tt_arena_release(struct tt_arena *a);
/* Allocates whole pages, which are zero. In a job of processes, backs them at once, so that a lack
 * of memory is TUTTI_ERR_MEMORY here and no SIGBUS later. Errors: MEMORY, LIMIT (no address space
 * is left). Any thread. */
tutti_status tt_arena_alloc(struct tt_arena *a, int64_t bytes, int64_t *offset);
/* Allocates a piece as tt_arena_take does, but does not back pages that are not backed yet. No rank
 * may touch a page before tt_arena_back has returned OK for this page. If tt_arena_back fails,
 * pages that were backed before stay backed. */
tutti_status tt_arena_reserve(struct tt_arena *a, int64_t bytes, int64_t *offset);
/* Backs whole pages of a piece, as far as they are not backed yet. Both numbers are multiples of
 * the page size. Errors: MEMORY. Any thread. */
tutti_status tt_arena_back(struct tt_arena *a, int64_t offset, int64_t bytes);
/* Frees the piece that begins at `offset`, and returns its pages to the system. Returns false if no
 * piece of this arena begins there. */
bool tt_arena_free(struct tt_arena *a, int64_t offset);
/* Does what tt_arena_alloc does, but the memory may have been kept by tt_arena_put, so its contents
 * are undefined. */
tutti_status tt_arena_take(struct tt_arena *a, int64_t bytes, int64_t *offset);
/* Frees a piece as tt_arena_free does, but keeps its pages for the next tt_arena_take of this rank.
 * A rank keeps at most tt_arena_keeps() bytes. If the piece has more bytes than this limit, returns
 * its pages to the system. If the piece has fewer, but would bring the kept bytes above the limit,
 * returns the pages that were kept before to the system. */
bool tt_arena_put(struct tt_arena *a, int64_t offset);
/* Returns how many bytes a rank keeps at most. The number is about the size of the long windows of
 * two teams of all ranks. */
int64_t tt_arena_keeps(const struct tt_arena *a);

#endif
