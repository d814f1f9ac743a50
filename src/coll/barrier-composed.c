/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier `composed`: the ranks of each node, then the leaders of all nodes, then those of each node again.
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

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    return tt_composed_refuse(&composition, call, map);
}

static struct tt_count count(const struct tt_call *call, const struct tt_map *map)
{
    return tt_composed_count(&composition, call, map);
}

static int phases(const struct tt_call *call, const struct tt_map *map)
{
    return tt_composed_phases(&composition, call, map);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    tt_composed_build(b, &composition, call, map, me, phase);
}

const struct tt_algorithm tt_barrier_composed = {
    .coll = TT_COLL_barrier,
    .name = "composed",
    .applies = "always",
    .cost = "2 t_s within a node, log2(nodes) t_s between",
    .source = "a barrier of nodes, of leaders, of nodes",
    .refuse = refuse,
    .count = count,
    .build = build,
    .phases = phases,
};
