/* SPDX-License-Identifier: BSD-3-Clause
 *
 * clients COMMAND: several clients in a process. clients.sh runs it with ranks that are processes;
 * without the script, `clients jobs` runs ranks that are threads.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/api.h"

#define must(condition)                                                                            \
    ((condition)                                                                                   \
         ? (void)0                                                                                 \
         : (fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, tutti_error()),     \
            exit(8)))

static tutti_client *join(void)
{
    tutti_client *client = NULL;
    must(tutti_init(&client) == TUTTI_OK);
    return client;
}

/* ---- The work of a client ---- */

enum { LONG = 30000 };

struct clients_post {
    int64_t *got;
    int come, delivered;
};

static void one_come(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    must(status == TUTTI_OK);
    ((struct clients_post *)arg)->come++;
}

static void one_delivered(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    must(status == TUTTI_OK);
    ((struct clients_post *)arg)->delivered++;
}

static void take(tutti_context *context, const tutti_message *m, tutti_receive *receive, void *arg)
{
    struct clients_post *post = arg;
    (void)context;
    must(m->bytes <= LONG * 8);
    *receive = (tutti_receive){
        .to = post->got, .count = LONG, .type = TUTTI_I64, .done = one_come, .arg = post};
}

/* Sends a message of n values, which depend on `salt` and the rank, to the next rank. Receives such
 * a message from the rank before, and checks it. */
static void pass_on(tutti_client *client, tutti_endpoint *to, struct clients_post *post,
                    int64_t salt, int64_t n)
{
    tutti_team *world = tutti_world(client);
    int p = tutti_size(world), me = tutti_rank(world), before = (me + p - 1) % p;
    int64_t *out = malloc(LONG * sizeof *out);
    must(out);
    for (int64_t i = 0; i < n; i++) out[i] = salt + me + i;
    tutti_send send = {.to = to,
                       .dispatch = 7,
                       .data = out,
                       .count = n,
                       .type = TUTTI_I64,
                       .delivered = one_delivered,
                       .arg = post};
    post->come = post->delivered = 0;
    must(tutti_barrier(world) == TUTTI_OK);
    must(tutti_message_send(tutti_context_at(client, 0), &send) == TUTTI_OK);
    while (!post->come || !post->delivered) {
        tutti_status status = tutti_advance_wait(tutti_context_at(client, 0), -1, NULL);
        must(status == TUTTI_OK);
    }
    for (int64_t i = 0; i < n; i++) must(post->got[i] == salt + before + i);
    must(tutti_barrier(world) == TUTTI_OK);
    free(out);
}

static void messages(tutti_client *client, int64_t salt, int times)
{
    tutti_team *world = tutti_world(client);
    tutti_endpoint *to;
    struct clients_post post = {.got = malloc(LONG * sizeof *post.got)};
    must(post.got);
    must(tutti_dispatch(client, 7, take, &post) == TUTTI_OK);
    must(tutti_endpoint_to(client, (tutti_rank(world) + 1) % tutti_size(world), 0, &to) ==
         TUTTI_OK);
    for (int i = 0; i < times; i++) pass_on(client, to, &post, salt + i, i % 2 ? LONG : 10);
    free(post.got);
}

/* Runs collectives whose results depend on the ranks that take part and on `salt`, so that an
 * interference of two clients would be noticed. */
static void work(tutti_client *client, int64_t salt, int times)
{
    enum { N = 3000 };
    tutti_team *world = tutti_world(client), *part;
    int p = tutti_size(world), me = tutti_rank(world);
    int64_t *in = malloc(N * sizeof *in), *out = malloc(N * sizeof *out);
    must(in && out);
    for (int t = 0; t < times; t++) {
        for (int i = 0; i < N; i++) in[i] = salt + me + i + t;
        int64_t n = t % 3 ? 5 : N, all = (int64_t)p * (p - 1) / 2;
        must(tutti_allreduce(world, in, out, n, TUTTI_I64, TUTTI_SUM) == TUTTI_OK);
        for (int i = 0; i < n; i++) must(out[i] == p * (salt + i + t) + all);
        must(tutti_bcast(world, in, n, TUTTI_I64, t % p) == TUTTI_OK);
        must(in[n - 1] == salt + t % p + n - 1 + t);
        if (t % 10) continue;
        must(tutti_team_split(world, me % 2, 0, &part) == TUTTI_OK);
        must(tutti_allreduce(part, &salt, out, 1, TUTTI_I64, TUTTI_SUM) == TUTTI_OK);
        must(out[0] == salt * tutti_size(part));
        must(tutti_team_free(part) == TUTTI_OK);
    }
    free(in);
    free(out);
}

