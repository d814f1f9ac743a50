/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `doubling`: in round k each rank exchanges all it has with the rank that differs in bit
 * k.
 *
 *     0<>1  2<>3  4<>5  6<>7         log2 p rounds of L bytes, L bytes reduced in each
 *     0<--->2     4<--->6  ...
 *     0<--------->4     ...
 *
 * What is combined are runs of adjacent ranks, the lower first, so any operation will do, and both
 * partners get the same bits. p no power of two: of the first 2r ranks each odd one gives its
 * input to the even one before it, and gets the result.
 * Source: recursive doubling; Thakur, Rabenseifner, Gropp 2005.
 */
#include "coll/coll-util.h"

static struct tt_count count(const struct tt_call *call, const struct tt_map *map)
{
    int64_t q = tt_pow2_below(map->p), bytes = tt_call_bytes(call), folds = map->p > q;
    int64_t rounds = tt_log2_up((int)q) + folds;
    return (struct tt_count){.sent = rounds * bytes,
                             .received = rounds * bytes,
                             .reduced = rounds * bytes,
                             .messages = rounds,
                             .steps = 5 * rounds};
}

/* OUT <- mine and the partner's, the lower rank's first. */
static void merge(struct tt_builder *b, struct tt_range mine, struct tt_range theirs, bool lower,
                  int64_t bytes)
{
    tt_combine(b, tt_own(TT_OUT, 0),
               (struct tt_range[]){lower ? mine : theirs, lower ? theirs : mine}, 2, bytes);
}

/* The q ranks of the rounds, and the pairs of which one sits them out. */
struct halves {
    int q, folded;
};

static struct halves halves(const struct tt_map *map)
{
    int q = tt_pow2_below(map->p);
    return (struct halves){q, map->p - q};
}

static struct tt_count count_rank(const struct tt_call *call, const struct tt_map *map, int me)
{
    struct halves h = halves(map);
    bool pairs = me < 2 * h.folded;
    int64_t bytes = tt_call_bytes(call), rounds = tt_log2_up(h.q);
    if (pairs && me % 2)
        return (struct tt_count){.sent = bytes, .received = bytes, .messages = 1, .steps = 4};
    return (struct tt_count){.sent = (rounds + pairs) * bytes,
                             .received = (rounds + pairs) * bytes,
                             .reduced = (rounds + pairs) * bytes,
                             .messages = rounds + pairs,
                             .steps = 5 * (rounds + pairs)};
}

/* A phase for each round, and where p is no power of two one before and one after them. */
static int phases(const struct tt_call *call, const struct tt_map *map)
{
    struct halves h = halves(map);
    (void)call;
    return (int)tt_max(tt_log2_up(h.q), 1) + (h.folded ? 2 : 0);
}

static void fold(struct tt_builder *b, int me, int64_t bytes)
{
    struct tt_range in = tt_own(TT_IN, 0), tmp;
    if (me % 2) {
        tt_wait(b, tt_send(b, me - 1, in, bytes));
        return;
    }
    tmp = tt_scratch(b, bytes);
    tt_wait(b, tt_recv(b, me + 1, tmp, bytes));
    merge(b, in, tmp, true, bytes);
}

static void unfold(struct tt_builder *b, int me, int64_t bytes)
{
    struct tt_range out = tt_own(TT_OUT, 0);
    tt_wait(b, me % 2 ? tt_recv(b, me - 1, out, bytes) : tt_send(b, me + 1, out, bytes));
}

/* Of the i-th of the q ranks. */
static void exchange(struct tt_builder *b, const struct halves *h, int i, int bit, bool first,
                     int64_t bytes)
{
    int partner = i ^ bit, rank = partner < h->folded ? 2 * partner : partner + h->folded;
    struct tt_range mine = tt_own(first ? TT_IN : TT_OUT, 0), tmp = tt_scratch(b, bytes);
    tt_started send = tt_send(b, rank, mine, bytes), recv = tt_recv(b, rank, tmp, bytes);
    tt_wait(b, recv);
    tt_wait(b, send);
    merge(b, mine, tmp, i < partner, bytes);
}

/* Thakur, Rabenseifner, Gropp 2005; before and after the rounds one message for those who sit them
 * out. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t bytes = tt_call_bytes(call);
    struct halves h = halves(map);
    if (h.folded && c->tw_both > c->tw) return -1;
    int64_t rounds = tt_log2_up(h.q) * (c->ts + (c->tw_both + c->gamma) * bytes);
    return rounds + (h.folded ? 2 * (c->ts + c->tw * bytes) + c->gamma * bytes : 0);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    struct halves h = halves(map);
    int64_t bytes = tt_call_bytes(call);
    bool pairs = me < 2 * h.folded;
    int round = phase - (h.folded > 0), rounds = tt_log2_up(h.q);
    if (round < 0 || round >= rounds) {
        if (pairs && round < 0) fold(b, me, bytes);
        if (pairs && round >= 0) unfold(b, me, bytes);
    } else if (!pairs || me % 2 == 0) {
        exchange(b, &h, pairs ? me / 2 : me - h.folded, 1 << round, !pairs && round == 0, bytes);
    }
}

const struct tt_algorithm tt_allreduce_doubling = {
    .coll = TT_COLL_allreduce,
    .name = "doubling",
    .applies = "always",
    .cost = "log2(p) (t_s + (t_w + gamma) L)",
    .source = "recursive doubling; Thakur, Rabenseifner, Gropp 2005",
    .refuse = tt_refuse_never,
    .count = count,
    .count_rank = count_rank,
    .build = build,
    .time = time_ps,
    .phases = phases,
};
