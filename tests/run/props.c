/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums are of integers and the operation that does not commute composes maps of integers, so
 * results are compared bit by bit.
 */
#include "run/props.h"

#include <stdlib.h>
#include <string.h>

#include "type/type.h"

/* Bytes that mark memory which holds no data yet. Each rank uses other marks, so that the test
 * notices data from unwritten memory of another rank. */
enum { MARGIN_BYTE = 0xa0, EARLY_BYTE = 0x70, WIPED_BYTE = 0xe0, REUSED_BYTE = 0x50 };

/* ---- Sizes ---- */

static int64_t v_total(const int64_t *counts, const int64_t *displs, int p)
{
    int64_t most = 0;
    for (int r = 0; r < p; r++) most = tt_max(most, counts[r] + displs[r]);
    return most;
}

static int64_t in_bytes(const struct tt_call *c, int p, int me)
{
    switch (c->coll) {
    case TT_COLL_barrier:
    case TT_COLL_bcast: return 0;
    case TT_COLL_reduce_scatter_block:
    case TT_COLL_alltoall: return c->n * c->sz * p;
    case TT_COLL_scatter: return me == c->root ? c->n * c->sz * p : 0;
    case TT_COLL_allgatherv: return c->out_counts[me] * c->sz;
    case TT_COLL_alltoallv:
    case TT_COLL_gatherv:
    case TT_COLL_scatterv: return v_total(c->in_counts, c->in_displs, p) * c->sz;
    default: return c->n * c->sz;
    }
}

static int64_t out_bytes(const struct tt_call *c, int p, int me)
{
    switch (c->coll) {
    case TT_COLL_barrier: return 0;
    case TT_COLL_reduce: return me == c->root ? c->n * c->sz : 0;
    case TT_COLL_gather: return me == c->root ? c->n * c->sz * p : 0;
    case TT_COLL_exscan: return me > 0 || c->in_place ? c->n * c->sz : 0;
    case TT_COLL_scatter: return c->in_place ? in_bytes(c, p, me) : c->n * c->sz;
    case TT_COLL_reduce_scatter_block:
    case TT_COLL_reduce_scatter:
        return c->in_place ? in_bytes(c, p, me) : tt_call_block_bytes(c, me);
    case TT_COLL_allgather:
    case TT_COLL_alltoall: return c->n * c->sz * p;
    case TT_COLL_allgatherv:
    case TT_COLL_alltoallv:
    case TT_COLL_gatherv:
    case TT_COLL_scatterv: return v_total(c->out_counts, c->out_displs, p) * c->sz;
    default: return c->n * c->sz;
    }
}

/* Returns the offset in OUT at which the input of an in-place call lies. */
static int64_t place_of(const struct tt_call *c, int me)
{
    if (c->coll == TT_COLL_gather || c->coll == TT_COLL_allgather) return me * c->n * c->sz;
    if (c->coll == TT_COLL_allgatherv) return c->out_displs[me] * c->sz;
    return 0;
}

/* ---- Buffers ---- */

static struct guarded make(int64_t bytes, int me)
{
    struct guarded g = {malloc((size_t)bytes + 2 * PROPS_MARGIN), NULL, bytes};
    if (!g.base) abort();
    g.at = g.base + PROPS_MARGIN;
    memset(g.base, MARGIN_BYTE + me, (size_t)bytes + 2 * PROPS_MARGIN);
    memset(g.at, EARLY_BYTE + me, (size_t)bytes);
    return g;
}

static bool all_are(const unsigned char *at, int64_t n, int byte)
{
    return n == 0 || (at[0] == byte && memcmp(at, at + 1, (size_t)n - 1) == 0);
}

static bool margins_hold(const struct guarded *g, int me)
{
    return all_are(g->base, PROPS_MARGIN, MARGIN_BYTE + me) &&
           all_are(g->at + g->bytes, PROPS_MARGIN, MARGIN_BYTE + me);
}

bool props_margins_hold(const struct props *x)
{
    return margins_hold(&x->in, x->me) && margins_hold(&x->out, x->me) &&
           margins_hold(&x->tmp, x->me);
}

static bool is_source(const struct tt_call *c, int me)
{
    return c->coll == TT_COLL_bcast && c->root == me;
}

void props_make(struct props *x, const struct tt_call *call, int p, int me, int64_t tmp_bytes,
                struct tt_random *random)
{
    *x = (struct props){.call = call, .p = p, .me = me};
    x->in = make(in_bytes(call, p, me), me);
    x->out = make(out_bytes(call, p, me), me);
    x->tmp = make(tmp_bytes, me);
    x->input_bytes = is_source(call, me) ? x->out.bytes : x->in.bytes;
    x->input = malloc((size_t)x->input_bytes + 1);
    if (!x->input) abort();
    for (int64_t i = 0; i < x->input_bytes; i++)
        x->input[i] = (unsigned char)(tt_random_next(random) >> 40);
}

