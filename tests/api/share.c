/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several threads of a rank use one client at the same time.
 *
 *     share threads P...      jobs of threads
 *     share                   a rank of a job of processes
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/message.h>
#include <tutti/tutti.h>

#include "ranks.h"

enum { TURNS = 60, LONG = 20000 };

/* One thread of a rank: its team, and its number, 0 or 1. */
struct share_worker {
    tutti_client *client;
    tutti_team *world, *team;
    int number;
};

static void sum(tutti_team *team, int64_t value)
{
    int64_t p = tutti_size(team), in = value + tutti_rank(team), out = 0;
    EXPECT(tutti_allreduce(team, &in, &out, 1, TUTTI_I64, TUTTI_SUM) == TUTTI_OK);
    EXPECT(out == p * value + p * (p - 1) / 2);
}

/* Sums long vectors, which go through windows or from buffer to buffer. Completes the call by
 * testing. */
static void sum_long(tutti_team *team, int turn)
{
    tutti_request *request;
    tutti_status status;
    double *in = malloc(2 * LONG * sizeof *in), *out = in + LONG;
    EXPECT(in != NULL);
    for (int i = 0; i < LONG; i++) in[i] = i % 7 + turn;
    EXPECT(tutti_iallreduce(team, in, out, LONG, TUTTI_F64, TUTTI_SUM, &request) == TUTTI_OK);
    while ((status = tutti_test(request)) == TUTTI_AGAIN) continue;
    EXPECT(status == TUTTI_OK && tutti_request_free(request) == TUTTI_OK);
    for (int i = 0; i < LONG; i++) EXPECT(out[i] == tutti_size(team) * (i % 7 + turn));
    free(in);
}

/* Starts several requests and completes them in reverse order. */
static void requests(tutti_team *team, int turn)
{
    enum { N = 5 };
    int64_t in[N], out[N];
    tutti_request *request[N];
    for (int i = 0; i < N; i++) {
        in[i] = i * turn;
        EXPECT(tutti_iallreduce(team, &in[i], &out[i], 1, TUTTI_I64, TUTTI_SUM, &request[i]) ==
               TUTTI_OK);
    }
    for (int i = N - 1; i >= 0; i--) {
        EXPECT(tutti_wait(request[i]) == TUTTI_OK && out[i] == in[i] * tutti_size(team));
        EXPECT(tutti_request_free(request[i]) == TUTTI_OK);
    }
}

static void memory(tutti_client *client)
{
    void *at;
    EXPECT(tutti_alloc(client, 5000, &at) == TUTTI_OK);
    memset(at, 1, 5000);
    EXPECT(tutti_free(client, at) == TUTTI_OK);
}

/* Makes a team from the same list as the other thread does at the same time, but with this thread's
 * number as the tag. */
static void team_of(const struct share_worker *w, int turn)
{
    int ranks[64], p = tutti_size(w->world);
    tutti_team *part;
    for (int r = 0; r < p; r++) ranks[r] = (r + turn) % p;
    EXPECT(tutti_team_of(w->world, ranks, p, w->number, &part) == TUTTI_OK);
    sum(part, w->number);
    EXPECT(tutti_team_free(part) == TUTTI_OK);
}

static void *work(void *arg)
{
    const struct share_worker *w = arg;
    for (int turn = 0; turn < TURNS; turn++) {
        sum(w->team, turn * 2 + w->number);
        requests(w->team, turn);
        if (turn % 8 == 0) sum_long(w->team, turn);
        memory(w->client);
        if (turn % 8 == 1) team_of(w, turn);
        EXPECT(tutti_advance(tutti_context_at(w->client, 0), NULL) == TUTTI_OK);
    }
    return NULL;
}

/* Runs the two threads. On odd ranks the threads swap their teams, so that the first thread of an
 * even rank is on the same team as the second thread of an odd rank. */
static void two_threads(tutti_client *client, tutti_team *const team[2])
{
    struct share_worker w[2];
    pthread_t thread;
    int me = tutti_rank(tutti_world(client));
    for (int i = 0; i < 2; i++) {
        int number = me % 2 ? 1 - i : i;
        w[i] = (struct share_worker){client, tutti_world(client), team[number], number};
    }
    EXPECT(pthread_create(&thread, NULL, work, &w[1]) == 0);
    (void)work(&w[0]);
    EXPECT(pthread_join(thread, NULL) == 0);
}

static void *barrier(void *arg)
{
    EXPECT(tutti_barrier(arg) == TUTTI_OK);
    return NULL;
}

/* Lets rank 0 wait in two threads, first on team 0. The other ranks call on team 1 first, with a
 * single thread. If the first thread of rank 0 held the client's lock while it waits, the second
 * thread could not make its call on team 1. */
static void crossed(tutti_team *const team[2])
{
    pthread_t thread;
    if (tutti_rank(team[0]) != 0) {
        EXPECT(tutti_barrier(team[1]) == TUTTI_OK && tutti_barrier(team[0]) == TUTTI_OK);
        return;
    }
    EXPECT(pthread_create(&thread, NULL, barrier, team[0]) == 0);
    for (volatile int i = 0; i < 1000000; i = i + 1) continue;
    EXPECT(tutti_barrier(team[1]) == TUTTI_OK);
    EXPECT(pthread_join(thread, NULL) == 0);
}

static void one_rank(tutti_client *client, void *arg)
{
    tutti_team *team[2];
    (void)arg;
    EXPECT(tutti_client_share(NULL) == TUTTI_ERR_ARG);
    EXPECT(tutti_client_share(client) == TUTTI_OK);
    EXPECT(tutti_client_share(client) == TUTTI_OK);
    for (int i = 0; i < 2; i++) EXPECT(tutti_team_dup(tutti_world(client), &team[i]) == TUTTI_OK);
    for (int i = 0; i < 5; i++) crossed(team);
    two_threads(client, team);
    for (int i = 0; i < 2; i++) EXPECT(tutti_team_free(team[i]) == TUTTI_OK);
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, one_rank);
}
