/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Advances contexts: without blocking, until an event comes, or by a thread of the library.
 *
 * A caller waits as in collectives (job/wait.h): it looks for events with tutti_advance, spins,
 * yields and then sleeps. Every event that tutti_advance would find wakes a thread that sleeps for
 * the context: a packet in a packet ring, work that is posted, a rank that failed or left. So a
 * caller that is about to sleep either finds the event when it looks once more, or the rank that
 * causes the event finds the caller asleep and wakes it. If a context uses a network, the network's
 * descriptor also wakes the thread.
 */
#include <pthread.h>
#include <stdio.h>

#include "api/api.h"
#include "base/signals.h"
#include "boot/watch.h"
#include "fabric/waiting.h"

/* ---- Without blocking ---- */

/* Returns whether the team is broken by an error that no call has returned yet. If the user has
 * freed the team, only a mismatch counts, because a member may fail or leave after that. */
static bool concerns_user(const struct tt_team *t)
{
    bool ours = t->state == TT_TEAM_USED || t->broken == TUTTI_ERR_MISMATCH;
    return t->broken != TUTTI_OK && !t->reported && ours;
}

/* The result of advancing teams: the first error that no call has returned yet, with its text, and
 * the events. The text is not set if the status is OK. */
struct advanced {
    tutti_status status;
    int events;
    char text[TT_ERROR_TEXT];
};

/* Makes an error the result. Its text is kept, because other teams, which are advanced after it,
 * may have errors of their own. */
static __attribute__((cold)) void note_first(struct advanced *all, tutti_status status)
{
    all->status = status;
    tt_error_keep(all->text);
}

/* Advances the collectives in flight on a team, and counts the events. Advancing a team may also
 * advance the context and handle messages of the program. These events count as well, because
 * otherwise a caller that waits for one of these messages would wait for ever. */
static void advance_team(struct tt_team *t, void *arg)
{
    struct advanced *all = arg;
    uint64_t before = t->my_done, handled = t->events;
    if (t->my_done != t->next) tt_team_advance(t);
    tt_team_check(t, false);
    if (all->status == TUTTI_OK && concerns_user(t)) note_first(all, tt_team_error(t));
    all->events += (int)(t->my_done - before) + (int)(t->events - handled);
}

/* Advances all teams, because ranks have failed or left since the last look: these may be members
 * of teams that are not busy. */
static void look_at_all(tutti_client *client, struct advanced *all)
{
    for (tutti_team *t = client->teams; t; t = t->next) advance_team(&t->run, all);
}

/* Advances the collectives in flight on the client's teams, and adds the number of events to
 * *events. If `status` is OK, the function returns the error of a broken team that no call has
 * returned yet. The function returns each error once: the team stays broken, and if the error came
 * back each time, a caller that waits for events would never sleep again. The world is checked even
 * if it is not busy: all ranks are its members, so this rank watches all of them. */
static tutti_status advance_teams(tutti_client *client, tutti_status status, int *events)
{
    struct tt_team *world = &client->world->run;
    struct advanced all; /* setting the text as well would take time */
    all.status = TUTTI_OK;
    all.events = 0;
    if (tt_unlikely(status != TUTTI_OK)) note_first(&all, status);
    uint64_t handled = world->events;
    uint32_t failures = atomic_load(&client->fabric.job->failures);
    if (client->freed > 0) tt_teams_leave(client);
    if (!world->is_busy) tt_team_check(world, false);
    all.events += (int)(world->events - handled);
    if (tt_unlikely(failures != client->failures))
        look_at_all(client, &all);
    else if (world->busy)
        tt_team_each_busy(world, advance_team, &all);
    client->failures = failures;
    *events += all.events;
    if (tt_unlikely(all.status != TUTTI_OK)) tt_error_restore(all.text);
    return all.status;
}

/* Advances a context. `before` is the status of the contexts that were advanced before it. If
 * `before` is an error, this function returns it, and a later call reports the errors of this
 * context. */
static tutti_status advance(tutti_context *context, tutti_status before, int *events)
{
    tutti_status status = tt_msg_advance(context, events);
    if (tt_unlikely(status != TUTTI_OK) && before == TUTTI_OK) tt_msg_error_returned(context);
    if (before != TUTTI_OK) status = before;
    if (tt_msg_index(context) == 0) status = advance_teams(tt_msg_client(context), status, events);
    return status;
}

