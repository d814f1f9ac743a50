/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that do not call the same.
 */
#include "rank.h"

#include <stdio.h>
#include <stdlib.h>

/* Rank r calls the r-th problem (those behind, the last), then, if that went well, a barrier: by
 * then at the latest everyone must have an error. */
static struct call *call_mine(tutti_team *world, int argc, char **argv, tutti_status *status)
{
    int mine = tutti_rank(world) < argc ? tutti_rank(world) : argc - 1;
    struct call *c = call_open(world, argv[mine]);
    int64_t begin = tt_clock_ns();
    *status = call_run(world, c);
    if (*status == TUTTI_OK) *status = tutti_barrier(world);
    tell(*status, begin);
    return c;
}

/* PROBLEM0 PROBLEM1 ... */
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

struct all {
    int argc;
    char **argv;
    _Atomic int told, mismatches;
    struct call *calls[16];
};

static void call_in_thread(tutti_client *client, void *arg)
{
    struct all *all = arg;
    tutti_status status;
    tutti_team *world = tutti_world(client);
    all->calls[tutti_rank(world)] = call_mine(world, all->argc, all->argv, &status);
    all->told += status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_PEER;
    all->mismatches += status == TUTTI_ERR_MISMATCH;
}

/* The same in threads. Nobody frees a buffer while others may not have seen the error. */
static int each_thread(int argc, char **argv)
{
    enum { P = 3 };
    struct all all = {.argc = argc, .argv = argv};
    if (argc < 1 || tutti_threads(P, call_in_thread, &all) != TUTTI_OK) return 7;
    for (int r = 0; r < P; r++) call_close(all.calls[r]);
    return all.told == P && all.mismatches > 0 ? 0 : 8;
}

/* MORE: in an alltoallv the last rank gives rank 0 MORE elements (negative: less) than that
 * expects; in an allgatherv it believes its own count to be so. */
static int uneven(int argc, char **argv)
{
    enum { MOST = 16, N = 5000 };
    static int64_t n[MOST], m[MOST], d[MOST], in[2 * MOST * N], out[2 * MOST * N];
    if (argc < 2) return 7;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    int p = tutti_size(world), me = tutti_rank(world), v = atoi(argv[1]);
    for (int r = 0; r < p; r++) {
        n[r] = m[r] = N;
        d[r] = 2 * r * N;
    }
    int64_t begin = tt_clock_ns();
    if (me == p - 1) m[argv[0][3] == 'g' ? me : 0] += v;
    tutti_status status = argv[0][3] == 'g'
                              ? tutti_allgatherv(world, in, out, m, d, TUTTI_I64)
                              : tutti_alltoallv(world, in, m, d, out, n, d, TUTTI_I64);
    if (status == TUTTI_OK) status = tutti_barrier(world);
    tell(status, begin);
    tutti_finalize(client);
    return status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_PEER ? 0 : 8;
}

/* RANK: gives an address that is none to a bcast from rank 0, which the others read from there.
 * Prints what each is told. */
static int pointer(int argc, char **argv)
{
    static double good[20000];
    if (argc < 1) return 7;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    bool bad = tutti_rank(world) == atoi(argv[0]);
    int64_t begin = tt_clock_ns();
    tutti_status status =
        tutti_bcast(world, bad ? (void *)(uintptr_t)4096 : good, 20000, TUTTI_F64, 0);
    if (status == TUTTI_OK) status = tutti_barrier(world);
    tell(status, begin);
    tutti_finalize(client);
    return status == TUTTI_OK ? 8 : 0;
}

/* Rank 0 calls one barrier more than the others, which leave. */
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

const struct deed mismatches[] = {{"each", each},           {"each-thread", each_thread},
                                  {"uneven", uneven},       {"pointer", pointer},
                                  {"once-more", once_more}, {NULL, NULL}};
