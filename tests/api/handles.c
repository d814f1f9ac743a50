/* SPDX-License-Identifier: BSD-3-Clause
 *
 * handles WHAT: handles that are not valid any more, after tutti_finalize or after they were freed,
 * and in a child process. Each call with such a handle returns an error that says so, and nothing
 * else happens. Runs in a job of any size.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tutti/message.h>

/* One handle of each kind that a client gives. */
struct all {
    tutti_client *client;
    tutti_team *world, *part;
    tutti_request *request;
    tutti_context *context, *second;
    tutti_endpoint *endpoint;
    tutti_region *region;
    void *memory;
    tutti_key key;
};

static int faults, ranks;
static const char *why; /* the message of a refused call must contain this text */

static void fault(const char *call, tutti_status status)
{
    printf("%s: %s: %s\n", call, tutti_status_text(status), tutti_error());
    faults++;
}

static void must(tutti_status status, const char *call)
{
    if (status != TUTTI_OK) fault(call, status);
}

static void refused(tutti_status status, const char *call)
{
    if (status != TUTTI_ERR_ARG || !strstr(tutti_error(), why)) fault(call, status);
}
#define MUST(call) must(call, #call)
#define REFUSED(call) refused(call, #call)
#define IS(condition)                                                                              \
    do {                                                                                           \
        if (!(condition)) fault(#condition, TUTTI_OK);                                             \
    } while (0)

static double in[64], out[64];

static void make(struct all *a)
{
    MUST(tutti_init(&a->client));
    a->world = tutti_world(a->client);
    ranks = tutti_size(a->world);
    MUST(tutti_team_split(a->world, 0, 0, &a->part));
    MUST(tutti_allreduce_init(a->world, in, out, 1, TUTTI_F64, TUTTI_SUM, 0, &a->request));
    a->context = tutti_context_at(a->client, 0);
    MUST(tutti_contexts(a->client, 1, &a->second));
    MUST(tutti_endpoint_to(a->client, 0, 0, &a->endpoint));
    MUST(tutti_region_register(a->client, in, sizeof in, &a->region));
    MUST(tutti_region_key(a->region, &a->key));
    MUST(tutti_alloc(a->client, 4096, &a->memory));
}

static void add(const struct all *a)
{
    double one = 1, sum = 0;
    MUST(tutti_allreduce(a->world, &one, &sum, 1, TUTTI_F64, TUTTI_SUM));
    IS(sum == tutti_size(a->world));
    MUST(tutti_start(a->request));
    MUST(tutti_wait(a->request));
}

static void done(tutti_context *context, void *arg, tutti_status status)
{
    (void)context, (void)arg, (void)status;
    fault("something was called", status);
}

static void work(tutti_context *context, void *arg)
{
    done(context, arg, TUTTI_OK);
}

/* ---- Calls of every function ---- */

static void blocking(tutti_team *team)
{
    const int64_t n[64] = {0};
    const tutti_type types[64] = {TUTTI_I8};
    REFUSED(tutti_barrier(team));
    REFUSED(tutti_bcast(team, in, 1, TUTTI_F64, 0));
    REFUSED(tutti_reduce(team, in, out, 1, TUTTI_F64, TUTTI_SUM, 0));
    REFUSED(tutti_allreduce(team, in, out, 1, TUTTI_F64, TUTTI_SUM));
    REFUSED(tutti_reduce_scatter_block(team, in, out, 1, TUTTI_F64, TUTTI_SUM));
    REFUSED(tutti_reduce_scatter(team, in, out, n, TUTTI_F64, TUTTI_SUM));
    REFUSED(tutti_gather(team, in, out, 1, TUTTI_F64, 0));
    REFUSED(tutti_allgather(team, in, out, 1, TUTTI_F64));
    REFUSED(tutti_allgatherv(team, in, out, n, n, TUTTI_F64));
    REFUSED(tutti_alltoall(team, in, out, 1, TUTTI_F64));
    REFUSED(tutti_alltoallv(team, in, n, n, out, n, n, TUTTI_F64));
    REFUSED(tutti_alltoallw(team, in, n, n, types, out, n, n, types));
    REFUSED(tutti_scatter(team, in, out, 1, TUTTI_F64, 0));
    REFUSED(tutti_gatherv(team, in, 1, out, n, n, TUTTI_F64, 0));
    REFUSED(tutti_scatterv(team, in, n, n, out, 1, TUTTI_F64, 0));
    REFUSED(tutti_scan(team, in, out, 1, TUTTI_F64, TUTTI_SUM));
    REFUSED(tutti_exscan(team, in, out, 1, TUTTI_F64, TUTTI_SUM));
}

static void nonblocking(tutti_team *team)
{
    tutti_request *request = NULL;
    tutti_type derived;
    REFUSED(tutti_ibarrier(team, &request));
    REFUSED(tutti_iallreduce(team, in, out, 1, TUTTI_F64, TUTTI_SUM, &request));
    REFUSED(tutti_bcast_init(team, in, 1, TUTTI_F64, 0, 0, &request));
    REFUSED(tutti_bcast_init(team, in, 1, TUTTI_F64, 0, TUTTI_REQUEST_SHARED, &request));
    MUST(tutti_type_vector(2, 1, 2, TUTTI_F64, &derived));
    REFUSED(tutti_bcast(team, in, 1, derived, 0));
    REFUSED(tutti_ibcast(team, in, 1, derived, 0, &request));
    MUST(tutti_type_free(derived));
    IS(!request);
}

static void of_team(tutti_team *team)
{
    tutti_team *part = NULL;
    int64_t value = 1;
    int count;
    blocking(team);
    nonblocking(team);
    REFUSED(tutti_team_split(team, 0, 0, &part));
    REFUSED(tutti_team_shrink(team, &part));
    REFUSED(tutti_team_agree(team, &value, &count));
    REFUSED(tutti_team_revoke(team));
    REFUSED(tutti_team_failed(team, NULL, 0, &count));
    REFUSED(tutti_team_free(team));
    IS(tutti_rank(team) == -1 && tutti_size(team) == 0 && !part);
}

static void of_request(tutti_request *request)
{
    REFUSED(tutti_start(request));
    REFUSED(tutti_test(request));
    REFUSED(tutti_wait(request));
    REFUSED(tutti_request_free(request));
}

static void of_client(tutti_client *client)
{
    void *memory;
    tutti_context *context;
    tutti_endpoint *endpoint;
    tutti_region *region;
    REFUSED(tutti_finalize(client));
    REFUSED(tutti_alloc(client, 8, &memory));
    REFUSED(tutti_free(client, in));
    REFUSED(tutti_contexts(client, 1, &context));
    REFUSED(tutti_endpoint_to(client, 0, 0, &endpoint));
    REFUSED(tutti_dispatch(client, 0, NULL, NULL));
    REFUSED(tutti_region_register(client, in, sizeof in, &region));
    IS(!tutti_world(client) && !tutti_context_at(client, 0));
}

static void of_context(const struct all *a, tutti_context *context)
{
    tutti_receive receive = {.to = NULL};
    tutti_send send = {.to = a->endpoint, .type = TUTTI_U8, .sent = done};
    REFUSED(tutti_advance(context, NULL));
    REFUSED(tutti_advance_all(&context, 1, NULL));
    REFUSED(tutti_advance_wait(context, -1, NULL));
    REFUSED(tutti_drain(context));
    REFUSED(tutti_post(context, work, NULL));
    REFUSED(tutti_helper_start(context));
    REFUSED(tutti_helper_stop(context));
    REFUSED(tutti_message_receive(context, NULL, &receive));
    REFUSED(tutti_message_send(context, &send));
    REFUSED(tutti_message_immediate(context, a->endpoint, 0, NULL, 0, NULL, 0));
    REFUSED(tutti_get(context, a->endpoint, out, &a->key, 0, 8, done, NULL));
    REFUSED(tutti_put(context, a->endpoint, in, &a->key, 0, 8, done, NULL));
    REFUSED(tutti_fence(context, NULL, done, NULL));
}

static void of_rest(const struct all *a)
{
    tutti_key key;
    REFUSED(tutti_region_key(a->region, &key));
    REFUSED(tutti_region_free(a->region));
    IS(tutti_endpoint_rank(a->endpoint) == -1 && tutti_endpoint_context(a->endpoint) == -1);
}

static void nothing_works(const struct all *a)
{
    of_team(a->world);
    of_team(a->part);
    of_request(a->request);
    of_client(a->client);
    of_context(a, a->context);
    of_context(a, a->second);
    of_rest(a);
}

/* ---- After the client has ended ---- */

static void test_end(void)
{
    struct all a, b;
    make(&a);
    add(&a);
    MUST(tutti_finalize(a.client));
    why = "it was freed, or its client was finalized";
    nothing_works(&a);
    /* The old handles must not be accepted as handles of the next client. */
    make(&b);
    nothing_works(&a);
    /* These calls combine a handle of a live client with a handle of a client that has ended. */
    tutti_send send = {.to = a.endpoint, .type = TUTTI_U8};
    REFUSED(tutti_message_send(b.context, &send));
    REFUSED(tutti_get(b.context, a.endpoint, out, &b.key, 0, 8, NULL, NULL));
    REFUSED(tutti_fence(b.context, a.endpoint, NULL, NULL));
    add(&b);
    MUST(tutti_request_free(b.request));
    of_request(b.request);
    MUST(tutti_region_free(b.region));
    REFUSED(tutti_region_free(b.region));
    MUST(tutti_team_free(b.part));
    of_team(b.part);
    MUST(tutti_finalize(b.client));
    of_client(b.client);
}

/* Checks that thousands of requests need no more memory than some hundreds. */
static void test_many(void)
{
    struct all a;
    size_t used = 0;
    why = "it was freed";
    make(&a);
    for (int i = 0; i < 3000; i++) {
        tutti_request *request;
        if (i == 1000) used = mallinfo2().uordblks;
        MUST(tutti_ibarrier(a.world, &request));
        MUST(tutti_wait(request));
        MUST(tutti_request_free(request));
        if (i % 7 == 0) REFUSED(tutti_test(request));
    }
    IS(mallinfo2().uordblks < used + 65536);
    MUST(tutti_finalize(a.client));
}

static size_t heap_bytes(void)
{
    struct mallinfo2 heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
}

/* Makes calls on a broken team that would pack elements or use scratch. */
static void call_in_vain(tutti_team *team, tutti_type type, double *from, double *to)
{
    enum { SOME = 1 << 15 };
    tutti_request *request;
    IS(tutti_bcast(team, to, 2, type, 0) == TUTTI_ERR_PEER);
    for (int i = 0; i < 3; i++) {
        if (i == 0) MUST(tutti_iscan(team, from, to, SOME, TUTTI_F64, TUTTI_SUM, &request));
        if (i == 1) MUST(tutti_ireduce(team, from, to, SOME, TUTTI_F64, TUTTI_SUM, 0, &request));
        if (i == 2) MUST(tutti_iallgather(team, from, to, 1, type, &request));
        IS(tutti_wait(request) == TUTTI_ERR_PEER);
        MUST(tutti_request_free(request));
    }
}

/* Checks that calls on a broken team keep no memory. */
static void test_broken(void)
{
    enum { BLOCKS = 4096, MANY = 1 << 16 };
    struct all a;
    tutti_team *copy;
    tutti_type strided;
    size_t used = 0;
    double *from = calloc(MANY, sizeof *from), *to = calloc(MANY, sizeof *to);
    make(&a);
    MUST(tutti_team_dup(a.world, &copy));
    MUST(tutti_type_vector(BLOCKS, 1, 2, TUTTI_F64, &strided));
    MUST(tutti_team_revoke(copy));
    for (int i = 0; i < 30; i++) {
        if (i == 10) used = heap_bytes();
        call_in_vain(copy, strided, from, to);
    }
    IS(heap_bytes() < used + 65536);
    IS(tutti_team_free(copy) == TUTTI_ERR_PEER);
    MUST(tutti_type_free(strided));
    MUST(tutti_finalize(a.client));
    free(from);
    free(to);
}

/* ---- In a child process ---- */

static void run_in_child(const struct all *a, void (*act)(const struct all *a), int code)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        faults = 0;
        act(a);
        exit(faults ? 99 : code); /* also runs the functions registered with atexit */
    }
    IS(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
       WEXITSTATUS(status) == code);
}

