/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams: the world, the structure of a team, and how a team is freed. team-make.c makes teams from
 * teams.
 */

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
    t->link = &client->teams;
    t->next = client->teams;
    if (t->next) t->next->link = &t->next;
    *team = client->teams = t;
    return TUTTI_OK;
}

/* Frees the plans of the team, and stores the results of its trials. */
static void forget_plans(tutti_team *team)
{
    tt_trials_release(&team->cache, &team->run);
    tt_cache_release(&team->cache);
}

void tt_team_delete(tutti_team *team, bool shared)
{
    *team->link = team->next;
    if (team->next) team->next->link = team->link;
    tt_team_leave_ring(&team->run);
    if (team->client->agree) tt_agree_forget(team->client->agree, team->run.id, team->lists);
    while (team->requests) tt_request_delete(team->requests);
    forget_plans(team);
    tt_free(team->gone);
    tt_free(team->cart);
    tt_free(team->graph);
    tt_team_release(&team->run, shared);
    tt_handle_free(&teams, team);
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

static void leave_freed(struct tt_team *t, void *arg)
{
    (void)arg;
    if (t->state != TT_TEAM_USED) leave(tt_container_of(t, tutti_team, run));
}

void tt_teams_leave(tutti_client *client)
{
    tt_team_each_busy(&client->world->run, leave_freed, NULL);
}

/* A program may free many teams, and then make no call for a long time in which this rank could
 * leave them. So each time when this many more teams are waiting, the rank tries to leave all of
 * them. */
enum { MANY_FREED = 64 };

/* Frees a team: ends its handle, but keeps the team in the client's list until this rank has left
 * it. */
tutti_status tutti_team_free(tutti_team *team)
{
    if (!team) return TUTTI_OK;
    TT_TRY_HANDLE(team);
    TT_LOCKED(team->client->lock, tutti_team_free(team));
    tutti_client *client = team->client;
    tt_assert(tt_msg_outside(client->msg, "tutti_team_free"));
    if (team == client->world)
        return tt_fail(TUTTI_ERR_ARG, "the world team belongs to the client");
    if (team->requests) return tt_fail(TUTTI_ERR_ARG, "the team has requests that are not freed");
    tt_team_check(&team->run, false);
    char text[TT_ERROR_TEXT]; /* the calls below may set another error */
    tutti_status status = team->run.broken;
    if (status != TUTTI_OK) (void)tt_team_error(&team->run);
    tt_error_keep(text);
    forget_plans(team);
    if (status == TUTTI_OK) tt_trace_call_begin(&team->run, TT_SIGNATURE_FREE, team->run.next);
    tt_team_begin_leaving(&team->run);
    if (status == TUTTI_OK) tt_trace_call_end(&team->run, TUTTI_OK);
    tt_handle_end(team);
    client->freed++;
    leave(team);
    if (client->freed > 0 && client->freed % MANY_FREED == 0) tt_teams_leave(client);
    tt_error_restore(text);
    return status;
}
