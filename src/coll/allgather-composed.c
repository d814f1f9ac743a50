/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather(v) `composed`: the pieces of each node, which are its run, go to its leader. The
 * leaders pass the runs round a ring, and the ranks of each node read all of them through the
 * window of their leader.
 *
 *     [0 1 2 3]   [4 5]   [6]       in each node, a gather by `flat` (v-form: by messages)
 *      0 <------- 4 <---- 6         among leaders, an allgatherv of the runs by `ring`
 *     [0 1 2 3]   [4 5]   [6]       in each node, a bcast by `flat`
 *
 * A run normally lies in its place in OUT. If the ranks of a node are not adjacent, or in the
 * v-form, whose pieces may be anywhere in OUT, the runs are packed in scratch, and every rank
 * copies the pieces out at the end.
 * Source: docs/hierarchy.md.
 */
#include "coll/composed.h"

static bool packs(const struct tt_stage_team *team)
{
    return team->call->out_counts || !team->nodes.adjacent;
}

static int64_t piece(const struct tt_stage_team *team, int r)
{
    return tt_piece(team->call, r).len;
}

/* Sets the place and the length of each node's run, in the order of the nodes, in elements. Returns
 * the number of elements in all runs. */
static int64_t cut_runs(const struct tt_stage_team *team)
{
    const struct tt_nodes *nodes = &team->nodes;
    int64_t at = 0;
    for (int k = 0; k < nodes->n; k++) {
        team->displs[k] = at;
        for (int i = nodes->first[k]; i < nodes->first[k + 1]; i++)
            at += piece(team, nodes->rank[i]) / team->call->sz;
        team->counts[k] = at - team->displs[k];
    }
    return at;
}

/* ---- To the leader ---- */

static void gather_node(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    tt_stage_node(team, me, false, s);
    s->algorithm = &tt_gather_flat;
    s->call.coll = TT_COLL_gather;
    s->call.in_place = team->call->in_place && !packs(team);
    tt_stage_puts(s, TT_OUT, packs(team) ? TT_TMP : TT_OUT,
                  team->displs[team->nodes.of[me]] * team->call->sz);
}

/* Appends the steps of the leader, which receives the pieces of the other ranks of its node. The
 * pieces may differ in length. */
static void take_pieces(struct tt_builder *b, const struct tt_stage_team *team, int me)
{
    const struct tt_nodes *nodes = &team->nodes;
    tt_started recv[TT_OPERANDS];
    int k = nodes->of[me], size = tt_nodes_size(nodes, k);
    int64_t at = team->displs[k] * team->call->sz;
    for (int i = 0; i < size; i++) {
        int r = tt_nodes_ranks(nodes, k)[i];
        if (r == me)
            tt_copy(b, tt_own(TT_TMP, at), tt_own(TT_IN, 0), piece(team, r));
        else
            recv[i] = tt_recv(b, r, tt_own(TT_TMP, at), piece(team, r));
        at += piece(team, r);
    }
    for (int i = 0; i < size; i++)
        if (tt_nodes_ranks(nodes, k)[i] != me) tt_wait(b, recv[i]);
}

static void pass_pieces(struct tt_builder *b, const struct tt_stage_team *team, int me,
                        int64_t kept_bytes)
{
    (void)kept_bytes;
    if (tt_team_leads(team, me))
        take_pieces(b, team, me);
    else
        tt_wait(b, tt_send(b, team->leader[team->nodes.of[me]], tt_own(TT_IN, 0), piece(team, me)));
}

/* ---- Among leaders, and down ---- */

static void exchange_runs(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    tt_stage_leaders(team, me, s);
    tt_stage_allgatherv(team, &tt_allgatherv_ring, s);
    if (packs(team)) tt_stage_puts(s, TT_OUT, TT_TMP, 0);
}

static void spread_all(const struct tt_stage_team *team, int me, int64_t elements,
                       struct tt_stage *s)
{
    tt_stage_node(team, me, true, s);
    s->algorithm = &tt_bcast_flat;
    s->call.coll = TT_COLL_bcast;
    s->call.n = elements;
    if (packs(team)) tt_stage_puts(s, TT_OUT, TT_TMP, 0);
}

static void copy_out(struct tt_builder *b, const struct tt_stage_team *team, int me,
                     int64_t kept_bytes)
{
    int64_t at = 0;
    (void)me;
    (void)kept_bytes;
    for (int i = 0; i < team->map->p && packs(team); i++) {
        struct tt_span to = tt_piece(team->call, team->nodes.rank[i]);
        tt_copy(b, tt_own(TT_OUT, to.off), tt_own(TT_TMP, at), to.len);
        at += to.len;
    }
}

void tt_stage_collect(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    int64_t elements = cut_runs(team);
    if (which == 0 && !team->call->out_counts)
        gather_node(team, me, s);
    else if (which == 0)
        s->build = pass_pieces;
    else if (which == 1)
        exchange_runs(team, me, s);
    else
        spread_all(team, me, elements, s);
}

static void stage(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    if (which < TT_COLLECTING)
        tt_stage_collect(team, me, which, s);
    else
        s->build = copy_out;
}

static int64_t kept(const struct tt_stage_team *team, int me)
{
    (void)me;
    return packs(team) ? cut_runs(team) * team->call->sz : 0;
}

static const struct tt_composition composition = {
    .stages = TT_COLLECTING + 1, .stage = stage, .kept = kept, .units = 2};

const struct tt_algorithm tt_allgather_composed = {
    .coll = TT_COLL_allgather,
    .name = "composed",
    .applies = "windows within the nodes",
    .cost = "(n + 2p) t_w L within, (nodes-1) t_s + p t_w L between",
    .source = "windows within nodes, a ring of leaders",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};

const struct tt_algorithm tt_allgatherv_composed = {
    .coll = TT_COLL_allgatherv,
    .name = "composed",
    .applies = "windows within the nodes",
    .cost = "(n + 2p) t_w L within, (nodes-1) t_s + p t_w L between",
    .source = "windows within nodes, a ring of leaders",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};
