/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All other ranks reach a context of rank 0 that is advanced by a helper thread alone, while the
 * rank's main thread waits without calling the library. The test tries one context that exists
 * before the others send, and one that is created afterwards (run by wire.sh and by the tests
 * between hosts). By the first context, rank 0 also sends long messages, and the others access its
 * memory.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "lib.h"

enum { WORD = 1, LONG, LIMIT_S = 300, BYTES = 1000000, RANKS = 16 };

static _Atomic int heard;
static char memory[BYTES], places[RANKS * BYTES]; /* rank 0 sends one; the others access one */
static struct completed delivered;

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

/* Sends a long message; posted work of a context of rank 0. `to` is an endpoint. */
static void send_long(tutti_context *context, void *to)
{
    tutti_send send = {.to = to,
                       .dispatch = LONG,
                       .data = memory,
                       .count = BYTES,
                       .type = TUTTI_U8,
                       .delivered = count,
                       .arg = &delivered};
    must(tutti_message_send(context, &send));
}

static void on_long(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                    void *arg)
{
    (void)context;
    *receive = (tutti_receive){memory, m->bytes, TUTTI_U8, count, arg, 0};
}

/* Receives the long message of rank 0. Then puts bytes into the memory of rank 0, and gets them
 * back. */
static void reach(struct rank *r, const tutti_key *key, const struct completed *received)
{
    struct completed put = {0}, got = {0};
    tutti_endpoint *to = endpoint(r, 0, 1);
    char *copy = malloc(BYTES);
    int64_t at = (int64_t)r->me * BYTES;
    until(r, &received->n, 1);
    check(received->status == TUTTI_OK && is_filled(memory, BYTES, 9), "the long message");
    fill(memory, BYTES, (uint64_t)at);
    must(tutti_put(r->context[0], to, memory, key, at, BYTES, count, &put));
    until(r, &put.n, 1);
    must(tutti_get(r->context[0], to, copy, key, at, BYTES, count, &got));
    until(r, &got.n, 1);
    check(put.status == TUTTI_OK && got.status == TUTTI_OK, "%d", (int)got.status);
    check(is_filled(copy, BYTES, (uint64_t)at), "the memory of rank 0");
    free(copy);
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
    for (int i = 1; i < r->p; i++) must(tutti_post(r->context[1], send_long, endpoint(r, i, 0)));
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
    struct completed completed = {0}, received = {0};
    tutti_region *region;
    tutti_key key;
    check(r->p <= RANKS, "%d ranks", r->p);
    must(tutti_dispatch(r->client, WORD, on_word, NULL));
    must(tutti_dispatch(r->client, LONG, on_long, &received));
    must(tutti_region_register(r->client, places, sizeof places, &region));
    must(tutti_region_key(region, &key));
    must(tutti_bcast(r->team, &key, sizeof key, TUTTI_U8, 0));
    if (r->me == 0) fill(memory, BYTES, 9);
    meet(r);
    if (r->me == 0)
        listen(r);
    else {
        reach(r, &key, &received);
        send_word(r, 1, &completed);
        send_word(r, 2, &completed);
        until(r, &completed.n, 2);
        check(completed.status == TUTTI_OK, "%d", (int)completed.status);
        printf("heard\n");
    }
    meet(r);
    if (r->me == 0) {
        until(r, &delivered.n, r->p - 1);
        check(delivered.status == TUTTI_OK, "%d", (int)delivered.status);
    }
    meet(r);
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, 2, try_all);
}
