/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lock of a client that several threads share.
 */
#include "job/lock.h"

#include <sched.h>

/* The most yields that a waiting thread makes, after it has released the lock, for threads that
 * begin a call and want the lock. The kernel takes some time to wake one of these threads. Without
 * the yields, the waiting thread, which runs already, would always take the lock first. */
#define YIELDS_MOST 64

/* The address of this variable differs between threads, so it identifies a thread. */
static _Thread_local char self;

struct tt_lock *tt_lock_new(void)
{
    struct tt_lock *lock = tt_calloc(1, sizeof *lock);
    if (lock) pthread_mutex_init(&lock->mutex, NULL);
    return lock;
}

void tt_lock_free(struct tt_lock *lock)
{
    if (lock) pthread_mutex_destroy(&lock->mutex);
    tt_free(lock);
}

static void acquire(struct tt_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    atomic_store_explicit(&lock->owner, &self, memory_order_relaxed);
}

/* Returns whether this thread holds the lock. Only the holder can find the address of its own
 * `self` in `owner`, so the loads and stores of `owner` need no memory ordering. */
bool tt_lock_held(const struct tt_lock *lock)
{
    return atomic_load_explicit(&lock->owner, memory_order_relaxed) == &self;
}

void tt_lock_take(struct tt_lock *lock)
{
    atomic_fetch_add(&lock->wanting, 1);
    acquire(lock);
    atomic_fetch_sub(&lock->wanting, 1);
}

void tt_lock_give(struct tt_lock *lock)
{
    atomic_store_explicit(&lock->owner, NULL, memory_order_relaxed);
    pthread_mutex_unlock(&lock->mutex);
}

void tt_lock_pause(struct tt_lock *lock)
{
    tt_lock_give(lock);
    for (int i = 0; i < YIELDS_MOST && atomic_load(&lock->wanting) > 0; i++) sched_yield();
}

void tt_lock_resume(struct tt_lock *lock)
{
    acquire(lock);
}