static void grandchild(const struct all *a)
{
    run_in_child(a, nothing_works, 0);
    nothing_works(a);
    REFUSED(tutti_init(&(tutti_client *){NULL}));
}

static void exits(const struct all *a)
{
    (void)a;
}

/* Sums over the ranks of a job of threads, which a child process starts. */
static void add_thread(tutti_client *client, void *arg)
{
    struct all own = {.client = client, .world = tutti_world(client)};
    (void)arg;
    double one = 1, sum = 0;
    MUST(tutti_allreduce(own.world, &one, &sum, 1, TUTTI_F64, TUTTI_SUM));
    IS(sum == ranks);
}

static void threads(const struct all *a)
{
    nothing_works(a);
    MUST(tutti_threads(ranks, add_thread, NULL));
    nothing_works(a);
}

static void combine(const void *left, const void *right, void *to, size_t n, tutti_type type,
                    void *arg)
{
    (void)left, (void)right, (void)to, (void)n, (void)type, (void)arg;
}

static void make_others(void)
{
    tutti_type type;
    tutti_op op, bound;
    MUST(tutti_type_vector(3, 1, 2, TUTTI_I32, &type));
    MUST(tutti_op_create(combine, 1, NULL, &op));
    MUST(tutti_op_bind(op, &type, &bound));
    MUST(tutti_op_free(bound));
    MUST(tutti_op_free(op));
    MUST(tutti_type_free(type));
}

