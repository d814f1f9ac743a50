/* SPDX-License-Identifier: BSD-3-Clause
 *
 * odds threads|processes P SLICES SLICE [MICROSECONDS [COLLECTIVE]]: one of P ranks makes a
 * different call from the others, MICROSECONDS later. The other ranks call COLLECTIVE, or without
 * it each collective in turn.
 *
 * The test tries each collective, each argument that may differ, each rank as the odd one, as the
 * last call or as one that others follow, and each way to complete the call. Every affected rank
 * must get TUTTI_ERR_MISMATCH from one of its calls, or at the latest when it leaves, with a
 * message that names both calls. The cases are divided into SLICES slices, of which slice SLICE is
 * run.
 *
 * Ranks that are processes create a client for each case, so that one job tries many cases.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "args.h"
#include "choose/choose.h"
#include "choose/predict.h"
#include "coll/coll.h"
#include "run/settle.h"
#include "type/type.h"

enum { MOST_RANKS = 17, SMALL = 5, LARGE = 20000, ROOM = 2 * MOST_RANKS * (LARGE + 1) };

/* ---- Cases ---- */

/* How the call of the odd rank differs. With AGREE to FREE the odd rank makes a call without
 * buffers. The kinds from GIVES_MORE on are for alltoallv, gatherv and scatterv. With GIVES_...,
 * the odd rank sends one other rank more or less than that rank expects, or nothing, or (ANY)
 * something where that rank expects nothing. With EXPECTS_..., it expects more or less than that
 * rank sends, or nothing, or (ANY) something where that rank sends nothing. */
enum odds_kind {
    OTHER_COLL,
    BARRIER,
    AGREE,
    SHRINK,
    SPLIT,
    DUP,
    DOMAIN,
    CART,
    GRAPH,
    FREE,
    ROOT,
    COUNT,
    NOTHING,
    TYPE,
    OP,
    ORDER,
    LISTS,
    SWAPPED,
    GIVES_MORE,
    GIVES_LESS,
    GIVES_NONE,
    GIVES_ANY,
    EXPECTS_MORE,
    EXPECTS_LESS,
    EXPECTS_NONE,
    EXPECTS_ANY,
    KINDS
};
enum tail { LAST, THEN_BARRIER, THEN_BCAST, TAILS };
enum form { BLOCKING, WAITING, POLLING, FORMS };

struct a_case {
    enum tt_coll coll;
    enum odds_kind kind;
    enum tail tail;
    enum form form;
    int64_t n;
    int p, odd;
};

static const char *const kinds[] = {
    "another collective",
    "a barrier",
    "team_agree",
    "team_shrink",
    "team_split",
    "team_dup",
    "team_split_domain",
    "team_cart",
    "team_graph",
    "team_free",
    "another root",
    "another n",
    "n=0",
    "another type",
    "another operation",
    "in rank order",
    "other counts",
    "counts swapped",
    "gives more",
    "gives less",
    "gives nothing",
    "gives at all",
    "expects more",
    "expects less",
    "expects nothing",
    "expects at all",
};

static bool is_other_call(enum odds_kind kind)
{
    return kind >= AGREE && kind <= FREE;
}

/* ---- Calls ---- */

struct lists {
    int64_t in_counts[MOST_RANKS], out_counts[MOST_RANKS], displs[MOST_RANKS];
};

/* Returns how many elements go from one rank to another in a call that matches. In cases of the
 * kinds GIVES_ANY and EXPECTS_ANY, a rank sends elements only to itself. */
static int64_t count_of(const struct a_case *k, int from, int to)
{
    bool empty = k->kind == GIVES_ANY || k->kind == EXPECTS_ANY;
    return empty && from != to ? 0 : k->n + from + to;
}

static struct tt_call plain_call(const struct a_case *k, int me, struct lists *l)
{
    struct tt_call c = {.commutes = true, .coll = k->coll, .n = k->n, .type = TUTTI_F64};
    bool pairs = tt_coll_pairs(c.coll);
    for (int r = 0; r < k->p; r++) {
        l->displs[r] = r * (LARGE + 2 * MOST_RANKS);
        l->in_counts[r] = count_of(k, me, r);
        l->out_counts[r] = pairs ? count_of(k, r, me) : k->n + r;
    }
    if (tt_call_counts(&c)) c.n = 0, c.out_counts = l->out_counts;
    if (tt_call_segments(&c)) c.out_displs = l->displs;
    if (pairs) c.in_counts = l->in_counts, c.in_displs = l->displs;
    if (c.coll == TT_COLL_barrier) c.n = 0, c.type = (tutti_type)0;
    return c;
}

