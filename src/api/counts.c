/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Some algorithms for an alltoallv, gatherv or scatterv need more than each rank's own counts.
 * Before a rank makes the plan, the ranks exchange what the algorithm needs (tt_algorithm.first):
 *
 *     COUNTS    all counts, by an allgather; in a gatherv or scatterv, whose root knows them, by a
 *               bcast
 *     LONGEST   the longest piece of each rank, by an allgather
 *
 * If a piece passes through third ranks, no message says to the receiver how much the sender has
 * for it. So this file compares what each rank sends with what its receiver expects. To the
 * allgather each rank adds a number, its balance; the sum of all balances shows whether all pieces
 * agree. If they do not, all ranks look for the difference, and no rank makes a plan.
 */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "run/compare.h"
#include "type/layout.h"

/* Runs a collective of n 64-bit words among the ranks, which counts as no call of the user. */
static tutti_status exchange(tutti_team *team, enum tt_coll coll, const void *mine, void *all,
                             int64_t n)
{
    return tt_team_step(team, TT_SIGNATURE_COUNTING, coll, mine, all, n);
}

/* ---- Pieces ---- */

/* A piece that a rank sends to another rank, or expects from it. It consists of n elements of the
 * type in the call signature. If the call has contents (struct tt_contents), it consists of n bytes
 * instead, and `type` and `hash` describe them. */
struct counts_piece {
    int64_t n;
    int32_t type;
    uint32_t hash;
};
_Static_assert(sizeof(struct counts_piece) == 2 * sizeof(int64_t),
               "this structure is sent as two integers");

static struct counts_piece piece(const struct tt_call *c, bool out, int r)
{
    struct counts_piece piece = {.n = out ? c->out_counts[r] : c->in_counts[r]};
    if (!(out ? c->out_contents : c->in_contents)) return piece;
    const struct tt_contents contents = tt_call_contents(c, out, r);
    piece.type = contents.type;
    piece.hash = contents.hash;
    return piece;
}

/* Returns a pseudorandom number that sender, receiver and piece determine, so that both ranks
 * compute the same number; 0 for an empty piece. */
static uint64_t number(int from, int to, struct counts_piece piece)
{
    struct tt_random random;
    uint64_t pair = (uint64_t)(uint32_t)from << 32 | (uint32_t)to;
    if (piece.n == 0) return 0;
    tt_random_seed(&random, pair ^ (uint64_t)piece.n * UINT64_C(0x9e3779b97f4a7c15) ^
                                piece.hash * UINT64_C(0xbf58476d1ce4e5b9));
    return tt_random_next(&random);
}

/* Returns this rank's balance. Each piece has a pseudorandom number, which depends on the sender,
 * the receiver, the length and the hash of the types (0 for an empty piece). The balance is the sum
 * of the numbers of the pieces that this rank sends, minus the sum of the numbers of the pieces
 * that it expects. If every rank expects what is sent to it, the balances of all ranks add up to 0.
 * If not, they add up to 0 only with a probability of 2^-64. */
static uint64_t balance_of(const struct tt_call *call, int p, int me)
{
    uint64_t balance = 0;
    for (int r = 0; r < p; r++)
        balance += number(me, r, piece(call, false, r)) - number(r, me, piece(call, true, r));
    return balance;
}

/* ---- Pieces that differ ---- */

static void describe(const struct tt_call *call, struct counts_piece piece, char *text, size_t n)
{
    const struct tt_contents contents = {piece.n, piece.type, piece.hash};
    const struct tt_call_signature called = {.type = (int32_t)call->type};
    char type[TT_SIGNATURE_TEXT];
    if (call->out_contents)
        tt_signature_contents(&contents, 0, text, n);
    else
        snprintf(text, n, "n=%lld of %s", (long long)piece.n,
                 tt_signature_type(&called, type, sizeof type));
}

/* Breaks the team because this rank has found a mismatch. While tt_team_break notifies the other
 * ranks, this rank may receive their errors, whose texts then replace that of tutti_error(). So the
 * function ends with tt_team_error, which sets the text to that of the mismatch again. */
static tutti_status give_up(tutti_team *team)
{
    tt_team_break(&team->run, TUTTI_ERR_MISMATCH);
    return tt_team_error(&team->run);
}

