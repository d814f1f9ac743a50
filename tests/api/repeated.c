/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls with counts that are made again: with equal counts, with other counts in turn, with other
 * displacements, with another root, while requests of equal counts are under way, and on a second
 * team, which is then freed. Each result is checked. Then calls are made again with wrong buffers,
 * which are errors. repeated.sh counts the plans that are made.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { MOST = 40, ROOM = 16 * MOST, ROUNDS = 20, SHAPES = 3 };

struct repeated_rank {
    tutti_team *team;
    int p, me;
    int64_t counts[16], displs[16], in[ROOM], out[ROOM];
};

static void must(bool good, const struct repeated_rank *x, const char *what)
{
    if (good) return;
    fprintf(stderr, "rank %d of %d: %s: %s\n", x->me, x->p, what, tutti_error());
    abort();
}

static int64_t value(int round, int from, int64_t i)
{
    return 1000000 * (int64_t)round + 1000 * from + i;
}

/* Returns how many elements `rank` gives every rank in calls of a shape. Shape 2 has the counts of
 * shape 1, and gaps between the pieces. */
static int64_t length(int shape, int rank)
{
    return shape == 0 ? 3 : rank % 2 ? 7 : 1;
}

static void fill(struct repeated_rank *x, int shape, int round)
{
    for (int i = 0; i < ROOM; i++) x->in[i] = value(round, x->me, i), x->out[i] = -1;
    int64_t at = 0;
    for (int r = 0; r < x->p; r++) {
        x->counts[r] = length(shape, r);
        x->displs[r] = at;
        at += x->counts[r] + (shape == 2);
    }
}

static void expect(const struct repeated_rank *x, int round, const char *what)
{
    for (int r = 0; r < x->p; r++)
        for (int64_t i = 0; i < x->counts[r]; i++)
            must(x->out[x->displs[r] + i] == value(round, r, i), x, what);
}

static void gather_all(struct repeated_rank *x, int shape, int round)
{
    fill(x, shape, round);
    must(tutti_allgatherv(x->team, x->in, x->out, x->counts, x->displs, TUTTI_I64) == TUTTI_OK, x,
         "allgatherv");
    expect(x, round, "a result of allgatherv");
}

/* Calls gatherv. The lists of ranks other than the root are ignored, so here they point nowhere. */
static void gather_at(struct repeated_rank *x, int shape, int round, int root)
{
    const int64_t *nowhere = (const int64_t *)(intptr_t)16;
    fill(x, shape, round);
    must(tutti_gatherv(x->team, x->in, x->counts[x->me], x->out,
                       x->me == root ? x->counts : nowhere, x->me == root ? x->displs : nowhere,
                       TUTTI_I64, root) == TUTTI_OK,
         x, "gatherv");
    if (x->me == root) expect(x, round, "a result of gatherv");
}

/* Makes a request and blocking calls of equal counts, which use one plan at the same time. */
static void gather_together(struct repeated_rank *x, int round)
{
    static _Thread_local int64_t others[ROOM];
    tutti_request *request;
    fill(x, 1, round);
    must(tutti_iallgatherv(x->team, x->in, others, x->counts, x->displs, TUTTI_I64, &request) ==
             TUTTI_OK,
         x, "iallgatherv");
    must(tutti_allgatherv(x->team, x->in, x->out, x->counts, x->displs, TUTTI_I64) == TUTTI_OK, x,
         "allgatherv beside a request");
    expect(x, round, "a result beside a request");
    for (int shape = 0; shape < SHAPES; shape++) gather_all(x, shape, round);
    for (int root = 0; root < x->p; root++) gather_at(x, 0, round, root);
    must(tutti_wait(request) == TUTTI_OK, x, "wait");
    fill(x, 1, round);
    for (int i = 0; i < ROOM; i++) x->out[i] = others[i];
    expect(x, round, "the result of a request");
    must(tutti_request_free(request) == TUTTI_OK, x, "free of a request");
}

static void equal_calls(struct repeated_rank *x)
{
    for (int round = 0; round < ROUNDS; round++) gather_all(x, 1, round);
}

