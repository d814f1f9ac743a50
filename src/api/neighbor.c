/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The neighbourhood collectives. Each of them is an alltoallw with any number of pieces for each
 * rank. The library packs the pieces for a rank one after the other, and moves them by an alltoallv
 * whose plan names only the neighbours of this rank.
 */
#include "api/api.h"
#include "type/layout.h"

/* One side of a call: the pieces that the rank sends, or those that it receives. If `lists` is set,
 * piece i has counts[i] elements at displs[i]; if `typed` is set, too, they are of type types[i],
 * and displs[i] is in bytes. Without `lists`, each piece has n elements, and piece i begins at
 * element i * n of the buffer, or at element 0 if `same` is set. */
struct neighbor_side {
    const char *prefix; /* begins the names of this side's arguments, for error messages */
    bool same, lists, typed;
    int64_t n;
    const int64_t *counts, *displs;
    tutti_type type;
    const tutti_type *types;
};

struct neighbor_call {
    enum tt_neighbor which;
    const void *in;
    void *out;
    struct neighbor_side from, to;
};

/* The form of a call: blocking (tt_collective_run), nonblocking (tt_collective_start) or persistent
 * (tt_collective_init), with the further arguments of that function. */
struct neighbor_form {
    enum { NEIGHBOR_RUN, NEIGHBOR_START, NEIGHBOR_INIT } form;
    unsigned flags;
    tutti_request **request;
};

/* The arguments of an alltoallw that describe one side of the call: its n pieces, each for or from
 * the rank in ranks[]. */
struct neighbor_lists {
    int64_t *counts, *displs;
    tutti_type *types;
    int *ranks;
    int n;
};

static tutti_status check_side(const struct neighbor_side *s, int n)
{
    if (!s->lists && s->n < 0)
        return tt_fail(TUTTI_ERR_ARG, "n is negative: %lld", (long long)s->n);
    if (n > 0 && s->lists && (!s->counts || !s->displs))
        return tt_fail(TUTTI_ERR_ARG, "%scounts or %sdispls is NULL", s->prefix, s->prefix);
    if (n > 0 && s->typed && !s->types) return tt_fail(TUTTI_ERR_ARG, "%stypes is NULL", s->prefix);
    if (!s->typed && !tt_layout_find(s->type))
        return tt_fail(TUTTI_ERR_ARG,
                       "type %d is unknown (allowed: the %d basic types and live derived types)",
                       (int)s->type, TUTTI_TYPES);
    return TUTTI_OK;
}

/* Sets entry i of the lists in *to for a call in which the user gives a count and a displacement
 * for each piece. */
static tutti_status set_listed(const struct neighbor_side *s, const struct neighbor_lists *to,
                               int i)
{
    int64_t each = s->typed ? 1 : tutti_type_extent(s->type);
    if (s->counts[i] < 0 || s->displs[i] < 0)
        return tt_fail(TUTTI_ERR_ARG, "%scounts[%d] or %sdispls[%d] is negative: %lld, %lld",
                       s->prefix, i, s->prefix, i, (long long)s->counts[i],
                       (long long)s->displs[i]);
    if (__builtin_mul_overflow(s->displs[i], each, &to->displs[i]))
        return tt_fail(TUTTI_ERR_ARG, "%sdispls[%d] overflows: %lld elements of %lld bytes",
                       s->prefix, i, (long long)s->displs[i], (long long)each);
    to->counts[i] = s->counts[i];
    to->types[i] = s->typed ? s->types[i] : s->type;
    return TUTTI_OK;
}

/* Sets entry i of the lists in *to for a call in which the user gives one count, s->n, for all
 * pieces. */
static tutti_status set_equal(const struct neighbor_side *s, const struct neighbor_lists *to, int i)
{
    int64_t each = tutti_type_extent(s->type), all = 0;
    bool fits =
        !__builtin_mul_overflow(i + 1, s->n, &all) && !__builtin_mul_overflow(all, each, &all);
    if (!fits)
        return tt_fail(TUTTI_ERR_ARG, "n is too large: %lld elements of %lld bytes for a neighbour",
                       (long long)s->n, (long long)each);
    to->counts[i] = s->n;
    to->displs[i] = s->same ? 0 : i * s->n * each;
    to->types[i] = s->type;
    return TUTTI_OK;
}

