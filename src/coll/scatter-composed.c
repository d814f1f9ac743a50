/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scatter `composed`: the root sends the leader of each other node the pieces of that node in one
 * message, and the ranks of each node get theirs through windows.
 *
 *      4 <- 0 -> 6                 a message for each other node
 *     [0 1 2 3]   [4 5]   [6]      in each node from its leader, by the algorithm `flat`
 *
 * If the ranks of a node are not adjacent, the root first copies the pieces into the order of the
 * nodes.
 * Source: docs/hierarchy.md.
 */
#include "coll/composed.h"

/* Sends one message to the leader of each other node, with the pieces of that node; all these
 * messages are under way at the same time. The array team->counts holds the ids of the sends. */
static void distribute(struct tt_builder *b, const struct tt_stage_team *team, int64_t bytes)
{
    const struct tt_nodes *nodes = &team->nodes;
    enum tt_buffer from = nodes->adjacent ? TT_IN : TT_TMP;
    int home = nodes->of[team->call->root];
    for (int i = 0; i < team->map->p && !nodes->adjacent; i++)
        tt_copy(b, tt_own(TT_TMP, i * bytes), tt_own(TT_IN, nodes->rank[i] * bytes), bytes);
    for (int k = 0; k < nodes->n; k++)
        if (k != home)
            team->counts[k] = tt_send(b, team->leader[k], tt_own(from, nodes->first[k] * bytes),
                                      tt_nodes_size(nodes, k) * bytes);
    for (int k = 0; k < nodes->n; k++)
        if (k != home) tt_wait(b, (tt_started)team->counts[k]);
}

static void send_runs(struct tt_builder *b, const struct tt_stage_team *team, int me,
                      int64_t kept_bytes)
{
    int64_t bytes = tt_call_bytes(team->call), size = tt_team_size(team, me);
    (void)kept_bytes;
    if (me == team->call->root)
        distribute(b, team, bytes);
    else if (tt_team_leads(team, me))
        tt_wait(b,
                tt_recv(b, team->call->root, tt_own(size > 1 ? TT_TMP : TT_OUT, 0), size * bytes));
}

static void scatter_node(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    int64_t bytes = tt_call_bytes(team->call);
    int k = team->nodes.of[me];
    bool here = team->leader[k] == team->call->root, apart = !team->nodes.adjacent;
    if (!here && tt_team_size(team, me) == 1) return;
    tt_stage_node(team, me, true, s);
    s->algorithm = &tt_scatter_flat;
    s->call.in_place = here && team->call->in_place;
    tt_stage_puts(s, TT_IN, here && !apart ? TT_IN : TT_TMP,
                  here ? team->nodes.first[k] * bytes : 0);
}

static void stage(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    if (which == 0)
        s->build = send_runs;
    else
        scatter_node(team, me, s);
}

static int64_t kept(const struct tt_stage_team *team, int me)
{
    int64_t bytes = tt_call_bytes(team->call), size = tt_team_size(team, me);
    if (me == team->call->root) return team->nodes.adjacent ? 0 : team->map->p * bytes;
    return tt_team_leads(team, me) && size > 1 ? size * bytes : 0;
}

static const struct tt_composition composition = {
    .stages = 2, .stage = stage, .kept = kept, .units = 2, .each = true};

const struct tt_algorithm tt_scatter_composed = {
    .coll = TT_COLL_scatter,
    .name = "composed",
    .applies = "windows within the nodes",
    .cost = "(nodes-1) t_s + p t_w L between, n t_w L within",
    .source = "a message to each node, windows within nodes",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};
