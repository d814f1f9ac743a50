/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams from lists of ranks, which only the listed ranks make.
 *
 *     team-of threads P       a job of threads
 *     team-of all             a job of processes
 *     team-of die|leave       the last rank dies, or leaves, before the call that lists it; the
 *                             other ranks get TUTTI_ERR_PEER, and make a team without that rank
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <tutti/tutti.h>

#include "ranks.h"

enum { RANKS = 32, LONG = 40000 };

/* ---- Teams ---- */

/* Checks that the team has these ranks of the world in this order, by short and long calls. */
static void expect_team(tutti_team *part, const int *ranks, int n, int me)
{
    int all[RANKS], place = tutti_rank(part);
    static _Thread_local double in[LONG], out[LONG];
    EXPECT(tutti_size(part) == n && ranks[place] == me);
    EXPECT(tutti_allgather(part, &me, all, 1, TUTTI_INT) == TUTTI_OK);
    EXPECT(memcmp(all, ranks, (size_t)n * sizeof *ranks) == 0);
    for (int i = 0; i < LONG; i++) in[i] = place + i % 5;
    EXPECT(tutti_allreduce(part, in, out, LONG, TUTTI_F64, TUTTI_SUM) == TUTTI_OK);
    for (int i = 0; i < LONG; i++) EXPECT(out[i] == n * (n - 1) / 2 + n * (i % 5));
}

static void make_and_free(tutti_team *world, const int *ranks, int n, int tag)
{
    tutti_team *part;
    EXPECT(tutti_team_of(world, ranks, n, tag, &part) == TUTTI_OK);
    expect_team(part, ranks, n, tutti_rank(world));
    EXPECT(tutti_team_free(part) == TUTTI_OK);
}

/* Makes two teams at the same time: one of the even ranks, in order, and one of the odd ranks, in
 * reverse order. */
static void halves(tutti_team *world)
{
    int p = tutti_size(world), me = tutti_rank(world), ranks[RANKS], n = 0;
    for (int r = 0; r < p; r++)
        if (r % 2 == me % 2) ranks[n++] = r;
    for (int i = 0; me % 2 && i < n / 2; i++) {
        int r = ranks[i];
        ranks[i] = ranks[n - 1 - i];
        ranks[n - 1 - i] = r;
    }
    for (int i = 0; i < 3; i++) make_and_free(world, ranks, n, i);
}

/* Makes teams of lists that begin like each other. Agreements on the team of the shorter list count
 * neither for the longer list nor for the team of that list. */
static void longer_lists(tutti_team *world)
{
    enum { TAG = 70, TIMES = 4 };
    int p = tutti_size(world), me = tutti_rank(world), ranks[RANKS];
    for (int i = 0; i < p; i++) ranks[i] = p - 1 - i;
    for (int n = 1; n <= p; n++)
        for (int i = 0; i < TIMES && me >= p - n; i++) {
            tutti_team *part;
            int64_t value = i;
            EXPECT(tutti_team_of(world, ranks, n, TAG, &part) == TUTTI_OK);
            for (int k = 0; k < 2; k++)
                EXPECT(tutti_team_agree(part, &value, NULL) == TUTTI_OK && value == i);
            EXPECT(tutti_team_free(part) == TUTTI_OK);
        }
}

/* Makes a team of each two consecutive ranks, so a rank has one team with the rank before it and
 * one with the rank after it. Makes a second team of the same two ranks while the first one exists.
 */
static void neighbours(tutti_team *world)
{
    int p = tutti_size(world), me = tutti_rank(world);
    tutti_team *low = NULL, *high = NULL, *again = NULL;
    const int before[] = {me - 1, me}, after[] = {me, me + 1};
    if (me > 0) EXPECT(tutti_team_of(world, before, 2, 0, &low) == TUTTI_OK);
    if (me < p - 1) EXPECT(tutti_team_of(world, after, 2, 0, &high) == TUTTI_OK);
    if (me < p - 1) EXPECT(tutti_team_of(world, after, 2, 0, &again) == TUTTI_OK);
    if (me > 0) EXPECT(tutti_team_of(world, before, 2, 0, &again) == TUTTI_OK);
    if (low) expect_team(low, before, 2, me);
    if (high) expect_team(high, after, 2, me);
    EXPECT(tutti_barrier(world) == TUTTI_OK);
}