/* Sets all entries of the lists in *to, which describe the pieces that this rank sends or those
 * that it receives. A place outside of the grid has rank -1: its piece is empty, and the function
 * ignores the caller's arguments for it. */
static tutti_status set_lists(const struct neighbor_side *s, const struct neighbor_lists *to)
{
    TT_TRY(check_side(s, to->n));
    for (int i = 0; i < to->n; i++) {
        if (to->ranks[i] < 0) {
            to->counts[i] = to->displs[i] = 0;
            to->types[i] = s->typed ? TUTTI_U8 : s->type;
        } else {
            TT_TRY(s->lists ? set_listed(s, to, i) : set_equal(s, to, i));
        }
    }
    return TUTTI_OK;
}

static tutti_status pass_on(tutti_team *team, const struct neighbor_call *c,
                            const struct neighbor_lists *in, const struct neighbor_lists *out,
                            const struct neighbor_form *f)
{
    struct tt_args args = {.call = {.commutes = true,
                                    .coll = TT_COLL_alltoallv,
                                    .type = TT_TYPE_NEIGHBORS + (tutti_type)c->which,
                                    .in_counts = in->counts,
                                    .in_displs = in->displs,
                                    .out_counts = out->counts,
                                    .out_displs = out->displs},
                           .in = c->in,
                           .out = c->out,
                           .n = c->from.n,
                           .typed = true,
                           .in_types = in->types,
                           .out_types = out->types,
                           .one_type = c->from.typed ? TT_TYPE_EACH : c->from.type,
                           .in_ranks = in->ranks,
                           .out_ranks = out->ranks,
                           .in_n = in->n,
                           .out_n = out->n,
                           .crossed = team->cart != NULL};
    if (f->form == NEIGHBOR_RUN) return tt_collective_run(team, &args);
    if (f->form == NEIGHBOR_START) return tt_collective_start(team, &args, f->request);
    return tt_collective_init(team, &args, f->flags, f->request);
}

static tutti_status fill(tutti_team *team, const struct neighbor_call *c,
                         const struct neighbor_lists *in, const struct neighbor_lists *out)
{
    TT_TRY(tutti_team_destinations(team, in->ranks, in->n, NULL));
    TT_TRY(tutti_team_sources(team, out->ranks, out->n, NULL));
    TT_TRY(set_lists(&c->from, in));
    return set_lists(&c->to, out);
}

/* Returns MEMORY. Breaks the team if other ranks wait for this rank in the call. While a persistent
 * call is prepared, they wait only if a forced algorithm lets the ranks exchange their counts
 * first. */
static tutti_status no_memory(tutti_team *team, const struct neighbor_form *f)
{
    const struct tt_call like = {.coll = TT_COLL_alltoallv, .commutes = true};
    const struct tt_algorithm *first = NULL;
    bool waits = f->form != NEIGHBOR_INIT ||
                 tt_choose_first(&like, &team->run.map, &first) != TUTTI_OK || first;
    tutti_status status = tt_fail(TUTTI_ERR_MEMORY, "no memory for the neighbours' pieces");
    if (waits) tt_team_break(&team->run, status);
    return status;
}

static tutti_status call(tutti_team *team, struct neighbor_call c, struct neighbor_form f)
{
    struct neighbor_lists in = {0}, out = {0};
    TT_TRY_HANDLE(team);
    TT_LOCKED(team->client->lock, call(team, c, f));
    TT_TRY(tutti_team_destinations(team, NULL, 0, &in.n));
    TT_TRY(tutti_team_sources(team, NULL, 0, &out.n));
    if (c.in == TUTTI_IN_PLACE)
        return tt_fail(TUTTI_ERR_ARG, "in is TUTTI_IN_PLACE, but a neighbourhood collective cannot "
                                      "be done in place");
    size_t n = (size_t)in.n, all = n + (size_t)out.n;
    size_t each = 2 * sizeof(int64_t) + sizeof(tutti_type) + sizeof(int);
    int64_t *at = tt_alloc((all + 1) * each);
    if (!at) return no_memory(team, &f);
    tutti_type *types = (tutti_type *)(at + 2 * all);
    int *ranks = (int *)(types + all);
    in = (struct neighbor_lists){at, at + all, types, ranks, in.n};
    out = (struct neighbor_lists){at + n, at + all + n, types + n, ranks + n, out.n};
    tutti_status status = fill(team, &c, &in, &out);
    if (status == TUTTI_OK) status = pass_on(team, &c, &in, &out, &f);
    tt_free(at);
    return status;
}

