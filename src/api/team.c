/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams: the world, splitting a team, and freeing it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "run/settle.h"

static struct tt_handles teams = TT_HANDLES(tutti_team, 8);

tutti_team *tutti_world(tutti_client *client)
{
    return tt_handle_lives(client) ? client->world : NULL;
}

int tutti_rank(const tutti_team *team)
{
    return tt_handle_lives(team) ? team->run.me : -1;
}

int tutti_size(const tutti_team *team)
{
    return tt_handle_lives(team) ? team->run.map.p : 0;
}

tutti_status tt_team_new(tutti_client *client, int p, int me, const int *job_rank,
                         const int64_t *blocks, tutti_team **team)
{
    tutti_team *t = tt_handle_new(&teams);
    if (!t) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a team");
    tutti_status status = tt_team_init(&t->run, &client->fabric, p, me, job_rank, blocks);
    if (status != TUTTI_OK) {
        tt_handle_free(&teams, t);
        return status;
    }
    t->client = client;
    t->run.context = client->msg ? tt_msg_context(client->msg, 0) : NULL;
    if (client->teams) tt_team_enter_ring(&t->run, &client->teams->run);
    t->next = client->teams;
    *team = client->teams = t;
    return TUTTI_OK;
}

void tt_team_delete(tutti_team *team, bool shared)
{
    tutti_team **link = &team->client->teams;
    while (*link != team) link = &(*link)->next;
    *link = team->next;
    tt_team_leave_ring(&team->run);
    while (team->requests) tt_request_delete(team->requests);
    tt_cache_release(&team->cache);
    tt_free(team->gone);
    tt_team_release(&team->run, shared);
    tt_handle_free(&teams, team);
}

/* ---- Splitting ---- */

struct member {
    int64_t color, key, rank, id; /* id: the least that a new team of this rank may have */
};

