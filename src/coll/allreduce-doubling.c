/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `doubling`: in round k each rank exchanges all it has with the rank that differs from
 * it in bit k.
 *
 *     0<>1  2<>3  4<>5  6<>7         log2 p rounds of L bytes, L bytes reduced in each
 *     0<--->2     4<--->6  ...
 *     0<--------->4     ...
 *
 * L is the length of the vector in bytes. Each round combines the results of two runs of adjacent
 * ranks, the lower one first. So any operation is allowed, and both partners get the same bits. If
 * p is not a power of two, then of the first 2r ranks (r = p minus the greatest power of two below
 * p) each odd rank sends its input to the even rank before it, and receives the result at the end.
 * Source: recursive doubling; Thakur, Rabenseifner, Gropp 2005.
 */
#include "coll/coll-util.h"

/* Appends the reduction of this rank's operand and the partner's into OUT, the lower rank's operand
 * first. */
static void merge(struct tt_builder *b, struct tt_range mine, struct tt_range theirs, bool lower,
                  int64_t bytes)
{
    tt_combine(b, tt_own(TT_OUT, 0),
               (struct tt_range[]){lower ? mine : theirs, lower ? theirs : mine}, 2, bytes);
}

/* The ranks that take part in the rounds are `q`, the largest power of two <= p. The other ranks,
 * `folded` in number, each give their input to a neighbour before the rounds. */
struct halves {
    int q, folded;
};

static struct halves halves(const struct tt_map *map)
{
    int q = tt_pow2_below(map->p);
    return (struct halves){q, map->p - q};
}

/* Returns the number of phases: one for each round, and one more before and one after the rounds if
 * p is not a power of two. */
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

/* Appends one round of the i-th of the ranks that take part. Its partner has the number i ^ bit
 * among these ranks. In the `first` round the rank's operand is IN, and later OUT. */
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

/* Returns the time by Thakur, Rabenseifner, Gropp 2005. Before and after the rounds there is one
 * message for each rank that does not take part in them. */
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
    .build = build,
    .time = time_ps,
    .phases = phases,
};
