/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job in which somebody is missing: missing WHAT [THREADS]. The one that is missing comes when
 * the file "go" is there.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tutti/message.h>

static const char *what;

static void must(tutti_status status, const char *call)
{
    if (status == TUTTI_OK) return;
    printf("%s: %s: %s\n", call, tutti_status_text(status), tutti_error());
    fflush(stdout);
}

static void await_file(const char *name)
{
    for (int i = 0; i < 12000 && access(name, F_OK) != 0; i++) usleep(10000);
}

/* Outside the library until the test has seen enough. */
static void stay_outside(void)
{
    await_file("go");
}

static void add(tutti_team *team)
{
    double one = 1, sum = 0;
    must(tutti_allreduce(team, &one, &sum, 1, TUTTI_F64, TUTTI_SUM), "allreduce");
}

/* Rank 2 computes where the others add. */
static void outside(tutti_client *client, int me)
{
    tutti_team *world = tutti_world(client);
    must(tutti_barrier(world), "barrier");
    if (me == 2) stay_outside();
    add(world);
}

/* Ranks 0 and 1 are in another collective, on a team of theirs, than the rest: by itself no
 * mismatch. Rank 0 comes to neither. */
static void elsewhere(tutti_client *client, int me)
{
    tutti_team *world = tutti_world(client), *part;
    int32_t value[5] = {0};
    must(tutti_team_split(world, me < 2, 0, &part), "split");
    if (me == 0) stay_outside();
    if (me < 2) must(tutti_bcast(part, value, 5, TUTTI_I32, 0), "bcast");
    add(world);
    must(tutti_team_free(part), "free");
}

/* Rank 1 stops itself, as a debugger or an operator would. */
static void stopped(tutti_client *client, int me)
{
    tutti_team *world = tutti_world(client);
    must(tutti_barrier(world), "barrier");
    if (me == 1) raise(SIGSTOP);
    must(tutti_barrier(world), "barrier");
}

/* Rank 3 dies, which concerns a team of 2 and 3; 0 and 1 wait on theirs for rank 1, which is
 * outside. */
static void dead(tutti_client *client, int me)
{
    tutti_team *world = tutti_world(client), *part;
    must(tutti_team_split(world, me / 2, 0, &part), "split");
    if (me == 3) raise(SIGKILL);
    if (me == 1) stay_outside();
    if (me == 2) stay_outside();
    if (me < 2) must(tutti_barrier(part), "barrier");
}

/* Rank 3 leaves; 0 and 1 wait for 2, which is outside. */
static void left(tutti_client *client, int me)
{
    tutti_team *world = tutti_world(client), *part;
    must(tutti_team_split(world, me < 3, 0, &part), "split");
    if (me == 3) return;
    if (me == 2) stay_outside();
    must(tutti_barrier(part), "barrier");
}

/* Rank 1 has started two and waits for neither; the others wait in a third. */
static void requests(tutti_client *client, int me)
{
    tutti_team *world = tutti_world(client);
    tutti_plan *plan[2];
    must(tutti_barrier(world), "barrier");
    if (me != 1) await_file("started"); /* so that neither is complete when it is started */
    for (int i = 0; i < 2; i++) must(tutti_ibarrier(world, &plan[i]), "ibarrier");
    if (me == 1) {
        fclose(fopen("started", "w"));
        stay_outside();
    }
    for (int i = 0; i < 2; i++) must(tutti_wait(plan[i]), "wait");
    for (int i = 0; i < 2; i++) must(tutti_plan_free(plan[i]), "free");
    must(tutti_barrier(world), "barrier");
}

/* Rank 1 is late for two barriers. */
static void twice(tutti_client *client, int me)
{
    for (int i = 0; i < 2; i++) {
        if (me == 1) usleep(1500000);
        must(tutti_barrier(tutti_world(client)), "barrier");
    }
}

/* Rank 1 does not agree, or free its team, or take messages. */
static void agree(tutti_client *client, int me)
{
    int64_t value = 1;
    if (me == 1) stay_outside();
    must(tutti_team_agree(tutti_world(client), &value, NULL), "agree");
}

static void free_team(tutti_client *client, int me)
{
    tutti_team *part;
    must(tutti_team_split(tutti_world(client), 0, 0, &part), "split");
    if (me == 1) stay_outside();
    must(tutti_team_free(part), "free");
}

/* The root of a broadcast waits for nobody in it, but before it leaves for those that have not
 * begun it. */
static void finalize(tutti_client *client, int me)
{
    double value = 1;
    if (me != 0) stay_outside();
    must(tutti_bcast(tutti_world(client), &value, 1, TUTTI_F64, 0), "bcast");
}

static void messages(tutti_client *client, int me)
{
    must(tutti_barrier(tutti_world(client)), "barrier");
    if (me == 1)
        stay_outside();
    else
        while (access("go", F_OK) != 0)
            (void)tutti_advance_wait(tutti_context_at(client, 0), 2000, NULL);
}

static void act(tutti_client *client, void *arg)
{
    static const struct {
        const char *name;
        void (*act)(tutti_client *client, int me);
    } all[] = {{"outside", outside}, {"elsewhere", elsewhere}, {"stopped", stopped},
               {"dead", dead},       {"left", left},           {"requests", requests},
               {"agree", agree},     {"free", free_team},      {"messages", messages},
               {"twice", twice},     {"finalize", finalize}};
    (void)arg;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(what, all[i].name) == 0) all[i].act(client, tutti_rank(tutti_world(client)));
}

int main(int argc, char **argv)
{
    tutti_client *client;
    if (argc < 2) return 7;
    what = argv[1];
    if (argc > 2) return tutti_threads(atoi(argv[2]), act, NULL) == TUTTI_OK ? 0 : 8;
    const char *rank = getenv("TUTTI_RANK");
    if (strcmp(what, "absent") == 0 && rank && strcmp(rank, "1") == 0) stay_outside();
    if (tutti_init(&client) != TUTTI_OK) return 9;
    act(client, NULL);
    return tutti_finalize(client) == TUTTI_OK ? 0 : 8;
}
