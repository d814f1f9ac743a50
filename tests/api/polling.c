/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests that tutti_test lets other ranks run if ranks share a processor and test in a loop, and not
 * if a rank calculates between its tests.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "ranks.h"

enum { TESTS = 200, PAUSES = 5 };

static const struct timespec pause_1ms = {.tv_nsec = 1000000};

/* The number of yields of the thread that is rank 0, while they are counted. */
static _Atomic int yields;
static pthread_t first;
static _Atomic bool counts, may_come;

int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
    if (atomic_load(&counts) && pthread_equal(pthread_self(), first)) atomic_fetch_add(&yields, 1);
    return __real_sched_yield();
}

/* Tests the request `tests` times, with or without a pause before each test, and returns how often
 * the library yielded. Only rank 0 runs in the library meanwhile. */
static int yields_in(tutti_request *request, int tests, bool pauses)
{
    first = pthread_self();
    atomic_store(&yields, 0);
    atomic_store(&counts, true);
    for (int i = 0; i < tests; i++) {
        if (pauses) nanosleep(&pause_1ms, NULL);
        EXPECT(tutti_test(request) == TUTTI_AGAIN);
    }
    atomic_store(&counts, false);
    return atomic_load(&yields);
}

static void rank(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client);
    tutti_request *request;
    (void)arg;
    EXPECT(tutti_barrier(world) == TUTTI_OK);
    if (tutti_rank(world) == 0) {
        EXPECT(tutti_ibarrier(world, &request) == TUTTI_OK);
        /* Between two tests of a loop the system may take the processor away, and the library takes
         * this time for a pause. So the library need not yield in every test. */
        EXPECT(yields_in(request, TESTS, false) > TESTS / 4);
        EXPECT(yields_in(request, PAUSES, true) == 0);
        atomic_store(&may_come, true);
    } else {
        while (!atomic_load(&may_come)) nanosleep(&pause_1ms, NULL);
        EXPECT(tutti_ibarrier(world, &request) == TUTTI_OK);
    }
    EXPECT(tutti_wait(request) == TUTTI_OK);
    EXPECT(tutti_request_free(request) == TUTTI_OK);
}

int main(void)
{
    cpu_set_t set;
    EXPECT(sched_getaffinity(0, sizeof set, &set) == 0);
    for (int i = 0, n = 0; i < CPU_SETSIZE; i++) /* leaves only the first processor */
        if (CPU_ISSET(i, &set) && n++ > 0) CPU_CLR(i, &set);
    EXPECT(sched_setaffinity(0, sizeof set, &set) == 0);
    EXPECT(tutti_threads(3, rank, NULL) == TUTTI_OK);
    return 0;
}
