/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One rank of a benchmark: verifies one call, then times batches of calls. There is no barrier
 * between the calls of a batch, as in a real program. Each call uses other buffers than the call
 * before it. The time of a batch is the time that its slowest rank took.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "bench.h"
#include "coll/coll.h"
#include "command.h"

enum { BATCHES_LEAST = 5, BATCHES_MOST = 2000, TRIES = 3 };
static const int64_t usual_batch_ns = 1000000, calls_most = 1 << 20;

static tutti_status call_neighbors(const struct tt_bench *b, const void *in, void *out,
                                   tutti_request **request)
{
    const struct tt_neighbors *n = b->call.neighbors;
    const int64_t *to = b->pieces, *from = b->pieces + 2 * n->to_n;
    if (!request)
        return tutti_neighbor_alltoallv(b->team, in, to, to + n->to_n, out, from, from + n->from_n,
                                        b->call.type);
    return tutti_neighbor_alltoallv_init(b->team, in, to, to + n->to_n, out, from, from + n->from_n,
                                         b->call.type, 0, request);
}

static tutti_status call_v(const struct tt_bench *b, const void *in, void *out)
{
    const struct tt_call *c = &b->call;
    if (c->neighbors) return call_neighbors(b, in, out, NULL);
    if (c->coll == TT_COLL_allgatherv)
        return tutti_allgatherv(b->team, in, out, c->out_counts, c->out_displs, c->type);
    if (c->coll == TT_COLL_gatherv)
        return tutti_gatherv(b->team, in, c->in_counts[c->root], out, c->out_counts, c->out_displs,
                             c->type, c->root);
    if (c->coll == TT_COLL_scatterv)
        return tutti_scatterv(b->team, in, c->in_counts, c->in_displs, out, c->out_counts[c->root],
                              c->type, c->root);
    return tutti_alltoallv(b->team, in, c->in_counts, c->in_displs, out, c->out_counts,
                           c->out_displs, c->type);
}

static tutti_status call_once(const struct tt_bench *b, const char *input, char *out)
{
    const struct tt_call *c = &b->call;
    const void *in = input;
    if (c->in_place && (!tt_coll_is_roots(c->coll) || b->me == c->root)) in = TUTTI_IN_PLACE;
    switch (c->coll) {
    case TT_COLL_barrier: return tutti_barrier(b->team);
    case TT_COLL_bcast: return tutti_bcast(b->team, out, c->n, c->type, c->root);
    case TT_COLL_reduce: return tutti_reduce(b->team, in, out, c->n, c->type, c->op, c->root);
    case TT_COLL_allreduce: return tutti_allreduce(b->team, in, out, c->n, c->type, c->op);
    case TT_COLL_scan: return tutti_scan(b->team, in, out, c->n, c->type, c->op);
    case TT_COLL_exscan: return tutti_exscan(b->team, in, out, c->n, c->type, c->op);
    case TT_COLL_reduce_scatter_block:
        return tutti_reduce_scatter_block(b->team, in, out, c->n, c->type, c->op);
    case TT_COLL_reduce_scatter:
        return tutti_reduce_scatter(b->team, in, out, c->out_counts, c->type, c->op);
    case TT_COLL_gather: return tutti_gather(b->team, in, out, c->n, c->type, c->root);
    case TT_COLL_allgather: return tutti_allgather(b->team, in, out, c->n, c->type);
    case TT_COLL_alltoall: return tutti_alltoall(b->team, in, out, c->n, c->type);
    case TT_COLL_scatter: return tutti_scatter(b->team, in, out, c->n, c->type, c->root);
    default: return call_v(b, in, out);
    }
}

/* ---- The call of the case on a derived type ---- */

enum { GAP = 0x6b };

/* Returns a copy of the elements with a gap after each. A gap is as long as an element, and each of
 * its bytes is GAP. */
static char *spread(const char *from, int64_t bytes, int64_t sz)
{
    char *to = malloc((size_t)(2 * bytes) + 1);
    for (int64_t at = 0; to && at < bytes; at += sz) {
        memcpy(to + 2 * at, from + at, (size_t)sz);
        memset(to + 2 * at + sz, GAP, (size_t)sz);
    }
    return to;
}

/* Copies the elements without the gaps to `to`. Returns whether all bytes of the gaps are still
 * GAP. */
static bool collect(char *to, const char *from, int64_t bytes, int64_t sz)
{
    bool kept = true;
    for (int64_t at = 0; at < bytes; at += sz) {
        memcpy(to + at, from + 2 * at, (size_t)sz);
        for (int64_t i = 0; i < sz; i++) kept = kept && from[2 * at + sz + i] == GAP;
    }
    return kept;
}

