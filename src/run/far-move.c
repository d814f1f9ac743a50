/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data to and from members on other nodes: messages, puts and gets, and operands that lie there.
 * Puts, gets and operands likewise where a member of this node is asked, since the system forbids
 * to reach into its memory (served.c).
 */
#include <string.h>

#include "run/remote.h"

/* ---- Completion ---- */

static void failed(struct tt_transfer *x, tutti_status status)
{
    struct tt_team *t = x->exec->team;
    int who = t->job_rank[x->peer];
    if (t->broken != TUTTI_OK) return;
    if (status != TUTTI_ERR_PEER)
        tt_team_break(t, tt_fail(status, "%lld bytes to or from rank %d could not be moved",
                                 (long long)x->len, who));
    else if ((tt_team_is_far(t, x->peer) && tt_far_has_left(t, x->peer)) ||
             tt_common_state(t->fabric->job, t->fabric->common, who) == TT_RANK_LEFT)
        tt_common_miss(t->fabric->job, t->fabric->common, who);
    else
        tt_far_lost(t, x->peer);
}

static void count_piece(struct tt_message *m)
{
    if (--m->left == 0) m->complete = true;
}

/* A buffer is closed before all is moved when its owner has failed, or left, with this execution.
 * Why comes apart, as to one that waits for a signal; until then the step is not complete. */
static bool is_closed(struct tt_transfer *x, tutti_status status)
{
    x->closed = x->exec && x->opened && status == TUTTI_ERR_ARG;
    return x->closed;
}

void tt_far_moved(tutti_context *context, void *arg, tutti_status status)
{
    struct tt_transfer *x = arg;
    (void)context;
    if (is_closed(x, status)) return;
    if (x->counts) x->far->under_way--;
    if (x->exec && status != TUTTI_OK)
        failed(x, status);
    else if (x->exec && x->message)
        count_piece(x->message);
    if (x->exec && x->left && status == TUTTI_OK) --*x->left;
    tt_transfer_free(x);
}

/* Handles the status of the attempt to start the transfer. It keeps the text of the error, but not
 * PEER: other code reports ranks that are gone. */
tutti_status tt_transfer_started(struct tt_transfer *x, tutti_status status)
{
    if (tt_likely(status == TUTTI_OK)) return TUTTI_OK;
    if (is_closed(x, status)) return TUTTI_OK;
    if (status != TUTTI_ERR_PEER) tt_transfer_unlist(x);
    tt_far_moved(x->far->context, x, status);
    return status == TUTTI_ERR_PEER ? TUTTI_OK : status;
}

/* ---- Recvs ---- */

static void unlink_posted(struct tt_mirror *m, struct tt_transfer **link)
{
    struct tt_transfer *x = *link;
    *link = x->next;
    if (!x->next) m->posted_end = link;
}

struct tt_transfer *tt_far_match(struct tt_mirror *m, const struct tt_far_head *head)
{
    struct tt_transfer **link = &m->posted, *x;
    for (; (x = *link) != NULL; link = &x->next)
        if (x->exec->number == head->number && x->lane == head->lane) {
            unlink_posted(m, link);
            return x;
        }
    return NULL;
}

bool tt_far_fits(struct tt_team *t, struct tt_transfer *x, int64_t bytes)
{
    if (tt_likely(bytes == x->len)) {
        x->posted = false;
        return true;
    }
    if (t->broken != TUTTI_OK) return false;
    tutti_status status = tt_step_compare(x->exec, x->peer);
    if (status == TUTTI_OK)
        status = tt_step_uneven(t, x->exec->number, x->peer, t->me, bytes, x->len);
    tt_team_break(t, status);
    return false;
}

/* Data for which there is no recv in the execution, and will be none: it has ended here. */
static void unexpected(struct tt_team *t, const struct tt_mirror *m, const struct tt_arrival *a)
{
    uint64_t number = a->packet.head.number;
    if (t->broken != TUTTI_OK || a->bytes == 0 || !tt_far_is_last(t, number)) return;
    tt_team_break(t, tt_step_uneven(t, number, m->rank, t->me, a->bytes, 0));
}

void tt_far_leftover(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    for (struct tt_mirror *m = t->remote->mirrors; m; m = m->next)
        for (const struct tt_arrival *a = m->arrived.first; a; a = a->next)
            if (a->packet.head.number == exec->number) {
                unexpected(t, m, a);
                return; /* what has come is dropped with the team */
            }
}

