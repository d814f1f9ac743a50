/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Takes locks, and remembers which locks a child process has to get anew.
 */
#include "base/process-lock.h"

static struct tt_process_lock *_Atomic locks[16]; /* more than the library has */

static void in_child(void)
{
    for (size_t i = 0; i < sizeof locks / sizeof locks[0]; i++) {
        struct tt_process_lock *lock = atomic_load(&locks[i]);
        if (lock) pthread_mutex_init(&lock->mutex, NULL);
    }
}

static void watch_for_children(void)
{
    (void)pthread_atfork(NULL, NULL, in_child);
}

/* Adds the lock to `locks`. Several threads may do so at the same time; the first entry that is
 * free or has this lock is the same for all of them, because entries are never removed. */
static void list(struct tt_process_lock *lock)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    bool listed = false;
    pthread_once(&once, watch_for_children);
    for (size_t i = 0; i < sizeof locks / sizeof locks[0] && !listed; i++) {
        struct tt_process_lock *nobody = NULL;
        listed = atomic_compare_exchange_strong(&locks[i], &nobody, lock) || nobody == lock;
    }
    atomic_store(&lock->listed, true);
}

/* Lists the lock before it takes it. So if another thread forks while this thread holds the lock,
 * the lock is listed. */
void tt_process_lock(struct tt_process_lock *lock)
{
    if (!atomic_load_explicit(&lock->listed, memory_order_relaxed)) list(lock);
    pthread_mutex_lock(&lock->mutex);
}
