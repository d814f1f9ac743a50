/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes and frees handles, with a queue of freed handles for each kind; makes inherited handles
 * invalid in a child process.
 */
#include "base/handle.h"

#if defined(__SANITIZE_ADDRESS__)
#define ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN 1
#endif
#endif
#ifdef ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#endif

uint32_t tt_handle_mark = 1;

/* ---- In a child process ---- */

/* All kinds of handles. If another thread was changing a queue of freed handles at the time of the
 * fork, the queue may be in any state in the child. So the child begins with empty queues, and does
 * not use the handles in the inherited queues. Because of this, fork need not take the locks of the
 * queues. */
static struct tt_handles *_Atomic kinds[16];

static void in_child(void)
{
    if (++tt_handle_mark == 0) tt_handle_mark = 1;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct tt_handles *kind = atomic_load(&kinds[i]);
        if (!kind) continue;
        pthread_mutex_init(&kind->lock, NULL);
        if (kind->end) kind->inherited = kind->first;
        kind->end = NULL;
        kind->freed = 0;
    }
}

static void watch_for_children(void)
{
    (void)pthread_atfork(NULL, NULL, in_child);
}

/* Sets up a kind of handles, and adds it to `kinds` unless the parent process has added it. Called
 * once in each process for each kind, with the lock of the kind held. */
static void begin(struct tt_handles *kind)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    kind->end = &kind->first;
    pthread_once(&once, watch_for_children);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct tt_handles *nobody = NULL;
        if (atomic_compare_exchange_strong(&kinds[i], &nobody, kind) || nobody == kind) return;
    }
}

/* ---- Handles ---- */

/* Returns the part of a handle after its head. AddressSanitizer reports any access to this part
 * after the handle was freed. */
static void *body_of(struct tt_handle *h)
{
    return h + 1;
}

static struct tt_handle *take_freed(struct tt_handles *kind)
{
    struct tt_handle *h = NULL;
    pthread_mutex_lock(&kind->lock);
    if (!kind->end) begin(kind);
    if (kind->freed > kind->kept) {
        h = kind->first;
        kind->first = h->next;
        kind->freed--;
    }
    pthread_mutex_unlock(&kind->lock);
    return h;
}

void *tt_handle_new(struct tt_handles *kind)
{
    const size_t body = kind->sz - sizeof(struct tt_handle);
    struct tt_handle *h = take_freed(kind);
    if (!h && !(h = tt_alloc_lines(kind->sz))) return NULL;
    ASAN_UNPOISON_MEMORY_REGION(body_of(h), body);
    memset(body_of(h), 0, body);
    atomic_store(&h->mark, tt_handle_mark);
    return h;
}

void tt_handle_free(struct tt_handles *kind, void *handle)
{
    struct tt_handle *h = handle;
    if (!h) return;
    atomic_store(&h->mark, 0);
    ASAN_POISON_MEMORY_REGION(body_of(h), kind->sz - sizeof *h);
    h->next = NULL;
    pthread_mutex_lock(&kind->lock);
    if (!kind->end) begin(kind);
    *kind->end = h;
    kind->end = &h->next;
    kind->freed++;
    pthread_mutex_unlock(&kind->lock);
}

tutti_status tt_handle_fail(const void *handle, const char *name)
{
    const struct tt_handle *h = handle;
    if (!h) return tt_fail(TUTTI_ERR_ARG, "%s is NULL", name);
    if (atomic_load(&h->mark) == 0)
        return tt_fail(TUTTI_ERR_ARG,
                       "%s is of no use any more: it was freed, or its client was finalized", name);
    return tt_fail(TUTTI_ERR_ARG,
                   "%s belongs to the process that forked this one: a child must not use handles "
                   "of its parent; start a program in the child by execve, or call the library "
                   "only in the parent",
                   name);
}
