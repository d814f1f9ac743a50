/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a step accesses its ranges: own buffers and windows by address; opened buffers of other ranks
 * of the node by loads if they are loadable, else through the fabric in pieces that stay in the
 * cache; memory of members on other nodes by puts and gets. If the system does not let this rank
 * access the memory of a member of this node, that member's memory is also accessed by puts and
 * gets (served.c).
 */
#include <stdio.h>
#include <string.h>

#include "run/exec.h"
#include "run/remote-inside.h"

/* The most bytes that are fetched at a time, counted over all operands: half of a usual L2
 * cache. */
#define BOUNCE_BYTES (512 << 10)
#define PIECE_MOST (128 << 10)
#define PIECE_LEAST (16 << 10)
/* The bytes of a block that a rank reduces at once into its own cache, before it stores the block
 * into a window past the caches. Ranks do this only if plain stores to windows are slow
 * (filling.h), and only with TT_STREAM_LEAST bytes or more. */
#define STREAM_BLOCK (4 << 10)
#define OPERANDS_HERE 64 /* addresses kept on the stack; more go to allocated memory */

/* ---- Opening ---- */

/* Returns the address of byte `at` of a buffer. A buffer that is not used may be NULL; the result
 * is NULL then, because nothing may be added to NULL. */
static const char *piece(const char *buffer, int64_t at)
{
    return buffer ? buffer + at : NULL;
}

/* Returns the address to publish for byte `at` of a buffer; 0: the buffer is not opened. */
static tt_address address_of(const struct tt_exec *exec, enum tt_buffer which, int64_t at)
{
    bool opened = exec->plan->opens & 1u << which;
    return opened ? tt_fabric_address(exec->team->fabric, piece(exec->buffer[which], at)) : 0;
}

/* Publishes the contents (sizes and types, struct tt_contents) of this rank's pieces for the peer
 * and of the pieces that it expects from the peer. */
static void publish_contents(const struct tt_exec *exec, int r)
{
    const struct tt_team *t = exec->team;
    struct tt_contents *mine = tt_team_contents(t, t->me, exec->slot, r);
    for (int b = TT_IN; b <= TT_OUT; b++) mine[b] = tt_call_contents(exec->call, b == TT_OUT, r);
}

/* Publishes for a peer this rank's pieces of IN and OUT. Their sizes are published even if the
 * buffer is not opened, so that the peer can compare them with its own counts. */
static inline void open_segment(struct tt_exec *exec, struct tt_segment_opening *all, int r)
{
    const struct tt_call *c = exec->call;
    struct tt_segment_opening *s = &all[r];
    /* In an allgatherv every peer may read all of IN. In OUT each peer may access only the piece
     * that this rank expects from it. */
    s->at[TT_IN] = address_of(exec, TT_IN, c->in_displs ? c->in_displs[r] * c->sz : 0);
    s->bytes[TT_IN] = c->in_counts ? c->in_counts[r] * c->sz : exec->bytes[TT_IN];
    s->at[TT_OUT] = address_of(exec, TT_OUT, c->out_displs[r] * c->sz);
    s->bytes[TT_OUT] = c->out_counts[r] * c->sz;
    s->begun = exec->number + 1;
    if (tt_unlikely(c->in_contents != NULL)) publish_contents(exec, r);
}

static void open_segments(struct tt_exec *exec)
{
    const struct tt_neighbors *n = exec->call->neighbors;
    const struct tt_partners partners = exec->partners;
    struct tt_segment_opening *all = tt_team_segment(exec->team, exec->team->me, exec->slot, 0);
    for (int i = 0; !n && i < partners.n; i++) open_segment(exec, all, partners.first + i);
    for (int i = 0; n && i < n->to_n; i++) open_segment(exec, all, n->to[i]);
    for (int i = 0; n && i < n->from_n; i++) open_segment(exec, all, n->from[i]);
}

/* Computes this rank's words (struct tt_pair_words): for each partner, how many bytes this rank
 * sends to it and expects from it. */
