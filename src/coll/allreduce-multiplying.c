/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `multiplying`: recursive doubling in which groups of up to k ranks (the radix of the
 * call, otherwise 4) exchange all they have, and not only pairs. So there are fewer rounds, of more
 * messages at once.
 *
 *     k = 3:   0<>1<>2   3<>4<>5   6<>7<>8       log_k p rounds; in each, a rank sends L bytes to
 *              0<-->3<-->6   1<-->4<-->7  ...    each of k-1 ranks, and reduces k-1 times L bytes
 *
 * L is the length of the vector in bytes. If p is a product of factors up to k, each factor is the
 * size of the groups of one round; factors may differ. Otherwise q is the greatest product below p,
 * and of the first 2(p-q) ranks each odd rank sends its input to the even rank before it, and
 * receives the result at the end. Powers of two are such products, so q is more than p/2. As there
 * are more such products than powers of two, all ranks take part in the rounds more often than in
 * `doubling`.
 *
 * Each round combines the results of runs of adjacent ranks, in rank order. So any operation is
 * allowed, and all ranks get the same bits.
 * Source: Ruefenacht, Bull, Booth 2017: Generalisation of recursive doubling for AllReduce: now
 * with simulation. Parallel Computing 69.
 */
#include "coll/tree.h"

/* The ranks that take part in the rounds are the places 0 .. q - 1. The other ranks, `folded` in
 * number, each give their input to a neighbour before the rounds. k is the most ranks of a
 * group. */
struct groups {
    int q, folded, k;
};

/* Returns the greatest product <= p of primes that are at most k and at most `prime`, which is 2,
 * 3, 5 or 7. */
static int product_below(int p, int k, int prime)
{
    if (prime == 2) return tt_pow2_below(p);
    int best = 1, below = prime == 3 ? 2 : prime - 2;
    for (int64_t power = 1; power <= p; power *= prime) {
        best = (int)tt_max(best, power * product_below((int)(p / power), k, below));
        if (prime > k) break;
    }
    return best;
}

static struct groups groups(const struct tt_call *call, const struct tt_map *map)
{
    int k = call->radix > 0 ? call->radix : 4;
    int q = map->p <= k ? map->p : product_below(map->p, k, 7);
    return (struct groups){.q = q, .folded = map->p - q, .k = k};
}

/* Returns the greatest factor of n that is at most k. */
static int factor(int n, int k)
{
    int f = (int)tt_min(n, k);
    while (n % f) f--;
    return f;
}

static int rounds(const struct groups *g)
{
    int n = 0;
    for (int rest = g->q; rest > 1; rest /= factor(rest, g->k)) n++;
    return n;
}

/* Returns the number of phases: one for each round, and one more before and one after the rounds if
 * ranks are folded. A single rank needs one phase too. */
static int phases(const struct tt_call *call, const struct tt_map *map)
{
    struct groups g = groups(call, map);
    return (int)tt_max(rounds(&g), 1) + (g.folded ? 2 : 0);
}

static void fold(struct tt_builder *b, int me, int64_t bytes)
{
    struct tt_range in = tt_own(TT_IN, 0);
    if (me % 2) {
        tt_wait(b, tt_send(b, me - 1, in, bytes));
        return;
    }
    struct tt_range tmp = tt_scratch(b, bytes);
    tt_wait(b, tt_recv(b, me + 1, tmp, bytes));
    tt_combine(b, tt_own(TT_OUT, 0), (struct tt_range[]){in, tmp}, 2, bytes);
}

static void unfold(struct tt_builder *b, int me, int64_t bytes)
{
    struct tt_range out = tt_own(TT_OUT, 0);
    tt_wait(b, me % 2 ? tt_recv(b, me - 1, out, bytes) : tt_send(b, me + 1, out, bytes));
}

static int rank_of(const struct groups *g, int place)
{
    return place < g->folded ? 2 * place : place + g->folded;
}

/* Appends the exchange of place i with its group, which has `size` places, `stride` apart. The j-th
 * message goes to the j-th place after i in the group, while the message of the j-th place before i
 * arrives. */
static void exchange(struct tt_builder *b, const struct groups *g, int i, int size, int stride,
                     struct tt_range mine, int64_t bytes)
{
    struct tt_range operand[TT_CHILDREN];
    tt_started sent[TT_CHILDREN], received[TT_CHILDREN];
    int digit = i / stride % size, first = i - digit * stride;
    operand[digit] = mine;
    for (int j = 1; j < size; j++) {
        int to = tt_after(size, digit, j), from = tt_after(size, digit, size - j);
        operand[from] = tt_scratch(b, bytes);
        sent[j] = tt_send(b, rank_of(g, first + to * stride), mine, bytes);
        received[j] = tt_recv(b, rank_of(g, first + from * stride), operand[from], bytes);
    }
    for (int j = 1; j < size; j++) tt_wait(b, received[j]);
    for (int j = 1; j < size; j++) tt_wait(b, sent[j]);
    tt_combine(b, tt_own(TT_OUT, 0), operand, size, bytes);
}

/* Appends a round of place i. `mine` is where the place keeps its data before the round. */
static void do_round(struct tt_builder *b, const struct groups *g, int i, int round,
                     struct tt_range mine, int64_t bytes)
{
    int stride = 1, size = factor(g->q, g->k);
    for (; round > 0; round--) {
        stride *= size;
        size = factor(g->q / stride, g->k);
    }
    exchange(b, g, i, size, stride, mine, bytes);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    struct groups g = groups(call, map);
    int64_t bytes = tt_call_bytes(call);
    bool pair = me < 2 * g.folded;
    int round = phase - (g.folded > 0);
    if (round < 0 || round >= rounds(&g)) {
        if (pair && round < 0) fold(b, me, bytes);
        if (pair && round >= 0) unfold(b, me, bytes);
    } else if (!pair || me % 2 == 0) {
        enum tt_buffer from = !pair && round == 0 ? TT_IN : TT_OUT;
        do_round(b, &g, pair ? me / 2 : me - g.folded, round, tt_own(from, 0), bytes);
    }
}

/* Returns the time by Ruefenacht et al. 2017: in a group of f ranks each rank sends f - 1 messages.
 * Before and after the rounds there is one message for each rank that does not take part in
 * them. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t bytes = tt_call_bytes(call), messages = 0;
    struct groups g = groups(call, map);
    if (c->all_ports || (g.folded && c->tw_both > c->tw)) return -1;
    for (int rest = g.q, f; rest > 1; rest /= f) {
        f = factor(rest, g.k);
        messages += f - 1;
    }
    int64_t in_rounds = messages * (c->ts + (c->tw_both + c->gamma) * bytes);
    return in_rounds + (g.folded ? 2 * (c->ts + c->tw * bytes) + c->gamma * bytes : 0);
}

const struct tt_algorithm tt_allreduce_multiplying = {
    .coll = TT_COLL_allreduce,
    .name = "multiplying",
    .applies = "radix up to 32",
    .cost = "(k-1) log_k(p) (t_s + (t_w + gamma) L)",
    .source = "recursive multiplying; Ruefenacht, Bull, Booth 2017",
    .refuse = tt_refuse_radix,
    .build = build,
    .time = time_ps,
    .phases = phases,
};
