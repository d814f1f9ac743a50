/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job in which one rank is missing: `missing SCENARIO [THREADS]`. The missing rank continues when
 * the file "go" exists.
 */
#include <signal.h>
#include <stdbool.h>
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

static void must_fail(tutti_status status, tutti_status how)
{
    if (status == how) return;
    printf("%s: %s\n", tutti_status_text(status), tutti_error());
    fflush(stdout);
}

static void await_file(const char *name)
{
    for (int i = 0; i < 12000 && access(name, F_OK) != 0; i++) usleep(10000);
}

/* Stays outside the library until the script creates the file "go". */
static void stay_outside(void)
{
    await_file("go");
}

static void add(tutti_team *team)
{
    double one = 1, sum = 0;
    must(tutti_allreduce(team, &one, &sum, 1, TUTTI_F64, TUTTI_SUM), "allreduce");
}

/* Rank 2 stays outside the library while the other ranks are in an allreduce. */
static void outside(tutti_client *client, int me)
{
    tutti_team *world = tutti_world(client);
    must(tutti_barrier(world), "barrier");
    if (me == 2) stay_outside();
    add(world);
}

/* Ranks 0 and 1 have a team of their own. Rank 1 calls a collective on it while ranks 2 and up call
 * one on the world, which is not a mismatch. Rank 0 stays outside the library and has begun neither
 * call. */
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

/* Rank 1 stops itself with SIGSTOP, as a debugger or an operator would stop it. */
static void stopped(tutti_client *client, int me)
{
    tutti_team *world = tutti_world(client);
    must(tutti_barrier(world), "barrier");
    if (me == 1) raise(SIGSTOP);
    must(tutti_barrier(world), "barrier");
}

/* Rank 3 dies, which affects only the team of ranks 2 and 3. Rank 2 gets the error of a barrier on
 * that team and then stays outside the library. Rank 0 waits on the team of ranks 0
 * and 1 for rank 1, which is outside the library. */
static void dead(tutti_client *client, int me)
{
    tutti_team *world = tutti_world(client), *part;
    must(tutti_team_split(world, me / 2, 0, &part), "split");
    if (me == 3) raise(SIGKILL);
    if (me == 2) must_fail(tutti_barrier(part), TUTTI_ERR_PEER);
    if (me == 1 || me == 2) stay_outside();
    if (me < 2) must(tutti_barrier(part), "barrier");
}

/* The calls of ranks 2 and 3 on their own team do not match, and both fail. Rank 0 waits on the
 * team of ranks 0 and 1 for rank 1. Ranks 1 to 3 are outside the library. */