static void make_words(struct tt_exec *exec)
{
    const struct tt_call *c = exec->call;
    struct tt_pair_words *words = &exec->words;
    words->suffice = !c->in_contents && !c->neighbors;
    for (int r = exec->partners.first; r < exec->partners.first + exec->partners.n; r++) {
        words->word[r] = TT_PAIR_UNFIT;
        if (!c->in_contents)
            words->word[r] = tt_pair_word(c->in_counts[r] * c->sz, c->out_counts[r] * c->sz);
        words->suffice = words->suffice && words->word[r] != TT_PAIR_UNFIT;
        if (r != exec->team->me) words->others |= UINT64_C(1) << r;
    }
}

void tt_access_find_partners(struct tt_exec *exec)
{
    const struct tt_call *c = exec->call;
    if (exec->partners.n > 0) return;
    bool one = tt_coll_has_root(c->coll) && exec->team->me != c->root;
    exec->partners =
        one ? (struct tt_partners){c->root, 1} : (struct tt_partners){0, exec->team->map.p};
    if (exec->words.word) make_words(exec);
}

bool tt_access_words_suffice(const struct tt_exec *exec)
{
    return exec->words.suffice && !exec->plan->opens && !exec->remote;
}

/* Stores this rank's words of a call of pairs at the begin of its short window. */
static inline void store_words(struct tt_exec *exec)
{
    const struct tt_partners partners = exec->partners;
    uint32_t *word = tt_team_word(exec->team, exec->team->me, exec->slot, 0);
    for (int r = partners.first; r < partners.first + partners.n; r++)
        word[r] = exec->words.word[r];
}

static void open_buffers(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    struct tt_opening *o = tt_team_opening(t, t->me, exec->slot);
    for (int b = TT_IN; b <= TT_TMP; b++) {
        o->at[b] = tt_fabric_address(t->fabric, exec->buffer[b]);
        o->bytes[b] = exec->plan->opens & 1u << b ? exec->bytes[b] : 0;
    }
}

void tt_access_open(struct tt_exec *exec)
{
    if (exec->plan->opens) open_buffers(exec);
    if (!exec->plan->segments) return;
    if (exec->words.word) store_words(exec);
    if (!tt_access_words_suffice(exec)) open_segments(exec);
}

/* ---- Addresses ---- */

/* Returns the bytes from the begin of a range to its end, gaps included. */
static int64_t span(const struct tt_exec *exec, const struct tt_range *r, int64_t len)
{
    if (!r->shape) return len;
    const struct tt_shape *s = &exec->plan->shapes[r->shape];
    return s->block > 0 ? (len / s->block - 1) * s->stride + s->block : len;
}

static tutti_status outside(const struct tt_exec *exec, const struct tt_range *r, int64_t len,
                            int64_t bytes)
{
    const struct tt_team *t = exec->team;
    return tt_fail(TUTTI_ERR_MISMATCH,
                   "rank %d needs %lld bytes where rank %d has %lld: do the counts match?", t->me,
                   (long long)(r->off + len), r->rank, (long long)bytes);
}

/* Finds the published address of a range in a buffer that another rank has opened. If the plan
 * opens segments, that is the address in the segment for this rank. Returns MISMATCH if the range
 * is not within the opened buffer or segment. */
static tutti_status access_find(const struct tt_exec *exec, const struct tt_range *r, int64_t len,
                                tt_address *address)
{
    const struct tt_team *t = exec->team;
    const tt_address *at = tt_team_opening(t, r->rank, exec->slot)->at;
    const int64_t *bytes = tt_team_opening(t, r->rank, exec->slot)->bytes;
    if (exec->plan->segments && r->buf != TT_TMP) {
        at = tt_team_segment(t, r->rank, exec->slot, t->me)->at;
        bytes = tt_team_segment(t, r->rank, exec->slot, t->me)->bytes;
    }
    if (tt_unlikely(r->off < 0 || !at[r->buf] || r->off + span(exec, r, len) > bytes[r->buf]))
        return outside(exec, r, span(exec, r, len), bytes[r->buf]);
    *address = at[r->buf] + (uint64_t)r->off;
    return TUTTI_OK;
}

/* Where a range is: at address `loadable` if it is loadable; else `loadable` is NULL and the fabric
 * reaches it at `address`. */