/* ---- Clients side by side ---- */

struct worker {
    pthread_t thread;
    tutti_client *client;
    int64_t salt;
    int times;
};

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    work(w->client, w->salt, w->times);
    messages(w->client, w->salt, w->times / 4);
    must(tutti_finalize(w->client) == TUTTI_OK);
    return NULL;
}

/* together N TIMES: creates N clients, and runs a thread for each client that makes TIMES rounds of
 * calls on the client and finalizes it. */
static int together(int argc, char **argv)
{
    enum { MOST = 16 };
    struct worker w[MOST];
    int n = argc > 0 ? atoi(argv[0]) : 3, times = argc > 1 ? atoi(argv[1]) : 100;
    must(n <= MOST);
    for (int i = 0; i < n; i++)
        w[i] = (struct worker){.client = join(), .salt = 1000 * (i + 1), .times = times};
    for (int i = 0; i < n; i++) must(pthread_create(&w[i].thread, NULL, worker_main, &w[i]) == 0);
    for (int i = 0; i < n; i++) pthread_join(w[i].thread, NULL);
    return 0;
}

/* ---- Clients one after the other ---- */

/* The key of a region belongs to the client of the region. */
static void strange_key(tutti_client *client, tutti_client *other)
{
    char memory[8] = {0}, here[8];
    tutti_region *region;
    tutti_key key;
    tutti_endpoint *self;
    must(tutti_region_register(other, memory, sizeof memory, &region) == TUTTI_OK);
    must(tutti_region_key(region, &key) == TUTTI_OK);
    must(tutti_endpoint_to(client, tutti_rank(tutti_world(client)), 0, &self) == TUTTI_OK);
    must(tutti_get(tutti_context_at(client, 0), self, here, &key, 0, 1, one_come, NULL) ==
         TUTTI_ERR_ARG);
    must(strstr(tutti_error(), "another client (client 3; the context is of client 1)"));
    must(tutti_region_free(region) == TUTTI_OK);
}

/* orders: finalizes clients in a different order on each rank, and creates further clients
 * meanwhile. */
static int orders(int argc, char **argv)
{
    (void)argc, (void)argv;
    tutti_client *c[4];
    for (int i = 0; i < 4; i++) c[i] = join();
    int me = tutti_rank(tutti_world(c[0]));
    for (int i = 0; i < 4; i++) must(c[i]->fabric.client == i);
    for (int i = 0; i < 4; i++) work(c[i], 10 * i, 3);
    strange_key(c[1], c[3]);
    for (int i = 0; i < 2; i++) must(tutti_finalize(c[(me + i) % 3]) == TUTTI_OK);
    tutti_client *late = join();
    must(late->fabric.client == 4);
    work(c[3], 77, 5);
    work(late, 78, 5);
    must(tutti_finalize(c[(me + 2) % 3]) == TUTTI_OK);
    work(late, 79, 5);
    must(tutti_finalize(c[3]) == TUTTI_OK);
    work(late, 80, 5);
    must(tutti_finalize(late) == TUTTI_OK);
    tutti_client *last = join(); /* all other clients have been finalized */
    must(last->fabric.client == 5);
    work(last, 81, 5);
    must(tutti_finalize(last) == TUTTI_OK);
    return 0;
}

/* Returns how many bytes of the job's shared memory are backed by pages. */
static int64_t shared_bytes(const tutti_client *client)
{
    struct stat st;
    if (client->seat.segment.fd < 0) return 0;
    must(fstat(client->seat.segment.fd, &st) == 0);
    return st.st_blocks * 512;
}

