/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Some algorithms for an alltoallv, gatherv or scatterv need more than each rank's own counts.
 * Before their plan is made, the ranks tell each other what they need (tt_algorithm.first):
 *
 *     COUNTS    all counts, by an allgather; in a gatherv or scatterv, whose root knows them, by a
 *               bcast
 *     LONGEST   the longest piece of each rank, by an allgather, and with it a number that says
 *               whether all pieces are as long as their receivers expect
 *
 * Pieces that go through other ranks never meet the counts of their receivers, so the counts are
 * compared here.
 */
#include "api/api.h"

static tutti_status tell(tutti_team *team, enum tt_coll coll, const void *mine, void *all,
                         int64_t n)
{
    return tt_team_step(team, TT_SIGNATURE_COUNTING, coll, mine, all, n);
}

/* Breaks the team after a mismatch that this rank has found. While the others are told, this rank
 * may hear of their errors, whose texts replace its own. */
static tutti_status give_up(tutti_team *team)
{
    tt_team_break(&team->run, TUTTI_ERR_MISMATCH);
    return tt_team_error(&team->run);
}

/* A rank has n elements for another one, or expects them from it. `types` is 0 if the signatures of
 * the calls say what the pieces consist of. */
struct counts_piece {
    int64_t n, types;
};

static struct counts_piece piece(const struct tt_call *c, bool out, int r)
{
    struct counts_piece piece = {.n = out ? c->out_counts[r] : c->in_counts[r]};
    if (out ? c->out_contents : c->in_contents) piece.types = tt_call_contents(c, out, r).hash;
    return piece;
}

/* Compares what rank `from` has for rank `to` with what that rank expects. */
static tutti_status compare(tutti_team *team, const struct tt_call *call, int from, int to,
                            struct counts_piece sent, struct counts_piece expected)
{
    const char *name = tt_coll_name(call->coll);
    if (sent.n != expected.n)
        (void)tt_fail(TUTTI_ERR_MISMATCH,
                      "%s: rank %d sends rank %d %lld elements where rank %d expects %lld", name,
                      from, to, (long long)sent.n, to, (long long)expected.n);
    else if (sent.types != expected.types && expected.n > 0)
        (void)tt_fail(TUTTI_ERR_MISMATCH,
                      "%s: rank %d sends rank %d other types than rank %d expects", name, from, to,
                      to);
    else
        return TUTTI_OK;
    return give_up(team);
}

/* ---- All counts ---- */

/* The counts of all ranks: n[from * p + to]. */
struct counts_all {
    struct tt_all_counts head;
    int64_t p, n[];
};

static int64_t count_of(const struct tt_all_counts *all, int from, int to)
{
    const struct counts_all *counts = (const struct counts_all *)all;
    return counts->n[from * counts->p + to];
}

/* Whether each rank sends this rank what it expects. */
static tutti_status check_counts(tutti_team *team, const struct counts_all *all,
                                 const struct tt_call *call)
{
    int me = team->run.me;
    for (int r = 0; r < all->p; r++)
        TT_TRY(compare(team, call, r, me, (struct counts_piece){count_of(&all->head, r, me), 0},
                       (struct counts_piece){call->out_counts[r], 0}));
    return TUTTI_OK;
}

static tutti_status exchange_counts(tutti_team *team, const struct tt_args *args,
                                    struct counts_all *all, struct tt_prepared **prepared)
{
    struct tt_call call = args->call;
    TT_TRY(tell(team, TT_COLL_allgather, call.in_counts, all->n, all->p));
    TT_TRY(check_counts(team, all, &call));
    call.all_counts = &all->head;
    return tt_prepare_again(&team->cache, &team->run, &call, prepared);
}

static tutti_status prepare_with_all(tutti_team *team, const struct tt_args *args,
                                     struct tt_prepared **prepared)
{
    size_t p = (size_t)team->run.map.p;
    struct counts_all *all = tt_alloc(sizeof *all + p * p * sizeof *all->n);
    if (!all) return tt_fail(TUTTI_ERR_MEMORY, "no memory for the counts of all ranks");
    all->head.count = count_of;
    all->p = (int64_t)p;
    tutti_status status = exchange_counts(team, args, all, prepared);
    tt_free(all);
    return status;
}

/* ---- The counts of the root ---- */

/* What goes between each rank and the root of a gatherv or scatterv. */
struct counts_root {
    struct tt_all_counts head;
    int root;
    struct counts_piece piece[];
};

static int64_t count_with_root(const struct tt_all_counts *all, int from, int to)
{
    const struct counts_root *counts = (const struct counts_root *)all;
    tt_assert(from == counts->root || to == counts->root);
    return counts->piece[from == counts->root ? to : from].n;
}

/* The root tells the pieces, and each rank compares its own with them. */
static tutti_status spread_counts(tutti_team *team, const struct tt_args *args,
                                  struct counts_root *all, struct tt_prepared **prepared)
{
    struct tt_call call = args->call;
    bool gathers = call.coll == TT_COLL_gatherv;
    int p = team->run.map.p, me = team->run.me, root = call.root;
    for (int r = 0; r < p && me == root; r++) all->piece[r] = piece(&call, gathers, r);
    struct tt_args step = {
        .call = {.coll = TT_COLL_bcast,
                 .as = (int8_t)(gathers ? TT_SIGNATURE_GATHERV : TT_SIGNATURE_SCATTERV),
                 .commutes = true,
                 .n = 2 * (int64_t)p,
                 .type = TUTTI_I64,
                 .op = TUTTI_SUM,
                 .root = root},
        .out = all->piece};
    TT_TRY(tt_collective_run(team, &step));
    struct counts_piece own = piece(&call, !gathers, root), told = all->piece[me];
    TT_TRY(gathers ? compare(team, &call, me, root, own, told)
                   : compare(team, &call, root, me, told, own));
    call.all_counts = &all->head;
    return tt_prepare_again(&team->cache, &team->run, &call, prepared);
}

