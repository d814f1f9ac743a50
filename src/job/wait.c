/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The slow part of waiting (wait.h): yields, sleeps and wake-ups; and the number of processors. A
 * *look* is one check by a waiting thread whether what it waits for has come. A *signaller* is a
 * thread that does what another thread waits for.
 */
#include "job/wait.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The number of yields between two looks at the clock. */
#define YIELDS_TO_CLOCK 64
/* A yield is long if it takes more than this many ticks of the processor's counter: a third of a
 * millisecond if the counter runs at 3 GHz. */
#define LONG_TICKS 1000000
/* Two long yields follow each other closely if no more ticks than these lie between them: a tenth
 * of a second at 3 GHz. */
#define LONG_TOGETHER_TICKS (100 * INT64_C(3000000))
/* If long yields have followed each other closely for this time, a thread decides whether waits
 * should sleep. Other programs often calculate for some ten milliseconds and then pause; the time
 * covers such a calculation and its pause. */
#define JUDGED_AFTER_NS 100000000
/* Waits sleep only if long yields took at least this percentage of that time. */
#define LONG_PERCENT 90
/* If the ranks used less than this percentage of the processors' time while long yields followed
 * each other, other programs want the processors. */
#define OWN_PERCENT 96
/* If other programs want the processors, waits sleep without yielding for a time between these
 * limits. After that time a thread tries a yield again. */
#define WANTED_LEAST_NS 300000000
#define WANTED_MOST_NS 1000000000
/* The time slice of a thread that sleeps because other processes want the processors. This is the
 * shortest slice that the kernel grants. */
#define SHORT_SLICE_NS 100000
/* A thread that sleeps on a network's descriptor looks again after a time between these limits. If
 * membarrier failed, a signaller may fail to wake a thread; such a thread looks again after the
 * longer time. */
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

/* Returns the cgroup's quota as a number of whole processors; 0: no quota. */
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

/* Returns the smallest quota, as a number of processors, of this process' cgroup and the cgroups
 * above it; 0: none of them has a quota. */
static int cgroup_cores(void)
{
    int least = 0;
    tt_cgroup_each(least_quota, &least);
    return least;
}

/* Returns the number of processors in the affinity mask, which the kernel keeps within the
 * cpuset. */
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

void tt_common_publish_cores(struct tt_common *common)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return;
    for (int cpu = 0; cpu < TT_JOB_CPUS && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set)) atomic_fetch_or(&common->cpus[cpu / 64], UINT64_C(1) << cpu % 64);
}

static int cores_together(const struct tt_common *common)
{
    int published = 0, quota = cgroup_cores();
    for (int i = 0; i < TT_JOB_CPUS / 64; i++) published += __builtin_popcountll(common->cpus[i]);
    if (published == 0) return tt_usable_cores();
    return quota && quota < published ? quota : published;
}

int tt_common_find_cores(struct tt_common *common)
{
    int32_t mine = cores_together(common), least = atomic_load(&common->cores);
    while (least == 0 || mine < least)
        if (atomic_compare_exchange_weak(&common->cores, &least, mine)) break;
    return mine;
}

/* Returns the wait policy. Ranks that share processors and also wait for other nodes yield less
 * often before they sleep, and do not decide whether other programs caused long yields (`exact`).
 * The reason: during such yields the processors mostly do work of the job itself that this rank
 * cannot count. This work is what the kernel does for the network and, in containers, what the
 * ranks of other nodes do. When this rank counted such work as the work of other programs, a bcast
 * of 1 MiB on nodes of 4, 2, 1 and 1 ranks, in containers of one machine, took 5 times as long. In
 * the same test, 20 yields and 4,000 yields made no measurable difference; fewer yields leave more
 * time to other programs.
 */