static void mismatch(tutti_client *client, int me)
{
    tutti_team *world = tutti_world(client), *part;
    double one[3] = {0}, sum[3];
    must(tutti_team_split(world, me / 2, 0, &part), "split");
    if (me >= 2)
        must_fail(tutti_allreduce(part, one, sum, me, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_MISMATCH);
    if (me >= 1) stay_outside();
    if (me < 2) must(tutti_barrier(part), "barrier");
}

/* Rank 3 leaves the job. Ranks 0 and 1 wait for rank 2, which is outside the library. */
static void left(tutti_client *client, int me)
{
    tutti_team *world = tutti_world(client), *part;
    must(tutti_team_split(world, me < 3, 0, &part), "split");
    if (me == 3) return;
    if (me == 2) stay_outside();
    must(tutti_barrier(part), "barrier");
}

/* Rank 1 has started two requests and waits for neither. The other ranks have completed both and
 * wait in a third barrier. */
static void requests(tutti_client *client, int me)
{
    tutti_team *world = tutti_world(client);
    tutti_request *request[2];
    must(tutti_barrier(world), "barrier");
    if (me != 1)
        await_file("started"); /* the other ranks start later, so that rank 1's requests are not
                                * complete when it starts them */
    for (int i = 0; i < 2; i++) must(tutti_ibarrier(world, &request[i]), "ibarrier");
    if (me == 1) {
        fclose(fopen("started", "w"));
        stay_outside();
    }
    for (int i = 0; i < 2; i++) must(tutti_wait(request[i]), "wait");
    for (int i = 0; i < 2; i++) must(tutti_request_free(request[i]), "free");
    must(tutti_barrier(world), "barrier");
}

/* Rank 2 has started a request. The other ranks have completed it, and rank 2 has made `later`
 * calls since then, so that its own part has probably ended. The other ranks wait in a barrier. */
static void under_way(tutti_client *client, int me, int later)
{
    tutti_team *world = tutti_world(client);
    tutti_request *request;
    double one = 1, sum = 0;
    must(tutti_barrier(world), "barrier");
    must(tutti_iallreduce(world, &one, &sum, 1, TUTTI_F64, TUTTI_SUM, &request), "iallreduce");
    if (me != 2) must(tutti_wait(request), "wait");
    for (int i = 0; i < later; i++) add(world);
    if (me == 2) stay_outside();
    must(tutti_barrier(world), "barrier");
    must(tutti_wait(request), "wait");
    must(tutti_request_free(request), "free");
}

static void under_way_0(tutti_client *client, int me)
{
    under_way(client, me, 0);
}

static void under_way_1(tutti_client *client, int me)
{
    under_way(client, me, 1);
}

static void under_way_140(tutti_client *client, int me)
{
    under_way(client, me, 140);
}

/* Rank 2 has started two requests, with so many calls between them that the second request has the
 * slot of the first one, whether a team of this size has 32 or 128 slots. Rank 2 has completed the
 * first request only. */
static void under_way_again(tutti_client *client, int me)
{
    enum { BETWEEN = 127 };
    tutti_team *world = tutti_world(client);
    tutti_request *request[2];
    double one = 1, sum[2] = {0};
    must(tutti_barrier(world), "barrier");
    for (int i = 0; i < 2; i++) {
        must(tutti_iallreduce(world, &one, &sum[i], 1, TUTTI_F64, TUTTI_SUM, &request[i]),
             "iallreduce");
        for (int k = 0; k < BETWEEN && i == 0; k++) add(world);
    }
    must(tutti_wait(request[0]), "wait");
    if (me == 2) stay_outside();
    must(tutti_wait(request[1]), "wait");
    must(tutti_barrier(world), "barrier");
    for (int i = 0; i < 2; i++) must(tutti_request_free(request[i]), "free");
}

/* Rank 1 is late for two barriers, one after the other. */
static void twice(tutti_client *client, int me)
{
    for (int i = 0; i < 2; i++) {
        if (me == 1) usleep(1500000);
        must(tutti_barrier(tutti_world(client)), "barrier");
    }
}

/* Lets rank 1 stay outside the library during an agreement of the other ranks. The next three
 * functions do this for a shrink, the making of a team, and the freeing of a team. */
static void agree(tutti_client *client, int me)
{
    int64_t value = 1;
    if (me == 1) stay_outside();
    must(tutti_team_agree(tutti_world(client), &value, NULL), "agree");
}

static void shrink(tutti_client *client, int me)
{
    tutti_team *rest;
    if (me == 1) stay_outside();
    must(tutti_team_shrink(tutti_world(client), &rest), "shrink");
}

static void team_of(tutti_client *client, int me)
{
    const int all[] = {0, 1, 2, 3};
    tutti_team *part;
    if (me == 1) stay_outside();
    must(tutti_team_of(tutti_world(client), all, 4, 0, &part), "team_of");
}

static void free_team(tutti_client *client, int me)
{
    tutti_team *part;
    must(tutti_team_split(tutti_world(client), 0, 0, &part), "split");
    if (me == 1) stay_outside();
    must(tutti_team_free(part), "free");
}

/* Calls a broadcast in which the root waits for nobody. Before the root leaves, tutti_finalize
 * waits for the ranks that have not begun the call. */
static void finalize(tutti_client *client, int me)
{
    double value = 1;
    if (me != 0) stay_outside();
    must(tutti_bcast(tutti_world(client), &value, 1, TUTTI_F64, 0), "bcast");
}

/* Rank 1 makes a further client before it takes part in a barrier of the first one, and the other
 * ranks call the barrier first: rank 1 and the other ranks wait for each other for ever. */
static void further(tutti_client *client, int me)
{
    tutti_client *second;
    if (me == 1) must(tutti_init(&second), "init");
    must(tutti_barrier(tutti_world(client)), "barrier");
    if (me != 1) must(tutti_init(&second), "init");
    must(tutti_finalize(second), "finalize");
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

/* Makes short calls until the script creates the file "go": blocking barriers, or barriers that the
 * ranks start and wait for. */
static void make_short_calls(tutti_client *client, int me, bool as_requests)
{
    tutti_team *world = tutti_world(client);
    tutti_request *request;
    for (int32_t go = 0; go == 0;) {
        if (me == 0) go = access("go", F_OK) == 0;
        must(tutti_bcast(world, &go, 1, TUTTI_I32, 0), "bcast");
        for (int i = 0; i < 1000 && !as_requests; i++) must(tutti_barrier(world), "barrier");
        for (int i = 0; i < 1000 && as_requests; i++) {
            must(tutti_ibarrier(world, &request), "ibarrier");
            must(tutti_wait(request), "wait");
            must(tutti_request_free(request), "free");
        }
    }
}

static void brief(tutti_client *client, int me)
{
    make_short_calls(client, me, false);
}

static void brief_requests(tutti_client *client, int me)
{
    make_short_calls(client, me, true);
}

static void act(tutti_client *client, void *arg)
{
    static const struct {
        const char *name;
        void (*act)(tutti_client *client, int me);
    } all[] = {{"outside", outside},
               {"elsewhere", elsewhere},
               {"stopped", stopped},
               {"dead", dead},
               {"mismatch", mismatch},
               {"left", left},
               {"requests", requests},
               {"agree", agree},
               {"free", free_team},
               {"messages", messages},
               {"twice", twice},
               {"finalize", finalize},
               {"further", further},
               {"shrink", shrink},
               {"brief", brief},
               {"brief-requests", brief_requests},
               {"of", team_of},
               {"way-0", under_way_0},
               {"way-1", under_way_1},
               {"way-140", under_way_140},
               {"way-again", under_way_again}};
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
