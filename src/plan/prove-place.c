/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a range lies, and whether this rank may touch it here and now: inside the buffer, within
 * reach, opened by its owner, after the opening and before the end.
 */
#include "plan/prove-inside.h"

#include <stdlib.h>

/* ---- How large buffers are, and what is in them at first ---- */

static int64_t pieces_end(const int64_t *counts, const int64_t *displs, int p)
{
    int64_t end = 0;
    for (int r = 0; r < p; r++)
        if (counts[r] > 0) end = tt_max(end, displs[r] + counts[r]);
    return end;
}

int64_t tt_prove_in_bytes(const struct tt_call *call, int p, int rank)
{
    switch (call->coll) {
    case TT_COLL_reduce:
    case TT_COLL_allreduce:
    case TT_COLL_reduce_scatter:
    case TT_COLL_gather:
    case TT_COLL_allgather: return tt_call_bytes(call);
    case TT_COLL_reduce_scatter_block:
    case TT_COLL_alltoall: return p * tt_call_bytes(call);
    case TT_COLL_allgatherv: return call->out_counts[rank] * call->sz;
    case TT_COLL_alltoallv: return pieces_end(call->in_counts, call->in_displs, p) * call->sz;
    case TT_COLL_barrier:
    case TT_COLL_bcast:
    case TT_COLLS: break;
    }
    return 0;
}

int64_t tt_prove_out_bytes(const struct tt_call *call, int p, int rank)
{
    switch (call->coll) {
    case TT_COLL_bcast:
    case TT_COLL_allreduce: return tt_call_bytes(call);
    case TT_COLL_reduce: return rank == call->root ? tt_call_bytes(call) : 0;
    case TT_COLL_reduce_scatter_block:
    case TT_COLL_reduce_scatter:
        return call->in_place ? tt_prove_in_bytes(call, p, rank) : tt_call_block_bytes(call, rank);
    case TT_COLL_gather: return rank == call->root ? p * tt_call_bytes(call) : 0;
    case TT_COLL_allgather:
    case TT_COLL_alltoall: return p * tt_call_bytes(call);
    case TT_COLL_allgatherv:
    case TT_COLL_alltoallv: return pieces_end(call->out_counts, call->out_displs, p) * call->sz;
    case TT_COLL_barrier:
    case TT_COLLS: break;
    }
    return 0;
}

/* Where the input lies in OUT, or -1. */
static int64_t input_in_out(const struct tt_call *call, int rank)
{
    if (call->coll == TT_COLL_bcast) return rank == call->root ? 0 : -1;
    if (!call->in_place) return -1;
    switch (call->coll) {
    case TT_COLL_reduce: return rank == call->root ? 0 : -1;
    case TT_COLL_reduce_scatter_block:
    case TT_COLL_reduce_scatter:
    case TT_COLL_allreduce: return 0;
    case TT_COLL_gather: return rank == call->root ? rank * tt_call_bytes(call) : -1;
    case TT_COLL_allgather: return rank * tt_call_bytes(call);
    case TT_COLL_allgatherv: return call->out_displs[rank] * call->sz;
    default: return -1;
    }
}

