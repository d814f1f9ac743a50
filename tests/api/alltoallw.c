/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests alltoallw, in which each pair of ranks has types of its own: results of the three forms
 * (blocking, nonblocking, persistent), in place and not, with empty pieces; counts of a pair that
 * do not match; and wrong arguments, for which the rank that passes them gets an error with the
 * name of the argument, even if no other rank calls.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

#include "ranks.h"

/* Each piece has its own part of a buffer, large enough for every type. */
enum { RANKS = 5, MOST = 3000, PART = 3 * MOST + 8, ROUNDS = 2 };
enum alltoallw_form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

struct alltoallw_side {
    int64_t counts[RANKS], displs[RANKS];
    tutti_type types[RANKS];
    int64_t at[RANKS * PART];
};

struct alltoallw_rank {
    tutti_team *team;
    int p, me;
    bool in_place;
    tutti_type pair, odd; /* pair: 2 elements in an extent of 3, with a gap between them; odd: 1
                           * element after a gap of 1 */
    struct alltoallw_side in, out;
};

static void check(bool good, const struct alltoallw_rank *x, const char *what)
{
    if (good) return;
    fprintf(stderr, "rank %d of %d: %s: %s\n", x->me, x->p, what, tutti_error());
    abort();
}

static void must(tutti_status status, const struct alltoallw_rank *x, const char *what)
{
    check(status == TUTTI_OK, x, what);
}

/* Returns the number of basic elements that two ranks send each other. It is even, so that the
 * elements are whole pairs, and equal in both directions, so that the call can be in place. */
static int64_t elements(int a, int b, int64_t n)
{
    return (a + b) % 4 == 3 ? 0 : n * (1 + (a * b) % 3) / 3 / 2 * 2;
}

static int64_t value(int round, int from, int to, int64_t i)
{
    return 100000 * (100 * round + 10 * from + to) + i;
}

/* Sets piece r of a side (the input or the output) to m basic elements. `kind`, modulo 3, selects
 * the type: basic, `pair` or `odd`. */
static void set_piece(struct alltoallw_rank *x, struct alltoallw_side *s, int r, int kind,
                      int64_t m)
{
    const tutti_type types[] = {TUTTI_I64, x->pair, x->odd};
    s->types[r] = types[kind % 3];
    s->counts[r] = kind % 3 == 1 ? m / 2 : m;
    s->displs[r] = 8 * (int64_t)PART * (x->p - 1 - r);
}

/* Returns where basic element i of piece r lies. */
static int64_t *element(const struct alltoallw_rank *x, struct alltoallw_side *s, int r, int64_t i)
{
    int64_t step = s->types[r] == x->pair  ? i / 2 * 3 + i % 2 * 2
                   : s->types[r] == x->odd ? 2 * i + 1
                                           : i;
    return s->at + s->displs[r] / 8 + step;
}

static void set_sides(struct alltoallw_rank *x, int64_t n)
{
    for (int r = 0; r < x->p; r++) {
        int64_t m = elements(x->me, r, n);
        set_piece(x, &x->in, r, x->me + 2 * r, m);
        set_piece(x, &x->out, r, x->me + r, m);
    }
}

static void fill(struct alltoallw_rank *x, int64_t n, int round)
{
    struct alltoallw_side *source = x->in_place ? &x->out : &x->in;
    memset(x->in.at, -1, sizeof x->in.at);
    memset(x->out.at, -1, sizeof x->out.at);
    for (int r = 0; r < x->p; r++)
        for (int64_t i = 0; i < elements(x->me, r, n); i++)
            *element(x, source, r, i) = value(round, x->me, r, i);
}

/* Checks that the output holds what each rank sent, and nothing anywhere else. */
static void expect(struct alltoallw_rank *x, int64_t n, int round)
{
    for (int r = 0; r < x->p; r++)
        for (int64_t i = 0; i < elements(x->me, r, n); i++) {
            int64_t *at = element(x, &x->out, r, i);
            check(*at == value(round, r, x->me, i), x, "a wrong element");
            *at = -1;
        }
    for (int64_t i = 0; i < RANKS * PART; i++) check(x->out.at[i] == -1, x, "wrote in a gap");
}

