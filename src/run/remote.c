/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles messages from other nodes: checks each message, keeps it until it can be used, and passes
 * it on; and moves data to and from them.
 */
#include "run/remote.h"

#include <stdio.h>
#include <string.h>

#include "run/remote-inside.h"

static struct tt_operation *match(struct tt_mirror *m, const struct tt_remote_head *head);
static bool fits(struct tt_team *t, struct tt_operation *x, int64_t bytes);
static bool remote_data(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a);
static void store(struct tt_operation *x, const void *data);

/* ---- Teams ---- */

/* The number of the first execution that has not begun here. */
static uint64_t team_begun(const struct tt_team *t)
{
    return t->queue ? t->queue->number : t->next;
}

uint32_t tt_remote_next_id(const struct tt_remote_teams *remote_teams)
{
    return remote_teams ? remote_teams->next_id : 0;
}

static struct tt_team *team_of(const struct tt_remote_teams *remote_teams, uint32_t id)
{
    struct tt_team *t = remote_teams->teams;
    while (t && t->remote->id != id) t = t->remote->next;
    return t;
}

/* ---- Messages that wait ---- */

/* Handles a message whose execution has begun. Returns true if the arrival was taken over. */
static bool apply(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a)
{
    if (!tt_remote_admits(t, m, &a->packet)) return false;
    if (a->data) return remote_data(t, m, a);
    tt_remote_signalled(t, m, a);
    return false;
}

/* Handles the messages that wait, in order, up to one whose payload is not here yet: later messages
 * may not overtake it. */
static void look_through(struct tt_team *t, struct tt_mirror *m)
{
    struct tt_arrivals *list = &m->early;
    struct tt_arrival *a = list->first;
    *list = (struct tt_arrivals){NULL, NULL};
    bool blocked = false;
    for (struct tt_arrival *next; a; a = next) {
        next = a->next;
        blocked |= !a->ready;
        if (blocked || a->packet.head.number >= team_begun(t)) {
            tt_arrivals_append(list, a);
            continue;
        }
        t->remote->early--;
        if (!apply(t, m, a)) tt_arrival_free(t->remote_teams, a);
    }
}

void tt_remote_begin(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    for (struct tt_mirror *m = t->remote->mirrors; m && t->remote->early; m = m->next)
        if (m->early.first) look_through(t, m);
}

/* Completion callback of the payload of a signal that waits for it. */
static void opening_came(tutti_context *context, void *arg, tutti_status status)
{
    struct tt_arrival *a = arg;
    struct tt_team *t = a->team;
    (void)context;
    a->ready = true;
    if (status != TUTTI_OK || !tt_remote_is_opening(a->opening, a->bytes)) {
        tt_free(a->opening);
        a->opening = NULL;
    }
    if (t)
        look_through(t, t->remote->mirror[a->packet.head.from]);
    else if (a->dropped)
        tt_arrival_free(NULL, a);
}

/* ---- Messages that arrive ---- */

/* The payload of a message that arrives. A short message has it at `data`, during the call. A long
 * message has no data yet: its payload goes where *receive says, or later to where
 * tt_msg_receive(pending) says. */
struct payload {
    const void *data;
    int64_t bytes;
    tutti_pending *pending;
    tutti_receive *receive; /* NULL: the message is short */
};

static bool is_here(const struct payload *payload)
{
    return payload->data || payload->bytes == 0;
}

static void *copy_bytes(const void *data, int64_t bytes)
{
    void *copy = tt_alloc((size_t)bytes);
    if (copy && data) tt_memcpy(copy, data, (size_t)bytes);
    return copy;
}

/* Keeps the data of a message until their recv is posted. */
static bool keep_data(struct tt_arrival *a, const struct payload *payload)
{
    if (is_here(payload)) {
        if (payload->bytes > 0) a->copy = copy_bytes(payload->data, payload->bytes);
        return a->copy || payload->bytes == 0;
    }
    a->pending = payload->pending;
    payload->receive->put_off = 1;
    return true;
}

/* Takes over the payload of the message. Returns false if there is no memory, or the payload is not
 * valid. */
