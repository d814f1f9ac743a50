/* SPDX-License-Identifier: BSD-3-Clause
 *
 * late [VICTIM]: a run to be drawn. Rank 2 comes late to the first allreduce, after the others have
 * written to a file that they are about to call it. Then follow calls on two teams, calls that
 * overlap, and a barrier before which rank VICTIM kills itself. The others then shrink the world;
 * if nobody has died, all agree and free their team.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tutti/tutti.h>

enum { N = 1 << 16, LATE = 2 };

static void nap(int ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void must(tutti_status status, const char *what)
{
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s\n", what, tutti_error());
    exit(3);
}

/* Lets the rank `late` come late: each other rank appends a byte to the file, and the late rank
 * waits until all have done so, and then a little longer. */
static void come_late(const char *name, int late, int rank, int size)
{
    struct stat is;
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) exit(4);
    if (rank != late && write(fd, "x", 1) != 1) exit(4);
    while (rank == late && fstat(fd, &is) == 0 && is.st_size < size - 1) nap(1);
    close(fd);
    if (rank == late) nap(200);
}

/* Makes two requests that are under way at the same time. */
static void overlap(tutti_team *world, tutti_team *half, const double *in, double *out)
{
    tutti_request *sum, *all;
    must(tutti_iallreduce(world, in, out, N, TUTTI_F64, TUTTI_SUM, &sum), "iallreduce");
    must(tutti_ibarrier(half, &all), "ibarrier");
    must(tutti_wait(sum), "wait");
    must(tutti_wait(all), "wait");
    must(tutti_request_free(sum), "free");
    must(tutti_request_free(all), "free");
}

static void run(tutti_team *world, double *in, double *out, int victim)
{
    tutti_team *half;
    int rank = tutti_rank(world);
    come_late("about-to-sum", LATE, rank, tutti_size(world));
    must(tutti_allreduce(world, in, out, N, TUTTI_F64, TUTTI_SUM), "allreduce");
    must(tutti_bcast(world, out, 1024, TUTTI_F64, 1), "bcast");
    must(tutti_team_split(world, rank % 2, rank, &half), "split");
    for (int i = 0; i < 3; i++)
        must(tutti_allreduce(half, in, out, 64, TUTTI_F64, TUTTI_MAX), "max");
    overlap(world, half, in, out);
    if (victim >= 0) come_late("about-to-end", victim, rank, tutti_size(world));
    if (rank == victim) raise(SIGKILL);
    int64_t value = 1;
    if (tutti_barrier(world) != TUTTI_OK) {
        must(tutti_team_shrink(world, &half), "shrink");
        return;
    }
    must(tutti_team_agree(world, &value, NULL), "agree");
    must(tutti_team_free(half), "free");
}

int main(int argc, char **argv)
{
    static double in[N], out[N];
    tutti_client *client;
    must(tutti_init(&client), "init");
    run(tutti_world(client), in, out, argc > 1 ? atoi(argv[1]) : -1);
    must(tutti_finalize(client), "finalize");
    return 0;
}