static int descriptors(void)
{
    int n = 0;
    for (int fd = 3; fd < 100; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* The bytes by which the heap may grow, because memory that the allocator keeps for later counts as
 * used. If a thousand clients leaked a cache line each, the heap would grow by more. */
#define HEAP_SLACK (32 << 10)

/* turns N: creates and finalizes N clients, while a first one stays. After all of them, no more
 * memory and descriptors may be in use than after ten. */
static int turns(int argc, char **argv)
{
    int n = argc > 0 ? atoi(argv[0]) : 1000, open = 0;
    int64_t shared = 0;
    size_t heap = 0;
    tutti_client *stays = join();
    for (int i = 0; i < n; i++) {
        tutti_client *client = join();
        work(client, i, 1);
        messages(client, i, 2);
        void *memory;
        must(tutti_alloc(client, 100000, &memory) == TUTTI_OK);
        must(tutti_finalize(client) == TUTTI_OK);
        if (i != 10 && i != n - 1) continue;
        /* After this barrier all ranks have finalized the client. */
        must(tutti_barrier(tutti_world(stays)) == TUTTI_OK);
        /* Creating a client frees what is left of clients that all ranks have finalized. */
        tutti_client *next = join();
        must(tutti_barrier(tutti_world(next)) == TUTTI_OK);
        if (i == 10) {
            shared = shared_bytes(next);
            open = descriptors();
            heap = mallinfo2().uordblks;
        } else {
            size_t now = mallinfo2().uordblks;
            printf("shared %lld -> %lld, heap %zu -> %zu\n", (long long)shared,
                   (long long)shared_bytes(next), heap, now);
            must(shared_bytes(next) <= shared && descriptors() == open && now <= heap + HEAP_SLACK);
        }
        must(tutti_barrier(tutti_world(next)) == TUTTI_OK);
        must(tutti_finalize(next) == TUTTI_OK);
    }
    work(stays, 5, 5);
    must(tutti_finalize(stays) == TUTTI_OK);
    return 0;
}

/* ---- Too many clients, or too few ---- */

/* many: client number 17 is refused on all ranks. When all ranks have finalized one client, a
 * further one can be created. */
static int many(int argc, char **argv)
{
    (void)argc, (void)argv;
    tutti_client *c[TT_CLIENTS], *more = NULL;
    for (int i = 0; i < TT_CLIENTS; i++) c[i] = join();
    must(tutti_init(&more) == TUTTI_ERR_LIMIT && !more);
    printf("%s\n", tutti_error());
    must(tutti_init(&more) == TUTTI_ERR_LIMIT && !more);
    for (int i = 0; i < TT_CLIENTS; i++) work(c[i], i, 2);
    must(tutti_finalize(c[7]) == TUTTI_OK);
    must(tutti_barrier(tutti_world(c[0])) == TUTTI_OK);
    c[7] = join();
    must(c[7]->fabric.client == TT_CLIENTS + 2);
    for (int i = 0; i < TT_CLIENTS; i++) work(c[i], i, 2);
    for (int i = 0; i < TT_CLIENTS; i++) must(tutti_finalize(c[i]) == TUTTI_OK);
    return 0;
}

static void reported(const char *what, tutti_status status)
{
    printf("%s: %s: %s\n", what, tutti_status_text(status), status ? tutti_error() : "");
    fflush(stdout);
}

/* uneven HOW: the last rank creates one client and the other ranks create two. HOW says how the
 * last rank ends: finalize, exit or kill. When the last rank ends, the other ranks get an error
 * that says how it ended. */
static int uneven(int argc, char **argv)
{
    tutti_client *client = join(), *second;
    tutti_team *world = tutti_world(client);
    work(client, 3, 3);
    if (tutti_rank(world) == tutti_size(world) - 1) {
        if (argc > 0 && strcmp(argv[0], "finalize") == 0) tutti_finalize(client);
        usleep(300000);
        if (argc > 0 && strcmp(argv[0], "kill") == 0) kill(getpid(), SIGKILL);
        _exit(0); /* unless HOW is "finalize", the process ends without tutti_finalize */
    }
    tutti_status status = tutti_init(&second);
    reported("second", status);
    must(tutti_finalize(client) == TUTTI_OK);
    return status == TUTTI_ERR_PEER ? 0 : 8;
}

/* ---- Failures that concern one client only ---- */

/* one-fails HOW: on client 1, the last rank calls another collective than the other ranks
 * (`mismatch`), or leaves. The other ranks get the error on client 1, and client 0 still works. */
static int one_fails(int argc, char **argv)
{
    bool mismatch = argc > 0 && strcmp(argv[0], "mismatch") == 0;
    tutti_client *good = join(), *bad = join();
    int64_t x = 1, sum;
    bool last = tutti_rank(tutti_world(bad)) == tutti_size(tutti_world(bad)) - 1;
    tutti_status status = TUTTI_ERR_PEER;
    if (!last)
        while ((status = tutti_allreduce(tutti_world(bad), &x, &sum, 1, TUTTI_I64, TUTTI_SUM)) ==
               TUTTI_OK)
            continue;
    else if (mismatch)
        while ((status = tutti_barrier(tutti_world(bad))) == TUTTI_OK) continue;
    else
        must(tutti_finalize(bad) == TUTTI_OK);
    if (!last || mismatch) reported("bad", status);
    for (int i = 0; i < 20; i++) work(good, i, 5);
    if (!last || mismatch) must(tutti_finalize(bad) == TUTTI_OK);
    work(good, 9, 5);
    tutti_client *next = join(); /* no rank died, so further clients can be created */
    work(next, 10, 5);
    must(tutti_finalize(good) == TUTTI_OK && tutti_finalize(next) == TUTTI_OK);
    return status == (mismatch ? TUTTI_ERR_MISMATCH : TUTTI_ERR_PEER) || status == TUTTI_ERR_PEER
               ? 0
               : 8;
}

/* starving: each allocation in creating a client fails once on the last rank, which gets
 * TUTTI_ERR_MEMORY; the other ranks get TUTTI_ERR_PEER. The existing client still works, and the
 * next tutti_init succeeds. */
static int starving(int argc, char **argv)
{
    (void)argc, (void)argv;
    tutti_client *good = join(), *poor;
    bool last = tutti_rank(tutti_world(good)) == tutti_size(tutti_world(good)) - 1;
    int failed = 0;
    for (tutti_status status = TUTTI_ERR_MEMORY; status != TUTTI_OK; failed++) {
        if (last) tt_memory_fail_at(failed);
        status = tutti_init(&poor);
        tt_memory_fail_at(-1);
        must(status == TUTTI_OK || status == (last ? TUTTI_ERR_MEMORY : TUTTI_ERR_PEER));
        if (status == TUTTI_OK) work(poor, 4, 1);
        work(good, 5, 2);
    }
    must(failed > 5);
    must(tutti_finalize(poor) == TUTTI_OK && tutti_finalize(good) == TUTTI_OK);
    return 0;
}

static void *until_it_fails(void *arg)
{
    int64_t x = 1, sum;
    tutti_status status = TUTTI_OK;
    tutti_team *world = tutti_world(arg);
    while (status == TUTTI_OK) status = tutti_allreduce(world, &x, &sum, 1, TUTTI_I64, TUTTI_SUM);
    reported("dead", status);
    must(status == TUTTI_ERR_PEER);
    return NULL;
}

/* killed: the last rank is killed. Each other rank uses its two clients in two threads. The worlds
 * of both clients fail, and a team without the last rank still works. */
static int killed(int argc, char **argv)
{
    (void)argc, (void)argv;
    pthread_t thread;
    tutti_client *one = join(), *two = join(), *third;
    tutti_team *world = tutti_world(one), *rest;
    bool last = tutti_rank(world) == tutti_size(world) - 1;
    int64_t x = 1, sum;
    must(tutti_team_split(world, last ? -1 : 0, 0, &rest) == TUTTI_OK);
    if (last) {
        usleep(200000);
        kill(getpid(), SIGKILL);
    }
    must(pthread_create(&thread, NULL, until_it_fails, two) == 0);
    until_it_fails(one);
    pthread_join(thread, NULL);
    for (int i = 0; i < 1000; i++)
        must(tutti_allreduce(rest, &x, &sum, 1, TUTTI_I64, TUTTI_SUM) == TUTTI_OK &&
             sum == tutti_size(rest));
    must(tutti_init(&third) == TUTTI_ERR_PEER);
    must(tutti_finalize(two) == TUTTI_OK && tutti_finalize(one) == TUTTI_OK);
    return 0;
}

/* idle: two helper threads that have communicated and now have nothing to do must use less than a
 * fifth of a processor. */
static int idle(int argc, char **argv)
{
    (void)argc, (void)argv;
    struct timespec before, after;
    tutti_context *c[2];
    tutti_client *client = join();
    messages(client, 3, 4);
    must(tutti_contexts(client, 2, c) == TUTTI_OK);
    for (int i = 0; i < 2; i++) must(tutti_helper_start(c[i]) == TUTTI_OK);
    usleep(300000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    usleep(1000000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    double cpu =
        (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
    printf("%.3f s of processors in a second\n", cpu);
    must(cpu < 0.2);
    messages(client, 4, 4);
    must(tutti_finalize(client) == TUTTI_OK);
    return 0;
}

/* ---- A descriptor that the program reuses ---- */

enum { FILES = 256, OWN_BYTES = 12345 };

/* Closes all descriptors, and opens files of the program that get the same numbers. */
static void take_numbers(void)
{
    for (int fd = STDERR_FILENO + 1; fd < FILES; fd++) close(fd);
    int first = memfd_create("own", 0);
    must(first == STDERR_FILENO + 1 && ftruncate(first, OWN_BYTES) == 0);
    for (int fd = first + 1; fd < FILES; fd++) must(dup(first) == fd);
}

static void must_be_untouched(void)
{
    struct stat st;
    for (int fd = STDERR_FILENO + 1; fd < FILES; fd++)
        must(fcntl(fd, F_GETFD) == 0 && fstat(fd, &st) == 0 && st.st_size == OWN_BYTES);
}

/* reused: between two clients, the program closes all descriptors and opens files that get the same
 * numbers. The second client is refused, and the files are not changed. */
static int reused(int argc, char **argv)
{
    (void)argc, (void)argv;
    must(tutti_finalize(join()) == TUTTI_OK);
    take_numbers();
    tutti_client *client;
    must(tutti_init(&client) == TUTTI_ERR_BOOT);
    puts(tutti_error());
    must_be_untouched();
    return 0;
}

/* traced: while a client works, the program closes all descriptors, also that of the rank's trace,
 * and opens files that get the same numbers. The library must not change these files. */
static int traced(int argc, char **argv)
{
    (void)argc, (void)argv;
    tutti_client *client = join();
    take_numbers();
    for (int i = 0; i < LONG; i++) must(tutti_barrier(tutti_world(client)) == TUTTI_OK);
    must(tutti_finalize(client) == TUTTI_OK);
    must_be_untouched();
    return 0;
}

/* closed: the program has closed its standard input, output and error. While a client works,
 * whatever the process prints must be lost, and must not get into the job's memory or a socket. */
static int closed(int argc, char **argv)
{
    struct stat null, is;
    (void)argc, (void)argv;
    for (int fd = 0; fd <= 2; fd++) close(fd);
    tutti_client *client = join();
    must(stat("/dev/null", &null) == 0);
    for (int fd = 0; fd <= 2; fd++) must(fstat(fd, &is) == 0 && is.st_rdev == null.st_rdev);
    must(tutti_barrier(tutti_world(client)) == TUTTI_OK);
    must(tutti_finalize(client) == TUTTI_OK);
    return 0;
}

/* ---- Jobs of threads ---- */

static void rank_main(tutti_client *client, void *arg)
{
    /* a client of the job to which the process belongs */
    struct worker w = {.client = join(), .salt = 50, .times = 20};
    const char *size = getenv("TUTTI_SIZE");
    must(tutti_size(tutti_world(w.client)) == (size ? atoi(size) : 1));
    must(pthread_create(&w.thread, NULL, worker_main, &w) == 0);
    work(client, *(int64_t *)arg, 60);
    pthread_join(w.thread, NULL);
}

static void *job_main(void *arg)
{
    must(tutti_threads(3, rank_main, arg) == TUTTI_OK);
    return NULL;
}

/* jobs: each process of the launched job runs two jobs of threads at once. Each of these threads
 * also creates a client of the launched job, in which the process already has one. Each process
 * creates these clients in any order, so any client of one process may belong together with any
 * client of another process. */
static int jobs(int argc, char **argv)
{
    (void)argc, (void)argv;
    pthread_t thread[2];
    int64_t salt[2] = {100, 200};
    tutti_client *client = join();
    for (int i = 0; i < 2; i++) must(pthread_create(&thread[i], NULL, job_main, &salt[i]) == 0);
    work(client, 7, 50);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    must(tutti_finalize(client) == TUTTI_OK);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } scenarios[] = {{"together", together}, {"orders", orders}, {"turns", turns},
                     {"many", many},         {"uneven", uneven}, {"one-fails", one_fails},
                     {"killed", killed},     {"jobs", jobs},     {"idle", idle},
                     {"starving", starving}, {"reused", reused}, {"traced", traced},
                     {"closed", closed}};
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(argv[1], scenarios[i].name) == 0) return scenarios[i].run(argc - 2, argv + 2);
    fprintf(stderr, "clients: what?\n");
    return 7;
}
