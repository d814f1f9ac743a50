/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allocates by first fit, with sorted arrays of extents. An *extent* is a range of the segment: a
 * *hole* (free), a *kept* extent (free, but its pages were not returned to the system) or a *piece*
 * (allocated). To *back* a page means to give it memory, and a *grant* adds an extent to this
 * rank's part of the segment (arena.h). Pieces are large and few (a team's block, a user's buffer),
 * so a search costs less than the kernel's work to get the pages.
 */
#include "job/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/file-back.h"

#define PAGE 4096
/* The most bytes that are backed at a time. */
#define STEP ((int64_t)16 << 20)
/* is_left() checks how much memory is left whenever a rank has backed CHECK_EACH more bytes.
 * RESERVE bytes must remain. */
#define CHECK_EACH (1 << 20)
#define RESERVE ((int64_t)128 << 20)
/* The most bytes that are kept for reuse, by a rank and by all ranks of the node together. */
#define RANK_KEEPS ((int64_t)8 << 20)
#define NODE_KEEPS ((int64_t)256 << 20)

/* Inserts x at index i. Returns false if there is no memory. */
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

/* Returns the first extent that overlaps x; -1: none does. */
static int find_overlap(const struct tt_extents *e, struct tt_extent x)
{
    int i = 0;
    while (i < e->n && e->all[i].end <= x.begin) i++;
    return i < e->n && e->all[i].begin < x.end ? i : -1;
}

/* Removes the range x from the extents, as far as they contain it. If x would divide an extent into
 * two, and there is no memory to record the second, returns false and leaves this extent
 * unchanged. */
static bool subtract(struct tt_extents *e, struct tt_extent x)
{
    for (int i; (i = find_overlap(e, x)) >= 0;) {
        struct tt_extent *h = &e->all[i];
        if (h->begin < x.begin && h->end > x.end) {
            if (!insert(e, i + 1, (struct tt_extent){x.end, h->end, -1})) return false;
            e->all[i].end = x.begin;
        } else if (h->begin < x.begin)
            h->end = x.begin;
        else if (h->end > x.end)
            h->begin = x.end;
        else
            cut(e, i);
    }
    return true;
}

/* Returns the sum of the bytes of the extents. Returns -1 if the extents are not in ascending
 * order, or if an extent, or the space between two extents, has fewer than `gap` bytes. */
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
    int64_t kept = bytes_of(&s->kept, 1);
    return holes >= 0 && pieces >= 0 && kept == s->kept_bytes && bytes_of(&s->bare, 0) >= 0 &&
           holes + pieces + kept <= s->granted;
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
    tt_free(store->kept.all);
    tt_free(store->bare.all);
    pthread_mutex_destroy(&store->lock);
    tt_free(store);
}

/* Returns whether enough memory is left for `bytes` more bytes. If memory runs out, the kernel
 * kills a process and does not refuse a page. So this function checks how much memory is left each
 * time that the rank has backed another MiB, and leaves a reserve for pages that other ranks get
 * meanwhile. */
static bool is_left(struct tt_store *s, int64_t bytes)
{
    s->unchecked += bytes;
    if (s->unchecked < CHECK_EACH) return true;
    s->unchecked = 0;
    if (tt_memory_left() >= bytes + RESERVE) return true;
    errno = ENOMEM;
    return false;
}

/* Backs a part of the file with memory. Ranks may do this at the same time, and need not agree on
 * the length of the file: the file becomes longer if necessary, and never shorter. */
static bool back_step(const struct tt_arena *a, int64_t begin, int64_t bytes)
{
    int fd = tt_segment_file(a->segment);
    return fd >= 0 && is_left(a->store, bytes) && tt_file_back(fd, begin, bytes);
}

/* Backs the pages of x with memory, if they belong to a file. */
static bool back(const struct tt_arena *a, struct tt_extent x)
{
    int64_t at = a->segment->fd < 0 ? x.end : x.begin;
    for (int64_t n; at < x.end; at += n) {
        n = tt_min(STEP, x.end - at);
        if (!back_step(a, at, n)) return false;
    }
    tt_segment_backed(a->segment, x.end);
    return true;
}

