/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce_scatter(_block) `composed`: each node reduces the whole vector to its leader. The leaders
 * do a reduce_scatter of the nodes' shares. Then each leader sends the blocks of the other ranks of
 * its node to them.
 *
 *     [0 1 2 3]   [4 5]   [6]       in each node, a reduce by `flat` (wide nodes: see below)
 *      0 <------> 4 <---> 6         reduce_scatter by `circulant` or `halving` of 4, 2 and 1 blocks
 *      0 -> 1 2 3  4 -> 5           a message each
 *
 * A node is wide if it has many ranks while the vector is long (tt_stage_is_wide). It does an
 * allreduce by `window` instead of the reduce. If the ranks of a node are not adjacent, their
 * blocks are not either. The leader then first copies the blocks of its sum into the order of the
 * nodes, and the operation has to commute.
 * Source: docs/hierarchy.md.
 */
#include "coll/composed.h"

static int64_t whole(const struct tt_stage_team *team)
{
    return tt_call_block_at(team->call, team->map->p);
}

/* Returns whether each leader copies the blocks of its sum into the order of the nodes. If not, the
 * blocks of the ranks of a node are adjacent without that. */
static bool arranges(const struct tt_stage_team *team)
{
    return !team->nodes.adjacent;
}

/* Returns the bytes of the blocks of the first `n` ranks of node k. */
static int64_t blocks_bytes(const struct tt_stage_team *team, int k, int n)
{
    const int *rank = tt_nodes_ranks(&team->nodes, k);
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += tt_call_block_bytes(team->call, rank[i]);
    return bytes;
}

static int64_t share_bytes(const struct tt_stage_team *team, int k)
{
    return blocks_bytes(team, k, tt_nodes_size(&team->nodes, k));
}

/* A leader's scratch has up to three parts. arranged_at returns where the second part begins, and
 * share_at where the third part begins. Each of the first two has room for the vector:
 *
 *     sum       at 0, if the node has other ranks
 *     arranged  the sum, or the rank's input if it is alone, with the blocks in the order of nodes
 *     share     what the leader receives for its node, if the node has other ranks */
static int64_t arranged_at(const struct tt_stage_team *team, int me)
{
    return tt_team_size(team, me) > 1 ? tt_round_up(whole(team), TT_LINE) : 0;
}

static int64_t share_at(const struct tt_stage_team *team, int me)
{
    return arranged_at(team, me) + (arranges(team) ? tt_round_up(whole(team), TT_LINE) : 0);
}

static void reduce_node(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    tt_stage_sum(team, me, whole(team), s);
    tt_stage_puts(s, TT_OUT, TT_TMP, 0);
}

static void arrange(struct tt_builder *b, const struct tt_stage_team *team, int me,
                    int64_t kept_bytes)
{
    int64_t at = arranged_at(team, me);
    (void)kept_bytes;
    if (!tt_team_leads(team, me)) return;
    for (int i = 0; i < team->map->p; i++) {
        int r = team->nodes.rank[i];
        int64_t bytes = tt_call_block_bytes(team->call, r);
        tt_copy(
            b, tt_own(TT_TMP, at),
            tt_own(tt_team_size(team, me) > 1 ? TT_TMP : TT_IN, tt_call_block_at(team->call, r)),
            bytes);
        at += bytes;
    }
}

static void scatter_shares(const struct tt_stage_team *team, int me, bool shares,
                           struct tt_stage *s)
{
    for (int k = 0; k < team->nodes.n; k++) team->counts[k] = share_bytes(team, k) / team->call->sz;
    tt_stage_leaders(team, me, s);
    s->algorithm = tt_stage_scattering(team, whole(team));
    s->call.coll = TT_COLL_reduce_scatter;
    s->call.n = whole(team) / team->call->sz;
    s->call.out_counts = team->counts;
    s->call.in_place = !shares && !arranges(team) && team->call->in_place;
    if (shares || arranges(team))
        tt_stage_puts(s, TT_IN, TT_TMP, arranges(team) ? arranged_at(team, me) : 0);
    if (shares) tt_stage_puts(s, TT_OUT, TT_TMP, share_at(team, me));
}

static void give_blocks(struct tt_builder *b, const struct tt_stage_team *team, int me)
{
    int k = team->nodes.of[me], n = tt_team_size(team, me);
    const int *rank = tt_nodes_ranks(&team->nodes, k);
    tt_started send[TT_OPERANDS];
    for (int i = 0; i < n; i++) {
        struct tt_range block = tt_own(TT_TMP, share_at(team, me) + blocks_bytes(team, k, i));
        int64_t bytes = tt_call_block_bytes(team->call, rank[i]);
        if (rank[i] == me)
            tt_copy(b, tt_own(TT_OUT, 0), block, bytes);
        else
            send[i] = tt_send(b, rank[i], block, bytes);
    }
    for (int i = 0; i < n; i++)
        if (rank[i] != me) tt_wait(b, send[i]);
}

static void hand_out(struct tt_builder *b, const struct tt_stage_team *team, int me,
                     int64_t kept_bytes)
{
    (void)kept_bytes;
    if (tt_team_size(team, me) == 1) return;
    if (tt_team_leads(team, me))
        give_blocks(b, team, me);
    else
        tt_wait(b, tt_recv(b, team->leader[team->nodes.of[me]], tt_own(TT_OUT, 0),
                           tt_call_block_bytes(team->call, me)));
}

static void stage(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    bool shares = tt_team_size(team, me) > 1;
    if (which == 0 && shares) reduce_node(team, me, s);
    if (which == 1 && arranges(team)) s->build = arrange;
    if (which == 2) scatter_shares(team, me, shares, s);
    if (which == 3) s->build = hand_out;
}

static int64_t kept(const struct tt_stage_team *team, int me)
{
    bool shares = tt_team_size(team, me) > 1;
    if (tt_team_leads(team, me))
        return share_at(team, me) + (shares ? share_bytes(team, team->nodes.of[me]) : 0);
    return tt_stage_is_wide(team, me, whole(team)) ? whole(team) : 0;
}

static const struct tt_composition composition = {
    .stages = 4, .stage = stage, .kept = kept, .units = 2};

const struct tt_algorithm tt_reduce_scatter_block_composed = {
    .coll = TT_COLL_reduce_scatter_block,
    .name = "composed",
    .applies = "windows within the nodes; nodes of adjacent ranks or operations that commute",
    .cost = "3 t_w L + gamma L within, log2(nodes) t_s + t_w L between",
    .source = "windows within nodes, circulant or halving among leaders",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};

const struct tt_algorithm tt_reduce_scatter_composed = {
    .coll = TT_COLL_reduce_scatter,
    .name = "composed",
    .applies = "windows within the nodes; nodes of adjacent ranks or operations that commute",
    .cost = "3 t_w L + gamma L within, log2(nodes) t_s + t_w L between",
    .source = "windows within nodes, circulant or halving among leaders",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};