/* Returns the rank for which the odd rank passes a wrong count, in cases in which a count differs.
 */
static int other_of(const struct a_case *k)
{
    return (k->odd + 1) % k->p;
}

static void make_uneven(const struct a_case *k, struct lists *l)
{
    bool gives = k->kind >= GIVES_MORE && k->kind <= GIVES_ANY;
    int64_t *count = gives ? &l->in_counts[other_of(k)] : &l->out_counts[other_of(k)];
    switch (k->kind) {
    case GIVES_LESS:
    case EXPECTS_LESS: *count -= 2; break;
    case GIVES_NONE:
    case EXPECTS_NONE: *count = 0; break;
    default: *count += 2;
    }
}

/* Returns whether the odd rank passes a count of what it sends to the rank that other_of() returns
 * (if `gives` is true), or of what it expects from this rank. In a gatherv or scatterv only the
 * root and one more rank exchange data. */
static bool has_count(const struct a_case *k, bool gives)
{
    const int root = 0;
    int giver = gives ? k->odd : other_of(k), taker = gives ? other_of(k) : k->odd;
    if (k->coll == TT_COLL_gatherv) return taker == root;
    return k->coll == TT_COLL_scatterv ? giver == root : k->coll == TT_COLL_alltoallv;
}

/* Changes the argument of the odd rank's call that the kind names. Returns false if the collective
 * has no such argument. */
static bool alter(const struct a_case *k, struct tt_call *c, struct lists *l)
{
    bool moves = c->coll != TT_COLL_barrier;
    switch (k->kind) {
    case ROOT: c->root = 1; return tt_coll_has_root(c->coll);
    case COUNT: c->n++; return moves && !tt_call_counts(c);
    case NOTHING: c->n = 0; return moves && !tt_call_counts(c);
    case TYPE: c->type = TUTTI_I64; return moves && c->coll != TT_COLL_alltoallv;
    case OP: c->op = TUTTI_MAX; return tt_coll_has_op(c->coll);
    case ORDER: c->commutes = false; return tt_coll_has_op(c->coll);
    case LISTS: l->out_counts[0]++; break;
    case SWAPPED: l->out_counts[0]++, l->out_counts[k->p - 1]--; break;
    default: make_uneven(k, l); return has_count(k, k->kind <= GIVES_ANY);
    }
    return c->coll == TT_COLL_allgatherv || c->coll == TT_COLL_reduce_scatter;
}

static bool odd_call(const struct a_case *k, int me, struct lists *l, struct tt_call *c)
{
    struct a_case other = *k;
    *c = plain_call(k, me, l);
    if (is_other_call(k->kind)) return true;
    if (k->kind > BARRIER) return alter(k, c, l);
    other.coll = k->kind == BARRIER ? TT_COLL_barrier : (k->coll + 1) % TT_COLLS;
    if (other.coll == k->coll || (k->kind == OTHER_COLL && other.coll == TT_COLL_barrier))
        return false;
    *c = plain_call(&other, me, l);
    return true;
}

/* ---- The errors that a rank gets ---- */

struct heard {
    tutti_status status;
    bool cut_short; /* the case ended before this rank made the call on the team */
    bool concerned; /* this rank has to get the error */
    char text[512];
};

static void hear(struct heard *h, tutti_status status)
{
    if (status == TUTTI_OK || h->status != TUTTI_OK) return;
    h->status = status;
    snprintf(h->text, sizeof h->text, "%s", tutti_error());
}

static bool says_calls(const struct a_case *k, const char *text)
{
    struct lists lists[2];
    struct tt_call plain = plain_call(k, 0, &lists[0]), odd;
    char one[TT_SIGNATURE_TEXT], other[TT_SIGNATURE_TEXT];
    (void)odd_call(k, 0, &lists[1], &odd);
    if (tt_call_counts(&plain) && plain.coll == TT_COLL_reduce_scatter) plain.n = 0;
    struct tt_call_signature a = tt_signature_of(&plain, k->p, 0),
                             b = tt_signature_of(&odd, k->p, 0);
    if (is_other_call(k->kind)) snprintf(other, sizeof other, "%s()", kinds[k->kind]);
    if (is_other_call(k->kind))
        return strstr(text, tt_signature_text(&a, one, sizeof one)) && strstr(text, other);
    return strstr(text, tt_signature_text(&a, one, sizeof one)) &&
           strstr(text, tt_signature_text(&b, other, sizeof other));
}