struct access_place {
    char *loadable;
    bool window; /* the range is in a window */
    tt_address address;
    int job_rank;
};

/* Returns the address of a range in an own buffer or a window; NULL if it lies in an opened
 * buffer. */
static inline char *loadable_address(const struct tt_exec *exec, const struct tt_range *r)
{
    bool low = tt_unlikely(r->off < exec->low_bytes && r->buf == TT_WIN);
    if (r->rank == TT_SELF) return (low ? exec->low : exec->buffer[r->buf]) + r->off;
    if (r->buf != TT_WIN) return NULL;
    if (low) return exec->low_window[r->rank] + exec->low_at + r->off;
    return exec->window[r->rank] + exec->window_at + r->off;
}

static inline tutti_status locate(const struct tt_exec *exec, const struct tt_range *r, int64_t len,
                                  struct access_place *p)
{
    const struct tt_team *t = exec->team;
    *p = (struct access_place){
        .loadable = loadable_address(exec, r), .window = r->buf == TT_WIN, .job_rank = -1};
    if (p->loadable || r->rank == TT_SELF) return TUTTI_OK; /* an own buffer may be NULL */
    TT_TRY(access_find(exec, r, len, &p->address));
    p->job_rank = t->job_rank[r->rank];
    p->loadable = tt_fabric_reach(t->fabric, p->job_rank, p->address);
    return TUTTI_OK;
}

/* Returns whether a range of another rank of this node can be read neither by loads nor by a system
 * call. */
static bool access_is_forbidden(const struct tt_exec *exec, const struct tt_range *r, int64_t len)
{
    struct access_place p;
    if (r->rank == TT_SELF || r->buf == TT_WIN || locate(exec, r, len, &p) != TUTTI_OK)
        return false;
    return !p.loadable && !tt_fabric_may(exec->team->fabric, p.job_rank, TT_READS);
}

bool tt_access_is_loaded(const struct tt_exec *exec, const struct tt_range *r, int64_t len)
{
    struct access_place p;
    if (r->rank != TT_SELF && tt_team_is_remote(exec->team, r->rank))
        return true; /* the bytes were fetched before, and are loaded from memory of this rank */
    return r->rank != TT_SELF && locate(exec, r, len, &p) == TUTTI_OK && p.loadable;
}

/* ---- Copying ---- */

static inline void copy_bytes(char *to, const char *from, int64_t len)
{
    if (to == from) return;
    if (len == 8)
        memcpy(to, from, 8);
    else
        tt_memcpy(to, from, (size_t)len);
}

/* Returns the name of the argument in which an address lies. A bcast has one buffer. In other calls
 * the address lies in IN or OUT. If both buffers begin at or before the address, the result is the
 * buffer that begins later. */
static const char *argument_at(const struct tt_exec *exec, const char *memory)
{
    uintptr_t at = (uintptr_t)memory, in = (uintptr_t)exec->buffer[TT_IN],
              out = (uintptr_t)exec->buffer[TT_OUT];
    if (exec->plan->coll == TT_COLL_bcast) return "buffer";
    return in <= at && (out > at || in > out) ? "in" : "out";
}

/* If a member of the team has failed, returns PEER with the cause: the owner of an address may have
 * got this error already, and have freed its buffer. Prefers the member that was the first rank of
 * all to fail. Returns OK if no member has failed. */
static tutti_status find_failed(const struct tt_team *t)
{
    char text[160];
    const struct tt_fabric *f = t->fabric;
    int first = tt_common_first_failed(f->job, f->common), failed = -1;
    for (int r = 0; first >= 0 && r < t->map.p && failed != first; r++)
        if (tt_common_state(f->job, f->common, t->job_rank[r]) == TT_RANK_FAILED)
            failed = t->job_rank[r];
    if (failed < 0) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_PEER, "%s",
                   tt_common_cause_text(f->job, f->common, failed, text, sizeof text));
}

static tutti_status blame_owner(const struct tt_exec *exec, int owner, const char *call)
{
    char text[512];
    const struct tt_fabric *f = exec->team->fabric;
    snprintf(text, sizeof text, "%s: %s", call, tutti_error());
    tt_common_fail_on(f->job, f->common, owner, TUTTI_ERR_ARG, exec->team->id, text);
    return tt_fail(TUTTI_ERR_PEER, "%s",
                   tt_common_cause_text(f->job, f->common, owner, text, sizeof text));
}

