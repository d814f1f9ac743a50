/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Identities between collectives: the result of a call must equal the result of other collectives.
 * Most identities are compositions: an allreduce equals a reduce and then a bcast. Some give back
 * the input: an alltoall of the output of an alltoall. In a grid or graph that is drawn, the pieces
 * of neighbours equal those of the whole exchange. The collectives with which the call is compared
 * run on the team of the case, with its slices, branchings and lanes (the keys slice, radix and
 * lanes of a problem), and with the algorithms that the library chooses for them.
 *
 * Two identities compare the call with itself: calls on integers are linear, and if the ranks of
 * the team are permuted, the results are permuted, too. Whatever is drawn for an identity depends
 * on the seed of the problem alone, so all ranks draw the same, and the problem repeats it.
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
    tt_bench_call_fn *call;  /* makes the call of the case with other buffers or on another team */
    struct tt_random random; /* the same on all ranks */
    bool right;
};

static int below(struct identity *x, int n)
{
    return (int)tt_random_below(&x->random, (uint64_t)n);
}

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

/* ---- Neighbours and types for each piece ---- */

/* The collectives that are compared with an exchange of all ranks. In the last two, each
 * piece has a type of its own. EVERYBODY is an alltoallw, and the others are collectives of
 * neighbours. */
enum peer_form { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, EVERYBODY, FORMS };
enum { DIMS = 3, DEGREE = 3, UNTOUCHED = 0x4d };

/* The pieces that this rank sends, or those that it receives: a list of n ranks, which may contain
 * a rank several times and TUTTI_NO_RANK, and what the call passes for each of them. */
struct peer_list {
    int n, *ranks;
    int64_t *counts, *displs;
    tutti_type *types;
};

struct peer_exchange {
    struct identity *x;
    tutti_team *team;
    struct peer_list to, from;
    tutti_type pair, wide; /* pair: two elements; wide: an element, and a gap of the same size */
    char *found, *expected;
    char *packed; /* for an ALLTOALL: the pieces to send, one after the other */
};

/* The place of a piece in a buffer, in elements. */
struct piece_place {
    int64_t at, n;
};

/* Returns what this rank sends to rank r in the call of the case. */
static struct piece_place place_to(const struct tt_bench *b, int r)
{
    const struct tt_call *c = &b->call;
    if (r == TUTTI_NO_RANK) return (struct piece_place){0, c->n};
    switch (c->coll) {
    case TT_COLL_allgather: return (struct piece_place){0, c->n};
    case TT_COLL_allgatherv: return (struct piece_place){0, c->out_counts[b->me]};
    case TT_COLL_alltoall: return (struct piece_place){r * c->n, c->n};
    default: return (struct piece_place){c->in_displs[r], c->in_counts[r]};
    }
}

/* Returns what this rank receives from rank r in the call of the case. */
static struct piece_place place_from(const struct tt_bench *b, int r)
{
    const struct tt_call *c = &b->call;
    if (r == TUTTI_NO_RANK) return (struct piece_place){0, c->n};
    if (tt_call_counts(c)) return (struct piece_place){c->out_displs[r], c->out_counts[r]};
    return (struct piece_place){r * c->n, c->n};
}

/* Lists the pieces to send, which lie in the input of the call. A typed call passes every other
 * piece as pairs of elements, if possible. */
static void list_to(struct peer_exchange *e, bool typed)
{
    const struct tt_call *c = &e->x->b->call;
    for (int i = 0; i < e->to.n; i++) {
        struct piece_place piece = place_to(e->x->b, e->to.ranks[i]);
        bool pairs = typed && i % 2 && piece.n % 2 == 0;
        e->to.counts[i] = pairs ? piece.n / 2 : piece.n;
        e->to.displs[i] = typed ? piece.at * c->sz : piece.at;
        e->to.types[i] = pairs ? e->pair : c->type;
    }
}

/* Lists the pieces to receive, which follow each other. In a typed call, every other piece has gaps
 * between its elements. Returns the bytes of all pieces. */