static int by_begin(const void *a, const void *b)
{
    const struct tt_extent *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The pieces of a v-form, sorted, neighbours joined. */
static bool set_spans(struct tt_prover *p, struct tt_memory *m, const int64_t *counts,
                      const int64_t *displs, int64_t sz)
{
    struct tt_extent *s = tt_prove_alloc(p, (size_t)p->p * sizeof *s);
    if (!s) return false;
    uint32_t n = 0, joined = 0;
    for (int r = 0; r < p->p; r++)
        if (counts[r] > 0)
            s[n++] = (struct tt_extent){displs[r] * sz, (displs[r] + counts[r]) * sz};
    qsort(s, n, sizeof *s, by_begin);
    for (uint32_t i = 0; i < n; i++)
        if (joined && s[i].begin <= s[joined - 1].end)
            s[joined - 1].end = tt_max(s[joined - 1].end, s[i].end);
        else
            s[joined++] = s[i];
    m->spans = s;
    m->spans_n = joined;
    return true;
}

static bool buffer(struct tt_prover *p, struct tt_part *part, int buf, int64_t bytes, bool input)
{
    struct tt_memory *m = &part->memory[buf];
    *m = (struct tt_memory){.rank = part->rank, .execution = part->execution, .buf = (uint8_t)buf};
    uint32_t node =
        input ? part->input : tt_prove_leaf(p, TT_NODE_GARBAGE, buf, part->rank, part->execution);
    return tt_prove_memory_set(p, m, bytes, node);
}

static bool spans(struct tt_prover *p, struct tt_part *part)
{
    const struct tt_call *c = part->call;
    struct tt_memory *in = &part->memory[TT_IN], *out = &part->memory[TT_OUT];
    if (!tt_call_segments(c)) return true;
    return set_spans(p, out, c->out_counts, c->out_displs, c->sz) &&
           (c->coll == TT_COLL_allgatherv || set_spans(p, in, c->in_counts, c->in_displs, c->sz));
}

bool tt_prove_buffers(struct tt_prover *p, struct tt_part *part)
{
    const struct tt_call *call = part->call;
    int64_t in = tt_prove_in_bytes(call, p->p, part->rank);
    int64_t out = tt_prove_out_bytes(call, p->p, part->rank);
    int64_t at = input_in_out(call, part->rank);
    part->input = tt_prove_leaf(p, TT_NODE_INPUT, 0, part->rank, part->execution);
    part->in_at = call->coll == TT_COLL_bcast ? -1 : at;
    if (!buffer(p, part, TT_IN, part->in_at < 0 ? in : 0, true) ||
        !buffer(p, part, TT_OUT, out, false) ||
        !buffer(p, part, TT_TMP, part->plan->tmp_bytes, false) || !spans(p, part))
        return false;
    int64_t len = call->coll == TT_COLL_bcast ? out : in;
    if (at < 0 || len == 0) return true;
    struct tt_place place = {&part->memory[TT_OUT], at, len, len, 0};
    struct tt_runs runs = {&(struct tt_run){len, 0, part->input}, 1, 1, 0};
    return tt_prove_store(p, &place, &runs);
}

/* ---- Ranges ---- */

/* A part of a buffer that a range is counted from. */
struct window {
    struct tt_memory *memory;
    int64_t base, bytes;
};

static struct window segment(struct tt_memory *m, const int64_t *counts, const int64_t *displs,
                             int me, int64_t sz)
{
    return (struct window){m, displs[me] * sz, counts[me] * sz};
}

static struct window callers(struct tt_prover *p, struct tt_part *owner, int buf)
{
    const struct tt_call *c = owner->call;
    int me = p->running->part->rank;
    struct tt_memory *m = &owner->memory[buf];
    if (owner->rank != me && tt_call_segments(c)) {
        if (buf == TT_OUT) return segment(m, c->out_counts, c->out_displs, me, c->sz);
        if (c->coll == TT_COLL_alltoallv) return segment(m, c->in_counts, c->in_displs, me, c->sz);
    }
    if (buf == TT_IN && owner->in_at >= 0)
        return (struct window){&owner->memory[TT_OUT], owner->in_at,
                               tt_prove_in_bytes(c, p->p, owner->rank)};
    return (struct window){m, 0, m->bytes};
}

static struct window slot_window(struct tt_prover *p, struct tt_part *owner)
{
    int slot = owner->execution % TT_PROOF_SLOTS;
    bool own = owner == p->running->part;
    return (struct window){&p->windows[slot * p->p + owner->rank], 0,
                           own ? tt_min(owner->plan->win_bytes, p->win_bytes) : p->win_bytes};
}

/* Whether this rank awaited a signal of r before now, on this or another lane. */
static bool has_awaited(const struct tt_prover *p, int r)
{
    const struct tt_part *part = p->running->part;
    for (uint32_t l = 0; l < part->plan->lanes; l++) {
        uint32_t at = part->lane[l].opened[r];
        if (at && at <= tt_prove_known(&p->running->now, part->lane[l].now.clock)) return true;
    }
    return false;
}

/* Puts and gets are transfers, which the fabric makes by messages where it has no other way. */
static bool moves(const struct tt_prover *p)
{
    enum tt_kind kind = p->running->step.kind;
    return kind == TT_PUT || kind == TT_GET;
}

static bool reaches(struct tt_prover *p, const struct tt_part *owner, int buf)
{
    const struct tt_map *map = p->problem->map;
    static const char *const name[] = {"IN", "OUT", "TMP", "WIN"};
    if (!map) return true;
    if (!tt_map_same_node(map, p->running->part->rank, owner->rank)) {
        if ((map->rdma || moves(p)) && buf != TT_WIN) return true;
        return tt_prove_fault(p, TT_FAULT_REACH, "%s@%d is on another node", name[buf],
                              owner->rank);
    }
    if (buf != TT_WIN && !map->direct && !moves(p))
        return tt_prove_fault(p, TT_FAULT_REACH,
                              "%s@%d: the map does not grant direct access to others' buffers",
                              name[buf], owner->rank);
    return true;
}

static bool is_open(struct tt_prover *p, const struct tt_part *owner, int buf)
{
    static const char *const name[] = {"IN", "OUT", "TMP"};
    if (!(owner->plan->opens & 1u << buf))
        return tt_prove_fault(p, TT_FAULT_NOT_OPENED, "rank %d does not open its %s", owner->rank,
                              name[buf]);
    if (!has_awaited(p, owner->rank))
        return tt_prove_fault(
            p, TT_FAULT_UNOPENED,
            "no signal of rank %d has been awaited, so its %s may not be open yet", owner->rank,
            name[buf]);
    if (owner->state == TT_PART_ENDED)
        return tt_prove_fault(p, TT_FAULT_CLOSED, "rank %d may have ended: its %s is its caller's",
                              owner->rank, name[buf]);
    return true;
}

static bool in_spans(const struct tt_memory *m, int64_t off, int64_t len)
{
    if (!m->spans) return true;
    uint32_t low = 0, high = m->spans_n;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (m->spans[middle].begin <= off)
            low = middle;
        else
            high = middle;
    }
    return m->spans_n && m->spans[low].begin <= off && off + len <= m->spans[low].end;
}

