/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The distribution of recursive halving by direct access: a slice is posted by a signal, and the
 * partner reduces from it where it lies. In step k the slices to be given in step k+1 are reduced
 * and posted first, to one partner after the other; these reduce from them while the kept part is
 * reduced here.
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

/* Whether I am the one who supplies the g-th part that my place gives in step k. */
static bool gives(const struct tt_halving *h, int k, int g)
{
    return tt_halving_giver(h, h->i, tt_halving_partner(h, h->i, k, g), k) == h->me;
}

void tt_halving_await(struct tt_builder *b, const struct tt_halving *h, int k, int slice)
{
    for (int g = 0; g < tt_halving_partners(h, k); g++) {
        int i = tt_halving_partner(h, h->i, k, g);
        if (!is_there(h, i, k))
            tt_await(b, tt_halving_giver(h, i, h->i, k), tt_halving_given(h, k, g, slice));
    }
}

static int partner_rep(const struct tt_halving *h, int k, int g)
{
    return tt_halving_rep(h, tt_halving_partner(h, h->i, k, g));
}

void tt_halving_post(struct tt_builder *b, const struct tt_halving *h, int k, uint32_t value)
{
    int32_t rank[TT_HALVING_RADIX];
    int n = tt_halving_partners(h, k);
    for (int g = 0; g < n; g++) rank[g] = partner_rep(h, k, g);
    if (n == 1)
        tt_signal(b, rank[0], value);
    else
        tt_signal_set(b, rank, (uint32_t)n, value);
}

/* Everyone's input is open to whom it concerns; in a reduce, the root's output to all. */
static void begin(struct tt_builder *b, const struct tt_halving *h)
{
    bool root = h->me == h->root;
    tt_open(b, 1u << TT_IN | 1u << (h->reduces && !root ? TT_TMP : TT_OUT));
    if (root || h->mate >= 0)
        tt_signal(b, root ? TT_ALL : h->mate, 1);
    else
        tt_halving_post(b, h, 0, 1);
    if (h->mate >= 0) tt_await(b, h->mate, 1);
    for (int g = 0; g < tt_halving_partners(h, 0) && h->rep; g++)
        if (is_there(h, tt_halving_partner(h, h->i, 0, g), 0)) tt_await(b, partner_rep(h, 0, g), 1);
}

/* Reduces the g-th part that is given in step k+1, and posts it. What comes in step k comes in the
 * order of that step's list, of which a slice is cut into as many as that list has parts. */
static void give(struct tt_builder *b, const struct tt_halving *h, int k, int g)
{
    struct tt_span list[TT_HALVING_SLICES];
    int parts = tt_halving_partners(h, k + 1) + 1, i = tt_halving_partner(h, h->i, k + 1, g);
    tt_halving_list(h, i, k + 1, h->s, list);
    for (int j = 0; j < h->s; j++) {
        if (k != TT_HALVING_PAIR && j % parts == 0)
            tt_halving_await(b, h, k, (g * h->s + j) / parts);
        tt_halving_reduce(b, h, k, list[j], NULL);
        tt_signal(b, tt_halving_rep(h, i), tt_halving_given(h, k + 1, g, j));
    }
}

/* A pair's two inputs: each reduces what it gives in step 0, the rep then what the place keeps. */
static void pair_up(struct tt_builder *b, const struct tt_halving *h)
{
    struct tt_span list[TT_HALVING_SLICES];
    for (int g = 0; g < tt_halving_partners(h, 0); g++)
        if (gives(h, 0, g)) give(b, h, TT_HALVING_PAIR, g);
    tt_halving_list(h, h->i, 0, h->s, list);
    for (int j = 0; j < h->s && h->rep; j++)
        tt_halving_reduce(b, h, TT_HALVING_PAIR, list[j], NULL);
}