tutti_status tt_access_blame(const struct tt_exec *exec, int owner, char *memory, int64_t len,
                             bool written, tutti_status status)
{
    char call[TT_SIGNATURE_TEXT];
    if (status != TUTTI_ERR_ARG) return status;
    tt_signature_text(exec->signature, call, sizeof call);
    if (!tt_fabric_is_memory(memory, len, written))
        return tt_fail(status, "%s of %s: %lld bytes at %p are no memory that can be %s",
                       argument_at(exec, memory), call, (long long)len, (void *)memory,
                       written ? "written" : "read");
    TT_TRY(find_failed(exec->team));
    return blame_owner(exec, owner, call);
}

struct copying {
    char *to;
    const char *from;
};

static void store_copy(void *what, bool past, int64_t n)
{
    struct copying *c = what;
    if (past)
        tt_stream(c->to, c->from, (size_t)n);
    else
        copy_bytes(c->to, c->from, n);
    c->to += n;
    c->from += n;
}

/* Copies into a window or an own buffer. `window`: `to` is in a window, so that the copy may use
 * stores past the caches (filling.h). */
static inline void copy_into(const struct tt_exec *exec, bool window, char *to, const char *from,
                             int64_t len)
{
    if (tt_unlikely(len >= TT_STREAM_LEAST) && window && to != from)
        tt_filling_all(&exec->team->fill, store_copy, &(struct copying){to, from}, len, 1);
    else
        copy_bytes(to, from, len);
}

/* Copies one contiguous piece to byte `to_at` of the place `to` from byte `from_at` of the place
 * `from`. */
static tutti_status move(struct tt_exec *exec, const struct access_place *to, int64_t to_at,
                         const struct access_place *from, int64_t from_at, int64_t len)
{
    struct tt_fabric *f = exec->team->fabric;
    if (tt_likely(to->loadable && from->loadable)) {
        copy_into(exec, to->window, to->loadable + to_at, from->loadable + from_at, len);
        return TUTTI_OK;
    }
    char *own = to->loadable ? to->loadable + to_at : from->loadable + from_at;
    tutti_status status =
        to->loadable
            ? tt_fabric_read(f, from->job_rank, own, from->address + (uint64_t)from_at, len)
            : tt_fabric_write(f, to->job_rank, to->address + (uint64_t)to_at, own, len);
    if (tt_likely(status == TUTTI_OK)) return TUTTI_OK;
    return tt_access_blame(exec, to->loadable ? from->job_rank : to->job_rank, own, len,
                           to->loadable != NULL, status);
}

/* Returns where byte `done` of a range lies, as a distance from the begin of the range. Sets *run
 * to the number of bytes that follow at that place without a gap, at most `left`. */
static int64_t access_run(const struct tt_exec *exec, const struct tt_range *r, int64_t done,
                          int64_t left, int64_t *run)
{
    const struct tt_shape *s = r->shape ? &exec->plan->shapes[r->shape] : NULL;
    if (!s || s->block <= 0) {
        *run = left;
        return done;
    }
    *run = tt_min(left, s->block - done % s->block);
    return done / s->block * s->stride + done % s->block;
}

static tutti_status copy_pieces(struct tt_exec *exec, const struct tt_range *range,
                                const struct access_place *to, const struct access_place *from,
                                int64_t len)
{
    for (int64_t done = 0, n; done < len; done += n) {
        int64_t to_run, from_run;
        int64_t to_at = access_run(exec, &range[0], done, len - done, &to_run);
        int64_t from_at = access_run(exec, &range[1], done, len - done, &from_run);
        n = tt_min(to_run, from_run);
        TT_TRY(move(exec, to, to_at, from, from_at, n));
    }
    return TUTTI_OK;
}

/* Copies between two ranges, one of which may be in an opened buffer. Either range may have gaps.
 * This is a separate function so that the frequent copy between windows and own buffers does not
 * pay for saving registers. */
