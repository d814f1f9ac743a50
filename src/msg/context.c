/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The messaging of a client, its contexts, and the work that is posted to a context.
 */
#include "msg/inside.h"

#include <string.h>

#include "msg/pull.h"
#include "msg/region.h"
#include "msg/wired.h"

/* ---- Posted work ---- */

/* Posted work: any thread hands a context something to do.
 *
 * A push onto the list is one compare-and-swap; the list is taken as a whole, by one exchange.
 *
 * Why no work is lost or done twice: the list consists of `posted` and the nodes behind it, linked
 * by `next`. A push that succeeds puts its node before what `posted` was at that moment. The
 * exchange empties the list at one moment, and only the exchange takes nodes. So each node is in
 * exactly one list that is taken. A push accesses no node but its own, so it does not matter
 * whether the node that it saw in `posted` was done, freed and allocated again meanwhile: if
 * `posted` holds the same address again, `next` is right again.
 *
 * Why the order is kept: a second push of a thread comes after its first, so its node is nearer to
 * the head of the same list, or in a list that is taken later. The lists are done one after the
 * other, each from its end to its head.
 *
 * Why the work sees what was written before the push: the push releases, the exchange acquires, and
 * the compare-and-swaps between them continue the release sequence. The push is lock-free: a
 * compare-and-swap fails only because another push or the exchange has succeeded. The nodes are
 * allocated from the heap. */

/* The thread that advances the context may sleep, like any thread of this rank. */
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

/* Runs the work that was posted, in the order of posting; returns how much it was. */
static int work_do(tutti_context *context)
{
    int n = 0;
    struct tt_work *w = atomic_exchange_explicit(&context->posted, NULL, memory_order_acquire);
    w = oldest_first(w);
    for (struct tt_work *next; w; w = next, n++) {
        next = w->next;
        bool ours = !w->drop;
        /* the work of the library may have freed its node */
        if (!ours || !context->msg->leaving) w->work(context, w->arg);
        if (ours) tt_free(w);
    }
    return n;
}

/* Drops the work that was posted and not run. */
static void work_drop(tutti_context *context)
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

/* ---- Contexts ---- */

/* Messaging of a client and its contexts: opening, advancing and closing. */

/* ---- One thread at a time uses a context ---- */

#ifndef NDEBUG
static _Thread_local char thread_here; /* its address identifies the thread */

void tt_enter(tutti_context *c)
{
    const void *nobody = NULL;
    bool mine = atomic_load_explicit(&c->user, memory_order_relaxed) == &thread_here ||
                atomic_compare_exchange_strong_explicit(&c->user, &nobody, &thread_here,
                                                        memory_order_acquire, memory_order_relaxed);
    if (!mine) {
        tt_warn("context %d is used by two threads at once: one at a time may (tutti_post alone "
                "takes it from any)",
                c->index);
        tt_assert_failed("a context is used by one thread at a time", __FILE__, __LINE__);
    }
    c->users++;
}

void tt_leave(tutti_context *c)
{
    if (--c->users == 0) atomic_store_explicit(&c->user, NULL, memory_order_release);
}

/* The contexts that this thread advances, the innermost first. */
static _Thread_local const tutti_context *inside;

void tt_msg_outside(const struct tt_msg *msg, const char *what)
{
    for (const tutti_context *c = inside; c; c = c->outer) {
        if (c->msg != msg) continue;
        tt_warn("%s inside a handler, completion function or posted work of context %d: these may "
                "send, receive, post and the like, but not wait for anything (tutti/message.h)",
                what, c->index);
        tt_assert_failed("what a context calls neither advances nor waits", __FILE__, __LINE__);
    }
}

static void go_inside(tutti_context *c)
{
    tt_msg_outside(c->msg, "tutti_advance, or a call that waits,");
    c->outer = inside;
    inside = c;
}

static void go_outside(const tutti_context *c)
{
    inside = c->outer;
}
#else
static inline void go_inside(const tutti_context *c)
{
    (void)c;
}

static inline void go_outside(const tutti_context *c)
{
    (void)c;
}
#endif

/* ---- Contexts ---- */

static struct tt_handles contexts_made = TT_HANDLES(tutti_context, 8);
static struct tt_handles endpoints_made = TT_HANDLES(tutti_endpoint, 8);

static void free_peer(tutti_context *c, struct tt_peer *peer)
{
    tt_receive_drop(peer);
    tt_peer_close(c, peer);
}

static void free_context(tutti_context *c)
{
    if (c->peer) tt_wired_context_close(c);
    if (c->peer) tt_peer_each(c, free_peer);
    tt_pending_close(c);
    tt_split_copy_close(c);
    tt_send_entry_close(c);
    tt_free(c->spare);
    tt_free(c->spare_data);
    tt_free(c->inlet);
    tt_free(c->peer);
    tt_handle_free(&contexts_made, c);
}

