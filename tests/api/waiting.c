/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the settings of a program's waits: a hook, and the longest sleep. The two ranks are
 * threads. Rank 1 comes to a call only after the hook of rank 0, which waits there, has run often
 * enough, so without the hook no wait would end.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <tutti/message.h>
#include <tutti/tutti.h>

#include "ranks.h"

enum { ENOUGH = 200 };

/* Counters of rank 0's hook. calls: how often it was called; strange: how often it was called on a
 * thread other than `waiter`. */
static atomic_int calls, strange;
static pthread_t waiter;

static void hook(void *arg)
{
    EXPECT(arg == &waiter);
    if (!pthread_equal(pthread_self(), waiter)) atomic_fetch_add(&strange, 1);
    atomic_fetch_add(&calls, 1);
}

/* Lets rank 1 stay outside the library until the hook of rank 0 has run ENOUGH times more. */
static void let_wait(const tutti_team *world)
{
    int from = atomic_load(&calls);
    while (tutti_rank(world) == 1 && atomic_load(&calls) < from + ENOUGH) sched_yield();
}

/* ---- The calls that wait ---- */

static void of_collectives(tutti_team *world)
{
    int64_t mine = tutti_rank(world) + 1, sum = 0;
    tutti_request *request;
    let_wait(world);
    EXPECT(tutti_allreduce(world, &mine, &sum, 1, TUTTI_I64, TUTTI_SUM) == TUTTI_OK && sum == 3);
    let_wait(world);
    EXPECT(tutti_ibcast(world, &mine, 1, TUTTI_I64, 1, &request) == TUTTI_OK);
    EXPECT(tutti_wait(request) == TUTTI_OK && mine == 2);
    EXPECT(tutti_request_free(request) == TUTTI_OK);
}

static void of_teams(tutti_team *world)
{
    tutti_team *part;
    int64_t value = -1;
    let_wait(world);
    EXPECT(tutti_team_dup(world, &part) == TUTTI_OK);
    let_wait(world);
    EXPECT(tutti_team_agree(part, &value, NULL) == TUTTI_OK);
    EXPECT(tutti_team_free(part) == TUTTI_OK);
}

static void came(tutti_context *context, void *arg)
{
    (void)context;
    *(bool *)arg = true;
}

/* Checks that tutti_advance_wait calls the hook. Here the work comes from the rank itself, so no
 * other rank ends the wait. */
static void of_messages(tutti_client *client, tutti_team *world)
{
    tutti_context *context = tutti_context_at(client, 0);
    bool done = false;
    int events = 0, before = atomic_load(&calls);
    EXPECT(context != NULL);
    if (tutti_rank(world) == 0) {
        while (atomic_load(&calls) <= before + 10) /* except on a busy machine, one wait calls the
                                                    * hook more than ten times */
            EXPECT(tutti_advance_wait(context, 200, &events) == TUTTI_AGAIN && events == 0);
        EXPECT(tutti_post(context, came, &done) == TUTTI_OK);
        EXPECT(tutti_advance_wait(context, -1, &events) == TUTTI_OK && done);
    }
    EXPECT(tutti_barrier(world) == TUTTI_OK);
}

/* Checks that a helper, which waits on a thread of the library, does not call the hook. */
static void of_helpers(tutti_client *client, tutti_team *world)
{
    tutti_context *context;
    if (tutti_rank(world) == 0) {
        EXPECT(tutti_contexts(client, 1, &context) == TUTTI_OK);
        EXPECT(tutti_helper_start(context) == TUTTI_OK);
    }
    let_wait(world);
    EXPECT(tutti_barrier(world) == TUTTI_OK);
    if (tutti_rank(world) == 0) EXPECT(tutti_helper_stop(context) == TUTTI_OK);
}

/* ---- Arguments ---- */

static void of_arguments(tutti_client *client)
{
    EXPECT(tutti_client_hook(NULL, hook, NULL, 1, 1) == TUTTI_ERR_ARG);
    EXPECT(tutti_client_hook(client, hook, NULL, 0, 1) == TUTTI_ERR_ARG);
    EXPECT(strcmp(tutti_error(), "first is 0, not at least 1") == 0);
    EXPECT(tutti_client_hook(client, hook, NULL, 1, -3) == TUTTI_ERR_ARG);
    EXPECT(strcmp(tutti_error(), "every is -3, not at least 1") == 0);
    EXPECT(tutti_client_sleep(NULL, 1) == TUTTI_ERR_ARG);
    EXPECT(tutti_client_sleep(client, -1) == TUTTI_ERR_ARG);
    EXPECT(tutti_client_sleep(client, TUTTI_SLEEP_MOST_US + 1) == TUTTI_ERR_ARG);
    EXPECT(strcmp(tutti_error(), "longest_us is 50001, not in 0 .. 50000") == 0);
    EXPECT(tutti_client_sleep(client, TUTTI_SLEEP_MOST_US) == TUTTI_OK);
}

/* Checks that waits still end after the hook has been removed, and that they do not call it. */
static void of_removal(tutti_client *client, tutti_team *world)
{
    if (tutti_rank(world) == 0) EXPECT(tutti_client_hook(client, NULL, NULL, 0, 0) == TUTTI_OK);
    int before = atomic_load(&calls);
    EXPECT(tutti_barrier(world) == TUTTI_OK);
    EXPECT(tutti_barrier(world) == TUTTI_OK);
    if (tutti_rank(world) == 0) EXPECT(atomic_load(&calls) == before);
}

static void one_rank(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client);
    static const int sleeps_us[] = {0, 50, 1000};
    (void)arg;
    of_arguments(client);
    if (tutti_rank(world) == 0) waiter = pthread_self();
    for (int i = 0; i < 3; i++) {
        /* A waiting call calls the hook after it has looked `first` times in vain for what it waits
         * for: already while it spins if `first` is 7, and only later if `first` is 300. */
        int first = i == 1 ? 7 : 300;
        if (tutti_rank(world) == 0)
            EXPECT(tutti_client_hook(client, hook, &waiter, first, 32) == TUTTI_OK);
        EXPECT(tutti_client_sleep(client, sleeps_us[i]) == TUTTI_OK);
        of_collectives(world);
        of_teams(world);
        of_messages(client, world);
    }
    of_helpers(client, world);
    of_removal(client, world);
    EXPECT(atomic_load(&strange) == 0);
}

int main(void)
{
    EXPECT(tutti_threads(2, one_rank, NULL) == TUTTI_OK);
    return 0;
}
