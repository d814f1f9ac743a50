/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scatter `binomial`: a rank that holds the pieces of a run of ranks divides the run into halves,
 * and sends the half that it is not in to the first rank of that half.
 *
 *     0 --------------> 4          the root 0 holds [0 .. 7]
 *     0 -----> 2        4 -----> 6
 *     0 > 1    2 > 3    4 > 5    6 > 7
 *
 * There are ceil(log2 p) rounds, whatever p and the root are. Every message is a run of pieces as
 * it lies in the root's input, so no rank rearranges anything. A rank that passes pieces on
 * receives them in scratch; the others receive their piece where it belongs.
 * Source: the binomial tree of message-passing scatters, over halves of the range of ranks.
 */
#include "coll/coll-util.h"

/* Ranks lo .. hi-1, whose pieces `holder` has. */
struct run_of_pieces {
    int lo, hi, holder;
};

/* Divides the run: *run becomes the half with its holder. Returns the other half, which the holder
 * sends to that half's first rank. */
static struct run_of_pieces divide(struct run_of_pieces *run)
{
    int middle = run->lo + (run->hi - run->lo + 1) / 2;
    struct run_of_pieces other = {middle, run->hi, middle};
    if (run->holder < middle) {
        run->hi = middle;
        return other;
    }
    other = (struct run_of_pieces){run->lo, middle, run->lo};
    run->lo = middle;
    return other;
}

/* Receives the pieces of the run. Returns the place from which their offsets count: the piece of
 * rank r begins r * bytes behind it. This place may lie before the beginning of the buffer. */
static struct tt_range receive(struct tt_builder *b, const struct run_of_pieces *run, int from,
                               int64_t bytes)
{
    int64_t all = (run->hi - run->lo) * bytes;
    struct tt_range at = run->hi - run->lo > 1 ? tt_scratch(b, all) : tt_own(TT_OUT, 0);
    tt_wait(b, tt_recv(b, from, at, all));
    at.off -= run->lo * bytes;
    return at;
}

/* Returns the time at which all pieces of the run have arrived, if its holder has them at the time
 * `begin`. A holder sends one half after the other. copies: the holder also copies its own piece,
 * while it sends. */
static int64_t run_ends(struct run_of_pieces run, int64_t begin, bool copies, int64_t bytes,
                        const struct tt_costs *c)
{
    int64_t now = begin, ends = begin + (copies ? c->tr * bytes : 0);
    while (run.hi - run.lo > 1) {
        struct run_of_pieces other = divide(&run);
        int n = other.hi - other.lo;
        now += c->ts + c->tw * n * bytes;
        ends = tt_max(ends, run_ends(other, now, n > 1, bytes, c));
    }
    return ends;
}

/* Returns the time. A rank receives before it sends, so no rank does both at once. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    struct run_of_pieces all = {0, map->p, call->root};
    if (c->all_ports || c->starts_side_by_side) return -1;
    return run_ends(all, 0, !call->in_place, tt_call_bytes(call), c);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    enum { ROUNDS = 32 };
    (void)phase;
    tt_started sent[ROUNDS];
    int n = 0;
    int64_t bytes = tt_call_bytes(call);
    struct tt_range at = tt_own(TT_IN, 0);
    struct run_of_pieces run = {0, map->p, call->root};
    while (run.hi - run.lo > 1) {
        int holder = run.holder;
        struct run_of_pieces other = divide(&run);
        struct tt_range from = at;
        from.off += other.lo * bytes;
        if (me == holder) sent[n++] = tt_send(b, other.holder, from, (other.hi - other.lo) * bytes);
        if (me < other.lo || me >= other.hi) continue;
        run = other;
        if (me == run.holder) at = receive(b, &run, holder, bytes);
    }
    at.off += me * bytes;
    if (me == call->root)
        tt_copy_in(b, call, 0, at.off, bytes);
    else if (at.buf == TT_TMP)
        tt_copy(b, tt_own(TT_OUT, 0), at, bytes);
    for (int i = 0; i < n; i++) tt_wait(b, sent[i]);
}

const struct tt_algorithm tt_scatter_binomial = {
    .coll = TT_COLL_scatter,
    .name = "binomial",
    .applies = "always",
    .cost = "log2(p) t_s + (p-1) t_w L",
    .source = "binomial tree",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
