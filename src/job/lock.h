/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lock of a client that several threads share (tutti_client_share).
 *
 * A thread holds it from the beginning of a call to its end, except while it waits: every wait goes
 * through tt_wait_more (wait.h), which releases the lock before it spins, yields, sleeps or calls a
 * hook, and takes it again before the caller looks once more. So a thread holds the lock for one
 * look at most, and a thread that waits for another rank keeps no other thread of its rank from
 * making the call for which that rank waits.
 *
 * The functions of the library call each other, and handlers of messages call it, too. A call that
 * finds that its thread holds the lock already leaves it as it is.
 */
#ifndef TT_LOCK_H
#define TT_LOCK_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

struct tt_lock {
    pthread_mutex_t mutex;
    _Atomic(const void *) owner; /* identifies the thread that holds the lock; NULL: none */
    atomic_int wanting;          /* threads that begin a call and wait for the lock */
};

/* Returns NULL if there is no memory. */
struct tt_lock *tt_lock_new(void);
void tt_lock_free(struct tt_lock *lock);

/* Whether this thread holds the lock. */
bool tt_lock_held(const struct tt_lock *lock);
void tt_lock_take(struct tt_lock *lock);
void tt_lock_give(struct tt_lock *lock);

/* tt_lock_pause releases the lock, and lets threads pass that want it; tt_lock_resume takes it
 * again. */
void tt_lock_pause(struct tt_lock *lock);
void tt_lock_resume(struct tt_lock *lock);

/* If there is a lock (not NULL) which this thread does not hold yet, makes the same call once more
 * while it holds the lock, and returns its status. So a function begins with
 *
 *     TT_LOCKED(client->lock, the_function(its, arguments));
 *
 * and a call on a client that nobody shares costs one comparison. */
#define TT_LOCKED(lock, call)                                                                      \
    do {                                                                                           \
        struct tt_lock *tt_lock = (lock);                                                          \
        if (tt_unlikely(tt_lock != NULL) && !tt_lock_held(tt_lock)) {                              \
            tt_lock_take(tt_lock);                                                                 \
            tutti_status tt_locked = (call);                                                       \
            tt_lock_give(tt_lock);                                                                 \
            return tt_locked;                                                                      \
        }                                                                                          \
    } while (0)

#endif
