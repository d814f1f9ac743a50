/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recursive halving: the arithmetic of places, runs of blocks and slices; the reduce-scatter phase
 * by direct access and by messages; and the formula of its time. halving.h says what a place, a
 * pair and its `rep` are.
 */
#include "coll/halving.h"

static int halving_other(const struct tt_halving *h, int i);

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
    int64_t kept = tt_halving_span(h, (struct tt_halving_run){0, h->q}).len >> h->w;
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
    h.mate = h.rep ? halving_other(&h, h.i) : tt_halving_rep(&h, h.i);
    return h;
}

static int reversed(const struct tt_halving *h, int i)
{
    int other = 0;
    for (int k = 0; k < h->l; k++) other |= (i >> k & 1) << (h->l - 1 - k);
    return other;
}

/* Converts the number i of a place to its position in the order of the ranks. The same conversion
 * leads from the position to the number. */
static int in_order(const struct tt_halving *h, int i)
{
    return h->turned ? reversed(h, i) : i;
}

int tt_halving_place(const struct tt_halving *h, int rank)
{
    return in_order(h, rank < 2 * h->pairs ? rank / 2 : rank - h->pairs);
}

/* Returns whether the place has two ranks. */
static bool halving_paired(const struct tt_halving *h, int i)
{
    return in_order(h, i) < h->pairs;
}

/* The even rank of a pair reduces the first half of the vector. An even place keeps a part of the
 * first half in step 0, so its rep is the even rank; the rep of an odd place is the odd rank. */
int tt_halving_rep(const struct tt_halving *h, int i)
{
    int at = in_order(h, i);
    return at < h->pairs ? 2 * at + i % 2 : at + h->pairs;
}

/* Returns the second rank of place i, which is not the rep; -1: the place has one rank. */
static int halving_other(const struct tt_halving *h, int i)
{
    return halving_paired(h, i) ? 2 * in_order(h, i) + (i + 1) % 2 : -1;
}

/* Returns the rank that sends what place i gives to place `to` in step k. In step 0, if place i is
 * a pair, this is the rank of the pair that has reduced the half of the vector in which these data
 * lie. */
static int halving_giver(const struct tt_halving *h, int i, int to, int k)
{
    bool other_half = k == 0 && halving_paired(h, i) && ((i ^ to) & 1);
    return other_half ? halving_other(h, i) : tt_halving_rep(h, i);
}

int tt_halving_holder(const struct tt_halving *h, int i)
{
    return h->turned ? i : reversed(h, i);
}

int tt_halving_taker(const struct tt_halving *h, int side)
{
    int owner = tt_halving_holder(h, h->i);
    return side ? halving_other(h, owner) : tt_halving_rep(h, owner);
}

/* Returns the number of halvings before step k. */
static int halvings(const struct tt_halving *h, int k)
{
    return (int)tt_min((int64_t)k * h->w, h->l);
}

/* Returns the number of halvings that a place has done after step k. */
static int depth(const struct tt_halving *h, int k)
{
    return k == TT_HALVING_PAIR ? 1 : halvings(h, k + 1);
}

int tt_halving_partners(const struct tt_halving *h, int k)
{
    return (1 << (depth(h, k) - halvings(h, k))) - 1;
}

/* Returns the place that gets the g-th of the parts that place i gives in step k. A step does up to
 * w halvings, each of which divides the places into two halves. Each halving is a bit of g, and the
 * first halving is the highest bit. The bit is 0 if the halving separates place i from the place
 * that gets the part, and 1 if both are in the same half. So the parts for places that the first
 * halving separates from place i are given first. */
int tt_halving_partner(const struct tt_halving *h, int i, int k, int g)
{
    int from = halvings(h, k), n = depth(h, k) - from;
    for (int b = 0; b < n; b++)
        if (!(g >> (n - 1 - b) & 1)) i ^= 1 << (from + b);
    return i;
}

/* Returns the flag value which says that slice `slice`, and all slices before it, of the g-th part
 * given in step k is ready. */
