/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The distribution of recursive halving by direct access: a slice is posted by a signal, and the
 * partner reduces from it where it lies. In step k the slices to be given in step k+1 are reduced
 * and posted first; the partner reduces from them while the kept part is reduced here.
 */
#include "coll/halving.h"

bool tt_halving_is_direct(const struct tt_map *map)
{
    return map->direct && tt_map_one_node(map);
}

/* Whether the data that place i gives in step k is there from the beginning: its input. */
static bool is_there(const struct tt_halving *h, int i, int k)
{
    return k == 0 && !tt_halving_paired(h, i);
}

void tt_halving_await(struct tt_builder *b, const struct tt_halving *h, int k, int slice)
{
    int partner = h->i ^ 1 << k;
    if (!is_there(h, partner, k))
        tt_await(b, tt_halving_giver(h, partner, k), tt_halving_value(h, k, slice));
}

static int partner_rep(const struct tt_halving *h, int k)
{
    return tt_halving_rep(h, h->i ^ 1 << k);
}

/* Everyone's input is open to whom it concerns; in a reduce, the root's output to all. */
static void begin(struct tt_builder *b, const struct tt_halving *h)
{
    bool root = h->me == h->root;
    tt_open(b, 1u << TT_IN | 1u << (h->reduces && !root ? TT_TMP : TT_OUT));
    tt_signal(b, root ? TT_ALL : h->mate >= 0 ? h->mate : partner_rep(h, 0), 1);
    if (h->mate >= 0) tt_await(b, h->mate, 1);
    if (h->rep && is_there(h, h->i ^ 1, 0)) tt_await(b, partner_rep(h, 0), 1);
}

/* A pair's two inputs: the rep reduces what the place keeps in step 0, the other what it gives. */
static void pair_up(struct tt_builder *b, const struct tt_halving *h)
{
    struct tt_span list[TT_HALVING_SLICES];
    tt_halving_list(h, h->rep ? h->i : h->i ^ 1, 0, h->s, list);
    for (int j = 0; j < h->s; j++) {
        tt_halving_reduce(b, h, TT_HALVING_PAIR, list[j], NULL);
        if (!h->rep) tt_signal(b, partner_rep(h, 0), tt_halving_value(h, 0, j));
    }
}

/* Any step but the last. The partner's slices come in the order of the list of this step; those of
 * the part that is given next are half as long as those. */
static void step(struct tt_builder *b, const struct tt_halving *h, int k)
{
    struct tt_span give[TT_HALVING_SLICES], list[TT_HALVING_SLICES];
    tt_halving_list(h, h->i ^ 1 << (k + 1), k + 1, h->s, give);
    tt_halving_list(h, h->i, k, h->s, list);
    for (int j = 0; j < h->s; j++) {
        if (j % 2 == 0) tt_halving_await(b, h, k, j / 2);
        tt_halving_reduce(b, h, k, give[j], NULL);
        tt_signal(b, partner_rep(h, k + 1), tt_halving_value(h, k + 1, j));
    }
    for (int j = h->s / 2; j < h->s; j++) {
        tt_halving_await(b, h, k, j);
        tt_halving_reduce(b, h, k, list[j], NULL);
    }
}

void tt_halving_distribute(struct tt_builder *b, const struct tt_halving *h)
{
    tt_halving_room(b, h);
    begin(b, h);
    if (h->mate >= 0) pair_up(b, h);
    for (int k = 0; k < h->m - 1 && h->rep; k++) step(b, h, k);
}

/* ---- The end ---- */

/* Ranks, each once. */
struct set {
    int32_t rank[64];
    uint32_t n;
};

static bool has(const struct set *set, int rank)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (set->rank[i] == rank) return true;
    return false;
}

static void add(struct set *set, int me, int rank)
{
    if (rank >= 0 && rank != me && !has(set, rank)) set->rank[set->n++] = rank;
}

