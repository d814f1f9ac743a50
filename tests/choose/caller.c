/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that calls collectives of several sizes and checks their results, for agree.sh. With an
 * argument, each team consists of the ranks that share memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

static void check(tutti_status status)
{
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s\n", tutti_status_text(status), tutti_error());
    exit(1);
}

static void call(tutti_team *world, char *buffer, int64_t n)
{
    int me = tutti_rank(world), p = tutti_size(world);
    int64_t mine = me, sum = 0;
    memset(buffer, me == 0 ? 7 : 0, (size_t)n);
    check(tutti_bcast(world, buffer, n, TUTTI_U8, 0));
    check(tutti_allreduce(world, &mine, &sum, 1, TUTTI_I64, TUTTI_SUM));
    if (buffer[0] == 7 && buffer[n - 1] == 7 && sum == p * (p - 1) / 2) return;
    fprintf(stderr, "rank %d has a wrong result\n", me);
    exit(1);
}

int main(int argc, char **argv)
{
    enum { MOST = 1 << 20 };
    tutti_client *client;
    tutti_team *team;
    char *buffer = malloc(MOST);
    (void)argv;
    check(tutti_init(&client));
    team = tutti_world(client);
    if (argc > 1) check(tutti_team_split_domain(team, TUTTI_DOMAIN_NODE, 0, &team));
    for (int64_t n = 1024; buffer && n <= MOST; n *= 32) call(team, buffer, n);
    free(buffer);
    check(tutti_finalize(client));
    return 0;
}
