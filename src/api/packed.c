/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Converts a call with a derived type into a call with its packed elements.
 *
 * If a derived type consists of one basic type, the plan moves and reduces elements of that basic
 * type. With a user-defined operation, the plan moves and reduces whole elements of the derived
 * type. Other data are moved as bytes. So ranks with different layouts run the same plan if their
 * packed elements are the same. An alltoallw, in which each piece has a type of its own, becomes an
 * alltoallv of bytes.
 *
 * If the elements of a buffer lie in a row, without gaps, they are their own packed form, and the
 * plan works on the buffer itself. Each rank decides this for each of its buffers by itself,
 * because the plan does not depend on it.
 */
#include "api/packed.h"

#include <stdlib.h>
#include <string.h>

#include "run/signature.h"
#include "type/layout.h"
#include "type/type.h"

/* The first byte of each of the user's two buffers. NULL: the elements of the buffer have to be
 * packed, because they do not lie in a row or because the plan cannot use the buffer. */
struct in_a_row {
    char *in, *out;
};

/* ---- Contents ---- */

/* In a call in which each pair of ranks has its own piece (alltoallv, gatherv, scatterv), sender
 * and receiver may describe the same piece by different types. The plan moves the piece as a number
 * of elements of one type, for example of bytes. If this type does not show which basic types the
 * piece consists of, a struct tt_contents describes them (plan/call.h). */

/* Returns the value of `type` in a struct tt_contents for elements of layout `l`. */
static int32_t type_of_contents(const struct tt_layout *l)
{
    return (int32_t)(l->uniform != TUTTI_TYPES ? l->uniform : tt_layout_sequence(l, 1));
}

/* Adds a piece of n elements to the contents. The hash also counts pieces without elements: a rank
 * that sends pieces of 2 and 0 elements does not match a rank that expects pieces of 0 and 2. */
static void add_contents(struct tt_contents *to, const struct tt_layout *l, int64_t n)
{
    to->hash = (to->hash ^ (n > 0 ? tt_layout_hash(l, n) : 0)) * 0x9e3779b1u + 1;
    if (n == 0) return;
    int32_t type = type_of_contents(l);
    to->type = to->bytes == 0 || to->type == type ? type : (int32_t)TT_TYPE_EACH;
    to->bytes += n * l->packed;
}

/* Sets the contents of the p pieces that this rank sends, or of those that it receives, if all
 * pieces have the layout `l`. */
static void set_contents(struct tt_contents *to, const struct tt_layout *l, const int64_t *counts,
                         int p)
{
    for (int r = 0; r < p; r++) add_contents(&to[r], l, counts[r]);
}

/* Returns the type of all pieces that have elements; TT_TYPE_EACH if they have several types,
 * TT_TYPE_NONE if no piece has elements. */
static int32_t common_type(const struct tt_contents *contents, int n)
{
    int32_t type = (int32_t)TT_TYPE_NONE;
    bool any = false;
    for (int i = 0; i < n; i++) {
        if (contents[i].bytes == 0) continue;
        if (any && contents[i].type != type) return (int32_t)TT_TYPE_EACH;
        type = contents[i].type;
        any = true;
    }
    return type;
}

/* Sets the type that error messages name for the pieces of an alltoallw. If the user gave one type
 * for all pieces, `one` is that type, and error messages name it even if no piece has elements.
 * Otherwise `one` is TT_TYPE_EACH. */
static void set_typed_name(struct tt_packed *k, tutti_type one)
{
    const struct tt_layout *l = one == TT_TYPE_EACH ? NULL : tt_layout_find(one);
    k->type = l ? type_of_contents(l) : common_type(k->contents[0], k->contents_n);
    k->element = l && (unsigned)one >= TUTTI_TYPES ? l->packed : 0;
}

/* Checks that the pieces that this rank sends to itself have the contents that it expects from
 * itself. */
static tutti_status check_own(const struct tt_contents *in, const struct tt_contents *out)
{
    char one[TT_SIGNATURE_TEXT], other[TT_SIGNATURE_TEXT];
    if (in->hash == out->hash && in->bytes == out->bytes) return TUTTI_OK;
    tt_signature_contents(in, 0, one, sizeof one);
    tt_signature_contents(out, 0, other, sizeof other);
    return tt_fail(TUTTI_ERR_ARG, "this rank sends itself %s but expects %s%s", one, other,
                   strcmp(one, other) == 0 ? ", but divided or ordered in another way" : "");
}