static atomic_bool enough;

static void *make_all_the_time(void *arg)
{
    (void)arg;
    while (!atomic_load(&enough)) make_others();
    return NULL;
}

/* Runs in a child whose parent was in the middle of making types and operations. */
static void makes(const struct all *a)
{
    alarm(60);
    make_others();
    threads(a);
}

/* Forks while another thread makes types and operations. */
static void test_busy(void)
{
    struct all a;
    pthread_t thread;
    make(&a);
    why = "belongs to the process that forked this one";
    IS(pthread_create(&thread, NULL, make_all_the_time, NULL) == 0);
    for (int i = 0; i < 20; i++) run_in_child(&a, makes, 0);
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    MUST(tutti_finalize(a.client));
}

/* Runs in the child: reads what the parent has computed, which is allowed. */
static void reads(const struct all *a)
{
    IS(strcmp(a->memory, "computed") == 0);
}

static void dies(const struct all *a)
{
    (void)a;
    raise(SIGKILL);
}

static void starts(const struct all *a)
{
    (void)a;
    execlp("sh", "sh", "-c", "exit 5", (char *)NULL);
}

extern char **environ;

static void start_otherwise(void)
{
    pid_t child;
    int status = -1;
    char *const argv[] = {"sh", "-c", "exit 6", NULL};
    IS(system("exit 3") == 3 << 8);
    IS(posix_spawnp(&child, "sh", NULL, NULL, argv, environ) == 0 &&
       waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 6);
    child = vfork();
    if (child == 0) {
        execvp("sh", argv);
        _exit(1);
    }
    IS(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 6);
}

