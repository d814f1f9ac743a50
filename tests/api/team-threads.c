/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs whose ranks are threads of several processes (tutti_team_threads).
 *
 *     team-threads all        the collectives, teams, memory and messages of such a job
 *     team-threads arguments  wrong arguments of one rank
 *     team-threads nested     what `all` does, in a job whose ranks are threads of one process
 *     team-threads ends       a thread ends by pthread_exit while it is needed
 *     team-threads dies       the last process is killed while its threads are needed
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "brief.h"

#define EXPECT(what)                                                                               \
    do {                                                                                           \
        if (what) break;                                                                           \
        fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #what, tutti_error());             \
        abort();                                                                                   \
    } while (0)

enum { LONG = 100000 };

/* A process in a job of threads (tutti_team_threads): the number of the process, the number of its
 * threads, the rank of the first of them, and the number of threads of all processes. `ran` counts
 * its threads that have run. */
struct brings {
    int process, threads, first, all;
    atomic_int ran;
};

/* Returns the struct for this process in a job in which rank r of the team brings 1 + r % 3
 * threads. */
static struct brings brings_of(const tutti_team *team)
{
    struct brings b = {.process = tutti_rank(team)};
    for (int r = 0; r < tutti_size(team); r++) {
        if (r == b.process) b.first = b.all;
        b.all += 1 + r % 3;
    }
    b.threads = 1 + b.process % 3;
    return b;
}

/* ---- Accesses by the system ---- */

/* A table of fabric operations that counts the accesses by system calls to the memory of threads of
 * this process (`near`) and of other processes (`far`), and then makes these accesses. */
struct counting {
    struct tt_fabric_ops ops;
    const struct tt_fabric_ops *below;
    int near, far;
};

static tutti_status count_read(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                               void *to, tt_address from, int64_t len)
{
    struct counting *c = (struct counting *)self;
    c->near += tt_fabric_maps(f, rank);
    c->far += !tt_fabric_maps(f, rank);
    return c->below->read(c->below, f, rank, to, from, len);
}

static tutti_status count_write(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                                tt_address to, const void *from, int64_t len)
{
    struct counting *c = (struct counting *)self;
    c->near += tt_fabric_maps(f, rank);
    c->far += !tt_fabric_maps(f, rank);
    return c->below->write(c->below, f, rank, to, from, len);
}

static tutti_status pass_signal(const struct tt_fabric_ops *self, struct tt_fabric *f)
{
    const struct tt_fabric_ops *below = ((const struct counting *)self)->below;
    return below->signalling ? below->signalling(below, f) : TUTTI_OK;
}

static void count_accesses(struct counting *c, tutti_client *client)
{
    *c = (struct counting){.ops = {.name = "counting",
                                   .read = count_read,
                                   .write = count_write,
                                   .signalling = pass_signal},
                           .below = client->fabric.ops};
    client->fabric.ops = &c->ops;
}

/* ---- Collectives ---- */

/* Sums long vectors, by a request that is started again. With `directly`, the plan must use no
 * windows. */
static void sum_long(tutti_team *team, bool directly)
{
    double *in = malloc(2 * LONG * sizeof *in), *out = in + LONG;
    int p = tutti_size(team), me = tutti_rank(team);
    tutti_request *request;
    EXPECT(in != NULL);
    for (int i = 0; i < LONG; i++) in[i] = i % 7 + me;
    EXPECT(tutti_allreduce_init(team, in, out, LONG, TUTTI_F64, TUTTI_SUM, 0, &request) ==
           TUTTI_OK);
    EXPECT(!directly || request->prepared->plan->win_bytes == 0);
    for (int turn = 0; turn < 3; turn++) {
        EXPECT(tutti_start(request) == TUTTI_OK && tutti_wait(request) == TUTTI_OK);
        for (int i = 0; i < LONG; i++) EXPECT(out[i] == p * (i % 7) + p * (p - 1) / 2.0);
    }
    EXPECT(tutti_request_free(request) == TUTTI_OK);
    free(in);
}

