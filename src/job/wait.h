/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting: spin, then yield, then sleep on a futex; and waking the threads that sleep.
 *
 * The sleeper:    sleeping + 1, sleepers + 1;  barrier;  look once more;  sleep on the wake word.
 * The signaller:  store the signal;            barrier;  sleepers > 0 ? change the wake words.
 *
 * `sleeping` is the count of one wake word, and `sleepers` that of the whole node (segment.h).
 *
 * Either the sleeper's second look sees the signal, or the signaller sees the sleeper: with a full
 * barrier on both sides at most one of the two loads can return the old value. The signaller must
 * be fast, and the sleeper has time. So where the kernel has membarrier(2), the sleeper calls it to
 * make every running rank execute a full barrier. The signaller then needs only a compiler barrier.
 * (These are asymmetric fences, as in liburcu's sys_membarrier flavour.) The sleeper reads the wake
 * word before its second look, so a change between the look and the sleep ends the sleep at once.
 *
 * membarrier interrupts every processor that runs a rank, and waits for all of them. With more
 * ranks than processors, ranks sleep often, most of all while other programs want the processors.
 * In such jobs, calls of membarrier took up to half of the time that the processors spent in the
 * kernel, while the time of a fence is small compared with that of a switch between threads. So the
 * signallers of a client with more ranks than processors use fences, and its sleepers do without
 * membarrier. The same holds for a client if the kernel refuses membarrier to one of its ranks when
 * the ranks meet. Only threads of one client signal to each other, so each client decides by
 * itself. If the kernel refuses membarrier later, because memory is short or because the program
 * has given up the permission, a signaller may miss a sleeper. For this case the sleeper looks
 * again after a millisecond.
 *
 * Several threads of a rank may sleep at once, for different clients or contexts, on the same wake
 * word or on different ones. `sleeping` counts these threads: each thread adds 1 before its second
 * look and subtracts 1 when it is awake. So `sleeping` is above 0 as long as any of them sleeps,
 * and the argument for one thread holds for each of them. A wake word is only incremented. Each
 * increment wakes all threads that sleep on the wake word; a thread for which the signal was not
 * meant looks in vain and sleeps again. An increment before a thread announces that it will sleep
 * does no harm: the thread reads the new wake word, and after that it looks for the second time.
 * Both sides know which wake word belongs to which context (tt_wake_word_of).
 *
 * A thread that also waits for a network sleeps on the network's descriptor, and cannot sleep on
 * the wake word at the same time. Signallers do not wake such a thread for signals in memory. It
 * looks again after an eighth of the time that it has waited, and after at most a millisecond, so
 * it sees a signal in memory late by at most this time.
 */
#ifndef TT_WAIT_H
#define TT_WAIT_H

#include "job/lock.h"
#include "job/segment.h"

/* A network's wake descriptor, on which a waiter sleeps instead of on the wake word. It becomes
 * readable when data arrive after `arm` has returned true. `arm` returns false if data have arrived
 * already; the waiter must look again. */
struct tt_wake_descriptor {
    int descriptor; /* -1: there is none */
    bool (*arm)(void *arg);
    void *arg;
};

/* The longest sleep. Some events wake no sleeper, for example if a rank is killed together with the
 * launcher. The sleeper notices them because it looks again after this time. */
#define TT_SLEEP_MOST_NS 50000000

/* A function that a waiting thread calls, after `first` looks in vain, then after every `every`
 * looks in vain, and before each sleep. */
struct tt_wait_hook {
    void (*call)(void *arg); /* NULL: there is none */
    void *arg;
    int first, every; /* at least 1 */
};

/* The wait policy of one client on this rank. In the first `quiet` looks, a wait only spins, and
 * does not check whether there is a hook or a lock. quiet = spins without a hook, min(spins,
 * hook.first) with a hook, and 0 with a lock. */
struct tt_wait_policy {
    int spins;        /* looks before the first yield */
    int quiet;        /* looks before the first yield or the first call of the hook */
    int yields;       /* the most yields before the sleep */
    int cores;        /* processors that the ranks of the node can keep busy */
    int64_t sleep_ns; /* the longest sleep */
    struct tt_wait_hook hook;
    /* the lock of the client: a thread releases it while it waits. NULL: threads do not share the
     * client */
    struct tt_lock *lock;
    /* a wait makes all its yields, even if other programs seem to want the processors */
    bool exact;
    bool can_sleep; /* false: a wait yields until it ends */
    bool fences;    /* signallers use fences, so a thread needs no membarrier before it sleeps */
    /* the wake descriptor of the network; NULL: there is none */
    const struct tt_wake_descriptor *wake;
};

/* Returns the wait policy for this many ranks on this many processors. With more ranks than
 * processors, waits do not spin, but yield. `between`: the job has several nodes. TUTTI_SPINS and
 * TUTTI_YIELDS override the numbers of looks and yields. */
struct tt_wait_policy tt_wait_policy_for(int ranks, int cores, bool between);
/* Replaces the hook of a policy. */
void tt_wait_set_hook(struct tt_wait_policy *policy, struct tt_wait_hook hook);
/* Sets the lock that a wait releases; NULL: a wait releases no lock. */
void tt_wait_set_lock(struct tt_wait_policy *policy, struct tt_lock *lock);
/* Limits the sleeps of a policy, to at most TT_SLEEP_MOST_NS; with 0, waits do not sleep. */
void tt_wait_set_sleep(struct tt_wait_policy *policy, int64_t ns);
/* Returns the number of processors that this process may use: the least of its affinity mask, its
 * cpuset, and its cgroup's cpu.max. At least 1. */
int tt_usable_cores(void);

/* tt_common_publish_cores publishes the processors that this rank may use. When all ranks of a
 * client have done so, tt_common_find_cores returns the number of processors that the ranks may use
 * together, limited by the cgroup quota of this rank. It also makes sure that common->cores is at
 * most this number. When all ranks have called tt_common_find_cores, common->cores does not change
 * any more. */
void tt_common_publish_cores(struct tt_common *common);
int tt_common_find_cores(struct tt_common *common);

/* Registers this process, so that membarrier interrupts its threads. Returns false if that is not
 * possible; in this case the signallers of the client must use fences. Call this before the ranks
 * of a client have met, unless the client uses fences anyway. The first call takes 10 to 30 ms if
 * the process has several threads, and hardly any time otherwise. */
bool tt_wait_register(void);

/* The state of one wait of one thread. */
struct tt_wait {
    const struct tt_wait_policy *policy;
    struct tt_job_page *job;
    struct tt_wake_word *wake_word;
    int64_t until_ns; /* a sleep ends at this time at the latest; INT64_MAX: no limit */
    /* when the thread first slept on a wake descriptor; 0: it has not done so yet */
    int64_t since_ns;
    /* in how many looks the wait only spins, and does not check whether to call the hook:
     * policy->quiet, less the looks that earlier waits in the same call of the library have made
     * (tt_wait_afresh) */
    int quiet;
    /* if there is a hook: how many looks remain, after the quiet ones, until the hook is called
     * next */
    int to_hook;
    int spun, yielded;
    /* when the thread first looked at the clock between yields; 0: it has not looked yet */
    int64_t yields_ns;
    /* the thread has yielded for longer than TT_SLEEP_MOST_NS, because other threads use the
     * processor */
    bool slow;
    bool announced; /* the thread has announced that it will sleep: it is counted in `sleeping` */
    /* the thread has announced that it will sleep, but the kernel refused membarrier */
    bool unsure;
    uint32_t wakes; /* the value of `wakes` in the wake word at the time of the announcement */
};

/* Returns whether the wait's invariant holds: a thread that has announced that it will sleep is
 * counted in `sleeping` and `sleepers`. */
static inline bool tt_wait_valid(const struct tt_wait *w)
{
    return !w->announced ||
           (atomic_load(&w->wake_word->sleeping) > 0 && atomic_load(&w->job->sleepers) > 0);
}

/* Begins a wait of rank `rank` for signals to its context 0. */
static inline void tt_wait_begin(struct tt_wait *w, const struct tt_wait_policy *policy,
                                 struct tt_job_page *job, int rank)
{
    *w = (struct tt_wait){.policy = policy,
                          .job = job,
                          .wake_word = job->rank[rank].wake_word,
                          .until_ns = INT64_MAX,
                          .quiet = policy->quiet,
                          .to_hook = policy->hook.first - policy->quiet};
}
/* Changes a wait that has just begun to a wait for signals to another context. */
static inline void tt_wait_at(struct tt_wait *w, int context)
{
    w->wake_word += tt_wake_word_of(context);
}

static inline void tt_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Returns whether the wait has made all its yields, so that it sleeps next. */
static inline bool tt_wait_is_late(const struct tt_wait *w)
{
    return w->yielded >= w->policy->yields;
}

/* Returns whether the wait sleeps between looks, or has yielded for long, so that its caller has
 * time to check for rare events, such as dead ranks. */
static inline bool tt_wait_is_long(const struct tt_wait *w)
{
    return w->announced || w->since_ns != 0 || w->slow;
}

/* Call this each time that the waiter has looked in vain. Spins, yields or sleeps, and returns when
 * the waiter should look again. */
void tt_wait_more(struct tt_wait *w);
/* Ends the wait. Call this when the waiter looks no longer, whether or not the signal came. */
void tt_wait_done(struct tt_wait *w);
/* Ends the wait and begins another wait of the same kind. The count of looks until the next call of
 * the hook goes on: a collective that makes progress again and again may last long, and the hook
 * must still be called. */
static inline void tt_wait_afresh(struct tt_wait *w)
{
    tt_wait_done(w);
    if (tt_unlikely(w->policy->hook.call != NULL)) w->quiet = (int)tt_max(0, w->quiet - w->spun);
    w->spun = w->yielded = 0;
    w->since_ns = w->yields_ns = 0;
    w->slow = false;
}

/* TSan does not understand fences, so under TSan the protocol uses a sequentially consistent
 * operation instead. */
#if defined(__SANITIZE_THREAD__)
#define TT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TT_TSAN 1
#endif
#endif

/* Call this after a release store for which other ranks may wait. Returns whether any thread of the
 * node sleeps. If so, the caller must wake the threads that may wait for this store
 * (tt_job_wake). */
static inline bool tt_signalled(struct tt_job_page *job, bool fences)
{
#ifdef TT_TSAN
    (void)fences;
    return atomic_fetch_add(&job->sleepers, 0) > 0;
#else
    if (tt_unlikely(fences))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
    return tt_unlikely(atomic_load_explicit(&job->sleepers, memory_order_relaxed) > 0);
#endif
}

#endif
