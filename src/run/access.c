/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a step gets at its ranges: own buffers and windows by address; opened buffers of others by
 * loads where they can be reached, else through the fabric, in pieces that stay in cache.
 */
#include <string.h>

#include "run/exec.h"

/* Bytes of operands fetched at a time, all together: half of a usual L2. */
#define BOUNCE_BYTES (512 << 10)
#define PIECE_MOST (128 << 10)
#define PIECE_LEAST (16 << 10)
#define OPERANDS_HERE 64 /* more go to memory of their own */

/* ---- Opening ---- */

/* A buffer of which nothing is used may be NULL, to which nothing may be added. */
static const char *piece(const char *buffer, int64_t at)
{
    return buffer ? buffer + at : NULL;
}

/* The address of a piece, or 0 if the buffer is not opened. */
static tt_address told(const struct tt_exec *exec, enum tt_buffer which, int64_t at)
{
    bool opened = exec->plan->opens & 1u << which;
    return opened ? tt_fabric_tell(exec->team->fabric, piece(exec->buffer[which], at)) : 0;
}

/* The pieces of IN and OUT meant for each peer. How long they are is told also where none is
 * opened, to be compared. */
static void open_segments(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    const struct tt_call *c = exec->call;
    for (int r = 0; r < t->map.p; r++) {
        struct tt_segment_opening *s = tt_team_segment(t, t->me, exec->slot, r);
        /* allgatherv: every peer may read all of IN, and writes its own piece of OUT */
        s->at[TT_IN] = told(exec, TT_IN, c->in_displs ? c->in_displs[r] * c->sz : 0);
        s->bytes[TT_IN] = c->in_counts ? c->in_counts[r] * c->sz : exec->bytes[TT_IN];
        s->at[TT_OUT] = told(exec, TT_OUT, c->out_displs[r] * c->sz);
        s->bytes[TT_OUT] = c->out_counts[r] * c->sz;
    }
}

void tt_access_open(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    struct tt_opening *o = tt_team_opening(t, t->me, exec->slot);
    for (int b = TT_IN; b <= TT_TMP; b++) {
        o->at[b] = tt_fabric_tell(t->fabric, exec->buffer[b]);
        o->bytes[b] = exec->plan->opens & 1u << b ? exec->bytes[b] : 0;
    }
    if (exec->plan->segments) open_segments(exec);
}

/* ---- Addresses ---- */

/* Bytes from the first to behind the last of a range. */
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