static void exchange(tutti_team *team)
{
    int p = tutti_size(team), me = tutti_rank(team);
    int64_t *in = malloc(2 * (size_t)p * 1000 * sizeof *in), *out = in + p * 1000;
    for (int i = 0; i < p * 1000; i++) in[i] = me * 1000000 + i;
    EXPECT(tutti_alltoall(team, in, out, 1000, TUTTI_I64) == TUTTI_OK);
    for (int r = 0; r < p; r++)
        for (int i = 0; i < 1000; i++) EXPECT(out[r * 1000 + i] == r * 1000000 + me * 1000 + i);
    free(in);
}

/* ---- Teams ---- */

/* Tries a team of the threads of this process: they reach each other's buffers without system
 * calls, and the data of a long allreduce pass through no windows. */
static void own_process(tutti_client *client, const struct brings *b, struct counting *c)
{
    tutti_team *team;
    EXPECT(tutti_team_split(tutti_world(client), b->process, 0, &team) == TUTTI_OK);
    EXPECT(tutti_size(team) == b->threads && team->run.map.mapped && team->run.map.reads);
    c->near = c->far = 0;
    sum_long(team, true);
    exchange(team);
    EXPECT(c->near == 0 && c->far == 0);
    EXPECT(tutti_team_free(team) == TUTTI_OK);
}

/* Tries teams of threads of several processes: threads of one process read each other's memory
 * without system calls. */
static void mixed(tutti_client *client, const struct brings *b, struct counting *c)
{
    tutti_team *team, *turned;
    tutti_team *world = tutti_world(client);
    EXPECT(world->run.map.mapped == (b->threads == b->all));
    c->near = c->far = 0;
    sum_long(world, false);
    exchange(world);
    EXPECT(c->near == 0);
    if (b->threads < b->all && world->run.map.reads && world->run.map.read_cost == 1)
        EXPECT(c->far > 0);
    EXPECT(tutti_team_split(world, tutti_rank(world) % 2, 0, &team) == TUTTI_OK);
    EXPECT(tutti_team_split(world, 0, -tutti_rank(world), &turned) == TUTTI_OK);
    sum_long(team, false);
    exchange(turned);
    EXPECT(tutti_team_free(team) == TUTTI_OK && tutti_team_free(turned) == TUTTI_OK);
}

/* ---- One thread ---- */

static void memory(tutti_client *client)
{
    void *at;
    EXPECT(tutti_alloc(client, 5000, &at) == TUTTI_OK);
    memset(at, 1, 5000);
    EXPECT(tutti_free(client, at) == TUTTI_OK);
}

static void one_thread(tutti_client *client, void *arg)
{
    struct brings *b = arg;
    struct counting counting;
    const tutti_team *world = tutti_world(client);
    int me = tutti_rank(world);
    EXPECT(tutti_size(world) == b->all);
    EXPECT(me >= b->first && me < b->first + b->threads);
    atomic_fetch_add(&b->ran, 1);
    count_accesses(&counting, client);
    own_process(client, b, &counting);
    mixed(client, b, &counting);
    memory(client);
    client->fabric.ops = counting.below;
}

/* ---- All processes ---- */

static int descriptors(void)
{
    int n = 0;
    DIR *all = opendir("/proc/self/fd");
    EXPECT(all != NULL);
    while (readdir(all)) n++;
    closedir(all);
    return n;
}

/* Makes jobs of threads again and again, in the second half with a shared client, and checks that
 * no descriptor is left open. */
static void all(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client);
    struct brings b = brings_of(world);
    int before = 0, mine = tutti_rank(world), sum = 0, turns = brief(20, 6);
    for (int turn = 0; turn < turns; turn++) {
        if (turn == 1) before = descriptors();
        if (turn == turns / 2) EXPECT(tutti_client_share(client) == TUTTI_OK);
        EXPECT(tutti_team_threads(world, b.threads, one_thread, &b) == TUTTI_OK);
        EXPECT(b.ran == b.threads * (turn + 1));
        EXPECT(tutti_allreduce(world, &mine, &sum, 1, TUTTI_I32, TUTTI_SUM) == TUTTI_OK);
        EXPECT(sum == tutti_size(world) * (tutti_size(world) - 1) / 2);
    }
    EXPECT(arg || descriptors() == before);
}

static void nested(tutti_client *client, void *arg)
{
    (void)arg;
    all(client, client);
}

/* ---- Wrong arguments ---- */