static bool says_pair(const struct a_case *k, const char *text)
{
    struct lists odd, other;
    struct tt_call c;
    char sends[96], expects[96];
    int j = other_of(k);
    (void)plain_call(k, j, &other);
    (void)odd_call(k, k->odd, &odd, &c);
    bool gives = k->kind <= GIVES_ANY;
    long long sent = gives ? odd.in_counts[j] : other.in_counts[k->odd];
    long long wanted = gives ? other.out_counts[k->odd] : odd.out_counts[j];
    snprintf(sends, sizeof sends, "rank %d sends rank %d n=%lld of f64", gives ? k->odd : j,
             gives ? j : k->odd, sent);
    snprintf(expects, sizeof expects, "rank %d expects n=%lld", gives ? j : k->odd, wanted);
    return strstr(text, sends) && strstr(text, expects);
}

/* ---- The ranks that have to get an error ---- */

/* whether the ranks are on several nodes */
static _Atomic bool apart;

static bool has_peer(const struct tt_plain *s, int rank)
{
    bool moves = s->kind == TT_SEND || s->kind == TT_RECV || s->kind == TT_PUT || s->kind == TT_GET;
    if (s->kind == TT_SIGNAL && s->peer == TT_SET) {
        for (uint32_t i = 0; i < s->nops; i++)
            if (s->set[i] == rank) return true;
        return false;
    }
    if (s->kind == TT_SIGNAL && s->peer == TT_ALL) return true;
    return (moves || s->kind == TT_SIGNAL || s->kind == TT_AWAIT) && s->peer == rank;
}

static bool lane_names(const struct tt_plan *plan, int lane, int rank)
{
    struct tt_iter iter;
    struct tt_plain step;
    bool named = false;
    void *memory = calloc(1, tt_iter_bytes(plan, lane) + 8);
    if (!memory) abort();
    tt_iter_begin(&iter, plan, lane, memory);
    while (!named && tt_iter_next(&iter, &step)) named = has_peer(&step, rank);
    free(memory);
    return named;
}

/* Returns whether rank `me` exchanges data or signals with rank `other` in this call. */
static bool exchanges(struct tt_call call, const struct tt_map *map, int me, int other)
{
    struct tt_choice choice;
    bool named = false, is_short;
    if (call.coll != TT_COLL_barrier) call.sz = (int64_t)tutti_type_size(call.type);
    if (call.coll == TT_COLL_reduce_scatter)
        for (int r = 0; r < map->p; r++) call.n += call.out_counts[r];
    if (tt_choose(&call, map, NULL, &choice, NULL) != TUTTI_OK) abort();
    const struct tt_algorithm *algorithm = choice.algorithm;
    struct tt_map own = tt_plan_map(algorithm, &call, map, &is_short);
    struct tt_plan *plan = tt_algorithm_plan(algorithm, &call, &own, me);
    if (!plan) abort();
    for (uint32_t lane = 0; lane < plan->lanes && !named; lane++)
        named = lane_names(plan, (int)lane, other);
    tt_plan_free(plan);
    return named;
}

/* Returns whether this rank has to get an error. If the odd rank passes a count for another rank
 * that does not match, only these two ranks have to. Otherwise every rank has to in a small team or
 * on one node; in a large team on several nodes only the odd rank and the ranks that exchange data
 * or signals with it. */
static bool is_concerned(const struct a_case *k, const tutti_team *team, int me)
{
    enum { FEW = 8 };
    struct lists lists;
    struct tt_call mine = plain_call(k, me, &lists);
    if (me == k->odd || (k->kind >= GIVES_MORE && me == other_of(k))) return true;
    if (k->kind >= GIVES_MORE) return false;
    if (k->p <= FEW || !apart) return true;
    return exchanges(mine, &team->run.map, me, k->odd);
}

static bool is_right(const struct a_case *k, const struct heard *h)
{
    bool pair = k->kind >= GIVES_MORE;
    if (h->cut_short || (!h->concerned && h->status != TUTTI_ERR_MISMATCH)) return true;
    if (h->status != TUTTI_ERR_MISMATCH) return false;
    return pair ? says_pair(k, h->text) : says_calls(k, h->text);
}

