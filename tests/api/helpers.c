/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the queues of posted work, waiting on a context, and helper threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/api.h"

static tutti_client *client;

static tutti_context *make(void)
{
    tutti_context *context;
    assert_int_equal(tutti_contexts(client, 1, &context), TUTTI_OK);
    return context;
}

/* ---- Posting ---- */

enum { POSTERS = 6, POSTS = 3000 };

struct posted {
    int poster, number;
};

static struct {
    tutti_context *context;
    int next[POSTERS]; /* next[i]: the number of the item that poster i posted and that must run
                        * next; only the advancing thread writes it */
    int wrong;
    _Atomic int done;
} queue;

static void count(tutti_context *context, void *arg)
{
    const struct posted *p = arg;
    if (context != queue.context || p->number != queue.next[p->poster]++) queue.wrong++;
    atomic_fetch_add(&queue.done, 1);
}

static void *post_all(void *arg)
{
    struct posted *all = arg;
    for (int i = 0; i < POSTS; i++)
        while (tutti_post(queue.context, count, &all[i]) != TUTTI_OK) continue;
    return NULL;
}

/* Lets several threads post at once, and calls `advance` until all posted work is done. Each item
 * of work must run exactly once, and the items of one thread in the order in which they were
 * posted. */
static void post_from_many(tutti_context *context, void (*advance)(tutti_context *))
{
    static struct posted all[POSTERS][POSTS];
    pthread_t thread[POSTERS];
    memset(&queue, 0, sizeof queue);
    queue.context = context;
    for (int t = 0; t < POSTERS; t++) {
        for (int i = 0; i < POSTS; i++) all[t][i] = (struct posted){t, i};
        assert_int_equal(pthread_create(&thread[t], NULL, post_all, all[t]), 0);
    }
    while (atomic_load(&queue.done) < POSTERS * POSTS) advance(context);
    for (int t = 0; t < POSTERS; t++) pthread_join(thread[t], NULL);
    advance(context);
    assert_int_equal(atomic_load(&queue.done), POSTERS * POSTS);
}

static void advance_once(tutti_context *context)
{
    assert_int_equal(tutti_advance(context, NULL), TUTTI_OK);
}

static void advance_waiting(tutti_context *context)
{
    tutti_status status = tutti_advance_wait(context, 100, NULL);
    assert_true(status == TUTTI_OK || status == TUTTI_AGAIN);
}

static void pause_ms(tutti_context *context)
{
    (void)context;
    usleep(1000);
}

static void check_order(void)
{
    assert_int_equal(queue.wrong, 0);
    for (int t = 0; t < POSTERS; t++) assert_int_equal(queue.next[t], POSTS);
}

static void test_post(void **state)
{
    tutti_context *context = make();
    (void)state;
    post_from_many(context, advance_once);
    check_order();
    post_from_many(context, advance_waiting);
    check_order();
    post_from_many(tutti_context_at(client, 0), advance_waiting);
    check_order();
    assert_int_equal(tutti_helper_start(context), TUTTI_OK);
    post_from_many(context, pause_ms);
    assert_int_equal(tutti_helper_stop(context), TUTTI_OK);
    check_order();
}

/* ---- A post wakes a sleeper ---- */

static struct tt_wake_word *bell_of(tutti_context *context)
{
    const struct tt_fabric *f = &client->fabric;
    return &f->job->rank[f->me].wake_word[tt_wake_word_of(tt_msg_index(context))];
}

static void raise_flag(tutti_context *context, void *arg)
{
    (void)context;
    atomic_store((_Atomic int *)arg, 1);
}

/* Returns whether a post found a sleeper on the context and woke it. The sleeper may also have
 * woken up by itself just before. */
static bool post_rings(tutti_context *context)
{
    _Atomic int flag = 0;
    struct tt_wake_word *wake_word = bell_of(context);
    while (atomic_load(&wake_word->sleeping) == 0) usleep(100);
    uint32_t wakes = atomic_load(&wake_word->wakes);
    assert_int_equal(tutti_post(context, raise_flag, &flag), TUTTI_OK);
    bool rang = atomic_load(&wake_word->wakes) != wakes;
    while (!atomic_load(&flag)) usleep(100);
    return rang;
}

static bool is_woken(tutti_context *context)
{
    for (int i = 0; i < 50; i++)
        if (post_rings(context)) return true;
    return false;
}