/* Any step but the last: the parts that are given next, then the one that is kept. */
static void step(struct tt_builder *b, const struct tt_halving *h, int k)
{
    struct tt_span list[TT_HALVING_SLICES];
    int given = tt_halving_partners(h, k + 1);
    tt_halving_list(h, h->i, k, h->s, list);
    for (int g = 0; g < given; g++) give(b, h, k, g);
    for (int j = given * h->s / (given + 1); j < h->s; j++) {
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
    int32_t rank[256]; /* 16 for each of log16 p steps, twice for the first */
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

/* What touched() says, of the g-th partner of step k. The collection of a reduce touches the root's
 * only. */
static void touched_in(const struct tt_halving *h, int k, int g, struct set *mine,
                       struct set *others)
{
    int i = tt_halving_partner(h, h->i, k, g), rep = tt_halving_rep(h, i);
    bool collects = h->rep && !h->reduces;
    if (h->rep) add(mine, h->me, tt_halving_giver(h, i, h->i, k));
    if (collects) add(mine, h->me, rep);
    if (collects || gives(h, k, g)) add(others, h->me, rep);
}

/* Whose buffers I touch, and who touches mine; but not the reps that put into the root's. */
static void touched(const struct tt_halving *h, struct set *mine, struct set *others)
{
    add(mine, h->me, h->mate);
    add(others, h->me, h->mate);
    for (int k = 0; k < (h->rep ? h->m : 1); k++)
        for (int g = 0; g < tt_halving_partners(h, k); g++) touched_in(h, k, g, mine, others);
    if (h->rep) add(mine, h->me, h->root);
    for (int side = 0; side < 2 && tt_call_scatters(h->call); side++) {
        add(mine, h->me, tt_halving_rep(h, tt_halving_holder(h, h->i)));
        if (h->rep) add(others, h->me, tt_halving_taker(h, side));
    }
}

/* The rep of place i, if it put into my output (I am the root) and was not awaited with the
 * others. */
static int late(const struct tt_halving *h, const struct set *others, int i)
{
    int rep = tt_halving_rep(h, i);
    bool put = h->me == h->root && rep != h->me;
    return put && !has(others, rep) ? rep : -1;
}

void tt_halving_close(struct tt_builder *b, const struct tt_halving *h)
{
    struct set mine = {.n = 0}, others = {.n = 0};
    uint32_t value = tt_halving_collected(h, h->m, 1);
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

static void count_reduces(struct tt_count *c, int64_t bytes, int64_t slices, int partners)
{
    c->received += partners * bytes;
    c->reduced += partners * bytes;
    c->messages += partners * slices;
    c->steps += slices;
}

/* Reduces of parts that are given in step k. */
static int64_t given_slices(const struct tt_halving *h, int k)
{
    struct tt_span list[TT_HALVING_SLICES];
    int64_t filled = 0;
    for (int g = 0; g < tt_halving_partners(h, k); g++) {
        tt_halving_list(h, tt_halving_partner(h, h->i, k, g), k, h->s, list);
        if (gives(h, k, g)) filled += tt_halving_filled(list, h->s);
    }
    return filled;
}

/* Reduces of a step: those that are given on are cut finer. */
static int64_t step_slices(const struct tt_halving *h, int k)
{
    struct tt_span list[TT_HALVING_SLICES];
    tt_halving_list(h, h->i, k, h->s, list);
    if (k == h->m - 1) return tt_halving_filled(list, h->s);
    int kept = h->s / (tt_halving_partners(h, k + 1) + 1);
    return tt_halving_filled(list + h->s - kept, kept) + given_slices(h, k + 1);
}

static void count_pair(const struct tt_halving *h, struct tt_count *c)
{
    struct tt_span list[TT_HALVING_SLICES];
    int i = h->rep ? h->i : h->i ^ 1;
    tt_halving_list(h, h->i, 0, h->s, list);
    int64_t kept = h->rep ? tt_halving_filled(list, h->s) : 0;
    count_reduces(c, kept_bytes(h, i, TT_HALVING_PAIR), given_slices(h, 0) + kept, 1);
    c->sent += kept_bytes(h, i ^ 1, TT_HALVING_PAIR); /* read by the mate */
}

/* What passes between me and the g-th partner of step k, but the reading. */
static void count_partner(const struct tt_halving *h, int k, int g, struct tt_count *c)
{
    int i = tt_halving_partner(h, h->i, k, g);
    if (h->rep) c->steps += is_there(h, i, k) ? 1 : h->s; /* awaits */
    if (!gives(h, k, g)) return;
    c->sent += kept_bytes(h, i, k);              /* read by the partner */
    if (!is_there(h, h->i, k)) c->steps += h->s; /* posts */
}

struct tt_count tt_halving_direct_count(const struct tt_halving *h)
{
    struct set mine = {.n = 0}, others = {.n = 0};
    touched(h, &mine, &others);
    struct tt_count c = {.steps = 1 + (mine.n > 0) + others.n};
    for (int i = 0; i < h->q; i++) c.steps += late(h, &others, i) >= 0;
    c.steps += h->mate >= 0; /* the first await */
    if (h->mate >= 0) count_pair(h, &c);
    for (int k = 0; k < (h->rep ? h->m : 1); k++) {
        int partners = tt_halving_partners(h, k);
        if (h->rep) count_reduces(&c, kept_bytes(h, h->i, k), step_slices(h, k), partners);
        for (int g = 0; g < partners; g++) count_partner(h, k, g, &c);
    }
    return c;
}