static int by_key(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

/* Keeps the members of one colour, in the order of their new ranks; returns how many there are. */
static int choose_members(struct member *all, int p, int64_t color)
{
    int n = 0;
    for (int r = 0; r < p; r++)
        if (all[r].color == color) all[n++] = all[r];
    qsort(all, (size_t)n, sizeof *all, by_key);
    return n;
}

/* Makes the team of all[0..n-1]; `offsets` has their blocks by old rank. The team's id is computed
 * from the number of calls on the old team, which is equal on all its members. */
static tutti_status assemble(tutti_team *team, const struct member *all, int n,
                             const int64_t *offsets, tutti_team **part)
{
    int me = -1;
    int *ranks = tt_alloc((size_t)n * sizeof *ranks);
    int64_t *blocks = tt_alloc((size_t)n * sizeof *blocks);
    tutti_status status = TUTTI_ERR_MEMORY;
    for (int i = 0; ranks && blocks && i < n; i++) {
        ranks[i] = team->run.job_rank[all[i].rank];
        blocks[i] = offsets[all[i].rank];
        if (all[i].rank == team->run.me) me = i;
    }
    if (ranks && blocks) status = tt_team_new(team->client, n, me, ranks, blocks, part);
    if (status == TUTTI_OK) {
        (*part)->run.id = tt_team_id(team->run.id, 2 * team->run.next, (int)all[0].rank);
        tt_team_list(&(*part)->run);
        tt_agree_know(team->client->agree, &(*part)->run);
    }
    tt_free(ranks);
    tt_free(blocks);
    return status;
}

static int64_t greatest_id(const struct member *all, int p)
{
    int64_t id = 0;
    for (int r = 0; r < p; r++) id = tt_max(id, all[r].id);
    return id;
}

/* Runs one of the collectives that a split consists of; all use 8-byte integers. */
static tutti_status split_step(tutti_team *team, enum tt_coll coll, tutti_op op, const void *in,
                               void *out, int64_t n)
{
    struct tt_args args = {.call = {.coll = coll,
                                    .as = TT_SIGNATURE_SPLIT,
                                    .commutes = true,
                                    .n = n,
                                    .type = TUTTI_I64,
                                    .op = op},
                           .in = in,
                           .out = out};
    return tt_collective_run(team, &args);
}

/* First all ranks get the blocks of all members, then each makes its team, and then all find out
 * whether every rank succeeded. */
static tutti_status split(tutti_team *team, struct member *all, int64_t *offsets, int color,
                          tutti_team **part)
{
    int p = team->run.map.p, n = 0;
    int64_t mine = 0, worst, id = greatest_id(all, p);
    tutti_status status = TUTTI_OK;
    if (color >= 0) {
        n = choose_members(all, p, color);
        status = tt_team_block(&team->client->fabric, n, &mine);
    }
    TT_TRY(split_step(team, TT_COLL_allgather, TUTTI_SUM, &mine, offsets, 1));
    if (color >= 0 && status == TUTTI_OK) status = assemble(team, all, n, offsets, part);
    if (*part) tt_remote_add(team->client->remote_teams, &(*part)->run, (uint32_t)id);
    int64_t code = status;
    TT_TRY(split_step(team, TT_COLL_allreduce, TUTTI_MAX, &code, &worst, 1));
    if (worst == TUTTI_OK) return TUTTI_OK;
    if (*part) {
        tt_team_unlist(&(*part)->run);
        tt_team_delete(*part, true);
    } else if (mine) {
        tt_arena_free(&team->client->fabric.arena, mine);
    }
    *part = NULL;
    return status != TUTTI_OK
               ? status
               : tt_fail((tutti_status)worst, "another rank could not make its team");
}

tutti_status tutti_team_split(tutti_team *team, int color, int key, tutti_team **part)
{
    TT_TRY_HANDLE(team);
    if (!part) return tt_fail(TUTTI_ERR_ARG, "part is NULL");
    size_t p = (size_t)team->run.map.p;
    struct member mine = {color, key, team->run.me, tt_remote_next_id(team->client->remote_teams)},
                  *all = tt_calloc(p, sizeof *all);
    int64_t *offsets = tt_calloc(p, sizeof *offsets);
    tutti_team *made = NULL;
    tutti_status status = TUTTI_ERR_MEMORY;
    tt_teams_leave(team->client);
    if (all && offsets)
        status = split_step(team, TT_COLL_allgather, TUTTI_SUM, &mine, all, 4);
    else
        tt_team_break(&team->run, tt_fail(status, "no memory to split a team"));
    if (status == TUTTI_OK) status = split(team, all, offsets, color, &made);
    tt_free(all);
    tt_free(offsets);
    if (status == TUTTI_OK) *part = made;
    return status;
}

/* ---- Freeing ---- */

static void leave(tutti_team *team)
{
    bool shared;
    if (!tt_team_try_leave(&team->run, &shared)) return;
    team->client->freed--;
    tt_team_unlist(&team->run);
    tt_team_delete(team, shared);
}

void tt_teams_leave(tutti_client *client)
{
    if (client->freed == 0) return;
    for (tutti_team *t = client->teams, *next; t; t = next) {
        next = t->next;
        if (t->run.state != TT_TEAM_USED) leave(t);
    }
}

/* The team stays in the client's list until this rank has left it, but its handle ends now. */
tutti_status tutti_team_free(tutti_team *team)
{
    if (!team) return TUTTI_OK;
    TT_TRY_HANDLE(team);
    tutti_client *client = team->client;
    tt_msg_outside(client->msg, "tutti_team_free");
    if (team == client->world)
        return tt_fail(TUTTI_ERR_ARG, "the world team belongs to the client");
    if (team->requests) return tt_fail(TUTTI_ERR_ARG, "the team has requests that are not freed");
    tt_team_check(&team->run, false);
    char text[512]; /* what leaving does may set another error */
    tutti_status status = team->run.broken;
    if (status != TUTTI_OK) (void)tt_team_error(&team->run);
    snprintf(text, sizeof text, "%s", tutti_error());
    tt_cache_release(&team->cache);
    tt_team_begin_leaving(&team->run);
    tt_handle_end(team);
    client->freed++;
    leave(team);
    return status == TUTTI_OK ? status : tt_fail(status, "%s", text);
}
