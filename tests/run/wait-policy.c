/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the wait policy: a rank that has waited so long that it sleeps starts to spin again once it
 * makes progress. In an allreduce of five rounds rank 0 sleeps until rank 1 comes, its partner of
 * the first round. The other ranks come later, and rank 0 must not sleep while it waits for them.
 * On a busy machine it may sleep all the same, so the test takes the minimum over twenty
 * allreduces. Also checks that ranks that share processors yield less if they wait for other nodes,
 * and that a rank that begins a call wakes those that may wait for this.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/api.h"
#include "text/plan-file.h"

enum { RANKS = 32, ROUNDS = 5, TURNS = 20, YIELDS = 30000, LATER_US = 1500 };

static atomic_int sleeps;  /* number of sleeps of rank 0 */
static atomic_int begun;   /* number of allreduces that rank 1 has begun, or is about to begin */
static int counted[TURNS]; /* number of sleeps of rank 0 in each allreduce */

/* Counts a sleep; the library calls this function before each sleep of rank 0. Rank 0 sleeps on a
 * descriptor that never becomes readable, at first for 20 us. The function returns after rank 1 has
 * begun its allreduce, so that rank 0 makes progress after its first sleep. */
static bool count_sleep(void *arg)
{
    const int *turn = arg;
    atomic_fetch_add(&sleeps, 1);
    while (atomic_load(&begun) <= *turn) usleep(50);
    usleep(LATER_US / 3);
    return true;
}

/* Waits until rank 0 has slept once in this turn, and until this rank may begin the allreduce. */
static void come_late(int me, int turn, int before)
{
    while (atomic_load(&sleeps) == before) usleep(200);
    if (me == 1) {
        atomic_fetch_add(&begun, 1);
        return;
    }
    while (atomic_load(&begun) <= turn) usleep(200);
    usleep(LATER_US);
}

static void must(bool good, const char *what)
{
    if (good) return;
    fprintf(stderr, "%s: %s\n", what, tutti_error());
    abort();
}

static void one_rank(tutti_client *client, void *arg)
{
    int turn;
    struct tt_wake_descriptor wake = {.descriptor = *(int *)arg, .arm = count_sleep, .arg = &turn};
    tutti_team *world = tutti_world(client);
    int32_t mine = 1, sum = 0;
    int me = tutti_rank(world);
    client->fabric.policy.exact = true;
    if (me == 0) client->fabric.policy.yields = YIELDS;
    for (turn = 0; turn < TURNS; turn++) {
        must(tutti_barrier(world) == TUTTI_OK, "barrier");
        int before = atomic_load(&sleeps);
        must(tutti_barrier(world) == TUTTI_OK, "barrier");
        /* The wake descriptor is set only for the allreduce, so only its sleeps are counted. */
        if (me == 0) client->fabric.policy.wake = &wake;
        if (me != 0) come_late(me, turn, before);
        must(tutti_allreduce(world, &mine, &sum, 1, TUTTI_I32, TUTTI_SUM) == TUTTI_OK, "allreduce");
        must(sum == RANKS, "the sum is wrong");
        client->fabric.policy.wake = NULL;
        if (me == 0) counted[turn] = atomic_load(&sleeps) - before;
    }
}

/* ---- Puts ---- */

/* A bcast in which rank 0 puts the bytes into the window of rank 1, once rank 1 has begun. */
static const char put[] = "tutti plan 1\nproblem bcast/f64/8/p2\n"
                          "plan bcast algorithm put rank 0 of 2 type f64\n"
                          "lane 0\n  put %0 WIN@1[0] <- OUT[0] len 8\n  wait %0\n  signal 1 1\n"
                          "plan bcast algorithm put rank 1 of 2 type f64\n"
                          "lane 0\n  await 0 1\n  copy OUT[0] <- WIN[0] len 8\n";

static struct tt_exec *put_exec(tutti_team *world, struct tt_plan *plan, double *value)
{
    static const struct tt_call_signature signature = {.coll = -1};
    struct tt_exec *exec = tt_exec_new(&world->run, plan, TT_SHORT_WINDOWS);
    must(exec != NULL, "exec");
    exec->signature = &signature;
    exec->shape = 1;
    exec->buffer[TT_OUT] = (char *)value;
    exec->bytes[TT_OUT] = sizeof *value;
    return exec;
}

/* Starts the bcast while rank 0 counts as asleep. Returns whether this wakes rank 0. */
static bool start_wakes(struct tt_exec *exec)
{
    struct tt_job_page *job = exec->team->fabric->job;
    struct tt_wake_word *word = job->rank[0].wake_word;
    uint32_t before = atomic_load(&word->wakes);
    atomic_fetch_add(&word->sleeping, 1);
    atomic_fetch_add(&job->sleepers, 1);
    tt_exec_start(exec);
    atomic_fetch_sub(&job->sleepers, 1);
    atomic_fetch_sub(&word->sleeping, 1);
    return atomic_load(&word->wakes) != before;
}

static void put_rank(tutti_client *client, void *arg)
{
    static const struct tt_call call = {
        .coll = TT_COLL_bcast, .type = TUTTI_F64, .n = 1, .sz = 8, .commutes = true};
    struct tt_plan_file file;
    struct tt_plan *plans[2];
    int me = tutti_rank(tutti_world(client));
    double value = me == 0 ? 4.5 : 0;
    (void)arg;
    must(tt_plan_file_text(&file, "put", put) == TUTTI_OK, "plan file");
    must(tt_plan_file_plans(&file, &call, 2, plans), "plans");
    struct tt_exec *exec = put_exec(tutti_world(client), plans[me], &value);
    if (me == 0)
        tt_exec_start(exec);
    else
        must(start_wakes(exec), "a rank that begins does not wake the rank that puts");
    must(tt_exec_wait(exec) == TUTTI_OK && value == 4.5, "bcast");
    tt_exec_free(exec);
    for (int r = 0; r < 2; r++) tt_plan_free(plans[r]);
    tt_plan_file_close(&file);
}

int main(void)
{
    int nothing = eventfd(0, EFD_CLOEXEC);
    must(tt_wait_policy_for(8, 2, true).yields < tt_wait_policy_for(8, 2, false).yields,
         "fewer yields on several nodes");
    must(nothing >= 0 && setenv("TUTTI_ALGORITHM", "allreduce=doubling", 1) == 0, "beginning");
    must(tutti_threads(RANKS, one_rank, &nothing) == TUTTI_OK, "threads");
    must(tutti_threads(2, put_rank, NULL) == TUTTI_OK, "threads");
    close(nothing);
    int fewest = counted[0];
    for (int turn = 1; turn < TURNS; turn++)
        if (counted[turn] < fewest) fewest = counted[turn];
    printf("%d sleeps or more in %d rounds\n", fewest, ROUNDS);
    return fewest == 1 ? 0 : 1;
}
