/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The conformance test: it runs every algorithm on threads of one process (`conform threads A B`
 * for A to B ranks), on processes (`tutti run -n N conform`), or on T threads of each process
 * (`tutti run -n N conform nested T`). If `upto M` comes before these arguments, blocks have at
 * most M elements. The test compares each result with values computed from the definition of the
 * collective, and checks that the input is unchanged and that a canary behind every buffer is
 * intact.
 *
 * Elements are pairs (a, b) of 64-bit integers. The operation is either their sum or the
 * composition of the maps x -> a x + b. The composition is associative but does not commute, so it
 * reveals a wrong order of operands.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tutti/tutti.h>

#include "api/api.h"
#include "brief.h"
#include "forbid.h"

enum { CONFORM_RANKS = 64 };
#define CANARY 0x5ca1ab1e0ddba11eu

struct element {
    uint64_t a, b;
};

/* State of the test at one rank. */
struct conform_state {
    tutti_team *team;
    int p, me, cases;
    tutti_op compose;
};

static int threads; /* ranks that each process has as threads; 0: one process has all ranks */
static int64_t most = INT64_MAX; /* the most elements of a block */

static void check(bool good, const struct conform_state *s, const char *what)
{
    if (good) return;
    fprintf(stderr, "rank %d of %d: %s: %s\n", s->me, s->p, what, tutti_error());
    abort();
}

static void must(tutti_status status, const struct conform_state *s, const char *what)
{
    check(status == TUTTI_OK, s, what);
}

