/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather(v) `parts`: all ranks of a node send and receive between nodes at the same time. There
 * are q parts, as many as the smallest node has ranks. Each node deals out its ranks among the
 * parts in turn, so that part j consists of the pieces of ranks j, j + q, j + 2q ... of each node
 * (counted on the node): here part 0 has the pieces of 0, 2 and 3.
 *
 *      0 <- 2                the piece of 2 goes to 0, which owns part 0
 *     [0 1 2]   [3 4]        ring of 0 and 3: part 0 (0 2 3)
 *      0 <-----> 3           ring of 1 and 4 at the same time: part 1 (1 4)
 *        1 <-----> 4
 *     [0 1 2]   [3 4]        in each node, an allgatherv of the parts by `flat`, then copies
 *
 * Each rank sends and receives 1/q of the bytes between nodes, whereas in `ring` the ranks at both
 * ends of a node pass on all of them. But each rank copies its result once more than in `ring`.
 * Source: Träff and Hunold, Decomposing MPI Collectives for Exploiting Multi-lane Communication
 * (CLUSTER 2020); docs/hierarchy.md.
 */
#include "coll/composed.h"

/* The pieces lie in scratch in the order of the parts. Returns where part j begins. */
static int64_t part_at(const struct tt_stage_team *team, int j)
{
    int64_t at = 0;
    for (int i = 0; i < j; i++) at += tt_stage_part_bytes(team, i);
    return at;
}

static int64_t kept(const struct tt_stage_team *team, int me)
{
    (void)me;
    return part_at(team, tt_stage_parts(team));
}

/* ---- Stages ---- */

/* Appends the steps by which `me` stores, in TMP from byte `at` on, the pieces of the ranks of this
 * node that are in its part: it copies its own piece, and receives the other pieces. */
static void take_pieces(struct tt_builder *b, const struct tt_stage_team *team, int me, int64_t at)
{
    const int *rank = tt_nodes_ranks(&team->nodes, team->nodes.of[me]);
    tt_started recv[TT_OPERANDS];
    int recvs = 0;
    for (int i = tt_stage_part_of(team, me); i < tt_team_size(team, me);
         i += tt_stage_parts(team)) {
        int64_t bytes = tt_call_block_bytes(team->call, rank[i]);
        if (rank[i] == me)
            tt_copy(b, tt_own(TT_TMP, at), tt_own(TT_IN, 0), bytes);
        else
            recv[recvs++] = tt_recv(b, rank[i], tt_own(TT_TMP, at), bytes);
        at += bytes;
    }
    for (int i = 0; i < recvs; i++) tt_wait(b, recv[i]);
}

static void hand_in(struct tt_builder *b, const struct tt_stage_team *team, int me,
                    int64_t kept_bytes)
{
    int j = tt_stage_part_of(team, me), k = team->nodes.of[me];
    if (tt_stage_owns_part(team, me)) {
        int64_t at = kept_bytes + part_at(team, j);
        for (int before = 0; before < k; before++) at += tt_stage_share_bytes(team, before, j);
        take_pieces(b, team, me, at);
    } else {
        int owner = tt_nodes_ranks(&team->nodes, k)[j];
        tt_wait(b, tt_send(b, owner, tt_own(TT_IN, 0), tt_call_block_bytes(team->call, me)));
    }
}

static void exchange_part(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    int j = tt_stage_part_of(team, me);
    int64_t at = 0;
    tt_stage_peers(team, me, j, s);
    for (int k = 0; k < team->nodes.n; k++) {
        team->counts[k] = tt_stage_share_bytes(team, k, j) / team->call->sz;
        team->displs[k] = at;
        at += team->counts[k];
    }
    tt_stage_allgatherv(team, &tt_allgatherv_ring, s);
    tt_stage_puts(s, TT_OUT, TT_TMP, part_at(team, j));
}

static void spread_parts(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    int parts = tt_stage_parts(team);
    tt_stage_node(team, me, true, s);
    for (int i = 0; i < tt_team_size(team, me); i++) {
        team->counts[i] = i < parts ? tt_stage_part_bytes(team, i) / team->call->sz : 0;
        team->displs[i] = i < parts ? part_at(team, i) / team->call->sz : 0;
    }
    tt_stage_allgatherv(team, &tt_allgatherv_flat, s);
    int64_t own = team->displs[tt_team_index(team, me)] * team->call->sz;
    tt_stage_puts(s, TT_IN, TT_TMP, own);
    tt_stage_puts(s, TT_OUT, TT_TMP, 0);
}

static void copy_out(struct tt_builder *b, const struct tt_stage_team *team, int me,
                     int64_t kept_bytes)
{
    int parts = tt_stage_parts(team);
    int64_t at = kept_bytes;
    (void)me;
    for (int j = 0; j < parts; j++)
        for (int k = 0; k < team->nodes.n; k++)
            for (int i = j; i < tt_nodes_size(&team->nodes, k); i += parts) {
                struct tt_span to = tt_piece(team->call, tt_nodes_ranks(&team->nodes, k)[i]);
                tt_copy(b, tt_own(TT_OUT, to.off), tt_own(TT_TMP, at), to.len);
                at += to.len;
            }
}

static void stage(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    if (which == 0) s->build = hand_in;
    if (which == 1) exchange_part(team, me, s);
    if (which == 2) spread_parts(team, me, s);
    if (which == 3) s->build = copy_out;
}

static const struct tt_composition composition = {
    .stages = 4, .stage = stage, .kept = kept, .units = 2};

TT_COMPOSITION_FUNCTIONS(composition)

const struct tt_algorithm tt_allgather_parts = {
    .coll = TT_COLL_allgather,
    .name = "parts",
    .applies = "windows within the nodes",
    .cost = "3p t_w L within, (nodes-1) t_s + p t_w L/q between",
    .source = "Traeff and Hunold 2020, multi-lane collectives",
    .refuse = refuse,
    .build = build,
    .phases = phases,
    .composition = &composition,
};

const struct tt_algorithm tt_allgatherv_parts = {
    .coll = TT_COLL_allgatherv,
    .name = "parts",
    .applies = "windows within the nodes",
    .cost = "3p t_w L within, (nodes-1) t_s + p t_w L/q between",
    .source = "Traeff and Hunold 2020, multi-lane collectives",
    .refuse = refuse,
    .build = build,
    .phases = phases,
    .composition = &composition,
};
