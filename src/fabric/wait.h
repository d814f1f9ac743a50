/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting: spin, then yield, then sleep on a futex; and waking who sleeps.
 *
 * The sleeper:    sleeping + 1, sleepers + 1;  barrier;  look once more;  sleep on the doorbell.
 * The signaller:  store the signal;            barrier;  sleepers > 0 ? ring the doorbells.
 *
 * Either the sleeper's second look sees the signal, or the signaller sees the sleeper: with a full
 * barrier on both sides at most one of the two loads can miss. The signaller is the fast path and
 * the sleeper has time, so where the kernel has membarrier(2) the sleeper's call makes every
 * running rank execute a full barrier, and the signaller's is only one for the compiler (the idea
 * of asymmetric fences: liburcu's sys_membarrier flavour). The doorbell is read before the second
 * look, so a ring between the look and the sleep ends the sleep at once.
 *
 * Several threads of a rank may sleep at once, for different clients or contexts, on the same bell
 * or on different ones: `sleeping` counts them, each adds its own 1 before its second look and
 * takes it away when it is awake. So it is above 0 for as long as any of them sleeps, and what was
 * argued for one holds for each: the bell only counts up, a ring wakes all that sleep on it, and
 * those that it was not for look in vain and sleep again. A ring before another one announces
 * itself is not lost to that one: it reads the bell after it was rung, and its second look comes
 * later still. Which bell is for what (tt_bell_of) both sides know: what is meant for context c of
 * a rank rings the bell of c.
 *
 * Who waits for a network too sleeps on that one's descriptor, and cannot sleep on the bell at the
 * same time; nobody rings for him, and he looks by himself after an eighth of the time that he has
 * waited, so that what comes through memory is late by no more than that, and by no more than a
 * millisecond.
 */
#ifndef TT_WAIT_H
#define TT_WAIT_H

#include "fabric/segment.h"

/* A network's descriptor, which wakes a waiter besides the wake word. It becomes readable when data
 * arrive after arm has returned true. False: data have arrived, look again. */
struct tt_alarm {
    int descriptor; /* -1: there is none */
    bool (*arm)(void *arg);
    void *arg;
};

/* How one waiter behaves; made once for a client (local). */
struct tt_patience {
    int spins;  /* looks before the first yield */
    int yields; /* yields before the sleep */
    bool can_sleep;
    const struct tt_alarm *alarm; /* NULL: none */
};

/* Ranks on this machine more than cores means no spin but many yields. */
struct tt_patience tt_patience_for(int ranks, int cores);
/* Processors that this process may use: affinity and cpuset, and the cgroup's cpu.max. At least
 * 1. */
int tt_usable_cores(void);

/* Publishes the processors that this rank may use. When all ranks of a client have done so, each
 * rank gets the same number of processors that they may use together, unless their cgroups
 * differ. */
void tt_common_tell_cores(struct tt_common *common);
int tt_common_cores(const struct tt_common *common);

/* Registers this process for membarrier, or has the job's signallers fence. Once, at the start. */
void tt_wait_register(struct tt_job_page *job);

/* The state of one wait, of one thread. */
struct tt_wait {
    const struct tt_patience *patience;
    struct tt_job_page *job;
    struct tt_bell *bell;
    int64_t until_ns; /* sleeps no longer than this; INT64_MAX: for ever */
    int64_t since_ns; /* dozes on the alarm; 0: not yet */
    int spun, yielded;
    int64_t yields_ns; /* when it was seen to have yielded often; 0: not yet */
    bool slow;         /* it has yielded for long, since others use the processor */
    bool announced;
    uint32_t rung;
};

/* Begins a wait of rank `rank` for signals to its context 0. */
static inline void tt_wait_begin(struct tt_wait *w, const struct tt_patience *patience,
                                 struct tt_job_page *job, int rank)
{
    *w = (struct tt_wait){
        .patience = patience, .job = job, .bell = job->rank[rank].bell, .until_ns = INT64_MAX};
}
/* Changes the wait to another context. */
static inline void tt_wait_at(struct tt_wait *w, int context)
{
    w->bell += tt_bell_of(context);
}

static inline void tt_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* It has yielded as often as it will: it goes to sleep next. */
static inline bool tt_wait_is_late(const struct tt_wait *w)
{
    return w->yielded >= w->patience->yields;
}

/* It sleeps between looks, or others use the processor, so that there is time for looking at
 * more. */
static inline bool tt_wait_is_long(const struct tt_wait *w)
{
    return w->announced || w->since_ns != 0 || w->slow;
}

/* Called each time the waiter has looked in vain; returns to have it look again. */
void tt_wait_more(struct tt_wait *w);
/* Called when it has what it waited for, or gives up. */
void tt_wait_done(struct tt_wait *w);
/* Ends the wait and begins the next. */
static inline void tt_wait_afresh(struct tt_wait *w)
{
    tt_wait_done(w);
    w->spun = w->yielded = 0;
    w->since_ns = w->yields_ns = 0;
    w->slow = false;
}

/* TSan knows no fences: the same protocol with a sequentially consistent operation. */
#if defined(__SANITIZE_THREAD__)
#define TT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TT_TSAN 1
#endif
#endif

/* After a release store that others may wait for: whether somebody sleeps, so that the doorbells of
 * those it was for must be rung (tt_job_wake). */
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
