/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank's part of the job's shared memory, allocated in pages. The bookkeeping is private to the
 * rank's process: no peer allocates here, so there is no lock in shared memory that a dead rank
 * could hold. The part grows by grants (segment.h). As long as enough is left, each grant is at
 * least half as large as everything the rank was granted before. So a buffer that is freed and made
 * larger again and again takes only a few times its size of address space, whatever other ranks do.
 *
 *   store   one per rank: its holes and pieces; the clients of a process share it, perhaps in
 *           several threads
 *   arena   one per client: what it takes from the store belongs to it
 *
 * Pages cost much time to get and to return, because the ranks of a node wait for each other at one
 * lock of the kernel, and each rank then maps the pages anew. So a rank keeps a few pages of teams
 * that were freed for those that it makes next (tt_arena_put, tt_arena_take).
 *
 * A client that is finalized leaves its pieces behind, since peers may still read them. They become
 * free when all ranks have left that client: the next client of this process finds that the
 * client's number is gone and frees them.
 */
#ifndef TT_ARENA_H
#define TT_ARENA_H

#include <pthread.h>

#include "job/common.h"

struct tt_extent {
    int64_t begin, end; /* offsets in the segment */
    int owner;          /* number of the client; -1: a hole */
};
struct tt_extents {
    struct tt_extent *all;
    int n, room;
};
/* Invariants (tt_store_valid): holes are ascending and not empty, and neither overlap nor touch
 * each other. The same holds for what is kept: free memory whose pages were not returned,
 * kept_bytes in all and at most tt_arena_keeps(). Pieces are what was handed out, in the same
 * order. All three together are what the rank was granted, `granted` bytes, but for holes that were
 * lost for want of memory to record them. Each page of a piece or of what is kept is backed, unless
 * it lies in `bare`. The lock protects everything. */
struct tt_store {
    pthread_mutex_t lock;
    struct tt_extents holes, pieces, kept, bare;
    int64_t granted, kept_bytes;
    int64_t unchecked; /* bytes backed since the rank last checked how much memory is left */
};
/* Called with the lock held. */
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

/* Uses the segment's store, or makes an own one. Errors: MEMORY. */
tutti_status tt_arena_init(struct tt_arena *a, const struct tt_seat *seat);
/* Ends the arena; its memory stays as it is, since peers may still read it. */
void tt_arena_release(struct tt_arena *a);
/* Allocates whole pages, zeroed and backed at once: so a lack of memory is TUTTI_ERR_MEMORY here
 * and no SIGBUS later. Errors: MEMORY, LIMIT (no address space is left). Any thread. */
tutti_status tt_arena_alloc(struct tt_arena *a, int64_t bytes, int64_t *offset);
/* Does what tt_arena_take does, but the pages need not be backed. Nobody may touch a page before
 * tt_arena_back has returned OK for it. Backing can fail later, but then the other pages stay as
 * they are. */
tutti_status tt_arena_reserve(struct tt_arena *a, int64_t bytes, int64_t *offset);
/* Backs whole pages of a piece, as far as they are not backed yet. Both numbers are multiples of
 * the page size. Errors: MEMORY. Any thread. */
tutti_status tt_arena_back(struct tt_arena *a, int64_t offset, int64_t bytes);
/* Returns a piece to the system. False: no piece of this arena begins there. */
bool tt_arena_free(struct tt_arena *a, int64_t offset);
/* Does what tt_arena_alloc does, but the memory may be some that was kept. Then its contents are
 * undefined. */
tutti_status tt_arena_take(struct tt_arena *a, int64_t bytes, int64_t *offset);
/* Frees a piece as tt_arena_free does, but keeps its pages, if they are not too many, for the next
 * tt_arena_take of this rank. */
bool tt_arena_put(struct tt_arena *a, int64_t offset);
/* Returns how many bytes a rank keeps at most: about what the long windows of two teams of all
 * ranks take. */
int64_t tt_arena_keeps(const struct tt_arena *a);

#endif