/* ---- The packed call ---- */

static bool has_user_op(const struct tt_call *c)
{
    return tt_coll_has_op(c->coll) && (unsigned)c->op >= TUTTI_OPS;
}

static int64_t sum(const int64_t *counts, int p)
{
    int64_t all = 0;
    for (int r = 0; r < p; r++)
        if (__builtin_add_overflow(all, counts[r], &all)) return INT64_MAX;
    return all;
}

/* Returns the number of elements in the pieces of all ranks; 0 for a call in which a rank knows
 * only the counts of its own pieces. */
static int64_t elements_known(const struct tt_call *c, int p)
{
    if (tt_coll_pairs(c->coll)) return 0;
    return c->coll == TT_COLL_allgatherv ? sum(c->out_counts, p) : c->n;
}

/* Sets the type and size of the packed elements, in which the plan counts its data. */
static void set_element(struct tt_call *c, const struct tt_layout *l, int p)
{
    if (has_user_op(c)) return;
    bool uniform = l->uniform != TUTTI_TYPES;
    c->type = uniform ? l->uniform : tt_layout_sequence(l, elements_known(c, p));
    c->sz = uniform ? (int64_t)tutti_type_size(l->uniform) : 1;
}

/* Replaces the counts and displacements, which are in elements of the derived type, by counts and
 * displacements in packed elements; one element consists of `each` packed elements. Packed pieces
 * lie one after the other, in the order of ranks. If the buffer is `in_a_row`, its pieces stay
 * where they are. `to` is the memory for the new lists. */
static void set_list(const int64_t **counts, const int64_t **displs, int p, int64_t each,
                     bool in_a_row, int64_t *to)
{
    int64_t at = 0;
    for (int r = 0; r < p; r++) {
        to[r] = (*counts)[r] * each;
        to[p + r] = in_a_row && *displs ? (*displs)[r] * each : at;
        at += to[r];
    }
    *counts = to;
    if (*displs) *displs = to + p;
}

static void set_call(struct tt_packed *k, const struct in_a_row *row, int p)
{
    struct tt_call *c = &k->args.call;
    set_element(c, k->layout, p);
    if (k->contents[0]) {
        set_contents(k->contents[0], k->layout, c->in_counts, p);
        set_contents(k->contents[1], k->layout, c->out_counts, p);
        k->type = type_of_contents(k->layout);
    }
    int64_t each = k->layout->packed / c->sz;
    c->n *= each;
    if (c->out_counts) set_list(&c->out_counts, &c->out_displs, p, each, row->out, k->counts);
    if (c->in_counts) set_list(&c->in_counts, &c->in_displs, p, each, row->in, k->counts + 2 * p);
}

/* ---- How many elements ---- */

static int64_t in_elements(const struct tt_call *c, int p, int me)
{
    if (c->in_place) return 0;
    if (c->coll == TT_COLL_allgatherv) return c->out_counts[me];
    if (tt_coll_pairs(c->coll)) return sum(c->in_counts, p);
    return tt_call_in_bytes(c, p, me) / c->sz;
}

static int64_t out_elements(const struct tt_call *c, int p, int me)
{
    if (tt_call_segments(c)) return sum(c->out_counts, p);
    return tt_call_out_bytes(c, p, me) / c->sz;
}

/* ---- Elements that lie in a row ---- */

/* The elements of one buffer: one piece, or, with lists, one piece for each rank. */
struct elements {
    const void *user;
    int64_t n; /* in all pieces */
    const int64_t *counts, *displs;
};

struct packed_span {
    const char *begin, *end;
};

/* Returns the range of bytes in which the elements lie. They must lie in a row. */
static struct packed_span span_of(const struct elements *e, const struct tt_layout *l, int p)
{
    int64_t first = e->displs ? INT64_MAX : 0, last = e->displs ? 0 : e->n;
    for (int r = 0; e->displs && r < p; r++) {
        if (e->counts[r] == 0) continue;
        first = tt_min(first, e->displs[r]);
        last = tt_max(last, e->displs[r] + e->counts[r]);
    }
    const char *at = (const char *)e->user + l->begin;
    if (first >= last) return (struct packed_span){at, at};
    return (struct packed_span){at + first * l->extent,
                                at + first * l->extent + (last - first) * l->packed};
}

