/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All other ranks reach a context of rank 0 that is advanced by a helper thread alone, while the
 * rank's main thread waits without calling the library. The test tries one context that exists
 * before the others send, and one that is created afterwards (run by wire.sh and by the tests
 * between hosts).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "lib.h"

enum { WORD = 1, LIMIT_S = 300 };

static _Atomic int heard;

static void on_word(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                    void *arg)
{
    (void)context, (void)m, (void)receive, (void)arg;
    atomic_fetch_add(&heard, 1);
}

static void send_word(struct rank *r, int context, struct completed *completed)
{
    tutti_send send = {.to = endpoint(r, 0, context),
                       .dispatch = WORD,
                       .type = TUTTI_U8,
                       .delivered = count,
                       .arg = completed};
    must(tutti_message_send(r->context[0], &send));
}

static void rest(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

static void await(int wanted)
{
    for (int64_t end = tt_clock_ns() + LIMIT_S * INT64_C(1000000000); heard < wanted; rest(1))
        check(tt_clock_ns() < end, "heard %d of %d", heard, wanted);
}

/* Starts a helper thread for each of the two contexts, which alone advances that context, and waits
 * until all messages have arrived. */
static void listen(struct rank *r)
{
    tutti_context *late;
    must(tutti_helper_start(r->context[1]));
    await(r->p - 1);
    rest(200);
    must(tutti_contexts(r->client, 1, &late));
    must(tutti_helper_start(late));
    await(2 * (r->p - 1));
    must(tutti_helper_stop(r->context[1]));
    must(tutti_helper_stop(late));
    r->context[r->contexts++] = late; /* from now on `meet` advances it too */
}

static void try_all(struct rank *r)
{
    struct completed completed = {0};
    must(tutti_dispatch(r->client, WORD, on_word, NULL));
    meet(r);
    if (r->me == 0)
        listen(r);
    else {
        send_word(r, 1, &completed);
        send_word(r, 2, &completed);
        until(r, &completed.n, 2);
        check(completed.status == TUTTI_OK, "%d", (int)completed.status);
        printf("heard\n");
    }
    meet(r);
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, 2, try_all);
}
