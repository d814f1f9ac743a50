/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Work queues: any thread hands a context something to do.
 *
 * A push onto a list is one compare-and-swap, and the list is taken whole, by one exchange.
 *
 * Why nothing is lost or done twice: the list is `posted` and what hangs behind it by `next`. A
 * push that succeeds puts a node before just what `posted` was at that moment; the exchange empties
 * it at one moment and is the only taking. So each node is in one list that is taken, once. A
 * pusher looks at no node but its own, so it does not matter whether the one it saw in `posted` was
 * done, freed and made anew meanwhile: if the same address stands there again, its next is right
 * again. Why in order: a thread's second push comes after its first, so it is nearer the head of
 * the same list, or in a list that is taken later; lists are done from their ends to their heads,
 * one after the other. What was written before a push is seen by the work: release there, acquire
 * at the exchange, and the compare-and-swaps between them carry it on. Lock-free: a
 * compare-and-swap fails only because another push or the taking succeeded. The memory of a node is
 * the heap's.
 */
#include "msg/inside.h"

/* The thread that advances the context may sleep, as any of this rank's may. */
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

tutti_status tt_msg_post(tutti_context *context, tutti_work_fn *work, void *arg)
{
    struct tt_work *w = tt_alloc(sizeof *w);
    if (!w) return tt_fail(TUTTI_ERR_MEMORY, "no memory for posted work");
    *w = (struct tt_work){.work = work, .arg = arg};
    tt_work_post(context, w);
    return TUTTI_OK;
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
        /* What is not ours may be gone then. */
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
