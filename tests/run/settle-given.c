/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last comparison of calls (run/settle.h) after a gatherv or scatterv in which the rank that
 * gives a piece (the giver) leaves it to the rank that gets the piece (the taker) to compare their
 * counts. The counts differ. The taker has begun this call and a later one, but advances neither.
 * The giver has ended both calls without an error, and must get the mismatch as an error when it
 * finalizes.
 *
 * Two threads: the taker starts both calls, and waits for neither. Then the giver makes both calls
 * and compares. The later call is one that no rank can end before all have begun it, or one that
 * the giver ends at once.
 */
#include <sched.h>
#include <stdatomic.h>

#include "api/api.h"
#include "ranks.h"
#include "run/settle.h"

struct given_case {
    bool gathers; /* a gatherv to rank 0, else a scatterv from rank 0 */
    bool binds;   /* the later call is a barrier, else a bcast from the giver */
    int64_t expected;
    _Atomic int done; /* ranks that have made their calls and compared them */
};

enum { P = 2, GIVEN = 2 };

static int giver(const struct given_case *c)
{
    return c->gathers ? 1 : 0;
}

static void start_piece(const struct given_case *c, tutti_team *world, tutti_request **request)
{
    static const int64_t at[P];
    static const double in[GIVEN];
    static double out[GIVEN + 1];
    int me = tutti_rank(world);
    int64_t n[P] = {0}, mine = me == giver(c) ? GIVEN : c->expected;
    n[1] = mine;
    if (c->gathers)
        EXPECT(tutti_igatherv(world, in, me ? mine : 0, out, n, at, TUTTI_F64, 0, request) ==
               TUTTI_OK);
    else
        EXPECT(tutti_iscatterv(world, in, n, at, out, me ? mine : 0, TUTTI_F64, 0, request) ==
               TUTTI_OK);
}

static void start_later(const struct given_case *c, tutti_team *world, tutti_request **request)
{
    static double data[P];
    int me = tutti_rank(world);
    if (c->binds)
        EXPECT(tutti_ibarrier(world, request) == TUTTI_OK);
    else
        EXPECT(tutti_ibcast(world, &data[me], 1, TUTTI_F64, giver(c), request) == TUTTI_OK);
}

static void await_done(struct given_case *c, int n)
{
    while (atomic_load(&c->done) < n) sched_yield();
}

static void one_rank(tutti_client *client, void *arg)
{
    struct given_case *c = arg;
    tutti_team *world = tutti_world(client);
    tutti_request *request[2];
    bool gives = tutti_rank(world) == giver(c), differs = c->expected != GIVEN;
    if (gives) await_done(c, 1);
    start_piece(c, world, &request[0]);
    start_later(c, world, &request[1]);
    EXPECT((world->run.my_done == world->run.next) == gives);
    if (!gives) {
        atomic_fetch_add(&c->done, 1);
        await_done(c, 2);
        EXPECT(tutti_wait(request[0]) == (differs ? TUTTI_ERR_MISMATCH : TUTTI_OK));
        return;
    }
    EXPECT(tutti_wait(request[0]) == TUTTI_OK && tutti_wait(request[1]) == TUTTI_OK);
    int64_t until_ns = tt_clock_ns() + TT_SETTLE_NS;
    tutti_status status = tt_team_settle(&world->run, &until_ns, TT_DOING_FINALIZE);
    EXPECT(status == (differs ? TUTTI_ERR_MISMATCH : TUTTI_OK));
    if (differs) EXPECT(strstr(tutti_error(), "sends rank") && strstr(tutti_error(), "expects n="));
    atomic_fetch_add(&c->done, 1);
}

int main(void)
{
    for (int i = 0; i < 12; i++) {
        struct given_case c = {.gathers = i % 2, .binds = i / 2 % 2, .expected = i / 4};
        EXPECT(tutti_threads(P, one_rank, &c) == TUTTI_OK);
        EXPECT(atomic_load(&c.done) == 2);
    }
    return 0;
}
