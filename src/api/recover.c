/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recovery from a failure: the members that are alive agree on the failed members, and make a team
 * without them.
 */
#include <stdio.h>
#include <string.h>

#include "api/api.h"

/* ---- The failed members ---- */

static tutti_status make_room(tutti_team *team)
{
    if (!team->gone)
        team->gone = tt_calloc((size_t)tt_accord_sets(team->run.map.p), sizeof *team->gone);
    return team->gone ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static bool is_gone(const tutti_team *team, int r)
{
    return team->gone && team->gone[r / 64] >> (r % 64) & 1;
}

static int count_gone(const tutti_team *team)
{
    int n = 0;
    for (int r = 0; r < team->run.map.p; r++) n += is_gone(team, r);
    return n;
}

tutti_status tutti_team_failed(const tutti_team *team, int *ranks, int n, int *count)
{
    TT_TRY_HANDLE(team);
    if (n < 0 || (n > 0 && !ranks))
        return tt_fail(TUTTI_ERR_ARG,
                       n < 0 ? "n is %d (allowed: 0 or more)" : "ranks is NULL, n is %d", n);
    int all = 0;
    for (int r = 0; r < team->run.map.p; r++) {
        if (!is_gone(team, r)) continue;
        if (all < n) ranks[all] = r;
        all++;
    }
    if (count) *count = all;
    return TUTTI_OK;
}

tutti_status tutti_team_revoke(tutti_team *team)
{
    TT_TRY_HANDLE(team);
    TT_LOCKED(team->client->lock, tutti_team_revoke(team));
    TT_TRY(tt_agree_revoke(team->client->agree, &team->run));
    team->run.reported = true;
    return TUTTI_OK;
}

/* ---- Agreement ---- */

/* Runs an agreement on `team`, and records in team->gone which members have failed according to the
 * agreement. */
static tutti_status agree(tutti_team *team, enum tt_agree_what what, uint64_t value,
                          const uint64_t *own, struct tt_accord **accord)
{
    char error[TT_ERROR_TEXT];
    tt_error_keep(error);
    if (make_room(team) != TUTTI_OK) {
        tutti_status status = tt_fail(TUTTI_ERR_MEMORY, "no memory for an agreement");
        tt_team_break(&team->run, status);
        return status;
    }
    TT_TRY(tt_agree(team->client->agree, &team->run, what, value, own, accord));
    const struct tt_accord *a = *accord;
    memcpy(team->gone, a->word + 2, (size_t)tt_accord_sets(a->p) * sizeof *team->gone);
    if (team->run.given_up && a->settled) team->run.deserted = true;
    tt_error_restore(error);
    return TUTTI_OK;
}

/* A rank whose `value` is NULL takes part with the value 0, so that the other ranks do not wait for
 * it for ever. The AND of all values is then 0, and does not say that all ranks succeeded. */
tutti_status tutti_team_agree(tutti_team *team, int64_t *value, int *failed)
{
    struct tt_accord *accord;
    TT_TRY_HANDLE(team);
    TT_LOCKED(team->client->lock, tutti_team_agree(team, value, failed));
    TT_TRY(agree(team, TT_AGREE_VALUE, value ? (uint64_t)*value : 0, NULL, &accord));
    if (value) *value = (int64_t)accord->word[0];
    if (failed) *failed = count_gone(team);
    tt_free(accord);
    return value ? TUTTI_OK
                 : tt_fail(TUTTI_ERR_ARG, "value is NULL: this rank took part with the value 0");
}

/* ---- Shrinking ---- */

/* Returns the first of the two words that member r has contributed to a shrink. It is the offset of
 * the member's block of the new team or, if it has no block, its error status. The two cannot be
 * mistaken: a block begins at a page, so its offset is larger than any status. The second word is
 * the least id that the new team may have for messages between nodes on this member. */
static uint64_t block_of(struct tt_accord *a, int r)
{
    return tt_accord_own(a)[TT_AGREE_OWN * r];
}

static bool is_block(uint64_t own)
{
    return own >= 4096;
}

static uint32_t greatest_id(const tutti_team *team, struct tt_accord *a)
{
    uint64_t id = 0;
    for (int r = 0; r < a->p; r++)
        if (!is_gone(team, r) && tt_accord_own(a)[TT_AGREE_OWN * r + 1] > id)
            id = tt_accord_own(a)[TT_AGREE_OWN * r + 1];
    return (uint32_t)id;
}

/* Stores the new team's members and their blocks, in the order of their old ranks, and this rank's
 * place among them in *me. Returns the number of members. */
static int survivors(const tutti_team *team, struct tt_accord *a, int *ranks, int64_t *blocks,
                     int *me)
{
    int n = 0;
    for (int r = 0; r < a->p; r++) {
        if (is_gone(team, r)) continue;
        if (r == a->me) *me = n;
        ranks[n] = team->run.job_rank[r];
        blocks[n++] = (int64_t)block_of(a, r);
    }
    return n;
}

static int first_survivor(const tutti_team *team)
{
    int r = 0;
    while (is_gone(team, r)) r++;
    return r;
}

static tutti_status assemble(tutti_team *team, struct tt_accord *a, tutti_team **part)
{
    int me = 0;
    int *ranks = tt_alloc((size_t)a->p * sizeof *ranks);
    int64_t *blocks = tt_alloc((size_t)a->p * sizeof *blocks);
    tutti_status status = TUTTI_ERR_MEMORY;
    if (ranks && blocks) {
        int n = survivors(team, a, ranks, blocks, &me);
        status = tt_team_new(team->client, n, me, ranks, blocks, part);
    } else {
        (void)tt_fail(status, "no memory for a team of %d ranks", a->p);
    }
    if (status == TUTTI_OK) {
        (*part)->run.id = tt_team_id(team->run.id, 2 * team->shrinks++ + 1, first_survivor(team));
        tt_remote_add(team->client->remote_teams, &(*part)->run, greatest_id(team, a));
        tt_team_list(&(*part)->run);
        tt_agree_know(team->client->agree, &(*part)->run);
    }
    tt_free(ranks);
    tt_free(blocks);
    return status;
}

/* Returns the error because of which no member gets a team, or OK. All members return the same
 * status. */
static tutti_status worst_of(const tutti_team *team, struct tt_accord *a)
{
    uint64_t worst = TUTTI_OK;
    for (int r = 0; r < a->p; r++) {
        uint64_t own = block_of(a, r);
        if (!is_gone(team, r) && !is_block(own) && own > worst) worst = own;
    }
    return (tutti_status)worst;
}

/* Makes the new team, unless a member has contributed an error. If this member cannot make the team
 * on which all agreed, it breaks the old team, and so counts as failed for the other members. */
static tutti_status make(tutti_team *team, struct tt_accord *a, tutti_status mine, const char *why,
                         tutti_team **part)
{
    tutti_status worst = worst_of(team, a);
    if (mine != TUTTI_OK) return tt_fail(mine, "%s", why);
    if (worst == TUTTI_ERR_ARG) return tt_fail(worst, "part is NULL on another rank");
    if (worst != TUTTI_OK) return tt_fail(worst, "another rank could not make its team");
    tutti_status status = assemble(team, a, part);
    if (status != TUTTI_OK) tt_team_break(&team->run, status);
    return status;
}

/* Returns the status with which this rank takes part in a shrink; OK if it has stored its block in
 * *block. A rank with a wrong argument takes part, too, because the other members wait for it. */
static tutti_status prepare(tutti_team *team, tutti_team **part, int64_t *block)
{
    if (!part) return tt_fail(TUTTI_ERR_ARG, "part is NULL");
    return tt_team_block_upto(&team->client->fabric, team->run.map.p, block);
}

/* Takes part in the shrink with this rank's block, or with the error `mine`. Frees the block only
 * if no member gets a new team: otherwise other members may access the block, even members that
 * consider this rank failed. */
static tutti_status shrink(tutti_team *team, tutti_status mine, int64_t block, tutti_team **part)
{
    struct tt_accord *accord;
    char why[192];
    snprintf(why, sizeof why, "%s", mine == TUTTI_OK ? "" : tutti_error());
    uint64_t own[TT_AGREE_OWN] = {mine == TUTTI_OK ? (uint64_t)block : (uint64_t)mine,
                                  tt_remote_next_id(team->client->remote_teams)};
    tutti_status status = agree(team, TT_AGREE_SHRINK, ~UINT64_C(0), own, &accord);
    bool useless = status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK) {
        useless = worst_of(team, accord) != TUTTI_OK;
        status = make(team, accord, mine, why, part);
        tt_free(accord);
    }
    if (useless && mine == TUTTI_OK) tt_arena_put(&team->client->fabric.arena, block);
    return status;
}

tutti_status tutti_team_shrink(tutti_team *team, tutti_team **part)
{
    int64_t block = 0;
    TT_TRY_HANDLE(team);
    TT_LOCKED(team->client->lock, tutti_team_shrink(team, part));
    tt_teams_leave(team->client);
    tutti_status mine = prepare(team, part, &block);
    return shrink(team, mine, block, part);
}