/* Receives a message that was put off, at its destination. */
static void receive(struct tt_transfer *x, struct tt_arrival *a)
{
    struct tt_team *t = x->exec->team;
    tutti_receive to = {
        .to = x->at, .count = x->len, .type = TUTTI_U8, .done = tt_far_moved, .arg = x};
    if (!tt_far_fits(t, x, a->bytes)) return;
    tutti_pending *pending = a->pending;
    a->pending = NULL;
    tutti_status status = tt_msg_receive(t->far->context, pending, &to);
    if (status != TUTTI_OK) tt_far_moved(t->far->context, x, status);
}

bool tt_far_data(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a)
{
    const struct tt_far_head *head = &a->packet.head;
    struct tt_transfer *x = tt_far_match(m, head);
    const struct tt_exec *exec = t->running[head->number & (t->slots - 1)];
    if (x)
        receive(x, a);
    else if (exec && exec->number == head->number)
        tt_arrivals_append(&m->arrived, a);
    else {
        unexpected(t, m, a);
        return false;
    }
    return x == NULL;
}

/* The first message that has come for this recv; NULL: none yet. */
static struct tt_arrival *take_arrived(struct tt_mirror *m, const struct tt_transfer *x)
{
    struct tt_arrival **link = &m->arrived.first, *a;
    for (; (a = *link) != NULL; link = &a->next)
        if (a->packet.head.number == x->exec->number && a->packet.head.lane == x->lane) {
            *link = a->next;
            if (!a->next) m->arrived.end = link;
            return a;
        }
    return NULL;
}

struct tt_transfer *tt_transfer_begin(struct tt_exec *exec, struct tt_message *m, int peer,
                                      char *at, int64_t len)
{
    struct tt_transfer *x = tt_transfer_new(exec->team->far);
    if (!x) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory to move bytes between nodes");
        return NULL;
    }
    x->message = m;
    x->peer = peer;
    x->at = at;
    x->len = len;
    tt_transfer_list(x, exec);
    return x;
}

static tutti_status start_recv(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                               struct tt_message *message)
{
    struct tt_mirror *m = tt_mirror_of(exec->team, s->peer);
    if (!m) return tt_fail(TUTTI_ERR_MEMORY, "no memory to receive from rank %d", s->peer);
    struct tt_transfer *x =
        tt_transfer_begin(exec, message, s->peer, tt_exec_own(exec, s->range), s->len);
    if (!x) return TUTTI_ERR_MEMORY;
    x->takes = x->posted = true;
    x->lane = lane;
    *message = (struct tt_message){.left = 1};
    struct tt_arrival *a = take_arrived(m, x);
    if (a) {
        receive(x, a);
        tt_arrival_free(exec->team->far, a);
        return TUTTI_OK;
    }
    *m->posted_end = x;
    m->posted_end = &x->next;
    return TUTTI_OK;
}

/* ---- Sends ---- */

static tutti_status start_send(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                               struct tt_message *message)
{
    struct tt_mirror *m;
    struct tt_far_packet packet;
    struct tt_team *t = exec->team;
    TT_TRY(tt_far_may_send(exec, s->peer, &m));
    struct tt_transfer *x =
        tt_transfer_begin(exec, message, s->peer, tt_exec_own(exec, s->range), s->len);
    if (!x) return TUTTI_ERR_MEMORY;
    *message = (struct tt_message){.left = 1};
    tutti_send send = {.to = m->to,
                       .dispatch = TT_DISPATCH_DATA,
                       .header = &packet,
                       .header_bytes = tt_far_head(exec, m, &packet),
                       .data = x->at,
                       .count = s->len,
                       .type = TUTTI_U8,
                       .sent = tt_far_moved,
                       .arg = x};
    packet.head.lane = (uint8_t)lane;
    x->counts = true;
    t->far->under_way++;
    return tt_transfer_started(x, tt_msg_send(t->far->context, &send));
}

/* ---- Puts and gets ---- */

/* The way to one that may have to be gone in pieces. */
struct way {
    struct tt_exec *exec;
    struct tt_message *message; /* or ... */
    int *left;                  /* ... what counts its pieces */
    int peer;
    tutti_endpoint *to;
    const tutti_key *key; /* NULL: of this node ... */
    int64_t offset;       /* in the region; ... an address there */
    char *here;
    bool put;
};