static __attribute__((noinline)) tutti_status
copy_located(struct tt_exec *exec, const struct tt_range *range, int64_t len)
{
    struct access_place to, from;
    TT_TRY(locate(exec, &range[0], len, &to));
    TT_TRY(locate(exec, &range[1], len, &from));
    if (tt_likely(!range[0].shape && !range[1].shape)) return move(exec, &to, 0, &from, 0, len);
    return copy_pieces(exec, range, &to, &from, len);
}

tutti_status tt_access_copy(struct tt_exec *exec, const struct tt_range *range, int64_t len)
{
    if (tt_likely(!range[0].shape && !range[1].shape)) {
        char *own = loadable_address(exec, &range[0]);
        const char *other = loadable_address(exec, &range[1]);
        if (tt_likely(own && other)) {
            copy_into(exec, range[0].buf == TT_WIN, own, other, len);
            return TUTTI_OK;
        }
    }
    return copy_located(exec, range, len);
}

/* ---- Reducing ---- */

static void reduce_here(struct tt_exec *exec, void *to, const void *const *from, int k, int64_t len)
{
    const struct tt_plan *plan = exec->plan;
    size_t n = (size_t)len / exec->element;
    if (tt_likely(exec->reduce != NULL))
        exec->reduce(to, from, k, n);
    else
        tt_reduce(to, from, k, n, plan->type, exec->op);
}

/* Returns how many bytes to reduce at once if the result goes to the window at `to` by stores that
 * bypass the caches. Each such piece is first reduced into a buffer of STREAM_BLOCK bytes. The
 * piece is as many whole cache lines as fit the buffer, or else as many whole elements. Returns 0
 * if the result is to be stored into the window directly: an element is larger than the buffer, or
 * the `len` bytes at `to` overlap an operand, and so are in the cache of this rank already. */
static int64_t streamed_at_once(const struct tt_exec *exec, const char *to, const void *const *at,
                                int k, int64_t len)
{
    const int64_t element = (int64_t)exec->element;
    int64_t lines = element * (TT_LINE / tt_min(TT_LINE, element & -element));
    for (int i = 0; i < k; i++)
        if ((const char *)at[i] < to + len && to < (const char *)at[i] + len) return 0;
    if (lines <= STREAM_BLOCK) return STREAM_BLOCK / lines * lines;
    return STREAM_BLOCK / element * element;
}

struct reducing {
    struct tt_exec *exec;
    char *to;
    const void **at; /* the addresses of the operands */
    int k;
    int64_t at_once;
};

/* Reduces the next n bytes of the operands into `to`, and moves r->at and r->to past these
 * bytes. */
static void reduce_next(struct reducing *r, char *to, int64_t n)
{
    reduce_here(r->exec, to, r->at, r->k, n);
    for (int i = 0; i < r->k; i++) r->at[i] = (const char *)r->at[i] + n;
    r->to += n;
}

/* Reduces block by block: each block first into the cache of this rank, and from there into the
 * window by stores that bypass the caches. */
static __attribute__((noinline)) void reduce_streamed(struct reducing *r, int64_t len)
{
    _Alignas(TT_LINE) char block[STREAM_BLOCK];
    for (int64_t done = 0, n; done < len; done += n) {
        char *to = r->to;
        n = tt_min(r->at_once, len - done);
        reduce_next(r, block, n);
        tt_stream(to, block, (size_t)n);
    }
}

static void store_reduced(void *what, bool past, int64_t n)
{
    struct reducing *r = what;
    if (past)
        reduce_streamed(r, n);
    else
        reduce_next(r, r->to, n);
}

/* Reduces into a window. Afterwards the addresses in `at` may point past the ends of the
 * operands. */
static void reduce_into_window(struct tt_exec *exec, char *to, const void **at, int k, int64_t len)
{
    struct reducing r = {exec, to, at, k, streamed_at_once(exec, to, at, k, len)};
    if (r.at_once > 0)
        tt_filling_all(&exec->team->fill, store_reduced, &r, len, (int64_t)exec->element);
    else
        reduce_here(exec, to, at, k, len);
}