static tutti_status call(struct alltoallw_rank *x, enum alltoallw_form form,
                         tutti_request **request)
{
    struct alltoallw_side *i = &x->in, *o = &x->out;
    const void *in = x->in_place ? TUTTI_IN_PLACE : i->at;
    const int64_t *ic = x->in_place ? NULL : i->counts, *id = x->in_place ? NULL : i->displs;
    const tutti_type *it = x->in_place ? NULL : i->types;
    if (form == BLOCKING)
        return tutti_alltoallw(x->team, in, ic, id, it, o->at, o->counts, o->displs, o->types);
    if (form == NONBLOCKING)
        return tutti_ialltoallw(x->team, in, ic, id, it, o->at, o->counts, o->displs, o->types,
                                request);
    return tutti_alltoallw_init(x->team, in, ic, id, it, o->at, o->counts, o->displs, o->types, 0,
                                request);
}

/* Overwrites the lists of counts, displacements and types after the call, or while a request
 * exists: the library keeps its own copies. */
static void spoil(struct alltoallw_side *s)
{
    memset(s->counts, -1, sizeof s->counts);
    memset(s->displs, -1, sizeof s->displs);
    memset(s->types, -1, sizeof s->types);
}

static void run(struct alltoallw_rank *x, int64_t n, enum alltoallw_form form)
{
    tutti_request *request = NULL;
    for (int round = 0; round < ROUNDS; round++) {
        set_sides(x, n);
        fill(x, n, round);
        if (round == 0 || form != PERSISTENT) must(call(x, form, &request), x, "the call");
        spoil(&x->in);
        spoil(&x->out);
        if (form == PERSISTENT) must(tutti_start(request), x, "start");
        if (form != BLOCKING) must(tutti_wait(request), x, "wait");
        if (form == NONBLOCKING) must(tutti_request_free(request), x, "free");
        set_sides(x, n);
        expect(x, n, round);
    }
    if (form == PERSISTENT) must(tutti_request_free(request), x, "free");
}

/* Tries all sizes and forms, not in place, in place on odd ranks only, and in place on all
 * ranks. */
static void results(struct alltoallw_rank *x)
{
    static const int64_t sizes[] = {0, 6, 600, MOST};
    for (int i = 0; i < 4 * 3 * FORMS; i++) {
        int place = i / 4 % 3;
        x->in_place = place == 2 || (place == 1 && x->me % 2);
        run(x, sizes[i % 4], (enum alltoallw_form)(i / 12));
    }
    x->in_place = false;
}

/* ---- Wrong arguments ---- */

static void refused(struct alltoallw_rank *x, const char *text)
{
    tutti_request *request;
    for (int form = 0; form < FORMS; form++) {
        check(call(x, (enum alltoallw_form)form, &request) == TUTTI_ERR_ARG, x, text);
        check(strstr(tutti_error(), text) != NULL, x, text);
    }
    set_sides(x, 6);
}

static void wrong_pieces(struct alltoallw_rank *x)
{
    int me = x->me;
    char text[64];
    x->in.types[me] = TUTTI_TYPE_USER_END; /* no type has this number */
    snprintf(text, sizeof text, "in_types[%d] is %d (allowed", me, (int)TUTTI_TYPE_USER_END);
    refused(x, text);
    x->out.counts[me] = -4;
    snprintf(text, sizeof text, "out_counts[%d] or out_displs[%d] is negative: -4", me, me);
    refused(x, text);
    x->in.counts[me] = INT64_MAX / 4;
    snprintf(text, sizeof text, "in_counts[%d] and in_displs[%d] overflow", me, me);
    refused(x, text);
    x->in.counts[me] = 2;
    x->in.displs[me] = INT64_MAX - 100; /* the end of the piece still fits in 64 bits, but is no
                                         * valid address */
    refused(x, text);
    x->out.types[me] = TUTTI_U8;
    x->out.counts[me] = 5;
    x->in.types[me] = TUTTI_I16;
    x->in.counts[me] = 2;
    refused(x, "this rank sends itself n=2 of i16 but expects n=5 of u8");
    if (x->p == 1) return;
    for (int r = 0; r < x->p; r++) x->out.types[r] = x->in.types[r] = TUTTI_U8;
    for (int r = 0; r < x->p; r++) x->out.counts[r] = x->in.counts[r] = 2, x->out.displs[r] = r;
    refused(x, "pieces of out overlap");
}

