/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast `composed`: first among the leaders of the nodes, of which the root is one, then on
 * each node through its leader's window.
 *
 *     root 5    5 -> 0, 5 -> 6      leaders, by `binomial`; long: by `scatter-allgather`
 *     [0 1 2 3]   [4 5]   [6]       in each node from its leader, by the algorithm `flat`
 *
 * Source: docs/hierarchy.md.
 */
#include "coll/composed.h"

/* From LONG bytes on, `scatter-allgather` among the leaders takes less time than `binomial`: it
 * sends each byte about twice instead of log2(nodes) times, in more messages. SLICE is the length
 * in bytes of the slices that the leaders send, if the call does not give a length. */
enum { SLICE = 64 << 10, LONG = 64 << 10 };

static void stage(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    if (which == 1) {
        tt_stage_node(team, me, true, s);
        s->algorithm = &tt_bcast_flat;
        return;
    }
    tt_stage_leaders(team, me, s);
    s->call.slice = tt_slice_bytes(team->call, SLICE);
    s->algorithm = tt_call_bytes(team->call) >= LONG ? &tt_bcast_scatter_allgather : NULL;
    if (!s->algorithm || team->nodes.n == 2 || s->algorithm->refuse(&s->call, &s->map))
        s->algorithm = &tt_bcast_binomial;
}

static const struct tt_composition composition = {.stages = 2, .stage = stage, .units = 2};

const struct tt_algorithm tt_bcast_composed = {
    .coll = TT_COLL_bcast,
    .name = "composed",
    .applies = "windows within the nodes",
    .cost = "log2(nodes) t_s + 2 t_w L between, 2 t_w L within",
    .source = "binomial or scatter-allgather among leaders, windows within nodes",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};
