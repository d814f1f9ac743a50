/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks the arguments that users pass to collectives. A call returns every error that one rank
 * alone can find.
 */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "type/layout.h"
#include "type/type.h"

static tutti_status check_common(const tutti_team *team, struct tt_call *c)
{
    int64_t bytes;
    if (c->coll == TT_COLL_barrier) return TUTTI_OK;
    c->sz = (int64_t)tutti_type_size(c->type);
    if (tt_unlikely(c->sz == 0))
        return tt_fail(TUTTI_ERR_ARG,
                       "type %d is unknown (allowed: the %d basic types and live derived types)",
                       (int)c->type, TUTTI_TYPES);
    if (tt_unlikely(c->n < 0))
        return tt_fail(TUTTI_ERR_ARG, "n is negative: %lld", (long long)c->n);
    if (tt_unlikely(__builtin_mul_overflow(c->n, c->sz * team->run.map.p, &bytes)))
        return tt_fail(TUTTI_ERR_ARG, "n is too large: %lld elements of %lld bytes on %d ranks",
                       (long long)c->n, (long long)c->sz, team->run.map.p);
    if (tt_unlikely(c->root < 0 || c->root >= team->run.map.p))
        return tt_fail(TUTTI_ERR_ARG, "root %d is not in the team of %d ranks", (int)c->root,
                       team->run.map.p);
    return TUTTI_OK;
}

static tutti_status check_op(struct tt_args *args)
{
    struct tt_call *c = &args->call;
    if (!tt_coll_has_op(c->coll)) return TUTTI_OK;
    if (tt_likely((unsigned)c->op < TUTTI_OPS && tt_reduce_lookup(c->type, c->op))) return TUTTI_OK;
    const char *why = tt_op_refuse(c->op, c->type);
    if (!why) {
        c->commutes = c->commutes && tt_op_commutes(c->op);
        args->op = c->op;
        c->op = tt_op_base(c->op);
        return TUTTI_OK;
    }
    bool op_exists = (unsigned)c->op < TUTTI_OPS;
    return tt_fail(op_exists ? TUTTI_ERR_TYPE : TUTTI_ERR_ARG, "%s", why);
}

static tutti_status check_place(const tutti_team *team, const struct tt_args *args)
{
    const struct tt_call *c = &args->call;
    if (args->out == TUTTI_IN_PLACE && !tt_call_ignores(c, true, team->run.me))
        return tt_fail(TUTTI_ERR_ARG, "%s is TUTTI_IN_PLACE (allowed only as in)",
                       tt_args_out(args));
    if (!c->in_place) return TUTTI_OK;
    if (!tt_coll_has_place(c->coll))
        return tt_fail(TUTTI_ERR_ARG, "%s cannot be done in place", tt_coll_name(c->coll));
    if (tt_coll_is_roots(c->coll) && c->root != team->run.me)
        return tt_fail(TUTTI_ERR_ARG,
                       "in is TUTTI_IN_PLACE (allowed only at the root, rank %d, of a %s)",
                       (int)c->root, tt_coll_name(c->coll));
    return TUTTI_OK;
}

/* ---- Counts and displacements ---- */

struct piece {
    int64_t begin, end;
};

