/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce_scatter(_block) `halving`: the reduce-scatter phase of pipelined recursive halving on its
 * own. Its blocks are the blocks of the ranks, however unequal they are.
 *
 *     p = 4; two # are one block:
 *     step 0   0<>2  1<>3    [########]  each rank reduces two of the four blocks
 *     step 1   0<>1  2<>3    [####]      each rank reduces one of these two: its own block
 *
 * Operands that must stay in rank order are combined in the opposite order of steps (0<>1 first).
 * After that place i has the block of place bitreverse(i), and these two places exchange their
 * blocks. If p is not a power of two, some ranks form pairs (halving.h), and the rank of a pair
 * that is not the `rep` gets its block from the rep.
 *
 * If p is a power of two and the blocks are equal, a rank reduces (p-1)/p of the vector, and sends
 * and receives 2 (p-1)/p of it; in rank order it sends and receives up to 2/p more. In place the
 * result is moved to its place only when no rank needs the input any more.
 * Source: CN101206588, corrected.
 */
#include "coll/halving.h"

/* Returns the rank that holds this rank's block when the reduce-scatter phase ends. */
static int holder(const struct tt_halving *h)
{
    return tt_halving_rep(h, tt_halving_holder(h, h->i));
}

/* Returns the rank to which this rank must send a part of the block that it holds when the
 * reduce-scatter phase ends. `side` is 0 for the part that belongs to the rep of a place, and 1 for
 * the part that belongs to the other rank of a pair. Returns -1 if there is no such part, if the
 * part is this rank's own, or if this rank is no rep and so holds no block. */
static int taker(const struct tt_halving *h, int side)
{
    int rank = h->rep ? tt_halving_taker(h, side) : -1;
    return rank == h->me ? -1 : rank;
}

/* Returns the rank that sends this rank its block after the reduce-scatter phase; -1: no other rank
 * does. First the reps of all places get their blocks (side 0), and then the other ranks of the
 * pairs (side 1); so the result is -1 for the value of `side` that is not for this rank. */
static int giver(const struct tt_halving *h, int side)
{
    bool mine = h->rep == (side == 0);
    return mine && holder(h) != h->me ? holder(h) : -1;
}

/* Returns whether this rank has its block after the reduce-scatter phase, but not in its final
 * place. */
static bool must_move(const struct tt_halving *h)
{
    return holder(h) == h->me && !tt_halving_is_home(h);
}

/* ---- Plans ---- */

static void last_step(struct tt_builder *b, const struct tt_halving *h)
{
    struct tt_span list[TT_HALVING_SLICES];
    tt_halving_list(h, h->i, h->m - 1, h->s, list);
    for (int j = 0; j < h->s; j++) {
        tt_halving_await(b, h, h->m - 1, j);
        tt_halving_reduce(b, h, h->m - 1, list[j], NULL);
    }
}

/* Sends the signal "my block is ready" to the ranks that get a part of this rank's block (at most
 * two). */
static void offer(struct tt_builder *b, const struct tt_halving *h)
{
    int32_t rank[2];
    uint32_t n = 0;
    for (int side = 0; side < 2; side++)
        if (taker(h, side) >= 0) rank[n++] = taker(h, side);
    if (n > 0) tt_signal_set(b, rank, n, tt_halving_gathered(h, 0, 0));
}

static void build_direct(struct tt_builder *b, const struct tt_halving *h)
{
    struct tt_span mine = tt_halving_block(h, h->me);
    struct tt_range out = tt_own(TT_OUT, 0), at = tt_halving_acc(h, holder(h), mine.off);
    bool comes = holder(h) != h->me, in_place = h->call->in_place;
    tt_halving_first_steps(b, h);
    if (h->rep) last_step(b, h);
    offer(b, h);
    if (comes) {
        struct tt_range to = in_place ? tt_scratch(b, mine.len) : out;
        tt_await(b, holder(h), tt_halving_gathered(h, 0, 0));
        tt_copy(b, to, at, mine.len);
        at = to;
    }
    tt_halving_close(b, h);
    if (must_move(h) || (comes && in_place)) tt_copy(b, out, at, mine.len);
}

static void build_messages(struct tt_builder *b, const struct tt_halving *h)
{
    struct tt_span out[TT_HALVING_SLICES], in[TT_HALVING_SLICES];
    struct tt_span mine = tt_halving_block(h, h->me);
    struct tt_flow flow = tt_halving_flow(b, h);
    flow.to = tt_own(TT_OUT, -mine.off);
    tt_halving_block_cut(h, h->me, h->s, in);
    /* The turn that moves the block sends its first slice before it reduces the slice that came in
     * last. That is right for a whole block, whose first slice was reduced long ago. In the block
     * of a pair, the slice that is sent first may be the one that is still to be reduced; so an
     * empty turn reduces it before. */
    if (taker(h, 1) >= 0) tt_flow_turn(&flow, &(struct tt_turn){.step = TT_HALVING_STRAIGHT});
    for (int side = 0; side < 2; side++) {
        int to = taker(h, side), from = giver(h, side);
        if (to < 0 && from < 0) continue;
        tt_halving_block_cut(h, to >= 0 ? to : h->me, h->s, out);
        tt_flow_exchange(&flow, to, out, from, in);
    }
    tt_flow_end(&flow);
    if (must_move(h)) tt_copy(b, tt_own(TT_OUT, 0), tt_halving_acc(h, h->me, mine.off), mine.len);
}

/* Returns the time of the reduce-scatter phase; -1 if operands must stay in rank order, because
 * blocks are then exchanged at the end, which the formula does not cover. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    struct tt_halving h = tt_halving(call, map, 0);
    if (tt_halving_is_direct(map) || !call->commutes) return -1;
    int64_t time = tt_halving_time_ps(&h, c, 0, 0);
    return time < 0 ? -1 : time + (must_move(&h) ? c->tr * tt_call_bytes(call) : 0);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_halving h = tt_halving(call, map, me);
    if (tt_halving_is_direct(map))
        build_direct(b, &h);
    else
        build_messages(b, &h);
}

const struct tt_algorithm tt_reduce_scatter_block_halving = {
    .coll = TT_COLL_reduce_scatter_block,
    .name = "halving",
    .applies = "always",
    .cost = "log2(p) q t_s + (p-1) max(gamma, t_w) L",
    .source = "the reduce-scatter phase of CN101206588, corrected",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};

const struct tt_algorithm tt_reduce_scatter_halving = {
    .coll = TT_COLL_reduce_scatter,
    .name = "halving",
    .applies = "always",
    .cost = "log2(p) q t_s + max(gamma, t_w) (L_0 + ... + L_(p-1))",
    .source = "the reduce-scatter phase of CN101206588, corrected",
    .refuse = tt_refuse_never,
    .build = build,
};
