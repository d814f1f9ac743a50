/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests gatherv and scatterv, in which only the root knows the counts of all ranks: results of the
 * three forms (blocking, nonblocking, persistent), in place and not; calls without any data; and
 * wrong arguments, for which the rank that passes them gets an error with the name of the argument,
 * even if no other rank calls.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

#include "ranks.h"

enum { RANKS = 5, PIECE = 3000, ROOM = 2 * RANKS * PIECE, ROUNDS = 3 };
enum gatherv_form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

/* A rank with its buffers, and with the lists of the counts and displacements of all ranks. All
 * ranks have the same lists, but only the root passes them. */
struct gatherv_rank {
    tutti_team *team;
    int p, me, root;
    bool in_place;
    int64_t counts[RANKS], displs[RANKS];
    int64_t many[ROOM], one[PIECE];
};

static void check(bool good, const struct gatherv_rank *x, const char *what)
{
    if (good) return;
    fprintf(stderr, "rank %d of %d, root %d: %s: %s\n", x->me, x->p, x->root, what, tutti_error());
    abort();
}

static void must(tutti_status status, const struct gatherv_rank *x, const char *what)
{
    check(status == TUTTI_OK, x, what);
}

static int64_t value(int round, int rank, int64_t i)
{
    return 1000000 * round + 10000 * rank + i;
}

/* Sets the lists: the pieces lie in reverse order of ranks, with a gap after each. Some are empty,
 * and some are longer than a rank's part of a window. */
static void set_lists(struct gatherv_rank *x, int64_t n)
{
    int64_t at = 0;
    for (int r = x->p - 1; r >= 0; r--) {
        x->counts[r] = n * (r % 3) / 2;
        x->displs[r] = at;
        at += x->counts[r] + 1;
    }
}

static bool is_root(const struct gatherv_rank *x)
{
    return x->me == x->root;
}

static bool at_place(const struct gatherv_rank *x)
{
    return x->in_place && is_root(x);
}

/* ---- Calls ---- */

/* In place, the root passes counts that would be wrong otherwise, because its n is not used. */

static tutti_status gather(struct gatherv_rank *x, enum gatherv_form form, tutti_request **request)
{
    bool root = is_root(x), place = at_place(x);
    const void *in = place ? TUTTI_IN_PLACE : x->one;
    void *out = root ? x->many : NULL;
    const int64_t *counts = root ? x->counts : NULL, *displs = root ? x->displs : NULL;
    int64_t n = place ? INT64_MAX : x->counts[x->me];
    if (form == BLOCKING)
        return tutti_gatherv(x->team, in, n, out, counts, displs, TUTTI_I64, x->root);
    if (form == NONBLOCKING)
        return tutti_igatherv(x->team, in, n, out, counts, displs, TUTTI_I64, x->root, request);
    return tutti_gatherv_init(x->team, in, n, out, counts, displs, TUTTI_I64, x->root, 0, request);
}

static tutti_status scatter(struct gatherv_rank *x, enum gatherv_form form, tutti_request **request)
{
    bool root = is_root(x), place = at_place(x);
    const void *in = place ? TUTTI_IN_PLACE : root ? x->many : NULL;
    void *out = place ? x->many : x->one;
    const int64_t *counts = root ? x->counts : NULL, *displs = root ? x->displs : NULL;
    int64_t n = place ? -1 : x->counts[x->me];
    if (form == BLOCKING)
        return tutti_scatterv(x->team, in, counts, displs, out, n, TUTTI_I64, x->root);
    if (form == NONBLOCKING)
        return tutti_iscatterv(x->team, in, counts, displs, out, n, TUTTI_I64, x->root, request);
    return tutti_scatterv_init(x->team, in, counts, displs, out, n, TUTTI_I64, x->root, 0, request);
}

/* ---- Data ---- */

