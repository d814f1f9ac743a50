/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When a plan is under way: from its start until its owner has completed it, whatever has come of
 * it before the owner asked. So the same calls get the same answers on every rank, each time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

#define EXPECT(what)                                                                               \
    do {                                                                                           \
        if (what) break;                                                                           \
        fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #what, tutti_error());             \
        abort();                                                                                   \
    } while (0)

enum { N = 3 };

/* A plan of this rank: its root, if it has one, is complete at once, and the others are not. */
typedef tutti_status make_fn(tutti_team *team, int64_t *in, int64_t *out, tutti_plan **plan);

static tutti_status make_bcast(tutti_team *team, int64_t *in, int64_t *out, tutti_plan **plan)
{
    (void)in;
    return tutti_plan_bcast(team, out, N, TUTTI_I64, 0, TUTTI_PLAN_DEFAULT, plan);
}

static tutti_status make_reduce(tutti_team *team, int64_t *in, int64_t *out, tutti_plan **plan)
{
    return tutti_plan_reduce(team, in, out, N, TUTTI_I64, TUTTI_SUM, 0, TUTTI_PLAN_DEFAULT, plan);
}

static tutti_status make_nothing(tutti_team *team, int64_t *in, int64_t *out, tutti_plan **plan)
{
    return tutti_plan_allreduce(team, in, out, 0, TUTTI_I64, TUTTI_SUM, TUTTI_PLAN_DEFAULT, plan);
}

static tutti_status make_barrier(tutti_team *team, int64_t *in, int64_t *out, tutti_plan **plan)
{
    (void)in;
    (void)out;
    return tutti_plan_barrier(team, TUTTI_PLAN_DEFAULT, plan);
}

static void expect_under_way(tutti_plan *plan)
{
    EXPECT(tutti_start(plan) == TUTTI_ERR_ARG);
    EXPECT(strstr(tutti_error(), "under way"));
    EXPECT(tutti_plan_free(plan) == TUTTI_ERR_ARG);
    EXPECT(strstr(tutti_error(), "under way"));
}

static void by_test(tutti_plan *plan)
{
    tutti_status status;
    while ((status = tutti_test(plan)) == TUTTI_AGAIN) expect_under_way(plan);
    EXPECT(status == TUTTI_OK);
}

static void turn(tutti_team *world, tutti_plan *plan, int i)
{
    EXPECT(tutti_start(plan) == TUTTI_OK);
    expect_under_way(plan);
    EXPECT(tutti_barrier(world) == TUTTI_OK); /* now it is complete everywhere */
    expect_under_way(plan);
    if (i % 2)
        by_test(plan);
    else
        EXPECT(tutti_wait(plan) == TUTTI_OK);
}

static void of_a_plan(tutti_team *world, make_fn *make)
{
    int64_t in[N] = {1, 2, 3}, out[N] = {4, 5, 6};
    tutti_plan *plan;
    EXPECT(make(world, in, out, &plan) == TUTTI_OK);
    EXPECT(tutti_test(plan) == TUTTI_OK); /* it was never started */
    EXPECT(tutti_wait(plan) == TUTTI_OK);
    for (int i = 0; i < 4; i++) turn(world, plan, i);
    EXPECT(tutti_wait(plan) == TUTTI_OK); /* once more: at once */
    EXPECT(tutti_test(plan) == TUTTI_OK);
    EXPECT(tutti_plan_free(plan) == TUTTI_OK);
    EXPECT(make(world, in, out, &plan) == TUTTI_OK);
    EXPECT(tutti_plan_free(plan) == TUTTI_OK);
}

static void of_a_request(tutti_team *world)
{
    int64_t out[N] = {4, 5, 6};
    tutti_plan *plan;
    EXPECT(tutti_ibcast(world, out, N, TUTTI_I64, 0, &plan) == TUTTI_OK);
    expect_under_way(plan);
    EXPECT(tutti_barrier(world) == TUTTI_OK);
    expect_under_way(plan);
    by_test(plan);
    EXPECT(tutti_plan_free(plan) == TUTTI_OK);
}

/* Plans keep a team from being freed, whatever state they are in. */
static void of_a_team(tutti_team *world)
{
    int64_t out[N] = {4, 5, 6};
    tutti_team *part;
    tutti_plan *plan;
    EXPECT(tutti_team_split(world, 0, 0, &part) == TUTTI_OK);
    EXPECT(tutti_ibcast(part, out, N, TUTTI_I64, 0, &plan) == TUTTI_OK);
    EXPECT(tutti_team_free(part) == TUTTI_ERR_ARG && strstr(tutti_error(), "plans"));
    EXPECT(tutti_wait(plan) == TUTTI_OK);
    EXPECT(tutti_team_free(part) == TUTTI_ERR_ARG && strstr(tutti_error(), "plans"));
    EXPECT(tutti_plan_free(plan) == TUTTI_OK);
    EXPECT(tutti_team_free(part) == TUTTI_OK);
}

static void rank(tutti_client *client, void *arg)
{
    static make_fn *const makes[] = {make_bcast, make_reduce, make_nothing, make_barrier};
    tutti_team *world = tutti_world(client);
    (void)arg;
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) of_a_plan(world, makes[i]);
    of_a_request(world);
    of_a_team(world);
}

int main(void)
{
    for (int p = 1; p <= 4; p++) EXPECT(tutti_threads(p, rank, NULL) == TUTTI_OK);
    return 0;
}