static tutti_status prepare_with_root(tutti_team *team, const struct tt_args *args,
                                      struct tt_prepared **prepared)
{
    size_t p = (size_t)team->run.map.p;
    struct counts_root *all = tt_calloc(1, sizeof *all + p * sizeof *all->piece);
    if (!all) return tt_fail(TUTTI_ERR_MEMORY, "no memory for the counts of the root");
    all->head.count = count_with_root;
    all->root = args->call.root;
    tutti_status status = spread_counts(team, args, all, prepared);
    tt_free(all);
    return status;
}

/* ---- The longest piece ---- */

/* Returns a number that stands for the piece; 0 for an empty one. */
static uint64_t number(int from, int to, struct counts_piece piece)
{
    struct tt_random random;
    uint64_t pair = (uint64_t)(uint32_t)from << 32 | (uint32_t)to;
    if (piece.n == 0) return 0;
    tt_random_seed(&random, pair ^ (uint64_t)piece.n * UINT64_C(0x9e3779b97f4a7c15) ^
                                (uint64_t)piece.types * UINT64_C(0xbf58476d1ce4e5b9));
    return tt_random_next(&random);
}

/* A rank tells all others its longest piece, and the numbers of the pieces that it sends less those
 * of the pieces that it expects. If what is sent is what is expected everywhere, the balances
 * of all ranks add up to 0. Else they do so with a probability of 2^-64; the pieces then have
 * undefined contents, but fit into the blocks. */
struct counts_told {
    int64_t longest;
    uint64_t balance;
};
_Static_assert(sizeof(struct counts_told) == 2 * sizeof(int64_t), "it is sent as two integers");

static struct counts_told told_by(const struct tt_call *call, int p, int me)
{
    struct counts_told told = {0};
    for (int r = 0; r < p; r++) {
        struct counts_piece in = piece(call, false, r), out = piece(call, true, r);
        told.longest = tt_max(told.longest, tt_max(in.n, out.n));
        told.balance += number(me, r, in) - number(r, me, out);
    }
    return told;
}

/* Compares each piece that this rank expects with the one that is sent. `pieces` has room for 2p.
 * Returns an error in any case. */
static tutti_status find_difference(tutti_team *team, const struct tt_call *call,
                                    struct counts_piece *pieces)
{
    int p = team->run.map.p;
    struct counts_piece *sent = pieces + p;
    for (int r = 0; r < p; r++) pieces[r] = piece(call, false, r);
    TT_TRY(tell(team, TT_COLL_alltoall, pieces, sent, 2));
    for (int r = 0; r < p; r++)
        TT_TRY(compare(team, call, r, team->run.me, sent[r], piece(call, true, r)));
    /* A rank that has found the difference does not come here, and its error reaches this rank. */
    TT_TRY(tell(team, TT_COLL_barrier, NULL, NULL, 0));
    (void)tt_fail(TUTTI_ERR_MISMATCH, "alltoallv: what some rank sends is not what is expected");
    return give_up(team);
}

/* Sets *longest to the longest piece of all ranks. `pieces` has room for 2p, which is enough for
 * what all ranks tell. */
static tutti_status agree(tutti_team *team, const struct tt_call *call, struct counts_piece *pieces,
                          int64_t *longest)
{
    int p = team->run.map.p;
    struct counts_told mine = told_by(call, p, team->run.me), *all = (struct counts_told *)pieces;
    uint64_t balance = 0;
    TT_TRY(tell(team, TT_COLL_allgather, &mine, all, 2));
    *longest = 0;
    for (int r = 0; r < p; r++) {
        *longest = tt_max(*longest, all[r].longest);
        balance += all[r].balance;
    }
    return balance == 0 ? TUTTI_OK : find_difference(team, call, pieces);
}

static tutti_status prepare_with_longest(tutti_team *team, const struct tt_args *args,
                                         struct tt_prepared **prepared)
{
    struct tt_call call = args->call;
    struct counts_piece *pieces = tt_alloc(2 * (size_t)team->run.map.p * sizeof *pieces);
    if (!pieces) return tt_fail(TUTTI_ERR_MEMORY, "no memory for what all ranks tell");
    tutti_status status = agree(team, &call, pieces, &call.longest);
    tt_free(pieces);
    if (status != TUTTI_OK) return status;
    return tt_prepare_again(&team->cache, &team->run, &call, prepared);
}

tutti_status tt_counts_prepare(tutti_team *team, const struct tt_args *args,
                               const struct tt_algorithm *algorithm, struct tt_prepared **prepared)
{
    const char *name = tt_coll_name(args->call.coll);
    if (!args->may_wait)
        return tt_fail(TUTTI_ERR_UNSUPPORTED,
                       "TUTTI_ALGORITHM forces %s for %s, whose ranks exchange their counts first: "
                       "only a blocking call and tutti_%s_init can do that",
                       algorithm->name, name, name);
    if (algorithm->first == TT_FIRST_LONGEST) return prepare_with_longest(team, args, prepared);
    return tt_coll_has_root(args->call.coll) ? prepare_with_root(team, args, prepared)
                                             : prepare_with_all(team, args, prepared);
}
