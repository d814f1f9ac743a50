/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks whose calls do not match.
 */
#include "rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Calls the r-th problem on rank r; ranks beyond the last problem call the last one. If the call
 * succeeds, a barrier follows. At the latest in this barrier every rank must get an error. */
static struct call *call_mine(tutti_team *world, int argc, char **argv, tutti_status *status)
{
    int mine = tutti_rank(world) < argc ? tutti_rank(world) : argc - 1;
    struct call *c = call_open(world, argv[mine]);
    int64_t begin = tt_clock_ns();
    *status = call_run(world, c);
    if (*status == TUTTI_OK) *status = tutti_barrier(world);
    print_status(*status, begin);
    return c;
}

/* each PROBLEM0 PROBLEM1 ...: each rank calls its problem once. */
static int each(int argc, char **argv)
{
    tutti_status status;
    if (argc < 1) return 7;
    tutti_client *client = join();
    struct call *c = call_mine(tutti_world(client), argc, argv, &status);
    tutti_finalize(client);
    call_close(c);
    return status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_PEER ? 0 : 8;
}

struct mismatches_all {
    int argc;
    char **argv;
    _Atomic int reported, mismatches;
    struct call *calls[16];
};

static void call_in_thread(tutti_client *client, void *arg)
{
    struct mismatches_all *all = arg;
    tutti_status status;
    tutti_team *world = tutti_world(client);
    all->calls[tutti_rank(world)] = call_mine(world, all->argc, all->argv, &status);
    all->reported += status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_PEER;
    all->mismatches += status == TUTTI_ERR_MISMATCH;
}

/* each-thread PROBLEM0 PROBLEM1 ...: each rank calls its problem once, as `each` does, but ranks
 * are threads. Buffers are freed at the end only, because other ranks may still use them until they
 * notice the error. */
static int each_thread(int argc, char **argv)
{
    enum { P = 3 };
    struct mismatches_all all = {.argc = argc, .argv = argv};
    if (argc < 1 || tutti_threads(P, call_in_thread, &all) != TUTTI_OK) return 7;
    for (int r = 0; r < P; r++) call_close(all.calls[r]);
    return all.reported == P && all.mismatches > 0 ? 0 : 8;
}

/* uneven COLLECTIVE MORE: in an alltoallv the last rank sends rank 0 MORE elements (if negative:
 * fewer) than rank 0 expects. In an allgatherv, gatherv or scatterv the last rank changes its own
 * count by MORE. */
static int uneven(int argc, char **argv)
{
    enum { MOST = 16, N = 5000 };
    static int64_t n[MOST], m[MOST], d[MOST], in[8 * MOST * N], out[8 * MOST * N];
    if (argc < 2) return 7;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    int p = tutti_size(world), me = tutti_rank(world), v = atoi(argv[1]);
    for (int r = 0; r < p; r++) {
        n[r] = m[r] = N;
        d[r] = 8 * r * N;
    }
    const char *coll = argv[0];
    int64_t begin = tt_clock_ns();
    if (me == p - 1) m[strcmp(coll, "alltoallv") == 0 ? 0 : me] += v;
    tutti_status status =
        strcmp(coll, "allgatherv") == 0 ? tutti_allgatherv(world, in, out, m, d, TUTTI_I64)
        : strcmp(coll, "gatherv") == 0  ? tutti_gatherv(world, in, m[me], out, n, d, TUTTI_I64, 0)
        : strcmp(coll, "scatterv") == 0 ? tutti_scatterv(world, in, n, d, out, m[me], TUTTI_I64, 0)
                                        : tutti_alltoallv(world, in, m, d, out, n, d, TUTTI_I64);
    if (status == TUTTI_OK) status = tutti_barrier(world);
    print_status(status, begin);
    tutti_finalize(client);
    return status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_PEER ? 0 : 8;
}

/* Lets all ranks connect to each other. If a rank dies while a second one connects to it, an
 * assertion of UCX 1.13 often ends the second rank (docs/limitations.md). */
static tutti_status connect_all(tutti_team *world)
{
    static double in[100], out[100];
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < 2 && status == TUTTI_OK; i++)
        status = tutti_alltoall(world, in, out, 1, TUTTI_F64);
    return status;
}

/* pointer RANK [bcast | allreduce]: this RANK passes an invalid address to a bcast from rank 0, or
 * as the input of an allreduce. Each rank prints its error. */