static tutti_status call_with_gaps(const struct tt_bench *b, char *in, char *out, bool *kept)
{
    struct tt_bench wide = *b;
    int64_t sz = b->call.sz;
    char *wide_in = spread(in, b->in_bytes, sz), *wide_out = spread(out, b->out_bytes, sz);
    tutti_status status = TUTTI_ERR_MEMORY;
    if (wide_in && wide_out) status = tutti_type_resized(b->call.type, 0, 2 * sz, &wide.call.type);
    if (status == TUTTI_OK) {
        status = call_once(&wide, wide_in, wide_out);
        (void)tutti_type_free(wide.call.type);
        bool in_kept = collect(in, wide_in, b->in_bytes, sz);
        *kept = collect(out, wide_out, b->out_bytes, sz) && in_kept;
    }
    free(wide_in);
    free(wide_out);
    return status;
}

/* ---- The call of the case as a persistent request, whose plan names the chosen algorithm ---- */

static tutti_status plan_reduction(const struct tt_bench *b, const void *in, char *out,
                                   tutti_request **request)
{
    const struct tt_call *c = &b->call;
    tutti_team *t = b->team;
    switch (c->coll) {
    case TT_COLL_reduce:
        return tutti_reduce_init(t, in, out, c->n, c->type, c->op, c->root, 0, request);
    case TT_COLL_allreduce:
        return tutti_allreduce_init(t, in, out, c->n, c->type, c->op, 0, request);
    case TT_COLL_scan: return tutti_scan_init(t, in, out, c->n, c->type, c->op, 0, request);
    case TT_COLL_exscan: return tutti_exscan_init(t, in, out, c->n, c->type, c->op, 0, request);
    case TT_COLL_reduce_scatter_block:
        return tutti_reduce_scatter_block_init(t, in, out, c->n, c->type, c->op, 0, request);
    default:
        return tutti_reduce_scatter_init(t, in, out, c->out_counts, c->type, c->op, 0, request);
    }
}

static tutti_status plan_v(const struct tt_bench *b, const void *in, char *out,
                           tutti_request **request)
{
    const struct tt_call *c = &b->call;
    if (c->neighbors) return call_neighbors(b, in, out, request);
    if (c->coll == TT_COLL_allgatherv)
        return tutti_allgatherv_init(b->team, in, out, c->out_counts, c->out_displs, c->type, 0,
                                     request);
    if (c->coll == TT_COLL_gatherv)
        return tutti_gatherv_init(b->team, in, c->in_counts[c->root], out, c->out_counts,
                                  c->out_displs, c->type, c->root, 0, request);
    if (c->coll == TT_COLL_scatterv)
        return tutti_scatterv_init(b->team, in, c->in_counts, c->in_displs, out,
                                   c->out_counts[c->root], c->type, c->root, 0, request);
    return tutti_alltoallv_init(b->team, in, c->in_counts, c->in_displs, out, c->out_counts,
                                c->out_displs, c->type, 0, request);
}

static tutti_status plan_once(const struct tt_bench *b, const void *in, char *out,
                              tutti_request **request)
{
    const struct tt_call *c = &b->call;
    tutti_team *t = b->team;
    switch (c->coll) {
    case TT_COLL_barrier: return tutti_barrier_init(t, 0, request);
    case TT_COLL_bcast: return tutti_bcast_init(t, out, c->n, c->type, c->root, 0, request);
    case TT_COLL_gather: return tutti_gather_init(t, in, out, c->n, c->type, c->root, 0, request);
    case TT_COLL_allgather: return tutti_allgather_init(t, in, out, c->n, c->type, 0, request);
    case TT_COLL_alltoall: return tutti_alltoall_init(t, in, out, c->n, c->type, 0, request);
    case TT_COLL_scatter: return tutti_scatter_init(t, in, out, c->n, c->type, c->root, 0, request);
    default:
        return tt_call_segments(c) ? plan_v(b, in, out, request)
                                   : plan_reduction(b, in, out, request);
    }
}

static tutti_status name_algorithm(const struct tt_bench *b, const char *in, char *out, char *name,
                                   size_t n)
{
    const struct tt_call *c = &b->call;
    tutti_request *request = NULL;
    bool in_place = c->in_place && (!tt_coll_is_roots(c->coll) || b->me == c->root);
    TT_TRY(plan_once(b, in_place ? TUTTI_IN_PLACE : (const void *)in, out, &request));
    snprintf(name, n, "%s", request->prepared->plan->algorithm);
    return tutti_request_free(request);
}

