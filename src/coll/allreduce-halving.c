/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `halving`: pipelined recursive halving and doubling. In step k partners i and i ^ 2^k
 * each keep one half of what they have, reduce it, and give the other half. Then, in the allgather
 * phase, each rank collects the finished blocks from the same partners in reverse order. Slices
 * travel while the slices before them are reduced; this overlap goes on across steps and into the
 * allgather phase. halving.h explains the places of ranks, and the pairs and their `rep` if p is
 * not a power of two.
 *
 *     p = 4; two # are one block:
 *     step 0   0<>1  2<>3    [########]  each rank reduces two of the four blocks
 *     step 1   0<>2  1<>3    [####]      each rank reduces one of these two
 *     gather   0<>2  1<>3    [####]      each rank has two finished blocks
 *              0<>1  2<>3    [########]  each rank has all four
 *
 * L is the length of the vector in bytes. A rank reduces (p-1)/p L bytes, and sends and receives 4
 * (p-1)/p L bytes in all, if p is a power of two. Otherwise it reduces up to L/2 more, and moves up
 * to 2 L more (halving.h). Runs of adjacent ranks are combined, the lower one first, so any
 * operation is allowed. With direct access a rank reduces a slice from where it lies in the
 * partner's buffer, and only the allgather phase copies data.
 * Source: CN101206588, corrected; docs/plan.md has the plan of rank 0 of four ranks.
 */
#include "coll/halving.h"

/* Returns the step that has the same partners as round t of the allgather phase. */
static int step_of(const struct tt_halving *h, int t)
{
    return h->m - 1 - t;
}

/* Returns the slices of the whole result, which the rep of a pair sends to the second rank of the
 * pair at the end. */
static struct tt_slices whole(const struct tt_halving *h)
{
    int64_t bytes = tt_call_bytes(h->call);
    return tt_slices(bytes, tt_div_up(bytes, 2 * h->s), h->call->sz);
}

/* ---- Rounds of the allgather phase ---- */

/* Before round t a place has s slices of the vector. first_slices returns how many of them the
 * place had before round t-1 already. It got the others in round t-1, in each turn of that round
 * one slice from each partner: turn_slices returns how many came in one turn. If t is 0, both
 * return 1, because the reduction before the rounds finishes one slice after the other. */
static int first_slices(const struct tt_halving *h, int t)
{
    return t == 0 ? 1 : h->s / (tt_halving_partners(h, step_of(h, t - 1)) + 1);
}

static int turn_slices(const struct tt_halving *h, int t)
{
    return t == 0 ? 1 : tt_halving_partners(h, step_of(h, t - 1));
}

static struct tt_swap swap_of(const struct tt_halving *h, int t)
{
    int k = step_of(h, t);
    struct tt_swap swap = {.step = k, .gathers = true, .n = tt_halving_partners(h, k)};
    for (int g = 0; g < swap.n; g++) {
        int i = tt_halving_partner(h, h->i, k, g), rank = tt_halving_rep(h, i);
        swap.peer[g] = (struct tt_swap_peer){rank, rank, h->i, i};
    }
    return swap;
}

/* ---- By direct access ---- */

static tt_started get(struct tt_builder *b, int from, struct tt_span span)
{
    return tt_get(b, tt_own(TT_OUT, span.off), tt_at(TT_OUT, from, span.off), span.len);
}

/* Signals to the partners of round t that the first j + 1 of the slices that this rank has before
 * the round are ready. */
static void post(struct tt_builder *b, const struct tt_halving *h, int t, int j)
{
    if (t < h->m) tt_halving_post(b, h, step_of(h, t), tt_halving_gathered(h, t, j));
}

/* Starts to get slice j from each partner of round t, once the partner has signalled that the slice
 * is ready. */
static void get_slice(struct tt_builder *b, const struct tt_halving *h, int t, int j,
                      tt_started *got)
{
    struct tt_span list[TT_HALVING_SLICES];
    int k = step_of(h, t), first = first_slices(h, t), turn = turn_slices(h, t);
    bool new = j == 0 || (j >= first && (j - first) % turn == 0);
    for (int g = 0; g < tt_halving_partners(h, k); g++) {
        int i = tt_halving_partner(h, h->i, k, g), from = tt_halving_rep(h, i);
        int posted = j == 0 ? first - 1 : j + turn - 1;
        tt_halving_held(h, i, t, h->s, list);
        if (new) tt_await(b, from, tt_halving_gathered(h, t, posted));
        got[g] = get(b, from, list[j]);
    }
}

/* Reduces this rank's block, slice by slice. The allgather phase begins while the last slice is
 * reduced. */
static void last_step(struct tt_builder *b, const struct tt_halving *h, tt_started *got)
{
    struct tt_span list[TT_HALVING_SLICES];
    tt_halving_list(h, h->i, h->m - 1, h->s, list);
    for (int j = 0; j < h->s; j++) {
        tt_halving_await(b, h, h->m - 1, j);
        if (j == h->s - 1) get_slice(b, h, 0, 0, got);
        tt_halving_reduce(b, h, h->m - 1, list[j], NULL);
        post(b, h, 0, j);
    }
}

/* Appends round t of the allgather phase: gets the partners' slices, and signals when they are
 * ready for the partners of round t+1. The caller has already started to get the first slices of
 * round 0. */
static void allgather_round(struct tt_builder *b, const struct tt_halving *h, int t,
                            tt_started *got)
{
    int partners = tt_halving_partners(h, step_of(h, t)), before = first_slices(h, t + 1);
    post(b, h, t + 1, before - 1); /* what this rank had before this round */
    for (int j = 0; j < h->s; j++) {
        if (t > 0 || j > 0) get_slice(b, h, t, j, got);
        for (int g = 0; g < partners; g++) tt_wait(b, got[g]);
        int turns = (j + 1) / (partners + 1);
        if ((j + 1) % (partners + 1) == 0) post(b, h, t + 1, before + turns * partners - 1);
    }
}

/* Appends the steps by which the second rank of a pair gets the whole result from the rep. */
static void hand_over(struct tt_builder *b, const struct tt_halving *h)
{
    struct tt_slices s = whole(h);
    if (h->mate < 0) return;
    if (h->rep) {
        tt_signal(b, h->mate, tt_halving_gathered(h, h->m, 0));
        return;
    }
    tt_await(b, h->mate, tt_halving_gathered(h, h->m, 0));
    tt_slices_begin(b, &s);
    tt_started got = tt_get(b, tt_slice(b, &s, tt_own(TT_OUT, 0)),
                            tt_slice(b, &s, tt_at(TT_OUT, h->mate, 0)), s.len);
    if (s.tail != s.len) tt_tail(b, s.tail);
    tt_wait(b, got);
    tt_slices_end(b, &s);
}

static void build_direct(struct tt_builder *b, const struct tt_halving *h)
{
    tt_halving_first_steps(b, h);
    if (h->rep) {
        tt_started got[TT_HALVING_RADIX];
        last_step(b, h, got);
        for (int t = 0; t < h->m; t++) allgather_round(b, h, t, got);
    }
    hand_over(b, h);
    tt_halving_close(b, h);
}

/* ---- By messages ---- */

static void send_over(struct tt_builder *b, const struct tt_halving *h)
{
    struct tt_slices s = whole(h);
    if (h->mate < 0) return;
    struct tt_range out = tt_slice(b, &s, tt_own(TT_OUT, 0));
    tt_slices_begin(b, &s);
    tt_started moved = h->rep ? tt_send(b, h->mate, out, s.len) : tt_recv(b, h->mate, out, s.len);
    if (s.tail != s.len) tt_tail(b, s.tail);
    tt_wait(b, moved);
    tt_slices_end(b, &s);
}

static void build_messages(struct tt_builder *b, const struct tt_halving *h)
{
    struct tt_flow flow = tt_halving_flow(b, h);
    for (int t = 0; t < h->m && h->rep; t++) {
        struct tt_swap swap = swap_of(h, t);
        tt_flow_swap(&flow, &swap);
    }
    tt_flow_end(&flow);
    send_over(b, h);
}

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    struct tt_halving h = tt_halving(call, map, 0);
    return tt_halving_is_direct(map) ? -1 : tt_halving_time_ps(&h, c, h.m, c->tw_both);
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

const struct tt_algorithm tt_allreduce_halving = {
    .coll = TT_COLL_allreduce,
    .name = "halving",
    .applies = "always",
    .cost = "2 log2(p) q t_s + (p-1)/p (max(gamma, t_w) + t_w) L",
    .source = "CN101206588, corrected",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
