/* SPDX-License-Identifier: BSD-3-Clause
 *
 * teams apart|inner: calls that do not match on parts of the world, with four ranks.
 *
 *   apart   the calls of ranks 2 and 3 on their team differ. Later the calls of ranks 0 and 1 on
 *           their team differ; rank 1 waits for nobody in its call and continues with an agreement.
 *           The error at each rank must name the calls of its own team.
 *   inner   on the team of ranks 1-3, the call of rank 2 of the job differs: the message names
 *           this rank
 *
 * Each rank prints the error of its first call that failed.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <tutti/tutti.h>

static void nap(int ms)
{
    struct timespec time = {.tv_nsec = ms * 1000000L};
    nanosleep(&time, NULL);
}

struct teams_heard {
    tutti_status status;
    char text[512];
};

static void hear(struct teams_heard *h, tutti_status status)
{
    if (status == TUTTI_OK || h->status != TUTTI_OK) return;
    h->status = status;
    snprintf(h->text, sizeof h->text, "%s", tutti_error());
}

static void apart(tutti_team *world, struct teams_heard *h)
{
    tutti_team *part;
    double x = 1;
    int64_t value = 1;
    int me = tutti_rank(world);
    hear(h, tutti_team_split(world, me / 2, 0, &part));
    if (h->status != TUTTI_OK) return;
    if (me < 2) nap(200);
    hear(h, me % 2 ? tutti_bcast(part, &x, 1, TUTTI_F64, 1) : tutti_barrier(part));
    if (me != 1) return;
    nap(50);
    hear(h, tutti_team_agree(part, &value, NULL));
}

static void inner(tutti_team *world, struct teams_heard *h)
{
    tutti_team *part;
    double x = 1;
    int me = tutti_rank(world);
    hear(h, tutti_team_split(world, me > 0, 0, &part));
    if (h->status != TUTTI_OK) return;
    hear(h, me == 2 ? tutti_bcast(part, &x, 1, TUTTI_F64, 1) : tutti_barrier(part));
}

int main(int argc, char **argv)
{
    tutti_client *client;
    struct teams_heard h = {.status = TUTTI_OK};
    if (argc < 2 || tutti_init(&client) != TUTTI_OK) return 7;
    tutti_team *world = tutti_world(client);
    int me = tutti_rank(world);
    if (strcmp(argv[1], "apart") == 0)
        apart(world, &h);
    else
        inner(world, &h);
    hear(&h, tutti_finalize(client));
    printf("rank %d: %s: %s\n", me, tutti_status_text(h.status), h.text);
    return 0;
}