struct tt_wait_policy tt_wait_policy_for(int ranks, int cores, bool between)
{
    bool crowded = ranks > cores;
    int yields = !crowded ? 1000 : between ? 200 : 4000;
    int spins = (int)tt_setting_int_or("TUTTI_SPINS", crowded ? 0 : 100);
    return (struct tt_wait_policy){.spins = spins,
                                   .quiet = spins,
                                   .sleep_ns = TT_SLEEP_MOST_NS,
                                   .yields = (int)tt_setting_int_or("TUTTI_YIELDS", yields),
                                   .cores = (int)tt_min(ranks, cores),
                                   .exact = crowded && between,
                                   .can_sleep = true};
}

static void set_quiet(struct tt_wait_policy *policy)
{
    policy->quiet = policy->spins;
    if (policy->hook.call) policy->quiet = (int)tt_min(policy->quiet, policy->hook.first);
    if (policy->lock) policy->quiet = 0;
}

void tt_wait_set_hook(struct tt_wait_policy *policy, struct tt_wait_hook hook)
{
    policy->hook = hook;
    set_quiet(policy);
}

void tt_wait_set_lock(struct tt_wait_policy *policy, struct tt_lock *lock)
{
    policy->lock = lock;
    set_quiet(policy);
}

void tt_wait_set_sleep(struct tt_wait_policy *policy, int64_t ns)
{
    policy->can_sleep = ns > 0;
    policy->sleep_ns = tt_min(ns, TT_SLEEP_MOST_NS);
}

/* ---- Processors that other programs want ----
 *
 * A yield gives the processor to another thread that wants to run. If that thread is a rank that
 * waits, it soon gives the processor back by a yield of its own. A thread that calculates keeps the
 * processor for a time slice of some milliseconds, and the waiting thread cannot run before, even
 * if what it waits for comes at once. But a thread that sleeps runs at once when it is woken,
 * because the scheduler prefers threads that have used little time. So if long yields take nearly
 * all the time, because other programs use the processors, waits sleep for a while instead of
 * yielding. The first yields after that while show whether other programs still want the
 * processors.
 *
 * If other programs calculate for half of the time, yields are better than sleeps. A rank that
 * yields loses the time of the long yields, here half of the time. But a rank that sleeps loses
 * more: a sleep and its wake-up take about ten times as long as a yield to another rank, and no
 * wait is then without them. This is also the reason why a few long yields have no effect, such as
 * those during which the host of a virtual machine takes the processor away.
 *
 * With more ranks than processors, a yield is also long if another rank of the job copies or
 * calculates for long. That rank gives the processor back by a yield as soon as it waits, so there
 * is no reason to sleep, and in a collective of many short steps the sleeps and wake-ups would cost
 * more than the steps. The processor time of the ranks shows whether a rank or another program
 * caused the long yields: ranks that yield or calculate use all the time of their processors,
 * unless other programs get some of it. A rank looks at the processors on which it may run itself,
 * because the processors of other ranks may be idle meanwhile. It also looks at all processors
 * together, because a cgroup's quota limits the time on all of them (ranks_were_alone).
 *
 * All waits of the process use the same processors, so the result of one wait holds for all of
 * them. The variables below are read and written without memory ordering: whichever value a thread
 * reads, it waits correctly, by yields or by sleeps. */
/* when the latest series of long yields that follow each other closely began, at the end of its
 * first long yield, as a time and in ticks; and when its last long yield ended; 0: never */
static _Atomic int64_t first_long_ns, first_long_ticks, last_long_ticks;
/* the ticks since then during which at least one thread was in a long yield */
static _Atomic int64_t long_ticks;
/* the processor time that ranks had used at the first long yield: first_used_ns of all ranks,
 * first_here_ns of the ranks with the affinity mask of this process */
static _Atomic int64_t first_used_ns, first_here_ns;
/* until when waits sleep because other programs want the processors; 0: they do not */
static _Atomic int64_t wanted_until_ns;
/* wanted_since_ns: since when other programs have wanted the processors. wanted_ended_ns: the
 * end of the last period in which waits slept for this reason. 0: never */