/* Returns the pages of x to the system, so that they are zero when a rank touches them again. */
static void drop(const struct tt_segment *s, struct tt_extent x)
{
    size_t n = (size_t)(x.end - x.begin);
    if (s->fd >= 0)
        fallocate(tt_segment_file(s), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, x.begin,
                  x.end - x.begin);
    else if (madvise(s->base + x.begin, n, MADV_DONTNEED) != 0) /* fails for locked memory */
        memset(s->base + x.begin, 0, n);
}

/* Inserts the extent x and joins it with its neighbours. Returns false if there is no memory. */
static bool join(struct tt_extents *e, struct tt_extent x)
{
    int i = find(e, x.begin);
    struct tt_extent *h = e->all;
    bool left = i > 0 && h[i - 1].end == x.begin, right = i < e->n && h[i].begin == x.end;
    x.owner = -1;
    if (left && right) {
        h[i - 1].end = h[i].end;
        cut(e, i);
    } else if (left)
        h[i - 1].end = x.end;
    else if (right)
        h[i].begin = x.begin;
    else
        return insert(e, i, x);
    return true;
}

/* Makes the extent x a hole again. If there is no memory to record the hole, it is lost until the
 * job ends. */
static void give_back(struct tt_store *s, struct tt_extent x)
{
    (void)join(&s->holes, x);
}

/* Returns the pages of x to the system, and makes x a hole. If there is no memory to record that, x
 * is lost until the job ends. */
static void return_extent(const struct tt_arena *a, struct tt_extent x)
{
    drop(a->segment, x);
    if (subtract(&a->store->bare, x)) give_back(a->store, x);
}

static void free_piece(struct tt_arena *a, int i)
{
    struct tt_extent x = a->store->pieces.all[i];
    cut(&a->store->pieces, i);
    return_extent(a, x);
}

/* ---- Memory that is kept for reuse ---- */

int64_t tt_arena_keeps(const struct tt_arena *a)
{
    int64_t share = NODE_KEEPS / tt_segment_page(a->segment)->arenas;
    return tt_min(RANK_KEEPS, share / PAGE * PAGE);
}

static void return_kept(const struct tt_arena *a)
{
    struct tt_store *s = a->store;
    for (int i = 0; i < s->kept.n; i++) return_extent(a, s->kept.all[i]);
    s->kept.n = 0;
    s->kept_bytes = 0;
}

/* Frees piece i, but keeps its pages. If the piece has more bytes than the rank may keep, or there
 * is no memory to record it, returns its pages to the system. If the piece has fewer, but would
 * bring the kept bytes above the limit, returns the pages that were kept before to the system. */
static void keep_piece(struct tt_arena *a, int i)
{
    struct tt_store *s = a->store;
    struct tt_extent x = s->pieces.all[i];
    int64_t bytes = x.end - x.begin, most = tt_arena_keeps(a);
    cut(&s->pieces, i);
    if (bytes <= most && s->kept_bytes + bytes > most) return_kept(a);
    if (bytes <= most && join(&s->kept, x))
        s->kept_bytes += bytes;
    else
        return_extent(a, x);
}

/* Frees the pieces of clients that all ranks of the node have left. */
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

/* Removes `bytes` bytes from the beginning of extent i. */
static void take(struct tt_extents *e, int i, int64_t bytes)
{
    e->all[i].begin += bytes;
    if (e->all[i].begin == e->all[i].end) cut(e, i);
}

/* Returns how many bytes the hole has that ends at `end`; 0: no hole ends there. */
static int64_t free_before(const struct tt_store *s, int64_t end)
{
    const struct tt_extent *last = s->holes.n > 0 ? &s->holes.all[s->holes.n - 1] : NULL;
    return last && last->end == end ? last->end - last->begin : 0;
}

/* Gets a grant, so that this rank has a hole of `bytes` bytes. Asks for at least half of what the
 * rank was granted before, so that the rank needs few grants. If that would be over a quarter of
 * what is left for all ranks, asks only for what is necessary. `wanted` is for the error text. */
