/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier `composed`: a barrier of each node, then one of the leaders of all nodes, then one of
 * each node again.
 *
 *     [0 1 2 3]   [4 5]   [6]       by `flat`: the leader knows that its node has arrived
 *      0 <------> 4 <---> 6         by `dissemination`, among leaders
 *     [0 1 2 3]   [4 5]   [6]       by `flat`: the node knows that all have arrived
 *
 * Source: docs/hierarchy.md.
 */
#include "coll/composed.h"

static void stage(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    if (which == 1)
        tt_stage_leaders(team, me, s);
    else
        tt_stage_node(team, me, which == 2, s);
    s->algorithm = which == 1 ? &tt_barrier_dissemination : &tt_barrier_flat;
}

static const struct tt_composition composition = {.stages = 3, .stage = stage};

const struct tt_algorithm tt_barrier_composed = {
    .coll = TT_COLL_barrier,
    .name = "composed",
    .applies = "always",
    .cost = "2 t_s within a node, log2(nodes) t_s between",
    .source = "a barrier of nodes, of leaders, of nodes",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};
