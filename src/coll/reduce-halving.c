/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `halving`: pipelined recursive halving and a gather. It begins with the reduce-scatter
 * phase of allreduce `halving`, after which every place has one block of the result. Then the
 * blocks go to the root. halving.h explains the places of ranks, and the pairs and their `rep` if p
 * is not a power of two.
 *
 *     p = 4; two # are one block:
 *     step 0   0<>1  2<>3    [########]  each rank reduces two of the four blocks
 *     step 1   0<>2  1<>3    [####]      each rank reduces one of these two
 *     gather   2>0   3>1     [####]      i stands for place i ^ r (r: the root's place)
 *              1>0           [########]  the root has all four blocks
 *
 * By messages the gather goes along a binomial tree (with radix k a rank receives from k - 1 others
 * at once), and each rank passes on all it has. By direct access each rank puts its block into the
 * root's buffer itself, slice by slice while the next slice is reduced; that is the only copy. L is
 * the length of the vector in bytes. A rank reduces (p-1)/p L bytes, and the root sends and
 * receives 3 (p-1)/p L bytes in all (p a power of two).
 * Source: CN101206588, corrected.
 */
#include "coll/halving.h"

/* ---- The gather by messages ---- */

/* Sets swap[] to the steps of this rank in the gather, in order, and returns their number. The root
 * takes part for its place. If the `rep` of this place is another rank, which took part in the
 * reduce-scatter phase, the rep first sends its block to the root. */
static int moves(const struct tt_halving *h, struct tt_swap *swap)
{
    int root = h->call->root, at = tt_halving_place(h, root), n = 0;
    bool is_root = h->me == root;
    if (!h->rep && !is_root) return 0;
    if (h->i == at && h->mate >= 0 && (h->mate == root || (is_root && !h->rep)))
        swap[n++] = (struct tt_swap){
            .step = h->m - 1,
            .gathers = true,
            .n = 1,
            .peer = {{is_root ? -1 : root, is_root ? h->mate : -1, at, at}},
        };
    if (h->i == at && !is_root) return n;
    return n + tt_halving_gather(h, swap + n);
}

/* ---- Plans ---- */

/* Returns whether the ranks put their blocks of the result into the root's buffer (direct
 * access). */
static bool is_direct(const struct tt_map *map)
{
    return tt_halving_is_direct(map) && map->writes;
}

/* Reduces this rank's block slice by slice. A slice is put while the next one is reduced. */
static void last_step(struct tt_builder *b, const struct tt_halving *h)
{
    struct tt_span list[TT_HALVING_SLICES];
    int root = h->call->root;
    tt_started put = 0;
    tt_halving_list(h, h->i, h->m - 1, h->s, list);
    if (h->me != root) tt_await(b, root, 1);
    for (int j = 0; j < h->s; j++) {
        tt_halving_await(b, h, h->m - 1, j);
        tt_halving_reduce(b, h, h->m - 1, list[j], NULL);
        if (h->me == root) continue;
        if (j > 0) tt_wait(b, put);
        put = tt_put(b, tt_at(TT_OUT, root, list[j].off), tt_halving_acc(h, h->me, list[j].off),
                     list[j].len);
    }
    if (h->me != root) tt_wait(b, put);
}

static void build_messages(struct tt_builder *b, const struct tt_halving *h)
{
    struct tt_swap swap[TT_HALVING_SWAPS];
    struct tt_flow flow = tt_halving_flow(b, h);
    int n = moves(h, swap);
    for (int i = 0; i < n; i++) tt_flow_swap(&flow, &swap[i]);
    tt_flow_end(&flow);
}

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    struct tt_halving h = tt_halving(call, map, 0);
    return is_direct(map) ? -1 : tt_halving_time_ps(&h, c, h.m, c->tw);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_halving h = tt_halving(call, map, me);
    if (!is_direct(map)) {
        build_messages(b, &h);
        return;
    }
    tt_halving_first_steps(b, &h);
    if (h.rep) last_step(b, &h);
    tt_halving_close(b, &h);
}

const struct tt_algorithm tt_reduce_halving = {
    .coll = TT_COLL_reduce,
    .name = "halving",
    .applies = "always",
    .cost = "2 log2(p) q t_s + (p-1)/p (max(gamma, t_w) + t_w) L",
    .source = "CN101206588, corrected",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