tutti_status tutti_advance(tutti_context *context, int *events)
{
    TT_TRY_HANDLE(context);
    TT_LOCKED(TT_CONTEXT_LOCK(context), tutti_advance(context, events));
    int n;
    tutti_status status = advance(context, TUTTI_OK, &n);
    if (events) *events = n;
    return status;
}

tutti_status tutti_drain(tutti_context *context)
{
    TT_TRY_HANDLE(context);
    TT_LOCKED(TT_CONTEXT_LOCK(context), tutti_drain(context));
    if (tt_likely(tt_msg_is_drained(context))) return TUTTI_OK;
    int events;
    /* the next tutti_advance returns the errors */
    if (tt_msg_advance(context, &events) != TUTTI_OK) tt_error_undo();
    return tt_msg_is_drained(context) ? TUTTI_OK : TUTTI_AGAIN;
}

static tutti_status check_all(tutti_context *const *contexts, int n)
{
    if (n < 0) return tt_fail(TUTTI_ERR_ARG, "n is %d (allowed: 0 or more)", n);
    if (n > 0 && !contexts) return tt_fail(TUTTI_ERR_ARG, "contexts is NULL");
    for (int i = 0; i < n; i++) {
        if (!contexts[i]) return tt_fail(TUTTI_ERR_ARG, "contexts[%d] is NULL", i);
        if (!tt_handle_lives(contexts[i])) return tt_handle_fail(contexts[i], "a context");
        if (tt_msg_client(contexts[i]) != tt_msg_client(contexts[0]))
            return tt_fail(TUTTI_ERR_ARG, "contexts[%d] belongs to another client than contexts[0]",
                           i);
    }
    return TUTTI_OK;
}

/* Advances all contexts even if one of them fails. Returns the first error; the next call returns
 * the error of another context that failed. */
tutti_status tutti_advance_all(tutti_context *const *contexts, int n, int *events)
{
    int sum = 0;
    char text[192] = "";
    tutti_status first = TUTTI_OK;
    TT_TRY(check_all(contexts, n));
    TT_LOCKED(n > 0 ? tt_msg_client(contexts[0])->lock : NULL,
              tutti_advance_all(contexts, n, events));
    for (int i = 0; i < n; i++) {
        int one = 0;
        tutti_status status = advance(contexts[i], first, &one);
        if (first == TUTTI_OK && status != TUTTI_OK)
            snprintf(text, sizeof text, "%s", tutti_error());
        first = status;
        sum += one;
    }
    if (events) *events = sum;
    return first == TUTTI_OK ? TUTTI_OK : tt_fail(first, "%s", text);
}

/* ---- Blocking ---- */

/* Begins a wait for the context. *policy, the wait policy, must last as long as the wait. */
static void begin(struct tt_wait *wait, struct tt_wait_policy *policy, const tutti_context *context)
{
    const struct tt_fabric *f = &tt_msg_client(context)->fabric;
    *policy = f->policy;
    policy->wake = tt_msg_wake_descriptor(context);
    tt_wait_set_lock(policy, TT_CONTEXT_LOCK(context));
    tt_wait_begin(wait, policy, f->job, f->me);
    tt_wait_at(wait, tt_msg_index(context));
}

static int64_t deadline(int timeout_ms)
{
    return timeout_ms < 0 ? INT64_MAX : tt_clock_ns() + timeout_ms * INT64_C(1000000);
}

tutti_status tutti_advance_wait(tutti_context *context, int timeout_ms, int *events)
{
    struct tt_wait wait;
    struct tt_wait_policy policy;
    TT_TRY_HANDLE(context);
    TT_LOCKED(TT_CONTEXT_LOCK(context), tutti_advance_wait(context, timeout_ms, events));
    struct tt_fabric *f = &tt_msg_client(context)->fabric;
    const struct tt_job_page *job = f->job;
    struct tt_waiting waiting = {.fabric = f, .doing = TT_DOING_MESSAGES};
    uint32_t failures = atomic_load(&job->failures);
    int n;
    tutti_status status;
    begin(&wait, &policy, context);
    wait.until_ns = deadline(timeout_ms);
    while ((status = tutti_advance(context, &n)) == TUTTI_OK && n == 0) {
        if (atomic_load(&job->failures) != failures) break;
        if (wait.until_ns != INT64_MAX && tt_clock_ns() >= wait.until_ns) {
            status = TUTTI_AGAIN;
            break;
        }
        tt_wait_more(&wait);
        if (!tt_wait_is_long(&wait)) continue;
        tt_waiting_look(&waiting, false);
        tt_watch_look(&tt_msg_client(context)->fabric);
    }
    tt_wait_done(&wait);
    tt_waiting_end(&waiting);
    if (events) *events = n;
    return status;
}

