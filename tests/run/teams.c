/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many teams: what memory they take, that it comes back, that ranks free them in any order,
 * and at which of them a waiting call looks. The ranks are threads, or processes of `tutti run`.
 *
 *     test-run-teams threads|processes CASE
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/api.h"
#include "brief.h"
#include "kept.h"

enum { THOUSAND = 1000, WARM = 100, RANKS = 16, FEW = 3, HELD = 40 };

static void check(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "%s: %s\n", what, tutti_error());
    abort();
}

static void must(tutti_status status, const char *what)
{
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, tutti_status_text(status), tutti_error());
    abort();
}

/* Returns the bytes of shared memory that this rank has allocated. */
static int64_t held(const tutti_client *client)
{
    int64_t bytes = 0;
    const struct tt_extents *pieces = &client->fabric.arena.store->pieces;
    for (int i = 0; i < pieces->n; i++) bytes += pieces->all[i].end - pieces->all[i].begin;
    return bytes;
}

static int64_t sum_of(tutti_team *team, int64_t mine)
{
    int64_t sum = 0;
    must(tutti_allreduce(team, &mine, &sum, 1, TUTTI_I64, TUTTI_SUM), "allreduce");
    return sum;
}

/* Returns the bytes of memory that the file of the segment takes, without the pages that the ranks
 * keep for their next teams; -1 if ranks are threads, which have no file. All ranks call this
 * function at the same time. */
static int64_t backed(tutti_client *client)
{
    struct stat st;
    const struct tt_segment *s = client->fabric.segment;
    const struct tt_arena *a = &client->fabric.arena;
    check(a->store->kept_bytes <= tt_arena_keeps(a), "a rank keeps too much");
    int64_t kept = sum_of(tutti_world(client), kept_backed(a->store));
    int64_t bytes = s->fd >= 0 && fstat(s->fd, &st) == 0 ? (int64_t)st.st_blocks * 512 - kept : -1;
    must(tutti_barrier(tutti_world(client)), "barrier"); /* no rank makes a team before all have
                                                          * measured */
    return bytes;
}

/* Makes calls in which every rank frees the memory of teams that all members have freed. */
static void give_back(tutti_client *client)
{
    for (int i = 0; i < 2; i++) {
        must(tutti_barrier(tutti_world(client)), "barrier");
        must(tutti_advance(tutti_context_at(client, 0), NULL), "advance");
    }
    must(tutti_barrier(tutti_world(client)), "barrier");
}

static tutti_team *new_team(tutti_team *world)
{
    tutti_team *team;
    must(tutti_team_split(world, 0, 0, &team), "split");
    return team;
}

/* ---- A thousand teams ---- */

/* Checks that a thousand teams of sixteen ranks, each of which has made a short call, take less
 * than 2 GiB, and nothing once they are freed. A brief run makes 200 teams. */
static void thousand(tutti_client *client, void *arg)
{
    static _Thread_local tutti_team *team[THOUSAND];
    const int teams = brief(THOUSAND, 200);
    tutti_team *world = tutti_world(client);
    (void)arg;
    check(tutti_size(world) == RANKS, "not sixteen ranks");
    int64_t before = held(client), file = backed(client);
    for (int i = 0; i < teams; i++) {
        team[i] = new_team(world);
        check(held(client) - before <= (i + 1) * (INT64_C(64) << 10), "more than 64 KiB a rank");
    }
    for (int i = 0; i < teams; i += 97) check(sum_of(team[i], i) == RANKS * i, "another sum");
    check(held(client) - before <= teams * (INT64_C(64) << 10), "a short call takes memory");
    check(sum_of(world, held(client) - before) < INT64_C(2) << 30, "2 GiB and more");
    must(tutti_barrier(world), "barrier");
    check(file < 0 || backed(client) - file < INT64_C(2) << 30, "2 GiB and more are backed");
    for (int i = 0; i < teams; i++) must(tutti_team_free(team[i]), "free");
    give_back(client);
    check(held(client) == before, "teams leave memory behind");
    check(file < 0 || backed(client) <= file, "teams leave pages behind");
}

