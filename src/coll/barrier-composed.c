/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier `composed`: the ranks of each node, then the leaders of all nodes, then those of each
 * node again.
 *
 *     [0 1 2 3]   [4 5]   [6]       flat: everyone has come to their leader
 *      0 <------> 4 <---> 6         dissemination among leaders
 *     [0 1 2 3]   [4 5]   [6]       flat: and knows that all have
 *
 * Source: docs/hierarchy.md.
 */
#include "coll/composed.h"

static void stage(const struct tt_team *team, int me, int which, struct tt_stage *s)
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
    .count = tt_composed_count,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};
