/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes a team from a list of ranks (tutti_team_of), without the other ranks of the old team.
 *
 * The ranks of the list have no team yet on which they could call a collective. So each of these
 * ranks makes the new team with placeholders for the blocks, and meets the other ranks by an
 * agreement (recover/agree.h), which needs only their ranks in the job. The agreement gathers the
 * blocks, and shows if a member has failed. The id of the agreement is a hash of the old team's id,
 * the tag and the list. Agreements with the same id are numbered, alike on all members. From the id
 * and the number all members compute the same id for the new team.
 *
 * Messages between nodes carry a second, shorter id of the team, which no member may have used for
 * another team. Each member knows the next id that is free on itself, and contributes this id to
 * the first agreement. The greatest of these ids is free on all members, unless another thread of a
 * member takes it meanwhile for another team. So the members run another agreement on whether all
 * of them could take the id; if not, they propose a greater id.
 */
#include <stdio.h>

#include "api/api.h"

/* A call of tutti_team_of at one rank. */
struct team_list {
    tutti_team *team; /* the old team */
    const int *ranks;
    int n, me; /* this rank's place in the list */
    int tag;
};

/* ---- Arguments ---- */

/* Returns an error if a rank is in the list twice. Errors: ARG, MEMORY. */
static tutti_status check_twice(const struct team_list *l)
{
    tutti_status status = TUTTI_OK;
    unsigned char *seen = tt_calloc((size_t)l->team->run.map.p, 1);
    if (!seen) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a list of %d ranks", l->n);
    for (int i = 0; i < l->n && status == TUTTI_OK; i++)
        if (seen[l->ranks[i]]++)
            status = tt_fail(TUTTI_ERR_ARG, "ranks[%d] is %d, which is in the list already", i,
                             l->ranks[i]);
    tt_free(seen);
    return status;
}

static tutti_status check_list(struct team_list *l)
{
    int p = l->team->run.map.p;
    if (!l->ranks) return tt_fail(TUTTI_ERR_ARG, "ranks is NULL");
    if (l->n < 1 || l->n > p)
        return tt_fail(TUTTI_ERR_ARG, "n is %d, not in 1 .. %d, the size of the team", l->n, p);
    l->me = -1;
    for (int i = 0; i < l->n; i++) {
        if (l->ranks[i] < 0 || l->ranks[i] >= p)
            return tt_fail(TUTTI_ERR_ARG, "ranks[%d] is %d, not in 0 .. %d", i, l->ranks[i], p - 1);
        if (l->ranks[i] == l->team->run.me) l->me = i;
    }
    TT_TRY(check_twice(l));
    if (l->me < 0)
        return tt_fail(TUTTI_ERR_ARG, "this rank, %d, is not in the list", l->team->run.me);
    return TUTTI_OK;
}

/* ---- Meeting ---- */

/* Returns a key of the call, which is equal in all calls on the same team with the same tag,
 * whatever their lists are. */
static uint64_t key_of(const struct team_list *l)
{
    return tt_team_id(l->team->run.id, UINT64_C(1) << 40 | (uint32_t)l->tag, 0);
}

/* Returns the id of the agreement, which is also the id of the new team until the team is
 * complete. */
static uint64_t id_of(const struct team_list *l)
{
    uint64_t id = key_of(l);
    for (int i = 0; i < l->n; i++) id = tt_team_id(id, (uint64_t)i, l->ranks[i]);
    return id;
}

/* Returns the id of the team that the agreement with this id and number makes. It must differ from
 * the ids of all agreements, also from those of lists that begin like this one, because messages of
 * an agreement would be taken for messages of the team. So a bit is set that no index of id_of
 * has. */
static uint64_t complete_id(uint64_t id, uint32_t number)
{
    return tt_team_id(id, UINT64_C(1) << 41 | number, 0);
}

