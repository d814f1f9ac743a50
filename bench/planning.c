/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures what a call of a new shape costs before it sends anything, and how large its plan is.
 * `tutti run` starts it. Rank 0 measures and the other ranks wait for it; making a plan is local.
 *
 *   new     for each collective and size, rank 0 prints the median time of making 101 plans, each
 *           for one element more than the plan before, so that no plan is known already
 *   bytes   the size of the largest plan of any rank, for an allreduce of up to 1 GiB
 */
#include "measure.h"

#include "api/api.h"

enum { TIMES = 101 };
#define MOST ((int64_t)1 << 30)

static tutti_team *world;
static char *in, *out; /* never accessed: plans are made for these addresses, but do not run */

static void check(tutti_status status)
{
    if (status != TUTTI_OK) die("%s: %s", tutti_status_text(status), tutti_error());
}

typedef tutti_status plan_fn(int64_t n, tutti_request **request);

static tutti_status plan_allreduce(int64_t n, tutti_request **request)
{
    return tutti_allreduce_init(world, in, out, n, TUTTI_F64, TUTTI_SUM, TUTTI_REQUEST_DEFAULT,
                                request);
}

static tutti_status plan_reduce(int64_t n, tutti_request **request)
{
    return tutti_reduce_init(world, in, out, n, TUTTI_F64, TUTTI_SUM, 0, TUTTI_REQUEST_DEFAULT,
                             request);
}

static tutti_status plan_alltoall(int64_t n, tutti_request **request)
{
    return tutti_alltoall_init(world, in, out, n, TUTTI_F64, TUTTI_REQUEST_DEFAULT, request);
}

static tutti_status plan_allgather(int64_t n, tutti_request **request)
{
    return tutti_allgather_init(world, in, out, n, TUTTI_F64, TUTTI_REQUEST_DEFAULT, request);
}

static tutti_status plan_bcast(int64_t n, tutti_request **request)
{
    return tutti_bcast_init(world, out, n, TUTTI_F64, 0, TUTTI_REQUEST_DEFAULT, request);
}

static const struct {
    const char *name;
    plan_fn *plan;
} collectives[] = {
    {"allreduce", plan_allreduce}, {"reduce", plan_reduce}, {"alltoall", plan_alltoall},
    {"allgather", plan_allgather}, {"bcast", plan_bcast},
};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives };

static double time_new(plan_fn *make, int64_t n)
{
    double times[TIMES];
    for (int i = 0; i < TIMES; i++) {
        tutti_request *request;
        double begin = seconds();
        check(make(n + i, &request));
        times[i] = seconds() - begin;
        check(tutti_request_free(request));
    }
    return median(times, TIMES);
}

static void measure_new(void)
{
    static const int64_t sizes[] = {8, 4096, 262144, 4194304};
    for (int c = 0; c < COLLECTIVES; c++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            double each = time_new(collectives[c].plan, sizes[s] / 8);
            printf("{\"target\": \"new\", \"collective\": \"%s\", \"ranks\": %d, \"bytes\": %lld, "
                   "\"ns\": %.0f}\n",
                   collectives[c].name, tutti_size(world), (long long)sizes[s], 1e9 * each);
        }
    }
}

/* Returns the bytes of this rank's largest plan for an allreduce, among sizes around every power of
 * two, and sets *at to the bytes of the vector in that allreduce. */
static int64_t largest_plan(int64_t *at)
{
    int64_t most = 0;
    for (int64_t bytes = 8; bytes <= MOST; bytes *= 2) {
        for (int64_t n = bytes / 8; n <= bytes / 8 + 1; n++) {
            tutti_request *request;
            if (n * 8 > MOST) continue;
            check(plan_allreduce(n, &request));
            if (request->prepared->plan->bytes > most) {
                most = request->prepared->plan->bytes;
                *at = n * 8;
            }
            check(tutti_request_free(request));
        }
    }
    return most;
}

static void measure_bytes(void)
{
    int64_t at = 0, mine = largest_plan(&at), most;
    check(tutti_allreduce(world, &mine, &most, 1, TUTTI_I64, TUTTI_MAX));
    if (tutti_rank(world) != 0) return;
    printf("{\"target\": \"bytes\", \"ranks\": %d, \"plan_bytes\": %lld, \"at_rank_0\": %lld}\n",
           tutti_size(world), (long long)most, (long long)at);
}

static char *nowhere(int64_t bytes)
{
    void *memory =
        mmap(NULL, (size_t)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) die("no addresses for %lld bytes", (long long)bytes);
    return memory;
}

int main(void)
{
    tutti_client *client;
    check(tutti_init(&client));
    world = tutti_world(client);
    in = nowhere(MOST * 2);
    out = nowhere(MOST * 2);
    if (tutti_rank(world) == 0) measure_new();
    check(tutti_barrier(world));
    measure_bytes();
    check(tutti_finalize(client));
    return 0;
}
