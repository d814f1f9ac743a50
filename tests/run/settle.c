/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last comparison of calls (run/settle.h), in an order of events that the machine hardly ever
 * produces: between a rank's look for failures and its comparison, two other ranks find that their
 * calls differ. The calls of the first rank match those of all other ranks, so this rank learns of
 * the mismatch only if it looks for failures again.
 *
 * Three threads start an alltoallv, in which rank 2 expects more from rank 0 than rank 0 has for
 * it, and then a bcast from rank 1. Nobody waits for these calls:
 *
 *     rank 2   starts its calls, and does nothing more
 *     rank 0   then starts its calls; its first step needs nothing of rank 2, so it does not
 *              compare the alltoallv yet
 *     rank 1   then starts its calls, which end at once, and begins the last comparison
 *     rank 0   makes the last comparison, while rank 1 stops within its own: finds the mismatch
 *     rank 1   goes on
 *
 * In a second case two ranks have many teams. On each of them only one of the two has made a call,
 * for which it does not wait, so in tutti_finalize each rank waits for the other in vain: once, and
 * not once for each team.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "api/api.h"
#include "ranks.h"
#include "run/settle.h"

enum { P = 3, LONG = 70000, MORE = 1 };

/* How far the ranks have come: the events of the list at the top of this file, in order. */
enum settle_stage { STAGE_BEGIN, STAGE_TWO, STAGE_ZERO, STAGE_COMPARES, STAGE_FOUND, STAGE_END };
static _Atomic int stage;

static void await_stage(enum settle_stage which)
{
    while (atomic_load(&stage) < (int)which) sched_yield();
}

/* ---- The stop within the comparison of rank 1 ---- */

static pthread_t comparing;
static _Atomic bool stops;

enum tt_rank_state __real_tt_common_state(const struct tt_job_page *job,
                                          const struct tt_common *common, int rank);
enum tt_rank_state __wrap_tt_common_state(const struct tt_job_page *job,
                                          const struct tt_common *common, int rank);

/* Stops rank 1 within its comparison, which reads the state of a member with this function before
 * it reads the member's calls. */
enum tt_rank_state __wrap_tt_common_state(const struct tt_job_page *job,
                                          const struct tt_common *common, int rank)
{
    if (atomic_load(&stops) && pthread_equal(pthread_self(), comparing)) {
        atomic_store(&stops, false);
        atomic_store(&stage, STAGE_COMPARES);
        await_stage(STAGE_FOUND);
    }
    return __real_tt_common_state(job, common, rank);
}

/* ---- The ranks ---- */

static double in[P][LONG], out[P][LONG + MORE], last[P];

/* Starts the calls of this rank when its stage has come. The client frees the requests, for which
 * nobody waits. */
static void start_calls(tutti_team *world)
{
    const int64_t at[P] = {0};
    int64_t to[P] = {0}, from[P] = {0};
    tutti_request *request;
    int me = tutti_rank(world);
    if (me == 0) to[2] = LONG;
    if (me == 2) from[0] = LONG + MORE;
    EXPECT(tutti_ialltoallv(world, in[me], to, at, out[me], from, at, TUTTI_F64, &request) ==
           TUTTI_OK);
    EXPECT(tutti_ibcast(world, &last[me], 1, TUTTI_F64, 1, &request) == TUTTI_OK);
}

static void expect_mismatch(tutti_team *world)
{
    int64_t until_ns = tt_clock_ns() + TT_SETTLE_NS;
    EXPECT(tt_team_settle(&world->run, &until_ns, TT_DOING_FINALIZE) == TUTTI_ERR_MISMATCH);
    EXPECT(strstr(tutti_error(), "rank 0 sends rank 2 n=70000 of f64") != NULL);
    EXPECT(strstr(tutti_error(), "rank 2 expects n=70001") != NULL);
}

static void rank_0(tutti_team *world)
{
    await_stage(STAGE_TWO);
    start_calls(world);
    atomic_store(&stage, STAGE_ZERO);
    await_stage(STAGE_COMPARES);
    expect_mismatch(world);
    atomic_store(&stage, STAGE_FOUND);
}

static void rank_1(tutti_team *world)
{
    await_stage(STAGE_ZERO);
    start_calls(world);
    EXPECT(world->run.my_done == world->run.next && world->run.broken == TUTTI_OK);
    comparing = pthread_self();
    atomic_store(&stops, true);
    expect_mismatch(world);
    EXPECT(!atomic_load(&stops));
    atomic_store(&stage, STAGE_END);
}

static void one_rank(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client);
    (void)arg;
    if (tutti_rank(world) == 0) rank_0(world);
    if (tutti_rank(world) == 1) rank_1(world);
    if (tutti_rank(world) != 2) return;
    start_calls(world);
    atomic_store(&stage, STAGE_TWO);
    await_stage(STAGE_END);
}

/* ---- Many teams ---- */

enum { TEAMS = 40 };

static void make_silent_teams(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client), *part;
    int me = tutti_rank(world);
    double x = 0;
    (void)arg;
    for (int i = 0; i < TEAMS; i++) {
        EXPECT(tutti_team_dup(world, &part) == TUTTI_OK);
        if (me == i % 2) EXPECT(tutti_bcast(part, &x, 1, TUTTI_F64, me) == TUTTI_OK);
    }
    EXPECT(tutti_barrier(world) == TUTTI_OK);
}

/* Checks that the wait takes less than half of the time that one wait for each team would take. The
 * rank that leaves second gets PEER, if it finds in time that the first has left. */
static void test_silent_teams(void)
{
    int64_t begin_ns = tt_clock_ns();
    tutti_status status = tutti_threads(2, make_silent_teams, NULL);
    EXPECT(status == TUTTI_OK || status == TUTTI_ERR_PEER);
    EXPECT(tt_clock_ns() - begin_ns < TEAMS / 4 * TT_SETTLE_NS);
}

int main(void)
{
    EXPECT(tutti_threads(P, one_rank, NULL) == TUTTI_ERR_MISMATCH);
    test_silent_teams();
    return 0;
}