static void *wait_for_end(void *arg)
{
    struct {
        tutti_context *context;
        _Atomic int end;
    } *w = arg;
    while (!atomic_load(&w->end)) (void)tutti_advance_wait(w->context, -1, NULL);
    return NULL;
}

static void test_woken(void **state)
{
    struct {
        tutti_context *context;
        _Atomic int end;
    } waiter = {.context = make()};
    pthread_t thread;
    tutti_context *helped = make();
    (void)state;
    assert_int_equal(tutti_helper_start(helped), TUTTI_OK);
    assert_true(is_woken(helped));
    assert_int_equal(pthread_create(&thread, NULL, wait_for_end, &waiter), 0);
    assert_true(is_woken(waiter.context)); /* now a helper and this thread of the rank sleep at the
                                            * same time */
    assert_true(is_woken(helped));
    assert_int_equal(tutti_post(waiter.context, raise_flag, &waiter.end), TUTTI_OK);
    pthread_join(thread, NULL);
    assert_int_equal(tutti_helper_stop(helped), TUTTI_OK);
}

/* ---- Waiting ---- */

static void test_wait(void **state)
{
    int events = -1;
    tutti_context *context = make(), *zero = tutti_context_at(client, 0);
    tutti_request *request;
    _Atomic int flag = 0;
    (void)state;
    assert_int_equal(tutti_advance_wait(context, 0, &events), TUTTI_AGAIN);
    assert_int_equal(events, 0);
    assert_int_equal(tutti_advance_wait(context, 120, NULL), TUTTI_AGAIN);
    assert_int_equal(tutti_post(context, raise_flag, &flag), TUTTI_OK);
    assert_int_equal(tutti_advance_wait(context, -1, &events), TUTTI_OK);
    assert_true(events == 1 && atomic_load(&flag));
    assert_int_equal(tutti_ibarrier(tutti_world(client), &request), TUTTI_OK);
    while (tutti_test(request) == TUTTI_AGAIN) assert_true(tutti_advance_wait(zero, -1, NULL) == 0);
    assert_int_equal(tutti_request_free(request), TUTTI_OK);
}

static void test_all(void **state)
{
    int events = -1;
    _Atomic int flag[3] = {0};
    tutti_context *c[3] = {tutti_context_at(client, 0), make(), make()};
    (void)state;
    for (int i = 0; i < 3; i++) assert_int_equal(tutti_post(c[i], raise_flag, &flag[i]), TUTTI_OK);
    assert_int_equal(tutti_advance_all(c, 3, &events), TUTTI_OK);
    assert_int_equal(events, 3);
    for (int i = 0; i < 3; i++) assert_true(atomic_load(&flag[i]));
    assert_int_equal(tutti_advance_all(c, 3, &events), TUTTI_OK);
    assert_int_equal(events, 0);
    assert_int_equal(tutti_advance_all(NULL, 0, NULL), TUTTI_OK);
}

/* ---- Helpers ---- */

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Checks that three helpers with nothing to do together use less than a tenth of a processor. If
 * they spun, they would use all processors. */
static void test_idle(void **state)
{
    tutti_context *c[3];
    (void)state;
    for (int i = 0; i < 3; i++) assert_int_equal(tutti_helper_start(c[i] = make()), TUTTI_OK);
    for (int i = 0; i < 3; i++) assert_true(is_woken(c[i])); /* by now the helpers sleep again */
    int64_t cpu = cpu_ns(), wall = tt_clock_ns();
    usleep(1000000);
    cpu = cpu_ns() - cpu;
    wall = tt_clock_ns() - wall;
    for (int i = 0; i < 3; i++) assert_int_equal(tutti_helper_stop(c[i]), TUTTI_OK);
    if (cpu * 10 > wall) fail_msg("%lld ns of %lld", (long long)cpu, (long long)wall);
}

struct exchange {
    _Atomic int asked, answered, sent, wrong;
    tutti_endpoint *back;
};

static void ask(tutti_context *context, const tutti_message *message, tutti_receive *receive,
                void *arg)
{
    struct exchange *x = arg;
    (void)receive;
    atomic_fetch_add(&x->asked, 1);
    const tutti_send send = {.to = x->back,
                             .dispatch = 2,
                             .header = message->header,
                             .header_bytes = message->header_bytes};
    if (tutti_message_send(context, &send) != TUTTI_OK) atomic_fetch_add(&x->wrong, 1);
}

