/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts, gets and operands in the memory of members on other nodes. Those of a member of this node
 * go the same way if the system does not let this rank access its memory (served.c).
 */
#include "run/remote-inside.h"

/* ---- Puts and gets ---- */

/* The peer and the memory of an access that may need several pieces. */
struct remote_access {
    struct tt_exec *exec;
    struct tt_message *message; /* completes when all pieces have; NULL: `left` is used */
    int *left;                  /* counts the pieces to come; NULL: `message` is used */
    int peer;
    tutti_endpoint *to;
    const tutti_key *key; /* NULL: the peer is on this node */
    int64_t offset;       /* in the region of the key; without a key, an address in the peer */
    char *here;
    bool put;
};

static tutti_status move_piece(const struct remote_access *w, tutti_context *c,
                               struct tt_operation *x, int64_t there)
{
    if (!w->key && w->put)
        return tt_msg_put_at(c, w->to, x->at, (uint64_t)there, x->len, tt_remote_moved, x);
    if (!w->key) return tt_msg_get_at(c, w->to, x->at, (uint64_t)there, x->len, tt_remote_moved, x);
    return w->put ? tt_msg_put(c, w->to, x->at, w->key, there, x->len, tt_remote_moved, x)
                  : tt_msg_get(c, w->to, x->at, w->key, there, x->len, tt_remote_moved, x);
}

static tutti_status start_piece(const struct remote_access *w, int64_t there, int64_t here,
                                int64_t n)
{
    struct tt_remote_teams *remote_teams = w->exec->team->remote_teams;
    struct tt_operation *x = tt_operation_begin(w->exec, w->message, w->peer, w->here + here, n);
    if (!x) return TUTTI_ERR_MEMORY;
    x->takes = !w->put;
    x->opened = true;
    x->left = w->left;
    if (w->message) w->message->left++;
    if (w->left) ++*w->left;
    return tt_operation_started(x, move_piece(w, remote_teams->context, x, w->offset + there));
}

/* Fills in where a range lies, and checks the range against what its owner opened for this rank. */
static tutti_status find_memory(struct remote_access *w, const struct tt_range *remote, int64_t len)
{
    struct tt_exec *exec = w->exec;
    tt_address address;
    TT_TRY(tt_access_find(exec, remote, len, &address));
    w->peer = remote->rank;
    if (!tt_team_is_remote(exec->team, remote->rank)) {
        w->offset = (int64_t)address;
        return tt_msg_endpoint(exec->team->remote_teams->msg, exec->team->job_rank[remote->rank], 0,
                               &w->to);
    }
    const struct tt_mirror *m = exec->team->remote->mirror[remote->rank];
    const struct tt_remote_opening *o = m->opening[exec->slot];
    w->to = m->to;
    w->offset = (int64_t)(address - TT_REMOTE_ADDRESS);
    w->key = &o->key[__builtin_popcount(o->keyed & ((1u << remote->buf) - 1))];
    return TUTTI_OK;
}

/* Starts all pieces. If `local` is NULL, the local side is w->here without gaps. */
static tutti_status go(const struct remote_access *w, const struct tt_range *remote,
                       const struct tt_range *local, int64_t len)
{
    for (int64_t done = 0, n; done < len; done += n) {
        int64_t run = len - done, here = done;
        int64_t there = tt_access_run(w->exec, remote, done, len - done, &n);
        if (local) here = tt_access_run(w->exec, local, done, len - done, &run);
        n = tt_min(n, run);
        TT_TRY(start_piece(w, there, here, n));
    }
    return TUTTI_OK;
}

tutti_status tt_remote_access(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                              struct tt_message *message)
{
    (void)lane;
    bool put = s->kind == TT_PUT;
    const struct tt_range *remote = &s->range[put ? 0 : 1], *local = &s->range[put ? 1 : 0];
    struct remote_access w = {
        .exec = exec, .message = message, .here = tt_exec_own(exec, local), .put = put};
    *message = (struct tt_message){.left = 1};
    TT_TRY(find_memory(&w, remote, s->len));
    tutti_status status = go(&w, remote, local, s->len);
    message->complete = --message->left == 0;
    return status;
}