/* ---- The collectives in their three forms ---- */

static tutti_status run(tutti_team *team, struct neighbor_call c)
{
    return call(team, c, (struct neighbor_form){NEIGHBOR_RUN, 0, NULL});
}

static tutti_status start(tutti_team *team, struct neighbor_call c, tutti_request **request)
{
    return call(team, c, (struct neighbor_form){NEIGHBOR_START, 0, request});
}

static tutti_status init(tutti_team *team, struct neighbor_call c, unsigned flags,
                         tutti_request **request)
{
    return call(team, c, (struct neighbor_form){NEIGHBOR_INIT, flags, request});
}

static struct neighbor_call allgather_of(const void *in, void *out, int64_t n, tutti_type type)
{
    return (struct neighbor_call){TT_NEIGHBOR_allgather,
                                  in,
                                  out,
                                  {.same = true, .n = n, .type = type},
                                  {.n = n, .type = type}};
}

tutti_status tutti_neighbor_allgather(tutti_team *team, const void *in, void *out, int64_t n,
                                      tutti_type type)
{
    return run(team, allgather_of(in, out, n, type));
}

tutti_status tutti_ineighbor_allgather(tutti_team *team, const void *in, void *out, int64_t n,
                                       tutti_type type, tutti_request **request)
{
    return start(team, allgather_of(in, out, n, type), request);
}

tutti_status tutti_neighbor_allgather_init(tutti_team *team, const void *in, void *out, int64_t n,
                                           tutti_type type, unsigned flags, tutti_request **request)
{
    return init(team, allgather_of(in, out, n, type), flags, request);
}

static struct neighbor_call allgatherv_of(const void *in, int64_t n, void *out,
                                          const int64_t *counts, const int64_t *displs,
                                          tutti_type type)
{
    return (struct neighbor_call){
        TT_NEIGHBOR_allgatherv,
        in,
        out,
        {.same = true, .n = n, .type = type},
        {"", .lists = true, .counts = counts, .displs = displs, .type = type}};
}

tutti_status tutti_neighbor_allgatherv(tutti_team *team, const void *in, int64_t n, void *out,
                                       const int64_t *counts, const int64_t *displs,
                                       tutti_type type)
{
    return run(team, allgatherv_of(in, n, out, counts, displs, type));
}

tutti_status tutti_ineighbor_allgatherv(tutti_team *team, const void *in, int64_t n, void *out,
                                        const int64_t *counts, const int64_t *displs,
                                        tutti_type type, tutti_request **request)
{
    return start(team, allgatherv_of(in, n, out, counts, displs, type), request);
}

tutti_status tutti_neighbor_allgatherv_init(tutti_team *team, const void *in, int64_t n, void *out,
                                            const int64_t *counts, const int64_t *displs,
                                            tutti_type type, unsigned flags,
                                            tutti_request **request)
{
    return init(team, allgatherv_of(in, n, out, counts, displs, type), flags, request);
}

static struct neighbor_call alltoall_of(const void *in, void *out, int64_t n, tutti_type type)
{
    return (struct neighbor_call){
        TT_NEIGHBOR_alltoall, in, out, {.n = n, .type = type}, {.n = n, .type = type}};
}

tutti_status tutti_neighbor_alltoall(tutti_team *team, const void *in, void *out, int64_t n,
                                     tutti_type type)
{
    return run(team, alltoall_of(in, out, n, type));
}

tutti_status tutti_ineighbor_alltoall(tutti_team *team, const void *in, void *out, int64_t n,
                                      tutti_type type, tutti_request **request)
{
    return start(team, alltoall_of(in, out, n, type), request);
}