static _Atomic int64_t wanted_since_ns, wanted_ended_ns;

static int64_t ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return (int64_t)__builtin_ia32_rdtsc();
#else
    return tt_clock_ns() * 3;
#endif
}

static bool processors_are_wanted(void)
{
    int64_t until = atomic_load_explicit(&wanted_until_ns, memory_order_relaxed);
    if (tt_likely(until == 0)) return false;
    if (tt_clock_ns() < until) return true;
    atomic_store_explicit(&wanted_ended_ns, until, memory_order_relaxed);
    /* the next long yield begins a new series */
    atomic_store_explicit(&last_long_ticks, 0, memory_order_relaxed);
    atomic_store_explicit(&wanted_until_ns, 0, memory_order_relaxed);
    return false;
}

/* Processor time that ranks have used. Several ranks may be threads of one process; the time of the
 * process counts once, provided that the numbers of these ranks follow each other. */
struct used {
    int64_t all_ns;  /* of all ranks of this node; -1: not known */
    int64_t here_ns; /* of the ranks with the same affinity mask as this thread */
    int here;        /* the number of ranks counted in here_ns */
};

/* Returns the processor time that a process has used; -1: not known. */
static int64_t used_by(pid_t pid)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return -1;
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static bool runs_on(pid_t pid, const cpu_set_t *mine)
{
    cpu_set_t its;
    return sched_getaffinity(pid, sizeof its, &its) == 0 && CPU_EQUAL(&its, mine);
}

/* Returns the record of the rank that waits. It contains the wake word. */
static const struct tt_job_rank *rank_of(const struct tt_wait *w)
{
    ptrdiff_t bytes = (const char *)w->wake_word - (const char *)w->job->rank;
    return &w->job->rank[(size_t)bytes / sizeof w->job->rank[0]];
}

/* Returns what the ranks have used, and sets `mine` to the processors on which this thread may
 * run. */
static struct used used_by_ranks(const struct tt_wait *w, cpu_set_t *mine)
{
    struct used used = {0};
    if (sched_getaffinity(0, sizeof *mine, mine) != 0) CPU_ZERO(mine);
    const struct tt_job_page *job = w->job;
    const struct tt_job_rank *me = rank_of(w);
    pid_t last = 0;
    for (int r = 0; r < job->size && used.all_ns >= 0; r++) {
        if (job->rank[r].arena < 0) continue;
        pid_t pid = tt_segment_pid(&job->rank[r], me);
        if (pid <= 0) return (struct used){.all_ns = -1};
        bool here = runs_on(pid, mine);
        int64_t ns = pid == last ? 0 : used_by(pid);
        used.all_ns = ns < 0 ? -1 : used.all_ns + ns;
        used.here_ns += here ? ns : 0;
        used.here += here;
        last = pid;
    }
    return used;
}

static bool is_most_of(int64_t used_ns, int64_t ns, int64_t cores)
{
    return used_ns * 100 >= ns * cores * OWN_PERCENT;
}

/* Returns whether the ranks used nearly all the processor time of the last `ns` nanoseconds, either
 * on the processors on which this thread may run, or on all processors of the node's ranks. The
 * processors of this thread alone are not enough to decide, because a cgroup's quota limits the
 * time on all processors together. All processors alone are not enough either, because the
 * processors of other ranks may have been idle while these ranks were blocked in the kernel. */
static bool ranks_were_alone(const struct tt_wait *w, int64_t ns)
{
    cpu_set_t mine;
    const struct used used = used_by_ranks(w, &mine);
    int64_t first = atomic_load_explicit(&first_used_ns, memory_order_relaxed);
    int64_t first_here = atomic_load_explicit(&first_here_ns, memory_order_relaxed);
    int64_t cores = tt_min(used.here, CPU_COUNT(&mine));
    if (used.all_ns < 0 || first < 0) return false;
    return (cores > 0 && is_most_of(used.here_ns - first_here, ns, cores)) ||
           is_most_of(used.all_ns - first, ns, w->policy->cores);
}

