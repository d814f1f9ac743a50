/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the wait policy: a rank that has waited so long that it sleeps starts to spin again once it
 * makes progress. In an allreduce of five rounds rank 0 sleeps until the other ranks come, and must
 * not sleep again in the later rounds. On a busy machine it may sleep more often, so the test takes
 * the minimum over twenty allreduces. Also checks that ranks that share processors yield less if
 * they wait for other nodes.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/api.h"

enum { RANKS = 32, ROUNDS = 5, TURNS = 20, YIELDS = 3000 };

static atomic_int sleeps;  /* number of sleeps of rank 0 */
static int counted[TURNS]; /* number of sleeps of rank 0 in each allreduce */

/* Counts a sleep; the library calls this function before each sleep of rank 0. Rank 0 sleeps on a
 * descriptor that never becomes readable, each time for an eighth of the time that it has waited so
 * far, but for at least 20 us and at most 1 ms. */
static bool count_sleep(void *arg)
{
    (void)arg;
    atomic_fetch_add(&sleeps, 1);
    return true;
}

static void must(bool good, const char *what)
{
    if (good) return;
    fprintf(stderr, "%s: %s\n", what, tutti_error());
    abort();
}

static void one_rank(tutti_client *client, void *arg)
{
    struct tt_wake_descriptor wake = {.descriptor = *(int *)arg, .arm = count_sleep};
    tutti_team *world = tutti_world(client);
    int32_t mine = 1, sum = 0;
    int me = tutti_rank(world);
    client->fabric.policy.exact = true;
    if (me == 0) client->fabric.policy.yields = YIELDS;
    for (int turn = 0; turn < TURNS; turn++) {
        must(tutti_barrier(world) == TUTTI_OK, "barrier");
        int before = atomic_load(&sleeps);
        must(tutti_barrier(world) == TUTTI_OK, "barrier");
        /* The wake descriptor is set only for the allreduce, so only its sleeps are counted. */
        if (me == 0) client->fabric.policy.wake = &wake;
        while (me != 0 && atomic_load(&sleeps) == before) usleep(200);
        must(tutti_allreduce(world, &mine, &sum, 1, TUTTI_I32, TUTTI_SUM) == TUTTI_OK, "allreduce");
        must(sum == RANKS, "the sum is wrong");
        client->fabric.policy.wake = NULL;
        if (me == 0) counted[turn] = atomic_load(&sleeps) - before;
    }
}

int main(void)
{
    int nothing = eventfd(0, EFD_CLOEXEC);
    must(tt_wait_policy_for(8, 2, true).yields < tt_wait_policy_for(8, 2, false).yields,
         "fewer yields on several nodes");
    must(nothing >= 0 && setenv("TUTTI_ALGORITHM", "allreduce=doubling", 1) == 0, "beginning");
    must(tutti_threads(RANKS, one_rank, &nothing) == TUTTI_OK, "threads");
    close(nothing);
    int fewest = counted[0];
    for (int turn = 1; turn < TURNS; turn++)
        if (counted[turn] < fewest) fewest = counted[turn];
    printf("%d sleeps or more in %d rounds\n", fewest, ROUNDS);
    return fewest == 1 ? 0 : 1;
}