/* Replaces each of the n values by its maximum over all ranks. It does not use the collective that
 * is measured: for that one an algorithm is forced, which may not apply to this call. */
static tutti_status agree(const struct tt_bench *b, double *values, int64_t n)
{
    if (b->call.coll != TT_COLL_allreduce)
        return tutti_allreduce(b->team, TUTTI_IN_PLACE, values, n, TUTTI_F64, TUTTI_MAX);
    double *all = malloc((size_t)(n * b->p) * sizeof *all);
    if (!all) return TUTTI_ERR_MEMORY;
    tutti_status status = tutti_allgather(b->team, values, all, n, TUTTI_F64);
    for (int64_t i = 0; i < n * b->p && status == TUTTI_OK; i++)
        values[i % n] = all[i] > values[i % n] ? all[i] : values[i % n];
    free(all);
    return status;
}

/* ---- Timing ---- */

struct timing {
    struct tt_pool pool;
    int64_t next;  /* the index of the buffers for the next call */
    int64_t calls; /* calls in a batch */
    int64_t batches;
    double *ns; /* for each batch: the time of a call */
};

static tutti_status run_batch(const struct tt_bench *b, struct timing *t, int64_t calls, double *ns)
{
    TT_TRY(tutti_barrier(b->team));
    int64_t begin = tt_clock_ns();
    for (int64_t i = 0; i < calls; i++) {
        char *in = t->pool.in + t->next * t->pool.in_stride;
        TT_TRY(call_once(b, in, t->pool.out + t->next * t->pool.out_stride));
        if (++t->next == t->pool.n) t->next = 0;
    }
    *ns = (double)(tt_clock_ns() - begin) / (double)calls;
    return TUTTI_OK;
}

static int64_t batch_ns(const struct tt_bench *b)
{
    return b->c->batch_ns > 0 ? b->c->batch_ns : usual_batch_ns;
}

/* Times up to TRIES batches, and sets *least to the time of a call, in ns, in the fastest of them:
 * other work on the machine may have delayed a single batch. The time of a batch is that of its
 * slowest rank. Stops after a batch shorter than batch_ns, because the caller then doubles the
 * calls anyway. */
static tutti_status try_batch(const struct tt_bench *b, struct timing *t, double *least)
{
    for (int i = 0; i < TRIES; i++) {
        double ns = 0;
        TT_TRY(run_batch(b, t, t->calls, &ns));
        TT_TRY(agree(b, &ns, 1));
        if (i == 0 || ns < *least) *least = ns;
        if (*least * (double)t->calls < (double)batch_ns(b)) break;
    }
    return TUTTI_OK;
}

/* Sets the number of calls in a batch and the number of batches, which are the same on all ranks.
 * Doubles the calls until a batch takes batch_ns or has the most calls that are allowed. These
 * calls also warm up the caches. */