static tutti_status move_piece(const struct way *w, tutti_context *c, struct tt_transfer *x,
                               int64_t there)
{
    if (!w->key && w->put)
        return tt_msg_put_at(c, w->to, x->at, (uint64_t)there, x->len, tt_far_moved, x);
    if (!w->key) return tt_msg_get_at(c, w->to, x->at, (uint64_t)there, x->len, tt_far_moved, x);
    return w->put ? tt_msg_put(c, w->to, x->at, w->key, there, x->len, tt_far_moved, x)
                  : tt_msg_get(c, w->to, x->at, w->key, there, x->len, tt_far_moved, x);
}

static tutti_status start_piece(const struct way *w, int64_t there, int64_t here, int64_t n)
{
    struct tt_far *far = w->exec->team->far;
    struct tt_transfer *x = tt_transfer_begin(w->exec, w->message, w->peer, w->here + here, n);
    if (!x) return TUTTI_ERR_MEMORY;
    x->takes = !w->put;
    x->opened = true;
    x->left = w->left;
    if (w->message) w->message->left++;
    if (w->left) ++*w->left;
    return tt_transfer_started(x, move_piece(w, far->context, x, w->offset + there));
}

/* The range is checked against what its owner opened for me. */
static tutti_status find_way(struct way *w, const struct tt_range *far, int64_t len)
{
    struct tt_exec *exec = w->exec;
    tt_address address;
    TT_TRY(tt_access_far(exec, far, len, &address));
    w->peer = far->rank;
    if (!tt_team_is_far(exec->team, far->rank)) {
        w->offset = (int64_t)address;
        return tt_msg_endpoint(exec->team->far->msg, exec->team->job_rank[far->rank], 0, &w->to);
    }
    const struct tt_mirror *m = exec->team->remote->mirror[far->rank];
    const struct tt_far_opening *o = m->opening[exec->slot];
    w->to = m->to;
    w->offset = (int64_t)(address - TT_FAR_ADDRESS);
    w->key = &o->key[__builtin_popcount(o->keyed & ((1u << far->buf) - 1))];
    return TUTTI_OK;
}

/* `near` NULL: the bytes go to w->here without gaps. */
static tutti_status go(const struct way *w, const struct tt_range *far, const struct tt_range *near,
                       int64_t len)
{
    for (int64_t done = 0, n; done < len; done += n) {
        int64_t run = len - done, here = done;
        int64_t there = tt_access_run(w->exec, far, done, len - done, &n);
        if (near) here = tt_access_run(w->exec, near, done, len - done, &run);
        n = tt_min(n, run);
        TT_TRY(start_piece(w, there, here, n));
    }
    return TUTTI_OK;
}

static tutti_status start_transfer(struct tt_exec *exec, const struct tt_plain *s,
                                   struct tt_message *message)
{
    bool put = s->kind == TT_PUT;
    const struct tt_range *far = &s->range[put ? 0 : 1], *near = &s->range[put ? 1 : 0];
    struct way w = {.exec = exec, .message = message, .here = tt_exec_own(exec, near), .put = put};
    *message = (struct tt_message){.left = 1};
    TT_TRY(find_way(&w, far, s->len));
    tutti_status status = go(&w, far, near, s->len);
    count_piece(message);
    return status;
}

tutti_status tt_far_start(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                          struct tt_message *m)
{
    switch (s->kind) {
    case TT_SEND: return start_send(exec, lane, s, m);
    case TT_RECV: return start_recv(exec, lane, s, m);
    default: return start_transfer(exec, s, m);
    }
}

/* ---- Operands ---- */

struct tt_fetch {
    int left; /* pieces */
    char *memory;
    struct tt_range range[]; /* of the step, as they are here */
};

static bool is_far(const struct tt_exec *exec, const struct tt_range *r, int64_t len)
{
    if (r->rank == TT_SELF) return false;
    return tt_team_is_far(exec->team, r->rank) ||
           (exec->served && tt_access_is_forbidden(exec, r, len));
}

/* From byte `done` of the step on; then its ranges have no gaps. */
static tutti_status start_fetch(struct tt_exec *exec, struct tt_fetch *fetch,
                                const struct tt_plain *s, int64_t done)
{
    int64_t at = 0, len = s->len - done;
    for (uint32_t i = 0; i < s->nops; i++) {
        struct tt_range range = s->range[i];
        bool far = is_far(exec, &range, s->len);
        range.off += done;
        fetch->range[i] = range;
        if (!far) continue;
        struct way w = {.exec = exec, .left = &fetch->left, .here = fetch->memory + at};
        fetch->range[i] = (struct tt_range){.off = at, .rank = TT_SELF, .buf = TT_FETCHED};
        TT_TRY(find_way(&w, &range, len));
        TT_TRY(go(&w, &range, NULL, len));
        at += tt_round_up(len, TT_LINE);
    }
    return TUTTI_OK;
}

