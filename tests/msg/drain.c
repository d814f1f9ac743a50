/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tutti_drain: AGAIN while packets wait in this process because their target has no room for them,
 * OK when they lie in its ring, although the target has received none of them.
 */
#include <sched.h>

#include "lib.h"

enum { MESSAGE = 1, UNKNOWN = 2, N = 20000 };

/* Where the ranks are: rank 1 has sent a message without a handler; rank 0 has got AGAIN; rank 1
 * has received N messages; rank 0 has got OK for the last message. */
static atomic_bool strayed, waited, received, drained;

static void on_message(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                       void *arg)
{
    int *come = arg, number;
    (void)context, (void)receive;
    memcpy(&number, m->header, sizeof number);
    check(number == *come, "%d instead of %d", number, *come);
    ++*come;
}

/* Sends n messages, of which the first has this number. */
static void send_all(struct rank *r, int first, int n)
{
    for (int i = first; i < first + n; i++) {
        const tutti_send send = {.to = endpoint(r, 1, 0),
                                 .dispatch = MESSAGE,
                                 .header = &i,
                                 .header_bytes = sizeof i,
                                 .type = TUTTI_U8};
        must(tutti_message_send(r->context[0], &send));
    }
}

/* Rank 0. The N messages do not all fit into the ring. While they wait, tutti_drain receives the
 * message without a handler, and leaves the error to tutti_advance. */
static void give(struct rank *r)
{
    tutti_status status;
    must(tutti_drain(r->context[0]));
    send_all(r, 0, N);
    while (!atomic_load(&strayed)) sched_yield();
    for (int i = 0; i < 10; i++)
        check(tutti_drain(r->context[0]) == TUTTI_AGAIN, "packets wait for rank 1");
    check(tutti_advance(r->context[0], NULL) == TUTTI_ERR_ARG, "no handler");
    atomic_store(&waited, true);
    while ((status = tutti_drain(r->context[0])) == TUTTI_AGAIN) sched_yield();
    check(status == TUTTI_OK, "%d", (int)status);
    while (!atomic_load(&received)) sched_yield();
    send_all(r, N, 1);
    must(tutti_drain(r->context[0]));
    atomic_store(&drained, true);
}

/* Rank 1. It receives nothing until rank 0 has got AGAIN, and the last message only after rank 0
 * has got OK. */
static void take(struct rank *r, const int *come)
{
    must(tutti_message_immediate(r->context[0], endpoint(r, 0, 0), UNKNOWN, NULL, 0, NULL, 0));
    atomic_store(&strayed, true);
    while (!atomic_load(&waited)) sched_yield();
    until(r, come, N);
    atomic_store(&received, true);
    while (!atomic_load(&drained)) sched_yield();
    until(r, come, N + 1);
}

static void drain(struct rank *r)
{
    int come = 0;
    must(tutti_dispatch(r->client, MESSAGE, on_message, &come));
    meet(r);
    if (r->me == 0) give(r);
    if (r->me == 1) take(r, &come);
    meet(r);
    check(tutti_drain(NULL) == TUTTI_ERR_ARG, "NULL is no context");
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, 1, drain);
}
