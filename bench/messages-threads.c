/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures what threads gain from contexts of their own.
 *
 *   rate BATCHES SECONDS   messages of 8 bytes for each second, by one thread and by two, in turn.
 *                          Each thread sends from its context to the peer's context of the same
 *                          index, and receives in its own context. In a job of one rank, the rank
 *                          sends to itself; in a job of two, each sends to the other. The program
 *                          also prints the same figures for threads that calculate instead of
 *                          sending: they show how much faster two threads can be here at best
 *   pull BATCHES BYTES CONTEXTS
 *                          rank 0 sends messages of BYTES bytes by rendezvous to rank 1. Each of
 *                          the CONTEXTS contexts of rank 1 has a thread that advances it, and the
 *                          threads pull their portions in parallel
 *
 * Each thread is bound to a processor of its own as long as there are enough. Rank 0 prints one
 * line of JSON for each batch.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <tutti/message.h>

#include "measure.h"
#include "port-tutti.h"

enum { MOST_THREADS = 2, WINDOW = 64, ROUNDS = 32, BALL = 0, BULK, OVER };

static int me, p;

/* Binds the thread to the i-th processor that this process may use. Does nothing if the process has
 * fewer processors. */
static void pin(int i)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all) || i-- != 0) continue;
        CPU_SET(cpu, &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        return;
    }
}

/* ---- Rate ---- */

struct player {
    _Alignas(128) tutti_context *context;
    tutti_endpoint *peer;
    int64_t come, all;
    int index;
    pthread_t thread;
    double begin, end;
};

static struct player players[MOST_THREADS];
static pthread_barrier_t start;

/* Counts a message. Each thread has a dispatch id of its own, for which `arg` is the thread's
 * record. */
static void on_ball(tutti_context *context, const tutti_message *message, tutti_receive *receive,
                    void *arg)
{
    (void)context;
    (void)message;
    (void)receive;
    ((struct player *)arg)->come++;
}

static void advance(struct player *player)
{
    port_check(tutti_advance(player->context, NULL));
}

/* Does one thread's part of a batch: sends all its messages, and receives as many. */
static void play(struct player *player)
{
    for (int64_t gone = 0; gone < player->all; gone++) {
        tutti_status status;
        while (gone - player->come >= WINDOW) advance(player);
        while (
            (status = tutti_message_immediate(player->context, player->peer, BALL + player->index,
                                              NULL, 0, &gone, sizeof gone)) == TUTTI_AGAIN)
            advance(player);
        port_check(status);
    }
    while (player->come < player->all) advance(player);
}

/* Calculates instead of sending messages. The work for one message touches no memory, but keeps the
 * arithmetic units of the core so busy that another hardware thread of the core finds none free. */
static void calculate(struct player *player)
{
    uint64_t a = 1, b = 2, c = 3, d = 4;
    for (int64_t i = 0; i < player->all * ROUNDS; i++) {
        a = a * 5 + 1;
        b = b * 5 + 1;
        c ^= c << 7;
        d ^= d >> 9;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    }
}

typedef void part_fn(struct player *player);
static part_fn *part;

static void *run(void *arg)
{
    struct player *player = arg;
    pin(me * MOST_THREADS + player->index);
    pthread_barrier_wait(&start);
    player->begin = seconds();
    part(player);
    player->end = seconds();
    return NULL;
}

/* Returns the seconds until all threads of all ranks have done their parts. */
static double time_batch(part_fn *fn, int threads, int64_t each)
{
    part = fn;
    double begin, end;
    port_barrier();
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        players[i].come = 0;
        players[i].all = each;
    }
    port_barrier();
    for (int i = 0; i < threads; i++)
        if (pthread_create(&players[i].thread, NULL, run, &players[i]) != 0) die("no thread");
    for (int i = 0; i < threads; i++) pthread_join(players[i].thread, NULL);
    pthread_barrier_destroy(&start);
    begin = players[0].begin, end = players[0].end;
    for (int i = 1; i < threads; i++) {
        if (players[i].begin < begin) begin = players[i].begin;
        if (players[i].end > end) end = players[i].end;
    }
    return port_max(end - begin);
}

static const struct {
    const char *name;
    part_fn *fn;
} measures[] = {{"rate", play}, {"calculate", calculate}};
enum { MEASURES = sizeof measures / sizeof *measures };

static void time_one(int i, int threads, int64_t each)
{
    double took = time_batch(measures[i].fn, threads, each);
    if (me == 0)
        printf("{\"measure\": \"%s\", \"ranks\": %d, \"threads\": %d, \"per_s\": %.0f}\n",
               measures[i].name, p, threads, (double)(threads * each) / took);
}

static void time_all(int batches, double batch)
{
    int64_t each[MEASURES];
    for (int i = 0; i < MEASURES; i++)
        for (each[i] = 1000; each[i] < INT64_C(1) << 30; each[i] *= 2)
            if (time_batch(measures[i].fn, 1, each[i]) >= batch / 2) break;
    for (int n = 0; n < batches; n++)
        for (int i = 0; i < MEASURES; i++)
            for (int threads = 1; threads <= MOST_THREADS; threads++) time_one(i, threads, each[i]);
}

