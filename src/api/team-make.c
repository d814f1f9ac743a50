/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes teams from a team: splits it by colour or by memory domain, or duplicates it.
 */
#include "api/team-make.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/domain.h"

/* ---- Wishes ---- */

void tt_wish_wrong(struct tt_wish *wish, tutti_status status)
{
    if (status == TUTTI_OK || wish->status != TUTTI_OK) return;
    wish->status = status;
    snprintf(wish->text, sizeof wish->text, "%s", tutti_error());
}

void tt_wish_refuse(struct tt_wish *wish, const char *format, ...)
{
    va_list args;
    if (wish->status != TUTTI_OK) return;
    wish->status = TUTTI_ERR_ARG;
    va_start(args, format);
    vsnprintf(wish->text, sizeof wish->text, format, args);
    va_end(args);
}

/* The wish of one rank, as the allgather sends it to all ranks. `id` is the least id for messages
 * between nodes that a new team of this rank may have (tt_remote_next_id). */
struct wisher {
    int64_t color, key, rank, id, status, terms;
};

/* ---- Wishes that cannot be fulfilled ---- */

/* Broadcasts the text of the wish of rank `rank`, and stores it in `text` on all ranks. */
static tutti_status text_of(tutti_team *team, enum tt_signature_other as,
                            const struct tt_wish *wish, int rank, char *text)
{
    struct tt_args args = {.call = {.coll = TT_COLL_bcast,
                                    .as = (int8_t)as,
                                    .commutes = true,
                                    .n = TT_WISH_TEXT / 8,
                                    .type = TUTTI_I64,
                                    .root = rank},
                           .out = text};
    memcpy(text, wish->text, TT_WISH_TEXT);
    TT_TRY(tt_collective_run(team, &args));
    text[TT_WISH_TEXT - 1] = '\0';
    return TUTTI_OK;
}

static tutti_status return_wrong(tutti_team *team, enum tt_signature_other as,
                                 const struct tt_wish *wish, const struct wisher *wrong)
{
    char text[TT_WISH_TEXT];
    TT_TRY(text_of(team, as, wish, (int)wrong->rank, text));
    return tt_fail((tutti_status)wrong->status, "rank %d: %s", team->run.job_rank[wrong->rank],
                   text);
}

static tutti_status return_different(tutti_team *team, enum tt_signature_other as,
                                     const struct tt_wish *wish, int rank)
{
    struct tt_call_signature call = {.coll = (int16_t)as};
    const char *name = tt_signature_name(&call);
    char first[TT_WISH_TEXT], other[TT_WISH_TEXT];
    TT_TRY(text_of(team, as, wish, 0, first));
    TT_TRY(text_of(team, as, wish, rank, other));
    return tt_fail(TUTTI_ERR_ARG,
                   "rank %d called %s(%s) where rank %d called %s(%s): these arguments have to be "
                   "the same on all ranks",
                   team->run.job_rank[rank], name, other, team->run.job_rank[0], name, first);
}

/* Checks the wishes of all ranks. All ranks return the same status, because all[] is equal on all
 * ranks. */
static tutti_status check_wishes(tutti_team *team, enum tt_signature_other as,
                                 const struct tt_wish *wish, const struct wisher *all)
{
    for (int r = 0; r < team->run.map.p; r++)
        if (all[r].status != TUTTI_OK) return return_wrong(team, as, wish, &all[r]);
    for (int r = 1; r < team->run.map.p; r++)
        if (all[r].terms != all[0].terms) return return_different(team, as, wish, r);
    return TUTTI_OK;
}

/* ---- Making the teams ---- */