static struct element value(int rank, int64_t i)
{
    uint64_t x = ((uint64_t)rank + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i * 0xbf58476d1ce4e5b9u;
    return (struct element){x | 1, x ^ x >> 29};
}

static struct element composed(struct element l, struct element r)
{
    return (struct element){l.a * r.a, l.a * r.b + l.b};
}

static struct element added(struct element l, struct element r)
{
    return (struct element){l.a + r.a, l.b + r.b};
}

static void compose_all(const void *left, const void *right, void *out, size_t n, tutti_type type,
                        void *arg)
{
    const struct element *l = left, *r = right;
    struct element *o = out;
    (void)type;
    (void)arg;
    for (size_t i = 0; i < n; i++) o[i] = composed(l[i], r[i]);
}

/* ---- Buffers ---- */

struct buffer {
    struct element *at;
    int64_t n;
};

static struct buffer make(int64_t n)
{
    struct buffer b = {malloc((size_t)(n + 1) * sizeof *b.at), n};
    if (!b.at) abort();
    for (int64_t i = 0; i <= n; i++) b.at[i] = (struct element){CANARY, CANARY};
    return b;
}

static void fill(struct buffer b, int rank, int64_t from, int64_t n, int64_t first)
{
    for (int64_t i = 0; i < n; i++) b.at[from + i] = value(rank, first + i);
}

static bool same(struct element x, struct element y)
{
    return x.a == y.a && x.b == y.b;
}

static void drop(struct buffer b, const struct conform_state *s)
{
    check(same(b.at[b.n], (struct element){CANARY, CANARY}), s, "wrote behind a buffer");
    free(b.at);
}

static void expect(struct buffer b, int64_t at, int rank, int64_t first, int64_t n,
                   const struct conform_state *s, const char *what)
{
    for (int64_t i = 0; i < n; i++) check(same(b.at[at + i], value(rank, first + i)), s, what);
}

/* Checks that the first n elements of the buffer are elements first .. first + n - 1 of the result
 * of a reduction over the inputs of the first `ranks` ranks. The reduction composes the maps if
 * `compose` is true, and otherwise adds the pairs. */
static void expect_prefix(struct buffer b, int64_t first, int64_t n, int ranks, bool compose,
                          const struct conform_state *s, const char *what)
{
    for (int64_t i = 0; i < n; i++) {
        struct element x = value(0, first + i);
        for (int r = 1; r < ranks; r++)
            x = compose ? composed(x, value(r, first + i)) : added(x, value(r, first + i));
        check(same(b.at[i], x), s, what);
    }
}

static void expect_block(struct buffer b, int64_t first, int64_t n, bool compose,
                         const struct conform_state *s, const char *what)
{
    expect_prefix(b, first, n, s->p, compose, s, what);
}

static void expect_reduced(struct buffer b, int64_t n, bool compose, const struct conform_state *s,
                           const char *what)
{
    expect_block(b, 0, n, compose, s, what);
}

/* ---- Each collective on n elements, in place if in_place is set and allowed ---- */

struct conform_shape {
    int64_t n;
    int root;
    bool in_place, compose;
};

static tutti_op op_of(const struct conform_state *s, const struct conform_shape *h)
{
    return h->compose ? s->compose : TUTTI_SUM;
}

/* Returns the count to pass for n elements. There is no built-in sum of pairs, so a pair is summed
 * as two numbers and counts twice. */
static int64_t count_of(const struct conform_shape *h)
{
    return h->compose ? h->n : 2 * h->n;
}

static tutti_type type_of(const struct conform_shape *h)
{
    return h->compose ? TUTTI_I64_I64 : TUTTI_U64;
}

static void try_barrier(struct conform_state *s, const struct conform_shape *h)
{
    (void)h;
    must(tutti_barrier(s->team), s, "barrier");
}

static void try_bcast(struct conform_state *s, const struct conform_shape *h)
{
    struct buffer b = make(h->n);
    if (s->me == h->root) fill(b, h->root, 0, h->n, 0);
    must(tutti_bcast(s->team, b.at, h->n, TUTTI_I64_I64, h->root), s, "bcast");
    expect(b, 0, h->root, 0, h->n, s, "bcast gave something else");
    drop(b, s);
}

static void try_reduce(struct conform_state *s, const struct conform_shape *h)
{
    struct buffer in = make(h->n), out = make(h->n);
    bool place = h->in_place && s->me == h->root;
    fill(place ? out : in, s->me, 0, h->n, 0);
    must(tutti_reduce(s->team, place ? TUTTI_IN_PLACE : in.at, s->me == h->root ? out.at : NULL,
                      count_of(h), type_of(h), op_of(s, h), h->root),
         s, "reduce");
    if (s->me == h->root) expect_reduced(out, h->n, h->compose, s, "reduce gave something else");
    if (!place) expect(in, 0, s->me, 0, h->n, s, "reduce changed its input");
    drop(in, s);
    drop(out, s);
}

static void try_allreduce(struct conform_state *s, const struct conform_shape *h)
{
    struct buffer in = make(h->n), out = make(h->n);
    fill(h->in_place ? out : in, s->me, 0, h->n, 0);
    must(tutti_allreduce(s->team, h->in_place ? TUTTI_IN_PLACE : in.at, out.at, count_of(h),
                         type_of(h), op_of(s, h)),
         s, "allreduce");
    expect_reduced(out, h->n, h->compose, s, "allreduce gave something else");
    if (!h->in_place) expect(in, 0, s->me, 0, h->n, s, "allreduce changed its input");
    drop(in, s);
    drop(out, s);
}

static void try_reduce_scatter_block(struct conform_state *s, const struct conform_shape *h)
{
    int64_t all = h->n * s->p;
    struct buffer in = make(all), out = make(h->in_place ? all : h->n);
    fill(h->in_place ? out : in, s->me, 0, all, 0);
    must(tutti_reduce_scatter_block(s->team, h->in_place ? TUTTI_IN_PLACE : in.at, out.at,
                                    count_of(h), type_of(h), op_of(s, h)),
         s, "reduce_scatter_block");
    expect_block(out, s->me * h->n, h->n, h->compose, s,
                 "reduce_scatter_block gave something else");
    if (!h->in_place) expect(in, 0, s->me, 0, all, s, "reduce_scatter_block changed its input");
    drop(in, s);
    drop(out, s);
}

/* Tries a reduce_scatter with uneven counts, some of them zero. */
static void try_reduce_scatter(struct conform_state *s, const struct conform_shape *h)
{
    int64_t counts[64], each = count_of(h) / tt_max(h->n, 1), first = 0, mine = 0, all = 0;
    for (int r = 0; r < s->p; r++) {
        int64_t n = h->n * ((r + h->root) % 3);
        counts[r] = n * each;
        if (r == s->me) first = all, mine = n;
        all += n;
    }
    struct buffer in = make(all), out = make(h->in_place ? all : mine);
    fill(h->in_place ? out : in, s->me, 0, all, 0);
    must(tutti_reduce_scatter(s->team, h->in_place ? TUTTI_IN_PLACE : in.at, out.at, counts,
                              type_of(h), op_of(s, h)),
         s, "reduce_scatter");
    expect_block(out, first, mine, h->compose, s, "reduce_scatter gave something else");
    if (!h->in_place) expect(in, 0, s->me, 0, all, s, "reduce_scatter changed its input");
    drop(in, s);
    drop(out, s);
}

static void try_gather(struct conform_state *s, const struct conform_shape *h)
{
    bool root = s->me == h->root, place = h->in_place && root;
    struct buffer in = make(h->n), out = make(root ? h->n * s->p : 0);
    if (place)
        fill(out, s->me, s->me * h->n, h->n, 0);
    else
        fill(in, s->me, 0, h->n, 0);
    must(tutti_gather(s->team, place ? TUTTI_IN_PLACE : in.at, root ? out.at : NULL, h->n,
                      TUTTI_I64_I64, h->root),
         s, "gather");
    for (int r = 0; r < s->p && root; r++)
        expect(out, r * h->n, r, 0, h->n, s, "gather gave something else");
    if (!place) expect(in, 0, s->me, 0, h->n, s, "gather changed its input");
    drop(in, s);
    drop(out, s);
}

static void try_allgather(struct conform_state *s, const struct conform_shape *h)
{
    struct buffer in = make(h->n), out = make(h->n * s->p);
    if (h->in_place)
        fill(out, s->me, s->me * h->n, h->n, 0);
    else
        fill(in, s->me, 0, h->n, 0);
    must(
        tutti_allgather(s->team, h->in_place ? TUTTI_IN_PLACE : in.at, out.at, h->n, TUTTI_I64_I64),
        s, "allgather");
    for (int r = 0; r < s->p; r++)
        expect(out, r * h->n, r, 0, h->n, s, "allgather gave something else");
    drop(in, s);
    drop(out, s);
}

/* Tries an allgatherv with uneven counts, some of them zero, with gaps between the segments and
 * with the segments in reverse order of ranks. */
static void try_allgatherv(struct conform_state *s, const struct conform_shape *h)
{
    int64_t counts[64], displs[64], at = 0;
    for (int r = s->p - 1; r >= 0; r--) {
        counts[r] = h->n * (r % 3);
        displs[r] = at;
        at += counts[r] + 1;
    }
    struct buffer in = make(counts[s->me]), out = make(at);
    if (h->in_place)
        fill(out, s->me, displs[s->me], counts[s->me], 0);
    else
        fill(in, s->me, 0, counts[s->me], 0);
    must(tutti_allgatherv(s->team, h->in_place ? TUTTI_IN_PLACE : in.at, out.at, counts, displs,
                          TUTTI_I64_I64),
         s, "allgatherv");
    for (int r = 0; r < s->p; r++) {
        expect(out, displs[r], r, 0, counts[r], s, "allgatherv gave something else");
        check(out.at[displs[r] + counts[r]].a == CANARY, s, "allgatherv wrote between pieces");
    }
    drop(in, s);
    drop(out, s);
}

static void try_alltoall(struct conform_state *s, const struct conform_shape *h)
{
    struct buffer in = make(h->n * s->p), out = make(h->n * s->p);
    fill(in, s->me, 0, h->n * s->p, 0);
    must(tutti_alltoall(s->team, in.at, out.at, h->n, TUTTI_I64_I64), s, "alltoall");
    for (int r = 0; r < s->p; r++)
        expect(out, r * h->n, r, s->me * h->n, h->n, s, "alltoall gave something else");
    expect(in, 0, s->me, 0, h->n * s->p, s, "alltoall changed its input");
    drop(in, s);
    drop(out, s);
}

static void try_alltoallv(struct conform_state *s, const struct conform_shape *h)
{
    int64_t ic[64], id[64], oc[64], od[64], in_at = 0, out_at = 0;
    for (int r = 0; r < s->p; r++) {
        ic[r] = h->n * ((s->me + 2 * r) % 4);
        oc[r] = h->n * ((r + 2 * s->me) % 4);
        id[r] = in_at;
        in_at += ic[r];
    }
    for (int r = s->p - 1; r >= 0; r--) {
        od[r] = out_at;
        out_at += oc[r] + 1;
    }
    struct buffer in = make(in_at), out = make(out_at);
    for (int r = 0; r < s->p; r++) fill(in, s->me, id[r], ic[r], 1000 * r);
    must(tutti_alltoallv(s->team, in.at, ic, id, out.at, oc, od, TUTTI_I64_I64), s, "alltoallv");
    for (int r = 0; r < s->p; r++) {
        expect(out, od[r], r, 1000 * s->me, oc[r], s, "alltoallv gave something else");
        check(out.at[od[r] + oc[r]].a == CANARY, s, "alltoallv wrote between pieces");
    }
    drop(in, s);
    drop(out, s);
}

static void try_scatter(struct conform_state *s, const struct conform_shape *h)
{
    bool root = s->me == h->root, place = h->in_place && root;
    int64_t all = root ? h->n * s->p : 0;
    struct buffer in = make(place ? 0 : all), out = make(place ? all : h->n);
    fill(place ? out : in, s->me, 0, all, 0);
    must(tutti_scatter(s->team,
                       place  ? TUTTI_IN_PLACE
                       : root ? in.at
                              : NULL,
                       out.at, h->n, TUTTI_I64_I64, h->root),
         s, "scatter");
    expect(out, place ? s->me * h->n : 0, h->root, s->me * h->n, h->n, s,
           "scatter gave something else");
    expect(place ? out : in, 0, s->me, 0, all, s, "scatter changed its input");
    drop(in, s);
    drop(out, s);
}

/* Tries a gatherv with uneven counts, some of them zero, with gaps between the segments and with
 * the segments in reverse order of ranks. Ranks that are not the root pass no lists. */
static void try_gatherv(struct conform_state *s, const struct conform_shape *h)
{
    int64_t counts[64], displs[64], at = 0, mine = h->n * ((s->me + h->root) % 3);
    bool root = s->me == h->root, place = h->in_place && root;
    for (int r = s->p - 1; r >= 0; r--) {
        counts[r] = h->n * ((r + h->root) % 3);
        displs[r] = at;
        at += counts[r] + 1;
    }
    struct buffer in = make(mine), out = make(root ? at : 0);
    if (place)
        fill(out, s->me, displs[s->me], mine, 0);
    else
        fill(in, s->me, 0, mine, 0);
    must(tutti_gatherv(s->team, place ? TUTTI_IN_PLACE : in.at, place ? 0 : mine,
                       root ? out.at : NULL, root ? counts : NULL, root ? displs : NULL,
                       TUTTI_I64_I64, h->root),
         s, "gatherv");
    for (int r = 0; r < s->p && root; r++) {
        expect(out, displs[r], r, 0, counts[r], s, "gatherv gave something else");
        check(out.at[displs[r] + counts[r]].a == CANARY, s, "gatherv wrote between pieces");
    }
    if (!place) expect(in, 0, s->me, 0, mine, s, "gatherv changed its input");
    drop(in, s);
    drop(out, s);
}

static void try_scatterv(struct conform_state *s, const struct conform_shape *h)
{
    int64_t counts[64], displs[64], at = 0, mine = h->n * ((s->me + h->root) % 3);
    bool root = s->me == h->root, place = h->in_place && root;
    for (int r = s->p - 1; r >= 0; r--) {
        counts[r] = h->n * ((r + h->root) % 3);
        displs[r] = at;
        at += counts[r] + 1;
    }
    int64_t all = root ? at : 0, first = place ? displs[s->me] : 0;
    struct buffer in = make(place ? 0 : all), out = make(place ? all : mine);
    fill(place ? out : in, h->root, 0, all, 0);
    must(tutti_scatterv(s->team,
                        place  ? TUTTI_IN_PLACE
                        : root ? in.at
                               : NULL,
                        root ? counts : NULL, root ? displs : NULL, out.at, place ? 0 : mine,
                        TUTTI_I64_I64, h->root),
         s, "scatterv");
    expect(out, first, h->root, displs[s->me], mine, s, "scatterv gave something else");
    expect(place ? out : in, 0, h->root, 0, all, s, "scatterv changed its input");
    drop(in, s);
    drop(out, s);
}

static void try_scan(struct conform_state *s, const struct conform_shape *h)
{
    struct buffer in = make(h->n), out = make(h->n);
    fill(h->in_place ? out : in, s->me, 0, h->n, 0);
    must(tutti_scan(s->team, h->in_place ? TUTTI_IN_PLACE : in.at, out.at, count_of(h), type_of(h),
                    op_of(s, h)),
         s, "scan");
    expect_prefix(out, 0, h->n, s->me + 1, h->compose, s, "scan gave something else");
    if (!h->in_place) expect(in, 0, s->me, 0, h->n, s, "scan changed its input");
    drop(in, s);
    drop(out, s);
}

static void try_exscan(struct conform_state *s, const struct conform_shape *h)
{
    struct buffer in = make(h->n), out = make(h->n);
    fill(h->in_place ? out : in, s->me, 0, h->n, 0);
    must(tutti_exscan(s->team, h->in_place ? TUTTI_IN_PLACE : in.at,
                      h->in_place || s->me > 0 ? out.at : NULL, count_of(h), type_of(h),
                      op_of(s, h)),
         s, "exscan");
    if (s->me > 0)
        expect_prefix(out, 0, h->n, s->me, h->compose, s, "exscan gave something else");
    else if (h->in_place)
        expect(out, 0, 0, 0, h->n, s, "exscan changed the buffer of rank 0");
    if (!h->in_place) expect(in, 0, s->me, 0, h->n, s, "exscan changed its input");
    drop(in, s);
    drop(out, s);
}

typedef void try_fn(struct conform_state *s, const struct conform_shape *h);
static try_fn *const tries[TT_COLLS] = {
#define TRY(name, ...) [TT_COLL_##name] = try_##name,
    TT_COLL_LIST(TRY)
#undef TRY
};

/* ---- All algorithms and shapes ---- */

static bool applies(const struct conform_state *s, const struct tt_algorithm *a,
                    const struct conform_shape *h)
{
    struct tt_call call = {.coll = a->coll,
                           .type = type_of(h),
                           .op = op_of(s, h),
                           .commutes = !h->compose,
                           .in_place = h->in_place,
                           .root = h->root,
                           .n = count_of(h),
                           .sz = (int64_t)tutti_type_size(type_of(h))};
    if (!tt_coll_has_op(a->coll)) {
        call.n = h->n;
        call.sz = sizeof(struct element);
    }
    if (tt_call_counts(&call)) call.n = 0;
    return a->refuse(&call, &s->team->run.map) == NULL;
}

/* Tries the algorithm with all shapes that it accepts. The shapes of a brief run still reach every
 * protocol: no data, one element, data that do not divide evenly, and several pieces; each root, in
 * place and not, with each kind of operation. */
static void try_shapes(struct conform_state *s, const struct tt_algorithm *a)
{
    static const int64_t sizes[] = {0, 1, 33, 500, 20000, 2, 3, 7, 3001};
    static const int variants[] = {1, 2, 7, 0, 3, 4, 5, 6};
    for (int i = 0; i < brief(9, 5); i++)
        for (int j = 0; j < brief(8, 3); j++) {
            int k = variants[j];
            struct conform_shape h = {tt_min(sizes[i], most), k & 1 ? s->p - 1 : s->p / 2, k & 2,
                                      k & 4};
            if (h.compose && !tt_coll_has_op(a->coll)) continue;
            if (!applies(s, a, &h)) continue;
            tries[a->coll](s, &h);
            s->cases++;
        }
}

/* Forces the algorithm that the text names. The forced algorithm is a setting of the process, so
 * where ranks are threads only the first rank of each process sets it. */
static void force_choice(const struct conform_state *world, const char *text)
{
    if (world->me % (threads ? threads : world->p) == 0) tt_choose_force(text);
}

/* Tries an algorithm on a new team, because a team caches its plans. */
static void try_algorithm(struct conform_state *world, const struct tt_algorithm *a)
{
    char force[64];
    struct conform_state s = *world;
    must(tutti_barrier(world->team), world, "barrier");
    snprintf(force, sizeof force, "%s=%s", tt_coll_name(a->coll), a->name);
    must(tutti_team_split(world->team, 0, world->me, &s.team), world, "split");
    force_choice(world, force);
    must(tutti_barrier(world->team), world, "barrier");
    try_shapes(&s, a);
    must(tutti_barrier(world->team), world, "barrier");
    force_choice(world, NULL);
    must(tutti_barrier(world->team), world, "barrier");
    must(tutti_team_free(s.team), world, "team_free");
    world->cases = s.cases;
}

/* Starts more requests than there are slots, with different sizes, and completes them in reverse
 * order. */
static void try_in_flight(struct conform_state *s)
{
    enum { N = TT_SLOTS + 8 };
    tutti_request *request[N];
    struct buffer in[N], out[N];
    for (int i = 0; i < N; i++) {
        int64_t n = 100 * (i % 40);
        in[i] = make(n);
        out[i] = make(n);
        fill(in[i], s->me, 0, n, 0);
        must(tutti_iallreduce(s->team, in[i].at, out[i].at, 2 * n, TUTTI_U64, TUTTI_SUM,
                              &request[i]),
             s, "start");
    }
    for (int i = N - 1; i >= 0; i--) {
        must(tutti_wait(request[i]), s, "wait");
        must(tutti_request_free(request[i]), s, "request_free");
        expect_reduced(out[i], 100 * (i % 40), false, s, "iallreduce gave something else");
        drop(in[i], s);
        drop(out[i], s);
    }
}

/* Makes call i of a series in which data go from the root to the other ranks: a bcast, a scatterv
 * or a scatter of n elements for each rank. */
static void send_ahead(struct conform_state *s, int i, int64_t n, struct buffer b)
{
    int64_t count[CONFORM_RANKS], at[CONFORM_RANKS];
    int root = i / 400 % s->p;
    struct buffer out = make(n);
    for (int r = 0; r < s->p; r++) count[r] = 2 * n, at[r] = 2 * n * r;
    for (int r = 0; r < s->p && s->me == root; r++) fill(b, r, n * r, n, i);
    if (i % 3 == 0 && s->me == root) fill(out, 0, 0, n, i);
    if (i % 3 == 0)
        must(tutti_bcast(s->team, out.at, 2 * n, TUTTI_U64, root), s, "bcast");
    else if (i % 3 == 1)
        must(tutti_scatterv(s->team, b.at, count, at, out.at, 2 * n, TUTTI_U64, root), s,
             "scatterv");
    else
        must(tutti_scatter(s->team, b.at, out.at, 2 * n, TUTTI_U64, root), s, "scatter");
    expect(out, 0, i % 3 ? s->me : 0, i, n, s, "a call of a root that is ahead");
    drop(out, s);
}

/* Lets a root run ahead of ranks that sleep now and then. Of each 800 calls, the first 400 are so
 * short that the short windows suffice, and the root can be ahead by all slots. Every fifth of the
 * other calls is longer. */
static void try_ahead(struct conform_state *s)
{
    struct buffer b = make(120 * (int64_t)s->p);
    if (s->p > CONFORM_RANKS) return drop(b, s);
    for (int i = 0; i < brief(1600, 600); i++) {
        if ((i + s->me) % 400 == 0) usleep(500);
        send_ahead(s, i, i % 5 == 0 && i % 800 > 400 ? 120 : 1 + i % 2, b);
    }
    drop(b, s);
}

/* Checks that a rank that waits on one team also makes progress on its other teams. */
static void try_two_teams(struct conform_state *s)
{
    tutti_team *other;
    tutti_request *request;
    int64_t n = tt_min(100000, most);
    struct buffer in = make(n), out = make(n);
    must(tutti_team_split(s->team, 0, 0, &other), s, "split");
    fill(in, s->me, 0, n, 0);
    must(tutti_iallreduce(other, in.at, out.at, 2 * n, TUTTI_U64, TUTTI_SUM, &request), s, "start");
    for (int turn = 0; turn < 2; turn++)
        must((s->me == 0) == (turn == 0) ? tutti_barrier(s->team) : tutti_wait(request), s,
             "a wait");
    expect_reduced(out, n, false, s, "iallreduce on a second team gave something else");
    must(tutti_request_free(request), s, "request_free");
    must(tutti_team_free(other), s, "team_free");
    drop(in, s), drop(out, s);
}

static void try_persistent(struct conform_state *s)
{
    struct buffer in = make(50), out = make(50);
    tutti_request *sum, *root;
    fill(in, s->me, 0, 50, 0);
    must(tutti_allreduce_init(s->team, in.at, out.at, 50, TUTTI_I64_I64, s->compose, 0, &sum), s,
         "allreduce_init");
    must(tutti_bcast_init(s->team, out.at, 50, TUTTI_I64_I64, s->p - 1, 0, &root), s, "bcast_init");
    for (int i = 0; i < 50; i++) {
        tutti_status status;
        must(tutti_start(sum), s, "start");
        while ((status = tutti_test(sum)) == TUTTI_AGAIN) {
        }
        must(status, s, "test");
        expect_reduced(out, 50, true, s, "a persistent allreduce gave something else");
        must(tutti_start(root), s, "start");
        must(tutti_wait(root), s, "wait");
    }
    tutti_request_free(sum);
    tutti_request_free(root);
    drop(in, s);
    drop(out, s);
}

/* Tries an allreduce on memory from tutti_alloc, made with TUTTI_REQUEST_SHARED. */
static void try_shared(tutti_client *client, struct conform_state *s)
{
    int64_t n = tt_min(30000, most);
    void *memory;
    tutti_request *request;
    must(tutti_alloc(client, (size_t)(2 * (n + 1)) * sizeof(struct element), &memory), s, "alloc");
    struct buffer in = {memory, n}, out = {in.at + n + 1, n};
    fill(in, s->me, 0, n, 0);
    must(tutti_allreduce_init(s->team, in.at, out.at, 2 * n, TUTTI_U64, TUTTI_SUM,
                              TUTTI_REQUEST_SHARED, &request),
         s, "allreduce_init");
    must(tutti_start(request), s, "start");
    must(tutti_wait(request), s, "wait");
    expect_reduced(out, n, false, s, "an allreduce in shared memory gave something else");
    must(tutti_request_free(request), s, "request_free");
    must(tutti_free(client, memory), s, "free");
}

static void try_all(tutti_client *client, void *arg)
{
    struct conform_state s = {.team = tutti_world(client), .compose = *(tutti_op *)arg};
    s.p = tutti_size(s.team);
    s.me = tutti_rank(s.team);
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) try_algorithm(&s, *a);
    try_in_flight(&s);
    try_ahead(&s);
    try_persistent(&s);
    try_two_teams(&s);
    try_shared(client, &s);
    must(tutti_barrier(s.team), &s, "barrier");
    if (s.me == 0) printf("%d ranks: %d cases\n", s.p, s.cases);
}

int main(int argc, char **argv)
{
    tutti_op compose;
    tutti_client *client;
    keep_freed_memory();
    if (argc > 2 && strcmp(argv[1], "upto") == 0) most = atoi(argv[2]), argc -= 2, argv += 2;
    if (tutti_op_create(compose_all, 0, NULL, &compose) != TUTTI_OK) return 1;
    if (argc == 4 && strcmp(argv[1], "threads") == 0) {
        for (int p = atoi(argv[2]); p <= atoi(argv[3]); p++)
            if (tutti_threads(p, try_all, &compose) != TUTTI_OK) return 1;
        return 0;
    }
    if (tutti_init(&client) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error()), 1;
    threads = argc == 3 && strcmp(argv[1], "nested") == 0 ? atoi(argv[2]) : 1;
    if (argc == 1) forbid_later();
    if (argc == 1) try_all(client, &compose);
    if (argc == 3 && tutti_team_threads(tutti_world(client), threads, try_all, &compose)) return 1;
    return tutti_finalize(client) != TUTTI_OK;
}
