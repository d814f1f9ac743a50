/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The geometry of recursive halving: pure arithmetic of places, runs and slices.
 */
#include "coll/halving.h"

/* ---- Places ---- */

static int slices(const struct tt_halving *h)
{
    int s = 2;
    int64_t slice = h->call->slice, half = tt_halving_span(h, (struct tt_run){0, h->q}).len / 2;
    while (slice > 0 && s < TT_HALVING_SLICES && half > s * slice) s *= 2;
    return s;
}

struct tt_halving tt_halving(const struct tt_call *call, const struct tt_map *map, int me)
{
    struct tt_halving h = {.call = call, .p = map->p, .me = me, .q = tt_pow2_below(map->p)};
    h.m = tt_log2_up(h.q);
    h.pairs = h.p - h.q;
    h.own = tt_call_scatters(call) || call->coll == TT_COLL_gather;
    h.turned = h.own && (call->commutes || call->coll == TT_COLL_gather);
    h.reduces = tt_coll_is_roots(call->coll) || tt_call_scatters(call);
    h.root = tt_coll_is_roots(call->coll) ? call->root : -1;
    h.s = slices(&h);
    h.i = tt_halving_place(&h, me);
    h.rep = tt_halving_rep(&h, h.i) == me;
    h.mate = h.rep ? tt_halving_other(&h, h.i) : tt_halving_rep(&h, h.i);
    return h;
}

static int reversed(const struct tt_halving *h, int i)
{
    int other = 0;
    for (int k = 0; k < h->m; k++) other |= (i >> k & 1) << (h->m - 1 - k);
    return other;
}

/* The place's number in the order of ranks, and back. */
static int in_order(const struct tt_halving *h, int i)
{
    return h->turned ? reversed(h, i) : i;
}

int tt_halving_place(const struct tt_halving *h, int rank)
{
    return in_order(h, rank < 2 * h->pairs ? rank / 2 : rank - h->pairs);
}

bool tt_halving_paired(const struct tt_halving *h, int i)
{
    return in_order(h, i) < h->pairs;
}

/* The even rank of a pair reduces the first half, which even places keep. */
int tt_halving_rep(const struct tt_halving *h, int i)
{
    int at = in_order(h, i);
    return at < h->pairs ? 2 * at + i % 2 : at + h->pairs;
}

int tt_halving_other(const struct tt_halving *h, int i)
{
    return tt_halving_paired(h, i) ? 2 * in_order(h, i) + (i + 1) % 2 : -1;
}

int tt_halving_giver(const struct tt_halving *h, int i, int k)
{
    return k == 0 && tt_halving_paired(h, i) ? tt_halving_other(h, i) : tt_halving_rep(h, i);
}

int tt_halving_holder(const struct tt_halving *h, int i)
{
    return h->turned ? i : reversed(h, i);
}

int tt_halving_taker(const struct tt_halving *h, int side)
{
    int owner = tt_halving_holder(h, h->i);
    return side ? tt_halving_other(h, owner) : tt_halving_rep(h, owner);
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

/* Where a block begins, in elements. */
static int64_t block_begin(const struct tt_halving *h, int block)
{
    if (!h->own) return begin(h->call->n, block, h->m);
    return tt_call_block_at(h->call, block + (int)tt_min(block, h->pairs)) / h->call->sz;
}

static struct tt_span elements(const struct tt_halving *h, struct tt_run run)
{
    int64_t from = block_begin(h, run.at);
    return (struct tt_span){from, block_begin(h, run.at + run.n) - from};
}

struct tt_span tt_halving_span(const struct tt_halving *h, struct tt_run run)
{
    struct tt_span span = elements(h, run);
    return (struct tt_span){span.off * h->call->sz, span.len * h->call->sz};
}

/* Of elements, in n ascending slices of bytes. */
static void cut(struct tt_span all, int64_t sz, int n, struct tt_span *list)
{
    int64_t from = 0;
    int l = __builtin_ctz((unsigned)n);
    for (int j = 0; j < n; j++) {
        int64_t to = begin(all.len, j + 1, l);
        list[j] = (struct tt_span){(all.off + from) * sz, (to - from) * sz};
        from = to;
    }
}

void tt_halving_cut(const struct tt_halving *h, struct tt_run run, int n, struct tt_span *list)
{
    cut(elements(h, run), h->call->sz, n, list);
}

struct tt_span tt_halving_block(const struct tt_halving *h, int rank)
{
    return (struct tt_span){tt_call_block_at(h->call, rank), tt_call_block_bytes(h->call, rank)};
}

void tt_halving_block_cut(const struct tt_halving *h, int rank, int n, struct tt_span *list)
{
    struct tt_span all = tt_halving_block(h, rank);
    int64_t sz = h->call->sz;
    cut((struct tt_span){all.off / sz, all.len / sz}, sz, n, list);
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
    if (!h->reduces || r == h->root) return tt_at(TT_OUT, r, off);
    return tt_at(TT_TMP, r, off - half_of(h, r).off);
}

void tt_halving_room(struct tt_builder *b, const struct tt_halving *h)
{
    if (h->m == 1 && tt_halving_is_home(h)) return; /* it reduces once, from IN to OUT */
    if (h->reduces && h->me != h->root) tt_scratch(b, half_of(h, h->me).len);
}

/* What place i brings into step k. */
static struct tt_range brings(const struct tt_halving *h, int r, int i, int k, int64_t off)
{
    bool as_given = k == TT_HALVING_PAIR || (k == 0 && !tt_halving_paired(h, i));
    return as_given ? tt_at(TT_IN, r, off) : tt_halving_acc(h, r, off);
}

bool tt_halving_is_home(const struct tt_halving *h)
{
    return tt_call_scatters(h->call) && !h->call->in_place && h->mate < 0 &&
           tt_halving_holder(h, h->i) == h->i;
}

static struct tt_range result(const struct tt_halving *h, int k, int64_t off)
{
    if (k != h->m - 1 || !tt_halving_is_home(h)) return tt_halving_acc(h, h->me, off);
    return tt_own(TT_OUT, off - tt_halving_block(h, h->me).off);
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
    tt_combine(b, result(h, k, span.off),
               (struct tt_range[]){lower ? mine : far, lower ? far : mine}, 2, span.len);
}
