/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The geometry of recursive halving: pure arithmetic of places, runs and slices.
 */
#include "coll/halving.h"

/* ---- Places ---- */

static int slices(const struct tt_call *call)
{
    int s = 2;
    while (call->slice > 0 && s < TT_HALVING_SLICES && tt_call_bytes(call) / 2 > s * call->slice)
        s *= 2;
    return s;
}

struct tt_halving tt_halving(const struct tt_call *call, const struct tt_map *map, int me)
{
    struct tt_halving h = {.call = call, .p = map->p, .me = me, .q = tt_pow2_below(map->p)};
    h.m = tt_log2_up(h.q);
    h.pairs = h.p - h.q;
    h.s = slices(call);
    h.i = tt_halving_place(&h, me);
    h.rep = tt_halving_rep(&h, h.i) == me;
    h.mate = h.rep ? tt_halving_other(&h, h.i) : tt_halving_rep(&h, h.i);
    h.reduces = call->coll == TT_COLL_reduce;
    return h;
}

int tt_halving_place(const struct tt_halving *h, int rank)
{
    return rank < 2 * h->pairs ? rank / 2 : rank - h->pairs;
}

/* The even rank of a pair reduces the first half, which even places keep. */
int tt_halving_rep(const struct tt_halving *h, int i)
{
    return i < h->pairs ? 2 * i + i % 2 : i + h->pairs;
}

int tt_halving_other(const struct tt_halving *h, int i)
{
    return i < h->pairs ? 2 * i + (i + 1) % 2 : -1;
}

int tt_halving_giver(const struct tt_halving *h, int i, int k)
{
    return k == 0 && i < h->pairs ? tt_halving_other(h, i) : tt_halving_rep(h, i);
}

/* ---- Runs and slices ---- */

struct tt_run tt_halving_kept(const struct tt_halving *h, int i, int k)
{
    struct tt_run run = {0, h->q};
    for (int j = 0; j <= k; j++) {
        run.n >>= 1;
        run.at += run.n & -(i >> j & 1);
    }
    return run;
}

/* Where part i of n elements cut in 2^l parts begins: 2^(l+1) parts cut each of these in two. */
static int64_t begin(int64_t n, int64_t i, int l)
{
    return (n >> l) * i + ((n & (((int64_t)1 << l) - 1)) * i >> l);
}

/* In elements. */
static struct tt_span elements(const struct tt_halving *h, struct tt_run run)
{
    int64_t from = begin(h->call->n, run.at, h->m);
    return (struct tt_span){from, begin(h->call->n, run.at + run.n, h->m) - from};
}

struct tt_span tt_halving_span(const struct tt_halving *h, struct tt_run run)
{
    struct tt_span span = elements(h, run);
    return (struct tt_span){span.off * h->call->sz, span.len * h->call->sz};
}

void tt_halving_cut(const struct tt_halving *h, struct tt_run run, int n, struct tt_span *list)
{
    struct tt_span all = elements(h, run);
    int64_t sz = h->call->sz, from = 0;
    int l = __builtin_ctz((unsigned)n);
    for (int j = 0; j < n; j++) {
        int64_t to = begin(all.len, j + 1, l);
        list[j] = (struct tt_span){(all.off + from) * sz, (to - from) * sz};
        from = to;
    }
}

/* What is given in step `k` first. */
static void order(const struct tt_halving *h, int i, int k, struct tt_run run, int n,
                  struct tt_span *list)
{
    if (n == 1 || run.n == 1) {
        tt_halving_cut(h, run, n, list);
        return;
    }
    int half = run.n >> 1, keeps = i >> k & 1;
    order(h, i, k + 1, (struct tt_run){run.at + (keeps ? 0 : half), half}, n / 2, list);
    order(h, i, k + 1, (struct tt_run){run.at + (keeps ? half : 0), half}, n / 2, list + n / 2);
}

void tt_halving_list(const struct tt_halving *h, int i, int k, int n, struct tt_span *list)
{
    order(h, i, k + 1, tt_halving_kept(h, i, k), n, list);
}

void tt_halving_held(const struct tt_halving *h, int i, int t, int n, struct tt_span *list)
{
    int k = h->m - 1 - t;
    if (n == 1 || t == 0) {
        tt_halving_cut(h, tt_halving_kept(h, i, k), n, list);
        return;
    }
    tt_halving_held(h, i, t - 1, n / 2, list);
    tt_halving_held(h, i ^ 1 << (k + 1), t - 1, n / 2, list + n / 2);
}

int64_t tt_halving_filled(const struct tt_span *list, int n)
{
    int64_t filled = 0;
    for (int j = 0; j < n; j++) filled += list[j].len > 0;
    return filled;
}

/* ---- Operands ---- */

/* The half of the vector that rank r reduces in. */
static struct tt_span half_of(const struct tt_halving *h, int r)
{
    int i = tt_halving_place(h, r);
    return tt_halving_span(h, tt_halving_kept(h, tt_halving_rep(h, i) == r ? i : i ^ 1, 0));
}

struct tt_range tt_halving_acc(const struct tt_halving *h, int r, int64_t off)
{
    if (!h->reduces || r == h->call->root) return tt_at(TT_OUT, r, off);
    return tt_at(TT_TMP, r, off - half_of(h, r).off);
}

void tt_halving_room(struct tt_builder *b, const struct tt_halving *h)
{
    if (h->reduces && h->me != h->call->root) tt_scratch(b, half_of(h, h->me).len);
}

/* What place i brings into step k. */
static struct tt_range brings(const struct tt_halving *h, int r, int i, int k, int64_t off)
{
    bool as_given = k == TT_HALVING_PAIR || (k == 0 && i >= h->pairs);
    return as_given ? tt_at(TT_IN, r, off) : tt_halving_acc(h, r, off);
}

void tt_halving_reduce(struct tt_builder *b, const struct tt_halving *h, int k, struct tt_span span,
                       const struct tt_range *theirs)
{
    bool pair = k == TT_HALVING_PAIR;
    int partner = pair ? h->i : h->i ^ 1 << k;
    int from = pair ? h->mate : tt_halving_giver(h, partner, k);
    bool lower = pair ? h->me < h->mate : h->i < partner;
    struct tt_range mine = brings(h, h->me, h->i, k, span.off);
    struct tt_range far = theirs ? *theirs : brings(h, from, partner, k, span.off);
    tt_combine(b, tt_halving_acc(h, h->me, span.off),
               (struct tt_range[]){lower ? mine : far, lower ? far : mine}, 2, span.len);
}
