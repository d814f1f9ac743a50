/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that die, exit or leave, and the ranks that wait for them.
 *
 * HOW, an argument of some commands, is the way in which a rank departs: it dies by a signal (kill,
 * abort), exits with code 0 (exit) or 3 (exit3), or calls tutti_finalize (finalize).
 */
#include "rank.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* loop PROBLEM: calls the collective until it fails, at most 100,000 times. A survivor exits with 0
 * if a peer failed, and prints how long the call that failed took. */
static int loop(int argc, char **argv)
{
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    struct call *c = call_open(world, argc > 0 ? argv[0] : "barrier/p1");
    tutti_status status = TUTTI_OK;
    int64_t begin = 0;
    for (int i = 0; i < 100000 && status == TUTTI_OK; i++) {
        begin = tt_clock_ns();
        status = call_run(world, c);
    }
    call_close(c);
    return end(client, status, TUTTI_ERR_PEER, begin);
}

/* Ends this rank in the given way. */
static void depart(const char *how, tutti_client *client)
{
    if (strcmp(how, "kill") == 0) raise(SIGKILL);
    if (strcmp(how, "abort") == 0) raise(SIGABRT);
    if (strcmp(how, "exit") == 0) _exit(0);
    if (strcmp(how, "exit3") == 0) _exit(3);
    if (strcmp(how, "finalize") == 0) tutti_finalize(client);
}

/* late HOW PROBLEM CALLS [first]: all ranks but the last one make CALLS calls. When they sleep in a
 * call that needs the last rank, the last rank records the time and departs. The other ranks print
 * how long afterwards they were notified. With `first`, every rank, also the last one, makes a call
 * before all this. */
static int late(int argc, char **argv)
{
    if (argc < 3) return 7;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    struct call *c = call_open(world, argv[1]);
    int me = tutti_rank(world), calls = atoi(argv[2]);
    tutti_status status = argc > 3 ? call_run(world, c) : TUTTI_OK;
    if (status == TUTTI_OK) status = tutti_barrier(world);
    if (me == tutti_size(world) - 1) {
        call_close(c);
        usleep(1200000);
        note_time("when");
        depart(argv[0], client);
        usleep(4000000); /* after tutti_finalize, this process stays alive for longer than the other
                          * ranks may take to get the error */
        return 0;
    }
    for (int i = 0; i < calls && status == TUTTI_OK; i++) status = call_run(world, c);
    call_close(c);
    return end(client, status, TUTTI_ERR_PEER, noted_time("when"));
}

/* leave PROBLEM: all ranks call the collective 50 times and leave at once. No rank may get an
 * error. */
static int leave(int argc, char **argv)
{
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    int64_t begin = tt_clock_ns();
    struct call *c = call_open(world, argc > 0 ? argv[0] : "barrier/p1");
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < 50 && status == TUTTI_OK; i++) status = call_run(world, c);
    call_close(c);
    return end(client, status, TUTTI_OK, begin);
}

/* part PROBLEM: the last rank calls the collective once and finalizes. The other ranks continue for
 * a second on a team of their own. No rank may get an error. */
static int part(int argc, char **argv)
{
    tutti_client *client = join();
    tutti_team *world = tutti_world(client), *rest;
    int last = tutti_rank(world) == tutti_size(world) - 1;
    int64_t begin = tt_clock_ns();
    tutti_status status = tutti_team_split(world, last ? -1 : 0, 0, &rest);
    if (status != TUTTI_OK) return end(client, status, TUTTI_OK, begin);
    struct call *c = call_open(world, argc > 0 ? argv[0] : "barrier/p1");
    status = call_run(world, c);
    call_close(c);
    if (last) return end(client, status, TUTTI_OK, begin);
    c = call_open(rest, argc > 0 ? argv[0] : "barrier/p1");
    for (int i = 0; i < 200 && status == TUTTI_OK; i++) {
        if (i % 40 == 0) usleep(200000);
        status = call_run(rest, c);
    }
    call_close(c);
    if (status == TUTTI_OK) status = tutti_team_free(rest);
    return end(client, status, TUTTI_OK, begin);
}

