/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gatherv and scatterv `composed`: between nodes, the pieces of a node travel in one message
 * between its leader and the root. The root is the leader of its own node.
 *
 *     [0 1 2 3]   [4 5]   [6]
 *      0 <- 1 2 3                 gatherv to rank 0: the pieces of its node
 *      0 <===== 4 <- 5            a leader receives the pieces of its node, and sends all of them
 *      0 <=========== 6
 *
 * A scatterv is the same backwards. The pieces of a node, in the order of its ranks, are its run.
 * If the pieces of a run lie side by side in the root's buffer, the root does not copy them.
 *
 * A leader has to know the lengths of the pieces of its node. So the root sends its counts to all
 * ranks before: in each call, or once for a persistent request.
 * Source: docs/hierarchy.md; Träff 2004: hierarchical MPI collectives on SMP clusters.
 */
#include "coll/composed.h"

static bool gathers(const struct tt_stage_team *team)
{
    return team->call->coll == TT_COLL_gatherv;
}

/* Returns the bytes that go between rank r and the root. */
static int64_t piece(const struct tt_stage_team *team, int r)
{
    const struct tt_call *call = team->call;
    int from = gathers(team) ? r : call->root, to = gathers(team) ? call->root : r;
    return call->all_counts->count(call->all_counts, from, to) * call->sz;
}

static int64_t run(const struct tt_stage_team *team, int k)
{
    int64_t sum = 0;
    for (int i = 0; i < tt_nodes_size(&team->nodes, k); i++)
        sum += piece(team, tt_nodes_ranks(&team->nodes, k)[i]);
    return sum;
}

/* Returns the place in the buffer of the root where it has the piece of rank r. */
static struct tt_range at_root(const struct tt_stage_team *team, int r)
{
    if (gathers(team)) return tt_own(TT_OUT, tt_block_from(team->call, r).off);
    return tt_own(TT_IN, tt_block_to(team->call, r).off);
}

/* Returns the place where a rank that is not the root has its own piece. */
static struct tt_range at_rank(const struct tt_stage_team *team)
{
    int root = team->call->root;
    if (gathers(team)) return tt_own(TT_IN, tt_block_to(team->call, root).off);
    return tt_own(TT_OUT, tt_block_from(team->call, root).off);
}

/* Starts a message of a gatherv, towards the root, or of a scatterv, away from the root. At this
 * rank, the message is the `bytes` bytes at `at`; `nearer` says whether this rank is nearer to the
 * root than `peer`. */
static tt_started move(struct tt_builder *b, const struct tt_stage_team *team, bool nearer,
                       int peer, struct tt_range at, int64_t bytes)
{
    return nearer == gathers(team) ? tt_recv(b, peer, at, bytes) : tt_send(b, peer, at, bytes);
}

/* Appends a copy of `bytes` bytes between two ranges: in a gatherv from `further` to `nearer`, the
 * range that is nearer to the root, and in a scatterv from `nearer` to `further`. */
static void copy(struct tt_builder *b, const struct tt_stage_team *team, struct tt_range nearer,
                 struct tt_range further, int64_t bytes)
{
    if (gathers(team))
        tt_copy(b, nearer, further, bytes);
    else
        tt_copy(b, further, nearer, bytes);
}

/* ---- The root ---- */

/* Returns the place where the root has the run of node k: in its buffer if the pieces lie there
 * side by side, else in TMP. */
static struct tt_range at_root_run(struct tt_builder *b, const struct tt_stage_team *team, int k)
{
    struct tt_range begin = at_root(team, team->call->root);
    int64_t before = 0;
    for (int i = 0; i < tt_nodes_size(&team->nodes, k); i++) {
        int r = tt_nodes_ranks(&team->nodes, k)[i];
        int64_t bytes = piece(team, r), off = at_root(team, r).off;
        if (bytes > 0 && before == 0) begin.off = off;
        if (bytes > 0 && off != begin.off + before) return tt_scratch(b, run(team, k));
        before += bytes;
    }
    return begin;
}

/* Copies, at the root, the pieces of node k from the run at `at` to their places in the root's
 * buffer, or in a scatterv from these places to the run. */
static void copy_run(struct tt_builder *b, const struct tt_stage_team *team, int k,
                     struct tt_range at)
{
    for (int i = 0; i < tt_nodes_size(&team->nodes, k); i++) {
        int r = tt_nodes_ranks(&team->nodes, k)[i];
        copy(b, team, at_root(team, r), at, piece(team, r));
        at.off += piece(team, r);
    }
}

/* Starts the messages of all leaders, and returns their number. Sets team->displs to the offset in
 * TMP of the run of each node; -1: the run is not in TMP. */
