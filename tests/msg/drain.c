/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests tutti_drain. It returns TUTTI_AGAIN while packets wait in this process because their target
 * has no room for them. It returns TUTTI_OK when they all lie in the packet ring of the target,
 * even if the target has received none of them. tutti_drain advances no collective.
 */
#include <sched.h>

#include "lib.h"

enum { MESSAGE = 1, UNKNOWN = 2, N = 20000 };

/* How far the ranks have come, with a flag for each of these events, in this order: rank 1 has sent
 * a message without a handler; rank 0 has begun the allreduce; rank 1 has done its part of it; rank
 * 0 has got AGAIN; rank 1 has received N messages; rank 0 has got OK for the last message. */
static atomic_bool strayed, begun, added, waited, received, drained;

/* A user-defined operation, which adds, and how often this thread has called its function. */
static tutti_op sum;
static _Thread_local int calculated;

static void add(const void *left, const void *right, void *out, size_t n, tutti_type type,
                void *arg)
{
    (void)type, (void)arg;
    for (size_t i = 0; i < n; i++)
        ((int32_t *)out)[i] = ((const int32_t *)left)[i] + ((const int32_t *)right)[i];
    calculated++;
}

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

/* Rank 0, while packets wait: tutti_drain does not advance the allreduce, although only this rank's
 * part is missing. */
static void drain_during_allreduce(struct rank *r)
{
    const int32_t one = 1;
    int32_t two = 0;
    tutti_request *request;
    must(tutti_iallreduce(r->team, &one, &two, 1, TUTTI_I32, sum, &request));
    atomic_store(&begun, true);
    while (!atomic_load(&added)) sched_yield();
    for (int i = 0; i < 1000; i++)
        check(tutti_drain(r->context[0]) == TUTTI_AGAIN, "packets wait for rank 1");
    check(calculated == 0, "tutti_drain has called the operation");
    must(tutti_wait(request));
    check(two == 2 && calculated == 1, "%d, calculated %d times", (int)two, calculated);
}

/* Rank 1: does its part of the allreduce, as far as that is possible without rank 0. */
static void add_up(struct rank *r)
{
    const int32_t one = 1;
    int32_t two = 0;
    tutti_status status = TUTTI_AGAIN;
    tutti_request *request;
    while (!atomic_load(&begun)) sched_yield();
    must(tutti_iallreduce(r->team, &one, &two, 1, TUTTI_I32, sum, &request));
    for (int i = 0; i < 100 && status == TUTTI_AGAIN; i++) status = tutti_test(request);
    atomic_store(&added, true);
    if (status == TUTTI_AGAIN) status = tutti_wait(request);
    must(status);
    check(two == 2, "%d", (int)two);
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
    drain_during_allreduce(r);
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
    add_up(r);
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
    must(tutti_op_create(add, 1, NULL, &sum));
    return run_ranks(argc, argv, 1, drain);
}
