/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that tests a request now and then hears soon that the calls of the ranks do not match,
 * although it makes only a few tests. The other rank does nothing meanwhile, so that only the
 * testing rank can find the mismatch. Each of the two ranks starts a broadcast and names the other
 * rank as the root.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "ranks.h"

/* PAUSE_US: the time between two tests, in microseconds. TESTS: within so many tests, a tenth of a
 * second, the rank must hear of the mismatch. */
enum { P = 2, PAUSE_US = 2000, TESTS = 50 };

static _Atomic bool started, ended;

static void rank_0(tutti_request *request)
{
    tutti_status status = TUTTI_AGAIN;
    while (!atomic_load(&started)) sched_yield();
    for (int i = 0; i < TESTS && status == TUTTI_AGAIN; i++) {
        usleep(PAUSE_US);
        status = tutti_test(request);
    }
    EXPECT(status == TUTTI_ERR_MISMATCH);
    atomic_store(&ended, true);
}

static void one_rank(tutti_client *client, void *arg)
{
    static double values[P];
    tutti_team *world = tutti_world(client);
    tutti_request *request;
    int me = tutti_rank(world);
    (void)arg;
    EXPECT(tutti_ibcast(world, &values[me], 1, TUTTI_F64, 1 - me, &request) == TUTTI_OK);
    if (me == 0) rank_0(request);
    if (me == 1) atomic_store(&started, true);
    while (!atomic_load(&ended)) sched_yield();
}

int main(void)
{
    EXPECT(tutti_threads(P, one_rank, NULL) == TUTTI_ERR_MISMATCH);
    return 0;
}
