/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the two collectives of which a reduce can be composed: first a reduce_scatter_block (or a
 * reduce_scatter), and then a gather. It calls them as a program does: several calls in flight at
 * once, completed in reverse order, started again, in place, and with count arrays that are
 * overwritten once the plan is made. Called one after the other, the two must give the result of a
 * reduce.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tutti/tutti.h>

enum { N = 700, MOST = 8 };

struct phases_rank {
    tutti_team *team;
    int p, me;
    int64_t in[N * MOST], block[N * MOST], uneven[N * MOST], all[N * MOST];
};

static void check(int good, const struct phases_rank *r, const char *what)
{
    if (good) return;
    fprintf(stderr, "rank %d of %d: %s: %s\n", r->me, r->p, what, tutti_error());
    abort();
}

static void must(tutti_status status, const struct phases_rank *r, const char *what)
{
    check(status == TUTTI_OK, r, what);
}

static int64_t value(int rank, int64_t i)
{
    return (rank + 1) * (i * i + 1);
}

static void fill(const struct phases_rank *r, int64_t *at)
{
    for (int64_t i = 0; i < N * r->p; i++) at[i] = value(r->me, i);
}

static void expect_sum(const struct phases_rank *r, const int64_t *at, int64_t first, int64_t n,
                       const char *what)
{
    int64_t ranks = (int64_t)r->p * (r->p + 1) / 2;
    for (int64_t i = 0; i < n; i++) check(at[i] == ranks * value(0, first + i), r, what);
}

/* Fills in uneven counts, some of them zero, whose sum never exceeds the input. Returns the first
 * element of this rank's block. */
static int64_t uneven_counts(const struct phases_rank *r, int64_t *counts)
{
    int64_t first = 0;
    for (int k = 0; k < r->p; k++) {
        counts[k] = k % 3 ? N / (k % 3) : 0;
        if (k < r->me) first += counts[k];
    }
    return first;
}

static void in_flight_and_again(struct phases_rank *r)
{
    int64_t counts[MOST], first = uneven_counts(r, counts), mine = counts[r->me];
    tutti_request *request[3];
    fill(r, r->in);
    must(
        tutti_ireduce_scatter_block(r->team, r->in, r->block, N, TUTTI_I64, TUTTI_SUM, &request[0]),
        r, "ireduce_scatter_block");
    must(
        tutti_ireduce_scatter(r->team, r->in, r->uneven, counts, TUTTI_I64, TUTTI_SUM, &request[1]),
        r, "ireduce_scatter");
    must(tutti_igather(r->team, r->in, r->me ? NULL : r->all, N, TUTTI_I64, 0, &request[2]), r,
         "igather");
    for (int k = 0; k < r->p; k++) counts[k] = -1;
    for (int turn = 0; turn < 3; turn++) {
        for (int k = 2; k >= 0; k--) must(tutti_wait(request[k]), r, "wait");
        expect_sum(r, r->block, (int64_t)N * r->me, N, "a block is wrong");
        expect_sum(r, r->uneven, first, mine, "an uneven block is wrong");
        for (int64_t i = 0; i < N * r->p && r->me == 0; i++)
            check(r->all[i] == value((int)(i / N), i % N), r, "what was gathered is wrong");
        for (int k = 0; k < 3 && turn < 2; k++) must(tutti_start(request[k]), r, "start");
    }
    for (int k = 0; k < 3; k++) must(tutti_request_free(request[k]), r, "request_free");
}

/* Calls the two phases of a reduce in place, one after the other, and checks that they give a
 * reduce. */
static void together(struct phases_rank *r)
{
    tutti_request *scatter, *gather;
    int root = r->p - 1;
    int64_t *mine = r->me == root ? r->all + (int64_t)N * root : r->block;
    must(tutti_reduce_scatter_block_init(r->team, TUTTI_IN_PLACE, r->block, N, TUTTI_I64, TUTTI_SUM,
                                         TUTTI_REQUEST_IN_ORDER, &scatter),
         r, "reduce_scatter_block_init");
    must(tutti_gather_init(r->team, r->me == root ? TUTTI_IN_PLACE : mine, r->all, N, TUTTI_I64,
                           root, TUTTI_REQUEST_DEFAULT, &gather),
         r, "gather_init");
    for (int turn = 0; turn < 3; turn++) {
        fill(r, r->block);
        must(tutti_start(scatter), r, "start");
        must(tutti_wait(scatter), r, "wait");
        for (int64_t i = 0; i < N; i++) mine[i] = r->block[i];
        must(tutti_start(gather), r, "start");
        must(tutti_wait(gather), r, "wait");
        if (r->me == root) expect_sum(r, r->all, 0, (int64_t)N * r->p, "together they are wrong");
    }
    must(tutti_request_free(scatter), r, "request_free");
    must(tutti_request_free(gather), r, "request_free");
}

static void uneven_in_place(struct phases_rank *r)
{
    int64_t counts[MOST], first = uneven_counts(r, counts);
    tutti_request *request;
    must(tutti_reduce_scatter_init(r->team, TUTTI_IN_PLACE, r->uneven, counts, TUTTI_I64, TUTTI_SUM,
                                   TUTTI_REQUEST_DEFAULT, &request),
         r, "reduce_scatter_init");
    for (int turn = 0; turn < 3; turn++) {
        fill(r, r->uneven);
        must(tutti_start(request), r, "start");
        must(tutti_wait(request), r, "wait");
        expect_sum(r, r->uneven, first, counts[r->me], "in place an uneven block is wrong");
    }
    must(tutti_request_free(request), r, "request_free");
}

static void one_rank(tutti_client *client, void *arg)
{
    struct phases_rank *r = malloc(sizeof *r);
    (void)arg;
    if (!r) abort();
    r->team = tutti_world(client);
    r->p = tutti_size(r->team);
    r->me = tutti_rank(r->team);
    in_flight_and_again(r);
    together(r);
    uneven_in_place(r);
    must(tutti_barrier(r->team), r, "barrier");
    free(r);
}

int main(void)
{
    for (int p = 1; p <= MOST; p++)
        if (tutti_threads(p, one_rank, NULL) != TUTTI_OK) return 1;
    return 0;
}