static tutti_status grow(const struct tt_arena *a, int64_t bytes, int64_t wanted)
{
    struct tt_store *s = a->store;
    int64_t end = tt_segment_end(a->segment), more;
    tutti_status status;
    do {
        int64_t left = a->segment->bytes - end;
        int64_t need = tt_round_up(bytes - free_before(s, end), TT_GRAIN);
        more = tt_max(need, tt_round_up(s->granted / 2, TT_GRAIN));
        if (more > left / 4) more = need;
        status = tt_segment_grant(a->segment, &end, more, wanted);
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

/* Finds a hole that is large enough, and stores its index in *hole. If there is none, returns the
 * kept pages to the system, and, if that does not suffice, gets a grant. */
static tutti_status make_hole(struct tt_arena *a, int64_t bytes, int64_t wanted, int *hole)
{
    struct tt_store *s = a->store;
    if ((*hole = find_hole(s, bytes)) >= 0) return TUTTI_OK;
    return_kept(a);
    if ((*hole = find_hole(s, bytes)) >= 0) return TUTTI_OK;
    TT_TRY(grow(a, bytes, wanted));
    return (*hole = find_hole(s, bytes)) >= 0 ? TUTTI_OK : no_memory();
}

/* Backs the pages of x. If that fails, returns the kept pages to the system and tries again. If
 * that fails, too, gives the pages of x back to the system, sets errno to the error of the last
 * try, and returns false. */
static bool back_or_drop(struct tt_arena *a, struct tt_extent x)
{
    if (back(a, x)) return true;
    int error = errno;
    if (a->store->kept.n > 0) {
        return_kept(a);
        if (back(a, x)) return true;
        error = errno;
    }
    drop(a->segment, x);
    errno = error;
    return false;
}

/* Backs those pages of x that are not backed yet (`bare`). */
static bool back_bare(struct tt_arena *a, struct tt_extent x)
{
    struct tt_extents *bare = &a->store->bare;
    for (int i; (i = find_overlap(bare, x)) >= 0;) {
        struct tt_extent part = {tt_max(x.begin, bare->all[i].begin),
                                 tt_min(x.end, bare->all[i].end), -1};
        if (!back_or_drop(a, part)) return false;
        errno = ENOMEM;
        if (!subtract(bare, part)) return false;
    }
    return true;
}

/* Prepares the extent x, which was a hole: backs its pages, or, if `bare`, only records that they
 * are not backed. In memory without a file there is nothing to do: the kernel backs a page when a
 * rank touches it. */
static bool furnish(struct tt_arena *a, struct tt_extent x, bool bare)
{
    struct tt_extents *e = &a->store->bare;
    if (!bare || a->segment->fd < 0) return back_or_drop(a, x);
    errno = ENOMEM;
    return insert(e, find(e, x.begin), (struct tt_extent){x.begin, x.end, -1});
}

/* Returns a text for the error message: what in this process may have caused this errno when the
 * library tried to get memory. "": the cause is unknown. */
static const char *cause_of(int error)
{
    switch (error) {
    case EFBIG: return " (this rank has a limit on the size of files: ulimit -f)";
    case EBADF: return " (the program has closed the file descriptor of this memory)";
    default: return "";
    }
}

static tutti_status cannot_get(int64_t bytes)
{
    return tt_fail_errno(TUTTI_ERR_MEMORY, "cannot get %lld bytes of shared memory%s",
                         (long long)bytes, cause_of(errno));
}

/* Rounds up to whole pages. The rounding must not overflow, so INT64_MAX / 2 stands for any larger
 * number. A call for so many bytes gets an error in any case. */
static int64_t whole_pages(int64_t bytes)
{
    return tt_round_up(tt_min(bytes, INT64_MAX / 2), PAGE);
}

/* Allocates a piece of `wanted` bytes from a hole. Error texts name the bytes that are wanted, and
 * not the pages that have to be allocated or granted for them. */
static tutti_status alloc_locked(struct tt_arena *a, int64_t wanted, bool bare, int64_t *offset)
{
    struct tt_store *s = a->store;
    int64_t bytes = whole_pages(wanted);
    int i = -1;
    TT_TRY(make_hole(a, bytes, wanted, &i));
    int64_t begin = s->holes.all[i].begin;
    struct tt_extent x = {begin, begin + bytes, a->owner};
    if (!insert(&s->pieces, find(&s->pieces, x.begin), x)) return no_memory();
    take(&s->holes, i, bytes);
    if (furnish(a, x, bare)) {
        *offset = x.begin;
        return TUTTI_OK;
    }
    tutti_status status = cannot_get(wanted);
    cut(&s->pieces, find(&s->pieces, x.begin));
    give_back(s, x);
    return status;
}

/* Returns the smallest kept extent that is large enough; -1: there is none. */
static int find_kept(const struct tt_store *s, int64_t bytes)
{
    int best = -1;
    int64_t least = INT64_MAX;
    for (int i = 0; i < s->kept.n; i++) {
        int64_t has = s->kept.all[i].end - s->kept.all[i].begin;
        if (has < bytes || has >= least) continue;
        best = i;
        least = has;
    }
    return best;
}

static bool take_kept(struct tt_arena *a, int64_t bytes, bool bare, int64_t *offset)
{
    struct tt_store *s = a->store;
    int i = find_kept(s, bytes);
    if (i < 0) return false;
    int64_t begin = s->kept.all[i].begin;
    struct tt_extent x = {begin, begin + bytes, a->owner};
    if (!insert(&s->pieces, find(&s->pieces, begin), x)) return false;
    take(&s->kept, i, bytes);
    s->kept_bytes -= bytes;
    *offset = begin;
    if (bare || back_bare(a, x)) return true;
    free_piece(a, find(&s->pieces, begin));
    return false;
}

/* Allocates a piece. `keeps`: the piece may consist of kept pages, whose contents are old. `bare`:
 * the pages of the piece need not be backed. */
static tutti_status get(struct tt_arena *a, int64_t bytes, bool keeps, bool bare, int64_t *offset)
{
    pthread_mutex_lock(&a->store->lock);
    bool kept = keeps && take_kept(a, whole_pages(bytes), bare, offset);
    tutti_status status = kept ? TUTTI_OK : alloc_locked(a, bytes, bare, offset);
    tt_assert(tt_store_valid(a->store));
    pthread_mutex_unlock(&a->store->lock);
    return status;
}

tutti_status tt_arena_alloc(struct tt_arena *a, int64_t bytes, int64_t *offset)
{
    return get(a, bytes, false, false, offset);
}

tutti_status tt_arena_take(struct tt_arena *a, int64_t bytes, int64_t *offset)
{
    return get(a, bytes, true, false, offset);
}

tutti_status tt_arena_reserve(struct tt_arena *a, int64_t bytes, int64_t *offset)
{
    return get(a, bytes, true, true, offset);
}

tutti_status tt_arena_back(struct tt_arena *a, int64_t offset, int64_t bytes)
{
    pthread_mutex_lock(&a->store->lock);
    bool backed = back_bare(a, (struct tt_extent){offset, offset + bytes, -1});
    tutti_status status = backed ? TUTTI_OK : cannot_get(bytes);
    tt_assert(tt_store_valid(a->store));
    pthread_mutex_unlock(&a->store->lock);
    return status;
}

static bool free_locked(struct tt_arena *a, int64_t offset, bool keeps)
{
    const struct tt_extents *pieces = &a->store->pieces;
    int i = find(pieces, offset);
    if (i == pieces->n || pieces->all[i].begin != offset || pieces->all[i].owner != a->owner)
        return false;
    if (keeps)
        keep_piece(a, i);
    else
        free_piece(a, i);
    return true;
}

static bool free_at(struct tt_arena *a, int64_t offset, bool keeps)
{
    pthread_mutex_lock(&a->store->lock);
    bool had = free_locked(a, offset, keeps);
    tt_assert(tt_store_valid(a->store));
    pthread_mutex_unlock(&a->store->lock);
    return had;
}

bool tt_arena_free(struct tt_arena *a, int64_t offset)
{
    return free_at(a, offset, false);
}

bool tt_arena_put(struct tt_arena *a, int64_t offset)
{
    return free_at(a, offset, true);
}