static bool take_payload(struct tt_arrival *a, const struct payload *payload)
{
    a->ready = true;
    if (a->data) return keep_data(a, payload);
    if (payload->bytes == 0) return true;
    a->opening = copy_bytes(payload->data, payload->bytes);
    if (!a->opening) return false;
    if (payload->data) return tt_remote_is_opening(a->opening, payload->bytes);
    a->ready = false;
    *payload->receive = (tutti_receive){.to = a->opening,
                                        .count = payload->bytes,
                                        .type = TUTTI_U8,
                                        .done = opening_came,
                                        .arg = a};
    return true;
}

/* Returns an allocated copy of the arrival, with the payload of the message. NULL: no memory or no
 * valid payload; this rank then counts as failed. */
static struct tt_arrival *copy_of(struct tt_remote_teams *remote_teams, const struct tt_arrival *a,
                                  const struct payload *payload)
{
    struct tt_arrival *copy = tt_alloc(sizeof *copy);
    if (copy) *copy = *a;
    if (copy && take_payload(copy, payload)) return copy;
    if (copy) tt_free(copy->opening);
    tt_free(copy);
    tt_common_fail(remote_teams->f->job, remote_teams->f->common, remote_teams->f->me,
                   TT_CAUSE_STATUS, TUTTI_ERR_MEMORY);
    return NULL;
}

static void append_early(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a)
{
    tt_arrivals_append(&m->early, a);
    t->remote->early++;
}

static void hold_back(struct tt_team *t, struct tt_mirror *m, const struct tt_arrival *a,
                      const struct payload *payload)
{
    struct tt_arrival *copy = copy_of(t->remote_teams, a, payload);
    if (copy) append_early(t, m, copy);
}

/* Receives data of an execution that has begun directly into its recv, if that is posted already;
 * otherwise keeps them. */
static void data_came(struct tt_team *t, struct tt_mirror *m, const struct tt_arrival *a,
                      const struct payload *payload)
{
    struct tt_operation *x = match(m, &a->packet.head);
    if (tt_unlikely(!x)) {
        struct tt_arrival *copy = copy_of(t->remote_teams, a, payload);
        if (copy && !remote_data(t, m, copy)) tt_arrival_free(t->remote_teams, copy);
        return;
    }
    if (!fits(t, x, a->bytes)) return;
    if (is_here(payload))
        store(x, payload->data);
    else
        *payload->receive = (tutti_receive){
            .to = x->at, .count = x->len, .type = TUTTI_U8, .done = tt_remote_moved, .arg = x};
}

static void signal_came(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a,
                        const struct payload *payload)
{
    struct tt_arrival *copy = payload->bytes > 0 ? copy_of(t->remote_teams, a, payload) : a;
    if (!copy) return;
    tt_remote_signalled(t, m, copy);
    if (copy != a) tt_free(copy);
}

/* Handles a message in order: while an earlier message waits for its payload, later ones wait,
 * too. `begun` is the number of the first execution that has not begun. */
static void arrived(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a, uint64_t begun,
                    const struct payload *payload)
{
    const struct tt_remote_head *head = &a->packet.head;
    bool blocked = m->early.first && !m->early.first->ready;
    bool whole = a->data || is_here(payload);
    m->fresh = true;
    tt_remote_ended(m, head->number - head->behind);
    if (blocked || !whole || head->number >= begun) {
        hold_back(t, m, a, payload);
        return;
    }
    if (!tt_remote_admits(t, m, &a->packet)) return;
    if (a->data)
        data_came(t, m, a, payload);
    else
        signal_came(t, m, a, payload);
}

static void credited(struct tt_team *t, struct tt_mirror *m, const struct tt_remote_head *head)
{
    tt_remote_ended(m, head->number - head->behind);
    if (head->number == TT_REMOTE_LEFT) {
        m->left_after = head->value;
        t->left = true;
    }
    m->settled |= (head->flags & (TT_REMOTE_ASKS | TT_REMOTE_SETTLES)) == TT_REMOTE_SETTLES;
    if (!(head->flags & TT_REMOTE_ASKS)) return;
    m->settles |= head->flags & TT_REMOTE_SETTLES;
    if (!m->wanted) t->remote->wanting++;
    if (head->number >= m->wanted) m->wanted = head->number + 1;
    if (t->my_done + t->slots >= m->wanted) tt_remote_credit(t, m);
}

/* ---- Handlers ---- */