/* Compares what rank `from` sends to rank `to` with what rank `to` expects, and breaks the team if
 * the two differ. `from` or `to` is this rank. */
static tutti_status compare(tutti_team *team, const struct tt_call *call, int from, int to,
                            struct counts_piece sent, struct counts_piece expected)
{
    if (sent.n == expected.n && (expected.n == 0 || sent.hash == expected.hash)) return TUTTI_OK;
    const struct tt_call_signature called = tt_signature_of(call, team->run.map.p, 0);
    int giver = team->run.job_rank[from], taker = team->run.job_rank[to];
    char one[TT_SIGNATURE_TEXT], other[TT_SIGNATURE_TEXT], out[32], in[32], which[TT_WHICH_TEXT];
    describe(call, sent, one, sizeof one);
    describe(call, expected, other, sizeof other);
    (void)tt_fail(TUTTI_ERR_MISMATCH,
                  "%s: rank %d sends rank %d %s%s where rank %d expects %s%s%s%s",
                  tt_signature_name(&called), giver, taker, one,
                  tt_signature_argument(&called, true, to, out, sizeof out), taker, other,
                  tt_signature_argument(&called, false, from, in, sizeof in),
                  strcmp(one, other) == 0 ? ", but divided or ordered in another way" : "",
                  tt_compare_which_team(&team->run, which, sizeof which));
    return give_up(team);
}

/* Compares each piece that this rank expects with the piece that is sent to it. `pieces` is scratch
 * for 2p pieces, p being the size of the team. Returns an error in any case. */
static tutti_status compare_pieces(tutti_team *team, const struct tt_call *call,
                                   struct counts_piece *pieces)
{
    int p = team->run.map.p;
    struct counts_piece *sent = pieces + p;
    for (int r = 0; r < p; r++) pieces[r] = piece(call, false, r);
    TT_TRY(exchange(team, TT_COLL_alltoall, pieces, sent, 2));
    for (int r = 0; r < p; r++)
        TT_TRY(compare(team, call, r, team->run.me, sent[r], piece(call, true, r)));
    /* If another rank has found the difference, it has broken the team and does not call this
     * barrier. The barrier then returns the error of that rank. */
    TT_TRY(exchange(team, TT_COLL_barrier, NULL, NULL, 0));
    const struct tt_call_signature called = tt_signature_of(call, p, 0);
    (void)tt_fail(TUTTI_ERR_MISMATCH,
                  "%s: a rank sends a piece that differs from what its receiver expects",
                  tt_signature_name(&called));
    return give_up(team);
}

static tutti_status find_difference(tutti_team *team, const struct tt_call *call)
{
    struct counts_piece *pieces = tt_alloc(2 * (size_t)team->run.map.p * sizeof *pieces);
    if (!pieces) return tt_fail(TUTTI_ERR_MEMORY, "no memory to compare what ranks send");
    tutti_status status = compare_pieces(team, call, pieces);
    tt_free(pieces);
    return status;
}

/* ---- All counts ---- */

/* The counts of all ranks. Rank `from` has n[from * row + to] elements for rank `to`, and the
 * balance n[from * row + p], where row = p + 1. */
struct counts_all {
    struct tt_all_counts head;
    int64_t row, n[];
};

static int64_t count_of(const struct tt_all_counts *all, int from, int to)
{
    const struct counts_all *counts = (const struct counts_all *)all;
    return counts->n[from * counts->row + to];
}

static tutti_status exchange_counts(tutti_team *team, const struct tt_args *args,
                                    struct counts_all *all, struct tt_prepared **prepared)
{
    struct tt_call call = args->call;
    int p = team->run.map.p, me = team->run.me;
    int64_t *mine = all->n + me * all->row;
    uint64_t balance = 0;
    memcpy(mine, call.in_counts, (size_t)p * sizeof *mine);
    mine[p] = (int64_t)balance_of(&call, p, me);
    TT_TRY(exchange(team, TT_COLL_allgather, TUTTI_IN_PLACE, all->n, all->row));
    for (int r = 0; r < p; r++) balance += (uint64_t)count_of(&all->head, r, p);
    if (balance != 0) return find_difference(team, &call);
    call.all_counts = &all->head;
    return tt_prepare(&team->cache, &team->run, &call, prepared);
}

