/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last comparison of calls (run/settle.h) after a member has left with its call under way. The
 * leaving breaks the team at the other two ranks, whose counts for each other differ, before these
 * ranks have compared their counts. Both ranks must get the mismatch as an error nevertheless.
 *
 * Three threads start an alltoallv, in which rank 0 has data for rank 2 and, in some cases, for
 * rank 1. Rank 2 expects something from rank 1 that rank 1 does not have for it. Nobody waits for
 * the call. Rank 0 starts last and finalizes: its own counts match, so it leaves. Then ranks 1 and
 * 2 make the last comparison, one after the other. If rank 0 has no data for rank 1 (`ends`), the
 * call of rank 1 has ended at once, before rank 2 began. The first of the two may also wait for its
 * call (`waits`).
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "api/api.h"
#include "ranks.h"
#include "run/settle.h"

enum { P = 3, LONG = 70000, EXPECTED = 40 };

struct left_case {
    bool ends;
    int first;            /* the rank that compares first: 1 or 2 */
    bool waits;           /* rank `first` waits for its call instead */
    _Atomic int started;  /* ranks that have started their alltoallv */
    _Atomic int compared; /* ranks that have made the last comparison */
};

static double in[P][2 * LONG], out[P][LONG + EXPECTED];

static void await_count(const _Atomic int *count, int n)
{
    while (atomic_load(count) < n) sched_yield();
}

/* Starts the alltoallv: first on rank 1, then on rank 2, then on rank 0. Nobody waits for the
 * request; the client frees it. */
static void start_call(struct left_case *c, tutti_team *world, tutti_request **request)
{
    const int64_t at[P] = {0, LONG, 0};
    int64_t to[P] = {0}, from[P] = {0};
    int me = tutti_rank(world);
    if (me == 0) to[1] = c->ends ? 0 : LONG, to[2] = LONG;
    if (me == 1) from[0] = c->ends ? 0 : LONG;
    if (me == 2) from[0] = LONG, from[1] = EXPECTED;
    await_count(&c->started, me ? me - 1 : P - 1);
    EXPECT(tutti_ialltoallv(world, in[me], to, at, out[me], from, at, TUTTI_F64, request) ==
           TUTTI_OK);
    if (me == 0) EXPECT(world->run.my_done != world->run.next);
    if (me == 1) EXPECT((world->run.my_done == world->run.next) == c->ends);
    atomic_fetch_add(&c->started, 1);
}

static void await_leaving(const struct tt_fabric *f)
{
    const struct tt_rank_status *its = &f->common->rank[0].rank_status;
    while (atomic_load(&its->state) != TT_RANK_FAILED) sched_yield();
    EXPECT(tt_rank_cause(its) == TT_CAUSE_LEFT);
}

static void one_rank(tutti_client *client, void *arg)
{
    struct left_case *c = arg;
    tutti_team *world = tutti_world(client);
    tutti_request *request;
    int me = tutti_rank(world);
    start_call(c, world, &request);
    if (me == 0) return;
    await_leaving(&client->fabric);
    await_count(&c->compared, me == c->first ? 0 : 1);
    int64_t until_ns = tt_clock_ns() + TT_SETTLE_NS;
    tutti_status status = c->waits && me == c->first
                              ? tutti_wait(request)
                              : tt_team_settle(&world->run, &until_ns, TT_DOING_FINALIZE);
    EXPECT(status == TUTTI_ERR_MISMATCH);
    EXPECT(strstr(tutti_error(), "rank 1 sends rank 2 n=0 of f64") != NULL);
    EXPECT(strstr(tutti_error(), "rank 2 expects n=40") != NULL);
    atomic_fetch_add(&c->compared, 1);
}

/* Uses the algorithm `pairwise`: with it, also in shared memory, a rank that expects data from rank
 * 0 cannot end before it has them. */
int main(void)
{
    EXPECT(setenv("TUTTI_ALGORITHM", "alltoallv=pairwise", 1) == 0);
    for (int i = 0; i < 8; i++) {
        struct left_case c = {.ends = i & 2, .first = 1 + i % 2, .waits = i & 4};
        /* The call of rank 1 has ended, so a wait for it would return no error. */
        if (c.waits && c.ends && c.first == 1) continue;
        EXPECT(tutti_threads(P, one_rank, &c) == TUTTI_OK);
        EXPECT(atomic_load(&c.compared) == 2);
    }
    return 0;
}