static void test_fork(void)
{
    struct all a;
    int status;
    make(&a);
    add(&a);
    strcpy(a.memory, "computed");
    why = "belongs to the process that forked this one";
    run_in_child(&a, nothing_works, 0);
    add(&a);
    run_in_child(&a, reads, 0);
    run_in_child(&a, exits, 7);
    run_in_child(&a, starts, 5);
    run_in_child(&a, threads, 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) dies(&a);
    IS(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    start_otherwise();
    add(&a);
    MUST(tutti_finalize(a.client));
    why = "it was freed, or its client was finalized";
    run_in_child(&a, nothing_works, 0);
}

/* Checks that in a launched job neither a child of a rank nor a child of that child may join. */
static void test_join(void)
{
    struct all a;
    make(&a);
    why = "this";
    run_in_child(&a, grandchild, 0);
    add(&a);
    MUST(tutti_finalize(a.client));
}

/* Lets rank 1 die and leave a child process behind, which stays alive. The other ranks must notice
 * the death nevertheless. */
static void test_orphan(void)
{
    struct all a;
    double one = 1, sum;
    tutti_status status = TUTTI_OK;
    make(&a);
    add(&a);
    int me = tutti_rank(a.world);
    if (me == 1 && fork() == 0) {
        sleep(20);
        _exit(0);
    }
    if (me == 1) raise(SIGKILL);
    for (int i = 0; i < 2 && status == TUTTI_OK; i++)
        status = tutti_allreduce(a.world, &one, &sum, 1, TUTTI_F64, TUTTI_SUM);
    if (status != TUTTI_ERR_PEER) fault("allreduce", status);
    printf("rank %d saw it: %s\n", me, tutti_error());
    fflush(stdout);
    MUST(tutti_finalize(a.client));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    alarm(300);
    if (strcmp(what, "end") == 0) test_end();
    if (strcmp(what, "many") == 0) test_many();
    if (strcmp(what, "broken") == 0) test_broken();
    if (strcmp(what, "fork") == 0) test_fork();
    if (strcmp(what, "busy") == 0) test_busy();
    if (strcmp(what, "join") == 0) test_join();
    if (strcmp(what, "orphan") == 0) test_orphan();
    if (faults == 0) printf("all as it should be\n");
    return faults ? 8 : 0;
}