static tutti_status prepare_with_all(tutti_team *team, const struct tt_args *args,
                                     struct tt_prepared **prepared)
{
    size_t p = (size_t)team->run.map.p;
    struct counts_all *all = tt_alloc(sizeof *all + p * (p + 1) * sizeof *all->n);
    if (!all) return tt_fail(TUTTI_ERR_MEMORY, "no memory for the counts of all ranks");
    all->head.count = count_of;
    all->row = (int64_t)p + 1;
    tutti_status status = exchange_counts(team, args, all, prepared);
    tt_free(all);
    return status;
}

/* ---- The counts of the root ---- */

/* piece[r]: what rank r and the root of a gatherv or scatterv exchange. */
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

/* Broadcasts the pieces from the root. Each rank compares its own piece with the root's piece for
 * it, and makes the plan. */
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
    struct counts_piece own = piece(&call, !gathers, root), theirs = all->piece[me];
    TT_TRY(gathers ? compare(team, &call, me, root, own, theirs)
                   : compare(team, &call, root, me, theirs, own));
    call.all_counts = &all->head;
    return tt_prepare(&team->cache, &team->run, &call, prepared);
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

struct counts_summary {
    int64_t longest;
    uint64_t balance;
};
_Static_assert(sizeof(struct counts_summary) == 2 * sizeof(int64_t),
               "this structure is sent as two integers");

static struct counts_summary summary_of(const struct tt_call *call, int p, int me)
{
    struct counts_summary summary = {.balance = balance_of(call, p, me)};
    for (int r = 0; r < p; r++)
        summary.longest = tt_max(summary.longest, tt_max(call->in_counts[r], call->out_counts[r]));
    return summary;
}

/* Sets *longest to the length of the longest piece of all ranks. `all` is scratch with one entry
 * for each rank. */
static tutti_status agree(tutti_team *team, const struct tt_call *call, struct counts_summary *all,
                          int64_t *longest)
{
    int p = team->run.map.p;
    const struct counts_summary mine = summary_of(call, p, team->run.me);
    uint64_t balance = 0;
    TT_TRY(exchange(team, TT_COLL_allgather, &mine, all, 2));
    *longest = 0;
    for (int r = 0; r < p; r++) {
        *longest = tt_max(*longest, all[r].longest);
        balance += all[r].balance;
    }
    return balance == 0 ? TUTTI_OK : find_difference(team, call);
}

/* Makes the plan with the longest piece of all ranks, and keeps the plan for calls with equal
 * arguments. If all pieces are empty, the plan is not kept: it would be kept with `longest` = 0,
 * which marks the plans of calls whose ranks exchange no counts. */
static tutti_status prepare_with_longest(tutti_team *team, const struct tt_args *args,
                                         struct tt_as_given given, struct tt_prepared **prepared)
{
    struct tt_call call = args->call;
    struct counts_summary *all = tt_alloc((size_t)team->run.map.p * sizeof *all);
    if (!all) return tt_fail(TUTTI_ERR_MEMORY, "no memory for what all ranks exchange");
    tutti_status status = agree(team, &call, all, &call.longest);
    tt_free(all);
    if (status != TUTTI_OK) return status;
    given.longest = call.longest;
    return given.longest > 0 ? tt_prepare_given(team, &call, &given, prepared)
                             : tt_prepare(&team->cache, &team->run, &call, prepared);
}

tutti_status tt_counts_prepare(tutti_team *team, const struct tt_args *args,
                               const struct tt_as_given *given,
                               const struct tt_algorithm *algorithm, struct tt_prepared **prepared)
{
    const char *neighbors = tt_type_neighbors(args->call.type);
    const char *name = neighbors     ? neighbors
                       : args->typed ? "alltoallw"
                                     : tt_coll_name(args->call.coll);
    if (!args->may_wait)
        return tt_fail(TUTTI_ERR_UNSUPPORTED,
                       "TUTTI_ALGORITHM forces %s for %s, whose ranks exchange their counts first: "
                       "only a blocking call and tutti_%s_init can do that",
                       algorithm->name, name, name);
    if (algorithm->first == TT_FIRST_LONGEST)
        return prepare_with_longest(team, args, *given, prepared);
    return tt_coll_has_root(args->call.coll) ? prepare_with_root(team, args, prepared)
                                             : prepare_with_all(team, args, prepared);
}
