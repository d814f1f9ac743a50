/* SPDX-License-Identifier: BSD-3-Clause */
#include "types-case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"

enum { CANARY = 0xa5, MODULUS = 65521 };

void must(tutti_status status, const struct one *one, const char *what)
{
    if (status == TUTTI_OK) return;
    fprintf(stderr, "rank %d of %d: %s of %lld %s: %s: %s\n", one->rank->me, one->rank->p,
            tt_coll_name(one->shape.coll), (long long)one->shape.n,
            (const char *[]){"columns", "pairs", "rows"}[one->shape.kind], what, tutti_error());
    abort();
}

static void check(bool good, const struct one *one, const char *what)
{
    must(good ? TUTTI_OK : TUTTI_ERR_SYSTEM, one, what);
}

/* ---- Values ---- */

static struct value value(const struct one *one, int round, int rank, int64_t i)
{
    struct value v;
    uint64_t x = (uint64_t)(rank + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i * 0xbf58476d1ce4e5b9u +
                 (uint64_t)round * 0x94d049bb133111ebu;
    for (int j = 0; j < WORDS; j++, x = (x ^ x >> 29) * 0xff51afd7ed558ccdu)
        v.w[j] = one->shape.kind == PAIRS ? (x >> 32) % MODULUS : x;
    return v;
}

/* Composes the maps x -> a x + b, where a is word 0 of an element and b is word 1. Words 2 and up
 * are taken from the first operand, so that the test notices elements that are mixed up. */
static struct value composed(enum kind kind, struct value l, struct value r)
{
    struct value v = l;
    v.w[0] = l.w[0] * r.w[0];
    v.w[1] = l.w[0] * r.w[1] + l.w[1];
    for (int j = 0; j < 2 && kind == PAIRS; j++) v.w[j] %= MODULUS;
    return v;
}

static struct value added(struct value l, struct value r)
{
    for (int j = 0; j < WORDS; j++) l.w[j] += r.w[j];
    return l;
}

static struct value reduced(const struct one *one, int round, int64_t i)
{
    enum tt_coll coll = one->shape.coll;
    int me = one->rank->me, ranks = one->rank->p;
    if (coll == TT_COLL_scan || coll == TT_COLL_exscan) ranks = me + (coll == TT_COLL_scan);
    struct value v = value(one, round, 0, i);
    for (int r = 1; r < ranks; r++) {
        struct value next = value(one, round, r, i);
        v = one->shape.user_op ? composed(one->shape.kind, v, next) : added(v, next);
    }
    return v;
}

/* ---- Operations, on packed elements ---- */

static struct value unpacked_pair(const char *at)
{
    int32_t a;
    double b;
    memcpy(&a, at, sizeof a);
    memcpy(&b, at + sizeof a, sizeof b);
    return (struct value){{(uint64_t)a, (uint64_t)b}};
}

static void pack_pair(char *at, struct value v)
{
    int32_t a = (int32_t)v.w[0];
    double b = (double)v.w[1];
    memcpy(at, &a, sizeof a);
    memcpy(at + sizeof a, &b, sizeof b);
}

static void compose_pairs(const void *left, const void *right, void *out, size_t n, tutti_type type,
                          void *arg)
{
    enum { SZ = sizeof(int32_t) + sizeof(double) };
    (void)arg;
    if (type < TUTTI_TYPE_USER) abort();
    for (size_t i = 0; i < n; i++)
        pack_pair((char *)out + i * SZ, composed(PAIRS, unpacked_pair((const char *)left + i * SZ),
                                                 unpacked_pair((const char *)right + i * SZ)));
}

static void compose_columns(const void *left, const void *right, void *out, size_t n,
                            tutti_type type, void *arg)
{
    struct value l, r;
    (void)arg;
    if (type < TUTTI_TYPE_USER) abort();
    for (size_t i = 0; i < n; i++) {
        memcpy(&l, (const char *)left + i * sizeof l, sizeof l);
        memcpy(&r, (const char *)right + i * sizeof r, sizeof r);
        l = composed(COLUMNS, l, r);
        memcpy((char *)out + i * sizeof l, &l, sizeof l);
    }
}

tutti_op types_op[KINDS];

void types_make_ops(void)
{
    if (tutti_op_create(compose_columns, 0, NULL, &types_op[COLUMNS]) != TUTTI_OK ||
        tutti_op_create(compose_pairs, 0, NULL, &types_op[PAIRS]) != TUTTI_OK ||
        tutti_op_create(compose_columns, 0, NULL, &types_op[ROWS]) != TUTTI_OK)
        abort();
}

/* ---- Layouts ---- */

static bool is_odd(const struct one *one)
{
    return one->rank->me % 2 == 1;
}

/* Makes the elements columns of a matrix, which has a column for each element of the buffer. At odd
 * ranks the matrix has three unused columns in addition. */
static void make_columns(struct one *one)
{
    tutti_type strided;
    int64_t width = one->room + (is_odd(one) ? 3 : 0);
    one->extent = sizeof(uint64_t);
    one->bytes = width * WORDS * (int64_t)sizeof(uint64_t);
    must(tutti_type_vector(WORDS, 1, width, TUTTI_U64, &strided), one, "type_vector");
    must(tutti_type_struct(1, &(tutti_field){0, 1, strided}, one->extent, &one->type), one,
         "type_struct");
    must(tutti_type_free(strided), one, "type_free");
}

static void make_pairs(struct one *one)
{
    bool odd = is_odd(one);
    one->extent = odd ? 16 : 24;
    one->bytes = one->room * one->extent;
    tutti_field fields[] = {{odd ? 8 : 0, 1, TUTTI_I32}, {odd ? 0 : 8, 1, TUTTI_F64}};
    must(tutti_type_struct(2, fields, one->extent, &one->type), one, "type_struct");
}

/* Makes the elements rows of words. At even ranks there is no gap between the elements, which begin
 * one word after the buffer's address, so that nothing is packed. At odd ranks a gap follows each
 * element. */
static void make_rows(struct one *one)
{
    int64_t word = sizeof(uint64_t);
    tutti_field field = {is_odd(one) ? 0 : word, WORDS, TUTTI_U64};
    one->extent = (WORDS + is_odd(one)) * word;
    one->bytes = (one->room + 1) * one->extent;
    must(tutti_type_struct(1, &field, one->extent, &one->type), one, "type_struct");
}

static void put(const struct one *one, char *buffer, int64_t i, struct value v)
{
    bool odd = is_odd(one);
    int64_t row = one->bytes / WORDS;
    int32_t a = (int32_t)v.w[0];
    double b = (double)v.w[1];
    buffer += i * one->extent;
    if (one->shape.kind == ROWS) {
        memcpy(buffer + (odd ? 0 : sizeof v.w[0]), v.w, sizeof v.w);
        return;
    }
    if (one->shape.kind == COLUMNS) {
        for (int j = 0; j < WORDS; j++) memcpy(buffer + j * row, &v.w[j], sizeof v.w[j]);
        return;
    }
    memcpy(buffer + (odd ? 8 : 0), &a, sizeof a);
    memcpy(buffer + (odd ? 0 : 8), &b, sizeof b);
}

static void put_all(const struct one *one, char *buffer, int64_t at, int64_t n, int round, int rank,
                    int64_t first)
{
    for (int64_t i = 0; i < n; i++) put(one, buffer, at + i, value(one, round, rank, first + i));
}

/* ---- Cases ---- */

/* Returns whether only the root exchanges pieces with the other ranks, with uneven counts. */
static bool is_rooted_list(const struct one *one)
{
    return one->shape.coll == TT_COLL_gatherv || one->shape.coll == TT_COLL_scatterv;
}

static int64_t exchanged(const struct one *one, int from, int to)
{
    bool gathers = one->shape.coll == TT_COLL_gatherv;
    if (is_rooted_list(one) && (gathers ? to : from) != one->shape.root) return 0;
    return one->shape.n * ((from + 2 * to) % 4);
}

/* Sets uneven counts, some of them zero, and displacements with gaps; the segments of `out` are in
 * reverse order of ranks. */
static void make_counts(struct one *one)
{
    int p = one->rank->p, me = one->rank->me;
    int64_t in_at = 0, out_at = 0;
    bool known = one->shape.coll == TT_COLL_allgatherv || one->shape.coll == TT_COLL_reduce_scatter;
    for (int r = 0; r < p; r++) {
        one->in_counts[r] = exchanged(one, me, r);
        one->out_counts[r] = known ? one->shape.n * (r % 3) : exchanged(one, r, me);
        one->in_displs[r] = in_at;
        in_at += one->in_counts[r] + 1;
    }
    for (int r = p - 1; r >= 0; r--) {
        one->out_displs[r] = out_at;
        out_at += one->out_counts[r] + 1;
    }
}

static char *buffer(const struct one *one)
{
    void *memory;
    if (one->shape.flags & TUTTI_REQUEST_SHARED)
        must(tutti_alloc(one->rank->client, (size_t)one->bytes, &memory), one, "alloc");
    else
        memory = malloc((size_t)one->bytes);
    if (!memory) abort();
    return memory;
}

struct one *one_new(struct types_rank *rank, struct shape shape)
{
    struct one *one = calloc(1, sizeof *one);
    if (!one) abort();
    one->rank = rank;
    one->shape = shape;
    one->room = 3 * shape.n * rank->p + rank->p + 2;
    (void (*[])(struct one *)){make_columns, make_pairs, make_rows}[shape.kind](one);
    make_counts(one);
    one->in = buffer(one);
    one->out = buffer(one);
    one->expected = malloc((size_t)one->bytes);
    if (!one->expected) abort();
    return one;
}

void one_free(struct one *one)
{
    bool shared = one->shape.flags & TUTTI_REQUEST_SHARED;
    must(tutti_request_free(one->request), one, "request_free");
    must(tutti_type_free(one->type), one, "type_free");
    char *buffers[] = {one->in, one->out};
    for (int i = 0; i < 2; i++)
        if (shared)
            must(tutti_free(one->rank->client, buffers[i]), one, "free");
        else
            free(buffers[i]);
    free(one->expected);
    free(one);
}

static bool in_place(const struct one *one)
{
    const struct shape *s = &one->shape;
    if (tt_coll_is_roots(s->coll)) return s->in_place && s->root == one->rank->me;
    return s->in_place && s->coll != TT_COLL_alltoall && s->coll != TT_COLL_alltoallv;
}

/* Returns whether two ranks that exchange a piece both pass its count, as in an alltoallv. */
static bool pairs(const struct one *one)
{
    return tt_coll_pairs(one->shape.coll);
}

static bool scatters(const struct one *one)
{
    return one->shape.coll == TT_COLL_reduce_scatter ||
           one->shape.coll == TT_COLL_reduce_scatter_block;
}

/* Returns, for a reduce_scatter, the number of elements in the blocks of the ranks below r. */
static int64_t before(const struct one *one, int r)
{
    int64_t at = 0;
    if (one->shape.coll == TT_COLL_reduce_scatter_block) return r * one->shape.n;
    while (r-- > 0) at += one->out_counts[r];
    return at;
}

/* Writes the input to `in`, for a call that is not in place. */
static void put_input(const struct one *one, char *in, int round)
{
    int p = one->rank->p, me = one->rank->me;
    enum tt_coll coll = one->shape.coll;
    if (pairs(one)) {
        for (int r = 0; r < p; r++)
            put_all(one, in, one->in_displs[r], one->in_counts[r], round, me, 1000 * r);
        return;
    }
    int64_t n = coll == TT_COLL_allgatherv ? one->out_counts[me] : one->shape.n;
    if (coll == TT_COLL_alltoall) n *= p;
    if (coll == TT_COLL_scatter) n *= one->shape.root == me ? p : 0;
    if (scatters(one)) n = before(one, p);
    put_all(one, in, 0, n, round, me, 0);
}

/* Returns the offset in `out`, in elements, at which the input of an in-place call lies. */
static int64_t place(const struct one *one)
{
    if (one->shape.coll == TT_COLL_allgather || one->shape.coll == TT_COLL_gather)
        return one->rank->me * one->shape.n;
    return one->shape.coll == TT_COLL_allgatherv ? one->out_displs[one->rank->me] : 0;
}

void one_fill(struct one *one, int round)
{
    bool bcasts = one->shape.coll == TT_COLL_bcast && one->shape.root == one->rank->me;
    memset(one->in, CANARY, (size_t)one->bytes);
    memset(one->out, CANARY, (size_t)one->bytes);
    if (one->shape.coll == TT_COLL_gatherv && in_place(one))
        put_all(one, one->out, one->out_displs[one->rank->me], one->out_counts[one->rank->me],
                round, one->rank->me, 1000 * one->rank->me);
    else if (in_place(one) || bcasts)
        put_input(one, one->out + place(one) * one->extent, round);
    else
        put_input(one, one->in, round);
}

/* Writes the expected result of a call whose result is this rank's block only. In place, the rest
 * of the buffer must stay unchanged. */
static void put_block(const struct one *one, char *out, int round)
{
    int me = one->rank->me;
    int64_t first = before(one, me), n = before(one, me + 1) - first;
    if (in_place(one)) put_input(one, out, round);
    for (int64_t i = 0; i < n; i++) put(one, out, i, reduced(one, round, first + i));
}

static void put_output(const struct one *one, char *out, int round)
{
    const struct shape *s = &one->shape;
    int p = one->rank->p, me = one->rank->me;
    bool lists = s->coll == TT_COLL_allgatherv || pairs(one);
    if (s->coll == TT_COLL_bcast) {
        put_all(one, out, 0, s->n, round, s->root, 0);
    } else if (s->coll == TT_COLL_scatterv && in_place(one)) {
        put_input(one, out, round);
    } else if (scatters(one)) {
        put_block(one, out, round);
    } else if (s->coll == TT_COLL_scatter) {
        if (in_place(one))
            put_input(one, out, round);
        else
            put_all(one, out, 0, s->n, round, s->root, s->n * me);
    } else if (s->coll == TT_COLL_gather && s->root != me) {
        return;
    } else if (s->coll == TT_COLL_exscan && me == 0) {
        if (in_place(one)) put_input(one, out, round);
    } else if (tt_coll_has_op(s->coll)) {
        for (int64_t i = 0; i < s->n && (s->coll != TT_COLL_reduce || s->root == me); i++)
            put(one, out, i, reduced(one, round, i));
    } else {
        int64_t first = s->coll == TT_COLL_alltoall ? s->n * me : pairs(one) ? 1000 * me : 0;
        for (int r = 0; r < p; r++)
            put_all(one, out, lists ? one->out_displs[r] : r * s->n,
                    lists ? one->out_counts[r] : s->n, round, r, first);
    }
}

void one_check(struct one *one, int round)
{
    bool bcasts = one->shape.coll == TT_COLL_bcast && one->shape.root == one->rank->me;
    memset(one->expected, CANARY, (size_t)one->bytes);
    put_output(one, one->expected, round);
    check(memcmp(one->out, one->expected, (size_t)one->bytes) == 0, one, "gave something else");
    memset(one->expected, CANARY, (size_t)one->bytes);
    if (!in_place(one) && !bcasts) put_input(one, one->expected, round);
    check(memcmp(one->in, one->expected, (size_t)one->bytes) == 0, one, "changed its input");
}

/* ---- Calls ---- */

#define CALL(name, ...)                                                                            \
    (mode == BLOCKING      ? tutti_##name(team, __VA_ARGS__)                                       \
     : mode == NONBLOCKING ? tutti_i##name(team, __VA_ARGS__, &one->request)                       \
                           : tutti_##name##_init(team, __VA_ARGS__, s->flags, &one->request))

static tutti_status call_reduction(struct one *one, enum mode mode, const void *in)
{
    const struct shape *s = &one->shape;
    tutti_team *team = one->rank->team;
    tutti_op op = s->user_op ? types_op[s->kind] : TUTTI_SUM;
    if (s->coll == TT_COLL_allreduce) return CALL(allreduce, in, one->out, s->n, one->type, op);
    if (s->coll == TT_COLL_scan) return CALL(scan, in, one->out, s->n, one->type, op);
    if (s->coll == TT_COLL_exscan) return CALL(exscan, in, one->out, s->n, one->type, op);
    if (s->coll == TT_COLL_reduce_scatter_block)
        return CALL(reduce_scatter_block, in, one->out, s->n, one->type, op);
    if (s->coll == TT_COLL_reduce_scatter)
        return CALL(reduce_scatter, in, one->out, one->out_counts, one->type, op);
    return CALL(reduce, in, s->root == one->rank->me ? one->out : NULL, s->n, one->type, op,
                s->root);
}

/* Calls a gatherv or scatterv. Each rank has lists of its own, in which the entry of the root gives
 * the count and the displacement of the piece that the rank sends to the root or gets from it. */
static tutti_status call_rooted_list(struct one *one, enum mode mode, const void *in)
{
    const struct shape *s = &one->shape;
    tutti_team *team = one->rank->team;
    const int64_t *to = one->in_displs, *from = one->out_displs;
    int64_t sent = to[s->root] * one->extent, taken = from[s->root] * one->extent;
    if (s->coll == TT_COLL_gatherv)
        return CALL(gatherv, in_place(one) ? in : one->in + sent, one->in_counts[s->root], one->out,
                    one->out_counts, from, one->type, s->root);
    return CALL(scatterv, in, one->in_counts, to, in_place(one) ? one->out : one->out + taken,
                one->out_counts[s->root], one->type, s->root);
}

static tutti_status call(struct one *one, enum mode mode)
{
    const struct shape *s = &one->shape;
    tutti_team *team = one->rank->team;
    const void *in = in_place(one) ? TUTTI_IN_PLACE : one->in;
    switch (s->coll) {
    case TT_COLL_bcast: return CALL(bcast, one->out, s->n, one->type, s->root);
    case TT_COLL_allgather: return CALL(allgather, in, one->out, s->n, one->type);
    case TT_COLL_gather: return CALL(gather, in, one->out, s->n, one->type, s->root);
    case TT_COLL_scatter: return CALL(scatter, in, one->out, s->n, one->type, s->root);
    case TT_COLL_alltoall: return CALL(alltoall, in, one->out, s->n, one->type);
    case TT_COLL_allgatherv:
        return CALL(allgatherv, in, one->out, one->out_counts, one->out_displs, one->type);
    case TT_COLL_gatherv:
    case TT_COLL_scatterv: return call_rooted_list(one, mode, in);
    case TT_COLL_alltoallv:
        return CALL(alltoallv, in, one->in_counts, one->in_displs, one->out, one->out_counts,
                    one->out_displs, one->type);
    default: return call_reduction(one, mode, in);
    }
}

void one_call(struct one *one, enum mode mode)
{
    must(call(one, mode), one, "call");
}

bool one_applies(const struct one *one, const struct tt_algorithm *a)
{
    const struct shape *s = &one->shape;
    bool whole = s->user_op && tt_coll_has_op(s->coll);
    int64_t packed = (int64_t)tutti_type_size(one->type);
    struct tt_call call = {.coll = s->coll,
                           .op = whole ? types_op[s->kind] : TUTTI_SUM,
                           .type = whole              ? one->type
                                   : s->kind == PAIRS ? TUTTI_U8
                                                      : TUTTI_U64,
                           .commutes = !whole,
                           .in_place = s->in_place,
                           .root = s->root};
    call.sz = (int64_t)tutti_type_size(call.type);
    if (call.coll == TT_COLL_reduce_scatter) {
        call.n = before(one, one->rank->p) * packed / call.sz;
        call.out_counts = one->out_counts;
    } else if (!tt_call_segments(&call))
        call.n = s->n * packed / call.sz;
    return a->refuse(&call, &one->rank->team->run.map) == NULL;
}