static void fill(struct gatherv_rank *x, bool gathers, int round)
{
    memset(x->many, -1, sizeof x->many);
    memset(x->one, -1, sizeof x->one);
    int64_t *own = gathers && at_place(x) ? x->many + x->displs[x->me] : x->one;
    for (int64_t i = 0; gathers && i < x->counts[x->me]; i++) own[i] = value(round, x->me, i);
    for (int r = 0; !gathers && is_root(x) && r < x->p; r++)
        for (int64_t i = 0; i < x->counts[r]; i++) x->many[x->displs[r] + i] = value(round, r, i);
}

/* Checks that `many` holds the pieces of all ranks, with nothing between them. */
static void expect_all(const struct gatherv_rank *x, int round)
{
    for (int r = 0; r < x->p; r++) {
        for (int64_t i = 0; i < x->counts[r]; i++)
            check(x->many[x->displs[r] + i] == value(round, r, i), x, "a wrong piece");
        check(x->many[x->displs[r] + x->counts[r]] == -1, x, "wrote between pieces");
    }
}

static void expect_one(const struct gatherv_rank *x, int round)
{
    for (int64_t i = 0; i < x->counts[x->me]; i++)
        check(x->one[i] == value(round, x->me, i), x, "a wrong element");
}

static void expect(const struct gatherv_rank *x, int round)
{
    if (is_root(x)) expect_all(x, round);
    if (!at_place(x)) expect_one(x, round);
    if (!at_place(x) && x->counts[x->me] < PIECE)
        check(x->one[x->counts[x->me]] == -1, x, "wrote behind a piece");
}

/* Makes the call several times. The library keeps its own copy of the lists of a request, so the
 * function overwrites the lists meanwhile. */
static void run(struct gatherv_rank *x, bool gathers, enum gatherv_form form)
{
    tutti_request *request = NULL;
    struct gatherv_rank kept = *x;
    for (int round = 0; round < ROUNDS; round++) {
        fill(x, gathers, round);
        if (round == 0 || form != PERSISTENT)
            must((gathers ? gather : scatter)(x, form, &request), x, "the call");
        memset(x->counts, -1, sizeof x->counts);
        memset(x->displs, -1, sizeof x->displs);
        if (form == PERSISTENT) must(tutti_start(request), x, "start");
        if (form != BLOCKING) must(tutti_wait(request), x, "wait");
        if (form == NONBLOCKING) must(tutti_request_free(request), x, "free");
        memcpy(x->counts, kept.counts, sizeof x->counts);
        memcpy(x->displs, kept.displs, sizeof x->displs);
        expect(x, round);
    }
    if (form == PERSISTENT) must(tutti_request_free(request), x, "free");
}

/* Returns whether the algorithm that TUTTI_ALGORITHM names, if any, can make calls of this form.
 * `composed` cannot make nonblocking calls, because the ranks first send each other the counts. */
static bool can_run(enum gatherv_form form)
{
    const char *forced = getenv("TUTTI_ALGORITHM");
    return form != NONBLOCKING || !forced || !strstr(forced, "composed");
}

static void results(struct gatherv_rank *x)
{
    static const int64_t sizes[] = {0, 2, 100, PIECE};
    for (int i = 0; i < 4 * 2 * 2 * FORMS; i++)
        for (x->root = 0; x->root < x->p && can_run((enum gatherv_form)(i / 16)); x->root++) {
            set_lists(x, sizes[i % 4]);
            x->in_place = i / 4 % 2;
            run(x, i / 8 % 2, (enum gatherv_form)(i / 16));
        }
}

/* Makes calls in which no rank has data: all buffers may be NULL, and so may the lists of all ranks
 * but the root. */
