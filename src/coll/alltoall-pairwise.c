/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall(v) `pairwise`: in round j each rank exchanges one block. If p is a power of two, the
 * partner of rank r is rank r ^ j. Otherwise a rank sends to the rank j after it and receives from
 * the rank j before it.
 *
 *     j = 1:  0<>1  2<>3       j = 2:  0<>2  1<>3       j = 3:  0<>3  1<>2
 *
 * There are p-1 rounds, and each block is sent once. On a hypercube with E-cube routing no two
 * messages share a link. An empty block of an alltoallv is not sent: both ranks know that it is
 * empty.
 *
 * If the call names neighbours, there are no rounds, because a rank knows no round in which its
 * neighbour is free. It starts the messages with all its neighbours, and then waits for them.
 * Source: Grama et al., Introduction to Parallel Computing, section 4.5.
 */
#include "coll/coll-util.h"

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t m = tt_call_bytes(call);
    return c->tr * m + (map->p - 1) * (c->ts + c->tw_both * m);
}

static void with_neighbors(struct tt_builder *b, const struct tt_call *call, int p, int me)
{
    struct tt_peers to = tt_peers_to(call, p, me), from = tt_peers_from(call, p, me);
    tt_started *started = tt_alloc(((size_t)to.n + (size_t)from.n + 1) * sizeof *started);
    if (!started) {
        tt_builder_fail(b, "there is no memory for its messages");
        return;
    }
    for (int k = 0; k < from.n; k++) {
        struct tt_span in = tt_block_from(call, tt_peer(&from, k));
        started[k] = tt_recv(b, tt_peer(&from, k), tt_own(TT_OUT, in.off), in.len);
    }
    for (int k = 0; k < to.n; k++) {
        struct tt_span out = tt_block_to(call, tt_peer(&to, k));
        started[from.n + k] = tt_send(b, tt_peer(&to, k), tt_own(TT_IN, out.off), out.len);
    }
    for (int i = 0; i < from.n + to.n; i++) tt_wait(b, started[i]);
    tt_free(started);
}

/* Returns how many rounds a phase has. In a large team it has several, because a plan may have 256
 * phases at most. An alltoallv has one phase: its call holds counts for all ranks anyway, and
 * `composed`, which uses it as a stage, would plan the whole stage anew for each phase. */
static int rounds_of(const struct tt_call *call, int p)
{
    enum { PHASES = 128 };
    return call->coll == TT_COLL_alltoall ? (int)tt_div_up(p - 1, PHASES) : p - 1;
}

static int phases(const struct tt_call *call, const struct tt_map *map)
{
    if (call->neighbors || map->p == 1) return 1;
    return (int)tt_div_up(map->p - 1, rounds_of(call, map->p));
}

static void copy_own(struct tt_builder *b, const struct tt_call *call, int me)
{
    struct tt_span mine = tt_block_to(call, me);
    tt_copy(b, tt_own(TT_OUT, tt_block_from(call, me).off), tt_own(TT_IN, mine.off), mine.len);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    int p = map->p, rounds = rounds_of(call, p), first = 1 + phase * rounds;
    bool cube = tt_pow2_below(p) == p;
    if (phase == 0) copy_own(b, call, me);
    if (call->neighbors) with_neighbors(b, call, p, me);
    for (int j = first; j < tt_min(p, first + rounds) && !call->neighbors; j++) {
        int to = cube ? me ^ j : tt_after(p, me, j), from = cube ? to : tt_after(p, me, p - j);
        struct tt_span out = tt_block_to(call, to), in = tt_block_from(call, from);
        tt_started send = tt_send(b, to, tt_own(TT_IN, out.off), out.len);
        tt_started recv = tt_recv(b, from, tt_own(TT_OUT, in.off), in.len);
        tt_wait(b, recv);
        tt_wait(b, send);
    }
}

const struct tt_algorithm tt_alltoall_pairwise = {
    .coll = TT_COLL_alltoall,
    .name = "pairwise",
    .applies = "always",
    .cost = "(p-1) (t_s + t_w m)",
    .source = "Grama et al., section 4.5",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
    .phases = phases,
};

const struct tt_algorithm tt_alltoallv_pairwise = {
    .coll = TT_COLL_alltoallv,
    .name = "pairwise",
    .applies = "always",
    .cost = "(p-1) t_s + t_w (m_0 + ... + m_(p-1))",
    .source = "Grama et al., section 4.5",
    .refuse = tt_refuse_never,
    .build = build,
};