static int64_t list_from(struct peer_exchange *e, bool typed)
{
    const struct tt_call *c = &e->x->b->call;
    int64_t at = 0;
    for (int i = 0; i < e->from.n; i++) {
        int64_t n = place_from(e->x->b, e->from.ranks[i]).n;
        bool wide = typed && i % 2;
        e->from.counts[i] = n;
        e->from.displs[i] = typed ? at * c->sz : at;
        e->from.types[i] = wide ? e->wide : c->type;
        at += wide ? 2 * n : n;
    }
    return at * c->sz;
}

/* Writes into `expected` what the call of the case gave this rank from the ranks in the list. */
static void set_expected(struct peer_exchange *e, bool typed)
{
    const int64_t sz = e->x->b->call.sz;
    for (int i = 0; i < e->from.n; i++) {
        if (e->from.ranks[i] == TUTTI_NO_RANK) continue;
        struct piece_place piece = place_from(e->x->b, e->from.ranks[i]);
        const char *from = e->x->out + piece.at * sz;
        char *to = e->expected + e->from.displs[i] * (typed ? 1 : sz);
        int64_t step = typed && i % 2 ? 2 * sz : sz;
        for (int64_t k = 0; k < piece.n; k++) memcpy(to + k * step, from + k * sz, (size_t)sz);
    }
}

static tutti_status call_form(const struct peer_exchange *e, enum peer_form form)
{
    const struct tt_call *c = &e->x->b->call;
    const struct peer_list *to = &e->to, *from = &e->from;
    const char *in = e->x->in;
    switch (form) {
    case ALLGATHER: return tutti_neighbor_allgather(e->team, in, e->found, c->n, c->type);
    case ALLGATHERV:
        return tutti_neighbor_allgatherv(e->team, in, place_to(e->x->b, e->x->b->me).n, e->found,
                                         from->counts, from->displs, c->type);
    case ALLTOALL: return tutti_neighbor_alltoall(e->team, e->packed, e->found, c->n, c->type);
    case ALLTOALLV:
        return tutti_neighbor_alltoallv(e->team, in, to->counts, to->displs, e->found, from->counts,
                                        from->displs, c->type);
    case ALLTOALLW:
        return tutti_neighbor_alltoallw(e->team, in, to->counts, to->displs, to->types, e->found,
                                        from->counts, from->displs, from->types);
    default:
        return tutti_alltoallw(e->team, in, to->counts, to->displs, to->types, e->found,
                               from->counts, from->displs, from->types);
    }
}

static void pack(struct peer_exchange *e)
{
    const struct tt_call *c = &e->x->b->call;
    const size_t bytes = (size_t)(c->n * c->sz);
    for (int i = 0; i < e->to.n; i++)
        memcpy(e->packed + (size_t)i * bytes, e->x->in + e->to.displs[i] * c->sz, bytes);
}

static tutti_status try_form(struct peer_exchange *e, enum peer_form form)
{
    static const char *const what[FORMS] = {
        "the result of a neighbor_allgather", "the result of a neighbor_allgatherv",
        "the result of a neighbor_alltoall",  "the result of a neighbor_alltoallv",
        "the result of a neighbor_alltoallw", "the result of an alltoallw"};
    bool typed = form >= ALLTOALLW;
    const struct tt_call *c = &e->x->b->call;
    int64_t bytes = list_from(e, typed), sent = form == ALLTOALL ? e->to.n * c->n * c->sz : 0;
    list_to(e, typed);
    e->found = malloc((size_t)(2 * bytes + sent) + 1);
    if (!e->found) return TUTTI_ERR_MEMORY;
    memset(e->found, UNTOUCHED, (size_t)(2 * bytes));
    e->expected = e->found + bytes;
    e->packed = e->expected + bytes;
    set_expected(e, typed);
    if (form == ALLTOALL) pack(e);
    tutti_status status = call_form(e, form);
    if (status == TUTTI_OK) expect_same(e->x, what[form], e->found, e->expected, bytes);
    free(e->found);
    return status;
}

/* Allocates the lists of pieces, which the caller frees with free(e->to.counts). */
static tutti_status open_lists(struct peer_exchange *e, int to_n, int from_n)
{
    size_t all = (size_t)to_n + (size_t)from_n;
    int64_t *at = malloc((all + 1) * (2 * sizeof(int64_t) + sizeof(tutti_type) + sizeof(int)));
    tutti_type *types = (tutti_type *)(at + 2 * all);
    int *ranks = (int *)(types + all);
    if (!at) return TUTTI_ERR_MEMORY;
    e->to = (struct peer_list){to_n, ranks, at, at + all, types};
    e->from = (struct peer_list){from_n, ranks + to_n, at + to_n, at + all + to_n, types + to_n};
    return TUTTI_OK;
}

