/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting: spin, then yield, then sleep on a futex; and waking the threads that sleep.
 *
 * The sleeper:    sleeping + 1, sleepers + 1;  barrier;  look once more;  sleep on the wake word.
 * The signaller:  store the signal;            barrier;  sleepers > 0 ? change the wake words.
 *
 * Either the sleeper's second look sees the signal, or the signaller sees the sleeper: with a full
 * barrier on both sides at most one of the two loads can miss. The signaller is the fast path and
 * the sleeper has time. So where the kernel has membarrier(2), the sleeper's call makes every
 * running rank execute a full barrier, and the signaller needs only a compiler barrier (the idea of
 * asymmetric fences: liburcu's sys_membarrier flavour). The sleeper reads the wake word before its
 * second look, so a change between the look and the sleep ends the sleep at once.
 *
 * membarrier interrupts every processor that runs a rank, and waits for all of them. With more
 * ranks than processors, ranks sleep often, most of all while other programs want the processors.
 * There, the calls took up to half of the system's time, and a fence costs little beside the
 * changes of threads. So the signallers of a client with more ranks than processors use fences, and
 * its sleepers do without membarrier; likewise if the kernel refuses membarrier to one of its ranks
 * when the ranks meet. Only threads of one client signal to each other, so each client decides for
 * itself. If the kernel refuses membarrier later, because memory is short or because the program
 * has given up the permission, the signallers may miss the sleeper. Then it looks by itself after a
 * millisecond.
 *
 * Several threads of a rank may sleep at once, for different clients or contexts, on the same wake
 * word or on different ones. `sleeping` counts them: each thread adds its own 1 before its second
 * look and subtracts it when it is awake. So `sleeping` is above 0 as long as any of them sleeps,
 * and the argument for one thread holds for each. The wake word only counts up. A change wakes all
 * threads that sleep on it; those for which the signal was not meant look in vain and sleep again.
 * A change that happens before a thread announces itself does no harm: the thread reads the changed
 * wake word, and its second look comes later still. Both sides know which wake word belongs to
 * which context (tt_wake_word_of).
 *
 * A thread that also waits for a network sleeps on the network's descriptor, and cannot sleep on
 * the wake word at the same time. Nobody wakes it for signals in memory. It looks by itself after
 * an eighth of the time that it has waited, so it sees what comes through memory later by at most
 * that much, and by at most a millisecond.
 */
#ifndef TT_WAIT_H
#define TT_WAIT_H

#include "job/lock.h"
#include "job/segment.h"

/* A network's wake descriptor, which wakes a waiter in addition to the wake word. It becomes
 * readable when data arrive after arm has returned true. arm returns false if data have arrived
 * already: look again. */
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

/* The wait policy of one client. Local. A wait spins without looking at anything else for the first
 * `quiet` looks, so that a hook costs nothing there: quiet = spins without a hook, and
 * min(spins, hook.first) with one; with a lock it is 0. */
struct tt_wait_policy {
    int spins;        /* looks before the first yield */
    int quiet;        /* looks before the first yield or the first call of the hook */
    int yields;       /* yields before the sleep */
    int cores;        /* processors that the ranks of the node can keep busy */
    int64_t sleep_ns; /* the longest sleep */
    struct tt_wait_hook hook;
    struct tt_lock *lock; /* of the client, which waits release; NULL: its threads share nothing */
    bool exact;           /* makes all yields, also while others seem to want the processors */
    bool can_sleep;
    bool fences; /* signallers use fences, so a thread needs no membarrier before it sleeps */
    const struct tt_wake_descriptor *wake; /* NULL: none */
};

/* Returns the wait policy for this many ranks on this many cores. More ranks than cores means no
 * spin but many yields. `between`: the job has several nodes. */
struct tt_wait_policy tt_wait_policy_for(int ranks, int cores, bool between);
/* Replaces the hook of a policy. */
void tt_wait_set_hook(struct tt_wait_policy *policy, struct tt_wait_hook hook);
/* Makes waits release this lock. */
void tt_wait_set_lock(struct tt_wait_policy *policy, struct tt_lock *lock);
/* Limits the sleeps of a policy, to at most TT_SLEEP_MOST_NS; with 0, waits do not sleep. */
void tt_wait_set_sleep(struct tt_wait_policy *policy, int64_t ns);
/* Returns the number of processors that this process may use: the minimum of affinity and cpuset,
 * and the cgroup's cpu.max. At least 1. */
int tt_usable_cores(void);

/* tt_common_publish_cores publishes the processors that this rank may use. When all ranks of a
 * client have done so, tt_common_find_cores returns the number that they may use together, by the
 * cgroup of this rank, and makes common->cores at most this number. When all ranks have done that,
 * too, common->cores is the same for all of them. */
void tt_common_publish_cores(struct tt_common *common);
int tt_common_find_cores(struct tt_common *common);

/* Registers this process, so that membarrier interrupts its threads. Returns false if that is not
 * possible; then the signallers of the client must use fences. Called before the ranks of a client
 * have met, unless the client uses fences anyway. The first call takes 10 to 30 ms if the process
 * has several threads, and else hardly any time. */
bool tt_wait_register(void);

/* The state of one wait of one thread. */
struct tt_wait {
    const struct tt_wait_policy *policy;
    struct tt_job_page *job;
    struct tt_wake_word *wake_word;
    int64_t until_ns; /* sleeps no longer than until then; INT64_MAX: without limit */
    int64_t since_ns; /* since when it sleeps on a wake descriptor; 0: it has not done so */
    int quiet;   /* looks without a call of the hook: policy->quiet, less those of earlier waits of
                * the same call (tt_wait_afresh) */
    int to_hook; /* if there is a hook: looks until its next call, after the last quiet one */
    int spun, yielded;
    int64_t yields_ns; /* when it was first seen to have yielded often; 0: never */
    bool slow;         /* it has been yielding for long, because others use the processor */
    bool announced;
    bool unsure; /* it has announced itself, but the kernel refused membarrier */
    uint32_t wakes;
};

/* Whether the thread is counted, if it has announced that it sleeps. */
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
/* Changes the wait to another context. */
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

/* Whether it has made all its yields, so that it sleeps next. */
static inline bool tt_wait_is_late(const struct tt_wait *w)
{
    return w->yielded >= w->policy->yields;
}

/* Whether it sleeps between looks, or yields to others for long, so that there is time to look at
 * more. */
static inline bool tt_wait_is_long(const struct tt_wait *w)
{
    return w->announced || w->since_ns != 0 || w->slow;
}

/* Called each time the waiter has looked in vain; returns when it should look again. */
void tt_wait_more(struct tt_wait *w);
/* Called when the wait is over, successful or not. */
void tt_wait_done(struct tt_wait *w);
/* Ends the wait and begins another one of the same kind. The hook's looks are counted on: a call
 * that makes progress again and again may last long, too. */
static inline void tt_wait_afresh(struct tt_wait *w)
{
    tt_wait_done(w);
    if (tt_unlikely(w->policy->hook.call != NULL)) w->quiet = (int)tt_max(0, w->quiet - w->spun);
    w->spun = w->yielded = 0;
    w->since_ns = w->yields_ns = 0;
    w->slow = false;
}

/* TSan does not understand fences, so the protocol uses a sequentially consistent operation
 * there. */
#if defined(__SANITIZE_THREAD__)
#define TT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TT_TSAN 1
#endif
#endif

/* Called after a release store that others may wait for. Returns whether any thread sleeps; the
 * caller must then wake those that the store was for (tt_job_wake). */
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
