/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests alltoall and alltoallv in place, in their three forms (blocking, nonblocking, persistent):
 * in place on all ranks and on some, for a basic type and for a derived one, with empty pieces.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

#include "ranks.h"

enum { RANKS = 5, MOST = 2000, ROUNDS = 2 };
enum in_place_form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

struct in_place_rank {
    tutti_team *team;
    int p, me;
    bool lists, in_place;
    int64_t n, step; /* n: the most elements of a piece; step: the distance between elements in
                      * memory */
    tutti_type type;
    int64_t counts[RANKS], displs[RANKS];
    int64_t in[2 * RANKS * MOST], out[2 * RANKS * MOST];
};

static void must(bool good, const struct in_place_rank *x, const char *what)
{
    if (good) return;
    fprintf(stderr, "rank %d of %d: %s: %s\n", x->me, x->p, what, tutti_error());
    abort();
}

/* Returns the number of elements that two ranks send each other, equal in both directions. */
static int64_t length(const struct in_place_rank *x, int a, int b)
{
    return !x->lists ? x->n : (a + b) % 3 == 1 ? 0 : x->n * (1 + a * b % 3) / 3;
}

static int64_t value(int round, int from, int to, int64_t i)
{
    return 100000 * (100 * round + 10 * from + to) + i;
}

/* Writes the input, the counts and the displacements. The pieces of an alltoallv lie in reverse
 * order, with gaps. */
static void fill(struct in_place_rank *x, int round)
{
    memset(x->in, -1, sizeof x->in);
    memset(x->out, -1, sizeof x->out);
    int64_t *source = x->in_place ? x->out : x->in;
    for (int r = 0; r < x->p; r++) {
        x->counts[r] = length(x, x->me, r);
        x->displs[r] = x->lists ? (int64_t)MOST * (x->p - 1 - r) : r * x->n;
        for (int64_t i = 0; i < x->counts[r]; i++)
            source[(x->displs[r] + i) * x->step] = value(round, x->me, r, i);
    }
}

static void expect(struct in_place_rank *x, int round)
{
    for (int r = 0; r < x->p; r++)
        for (int64_t i = 0; i < x->counts[r]; i++) {
            int64_t *at = &x->out[(x->displs[r] + i) * x->step];
            must(*at == value(round, r, x->me, i), x, "a wrong element");
            *at = -1;
        }
    for (int i = 0; i < 2 * RANKS * MOST; i++) must(x->out[i] == -1, x, "wrote in a gap");
}

static tutti_status call(struct in_place_rank *x, enum in_place_form form, tutti_request **request)
{
    const void *in = x->in_place ? TUTTI_IN_PLACE : x->in;
    const int64_t *c = x->counts, *d = x->displs, *ic = x->in_place ? NULL : c;
    const int64_t *id = x->in_place ? NULL : d;
    if (!x->lists)
        return form == BLOCKING ? tutti_alltoall(x->team, in, x->out, x->n, x->type)
               : form == NONBLOCKING
                   ? tutti_ialltoall(x->team, in, x->out, x->n, x->type, request)
                   : tutti_alltoall_init(x->team, in, x->out, x->n, x->type, 0, request);
    return form == BLOCKING ? tutti_alltoallv(x->team, in, ic, id, x->out, c, d, x->type)
           : form == NONBLOCKING
               ? tutti_ialltoallv(x->team, in, ic, id, x->out, c, d, x->type, request)
               : tutti_alltoallv_init(x->team, in, ic, id, x->out, c, d, x->type, 0, request);
}

static void run(struct in_place_rank *x, enum in_place_form form)
{
    tutti_request *request = NULL;
    for (int round = 0; round < ROUNDS; round++) {
        fill(x, round);
        if (round == 0 || form != PERSISTENT)
            must(call(x, form, &request) == TUTTI_OK, x, "the call");
        if (form == PERSISTENT) must(tutti_start(request) == TUTTI_OK, x, "start");
        if (form != BLOCKING) must(tutti_wait(request) == TUTTI_OK, x, "wait");
        if (form == NONBLOCKING) must(tutti_request_free(request) == TUTTI_OK, x, "free");
        expect(x, round);
    }
    if (form == PERSISTENT) must(tutti_request_free(request) == TUTTI_OK, x, "free");
}

static void one_rank(tutti_client *client, void *arg)
{
    struct in_place_rank *x = calloc(1, sizeof *x);
    tutti_type wide;
    (void)arg;
    if (!x) abort();
    x->team = tutti_world(client);
    x->p = tutti_size(x->team);
    x->me = tutti_rank(x->team);
    must(tutti_type_resized(TUTTI_I64, 0, 16, &wide) == TUTTI_OK, x, "a type with a gap");
    for (int i = 0; i < FORMS * 2 * 2 * 2 * 2; i++) {
        x->lists = i / FORMS % 2;
        x->step = 1 + i / FORMS / 2 % 2;
        x->type = x->step == 1 ? TUTTI_I64 : wide;
        x->in_place = i / FORMS / 4 % 2 == 0 || x->me % 2 == 0;
        x->n = i / FORMS / 8 ? MOST : 3;
        run(x, (enum in_place_form)(i % FORMS));
    }
    must(tutti_type_free(wide) == TUTTI_OK, x, "free");
    free(x);
}

/* The program `in-place` runs the test as one rank of the job that `tutti run` has started.
 * `in-place threads P...` runs the test on P threads, which are the ranks, for each P in turn. */
int main(int argc, char **argv)
{
    return run_ranks(argc, argv, one_rank);
}