void props_free(struct props *x)
{
    free(x->in.base);
    free(x->out.base);
    free(x->tmp.base);
    free(x->input);
}

/* Returns whether the input lies in OUT. In a gatherv or scatterv in place a plan has separate
 * buffers (plan/call.h). */
static bool lies_in_out(const struct tt_call *c)
{
    return c->in_place && !tt_coll_pairs(c->coll);
}

unsigned char *props_in(const struct props *x)
{
    return lies_in_out(x->call) ? x->out.at + place_of(x->call, x->me) : x->in.at;
}

void props_fill(struct props *x)
{
    memset(x->out.at, WIPED_BYTE + x->me, (size_t)x->out.bytes);
    unsigned char *at = is_source(x->call, x->me) ? x->out.at : props_in(x);
    memcpy(at, x->input, (size_t)x->input_bytes);
}

/* Overwrites all buffers with a mark: IN (where it is separate), OUT, and also TMP, which the next
 * execution of the plan may use. */
void props_reuse(struct props *x)
{
    memset(x->in.at, REUSED_BYTE + x->me, (size_t)x->in.bytes);
    memset(x->out.at, REUSED_BYTE + x->me, (size_t)x->out.bytes);
    memset(x->tmp.at, REUSED_BYTE + x->me, (size_t)x->tmp.bytes);
}

bool props_still_reused(const struct props *x)
{
    return all_are(x->in.at, x->in.bytes, REUSED_BYTE + x->me) &&
           all_are(x->out.at, x->out.bytes, REUSED_BYTE + x->me) &&
           all_are(x->tmp.at, x->tmp.bytes, REUSED_BYTE + x->me);
}

/* ---- The expected result ---- */

/* Returns the number of bytes of OUT that are part of the result; the bytes after them are not
 * compared. */
static int64_t result_bytes(const struct props *x)
{
    if (x->call->coll == TT_COLL_exscan && x->me == 0) return 0;
    return tt_call_scatters(x->call) ? tt_call_block_bytes(x->call, x->me) : x->out.bytes;
}

static void expect_fold(const struct props *x, const struct props *const *all, unsigned char *to)
{
    const struct tt_call *c = x->call;
    int64_t from = tt_call_scatters(c) ? tt_call_block_at(c, x->me) : 0;
    int64_t bytes = result_bytes(x);
    int ranks = c->coll == TT_COLL_scan ? x->me + 1 : c->coll == TT_COLL_exscan ? x->me : x->p;
    memcpy(to, all[0]->input + from, (size_t)bytes);
    for (int r = 1; r < ranks; r++) {
        const void *in[2] = {to, all[r]->input + from};
        tt_reduce(to, in, 2, (size_t)(bytes / c->sz), c->type, c->op);
    }
}

/* Copies the segment that comes from rank r, from that rank's input to its place in the expected
 * result. */
static void expect_piece(const struct props *x, const struct props *from, int r, unsigned char *to)
{
    const struct tt_call *c = x->call;
    int64_t len = c->n * c->sz, at = r * len;
    int64_t src = c->coll == TT_COLL_alltoall ? x->me * len : 0;
    if (c->out_counts) {
        at = c->out_displs[r] * c->sz;
        len = c->out_counts[r] * c->sz;
        src = from->call->in_displs ? from->call->in_displs[x->me] * c->sz : 0;
    }
    memcpy(to + at, from->input + src, (size_t)len);
}

static void expect(const struct props *x, const struct props *const *all, unsigned char *to)
{
    memset(to, WIPED_BYTE + x->me, (size_t)x->out.bytes);
    if (x->call->coll == TT_COLL_bcast)
        memcpy(to, all[x->call->root]->input, (size_t)x->out.bytes);
    else if (x->call->coll == TT_COLL_scatter)
        memcpy(to, all[x->call->root]->input + (x->call->in_place ? 0 : x->me * x->out.bytes),
               (size_t)x->out.bytes);
    else if (tt_coll_has_op(x->call->coll))
        expect_fold(x, all, to);
    else
        for (int r = 0; r < x->p; r++) expect_piece(x, all[r], r, to);
}

bool props_right(const struct props *x, const struct props *const *all)
{
    if (!lies_in_out(x->call) && memcmp(x->in.at, x->input, (size_t)x->in.bytes) != 0) return false;
    if (x->out.bytes == 0) return true;
    unsigned char *to = malloc((size_t)x->out.bytes);
    if (!to) abort();
    expect(x, all, to);
    bool same = memcmp(x->out.at, to, (size_t)result_bytes(x)) == 0;
    free(to);
    return same;
}
