/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `composed`: each node reduces through windows to its leader, then the leaders reduce to
 * the root, which is one of them.
 *
 *     [0 1 2 3]   [4 5]   [6]       in each node, a reduce by `flat` into scratch of the leader
 *      0 -> 5, 6 -> 5               root 5: by `binomial`, or for long vectors by `halving`
 *
 * A node is wide if it has many ranks while the vector is long (tt_stage_is_wide). It does an
 * allreduce by `window` instead of the reduce by `flat`.
 * Source: docs/hierarchy.md.
 */
#include "coll/composed.h"

/* From LONG bytes on, `halving` among the leaders takes less time than `binomial`: it sends each
 * byte about twice instead of log2(nodes) times, in more messages. */
enum { LONG = 64 << 10 };

static void stage(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    bool shares = tt_team_size(team, me) > 1;
    if (which == 0 && shares) {
        tt_stage_sum(team, me, tt_call_bytes(team->call), s);
        tt_stage_puts(s, TT_OUT, TT_TMP, 0);
    }
    if (which == 0) return;
    tt_stage_leaders(team, me, s);
    s->algorithm = tt_call_bytes(team->call) >= LONG ? &tt_reduce_halving : &tt_reduce_binomial;
    s->call.in_place = !shares && team->call->in_place;
    if (shares) tt_stage_puts(s, TT_IN, TT_TMP, 0);
}

/* Returns how many bytes at the beginning of TMP hold the sum of the node. */
static int64_t kept(const struct tt_stage_team *team, int me)
{
    int64_t bytes = tt_call_bytes(team->call);
    bool sums =
        tt_team_leads(team, me) ? tt_team_size(team, me) > 1 : tt_stage_is_wide(team, me, bytes);
    return sums ? bytes : 0;
}

static const struct tt_composition composition = {
    .stages = 2, .stage = stage, .kept = kept, .slice = 64 << 10, .units = 2};

const struct tt_algorithm tt_reduce_composed = {
    .coll = TT_COLL_reduce,
    .name = "composed",
    .applies = "windows within the nodes; nodes of adjacent ranks or operations that commute",
    .cost = "3 t_w L + gamma L within, log2(nodes) t_s + 2 t_w L between",
    .source = "windows within nodes, binomial or halving among leaders",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};