/* ---- Operands ---- */

struct tt_fetch {
    int left; /* pieces to come */
    char *memory;
    struct tt_range range[]; /* of the step; those that were fetched name the copies */
};

static bool is_remote(const struct tt_exec *exec, const struct tt_range *r, int64_t len)
{
    if (r->rank == TT_SELF) return false;
    return tt_team_is_remote(exec->team, r->rank) ||
           (exec->served && tt_access_is_forbidden(exec, r, len));
}

/* Starts to fetch the operands from byte `done` of the step on. The ranges of the step have no gaps
 * if `done` is not 0. */
static tutti_status start_fetch(struct tt_exec *exec, struct tt_fetch *fetch,
                                const struct tt_plain *s, int64_t done)
{
    int64_t at = 0, len = s->len - done;
    for (uint32_t i = 0; i < s->nops; i++) {
        struct tt_range range = s->range[i];
        bool remote = is_remote(exec, &range, s->len);
        range.off += done;
        fetch->range[i] = range;
        if (!remote) continue;
        struct remote_access w = {.exec = exec, .left = &fetch->left, .here = fetch->memory + at};
        fetch->range[i] = (struct tt_range){.off = at, .rank = TT_SELF, .buf = TT_FETCHED};
        TT_TRY(find_memory(&w, &range, len));
        TT_TRY(go(&w, &range, NULL, len));
        at += tt_round_up(len, TT_LINE);
    }
    return TUTTI_OK;
}

static struct tt_fetch *new_fetch(const struct tt_plain *s, int64_t remote)
{
    struct tt_fetch *fetch = tt_calloc(1, sizeof *fetch + s->nops * sizeof fetch->range[0]);
    if (fetch) fetch->memory = tt_alloc_lines((size_t)(remote * tt_round_up(s->len, TT_LINE)));
    if (fetch && fetch->memory) return fetch;
    tt_free(fetch);
    (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for %lld bytes of operands",
                  (long long)(remote * s->len));
    return NULL;
}

tutti_status tt_remote_fetch(struct tt_exec *exec, uint32_t lane, struct tt_plain *s)
{
    struct tt_fetch **fetch = &exec->lane[lane].fetch;
    int64_t remote = 0, done = exec->lane[lane].resume;
    for (uint32_t i = 0; i < s->nops && !*fetch; i++)
        remote += is_remote(exec, &s->range[i], s->len);
    if (remote == 0 && done == 0 && !*fetch) return TUTTI_OK;
    if (!*fetch) {
        if (!(*fetch = new_fetch(s, remote))) return TUTTI_ERR_MEMORY;
        TT_TRY(start_fetch(exec, *fetch, s, done));
    }
    if ((*fetch)->left > 0) return TUTTI_AGAIN;
    exec->buffer[TT_FETCHED] = (*fetch)->memory;
    s->range = (*fetch)->range;
    s->len -= done;
    return TUTTI_OK;
}

void tt_remote_fetched(struct tt_exec *exec, uint32_t lane)
{
    struct tt_fetch *fetch = exec->lane[lane].fetch;
    if (!fetch) return;
    exec->lane[lane].fetch = NULL;
    tt_free(fetch->memory);
    tt_free(fetch);
}

/* ---- Ending ---- */

void tt_remote_release(struct tt_exec *exec)
{
    for (uint32_t i = 0; i < exec->plan->lanes; i++) tt_remote_fetched(exec, i);
    for (int b = TT_IN; b <= TT_TMP; b++) {
        if (exec->remote->region[b]) (void)tt_msg_region_free(exec->remote->region[b]);
        exec->remote->region[b] = NULL;
    }
}
