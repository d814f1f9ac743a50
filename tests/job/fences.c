/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fences early|between|late: two ranks that have a processor each, of which rank 1 must not call
 * membarrier from some moment on: before its first client, between its clients, or after them.
 * fences.sh runs it.
 *
 * Whether rank 0 notices signals cannot be tested by sending some: only one in very many would be
 * missed. So the test looks at what the ranks do before they sleep. Either the signallers of a
 * client use fences, or its sleepers call membarrier.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api.h"
#include "forbid.h"

#define must(condition)                                                                            \
    ((condition)                                                                                   \
         ? (void)0                                                                                 \
         : (fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, tutti_error()),     \
            exit(8)))

/* ---- What a rank does before it sleeps ---- */

/* The linker calls this function in place of the C library's (`--wrap` in CMakeLists.txt). It
 * counts the calls of membarrier that succeed, keeps the longest time for which a thread wanted to
 * sleep, and makes each call. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
static int barriers;
static int64_t longest_ns;

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == SYS_futex && b == FUTEX_WAIT) {
        const struct timespec *most = (const struct timespec *)d;
        longest_ns = tt_max(longest_ns, most->tv_sec * INT64_C(1000000000) + most->tv_nsec);
    }
    long result = __real_syscall(number, a, b, c, d, e, f);
    if (number == SYS_membarrier && result == 0) barriers++;
    return result;
}

/* Lets the ranks meet in two barriers. Rank `sleeper` sleeps in one of them: the other rank waits
 * until `sleeper` has announced its sleep, and then some time more, before it calls the second
 * barrier. */
static void meet(tutti_client *client, int sleeper)
{
    tutti_team *world = tutti_world(client);
    struct tt_fabric *f = &client->fabric;
    barriers = 0;
    longest_ns = 0;
    must(tutti_barrier(world) == TUTTI_OK);
    while (f->me != sleeper && !atomic_load(&f->job->rank[sleeper].wake_word->sleeping))
        sched_yield();
    if (f->me != sleeper) usleep(5000);
    must(tutti_barrier(world) == TUTTI_OK);
}

/* Lets each rank sleep once. If the signallers of the client use no fences, a rank has to call
 * membarrier before it sleeps. */
static void sleep_in_turn(tutti_client *client, bool fences)
{
    const struct tt_fabric *f = &client->fabric;
    must(f->fences == fences && f->policy.fences == fences);
    for (int sleeper = 0; sleeper < f->size; sleeper++) {
        meet(client, sleeper);
        if (sleeper == f->me) must(fences ? barriers == 0 : barriers > 0);
    }
}

/* ---- The ranks ---- */

static tutti_client *join(void)
{
    tutti_client *client = NULL;
    must(tutti_init(&client) == TUTTI_OK);
    if (client->fabric.cores < 2) exit(77);
    must(tutti_size(tutti_world(client)) == 2);
    return client;
}

static bool is_rank_1(void)
{
    const char *me = getenv("TUTTI_RANK");
    return me && strcmp(me, "1") == 0;
}

static void forbid_membarrier(void)
{
    if (is_rank_1() && forbid(SYS_membarrier, EPERM) != 0) exit(77);
}

static void end(tutti_client *client)
{
    must(tutti_finalize(client) == TUTTI_OK);
}

static void early(void)
{
    forbid_membarrier();
    tutti_client *client = join();
    sleep_in_turn(client, true);
    end(client);
}

/* Rank 1 must not call membarrier from the second client on. Checks that the second client uses
 * fences, and that the first one still uses none. */
static void between(void)
{
    tutti_client *first = join();
    sleep_in_turn(first, false);
    if (is_rank_1()) must(forbid(SYS_membarrier, EPERM) == 0);
    tutti_client *second = join();
    sleep_in_turn(second, true);
    must(!first->fabric.fences);
    meet(first, 0);
    if (!is_rank_1()) must(barriers > 0);
    end(second);
    end(first);
}

/* Forbids membarrier to rank 1 while a client without fences is in use. Without both, rank 1 may
 * miss a signal of rank 0. Checks that rank 1 therefore never asks to sleep for more than a
 * millisecond at a time, and that rank 0 still calls membarrier. */
static void late(void)
{
    tutti_client *client = join();
    sleep_in_turn(client, false);
    if (is_rank_1()) must(forbid(SYS_membarrier, EPERM) == 0);
    meet(client, 1);
    if (is_rank_1()) must(barriers == 0 && longest_ns <= 1000000);
    meet(client, 0);
    if (!is_rank_1()) must(barriers > 0);
    end(client);
}

int main(int argc, char **argv)
{
    const char *when = argc > 1 ? argv[1] : "";
    if (strcmp(when, "early") == 0)
        early();
    else if (strcmp(when, "between") == 0)
        between();
    else if (strcmp(when, "late") == 0)
        late();
    else
        return 1;
    return 0;
}