/* ---- Ten thousand teams ---- */

/* Makes and frees 10,000 teams (1,000 in a brief run), of which some have made a long call, which
 * takes long windows. Checks that a rank holds as much memory afterwards as after the first 100. */
static void churn(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client);
    int64_t before = 0, file = 0, value[100] = {0}, out[100];
    (void)arg;
    for (int i = 0, n = brief(10000, 1000); i < n; i++) {
        tutti_team *team = new_team(world);
        if (i % 50 == 0) {
            must(tutti_allreduce(team, value, out, 100, TUTTI_I64, TUTTI_SUM), "allreduce");
            must(tutti_allreduce(team, value, out, 100, TUTTI_I64, TUTTI_SUM), "allreduce");
        }
        must(tutti_team_free(team), "free");
        if (i != WARM) continue;
        give_back(client);
        before = held(client);
        file = backed(client);
        must(tutti_barrier(world), "barrier");
    }
    give_back(client);
    check(held(client) == before, "teams leave memory behind");
    check(backed(client) <= file, "teams leave pages behind");
    check(client->freed == 0 && client->teams == world, "teams are left");
    must(tutti_barrier(world), "barrier");
}

/* ---- Any order ---- */

/* Lets each rank free the same teams in an order of its own, and call nothing in between. Rank 0
 * frees all of its teams before any other rank frees one, so a free that waited for another rank
 * would wait for ever. */
static void orders(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client), *team[HELD];
    int me = tutti_rank(world);
    int64_t before = held(client), value[200] = {0};
    struct tt_random random;
    (void)arg;
    for (int i = 0; i < HELD; i++) team[i] = new_team(world);
    for (int i = 0; i < HELD; i += 3)
        must(tutti_bcast(team[i], value, i % 2 ? 200 : 1, TUTTI_I64, 0), "bcast");
    if (me != 0) must(tutti_barrier(world), "barrier");
    tt_random_seed(&random, (uint64_t)me);
    for (int left = HELD; left > 0; left--) {
        int i = (int)tt_random_below(&random, (uint64_t)left);
        must(tutti_team_free(team[i]), "free");
        team[i] = team[left - 1];
    }
    if (me == 0) must(tutti_barrier(world), "barrier");
    check(tutti_team_free(team[0]) == TUTTI_ERR_ARG, "a team that is freed twice");
    give_back(client);
    check(held(client) == before, "teams leave memory behind");
}

/* Checks that a rank which only frees teams also leaves those that it freed earlier, once the other
 * ranks have freed them, too: at the second step it departs from the teams of the first step, and
 * at the third step all ranks have departed. */
static void frees(tutti_client *client, void *arg)
{
    enum { STEPS = 3, STEP = 128 };
    tutti_team *world = tutti_world(client), *team[STEPS * STEP];
    (void)arg;
    for (int i = 0; i < STEPS * STEP; i++) team[i] = new_team(world);
    for (int step = 0; step < STEPS; step++) {
        must(tutti_barrier(world), "barrier");
        for (int i = 0; i < STEP; i++) must(tutti_team_free(team[step * STEP + i]), "free");
    }
    check(client->freed <= (STEPS - 1) * STEP, "teams are left");
}

/* Lets a rank finalize right after it has freed its teams, while other ranks still use theirs. */
static void ends(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client), *a = new_team(world), *b = new_team(world);
    int64_t value[200] = {0};
    (void)arg;
    must(tutti_bcast(a, value, 200, TUTTI_I64, 0), "bcast");
    must(tutti_team_free(tutti_rank(world) % 2 ? a : b), "free");
    must(tutti_team_free(tutti_rank(world) % 2 ? b : a), "free");
}

/* ---- Busy teams ---- */

