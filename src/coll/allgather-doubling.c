/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather `doubling`: in step k, partners i and i ^ 2^k give each other all pieces that they
 * have, so the number of pieces doubles. This is the allgather phase of allreduce `halving` on its
 * own.
 *
 *     step 0    0 <> 1   2 <> 3   4 <> 5   6 <> 7      1 piece each way
 *     step 1    0 <> 2   1 <> 3   4 <> 6   5 <> 7      2 pieces
 *     step 2    0 <> 4   1 <> 5   2 <> 6   3 <> 7      4 pieces
 *
 * The pieces that a rank has always lie side by side in the result, so no rank rearranges anything.
 * If p is not a power of two, and q is the greatest power of two below p, the first 2 (p-q) ranks
 * form pairs. First the odd rank of a pair gives its piece to the even one. The even rank then
 * takes part in the steps for both, and sends the odd rank the result at the end. So the even rank
 * sends two more messages, which have p-1 pieces together.
 * Source: the allgather phase of CN101206588, corrected; Thakur, Rabenseifner, Gropp 2005.
 */
#include "coll/coll-util.h"

/* Returns the first rank of place i. A place is the two ranks of a pair, or one rank. */
static int first_of(int p, int i)
{
    return i + (int)tt_min(i, p - tt_pow2_below(p));
}

/* Starts to send to `peer` (if `sends`), or to receive from it, the pieces of ranks lo .. hi-1. */
static tt_started start(struct tt_builder *b, const struct tt_call *call, bool sends, int peer,
                        int lo, int hi)
{
    int64_t bytes = tt_call_bytes(call);
    struct tt_range at = tt_own(TT_OUT, lo * bytes);
    return sends ? tt_send(b, peer, at, (hi - lo) * bytes)
                 : tt_recv(b, peer, at, (hi - lo) * bytes);
}

/* Gives the result to the odd rank of a pair, which is rank `odd`: the even rank sends all pieces
 * but that of the odd rank, in two messages. */
static void hand_over(struct tt_builder *b, const struct tt_call *call, int p, int me, int odd)
{
    bool sends = me != odd;
    int peer = sends ? odd : odd - 1;
    tt_started before = start(b, call, sends, peer, 0, odd);
    tt_started behind = start(b, call, sends, peer, odd + 1, p);
    tt_wait(b, before);
    tt_wait(b, behind);
}

/* Appends the steps in which place i exchanges all the pieces it has with one partner after the
 * other. */
static void collect(struct tt_builder *b, const struct tt_call *call, int p, int i)
{
    int q = tt_pow2_below(p);
    for (int far = 1; far < q; far *= 2) {
        int mine = i / far * far, theirs = mine ^ far, peer = first_of(p, i ^ far);
        tt_started send = start(b, call, true, peer, first_of(p, mine), first_of(p, mine + far));
        tt_started recv =
            start(b, call, false, peer, first_of(p, theirs), first_of(p, theirs + far));
        tt_wait(b, recv);
        tt_wait(b, send);
    }
}

/* Returns the time by Thakur, Rabenseifner, Gropp 2005, which is for p a power of two. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t p = map->p, bytes = tt_call_bytes(call);
    if (tt_pow2_below(map->p) != p) return -1;
    return c->tr * (call->in_place ? 0 : bytes) + tt_log2_up(map->p) * c->ts +
           (p - 1) * c->tw_both * bytes;
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int p = map->p, pairs = p - tt_pow2_below(p), even = me - me % 2;
    int64_t bytes = tt_call_bytes(call);
    bool paired = me < 2 * pairs;
    tt_copy_in(b, call, me * bytes, 0, bytes);
    if (paired)
        tt_wait(b, start(b, call, me != even, me == even ? me + 1 : even, even + 1, even + 2));
    if (!paired || me == even) collect(b, call, p, paired ? me / 2 : me - pairs);
    if (paired) hand_over(b, call, p, me, even + 1);
}

const struct tt_algorithm tt_allgather_doubling = {
    .coll = TT_COLL_allgather,
    .name = "doubling",
    .applies = "always",
    .cost = "log2(p) t_s + (p-1) t_w L",
    .source = "the allgather phase of CN101206588, corrected",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
