/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce_scatter(_block) `composed`: each node reduces the whole vector to its leader. The leaders
 * do a reduce_scatter of the nodes' shares. Then each leader sends the blocks of the other ranks of
 * its node to them.
 *
 *     [0 1 2 3]   [4 5]   [6]       reduce flat (wide nodes: allreduce window)
 *      0 <------> 4 <---> 6         reduce_scatter halving, blocks of 4, 2 and 1
 *      0 -> 1 2 3  4 -> 5           a message each
 *
 * A wide node has many ranks, and the vector is long (tt_stage_is_wide).
 * Source: docs/hierarchy.md.
 */
#include "coll/composed.h"

static int64_t whole(const struct tt_stage_team *team)
{
    return tt_call_block_at(team->call, team->map->p);
}

/* The share of node k in the vector; the ranks of a node are adjacent. */
static struct tt_span share(const struct tt_stage_team *team, int k)
{
    int64_t off = tt_call_block_at(team->call, team->nodes.first[k]);
    return (struct tt_span){off, tt_call_block_at(team->call, team->nodes.first[k + 1]) - off};
}

/* Returns the offset of the node's share in the scratch of its leader. If the node has other ranks,
 * the share lies behind the node's sum. */
static int64_t share_at(const struct tt_stage_team *team)
{
    return tt_round_up(whole(team), TT_LINE);
}

static void reduce_node(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    tt_stage_sum(team, me, whole(team), s);
    tt_stage_puts(s, TT_OUT, TT_TMP, 0);
}

static void scatter_shares(const struct tt_stage_team *team, int me, bool shares,
                           struct tt_stage *s)
{
    for (int k = 0; k < team->nodes.n; k++) team->counts[k] = share(team, k).len / team->call->sz;
    tt_stage_leaders(team, me, s);
    s->algorithm = &tt_reduce_scatter_halving;
    s->call.coll = TT_COLL_reduce_scatter;
    s->call.n = whole(team) / team->call->sz;
    s->call.out_counts = team->counts;
    s->call.in_place = !shares && team->call->in_place;
    if (!shares) return;
    tt_stage_puts(s, TT_IN, TT_TMP, 0);
    tt_stage_puts(s, TT_OUT, TT_TMP, share_at(team));
}

/* Returns where the block of rank r is in the share that the leader of its node holds. */
static struct tt_range block(const struct tt_stage_team *team, int r)
{
    int64_t off = tt_call_block_at(team->call, r) - share(team, team->nodes.of[r]).off;
    return tt_own(TT_TMP, share_at(team) + off);
}

static void give_blocks(struct tt_builder *b, const struct tt_stage_team *team, int me)
{
    const struct tt_nodes *nodes = &team->nodes;
    tt_started send[TT_OPERANDS];
    int k = nodes->of[me], first = nodes->first[k], end = nodes->first[k + 1];
    for (int r = first; r < end; r++)
        if (r != me)
            send[r - first] = tt_send(b, r, block(team, r), tt_call_block_bytes(team->call, r));
    tt_copy(b, tt_own(TT_OUT, 0), block(team, me), tt_call_block_bytes(team->call, me));
    for (int r = first; r < end; r++)
        if (r != me) tt_wait(b, send[r - first]);
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
    if (which == 1) scatter_shares(team, me, shares, s);
    if (which < 2) return;
    s->build = hand_out;
}

static int64_t kept(const struct tt_stage_team *team, int me)
{
    if (tt_team_size(team, me) == 1) return 0;
    if (tt_team_leads(team, me)) return share_at(team) + share(team, team->nodes.of[me]).len;
    return tt_stage_is_wide(team, me, whole(team)) ? whole(team) : 0;
}

static const struct tt_composition composition = {
    .stages = 3, .stage = stage, .kept = kept, .adjacent = true, .units = 2};

const struct tt_algorithm tt_reduce_scatter_block_composed = {
    .coll = TT_COLL_reduce_scatter_block,
    .name = "composed",
    .applies = "windows within the nodes, nodes of adjacent ranks",
    .cost = "3 t_w L + gamma L within, log2(nodes) t_s + t_w L between",
    .source = "windows within nodes, halving among leaders",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};

const struct tt_algorithm tt_reduce_scatter_composed = {
    .coll = TT_COLL_reduce_scatter,
    .name = "composed",
    .applies = "windows within the nodes, nodes of adjacent ranks",
    .cost = "3 t_w L + gamma L within, log2(nodes) t_s + t_w L between",
    .source = "windows within nodes, halving among leaders",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};
