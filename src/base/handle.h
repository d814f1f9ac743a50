/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What stands behind the public handles, and how one that is of no use any more is told from one
 * that is: the client was finalized, the team or plan freed, or this process is a child (by fork)
 * of the one whose handle it is.
 *
 * Each handle begins with a mark. It is that of this process (tt_handle_mark) from its making to
 * its freeing, and 0 afterwards. A child that fork makes has another mark, so every handle that it
 * inherited is refused by the same comparison, which takes the place of that with NULL.
 *
 * The mark of a freed handle may be read at any time, for its memory is never given back: a freed
 * handle waits in a queue of its kind, and is used again by a new handle of that kind only when a
 * few others (`kept`) were freed after it. So memory is bounded by the handles that live at once,
 * and a handle that was freed is refused until so many others were, and then may be another live
 * handle of its kind: calls with it are wrong, but do not crash.
 */
#ifndef TT_HANDLE_H
#define TT_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

/* The first member of each. */
struct tt_handle {
    _Atomic uint32_t mark;
    struct tt_handle *next; /* in the queue */
};

/* All handles of one kind. */
struct tt_handles {
    size_t sz; /* of one */
    int kept;
    pthread_mutex_t lock;
    struct tt_handle *first, **end; /* freed, the oldest first; end NULL: none was yet */
    int freed;
    struct tt_handle *inherited; /* of the parent process: freed there, and not used here */
};
#define TT_HANDLES(type, n)                                                                        \
    {                                                                                              \
        .sz = sizeof(type), .kept = (n), .lock = PTHREAD_MUTEX_INITIALIZER                         \
    }

/* Never 0. It is written in a child alone, before anything else there. */
extern uint32_t tt_handle_mark;

/* A live one on a cache line, zero behind its head; NULL: no memory. */
void *tt_handle_new(struct tt_handles *kind);
void tt_handle_free(struct tt_handles *kind, void *handle);

static inline bool tt_handle_lives(const void *handle)
{
    const struct tt_handle *h = handle;
    return tt_likely(h != NULL) &&
           tt_likely(atomic_load_explicit(&h->mark, memory_order_relaxed) == tt_handle_mark);
}

/* The error of a call with this handle, which does not live: ARG, with what is wrong. */
__attribute__((cold)) tutti_status tt_handle_fail(const void *handle, const char *name);

#define TT_TRY_HANDLE(handle)                                                                      \
    do {                                                                                           \
        if (tt_unlikely(!tt_handle_lives(handle))) return tt_handle_fail(handle, #handle);         \
    } while (0)

#endif