static void calls_in_turn(struct repeated_rank *x)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int shape = 0; shape < SHAPES; shape++) gather_all(x, shape, round);
}

static void all_calls(struct repeated_rank *x)
{
    equal_calls(x);
    calls_in_turn(x);
    for (int round = 0; round < ROUNDS; round++) {
        gather_at(x, 1, round, round % x->p);
        gather_together(x, round);
    }
}

static void expect_refused(struct repeated_rank *x, tutti_status status, const char *text)
{
    must(status == TUTTI_ERR_ARG, x, "a wrong buffer is no error");
    must(strstr(tutti_error(), text) != NULL, x, "another error");
}

/* Makes two equal calls of allgatherv, and then a third one with a wrong buffer, which `what`
 * selects. The third call needs no check of its counts, but its buffers must be checked. */
static void wrong_buffers(struct repeated_rank *x, int what)
{
    const void *in = what == 0 ? NULL : what == 1 ? x->out : x->in;
    void *out = what == 2 ? NULL : what == 3 ? (void *)(uintptr_t)TUTTI_IN_PLACE : x->out;
    static const char *const text[] = {"in is NULL", "overlap", "out is NULL", "TUTTI_IN_PLACE"};
    for (int i = 0; i < 2; i++) gather_all(x, 1, i);
    expect_refused(x, tutti_allgatherv(x->team, in, out, x->counts, x->displs, TUTTI_I64),
                   text[what]);
}

static tutti_status scatter_in_place(struct repeated_rank *x, void *out)
{
    return tutti_scatterv(x->team, x->me == 0 ? TUTTI_IN_PLACE : NULL, x->counts, x->displs, out,
                          x->counts[x->me], TUTTI_I64, 0);
}

/* Makes scatterv in place, in which the input of the root is `out`. Then checks that the root gets
 * an error if it passes NULL as `out`. The other ranks do not make this last call. */
static void refuse_no_input(struct repeated_rank *x)
{
    fill(x, 1, 0);
    void *out = x->me == 0 ? x->in : x->out;
    for (int i = 0; i < 2; i++) must(scatter_in_place(x, out) == TUTTI_OK, x, "scatterv");
    if (x->me == 0) expect_refused(x, scatter_in_place(x, NULL), "out is NULL");
}

static void refuse_wrong_buffers(struct repeated_rank *x)
{
    tutti_team *world = x->team;
    refuse_no_input(x);
    for (int what = 0; what < 4; what++) {
        must(tutti_team_dup(world, &x->team) == TUTTI_OK, x, "dup");
        wrong_buffers(x, what);
        must(tutti_team_free(x->team) == TUTTI_OK, x, "free of a team");
    }
    x->team = world;
}

/* The part of the test that runs: "equal" is equal_calls, "turns" is calls_in_turn, and any other
 * text stands for all parts. */
static const char *part = "all";

static void one_rank(tutti_client *client, void *arg)
{
    static _Thread_local struct repeated_rank x;
    tutti_team *own;
    (void)arg;
    x.team = tutti_world(client);
    x.p = tutti_size(x.team);
    x.me = tutti_rank(x.team);
    if (strcmp(part, "equal") == 0) {
        equal_calls(&x);
    } else if (strcmp(part, "turns") == 0) {
        calls_in_turn(&x);
    } else {
        all_calls(&x);
        must(tutti_team_dup(x.team, &own) == TUTTI_OK, &x, "dup");
        x.team = own;
        all_calls(&x);
        must(tutti_team_free(own) == TUTTI_OK, &x, "free of a team");
        x.team = tutti_world(client);
        refuse_wrong_buffers(&x);
    }
}

/* `repeated [PART]` runs the test, or only a part of it, as one rank of the job that `tutti run`
 * has started. `repeated threads P...` runs it on P threads, which are the ranks, for each P in
 * turn. */
int main(int argc, char **argv)
{
    bool threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    if (argc > 1 && !threads) part = argv[1];
    return run_ranks(threads ? argc : 1, argv, one_rank);
}