/* Reads the header of a message. Returns false if this library sends no such message. */
static bool read_head(const void *header, size_t bytes, struct tt_remote_packet *packet)
{
    if (bytes < sizeof packet->head || bytes > sizeof *packet) return false;
    memcpy(packet, header, bytes);
    const struct tt_remote_head *head = &packet->head;
    if ((head->flags & TT_REMOTE_SIGNATURE) && bytes != sizeof *packet) return false;
    bool lane = head->lane < TT_LANES || head->lane == TT_NO_LANE;
    return lane && (head->number == TT_REMOTE_LEFT || head->behind <= head->number);
}

/* Returns the mirror of the member that sent a message; NULL: no remote member of this team. */
static struct tt_mirror *sender(struct tt_team *t, int rank, uint32_t from)
{
    if (from >= (uint32_t)t->map.p || t->job_rank[from] != rank || !tt_team_is_remote(t, (int)from))
        return NULL;
    return tt_mirror_of(t, (int)from);
}

static void receive_for(struct tt_team *t, struct tt_arrival *a, const struct payload *payload)
{
    struct tt_mirror *m = sender(t, a->rank, a->packet.head.from);
    uint64_t begun = team_begun(t);
    if (!m) return;
    a->team = t;
    if (t->broken != TUTTI_OK)
        tt_remote_broke(t);
    else if (a->credit)
        credited(t, m, &a->packet.head);
    /* no sender may be further ahead */
    else if (a->packet.head.number < begun + t->slots)
        arrived(t, m, a, begun, payload);
}

/* Keeps a message for a team that this rank is about to make. */
static void keep_for_team(struct tt_remote_teams *remote_teams, struct tt_arrival *a,
                          const struct payload *payload)
{
    struct tt_arrival *copy = copy_of(remote_teams, a, payload);
    if (copy) tt_arrivals_append(&remote_teams->early, copy);
}

static void take(struct tt_remote_teams *remote_teams, struct tt_arrival *a, int dispatch,
                 const struct payload *payload)
{
    a->data = dispatch == TT_DISPATCH_DATA;
    a->credit = dispatch == TT_DISPATCH_CREDIT;
    a->bytes = payload->bytes;
    struct tt_team *t = team_of(remote_teams, a->packet.head.team);
    if (tt_likely(t != NULL))
        receive_for(t, a, payload);
    else if (a->packet.head.team >= remote_teams->next_id && a->packet.head.number < TT_SLOTS)
        keep_for_team(remote_teams, a, payload);
}

/* Handles a message that came in one packet. */
static void take_packet(void *arg, int rank, const struct tt_packet *p)
{
    struct payload payload = {.data = p->data, .bytes = (int64_t)p->bytes};
    struct tt_arrival a = {.rank = rank};
    if (read_head(p->header, p->header_bytes, &a.packet)) take(arg, &a, p->dispatch, &payload);
}

/* Handles a long message, or one that no operation belongs to. */
static void take_message(tutti_context *context, const tutti_message *message,
                         tutti_receive *receive, void *arg)
{
    struct payload payload = {.data = message->data,
                              .bytes = message->bytes,
                              .pending = message->pending,
                              .receive = receive};
    struct tt_arrival a = {.rank = message->rank};
    (void)context;
    if (read_head(message->header, message->header_bytes, &a.packet))
        take(arg, &a, message->dispatch, &payload);
}

/* Records what another rank found. So short a text always comes in one piece. */
static void take_finding(const struct tt_fabric *f, const tutti_message *message, uint64_t team)
{
    char text[TT_FINDING_TEXT];
    if (!message->data || message->bytes <= 0) return;
    int n = (int)tt_min(message->bytes, (int64_t)sizeof text - 1);
    snprintf(text, sizeof text, "%.*s", n, (const char *)message->data);
    tt_common_give_reason(f->common, team, text);
}

static void take_broken(tutti_context *context, const tutti_message *message,
                        tutti_receive *receive, void *arg)
{
    struct tt_remote_teams *remote_teams = arg;
    struct tt_remote_broken broken;
    const struct tt_fabric *f = remote_teams->f;
    (void)context;
    (void)receive;
    if (message->header_bytes != sizeof broken) return;
    memcpy(&broken, message->header, sizeof broken);
    if (broken.rank < 0 || broken.rank >= f->size || broken.cause < 0 ||
        broken.cause > TT_CAUSE_SILENT)
        return;
    take_finding(f, message, broken.team);
    if (tt_common_state(f->job, f->common, message->rank) == TT_RANK_FAILED) return;
    tt_common_believe(f->job, f->common, broken.rank, (enum tt_cause)broken.cause, broken.code);
}

