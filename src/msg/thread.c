/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks that one thread at a time uses a context, runs posted work, and records errors.
 */
#include "msg/thread.h"

#include <stdio.h>

/* ---- One thread at a time uses a context ---- */

#ifndef NDEBUG
static _Thread_local char thread_here; /* its address identifies the thread */

bool tt_enter(tutti_context *c)
{
    const void *nobody = NULL;
    bool mine = atomic_load_explicit(&c->user, memory_order_relaxed) == &thread_here ||
                atomic_compare_exchange_strong_explicit(&c->user, &nobody, &thread_here,
                                                        memory_order_acquire, memory_order_relaxed);
    if (!mine) {
        tt_warn("context %d is used by two threads at once: only one thread at a time may use it, "
                "except by tutti_post",
                c->index);
        tt_assert_failed("a context is used by one thread at a time", __FILE__, __LINE__);
    }
    c->users++;
    return true;
}

bool tt_leave(tutti_context *c)
{
    if (--c->users == 0) atomic_store_explicit(&c->user, NULL, memory_order_release);
    return true;
}

/* The innermost of the contexts that this thread advances. The member `outer` of a context leads to
 * the next one; NULL: there is none. */
static _Thread_local const tutti_context *inside;

bool tt_msg_outside(const struct tt_msg *msg, const char *what)
{
    for (const tutti_context *c = inside; c; c = c->outer) {
        if (c->msg != msg) continue;
        tt_warn("%s inside a handler, completion function or posted work of context %d: these may "
                "send, receive, post and the like, but not wait for anything (tutti/message.h)",
                what, c->index);
        tt_assert_failed("what a context calls neither advances nor waits", __FILE__, __LINE__);
    }
    return true;
}

bool tt_enter_advance(tutti_context *c)
{
    (void)tt_enter(c);
    (void)tt_msg_outside(c->msg, "tutti_advance, or a call that waits,");
    c->outer = inside;
    inside = c;
    return true;
}

bool tt_leave_advance(tutti_context *c)
{
    inside = c->outer;
    return tt_leave(c);
}
#endif

/* ---- Posted work ---- */

/* Posted work: any thread hands a context something to do. The work that was posted to a context is
 * a list; each *node* of the list is a struct tt_work.
 *
 * A push onto the list is one compare-and-swap; the list is taken as a whole, by one exchange.
 *
 * Why no work is lost or done twice: the list consists of the node in `posted` and the nodes that
 * follow it by `next`. A push that succeeds puts its node before the node that was in `posted` at
 * that moment. The exchange empties the list at one moment, and only the exchange takes nodes. So
 * each node is in exactly one list that is taken. A push accesses no node but its own. So it does
 * no harm if the node that the push saw in `posted` was done, freed and allocated again meanwhile:
 * if `posted` holds the same address again, the pushed node's `next` is right again.
 *
 * Why the order is kept: a second push of a thread comes after its first, so its node is nearer to
 * the head of the same list, or in a list that is taken later. The context does the work of one
 * list after the other, and in each list from its end to its head.
 *
 * Why the work sees what was written before the push: the push releases, the exchange acquires, and
 * the compare-and-swaps between them continue the release sequence. The push is lock-free: a
 * compare-and-swap fails only because another push or the exchange has succeeded. The nodes are
 * allocated from the heap. */

/* Wakes the thread that advances the context, which may be asleep. */
static void wake(tutti_context *context)
{
    tt_context_used(context);
    tt_fabric_signalled_context(context->f, context->f->me, context->index);
}

void tt_work_post(tutti_context *context, struct tt_work *work)
{
    work->next = atomic_load_explicit(&context->posted, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&context->posted, &work->next, work,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    wake(context);
}

static struct tt_work *oldest_first(struct tt_work *w)
{
    struct tt_work *oldest = NULL;
    for (struct tt_work *next; w; w = next) {
        next = w->next;
        w->next = oldest;
        oldest = w;
    }
    return oldest;
}

int tt_work_do(tutti_context *context)
{
    int n = 0;
    struct tt_work *w = atomic_exchange_explicit(&context->posted, NULL, memory_order_acquire);
    w = oldest_first(w);
    for (struct tt_work *next; w; w = next, n++) {
        next = w->next;
        bool ours = !w->drop;
        /* work that the library has posted may free *w itself, so *w is not read after the call */
        if (!ours || !context->msg->leaving) w->work(context, w->arg);
        if (ours) tt_free(w);
    }
    return n;
}

void tt_work_drop(tutti_context *context)
{
    struct tt_work *w = atomic_exchange_explicit(&context->posted, NULL, memory_order_acquire);
    for (struct tt_work *next; w; w = next) {
        next = w->next;
        if (w->drop)
            w->drop(w);
        else
            tt_free(w);
    }
}

tutti_status tt_msg_post(tutti_context *context, tutti_work_fn *work, void *arg)
{
    struct tt_work *w = tt_alloc(sizeof *w);
    if (!w) return tt_fail(TUTTI_ERR_MEMORY, "no memory for posted work");
    *w = (struct tt_work){.work = work, .arg = arg};
    tt_work_post(context, w);
    return TUTTI_OK;
}

/* ---- Errors ---- */

void tt_context_fault(tutti_context *c, tutti_status status)
{
    if (c->status == TUTTI_OK) {
        c->status = status;
        snprintf(c->why, sizeof c->why, "%s", tutti_error());
    }
    tt_error_undo();
}
