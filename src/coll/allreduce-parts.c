/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce `parts`: all ranks of a node send and receive between nodes at the same time. The
 * vector is cut into as many parts as the smallest node has ranks. On each node rank i reduces part
 * i; the i-th ranks of all nodes do an allreduce of part i; each node collects the parts.
 *
 *     [0 1 2 3]   [4 5]       a reduce_scatter by `flat`: 0 and 4 get part 0, 1 and 5 get part 1
 *      0 <------> 4           allreduce of part 0 by `doubling`, or for long vectors between more
 *                             than two nodes by `ring` or `circulant`
 *        1 <------> 5         allreduce of part 1, at the same time
 *     [0 1 2 3]   [4 5]       in each node, an allgatherv of the two parts by `flat`
 *
 * On larger nodes the ranks after the owners of the parts, here 2 and 3, give their input and read
 * the result. More parts than the smallest node has ranks would not help: this node has to pass the
 * whole vector through its ranks anyway. If it has one rank, there is one part, and the leaders do
 * all the work between nodes as in `composed`.
 *
 * Compared with `composed`, a rank sends and receives 1/q of the bytes between nodes (q: parts),
 * and the node saves a pass over the vector in memory.
 * Source: Träff and Hunold, Decomposing MPI Collectives for Exploiting Multi-lane Communication
 * (CLUSTER 2020); docs/hierarchy.md.
 */
#include "coll/composed.h"

/* Sets the count and the place of the part that each rank of the node of `me` owns. The ranks after
 * the owners have a count of 0. */
static void cut_parts(const struct tt_stage_team *team, int me)
{
    int64_t sz = team->call->sz;
    int parts = tt_stage_parts(team);
    for (int i = 0; i < tt_team_size(team, me); i++) {
        struct tt_span part = {0, 0};
        if (i < parts) part = tt_block(team->call, parts, i);
        team->counts[i] = part.len / sz;
        team->displs[i] = part.off / sz;
    }
}

static void reduce_parts(const struct tt_stage_team *team, int me, int64_t at, struct tt_stage *s)
{
    tt_stage_node(team, me, false, s);
    s->algorithm = &tt_reduce_scatter_flat;
    s->call.coll = TT_COLL_reduce_scatter;
    s->call.out_counts = team->counts;
    tt_stage_puts(s, TT_OUT, TT_OUT, at);
}

/* Sets *s to the allreduce of the part that `me` owns, which begins at byte `at`, among the ranks
 * that own this part on their nodes. A rank that owns no part has no steps, but as many phases
 * (coll.h) as the owner of part 0, because all ranks must have equally many. */
static void sum_part(const struct tt_stage_team *team, int me, int64_t at, struct tt_stage *s)
{
    int i = tt_team_index(team, me), parts = tt_stage_parts(team);
    bool shares = tt_team_size(team, me) > 1;
    tt_stage_peers(team, me, i < parts ? i : 0, s);
    s->algorithm = tt_stage_summing(team);
    s->call.n = team->counts[i < parts ? i : 0];
    s->call.in_place = shares || team->call->in_place;
    tt_stage_puts(s, TT_IN, shares ? TT_OUT : TT_IN, at);
    tt_stage_puts(s, TT_OUT, TT_OUT, at);
}

static void collect_parts(const struct tt_stage_team *team, int me, int64_t at, struct tt_stage *s)
{
    tt_stage_node(team, me, true, s);
    tt_stage_allgatherv(team, &tt_allgatherv_flat, s);
    tt_stage_puts(s, TT_IN, TT_OUT, at);
}

/* Sets *s to the only stage if all ranks are on one node: an allreduce by `window`, which has fewer
 * steps than the three stages for several nodes. */
static void sum_node(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    tt_stage_node(team, me, false, s);
    s->algorithm = &tt_allreduce_window;
}

static void stage(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    bool shares = tt_team_size(team, me) > 1;
    if (team->nodes.n == 1) {
        if (which == 0) sum_node(team, me, s);
        return;
    }
    cut_parts(team, me);
    int64_t at = team->displs[tt_team_index(team, me)] * team->call->sz;
    if (which == 0 && shares) reduce_parts(team, me, at, s);
    if (which == 1) sum_part(team, me, at, s);
    if (which == 2 && shares) collect_parts(team, me, at, s);
}

static const struct tt_composition composition = {
    .stages = 3, .stage = stage, .slice = 32 << 10, .units = 2, .each = true};

TT_COMPOSITION_FUNCTIONS(composition)

const struct tt_algorithm tt_allreduce_parts = {
    .coll = TT_COLL_allreduce,
    .name = "parts",
    .applies = "windows within the nodes; nodes of adjacent ranks or operations that commute",
    .cost = "4 t_w L + gamma L within, log2(nodes) t_s + 2 t_w L/q between",
    .source = "Traeff and Hunold 2020, multi-lane collectives",
    .refuse = refuse,
    .build = build,
    .phases = phases,
    .composition = &composition,
};
