/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks on several nodes run ahead of each other on several teams, as N threads (`apart threads N
 * N`, as for the program conform.c) or as launched processes. They make thousands of small calls
 * without a barrier in between, with data that flow in one direction or in any; they split teams,
 * and make and free parts while others are in use. The number of early messages that wait at a
 * receiver must stay bounded.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

#include "api/api.h"
#include "brief.h"
#include "run/remote-inside.h"

enum { MANY = 40 };

/* Returns the number of calls to make: also in a brief run many more than a team has slots. */
static int calls(void)
{
    return brief(1500, 300);
}

static void check(bool good, const tutti_team *team, const char *what)
{
    if (good) return;
    fprintf(stderr, "rank %d of %d: %s: %s\n", tutti_rank(team), tutti_size(team), what,
            tutti_error());
    abort();
}

static void must(tutti_status status, const tutti_team *team, const char *what)
{
    check(status == TUTTI_OK, team, what);
}

/* Checks the bound on early messages: a rank that is behind holds at most a_call messages for each
 * execution that may be under way on its team. */
static void look(const tutti_team *team, int a_call)
{
    const struct tt_team *t = &team->run;
    check(!t->remote || t->remote->early <= (int)t->slots * a_call, team, "too much waits");
}

static void dawdle(struct tt_random *own, int odds)
{
    for (int i = tt_random_below(own, (uint64_t)odds) == 0 ? 50 : 0; i > 0; i--) sched_yield();
}

/* ---- Data that flow in one direction ---- */

/* Makes calls in which data flow from the root only, so that the root waits only when all slots of
 * the team are in use. */
static void try_bcasts(tutti_team *team, struct tt_random *own)
{
    int me = tutti_rank(team), root = tutti_size(team) - 1;
    for (int64_t i = 0, n = calls(); i < n; i++) {
        int64_t word[3] = {me == root ? i : -1, me == root ? 2 * i : -1, 0};
        if (me != root) dawdle(own, 20);
        must(tutti_bcast(team, word, 2, TUTTI_I64, root), team, "bcast");
        check(word[0] == i && word[1] == 2 * i && word[2] == 0, team, "bcast gave something else");
        look(team, 8);
    }
}

static void try_reduces(tutti_team *team, struct tt_random *own)
{
    int me = tutti_rank(team), p = tutti_size(team);
    for (int64_t i = 0, n = calls(); i < n; i++) {
        int64_t in = i * (me + 1), out = 0;
        if (me == 0) dawdle(own, 20);
        must(tutti_reduce(team, &in, &out, 1, TUTTI_I64, TUTTI_SUM, 0), team, "reduce");
        check(me != 0 || out == i * p * (p + 1) / 2, team, "reduce gave something else");
        look(team, 8 * p);
    }
}

/* ---- Data that flow in any direction ---- */

static void try_one(tutti_team *team, int64_t i, uint64_t draw)
{
    int me = tutti_rank(team), p = tutti_size(team), root = (int)(draw / 8 % (uint64_t)p);
    int64_t in[64], out[64], n = p <= 64 ? 1 : 0;
    for (int r = 0; r < p; r++) in[r] = i + 1000 * me + r;
    switch (draw % 8) {
    case 0:
        out[0] = me == root ? i : 0;
        must(tutti_bcast(team, out, n, TUTTI_I64, root), team, "bcast");
        check(out[0] == i, team, "bcast gave something else");
        break;
    case 1:
        must(tutti_allreduce(team, in, out, n, TUTTI_I64, TUTTI_MAX), team, "allreduce");
        check(out[0] == i + 1000 * (p - 1), team, "allreduce gave something else");
        break;
    case 2:
        must(tutti_alltoall(team, in, out, n, TUTTI_I64), team, "alltoall");
        for (int r = 0; r < p; r++)
            check(out[r] == i + 1000 * r + me, team, "alltoall gave something else");
        break;
    case 3:
        must(tutti_gather(team, in, out, n, TUTTI_I64, root), team, "gather");
        for (int r = 0; me == root && r < p; r++)
            check(out[r] == i + 1000 * r, team, "gather gave something else");
        break;
    case 4:
        must(tutti_scatter(team, in, out, n, TUTTI_I64, root), team, "scatter");
        check(out[0] == i + 1000 * root + me, team, "scatter gave something else");
        break;
    case 5:
        must(tutti_scan(team, in, out, n, TUTTI_I64, TUTTI_MAX), team, "scan");
        check(out[0] == i + 1000 * me, team, "scan gave something else");
        break;
    case 6:
        must(tutti_exscan(team, in, out, n, TUTTI_I64, TUTTI_MAX), team, "exscan");
        check(me == 0 || out[0] == i + 1000 * (me - 1), team, "exscan gave something else");
        break;
    default: must(tutti_barrier(team), team, "barrier");
    }
}

