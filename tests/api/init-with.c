/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank of a job that no launcher started: its allgather exchanges the bytes as files in a folder.
 *
 *     init-with FOLDER RANK SIZE [WHAT [N]]
 *
 * The rank makes two clients, and on each it checks a collective and which ranks share its node. If
 * it cannot join, it prints the status and the error text, and exits with 3. WHAT makes something
 * go wrong at this rank:
 *
 *     fail N    the allgather fails in its call N, counted from 1
 *     late N    as fail, but the allgather gives the bytes to the other ranks before it fails
 *     kill N    the rank kills itself in call N of the allgather
 *     lie       the allgather returns wrong bytes
 *     size N    the rank passes N to tutti_init_with as the size
 *     rank N    the rank passes N to tutti_init_with as its rank
 *     starve N  memory allocation N fails, counted from 0
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tutti/tutti.h>

#include "base/base.h"

enum { WAIT_MS = 3000 };

struct files {
    const char *folder, *what;
    int rank, size, calls, at;
};

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, tutti_error());
    return 1;
}

static void name(char path[512], const struct files *f, int rank, const char *more)
{
    snprintf(path, 512, "%s/%d.%d%s", f->folder, f->calls, rank, more);
}

static int give(const struct files *f, const void *in, size_t bytes)
{
    char path[512], ready[512];
    name(path, f, f->rank, ".part");
    name(ready, f, f->rank, "");
    FILE *to = fopen(path, "w");
    if (!to || fwrite(in, 1, bytes, to) != bytes || fclose(to) != 0) return -1;
    return rename(path, ready);
}

static int take(const struct files *f, int rank, char *out, size_t bytes)
{
    char path[512];
    FILE *from = NULL;
    name(path, f, rank, "");
    for (int ms = 0; ms < WAIT_MS && !(from = fopen(path, "r")); ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (!from) return -2;
    size_t got = fread(out, 1, bytes, from);
    fclose(from);
    return got == bytes ? 0 : -3;
}

static int allgather(const void *in, void *out, size_t bytes, void *arg)
{
    struct files *f = arg;
    bool now = ++f->calls == f->at;
    if (now && strcmp(f->what, "kill") == 0) raise(SIGKILL);
    if (now && strcmp(f->what, "fail") == 0) return 7;
    if (give(f, in, bytes) != 0) return -1;
    if (now && strcmp(f->what, "late") == 0) return 8;
    for (int r = 0; r < f->size; r++) {
        int result = take(f, r, (char *)out + (size_t)r * bytes, bytes);
        if (result != 0) return result;
    }
    if (strcmp(f->what, "lie") == 0) memset((char *)out + bytes, 'x', 16);
    return 0;
}

/* Checks a client: sums over all ranks, and checks that the ranks of its node are those with the
 * same host name. */
static int use(tutti_client *client, const struct files *f)
{
    char host[64] = "", hosts[16][64];
    tutti_team *world = tutti_world(client), *node;
    int64_t mine = tutti_rank(world) + 1, sum = 0, here = 0;
    if (tutti_rank(world) != f->rank || tutti_size(world) != f->size) return 1;
    if (tutti_allreduce(world, &mine, &sum, 1, TUTTI_I64, TUTTI_SUM) != TUTTI_OK)
        return failed("allreduce");
    if (sum != (int64_t)f->size * (f->size + 1) / 2) return 1;
    gethostname(host, sizeof host - 1);
    if (tutti_allgather(world, host, hosts, sizeof host, TUTTI_U8) != TUTTI_OK)
        return failed("allgather");
    for (int r = 0; r < f->size; r++) here += strcmp(hosts[r], host) == 0;
    if (tutti_team_split_domain(world, TUTTI_DOMAIN_NODE, 0, &node) != TUTTI_OK)
        return failed("split");
    if (tutti_size(node) != here) return 1;
    return tutti_team_free(node) != TUTTI_OK;
}

static int refused(tutti_status status)
{
    printf("%s: %s\n", tutti_status_text(status), tutti_error());
    return 3;
}

static int second(tutti_client *first, struct files *f)
{
    tutti_client *client;
    if (tutti_init(&client) != TUTTI_ERR_ARG) return 1;
    if (tutti_init_with(allgather, f, f->rank, f->size + 1, &client) != TUTTI_ERR_ARG) return 1;
    tutti_status status = tutti_init_with(allgather, f, f->rank, f->size, &client);
    if (status != TUTTI_OK) return refused(status);
    if (use(client, f) || use(first, f)) return failed("second client");
    return tutti_finalize(client) != TUTTI_OK;
}

static int wrong_arguments(void)
{
    tutti_client *client;
    struct files f = {0};
    return tutti_init_with(NULL, NULL, 0, 1, &client) != TUTTI_ERR_ARG ||
           tutti_init_with(allgather, &f, 0, 1, NULL) != TUTTI_ERR_ARG ||
           tutti_init_with(allgather, &f, 0, 0, &client) != TUTTI_ERR_ARG || f.calls != 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    struct files f = {argv[1], argc > 4 ? argv[4] : "",     atoi(argv[2]), atoi(argv[3]),
                      0,       argc > 5 ? atoi(argv[5]) : 0};
    tutti_client *client;
    if (wrong_arguments()) return failed("wrong arguments");
    int size = strcmp(f.what, "size") == 0 ? f.at : f.size;
    int rank = strcmp(f.what, "rank") == 0 ? f.at : f.rank;
    if (strcmp(f.what, "starve") == 0) tt_memory_fail_at(f.at);
    tutti_status status = tutti_init_with(allgather, &f, rank, size, &client);
    tt_memory_fail_at(-1);
    if (status != TUTTI_OK) return refused(status);
    if (use(client, &f)) return failed("first client");
    int result = second(client, &f);
    if (tutti_finalize(client) != TUTTI_OK) return failed("finalize");
    printf("done after %d calls\n", f.calls);
    return result;
}