static bool spans_meet(struct packed_span a, struct packed_span b)
{
    return a.begin < b.end && b.begin < a.end;
}

/* Returns whether the plan can use the user's buffer at `at` itself. The kernels of a reduction
 * need operands that are aligned for their type. In a call with TUTTI_REQUEST_SHARED, the buffer
 * must lie in memory that other members reach by plain loads. */
static bool is_usable(const struct tt_packed *k, const struct tt_fabric *f, const char *at)
{
    const struct tt_call *c = &k->args.call;
    const struct tt_layout *l = k->layout;
    int64_t sz = has_user_op(c) ? l->packed : (int64_t)tutti_type_size(l->uniform);
    if (tt_coll_has_op(c->coll) && (int64_t)((uintptr_t)at & 15) % tt_min(sz & -sz, 16) != 0)
        return false;
    return !c->shared || tt_fabric_address(f, at) & TT_ADDRESS_IN_SEGMENT;
}

/* Returns the first byte of the buffer if its elements lie in a row and the plan can use them; else
 * NULL. If the arguments are wrong, also returns NULL; the caller then calls add(), which returns
 * the error. */
static char *row_of(const struct tt_packed *k, const struct tt_fabric *f, const struct elements *e)
{
    int64_t n = e->displs ? 2 : e->n, bytes;
    const struct tt_layout *l = k->layout;
    if (!e->user || e->n == 0 || __builtin_mul_overflow(e->n, l->extent, &bytes)) return NULL;
    char *at = (char *)e->user + l->begin;
    return tt_layout_in_a_row(l, n) && is_usable(k, f, at) ? at : NULL;
}

/* Finds the buffers that need no packing. If input and output have bytes in common, the input is
 * packed. */
static struct in_a_row find_rows(const struct tt_packed *k, const struct tt_fabric *f,
                                 const struct tt_args *args, int p, int me)
{
    const struct tt_call *c = &args->call;
    bool lists = tt_call_segments(c), pairs = tt_coll_pairs(c->coll);
    struct elements in = {args->in, in_elements(c, p, me), pairs ? c->in_counts : NULL,
                          pairs ? c->in_displs : NULL};
    struct elements out = {args->out, out_elements(c, p, me), lists ? c->out_counts : NULL,
                           lists ? c->out_displs : NULL};
    struct in_a_row row = {row_of(k, f, &in), row_of(k, f, &out)};
    if (row.in && row.out && spans_meet(span_of(&in, k->layout, p), span_of(&out, k->layout, p)))
        row.in = NULL;
    return row;
}

/* ---- Memory ---- */

static tutti_status find_memory(struct tt_packed *k, struct tt_arena *arena, int64_t bytes)
{
    if (bytes == 0) return TUTTI_OK;
    if (!k->args.call.shared) {
        k->bytes = bytes;
        k->memory = tt_alloc((size_t)tt_parked_at(bytes) + sizeof(struct tt_parked));
        return k->memory ? TUTTI_OK
                         : tt_fail(TUTTI_ERR_MEMORY, "no memory for %lld bytes of packed elements",
                                   (long long)bytes);
    }
    TT_TRY(tt_arena_take(arena, bytes, &k->offset));
    k->arena = arena;
    return TUTTI_OK;
}

/* Makes memory for `in` elements of the input and `out` elements of the output, sz bytes each. */
static tutti_status make_memory(struct tt_packed *k, tutti_team *team, int64_t in, int64_t out,
                                int64_t sz)
{
    int64_t bytes;
    if (__builtin_mul_overflow(in, sz, &in) || in > INT64_MAX - TT_LINE ||
        __builtin_mul_overflow(out, sz, &out) ||
        __builtin_add_overflow(tt_round_up(in, TT_LINE), out, &bytes) ||
        bytes > INT64_MAX - TT_LINE)
        return tt_fail(TUTTI_ERR_ARG, "counts of elements of %lld bytes overflow", (long long)sz);
    TT_TRY(find_memory(k, &team->client->fabric.arena, bytes));
    if (k->arena) k->memory = tt_fabric_at(&team->client->fabric, k->offset);
    k->in = k->memory;
    k->out = in < bytes ? k->memory + tt_round_up(in, TT_LINE) : k->memory;
    return TUTTI_OK;
}