static int by_key(const void *a, const void *b)
{
    const struct wisher *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

/* Moves the ranks that want the colour to the start of all[], in the order of their new ranks.
 * Returns their number. */
static int choose_members(struct wisher *all, int p, int64_t color)
{
    int n = 0;
    for (int r = 0; r < p; r++)
        if (all[r].color == color) all[n++] = all[r];
    qsort(all, (size_t)n, sizeof *all, by_key);
    return n;
}

/* Makes the team of all[0..n-1]; offsets[r] is the block of the member with rank r in the old team.
 * The team's id is computed from the number of calls on the old team, which is equal on all its
 * members. */
static tutti_status assemble(tutti_team *team, const struct wisher *all, int n,
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
    if (ranks && blocks)
        status = tt_team_new(team->client, n, me, ranks, blocks, part);
    else
        (void)tt_fail(status, "no memory for a team of %d ranks", n);
    if (status == TUTTI_OK) {
        (*part)->run.id = tt_team_id(team->run.id, 2 * team->run.next, (int)all[0].rank);
        tt_team_list(&(*part)->run);
        tt_agree_know(team->client->agree, &(*part)->run);
    }
    tt_free(ranks);
    tt_free(blocks);
    return status;
}

static int64_t greatest_id(const struct wisher *all, int p)
{
    int64_t id = 0;
    for (int r = 0; r < p; r++) id = tt_max(id, all[r].id);
    return id;
}

/* Returns whether `id` is an id that assemble() gives to a new team after `next` calls on `team`
 * (its run.next). */
static bool was_made(const tutti_team *team, uint64_t next, uint64_t id)
{
    for (int r = 0; r < team->run.map.p; r++)
        if (id == tt_team_id(team->run.id, 2 * next, r)) return true;
    return false;
}

/* Returns whether a member already uses its new team and has failed on it. A member gets its new
 * team only after every rank has made one. So if a member uses its new team, this rank may return
 * its own new team, too. If the failed member is in this rank's new team, this rank finds the
 * failure when it uses that team. */
static bool is_in_use(const tutti_team *team, uint64_t next)
{
    const struct tt_fabric *f = team->run.fabric;
    for (int r = 0; r < team->run.map.p; r++) {
        int rank = team->run.job_rank[r];
        if (tt_common_state(f->job, f->common, rank) != TT_RANK_FAILED) continue;
        if (was_made(team, next, tt_common_failure(f->job, f->common, rank).team)) return true;
    }
    return false;
}

/* Finds out whether every rank has made its team: sets *worst to the greatest status of all ranks.
 * A member that knows this result may use its new team at once. If it fails in the new team before
 * this rank knows the result, that breaks `team` on this rank. But then every rank has made its
 * team, so the function sets *worst to OK and returns OK. A later call on `team` returns the
 * error. */
static tutti_status meet_made(tutti_team *team, enum tt_signature_other as, tutti_status mine,
                              int64_t *worst)
{
    int64_t code = mine;
    bool reported = team->run.reported;
    uint64_t next = team->run.next;
    tutti_status status = tt_team_step(team, as, TT_COLL_allreduce, &code, worst, 1);
    if (status != TUTTI_ERR_PEER || !is_in_use(team, next)) return status;
    team->run.reported = reported;
    *worst = TUTTI_OK;
    return TUTTI_OK;
}

/* Makes the new teams: all ranks gather the blocks of all ranks, each rank makes its team, and all
 * ranks find out whether every rank succeeded. If not, each rank deletes its new team. */
static tutti_status make(tutti_team *team, enum tt_signature_other as, struct wisher *all,
                         int64_t *offsets, int64_t color, tutti_team **part)
{
    int p = team->run.map.p, n = 0;
    int64_t mine = 0, worst, id = greatest_id(all, p);
    tutti_status status = TUTTI_OK;
    if (color >= 0) {
        n = choose_members(all, p, color);
        status = tt_team_block(&team->client->fabric, n, &mine);
    }
    TT_TRY(tt_team_step(team, as, TT_COLL_allgather, &mine, offsets, 1));
    if (color >= 0 && status == TUTTI_OK) status = assemble(team, all, n, offsets, part);
    if (*part) tt_remote_add(team->client->remote_teams, &(*part)->run, (uint32_t)id);
    TT_TRY(meet_made(team, as, status, &worst));
    if (worst == TUTTI_OK) return TUTTI_OK;
    if (*part) {
        tt_team_unlist(&(*part)->run);
        tt_team_delete(*part, true);
    } else if (mine) {
        tt_arena_put(&team->client->fabric.arena, mine);
    }
    *part = NULL;
    return status != TUTTI_OK
               ? status
               : tt_fail((tutti_status)worst, "another rank could not make its team");
}

/* Gathers the wishes of all ranks in all[], and checks them. If `all` is NULL because the caller
 * found no memory, the function breaks the team. */
static tutti_status gather_wishes(tutti_team *team, enum tt_signature_other as,
                                  const struct tt_wish *wish, struct wisher *all)
{
    struct wisher mine = {wish->color,  wish->key,
                          team->run.me, tt_remote_next_id(team->client->remote_teams),
                          wish->status, (int64_t)wish->terms};
    if (!all) {
        tutti_status status = tt_fail(TUTTI_ERR_MEMORY, "no memory for what the ranks want");
        tt_team_break(&team->run, status);
        return status;
    }
    TT_TRY(tt_team_step(team, as, TT_COLL_allgather, &mine, all, sizeof mine / 8));
    return check_wishes(team, as, wish, all);
}

tutti_status tt_wish_meet(tutti_team *team, enum tt_signature_other as, const struct tt_wish *wish)
{
    struct wisher *all = tt_calloc((size_t)team->run.map.p, sizeof *all);
    tutti_status status = gather_wishes(team, as, wish, all);
    tt_free(all);
    return status;
}

tutti_status tt_team_make(tutti_team *team, enum tt_signature_other as, const struct tt_wish *wish,
                          tutti_team **part)
{
    size_t p = (size_t)team->run.map.p;
    int64_t *offsets = tt_calloc(p, sizeof *offsets);
    struct wisher *all = offsets ? tt_calloc(p, sizeof *all) : NULL;
    tutti_team *made = NULL;
    tt_teams_leave(team->client);
    tt_trace_call_begin(&team->run, as, team->run.next);
    tutti_status status = gather_wishes(team, as, wish, all);
    if (status == TUTTI_OK) status = make(team, as, all, offsets, wish->color, &made);
    tt_trace_call_end(&team->run, status);
    tt_free(all);
    tt_free(offsets);
    if (status == TUTTI_OK) *part = made;
    return status;
}

/* ---- The calls ---- */

tutti_status tutti_team_split(tutti_team *team, int color, int key, tutti_team **part)
{
    TT_TRY_HANDLE(team);
    TT_LOCKED(team->client->lock, tutti_team_split(team, color, key, part));
    struct tt_wish wish = {.color = color, .key = key};
    if (!part) tt_wish_refuse(&wish, "part is NULL");
    return tt_team_make(team, TT_SIGNATURE_SPLIT, &wish, part);
}

/* Copies the grid or the graph of the team; *cart or *graph is NULL if the team has none. */
static tutti_status copy_places(const tutti_team *team, struct tt_cart **cart,
                                struct tt_graph **graph)
{
    const struct tt_graph *g = team->graph;
    size_t n = g ? sizeof *g + (size_t)(g->sources + g->destinations) * sizeof *g->rank : 0;
    *cart = team->cart ? tt_alloc(sizeof **cart) : NULL;
    *graph = g ? tt_alloc(n) : NULL;
    if ((team->cart && !*cart) || (g && !*graph))
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for the neighbours of a team");
    if (*cart) **cart = *team->cart;
    if (*graph) memcpy(*graph, g, n);
    return TUTTI_OK;
}

tutti_status tutti_team_dup(tutti_team *team, tutti_team **part)
{
    TT_TRY_HANDLE(team);
    TT_LOCKED(team->client->lock, tutti_team_dup(team, part));
    struct tt_wish wish = {.color = 0};
    struct tt_cart *cart;
    struct tt_graph *graph;
    if (!part) tt_wish_refuse(&wish, "part is NULL");
    tt_wish_wrong(&wish, copy_places(team, &cart, &graph));
    tutti_status status = tt_team_make(team, TT_SIGNATURE_DUP, &wish, part);
    if (status == TUTTI_OK) {
        (*part)->cart = cart;
        (*part)->graph = graph;
        return TUTTI_OK;
    }
    tt_free(cart);
    tt_free(graph);
    return status;
}

/* ---- Memory domains ---- */

static const char *const domain_names[] = {
    [TUTTI_DOMAIN_NODE] = "TUTTI_DOMAIN_NODE",
    [TUTTI_DOMAIN_NUMA] = "TUTTI_DOMAIN_NUMA",
    [TUTTI_DOMAIN_L3] = "TUTTI_DOMAIN_L3",
};

/* Returns the colour of this rank's memory domain. The upper half is the node. The lower half
 * numbers the domains of a node from 1, and is 0 for ranks that may run in several domains. */
static int64_t color_of(const tutti_team *team, tutti_domain domain, struct tt_wish *wish)
{
    const struct tt_fabric *f = team->run.fabric;
    int64_t node = f->node ? f->node[f->me] : 0;
    int in = 0;
    if (domain != TUTTI_DOMAIN_NODE)
        tt_wish_wrong(wish, tt_domain_of_thread(
                                domain == TUTTI_DOMAIN_L3 ? TT_DOMAIN_L3 : TT_DOMAIN_NUMA, &in));
    _Static_assert(TT_DOMAIN_SEVERAL == -1, "the sum below has to be 0 then");
    return node << 32 | (in + 1);
}

tutti_status tutti_team_split_domain(tutti_team *team, tutti_domain domain, int key,
                                     tutti_team **part)
{
    TT_TRY_HANDLE(team);
    TT_LOCKED(team->client->lock, tutti_team_split_domain(team, domain, key, part));
    struct tt_wish wish = {.key = key, .terms = (uint64_t)domain};
    if (!part) tt_wish_refuse(&wish, "part is NULL");
    if ((unsigned)domain > TUTTI_DOMAIN_L3) {
        tt_wish_refuse(&wish, "domain is %d (known: TUTTI_DOMAIN_NODE, _NUMA, _L3)", (int)domain);
    } else {
        wish.color = color_of(team, domain, &wish);
        if (wish.status == TUTTI_OK)
            snprintf(wish.text, sizeof wish.text, "%s", domain_names[domain]);
    }
    return tt_team_make(team, TT_SIGNATURE_DOMAIN, &wish, part);
}
