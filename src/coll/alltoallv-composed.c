/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoallv `composed`: each leader gathers the pieces of its node. It sends the leader of each
 * other node one message with all pieces for that node. Then it gives each rank of its node the
 * pieces for that rank.
 *
 *     [0 1 2 3]   [4 5]       1 2 3 -> 0     5 -> 4      what each rank sends, in one message
 *                             0 <=====> 4                a message each way, instead of 8
 *                             0 -> 1 2 3     4 -> 5      what each rank receives
 *
 * A row is what a rank sends, ordered by receiver, or what it receives, ordered by sender; both in
 * the order in which struct tt_nodes lists the ranks. So all pieces of a row for one node lie side
 * by side, and a message between nodes consists of one part of each row. The algorithm is meant for
 * short pieces: each byte crosses the network once, but passes through the memory of two leaders.
 *
 * A leader has to know the lengths of the pieces of its node. So the ranks exchange all counts
 * before: in each call, or once for a persistent request.
 * Source: docs/hierarchy.md; Träff 2004: hierarchical MPI collectives on SMP clusters.
 */
#include "coll/composed.h"

/* The state while the plan of one rank is built. */
struct bundles {
    struct tt_builder *b;
    const struct tt_call *call;
    struct tt_nodes nodes;
    int me, node, size; /* this rank, its node, and the number of ranks of the node */
    const int *mates;   /* the ranks of this node; the first one is its leader */
    int64_t *row; /* row[i]: where in `rows` the row of mates[i] begins; last entry: the end */
    /* part[i * n + k], for n nodes: where in the row of mates[i] the part for node k begins */
    int64_t *part;
    /* for each rank: where in TMP the next of its pieces for this node begins that is not copied
     * yet (collect) */
    int64_t *from;
    struct tt_range rows;
};

static int64_t bytes(const struct bundles *f, int from, int to)
{
    return f->call->all_counts->count(f->call->all_counts, from, to) * f->call->sz;
}

/* Returns how many bytes rank `from` sends to the ranks of a node. */
static int64_t bytes_for(const struct bundles *f, int from, int node)
{
    const int *rank = tt_nodes_ranks(&f->nodes, node);
    int64_t sum = 0;
    for (int i = 0; i < tt_nodes_size(&f->nodes, node); i++) sum += bytes(f, from, rank[i]);
    return sum;
}

/* Returns how many bytes the ranks of node `from` send to the ranks of node `to`. */
static int64_t bytes_between(const struct bundles *f, int from, int to)
{
    int64_t sum = 0;
    for (int i = 0; i < tt_nodes_size(&f->nodes, from); i++)
        sum += bytes_for(f, tt_nodes_ranks(&f->nodes, from)[i], to);
    return sum;
}

/* bytes_sent returns how many bytes rank `from` sends to all ranks, and bytes_received how many
 * bytes rank `to` receives from all ranks. */
static int64_t bytes_sent(const struct bundles *f, int from)
{
    int64_t sum = 0;
    for (int r = 0; r < f->nodes.first[f->nodes.n]; r++) sum += bytes(f, from, r);
    return sum;
}

static int64_t bytes_received(const struct bundles *f, int to)
{
    int64_t sum = 0;
    for (int r = 0; r < f->nodes.first[f->nodes.n]; r++) sum += bytes(f, r, to);
    return sum;
}

static struct tt_range at(struct tt_range range, int64_t offset)
{
    range.off += offset;
    return range;
}

/* ---- The ranks ---- */

/* Copies this rank's pieces to a row. */
static void pack(const struct bundles *f, struct tt_range row)
{
    for (int i = 0; i < f->nodes.first[f->nodes.n]; i++) {
        struct tt_span piece = tt_block_to(f->call, f->nodes.rank[i]);
        tt_copy(f->b, row, tt_own(TT_IN, piece.off), piece.len);
        row.off += piece.len;
    }
}

/* Copies the pieces that this rank receives from a row to OUT. */
static void unpack(const struct bundles *f, struct tt_range row)
{
    for (int i = 0; i < f->nodes.first[f->nodes.n]; i++) {
        struct tt_span piece = tt_block_from(f->call, f->nodes.rank[i]);
        tt_copy(f->b, tt_own(TT_OUT, piece.off), row, piece.len);
        row.off += piece.len;
    }
}

static void follow(const struct bundles *f)
{
    int leader = f->mates[0];
    int64_t sent = bytes_sent(f, f->me), received = bytes_received(f, f->me);
    struct tt_range out = tt_scratch(f->b, sent), in = tt_scratch(f->b, received);
    pack(f, out);
    tt_started send = tt_send(f->b, leader, out, sent);
    tt_wait(f->b, tt_recv(f->b, leader, in, received));
    unpack(f, in);
    tt_wait(f->b, send);
}

/* ---- The leaders ---- */

static void find_rows(struct bundles *f)
{
    int n = f->nodes.n;
    f->row[0] = 0;
    for (int i = 0; i < f->size; i++) {
        int64_t end = 0;
        for (int k = 0; k < n; k++) {
            f->part[i * n + k] = end;
            end += bytes_for(f, f->mates[i], k);
        }
        f->row[i + 1] = f->row[i] + end;
    }
    f->rows = tt_scratch(f->b, f->row[f->size]);
}

static void gather(const struct bundles *f)
{
    tt_started recv[TT_OPERANDS];
    for (int i = 1; i < f->size; i++)
        recv[i] = tt_recv(f->b, f->mates[i], at(f->rows, f->row[i]), f->row[i + 1] - f->row[i]);
    pack(f, f->rows);
    for (int i = 1; i < f->size; i++) tt_wait(f->b, recv[i]);
}

