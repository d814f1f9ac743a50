/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gather `composed`: the pieces of each node go through windows to its leader, which sends all of
 * them in one message to the root.
 *
 *     [0 1 2 3]   [4 5]   [6]       in each node to its leader, by the algorithm `flat`
 *      4 -> 0 <- 6                  to the root 0, a message from each other node
 *
 * If the ranks of a node are not adjacent, the root copies the pieces to their places at the end.
 * Source: docs/hierarchy.md.
 */
#include "coll/composed.h"

static void gather_node(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    int64_t bytes = tt_call_bytes(team->call);
    int k = team->nodes.of[me];
    bool here = team->leader[k] == team->call->root, apart = !team->nodes.adjacent;
    if (!here && tt_team_size(team, me) == 1) return;
    tt_stage_node(team, me, false, s);
    s->algorithm = &tt_gather_flat;
    s->call.in_place = here && !apart && team->call->in_place;
    tt_stage_puts(s, TT_OUT, here && !apart ? TT_OUT : TT_TMP,
                  here ? team->nodes.first[k] * bytes : 0);
}

/* Receives one message from the leader of each other node, with the pieces of that node; all these
 * messages are under way at the same time. The array team->counts holds the ids of the receives. */
static void collect(struct tt_builder *b, const struct tt_stage_team *team, int64_t bytes)
{
    const struct tt_nodes *nodes = &team->nodes;
    enum tt_buffer to = nodes->adjacent ? TT_OUT : TT_TMP;
    int home = nodes->of[team->call->root];
    for (int k = 0; k < nodes->n; k++)
        if (k != home)
            team->counts[k] = tt_recv(b, team->leader[k], tt_own(to, nodes->first[k] * bytes),
                                      tt_nodes_size(nodes, k) * bytes);
    for (int k = 0; k < nodes->n; k++)
        if (k != home) tt_wait(b, (tt_started)team->counts[k]);
    for (int i = 0; i < team->map->p && !nodes->adjacent; i++)
        tt_copy(b, tt_own(TT_OUT, nodes->rank[i] * bytes), tt_own(TT_TMP, i * bytes), bytes);
}

static void send_runs(struct tt_builder *b, const struct tt_stage_team *team, int me,
                      int64_t kept_bytes)
{
    int64_t bytes = tt_call_bytes(team->call), size = tt_team_size(team, me);
    (void)kept_bytes;
    if (me == team->call->root)
        collect(b, team, bytes);
    else if (tt_team_leads(team, me))
        tt_wait(b,
                tt_send(b, team->call->root, tt_own(size > 1 ? TT_TMP : TT_IN, 0), size * bytes));
}

static void stage(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    if (which == 0) {
        gather_node(team, me, s);
        return;
    }
    s->build = send_runs;
}

static int64_t kept(const struct tt_stage_team *team, int me)
{
    int64_t bytes = tt_call_bytes(team->call), size = tt_team_size(team, me);
    if (me == team->call->root) return team->nodes.adjacent ? 0 : team->map->p * bytes;
    return tt_team_leads(team, me) && size > 1 ? size * bytes : 0;
}

static const struct tt_composition composition = {
    .stages = 2, .stage = stage, .kept = kept, .units = 2};

const struct tt_algorithm tt_gather_composed = {
    .coll = TT_COLL_gather,
    .name = "composed",
    .applies = "windows within the nodes",
    .cost = "n t_w L within, (nodes-1) t_s + p t_w L between",
    .source = "windows within nodes, a message from each",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};
