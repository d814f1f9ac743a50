/* SPDX-License-Identifier: BSD-3-Clause
 *
 * readers N: a job of one rank, to be traced. Three threads read the rank's memory N times each
 * through the fabric, as contexts do, while the main thread makes collectives. Then the main thread
 * reads, and while it records this, another thread reads, too.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "api/api.h"
#include "ranks.h"

enum { READERS = 3, CALLS = 200, SIZE = 64 };

static struct tt_fabric *fabric;
static int n;
static _Atomic int begun;
static char memory[SIZE];

static void read_once(void)
{
    char to[SIZE];
    EXPECT(tt_fabric_read(fabric, 0, to, tt_fabric_address(fabric, memory), SIZE) == TUTTI_OK);
}

/* ---- A read while another one is recorded ---- */

/* the calls of the clock that the main thread still makes before it lets the other thread read; -1:
 * it does not */
static _Thread_local int calls_left = -1;
static _Atomic bool may_read, has_read;

static void *read_meanwhile(void *unused)
{
    while (!atomic_load(&may_read)) sched_yield();
    read_once();
    atomic_store(&has_read, true);
    return unused;
}

/* The linker calls this function in place of the library's (`--wrap` in CMakeLists.txt). A read
 * that is traced calls it before the read and while it records the read. In the second call, the
 * main thread gives the other thread much time to record a read, which must wait until the first
 * one is recorded. */
int64_t __real_tt_clock_ns(void);
int64_t __wrap_tt_clock_ns(void);

int64_t __wrap_tt_clock_ns(void)
{
    if (calls_left >= 0 && calls_left-- == 0) {
        atomic_store(&may_read, true);
        for (int i = 0; i < 10000 && !atomic_load(&has_read); i++) sched_yield();
    }
    return __real_tt_clock_ns();
}

static void read_two(void)
{
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, read_meanwhile, NULL) == 0);
    calls_left = 1;
    read_once();
    EXPECT(pthread_join(thread, NULL) == 0);
}

/* ---- Many reads ---- */

/* Reads after all threads have begun, so that they read at the same time. */
static void *read_often(void *unused)
{
    atomic_fetch_add(&begun, 1);
    while (atomic_load(&begun) < READERS) sched_yield();
    for (int i = 0; i < n; i++) read_once();
    return unused;
}

int main(int argc, char **argv)
{
    tutti_client *client;
    pthread_t thread[READERS];
    double in = 1, out = 0;
    n = argc > 1 ? atoi(argv[1]) : 1;
    EXPECT(tutti_init(&client) == TUTTI_OK);
    fabric = &client->fabric;
    EXPECT(tutti_barrier(tutti_world(client)) == TUTTI_OK);
    for (int i = 0; i < READERS; i++)
        EXPECT(pthread_create(&thread[i], NULL, read_often, NULL) == 0);
    for (int i = 0; i < CALLS; i++)
        EXPECT(tutti_allreduce(tutti_world(client), &in, &out, 1, TUTTI_F64, TUTTI_SUM) ==
               TUTTI_OK);
    for (int i = 0; i < READERS; i++) EXPECT(pthread_join(thread[i], NULL) == 0);
    read_two();
    EXPECT(tutti_finalize(client) == TUTTI_OK);
    return 0;
}