static bool yields_were_mostly_long(int64_t until_ticks)
{
    int64_t first = atomic_load_explicit(&first_long_ticks, memory_order_relaxed);
    int64_t in_long = atomic_load_explicit(&long_ticks, memory_order_relaxed);
    return in_long * 100 >= (until_ticks - first) * LONG_PERCENT;
}

/* Begins a new series of long yields, at the end of its first long yield: records the time and the
 * processor times. */
static void begin_long_yields(const struct tt_wait *w, int64_t ended_ticks)
{
    cpu_set_t mine;
    const struct used used = used_by_ranks(w, &mine);
    atomic_store_explicit(&first_long_ns, tt_clock_ns(), memory_order_relaxed);
    atomic_store_explicit(&first_long_ticks, ended_ticks, memory_order_relaxed);
    atomic_store_explicit(&long_ticks, 0, memory_order_relaxed);
    atomic_store_explicit(&first_used_ns, used.all_ns, memory_order_relaxed);
    atomic_store_explicit(&first_here_ns, used.here_ns, memory_order_relaxed);
}

/* Makes waits sleep, instead of yielding, for half as long as other programs have wanted the
 * processors so far, but for no less than WANTED_LEAST_NS and no more than WANTED_MOST_NS. */
static void sleep_for_a_while(int64_t now, int64_t first)
{
    if (first - atomic_load_explicit(&wanted_ended_ns, memory_order_relaxed) > JUDGED_AFTER_NS)
        atomic_store_explicit(&wanted_since_ns, first, memory_order_relaxed);
    int64_t since = now - atomic_load_explicit(&wanted_since_ns, memory_order_relaxed);
    int64_t wanted = tt_max(WANTED_LEAST_NS, tt_min(WANTED_MOST_NS, since / 2));
    atomic_store_explicit(&wanted_until_ns, now + wanted, memory_order_relaxed);
}

/* Records a long yield that began at this count of ticks and has just ended. If long yields have
 * followed each other closely for JUDGED_AFTER_NS, decides whether waits should sleep. Long yields
 * of several threads may overlap, so only the ticks since the last one ended are added. */
static void long_yield(const struct tt_wait *w, int64_t began)
{
    int64_t ended = ticks();
    int64_t last = atomic_exchange_explicit(&last_long_ticks, ended, memory_order_relaxed);
    if (began - last > LONG_TOGETHER_TICKS) {
        begin_long_yields(w, ended);
        return;
    }
    int64_t added = tt_max(0, ended - tt_max(last, began));
    atomic_fetch_add_explicit(&long_ticks, added, memory_order_relaxed);
    int64_t now = tt_clock_ns(), first = atomic_load_explicit(&first_long_ns, memory_order_relaxed);
    if (now - first < JUDGED_AFTER_NS) return;
    if (yields_were_mostly_long(ended) && !ranks_were_alone(w, now - first))
        sleep_for_a_while(now, first);
    else
        begin_long_yields(w, ended);
}

/* The scheduler lets a thread that is woken interrupt a running thread at once only if the time
 * slice of the woken thread ends earlier. So a thread that sleeps because other programs want the
 * processors asks for a short slice, which does not change its share of the processors. It gets its
 * old slice back with the first yield that is not long. Linux 6.12 and later have slices for each
 * thread; earlier kernels report 0 for them. */
static _Thread_local int64_t old_slice_ns; /* 0: the thread has not asked for a short slice */

/* The kernel's struct sched_attr. The kernel's header cannot be included together with the C
 * library's header. */
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

static bool get_scheduling(struct scheduling *is)
{
    return syscall(SYS_sched_getattr, 0, is, sizeof *is, 0) == 0 && is->runtime_ns > 0 &&
           (is->policy == SCHED_OTHER || is->policy == SCHED_BATCH);
}