static int pointer(int argc, char **argv)
{
    static double good[100000], out[100000];
    if (argc < 1) return 7;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    bool bad = tutti_rank(world) == atoi(argv[0]);
    void *buffer = bad ? (void *)(uintptr_t)4096 : good;
    int64_t begin = tt_clock_ns();
    /* Another rank may still be in connect_all when the rank with the invalid pointer dies. */
    tutti_status status = connect_all(world);
    if (status == TUTTI_OK)
        status = argc > 1 && !strcmp(argv[1], "allreduce")
                     ? tutti_allreduce(world, buffer, out, 100000, TUTTI_F64, TUTTI_SUM)
                     : tutti_bcast(world, buffer, 20000, TUTTI_F64, 0);
    if (status == TUTTI_OK) status = tutti_barrier(world);
    print_status(status, begin);
    tutti_finalize(client);
    return status == TUTTI_OK ? 8 : 0;
}

/* Starts the call `n` times and finalizes without waiting for any of them. */
static tutti_status finalize_under_way(tutti_client *client, struct call *c, int n)
{
    tutti_request *request;
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < n && status == TUTTI_OK; i++)
        status = call_start(tutti_world(client), c, &request);
    tutti_status last = tutti_finalize(client);
    return status == TUTTI_OK ? last : status;
}

/* under-way N PROBLEM0 PROBLEM1 ...: rank r starts the r-th problem N times, and finalizes without
 * waiting for any of the calls. Ranks beyond the last problem start the last one. */
static int under_way(int argc, char **argv)
{
    if (argc < 2) return 7;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    int mine = 1 + tutti_rank(world);
    struct call *c = call_open(world, argv[mine < argc ? mine : argc - 1]);
    int64_t begin = tt_clock_ns();
    print_status(finalize_under_way(client, c, atoi(argv[0])), begin);
    call_close(c);
    return 0;
}

/* Starts an alltoallv and then a barrier, waits for the barrier only, and finalizes. In the
 * alltoallv, the last rank expects `more` elements more from rank 0 than rank 0 has for it. The
 * last rank starts both calls first and sleeps until rank 0 has started them, too, so that no rank
 * compares the counts while the last rank waits for the barrier. Returns the first error. */
static tutti_status finalize_after_barrier(tutti_client *client, int64_t more)
{
    enum { LONG = 70000, MOST = 16, NAP_US = 20000 };
    static double in[LONG], out[LONG + MOST];
    tutti_team *world = tutti_world(client);
    tutti_request *pieces, *barrier;
    int me = tutti_rank(world), last = tutti_size(world) - 1;
    int64_t to[MOST] = {0}, from[MOST] = {0}, at[MOST] = {0};
    if (last >= MOST) exit(7);
    if (me == 0) to[last] = LONG;
    if (me == last) from[0] = LONG + more;
    if (me == 0) usleep(NAP_US);
    tutti_status status = tutti_ialltoallv(world, in, to, at, out, from, at, TUTTI_F64, &pieces);
    if (status == TUTTI_OK) status = tutti_ibarrier(world, &barrier);
    if (me == last) usleep(2 * NAP_US);
    if (status == TUTTI_OK) status = tutti_wait(barrier);
    tutti_status ended = tutti_finalize(client);
    return status == TUTTI_OK ? ended : status;
}

/* behind-barrier TIMES: creates TIMES clients, one after the other. On each, the counts that rank 0
 * and the last rank pass to an alltoallv do not match, and the ranks wait only for a barrier that
 * they started after the alltoallv. Each rank prints how often it got the error. On one more client
 * the counts match, so no rank may get a mismatch. But a rank that waits for the barrier may get
 * TUTTI_ERR_PEER, because rank 0 finalizes while the alltoallv is in flight. */
static int behind_barrier(int argc, char **argv)
{
    int heard = 0, times = argc > 0 ? atoi(argv[0]) : 0;
    for (int i = 0; i < times; i++)
        heard += finalize_after_barrier(join(), 1) == TUTTI_ERR_MISMATCH;
    printf("heard %d of %d\n", heard, times);
    return finalize_after_barrier(join(), 0) == TUTTI_ERR_MISMATCH ? 8 : 0;
}

/* unsent TIMES: creates TIMES clients, one after the other. On each, the last rank expects elements
 * from rank 0 in an alltoallv, and rank 0 has none for it. Nobody waits for the call before
 * tutti_finalize. Each rank prints how often it got the error. */
static int unsent(int argc, char **argv)
{
    enum { MOST = 16, EXPECTED = 5 };
    static double in[1], out[EXPECTED];
    int heard = 0, times = argc > 0 ? atoi(argv[0]) : 0;
    for (int i = 0; i < times; i++) {
        tutti_client *client = join();
        tutti_team *world = tutti_world(client);
        tutti_request *request;
        int64_t none[MOST] = {0}, from[MOST] = {0};
        int last = tutti_size(world) - 1;
        if (last >= MOST) return 7;
        if (tutti_rank(world) == last) from[0] = EXPECTED;
        tutti_status status =
            tutti_ialltoallv(world, in, none, none, out, from, none, TUTTI_F64, &request);
        tutti_status ended = tutti_finalize(client);
        heard += (status == TUTTI_OK ? ended : status) == TUTTI_ERR_MISMATCH;
    }
    printf("heard %d of %d\n", heard, times);
    return 0;
}