/* Tries the forms from `first` to `last` with the ranks in the lists, and frees the lists. */
static tutti_status try_forms(struct peer_exchange *e, enum peer_form first, enum peer_form last)
{
    const struct tt_call *c = &e->x->b->call;
    tutti_status status = tutti_type_vector(1, 2, 2, c->type, &e->pair);
    if (status == TUTTI_OK) {
        status = tutti_type_resized(c->type, 0, 2 * c->sz, &e->wide);
        for (enum peer_form f = first; f <= last && status == TUTTI_OK; f++)
            status = try_form(e, f);
        (void)tutti_type_free(e->wide);
        (void)tutti_type_free(e->pair);
    }
    free(e->to.counts);
    return status;
}

static tutti_status make_grid(struct identity *x, tutti_team **team)
{
    int n = 1 + below(x, DIMS), dims[DIMS] = {0}, periodic[DIMS];
    for (int i = 0; i < n; i++) periodic[i] = below(x, 2);
    TT_TRY(tutti_cart_dims(x->b->p, n, dims));
    return tutti_team_cart(x->b->team, n, dims, periodic, TUTTI_CART_LAST_FASTEST, team);
}

/* Makes a team with a graph in which a rank sends to DEGREE ranks on average, to some of them two
 * pieces. */
static tutti_status make_graph(struct identity *x, tutti_team **team)
{
    int p = x->b->p, me = x->b->me, sources = 0, destinations = 0;
    int *list = malloc(4 * (size_t)p * sizeof *list);
    if (!list) return TUTTI_ERR_MEMORY;
    for (int from = 0; from < p; from++)
        for (int to = 0; to < p; to++) {
            int n = below(x, p) < DEGREE ? 1 + below(x, 2) : 0;
            for (int i = 0; i < n && to == me; i++) list[sources++] = from;
            for (int i = 0; i < n && from == me; i++) list[2 * p + destinations++] = to;
        }
    tutti_status status =
        tutti_team_graph(x->b->team, sources, list, destinations, list + 2 * p, team);
    free(list);
    return status;
}

/* Compares the call with collectives of the neighbours in a grid or graph. */
static tutti_status try_neighbors(struct identity *x, enum peer_form first, enum peer_form last)
{
    struct peer_exchange e = {.x = x};
    int to, from;
    TT_TRY(below(x, 2) ? make_grid(x, &e.team) : make_graph(x, &e.team));
    TT_TRY(tutti_team_destinations(e.team, NULL, 0, &to));
    TT_TRY(tutti_team_sources(e.team, NULL, 0, &from));
    TT_TRY(open_lists(&e, to, from));
    TT_TRY(tutti_team_destinations(e.team, e.to.ranks, to, NULL));
    TT_TRY(tutti_team_sources(e.team, e.from.ranks, from, NULL));
    tutti_status status = try_forms(&e, first, last);
    TT_TRY(tutti_team_free(e.team));
    return status;
}

static tutti_status try_alltoallw(struct identity *x)
{
    struct peer_exchange e = {.x = x, .team = x->b->team};
    TT_TRY(open_lists(&e, x->b->p, x->b->p));
    for (int r = 0; r < x->b->p; r++) e.to.ranks[r] = e.from.ranks[r] = r;
    return try_forms(&e, EVERYBODY, EVERYBODY);
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
    return try_neighbors(x, ALLGATHER, ALLGATHERV);
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
    return try_neighbors(x, ALLGATHERV, ALLGATHERV);
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
    TT_TRY(try_alltoallw(x));
    return try_neighbors(x, ALLTOALL, ALLTOALLW);
}