/* free-late: the last rank finalizes, which frees its teams. The other ranks free the same team
 * with tutti_team_free, rank 0 some time after all others. No rank may get an error. */
static int free_late(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client), *all;
    tutti_status status = tutti_team_split(world, 0, 0, &all);
    int64_t begin = tt_clock_ns();
    if (status == TUTTI_OK) status = tutti_barrier(all);
    if (status == TUTTI_OK && tutti_rank(world) == 0) usleep(300000);
    if (status == TUTTI_OK && tutti_rank(world) != tutti_size(world) - 1)
        status = tutti_team_free(all);
    return end(client, status, TUTTI_OK, begin);
}

/* Waits until both files exist, and then for as long as a rank may need from writing its file to
 * the call that follows. */
static void await_both(const char *first, const char *second)
{
    while (access(first, F_OK) != 0 || access(second, F_OK) != 0) usleep(1000);
    usleep(300000);
}

/* unmade HOW: rank 1 departs instead of making the last call, while rank 2 waits for it in this
 * call. Rank 0 has completed its part of the call by then, and makes no other call before it
 * leaves. If HOW is exit or finalize, rank 0 learns from tutti_finalize that it made one call more
 * than rank 1. (Rank 1 departs only when rank 2 is in the call: a rank 2 that had learned of the
 * departure earlier would not make the call, and would let rank 0 know of the failure.) */
static int unmade(int argc, char **argv)
{
    if (argc < 1) return 7;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    const struct tt_fabric *f = &client->fabric;
    struct call *c = call_open(world, "scan/f64/sum/8/p3");
    int me = tutti_rank(world);
    int64_t begin = tt_clock_ns();
    tutti_status status = tutti_barrier(world);
    if (me == 2) note_time("comes");
    if (me == 1) await_both("made", "comes");
    if (me == 1)
        depart(argv[0], client);
    else if (status == TUTTI_OK)
        status = call_run(world, c);
    if (me == 0) note_time("made");
    call_close(c);
    if (me == 1) return 0;
    if (me == 2) return end(client, status, TUTTI_ERR_PEER, begin);
    while (status == TUTTI_OK && tt_common_state(f->job, f->common, 1) != TT_RANK_FAILED)
        usleep(1000);
    if (status == TUTTI_OK) status = tutti_finalize(client);
    print_status(status, begin);
    return 0;
}

/* chain: rank 0 waits for rank 1, which waits for the last rank, which leaves. Rank 1 gets an error
 * and then stays outside the library. Rank 0 must be notified without waiting for rank 1. */
static int chain(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client), *near, *far;
    int me = tutti_rank(world), last = tutti_size(world) - 1;
    tutti_status status = tutti_team_split(world, me < last ? 0 : -1, 0, &near);
    if (status == TUTTI_OK) status = tutti_team_split(world, me > 0 ? 0 : -1, 0, &far);
    if (status == TUTTI_OK) status = tutti_barrier(world);
    if (status != TUTTI_OK) return end(client, status, TUTTI_OK, tt_clock_ns());
    if (me == last) {
        usleep(500000);
        note_time("when");
        return end(client, TUTTI_OK, TUTTI_OK, tt_clock_ns());
    }
    if (me > 0) status = tutti_barrier(far);
    if (me > 0) {
        print_status(status, noted_time("when"));
        usleep(4000000);
        return status == TUTTI_ERR_PEER ? 0 : 8;
    }
    status = tutti_barrier(world); /* rank 1 never calls this barrier */
    return end(client, status, TUTTI_ERR_PEER, noted_time("when"));
}

/* absent HOW: rank 1 departs before it joins the job. The other ranks are notified while they
 * join. */
static int absent(int argc, char **argv)
{
    if (argc < 1) return 7;
    int64_t begin = tt_clock_ns();
    tutti_client *client;
    if (rank_number() == 1) {
        usleep(300000);
        depart(argv[0], NULL);
    }
    tutti_status status = tutti_init(&client);
    if (status == TUTTI_OK) return end(client, status, TUTTI_ERR_PEER, begin);
    print_status(status, begin);
    return status == TUTTI_ERR_PEER ? 0 : 8;
}