static uint32_t halving_given(const struct tt_halving *h, int k, int g, int slice)
{
    int round = k * ((1 << h->w) - 1) + g;
    return (uint32_t)(2 + round * h->s + slice);
}

uint32_t tt_halving_gathered(const struct tt_halving *h, int t, int slice)
{
    return halving_given(h, h->m, t, slice);
}

/* ---- Runs and slices ---- */

struct tt_halving_run tt_halving_kept(const struct tt_halving *h, int i, int k)
{
    struct tt_halving_run run = {0, h->q};
    for (int j = 0; j < depth(h, k); j++) {
        run.n >>= 1;
        run.at += run.n & -(i >> j & 1);
    }
    return run;
}

/* Returns the element at which part i begins if n elements are cut into 2^l parts. Cutting into
 * 2^(l+1) parts cuts each of these parts in two. */
static int64_t part_begin(int64_t n, int64_t i, int l)
{
    return (n >> l) * i + ((n & (((int64_t)1 << l) - 1)) * i >> l);
}

/* Returns the element at which a block begins. */
static int64_t block_begin(const struct tt_halving *h, int block)
{
    if (!h->own) return part_begin(h->call->n, block, h->l);
    return tt_call_block_at(h->call, block + (int)tt_min(block, h->pairs)) / h->call->sz;
}

static struct tt_span elements(const struct tt_halving *h, struct tt_halving_run run)
{
    int64_t from = block_begin(h, run.at);
    return (struct tt_span){from, block_begin(h, run.at + run.n) - from};
}

struct tt_span tt_halving_span(const struct tt_halving *h, struct tt_halving_run run)
{
    struct tt_span span = elements(h, run);
    return (struct tt_span){span.off * h->call->sz, span.len * h->call->sz};
}

/* Cuts a span of elements into n ascending slices, in bytes. */
static void cut_span(struct tt_span all, int64_t sz, int n, struct tt_span *list)
{
    int64_t from = 0;
    int l = __builtin_ctz((unsigned)n);
    for (int j = 0; j < n; j++) {
        int64_t to = part_begin(all.len, j + 1, l);
        list[j] = (struct tt_span){(all.off + from) * sz, (to - from) * sz};
        from = to;
    }
}

/* Cuts the run into n slices in ascending order; n is a power of two <= 64. */
static void halving_cut(const struct tt_halving *h, struct tt_halving_run run, int n,
                        struct tt_span *list)
{
    cut_span(elements(h, run), h->call->sz, n, list);
}

struct tt_span tt_halving_block(const struct tt_halving *h, int rank)
{
    return (struct tt_span){tt_call_block_at(h->call, rank), tt_call_block_bytes(h->call, rank)};
}

void tt_halving_block_cut(const struct tt_halving *h, int rank, int n, struct tt_span *list)
{
    struct tt_span all = tt_halving_block(h, rank);
    int64_t sz = h->call->sz;
    cut_span((struct tt_span){all.off / sz, all.len / sz}, sz, n, list);
}

/* Lists the n slices of a run of blocks in the order in which place i gives them: first those that
 * it gives in halving `d`, then those of the next halving, and so on. */
static void order(const struct tt_halving *h, int i, int d, struct tt_halving_run run, int n,
                  struct tt_span *list)
{
    if (n == 1 || run.n == 1) {
        halving_cut(h, run, n, list);
        return;
    }
    int half = run.n >> 1, keeps = i >> d & 1;
    order(h, i, d + 1, (struct tt_halving_run){run.at + (keeps ? 0 : half), half}, n / 2, list);
    order(h, i, d + 1, (struct tt_halving_run){run.at + (keeps ? half : 0), half}, n / 2,
          list + n / 2);
}

void tt_halving_list(const struct tt_halving *h, int i, int k, int n, struct tt_span *list)
{
    order(h, i, depth(h, k), tt_halving_kept(h, i, k), n, list);
}