/* ---- State of a client ---- */

tutti_status tt_remote_open(struct tt_fabric *f, struct tt_msg *msg, struct tt_remote_teams **made)
{
    struct tt_remote_teams *remote_teams = tt_calloc(1, sizeof *remote_teams);
    if (!remote_teams) return tt_fail(TUTTI_ERR_MEMORY, "no memory for teams on several nodes");
    remote_teams->f = f;
    remote_teams->msg = msg;
    remote_teams->context = tt_msg_context(msg, 0);
    tutti_status status = tt_msg_dispatch(msg, TT_DISPATCH_RUN, take_message, remote_teams);
    if (status == TUTTI_OK)
        status = tt_msg_dispatch(msg, TT_DISPATCH_DATA, take_message, remote_teams);
    if (status == TUTTI_OK)
        status = tt_msg_dispatch(msg, TT_DISPATCH_CREDIT, take_message, remote_teams);
    if (status == TUTTI_OK)
        status = tt_msg_dispatch(msg, TT_DISPATCH_BROKEN, take_broken, remote_teams);
    if (status != TUTTI_OK) {
        tt_free(remote_teams);
        return status;
    }
    tt_msg_plan_packets(msg, take_packet, remote_teams);
    *made = remote_teams;
    return TUTTI_OK;
}

static void came_early(struct tt_remote_teams *remote_teams, struct tt_team *t,
                       struct tt_arrival *a)
{
    const struct tt_remote_head *head = &a->packet.head;
    struct tt_mirror *m = sender(t, a->rank, head->from);
    a->team = t;
    a->dropped = !m;
    if (m && !a->credit) {
        m->fresh = true;
        tt_remote_ended(m, head->number - head->behind);
        append_early(t, m, a);
        return;
    }
    if (m) credited(t, m, head);
    if (a->ready) tt_arrival_free(remote_teams, a);
}

/* Takes the messages that arrived before the team was made. */
static void take_early(struct tt_remote_teams *remote_teams, struct tt_team *t)
{
    struct tt_arrival *a = remote_teams->early.first;
    remote_teams->early = (struct tt_arrivals){NULL, NULL};
    for (struct tt_arrival *next; a; a = next) {
        next = a->next;
        if (a->packet.head.team == t->remote->id)
            came_early(remote_teams, t, a);
        else
            tt_arrivals_append(&remote_teams->early, a);
    }
}

void tt_remote_add(struct tt_remote_teams *remote_teams, struct tt_team *t, uint32_t id)
{
    if (!remote_teams) return;
    t->remote_teams = remote_teams;
    if (id >= remote_teams->next_id) remote_teams->next_id = id + 1;
    if (!t->remote) return;
    t->remote->id = id;
    t->remote->next = remote_teams->teams;
    remote_teams->teams = t;
    if (remote_teams->early.first) take_early(remote_teams, t);
}

void tt_remote_depart(struct tt_team *t)
{
    if (!t->remote || !t->remote_teams) return;
    const struct tt_fabric *f = t->fabric;
    struct tt_remote_head head = {.team = t->remote->id,
                                  .from = (uint32_t)t->me,
                                  .number = TT_REMOTE_LEFT,
                                  .value = (uint32_t)t->next};
    if (tt_common_state(f->job, f->common, f->me) == TT_RANK_FAILED) {
        t->culprit = f->me;
        tt_remote_broke(t);
        return;
    }
    for (struct tt_mirror *m = t->remote->mirrors; m; m = m->next)
        if (m->done != TT_REMOTE_LEFT)
            (void)tt_remote_post(t, m, TT_DISPATCH_CREDIT, &head, sizeof head);
}

/* If a rank has failed, others may not receive any more: this rank waits for them no longer than
 * this. */
#define FLUSH_NS 500000000