static tutti_status make_context(struct tt_msg *msg, int index, tutti_context **made)
{
    struct tt_fabric *f = msg->f;
    tutti_context *c = tt_handle_new(&contexts_made);
    if (!c) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a context");
    c->msg = msg;
    c->f = f;
    c->mailbox = &msg->mailbox->context[index];
    c->index = index;
    c->signals = f->ops->signalling != NULL;
    c->failures = atomic_load(&f->job->failures);
    c->peer = tt_alloc_lines((size_t)f->size * sizeof *c->peer);
    tutti_status status =
        c->peer ? tt_wired_context(c) : tt_fail(TUTTI_ERR_MEMORY, "no memory for a context");
    if (status != TUTTI_OK)
        free_context(c);
    else
        *made = c;
    return status;
}

/* Adds all contexts or none. Other threads see them when the count `contexts` rises, and other
 * ranks when their addresses are published. */
tutti_status tt_msg_add_contexts(struct tt_msg *msg, int n, tutti_context **contexts)
{
    int before = atomic_load(&msg->contexts);
    if (before + n > TUTTI_CONTEXTS)
        return tt_fail(TUTTI_ERR_LIMIT, "a client has at most %d contexts, this one has %d",
                       TUTTI_CONTEXTS, before);
    for (int i = 0; i < n; i++) {
        tutti_status status = make_context(msg, before + i, &msg->context[before + i]);
        if (status == TUTTI_OK) continue;
        while (i > 0) free_context(msg->context[before + --i]);
        return status;
    }
    for (int i = 0; i < n; i++) contexts[i] = msg->context[before + i];
    atomic_store(&msg->contexts, before + n);
    for (int i = 0; i < n && before > 0; i++) tt_wired_publish(contexts[i]);
    return TUTTI_OK;
}

tutti_context *tt_msg_context(struct tt_msg *msg, int index)
{
    return index >= 0 && index < atomic_load(&msg->contexts) ? msg->context[index] : NULL;
}

int tt_msg_index(const tutti_context *context)
{
    return context->index;
}

tutti_client *tt_msg_client(const tutti_context *context)
{
    return context->msg->client;
}

bool tt_msg_is_idle(const tutti_context *context)
{
    return atomic_load_explicit(&context->mailbox->news, memory_order_relaxed) == 0;
}

/* ---- Clients ---- */

/* Returns the bytes of the largest eager message: what TUTTI_EAGER asks for, or else `unasked`, but
 * no more than a packet holds. */
static int64_t whole(int64_t unasked, size_t packet)
{
    bool asked = tt_setting(tt_setting_must_match_name(TT_MUST_MATCH_EAGER)) != NULL;
    int64_t most = asked ? tt_setting_must_match(TT_MUST_MATCH_EAGER) : unasked;
    return tt_max(TUTTI_IMMEDIATE_BYTES, tt_min(most, (int64_t)packet));
}

/* Returns the bytes of the largest message that goes through a packet ring. Where rings are
 * somewhat faster than reading, and are filled by the faster method, messages of a few packets go
 * through them. Longer messages are moved by split copies, which halve the time of reading. */
static int64_t rings_most(const struct tt_msg *msg)
{
    const struct tt_fabric *f = msg->f;
    bool better =
        f->read_percent >= 125 && tt_fill_is_measured(msg->fill, f->job->arenas, f->cores);
    return tt_reads_dearly(f) ? INT64_MAX : better ? 256 << 10 : 0;
}

static void set_sizes(struct tt_msg *msg)
{
    msg->ring_bytes = 1;
    while (msg->ring_bytes * 2 <= tt_setting_must_match(TT_MUST_MATCH_RING)) msg->ring_bytes *= 2;
    msg->fill = tt_fill_asked();
    msg->wire_eager_most = whole(TT_WIRE_DATA, TT_WIRE_DATA);
    msg->may_split = (int)tt_setting_int("TUTTI_SPLIT_COPY", -1, 0, 1);
    msg->packet_most = tt_max(tt_ring_most(msg->ring_bytes), TT_WIRE_DATA);
}

/* If long messages are sent in packets in any case, it pays to send every message eagerly that one
 * packet holds. */
void tt_msg_settle(struct tt_msg *msg)
{
    size_t packet = tt_ring_data_most(msg->ring_bytes);
    msg->rings_most = rings_most(msg);
    msg->eager_most = whole(msg->rings_most > 0 ? (int64_t)packet : msg->f->eager_most, packet);
}

tutti_status tt_msg_open(struct tt_fabric *f, tutti_client *client, struct tt_msg **made)
{
    tutti_context *first;
    struct tt_msg *msg = tt_alloc_lines(sizeof *msg);
    if (!msg) return tt_fail(TUTTI_ERR_MEMORY, "no memory for messages");
    msg->f = f;
    msg->client = client;
    pthread_mutex_init(&msg->region_lock, NULL);
    pthread_mutex_init(&msg->pulls.lock, NULL);
    set_sizes(msg);
    msg->endpoints = tt_calloc((size_t)f->size, sizeof(struct tt_endpoints *));
    tutti_status status = msg->endpoints ? tt_mailbox_open(f, &msg->mailbox)
                                         : tt_fail(TUTTI_ERR_MEMORY, "no memory for endpoints");
    if (status == TUTTI_OK) status = tt_wired_open(msg);
    if (status == TUTTI_OK) status = tt_msg_add_contexts(msg, 1, &first);
    if (status != TUTTI_OK) {
        tt_msg_close(msg);
        return status;
    }
    *made = msg;
    return TUTTI_OK;
}