static int start_runs(struct tt_builder *b, const struct tt_stage_team *team)
{
    int n = 0;
    for (int k = 0; k < team->nodes.n; k++) {
        if (team->leader[k] == team->call->root) continue;
        struct tt_range at = at_root_run(b, team, k);
        team->displs[k] = at.buf == TT_TMP ? at.off : -1;
        if (at.buf == TT_TMP && !gathers(team)) copy_run(b, team, k, at);
        team->counts[n++] = move(b, team, true, team->leader[k], at, run(team, k));
    }
    return n;
}

/* Appends the steps of the root. All messages are under way at the same time. The array
 * team->counts holds their ids. */
static void be_root(struct tt_builder *b, const struct tt_stage_team *team, int me)
{
    int n = start_runs(b, team), home = team->nodes.of[me];
    struct tt_span in = tt_block_to(team->call, me), out = tt_block_from(team->call, me);
    for (int i = 0; i < tt_nodes_size(&team->nodes, home); i++) {
        int r = tt_nodes_ranks(&team->nodes, home)[i];
        if (r != me) team->counts[n++] = move(b, team, true, r, at_root(team, r), piece(team, r));
    }
    tt_copy(b, tt_own(TT_OUT, out.off), tt_own(TT_IN, in.off), in.len);
    for (int i = 0; i < n; i++) tt_wait(b, (tt_started)team->counts[i]);
    for (int k = 0; k < team->nodes.n && gathers(team); k++)
        if (k != home && team->displs[k] >= 0)
            copy_run(b, team, k, tt_own(TT_TMP, team->displs[k]));
}

/* ---- The other ranks ---- */

static void meet_node(struct tt_builder *b, const struct tt_stage_team *team, int me,
                      struct tt_range at)
{
    int k = team->nodes.of[me], n = 0;
    for (int i = 0; i < tt_nodes_size(&team->nodes, k); i++) {
        int r = tt_nodes_ranks(&team->nodes, k)[i];
        if (r == me)
            copy(b, team, at, at_rank(team), piece(team, r));
        else
            team->counts[n++] = move(b, team, true, r, at, piece(team, r));
        at.off += piece(team, r);
    }
    for (int i = 0; i < n; i++) tt_wait(b, (tt_started)team->counts[i]);
}

static void lead(struct tt_builder *b, const struct tt_stage_team *team, int me)
{
    bool alone = tt_team_size(team, me) == 1;
    int64_t bytes = run(team, team->nodes.of[me]);
    struct tt_range at = alone ? at_rank(team) : tt_scratch(b, bytes);
    if (gathers(team) && !alone) meet_node(b, team, me, at);
    tt_wait(b, move(b, team, false, team->call->root, at, bytes));
    if (!gathers(team) && !alone) meet_node(b, team, me, at);
}

/* ---- The algorithm ---- */

/* Returns whether the bytes of all runs together can be counted in 64 bits. If they cannot, some
 * count is a mistake, because no rank has memory for so many elements. */
static bool fits(const struct tt_stage_team *team)
{
    int64_t left = INT64_MAX / 4;
    for (int r = 0; r < team->map->p && left >= 0; r++) left -= tt_min(piece(team, r), left + 1);
    return left >= 0;
}

static void build(struct tt_builder *b, const struct tt_stage_team *team, int me, int64_t kept)
{
    (void)kept;
    if (!team->call->all_counts)
        tt_builder_fail(b, "needs the counts of all ranks");
    else if (!fits(team))
        tt_builder_fail(b, "there is no memory for so long pieces");
    else if (me == team->call->root)
        be_root(b, team, me);
    else if (tt_team_leads(team, me))
        lead(b, team, me);
    else
        tt_wait(b, move(b, team, false, team->leader[team->nodes.of[me]], at_rank(team),
                        piece(team, me)));
}

static void stage(const struct tt_stage_team *team, int me, int which, struct tt_stage *s)
{
    (void)team, (void)me, (void)which;
    s->build = build;
}

static const struct tt_composition composition = {.stages = 1, .stage = stage};

const struct tt_algorithm tt_gatherv_composed = {
    .coll = TT_COLL_gatherv,
    .name = "composed",
    .applies = "always",
    .cost = "(n-1) t_s + n t_w L within, (nodes-1) t_s + t_w (L_0 + ... + L_(p-1)) between",
    .source = "messages within nodes, a message from each",
    .refuse = tt_refuse_never,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .first = TT_FIRST_COUNTS,
    .composition = &composition,
};

const struct tt_algorithm tt_scatterv_composed = {
    .coll = TT_COLL_scatterv,
    .name = "composed",
    .applies = "always",
    .cost = "(nodes-1) t_s + t_w (L_0 + ... + L_(p-1)) between, (n-1) t_s + n t_w L within",
    .source = "a message to each node, messages within nodes",
    .refuse = tt_refuse_never,
    .build = tt_composed_build,
    .phases = tt_composed_phases,
    .first = TT_FIRST_COUNTS,
    .composition = &composition,
};
