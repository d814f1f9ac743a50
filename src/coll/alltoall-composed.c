/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall `composed`: each leader gathers the blocks of its node. It sends the leader of each
 * other node one message with all blocks for that node. Then it gives each rank of its node the
 * blocks for that rank.
 *
 *     [0 1 2 3]   [4 5]       in each node, a gather by `flat`
 *      0 <=====> 4            4 * 2 blocks each way, in one message instead of 8
 *      0 -> 1 2 3  4 -> 5     a message each
 *
 * The blocks of a message are ordered by receiver and then by sender, both in the order in which
 * struct tt_nodes lists the ranks. So all blocks for one rank are packed together, and all blocks
 * that have come for one rank from one node lie side by side, wherever the ranks of a node are. If
 * the ranks are dealt out over the nodes in turn, a strided copy puts a node's blocks into their
 * places. The algorithm is meant for small blocks: each byte crosses the network once, but passes
 * through the memory of two leaders.
 * Source: docs/hierarchy.md.
 */
#include "coll/composed.h"

/* Returns whether the data pass through the scratch of the leader of `me`. Otherwise the node has
 * one rank, whose IN and OUT have the blocks in the order of the nodes already. */
static bool repacks(const struct tt_stage_team *team, int me)
{
    return tt_team_size(team, me) > 1 || !team->nodes.adjacent;
}

/* The leader's scratch has three parts of the same size. Returns where part `which` begins; 3:
 * where the last one ends.
 *
 *     0   what the ranks of the node send, by sender; later, what each of them receives
 *     1   what the ranks of the node send, by receiver: the messages to all nodes
 *     2   the messages from all nodes */
static int64_t scratch(const struct tt_stage_team *team, int me, int which)
{
    int64_t bytes = tt_call_bytes(team->call) * team->map->p * tt_team_size(team, me);
    return which * tt_round_up(bytes, TT_LINE);
}

static void pack(struct tt_builder *b, const struct tt_stage_team *team, int me, int64_t kept_bytes)
{
    int64_t m = tt_call_bytes(team->call), p = team->map->p, size = tt_team_size(team, me);
    struct tt_range from = tt_own(size > 1 ? TT_TMP : TT_IN, 0);
    (void)kept_bytes;
    if (!repacks(team, me) || !tt_team_leads(team, me)) return;
    for (int64_t i = 0; i < p; i++) {
        from.off = team->nodes.rank[i] * m;
        tt_copy(b, tt_own(TT_TMP, scratch(team, me, 1) + i * size * m),
                size > 1 ? tt_strided(b, from, m, p * m) : from, size * m);
    }
}

/* Returns how many of the n ascending ranks, from the first on, lie at equal distances from one to
 * the next, and sets *distance to this distance. */
static int run_of(const int *rank, int n, int *distance)
{
    int run = 1;
    *distance = n > 1 ? rank[1] - rank[0] : 1;
    while (run < n && rank[run] - rank[run - 1] == *distance) run++;
    return run;
}

/* Copies n blocks of m bytes, which lie side by side at `from`, to the places of the ranks rank[0]
 * .. rank[n - 1] in `to`. */
static void spread_blocks(struct tt_builder *b, const int *rank, int n, int64_t m,
                          struct tt_range to, struct tt_range from)
{
    int64_t at = to.off;
    for (int run, distance; n > 0; n -= run, rank += run, from.off += run * m) {
        run = run_of(rank, n, &distance);
        to.off = at + rank[0] * m;
        tt_copy(b, run > 1 ? tt_strided(b, to, m, distance * m) : to, from, run * m);
    }
}

/* Copies to `to`, in the order of the senders, what the messages from all nodes hold for the i-th
 * rank of this node. */
static void unpack(struct tt_builder *b, const struct tt_stage_team *team, int me, int i,
                   struct tt_range to)
{
    const struct tt_nodes *nodes = &team->nodes;
    int64_t m = tt_call_bytes(team->call), size = tt_team_size(team, me);
    for (int k = 0; k < nodes->n; k++) {
        int n = tt_nodes_size(nodes, k);
        int64_t at = (size * nodes->first[k] + (int64_t)i * n) * m;
        spread_blocks(b, tt_nodes_ranks(nodes, k), n, m, to,
                      tt_own(TT_TMP, scratch(team, me, 2) + at));
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
    if (!repacks(team, me)) return;
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

/* Sets *s to the exchange among the leaders. Each leader sends as many elements to a node as it
 * receives from that node. */
static void exchange(const struct tt_stage_team *team, int me, struct tt_stage *s)
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
    if (!repacks(team, me)) return;
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
    case 2: exchange(team, me, s); return;
    default: s->build = hand_out;
    }
}

static int64_t kept(const struct tt_stage_team *team, int me)
{
    bool packs = tt_team_leads(team, me) && repacks(team, me);
    return packs ? scratch(team, me, 3) : 0;
}

static const struct tt_composition composition = {
    .stages = 4, .stage = stage, .kept = kept, .units = 2};

const struct tt_algorithm tt_alltoall_composed = {
    .coll = TT_COLL_alltoall,
    .name = "composed",
    .applies = "windows within the nodes",
    .cost = "(nodes-1) t_s + n p t_w m between, 5 n p t_w m within",
    .source = "gathered at leaders, pairwise among them",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};