/* Whose buffers I touch, and who touches mine; but not the reps that put into the root's. */
static void touched(const struct tt_halving *h, struct set *mine, struct set *others)
{
    add(mine, h->me, h->mate);
    add(others, h->me, h->mate);
    if (!h->rep) add(others, h->me, partner_rep(h, 0));
    for (int k = 0; k < h->m && h->rep; k++) {
        int partner = h->i ^ 1 << k;
        add(mine, h->me, tt_halving_giver(h, partner, k));
        if (k > 0 || !h->reduces) add(mine, h->me, tt_halving_rep(h, partner));
        if (k > 0 || !h->reduces || h->mate < 0) add(others, h->me, tt_halving_rep(h, partner));
    }
    if (h->rep) add(mine, h->me, h->root);
    for (int side = 0; side < 2 && tt_call_scatters(h->call); side++) {
        add(mine, h->me, tt_halving_rep(h, tt_halving_holder(h, h->i)));
        if (h->rep) add(others, h->me, tt_halving_taker(h, side));
    }
}

/* The rep of place i, if it put into my output (I am the root) and was not awaited with the others. */
static int late(const struct tt_halving *h, const struct set *others, int i)
{
    int rep = tt_halving_rep(h, i);
    bool put = h->me == h->root && rep != h->me;
    return put && !has(others, rep) ? rep : -1;
}

void tt_halving_close(struct tt_builder *b, const struct tt_halving *h)
{
    struct set mine = {.n = 0}, others = {.n = 0};
    uint32_t value = tt_halving_value(h, 2 * h->m, 1);
    touched(h, &mine, &others);
    tt_signal_set(b, mine.rank, mine.n, value);
    for (uint32_t i = 0; i < others.n; i++) tt_await(b, others.rank[i], value);
    for (int i = 0; i < h->q; i++)
        if (late(h, &others, i) >= 0) tt_await(b, late(h, &others, i), value);
}

/* ---- Costs ---- */

static int64_t kept_bytes(const struct tt_halving *h, int i, int k)
{
    return tt_halving_span(h, tt_halving_kept(h, i, k)).len;
}

static void count_reduces(struct tt_count *c, int64_t bytes, int64_t slices)
{
    c->received += bytes;
    c->reduced += bytes;
    c->messages += slices;
    c->steps += slices;
}

/* Reduces of a step: those that are given on are cut finer. */
static int64_t step_slices(const struct tt_halving *h, int k)
{
    struct tt_span list[TT_HALVING_SLICES];
    tt_halving_list(h, h->i, k, h->s, list);
    if (k == h->m - 1) return tt_halving_filled(list, h->s);
    int64_t kept = tt_halving_filled(list + h->s / 2, h->s / 2);
    tt_halving_list(h, h->i ^ 1 << (k + 1), k + 1, h->s, list);
    return kept + tt_halving_filled(list, h->s);
}

static void count_pair(const struct tt_halving *h, struct tt_count *c)
{
    struct tt_span list[TT_HALVING_SLICES];
    int i = h->rep ? h->i : h->i ^ 1;
    tt_halving_list(h, i, 0, h->s, list);
    count_reduces(c, kept_bytes(h, i, 0), tt_halving_filled(list, h->s));
    c->sent += kept_bytes(h, i ^ 1, 0); /* read by the mate */
}

struct tt_count tt_halving_direct_count(const struct tt_halving *h)
{
    struct set mine = {.n = 0}, others = {.n = 0};
    touched(h, &mine, &others);
    struct tt_count c = {.steps = 1 + (mine.n > 0) + others.n};
    for (int i = 0; i < h->q; i++) c.steps += late(h, &others, i) >= 0;
    c.steps += (h->mate >= 0) + (h->rep && is_there(h, h->i ^ 1, 0)); /* the first awaits */
    if (h->mate >= 0) count_pair(h, &c);
    if (!h->rep) {
        c.sent += kept_bytes(h, h->i ^ 1, 0); /* read by the partner of step 0 */
        c.steps += h->s;
    }
    for (int k = 0; k < h->m && h->rep; k++) {
        count_reduces(&c, kept_bytes(h, h->i, k), step_slices(h, k));
        if (k > 0 || h->mate < 0) c.sent += kept_bytes(h, h->i ^ 1 << k, k);
        if (!is_there(h, h->i ^ 1 << k, k)) c.steps += h->s;
        if (k < h->m - 1) c.steps += h->s;
    }
    return c;
}