/* Sets the buffers of the packed call: the user's buffers that need no packing, and packed memory
 * for the other buffers. */
static void set_buffers(struct tt_packed *k, const struct in_a_row *row)
{
    if (!k->args.call.in_place) k->args.in = row->in ? row->in : k->in;
    k->args.out = row->out ? row->out : k->out;
}

/* ---- Pieces ---- */

/* One side of the call: the user's buffer and the memory for its packed elements. */
struct packed_side {
    const char *name;
    const void *user;
    char *packed;
    bool in_a_row; /* the elements lie in a row, so add() adds no pieces */
};

/* Adds a piece to k->pieces: the n elements from element `first` of the user's buffer on, whose
 * packed form begins at element `at` of the packed memory. If the user's elements lie in a row,
 * only checks the arguments. */
static tutti_status add(struct tt_packed *k, const struct packed_side *side, int64_t first,
                        int64_t n, int64_t at)
{
    const struct tt_layout *l = k->layout;
    int64_t last;
    if (n == 0) return TUTTI_OK;
    if (!side->user) return tt_fail(TUTTI_ERR_ARG, "%s is NULL", side->name);
    if (__builtin_add_overflow(first, n, &last) || __builtin_mul_overflow(last, l->extent, &last) ||
        last > INT64_MAX - tt_max(l->end, 0))
        return tt_fail(TUTTI_ERR_ARG, "%s is too large: %lld elements, %lld bytes apart",
                       side->name, (long long)n, (long long)l->extent);
    if (side->in_a_row) return TUTTI_OK;
    k->pieces[k->packs + k->unpacks++] = (struct tt_packed_piece){
        k->layout, (char *)side->user + first * l->extent, side->packed + at * l->packed, n};
    return TUTTI_OK;
}

static tutti_status add_list(struct tt_packed *k, const struct packed_side *side,
                             const int64_t *counts, const int64_t *displs, int p)
{
    int64_t at = 0;
    for (int r = 0; r < p; at += counts[r++]) TT_TRY(add(k, side, displs[r], counts[r], at));
    return TUTTI_OK;
}

/* Adds to k->pieces the input that lies in `out`: this rank's input if the call is in place, and
 * the root's buffer in a bcast. */
static tutti_status add_input_in_out(struct tt_packed *k, const struct packed_side *out,
                                     const struct tt_call *c, int p, int me)
{
    if (c->coll == TT_COLL_allgatherv)
        return add(k, out, c->out_displs[me], c->out_counts[me], sum(c->out_counts, me));
    int64_t n = c->coll == TT_COLL_bcast ? c->n : tt_call_in_bytes(c, p, me) / c->sz;
    int64_t first = tt_call_place(c, me) / c->sz;
    return add(k, out, first, n, first);
}

static tutti_status add_packs(struct tt_packed *k, const struct packed_side *in,
                              const struct packed_side *out, const struct tt_call *c, int p, int me)
{
    if (c->in_place || (c->coll == TT_COLL_bcast && c->root == me))
        return add_input_in_out(k, out, c, p, me);
    if (tt_coll_pairs(c->coll)) return add_list(k, in, c->in_counts, c->in_displs, p);
    return add(k, in, 0, in_elements(c, p, me), 0);
}

static tutti_status add_unpacks(struct tt_packed *k, const struct packed_side *out,
                                const struct tt_call *c, int p, int me)
{
    if (tt_call_segments(c)) return add_list(k, out, c->out_counts, c->out_displs, p);
    if (c->coll == TT_COLL_bcast && c->root == me) return TUTTI_OK;
    if (c->coll == TT_COLL_scatter && c->in_place) return TUTTI_OK;
    return add(k, out, 0, tt_call_result_bytes(c, p, me) / c->sz, 0);
}