static tutti_status try_alltoallv(struct identity *x)
{
    const struct tt_call *c = &x->b->call;
    TT_TRY(tutti_alltoallv(x->b->team, x->out, c->out_counts, c->out_displs, x->first, c->in_counts,
                           c->in_displs, c->type));
    expect_pieces(x, "sent back, the input", x->first, x->in, c->in_counts, c->in_displs);
    TT_TRY(try_alltoallw(x));
    return try_neighbors(x, ALLTOALLV, ALLTOALLW);
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

/* ---- Linearity ---- */

/* Returns the size of the integers on which the call is linear: those of its type if it sums
 * integers, which wrap around; bytes if it only moves data. Returns 0 if the call is not linear. */
static int64_t integer_bytes(const struct tt_call *c)
{
    if (c->coll == TT_COLL_barrier) return 0;
    if (!tt_coll_has_op(c->coll)) return 1;
    bool integers = c->type <= TUTTI_U64 || c->type == TUTTI_I128 || c->type == TUTTI_U128;
    return c->op == TUTTI_SUM && integers ? c->sz : 0;
}

/* Stores a x + b y, computed modulo the range of unsigned integers of `sz` bytes. */
static void add_multiples(char *to, uint64_t a, const char *x, uint64_t b, const char *y,
                          int64_t bytes, int64_t sz)
{
    for (int64_t at = 0; at < bytes; at += sz) {
        unsigned __int128 left = 0, right = 0;
        memcpy(&left, x + at, (size_t)sz);
        memcpy(&right, y + at, (size_t)sz);
        left = a * left + b * right;
        memcpy(to + at, &left, (size_t)sz);
    }
}

/* Makes the call of the case with this input. If it is a bcast, which has no input but that in the
 * output of the root, copies the input there. */
static tutti_status call_with(const struct identity *x, const struct tt_bench *b, const char *in,
                              char *out)
{
    memset(out, 0, (size_t)b->out_bytes);
    if (b->call.coll == TT_COLL_bcast) memcpy(out, in, (size_t)b->out_bytes);
    return x->call(b, in, out);
}

/* Checks that f(a x + b y) = a f(x) + b f(y), where f is the call of the case, but not in place. */
static tutti_status try_linearity(struct identity *x)
{
    struct tt_bench b = *x->b;
    int64_t sz = integer_bytes(&b.call);
    if (sz == 0) return TUTTI_OK;
    b.call.in_place = false;
    tt_bench_sizes(&b);
    const int64_t in = b.call.coll == TT_COLL_bcast ? b.out_bytes : b.in_bytes, out = b.out_bytes;
    uint64_t factor[2] = {tt_random_next(&x->random), tt_random_next(&x->random)};
    char *left = malloc((size_t)(3 * in + 3 * out) + 1), *right = left + in, *both = right + in;
    char *of_left = both + in, *of_right = of_left + out, *of_both = of_right + out;
    if (!left) return TUTTI_ERR_MEMORY;
    struct tt_random random;
    tt_random_seed(&random, factor[0] + (uint64_t)b.me);
    for (int64_t i = 0; i < 2 * in; i++) left[i] = (char)tt_random_next(&random);
    add_multiples(both, factor[0], left, factor[1], right, in, sz);
    tutti_status status = call_with(x, &b, left, of_left);
    if (status == TUTTI_OK) status = call_with(x, &b, right, of_right);
    if (status == TUTTI_OK) status = call_with(x, &b, both, of_both);
    if (status == TUTTI_OK) {
        add_multiples(of_left, factor[0], of_left, factor[1], of_right, out, sz);
        expect_same(x, "for a sum of two inputs, the sum of both results", of_both, of_left, out);
    }
    free(left);
    return status;
}

/* ---- Permuted ranks ---- */

/* Draws a permutation of 0..p-1. */
static void permute(struct identity *x, int *label)
{
    for (int i = 0; i < x->b->p; i++) {
        int k = below(x, i + 1);
        label[i] = i;
        label[i] = label[k];
        label[k] = i;
    }
}

/* Sets `found` to the output of the rank whose part this rank has played: rank label[r] of the
 * team of the case was played by rank r. */
static tutti_status fetch_output(const struct identity *x, const int *label, char *found,
                                 int64_t bytes)
{
    const struct tt_bench *b = x->b;
    int64_t *counts = calloc(3 * (size_t)b->p, sizeof *counts);
    if (!counts) return TUTTI_ERR_MEMORY;
    int64_t *from = counts + b->p, *displs = from + b->p;
    for (int r = 0; r < b->p; r++)
        if (label[r] == b->me) counts[r] = b->out_bytes;
    from[label[b->me]] = bytes;
    tutti_status status =
        tutti_alltoallv(b->team, x->out, counts, displs, found, from, displs, TUTTI_U8);
    free(counts);
    return status;
}

/* Makes the call in the part of rank other->me, on a team in which this rank has that number, and
 * compares the output with that of the rank that had the part in the call of the case. */
static tutti_status play(struct identity *x, const struct tt_bench *other, const int *label)
{
    size_t in = (size_t)other->in_bytes + TT_BENCH_CANARY;
    size_t out = (size_t)other->out_bytes + TT_BENCH_CANARY;
    char *buffer = malloc(in + 2 * out), *result = buffer + in, *expected = result + out;
    if (!buffer) return TUTTI_ERR_MEMORY;
    tt_bench_fill(other, buffer, result);
    tutti_status status = x->call(other, buffer, result);
    if (status == TUTTI_OK) status = fetch_output(x, label, expected, other->out_bytes);
    if (status == TUTTI_OK)
        expect_same(x, "with permuted ranks, the result", result, expected, other->out_bytes);
    free(buffer);
    return status;
}

/* Makes a team with permuted ranks, with the parameters of the team of the case. */
static tutti_status make_permuted(const struct tt_bench *b, struct tt_bench *other)
{
    TT_TRY(tutti_team_split(b->team, 0, other->me, &other->team));
    const struct tt_cache *from = &b->team->cache;
    struct tt_cache *to = &other->team->cache;
    to->slice = from->slice;
    to->radix = from->radix;
    to->lanes = from->lanes;
    to->seed = from->seed;
    to->in_order = from->in_order;
    return TUTTI_OK;
}

/* Checks that permuted ranks get permuted results: each rank plays the part of another rank, with
 * the input of that rank. A network or a graph of the problem names the ranks by number, so such a
 * problem is left out. */
static tutti_status try_permuted(struct identity *x)
{
    const struct tt_bench *b = x->b;
    struct tt_bench other = *b;
    if (b->call.coll == TT_COLL_barrier || b->call.neighbors || b->net.nodes > 0) return TUTTI_OK;
    int *label = malloc((size_t)b->p * sizeof *label);
    int64_t *room = calloc(tt_problem_room(&b->c->problem) + 1, sizeof *room);
    tutti_status status = label && room ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK) {
        permute(x, label);
        other.me = label[b->me];
        other.call = tt_problem_call(&b->c->problem, other.me, room);
        tt_bench_sizes(&other);
        status = make_permuted(b, &other);
    }
    if (status == TUTTI_OK) {
        status = play(x, &other, label);
        tutti_status freed = tutti_team_free(other.team);
        if (status == TUTTI_OK) status = freed;
    }
    free(room);
    free(label);
    return status;
}

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

