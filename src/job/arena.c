/* SPDX-License-Identifier: BSD-3-Clause
 *
 * First fit over two sorted arrays of extents. Pieces are large and few (a team's block, a user's
 * buffer), so a search costs less than getting the pages.
 */
#include "job/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PAGE 4096
#define PIECE ((int64_t)16 << 20)
#define LOOK_FROM (1 << 20)
#define RESERVE ((int64_t)128 << 20)

/* Inserts x at index i. False: no memory. */
static bool insert(struct tt_extents *e, int i, struct tt_extent x)
{
    if (e->n == e->room) {
        int room = e->room ? 2 * e->room : 8;
        struct tt_extent *all = tt_realloc(e->all, (size_t)room * sizeof *all);
        if (!all) return false;
        e->all = all;
        e->room = room;
    }
    memmove(&e->all[i + 1], &e->all[i], (size_t)(e->n - i) * sizeof *e->all);
    e->all[i] = x;
    e->n++;
    return true;
}

static void cut(struct tt_extents *e, int i)
{
    memmove(&e->all[i], &e->all[i + 1], (size_t)(e->n - i - 1) * sizeof *e->all);
    e->n--;
}

/* Returns the index of the first extent that begins at or after `offset`. */
static int find(const struct tt_extents *e, int64_t offset)
{
    int i = 0;
    while (i < e->n && e->all[i].begin < offset) i++;
    return i;
}

/* Returns the bytes of extents that ascend with at least `gap` bytes between them; -1: they do
 * not. */
static int64_t bytes_of(const struct tt_extents *e, int64_t gap)
{
    int64_t bytes = 0, least = 0;
    for (int i = 0; i < e->n; i++) {
        if (e->all[i].begin < least || e->all[i].end < e->all[i].begin + gap) return -1;
        least = e->all[i].end + gap;
        bytes += e->all[i].end - e->all[i].begin;
    }
    return bytes;
}

bool tt_store_valid(const struct tt_store *s)
{
    int64_t holes = bytes_of(&s->holes, 1), pieces = bytes_of(&s->pieces, 0);
    return holes >= 0 && pieces >= 0 && holes + pieces <= s->granted;
}

static tutti_status no_memory(void)
{
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for the book-keeping of shared memory");
}

tutti_status tt_store_new(struct tt_store **store)
{
    struct tt_store *s = tt_calloc(1, sizeof *s);
    if (!s) return no_memory();
    pthread_mutex_init(&s->lock, NULL);
    *store = s;
    return TUTTI_OK;
}

void tt_store_free(struct tt_store *store)
{
    tt_free(store->holes.all);
    tt_free(store->pieces.all);
    pthread_mutex_destroy(&store->lock);
    tt_free(store);
}

/* Whether the file may become this long. If a file outgrows the limit of this process, the kernel
 * sends a signal, so that must not happen. */
static bool may_reach(int64_t end)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || (rlim_t)end <= limit.rlim_cur) return true;
    errno = EFBIG;
    return false;
}

/* If memory runs out, the kernel kills a process rather than refuse a page. So this function checks
 * how much memory is left before it backs a piece, and leaves a reserve for pieces that other ranks
 * get meanwhile. fallocate makes the file longer if others have not made it longer already, and
 * never shorter, so the ranks need not agree on its length. */
static bool back_piece(const struct tt_segment *s, int64_t begin, int64_t bytes)
{
    if (bytes >= LOOK_FROM && tt_memory_left() < bytes + RESERVE) {
        errno = ENOMEM;
        return false;
    }
    return may_reach(begin + bytes) && fallocate(s->fd, 0, begin, bytes) == 0;
}

/* Backs the pages with memory. */
static bool back(const struct tt_segment *s, struct tt_extent x)
{
    int64_t at = s->fd < 0 ? x.end : x.begin;
    for (int64_t n; at < x.end; at += n) {
        n = tt_min(PIECE, x.end - at);
        if (!back_piece(s, at, n)) return false;
    }
    tt_segment_backed(s, x.end);
    return true;
}

static void drop(const struct tt_segment *s, struct tt_extent x)
{
    size_t n = (size_t)(x.end - x.begin);
    if (s->fd >= 0)
        fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, x.begin, x.end - x.begin);
    else if (madvise(s->base + x.begin, n, MADV_DONTNEED) != 0) /* refused for locked memory */
        memset(s->base + x.begin, 0, n);
}

/* Makes the extent x a hole again and joins it with its neighbours. */
static void give_back(struct tt_store *s, struct tt_extent x)
{
    int i = find(&s->holes, x.begin);
    struct tt_extent *h = s->holes.all;
    bool left = i > 0 && h[i - 1].end == x.begin, right = i < s->holes.n && h[i].begin == x.end;
    x.owner = -1;
    if (left && right) {
        h[i - 1].end = h[i].end;
        cut(&s->holes, i);
    } else if (left)
        h[i - 1].end = x.end;
    else if (right)
        h[i].begin = x.begin;
    else
        /* If there is no memory to record the hole, it is lost until the job ends. */
        (void)insert(&s->holes, i, x);
}