static tutti_status need_bounce(struct tt_team *t, int64_t bytes)
{
    if (t->bounce_bytes >= bytes) return TUTTI_OK;
    tt_free(t->bounce);
    t->bounce = tt_alloc_lines((size_t)bytes);
    t->bounce_bytes = t->bounce ? bytes : 0;
    if (t->bounce) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for %lld bytes of operands", (long long)bytes);
}

/* Reduces k operands, of which `bounced` are not loadable, piece by piece: reads a piece of each
 * operand that is not loadable into the bounce buffer, and combines the pieces while they are in
 * the cache. */
static tutti_status reduce_bounced(struct tt_exec *exec, char *to, const struct access_place *from,
                                   const void **at, int k, int bounced, int64_t len)
{
    struct tt_team *t = exec->team;
    int64_t sz = (int64_t)tutti_type_size(exec->plan->type);
    int64_t piece =
        tt_max(PIECE_LEAST, tt_min(PIECE_MOST, BOUNCE_BYTES / bounced)) & ~(int64_t)4095;
    piece = tt_max(piece / sz, 1) * sz;
    TT_TRY(need_bounce(t, tt_round_up(tt_min(piece, len), TT_LINE) * bounced));
    for (int64_t done = 0, n; done < len; done += n) {
        char *bounce = t->bounce;
        n = tt_min(piece, len - done);
        for (int i = 0; i < k; i++) {
            at[i] = from[i].loadable ? from[i].loadable + done : bounce;
            if (from[i].loadable) continue;
            exec->resume = done;
            tutti_status status = tt_fabric_read(t->fabric, from[i].job_rank, bounce,
                                                 from[i].address + (uint64_t)done, n);
            if (tt_unlikely(status != TUTTI_OK))
                return tt_access_blame(exec, from[i].job_rank, bounce, n, true, status);
            bounce += tt_round_up(n, TT_LINE);
        }
        reduce_here(exec, to + done, at, k, n);
    }
    exec->resume = 0;
    return TUTTI_OK;
}

static tutti_status reduce_located(struct tt_exec *exec, const struct tt_range *range, int k,
                                   int64_t len, struct access_place *from, const void **at)
{
    int bounced = 0;
    for (int i = 0; i < k; i++) {
        TT_TRY(locate(exec, &range[i + 1], len, &from[i]));
        at[i] = from[i].loadable;
        bounced += from[i].loadable == NULL;
    }
    char *to = tt_exec_own(exec, &range[0]);
    if (bounced) return reduce_bounced(exec, to, from, at, k, bounced, len);
    reduce_here(exec, to, at, k, len);
    return TUTTI_OK;
}

/* Reduces k operands of which some lie in opened buffers. range[0] is the destination, and range[1]
 * .. range[k] are the operands; `at` has room for their addresses. */
static tutti_status reduce_opened(struct tt_exec *exec, const struct tt_range *range, int k,
                                  int64_t len, const void **at)
{
    struct access_place here[OPERANDS_HERE];
    struct access_place *from = k <= OPERANDS_HERE ? here : tt_alloc((size_t)k * sizeof *from);
    if (!from) return tt_fail(TUTTI_ERR_MEMORY, "no memory for %d operands", k);
    tutti_status status = reduce_located(exec, range, k, len, from, at);
    if (from != here) tt_free(from);
    return status;
}

static inline tutti_status reduce_in(struct tt_exec *exec, const struct tt_range *range, int k,
                                     int64_t len, const void **at)
{
    bool loadable = true;
    for (int i = 0; i < k; i++) loadable &= (at[i] = loadable_address(exec, &range[i + 1])) != NULL;
    if (tt_unlikely(!loadable)) return reduce_opened(exec, range, k, len, at);
    char *to = exec->buffer[range->buf] + range->off;
    if (tt_unlikely(len >= TT_STREAM_LEAST) && range->buf == TT_WIN)
        reduce_into_window(exec, to, at, k, len);
    else
        reduce_here(exec, to, at, k, len);
    return TUTTI_OK;
}

