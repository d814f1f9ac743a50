/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `composed`: each node reduces to its leader, the leaders do an allreduce among
 * themselves, and each leader broadcasts the result on its node.
 *
 *     [0 1 2 3]   [4 5]   [6]       in each node, a reduce by `flat` (wide nodes: see below)
 *      0 <------> 4 <---> 6         an allreduce by `doubling`, or for long vectors between more
 *                                   than two nodes by `ring` or `circulant`
 *     [0 1 2 3]   [4 5]   [6]       in each node, a bcast by `flat`
 *
 * A node is wide if it has many ranks while the vector is long (tt_stage_is_wide). It does an
 * allreduce by `window` instead of the reduce.
 * Source: docs/hierarchy.md.
 */
#include "coll/composed.h"

static void stage(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    bool shares = tt_team_size(team, me) > 1;
    if (which == 1) {
        tt_stage_leaders(team, me, s);
        s->algorithm = tt_stage_summing(team);
        s->call.in_place = shares || team->call->in_place;
        if (shares) tt_stage_puts(s, TT_IN, TT_OUT, 0);
        return;
    }
    if (!shares) return;
    if (which == 0) {
        tt_stage_sum(team, me, tt_call_bytes(team->call), s);
        return;
    }
    tt_stage_node(team, me, true, s);
    s->algorithm = &tt_bcast_flat;
    s->call.coll = TT_COLL_bcast;
}

static const struct tt_composition composition = {
    .stages = 3, .stage = stage, .slice = 32 << 10, .units = 2};

const struct tt_algorithm tt_allreduce_composed = {
    .coll = TT_COLL_allreduce,
    .name = "composed",
    .applies = "windows within the nodes; nodes of adjacent ranks or operations that commute",
    .cost = "5 t_w L + gamma L within, log2(nodes) t_s + 2 t_w L between",
    .source = "windows within nodes, doubling, ring or circulant among leaders",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};
