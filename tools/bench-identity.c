/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Identities between collectives: the result of a call must equal the result of other collectives.
 * Most identities are compositions: an allreduce equals a reduce and then a bcast. Some give back
 * the input: an alltoall of the output of an alltoall. The collectives with which the call is
 * compared run on the team of the case, with its slices, branchings and lanes (the keys slice,
 * radix and lanes of a problem), and with the algorithms that the library chooses for them.
 */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "bench.h"
#include "type/type.h"

/* The state of one rank's check of a result. `first` and `second` each have room for the elements
 * of all ranks. */
struct identity {
    const struct tt_bench *b;
    const char *in, *out; /* the buffers of the call that is checked */
    char *first, *second;
    /* how the n elements of the call are divided into nearly equal parts, one for each rank */
    int64_t *counts, *displs;
    bool right;
};

static void expect_same(struct identity *x, const char *what, const char *found,
                        const char *expected, int64_t bytes)
{
    x->right = x->right && tt_bench_same(x->b, what, found, expected, bytes);
}

static bool at_root(const struct identity *x)
{
    return x->b->me == x->b->call.root;
}

/* Compares the pieces of two buffers, whose counts and displacements are the same. Error messages
 * name the buffer `found` by `what`. */
static void expect_pieces(struct identity *x, const char *what, const char *found,
                          const char *expected, const int64_t *counts, const int64_t *displs)
{
    int64_t sz = x->b->call.sz;
    for (int r = 0; r < x->b->p; r++)
        expect_same(x, what, found + displs[r] * sz, expected + displs[r] * sz, counts[r] * sz);
}

/* ---- Reductions ---- */

static tutti_status try_allreduce(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    tutti_team *team = x->b->team;
    TT_TRY(tutti_reduce(team, x->in, x->first, c->n, c->type, c->op, x->b->p - 1));
    TT_TRY(tutti_bcast(team, x->first, c->n, c->type, x->b->p - 1));
    expect_same(x, "against a reduce and a bcast, the result", x->out, x->first, c->n * c->sz);
    TT_TRY(tutti_reduce_scatter(team, x->in, x->first, x->counts, c->type, c->op));
    TT_TRY(tutti_allgatherv(team, x->first, x->second, x->counts, x->displs, c->type));
    expect_same(x, "against a reduce_scatter and an allgatherv, the result", x->out, x->second,
                c->n * c->sz);
    return TUTTI_OK;
}

static tutti_status try_reduce(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    TT_TRY(tutti_allreduce(x->b->team, x->in, x->first, c->n, c->type, c->op));
    if (at_root(x))
        expect_same(x, "against an allreduce, the result", x->out, x->first, c->n * c->sz);
    return TUTTI_OK;
}

static tutti_status try_reduce_scatter_block(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    tutti_team *team = x->b->team;
    TT_TRY(tutti_reduce(team, x->in, x->first, c->n * x->b->p, c->type, c->op, 0));
    TT_TRY(tutti_scatter(team, x->first, x->second, c->n, c->type, 0));
    expect_same(x, "against a reduce and a scatter, the result", x->out, x->second, c->n * c->sz);
    return TUTTI_OK;
}

static tutti_status try_reduce_scatter(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    int64_t *displs = x->displs, n = 0, mine = c->out_counts[x->b->me];
    for (int r = 0; r < x->b->p; n += c->out_counts[r++]) displs[r] = n;
    TT_TRY(tutti_reduce(x->b->team, x->in, x->first, n, c->type, c->op, 0));
    TT_TRY(
        tutti_scatterv(x->b->team, x->first, c->out_counts, displs, x->second, mine, c->type, 0));
    expect_same(x, "against a reduce and a scatterv, the result", x->out, x->second, mine * c->sz);
    return TUTTI_OK;
}

static void combine(const struct tt_call *c, const void *left, const void *right, void *out)
{
    const void *const operands[2] = {left, right};
    if (c->op < TUTTI_OPS)
        tt_reduce(out, operands, 2, (size_t)c->n, c->type, c->op);
    else
        tt_bench_op(left, right, out, (size_t)c->n, c->type, NULL);
}

/* Checks that a scan equals an exscan combined with the rank's own input. */
static tutti_status try_scan(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    TT_TRY(tutti_exscan(x->b->team, x->in, x->first, c->n, c->type, c->op));
    if (x->b->me > 0)
        combine(c, x->first, x->in, x->second);
    else
        memcpy(x->second, x->in, (size_t)(c->n * c->sz));
    expect_same(x, "against an exscan, the result", x->out, x->second, c->n * c->sz);
    return TUTTI_OK;
}

/* Checks that this rank's exscan equals the scan of the rank before it, and that an allreduce
 * equals the scan of the last rank. */
static tutti_status try_exscan(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    const int64_t bytes = c->n * c->sz;
    int before = x->b->me - 1, last = x->b->p - 1;
    TT_TRY(tutti_scan(x->b->team, x->in, x->first, c->n, c->type, c->op));
    TT_TRY(tutti_allgather(x->b->team, x->first, x->second, c->n, c->type));
    if (before >= 0)
        expect_same(x, "against a scan, the result", x->out, x->second + before * bytes, bytes);
    TT_TRY(tutti_allreduce(x->b->team, x->in, x->first, c->n, c->type, c->op));
    expect_same(x, "against a scan, an allreduce", x->first, x->second + last * bytes, bytes);
    return TUTTI_OK;
}

/* ---- Broadcasts, gathers and scatters ---- */

static tutti_status try_bcast(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    TT_TRY(tutti_scatterv(x->b->team, x->out, x->counts, x->displs, x->first, x->counts[x->b->me],
                          c->type, c->root));
    TT_TRY(tutti_allgatherv(x->b->team, x->first, x->second, x->counts, x->displs, c->type));
    expect_same(x, "against a scatterv and an allgatherv, the result", x->out, x->second,
                c->n * c->sz);
    return TUTTI_OK;
}

