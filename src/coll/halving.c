/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The geometry of recursive halving: pure arithmetic of places, runs and slices.
 */
#include "coll/halving.h"

/* ---- Places ---- */

static int log2_radix(const struct tt_call *call)
{
    return call->radix > 3 ? tt_log2_up(tt_pow2_below((int)tt_min(call->radix, TT_HALVING_RADIX)))
                           : 1;
}

static int slices(const struct tt_halving *h)
{
    int s = 1 << h->w;
    int64_t slice = h->call->slice;
    int64_t kept = tt_halving_span(h, (struct tt_run){0, h->q}).len >> h->w;
    while (slice > 0 && s << h->w <= TT_HALVING_SLICES && kept > s * slice) s <<= h->w;
    return s;
}

struct tt_halving tt_halving(const struct tt_call *call, const struct tt_map *map, int me)
{
    struct tt_halving h = {.call = call, .p = map->p, .me = me, .q = tt_pow2_below(map->p)};
    h.l = tt_log2_up(h.q);
    h.w = (int)tt_max(1, tt_min(log2_radix(call), h.l));
    h.m = (h.l + h.w - 1) / h.w;
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
    for (int k = 0; k < h->l; k++) other |= (i >> k & 1) << (h->l - 1 - k);
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

int tt_halving_giver(const struct tt_halving *h, int i, int to, int k)
{
    bool other_half = k == 0 && tt_halving_paired(h, i) && ((i ^ to) & 1);
    return other_half ? tt_halving_other(h, i) : tt_halving_rep(h, i);
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

/* Halvings before step k. */
static int halvings(const struct tt_halving *h, int k)
{
    return (int)tt_min((int64_t)k * h->w, h->l);
}

/* Halvings after which a place has what it has after step k. */
static int depth(const struct tt_halving *h, int k)
{
    return k == TT_HALVING_PAIR ? 1 : halvings(h, k + 1);
}

int tt_halving_partners(const struct tt_halving *h, int k)
{
    return (1 << (depth(h, k) - halvings(h, k))) - 1;
}

/* What leaves with the first halving of the step is given first: g's bits from the high to the low
 * are those in which the places are the same, from the low to the high. */
int tt_halving_partner(const struct tt_halving *h, int i, int k, int g)
{
    int from = halvings(h, k), n = depth(h, k) - from;
    for (int b = 0; b < n; b++)
        if (!(g >> (n - 1 - b) & 1)) i ^= 1 << (from + b);
    return i;
}

uint32_t tt_halving_given(const struct tt_halving *h, int k, int g, int slice)
{
    int round = k * ((1 << h->w) - 1) + g;
    return (uint32_t)(2 + round * h->s + slice);
}

uint32_t tt_halving_collected(const struct tt_halving *h, int t, int slice)
{
    return tt_halving_given(h, h->m, t, slice);
}

/* ---- Runs and slices ---- */

struct tt_run tt_halving_kept(const struct tt_halving *h, int i, int k)
{
    struct tt_run run = {0, h->q};
    for (int j = 0; j < depth(h, k); j++) {
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
    if (!h->own) return begin(h->call->n, block, h->l);
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

/* What leaves with halving `d` first. */
static void order(const struct tt_halving *h, int i, int d, struct tt_run run, int n,
                  struct tt_span *list)
{
    if (n == 1 || run.n == 1) {
        tt_halving_cut(h, run, n, list);
        return;
    }
    int half = run.n >> 1, keeps = i >> d & 1;
    order(h, i, d + 1, (struct tt_run){run.at + (keeps ? 0 : half), half}, n / 2, list);
    order(h, i, d + 1, (struct tt_run){run.at + (keeps ? half : 0), half}, n / 2, list + n / 2);
}

void tt_halving_list(const struct tt_halving *h, int i, int k, int n, struct tt_span *list)
{
    order(h, i, depth(h, k), tt_halving_kept(h, i, k), n, list);
}

void tt_halving_held(const struct tt_halving *h, int i, int t, int n, struct tt_span *list)
{
    int k = h->m - 1 - t;
    if (n == 1 || t == 0) {
        tt_halving_cut(h, tt_halving_kept(h, i, k), n, list);
        return;
    }
    int partners = tt_halving_partners(h, k + 1), each = n / (partners + 1);
    struct tt_span theirs[TT_HALVING_SLICES];
    tt_halving_held(h, i, t - 1, each, list);
    for (int g = 0; g < partners; g++) {
        tt_halving_held(h, tt_halving_partner(h, i, k + 1, g), t - 1, each, theirs);
        for (int j = 0; j < each; j++) list[each + j * partners + g] = theirs[j];
    }
}

int64_t tt_halving_filled(const struct tt_span *list, int n)
{
    int64_t filled = 0;
    for (int j = 0; j < n; j++) filled += list[j].len > 0;
    return filled;
}

/* ---- Operands ---- */

/* What rank r reduces in: of a pair, its half of the vector. */
static struct tt_span area(const struct tt_halving *h, int r)
{
    int i = tt_halving_place(h, r);
    bool paired = tt_halving_paired(h, i), rep = tt_halving_rep(h, i) == r;
    return tt_halving_span(h, tt_halving_kept(h, rep ? i : i ^ 1, paired ? TT_HALVING_PAIR : 0));
}

struct tt_range tt_halving_acc(const struct tt_halving *h, int r, int64_t off)
{
    if (!h->reduces || r == h->root) return tt_at(TT_OUT, r, off);
    return tt_at(TT_TMP, r, off - area(h, r).off);
}

void tt_halving_room(struct tt_builder *b, const struct tt_halving *h)
{
    if (h->m == 1 && tt_halving_is_home(h)) return; /* it reduces once, from IN to OUT */
    if (h->reduces && h->me != h->root) tt_scratch(b, area(h, h->me).len);
}

/* What place i brings into step k. */
static struct tt_range brings(const struct tt_halving *h, int r, int i, int k, int64_t off)
{
    bool as_given = k == 0 && !tt_halving_paired(h, i);
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

static void reduce_pair(struct tt_builder *b, const struct tt_halving *h, struct tt_span span,
                        const struct tt_range *theirs)
{
    struct tt_range mine = tt_own(TT_IN, span.off);
    struct tt_range far = theirs ? *theirs : tt_at(TT_IN, h->mate, span.off);
    bool lower = h->me < h->mate;
    tt_combine(b, tt_halving_acc(h, h->me, span.off),
               (struct tt_range[]){lower ? mine : far, lower ? far : mine}, 2, span.len);
}

void tt_halving_reduce(struct tt_builder *b, const struct tt_halving *h, int k, struct tt_span span,
                       const struct tt_range *theirs)
{
    if (k == TT_HALVING_PAIR) {
        reduce_pair(b, h, span, theirs);
        return;
    }
    struct tt_range operand[TT_HALVING_RADIX];
    int partners = tt_halving_partners(h, k), from = halvings(h, k);
    operand[h->i >> from & partners] = brings(h, h->me, h->i, k, span.off);
    for (int g = 0; g < partners; g++) {
        int i = tt_halving_partner(h, h->i, k, g), giver = tt_halving_giver(h, i, h->i, k);
        operand[i >> from & partners] = theirs ? theirs[g] : brings(h, giver, i, k, span.off);
    }
    tt_combine(b, result(h, k, span.off), operand, partners + 1, span.len);
}
