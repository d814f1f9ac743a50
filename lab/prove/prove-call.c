/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gives the prover what it must know of the collective call whose plans it proves: the buffers with
 * their first contents, the ranges that a rank may touch, and the contents that the buffers must
 * have at the end.
 */
#include "prove/prove-inside.h"

#include <stdlib.h>

/* ---- The sizes of buffers and their first contents ---- */

static int64_t pieces_end(const int64_t *counts, const int64_t *displs, int p)
{
    int64_t end = 0;
    for (int r = 0; r < p; r++)
        if (counts[r] > 0) end = tt_max(end, displs[r] + counts[r]);
    return end;
}

static int64_t in_bytes(const struct tt_call *call, int p, int rank)
{
    if (call->coll == TT_COLL_allgatherv) return call->out_counts[rank] * call->sz;
    if (tt_coll_pairs(call->coll))
        return pieces_end(call->in_counts, call->in_displs, p) * call->sz;
    return tt_call_in_bytes(call, p, rank);
}

static int64_t out_bytes(const struct tt_call *call, int p, int rank)
{
    if (tt_call_segments(call)) return pieces_end(call->out_counts, call->out_displs, p) * call->sz;
    return tt_call_out_bytes(call, p, rank);
}

/* Returns the offset of the input in OUT, if the rank has its input there (in place, or at the root
 * of a bcast); otherwise -1. */
static int64_t input_in_out(const struct tt_call *call, int rank)
{
    if (call->coll == TT_COLL_bcast) return rank == call->root ? 0 : -1;
    if (!call->in_place || !tt_coll_has_place(call->coll)) return -1;
    if (tt_coll_is_roots(call->coll) && rank != call->root) return -1;
    if (tt_coll_pairs(call->coll)) return -1;
    if (tt_call_segments(call)) return call->out_displs[rank] * call->sz;
    return tt_call_place(call, rank);
}

static int by_begin(const void *a, const void *b)
{
    const struct tt_proof_extent *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Sets m->spans to the pieces that counts and displs describe, sorted by offset, with adjacent
 * pieces joined. */
static bool set_spans(struct tt_prover *p, struct tt_memory *m, const int64_t *counts,
                      const int64_t *displs, int64_t sz)
{
    struct tt_proof_extent *s = tt_prove_alloc(p, (size_t)p->p * sizeof *s);
    if (!s) return false;
    uint32_t n = 0, joined = 0;
    for (int r = 0; r < p->p; r++)
        if (counts[r] > 0)
            s[n++] = (struct tt_proof_extent){displs[r] * sz, (displs[r] + counts[r]) * sz};
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
    int64_t in = in_bytes(call, p->p, part->rank);
    int64_t out = out_bytes(call, p->p, part->rank);
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
    struct tt_runs runs = {&(struct tt_proof_run){len, 0, part->input}, 1, 1, 0};
    return tt_prove_store(p, &place, &runs);
}

/* ---- Ranges ---- */

/* This section finds where a range lies, and checks that the rank of the running lane may access it
 * now. The range must lie inside its buffer, and the rank must be able to access memory of the
 * buffer's owner. A buffer of another rank must have been opened by its owner, and the access must
 * be after the opening and before the owner ends the execution. */

/* The part of a buffer in which a range must lie: `bytes` bytes from `base` on. The offset of a
 * range counts from `base`. */
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
        if (tt_coll_pairs(c->coll)) return segment(m, c->in_counts, c->in_displs, me, c->sz);
    }
    if (buf == TT_IN && owner->in_at >= 0)
        return (struct window){&owner->memory[TT_OUT], owner->in_at,
                               in_bytes(c, p->p, owner->rank)};
    return (struct window){m, 0, m->bytes};
}

/* Returns the part that ranks may access of the owner's buffer WIN: the bytes that the owner's own
 * plan uses, because a real owner provides memory for these bytes only. */
static struct window slot_window(struct tt_prover *p, struct tt_part *owner)
{
    int slot = owner->execution % TT_PROOF_SLOTS;
    return (struct window){&p->windows[slot * p->p + owner->rank], 0,
                           tt_min(owner->plan->win_bytes, p->win_bytes)};
}

/* Returns whether this rank has, on any of its lanes and before the running step, awaited a signal
 * of rank r. */
static bool has_awaited(const struct tt_prover *p, int r)
{
    const struct tt_part *part = p->running->part;
    for (uint32_t l = 0; l < part->plan->lanes; l++) {
        uint32_t at = part->lane[l].opened[r];
        if (at && at <= tt_prove_known(&p->running->now, part->lane[l].now.clock)) return true;
    }
    return false;
}

