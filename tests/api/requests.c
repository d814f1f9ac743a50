/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A request counts as under way from its start until its owner has completed it, even if its work
 * was finished before. So the same calls return the same on every rank, in every run.
 */
#include <stdbool.h>
#include <string.h>

#include <tutti/message.h>
#include <tutti/tutti.h>

#include "ranks.h"

enum { N = 3 };

/* The type of functions that create a request for one collective. In some of these collectives,
 * such as a bcast, the root has finished its work at once and the other ranks have not. */
typedef tutti_status make_fn(tutti_team *team, int64_t *in, int64_t *out, tutti_request **request);

static tutti_status make_bcast(tutti_team *team, int64_t *in, int64_t *out, tutti_request **request)
{
    (void)in;
    return tutti_bcast_init(team, out, N, TUTTI_I64, 0, TUTTI_REQUEST_DEFAULT, request);
}

static tutti_status make_reduce(tutti_team *team, int64_t *in, int64_t *out,
                                tutti_request **request)
{
    return tutti_reduce_init(team, in, out, N, TUTTI_I64, TUTTI_SUM, 0, TUTTI_REQUEST_DEFAULT,
                             request);
}

static tutti_status make_nothing(tutti_team *team, int64_t *in, int64_t *out,
                                 tutti_request **request)
{
    return tutti_allreduce_init(team, in, out, 0, TUTTI_I64, TUTTI_SUM, TUTTI_REQUEST_DEFAULT,
                                request);
}

static tutti_status make_barrier(tutti_team *team, int64_t *in, int64_t *out,
                                 tutti_request **request)
{
    (void)in;
    (void)out;
    return tutti_barrier_init(team, TUTTI_REQUEST_DEFAULT, request);
}

static void expect_under_way(tutti_request *request)
{
    EXPECT(tutti_start(request) == TUTTI_ERR_ARG);
    EXPECT(strstr(tutti_error(), "under way"));
    EXPECT(tutti_request_free(request) == TUTTI_ERR_ARG);
    EXPECT(strstr(tutti_error(), "under way"));
}

static void by_test(tutti_request *request)
{
    tutti_status status;
    while ((status = tutti_test(request)) == TUTTI_AGAIN) expect_under_way(request);
    EXPECT(status == TUTTI_OK);
}

/* Completes a request by tutti_request_check, which advances nothing, so this function also calls
 * tutti_advance. */
static void by_check(tutti_client *client, tutti_request *request)
{
    tutti_status status;
    while ((status = tutti_request_check(request)) == TUTTI_AGAIN) {
        expect_under_way(request);
        EXPECT(tutti_advance(tutti_context_at(client, 0), NULL) == TUTTI_OK);
    }
    EXPECT(status == TUTTI_OK);
}

static void turn(tutti_team *world, tutti_request *request, int i)
{
    EXPECT(tutti_start(request) == TUTTI_OK);
    expect_under_way(request);
    EXPECT(tutti_barrier(world) == TUTTI_OK); /* after this barrier, all ranks have finished the
                                               * work of the request */
    expect_under_way(request);
    if (i % 2)
        by_test(request);
    else
        EXPECT(tutti_wait(request) == TUTTI_OK);
}

static void of_a_plan(tutti_team *world, make_fn *make)
{
    int64_t in[N] = {1, 2, 3}, out[N] = {4, 5, 6};
    tutti_request *request;
    EXPECT(make(world, in, out, &request) == TUTTI_OK);
    EXPECT(tutti_test(request) == TUTTI_OK); /* a request that was never started counts as
                                              * complete */
    EXPECT(tutti_wait(request) == TUTTI_OK);
    for (int i = 0; i < 4; i++) turn(world, request, i);
    EXPECT(tutti_wait(request) == TUTTI_OK); /* a wait for a complete request returns at once */
    EXPECT(tutti_test(request) == TUTTI_OK);
    EXPECT(tutti_request_free(request) == TUTTI_OK);
    EXPECT(make(world, in, out, &request) == TUTTI_OK);
    EXPECT(tutti_request_free(request) == TUTTI_OK);
}

static void of_a_request(tutti_team *world)
{
    int64_t out[N] = {4, 5, 6};
    tutti_request *request;
    EXPECT(tutti_ibcast(world, out, N, TUTTI_I64, 0, &request) == TUTTI_OK);
    expect_under_way(request);
    EXPECT(tutti_barrier(world) == TUTTI_OK);
    expect_under_way(request);
    by_test(request);
    EXPECT(tutti_request_free(request) == TUTTI_OK);
}