void tt_remote_leave(struct tt_remote_teams *remote_teams)
{
    struct tt_wait wait;
    int events;
    if (!remote_teams) return;
    tt_arrivals_drop(remote_teams, &remote_teams->early);
    for (struct tt_team *t = remote_teams->teams; t; t = t->remote->next)
        if (t->state != TT_TEAM_DEPARTED) tt_remote_depart(t);
    tt_wait_begin(&wait, &remote_teams->f->policy, remote_teams->f->job, remote_teams->f->me);
    int64_t end_ns = tt_clock_ns() + FLUSH_NS;
    while (remote_teams->under_way > 0 &&
           (tt_common_first_failed(remote_teams->f->job, remote_teams->f->common) < 0 ||
            tt_clock_ns() < end_ns)) {
        (void)tt_msg_advance(remote_teams->context, &events);
        tt_wait_more(&wait);
    }
    tt_wait_done(&wait);
}

void tt_remote_close(struct tt_remote_teams *remote_teams)
{
    if (!remote_teams) return;
    for (struct tt_operation *x = remote_teams->operations, *all; x; x = all) {
        all = x->all;
        tt_free(x->payload);
        tt_free(x);
    }
    tt_free(remote_teams);
}

/* ---- Moving data ---- */

/* Data to and from members on other nodes: messages, puts and gets, and operands that lie there.
 * Puts, gets and operands of a member of this node go the same way if the system does not let this
 * rank access its memory (served.c). */

/* ---- Completion ---- */

static void failed(struct tt_operation *x, tutti_status status)
{
    struct tt_team *t = x->exec->team;
    int who = t->job_rank[x->peer];
    if (t->broken != TUTTI_OK) return;
    if (status != TUTTI_ERR_PEER) {
        /* ARG: the memory at one end is none, and both ends get this status */
        (void)tt_fail(status, "%lld bytes could not be moved to or from the memory of rank %d",
                      (long long)x->len, who);
        tt_team_break(t, tt_access_blame(x->exec, who, x->at, x->len, x->takes, status));
    } else if ((tt_team_is_remote(t, x->peer) && tt_remote_has_left(t, x->peer)) ||
               tt_common_state(t->fabric->job, t->fabric->common, who) == TT_RANK_LEFT)
        tt_common_miss(t->fabric->job, t->fabric->common, who);
    else
        tt_remote_lost(t, x->peer);
}

static void count_piece(struct tt_message *m)
{
    if (--m->left == 0) m->complete = true;
}

/* The owner of a buffer closes it before an operation is complete only if it has failed or left
 * during this execution. Another message reports that, as to a rank that waits for a signal. Until
 * then the step stays incomplete. */
static bool is_closed(struct tt_operation *x)
{
    x->closed = x->exec && x->opened;
    return x->closed;
}

void tt_remote_moved(tutti_context *context, void *arg, tutti_status status)
{
    struct tt_operation *x = arg;
    (void)context;
    if (tt_unlikely(status == TUTTI_ERR_ARG) && is_closed(x)) return;
    if (x->exec && status != TUTTI_OK)
        failed(x, status);
    else if (x->exec && x->message)
        count_piece(x->message);
    if (x->exec && x->left && status == TUTTI_OK) --*x->left;
    tt_operation_free(x);
}

/* Keeps the text of the error but returns OK for PEER: other code reports ranks that are gone. */
tutti_status tt_operation_started(struct tt_operation *x, tutti_status status)
{
    if (tt_likely(status == TUTTI_OK)) return TUTTI_OK;
    if (status == TUTTI_ERR_ARG && is_closed(x)) return TUTTI_OK;
    if (status != TUTTI_ERR_PEER) tt_operation_unlist(x);
    tt_remote_moved(x->remote_teams->context, x, status);
    return status == TUTTI_ERR_PEER ? TUTTI_OK : status;
}

/* ---- Recvs ---- */

static void unlink_posted(struct tt_mirror *m, struct tt_operation **link)
{
    struct tt_operation *x = *link;
    *link = x->next;
    if (!x->next) m->posted_end = link;
}

/* Finds the posted recv for this message and takes it off the list. NULL: there is none yet. */
static struct tt_operation *match(struct tt_mirror *m, const struct tt_remote_head *head)
{
    struct tt_operation **link = &m->posted, *x;
    for (; (x = *link) != NULL; link = &x->next)
        if (x->exec->number == head->number && x->lane == head->lane) {
            unlink_posted(m, link);
            return x;
        }
    return NULL;
}

