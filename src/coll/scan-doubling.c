/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scan and exscan `doubling`: in round k each rank sends the reduction that it has to the rank 2^k
 * after it. So the number of inputs in a reduction doubles in each round.
 *
 *     k = 0:  0>1  1>2  2>3  3>4          OUT of r: inputs r-1 .. r
 *     k = 1:  0--->2  1--->3  2--->4      OUT of r: inputs r-3 .. r
 *
 * There are ceil(log2 p) rounds, and a message is as long as the vector. A rank receives the
 * reduction of the ranks just before those that it has reduced itself. So what it receives is the
 * left operand, and the operation need not commute.
 *
 * In an exscan, each rank first sends its input to the next rank. Then ranks 1 .. p-1 do a scan of
 * what has arrived.
 * Source: Hillis and Steele 1986, Data parallel algorithms.
 */
#include "coll/coll-util.h"

/* Returns the first rank that takes part in the scan. */
static int first(const struct tt_call *call)
{
    return call->coll == TT_COLL_exscan;
}

/* Returns the number of phases: one for each round, and in an exscan one before the rounds. */
static int phases(const struct tt_call *call, const struct tt_map *map)
{
    int before = first(call);
    return (int)tt_max(before + tt_log2_up((int)tt_max(map->p - before, 1)), 1);
}

/* Sends the input to the next rank. In place, IN is OUT, so the input of the rank before arrives in
 * scratch. */
static void shift(struct tt_builder *b, const struct tt_call *call, int p, int me)
{
    int64_t bytes = tt_call_bytes(call);
    struct tt_range out = tt_own(TT_OUT, 0);
    struct tt_range at = call->in_place && me < p - 1 && me > 0 ? tt_scratch(b, bytes) : out;
    tt_started send = TT_DROPPED;
    if (me < p - 1) send = tt_send(b, me + 1, tt_own(TT_IN, 0), bytes);
    if (me > 0) tt_wait(b, tt_recv(b, me - 1, at, bytes));
    if (me < p - 1) tt_wait(b, send);
    if (at.buf != TT_OUT) tt_copy(b, out, at, bytes);
}

/* Appends round k of the scan among the ranks from `from` on. `has` is where this rank's reduction
 * lies before the round. */
static void scan_round(struct tt_builder *b, int from, int p, int me, int k, struct tt_range has,
                       int64_t bytes)
{
    int64_t step = (int64_t)1 << k;
    bool sends = me + step < p, receives = me - step >= from;
    struct tt_range tmp = tt_own(TT_OUT, 0);
    tt_started send = TT_DROPPED;
    if (sends) send = tt_send(b, (int)(me + step), has, bytes);
    if (receives) {
        tmp = tt_scratch(b, bytes);
        tt_wait(b, tt_recv(b, (int)(me - step), tmp, bytes));
    }
    if (sends) tt_wait(b, send);
    if (receives) tt_combine(b, tt_own(TT_OUT, 0), (struct tt_range[]){tmp, has}, 2, bytes);
}

/* Returns the time by Hillis and Steele 1986, or -1 where their formula does not hold. It needs a
 * power of two as the number of ranks in the rounds: only then does the last rank receive, in each
 * round, from a rank that has itself received in all rounds before, and no data come earlier than
 * the formula says. It also needs a reduction that takes no longer than a message: otherwise the
 * messages of ranks that have nothing to reduce come before those that the formula counts. Rank 0
 * of a scan copies its input first, and in an exscan in place the other ranks copy their inputs. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int from = first(call), ranks = map->p - from;
    int64_t bytes = tt_call_bytes(call), message = c->ts + c->tw * bytes;
    bool copies = from ? call->in_place && ranks > 1 : !call->in_place;
    if (tt_pow2_below(ranks) < ranks || c->tw_both > c->tw || c->gamma * bytes > message) return -1;
    return from * message + (copies ? c->tr * bytes : 0) +
           tt_log2_up(ranks) * (message + c->gamma * bytes);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    int from = first(call), k = phase - from;
    int64_t bytes = tt_call_bytes(call);
    if (k < 0) {
        shift(b, call, map->p, me);
        return;
    }
    if (me < from) return;
    bool input = from == 0 && k == 0; /* the first round of a scan sends and combines the input */
    if (input && me == 0) tt_copy_in(b, call, 0, 0, bytes);
    scan_round(b, from, map->p, me, k, tt_own(input ? TT_IN : TT_OUT, 0), bytes);
}

const struct tt_algorithm tt_scan_doubling = {
    .coll = TT_COLL_scan,
    .name = "doubling",
    .applies = "always",
    .cost = "log2(p) (t_s + (t_w + gamma) L)",
    .source = "Hillis and Steele 1986",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
    .phases = phases,
};

const struct tt_algorithm tt_exscan_doubling = {
    .coll = TT_COLL_exscan,
    .name = "doubling",
    .applies = "always",
    .cost = "t_s + t_w L + log2(p-1) (t_s + (t_w + gamma) L)",
    .source = "Hillis and Steele 1986, after a shift by one rank",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
    .phases = phases,
};
