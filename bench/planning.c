/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a call of a shape that was never seen costs before anything is sent, and how large its plan
 * is. Started by `tutti run`: rank 0 measures, the others wait for it. Making a plan is local.
 *
 *   new     rank 0 prints, for each collective and size, the median time of making plans that all
 *           differ in their size
 *   bytes   the largest plan of an allreduce, up to 1 GiB, of any rank
 */
#include "measure.h"

#include "api/api.h"

enum { TIMES = 101 };
#define MOST ((int64_t)1 << 30)

static tutti_team *world;
static char *in, *out; /* never touched: plans name places, they do not go there */

static void check(tutti_status status)
{
    if (status != TUTTI_OK) die("%s: %s", tutti_status_text(status), tutti_error());
}

typedef tutti_status plan_fn(int64_t n, tutti_plan **plan);

static tutti_status plan_allreduce(int64_t n, tutti_plan **plan)
{
    return tutti_plan_allreduce(world, in, out, n, TUTTI_F64, TUTTI_SUM, TUTTI_PLAN_DEFAULT, plan);
}

static tutti_status plan_reduce(int64_t n, tutti_plan **plan)
{
    return tutti_plan_reduce(world, in, out, n, TUTTI_F64, TUTTI_SUM, 0, TUTTI_PLAN_DEFAULT, plan);
}

static tutti_status plan_alltoall(int64_t n, tutti_plan **plan)
{
    return tutti_plan_alltoall(world, in, out, n, TUTTI_F64, TUTTI_PLAN_DEFAULT, plan);
}

static tutti_status plan_allgather(int64_t n, tutti_plan **plan)
{
    return tutti_plan_allgather(world, in, out, n, TUTTI_F64, TUTTI_PLAN_DEFAULT, plan);
}

static tutti_status plan_bcast(int64_t n, tutti_plan **plan)
{
    return tutti_plan_bcast(world, out, n, TUTTI_F64, 0, TUTTI_PLAN_DEFAULT, plan);
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
        tutti_plan *plan;
        double begin = seconds();
        check(make(n + i, &plan));
        times[i] = seconds() - begin;
        check(tutti_plan_free(plan));
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

/* The largest plan of this rank, of sizes around every power of two. */
static int64_t largest_plan(int64_t *at)
{
    int64_t most = 0;
    for (int64_t bytes = 8; bytes <= MOST; bytes *= 2) {
        for (int64_t n = bytes / 8; n <= bytes / 8 + 1; n++) {
            tutti_plan *plan;
            if (n * 8 > MOST) continue;
            check(plan_allreduce(n, &plan));
            if (plan->prepared->plan->bytes > most) {
                most = plan->prepared->plan->bytes;
                *at = n * 8;
            }
            check(tutti_plan_free(plan));
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