static void complain(const struct a_case *k, int me, const struct heard *h)
{
    static const char *const tails[] = {"last", "then a barrier", "then a bcast"},
                             *const forms[] = {"blocking", "waiting", "polling"};
    fprintf(stderr, "%s n=%lld, rank %d of %d: %s; %s, %s: rank %d heard %s: %s\n",
            tt_coll_name(k->coll), (long long)k->n, k->odd, k->p, kinds[k->kind], tails[k->tail],
            forms[k->form], me, tutti_status_text(h->status), h->text);
}

/* ---- One rank ---- */

static tutti_status complete(tutti_request *request, enum form form)
{
    tutti_status status;
    do {
        status = form == WAITING ? tutti_wait(request) : tutti_test(request);
    } while (status == TUTTI_AGAIN);
    char text[512];
    snprintf(text, sizeof text, "%s", tutti_error());
    if (tutti_request_free(request) != TUTTI_OK) abort();
    return status == TUTTI_OK ? TUTTI_OK : tt_fail(status, "%s", text);
}

static tutti_status run(tutti_team *team, struct tt_args *args, enum form form)
{
    tutti_request *request;
    if (form == BLOCKING) return tt_collective_run(team, args);
    tutti_status status = tt_collective_start(team, args, &request);
    return status == TUTTI_OK ? complete(request, form) : status;
}

static tutti_status make_team(tutti_team *team, enum odds_kind kind, tutti_team **part)
{
    int one = 1;
    switch (kind) {
    case SHRINK: return tutti_team_shrink(team, part);
    case DUP: return tutti_team_dup(team, part);
    case DOMAIN: return tutti_team_split_domain(team, TUTTI_DOMAIN_NODE, 0, part);
    case CART: return tutti_team_cart(team, 1, &one, NULL, TUTTI_CART_LAST_FASTEST, part);
    case GRAPH: return tutti_team_graph(team, 0, NULL, 0, NULL, part);
    default: return tutti_team_split(team, 0, 0, part);
    }
}

/* Makes a call without buffers. No such call may create a team here, because the calls do not
 * match. */
static tutti_status other_call(tutti_team *team, enum odds_kind kind)
{
    int64_t value = 1;
    tutti_team *part = NULL;
    if (kind == AGREE) return tutti_team_agree(team, &value, NULL);
    if (kind == FREE) return tutti_team_free(team);
    tutti_status status = make_team(team, kind, &part);
    if (status == TUTTI_OK) fprintf(stderr, "a team was made\n");
    return status;
}

static useconds_t late_us; /* microseconds that the odd rank waits before its call */

/* Buffers are never freed, because other ranks may not have noticed the error yet. */
static double buffers[MOST_RANKS][2][ROOM];

static void play_on(const struct a_case *k, tutti_team *world, struct heard *h)
{
    int me = tutti_rank(world);
    apart = world->client->fabric.nodes > 1;
    h->concerned = is_concerned(k, world, me);
    if (me == k->odd && late_us > 0) usleep(late_us);
    if (me == k->odd && is_other_call(k->kind)) {
        hear(h, other_call(world, k->kind));
        return;
    }
    double *mine = buffers[me][0], one = 1;
    struct lists lists;
    struct tt_call call = plain_call(k, me, &lists);
    if (me == k->odd) (void)odd_call(k, me, &lists, &call);
    struct tt_args args = args_of(&call);
    args.in = args.call.coll == TT_COLL_bcast ? NULL : mine;
    args.out = buffers[me][1];
    hear(h, run(world, &args, k->form));
    if (k->tail == THEN_BARRIER && h->status == TUTTI_OK) hear(h, tutti_barrier(world));
    if (k->tail == THEN_BCAST && h->status == TUTTI_OK)
        hear(h, tutti_bcast(world, &one, 1, TUTTI_F64, 0));
}

/* Makes the calls of a case. The world cannot be freed, so cases of kind FREE use a team of all
 * ranks, which tutti_team_split makes. Between nodes another member may already fail in its later
 * calls on that team before the split has ended at this rank. This rank then gets TUTTI_ERR_PEER
 * from the split and makes no call on the team. */
static void play(const struct a_case *k, tutti_team *world, struct heard *h)
{
    tutti_team *team = world;
    h->concerned = true;
    if (k->kind == FREE) hear(h, tutti_team_split(world, 0, 0, &team));
    h->cut_short = h->status == TUTTI_ERR_PEER && world->client->fabric.nodes > 1;
    if (h->status != TUTTI_OK) return;
    play_on(k, team, h);
    if (k->kind == FREE && tutti_rank(world) != k->odd) hear(h, tutti_team_free(team));
}

