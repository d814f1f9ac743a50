/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Locks of what all threads of the process share, such as the table of derived types.
 *
 * A child process that fork makes has only the thread that called fork. If another thread of the
 * parent holds a lock at this moment, nobody in the child would ever release it. So the child gets
 * all these locks anew, and finds them free. It also finds what a lock protects as the other thread
 * has left it, maybe in the middle of a change. So a change must leave, after each of its stores,
 * something that the child can use: it writes a new entry first, and then, by an atomic store or
 * after a release fence, the word by which others find the entry.
 */
#ifndef TT_PROCESS_LOCK_H
#define TT_PROCESS_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct tt_process_lock {
    pthread_mutex_t mutex;
    atomic_bool listed; /* a child process gets the lock anew */
};
#define TT_PROCESS_LOCK                                                                            \
    {                                                                                              \
        .mutex = PTHREAD_MUTEX_INITIALIZER                                                         \
    }

/* The lock must last as long as the process. */
void tt_process_lock(struct tt_process_lock *lock);
static inline void tt_process_unlock(struct tt_process_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

#endif