static void rate(tutti_client *client, int batches, double batch)
{
    tutti_context *contexts[MOST_THREADS];
    port_check(tutti_contexts(client, MOST_THREADS, contexts));
    for (int i = 0; i < MOST_THREADS; i++) {
        players[i].index = i;
        players[i].context = contexts[i];
        port_check(tutti_endpoint_to(client, p - 1 - me, 1 + i, &players[i].peer));
        port_check(tutti_dispatch(client, BALL + i, on_ball, &players[i]));
    }
    port_barrier();
    time_all(batches, batch);
}

/* ---- Pull ---- */

static char *bulk;
static int64_t bulk_bytes, bulk_come;
static _Atomic bool over;

static void on_come(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    (void)arg;
    port_check(status);
    bulk_come++;
}

static void on_bulk(tutti_context *context, const tutti_message *message, tutti_receive *receive,
                    void *arg)
{
    (void)context;
    (void)message;
    (void)arg;
    *receive = (tutti_receive){.to = bulk, .count = bulk_bytes, .type = TUTTI_U8, .done = on_come};
}

static void on_over(tutti_context *context, const tutti_message *message, tutti_receive *receive,
                    void *arg)
{
    (void)context;
    (void)message;
    (void)receive;
    (void)arg;
    over = true;
}

static void on_delivered(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    port_check(status);
    ++*(int *)arg;
}

static double send_batch(tutti_context *context, tutti_endpoint *to, int count)
{
    int delivered = 0;
    double begin = seconds();
    for (int i = 0; i < count; i++) {
        tutti_send send = {.to = to,
                           .dispatch = BULK,
                           .data = bulk,
                           .count = bulk_bytes,
                           .type = TUTTI_U8,
                           .delivered = on_delivered,
                           .arg = &delivered};
        port_check(tutti_message_send(context, &send));
        while (delivered <= i) {
            port_check(tutti_advance(context, NULL));
            sched_yield(); /* gives the processor to the other threads, which pull the data */
        }
    }
    return (seconds() - begin) / count;
}

static void send_all(tutti_client *client, int batches, int contexts)
{
    enum { COUNT = 8 };
    tutti_context *context = tutti_context_at(client, 0);
    tutti_endpoint *to;
    tutti_status status;
    port_check(tutti_endpoint_to(client, 1, 0, &to));
    send_batch(context, to, 1);
    for (int i = 0; i < batches; i++) {
        double each = send_batch(context, to, COUNT);
        printf("{\"measure\": \"pull\", \"bytes\": %lld, \"contexts\": %d, \"mib_per_s\": %.2f}\n",
               (long long)bulk_bytes, contexts, (double)bulk_bytes / each / (1 << 20));
    }
    while ((status = tutti_message_immediate(context, to, OVER, NULL, 0, "", 1)) == TUTTI_AGAIN)
        port_check(tutti_advance(context, NULL));
    port_check(status);
}

static void *pull_one(void *context)
{
    while (!over) port_check(tutti_advance(context, NULL));
    return NULL;
}

static void *pull_second(void *context)
{
    pin(1);
    return pull_one(context);
}

static void pull_all(tutti_client *client, int contexts)
{
    pthread_t second;
    pin(0);
    if (contexts > 1 &&
        pthread_create(&second, NULL, pull_second, tutti_context_at(client, 1)) != 0)
        die("no thread");
    pull_one(tutti_context_at(client, 0));
    if (contexts > 1) pthread_join(second, NULL);
    for (int64_t i = 0; i < bulk_bytes; i++)
        if (bulk[i] != (char)(i * 31)) die("what was pulled is wrong at byte %lld", (long long)i);
}

static void pull(tutti_client *client, int batches, int64_t bytes, int contexts)
{
    tutti_context *more[1];
    bulk = pages(bytes);
    bulk_bytes = bytes;
    for (int64_t i = 0; i < bytes; i++) bulk[i] = me == 0 ? (char)(i * 31) : 0;
    if (me == 1 && contexts > 1) port_check(tutti_contexts(client, 1, more));
    port_check(tutti_dispatch(client, BULK, on_bulk, NULL));
    port_check(tutti_dispatch(client, OVER, on_over, NULL));
    port_barrier();
    if (me == 0) send_all(client, batches, contexts);
    if (me == 1) pull_all(client, contexts);
}

static void usage(void)
{
    die("usage: messages-threads rate BATCHES SECONDS | pull BATCHES BYTES CONTEXTS (1 or 2)");
}

int main(int argc, char **argv)
{
    bool rates = argc == 4 && strcmp(argv[1], "rate") == 0;
    bool pulls = argc == 5 && strcmp(argv[1], "pull") == 0;
    int batches = argc > 2 ? atoi(argv[2]) : 0;
    if ((!rates && !pulls) || batches < 1) usage();
    if (rates && atof(argv[3]) <= 0) usage();
    if (pulls && (atoll(argv[3]) < 1 || atoi(argv[4]) < 1 || atoi(argv[4]) > 2)) usage();
    port_init(&argc, &argv);
    me = port_rank();
    p = port_size();
    if (rates && p > 2) die("a job of 1 or 2 ranks, not %d", p);
    if (pulls && p != 2) die("a job of 2 ranks, not %d", p);
    if (rates) rate(port_client, batches, atof(argv[3]));
    if (pulls) pull(port_client, batches, atoll(argv[3]), atoi(argv[4]));
    port_barrier();
    port_finish();
    return 0;
}
