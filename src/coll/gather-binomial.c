/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gather `binomial`: the collection of reduce `halving` on its own. Pieces go to the root along a
 * binomial tree, each rank passing on all it has.
 *
 *     1>0  3>2  5>4  7>6      ranks counted from the root: i ^ root
 *     2>0       6>4
 *     4>0
 *
 * With radix k, what is above are several lines at once: one takes from k - 1. log2 p messages into
 * the root, each a run of pieces as it lies in the result. A rank with nothing but its own sends it
 * from where it is; the others collect in scratch. p no power of two: the pairs of halving.h begin
 * by putting their two pieces together. Source: the collection phase of CN101206588, corrected.
 */
#include "coll/halving.h"

/* What a rank does. */
struct part {
    bool stands; /* for its place: the pair's other piece comes to it */
    struct tt_swap swap[TT_HALVING_SWAPS];
    int swaps;
    bool passes; /* others' pieces on, not being the root */
};

static struct part part(const struct tt_halving *h)
{
    struct part a = {.stands = h->me == h->root || (h->rep && h->mate != h->root)};
    a.swaps = a.stands ? tt_halving_gather(h, a.swap) : 0;
    a.passes = a.stands && h->me != h->root && (h->mate >= 0 || a.swaps > 1);
    return a;
}

/* ---- Costs ---- */

static struct tt_count count_rank(const struct tt_call *call, const struct tt_map *map, int me)
{
    struct tt_halving h = tt_halving(call, map, me);
    struct part a = part(&h);
    struct tt_count c = {0};
    struct tt_span list[TT_HALVING_SLICES];
    bool copies = a.passes || (me == h.root && !call->in_place);
    tt_halving_block_cut(&h, a.stands ? h.mate : me, h.s, list);
    if (h.mate >= 0) tt_flow_count(&c, &h, a.stands ? NULL : list, a.stands ? list : NULL);
    for (int i = 0; i < a.swaps; i++) tt_flow_swap_count(&c, &h, &a.swap[i]);
    c.copied += copies ? tt_call_bytes(call) : 0;
    c.steps += copies;
    return c;
}

/* ---- Plans ---- */

/* Where byte 0 of the result would be, once my piece is at its place there. */
static struct tt_range begin(struct tt_builder *b, const struct tt_halving *h, const struct part *a)
{
    struct tt_span mine = tt_halving_block(h, h->me);
    if (h->me == h->root) {
        tt_copy_in(b, h->call, mine.off, 0, mine.len);
        return tt_own(TT_OUT, 0);
    }
    if (!a->passes) return tt_own(TT_IN, -mine.off);
    struct tt_run run = tt_halving_kept(h, h->i, a->swap[a->swaps - 1].step);
    struct tt_span all = tt_halving_span(h, run);
    struct tt_range at = tt_scratch(b, all.len), to = at;
    to.off += mine.off - all.off;
    tt_copy(b, to, tt_own(TT_IN, 0), mine.len);
    at.off -= all.off;
    return at;
}

/* p a power of two: in round t 2^t pieces come to the root, in s slices if they have as many
 * elements. Those who pass pieces on copy their own meanwhile. */
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
    .source = "the collection of CN101206588, corrected",
    .refuse = tt_refuse_never,
    .count_rank = count_rank,
    .build = build,
    .time = time_ps,
};