static tutti_status set_pieces(struct tt_packed *k, const struct tt_args *args,
                               const struct in_a_row *row, int p, int me)
{
    const char *name = args->exchanges_in_place ? "out" : "in";
    struct packed_side in = {name, args->in, k->in, row->in != NULL};
    struct packed_side out = {tt_args_out(args), args->out, k->out, row->out != NULL};
    TT_TRY(add_packs(k, &in, &out, &args->call, p, me));
    k->packs = k->unpacks;
    k->unpacks = 0;
    return add_unpacks(k, &out, &args->call, p, me);
}

/* ---- A type for each rank ---- */

/* The pieces that this rank sends in an alltoallw, or the pieces that it receives. Each rank that
 * may have pieces has a place, which is its index in contents[]. Without `ranks`, rank r has place
 * r. With `ranks`, rank peers[i] has place i, and this rank has the last place, peers_n. */
struct typed_side {
    char *user;
    const int64_t *counts, *displs;
    const tutti_type *types;
    const int *ranks; /* the rank of each of the n pieces; NULL: piece r belongs to rank r */
    int n;
    bool crossed;                 /* piece 2i + 1 is packed before piece 2i (struct tt_args) */
    int64_t *packed;              /* p counts and p displacements by rank, in bytes */
    struct tt_contents *contents; /* one entry for each place */
    /* with `ranks`: the ranks other than this one that have pieces, in ascending order */
    const int32_t *peers;
    int peers_n, me;
};

static int rank_of(const struct typed_side *s, int i)
{
    return s->ranks ? s->ranks[i] : i;
}

/* Returns the rank whose contents are contents[i]. */
static int place_at(const struct typed_side *s, int i)
{
    return !s->ranks ? i : i < s->peers_n ? s->peers[i] : s->me;
}

static int places(const struct typed_side *s, int p)
{
    return s->ranks ? s->peers_n + 1 : p;
}

/* Returns the index in contents[] of rank r, which is one of the ranks that may have pieces. */
static int place_of(const struct typed_side *s, int r)
{
    if (!s->ranks) return r;
    return r == s->me ? s->peers_n : tt_neighbor_find(s->peers, s->peers_n, r);
}

/* Sets the displacements so that the packed pieces of all ranks lie one after the other. Returns
 * the sum of their bytes; INT64_MAX if the sum overflows. */
static int64_t set_places(const struct typed_side *s, int p)
{
    int64_t at = 0;
    for (int i = 0; i < places(s, p); i++) {
        int r = place_at(s, i);
        s->packed[p + r] = at;
        if (__builtin_add_overflow(at, s->packed[r], &at)) return INT64_MAX;
    }
    return at;
}

/* Sets s->packed (for each rank, the bytes of its pieces and where they begin in packed form) and
 * s->contents. The caller has set both to zeros. Returns the bytes of all pieces; INT64_MAX if the
 * sum overflows. A piece whose rank is negative is skipped: a neighbourhood collective has such
 * pieces where a neighbour would lie outside of the grid. */
static int64_t set_typed_list(const struct typed_side *s, int p)
{
    for (int j = 0; j < s->n; j++) {
        int i = s->crossed ? j ^ 1 : j, r = rank_of(s, i);
        if (r < 0) continue;
        const struct tt_layout *l = s->counts[i] ? tt_layout_find(s->types[i]) : NULL;
        int64_t more = l ? s->counts[i] * l->packed : 0;
        if (__builtin_add_overflow(s->packed[r], more, &s->packed[r])) return INT64_MAX;
        add_contents(&s->contents[place_of(s, r)], l, s->counts[i]);
    }
    return set_places(s, p);
}

/* Sets at[r] to the end of rank r's elements in the user's buffer, as an offset in bytes, or to -1
 * if rank r has no elements. Returns false if the elements of some rank do not lie in a row. */
static bool find_ends(const struct typed_side *s, int p, int64_t *at)
{
    for (int i = 0; i < places(s, p); i++) at[place_at(s, i)] = -1;
    for (int j = 0; j < s->n; j++) {
        int i = s->crossed ? j ^ 1 : j, r = rank_of(s, i);
        if (s->counts[i] == 0) continue;
        const struct tt_layout *l = tt_layout_find(s->types[i]);
        int64_t begin = s->displs[i] + l->begin;
        if (!tt_layout_in_a_row(l, s->counts[i]) || begin < 0 || (at[r] >= 0 && at[r] != begin))
            return false;
        at[r] = begin + s->counts[i] * l->packed;
    }
    return true;
}