/* Makes a team of one rank, and a team from the ranks of a team that is not the world. */
static void inner(tutti_team *world)
{
    int p = tutti_size(world), me = tutti_rank(world);
    tutti_team *half, *last;
    const int alone[] = {me}, first[] = {0};
    make_and_free(world, alone, 1, 5);
    EXPECT(tutti_team_split(world, me < (p + 1) / 2, 0, &half) == TUTTI_OK);
    if (tutti_rank(half) == 0) {
        EXPECT(tutti_team_of(half, first, 1, -7, &last) == TUTTI_OK);
        EXPECT(tutti_size(last) == 1 && tutti_barrier(last) == TUTTI_OK);
        EXPECT(tutti_team_free(last) == TUTTI_OK);
    }
    EXPECT(tutti_team_free(half) == TUTTI_OK);
}

/* ---- Errors ---- */

static void refuse(tutti_team *world, const int *ranks, int n, const char *text)
{
    tutti_team *part = world;
    EXPECT(tutti_team_of(world, ranks, n, 0, &part) == TUTTI_ERR_ARG && part == world);
    EXPECT(strstr(tutti_error(), text));
}

static void arguments(tutti_team *world)
{
    int p = tutti_size(world), me = tutti_rank(world);
    const int twice[] = {me, me}, outside[] = {me, p}, negative[] = {-1}, other[] = {(me + 1) % p};
    tutti_team *part = world;
    refuse(world, NULL, 1, "ranks is NULL");
    refuse(world, twice, 0, "n is 0, not in 1 ..");
    refuse(world, twice, p + 1, "not in 1 ..");
    refuse(world, negative, 1, "ranks[0] is -1");
    if (p > 1) refuse(world, twice, 2, "is in the list already");
    if (p > 1) refuse(world, outside, 2, "ranks[1] is");
    if (p > 1) refuse(world, other, 1, "is not in the list");
    if (p > 1 && me < 2) {
        const int two[] = {0, 1};
        EXPECT(tutti_team_of(world, two, 2, 0, me ? &part : NULL) == TUTTI_ERR_ARG);
        EXPECT(strstr(tutti_error(), me ? "rank 0 could not make its team" : "part is NULL"));
        EXPECT(part == world);
        make_and_free(world, two, 2, 0);
    }
}

static void expect_different(tutti_team *world, const int *ranks, int n, int tag)
{
    tutti_team *part = world;
    EXPECT(tutti_team_of(world, ranks, n, tag, &part) == TUTTI_ERR_MISMATCH && part == world);
    EXPECT(strstr(tutti_error(), "with the same tag and different lists"));
}

/* Lets ranks 0 and 1 wait for each other with different lists: both get an error. Rank 2, which has
 * the list of rank 0, gets the error from rank 0. Afterwards this tag does not work any more, and
 * other tags do. */
static void different(tutti_team *world)
{
    int p = tutti_size(world), me = tutti_rank(world);
    const int three[] = {0, 1, 2}, turned[] = {1, 0, 2};
    EXPECT(tutti_barrier(world) == TUTTI_OK);
    for (int turn = 0; turn < 2 && p > 2 && me < 3; turn++) {
        const int *mine = turn && me == 1 ? turned : three;
        expect_different(world, mine, me == 1 && !turn ? 2 : 3, 10 + turn);
        expect_different(world, three, 3, 10 + turn);
        make_and_free(world, three, 3, 20 + turn);
        if (me < 2) make_and_free(world, three, 2, 0);
    }
    EXPECT(tutti_barrier(world) == TUTTI_OK);
}

static void one_rank(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client);
    (void)arg;
    arguments(world);
    halves(world);
    longer_lists(world);
    neighbours(world);
    inner(world);
    different(world);
    halves(world);
}

static int gone(tutti_client *client, bool dies)
{
    tutti_team *world = tutti_world(client), *part = world;
    int p = tutti_size(world), me = tutti_rank(world), ranks[RANKS];
    for (int r = 0; r < p; r++) ranks[r] = p - 1 - r;
    if (me == p - 1 && dies) raise(SIGKILL);
    if (me == p - 1) return tutti_finalize(client) != TUTTI_OK;
    EXPECT(tutti_team_of(world, ranks, p, 0, &part) == TUTTI_ERR_PEER && part == world);
    make_and_free(world, ranks + 1, p - 1, 0);
    puts("went on");
    (void)tutti_finalize(client);
    return 0;
}

int main(int argc, char **argv)
{
    tutti_client *client;
    bool threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    if (argc < 2) return 2;
    if (threads || strcmp(argv[1], "all") == 0) return run_ranks(argc, argv, one_rank);
    EXPECT(tutti_init(&client) == TUTTI_OK);
    return gone(client, strcmp(argv[1], "die") == 0);
}
