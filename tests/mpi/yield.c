/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Linked into the programs that run under MPICH: makes a rank that waits in MPICH leave its
 * processor to others. There are more ranks than processors, and other tests run at the same time.
 * MPICH polls UCX, and yields only in some of its loops, if MPIR_CVAR_POLLS_BEFORE_YIELD says so.
 * Without this file a rank that waits uses up its time slice while the rank for which it waits has
 * no processor. Open MPI yields by itself if it knows that ranks share processors.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* After IDLE_POLLS polls in a row that found nothing, each further poll without success is followed
 * by a sleep of SLEEP_US microseconds. */
enum { IDLE_POLLS = 50, SLEEP_US = 50 };

unsigned ucp_worker_progress(void *worker);
/* Is called before each poll; NULL: nothing is called. */
int (*before_poll)(void);
/* Whether Tutti has polled, because MPICH calls Tutti in place of UCX (src/mpi/drive.h). */
atomic_bool polled_by_tutti;

static void note_caller(void *caller)
{
    static _Atomic(void *) last;
    Dl_info object;
    if (atomic_exchange(&last, caller) == caller || !dladdr(caller, &object)) return;
    if (strstr(object.dli_fname, "libtutti_mpi")) polled_by_tutti = true;
}

/* Replaces the function of UCX: the dynamic linker finds that of the program first. */
unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*poll)(void *);
    static atomic_int idle; /* shared by all threads: with LD_AUDIT there is no room for
                             * thread-local variables */
    if (!poll) poll = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    note_caller(__builtin_return_address(0));
    if (before_poll) before_poll();
    unsigned events = poll(worker);
    if (events)
        idle = 0;
    else if (atomic_fetch_add(&idle, 1) < IDLE_POLLS)
        sched_yield();
    else
        usleep(SLEEP_US);
    return events;
}