/* Tries an identity. An algorithm that the user forces, and that applies to the call of the case,
 * need not apply to all calls of the identity; all ranks then find alike that it does not. */
static tutti_status try_one(struct identity *x, try_fn *fn)
{
    tutti_status status = fn(x);
    return status == TUTTI_ERR_UNSUPPORTED && x->b->c->algorithm ? TUTTI_OK : status;
}

tutti_status tt_bench_identities(const struct tt_bench *b, tt_bench_call_fn *call, const char *in,
                                 const char *out, bool *right)
{
    size_t bytes = (size_t)(tt_max(b->in_bytes, b->out_bytes) * b->p) + 1, p = (size_t)b->p;
    struct identity x = {.b = b,
                         .in = in,
                         .out = out,
                         .first = malloc(bytes),
                         .second = malloc(bytes),
                         .call = call,
                         .right = true};
    tt_random_seed(&x.random, b->c->problem.seed);
    x.counts = malloc(2 * p * sizeof *x.counts);
    tutti_status status = x.first && x.second && x.counts ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK) {
        x.displs = x.counts + p;
        divide(&x);
        status = try_one(&x, tries[b->call.coll]);
        if (status == TUTTI_OK) status = try_one(&x, try_linearity);
        if (status == TUTTI_OK) status = try_one(&x, try_permuted);
    }
    free(x.first);
    free(x.second);
    free(x.counts);
    *right = x.right;
    return status;
}