static void try_any(tutti_team *team, struct tt_random *own, uint64_t seed)
{
    struct tt_random common;
    tt_random_seed(&common, seed);
    for (int64_t i = 0, n = calls(); i < n; i++) {
        dawdle(own, 50);
        try_one(team, i, tt_random_next(&common));
    }
}

/* ---- Several teams ---- */

static void try_parts(tutti_team *team, uint64_t seed)
{
    enum { PARTS = 3 };
    struct tt_random common;
    int me = tutti_rank(team), p = tutti_size(team);
    tt_random_seed(&common, seed);
    for (int turn = brief(60, 12); turn > 0; turn--) {
        tutti_team *part[PARTS];
        for (int k = 0; k < PARTS; k++) {
            uint64_t draw = tt_random_next(&common);
            int color = (int)(draw >> 3 >> me % 16) % 3 - (turn % 4 == 0);
            must(tutti_team_split(team, color, draw & 1 ? me : p - me, &part[k]), team, "split");
            check((part[k] != NULL) == (color >= 0), team, "split made, or did not make, a team");
        }
        for (int i = 0; i < MANY; i++) {
            uint64_t draw = tt_random_next(&common);
            tutti_team *on = part[draw % PARTS];
            if (on) try_one(on, i, draw >> 8);
        }
        for (int k = 0; k < PARTS; k++) must(tutti_team_free(part[k]), team, "free");
    }
}

/* Starts more requests than there are slots, on two teams, and completes them in an order that each
 * rank draws for itself. */
static void try_in_flight(tutti_team *team, struct tt_random *own)
{
    tutti_request *request[2 * MANY];
    int64_t in[2 * MANY], out[2 * MANY];
    int p = tutti_size(team), me = tutti_rank(team);
    tutti_team *other;
    must(tutti_team_split(team, 0, -me, &other), team, "split");
    for (int i = 0; i < 2 * MANY; i++) {
        in[i] = i * (me + 1);
        must(tutti_iallreduce(i % 3 ? team : other, &in[i], &out[i], 1, TUTTI_I64, TUTTI_SUM,
                              &request[i]),
             team, "start");
    }
    for (int left = 2 * MANY; left > 0;) {
        int i = (int)tt_random_below(own, 2 * MANY);
        if (!request[i]) continue;
        must(tutti_wait(request[i]), team, "wait");
        must(tutti_request_free(request[i]), team, "request_free");
        check(out[i] == (int64_t)i * p * (p + 1) / 2, team, "iallreduce gave something else");
        request[i] = NULL;
        left--;
    }
    must(tutti_team_free(other), team, "free");
}

static void try_all(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client);
    struct tt_random own;
    (void)arg;
    tt_random_seed(&own, (uint64_t)tutti_rank(world) + 1);
    try_bcasts(world, &own);
    try_reduces(world, &own);
    try_any(world, &own, 1);
    try_parts(world, 2);
    try_in_flight(world, &own);
    must(tutti_barrier(world), world, "barrier");
    if (tutti_rank(world) == 0) printf("%d ranks\n", tutti_size(world));
}

int main(int argc, char **argv)
{
    tutti_client *client;
    if (argc == 4 && strcmp(argv[1], "threads") == 0)
        return tutti_threads(atoi(argv[2]), try_all, NULL) != TUTTI_OK;
    if (tutti_init(&client) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error()), 1;
    try_all(client, NULL);
    return tutti_finalize(client) != TUTTI_OK;
}
