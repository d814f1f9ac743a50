/* SPDX-License-Identifier: BSD-3-Clause
 *
 * First fit over two sorted arrays of extents. Pieces are large and few (a team's block, a user's
 * buffer), so a search costs less than the pages.
 */
#include "fabric/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096
#define PIECE ((int64_t)16 << 20)
#define LOOK_FROM (1 << 20)
#define RESERVE ((int64_t)128 << 20)

/* Makes room for one more at index i. */
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

/* Index of the first extent that begins at or after `offset`. */
static int find(const struct tt_extents *e, int64_t offset)
{
    int i = 0;
    while (i < e->n && e->all[i].begin < offset) i++;
    return i;
}

tutti_status tt_arena_init(struct tt_arena *a, struct tt_segment *segment, int rank)
{
    int64_t begin = tt_segment_arena(segment, rank);
    *a = (struct tt_arena){.segment = segment, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct tt_extent all = {begin, begin + tt_segment_page(segment)->arena_bytes};
    if (insert(&a->holes, 0, all)) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for the book-keeping of shared memory");
}

void tt_arena_release(struct tt_arena *a)
{
    tt_free(a->holes.all);
    tt_free(a->pieces.all);
    *a = (struct tt_arena){0};
}

/* The kernel would rather kill a process than refuse a page, so what is left is looked at before each
 * piece; the reserve is for pieces that other ranks get meanwhile. */
static bool back_piece(const struct tt_segment *s, int64_t begin, int64_t bytes)
{
    if (bytes >= LOOK_FROM && tt_memory_left() < bytes + RESERVE) {
        errno = ENOMEM;
        return false;
    }
    return fallocate(s->fd, 0, begin, bytes) == 0;
}

/* Backs the pages, or drops them. */
static bool back(const struct tt_segment *s, struct tt_extent x)
{
    int64_t at = s->fd < 0 ? x.end : x.begin;
    for (int64_t n; at < x.end; at += n) {
        n = tt_min(PIECE, x.end - at);
        if (!back_piece(s, at, n)) return false;
    }
    return true;
}

static void drop(const struct tt_segment *s, struct tt_extent x)
{
    if (s->fd < 0)
        madvise(s->base + x.begin, (size_t)(x.end - x.begin), MADV_DONTNEED);
    else
        fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, x.begin, x.end - x.begin);
}

/* The pages [x) become a hole again, joined with its neighbours. */
static void give_back(struct tt_arena *a, struct tt_extent x)
{
    int i = find(&a->holes, x.begin);
    struct tt_extent *h = a->holes.all;
    bool left = i > 0 && h[i - 1].end == x.begin, right = i < a->holes.n && h[i].begin == x.end;
    if (left && right) {
        h[i - 1].end = h[i].end;
        cut(&a->holes, i);
    } else if (left)
        h[i - 1].end = x.end;
    else if (right)
        h[i].begin = x.begin;
    else
        (void)insert(&a->holes, i, x); /* without memory for it the hole is lost until the end */
}

static void take(struct tt_arena *a, int hole, int64_t bytes)
{
    a->holes.all[hole].begin += bytes;
    if (a->holes.all[hole].begin == a->holes.all[hole].end) cut(&a->holes, hole);
}

static tutti_status alloc_locked(struct tt_arena *a, int64_t bytes, int64_t *offset)
{
    int i = 0;
    if (bytes > INT64_MAX - PAGE) bytes = INT64_MAX - PAGE;
    bytes = tt_round_up(bytes, PAGE);
    while (i < a->holes.n && a->holes.all[i].end - a->holes.all[i].begin < bytes) i++;
    if (i == a->holes.n)
        return tt_fail(TUTTI_ERR_LIMIT,
                       "no %lld bytes are left of this rank's %lld of shared memory",
                       (long long)bytes, (long long)tt_segment_page(a->segment)->arena_bytes);
    struct tt_extent x = {a->holes.all[i].begin, a->holes.all[i].begin + bytes};
    if (!insert(&a->pieces, find(&a->pieces, x.begin), x))
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for the book-keeping of shared memory");
    if (!back(a->segment, x)) {
        tutti_status status = tt_fail_errno(
            TUTTI_ERR_MEMORY, "cannot get %lld bytes of shared memory", (long long)bytes);
        drop(a->segment, x);
        cut(&a->pieces, find(&a->pieces, x.begin));
        return status;
    }
    take(a, i, bytes);
    *offset = x.begin;
    return TUTTI_OK;
}

tutti_status tt_arena_alloc(struct tt_arena *a, int64_t bytes, int64_t *offset)
{
    pthread_mutex_lock(&a->lock);
    tutti_status status = alloc_locked(a, bytes, offset);
    pthread_mutex_unlock(&a->lock);
    return status;
}

static bool free_locked(struct tt_arena *a, int64_t offset)
{
    int i = find(&a->pieces, offset);
    if (i == a->pieces.n || a->pieces.all[i].begin != offset) return false;
    struct tt_extent x = a->pieces.all[i];
    cut(&a->pieces, i);
    drop(a->segment, x);
    give_back(a, x);
    return true;
}

bool tt_arena_free(struct tt_arena *a, int64_t offset)
{
    pthread_mutex_lock(&a->lock);
    bool freed = free_locked(a, offset);
    pthread_mutex_unlock(&a->lock);
    return freed;
}