void tt_halving_held(const struct tt_halving *h, int i, int t, int n, struct tt_span *list)
{
    int k = h->m - 1 - t;
    if (n == 1 || t == 0) {
        halving_cut(h, tt_halving_kept(h, i, k), n, list);
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

/* ---- Operands ---- */

/* Returns the span of the vector that contains all that rank r reduces in the reduce-scatter phase:
 * at a rank of a pair, the half that it reduces; at other ranks, what the place keeps in step 0. */
static struct tt_span area(const struct tt_halving *h, int r)
{
    int i = tt_halving_place(h, r);
    bool paired = halving_paired(h, i), rep = tt_halving_rep(h, i) == r;
    return tt_halving_span(h, tt_halving_kept(h, rep ? i : i ^ 1, paired ? TT_HALVING_PAIR : 0));
}

struct tt_range tt_halving_acc(const struct tt_halving *h, int r, int64_t off)
{
    if (!h->reduces || r == h->root) return tt_at(TT_OUT, r, off);
    return tt_at(TT_TMP, r, off - area(h, r).off);
}

/* Takes the scratch in which this rank keeps what it reduces (tt_halving_acc), if OUT has no room
 * for that. This function must be called before any other scratch is taken. */
static void halving_room(struct tt_builder *b, const struct tt_halving *h)
{
    if (h->m == 1 && tt_halving_is_home(h)) return; /* the only step reduces IN to OUT directly */
    if (h->reduces && h->me != h->root) tt_scratch(b, area(h, h->me).len);
}

/* Returns the range at rank r that holds the operand of place i in step k, from byte `off` of the
 * vector on. */
static struct tt_range brings(const struct tt_halving *h, int r, int i, int k, int64_t off)
{
    bool as_given = k == 0 && !halving_paired(h, i);
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
    struct tt_range other = theirs ? *theirs : tt_at(TT_IN, h->mate, span.off);
    bool lower = h->me < h->mate;
    tt_combine(b, tt_halving_acc(h, h->me, span.off),
               (struct tt_range[]){lower ? mine : other, lower ? other : mine}, 2, span.len);
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
        int i = tt_halving_partner(h, h->i, k, g), giver = halving_giver(h, i, h->i, k);
        operand[i >> from & partners] = theirs ? theirs[g] : brings(h, giver, i, k, span.off);
    }
    tt_combine(b, result(h, k, span.off), operand, partners + 1, span.len);
}

/* ---- By direct access ---- */

/* The reduce-scatter phase by direct access. A rank posts a slice with a signal, and the partner
 * reduces from the slice where it lies. In step k a rank first reduces and posts the slices that it
 * gives in step k+1, one partner after the other. The partners reduce from those slices while this
 * rank reduces the part that it keeps. */

bool tt_halving_is_direct(const struct tt_map *map)
{
    return map->reads && tt_map_one_node(map);
}

/* Returns whether the data that place i gives in step k are the input of its rank, so that no
 * reduction has to come before. */
static bool is_there(const struct tt_halving *h, int i, int k)
{
    return k == 0 && !halving_paired(h, i);
}

/* Returns whether this rank sends the g-th part that its place gives in step k. */
static bool gives(const struct tt_halving *h, int k, int g)
{
    return halving_giver(h, h->i, tt_halving_partner(h, h->i, k, g), k) == h->me;
}

void tt_halving_await(struct tt_builder *b, const struct tt_halving *h, int k, int slice)
{
    for (int g = 0; g < tt_halving_partners(h, k); g++) {
        int i = tt_halving_partner(h, h->i, k, g);
        if (!is_there(h, i, k))
            tt_await(b, halving_giver(h, i, h->i, k), halving_given(h, k, g, slice));
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

/* Opens the buffers of this rank, and signals the ranks that will use them. In a reduce, the root
 * signals all ranks, because the representative of each place (`rep`) puts its block into the
 * root's output. */
static void begin_direct(struct tt_builder *b, const struct tt_halving *h)
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

/* Reduces the g-th part that this rank gives in step k+1, slice by slice, and signals each slice
 * when it is ready. The operands are the data of step k, which become ready in s slices, in the
 * order of tt_halving_list. These data are divided into `parts` parts, and each part is cut into s
 * slices, too. So a slice of step k is as long as `parts` slices of a part, and this rank awaits
 * the next slice of step k before each group of `parts` slices. */
static void give(struct tt_builder *b, const struct tt_halving *h, int k, int g)
{
    struct tt_span list[TT_HALVING_SLICES];
    int parts = tt_halving_partners(h, k + 1) + 1, i = tt_halving_partner(h, h->i, k + 1, g);
    tt_halving_list(h, i, k + 1, h->s, list);
    for (int j = 0; j < h->s; j++) {
        if (k != TT_HALVING_PAIR && j % parts == 0)
            tt_halving_await(b, h, k, (g * h->s + j) / parts);
        tt_halving_reduce(b, h, k, list[j], NULL);
        tt_signal(b, tt_halving_rep(h, i), halving_given(h, k + 1, g, j));
    }
}

/* Appends the reduction of the inputs of the two ranks of a pair: each rank reduces what it gives
 * in step 0, and then the rep reduces what the place keeps. */
static void pair_up(struct tt_builder *b, const struct tt_halving *h)
{
    struct tt_span list[TT_HALVING_SLICES];
    for (int g = 0; g < tt_halving_partners(h, 0); g++)
        if (gives(h, 0, g)) give(b, h, TT_HALVING_PAIR, g);
    tt_halving_list(h, h->i, 0, h->s, list);
    for (int j = 0; j < h->s && h->rep; j++)
        tt_halving_reduce(b, h, TT_HALVING_PAIR, list[j], NULL);
}

/* Does step k, which is not the last one: reduces first the parts that this rank gives in the next
 * step, and then the part that it keeps. */
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

void tt_halving_first_steps(struct tt_builder *b, const struct tt_halving *h)
{
    halving_room(b, h);
    begin_direct(b, h);
    if (h->mate >= 0) pair_up(b, h);
    for (int k = 0; k < h->m - 1 && h->rep; k++) step(b, h, k);
}

/* ---- Closing: signals that the buffers are no longer used ---- */

struct set {
    int32_t rank[256]; /* at most 16 ranks for each of log16 p steps, twice that for step 0 */
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

/* For the g-th partner of step k, adds to `mine` the ranks whose buffers this rank uses, and to
 * `others` the ranks that use this rank's buffers. In the gather phase of a reduce, ranks use only
 * the buffers of the root, which touched() and late() handle; so this function adds no rank for
 * that phase. */
static void touched_in(const struct tt_halving *h, int k, int g, struct set *mine,
                       struct set *others)
{
    int i = tt_halving_partner(h, h->i, k, g), rep = tt_halving_rep(h, i);
    bool gathers = h->rep && !h->reduces;
    if (h->rep) add(mine, h->me, halving_giver(h, i, h->i, k));
    if (gathers) add(mine, h->me, rep);
    if (gathers || gives(h, k, g)) add(others, h->me, rep);
}

/* Finds the ranks whose buffers this rank uses (mine), and the ranks that use this rank's buffers
 * (others). The reps that put into the root's OUT are not in `others`; see late(). */
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

/* Returns the rep of place i if the root has to await this rep after it has awaited all ranks of
 * the set `others` (see `touched`): the rep has put its block into the root's OUT, and is not in
 * the set. Returns -1 in all other cases, and if this rank is not the root. */
static int late(const struct tt_halving *h, const struct set *others, int i)
{
    int rep = tt_halving_rep(h, i);
    bool put = h->me == h->root && rep != h->me;
    return put && !has(others, rep) ? rep : -1;
}

void tt_halving_close(struct tt_builder *b, const struct tt_halving *h)
{
    struct set mine = {.n = 0}, others = {.n = 0};
    uint32_t value = tt_halving_gathered(h, h->m, 1);
    touched(h, &mine, &others);
    tt_signal_set(b, mine.rank, mine.n, value);
    for (uint32_t i = 0; i < others.n; i++) tt_await(b, others.rank[i], value);
    for (int i = 0; i < h->q; i++)
        if (late(h, &others, i) >= 0) tt_await(b, late(h, &others, i), value);
}

/* ---- By messages ---- */

/* The reduce-scatter phase by messages. In each turn a rank sends one slice to each partner and
 * receives one slice from each, and meanwhile it reduces the slices of the turn before. The turns
 * follow one another without a break, across steps and into the gather phase. */

/* ---- Turns ---- */

static struct tt_range behind(struct tt_range at, int64_t off)
{
    at.off += off;
    return at;
}

static struct tt_range source(const struct tt_flow *flow, const struct tt_turn *turn, int g)
{
    const struct tt_halving *h = flow->h;
    /* In its first exchange a rank sends its input as it is. Later it sends only what it has
     * reduced. */
    bool input = turn->step == TT_HALVING_PAIR || (turn->step == 0 && h->mate < 0);
    int64_t off = turn->peer[g].out.off;
    return input ? tt_own(TT_IN, off) : behind(flow->from, off);
}

static struct tt_range *rooms(struct tt_flow *flow)
{
    return flow->room[flow->turns % 2];
}

static void begin_turn(struct tt_flow *flow, const struct tt_turn *turn)
{
    flow->turns++;
    flow->now = *turn;
    for (int g = 0; g < turn->n; g++) {
        const struct tt_turn_peer *peer = &turn->peer[g];
        bool straight = turn->step == TT_HALVING_STRAIGHT;
        struct tt_range to = straight ? behind(flow->to, peer->in.off) : rooms(flow)[g];
        if (peer->to >= 0)
            flow->sent[g] = tt_send(flow->b, peer->to, source(flow, turn, g), peer->out.len);
        if (peer->from >= 0) flow->received[g] = tt_recv(flow->b, peer->from, to, peer->in.len);
    }
}

/* Waits for the messages of the turn that was started last. */
static void finish(struct tt_flow *flow)
{
    const struct tt_turn *now = &flow->now;
    for (int g = 0; g < now->n; g++)
        if (now->peer[g].from >= 0) tt_wait(flow->b, flow->received[g]);
    for (int g = 0; g < now->n; g++)
        if (now->peer[g].to >= 0) tt_wait(flow->b, flow->sent[g]);
}

/* Reduces the slice that the turn has received; from[] lists where the slices of the partners lie.
 * In a turn all partners send the same slice of the vector, or none sends any. */
static void reduce(struct tt_flow *flow, const struct tt_turn *turn, const struct tt_range *from)
{
    if (turn->n > 0 && turn->peer[0].from >= 0 && turn->step != TT_HALVING_STRAIGHT)
        tt_halving_reduce(flow->b, flow->h, turn->step, turn->peer[0].in, from);
}

void tt_flow_turn(struct tt_flow *flow, const struct tt_turn *next)
{
    const struct tt_range *from = rooms(flow);
    struct tt_turn done = flow->now;
    finish(flow);
    begin_turn(flow, next);
    reduce(flow, &done, from);
}

void tt_flow_end(struct tt_flow *flow)
{
    finish(flow);
    reduce(flow, &flow->now, rooms(flow));
    flow->now = (struct tt_turn){.n = 0};
}

/* ---- Steps ---- */

static void cut_swap(const struct tt_halving *h, const struct tt_swap *swap, int i,
                     struct tt_span *list)
{
    if (swap->gathers)
        halving_cut(h, tt_halving_kept(h, i, swap->step), h->s, list);
    else
        tt_halving_list(h, i, swap->step, h->s, list);
}

static void set_turns(const struct tt_halving *h, const struct tt_swap *swap, struct tt_turn *turns)
{
    struct tt_span out[TT_HALVING_SLICES], in[TT_HALVING_SLICES];
    int step = swap->gathers ? TT_HALVING_STRAIGHT : swap->step;
    for (int j = 0; j < h->s; j++) turns[j] = (struct tt_turn){.step = step, .n = swap->n};
    for (int g = 0; g < swap->n; g++) {
        const struct tt_swap_peer *peer = &swap->peer[g];
        cut_swap(h, swap, peer->out, out);
        cut_swap(h, swap, peer->in, in);
        for (int j = 0; j < h->s; j++)
            turns[j].peer[g] = (struct tt_turn_peer){peer->to, peer->from, out[j], in[j]};
    }
}

void tt_flow_swap(struct tt_flow *flow, const struct tt_swap *swap)
{
    struct tt_turn turns[TT_HALVING_SLICES];
    set_turns(flow->h, swap, turns);
    for (int j = 0; j < flow->h->s; j++) tt_flow_turn(flow, &turns[j]);
}

/* Returns a turn with one peer, in which nothing is reduced. */
static struct tt_turn turn_of(int to, struct tt_span out, int from, struct tt_span in)
{
    return (struct tt_turn){.step = TT_HALVING_STRAIGHT,
                            .n = 1,
                            .peer = {{.to = to, .from = from, .out = out, .in = in}}};
}

void tt_flow_exchange(struct tt_flow *flow, int to, const struct tt_span *out, int from,
                      const struct tt_span *in)
{
    for (int j = 0; j < flow->h->s; j++) {
        struct tt_turn turn = turn_of(to, out[j], from, in[j]);
        tt_flow_turn(flow, &turn);
    }
}

struct tt_flow tt_flow_at(struct tt_builder *b, const struct tt_halving *h, struct tt_range at)
{
    return (struct tt_flow){.b = b, .h = h, .from = at, .to = at};
}

/* Returns the swap of step k of the reduce-scatter phase. If k is TT_HALVING_PAIR, the swap is that
 * of the two ranks of a pair: each of them reduces one half of the vector, so it sends the other
 * half of its input to its mate. In step 0, each rank of a pair sends only parts of the half that
 * it has reduced. */
static struct tt_swap swap_of(const struct tt_halving *h, int k)
{
    struct tt_swap swap = {.step = k};
    if (k == TT_HALVING_PAIR) {
        int mine = h->rep ? h->i : h->i ^ 1;
        swap.peer[swap.n++] = (struct tt_swap_peer){h->mate, h->mate, mine ^ 1, mine};
        return swap;
    }
    for (int g = 0; g < tt_halving_partners(h, k); g++) {
        int i = tt_halving_partner(h, h->i, k, g);
        bool gives = halving_giver(h, h->i, i, k) == h->me;
        swap.peer[swap.n++] = (struct tt_swap_peer){
            gives ? tt_halving_rep(h, i) : -1, h->rep ? halving_giver(h, i, h->i, k) : -1, i, h->i};
    }
    return swap;
}

/* Returns how many steps of the reduce-scatter phase this rank takes part in. The rank of a pair
 * that is not the rep takes part in step 0 only: it sends the data that its place gives in this
 * step and that this rank has reduced. */
static int steps(const struct tt_halving *h)
{
    return h->rep ? h->m : 1;
}

static int64_t longest_slice(const struct tt_halving *h, int k)
{
    int64_t longest = 0;
    struct tt_span list[TT_HALVING_SLICES];
    tt_halving_list(h, h->rep ? h->i : h->i ^ 1, k, h->s, list);
    for (int j = 0; j < h->s; j++) longest = tt_max(longest, list[j].len);
    return longest;
}

/* Takes scratch for the slices that a turn receives. From step to step slices become half as long,
 * except for a rest of one element. So the longest slice of step 0 (or of the pair) and one element
 * are room enough for all steps. */
static void make_rooms(struct tt_flow *flow)
{
    const struct tt_halving *h = flow->h;
    int n = h->rep ? tt_halving_partners(h, 0) : 1;
    for (int half = 0; half < 2; half++)
        for (int g = 0; g < n; g++) {
            int k = g == 0 && h->mate >= 0 ? TT_HALVING_PAIR : 0;
            flow->room[half][g] = tt_scratch(flow->b, longest_slice(h, k) + h->call->sz);
        }
}

struct tt_flow tt_halving_flow(struct tt_builder *b, const struct tt_halving *h)
{
    struct tt_flow flow = tt_flow_at(b, h, tt_halving_acc(h, h->me, 0));
    halving_room(b, h);
    make_rooms(&flow);
    for (int k = h->mate >= 0 ? TT_HALVING_PAIR : 0; k < steps(h); k++) {
        struct tt_swap swap = swap_of(h, k);
        tt_flow_swap(&flow, &swap);
    }
    return flow;
}

/* ---- The gather of the blocks of all places ---- */

/* Sets the swap of step k of the gather to the root, whose place is `at`. Returns true if this rank
 * has no part in the later steps, because it sends its blocks in this one. */
static bool gather_step(const struct tt_halving *h, int at, int k, struct tt_swap *swap)
{
    int head = h->i;
    *swap = (struct tt_swap){.step = k, .gathers = true};
    for (int g = 0; g < tt_halving_partners(h, k); g++) {
        int i = tt_halving_partner(h, h->i, k, g);
        if ((i ^ at) < (head ^ at)) head = i;
        swap->peer[swap->n++] = (struct tt_swap_peer){-1, tt_halving_rep(h, i), i, i};
    }
    if (head == h->i) return false;
    int to = head == at ? h->root : tt_halving_rep(h, head);
    swap->n = 1;
    swap->peer[0] = (struct tt_swap_peer){to, -1, h->i, h->i};
    return true;
}

int tt_halving_gather(const struct tt_halving *h, struct tt_swap *swap)
{
    int at = tt_halving_place(h, h->root), n = 0;
    bool ends = false;
    for (int k = h->m - 1; k >= 0 && !ends; k--) ends = gather_step(h, at, k, &swap[n++]);
    return n;
}

/* ---- The time by messages ---- */

/* The time of recursive halving of L bytes by messages where all ranks do the same amount of work:
 * p is a power of two, the radix is 2, and all slices are equal. For example, the turns of an
 * allreduce with p = 4 and 2 slices in each step, from left to right; L/4 and L/8 are the bytes of
 * a slice:
 *
 *     step 0   L/4  [send]  [send]
 *                           [reduce][reduce]
 *     step 1   L/8                  [send]  [send]
 *                                           [reduce][reduce]
 *     gather   L/8                                  [send]  [send]
 *              L/4                                                  [send]  [send]
 *
 * A slice that comes in one turn is reduced in the next turn. A turn takes as long as its message
 * or its reduction, whichever takes longer. In the first turn of step k > 0, the message is a slice
 * of step k, and the reduction is that of the last slice of step k - 1, which is twice as long.
 *
 * gamma is the time to reduce a byte, t_w the time to move a byte in one direction, and t_w' the
 * time of a byte while a rank sends and receives at once (docs/simulation.md). l_0 and l_last are
 * the bytes of a slice in the first and in the last step. Without start-up times (t_s = 0), the
 * times exceed those of CN101206588 by less than the time of one slice:
 *
 *     allreduce   (p-1)/p L (max(gamma, t_w') + t_w') + d
 *     reduce      (p-1)/p L (max(gamma, t_w') + t_w)  + d + max(0, min(gamma, t_w') - t_w) l_last
 *     d           min(t_w', max(0, 2 gamma - t_w')) (l_0 - l_last) */

static int64_t bytes_of_all(const struct tt_halving *h)
{
    return tt_halving_span(h, (struct tt_halving_run){0, h->q}).len;
}

static bool is_even(const struct tt_halving *h)
{
    return h->w == 1 && h->pairs == 0 &&
           bytes_of_all(h) / h->call->sz % ((int64_t)h->q * h->s) == 0;
}

int64_t tt_halving_time_ps(const struct tt_halving *h, const struct tt_costs *c, int rounds,
                           int64_t tw)
{
    int64_t time = 0, reduction = 0, slice;
    if (!is_even(h)) return -1;
    for (int k = 0; k < h->m; k++) {
        slice = (bytes_of_all(h) >> (k + 1)) / h->s;
        int64_t turn = c->ts + c->tw_both * slice;
        time += tt_max(turn, reduction);
        reduction = c->gamma * slice;
        time += (h->s - 1) * tt_max(turn, reduction);
    }
    for (int t = 0; t < rounds; t++) {
        slice = (bytes_of_all(h) >> (h->m - t)) / h->s;
        int64_t turn = c->ts + tw * slice;
        time += tt_max(turn, reduction) + (h->s - 1) * turn;
        reduction = 0;
    }
    return time + reduction;
}