tutti_status tt_access_reduce(struct tt_exec *exec, const struct tt_range *range, uint32_t n,
                              int64_t len)
{
    int k = (int)n - 1;
    const void *at[OPERANDS_HERE];
    if (tt_likely(k <= OPERANDS_HERE)) return reduce_in(exec, range, k, len, at);
    const void **more = tt_alloc((size_t)k * sizeof *more);
    if (!more) return tt_fail(TUTTI_ERR_MEMORY, "no memory for %d operands", k);
    tutti_status status = reduce_in(exec, range, k, len, more);
    tt_free(more);
    return status;
}

/* ---- Puts and gets, in the memory of members on other nodes ---- */

/* An access to the memory of a peer: a put, a get, or the fetch of an operand. If its ranges have
 * gaps, the access consists of several pieces. */
struct remote_access {
    struct tt_exec *exec;
    struct tt_message *message; /* completes when all pieces have completed; NULL: `left` is used */
    int *left;                  /* counts the pieces to come; NULL: `message` is used */
    int peer;
    tutti_endpoint *to;
    const tutti_key *key; /* NULL: the peer is on this node */
    /* offset in the region of the key; without a key, an address in the peer's process */
    int64_t offset;
    char *here;
    bool put;
};

static tutti_status move_piece(const struct remote_access *w, tutti_context *c,
                               struct tt_operation *x, int64_t there)
{
    if (!w->key && w->put)
        return tt_msg_put_at(c, w->to, x->at, (uint64_t)there, x->len, tt_remote_moved, x);
    if (!w->key) return tt_msg_get_at(c, w->to, x->at, (uint64_t)there, x->len, tt_remote_moved, x);
    return w->put ? tt_msg_put(c, w->to, x->at, w->key, there, x->len, tt_remote_moved, x)
                  : tt_msg_get(c, w->to, x->at, w->key, there, x->len, tt_remote_moved, x);
}

static tutti_status start_piece(const struct remote_access *w, int64_t there, int64_t here,
                                int64_t n)
{
    struct tt_remote_teams *remote_teams = w->exec->team->remote_teams;
    struct tt_operation *x = tt_operation_begin(w->exec, w->message, w->peer, w->here + here, n);
    if (!x) return TUTTI_ERR_MEMORY;
    x->takes = !w->put;
    x->opened = true;
    x->left = w->left;
    if (w->message) w->message->left++;
    if (w->left) ++*w->left;
    return tt_operation_started(x, move_piece(w, remote_teams->context, x, w->offset + there));
}

/* Fills in the peer and the memory of the peer in which the range `remote` lies, and checks the
 * range against what the peer has opened for this rank. */
static tutti_status find_memory(struct remote_access *w, const struct tt_range *remote, int64_t len)
{
    struct tt_exec *exec = w->exec;
    tt_address address = 0;
    TT_TRY(access_find(exec, remote, len, &address));
    w->peer = remote->rank;
    if (!tt_team_is_remote(exec->team, remote->rank)) {
        w->offset = (int64_t)address;
        return tt_msg_endpoint(exec->team->remote_teams->msg, exec->team->job_rank[remote->rank], 0,
                               &w->to);
    }
    const struct tt_mirror *m = exec->team->remote->mirror[remote->rank];
    const struct tt_remote_opening *o = m->opening[exec->slot];
    w->to = m->to;
    w->offset = (int64_t)(address - TT_REMOTE_ADDRESS);
    w->key = &o->key[__builtin_popcount(o->keyed & ((1u << remote->buf) - 1))];
    return TUTTI_OK;
}

/* Starts the transfers of all pieces of the access, between the range `remote` of the peer and the
 * range `local` of this rank. If `local` is NULL, the local memory begins at w->here and has no
 * gaps. */
static tutti_status go(const struct remote_access *w, const struct tt_range *remote,
                       const struct tt_range *local, int64_t len)
{
    for (int64_t done = 0, n; done < len; done += n) {
        int64_t run = len - done, here = done;
        int64_t there = access_run(w->exec, remote, done, len - done, &n);
        if (local) here = access_run(w->exec, local, done, len - done, &run);
        n = tt_min(n, run);
        TT_TRY(start_piece(w, there, here, n));
    }
    return TUTTI_OK;
}