/* Whether the message has the size that the recv expects. If not, breaks the team. */
static bool fits(struct tt_team *t, struct tt_operation *x, int64_t bytes)
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

/* Data came for an execution that has ended here, so there will be no recv for them. */
static void unexpected(struct tt_team *t, const struct tt_mirror *m, const struct tt_arrival *a)
{
    uint64_t number = a->packet.head.number;
    if (t->broken != TUTTI_OK || a->bytes == 0 || !tt_remote_is_last(t, number)) return;
    tt_team_break(t, tt_step_uneven(t, number, m->rank, t->me, a->bytes, 0));
}

void tt_remote_leftover(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    for (struct tt_mirror *m = t->remote->mirrors; m; m = m->next)
        for (const struct tt_arrival *a = m->arrived.first; a; a = a->next)
            if (a->packet.head.number == exec->number) {
                unexpected(t, m, a);
                return; /* other messages for it are freed with the team */
            }
}

/* Stores the data of a short message. They have as many bytes as the recv expects. */
static void store(struct tt_operation *x, const void *data)
{
    if (x->len > 0) tt_memcpy(x->at, data, (size_t)x->len);
    tt_remote_moved(x->remote_teams->context, x, TUTTI_OK);
}

/* Receives a message that was kept, at its destination. */
static void receive(struct tt_operation *x, struct tt_arrival *a)
{
    struct tt_team *t = x->exec->team;
    tutti_receive to = {
        .to = x->at, .count = x->len, .type = TUTTI_U8, .done = tt_remote_moved, .arg = x};
    if (!fits(t, x, a->bytes)) return;
    if (!a->pending) {
        store(x, a->copy);
        return;
    }
    tutti_pending *pending = a->pending;
    a->pending = NULL;
    tutti_status status = tt_msg_receive(t->remote_teams->context, pending, &to);
    if (status != TUTTI_OK) tt_remote_moved(t->remote_teams->context, x, status);
}

/* Handles data for an execution that has begun. Returns true if the arrival was taken over. */
static bool remote_data(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a)
{
    const struct tt_remote_head *head = &a->packet.head;
    struct tt_operation *x = match(m, head);
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

/* Takes the first message that has come for this recv off the list. NULL: none has come yet. */
static struct tt_arrival *take_arrived(struct tt_mirror *m, const struct tt_operation *x)
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

struct tt_operation *tt_operation_begin(struct tt_exec *exec, struct tt_message *m, int peer,
                                        char *at, int64_t len)
{
    struct tt_operation *x = tt_operation_new(exec);
    if (!x) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory to move bytes between nodes");
        return NULL;
    }
    x->message = m;
    x->peer = peer;
    x->at = at;
    x->len = len;
    return x;
}

static tutti_status start_recv(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                               struct tt_message *message)
{
    struct tt_mirror *m = tt_mirror_of(exec->team, s->peer);
    if (!m) return tt_fail(TUTTI_ERR_MEMORY, "no memory to receive from rank %d", s->peer);
    struct tt_operation *x =
        tt_operation_begin(exec, message, s->peer, tt_exec_own(exec, s->range), s->len);
    if (!x) return TUTTI_ERR_MEMORY;
    x->takes = x->posted = true;
    x->lane = lane;
    *message = (struct tt_message){.left = 1};
    struct tt_arrival *a = take_arrived(m, x);
    if (a) {
        receive(x, a);
        tt_arrival_free(exec->team->remote_teams, a);
        return TUTTI_OK;
    }
    *m->posted_end = x;
    m->posted_end = &x->next;
    return TUTTI_OK;
}

/* ---- Sends ---- */

/* Called when a message that could not be sent at once has been sent. */
static void transferred(struct tt_transfer *transfer, tutti_status status)
{
    struct tt_operation *x = tt_container_of(transfer, struct tt_operation, transfer);
    x->remote_teams->under_way--;
    if (x->message)
        tt_remote_moved(transfer->context, x, status);
    else
        tt_operation_free(x); /* a signal: whoever waits for a lost rank learns it otherwise */
}