/* Makes the new team, with this rank's block of the old team as a placeholder for all blocks. */
static tutti_status make_alone(const struct team_list *l, tutti_team **part)
{
    int *ranks = tt_alloc((size_t)l->n * sizeof *ranks);
    int64_t *blocks = tt_alloc((size_t)l->n * sizeof *blocks);
    tutti_status status = TUTTI_ERR_MEMORY;
    for (int i = 0; ranks && blocks && i < l->n; i++) {
        ranks[i] = l->team->run.job_rank[l->ranks[i]];
        blocks[i] = l->team->run.offset;
    }
    if (ranks && blocks)
        status = tt_team_new(l->team->client, l->n, l->me, ranks, blocks, part);
    else
        (void)tt_fail(status, "no memory for a team of %d ranks", l->n);
    tt_free(ranks);
    tt_free(blocks);
    if (status == TUTTI_OK) (*part)->run.id = id_of(l);
    return status;
}

/* Returns word i that member r has contributed to the agreement. Word 0 is the offset of the
 * member's block or, if it has no block, its error status. The two cannot be mistaken: a block
 * begins at a page, so its offset is larger than any status. Word 1 is the member's next id for
 * messages between nodes. */
static uint64_t word_of(struct tt_accord *a, int r, int i)
{
    return tt_accord_own(a)[TT_AGREE_OWN * r + i];
}

static bool is_block(uint64_t word)
{
    return word >= 4096;
}

static tutti_status return_failed(tutti_team *part)
{
    tt_team_check(&part->run, false);
    if (part->run.broken != TUTTI_OK) return tt_team_error(&part->run);
    return tt_fail(TUTTI_ERR_PEER, "a rank of the list has failed");
}

/* Returns the error because of which no member gets a team, or OK. All members return the same
 * status. `why` is the text of this rank's own error. */
static tutti_status worst_of(tutti_team *part, struct tt_accord *a, const char *why)
{
    for (int r = 0; r < a->p; r++)
        if (tt_accord_has_gone(a->word, r)) return return_failed(part);
    for (int r = 0; r < a->p; r++) {
        uint64_t word = word_of(a, r, 0);
        if (is_block(word)) continue;
        if (r == a->me) return tt_fail((tutti_status)word, "%s", why);
        return tt_fail((tutti_status)word, "rank %d could not make its team",
                       part->run.job_rank[r]);
    }
    return TUTTI_OK;
}

static uint32_t greatest_id(struct tt_accord *a)
{
    uint64_t id = 0;
    for (int r = 0; r < a->p; r++) id = tt_max(id, word_of(a, r, 1));
    return (uint32_t)id;
}

/* Replaces the placeholders in the team by the blocks that the agreement has gathered. Errors:
 * MEMORY; this rank then counts as failed. */
static tutti_status place(tutti_team *part, struct tt_accord *a)
{
    int64_t *blocks = tt_alloc((size_t)a->p * sizeof *blocks);
    if (!blocks) {
        tutti_status status = tt_fail(TUTTI_ERR_MEMORY, "no memory for a team of %d ranks", a->p);
        tt_team_break(&part->run, status);
        return status;
    }
    for (int r = 0; r < a->p; r++) blocks[r] = (int64_t)word_of(a, r, 0);
    tt_team_place(&part->run, blocks);
    tt_free(blocks);
    return TUTTI_OK;
}

/* The data of one agreement, which gathers a word of each member, and finds the greatest of the ids
 * that the members contribute. */
struct team_round {
    /* in the first agreement: this rank's block, or its error status. In the agreements on an id:
     * the block, or block + 1 if this rank could not take the id */
    uint64_t word;
    uint32_t id;     /* this rank's next id; after the agreement, the greatest id of all members */
    uint32_t number; /* the number of this agreement among those with the same id */
    char why[256];   /* the text of this rank's error */
};

/* Runs an agreement. Returns OK if all members have contributed a block; *accord then belongs to
 * the caller. */