static int by_begin(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Returns whether `buffer` + `bytes` overflows an address. */
static bool beyond_memory(const void *buffer, int64_t bytes)
{
    int64_t end;
    return __builtin_add_overflow((int64_t)(uintptr_t)buffer, bytes, &end);
}

/* The names of the arguments in error messages: PREFIXcounts, PREFIXdispls, and the name of the
 * buffer. If `prefix` is NULL, the user has given one count, n, for all pieces. */
struct check_names {
    const char *prefix, *buffer;
};

/* Returns the error that piece r ends beyond the largest offset or address. */
static tutti_status overflows(struct check_names name, int r)
{
    if (!name.prefix) return tt_fail(TUTTI_ERR_ARG, "n is too large for %s", name.buffer);
    return tt_fail(TUTTI_ERR_ARG, "%scounts[%d] and %sdispls[%d] overflow", name.prefix, r,
                   name.prefix, r);
}

static tutti_status check_list(struct check_names name, const int64_t *counts,
                               const int64_t *displs, const void *buffer, int p, int64_t sz,
                               bool *ascend)
{
    int64_t end, bytes, behind = 0;
    const char *prefix = name.prefix;
    *ascend = true;
    if (!counts || !displs)
        return tt_fail(TUTTI_ERR_ARG, "%scounts or %sdispls is NULL", prefix, prefix);
    for (int r = 0; r < p; r++) {
        if (counts[r] < 0 || displs[r] < 0)
            return tt_fail(TUTTI_ERR_ARG, "%scounts[%d] or %sdispls[%d] is negative: %lld, %lld",
                           prefix, r, prefix, r, (long long)counts[r], (long long)displs[r]);
        if (__builtin_add_overflow(counts[r], displs[r], &end) ||
            __builtin_mul_overflow(end, sz, &bytes) || beyond_memory(buffer, bytes))
            return overflows(name, r);
        if (counts[r] > 0 && !buffer) return tt_fail(TUTTI_ERR_ARG, "%s is NULL", name.buffer);
        if (counts[r] == 0) continue;
        if (displs[r] < behind) *ascend = false;
        behind = end;
    }
    return TUTTI_OK;
}

static tutti_status check_apart(const int64_t *counts, const int64_t *displs, int p)
{
    struct piece *all = tt_alloc((size_t)p * sizeof *all);
    if (!all) return tt_fail(TUTTI_ERR_MEMORY, "no memory to check displacements");
    int n = 0;
    bool apart = true;
    for (int r = 0; r < p; r++)
        if (counts[r] > 0) all[n++] = (struct piece){displs[r], displs[r] + counts[r]};
    qsort(all, (size_t)n, sizeof *all, by_begin);
    for (int i = 1; i < n; i++) apart = apart && all[i - 1].end <= all[i].begin;
    tt_free(all);
    return apart ? TUTTI_OK : tt_fail(TUTTI_ERR_ARG, "pieces of out overlap");
}

/* ---- Input and output of the v-forms ---- */

/* The pieces of one buffer. A piece may be empty. */
struct piece_list {
    const void *base;
    /* in elements of sz bytes; if `types` is not NULL, counts[i] is in elements of types[i] and
     * displs[i] is in bytes */
    const int64_t *counts, *displs;
    int n;
    int64_t sz;
    const tutti_type *types; /* the type of each piece; NULL: all pieces have one type */
};

static struct piece piece_of(const struct piece_list *x, int i)
{
    int64_t unit = x->types ? 1 : x->sz,
            sz = x->types ? tt_layout_find(x->types[i])->packed : x->sz;
    int64_t begin = (int64_t)(uintptr_t)x->base + x->displs[i] * unit;
    return (struct piece){begin, begin + x->counts[i] * sz};
}

/* Stores the pieces that are not empty in all[], in the order of their addresses. Returns their
 * number. */
static int sort_pieces(struct piece *all, const struct piece_list *x)
{
    int n = 0;
    for (int i = 0; i < x->n; i++)
        if (x->counts[i] > 0) all[n++] = piece_of(x, i);
    qsort(all, (size_t)n, sizeof *all, by_begin);
    return n;
}

/* Returns the range of addresses in which all pieces lie. */
static struct tt_stretch whole(const struct piece_list *x)
{
    struct tt_stretch w = {INT64_MAX, INT64_MIN};
    for (int i = 0; i < x->n; i++) {
        if (x->counts[i] == 0) continue;
        struct piece piece = piece_of(x, i);
        w.begin = tt_min(w.begin, piece.begin);
        w.end = tt_max(w.end, piece.end);
    }
    return w;
}

static bool ranges_meet(const struct piece_list *in, const struct piece_list *out)
{
    struct tt_stretch x = whole(in), y = whole(out);
    return x.begin < y.end && y.begin < x.end;
}

/* Returns whether a piece of in[] shares bytes with a piece of out[]. Both arrays are in the order
 * of addresses, and the pieces of out[] do not overlap each other. */
static bool pieces_meet(const struct piece *in, int ni, const struct piece *out, int no)
{
    for (int i = 0, o = 0; i < ni; i++) {
        while (o < no && out[o].end <= in[i].begin) o++;
        if (o < no && out[o].begin < in[i].end) return true;
    }
    return false;
}

static struct piece_list pieces_of_out(const tutti_team *team, const struct tt_call *c,
                                       const void *out)
{
    return (struct piece_list){out, c->out_counts, c->out_displs, team->run.map.p, c->sz, NULL};
}

/* Returns the pieces of the input; in an allgatherv, the input is one piece. */
static struct piece_list pieces_of_in(const tutti_team *team, const struct tt_call *c,
                                      const void *in)
{
    static const int64_t nowhere = 0;
    if (!c->in_counts)
        return (struct piece_list){in, &c->out_counts[team->run.me], &nowhere, 1, c->sz, NULL};
    return (struct piece_list){in, c->in_counts, c->in_displs, team->run.map.p, c->sz, NULL};
}

void tt_args_stretch(const tutti_team *team, const struct tt_call *call, struct tt_stretch *in,
                     struct tt_stretch *out)
{
    *in = *out = (struct tt_stretch){0, 0};
    if (!tt_call_segments(call)) return;
    struct piece_list from = pieces_of_in(team, call, NULL), to = pieces_of_out(team, call, NULL);
    *out = whole(&to);
    if (!call->in_place) *in = whole(&from);
}

/* Refuses pieces of the input that overlap pieces of the output. First compares the range of
 * addresses of all input pieces with that of all output pieces: in most programs these two ranges
 * are disjoint, and the single pieces need no comparison. */
static tutti_status check_two(const struct piece_list *in, const struct piece_list *out)
{
    if (!ranges_meet(in, out)) return TUTTI_OK;
    struct piece *sorted = tt_alloc((size_t)(in->n + out->n) * sizeof *sorted);
    if (!sorted) return tt_fail(TUTTI_ERR_MEMORY, "no memory to check displacements");
    int ni = sort_pieces(sorted, in), no = sort_pieces(sorted + in->n, out);
    bool wrong = pieces_meet(sorted, ni, sorted + in->n, no);
    tt_free(sorted);
    return wrong ? tt_fail(TUTTI_ERR_ARG, "in and out overlap") : TUTTI_OK;
}

/* Refuses buffers that overlap if the type is basic. Elements of derived types may interleave. */
static tutti_status check_in_out(const tutti_team *team, const struct tt_args *args)
{
    const struct tt_call *c = &args->call;
    bool derived = (unsigned)c->type >= TUTTI_TYPES;
    if (derived || c->in_place || args->exchanges_in_place) return TUTTI_OK;
    struct piece_list in = pieces_of_in(team, c, args->in);
    struct piece_list out = pieces_of_out(team, c, args->out);
    return check_two(&in, &out);
}

static tutti_status check_lists(const tutti_team *team, struct tt_args *args)
{
    struct tt_call *c = &args->call;
    int p = team->run.map.p;
    bool ascend;
    bool pairs = c->coll == TT_COLL_alltoallv;
    struct check_names in = {"in_", "in"}, out = {pairs ? "out_" : "", "out"};
    if (pairs && !args->exchanges_in_place)
        TT_TRY(check_list(in, c->in_counts, c->in_displs, args->in, p, c->sz, &ascend));
    TT_TRY(check_list(out, c->out_counts, c->out_displs, args->out, p, c->sz, &ascend));
    int me = team->run.me;
    if (pairs && c->in_counts[me] != c->out_counts[me])
        return tt_fail(TUTTI_ERR_ARG,
                       "in_counts[%d] is %lld and out_counts[%d] is %lld: they must be equal at "
                       "rank %d, which sends this piece to itself",
                       me, (long long)c->in_counts[me], me, (long long)c->out_counts[me], me);
    if (c->coll == TT_COLL_allgatherv && c->out_counts[team->run.me] > 0 && !args->in)
        return tt_fail(TUTTI_ERR_ARG, "in is NULL");
    if (!ascend) TT_TRY(check_apart(c->out_counts, c->out_displs, p));
    return check_in_out(team, args);
}

/* ---- gatherv and scatterv ---- */

/* In a gatherv or scatterv: checks this rank's own count `n`, and, unless this rank is the root
 * (see check_root), its buffer. */
static tutti_status check_own(const tutti_team *team, const struct tt_args *args)
{
    const struct tt_call *c = &args->call;
    bool gathers = c->coll == TT_COLL_gatherv;
    int64_t bytes;
    if (args->n < 0) return tt_fail(TUTTI_ERR_ARG, "n is negative: %lld", (long long)args->n);
    if (__builtin_mul_overflow(args->n, c->sz, &bytes) ||
        beyond_memory(gathers ? args->in : args->out, bytes))
        return tt_fail(TUTTI_ERR_ARG, "n is too large: %lld elements of %lld bytes",
                       (long long)args->n, (long long)c->sz);
    if (team->run.me != c->root && args->n > 0 && !(gathers ? args->in : args->out))
        return tt_fail(TUTTI_ERR_ARG, "%s is NULL", gathers ? "in" : "out");
    return TUTTI_OK;
}

/* In a gatherv or scatterv: checks the counts, displacements and buffers of the root. */
static tutti_status check_root(const tutti_team *team, const struct tt_args *args)
{
    const struct tt_call *c = &args->call;
    bool gathers = c->coll == TT_COLL_gatherv, whole_is_out = gathers || c->in_place, ascend;
    struct check_names name = {"", whole_is_out ? "out" : "in"};
    int p = team->run.map.p, me = team->run.me;
    TT_TRY(check_list(name, args->counts, args->displs, whole_is_out ? args->out : args->in, p,
                      c->sz, &ascend));
    if (gathers && !ascend) TT_TRY(check_apart(args->counts, args->displs, p));
    if (c->in_place) return TUTTI_OK;
    if (args->counts[me] != args->n)
        return tt_fail(TUTTI_ERR_ARG,
                       "counts[%d] is %lld and n is %lld: they must be equal at the root, rank %d",
                       me, (long long)args->counts[me], (long long)args->n, me);
    if (args->n > 0 && !(gathers ? args->in : args->out))
        return tt_fail(TUTTI_ERR_ARG, "%s is NULL", gathers ? "in" : "out");
    return TUTTI_OK;
}

/* Makes the four arrays of counts and displacements that struct tt_call has for a gatherv or
 * scatterv. In place, the root sends nothing to itself, and the input of a scatterv lies in
 * `out`. */
static tutti_status make_lists(const tutti_team *team, struct tt_args *args)
{
    struct tt_call *c = &args->call;
    bool gathers = c->coll == TT_COLL_gatherv, is_root = team->run.me == c->root;
    size_t p = (size_t)team->run.map.p;
    int64_t *at = args->lists = tt_calloc(4 * p, sizeof *at);
    if (!at) return tt_fail(TUTTI_ERR_MEMORY, "no memory for counts and displacements");
    int64_t *all = gathers ? at + 2 * p : at, *own = gathers ? at : at + 2 * p;
    own[c->root] = args->n;
    if (is_root) {
        memcpy(all, args->counts, p * sizeof *all);
        memcpy(all + p, args->displs, p * sizeof *all);
    }
    if (c->in_place) own[c->root] = all[c->root] = 0;
    if (c->in_place && !gathers) args->in = args->out;
    c->in_counts = at;
    c->in_displs = at + p;
    c->out_counts = at + 2 * p;
    c->out_displs = at + 3 * p;
    return TUTTI_OK;
}

static tutti_status check_rooted(const tutti_team *team, struct tt_args *args)
{
    TT_TRY(check_own(team, args));
    if (team->run.me == args->call.root) TT_TRY(check_root(team, args));
    TT_TRY(make_lists(team, args));
    return check_in_out(team, args);
}

/* ---- alltoallw ---- */

/* Checks piece r of an alltoallw: n elements of its own type, `at` bytes from the start of the
 * buffer. */
static tutti_status check_typed(struct check_names name, const void *buffer, int r, int64_t n,
                                int64_t at, tutti_type type)
{
    const struct tt_layout *l = tt_layout_find(type);
    int64_t bytes, end;
    if (n == 0) return TUTTI_OK;
    if (!l)
        return tt_fail(TUTTI_ERR_ARG,
                       "%stypes[%d] is %d (allowed: the %d basic types and live derived types)",
                       name.prefix, r, (int)type, TUTTI_TYPES);
    if (__builtin_mul_overflow(n, l->packed, &bytes) ||
        __builtin_mul_overflow(n, l->extent, &end) || __builtin_add_overflow(end, at, &end) ||
        __builtin_add_overflow(end, tt_max(l->end, 0), &end) || beyond_memory(buffer, end))
        return overflows(name, r);
    return TUTTI_OK;
}

/* Checks the n pieces of the input or of the output of an alltoallw. */
static tutti_status check_typed_list(struct check_names name, const int64_t *counts,
                                     const int64_t *displs, const tutti_type *types,
                                     const void *buffer, int n)
{
    bool ascend;
    TT_TRY(check_list(name, counts, displs, buffer, n, 1, &ascend));
    if (!types) return tt_fail(TUTTI_ERR_ARG, "%stypes is NULL", name.prefix);
    for (int i = 0; i < n; i++)
        TT_TRY(check_typed(name, buffer, i, counts[i], displs[i], types[i]));
    return TUTTI_OK;
}

/* Refuses overlaps between output pieces whose elements have no gaps. Elements with gaps may
 * interleave. */
static tutti_status check_typed_apart(const struct tt_args *args, int n)
{
    const struct tt_call *c = &args->call;
    int64_t *bytes = tt_alloc((2 * (size_t)n + 1) * sizeof *bytes);
    if (!bytes) return tt_fail(TUTTI_ERR_MEMORY, "no memory to check displacements");
    int64_t *at = bytes + n;
    for (int r = 0; r < n; r++) {
        const struct tt_layout *l = tt_layout_find(args->out_types[r]);
        bool solid = c->out_counts[r] > 0 && l->solid;
        bytes[r] = solid ? c->out_counts[r] * l->packed : 0;
        at[r] = solid ? c->out_displs[r] + l->begin : 0;
    }
    tutti_status status = check_apart(bytes, at, n);
    tt_free(bytes);
    return status;
}

/* Returns whether a piece that is not empty has a derived type. */
static bool has_derived(const struct piece_list *x)
{
    bool any = false;
    for (int i = 0; i < x->n; i++)
        any = any || (x->counts[i] > 0 && (unsigned)x->types[i] >= TUTTI_TYPES);
    return any;
}

/* Refuses input that overlaps output if all pieces have basic types. Empty pieces may have any
 * type. */
static tutti_status check_typed_in_out(const struct tt_args *args, int in_n, int out_n)
{
    const struct tt_call *c = &args->call;
    struct piece_list in = {args->in, c->in_counts, c->in_displs, in_n, 0, args->in_types};
    struct piece_list out = {args->out, c->out_counts, c->out_displs, out_n, 0, args->out_types};
    if (c->in_place || args->exchanges_in_place || has_derived(&in) || has_derived(&out))
        return TUTTI_OK;
    return check_two(&in, &out);
}

/* Returns the names of the arguments that describe the output (`out`) or the input of an alltoallw
 * or of a neighbourhood collective. */
static struct check_names names_of(const struct tt_args *args, bool out)
{
    static const char *const prefixes[][2] = {[TT_NEIGHBOR_allgather] = {NULL, NULL},
                                              [TT_NEIGHBOR_allgatherv] = {NULL, ""},
                                              [TT_NEIGHBOR_alltoall] = {NULL, NULL},
                                              [TT_NEIGHBOR_alltoallv] = {"in_", "out_"},
                                              [TT_NEIGHBOR_alltoallw] = {"in_", "out_"}};
    int which = args->in_ranks ? (int)(args->call.type - TT_TYPE_NEIGHBORS) : TT_NEIGHBOR_alltoallw;
    return (struct check_names){prefixes[which][out], out ? "out" : "in"};
}

static tutti_status check_each_type(const tutti_team *team, struct tt_args *args)
{
    struct tt_call *c = &args->call;
    struct check_names in = names_of(args, false), out = names_of(args, true);
    int p = team->run.map.p;
    int in_n = args->in_ranks ? args->in_n : p, out_n = args->out_ranks ? args->out_n : p;
    TT_TRY(check_place(team, args));
    if (!args->exchanges_in_place)
        TT_TRY(check_typed_list(in, c->in_counts, c->in_displs, args->in_types, args->in, in_n));
    TT_TRY(check_typed_list(out, c->out_counts, c->out_displs, args->out_types, args->out, out_n));
    TT_TRY(check_typed_apart(args, out_n));
    return check_typed_in_out(args, in_n, out_n);
}

/* ---- The whole call ---- */

/* Checks the counts of a reduce_scatter, and sets c->n to their sum: the blocks of the ranks lie
 * one after the other in the input. */
static tutti_status check_blocks(const tutti_team *team, struct tt_call *c)
{
    int64_t bytes;
    if (!c->out_counts) return tt_fail(TUTTI_ERR_ARG, "counts is NULL");
    c->n = 0;
    for (int r = 0; r < team->run.map.p; r++) {
        if (c->out_counts[r] < 0)
            return tt_fail(TUTTI_ERR_ARG, "the count for rank %d is negative: %lld", r,
                           (long long)c->out_counts[r]);
        if (__builtin_add_overflow(c->n, c->out_counts[r], &c->n) ||
            __builtin_mul_overflow(c->n, c->sz, &bytes))
            return tt_fail(TUTTI_ERR_ARG, "the counts up to rank %d overflow", r);
    }
    return TUTTI_OK;
}

tutti_status tt_args_check(const tutti_team *team, struct tt_args *args)
{
    if (args->typed) return check_each_type(team, args);
    TT_TRY(check_common(team, &args->call));
    if (args->call.coll == TT_COLL_barrier) return TUTTI_OK;
    TT_TRY(check_op(args));
    TT_TRY(check_place(team, args));
    if (args->call.coll == TT_COLL_reduce_scatter) return check_blocks(team, &args->call);
    if (args->call.coll == TT_COLL_gatherv || args->call.coll == TT_COLL_scatterv)
        return check_rooted(team, args);
    return tt_call_segments(&args->call) ? check_lists(team, args) : TUTTI_OK;
}

/* ---- Buffers ---- */

static tutti_status check_shared(const struct tt_fabric *f, const char *which, const void *buffer)
{
    if (!buffer || buffer == TUTTI_IN_PLACE) return TUTTI_OK;
    if (tt_fabric_address(f, buffer) & TT_ADDRESS_IN_SEGMENT) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_ARG,
                   "flags has TUTTI_REQUEST_SHARED, but %s is not memory from tutti_alloc", which);
}

tutti_status tt_args_shared(const tutti_team *team, const struct tt_args *args)
{
    const struct tt_call *c = &args->call;
    int me = team->run.me;
    if (!tt_call_ignores(c, false, me)) TT_TRY(check_shared(team->run.fabric, "in", args->in));
    if (!tt_call_ignores(c, true, me))
        TT_TRY(check_shared(team->run.fabric, tt_args_out(args), args->out));
    return TUTTI_OK;
}