static void wrong_whole(struct alltoallw_rank *x)
{
    tutti_team *t = x->team;
    struct alltoallw_side *i = &x->in, *o = &x->out;
    const int64_t *ic = i->counts, *id = i->displs, *oc = o->counts, *od = o->displs;
    const tutti_type *it = i->types, *ot = o->types;
    const struct {
        tutti_status status;
        const char *text;
    } tried[] = {
        {tutti_alltoallw(t, i->at, NULL, id, it, o->at, oc, od, ot), "in_counts or in_displs is"},
        {tutti_alltoallw(t, i->at, ic, id, NULL, o->at, oc, od, ot), "in_types is NULL"},
        {tutti_alltoallw(t, i->at, ic, id, it, o->at, oc, od, NULL), "out_types is NULL"},
        {tutti_alltoallw(t, NULL, ic, id, it, o->at, oc, od, ot), "in is NULL"},
        {tutti_alltoallw(t, i->at, ic, id, it, NULL, oc, od, ot), "out is NULL"},
        {tutti_alltoallw(t, i->at, ic, id, it, (void *)TUTTI_IN_PLACE, oc, od, ot),
         "out is TUTTI_IN_PLACE"},
        {tutti_ialltoallw(t, i->at, ic, id, it, o->at, oc, od, ot, NULL), "request is NULL"}};
    for (size_t k = 0; k < sizeof tried / sizeof *tried; k++)
        check(tried[k].status == TUTTI_ERR_ARG, x, tried[k].text);
    check(strstr(tutti_error(), tried[6].text) != NULL, x, tried[6].text);
}

/* Checks that both ranks get an error that states both sizes if rank 1 sends rank 0 more than rank
 * 0 expects. */
static void mismatch(struct alltoallw_rank *x)
{
    tutti_team *whole = x->team;
    if (x->p != 2) return;
    must(tutti_team_dup(whole, &x->team), x, "dup");
    for (int r = 0; r < 2; r++) {
        x->in.types[r] = x->out.types[r] = TUTTI_I32;
        x->in.counts[r] = x->out.counts[r] = r == x->me ? 0 : 2;
    }
    if (x->me == 1) x->in.counts[0] = 3;
    tutti_status status = call(x, BLOCKING, NULL);
    if (status == TUTTI_OK) status = tutti_barrier(x->team);
    check(status == TUTTI_ERR_MISMATCH, x, "counts that do not match");
    check(strstr(tutti_error(),
                 "alltoallw: rank 1 sends rank 0 n=3 of i32 (in_counts[0]) where rank "
                 "0 expects n=2 of i32 (out_counts[1])"),
          x, "the text of the mismatch");
    (void)tutti_team_free(x->team);
    x->team = whole;
}

static void one_rank(tutti_client *client, void *arg)
{
    struct alltoallw_rank *x = calloc(1, sizeof *x);
    int64_t one = 1, sum = 0;
    (void)arg;
    if (!x) abort();
    x->team = tutti_world(client);
    x->p = tutti_size(x->team);
    x->me = tutti_rank(x->team);
    const tutti_field odd = {8, 1, TUTTI_I64};
    must(tutti_type_vector(2, 1, 2, TUTTI_I64, &x->pair), x, "vector");
    must(tutti_type_struct(1, &odd, 16, &x->odd), x, "struct");
    results(x);
    set_sides(x, 6);
    wrong_pieces(x);
    set_sides(x, 6);
    x->in.types[x->me] = x->out.types[x->me] = TUTTI_I64;
    x->in.counts[x->me] = x->out.counts[x->me] = 1;
    wrong_whole(x);
    must(tutti_allreduce(x->team, &one, &sum, 1, TUTTI_I64, TUTTI_SUM), x, "allreduce");
    check(sum == x->p, x, "a wrong sum after refused calls");
    mismatch(x);
    must(tutti_type_free(x->pair), x, "free");
    must(tutti_type_free(x->odd), x, "free");
    free(x);
}

/* `alltoallw` runs the test as one rank of the job that `tutti run` has started. `alltoallw threads
 * P...` runs it on P threads, which are the ranks, for each P in turn. */
int main(int argc, char **argv)
{
    return run_ranks(argc, argv, one_rank);
}