/* Returns whether the running step is a put or a get. The library can do these by messages, so they
 * reach ranks on any node. */
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
    if (buf != TT_WIN && !map->reads && !moves(p))
        return tt_prove_fault(p, TT_FAULT_REACH,
                              "%s@%d: the map does not let ranks read each other's buffers",
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

/* ---- The result of a rank ---- */

/* This section checks a rank that has ended an execution: whether all accesses of other ranks to
 * its buffers are over, and whether its result is right. (A `part` is one rank in one
 * execution.) */

/* The content that OUT must have from `off` on, for `len` bytes: the input of `rank` from byte
 * `coord` on; or, if `rank` is -1, the reduction of the inputs of all ranks from byte `coord`
 * on. */
struct expected {
    int64_t off, len, coord;
    int rank;
};

static struct tt_place out_place(struct tt_part *part, int64_t off, int64_t len)
{
    return (struct tt_place){&part->memory[TT_OUT], off, len, len, 0};
}

static bool is_wrong(struct tt_prover *p, struct tt_part *part, int64_t off,
                     struct tt_proof_run run, const struct expected *e)
{
    char bytes[80], value[160];
    enum tt_node_kind kind = p->nodes[run.node].kind;
    enum tt_fault fault =
        kind == TT_NODE_GARBAGE || kind == TT_NODE_UNDER_WAY ? TT_FAULT_UNWRITTEN : TT_FAULT_WRONG;
    tt_prove_say_bytes(p, bytes, sizeof bytes, &part->memory[TT_OUT], off, run.len);
    tt_prove_say_value(p, value, sizeof value, run);
    if (e->rank < 0)
        return tt_prove_fault_at_end(p, part, fault, "in the end %s holds %s, not the reduction",
                                     bytes, value);
    long first = (long)(e->coord + off - e->off);
    return tt_prove_fault_at_end(p, part, fault,
                                 "in the end %s holds %s, not bytes %ld to %ld of rank %d's input",
                                 bytes, value, first, first + (long)run.len - 1, e->rank);
}

/* Returns how many of the ranks first .. end-1 are in the set. */
static int members(const uint64_t *set, int first, int end)
{
    int n = 0;
    for (int r = first; r < end; r++) n += set[r / 64] >> r % 64 & 1;
    return n;
}

/* Checks that the value `run` at `off` is the reduction of the expected bytes of all ranks, in this
 * execution. In a scan, only the ranks up to this one count; in an exscan, those before it. */
static bool reduced(struct tt_prover *p, struct tt_part *part, int64_t off, struct tt_proof_run run,
                    const struct expected *e)
{
    char bytes[80], ranks[120];
    const struct tt_node *node = &p->nodes[run.node];
    if (node->execution != part->execution || node->kind < TT_NODE_INPUT ||
        run.coord != e->coord + off - e->off)
        return is_wrong(p, part, off, run, e);
    const uint64_t *set = tt_prove_set(p, run.node);
    int n = tt_call_reduces(part->call, p->p, part->rank);
    if (members(set, n, p->p) > 0) return is_wrong(p, part, off, run, e);
    if (members(set, 0, n) == n) return true;
    return tt_prove_fault_at_end(
        p, part, TT_FAULT_MISSING, "in the end %s lacks the contribution of %s",
        tt_prove_say_bytes(p, bytes, sizeof bytes, &part->memory[TT_OUT], off, run.len),
        tt_prove_say_ranks(ranks, sizeof ranks, set, n, true));
}

static bool piece(struct tt_prover *p, struct tt_part *part, struct expected e)
{
    if (e.len == 0) return true;
    struct tt_place place = out_place(part, e.off, e.len);
    uint32_t input = e.rank < 0 ? 0 : tt_prove_part(p, part->execution, e.rank)->input;
    if (!tt_prove_peek(p, &place, &p->result)) return false;
    int64_t off = e.off;
    for (uint32_t i = 0; i < p->result.n; i++) {
        struct tt_proof_run run = p->result.at[i];
        if (e.rank < 0) {
            if (!reduced(p, part, off, run, &e)) return false;
        } else if (run.node != input || run.coord != e.coord + off - e.off)
            return is_wrong(p, part, off, run, &e);
        off += run.len;
    }
    return true;
}

/* Checks that this rank's result was combined in the same order as the result of the rank that
 * ended this execution first. If this rank is the first, records it as the one to compare with. */
static bool same_bits(struct tt_prover *p, struct tt_part *part)
{
    struct tt_part *first = p->reference[part->execution];
    int64_t len = part->memory[TT_OUT].bytes;
    if (!first) p->reference[part->execution] = part;
    if (!first || len == 0) return true;
    struct tt_place mine = out_place(part, 0, len), theirs = out_place(first, 0, len);
    struct tt_runs *other = &p->compared;
    if (!tt_prove_peek(p, &mine, &p->result) || !tt_prove_peek(p, &theirs, other)) return false;
    int64_t off = 0;
    for (uint32_t i = 0; i < p->result.n; i++) {
        struct tt_proof_run a = p->result.at[i];
        if (i < other->n && a.node == other->at[i].node && a.len == other->at[i].len) {
            off += a.len;
            continue;
        }
        char bytes[80];
        return tt_prove_fault_at_end(
            p, part, TT_FAULT_BITS, "%s is combined in another order than at rank %d",
            tt_prove_say_bytes(p, bytes, sizeof bytes, &part->memory[TT_OUT], off, a.len),
            first->rank);
    }
    return true;
}

static bool gathered(struct tt_prover *p, struct tt_part *part)
{
    const struct tt_call *c = part->call;
    int64_t n = tt_call_bytes(c), v = c->coll == TT_COLL_allgatherv;
    for (int r = 0; r < p->p; r++) {
        int64_t at = v ? c->out_displs[r] * c->sz : r * n;
        int64_t len = v ? c->out_counts[r] * c->sz : n;
        if (!piece(p, part, (struct expected){at, len, 0, r})) return false;
    }
    return true;
}

static bool scattered(struct tt_prover *p, struct tt_part *part)
{
    int64_t len = tt_call_block_bytes(part->call, part->rank);
    return piece(p, part, (struct expected){0, len, tt_call_block_at(part->call, part->rank), -1});
}

/* Checks the result of a scatter, which is the piece of this rank. If this rank is the root of a
 * call in place, its buffer must still have the pieces of all ranks. */
static bool scattered_pieces(struct tt_prover *p, struct tt_part *part)
{
    const struct tt_call *c = part->call;
    int64_t n = tt_call_bytes(c);
    if (part->rank == c->root && c->in_place)
        return piece(p, part, (struct expected){0, p->p * n, 0, c->root});
    return piece(p, part, (struct expected){0, n, part->rank * n, c->root});
}

static bool exchanged(struct tt_prover *p, struct tt_part *part)
{
    const struct tt_call *c = part->call;
    int64_t n = tt_call_bytes(c);
    for (int r = 0; r < p->p; r++) {
        const struct tt_call *from = tt_prove_part(p, part->execution, r)->call;
        struct expected e = {r * n, n, part->rank * n, r};
        if (tt_coll_pairs(c->coll))
            e = (struct expected){c->out_displs[r] * c->sz, c->out_counts[r] * c->sz,
                                  from->in_displs[part->rank] * c->sz, r};
        if (!piece(p, part, e)) return false;
    }
    return true;
}

static bool knows_start(const struct tt_prover *p, const struct tt_moment *end,
                        const struct tt_part *other)
{
    if (other->state == TT_PART_IDLE) return false;
    for (uint32_t l = 0; l < other->plan->lanes; l++)
        if (tt_prove_known(end, tt_prove_clock_of(p, other, (int)l)) >= other->lane[l].born)
            return true;
    return false;
}

static bool synchronised(struct tt_prover *p, struct tt_part *part)
{
    for (int r = 0; r < p->p; r++)
        if (!knows_start(p, &part->end, tt_prove_part(p, part->execution, r)))
            return tt_prove_fault_at_end(p, part, TT_FAULT_BARRIER,
                                         "rank %d may leave the barrier before rank %d has entered",
                                         part->rank, r);
    return true;
}

static bool quiet(struct tt_prover *p, struct tt_part *part)
{
    for (int buf = TT_IN; buf < TT_WIN; buf++)
        if (part->memory[buf].n && !tt_prove_quiet(p, part, &part->memory[buf])) return false;
    return true;
}

bool tt_prove_result(struct tt_prover *p, struct tt_part *part)
{
    if (part->plan->opens && !quiet(p, part)) return false;
    int64_t bytes = part->memory[TT_OUT].bytes;
    switch (part->call->coll) {
    case TT_COLL_barrier: return synchronised(p, part);
    case TT_COLL_bcast: return piece(p, part, (struct expected){0, bytes, 0, part->call->root});
    case TT_COLL_scan:
    case TT_COLL_reduce: return piece(p, part, (struct expected){0, bytes, 0, -1});
    case TT_COLL_exscan:
        bytes = tt_call_result_bytes(part->call, p->p, part->rank);
        return piece(p, part, (struct expected){0, bytes, 0, -1});
    case TT_COLL_allreduce:
        return piece(p, part, (struct expected){0, bytes, 0, -1}) && same_bits(p, part);
    case TT_COLL_reduce_scatter_block:
    case TT_COLL_reduce_scatter: return scattered(p, part);
    case TT_COLL_gather: return bytes == 0 || gathered(p, part);
    case TT_COLL_allgather:
    case TT_COLL_allgatherv: return gathered(p, part);
    case TT_COLL_alltoall:
    case TT_COLL_alltoallv:
    case TT_COLL_gatherv:
    case TT_COLL_scatterv: return exchanged(p, part);
    case TT_COLL_scatter: return scattered_pieces(p, part);
    case TT_COLLS: break;
    }
    return true;
}