static void answer(tutti_context *context, const tutti_message *message, tutti_receive *receive,
                   void *arg)
{
    struct exchange *x = arg;
    int number;
    (void)context, (void)receive;
    memcpy(&number, message->header, sizeof number);
    if (atomic_fetch_add(&x->answered, 1) != number) atomic_fetch_add(&x->wrong, 1);
}

static void stop_on_delivery(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    if (status == TUTTI_OK) atomic_fetch_add((_Atomic int *)arg, 1);
}

struct asker {
    tutti_endpoint *to;
    int number;
    struct exchange *x;
};

/* Sends one message, in the helper of the sending context. */
static void send_one(tutti_context *context, void *arg)
{
    const struct asker *a = arg;
    tutti_send send = {.to = a->to,
                       .dispatch = 1,
                       .header = &a->number,
                       .header_bytes = sizeof a->number,
                       .delivered = stop_on_delivery,
                       .arg = &a->x->sent};
    if (tutti_message_send(context, &send) != TUTTI_OK) atomic_fetch_add(&a->x->wrong, 1);
}

/* Sends messages from one context with a helper to another such context, which answers, while no
 * other thread is in the library. The rank sends to itself. */
static void test_messages(void **state)
{
    enum { N = 300 };
    static struct asker asker[N];
    tutti_context *c[2] = {make(), make()};
    tutti_endpoint *to;
    struct exchange x = {0};
    (void)state;
    int me = client->fabric.me;
    assert_int_equal(tutti_dispatch(client, 1, ask, &x), TUTTI_OK);
    assert_int_equal(tutti_dispatch(client, 2, answer, &x), TUTTI_OK);
    assert_int_equal(tutti_endpoint_to(client, me, tt_msg_index(c[0]), &x.back), TUTTI_OK);
    assert_int_equal(tutti_endpoint_to(client, me, tt_msg_index(c[1]), &to), TUTTI_OK);
    for (int i = 0; i < 2; i++) assert_int_equal(tutti_helper_start(c[i]), TUTTI_OK);
    for (int i = 0; i < N; i++) {
        asker[i] = (struct asker){to, i, &x};
        assert_int_equal(tutti_post(c[0], send_one, &asker[i]), TUTTI_OK);
        if (i % 50 == 49) usleep(3000); /* time for the helpers to fall asleep */
    }
    while (atomic_load(&x.answered) < N || atomic_load(&x.sent) < N) usleep(100);
    for (int i = 0; i < 2; i++) assert_int_equal(tutti_helper_stop(c[i]), TUTTI_OK);
    assert_int_equal(atomic_load(&x.asked), N);
    assert_int_equal(atomic_load(&x.wrong), 0);
}

/* Sends a message to dispatch id 9, which has no handler: tutti_helper_stop returns the error that
 * the helper got. */
static void test_error(void **state)
{
    tutti_context *from = make(), *helped = make();
    tutti_endpoint *to;
    (void)state;
    int me = client->fabric.me;
    assert_int_equal(tutti_endpoint_to(client, me, tt_msg_index(helped), &to), TUTTI_OK);
    assert_int_equal(tutti_helper_start(helped), TUTTI_OK);
    assert_int_equal(tutti_message_immediate(from, to, 9, NULL, 0, NULL, 0), TUTTI_OK);
    _Atomic int flag = 0;
    for (int i = 0; i < 20; i++) { /* the helper may do some of this work before it receives the
                                    * message, but not all */
        atomic_store(&flag, 0);
        assert_int_equal(tutti_post(helped, raise_flag, &flag), TUTTI_OK);
        while (!atomic_load(&flag)) usleep(100);
    }
    assert_int_equal(tutti_helper_stop(helped), TUTTI_ERR_ARG);
    assert_non_null(strstr(tutti_error(), "9"));
    assert_int_equal(tutti_helper_start(helped), TUTTI_OK); /* the helper can be started again */
    assert_int_equal(tutti_helper_stop(helped), TUTTI_OK);
}

static void refused(tutti_status got, const char *word)
{
    assert_int_equal(got, TUTTI_ERR_ARG);
    if (!strstr(tutti_error(), word)) fail_msg("'%s' is not in: %s", word, tutti_error());
}

static void stop_myself(tutti_context *context, void *arg)
{
    *(tutti_status *)arg = tutti_helper_stop(context);
}

