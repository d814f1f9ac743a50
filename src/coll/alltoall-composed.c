/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall `composed`: each leader gathers the blocks of its node. The leaders exchange what is for
 * each other's nodes in one message, and give it to the ranks of their nodes.
 *
 *     [0 1 2 3]   [4 5]       gather flat
 *      0 <=====> 4            4 * 2 blocks each way, in one message instead of 8
 *      0 -> 1 2 3  4 -> 5     a message each
 *
 * The blocks of a message are ordered by receiver and then by sender. So all blocks for one rank
 * are packed together, and all blocks that have come for one rank from one node lie side by side.
 * It is meant for small blocks: each byte crosses the network once, but passes through the memory
 * of two leaders.
 * Source: docs/hierarchy.md.
 */
#include "coll/composed.h"

/* The leader's scratch has three parts of the same size. Returns where part `which` begins; 3:
 * where the last one ends.
 *
 *     0   what the ranks of the node send, by sender; later, what each of them receives
 *     1   the same by receiver, which is the messages to all nodes
 *     2   the messages from all nodes */
static int64_t scratch(const struct tt_stage_team *team, int me, int which)
{
    int64_t bytes = tt_call_bytes(team->call) * team->map->p * tt_team_size(team, me);
    return which * tt_round_up(bytes, TT_LINE);
}

static void pack(struct tt_builder *b, const struct tt_stage_team *team, int me, int64_t kept_bytes)
{
    int64_t m = tt_call_bytes(team->call), p = team->map->p, size = tt_team_size(team, me);
    (void)kept_bytes;
    if (size == 1 || !tt_team_leads(team, me)) return;
    for (int64_t r = 0; r < p; r++)
        tt_copy(b, tt_own(TT_TMP, scratch(team, me, 1) + r * size * m),
                tt_strided(b, tt_own(TT_TMP, r * m), m, p * m), size * m);
}

/* Copies what the messages from all nodes hold for the i-th rank of this node to `to`, in the order
 * of the senders. */
static void unpack(struct tt_builder *b, const struct tt_stage_team *team, int me, int i,
                   struct tt_range to)
{
    const struct tt_nodes *nodes = &team->nodes;
    int64_t m = tt_call_bytes(team->call), size = tt_team_size(team, me), at = to.off;
    for (int k = 0; k < nodes->n; k++) {
        int64_t first = nodes->first[k], n = tt_nodes_size(nodes, k);
        to.off = at + first * m;
        tt_copy(b, to, tt_own(TT_TMP, scratch(team, me, 2) + (size * first + i * n) * m), n * m);
    }
}

static void give(struct tt_builder *b, const struct tt_stage_team *team, int me)
{
    int64_t row = tt_call_bytes(team->call) * team->map->p;
    const int *rank = tt_nodes_ranks(&team->nodes, team->nodes.of[me]);
    tt_started send[TT_OPERANDS];
    for (int i = 0; i < tt_team_size(team, me); i++) {
        bool mine = rank[i] == me;
        unpack(b, team, me, i, mine ? tt_own(TT_OUT, 0) : tt_own(TT_TMP, i * row));
        if (!mine) send[i] = tt_send(b, rank[i], tt_own(TT_TMP, i * row), row);
    }
    for (int i = 0; i < tt_team_size(team, me); i++)
        if (rank[i] != me) tt_wait(b, send[i]);
}

static void hand_out(struct tt_builder *b, const struct tt_stage_team *team, int me,
                     int64_t kept_bytes)
{
    (void)kept_bytes;
    if (tt_team_size(team, me) == 1) return;
    if (tt_team_leads(team, me))
        give(b, team, me);
    else
        tt_wait(b, tt_recv(b, team->leader[team->nodes.of[me]], tt_own(TT_OUT, 0),
                           tt_call_bytes(team->call) * team->map->p));
}

static void gather_node(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    tt_stage_node(team, me, false, s);
    s->algorithm = &tt_gather_flat;
    s->call.coll = TT_COLL_gather;
    s->call.n *= team->map->p;
    tt_stage_puts(s, TT_OUT, TT_TMP, 0);
}

/* Each leader sends as many elements to a node as it receives from it. */
static void exchange(const struct tt_stage_team *team, int me, bool shares, struct tt_stage *s)
{
    int64_t n = team->call->n * tt_team_size(team, me);
    for (int k = 0; k < team->nodes.n; k++) {
        team->counts[k] = n * tt_nodes_size(&team->nodes, k);
        team->displs[k] = n * team->nodes.first[k];
    }
    tt_stage_leaders(team, me, s);
    s->algorithm = &tt_alltoallv_pairwise;
    s->call.coll = TT_COLL_alltoallv;
    s->call.n = 0;
    s->call.in_counts = s->call.out_counts = team->counts;
    s->call.in_displs = s->call.out_displs = team->displs;
    if (!shares) return;
    tt_stage_puts(s, TT_IN, TT_TMP, scratch(team, me, 1));
    tt_stage_puts(s, TT_OUT, TT_TMP, scratch(team, me, 2));
}

static void stage(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    bool shares = tt_team_size(team, me) > 1;
    switch (which) {
    case 0:
        if (shares) gather_node(team, me, s);
        return;
    case 1: s->build = pack; return;
    case 2: exchange(team, me, shares, s); return;
    default: s->build = hand_out;
    }
}

static int64_t kept(const struct tt_stage_team *team, int me)
{
    bool leads = tt_team_leads(team, me) && tt_team_size(team, me) > 1;
    return leads ? scratch(team, me, 3) : 0;
}

static const struct tt_composition composition = {
    .stages = 4, .stage = stage, .kept = kept, .adjacent = true, .units = 2};

const struct tt_algorithm tt_alltoall_composed = {
    .coll = TT_COLL_alltoall,
    .name = "composed",
    .applies = "windows within the nodes, nodes of adjacent ranks",
    .cost = "(nodes-1) t_s + n p t_w m between, 5 n p t_w m within",
    .source = "gathered at leaders, pairwise among them",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};
