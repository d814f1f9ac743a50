/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Work queues: any thread hands a context something to do.
 *
 * A push onto a list is one compare-and-swap, and the list is taken whole, so nothing is freed while another thread looks at
 * it and no node can be taken for another one that lay there before (ABA).
 */
#include "msg/inside.h"

/* The thread that advances the context may sleep, as any of this rank's may. */
static void wake(tutti_context *context)
{
    if (!(atomic_load_explicit(&context->mail->news, memory_order_relaxed) & TT_MAIL_IN_USE))
        atomic_fetch_or_explicit(&context->mail->news, TT_MAIL_IN_USE, memory_order_relaxed);
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
        w->work(context, w->arg); /* what is not ours may be gone then */
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