/* in-flight: nonblocking calls on two teams are in flight when the last rank is killed. Each of the
 * calls must return the error, from tutti_test or tutti_wait. */
static int in_flight(int argc, char **argv)
{
    enum { CALLS = 7 };
    (void)argc;
    (void)argv;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client), *all;
    tutti_request *request[2 * CALLS];
    double in = 1, out[2 * CALLS];
    tutti_status status = tutti_team_split(world, 0, 0, &all);
    if (status == TUTTI_OK) status = tutti_barrier(world);
    if (status == TUTTI_OK && tutti_rank(world) == tutti_size(world) - 1) {
        usleep(500000);
        note_time("when");
        raise(SIGKILL);
    }
    for (int i = 0; i < 2 * CALLS && status == TUTTI_OK; i++)
        status = tutti_iallreduce(i % 2 ? all : world, &in, &out[i], 1, TUTTI_F64, TUTTI_SUM,
                                  &request[i]);
    if (status != TUTTI_OK) return end(client, status, TUTTI_OK, tt_clock_ns());
    while ((status = tutti_test(request[5])) == TUTTI_AGAIN) usleep(1000);
    for (int i = 2 * CALLS - 1; i >= 0; i--) {
        tutti_status each = tutti_wait(request[i]);
        if (each != TUTTI_ERR_PEER) status = each;
        if (tutti_request_free(request[i]) != TUTTI_OK) return 8;
    }
    if (tutti_team_free(all) != TUTTI_ERR_PEER) return 8;
    return end(client, status, TUTTI_ERR_PEER, noted_time("when"));
}

/* polled PROBLEM: the last rank starts the collective, never advances it and is killed. The other
 * ranks only poll, and each must get the error from tutti_test. */
static int polled(int argc, char **argv)
{
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    struct call *c = call_open(world, argc > 0 ? argv[0] : "barrier/p1");
    tutti_request *request;
    tutti_status status = tutti_barrier(world);
    if (status == TUTTI_OK) status = call_start(world, c, &request);
    if (status != TUTTI_OK) return end(client, status, TUTTI_OK, tt_clock_ns());
    if (tutti_rank(world) == tutti_size(world) - 1) {
        usleep(500000);
        note_time("when");
        raise(SIGKILL);
    }
    while ((status = tutti_test(request)) == TUTTI_AGAIN) usleep(1000);
    if (tutti_request_free(request) != TUTTI_OK) return 8;
    call_close(c);
    return end(client, status, TUTTI_ERR_PEER, noted_time("when"));
}

/* Calls a barrier on a team that a function has made, and frees the team. Does nothing if `status`,
 * the result of that function, is an error. */
static tutti_status use_team(tutti_status status, tutti_team **team)
{
    if (status == TUTTI_OK && *team) status = tutti_barrier(*team);
    if (status == TUTTI_OK) status = tutti_team_free(*team);
    *team = NULL;
    return status;
}

static tutti_status make_teams(tutti_team *world)
{
    tutti_team *team = NULL;
    int p = tutti_size(world), me = tutti_rank(world), next = (me + 1) % p;
    int before = (me + p - 1) % p, periodic = 1;
    TT_TRY(use_team(tutti_team_split(world, me % 2, -me, &team), &team));
    TT_TRY(use_team(tutti_team_dup(world, &team), &team));
    TT_TRY(use_team(tutti_team_split_domain(world, TUTTI_DOMAIN_NODE, 0, &team), &team));
    TT_TRY(
        use_team(tutti_team_cart(world, 1, &p, &periodic, TUTTI_CART_LAST_FASTEST, &team), &team));
    return use_team(tutti_team_graph(world, 1, &before, 1, &next, &team), &team);
}

/* makers: makes teams until a call fails. */
static int makers(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    tutti_client *client = join();
    tutti_status status = TUTTI_OK;
    int64_t begin = 0;
    for (int i = 0; i < 10000 && status == TUTTI_OK; i++) {
        begin = tt_clock_ns();
        status = make_teams(tutti_world(client));
    }
    return end(client, status, TUTTI_ERR_PEER, begin);
}