/* Lets all teams of the client advance, and returns how many are busy then. */
static int count_busy(const tutti_team *world)
{
    int n = 0;
    tt_team_advance_all((struct tt_team *)&world->run);
    for (const struct tt_team *t = world->run.busy; t; t = t->next_busy) n++;
    return n;
}

/* Checks that a call which waits looks only at teams that have something to do: a team is busy
 * while a request on it is under way, and from its freeing until this rank has left it. */
static void busy(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client), *team[HELD];
    tutti_request *request;
    (void)arg;
    for (int i = 0; i < HELD; i++) team[i] = new_team(world);
    for (int i = 0; i < HELD; i++) must(tutti_barrier(team[i]), "barrier");
    check(count_busy(world) == 0, "teams without a call are busy");
    if (tutti_rank(world) != 0) {
        must(tutti_ibarrier(team[1], &request), "ibarrier");
        check(count_busy(world) == 1 && world->run.busy == &team[1]->run, "one request");
    }
    must(tutti_barrier(world), "barrier"); /* rank 0 begins last */
    if (tutti_rank(world) == 0) must(tutti_ibarrier(team[1], &request), "ibarrier");
    must(tutti_barrier(team[2]), "barrier");
    must(tutti_wait(request), "wait");
    must(tutti_request_free(request), "free");
    check(count_busy(world) == 0, "a team without a request is busy");
    if (tutti_rank(world) == 0) must(tutti_team_free(team[3]), "free");
    must(tutti_barrier(world), "barrier"); /* no other rank has freed its team yet */
    check(count_busy(world) == (tutti_rank(world) == 0), "one team is freed");
    must(tutti_barrier(world), "barrier");
    for (int i = 0; i < HELD; i++)
        if (i != 3 || tutti_rank(world) != 0) must(tutti_team_free(team[i]), "free");
    give_back(client);
    check(count_busy(world) == 0, "teams that this rank has left are busy");
}

/* ---- Agreements ---- */

/* Checks that a client forgets the agreements on teams that are freed, and the calls of
 * tutti_team_of with a team that is freed. */
static void agreements(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client);
    (void)arg;
    for (int i = 0; i < THOUSAND; i++) {
        static const int ranks[FEW] = {2, 0, 1};
        int64_t value = 1;
        tutti_team *old = new_team(world), *team;
        must(tutti_team_of(old, ranks, FEW, i, &team), "team_of");
        must(tutti_team_agree(team, &value, NULL), "agree");
        must(tutti_team_free(team), "free");
        must(tutti_team_free(old), "free");
    }
    check(client->agree->counts.n <= 4 * TT_AGREE_LATER, "agreements of freed teams are kept");
}

/* ---- Windows ---- */

static void long_calls(tutti_team *team, int calls, int n)
{
    static _Thread_local int64_t in[1 << 12], out[1 << 12];
    for (int i = 0; i < n; i++) in[i] = i;
    for (int k = 0; k < calls; k++) {
        must(tutti_allreduce(team, in, out, n, TUTTI_I64, TUTTI_SUM), "allreduce");
        for (int i = 0; i < n; i++) check(out[i] == i * tutti_size(team), "another sum");
    }
    must(tutti_barrier(team), "barrier");
}

/* Checks the memory of the TT_WINDOWS long windows of a team, which have 128 KiB each. A call of 32
 * KiB takes memory only for the part of a window that it uses, and later calls that use the same
 * window take no more. A job without long calls takes little memory, too. Only processes run this,
 * because the memory of threads has no file that could be measured. */
