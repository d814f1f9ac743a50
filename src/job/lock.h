/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lock of a client that several threads share (tutti_client_share).
 *
 * A thread holds the lock from the beginning of a call to its end, except while it waits. Every
 * wait goes through tt_wait_more (wait.h). This function releases the lock before it spins, yields,
 * sleeps or calls a hook, and takes the lock again before the caller looks once more. So a waiting
 * thread holds the lock only while it looks once, and does not keep the other threads of its rank
 * from making calls for which other ranks wait.
 *
 * Functions of the library call each other, and handlers of messages call functions of the library.
 * If the thread holds the lock already when a call begins, the call neither takes nor releases it.
 */
#ifndef TT_LOCK_H
#define TT_LOCK_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

struct tt_lock {
    pthread_mutex_t mutex;
    _Atomic(const void *) owner; /* identifies the thread that holds the lock; NULL: none */
    atomic_int wanting;          /* the number of threads that begin a call and wait for the lock */
};

/* Returns NULL if there is no memory. */
struct tt_lock *tt_lock_new(void);
void tt_lock_free(struct tt_lock *lock);

/* Returns whether this thread holds the lock. */
bool tt_lock_held(const struct tt_lock *lock);
void tt_lock_take(struct tt_lock *lock);
void tt_lock_give(struct tt_lock *lock);

/* tt_lock_pause releases the lock, and yields so that threads that want the lock can take it;
 * tt_lock_resume takes it again. */
void tt_lock_pause(struct tt_lock *lock);
void tt_lock_resume(struct tt_lock *lock);

/* If `lock` is not NULL and this thread does not hold it yet: takes the lock, makes `call`,
 * releases the lock, and returns the status of `call` from the surrounding function. Otherwise does
 * nothing. A function that needs the lock begins with this macro, and `call` is a call of the same
 * function, whose body then runs with the lock:
 *
 *     TT_LOCKED(client->lock, the_function(its, arguments));
 *
 * On a client that threads do not share, this costs one comparison. */
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