/* Makes one call of each neighbourhood collective, in a ring, and an alltoallw. */
static tutti_status exchange_lists(tutti_team *world, tutti_team *ring)
{
    enum { RANKS = 8 };
    static const int64_t counts[RANKS] = {1, 1, 1, 1, 1, 1, 1, 1};
    static const int64_t displs[RANKS] = {0, 8, 16, 24, 32, 40, 48, 56};
    static const tutti_type types[RANKS] = {TUTTI_I64, TUTTI_I64, TUTTI_I64, TUTTI_I64,
                                            TUTTI_I64, TUTTI_I64, TUTTI_I64, TUTTI_I64};
    int64_t in[64] = {1}, out[64];
    TT_TRY(tutti_alltoallw(world, in, counts, displs, types, out, counts, displs, types));
    TT_TRY(tutti_neighbor_allgather(ring, in, out, 3, TUTTI_I64));
    TT_TRY(tutti_neighbor_allgatherv(ring, in, 1, out, counts, displs, TUTTI_I64));
    TT_TRY(tutti_neighbor_alltoall(ring, in, out, 2, TUTTI_I64));
    TT_TRY(tutti_neighbor_alltoallv(ring, in, counts, displs, out, counts, displs, TUTTI_I64));
    return tutti_neighbor_alltoallw(ring, in, counts, displs, types, out, counts, displs, types);
}

/* lists: calls neighbourhood collectives and an alltoallw (exchange_lists) until a call fails. */
static int lists(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client), *ring = NULL;
    int p = tutti_size(world), periodic = 1;
    int64_t begin = tt_clock_ns();
    tutti_status status = tutti_team_cart(world, 1, &p, &periodic, TUTTI_CART_LAST_FASTEST, &ring);
    for (int i = 0; i < 10000 && status == TUTTI_OK; i++) {
        begin = tt_clock_ns();
        status = exchange_lists(world, ring);
    }
    return end(client, status, TUTTI_ERR_PEER, begin);
}

static void sum_some(tutti_client *client, void *arg)
{
    static const double in[4096];
    double out[4096];
    tutti_status status = TUTTI_OK;
    (void)arg;
    for (int i = 0; i < 20 && status == TUTTI_OK; i++)
        status =
            tutti_allreduce(tutti_world(client), in, out, i % 2 ? 4096 : 1, TUTTI_F64, TUTTI_SUM);
}

/* Makes a job of threads: rank 0 brings one thread and the other ranks bring two, so that rank 1 of
 * the new job is a thread of the process that is rank 1 of the old job. An error of the new job
 * names a rank by its number in the new job. So the function also calls a barrier on the world, and
 * if this fails, returns its error, which names the rank by its number in the old job. */
static tutti_status bring_threads(tutti_team *world)
{
    tutti_status inside = tutti_team_threads(world, tutti_rank(world) == 0 ? 1 : 2, sum_some, NULL);
    tutti_status after = tutti_barrier(world);
    return after == TUTTI_OK ? inside : after;
}

/* threads: makes jobs of threads until a call fails. */
static int threads(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    tutti_client *client = join();
    tutti_status status = TUTTI_OK;
    int64_t begin = 0;
    for (int i = 0; i < 10000 && status == TUTTI_OK; i++) {
        begin = tt_clock_ns();
        status = bring_threads(tutti_world(client));
    }
    return end(client, status, TUTTI_ERR_PEER, begin);
}

/* Prints all algorithms. */
static int algorithms(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
        printf("%s %s\n", tt_coll_name((*a)->coll), (*a)->name);
    return 0;
}

const struct scenario deaths[] = {
    {"algorithms", algorithms}, {"loop", loop},     {"late", late},
    {"leave", leave},           {"part", part},     {"free-late", free_late},
    {"chain", chain},           {"absent", absent}, {"in-flight", in_flight},
    {"polled", polled},         {"makers", makers}, {"lists", lists},
    {"threads", threads},       {"unmade", unmade}, {NULL, NULL}};