/* Returns the user's buffer if the plan can use it as it is. In this case the function also sets
 * the displacement of each rank to the start of its elements in the buffer, and *all to the range
 * in which all elements lie. Otherwise returns NULL; the elements have to be packed. */
static char *typed_row(const struct tt_packed *k, const struct tt_fabric *f,
                       const struct typed_side *s, int p, struct packed_span *all)
{
    int64_t *at = s->packed + p, first = INT64_MAX, last = 0;
    bool usable = !k->args.call.shared || tt_fabric_address(f, s->user) & TT_ADDRESS_IN_SEGMENT;
    if (!s->user || !usable || !find_ends(s, p, at)) return NULL;
    for (int i = 0; i < places(s, p); i++) {
        int r = place_at(s, i);
        if (s->packed[r] > 0) last = tt_max(last, at[r]);
        at[r] = tt_max(at[r] - s->packed[r], 0);
        if (s->packed[r] > 0) first = tt_min(first, at[r]);
    }
    *all = (struct packed_span){s->user + tt_min(first, last), s->user + last};
    return s->user;
}

/* Finds the buffers of an alltoallw that need no packing, as find_rows does for other calls. Sets
 * the displacements of each side: in the user's buffer, if the plan uses it, or else in the packed
 * memory. */
static struct in_a_row find_typed_rows(const struct tt_packed *k, const struct tt_fabric *f,
                                       const struct typed_side *in, const struct typed_side *out,
                                       int p)
{
    struct packed_span read, written;
    struct in_a_row row = {typed_row(k, f, in, p, &read), typed_row(k, f, out, p, &written)};
    if (row.in && row.out && spans_meet(read, written)) row.in = NULL;
    if (!row.in) (void)set_places(in, p);
    if (!row.out) (void)set_places(out, p);
    return row;
}

/* Adds to k->pieces all pieces of one side, those that this rank sends or those that it receives.
 * The pieces of a rank lie one after the other in the packed memory: at[r] is the offset of the
 * next piece of rank r, and grows with each piece. */
static tutti_status add_typed(struct tt_packed *k, const struct typed_side *s, char *packed,
                              int64_t *at)
{
    for (int j = 0; j < s->n; j++) {
        int i = s->crossed ? j ^ 1 : j, r = rank_of(s, i);
        if (s->counts[i] == 0) continue;
        struct tt_layout *l = tt_layout_hold(s->types[i]);
        if (!l) return tt_fail(TUTTI_ERR_ARG, "type %d was freed", (int)s->types[i]);
        k->pieces[k->packs + k->unpacks++] =
            (struct tt_packed_piece){l, s->user + s->displs[i], packed + at[r], s->counts[i]};
        at[r] += s->counts[i] * l->packed;
    }
    return TUTTI_OK;
}

/* Adds all pieces of one side (those that this rank sends, or those that it receives) to k->pieces.
 * s->packed[p + r] says where the packed pieces of rank r begin. add_typed moves it past each piece
 * that it adds, so this function afterwards sets it back to the first piece. */
static tutti_status add_typed_side(struct tt_packed *k, const struct typed_side *s, char *packed,
                                   int p)
{
    tutti_status status = add_typed(k, s, packed, s->packed + p);
    for (int i = 0; i < places(s, p); i++) {
        int r = place_at(s, i);
        s->packed[p + r] -= s->packed[r];
    }
    return status;
}