static tutti_status try_gather(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    TT_TRY(tutti_allgather(x->b->team, x->in, x->first, c->n, c->type));
    if (at_root(x))
        expect_same(x, "against an allgather, the result", x->out, x->first,
                    c->n * c->sz * x->b->p);
    return TUTTI_OK;
}

static tutti_status try_allgather(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    int root = x->b->p - 1;
    TT_TRY(tutti_gather(x->b->team, x->in, x->first, c->n, c->type, root));
    TT_TRY(tutti_bcast(x->b->team, x->first, c->n * x->b->p, c->type, root));
    expect_same(x, "against a gather and a bcast, the result", x->out, x->first,
                c->n * c->sz * x->b->p);
    return TUTTI_OK;
}

static tutti_status try_allgatherv(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    int root = x->b->p - 1;
    memset(x->first, 0, (size_t)x->b->out_bytes);
    TT_TRY(tutti_gatherv(x->b->team, x->in, c->out_counts[x->b->me], x->first, c->out_counts,
                         c->out_displs, c->type, root));
    TT_TRY(tutti_bcast(x->b->team, x->first, x->b->out_bytes / c->sz, c->type, root));
    expect_pieces(x, "against a gatherv and a bcast, the result", x->out, x->first, c->out_counts,
                  c->out_displs);
    return TUTTI_OK;
}

/* Returns where this rank has its own piece after a scatter or scatterv: in OUT; but at the root of
 * a call in place, `at_root_bytes` bytes after the beginning of IN. */
static const char *own_piece(const struct identity *x, int64_t at_root_bytes)
{
    return x->b->call.in_place && at_root(x) ? x->in + at_root_bytes : x->out;
}

static tutti_status try_scatter(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    const char *mine = own_piece(x, x->b->me * c->n * c->sz);
    TT_TRY(tutti_gather(x->b->team, mine, x->first, c->n, c->type, c->root));
    if (at_root(x))
        expect_same(x, "gathered again, the input", x->first, x->in, c->n * c->sz * x->b->p);
    return TUTTI_OK;
}

static tutti_status try_gatherv(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    int64_t n = c->in_counts[c->root], at = c->in_displs[c->root] * c->sz;
    TT_TRY(tutti_scatterv(x->b->team, x->out, c->out_counts, c->out_displs, x->first, n, c->type,
                          c->root));
    expect_same(x, "scattered again, the input", x->first, x->in + at, n * c->sz);
    return TUTTI_OK;
}

static tutti_status try_scatterv(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    int64_t n = c->out_counts[c->root], at = c->out_displs[c->root] * c->sz;
    const char *mine = own_piece(x, at_root(x) ? c->in_displs[x->b->me] * c->sz : 0);
    if (mine == x->out) mine += at;
    TT_TRY(
        tutti_gatherv(x->b->team, mine, n, x->first, c->in_counts, c->in_displs, c->type, c->root));
    if (at_root(x))
        expect_pieces(x, "gathered again, the input", x->first, x->in, c->in_counts, c->in_displs);
    return TUTTI_OK;
}

/* ---- Exchanges ---- */

/* Checks that an alltoall of the output gives back the input, and that an alltoallv with equal
 * counts gives the same output. */
static tutti_status try_alltoall(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    const int64_t bytes = c->n * c->sz * x->b->p;
    TT_TRY(tutti_alltoall(x->b->team, x->out, x->first, c->n, c->type));
    expect_same(x, "transposed again, the input", x->first, x->in, bytes);
    for (int r = 0; r < x->b->p; r++) {
        x->counts[r] = c->n;
        x->displs[r] = c->n * r;
    }
    TT_TRY(tutti_alltoallv(x->b->team, x->in, x->counts, x->displs, x->first, x->counts, x->displs,
                           c->type));
    expect_same(x, "against an alltoallv, the result", x->out, x->first, bytes);
    return TUTTI_OK;
}

static tutti_status try_alltoallv(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    TT_TRY(tutti_alltoallv(x->b->team, x->out, c->out_counts, c->out_displs, x->first, c->in_counts,
                           c->in_displs, c->type));
    expect_pieces(x, "sent back, the input", x->first, x->in, c->in_counts, c->in_displs);
    return TUTTI_OK;
}

static tutti_status try_barrier(struct identity *x)
{
    (void)x;
    return TUTTI_OK;
}

typedef tutti_status try_fn(struct identity *x);
static try_fn *const tries[TT_COLLS] = {
#define TRY(name, ...) [TT_COLL_##name] = try_##name,
    TT_COLL_LIST(TRY)
#undef TRY
};

/* ---- The check of one call ---- */

static void divide(struct identity *x)
{
    int p = x->b->p;
    int64_t n = x->b->call.n;
    for (int r = 0; r < p; r++) {
        x->displs[r] = n / p * r + tt_min(r, n % p);
        x->counts[r] = n / p + (r < n % p);
    }
}

tutti_status tt_bench_identities(const struct tt_bench *b, const char *in, const char *out,
                                 bool *right)
{
    size_t bytes = (size_t)(tt_max(b->in_bytes, b->out_bytes) * b->p) + 1, p = (size_t)b->p;
    struct identity x = {b, in, out, malloc(bytes), malloc(bytes), NULL, NULL, true};
    x.counts = malloc(2 * p * sizeof *x.counts);
    tutti_status status = x.first && x.second && x.counts ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK) {
        x.displs = x.counts + p;
        divide(&x);
        status = tries[b->call.coll](&x);
    }
    free(x.first);
    free(x.second);
    free(x.counts);
    *right = x.right;
    return status;
}
