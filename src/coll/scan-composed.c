/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scan and exscan `composed`: each node does its own scan through windows. Then the last ranks of
 * the nodes, which have the reductions of whole nodes, do an exscan among themselves, and each rank
 * combines what comes from the nodes before its own with its own result.
 *
 *     [0 1 2 3]   [4 5]   [6]       a scan by `flat`; 3, 5 and 6 have the reductions of their nodes
 *            3 ---> 5 ---> 6        an exscan of these reductions by `doubling`
 *                 4 5      6        a bcast by `flat` of the reduction of the nodes before; combine
 *
 * A scan is in rank order, with any operation. If the ranks of a node are not adjacent, the
 * reduction of the node is of no use to other nodes. Every rank then gets all inputs, as in an
 * allgather, and combines those of the ranks before it:
 *
 *     [0 2 4 6]   [1 3 5]       in each node, a gather by `flat`
 *      0 <------> 1             an allgatherv by `ring`, of the nodes' inputs
 *     [0 2 4 6]   [1 3 5]       in each node, a bcast by `flat`; then each rank combines
 *
 * Source: docs/hierarchy.md.
 */
#include "coll/composed.h"

/* The parts of TMP in their order: the reduction of the nodes before; and, in an exscan only, the
 * reduction of this node and, if the exscan is in place, the last rank's input. KEPT is the number
 * of parts in an exscan. */
enum { BEFORE, NODE, INPUT, KEPT };

static struct tt_range kept_at(const struct tt_stage_team *team, int64_t off, int which)
{
    return tt_own(TT_TMP, off + which * tt_call_bytes(team->call));
}

static bool is_last(const struct tt_stage_team *team, int me)
{
    int k = team->nodes.of[me];
    return team->nodes.rank[team->nodes.first[k + 1] - 1] == me;
}

static bool is_exscan(const struct tt_stage_team *team)
{
    return team->call->coll == TT_COLL_exscan;
}

/* Returns whether `me` saves its input: in an exscan in place, the result replaces the input, which
 * the last rank of a node needs once more. */
static bool saves_input(const struct tt_stage_team *team, int me)
{
    return is_exscan(team) && team->call->in_place && is_last(team, me) &&
           tt_team_size(team, me) > 1;
}

/* ---- Steps of the row's own ---- */

static void save_input(struct tt_builder *b, const struct tt_stage_team *team, int me, int64_t off)
{
    if (saves_input(team, me))
        tt_copy(b, kept_at(team, off, INPUT), tt_own(TT_IN, 0), tt_call_bytes(team->call));
}

/* In an exscan, the last rank of a node combines its result with its input. This gives the
 * reduction of the node. */
static void sum_node(struct tt_builder *b, const struct tt_stage_team *team, int me, int64_t off)
{
    if (!is_exscan(team) || !is_last(team, me) || tt_team_size(team, me) == 1) return;
    struct tt_range input = saves_input(team, me) ? kept_at(team, off, INPUT) : tt_own(TT_IN, 0);
    tt_combine(b, kept_at(team, off, NODE), (struct tt_range[]){tt_own(TT_OUT, 0), input}, 2,
               tt_call_bytes(team->call));
}

/* Combines the reduction of the nodes before with this rank's result. In an exscan the first rank
 * of a node has no result of its node, so the reduction of the nodes before is its result. */
static void add_before(struct tt_builder *b, const struct tt_stage_team *team, int me, int64_t off)
{
    int64_t bytes = tt_call_bytes(team->call);
    struct tt_range out = tt_own(TT_OUT, 0), before = kept_at(team, off, BEFORE);
    if (team->nodes.of[me] == 0) return;
    if (is_exscan(team) && tt_team_index(team, me) == 0)
        tt_copy(b, out, before, bytes);
    else
        tt_combine(b, out, (struct tt_range[]){before, out}, 2, bytes);
}

/* ---- Stages ---- */

static void scan_node(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    tt_stage_node(team, me, false, s);
    s->algorithm = is_exscan(team) ? &tt_exscan_flat : &tt_scan_flat;
    s->call.in_place = team->call->in_place;
    s->build = save_input;
}