static tutti_status meet(const struct team_list *l, tutti_team *part, struct team_round *round,
                         struct tt_accord **accord)
{
    const uint64_t own[TT_AGREE_OWN] = {round->word, round->id};
    struct tt_accord *a;
    TT_TRY(tt_agree_meet(part->client->agree, &part->run, &l->team->run, key_of(l), own,
                         &round->number, &a));
    tutti_status status = worst_of(part, a, round->why);
    round->id = greatest_id(a);
    if (status == TUTTI_OK)
        *accord = a;
    else
        tt_free(a);
    return status;
}

/* Proposes ids until all members can take the proposed id. A member that could not take an id has a
 * greater next id, so each agreement proposes a greater id than the one before. */
static tutti_status choose_id(const struct team_list *l, tutti_team *part, struct team_round round)
{
    struct tt_remote_teams *remote_teams = part->client->remote_teams;
    const uint64_t block = round.word;
    uint32_t id;
    bool all = false;
    if (!part->run.remote) {
        tt_remote_add(remote_teams, &part->run, 0);
        return TUTTI_OK;
    }
    while (!all) {
        struct tt_accord *a;
        id = round.id;
        bool mine = tt_remote_claim(remote_teams, &part->run, id);
        round.word = mine ? block : block + 1;
        round.id = tt_remote_next_id(remote_teams);
        TT_TRY(meet(l, part, &round, &a));
        all = true;
        for (int r = 0; r < a->p; r++) all = all && word_of(a, r, 0) % 4096 == 0;
        tt_free(a);
    }
    return TUTTI_OK;
}

/* Meets the other members, and completes the team: its blocks, its id, and its id for messages. */
static tutti_status complete(const struct team_list *l, tutti_team *part, struct team_round *round)
{
    struct tt_accord *a;
    TT_TRY(meet(l, part, round, &a));
    uint32_t number = round->number;
    tutti_status status = place(part, a);
    tt_free(a);
    if (status == TUTTI_OK) status = choose_id(l, part, *round);
    if (status != TUTTI_OK) return status;
    part->run.id = complete_id(part->run.id, number);
    tt_team_list(&part->run);
    tt_agree_know(part->client->agree, &part->run);
    return TUTTI_OK;
}

static tutti_status make(const struct team_list *l, struct team_round *round, tutti_team **part)
{
    tutti_team *made;
    tutti_status status = make_alone(l, &made);
    if (status != TUTTI_OK) {
        tt_team_break(&l->team->run, status); /* so that no member waits for this rank */
        return status;
    }
    status = complete(l, made, round);
    if (status == TUTTI_OK)
        *part = made;
    else
        tt_team_delete(made, false);
    return status;
}

/* ---- The call ---- */

tutti_status tutti_team_of(tutti_team *team, const int *ranks, int n, int tag, tutti_team **part)
{
    TT_TRY_HANDLE(team);
    TT_LOCKED(team->client->lock, tutti_team_of(team, ranks, n, tag, part));
    struct team_list l = {.team = team, .ranks = ranks, .n = n, .tag = tag};
    struct tt_fabric *f = &team->client->fabric;
    int64_t block = 0;
    char text[512];
    tutti_status listed = check_list(&l);
    if (listed == TUTTI_ERR_MEMORY) tt_team_break(&team->run, listed);
    if (listed != TUTTI_OK) return listed;
    team->lists = true;
    tt_teams_leave(team->client);
    tutti_status mine = part ? tt_team_block(f, n, &block) : tt_fail(TUTTI_ERR_ARG, "part is NULL");
    struct team_round round = {.word = mine == TUTTI_OK ? (uint64_t)block : (uint64_t)mine,
                               .id = tt_remote_next_id(team->client->remote_teams)};
    if (mine != TUTTI_OK) snprintf(round.why, sizeof round.why, "%s", tutti_error());
    tutti_status status = make(&l, &round, part);
    if (status == TUTTI_OK) return status;
    snprintf(text, sizeof text, "%s", tutti_error()); /* tt_arena_put may set another error */
    /* after a revocation other members may have a team in which they access the block */
    bool is_known = team->run.revoked_by && round.number > 0;
    if (mine == TUTTI_OK && !is_known) tt_arena_put(&f->arena, block);
    return tt_fail(status, "%s", text);
}