/* The address of IN, OUT or TMP at another rank, checked against what that rank opened. */
tutti_status tt_access_far(const struct tt_exec *exec, const struct tt_range *r, int64_t len,
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

/* Where a range is: `near` if it can be loaded from, else NULL and `far`. */
struct place {
    char *near;
    tt_address far;
    int job_rank;
};

/* Returns the address of a range in an own buffer or a window; NULL if it lies in an opened
 * buffer. */
static inline char *near_address(const struct tt_exec *exec, const struct tt_range *r)
{
    if (r->rank == TT_SELF) return tt_exec_own(exec, r);
    if (r->buf != TT_WIN) return NULL;
    return (char *)tt_team_line(exec->team, r->rank, exec->slot)->window + r->off;
}

static inline tutti_status locate(const struct tt_exec *exec, const struct tt_range *r, int64_t len,
                                  struct place *p)
{
    const struct tt_team *t = exec->team;
    *p = (struct place){.near = near_address(exec, r), .job_rank = -1};
    if (p->near || r->rank == TT_SELF) return TUTTI_OK; /* an own buffer may be NULL */
    TT_TRY(tt_access_far(exec, r, len, &p->far));
    p->near = tt_fabric_reach(t->fabric, p->far);
    p->job_rank = t->job_rank[r->rank];
    return TUTTI_OK;
}

bool tt_access_is_forbidden(const struct tt_exec *exec, const struct tt_range *r, int64_t len)
{
    struct place p;
    if (r->rank == TT_SELF || r->buf == TT_WIN || locate(exec, r, len, &p) != TUTTI_OK)
        return false;
    return !p.near && !tt_fabric_may(exec->team->fabric, p.job_rank, TT_READS);
}

bool tt_access_is_loaded(const struct tt_exec *exec, const struct tt_range *r, int64_t len)
{
    struct place p;
    if (r->rank != TT_SELF && tt_team_is_far(exec->team, r->rank)) return true; /* it was got */
    return r->rank != TT_SELF && locate(exec, r, len, &p) == TUTTI_OK && p.near;
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

/* The buffer that begins last before this address is the one that it lies in. */
static const char *argument_at(const struct tt_exec *exec, const char *memory)
{
    uintptr_t at = (uintptr_t)memory, in = (uintptr_t)exec->buffer[TT_IN],
              out = (uintptr_t)exec->buffer[TT_OUT];
    if (exec->plan->coll == TT_COLL_bcast) return "buffer";
    return in <= at && (out > at || in > out) ? "in" : "out";
}

tutti_status tt_access_blame(const struct tt_exec *exec, const char *memory, tutti_status status)
{
    char call[TT_WHAT_TEXT];
    if (status != TUTTI_ERR_ARG) return status;
    return tt_fail(status, "%s of %s: %s", argument_at(exec, memory),
                   tt_what_text(exec->what, call, sizeof call), tutti_error());
}

/* One contiguous piece, at `to_at` and `from_at` bytes into the places. */
static tutti_status move(struct tt_exec *exec, const struct place *to, int64_t to_at,
                         const struct place *from, int64_t from_at, int64_t len)
{
    struct tt_fabric *f = exec->team->fabric;
    if (tt_likely(to->near && from->near)) {
        copy_bytes(to->near + to_at, from->near + from_at, len);
        return TUTTI_OK;
    }
    char *own = to->near ? to->near + to_at : from->near + from_at;
    tutti_status status =
        to->near ? tt_fabric_read(f, from->job_rank, own, from->far + (uint64_t)from_at, len)
                 : tt_fabric_write(f, to->job_rank, to->far + (uint64_t)to_at, own, len);
    return tt_likely(status == TUTTI_OK) ? TUTTI_OK : tt_access_blame(exec, own, status);
}

int64_t tt_access_run(const struct tt_exec *exec, const struct tt_range *r, int64_t done,
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
                                const struct place *to, const struct place *from, int64_t len)
{
    for (int64_t done = 0, n; done < len; done += n) {
        int64_t to_run, from_run;
        int64_t to_at = tt_access_run(exec, &range[0], done, len - done, &to_run);
        int64_t from_at = tt_access_run(exec, &range[1], done, len - done, &from_run);
        n = tt_min(to_run, from_run);
        TT_TRY(move(exec, to, to_at, from, from_at, n));
    }
    return TUTTI_OK;
}

static inline bool is_plainly_own(const struct tt_range *r)
{
    return r->rank == TT_SELF && r->shape == 0;
}

tutti_status tt_access_copy(struct tt_exec *exec, const struct tt_range *range, int64_t len)
{
    struct place to, from;
    if (tt_likely(is_plainly_own(&range[0]) && is_plainly_own(&range[1]))) {
        copy_bytes(tt_exec_own(exec, &range[0]), tt_exec_own(exec, &range[1]), len);
        return TUTTI_OK;
    }
    TT_TRY(locate(exec, &range[0], len, &to));
    TT_TRY(locate(exec, &range[1], len, &from));
    if (tt_likely(!range[0].shape && !range[1].shape)) return move(exec, &to, 0, &from, 0, len);
    return copy_pieces(exec, range, &to, &from, len);
}

/* ---- Reducing ---- */

static void reduce_here(struct tt_exec *exec, void *to, const void *const *from, int k, int64_t len)
{
    const struct tt_plan *plan = exec->plan;
    size_t n = (size_t)len / tutti_type_size(plan->type);
    if (tt_likely(exec->reduce != NULL))
        exec->reduce(to, from, k, n);
    else
        tt_reduce(to, from, k, n, plan->type, plan->op);
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

/* Some of the k operands lie where they cannot be loaded from: piece by piece they are read to the
 * bounce buffer, and combined while they are in cache. */
static tutti_status reduce_far(struct tt_exec *exec, char *to, const struct place *from,
                               const void **at, int k, int far, int64_t len)
{
    struct tt_team *t = exec->team;
    int64_t sz = (int64_t)tutti_type_size(exec->plan->type);
    int64_t piece = tt_max(PIECE_LEAST, tt_min(PIECE_MOST, BOUNCE_BYTES / far)) & ~(int64_t)4095;
    piece = tt_max(piece / sz, 1) * sz;
    TT_TRY(need_bounce(t, tt_round_up(tt_min(piece, len), TT_LINE) * far));
    for (int64_t done = 0, n; done < len; done += n) {
        char *bounce = t->bounce;
        n = tt_min(piece, len - done);
        for (int i = 0; i < k; i++) {
            at[i] = from[i].near ? from[i].near + done : bounce;
            if (from[i].near) continue;
            exec->resume = done;
            TT_TRY(tt_fabric_read(t->fabric, from[i].job_rank, bounce, from[i].far + (uint64_t)done,
                                  n));
            bounce += tt_round_up(n, TT_LINE);
        }
        reduce_here(exec, to + done, at, k, n);
    }
    exec->resume = 0;
    return TUTTI_OK;
}

static tutti_status reduce_located(struct tt_exec *exec, const struct tt_range *range, int k,
                                   int64_t len, struct place *from, const void **at)
{
    int far = 0;
    for (int i = 0; i < k; i++) {
        TT_TRY(locate(exec, &range[i + 1], len, &from[i]));
        at[i] = from[i].near;
        far += from[i].near == NULL;
    }
    char *to = tt_exec_own(exec, &range[0]);
    if (far) return reduce_far(exec, to, from, at, k, far, len);
    reduce_here(exec, to, at, k, len);
    return TUTTI_OK;
}

/* Some operands lie in opened buffers. */
static tutti_status reduce_opened(struct tt_exec *exec, const struct tt_range *range, int k,
                                  int64_t len, const void **at)
{
    struct place here[OPERANDS_HERE];
    struct place *from = k <= OPERANDS_HERE ? here : tt_alloc((size_t)k * sizeof *from);
    if (!from) return tt_fail(TUTTI_ERR_MEMORY, "no memory for %d operands", k);
    tutti_status status = reduce_located(exec, range, k, len, from, at);
    if (from != here) tt_free(from);
    return status;
}

static inline tutti_status reduce_in(struct tt_exec *exec, const struct tt_range *range, int k,
                                     int64_t len, const void **at)
{
    bool near = true;
    for (int i = 0; i < k; i++) near &= (at[i] = near_address(exec, &range[i + 1])) != NULL;
    if (tt_unlikely(!near)) return reduce_opened(exec, range, k, len, at);
    reduce_here(exec, tt_exec_own(exec, &range[0]), at, k, len);
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
