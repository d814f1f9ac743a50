/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The head of all public handles. By the head the library recognises a handle that must not be used
 * any more: the handle was freed, its client was finalized, or this process is a child (by fork) of
 * the process to which the handle belongs.
 *
 * Each handle begins with a mark. The mark is tt_handle_mark of this process while the handle is
 * live, and 0 once it is freed. A child that fork makes has another tt_handle_mark. So one
 * comparison of the mark with tt_handle_mark refuses freed handles and all handles that the child
 * inherited, and takes no longer than a comparison with NULL.
 *
 * The library may read the mark of a freed handle at any time, because it never returns the memory
 * of handles. A freed handle waits in a queue of its kind. Its memory becomes a new handle only
 * after `kept` other handles of its kind were freed. So the memory is bounded by the number of
 * handles that are live at the same time, plus `kept`. The library recognises a freed handle until
 * `kept` other handles have been freed. After that, the same address may be that of a new handle of
 * the same kind: a call with the old handle then acts on the new handle, but does not crash.
 */
#ifndef TT_HANDLE_H
#define TT_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

/* The first member of every handle. */
struct tt_handle {
    _Atomic uint32_t mark;
    struct tt_handle *next; /* the next handle in the queue of freed handles */
};

/* All handles of one kind. */
struct tt_handles {
    size_t sz; /* size of a handle */
    int kept;
    pthread_mutex_t lock;
    /* The queue of freed handles: `first` is the oldest, and `end` points to the pointer in which
     * the next freed handle is stored. `end` is NULL until the kind is set up. */
    struct tt_handle *first, **end;
    int freed;
    struct tt_handle *inherited; /* in a child: the handles of the parent's queue; never used */
};
#define TT_HANDLES(type, n)                                                                        \
    {                                                                                              \
        .sz = sizeof(type), .kept = (n), .lock = PTHREAD_MUTEX_INITIALIZER                         \
    }

/* The mark of the live handles of this process; never 0. In a child process, the value changes
 * right after the fork, so the parent's handles are not live in the child. */
extern uint32_t tt_handle_mark;

/* Returns a live handle, which is aligned to a cache line, and zero after its head; NULL: no
 * memory. */
void *tt_handle_new(struct tt_handles *kind);
void tt_handle_free(struct tt_handles *kind, void *handle);
/* Ends a handle whose memory the library still uses. The library calls tt_handle_free later. */
static inline void tt_handle_end(void *handle)
{
    atomic_store(&((struct tt_handle *)handle)->mark, 0);
}

static inline bool tt_handle_lives(const void *handle)
{
    const struct tt_handle *h = handle;
    return tt_likely(h != NULL) &&
           tt_likely(atomic_load_explicit(&h->mark, memory_order_relaxed) == tt_handle_mark);
}

/* Returns ARG, with the reason, for a call with a handle that is not live. */
__attribute__((cold)) tutti_status tt_handle_fail(const void *handle, const char *name);

#define TT_TRY_HANDLE(handle)                                                                      \
    do {                                                                                           \
        if (tt_unlikely(!tt_handle_lives(handle))) return tt_handle_fail(handle, #handle);         \
    } while (0)

#endif
