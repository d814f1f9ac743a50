/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce_scatter(_block) `parts`: all ranks of a node send and receive between nodes at the same
 * time. There are q parts, as many as the smallest node has ranks. Each node deals out its ranks
 * among the parts in turn, so that part j consists of the blocks of ranks j, j + q, j + 2q ... of
 * each node (counted on the node): here part 0 has the blocks of 0, 2 and 3.
 *
 *     [0 1 2]   [3 4]       each rank copies its input: part 0 (0 2 3), then part 1 (1 4)
 *     [0 1 2]   [3 4]       a reduce_scatter by `flat`: 0 and 3 get part 0, 1 and 4 get part 1
 *      0 <-----> 3          reduce_scatter of part 0 by `circulant` or `halving`: blocks 0 2, 3
 *        1 <-----> 4        reduce_scatter of part 1, at the same time
 *      0 -> 2               the block of 2 comes from 0, which owned part 0
 *
 * Compared with `composed`, a rank sends and receives 1/q of the bytes between nodes, and no rank
 * reduces or passes on the vector of its node alone; but each rank copies its input first.
 * Source: Träff and Hunold, Decomposing MPI Collectives for Exploiting Multi-lane Communication
 * (CLUSTER 2020); docs/hierarchy.md.
 */
#include "coll/composed.h"

/* The scratch has three areas. The first one holds the input in the order of the parts. The second
 * one, which begins at part_at, holds the part of this rank, reduced on this node. The third one,
 * which begins at share_at, holds the blocks of this node's ranks in the result of that part. */
static int64_t part_at(const struct tt_stage_team *team)
{
    return tt_round_up(tt_call_block_at(team->call, team->map->p), TT_LINE);
}

static int64_t share_at(const struct tt_stage_team *team, int me)
{
    return part_at(team) +
           tt_round_up(tt_stage_part_bytes(team, tt_stage_part_of(team, me)), TT_LINE);
}

static int64_t kept(const struct tt_stage_team *team, int me)
{
    int k = team->nodes.of[me];
    if (!tt_stage_owns_part(team, me)) return part_at(team);
    return share_at(team, me) + tt_stage_share_bytes(team, k, tt_stage_part_of(team, me));
}

/* ---- Stages ---- */

static void arrange(struct tt_builder *b, const struct tt_stage_team *team, int me,
                    int64_t kept_bytes)
{
    int parts = tt_stage_parts(team);
    int64_t at = kept_bytes;
    (void)me;
    for (int j = 0; j < parts; j++)
        for (int k = 0; k < team->nodes.n; k++)
            for (int i = j; i < tt_nodes_size(&team->nodes, k); i += parts) {
                int r = tt_nodes_ranks(&team->nodes, k)[i];
                int64_t bytes = tt_call_block_bytes(team->call, r);
                tt_copy(b, tt_own(TT_TMP, at), tt_own(TT_IN, tt_call_block_at(team->call, r)),
                        bytes);
                at += bytes;
            }
}

static void reduce_parts(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    tt_stage_node(team, me, false, s);
    for (int i = 0; i < tt_team_size(team, me); i++)
        team->counts[i] =
            i < tt_stage_parts(team) ? tt_stage_part_bytes(team, i) / team->call->sz : 0;
    s->algorithm = &tt_reduce_scatter_flat;
    s->call.coll = TT_COLL_reduce_scatter;
    s->call.n = tt_call_block_at(team->call, team->map->p) / team->call->sz;
    s->call.out_counts = team->counts;
    s->call.in_place = false;
    tt_stage_puts(s, TT_IN, TT_TMP, 0);
    tt_stage_puts(s, TT_OUT, TT_TMP, part_at(team));
}

static void scatter_part(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    int j = tt_stage_part_of(team, me);
    int64_t bytes = tt_stage_part_bytes(team, j);
    tt_stage_peers(team, me, j, s);
    for (int k = 0; k < team->nodes.n; k++)
        team->counts[k] = tt_stage_share_bytes(team, k, j) / team->call->sz;
    s->algorithm = tt_stage_scattering(team, bytes);
    s->call.coll = TT_COLL_reduce_scatter;
    s->call.n = bytes / team->call->sz;
    s->call.out_counts = team->counts;
    s->call.in_place = false;
    tt_stage_puts(s, TT_IN, TT_TMP, part_at(team));
    tt_stage_puts(s, TT_OUT, TT_TMP, share_at(team, me));
}

static void hand_out(struct tt_builder *b, const struct tt_stage_team *team, int me,
                     int64_t kept_bytes)
{
    const int *rank = tt_nodes_ranks(&team->nodes, team->nodes.of[me]);
    int64_t at = kept_bytes + share_at(team, me);
    tt_started send[TT_OPERANDS];
    int sends = 0;
    if (!tt_stage_owns_part(team, me)) {
        tt_wait(b, tt_recv(b, rank[tt_stage_part_of(team, me)], tt_own(TT_OUT, 0),
                           tt_call_block_bytes(team->call, me)));
        return;
    }
    for (int i = tt_stage_part_of(team, me); i < tt_team_size(team, me);
         i += tt_stage_parts(team)) {
        int64_t bytes = tt_call_block_bytes(team->call, rank[i]);
        if (rank[i] == me)
            tt_copy(b, tt_own(TT_OUT, 0), tt_own(TT_TMP, at), bytes);
        else
            send[sends++] = tt_send(b, rank[i], tt_own(TT_TMP, at), bytes);
        at += bytes;
    }
    for (int i = 0; i < sends; i++) tt_wait(b, send[i]);
}

static void stage(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    if (which == 0) s->build = arrange;
    if (which == 1) reduce_parts(team, me, s);
    if (which == 2) scatter_part(team, me, s);
    if (which == 3) s->build = hand_out;
}

static const struct tt_composition composition = {
    .stages = 4, .stage = stage, .kept = kept, .units = 2, .each = true};

TT_COMPOSITION_FUNCTIONS(composition)

const struct tt_algorithm tt_reduce_scatter_block_parts = {
    .coll = TT_COLL_reduce_scatter_block,
    .name = "parts",
    .applies = "windows within the nodes; nodes of adjacent ranks or operations that commute",
    .cost = "4 t_w L + gamma L within, log2(nodes) t_s + t_w L/q between",
    .source = "Traeff and Hunold 2020, multi-lane collectives",
    .refuse = refuse,
    .build = build,
    .phases = phases,
    .composition = &composition,
};

const struct tt_algorithm tt_reduce_scatter_parts = {
    .coll = TT_COLL_reduce_scatter,
    .name = "parts",
    .applies = "windows within the nodes; nodes of adjacent ranks or operations that commute",
    .cost = "4 t_w L + gamma L within, log2(nodes) t_s + t_w L/q between",
    .source = "Traeff and Hunold 2020, multi-lane collectives",
    .refuse = refuse,
    .build = build,
    .phases = phases,
    .composition = &composition,
};
