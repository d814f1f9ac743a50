/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `doubling`: in round k each rank exchanges all it has with the rank that differs in bit k.
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

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    (void)call;
    (void)map;
    return NULL;
}

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

static void rounds(struct tt_builder *b, int q, int folded, int i, struct tt_range mine,
                   struct tt_range tmp, int64_t bytes)
{
    for (int bit = 1; bit < q; bit *= 2) {
        int partner = i ^ bit, rank = partner < folded ? 2 * partner : partner + folded;
        tt_started send = tt_send(b, rank, mine, bytes), recv = tt_recv(b, rank, tmp, bytes);
        tt_wait(b, recv);
        tt_wait(b, send);
        merge(b, mine, tmp, i < partner, bytes);
        mine = tt_own(TT_OUT, 0);
    }
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int q = tt_pow2_below(map->p), folded = map->p - q;
    int64_t bytes = tt_call_bytes(call);
    struct tt_range in = tt_own(TT_IN, 0), out = tt_own(TT_OUT, 0);
    if (me < 2 * folded && me % 2) {
        tt_wait(b, tt_send(b, me - 1, in, bytes));
        tt_wait(b, tt_recv(b, me - 1, out, bytes));
        return;
    }
    struct tt_range tmp = tt_scratch(b, bytes);
    if (me >= 2 * folded) {
        rounds(b, q, folded, me - folded, in, tmp, bytes);
        return;
    }
    tt_wait(b, tt_recv(b, me + 1, tmp, bytes));
    merge(b, in, tmp, true, bytes);
    rounds(b, q, folded, me / 2, out, tmp, bytes);
    tt_wait(b, tt_send(b, me + 1, out, bytes));
}

const struct tt_algorithm tt_allreduce_doubling = {
    .coll = TT_COLL_allreduce,
    .name = "doubling",
    .applies = "always",
    .cost = "log2(p) (t_s + (t_w + gamma) L)",
    .source = "recursive doubling; Thakur, Rabenseifner, Gropp 2005",
    .refuse = refuse,
    .count = count,
    .build = build,
};
