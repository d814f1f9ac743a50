/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gather `binomial`: the gather phase of reduce `halving` on its own. Pieces go to the root along a
 * binomial tree, and each rank passes on all it has.
 *
 *     1>0  3>2  5>4  7>6      the number i stands for rank i ^ root
 *     2>0       6>4
 *     4>0
 *
 * With radix k, several lines of the picture are one round, in which a rank receives from k - 1
 * others. The root receives log2 p messages, each of which is a run of pieces as it lies in the
 * result. A rank that has only its own piece sends it from where it lies; the others collect pieces
 * in scratch. If p is not a power of two, the pairs of halving.h first put their two pieces
 * together.
 * Source: the gather phase of CN101206588, corrected.
 */
#include "coll/halving.h"

/* The part that one rank takes in the gather. */
struct part {
    bool stands; /* represents its place (halving.h): it receives the other piece of a pair */
    struct tt_swap swap[TT_HALVING_SWAPS];
    int swaps;
    bool passes; /* passes pieces of other ranks on, and is not the root */
};

static struct part part(const struct tt_halving *h)
{
    struct part a = {.stands = h->me == h->root || (h->rep && h->mate != h->root)};
    a.swaps = a.stands ? tt_halving_gather(h, a.swap) : 0;
    a.passes = a.stands && h->me != h->root && (h->mate >= 0 || a.swaps > 1);
    return a;
}

/* ---- Plans ---- */

/* Copies this rank's piece to the buffer in which the rank collects pieces; a rank that has only
 * its own piece leaves it in IN. Returns where in this buffer byte 0 of the whole result would be;
 * that may be before the buffer's beginning. */
static struct tt_range begin(struct tt_builder *b, const struct tt_halving *h, const struct part *a)
{
    struct tt_span mine = tt_halving_block(h, h->me);
    if (h->me == h->root) {
        tt_copy_in(b, h->call, mine.off, 0, mine.len);
        return tt_own(TT_OUT, 0);
    }
    if (!a->passes) return tt_own(TT_IN, -mine.off);
    struct tt_halving_run run = tt_halving_kept(h, h->i, a->swap[a->swaps - 1].step);
    struct tt_span all = tt_halving_span(h, run);
    struct tt_range at = tt_scratch(b, all.len), to = at;
    to.off += mine.off - all.off;
    tt_copy(b, to, tt_own(TT_IN, 0), mine.len);
    at.off -= all.off;
    return at;
}

/* Returns the time if p is a power of two and the radix is 2, else -1. In round t, 2^t pieces reach
 * the root. They are cut into h.s slices (halving.h), or into fewer if they have fewer elements,
 * and each slice is a message. The ranks that pass pieces on copy their own piece meanwhile. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    struct tt_halving h = tt_halving(call, map, call->root);
    int64_t bytes = tt_call_bytes(call), ends = 0;
    if (h.w > 1 || h.pairs > 0) return -1;
    for (int t = 0; t < h.m; t++) {
        ends += tt_min(h.s, call->n << t) * c->ts + c->tw * (bytes << t);
        if (t == 0 && (h.m > 1 || !call->in_place)) ends = tt_max(ends, c->tr * bytes);
    }
    return ends;
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_halving h = tt_halving(call, map, me);
    struct part a = part(&h);
    struct tt_span list[TT_HALVING_SLICES];
    struct tt_flow flow = tt_flow_at(b, &h, begin(b, &h, &a));
    if (h.mate >= 0) {
        tt_halving_block_cut(&h, a.stands ? h.mate : me, h.s, list);
        tt_flow_exchange(&flow, a.stands ? -1 : h.mate, list, a.stands ? h.mate : -1, list);
    }
    for (int i = 0; i < a.swaps; i++) tt_flow_swap(&flow, &a.swap[i]);
    tt_flow_end(&flow);
}

const struct tt_algorithm tt_gather_binomial = {
    .coll = TT_COLL_gather,
    .name = "binomial",
    .applies = "always",
    .cost = "log2(p) q t_s + (p-1) t_w L",
    .source = "the gather phase of CN101206588, corrected",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