static void scan_nodes(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    bool alone = tt_team_size(team, me) == 1;
    tt_stage_peers(team, me, TT_LAST_PEER, s);
    s->algorithm = &tt_exscan_doubling;
    s->call.coll = TT_COLL_exscan;
    s->build = sum_node;
    tt_stage_puts(s, TT_OUT, TT_TMP, 0);
    if (!is_exscan(team))
        tt_stage_puts(s, TT_IN, TT_OUT, 0);
    else if (!alone)
        tt_stage_puts(s, TT_IN, TT_TMP, tt_call_bytes(team->call));
}

static void share_before(const struct tt_stage_team *team, int me, struct tt_stage *s)
{
    if (team->nodes.of[me] == 0 || tt_team_size(team, me) == 1) return;
    tt_stage_node(team, me, true, s);
    s->algorithm = &tt_bcast_flat;
    s->call.coll = TT_COLL_bcast;
    s->call.root = tt_team_size(team, me) - 1;
    tt_stage_puts(s, TT_OUT, TT_TMP, 0);
}

static void stage_adjacent(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    switch (which) {
    case 0: scan_node(team, me, s); break;
    case 1: scan_nodes(team, me, s); break;
    case 2: share_before(team, me, s); break;
    default: s->build = add_before;
    }
}

/* ---- If the ranks of a node are not adjacent ---- */

/* Combines the inputs in rank order. They lie in TMP from `kept_bytes` on, in the order of the
 * nodes. */
static void combine_inputs(struct tt_builder *b, const struct tt_stage_team *team, int me,
                           int64_t kept_bytes)
{
    struct tt_range operand[TT_OPERANDS], out = tt_own(TT_OUT, 0);
    int64_t bytes = tt_call_bytes(team->call), *next = team->displs;
    int n = 0, end = is_exscan(team) ? me : me + 1;
    for (int k = 0; k < team->nodes.n; k++) next[k] = kept_bytes + team->nodes.first[k] * bytes;
    for (int r = 0; r < end; r++) {
        if (n == TT_OPERANDS) {
            tt_combine(b, out, operand, n, bytes);
            operand[0] = out;
            n = 1;
        }
        operand[n++] = tt_own(TT_TMP, next[team->nodes.of[r]]);
        next[team->nodes.of[r]] += bytes;
    }
    if (n > 0) tt_combine(b, out, operand, n, bytes);
}

static void stage_any_order(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    struct tt_call call = *team->call;
    struct tt_stage_team collecting = *team;
    call.coll = TT_COLL_allgather;
    collecting.call = &call;
    if (which < TT_COLLECTING)
        tt_stage_collect(&collecting, me, which, s);
    else
        s->build = combine_inputs;
}

/* ---- The algorithm ---- */

static void stage(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    if (team->nodes.adjacent)
        stage_adjacent(team, me, which, s);
    else
        stage_any_order(team, me, which, s);
}

static int64_t kept(const struct tt_stage_team *team, int me)
{
    (void)me;
    int64_t results = is_exscan(team) ? KEPT : NODE;
    return (team->nodes.adjacent ? results : team->map->p) * tt_call_bytes(team->call);
}

static const struct tt_composition composition = {
    .stages = TT_COLLECTING + 1, .stage = stage, .kept = kept, .units = 2, .ordered = true};

const struct tt_algorithm tt_scan_composed = {
    .coll = TT_COLL_scan,
    .name = "composed",
    .applies = "windows within the nodes",
    .cost = "3 t_w L + n gamma L within, log2(nodes) (t_s + t_w L) between",
    .source = "windows within nodes, doubling among their last ranks",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};

const struct tt_algorithm tt_exscan_composed = {
    .coll = TT_COLL_exscan,
    .name = "composed",
    .applies = "windows within the nodes",
    .cost = "3 t_w L + n gamma L within, log2(nodes) (t_s + t_w L) between",
    .source = "windows within nodes, doubling among their last ranks",
    .refuse = tt_composed_refuse,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .composition = &composition,
};