/* Calls one of several collectives, chosen by i. A call with `odd` set does not match a call with
 * `odd` unset. */
static tutti_status call_nth(tutti_team *team, int i, bool odd)
{
    static double in[64], out[64];
    int n = odd ? 3 : 4;
    switch (i % 4) {
    case 0: return tutti_scan(team, in, out, n, TUTTI_F64, TUTTI_SUM);
    case 1: return tutti_allreduce(team, in, out, n, TUTTI_F64, TUTTI_SUM);
    case 2: return tutti_bcast(team, out, n, TUTTI_F64, tutti_size(team) - 1);
    default: return tutti_reduce_scatter_block(team, in, out, odd ? 1 : 2, TUTTI_F64, TUTTI_SUM);
    }
}

/* Makes a new team, and on it a call that differs at one rank. Returns the error of the call, or
 * else the status of tutti_finalize. Unless `at_once` is set, a barrier on the world precedes the
 * call, so that every rank has the new team before the first rank makes the call. The status of the
 * barrier is ignored, because a rank may learn before the end of the barrier that another rank has
 * failed. With `at_once`, some ranks are still making the team when others get the error. */
static tutti_status call_on_duplicate(tutti_client *client, int i, bool at_once)
{
    tutti_team *world = tutti_world(client), *team;
    tutti_status status = tutti_team_dup(world, &team);
    if (status != TUTTI_OK) return status;
    if (!at_once) (void)!tutti_barrier(world);
    status = call_nth(team, i, tutti_rank(world) == i % tutti_size(world));
    tutti_status ended = tutti_finalize(client);
    return status == TUTTI_OK ? ended : status;
}

/* duplicate TIMES [at-once]: creates TIMES clients, one after the other. On each, the call of one
 * rank on a duplicate of the world does not match. Each rank prints how often it got the mismatch.
 * With at-once, the ranks do not wait for each other between making the duplicate and the call. */
static int duplicate(int argc, char **argv)
{
    int heard = 0, times = argc > 0 ? atoi(argv[0]) : 0;
    for (int i = 0; i < times; i++) {
        tutti_client *client = join();
        heard += call_on_duplicate(client, i, argc > 1) == TUTTI_ERR_MISMATCH;
    }
    printf("heard %d of %d\n", heard, times);
    return 0;
}

/* Makes a team of the even ranks and a team of the odd ranks, and a call on each. On the team of
 * the even ranks one call does not match. Returns true on an even rank if the rank got the error,
 * and on an odd rank if it got none. */
static bool call_on_half(tutti_client *client, int i)
{
    tutti_team *world = tutti_world(client), *team;
    int half = tutti_rank(world) % 2;
    tutti_status status = tutti_team_split(world, half, 0, &team);
    if (status == TUTTI_OK)
        status = call_nth(team, i, half == 0 && tutti_rank(team) == i % tutti_size(team));
    tutti_status ended = tutti_finalize(client);
    if (status == TUTTI_OK) status = ended;
    return status == (half == 0 ? TUTTI_ERR_MISMATCH : TUTTI_OK);
}

/* halves TIMES: creates TIMES clients, one after the other. On each, the ranks form two teams, and
 * the calls of one team do not match. Each rank prints how often it got the right result, which is
 * an error on that team and no error on the other team. */
static int halves(int argc, char **argv)
{
    int good = 0, times = argc > 0 ? atoi(argv[0]) : 0;
    for (int i = 0; i < times; i++) good += call_on_half(join(), i);
    printf("good %d of %d\n", good, times);
    return 0;
}

/* once-more: rank 0 calls one barrier more than the other ranks, which leave. */
static int once_more(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    tutti_status status = tutti_barrier(world);
    int64_t begin = tt_clock_ns();
    if (tutti_rank(world) != 0) return end(client, status, TUTTI_OK, begin);
    if (status == TUTTI_OK) status = tutti_barrier(world);
    return end(client, status, TUTTI_ERR_PEER, begin);
}

const struct scenario mismatches[] = {{"each", each},
                                      {"each-thread", each_thread},
                                      {"uneven", uneven},
                                      {"pointer", pointer},
                                      {"once-more", once_more},
                                      {"under-way", under_way},
                                      {"behind-barrier", behind_barrier},
                                      {"unsent", unsent},
                                      {"duplicate", duplicate},
                                      {"halves", halves},
                                      {NULL, NULL}};
