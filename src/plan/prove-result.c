/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When a part has ended: whether nobody else can still be at its buffers, and whether what it was
 * to bring about is there.
 */
#include "plan/prove-inside.h"

/* What a piece of OUT must be: rank's input from byte coord on; or (rank -1) all of them,
 * reduced. */
struct expected {
    int64_t off, len, coord;
    int rank;
};

static struct tt_place out_place(struct tt_part *part, int64_t off, int64_t len)
{
    return (struct tt_place){&part->memory[TT_OUT], off, len, len, 0};
}

static bool is_wrong(struct tt_prover *p, struct tt_part *part, int64_t off, struct tt_run run,
                     const struct expected *e)
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
    return tt_prove_fault_at_end(
        p, part, fault, "in the end %s holds %s, not bytes %ld to %ld of rank %d's input", bytes,
        value, (long)run.coord + (long)(e->coord - e->off), (long)(run.coord + run.len), e->rank);
}

static bool has_all(const struct tt_prover *p, uint32_t node)
{
    const uint64_t *set = tt_prove_set(p, node);
    int n = 0;
    for (uint32_t w = 0; w < p->set_words; w++) n += __builtin_popcountll(set[w]);
    return n == p->p;
}

/* A value that is this execution's, of the bytes that belong there. */
static bool reduced(struct tt_prover *p, struct tt_part *part, int64_t off, struct tt_run run,
                    const struct expected *e)
{
    char bytes[80], ranks[120];
    const struct tt_node *node = &p->nodes[run.node];
    if (node->execution != part->execution || node->kind < TT_NODE_INPUT ||
        run.coord != e->coord + off - e->off)
        return is_wrong(p, part, off, run, e);
    if (has_all(p, run.node)) return true;
    return tt_prove_fault_at_end(
        p, part, TT_FAULT_MISSING, "in the end %s lacks the contribution of %s",
        tt_prove_say_bytes(p, bytes, sizeof bytes, &part->memory[TT_OUT], off, run.len),
        tt_prove_say_ranks(ranks, sizeof ranks, tt_prove_set(p, run.node), p->p, true));
}

static bool piece(struct tt_prover *p, struct tt_part *part, struct expected e)
{
    if (e.len == 0) return true;
    struct tt_place place = out_place(part, e.off, e.len);
    uint32_t input = e.rank < 0 ? 0 : tt_prove_part(p, part->execution, e.rank)->input;
    if (!tt_prove_peek(p, &place, &p->result)) return false;
    int64_t off = e.off;
    for (uint32_t i = 0; i < p->result.n; i++) {
        struct tt_run run = p->result.at[i];
        if (e.rank < 0) {
            if (!reduced(p, part, off, run, &e)) return false;
        } else if (run.node != input || run.coord != e.coord + off - e.off)
            return is_wrong(p, part, off, run, &e);
        off += run.len;
    }
    return true;
}

/* Combined in the same order as where it ended first. */
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
        struct tt_run a = p->result.at[i];
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

static bool exchanged(struct tt_prover *p, struct tt_part *part)
{
    const struct tt_call *c = part->call;
    int64_t n = tt_call_bytes(c);
    for (int r = 0; r < p->p; r++) {
        const struct tt_call *from = tt_prove_part(p, part->execution, r)->call;
        struct expected e = {r * n, n, part->rank * n, r};
        if (c->coll == TT_COLL_alltoallv)
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
    case TT_COLL_reduce: return piece(p, part, (struct expected){0, bytes, 0, -1});
    case TT_COLL_allreduce:
        return piece(p, part, (struct expected){0, bytes, 0, -1}) && same_bits(p, part);
    case TT_COLL_reduce_scatter_block:
    case TT_COLL_reduce_scatter: return scattered(p, part);
    case TT_COLL_gather: return bytes == 0 || gathered(p, part);
    case TT_COLL_allgather:
    case TT_COLL_allgatherv: return gathered(p, part);
    case TT_COLL_alltoall:
    case TT_COLL_alltoallv: return exchanged(p, part);
    case TT_COLLS: break;
    }
    return true;
}