static tutti_status calibrate(const struct tt_bench *b, struct timing *t)
{
    double ns = 0;
    int64_t wanted = b->c->iterations, most = wanted > 0 ? wanted / BATCHES_LEAST : calls_most;
    for (t->calls = 1;; t->calls *= 2) {
        TT_TRY(try_batch(b, t, &ns));
        if (ns * (double)t->calls >= (double)batch_ns(b) || t->calls >= most) break;
    }
    if (wanted > 0) {
        t->calls = tt_max(1, tt_min(t->calls, wanted / BATCHES_LEAST));
        t->batches = tt_div_up(wanted, t->calls);
    } else {
        t->batches = (int64_t)((double)b->c->time_ns / (ns * (double)t->calls));
        t->batches = tt_min(tt_max(t->batches, BATCHES_LEAST), BATCHES_MOST);
    }
    t->ns = calloc((size_t)t->batches, sizeof *t->ns);
    return t->ns ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static tutti_status run_batches(const struct tt_bench *b, struct timing *t)
{
    TT_TRY(calibrate(b, t));
    for (int64_t i = 0; i < t->batches; i++) TT_TRY(run_batch(b, t, t->calls, &t->ns[i]));
    return agree(b, t->ns, t->batches);
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double share(const struct timing *t, double part)
{
    return t->ns[(int64_t)(part * (double)(t->batches - 1) + 0.5)] / 1000;
}

static void summarize(struct timing *t, struct tt_bench_result *result)
{
    qsort(t->ns, (size_t)t->batches, sizeof *t->ns, by_value);
    result->min_us = share(t, 0);
    result->median_us = share(t, 0.5);
    result->p99_us = share(t, 0.99);
    result->iterations = t->calls * t->batches;
    result->done = true;
}

/* ---- A case ---- */

static bool failed(const struct tt_bench *b, const char *doing)
{
    fprintf(stderr, "tutti bench: rank %d: %s: %s\n", b->me, doing, tutti_error());
    return false;
}

/* Makes one call, and verifies it on every rank. Sets *right to whether all ranks found their
 * results right. */
static tutti_status verify(const struct tt_bench *b, const struct tt_pool *pool, bool *right)
{
    bool kept = true, gaps = b->c->gaps && b->call.coll != TT_COLL_barrier;
    tt_bench_fill(b, pool->in, pool->out);
    TT_TRY(gaps ? call_with_gaps(b, pool->in, pool->out, &kept)
                : call_once(b, pool->in, pool->out));
    if (!kept) fprintf(stderr, "tutti bench: rank %d: a gap between elements is wrong\n", b->me);
    double wrong = !tt_bench_verify(b, pool->in, pool->out) || !kept;
    TT_TRY(agree(b, &wrong, 1));
    *right = wrong == 0;
    if (!*right || !b->c->identities) return TUTTI_OK;
    TT_TRY(tt_bench_identities(b, call_once, pool->in, pool->out, right));
    wrong = !*right;
    TT_TRY(agree(b, &wrong, 1));
    *right = wrong == 0;
    return TUTTI_OK;
}

static bool measure(const struct tt_bench *b, struct timing *t, struct tt_bench_result *result)
{
    bool right = false;
    if (verify(b, &t->pool, &right) != TUTTI_OK) return failed(b, "the call that is verified");
    if (!right) return false;
    tt_bench_fill(b, t->pool.in, t->pool.out);
    for (int64_t i = 1; i < t->pool.n; i++) {
        memcpy(t->pool.in + i * t->pool.in_stride, t->pool.in, (size_t)b->in_bytes);
        memcpy(t->pool.out + i * t->pool.out_stride, t->pool.out, (size_t)b->out_bytes);
    }
    if (run_batches(b, t) != TUTTI_OK) return failed(b, "timing");
    summarize(t, result);
    return true;
}

/* Returns why the algorithm that the user named does not apply; NULL if the algorithm itself gives
 * no reason. The library's own message would blame TUTTI_ALGORITHM, because this command forces an
 * algorithm in the same way as that variable. */
static const char *reason(const struct tt_bench *b)
{
    const struct tt_algorithm *a =
        b->c->algorithm ? tt_algorithm_find(b->call.coll, b->c->algorithm) : NULL;
    return a ? a->refuse(&b->call, &b->team->run.map) : NULL;
}

static void refuse(const struct tt_bench *b, struct tt_bench_result *result)
{
    const char *why = reason(b), *error = tutti_error();
    bool file = b->c->algorithm && b->c->algorithm[0] == '@';
    /* the library's message begins with TUTTI_ALGORITHM= */
    if (file && strstr(error, ": ")) error = strstr(error, ": ") + 2;
    snprintf(result->why, sizeof result->why, "%s%s", why ? "it " : "", why ? why : error);
    result->refused = true;
}

/* Allocates the buffers. If some rank has no memory for them, all ranks refuse the case. */
static bool find_memory(const struct tt_bench *b, struct tt_pool *pool,
                        struct tt_bench_result *result)
{
    int64_t least;
    double lacks = !tt_pool_open(pool, b, &least);
    if (agree(b, &lacks, 1) != TUTTI_OK) return failed(b, "the buffers");
    if (lacks > 0) {
        snprintf(result->why, sizeof result->why,
                 "it needs %" PRId64 " bytes on each of %d ranks, which is more than there is",
                 least, b->p);
        result->refused = true;
    }
    return true;
}

/* Finds out which algorithm runs, or that it does not apply. All ranks must find the same, but a
 * rank may for example be unable to read a plan file that others have read: then all ranks fail. A
 * plan file that is refused breaks the team, and so the ranks that refuse it need not agree. */
static bool find_algorithm(const struct tt_bench *b, const struct tt_pool *pool,
                           struct tt_bench_result *result)
{
    tutti_status s =
        name_algorithm(b, pool->in, pool->out, result->algorithm, sizeof result->algorithm);
    if (s == TUTTI_ERR_UNSUPPORTED) refuse(b, result);
    bool said = s != TUTTI_OK && !result->refused && !failed(b, "the plan");
    double most = s == TUTTI_OK ? 0 : result->refused ? 1 : 2, both[2] = {most, -most};
    if (agree(b, both, 2) != TUTTI_OK) return result->refused || (!said && failed(b, "the plan"));
    bool alike = both[0] == -both[1];
    if (!alike && result->refused)
        fprintf(stderr, "tutti bench: rank %d: %s\n", b->me, result->why);
    return alike && both[0] < 2;
}

static bool run(const struct tt_bench *b, struct tt_bench_result *result)
{
    struct timing t = {0};
    bool good = find_memory(b, &t.pool, result);
    if (good && !result->refused) good = find_algorithm(b, &t.pool, result);
    if (good && !result->refused) good = measure(b, &t, result);
    free(t.ns);
    tt_pool_close(&t.pool);
    return good;
}

/* Sets the slice, the radix, the lanes and the seed of the call, and whether operands must be
 * combined in rank order, in the team's cache of plans, because the public functions have no
 * arguments for these. The cache must still be empty. */
static void tune(struct tt_cache *cache, const struct tt_call *call)
{
    cache->slice = call->slice;
    cache->radix = call->radix;
    cache->lanes = call->lanes;
    cache->seed = call->seed;
    cache->in_order = !call->commutes;
}

/* For a neighbourhood collective, makes a team with the neighbours of the problem, which replaces
 * b->team, and lists in b->pieces the counts and displacements for them. */
static bool join_neighbors(struct tt_bench *b, tutti_team *world)
{
    const struct tt_call *c = &b->call;
    const struct tt_neighbors *n = c->neighbors;
    tutti_team *before = b->team;
    if (!n) return true;
    if (tutti_team_graph(before, n->from_n, n->from, n->to_n, n->to, &b->team) != TUTTI_OK ||
        (before != world && tutti_team_free(before) != TUTTI_OK))
        return failed(b, "the team with neighbours");
    int64_t *at = b->pieces = calloc(2 * ((size_t)n->to_n + (size_t)n->from_n) + 1, sizeof *at);
    if (!at) return false;
    for (int i = 0; i < n->to_n; i++, at++) {
        at[0] = c->in_counts[n->to[i]];
        at[n->to_n] = c->in_displs[n->to[i]];
    }
    at += n->to_n;
    for (int i = 0; i < n->from_n; i++, at++) {
        at[0] = c->out_counts[n->from[i]];
        at[n->from_n] = c->out_displs[n->from[i]];
    }
    return true;
}

static bool set_up(struct tt_bench *b, tutti_team *world)
{
    const struct tt_problem *problem = &b->c->problem;
    b->room = calloc(tt_problem_room(problem) + 1, sizeof *b->room);
    if (!b->room) return false;
    b->call = tt_problem_call(problem, b->me, b->room);
    tt_bench_sizes(b);
    if (!join_neighbors(b, world)) return false;
    tune(&b->team->cache, &b->call);
    if (tt_problem_net(problem, &b->net) != TUTTI_OK) return failed(b, "the network");
    b->outer = b->team->run.map.net;
    if (b->net.nodes > 0) b->team->run.map.net = &b->net;
    return true;
}

/* Undoes the set-up of a case. If the problem has a network, also empties the team's cache of
 * plans, because the plans are for this network and the next problem must not use them. */
static void tear_down(struct tt_bench *b)
{
    if (b->net.nodes > 0) tt_cache_release(&b->team->cache);
    b->team->run.map.net = b->outer;
    tt_net_free(&b->net);
    free(b->pieces);
    free(b->room);
}

/* Makes a team like the world, without plans, for a case that must not use those of others. */
static bool copy_world(struct tt_bench *b, tutti_team *world)
{
    if (tutti_team_dup(world, &b->team) != TUTTI_OK) return failed(b, "the team");
    b->team->run.map.net = world->run.map.net; /* it has the same ranks in the same order */
    return true;
}

/* Makes the team of the case. */
static bool open_team(struct tt_bench *b, tutti_team *world)
{
    b->me = tutti_rank(world);
    b->p = tutti_size(world);
    b->team = world;
    if (!b->c->reversed && !b->c->beside) return !b->c->apart || copy_world(b, world);
    int color = b->c->beside ? b->me % 2 : 0;
    if (tutti_team_split(world, color, b->c->reversed ? b->p - b->me : b->me, &b->team) != TUTTI_OK)
        return failed(b, "the team");
    b->me = tutti_rank(b->team);
    b->p = tutti_size(b->team);
    return true;
}

bool tt_bench_rank(tutti_client *client, const struct tt_bench_case *c,
                   struct tt_bench_result *result)
{
    tutti_team *world = tutti_world(client);
    struct tt_bench b = {.c = c};
    *result = (struct tt_bench_result){0};
    if (!open_team(&b, world)) return false;
    bool good = set_up(&b, world) && run(&b, result);
    tear_down(&b);
    bool freed = b.team == world || tutti_team_free(b.team) == TUTTI_OK;
    if (good && !freed) good = failed(&b, "the team");
    return good;
}