static struct tt_fetch *new_fetch(const struct tt_plain *s, int64_t far)
{
    struct tt_fetch *fetch = tt_calloc(1, sizeof *fetch + s->nops * sizeof fetch->range[0]);
    if (fetch) fetch->memory = tt_alloc_lines((size_t)(far * tt_round_up(s->len, TT_LINE)));
    if (fetch && fetch->memory) return fetch;
    tt_free(fetch);
    (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for %lld bytes of operands",
                  (long long)(far * s->len));
    return NULL;
}

tutti_status tt_far_fetch(struct tt_exec *exec, uint32_t lane, struct tt_plain *s)
{
    struct tt_fetch **fetch = &exec->lane[lane].fetch;
    int64_t far = 0, done = exec->lane[lane].resume;
    for (uint32_t i = 0; i < s->nops && !*fetch; i++) far += is_far(exec, &s->range[i], s->len);
    if (far == 0 && done == 0 && !*fetch) return TUTTI_OK;
    if (!*fetch) {
        if (!(*fetch = new_fetch(s, far))) return TUTTI_ERR_MEMORY;
        TT_TRY(start_fetch(exec, *fetch, s, done));
    }
    if ((*fetch)->left > 0) return TUTTI_AGAIN;
    exec->buffer[TT_FETCHED] = (*fetch)->memory;
    s->range = (*fetch)->range;
    s->len -= done;
    return TUTTI_OK;
}

void tt_far_fetched(struct tt_exec *exec, uint32_t lane)
{
    struct tt_fetch *fetch = exec->lane[lane].fetch;
    exec->lane[lane].fetch = NULL;
    if (fetch) tt_free(fetch->memory);
    tt_free(fetch);
}

/* ---- Ending ---- */

void tt_far_release(struct tt_exec *exec)
{
    for (uint32_t i = 0; i < exec->plan->lanes; i++) tt_far_fetched(exec, i);
    for (int b = TT_IN; b <= TT_TMP; b++) {
        if (exec->abroad->region[b]) (void)tt_msg_region_free(exec->abroad->region[b]);
        exec->abroad->region[b] = NULL;
    }
}

static void withdraw(struct tt_team *t, struct tt_transfer *x)
{
    struct tt_mirror *m = t->remote->mirror[x->peer];
    for (struct tt_transfer **link = &m->posted; *link; link = &(*link)->next)
        if (*link == x) {
            unlink_posted(m, link);
            break;
        }
    tt_transfer_free(x);
}

/* Transfers that only read the buffers go on without the execution, as a reader in shared memory
 * would. */
bool tt_far_fail(struct tt_exec *exec)
{
    bool writes = false;
    for (struct tt_transfer *x = exec->abroad->moving, *after; x; x = after) {
        after = x->after;
        if (x->posted)
            withdraw(exec->team, x);
        else if (x->closed)
            tt_transfer_free(x);
        else if (x->takes)
            writes = true;
        else
            tt_transfer_unlist(x);
    }
    if (!writes) tt_far_release(exec);
    return writes;
}

void tt_far_forget(struct tt_exec *exec)
{
    while (exec->abroad->moving) {
        if (exec->abroad->moving->posted)
            withdraw(exec->team, exec->abroad->moving);
        else if (exec->abroad->moving->closed)
            tt_transfer_free(exec->abroad->moving);
        else
            tt_transfer_unlist(exec->abroad->moving);
    }
    tt_far_release(exec);
}

/* Not waited for: the other one may have left without it, and if it has died the wire ends it. */
static bool is_signal(const struct tt_transfer *x)
{
    return !x->message && !x->left;
}

bool tt_far_waits_for(const struct tt_exec *exec, int rank)
{
    const struct tt_team *t = exec->team;
    for (const struct tt_transfer *x = exec->abroad->moving; x; x = x->after)
        if (x->peer == rank && !is_signal(x)) return true;
    const struct tt_mirror *m = t->remote ? t->remote->mirror[rank] : NULL;
    if (m && tt_far_left_before(exec, m)) return true;
    return m && m->done != TT_FAR_LEFT && m->asked > exec->number &&
           exec->number >= m->done + t->slots;
}
