/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that continue after others were killed.
 */
#include "rank.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 600 };

/* Prints a line that does not name its rank, so that all ranks with the same result print the same
 * line. */
static void say_round(int round, tutti_team *team, int64_t value, int failed)
{
    int who[64], n;
    char line[LINE];
    if (tutti_team_failed(team, who, 64, &n) != TUTTI_OK || n != failed) exit(8);
    int at = snprintf(line, sizeof line, "round %d: %d ranks, value %llx, failed", round,
                      tutti_size(team), (unsigned long long)value & 0xffff);
    for (int i = 0; i < n && at < LINE - 8; i++) at += snprintf(line + at, 8, " %d", who[i]);
    line[at++] = '\n';
    if (write(STDOUT_FILENO, line, (size_t)at) != at) exit(8);
}

/* Checks that the members are in the order of their ranks in the job. Returns TUTTI_OK or
 * TUTTI_ERR_PEER. */
static tutti_status check_order(tutti_team *team, int64_t *all)
{
    int64_t mine = rank_number();
    tutti_status status = tutti_allgather(team, &mine, all, 1, TUTTI_I64);
    for (int i = 1; i < tutti_size(team) && status == TUTTI_OK; i++)
        if (all[i - 1] >= all[i]) exit(8);
    return status == TUTTI_OK ? tutti_barrier(team) : status;
}

static tutti_team *shrink(tutti_client *client, tutti_team *team)
{
    tutti_team *rest;
    tutti_status status = tutti_team_shrink(team, &rest);
    if (status != TUTTI_OK) exit(end(client, status, TUTTI_OK, tt_clock_ns()));
    if (team != tutti_world(client)) (void)tutti_team_free(team);
    return rest;
}

/* survive ROUNDS: each round consists of collectives and an agreement on whether they succeeded.
 * After a failure the remaining ranks continue as a smaller team. TUTTI_FAULT says which rank is
 * killed, and when. */
static int survive(int argc, char **argv)
{
    int rounds = argc > 0 ? atoi(argv[0]) : 5;
    tutti_client *client = join();
    tutti_team *team = tutti_world(client);
    int64_t begin = tt_clock_ns(), all[64];
    for (int round = 0; round < rounds; round++) {
        int failed;
        bool well = check_order(team, all) == TUTTI_OK;
        int64_t value = well ? ~(INT64_C(1) << rank_number()) : ~(INT64_C(257) << rank_number());
        tutti_status status = tutti_team_agree(team, &value, &failed);
        if (status != TUTTI_OK) return end(client, status, TUTTI_OK, begin);
        say_round(round, team, value, failed);
        if (failed > 0) team = shrink(client, team);
    }
    tutti_finalize(client);
    return 0;
}

/* no-memory N: the N-th allocation of rank 1 in tutti_team_shrink fails. Either no rank gets a
 * team, or all other ranks get one, in which rank 1 counts as failed. */
static int no_memory(int argc, char **argv)
{
    int64_t begin = tt_clock_ns(), one = 1, sum;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client), *rest = NULL;
    if (rank_number() == 1) tt_memory_fail_at(argc > 0 ? atoi(argv[0]) : 0);
    tutti_status status = tutti_team_shrink(world, &rest);
    tt_memory_fail_at(-1);
    if ((status == TUTTI_OK) != (rest != NULL)) return 8;
    if (rest) status = tutti_allreduce(rest, &one, &sum, 1, TUTTI_I64, TUTTI_SUM);
    print_status(status, begin);
    tutti_finalize(client);
    return 0;
}

/* idle: rank 1 makes no call while rank 2 is killed. Rank 1 is notified at its next call, and the
 * agreement of the other ranks waits for rank 1. */
static int idle(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    int64_t begin = tt_clock_ns(), value = -1;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    tutti_status first = tutti_barrier(world); /* a slow rank may get the error already in this
                                                * barrier */
    if (first != TUTTI_OK && first != TUTTI_ERR_PEER) return 8;
    if (rank_number() == 2) raise(SIGKILL);
    if (rank_number() == 1) usleep(1500000);
    if (tutti_barrier(world) != TUTTI_ERR_PEER) return 8;
    tutti_status status = tutti_team_agree(world, &value, NULL);
    return end(client, status, TUTTI_OK, begin);
}

/* texts TIMES: each rank leaves as soon as it has agreed, when other ranks may still send it
 * agreement messages. An agreement that succeeds keeps the text of the error before it. */
static int texts(int argc, char **argv)
{
    int64_t value;
    char before[LINE];
    for (int i = argc > 0 ? atoi(argv[0]) : 100; i > 0; i--) {
        tutti_client *client = join();
        tutti_team *world = tutti_world(client);
        if (tutti_bcast(world, &value, -1, TUTTI_I64, 0) != TUTTI_ERR_ARG) return 8;
        snprintf(before, sizeof before, "%s", tutti_error());
        if (tutti_team_agree(world, &value, NULL) != TUTTI_OK || strcmp(before, tutti_error())) {
            fprintf(stderr, "rank %d: %s\n", rank_number(), tutti_error());
            return 8;
        }
        tutti_finalize(client);
    }
    return 0;
}

/* null: rank 1 passes NULL to an agreement and to a shrink. No other rank waits for it for ever,
 * and the team works afterwards. */
static int null(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    int64_t begin = tt_clock_ns(), value = -1;
    int failed = -1;
    bool wrong = rank_number() == 1;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client), *rest = NULL;
    tutti_status status = tutti_team_agree(world, wrong ? NULL : &value, &failed);
    if (status != (wrong ? TUTTI_ERR_ARG : TUTTI_OK) || failed != 0) return 8;
    if (!wrong && value != 0) return 8;
    if (tutti_team_shrink(world, wrong ? NULL : &rest) != TUTTI_ERR_ARG || rest) return 8;
    if (strncmp(tutti_error(), "part is NULL", 12) != 0) return 8;
    status = tutti_team_shrink(world, &rest);
    if (status == TUTTI_OK) status = tutti_barrier(rest);
    return end(client, status, TUTTI_OK, begin);
}

const struct scenario recoveries[] = {{"survive", survive}, {"no-memory", no_memory},
                                      {"idle", idle},       {"texts", texts},
                                      {"null", null},       {NULL, NULL}};