static void free_piece(struct tt_arena *a, int i)
{
    struct tt_extent x = a->store->pieces.all[i];
    cut(&a->store->pieces, i);
    drop(a->segment, x);
    give_back(a->store, x);
}

/* Frees the blocks of clients that all ranks have left. */
static void free_forsaken(struct tt_arena *a)
{
    for (int i = a->store->pieces.n - 1; i >= 0; i--)
        if (!tt_common_find(tt_segment_page(a->segment), a->store->pieces.all[i].owner))
            free_piece(a, i);
}

tutti_status tt_arena_init(struct tt_arena *a, const struct tt_seat *seat)
{
    *a = (struct tt_arena){
        .segment = &seat->segment, .store = seat->segment.store, .owner = seat->number};
    if (!a->store) return tt_store_new(&a->store);
    pthread_mutex_lock(&a->store->lock);
    free_forsaken(a);
    tt_assert(tt_store_valid(a->store));
    pthread_mutex_unlock(&a->store->lock);
    return TUTTI_OK;
}

void tt_arena_release(struct tt_arena *a)
{
    if (a->store && !a->segment->store) tt_store_free(a->store);
    *a = (struct tt_arena){0};
}

static void take(struct tt_store *s, int hole, int64_t bytes)
{
    s->holes.all[hole].begin += bytes;
    if (s->holes.all[hole].begin == s->holes.all[hole].end) cut(&s->holes, hole);
}

/* Returns the bytes of the hole that ends at `end`; 0: none does. */
static int64_t free_before(const struct tt_store *s, int64_t end)
{
    const struct tt_extent *last = s->holes.n > 0 ? &s->holes.all[s->holes.n - 1] : NULL;
    return last && last->end == end ? last->end - last->begin : 0;
}

/* Gets a grant, so that there is a hole of `bytes` bytes at the end of this rank's memory. Asks for
 * more than it needs, so that few grants are needed, unless that would take a large part of what is
 * left for all ranks. */
static tutti_status grow(const struct tt_arena *a, int64_t bytes)
{
    struct tt_store *s = a->store;
    int64_t end = tt_segment_end(a->segment), more;
    tutti_status status;
    do {
        int64_t left = a->segment->bytes - end;
        int64_t need = tt_round_up(bytes - free_before(s, end), TT_GRAIN);
        more = tt_max(need, tt_round_up(s->granted / 2, TT_GRAIN));
        if (more > left / 4) more = need;
        status = tt_segment_grant(a->segment, &end, more);
    } while (status == TUTTI_AGAIN);
    if (status != TUTTI_OK) return status;
    s->granted += more;
    give_back(s, (struct tt_extent){end, end + more, -1});
    return TUTTI_OK;
}

/* Returns the first hole that is large enough; -1: there is none. */
static int find_hole(const struct tt_store *s, int64_t bytes)
{
    int i = 0;
    while (i < s->holes.n && s->holes.all[i].end - s->holes.all[i].begin < bytes) i++;
    return i < s->holes.n ? i : -1;
}

static tutti_status alloc_locked(struct tt_arena *a, int64_t bytes, int64_t *offset)
{
    struct tt_store *s = a->store;
    int i = find_hole(s, bytes);
    if (i < 0) {
        TT_TRY(grow(a, bytes));
        if ((i = find_hole(s, bytes)) < 0) return no_memory();
    }
    int64_t begin = s->holes.all[i].begin;
    struct tt_extent x = {begin, begin + bytes, a->owner};
    if (!insert(&s->pieces, find(&s->pieces, x.begin), x)) return no_memory();
    if (!back(a->segment, x)) {
        tutti_status status = tt_fail_errno(
            TUTTI_ERR_MEMORY, "cannot get %lld bytes of shared memory", (long long)bytes);
        drop(a->segment, x);
        cut(&s->pieces, find(&s->pieces, x.begin));
        return status;
    }
    take(s, i, bytes);
    *offset = x.begin;
    return TUTTI_OK;
}

tutti_status tt_arena_alloc(struct tt_arena *a, int64_t bytes, int64_t *offset)
{
    bytes = tt_min(bytes, INT64_MAX / 2); /* can still be rounded up, and is too much in any case */
    pthread_mutex_lock(&a->store->lock);
    tutti_status status = alloc_locked(a, tt_round_up(bytes, PAGE), offset);
    tt_assert(tt_store_valid(a->store));
    pthread_mutex_unlock(&a->store->lock);
    return status;
}

static bool free_locked(struct tt_arena *a, int64_t offset)
{
    const struct tt_extents *pieces = &a->store->pieces;
    int i = find(pieces, offset);
    if (i == pieces->n || pieces->all[i].begin != offset || pieces->all[i].owner != a->owner)
        return false;
    free_piece(a, i);
    return true;
}

bool tt_arena_free(struct tt_arena *a, int64_t offset)
{
    pthread_mutex_lock(&a->store->lock);
    bool had = free_locked(a, offset);
    tt_assert(tt_store_valid(a->store));
    pthread_mutex_unlock(&a->store->lock);
    return had;
}