static bool inside(struct tt_prover *p, const struct window *w, const struct tt_place *at)
{
    char said[80];
    int64_t last = (at->len / at->block - 1) * at->stride;
    int64_t begin = at->off + tt_min(0, last), end = at->off + tt_max(0, last) + at->block;
    if (begin < w->base || end > w->base + w->bytes)
        return tt_prove_fault(
            p, TT_FAULT_OUTSIDE, "%s lies outside: there %s %ld bytes%s",
            tt_prove_say_bytes(p, said, sizeof said, w->memory, begin, end - begin),
            w->bytes == 1 ? "is" : "are", (long)w->bytes, w->base ? " for this rank" : "");
    for (int64_t off = at->off, left = at->len; left > 0; off += at->stride, left -= at->block)
        if (!in_spans(w->memory, off, at->block))
            return tt_prove_fault(
                p, TT_FAULT_OUTSIDE, "%s is not in one of the call's pieces",
                tt_prove_say_bytes(p, said, sizeof said, w->memory, off, at->block));
    return true;
}

static bool owner_of(struct tt_prover *p, const struct tt_range *range, struct tt_part **owner)
{
    *owner = p->running->part;
    if (range->rank == TT_SELF) return true;
    if (range->rank < 0 || range->rank >= p->p)
        return tt_prove_fault(p, TT_FAULT_OUTSIDE, "there is no rank %d", range->rank);
    *owner = tt_prove_part(p, (*owner)->execution, range->rank);
    return true;
}

bool tt_prove_place(struct tt_prover *p, const struct tt_range *range, int64_t len, bool write,
                    struct tt_place *place)
{
    struct tt_part *owner;
    if (!owner_of(p, range, &owner)) return false;
    if (write && range->buf == TT_IN)
        return tt_prove_fault(p, TT_FAULT_INPUT, "writes the input of rank %d", owner->rank);
    if (owner != p->running->part) {
        if (!reaches(p, owner, range->buf)) return false;
        if (range->buf != TT_WIN && !is_open(p, owner, range->buf)) return false;
    }
    struct window w = range->buf == TT_WIN ? slot_window(p, owner) : callers(p, owner, range->buf);
    *place = (struct tt_place){w.memory, w.base + range->off, len, len, 0};
    if (range->shape) {
        const struct tt_shape *shape = &p->running->part->plan->shapes[range->shape];
        if (shape->block > 0 && shape->block < len) {
            place->block = shape->block;
            place->stride = shape->stride;
        }
    }
    if (len % place->block)
        return tt_prove_fault(p, TT_FAULT_OUTSIDE, "%ld bytes are no whole blocks of %ld",
                              (long)len, (long)place->block);
    return inside(p, &w, place);
}