tutti_status tt_remote_access(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                              struct tt_message *message)
{
    (void)lane;
    bool put = s->kind == TT_PUT;
    const struct tt_range *remote = &s->range[put ? 0 : 1], *local = &s->range[put ? 1 : 0];
    struct remote_access w = {
        .exec = exec, .message = message, .here = tt_exec_own(exec, local), .put = put};
    *message = (struct tt_message){.left = 1};
    TT_TRY(find_memory(&w, remote, s->len));
    tutti_status status = go(&w, remote, local, s->len);
    message->complete = --message->left == 0;
    return status;
}

/* ---- Operands ---- */

struct tt_fetch {
    int left; /* number of pieces that have not come */
    char *memory;
    /* the ranges of the step; a fetched operand's range is that of its copy */
    struct tt_range range[];
};

static bool is_remote(const struct tt_exec *exec, const struct tt_range *r, int64_t len)
{
    if (r->rank == TT_SELF) return false;
    return tt_team_is_remote(exec->team, r->rank) ||
           (exec->served && access_is_forbidden(exec, r, len));
}

/* Starts to fetch the operands of the step from byte `done` of each operand on. The ranges of the
 * step have no gaps if `done` is not 0. */
static tutti_status start_fetch(struct tt_exec *exec, struct tt_fetch *fetch,
                                const struct tt_plain *s, int64_t done)
{
    int64_t at = 0, len = s->len - done;
    for (uint32_t i = 0; i < s->nops; i++) {
        struct tt_range range = s->range[i];
        bool remote = is_remote(exec, &range, s->len);
        range.off += done;
        fetch->range[i] = range;
        if (!remote) continue;
        struct remote_access w = {.exec = exec, .left = &fetch->left, .here = fetch->memory + at};
        fetch->range[i] = (struct tt_range){.off = at, .rank = TT_SELF, .buf = TT_FETCHED};
        TT_TRY(find_memory(&w, &range, len));
        TT_TRY(go(&w, &range, NULL, len));
        at += tt_round_up(len, TT_LINE);
    }
    return TUTTI_OK;
}

static struct tt_fetch *new_fetch(const struct tt_plain *s, int64_t remote)
{
    struct tt_fetch *fetch = tt_calloc(1, sizeof *fetch + s->nops * sizeof fetch->range[0]);
    if (fetch) fetch->memory = tt_alloc_lines((size_t)(remote * tt_round_up(s->len, TT_LINE)));
    if (fetch && fetch->memory) return fetch;
    tt_free(fetch);
    (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for %lld bytes of operands",
                  (long long)(remote * s->len));
    return NULL;
}

tutti_status tt_remote_fetch(struct tt_exec *exec, uint32_t lane, struct tt_plain *s)
{
    struct tt_fetch **fetch = &exec->lane[lane].fetch;
    int64_t remote = 0, done = exec->lane[lane].resume;
    for (uint32_t i = 0; i < s->nops && !*fetch; i++)
        remote += is_remote(exec, &s->range[i], s->len);
    if (remote == 0 && done == 0 && !*fetch) return TUTTI_OK;
    if (!*fetch) {
        if (!(*fetch = new_fetch(s, remote))) return TUTTI_ERR_MEMORY;
        TT_TRY(start_fetch(exec, *fetch, s, done));
    }
    if ((*fetch)->left > 0) return TUTTI_AGAIN;
    exec->buffer[TT_FETCHED] = (*fetch)->memory;
    s->range = (*fetch)->range;
    s->len -= done;
    return TUTTI_OK;
}

void tt_remote_fetched(struct tt_exec *exec, uint32_t lane)
{
    struct tt_fetch *fetch = exec->lane[lane].fetch;
    if (!fetch) return;
    exec->lane[lane].fetch = NULL;
    tt_free(fetch->memory);
    tt_free(fetch);
}

/* ---- Ending ---- */

void tt_remote_release(struct tt_exec *exec)
{
    for (uint32_t i = 0; i < exec->plan->lanes; i++) tt_remote_fetched(exec, i);
    for (int b = TT_IN; b <= TT_TMP; b++) {
        if (exec->remote->region[b]) (void)tt_msg_region_free(exec->remote->region[b]);
        exec->remote->region[b] = NULL;
    }
}