static void windows(tutti_client *client, void *arg)
{
    enum { KIB = 1024, CALLS = 4, BYTES = 32 * KIB };
    tutti_team *world = tutti_world(client);
    int p = tutti_size(world);
    (void)arg;
    int64_t file = backed(client);
    check(file >= 0 && file < p * 2048 * KIB, "a job without long calls takes much memory");
    tutti_team *team = new_team(world);
    long_calls(team, CALLS, BYTES / 8);
    int64_t few = backed(client) - file;
    check(few < p * (128 * KIB + CALLS * (BYTES + 8 * KIB)), "a few long calls take much memory");
    long_calls(team, TT_WINDOWS, BYTES / 8);
    int64_t all = backed(client) - file;
    check(all > few, "the other windows take no memory");
    check(all < p * (128 * KIB + TT_WINDOWS * (BYTES + 8 * KIB)), "long calls take much memory");
    long_calls(team, 2 * TT_WINDOWS, BYTES / 8);
    check(backed(client) - file == all, "later calls take more memory");
    must(tutti_team_free(team), "free");
    give_back(client);
    check(backed(client) <= file, "the windows of a freed team are left");
}

/* ---- Channels ---- */

static void bcast(tutti_team *team, int64_t n, int i)
{
    static _Thread_local int64_t value[1 << 13];
    int root = i % tutti_size(team);
    if (tutti_rank(team) == root)
        for (int64_t k = 0; k < n; k++) value[k] = k ^ i;
    must(tutti_bcast(team, value, n, TUTTI_I64, root), "bcast");
    for (int64_t k = 0; k < n; k++) check(value[k] == (k ^ i), "other bytes");
}

/* Returns the bytes of the heap that are in use; 0 if the ranks are threads, which share a heap.
 * Threads must not call mallinfo2 at the same time where a sanitizer replaces malloc: the first
 * call makes the heap of the C library. */
static size_t used_heap(const tutti_client *client)
{
    return client->fabric.segment->fd >= 0 ? mallinfo2().uordblks : 0;
}

/* Checks the memory of the channels of a team whose short calls send messages: each pair of ranks
 * has a channel for each execution in flight. Then sends messages of many lengths, and many
 * messages, for which the channels grow. Threads have neither a file nor a heap of their own that
 * could be measured. */
static void channels(tutti_client *client, void *arg)
{
    enum { KIB = 1024, USES = 300 };
    tutti_team *world = tutti_world(client), *team = new_team(world);
    int p = tutti_size(world), calls = p * TT_WINDOWS;
    int64_t file = backed(client);
    size_t heap = used_heap(client);
    struct tt_random random;
    (void)arg;
    for (int i = 0; i < calls; i++) bcast(team, 1, i);
    check(used_heap(client) <= heap + 40 * KIB, "short calls take much memory");
    check(backed(client) - file <= p * 56 * KIB, "short calls take much shared memory");
    tt_random_seed(&random, 1); /* all ranks draw the same lengths */
    for (int i = 0; i < calls; i++)
        bcast(team, (int64_t)tt_random_below(&random, UINT64_C(1) << (1 + i % 13)), i);
    int64_t some = backed(client);
    /* The channels from rank 1 become busy. */
    for (int i = 0; i < TT_WINDOWS * USES; i++) bcast(team, 7, 1);
    check(some < 0 || backed(client) > some, "busy channels do not grow");
    must(tutti_team_free(team), "free");
    give_back(client);
    check(backed(client) <= file, "a freed team leaves channels behind");
}

/* ---- The command line ---- */

static const struct {
    const char *name;
    tutti_thread_fn *fn;
    int ranks;
} cases[] = {
    {"thousand", thousand, RANKS},   {"churn", churn, FEW},     {"orders", orders, FEW},
    {"frees", frees, FEW},           {"ends", ends, FEW},       {"busy", busy, FEW},
    {"agreements", agreements, FEW}, {"windows", windows, FEW}, {"channels", channels, 2 * FEW}};

static int run(tutti_thread_fn *fn, int threads)
{
    tutti_client *client;
    if (threads) {
        must(tutti_threads(threads, fn, NULL), "threads");
        return 0;
    }
    must(tutti_init(&client), "init");
    fn(client, NULL);
    must(tutti_finalize(client), "finalize");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[2]) == 0)
            return run(cases[i].fn, strcmp(argv[1], "threads") == 0 ? cases[i].ranks : 0);
    return 2;
}
