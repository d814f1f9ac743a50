/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams that overlap in a part of their ranks, with collectives in flight on all of them at once:
 * the world, the rows and columns of a grid, and pairs of neighbours. Each rank completes its
 * requests in an order of its own, so ranks wait on different teams at the same time.
 *
 *     overlap threads P...    jobs of threads
 *     overlap                 a rank of a job of processes
 */
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

#include "ranks.h"

enum { TEAMS = 5, CALLS = 3, LONG = 9000, TURNS = 12 };

/* Makes the teams of this rank, and sets for each team the sum of its members' ranks in the
 * world. */
static void make(tutti_team *world, tutti_team *team[TEAMS], int64_t sum[TEAMS])
{
    int p = tutti_size(world), me = tutti_rank(world), columns = p < 4 ? p : 3;
    const int low[] = {me - 1, me}, high[] = {me + 1, me};
    memset(team, 0, TEAMS * sizeof *team);
    EXPECT(tutti_team_dup(world, &team[0]) == TUTTI_OK);
    EXPECT(tutti_team_split(world, me / columns, -me, &team[1]) == TUTTI_OK);
    EXPECT(tutti_team_split(world, me % columns, me, &team[2]) == TUTTI_OK);
    if (me > 0) EXPECT(tutti_team_of(world, low, 2, 0, &team[3]) == TUTTI_OK);
    if (me < p - 1) {
        const int turned[] = {high[1], high[0]};
        EXPECT(tutti_team_of(world, turned, 2, 0, &team[4]) == TUTTI_OK);
    }
    for (int i = 0; i < TEAMS; i++) {
        int64_t mine = me;
        if (team[i])
            EXPECT(tutti_allreduce(team[i], &mine, &sum[i], 1, TUTTI_I64, TUTTI_SUM) == TUTTI_OK);
    }
}

/* One request in flight. Element i of its result must be expected + members * i. */
struct overlap_flight {
    tutti_request *request;
    int64_t *in, *out;
    int64_t n, members, expected;
};

/* Starts calls of 1, 100 and LONG elements on the team, in an order that is the same on all its
 * members. */
static int start(tutti_team *team, int64_t sum, int me, int turn, struct overlap_flight *f)
{
    static const int64_t counts[CALLS] = {1, LONG, 100};
    if (!team) return 0;
    for (int c = 0; c < CALLS; c++) {
        f[c] = (struct overlap_flight){.n = counts[(c + turn) % CALLS],
                                       .members = tutti_size(team),
                                       .expected = sum + (int64_t)tutti_size(team) * turn};
        f[c].in = malloc((size_t)f[c].n * 2 * sizeof *f[c].in);
        EXPECT(f[c].in != NULL);
        f[c].out = f[c].in + f[c].n;
        for (int64_t i = 0; i < f[c].n; i++) f[c].in[i] = me + turn + i;
        EXPECT(tutti_iallreduce(team, f[c].in, f[c].out, f[c].n, TUTTI_I64, TUTTI_SUM,
                                &f[c].request) == TUTTI_OK);
    }
    return CALLS;
}

static void complete(struct overlap_flight *f, int by_test)
{
    tutti_status status;
    do status = by_test ? tutti_test(f->request) : tutti_wait(f->request);
    while (status == TUTTI_AGAIN);
    EXPECT(status == TUTTI_OK && tutti_request_free(f->request) == TUTTI_OK);
    for (int64_t i = 0; i < f->n; i++) EXPECT(f->out[i] == f->expected + f->members * i);
    free(f->in);
}

/* Starts calls on all teams, makes a blocking call on the world, and completes all calls in an
 * order of this rank's own: from request `me` on, upwards or downwards. */
static void one_turn(tutti_team *world, tutti_team *const *team, const int64_t *sum, int turn)
{
    struct overlap_flight f[TEAMS * CALLS];
    int n = 0, me = tutti_rank(world);
    for (int i = 0; i < TEAMS; i++) {
        int k = (i + me) % TEAMS; /* each rank begins with another team */
        n += start(team[k], sum[k], me, turn, f + n);
    }
    EXPECT(tutti_barrier(world) == TUTTI_OK);
    int step = me % 2 ? 1 : n - 1;
    for (int i = 0; i < n; i++) complete(&f[(me + i * step) % n], (i + me) % 2);
}

static void one_rank(tutti_client *client, void *arg)
{
    tutti_team *team[TEAMS];
    int64_t sum[TEAMS];
    (void)arg;
    make(tutti_world(client), team, sum);
    for (int turn = 0; turn < TURNS; turn++) one_turn(tutti_world(client), team, sum, turn);
    for (int i = TEAMS - 1; i >= 0; i--) EXPECT(tutti_team_free(team[i]) == TUTTI_OK);
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, one_rank);
}