static void nothing(struct gatherv_rank *x)
{
    set_lists(x, 0);
    for (x->root = 0; x->root < x->p; x->root++) {
        const int64_t *counts = is_root(x) ? x->counts : NULL, *displs = counts ? x->displs : NULL;
        must(tutti_gatherv(x->team, NULL, 0, NULL, counts, displs, TUTTI_F32, x->root), x,
             "gatherv");
        must(tutti_scatterv(x->team, NULL, counts, displs, NULL, 0, TUTTI_F32, x->root), x,
             "scatterv");
    }
}

/* ---- Wrong arguments ---- */

static void refused(const struct gatherv_rank *x, tutti_status status, const char *text)
{
    check(status == TUTTI_ERR_ARG, x, text);
    check(strstr(tutti_error(), text) != NULL, x, text);
}

/* Makes both collectives at the root, not in place, with a wrong argument. Expects the error. */
static void refused_apart(struct gatherv_rank *x, const int64_t *counts, const int64_t *displs,
                          int64_t n, const char *text)
{
    refused(x, tutti_gatherv(x->team, x->one, n, x->many, counts, displs, TUTTI_I64, x->root),
            text);
    refused(x, tutti_scatterv(x->team, x->many, counts, displs, x->one, n, TUTTI_I64, x->root),
            text);
}

/* Makes both collectives at the root with wrong lists, in place and not, and expects the error. */
static void refused_lists(struct gatherv_rank *x, const int64_t *counts, const int64_t *displs,
                          int64_t n, const char *text)
{
    refused_apart(x, counts, displs, n, text);
    refused(x,
            tutti_gatherv(x->team, TUTTI_IN_PLACE, n, x->many, counts, displs, TUTTI_I64, x->root),
            text);
    refused(x,
            tutti_scatterv(x->team, TUTTI_IN_PLACE, counts, displs, x->many, n, TUTTI_I64, x->root),
            text);
}

static void wrong_lists(struct gatherv_rank *x)
{
    char text[64];
    int64_t counts[RANKS], displs[RANKS], n = x->counts[x->me];
    for (int r = 0; r < x->p; r++) {
        memcpy(counts, x->counts, sizeof counts);
        memcpy(displs, x->displs, sizeof displs);
        counts[r] = -1;
        snprintf(text, sizeof text, "counts[%d] or displs[%d] is negative: -1, ", r, r);
        refused_lists(x, counts, displs, n, text);
        counts[r] = 1;
        displs[r] = -7;
        snprintf(text, sizeof text, "counts[%d] or displs[%d] is negative: 1, -7", r, r);
        refused_lists(x, counts, displs, n, text);
        displs[r] = INT64_MAX / 8;
        snprintf(text, sizeof text, "counts[%d] and displs[%d] overflow", r, r);
        refused_lists(x, counts, displs, n, text);
    }
    refused_lists(x, NULL, x->displs, n, "counts or displs is NULL");
    refused_lists(x, x->counts, NULL, n, "counts or displs is NULL");
    refused_apart(x, x->counts, x->displs, -3, "n is negative: -3");
    snprintf(text, sizeof text, "counts[%d] is %lld and n is %lld", x->me, (long long)n,
             (long long)n + 1);
    refused_apart(x, x->counts, x->displs, n + 1, text);
}

static void wrong_buffers(struct gatherv_rank *x)
{
    tutti_team *t = x->team;
    const int64_t *c = x->counts, *d = x->displs, n = c[x->me];
    int64_t same[RANKS] = {0}, ones[RANKS] = {1, 1, 1, 1, 1};
    refused(x, tutti_gatherv(t, NULL, n, x->many, c, d, TUTTI_I64, x->me), "in is NULL");
    refused(x, tutti_gatherv(t, x->one, n, NULL, c, d, TUTTI_I64, x->me), "out is NULL");
    refused(x, tutti_scatterv(t, NULL, c, d, x->one, n, TUTTI_I64, x->me), "in is NULL");
    refused(x, tutti_scatterv(t, x->many, c, d, NULL, n, TUTTI_I64, x->me), "out is NULL");
    refused(x, tutti_scatterv(t, TUTTI_IN_PLACE, c, d, NULL, n, TUTTI_I64, x->me), "out is NULL");
    refused(x, tutti_gatherv(t, x->many + d[x->me], n, x->many, c, d, TUTTI_I64, x->me),
            "in and out overlap");
    refused(x, tutti_scatterv(t, x->many, c, d, x->many + d[x->me], n, TUTTI_I64, x->me),
            "in and out overlap");
    refused(x, tutti_gatherv(t, x->one, n, (void *)TUTTI_IN_PLACE, c, d, TUTTI_I64, x->me),
            "out is TUTTI_IN_PLACE");
    if (x->p > 1)
        refused(x, tutti_gatherv(t, x->one, 1, x->many, ones, same, TUTTI_I64, x->me),
                "pieces of out overlap");
}