static void of_a_check(tutti_client *client, tutti_team *world)
{
    int64_t in[N] = {1, 2, 3}, out[N];
    tutti_request *request;
    EXPECT(make_nothing(world, in, out, &request) == TUTTI_OK);
    EXPECT(tutti_request_check(request) == TUTTI_OK); /* a request that was never started counts as
                                                       * complete */
    EXPECT(tutti_request_free(request) == TUTTI_OK);
    EXPECT(tutti_iallreduce(world, in, out, N, TUTTI_I64, TUTTI_SUM, &request) == TUTTI_OK);
    expect_under_way(request);
    by_check(client, request);
    EXPECT(tutti_request_check(request) == TUTTI_OK);
    EXPECT(out[N - 1] == N * tutti_size(world));
    EXPECT(tutti_request_free(request) == TUTTI_OK);
}

/* Checks that a team cannot be freed while requests on it exist, whatever their state. */
static void of_a_team(tutti_team *world)
{
    int64_t out[N] = {4, 5, 6};
    tutti_team *part;
    tutti_request *request;
    EXPECT(tutti_team_split(world, 0, 0, &part) == TUTTI_OK);
    EXPECT(tutti_ibcast(part, out, N, TUTTI_I64, 0, &request) == TUTTI_OK);
    EXPECT(tutti_team_free(part) == TUTTI_ERR_ARG && strstr(tutti_error(), "requests"));
    EXPECT(tutti_wait(request) == TUTTI_OK);
    EXPECT(tutti_team_free(part) == TUTTI_ERR_ARG && strstr(tutti_error(), "requests"));
    EXPECT(tutti_request_free(request) == TUTTI_OK);
    EXPECT(tutti_team_free(part) == TUTTI_OK);
}

/* ---- The argument of a user-defined operation at each call ---- */

static void add_modulo(const void *left, const void *right, void *out, size_t n, tutti_type type,
                       void *arg)
{
    const int64_t *a = left, *b = right;
    (void)type;
    for (size_t i = 0; i < n; i++) ((int64_t *)out)[i] = (a[i] + b[i]) % *(const int64_t *)arg;
}

static tutti_op modulo; /* uses the argument `seven` */
static int64_t seven = 7;

static void expect_sums(tutti_team *world, const int64_t *out, int stride, int64_t by)
{
    int64_t p = tutti_size(world);
    for (int i = 0; i < N; i++)
        EXPECT(out[i * stride] % by == (p * (i + 1) + p * (p - 1) / 2) % by);
}

/* Runs two requests with one shape at once, each with its own argument, and starts them again. */
static void of_two_arguments(tutti_team *world, const int64_t *in)
{
    int64_t by[] = {5, 1000}, out[2][N];
    tutti_request *request[2];
    tutti_op op[2];
    for (int i = 0; i < 2; i++) {
        EXPECT(tutti_op_bind(modulo, &by[i], &op[i]) == TUTTI_OK);
        EXPECT(tutti_allreduce_init(world, in, out[i], N, TUTTI_I64, op[i], TUTTI_REQUEST_DEFAULT,
                                    &request[i]) == TUTTI_OK);
    }
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 2; i++) EXPECT(tutti_start(request[i]) == TUTTI_OK);
        for (int i = 1; i >= 0; i--) EXPECT(tutti_wait(request[i]) == TUTTI_OK);
        for (int i = 0; i < 2; i++) expect_sums(world, out[i], 1, by[i]);
    }
    for (int i = 0; i < 2; i++) EXPECT(tutti_request_free(request[i]) == TUTTI_OK);
    for (int i = 0; i < 2; i++) EXPECT(tutti_op_free(op[i]) == TUTTI_OK);
}

/* Calls an allreduce to which odd ranks pass an operation, and even ranks the same operation bound
 * to an argument. */
static void of_bound_operations(tutti_team *world)
{
    int64_t in[N], out[2 * N], mine = 7;
    tutti_op bound, op;
    tutti_type apart;
    for (int i = 0; i < N; i++) in[i] = i + 1 + tutti_rank(world);
    EXPECT(tutti_op_bind(modulo, &mine, &bound) == TUTTI_OK);
    op = tutti_rank(world) % 2 ? modulo : bound;
    EXPECT(tutti_allreduce(world, in, out, N, TUTTI_I64, op) == TUTTI_OK);
    expect_sums(world, out, 1, 7);
    EXPECT(tutti_type_struct(1, &(tutti_field){0, 1, TUTTI_I64}, 16, &apart) == TUTTI_OK);
    for (int i = 0; i < N; i++) out[2 * i] = in[i];
    EXPECT(tutti_allreduce(world, TUTTI_IN_PLACE, out, N, apart, op) == TUTTI_OK);
    expect_sums(world, out, 2, 7);
    of_two_arguments(world, in);
    EXPECT(tutti_type_free(apart) == TUTTI_OK);
    EXPECT(tutti_op_free(bound) == TUTTI_OK);
}