static void test_arguments(void **state)
{
    tutti_client *other;
    tutti_context *context = make(), *zero = tutti_context_at(client, 0);
    tutti_status stopped = TUTTI_OK;
    (void)state;
    refused(tutti_advance_wait(NULL, 0, NULL), "context is NULL");
    refused(tutti_advance_all(NULL, 1, NULL), "contexts is NULL");
    refused(tutti_advance_all(&zero, -1, NULL), "n is -1");
    refused(tutti_advance_all((tutti_context *[]){zero, NULL}, 2, NULL), "contexts[1] is NULL");
    refused(tutti_helper_start(NULL), "context is NULL");
    refused(tutti_helper_start(zero), "context 0");
    refused(tutti_helper_stop(NULL), "context is NULL");
    refused(tutti_helper_stop(zero), "no helper");
    refused(tutti_helper_stop(context), "no helper");
    assert_int_equal(tutti_helper_start(context), TUTTI_OK);
    refused(tutti_helper_start(context), "has a helper already");
    assert_int_equal(tutti_post(context, stop_myself, &stopped), TUTTI_OK);
    _Atomic int flag = 0;
    assert_int_equal(tutti_post(context, raise_flag, &flag), TUTTI_OK);
    while (!atomic_load(&flag)) usleep(100);
    assert_int_equal(stopped, TUTTI_ERR_ARG);
    assert_int_equal(tutti_helper_stop(context), TUTTI_OK);
    assert_int_equal(tutti_init(&other), TUTTI_OK);
    refused(tutti_advance_all((tutti_context *[]){zero, tutti_context_at(other, 0)}, 2, NULL),
            "another client");
    assert_int_equal(tutti_finalize(other), TUTTI_OK);
}

/* ---- One thread at a time ---- */

#ifndef NDEBUG
static void linger(tutti_context *context, void *arg)
{
    (void)context;
    atomic_store((_Atomic int *)arg, 1);
    sleep(60);
}

static void *advance_context(void *arg)
{
    (void)tutti_advance(arg, NULL);
    return NULL;
}

/* Runs in a child process, which creates its own client: this thread advances a context while
 * another thread is inside the same context. */
static void use_twice(int reported)
{
    pthread_t thread;
    _Atomic int inside = 0;
    tutti_client *own;
    tutti_context *context;
    dup2(reported, STDERR_FILENO);
    if (tutti_init(&own) != TUTTI_OK || tutti_contexts(own, 1, &context) != TUTTI_OK) _exit(8);
    if (tutti_post(context, linger, &inside) != TUTTI_OK ||
        pthread_create(&thread, NULL, advance_context, context) != 0)
        _exit(7);
    while (!atomic_load(&inside)) usleep(100);
    (void)tutti_advance(context, NULL);
    _exit(0);
}

static void test_two_users(void **state)
{
    char text[2048] = "";
    int pipes[2], status;
    (void)state;
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) use_twice(pipes[1]);
    close(pipes[1]);
    for (ssize_t n, at = 0; (n = read(pipes[0], text + at, sizeof text - 1 - (size_t)at)) > 0;)
        at += n;
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    if (!strstr(text, "is used by two threads at once")) fail_msg("said: %s", text);
}
#else
static void test_two_users(void **state)
{
    (void)state;
    skip(); /* only builds with assertions report this */
}
#endif

/* Checks that a client that ends stops its helpers and drops posted work that has not run. */
static void test_end(void **state)
{
    tutti_client *other;
    tutti_context *c[5];
    _Atomic int flag = 0;
    (void)state;
    assert_int_equal(tutti_init(&other), TUTTI_OK);
    assert_int_equal(tutti_contexts(other, 5, c), TUTTI_OK);
    for (int i = 0; i < 4; i++) assert_int_equal(tutti_helper_start(c[i]), TUTTI_OK);
    assert_int_equal(tutti_post(c[4], raise_flag, &flag), TUTTI_OK);
    assert_int_equal(tutti_finalize(other), TUTTI_OK);
    assert_int_equal(atomic_load(&flag), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_post),  cmocka_unit_test(test_woken),
        cmocka_unit_test(test_wait),  cmocka_unit_test(test_all),
        cmocka_unit_test(test_idle),  cmocka_unit_test(test_messages),
        cmocka_unit_test(test_error), cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_end),   cmocka_unit_test(test_two_users),
    };
    if (tutti_init(&client) != TUTTI_OK) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return tutti_finalize(client) != TUTTI_OK || failed;
}