/* ---- Jobs of threads ---- */

static _Atomic int wrong, tried;

/* Tries a case at one rank. tutti_threads returns the status of one rank only. So each thread here
 * compares its last calls with those of the other ranks, as tutti_finalize does, also for teams
 * that were freed. */
static void in_thread(tutti_client *client, void *arg)
{
    const struct a_case *k = arg;
    struct heard h = {.status = TUTTI_OK};
    tutti_team *world = tutti_world(client);
    play(k, world, &h);
    int64_t until_ns = tt_clock_ns() + TT_SETTLE_NS;
    for (tutti_team *t = client->teams; t; t = t->next)
        hear(&h, tt_team_settle(&t->run, &until_ns, TT_DOING_FINALIZE));
    if (is_right(k, &h)) return;
    complain(k, tutti_rank(world), &h);
    wrong++;
}

/* Returns whether tutti_finalize may return this error although the rank's own comparison passed,
 * because another rank found the mismatch later. This can happen to a rank that got an error from
 * tutti_team_split and so did not make the call (kind FREE on several nodes), and to a rank that
 * neither sends nor expects the count that differs. */
static bool may_end_late(const struct a_case *k, tutti_status status)
{
    if (status != TUTTI_ERR_MISMATCH) return false;
    return (k->kind == FREE && apart) || (k->kind >= GIVES_MORE && says_pair(k, tutti_error()));
}

static void try_threads(struct a_case *k)
{
    tutti_status status = tutti_threads(k->p, in_thread, k);
    if (status == TUTTI_OK || may_end_late(k, status)) return;
    struct heard h = {.status = status};
    snprintf(h.text, sizeof h.text, "by tutti_threads: %s", tutti_error());
    complain(k, -1, &h);
    wrong++;
}

/* ---- Jobs of processes ---- */

static void try_process(struct a_case *k)
{
    tutti_client *client;
    struct heard h = {.status = TUTTI_OK};
    if (tutti_init(&client) != TUTTI_OK) {
        fprintf(stderr, "cannot join: %s\n", tutti_error());
        exit(9);
    }
    int me = tutti_rank(tutti_world(client));
    play(k, tutti_world(client), &h);
    hear(&h, tutti_finalize(client));
    if (is_right(k, &h)) return;
    complain(k, me, &h);
    wrong++;
}

/* ---- All cases ---- */

struct slices {
    int n, mine, next;
};

static void try_one(struct a_case *k, struct slices *s, void (*try)(struct a_case *))
{
    struct lists lists;
    struct tt_call call;
    if (!odd_call(k, k->odd, &lists, &call)) return;
    if (s->next++ % s->n != s->mine) return;
    try(k);
    tried++;
}

static void try_ways(struct a_case *k, struct slices *s, void (*try)(struct a_case *))
{
    for (int tail = 0; tail < TAILS; tail++)
        for (int form = 0; form < FORMS; form++)
            for (k->odd = 0; k->odd < k->p; k->odd++) {
                k->tail = (enum tail)tail;
                k->form = (enum form)form;
                try_one(k, s, try);
            }
}

static void try_all(int p, const char *only, struct slices *s, void (*try)(struct a_case *))
{
    const int64_t sizes[] = {SMALL, LARGE};
    for (int coll = 0; coll < TT_COLLS; coll++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int size = 0; size < 2; size++) {
                struct a_case k = {.coll = (enum tt_coll)coll,
                                   .kind = (enum odds_kind)kind,
                                   .n = sizes[size],
                                   .p = p};
                if (coll == TT_COLL_barrier && size > 0) continue;
                if (only && strcmp(only, tt_coll_name(k.coll)) != 0) continue;
                try_ways(&k, s, try);
            }
}

int main(int argc, char **argv)
{
    if (argc < 5) return 7;
    bool threads = strcmp(argv[1], "threads") == 0;
    struct slices slices = {.n = atoi(argv[3]), .mine = atoi(argv[4])};
    int p = atoi(argv[2]);
    late_us = argc > 5 ? (useconds_t)atoi(argv[5]) : 0;
    if (p < 2 || p > MOST_RANKS || slices.n < 1) return 7;
    try_all(p, argc > 6 ? argv[6] : NULL, &slices, threads ? try_threads : try_process);
    printf("%d ranks: %d cases\n", p, tried);
    return wrong > 0 ? 8 : 0;
}