static void nothing(tutti_client *client, void *arg)
{
    (void)client;
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void expect_refused(tutti_team *world, int n, tutti_thread_fn *fn, tutti_status status,
                           const char *text)
{
    atomic_int ran = 0;
    EXPECT(tutti_team_threads(world, n, fn, &ran) == status);
    EXPECT(strstr(tutti_error(), text) && ran == 0);
    EXPECT(tutti_barrier(world) == TUTTI_OK);
}

static void arguments(tutti_client *client)
{
    tutti_team *world = tutti_world(client);
    bool last = tutti_rank(world) == tutti_size(world) - 1;
    atomic_int ran = 0;
    if (client->fabric.nodes > 1) {
        expect_refused(world, 1, nothing, TUTTI_ERR_UNSUPPORTED, "several nodes");
        return;
    }
    if (getpid() == 1) { /* each rank is in a PID namespace of its own */
        expect_refused(world, 1, nothing, TUTTI_ERR_UNSUPPORTED, "different PID namespaces");
        return;
    }
    expect_refused(world, last ? 0 : 1, nothing, TUTTI_ERR_ARG, "n is 0, not at least 1");
    expect_refused(world, 1, last ? NULL : nothing, TUTTI_ERR_ARG, "fn is NULL");
    expect_refused(world, 100000, nothing, TUTTI_ERR_LIMIT,
                   tutti_rank(world) == 0 ? "more than 65536" : "another rank");
    EXPECT(tutti_team_threads(NULL, 1, nothing, &ran) == TUTTI_ERR_ARG);
    EXPECT(tutti_team_threads(world, 1, nothing, &ran) == TUTTI_OK && ran == 1);
}

/* ---- A thread ends ---- */

static void ending(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client);
    double in = 1, out;
    (void)arg;
    EXPECT(tutti_barrier(world) == TUTTI_OK);
    if (tutti_rank(world) == 0) pthread_exit(NULL);
    EXPECT(tutti_allreduce(world, &in, &out, 1, TUTTI_F64, TUTTI_SUM) == TUTTI_ERR_PEER);
    EXPECT(strstr(tutti_error(), "rank 0 left the job"));
}

static void ends(tutti_client *client)
{
    EXPECT(tutti_threads(3, ending, NULL) == TUTTI_OK);
    EXPECT(tutti_team_threads(tutti_world(client), 2, ending, NULL) == TUTTI_OK);
    EXPECT(tutti_barrier(tutti_world(client)) == TUTTI_OK);
}

/* ---- A process dies ---- */

static void needed(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client);
    double in = 1, out;
    tutti_status status = TUTTI_OK;
    int64_t begin = tt_clock_ns();
    bool dying = arg && tutti_rank(world) == tutti_size(world) - 1;
    for (int i = 0; status == TUTTI_OK; i++) {
        if (dying && i == 100) raise(SIGKILL);
        begin = tt_clock_ns();
        status = tutti_allreduce(world, &in, &out, 1, TUTTI_F64, TUTTI_SUM);
    }
    EXPECT(status == TUTTI_ERR_PEER && strstr(tutti_error(), "its process ended"));
    printf("thread %d: notified after %d ms\n", tutti_rank(world),
           (int)((tt_clock_ns() - begin) / 1000000));
}

static int dies(tutti_client *client)
{
    tutti_team *world = tutti_world(client);
    bool last = tutti_rank(world) == tutti_size(world) - 1;
    EXPECT(tutti_team_threads(world, 2, needed, last ? client : NULL) == TUTTI_OK);
    EXPECT(tutti_barrier(world) == TUTTI_ERR_PEER && strstr(tutti_error(), "died"));
    fflush(stdout);
    return tutti_finalize(client) != TUTTI_ERR_PEER;
}

int main(int argc, char **argv)
{
    tutti_client *client;
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "nested") == 0) return tutti_threads(3, nested, NULL) != TUTTI_OK;
    EXPECT(tutti_init(&client) == TUTTI_OK);
    if (strcmp(what, "dies") == 0) return dies(client);
    if (strcmp(what, "arguments") == 0) arguments(client);
    if (strcmp(what, "ends") == 0) ends(client);
    if (strcmp(what, "all") == 0) all(client, NULL);
    return tutti_finalize(client) != TUTTI_OK;
}