/* Packs into `message` what the ranks of this node send to the ranks of node k. */
static void bundle(const struct bundles *f, int k, struct tt_range message)
{
    for (int i = 0; i < f->size; i++) {
        int64_t n = bytes_for(f, f->mates[i], k);
        tt_copy(f->b, message, at(f->rows, f->row[i] + f->part[i * f->nodes.n + k]), n);
        message.off += n;
    }
}

/* Records in f->from where the pieces of the ranks of node k begin in the message of their leader,
 * which is received at `message`. */
static void note(const struct bundles *f, int k, struct tt_range message)
{
    for (int i = 0; i < tt_nodes_size(&f->nodes, k); i++) {
        int from = tt_nodes_ranks(&f->nodes, k)[i];
        f->from[from] = message.off;
        message.off += bytes_for(f, from, f->node);
    }
}

static int64_t longest_sent(const struct bundles *f)
{
    int64_t most = 0;
    for (int k = 0; k < f->nodes.n; k++)
        if (k != f->node) most = tt_max(most, bytes_between(f, f->node, k));
    return most;
}

/* Exchanges the messages between nodes: in turn d, each leader sends to the node d after its own,
 * and receives from the node d before its own. */
static void exchange(const struct bundles *f)
{
    int n = f->nodes.n;
    struct tt_range out = tt_scratch(f->b, longest_sent(f));
    for (int i = 0; i < f->size; i++)
        f->from[f->mates[i]] = f->rows.off + f->row[i] + f->part[i * n + f->node];
    for (int d = 1; d < n; d++) {
        int to = (f->node + d) % n, from = (f->node + n - d) % n;
        int64_t received = bytes_between(f, from, f->node), sent = bytes_between(f, f->node, to);
        struct tt_range in = tt_scratch(f->b, received);
        note(f, from, in);
        bundle(f, to, out);
        tt_started send = tt_send(f->b, tt_nodes_ranks(&f->nodes, to)[0], out, sent);
        tt_wait(f->b, tt_recv(f->b, tt_nodes_ranks(&f->nodes, from)[0], in, received));
        tt_wait(f->b, send);
    }
}

/* Copies what all ranks have sent to rank `to`: to `row`, or to OUT if `to` is this rank. The
 * caller calls this for the ranks of this node in order. So f->from says where the piece of each
 * sender for `to` lies, and is then moved on to the next piece of that sender. */
static void collect(const struct bundles *f, int to, struct tt_range row)
{
    for (int i = 0; i < f->nodes.first[f->nodes.n]; i++) {
        int from = f->nodes.rank[i];
        int64_t n = bytes(f, from, to);
        struct tt_range piece = tt_own(TT_TMP, f->from[from]);
        if (to == f->me)
            tt_copy(f->b, tt_own(TT_OUT, tt_block_from(f->call, from).off), piece, n);
        else
            tt_copy(f->b, row, piece, n);
        row.off += n;
        f->from[from] += n;
    }
}

static void hand_out(const struct bundles *f)
{
    tt_started send[TT_OPERANDS];
    for (int i = 0; i < f->size; i++) {
        int to = f->mates[i];
        int64_t n = to == f->me ? 0 : bytes_received(f, to);
        struct tt_range row = tt_scratch(f->b, n);
        collect(f, to, row);
        send[i] = to == f->me ? 0 : tt_send(f->b, to, row, n);
    }
    for (int i = 1; i < f->size; i++) tt_wait(f->b, send[i]);
}

static void lead(struct bundles *f)
{
    find_rows(f);
    gather(f);
    exchange(f);
    hand_out(f);
}

/* ---- The algorithm ---- */

static void build_rank(struct bundles *f)
{
    size_t p = (size_t)f->nodes.first[f->nodes.n], size = (size_t)f->size;
    if (f->mates[0] != f->me) {
        follow(f);
        return;
    }
    f->row = tt_alloc((size + 1 + size * (size_t)f->nodes.n + p) * sizeof *f->row);
    if (!f->row) {
        tt_builder_fail(f->b, tt_needs_memory);
        return;
    }
    f->part = f->row + size + 1;
    f->from = f->part + size * (size_t)f->nodes.n;
    lead(f);
    tt_free(f->row);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    struct bundles f = {.b = b, .call = call, .me = me};
    (void)phase;
    if (!call->all_counts)
        tt_builder_fail(b, "needs the counts of all ranks");
    else if (!tt_nodes_of(map, &f.nodes))
        tt_builder_fail(b, tt_needs_memory);
    if (!f.nodes.of) return;
    f.node = f.nodes.of[me];
    f.size = tt_nodes_size(&f.nodes, f.node);
    f.mates = tt_nodes_ranks(&f.nodes, f.node);
    build_rank(&f);
    tt_nodes_free(&f.nodes);
}

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    struct tt_nodes nodes;
    (void)call;
    if (map->p > 4096) return "needs at most 4096 ranks, because each keeps the counts of all";
    if (!tt_nodes_of(map, &nodes)) return tt_needs_memory;
    int most = tt_nodes_size(&nodes, tt_nodes_largest(&nodes));
    tt_nodes_free(&nodes);
    return most > TT_OPERANDS ? tt_needs_fewer : NULL;
}

const struct tt_algorithm tt_alltoallv_composed = {
    .coll = TT_COLL_alltoallv,
    .name = "composed",
    .applies = "p <= 4096",
    .cost = "(nodes-1) t_s + n p t_w m between, 5 n p t_w m within",
    .source = "gathered at leaders, pairwise among them",
    .refuse = refuse,
    .build = build,
    .first = TT_FIRST_COUNTS,
};