static void wrong_elsewhere(struct gatherv_rank *x)
{
    tutti_team *t = x->team;
    tutti_request *request;
    int root = (x->me + 1) % x->p;
    refused(x, tutti_gatherv(t, x->one, 1, NULL, NULL, NULL, TUTTI_I64, x->p),
            "is not in the team");
    refused(x, tutti_scatterv(t, NULL, NULL, NULL, x->one, 1, TUTTI_I64, -1), "root -1 is not in");
    refused(x, tutti_igatherv(t, x->one, 1, NULL, NULL, NULL, TUTTI_I64, root, NULL),
            "request is NULL");
    if (root == x->me) return;
    refused(x, tutti_gatherv(t, x->one, -2, NULL, NULL, NULL, TUTTI_I64, root),
            "n is negative: -2");
    refused(x, tutti_scatterv_init(t, NULL, NULL, NULL, x->one, -2, TUTTI_I64, root, 0, &request),
            "n is negative: -2");
    refused(x, tutti_gatherv(t, x->one, INT64_MAX / 4, NULL, NULL, NULL, TUTTI_I64, root),
            "n is too large");
    refused(x, tutti_gatherv(t, NULL, 1, NULL, NULL, NULL, TUTTI_I64, root), "in is NULL");
    refused(x, tutti_iscatterv(t, NULL, NULL, NULL, NULL, 1, TUTTI_I64, root, &request),
            "out is NULL");
    refused(x, tutti_gatherv(t, TUTTI_IN_PLACE, 1, NULL, NULL, NULL, TUTTI_I64, root),
            "in is TUTTI_IN_PLACE (allowed only at the root");
    refused(x, tutti_scatterv(t, TUTTI_IN_PLACE, NULL, NULL, x->one, 1, TUTTI_I64, root),
            "in is TUTTI_IN_PLACE (allowed only at the root");
}

static void one_rank(tutti_client *client, void *arg)
{
    struct gatherv_rank *x = calloc(1, sizeof *x);
    int64_t one = 1, sum = 0;
    (void)arg;
    if (!x) abort();
    x->team = tutti_world(client);
    x->p = tutti_size(x->team);
    x->me = tutti_rank(x->team);
    results(x);
    nothing(x);
    for (int r = 0; r < x->p; r++) x->counts[r] = 2 + r, x->displs[r] = 10 * r;
    x->root = x->me; /* each rank makes the following calls alone: they are refused before other
                      * ranks are needed */
    wrong_lists(x);
    wrong_buffers(x);
    wrong_elsewhere(x);
    must(tutti_allreduce(x->team, &one, &sum, 1, TUTTI_I64, TUTTI_SUM), x, "allreduce");
    check(sum == x->p, x, "a wrong sum after refused calls");
    must(tutti_barrier(x->team), x, "barrier");
    free(x);
}

/* `gatherv` runs the test as one rank of the job that `tutti run` has started. `gatherv threads
 * P...` runs it on P threads, which are the ranks, for each P in turn. */
int main(int argc, char **argv)
{
    return run_ranks(argc, argv, one_rank);
}