static void free_endpoints(struct tt_msg *msg)
{
    for (int r = 0; msg->endpoints && r < msg->f->size; r++) {
        for (int i = 0; msg->endpoints[r] && i < TUTTI_CONTEXTS; i++)
            tt_handle_free(&endpoints_made, msg->endpoints[r]->to[i]);
        tt_free(msg->endpoints[r]);
    }
    tt_free(msg->endpoints);
}

/* What refers to pending messages is closed first, since they are freed with their last
 * reference. */
void tt_msg_close(struct tt_msg *msg)
{
    if (!msg) return;
    int n = atomic_load(&msg->contexts);
    for (int i = 0; i < n; i++) {
        work_drop(msg->context[i]);
        tt_pull_close(msg->context[i]);
    }
    tt_region_close(msg);
    tt_wired_part(msg);
    for (int i = 0; i < n; i++) free_context(msg->context[i]);
    tt_wired_close(msg);
    free_endpoints(msg);
    pthread_mutex_destroy(&msg->region_lock);
    pthread_mutex_destroy(&msg->pulls.lock);
    tt_free(msg);
}

tutti_status tt_msg_dispatch(struct tt_msg *msg, int id, tutti_message_fn *fn, void *arg)
{
    if (id < 0 || id >= TT_DISPATCHES)
        return tt_fail(TUTTI_ERR_ARG, "dispatch %d is not in 0..%d", id, TUTTI_DISPATCHES - 1);
    msg->handler[id] = (struct tt_handler){fn, arg};
    return TUTTI_OK;
}

static tutti_status make_endpoint(struct tt_msg *msg, int rank, int context)
{
    struct tt_endpoints **of = &msg->endpoints[rank];
    if (!*of) *of = tt_calloc(1, sizeof **of);
    tutti_endpoint *e = *of ? tt_handle_new(&endpoints_made) : NULL;
    if (!e) return tt_fail(TUTTI_ERR_MEMORY, "no memory for an endpoint");
    e->msg = msg;
    e->rank = rank;
    e->context = context;
    (*of)->to[context] = e;
    return TUTTI_OK;
}

tutti_status tt_msg_endpoint(struct tt_msg *msg, int rank, int context, tutti_endpoint **endpoint)
{
    const struct tt_endpoints *of = msg->endpoints[rank];
    if (!of || !of->to[context]) TT_TRY(make_endpoint(msg, rank, context));
    *endpoint = msg->endpoints[rank]->to[context];
    return TUTTI_OK;
}

int tt_msg_rank(const tutti_endpoint *endpoint)
{
    return endpoint->rank;
}

int tt_msg_context_of(const tutti_endpoint *endpoint)
{
    return endpoint->context;
}

/* ---- Advancing ---- */

static tutti_status advance(tutti_context *c)
{
    tutti_status status = TUTTI_OK;
    if (tt_unlikely(atomic_load_explicit(&c->posted, memory_order_relaxed) != NULL))
        c->events += work_do(c);
    if (tt_unlikely(atomic_load_explicit(&c->f->job->failures, memory_order_relaxed) !=
                    c->failures))
        tt_peer_look_for_lost(c);
    uint64_t news = atomic_load_explicit(&c->mailbox->news, memory_order_relaxed);
    if (tt_unlikely((news & ~(uint64_t)TT_MAILBOX_IN_USE) || c->announced))
        status = tt_inbox_adopt(c);
    if (tt_unlikely(c->losing && status == TUTTI_OK)) {
        status = tt_inbox_read_last(c);
        tt_peer_lose(c);
    }
    if (tt_likely(status == TUTTI_OK)) status = tt_inbox_read(c);
    if (tt_unlikely(c->port != NULL)) tt_wired_advance(c);
    if (tt_unlikely(tt_pull_wanted(c))) tt_pull_advance(c);
    if (tt_unlikely(c->split_copies != NULL)) tt_split_copy_advance(c);
    if (tt_unlikely(c->waiting != NULL)) {
        tutti_status sent = tt_post_waiting(c);
        if (status == TUTTI_OK) status = sent;
    }
    if (tt_unlikely(c->ended != NULL)) tt_pending_call_ended(c);
    return status;
}

tutti_status tt_msg_advance(tutti_context *c, int *events)
{
    tt_enter(c);
    go_inside(c);
    c->events = 0;
    tutti_status status = advance(c);
    if (tt_unlikely(status != TUTTI_OK)) tt_take_fault(c, status);
    *events = c->events;
    go_outside(c);
    tt_leave(c);
    return tt_likely(c->status == TUTTI_OK) ? TUTTI_OK : tt_fail(c->status, "%s", c->why);
}

void tt_msg_error_returned(tutti_context *context)
{
    context->status = TUTTI_OK;
}