/* ---- Helpers ---- */

/* A thread that advances a context until `end` is set. */
struct tt_helper {
    tutti_context *context;
    pthread_t thread;
    _Atomic bool end;
    tutti_status status; /* the last error, which tutti_helper_stop returns */
    char text[192];
};

static void note(struct tt_helper *h, tutti_status status)
{
    if (status == TUTTI_OK) return;
    h->status = status;
    snprintf(h->text, sizeof h->text, "%s", tutti_error());
}

static void *helper_main(void *arg)
{
    struct tt_helper *h = arg;
    struct tt_wait wait;
    struct tt_wait_policy policy;
    begin(&wait, &policy, h->context);
    tt_wait_set_hook(&policy,
                     /* the client's hook must run only on the program's own threads */
                     (struct tt_wait_hook){.call = NULL});
    wait.quiet = policy.quiet;
    while (!atomic_load(&h->end)) {
        int n = 0;
        note(h, tutti_advance(h->context, &n));
        if (n == 0)
            tt_wait_more(&wait);
        else
            tt_wait_afresh(&wait);
    }
    tt_wait_done(&wait);
    return NULL;
}

/* Starts the thread with all signals blocked, because the program's own threads handle them.
 * Returns 0 or the error of pthread_create. */
static int start_thread(struct tt_helper *h)
{
    sigset_t before;
    tt_signals_block(&before);
    int error = pthread_create(&h->thread, NULL, helper_main, h);
    tt_signals_restore(&before);
    return error;
}

static struct tt_helper **helper_of(const tutti_context *context)
{
    return &tt_msg_client(context)->helper[tt_msg_index(context)];
}

tutti_status tutti_helper_start(tutti_context *context)
{
    TT_TRY_HANDLE(context);
    if (tt_msg_index(context) == 0)
        return tt_fail(TUTTI_ERR_ARG, "context 0 cannot have a helper, because collectives use it: "
                                      "make another context by tutti_contexts");
    struct tt_helper **place = helper_of(context);
    if (*place)
        return tt_fail(TUTTI_ERR_ARG, "context %d has a helper already", tt_msg_index(context));
    struct tt_helper *h = tt_calloc(1, sizeof *h);
    if (!h) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a helper");
    h->context = context;
    *place = h;
    int error = start_thread(h);
    if (error == 0) return TUTTI_OK;
    *place = NULL;
    tt_free(h);
    return tt_fail(TUTTI_ERR_LIMIT, "cannot start a helper: the system has no more threads (%d)",
                   error);
}

static void end_helper(struct tt_helper *h)
{
    struct tt_fabric *f = &tt_msg_client(h->context)->fabric;
    atomic_store(&h->end, true);
    tt_fabric_signalled_context(f, f->me, tt_msg_index(h->context));
    pthread_join(h->thread, NULL);
}

tutti_status tutti_helper_stop(tutti_context *context)
{
    TT_TRY_HANDLE(context);
    struct tt_helper **place = helper_of(context), *h = *place;
    if (!h) return tt_fail(TUTTI_ERR_ARG, "context %d has no helper", tt_msg_index(context));
    if (pthread_equal(h->thread, pthread_self()))
        return tt_fail(TUTTI_ERR_ARG, "tutti_helper_stop was called by the helper thread itself: "
                                      "call it from another thread");
    end_helper(h);
    *place = NULL;
    tutti_status status = h->status;
    if (status != TUTTI_OK) (void)tt_fail(status, "%s", h->text);
    tt_free(h);
    return status;
}

void tt_helpers_end(tutti_client *client)
{
    for (int i = 0; i < TUTTI_CONTEXTS; i++)
        if (client->helper[i]) (void)tutti_helper_stop(client->helper[i]->context);
}