/* Sets the slice of this thread, and leaves its policy as it is. The flags that get_scheduling has
 * read are not used, because some flags need a permission. */
static bool set_slice(struct scheduling *is, int64_t ns)
{
    is->runtime_ns = (uint64_t)ns;
    is->flags = SCHED_FLAG_KEEP_POLICY;
    return syscall(SYS_sched_setattr, 0, is, 0) == 0;
}

static void shorten_slice(void)
{
    struct scheduling is = {0};
    if (old_slice_ns != 0) return;
    old_slice_ns = -1; /* the thread does not ask again if the kernel does not grant the slice */
    if (!get_scheduling(&is) || is.runtime_ns <= SHORT_SLICE_NS) return;
    int64_t old = (int64_t)is.runtime_ns;
    if (set_slice(&is, SHORT_SLICE_NS)) old_slice_ns = old;
}

static void restore_slice(void)
{
    struct scheduling is = {0};
    if (old_slice_ns > 0 && get_scheduling(&is)) (void)set_slice(&is, old_slice_ns);
    old_slice_ns = 0;
}

/* Sets w->slow if the thread has yielded for longer than TT_SLEEP_MOST_NS. If other processes want
 * the processor, thousands of yields last seconds, and a dead rank must be noticed meanwhile
 * (tt_wait_is_long). */
static void look_at_clock(struct tt_wait *w)
{
    int64_t now = tt_clock_ns();
    if (w->yields_ns == 0) w->yields_ns = now;
    w->slow = now - w->yields_ns > TT_SLEEP_MOST_NS;
}

static void yield(struct tt_wait *w)
{
    if (tt_unlikely(++w->yielded % YIELDS_TO_CLOCK == 0)) look_at_clock(w);
    int64_t before = ticks();
    sched_yield();
    if (tt_unlikely(ticks() - before > LONG_TICKS))
        long_yield(w, before);
    else if (tt_unlikely(old_slice_ns != 0))
        restore_slice();
}

/* ---- Sleeping ---- */