tutti_status tutti_neighbor_alltoall_init(tutti_team *team, const void *in, void *out, int64_t n,
                                          tutti_type type, unsigned flags, tutti_request **request)
{
    return init(team, alltoall_of(in, out, n, type), flags, request);
}

static struct neighbor_call alltoallv_of(const void *in, const int64_t *in_counts,
                                         const int64_t *in_displs, void *out,
                                         const int64_t *out_counts, const int64_t *out_displs,
                                         tutti_type type)
{
    return (struct neighbor_call){
        TT_NEIGHBOR_alltoallv,
        in,
        out,
        {"in_", .lists = true, .counts = in_counts, .displs = in_displs, .type = type},
        {"out_", .lists = true, .counts = out_counts, .displs = out_displs, .type = type}};
}

tutti_status tutti_neighbor_alltoallv(tutti_team *team, const void *in, const int64_t *in_counts,
                                      const int64_t *in_displs, void *out,
                                      const int64_t *out_counts, const int64_t *out_displs,
                                      tutti_type type)
{
    return run(team, alltoallv_of(in, in_counts, in_displs, out, out_counts, out_displs, type));
}

tutti_status tutti_ineighbor_alltoallv(tutti_team *team, const void *in, const int64_t *in_counts,
                                       const int64_t *in_displs, void *out,
                                       const int64_t *out_counts, const int64_t *out_displs,
                                       tutti_type type, tutti_request **request)
{
    return start(team, alltoallv_of(in, in_counts, in_displs, out, out_counts, out_displs, type),
                 request);
}

tutti_status tutti_neighbor_alltoallv_init(tutti_team *team, const void *in,
                                           const int64_t *in_counts, const int64_t *in_displs,
                                           void *out, const int64_t *out_counts,
                                           const int64_t *out_displs, tutti_type type,
                                           unsigned flags, tutti_request **request)
{
    return init(team, alltoallv_of(in, in_counts, in_displs, out, out_counts, out_displs, type),
                flags, request);
}

static struct neighbor_call alltoallw_of(const void *in, const int64_t *in_counts,
                                         const int64_t *in_displs, const tutti_type *in_types,
                                         void *out, const int64_t *out_counts,
                                         const int64_t *out_displs, const tutti_type *out_types)
{
    return (struct neighbor_call){TT_NEIGHBOR_alltoallw,
                                  in,
                                  out,
                                  {"in_", .lists = true, .typed = true, .counts = in_counts,
                                   .displs = in_displs, .types = in_types},
                                  {"out_", .lists = true, .typed = true, .counts = out_counts,
                                   .displs = out_displs, .types = out_types}};
}

tutti_status tutti_neighbor_alltoallw(tutti_team *team, const void *in, const int64_t *in_counts,
                                      const int64_t *in_displs, const tutti_type *in_types,
                                      void *out, const int64_t *out_counts,
                                      const int64_t *out_displs, const tutti_type *out_types)
{
    return run(team, alltoallw_of(in, in_counts, in_displs, in_types, out, out_counts, out_displs,
                                  out_types));
}

tutti_status tutti_ineighbor_alltoallw(tutti_team *team, const void *in, const int64_t *in_counts,
                                       const int64_t *in_displs, const tutti_type *in_types,
                                       void *out, const int64_t *out_counts,
                                       const int64_t *out_displs, const tutti_type *out_types,
                                       tutti_request **request)
{
    return start(
        team,
        alltoallw_of(in, in_counts, in_displs, in_types, out, out_counts, out_displs, out_types),
        request);
}

tutti_status tutti_neighbor_alltoallw_init(tutti_team *team, const void *in,
                                           const int64_t *in_counts, const int64_t *in_displs,
                                           const tutti_type *in_types, void *out,
                                           const int64_t *out_counts, const int64_t *out_displs,
                                           const tutti_type *out_types, unsigned flags,
                                           tutti_request **request)
{
    return init(
        team,
        alltoallw_of(in, in_counts, in_displs, in_types, out, out_counts, out_displs, out_types),
        flags, request);
}