static int by_rank(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

/* Copies the ranks other than `me` to to[], each rank once and in ascending order, without the
 * negative ranks that stand for places outside of a grid. Returns the number of ranks copied. */
static int32_t copy_ranks(int32_t *to, const int *ranks, int n, int me)
{
    int32_t all = 0, kept = 0;
    for (int i = 0; i < n; i++)
        if (ranks[i] >= 0 && ranks[i] != me) to[all++] = ranks[i];
    if (all > 0) qsort(to, (size_t)all, sizeof *to, by_rank);
    for (int32_t i = 0; i < all; i++)
        if (i == 0 || to[i] != to[i - 1]) to[kept++] = to[i];
    return kept;
}

static void set_neighbors(struct tt_packed *k, const struct tt_args *args, int p, int me)
{
    int32_t *to = (int32_t *)(k->counts + 4 * p), *from = to + args->in_n;
    k->neighbors.to = to;
    k->neighbors.from = from;
    k->neighbors.to_n = copy_ranks(to, args->in_ranks, args->in_n, me);
    k->neighbors.from_n = copy_ranks(from, args->out_ranks, args->out_n, me);
    k->args.call.neighbors = &k->neighbors;
}

static struct typed_side input_side(struct tt_packed *k, const struct tt_args *args, int p, int me)
{
    return (struct typed_side){.user = (char *)args->in,
                               .counts = args->call.in_counts,
                               .displs = args->call.in_displs,
                               .types = args->in_types,
                               .ranks = args->in_ranks,
                               .n = args->in_ranks ? args->in_n : p,
                               .packed = k->counts,
                               .contents = k->contents[0],
                               .peers = k->neighbors.to,
                               .peers_n = k->neighbors.to_n,
                               .me = me};
}

static struct typed_side output_side(struct tt_packed *k, const struct tt_args *args, int p, int me)
{
    return (struct typed_side){.user = args->out,
                               .counts = args->call.out_counts,
                               .displs = args->call.out_displs,
                               .types = args->out_types,
                               .ranks = args->out_ranks,
                               .n = args->out_ranks ? args->out_n : p,
                               .crossed = args->crossed,
                               .packed = k->counts + 2 * p,
                               .contents = k->contents[1],
                               .peers = k->neighbors.from,
                               .peers_n = k->neighbors.from_n,
                               .me = me};
}

static tutti_status set_up_typed(struct tt_packed *k, tutti_team *team, const struct tt_args *args)
{
    int p = team->run.map.p, me = team->run.me;
    if (args->in_ranks) set_neighbors(k, args, p, me);
    struct typed_side in = input_side(k, args, p, me), out = output_side(k, args, p, me);
    int64_t in_bytes = set_typed_list(&in, p), out_bytes = set_typed_list(&out, p);
    struct in_a_row row = {NULL, NULL};
    if (tt_max(in_bytes, out_bytes) < INT64_MAX) {
        TT_TRY(check_own(&in.contents[place_of(&in, me)], &out.contents[place_of(&out, me)]));
        row = find_typed_rows(k, &team->client->fabric, &in, &out, p);
    }
    set_typed_name(k, args->one_type);
    TT_TRY(make_memory(k, team, row.in ? 0 : in_bytes, row.out ? 0 : out_bytes, 1));
    set_buffers(k, &row);
    if (!row.in) TT_TRY(add_typed_side(k, &in, k->in, p));
    k->packs = k->unpacks;
    k->unpacks = 0;
    if (!row.out) TT_TRY(add_typed_side(k, &out, k->out, p));
    k->args.call.sz = 1;
    k->args.call.in_counts = in.packed;
    k->args.call.in_displs = in.packed + p;
    k->args.call.out_counts = out.packed;
    k->args.call.out_displs = out.packed + p;
    return TUTTI_OK;
}

/* ---- Making, beginning and ending ---- */

static tutti_status set_up(struct tt_packed *k, tutti_team *team, const struct tt_args *args)
{
    int p = team->run.map.p, me = team->run.me;
    const struct tt_call *c = &args->call;
    if (!k->layout) return tt_fail(TUTTI_ERR_ARG, "type %d was freed", (int)c->type);
    if (has_user_op(&args->call) && k->layout->packed > TT_ELEMENT_MOST)
        return tt_fail(TUTTI_ERR_ARG,
                       "elements of %lld bytes are too large for a user-defined operation: %d is "
                       "the most",
                       (long long)k->layout->packed, TT_ELEMENT_MOST);
    k->element = (unsigned)c->type < TUTTI_TYPES ? 0 : k->layout->packed;
    struct in_a_row row = find_rows(k, &team->client->fabric, args, p, me);
    int64_t in = row.in ? 0 : in_elements(c, p, me), out = row.out ? 0 : out_elements(c, p, me);
    TT_TRY(make_memory(k, team, in, out, k->layout->packed));
    set_buffers(k, &row);
    TT_TRY(set_pieces(k, args, &row, p, me));
    set_call(k, &row, p);
    return TUTTI_OK;
}

bool tt_packed_valid(const struct tt_packed *k)
{
    bool valid = k->packs >= 0 && k->unpacks >= 0 && k->memory <= k->in && k->in <= k->out;
    for (int i = 0; i < k->packs + k->unpacks; i++)
        valid = valid && k->pieces[i].n > 0 && k->pieces[i].packed >= k->memory;
    return valid;
}

tutti_status tt_packed_new(tutti_team *team, const struct tt_args *args, struct tt_packed **packed)
{
    bool lists = tt_call_counts(&args->call);
    size_t p = (size_t)team->run.map.p, pieces = lists ? 2 * p : 2, counts = lists ? 4 * p : 0;
    size_t ranks = args->in_ranks ? (size_t)args->in_n + (size_t)args->out_n : 0;
    size_t in_n = args->in_ranks ? (size_t)args->in_n + 1 : p;
    size_t contents = args->in_ranks ? ranks + 2 : tt_coll_pairs(args->call.coll) ? 2 * p : 0;
    if (args->in_ranks) pieces = ranks;
    /* after the counts come the lists of neighbours; two ranks take the room of one count */
    counts += tt_div_up(ranks, 2);
    struct tt_packed *k =
        tt_calloc(1, sizeof *k + counts * sizeof *k->counts + contents * sizeof *k->contents[0] +
                         pieces * sizeof *k->pieces);
    if (!k) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a call of a derived type");
    struct tt_contents *first = (struct tt_contents *)(k->counts + counts);
    k->pieces = (struct tt_packed_piece *)(first + contents);
    struct tt_args plain = *args;
    /* the caller frees args->lists, so the copy `plain` must not own them, too */
    plain.lists = NULL;
    /* The plan is never in place if each pair of ranks has its own piece (plan/call.h). */
    if (tt_coll_pairs(plain.call.coll)) plain.call.in_place = false;
    k->layout = tt_layout_hold(args->call.type);
    if (contents > 0 && (args->typed || (k->layout && k->layout->uniform == TUTTI_TYPES))) {
        plain.call.in_contents = k->contents[0] = first;
        plain.call.out_contents = k->contents[1] = first + in_n;
        k->contents_n = (int)contents;
    }
    k->args = plain;
    tutti_status status = args->typed ? set_up_typed(k, team, &plain) : set_up(k, team, &plain);
    tt_assert(status != TUTTI_OK || (tt_packed_valid(k) && !k->pending));
    if (status == TUTTI_OK)
        *packed = k;
    else
        tt_packed_free(k, NULL);
    return status;
}

static void free_memory(struct tt_packed *k, const struct tt_fabric *reached)
{
    if (k->arena && !reached) tt_arena_put(k->arena, k->offset);
    if (k->arena || !k->memory) return;
    if (reached)
        tt_fabric_park(reached, (struct tt_parked *)(k->memory + tt_parked_at(k->bytes)),
                       k->memory);
    else
        tt_free(k->memory);
}

void tt_packed_free(struct tt_packed *k, const struct tt_fabric *reached)
{
    if (!k) return;
    free_memory(k, reached);
    if (k->layout) tt_layout_drop(k->layout);
    for (int i = 0; !k->layout && i < k->packs + k->unpacks; i++)
        tt_layout_drop(k->pieces[i].layout);
    tt_free(k);
}

/* ---- Starting and ending ---- */

void tt_packed_begin(struct tt_packed *k)
{
    tt_assert(tt_packed_valid(k) && !k->pending);
    for (int i = 0; i < k->packs; i++)
        tt_layout_pack(k->pieces[i].layout, k->pieces[i].packed, k->pieces[i].user, k->pieces[i].n);
    k->pending = true;
}

void tt_packed_end(struct tt_packed *k, bool good)
{
    const struct tt_packed_piece *piece = k->pieces + k->packs;
    if (!k->pending) return;
    k->pending = false;
    for (int i = 0; i < k->unpacks && good; i++)
        tt_layout_unpack(piece[i].layout, piece[i].packed, piece[i].user, piece[i].n);
}