tutti_status tt_operation_send(struct tt_operation *x, const struct tt_mirror *m, int dispatch,
                               const struct tt_remote_packet *packet, size_t header_bytes)
{
    x->transfer.done = transferred;
    x->transfer.packet = (struct tt_packet){.kind = TT_PACKET_PLAN,
                                            .dispatch = dispatch,
                                            .header = packet,
                                            .header_bytes = header_bytes,
                                            .data = x->at,
                                            .bytes = (size_t)x->len};
    tutti_status status = tt_msg_transfer(x->remote_teams->context, m->to, &x->transfer);
    x->remote_teams->under_way += status == TUTTI_AGAIN;
    return status;
}

static tutti_status start_send(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                               struct tt_message *message)
{
    struct tt_mirror *m;
    struct tt_remote_packet packet;
    TT_TRY(tt_remote_may_send(exec, s->peer, &m));
    struct tt_operation *x =
        tt_operation_begin(exec, message, s->peer, tt_exec_own(exec, s->range), s->len);
    if (!x) return TUTTI_ERR_MEMORY;
    *message = (struct tt_message){.left = 1};
    size_t header_bytes = tt_remote_head(exec, m, &packet);
    packet.head.lane = (uint8_t)lane;
    tutti_status status = tt_operation_send(x, m, TT_DISPATCH_DATA, &packet, header_bytes);
    if (status == TUTTI_AGAIN) return TUTTI_OK;
    if (status != TUTTI_OK) return tt_operation_started(x, status);
    tt_remote_moved(x->remote_teams->context, x, TUTTI_OK);
    return TUTTI_OK;
}

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

static tutti_status start_access(struct tt_exec *exec, const struct tt_plain *s,
                                 struct tt_message *message)
{
    bool put = s->kind == TT_PUT;
    const struct tt_range *remote = &s->range[put ? 0 : 1], *local = &s->range[put ? 1 : 0];
    struct remote_access w = {
        .exec = exec, .message = message, .here = tt_exec_own(exec, local), .put = put};
    *message = (struct tt_message){.left = 1};
    TT_TRY(find_memory(&w, remote, s->len));
    tutti_status status = go(&w, remote, local, s->len);
    count_piece(message);
    return status;
}

tutti_status tt_remote_start(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                             struct tt_message *m)
{
    switch (s->kind) {
    case TT_SEND: return start_send(exec, lane, s, m);
    case TT_RECV: return start_recv(exec, lane, s, m);
    default: return start_access(exec, s, m);
    }
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

static void withdraw(struct tt_team *t, struct tt_operation *x)
{
    struct tt_mirror *m = t->remote->mirror[x->peer];
    for (struct tt_operation **link = &m->posted; *link; link = &(*link)->next)
        if (*link == x) {
            unlink_posted(m, link);
            break;
        }
    tt_operation_free(x);
}

/* Transfers that only read the buffers continue without the execution, as a reader in shared memory
 * would. */
bool tt_remote_fail(struct tt_exec *exec)
{
    bool writes = false;
    for (struct tt_operation *x = exec->remote->moving, *after; x; x = after) {
        after = x->after;
        if (x->posted)
            withdraw(exec->team, x);
        else if (x->closed)
            tt_operation_free(x);
        else if (x->takes)
            writes = true;
        else
            tt_operation_unlist(x);
    }
    if (!writes) tt_remote_release(exec);
    return writes;
}

void tt_remote_forget(struct tt_exec *exec)
{
    while (exec->remote->moving) {
        if (exec->remote->moving->posted)
            withdraw(exec->team, exec->remote->moving);
        else if (exec->remote->moving->closed)
            tt_operation_free(exec->remote->moving);
        else
            tt_operation_unlist(exec->remote->moving);
    }
    tt_remote_release(exec);
}

/* An execution whose only transfers are signals does not wait for their receivers: a receiver may
 * have left without taking the signal, and if it has died the network ends the operation. */
static bool is_signal(const struct tt_operation *x)
{
    return !x->message && !x->left;
}

bool tt_remote_waits_for(const struct tt_exec *exec, int rank)
{
    const struct tt_team *t = exec->team;
    for (const struct tt_operation *x = exec->remote->moving; x; x = x->after)
        if (x->peer == rank && !is_signal(x)) return true;
    const struct tt_mirror *m = t->remote ? t->remote->mirror[rank] : NULL;
    if (m && tt_remote_left_before(exec, m)) return true;
    return m && m->done != TT_REMOTE_LEFT && m->asked > exec->number &&
           exec->number >= m->done + t->slots;
}