bool tt_wait_register(void)
{
    return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

/* Executes a full barrier on this thread, and, unless signallers use fences, by membarrier on all
 * running threads of the ranks. Returns false if membarrier failed. */
static bool full_barrier(const struct tt_wait *w)
{
#ifdef TT_TSAN
    atomic_fetch_add(&w->job->sleepers, 0);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
    return w->policy->fences || membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0;
}

static void announce(struct tt_wait *w)
{
    atomic_fetch_add(&w->wake_word->sleeping, 1);
    atomic_fetch_add(&w->job->sleepers, 1);
    w->wakes = atomic_load(&w->wake_word->wakes);
    w->announced = true;
    w->unsure = !full_barrier(w);
}

static void sleep_on_wake_word(struct tt_wait *w)
{
    tt_assert(tt_wait_valid(w));
    int64_t ns = w->policy->sleep_ns;
    if (tt_unlikely(w->unsure)) ns = tt_min(ns, DOZE_MOST_NS);
    if (w->until_ns != INT64_MAX) ns = tt_max(0, tt_min(ns, w->until_ns - tt_clock_ns()));
    struct timespec most = {.tv_nsec = (long)ns};
    futex(&w->wake_word->wakes, FUTEX_WAIT, w->wakes, &most);
    tt_wait_done(w);
    /* if the thread is woken for another wait, it sleeps again without another yield */
    w->yielded = w->policy->yields;
}

/* Arms the wake descriptor. Threads that share the client use the client's network one at a time,
 * so a thread that waits takes the lock again for this. */
static bool arm(const struct tt_wait *w)
{
    struct tt_lock *lock = w->policy->lock;
    if (lock) tt_lock_resume(lock);
    bool armed = w->policy->wake->arm(w->policy->wake->arg);
    if (lock) tt_lock_give(lock);
    return armed;
}

/* Sleeps on the wake descriptor for a short time. */
static void doze(struct tt_wait *w)
{
    const struct tt_wake_descriptor *wake = w->policy->wake;
    struct pollfd ready = {.fd = wake->descriptor, .events = POLLIN};
    int64_t now = tt_clock_ns();
    if (w->since_ns == 0) w->since_ns = now;
    int64_t ns = tt_max(DOZE_LEAST_NS, tt_min(DOZE_MOST_NS, (now - w->since_ns) / 8));
    ns = tt_min(ns, w->policy->sleep_ns);
    if (w->until_ns != INT64_MAX) ns = tt_max(0, tt_min(ns, w->until_ns - now));
    struct timespec most = {.tv_nsec = (long)ns};
    if (arm(w)) (void)ppoll(&ready, 1, &most, NULL);
}

/* Returns whether the waiter should yield once more instead of sleeping. */
static bool yields(const struct tt_wait *w)
{
    if (!w->policy->can_sleep) return true;
    if (w->yielded >= w->policy->yields) return false;
    if (w->policy->exact || !processors_are_wanted()) return true;
    shorten_slice();
    return false;
}

static void spin(struct tt_wait *w)
{
    w->spun++;
    tt_relax();
}

static void wait_after_spins(struct tt_wait *w)
{
    if (yields(w))
        yield(w);
    else if (w->policy->wake)
        doze(w);
    else if (!w->announced)
        announce(w); /* the caller looks once more */
    else
        sleep_on_wake_word(w);
}

/* Waits once, and calls the hook if it is time for that. A thread calls the hook before it
 * announces that it will sleep. It does not call the hook between the announcement and the sleep,
 * because in that time every signaller would make a system call to wake the thread. */
static void wait_with_hook(struct tt_wait *w)
{
    const struct tt_wait_hook *hook = &w->policy->hook;
    bool spins = w->spun < w->policy->spins, sleeps = !spins && !yields(w);
    if (hook->call && !w->announced && (w->to_hook-- <= 0 || sleeps)) {
        w->to_hook = hook->every - 1;
        hook->call(hook->arg);
    }
    if (spins)
        spin(w);
    else
        wait_after_spins(w);
}

/* Waits once, with a hook or with the lock of a client that several threads share. The thread
 * announces its sleep without the lock, and the caller looks again with the lock. If another thread
 * of the client handles the awaited event between this look and the sleep, the signal for the event
 * has come after the announcement, so the sleep ends at once. */
static __attribute__((noinline)) void wait_with_lock_or_hook(struct tt_wait *w)
{
    struct tt_lock *lock = w->policy->lock;
    if (lock) tt_lock_pause(lock);
    wait_with_hook(w);
    if (lock) tt_lock_resume(lock);
}

void tt_wait_more(struct tt_wait *w)
{
    if (w->spun < w->quiet)
        spin(w);
    else if (tt_unlikely(w->policy->hook.call || w->policy->lock))
        wait_with_lock_or_hook(w);
    else
        wait_after_spins(w);
}

void tt_wait_done(struct tt_wait *w)
{
    if (!w->announced) return;
    tt_assert(tt_wait_valid(w));
    atomic_fetch_sub(&w->job->sleepers, 1);
    atomic_fetch_sub(&w->wake_word->sleeping, 1);
    w->announced = false;
}

void tt_job_wake(struct tt_job_page *job, int rank, int wake_word)
{
    struct tt_wake_word *b = &job->rank[rank].wake_word[wake_word];
    if (!atomic_load(&b->sleeping)) return;
    atomic_fetch_add(&b->wakes, 1);
    futex(&b->wakes, FUTEX_WAKE, INT_MAX, NULL);
}

void tt_job_wake_all(struct tt_job_page *job)
{
    for (int r = 0; r < job->size; r++)
        for (int wake_word = 0; wake_word < TT_WAKE_WORDS; wake_word++)
            tt_job_wake(job, r, wake_word);
}