/* ---- Buffers that are ignored ---- */

/* The two buffers of a call, and whether this rank is the root. */
struct request_buffers {
    int64_t *in, *out;
    bool root;
};

/* Makes a blocking call of each collective that ignores `out` at some ranks. These ranks pass
 * TUTTI_IN_PLACE as `out`, which is wrong for a buffer that is not ignored. */
static void ignore_out(tutti_team *world, const struct request_buffers *b, tutti_type type)
{
    int64_t counts[] = {1, 1, 1, 1}, displs[] = {0, 1, 2, 3};
    int64_t *out = b->root ? b->out : (int64_t *)TUTTI_IN_PLACE;
    void *first = tutti_rank(world) > 0 ? b->out : (void *)TUTTI_IN_PLACE;
    EXPECT(tutti_gather(world, b->in, out, 1, type, 0) == TUTTI_OK);
    EXPECT(tutti_gatherv(world, b->in, 1, out, counts, displs, type, 0) == TUTTI_OK);
    EXPECT(tutti_reduce(world, b->in, out, 1, TUTTI_I64, TUTTI_SUM, 0) == TUTTI_OK);
    EXPECT(!b->root || out[0] == tutti_size(world));
    EXPECT(tutti_exscan(world, b->in, first, 1, TUTTI_I64, TUTTI_SUM) == TUTTI_OK);
}

static void run_and_free(tutti_status status, tutti_request *const *request)
{
    EXPECT(status == TUTTI_OK && tutti_start(*request) == TUTTI_OK);
    EXPECT(tutti_wait(*request) == TUTTI_OK && tutti_request_free(*request) == TUTTI_OK);
}

/* Makes calls with TUTTI_REQUEST_SHARED in which ignored buffers are not memory from
 * tutti_alloc. */
static void ignore_ordinary(tutti_team *world, const struct request_buffers *b)
{
    enum { SHARED = TUTTI_REQUEST_SHARED };
    const tutti_type type = TUTTI_I64;
    int64_t nowhere[8], c[] = {1, 1, 1, 1}, d[] = {0, 1, 2, 3};
    int64_t *out = b->root ? b->out : nowhere, *in = b->root ? b->in : nowhere;
    tutti_request *r;
    run_and_free(tutti_reduce_init(world, b->in, out, 1, type, TUTTI_SUM, 0, SHARED, &r), &r);
    run_and_free(tutti_gather_init(world, b->in, out, 1, type, 0, SHARED, &r), &r);
    run_and_free(tutti_gatherv_init(world, b->in, 1, out, c, d, type, 0, SHARED, &r), &r);
    run_and_free(tutti_scatter_init(world, in, b->out, 1, type, 0, SHARED, &r), &r);
    run_and_free(tutti_scatterv_init(world, in, c, d, b->out, 1, type, 0, SHARED, &r), &r);
}

static void of_ignored_buffers(tutti_client *client, tutti_team *world)
{
    tutti_type apart;
    void *memory;
    EXPECT(tutti_alloc(client, 4096, &memory) == TUTTI_OK);
    struct request_buffers b = {memory, (int64_t *)memory + 64, tutti_rank(world) == 0};
    b.in[0] = 1;
    EXPECT(tutti_type_struct(1, &(tutti_field){0, 1, TUTTI_I64}, 16, &apart) == TUTTI_OK);
    ignore_out(world, &b, TUTTI_I64);
    ignore_out(world, &b, TUTTI_I64); /* now the plans are in the cache */
    ignore_out(world, &b, apart);
    ignore_ordinary(world, &b);
    EXPECT(tutti_barrier(world) == TUTTI_OK);
    EXPECT(tutti_type_free(apart) == TUTTI_OK);
    EXPECT(tutti_free(client, memory) == TUTTI_OK);
}

static void rank(tutti_client *client, void *arg)
{
    static make_fn *const makes[] = {make_bcast, make_reduce, make_nothing, make_barrier};
    tutti_team *world = tutti_world(client);
    (void)arg;
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) of_a_plan(world, makes[i]);
    of_a_request(world);
    of_a_check(client, world);
    of_a_team(world);
    of_bound_operations(world);
    of_ignored_buffers(client, world);
}

int main(void)
{
    EXPECT(tutti_op_create(add_modulo, 1, &seven, &modulo) == TUTTI_OK);
    for (int p = 1; p <= 4; p++) EXPECT(tutti_threads(p, rank, NULL) == TUTTI_OK);
    EXPECT(tutti_op_free(modulo) == TUTTI_OK);
    return 0;
}
