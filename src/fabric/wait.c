/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The slow half of waiting: yields, sleep, wake-ups, and how many processors there are.
 */
#include "fabric/wait.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A sleep never lasts longer: what nobody can ring for (a rank that was killed together with the
 * launcher) is noticed by looking. */
#define SLEEP_MOST_NS 50000000
/* From one look at the clock to the next. */
#define YIELDS_TO_CLOCK 64
/* The ns from one look to the next of a thread that sleeps on a network's descriptor. */
#define DOZE_LEAST_NS 20000
#define DOZE_MOST_NS 1000000

static long futex(_Atomic uint32_t *word, int what, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, (uint32_t *)word, what, value, timeout, NULL, 0);
}

static long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

/* ---- Processors ---- */

/* Whole processors that the cgroup's quota is worth; 0 if there is none. */
static int quota_of(const char *path)
{
    long long quota, period;
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    int got = fscanf(file, "%lld %lld", &quota, &period);
    fclose(file);
    return got == 2 && period > 0 ? (int)tt_max(1, quota / period) : 0;
}

static void least_quota(const char *folder, void *arg)
{
    char path[PATH_MAX + 96];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    int *least = arg, cores = quota_of(path);
    if (cores && (!*least || cores < *least)) *least = cores;
}

/* The least of the quotas from this process' cgroup up to the root; 0: none. */
static int cgroup_cores(void)
{
    int least = 0;
    tt_cgroup_each(least_quota, &least);
    return least;
}

/* Affinity and cpuset at once: the kernel keeps the one inside the other. */
static int allowed_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return (int)tt_max(1, CPU_COUNT(&set));
    return (int)tt_max(1, sysconf(_SC_NPROCESSORS_ONLN));
}

int tt_usable_cores(void)
{
    int allowed = allowed_cores(), quota = cgroup_cores();
    return quota && quota < allowed ? quota : allowed;
}

void tt_common_tell_cores(struct tt_common *common)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return;
    for (int cpu = 0; cpu < TT_JOB_CPUS && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set)) atomic_fetch_or(&common->cpus[cpu / 64], UINT64_C(1) << cpu % 64);
}

int tt_common_cores(const struct tt_common *common)
{
    int told = 0, quota = cgroup_cores();
    for (int i = 0; i < TT_JOB_CPUS / 64; i++) told += __builtin_popcountll(common->cpus[i]);
    if (told == 0) return tt_usable_cores();
    return quota && quota < told ? quota : told;
}

struct tt_patience tt_patience_for(int ranks, int cores)
{
    bool crowded = ranks > cores;
    return (struct tt_patience){
        .spins = (int)tt_setting_int("TUTTI_SPINS", crowded ? 0 : 100, 0, INT_MAX),
        .yields = (int)tt_setting_int("TUTTI_YIELDS", crowded ? 4000 : 1000, 0, INT_MAX),
        .can_sleep = true};
}

/* ---- Sleeping ---- */

void tt_wait_register(struct tt_job_page *job)
{
    if (membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) != 0) atomic_store(&job->fences, 1);
}

static void full_barrier(struct tt_job_page *job)
{
#ifdef TT_TSAN
    atomic_fetch_add(&job->sleepers, 0);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
    if (!atomic_load_explicit(&job->fences, memory_order_relaxed))
        membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

static void announce(struct tt_wait *w)
{
    atomic_fetch_add(&w->bell->sleeping, 1);
    atomic_fetch_add(&w->job->sleepers, 1);
    w->rung = atomic_load(&w->bell->rung);
    w->announced = true;
    full_barrier(w->job);
}

static void sleep_on_bell(struct tt_wait *w)
{
    int64_t ns = SLEEP_MOST_NS;
    if (w->until_ns != INT64_MAX) ns = tt_max(0, tt_min(ns, w->until_ns - tt_clock_ns()));
    struct timespec most = {.tv_nsec = (long)ns};
    futex(&w->bell->rung, FUTEX_WAIT, w->rung, &most);
    tt_wait_done(w);
    w->yielded = w->patience->yields; /* after a false alarm, announce again at once */
}

static void doze(struct tt_wait *w)
{
    const struct tt_alarm *alarm = w->patience->alarm;
    struct pollfd ready = {.fd = alarm->descriptor, .events = POLLIN};
    int64_t now = tt_clock_ns();
    if (w->since_ns == 0) w->since_ns = now;
    int64_t ns = tt_max(DOZE_LEAST_NS, tt_min(DOZE_MOST_NS, (now - w->since_ns) / 8));
    if (w->until_ns != INT64_MAX) ns = tt_max(0, tt_min(ns, w->until_ns - now));
    struct timespec most = {.tv_nsec = (long)ns};
    if (alarm->arm(alarm->arg)) (void)ppoll(&ready, 1, &most, NULL);
}

/* Where other processes want the processor, thousands of yields last seconds, in which a dead rank
 * is to be noticed. */
static void look_at_clock(struct tt_wait *w)
{
    int64_t now = tt_clock_ns();
    if (w->yields_ns == 0) w->yields_ns = now;
    w->slow = now - w->yields_ns > SLEEP_MOST_NS;
}

void tt_wait_more(struct tt_wait *w)
{
    if (w->spun < w->patience->spins) {
        w->spun++;
        tt_relax();
    } else if (w->yielded < w->patience->yields || !w->patience->can_sleep) {
        if (tt_unlikely(++w->yielded % YIELDS_TO_CLOCK == 0)) look_at_clock(w);
        sched_yield();
    } else if (w->patience->alarm)
        doze(w);
    else if (!w->announced)
        announce(w); /* and look once more */
    else
        sleep_on_bell(w);
}

void tt_wait_done(struct tt_wait *w)
{
    if (!w->announced) return;
    atomic_fetch_sub(&w->job->sleepers, 1);
    atomic_fetch_sub(&w->bell->sleeping, 1);
    w->announced = false;
}

void tt_job_wake(struct tt_job_page *job, int rank, int bell)
{
    struct tt_bell *b = &job->rank[rank].bell[bell];
    if (!atomic_load(&b->sleeping)) return;
    atomic_fetch_add(&b->rung, 1);
    futex(&b->rung, FUTEX_WAKE, INT_MAX, NULL);
}

void tt_job_wake_all(struct tt_job_page *job)
{
    for (int r = 0; r < job->size; r++)
        for (int bell = 0; bell < TT_BELLS; bell++) tt_job_wake(job, r, bell);
}
