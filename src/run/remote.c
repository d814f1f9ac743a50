/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles messages from other nodes: checks each message, keeps the message until it can be used,
 * and passes it on. Also moves data to and from members on other nodes.
 */
#include "run/remote.h"

#include <stdio.h>
#include <string.h>

#include "run/compare.h"
#include "run/remote-inside.h"

static struct tt_message *match(const struct tt_team *t, const struct tt_mirror *m,
                                const struct tt_remote_head *head);
static bool remote_data(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a);
static void uneven(struct tt_team *t, const struct tt_mirror *m, const struct tt_arrival *a,
                   int64_t expected);
static void store(struct tt_message *message, const void *data);
static tutti_receive receive_long(struct tt_team *t, const struct tt_mirror *m,
                                  const struct tt_arrival *a, struct tt_message *message);

/* ---- Teams ---- */

/* Returns the number of the first execution that this rank has not begun. */
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

/* ---- What a member calls ---- */

/* Clears, in the mirror (this rank's copy of the state of a member on another node), the addresses
 * of the buffers that the member has opened in this slot in an older execution. */
static void close_slot(struct tt_team *t, struct tt_mirror *m, int slot)
{
    memset(tt_team_opening(t, m->rank, slot), 0, sizeof(struct tt_opening));
    memset(tt_team_segment(t, m->rank, slot, t->me), 0, sizeof(struct tt_segment_opening));
    tt_free(m->opening[slot]);
    m->opening[slot] = NULL;
}

/* Stores in the mirror what the member calls in an execution that this rank has begun: the
 * signature and, in the mirror's signal line (`line`), the fingerprint. Returns false if a newer
 * execution has the slot already. `exec` is what runs in the slot on this rank, or NULL. */
static bool note(struct tt_team *t, struct tt_mirror *m, const struct tt_remote_packet *packet,
                 const struct tt_exec *exec, struct tt_signal_line *line)
{
    const struct tt_remote_head *head = &packet->head;
    bool runs = exec && exec->number == head->number;
    uint64_t mark = (runs ? exec->base : tt_team_base(t, head->number)) | head->history;
    uint64_t known = atomic_load_explicit(&line->shape, memory_order_relaxed);
    int slot = (int)(head->number & (t->slots - 1));
    if (known >> 32 > mark >> 32 || (exec && exec->number > head->number)) return false;
    if (head->flags & TT_REMOTE_SIGNATURE)
        memcpy(tt_team_signature(t, m->rank, slot), packet->signature, sizeof packet->signature);
    if (known == mark) return true;
    if (m->opening[slot]) close_slot(t, m, slot);
    atomic_store_explicit(&line->shape, mark, memory_order_release);
    return true;
}

/* Compares the counts that this rank and the member have for each other in a call of pairs. If they
 * differ, breaks the team and returns false before any data of the message are stored. */
static bool suits(struct tt_team *t, const struct tt_mirror *m, uint64_t number)
{
    tutti_status status = tt_compare_pair(t, number, m->rank);
    if (tt_unlikely(status != TUTTI_OK)) tt_team_break(t, status);
    return status == TUTTI_OK;
}

/* Stores in the mirror what the member calls in an execution that this rank has begun, and compares
 * the call with this rank's. Returns false if the message is to be dropped: the slot belongs to a
 * newer execution, or the calls differ, which breaks the team. If the execution has ended on this
 * rank, its fingerprint is still in this rank's signal line, for the comparison. */
static bool admits(struct tt_team *t, struct tt_mirror *m, const struct tt_remote_packet *packet)
{
    uint64_t number = packet->head.number;
    int slot = (int)(number & (t->slots - 1));
    const struct tt_exec *exec = t->running[slot];
    struct tt_signal_line *line = tt_team_line(t, m->rank, slot);
    const struct tt_signal_line *own = exec ? exec->line : tt_team_line(t, t->me, slot);
    if (tt_unlikely(m->doubted) && !(packet->head.flags & TT_REMOTE_EARLIER)) return false;
    bool noted = note(t, m, packet, exec, line);
    if (tt_unlikely(packet->head.flags & TT_REMOTE_EARLIER)) tt_remote_take_earlier(t, m, packet);
    if (!noted || tt_unlikely(packet->head.flags & TT_REMOTE_EARLIER)) return false;
    uint64_t mine = atomic_load_explicit(&own->shape, memory_order_relaxed);
    uint64_t theirs = atomic_load_explicit(&line->shape, memory_order_relaxed);
    if (mine >> 32 != theirs >> 32 || t->broken != TUTTI_OK) return true;
    if (tt_likely(mine == theirs))
        return tt_likely(!(packet->head.flags & TT_REMOTE_SIGNATURE)) || suits(t, m, number);
    tt_remote_disagrees(t, m, number);
    return false;
}

/* ---- Messages that wait ---- */

/* Handles a message of an execution that this rank has begun. Returns true if the message is
 * kept. */
static bool apply(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a)
{
    if (!admits(t, m, &a->packet)) return false;
    if (a->data) return remote_data(t, m, a);
    tt_remote_signalled(t, m, a);
    return false;
}

/* Handles the messages of the member that wait, in order, up to the first whose payload has not
 * arrived, which later messages may not overtake. */
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

/* The message layer calls this function when the payload of a kept signal has come: the opening of
 * the signal's sender. */
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
    if (t) {
        struct tt_mirror *m = t->remote->mirror[a->packet.head.from];
        m->coming--;
        look_through(t, m);
    } else if (a->dropped)
        tt_arrival_free(NULL, a);
}

/* ---- Messages that arrive ---- */

/* The payload of a message that arrives. A short one is at `data` while the handler runs. For a
 * long one, the handler says where it goes: in *receive, or later by tt_msg_receive(pending). */
struct payload {
    const void *data;
    int64_t bytes;
    tutti_pending *pending;
    tutti_receive *receive; /* NULL: the payload is at `data` */
};

static void *copy_bytes(const void *data, int64_t bytes)
{
    void *copy = tt_alloc((size_t)bytes);
    if (copy && data) tt_memcpy(copy, data, (size_t)bytes);
    return copy;
}

/* Keeps the data of a message until the recv for the data is posted. */
static bool keep_data(struct tt_arrival *a, const struct payload *payload)
{
    if (!payload->receive) {
        if (payload->bytes > 0) a->copy = copy_bytes(payload->data, payload->bytes);
        return a->copy || payload->bytes == 0;
    }
    a->pending = payload->pending;
    payload->receive->put_off = 1;
    return true;
}

/* Keeps the payload of the message with the arrival. Returns false if there is no memory, or the
 * payload is not valid. */
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

/* Marks this rank as failed, because it has no memory for a message. */
static void fail_here(struct tt_remote_teams *remote_teams)
{
    tt_common_fail(remote_teams->f->job, remote_teams->f->common, remote_teams->f->me,
                   TT_CAUSE_STATUS, TUTTI_ERR_MEMORY);
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
    fail_here(remote_teams);
    return NULL;
}

static void append_early(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a)
{
    tt_arrivals_append(&m->early, a);
    m->coming += !a->ready;
    t->remote->early++;
}

static void hold_back(struct tt_team *t, struct tt_mirror *m, const struct tt_arrival *a,
                      const struct payload *payload)
{
    struct tt_arrival *copy = copy_of(t->remote_teams, a, payload);
    if (copy) append_early(t, m, copy);
}

/* Receives data of an execution that this rank has begun: directly into the recv, if that is posted
 * already; otherwise keeps the data. */
static void data_came(struct tt_team *t, struct tt_mirror *m, const struct tt_arrival *a,
                      const struct payload *payload)
{
    struct tt_message *message = match(t, m, &a->packet.head);
    if (tt_unlikely(!message)) {
        struct tt_arrival *copy = copy_of(t->remote_teams, a, payload);
        if (copy && !remote_data(t, m, copy)) tt_arrival_free(t->remote_teams, copy);
        return;
    }
    if (tt_unlikely(a->bytes != message->left))
        uneven(t, m, a, message->left);
    else if (tt_likely(!payload->receive))
        store(message, payload->data);
    else
        *payload->receive = receive_long(t, m, a, message);
}

static void signal_came(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a,
                        const struct payload *payload)
{
    struct tt_arrival *copy = payload->bytes > 0 ? copy_of(t->remote_teams, a, payload) : a;
    if (!copy) return;
    tt_remote_signalled(t, m, copy);
    if (copy != a) tt_free(copy);
}

/* Handles a message. Keeps it for later if this rank has not begun the execution of the message, if
 * the payload has not arrived, or if an earlier message of the member waits for its payload. Drops
 * a message that is TT_SLOTS or more executions ahead of this rank: no correct sender sends it. */
static void arrived(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a,
                    const struct payload *payload)
{
    const struct tt_remote_head *head = &a->packet.head;
    uint64_t begun = team_begun(t);
    if (head->number >= begun + t->slots) return;
    bool blocked = m->coming > 0;
    bool whole = a->data || !payload->receive;
    m->fresh = true;
    if (head->number - head->behind > m->done) m->done = head->number - head->behind;
    if (blocked || !whole || head->number >= begun) {
        hold_back(t, m, a, payload);
        return;
    }
    if (!admits(t, m, &a->packet)) return;
    if (a->data)
        data_came(t, m, a, payload);
    else
        signal_came(t, m, a, payload);
}

static void credited(struct tt_team *t, struct tt_mirror *m, const struct tt_remote_head *head)
{
    if (head->number - head->behind > m->done) m->done = head->number - head->behind;
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

/* Reads the header of a message. Returns false if the header is none that this library sends. */
static bool read_head(const void *header, size_t bytes, struct tt_remote_packet *packet)
{
    if (bytes < sizeof packet->head || bytes > sizeof *packet) return false;
    memcpy(packet, header, bytes);
    const struct tt_remote_head *head = &packet->head;
    if ((head->flags & TT_REMOTE_SIGNATURE) && bytes != sizeof *packet) return false;
    bool lane = head->lane < TT_LANES || head->lane == TT_NO_LANE;
    return lane && (head->number == TT_REMOTE_LEFT || head->behind <= head->number);
}

/* Returns the mirror of a message's sender. NULL: no remote member sent the message, or there is no
 * memory for a mirror; then this rank counts as failed, because the message is lost. */
static struct tt_mirror *sender(struct tt_team *t, int rank, uint32_t from)
{
    if (from >= (uint32_t)t->map.p || t->job_rank[from] != rank) return NULL;
    struct tt_mirror *m = t->remote->mirror[from];
    if (tt_likely(m != NULL) || !tt_team_is_remote(t, (int)from)) return m;
    if (!(m = tt_mirror_of(t, (int)from))) fail_here(t->remote_teams);
    return m;
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
    const struct tt_remote_head *head = &a->packet.head;
    struct tt_team *t = team_of(remote_teams, head->team);
    struct tt_mirror *m = t ? sender(t, a->rank, head->from) : NULL;
    a->data = dispatch == TT_DISPATCH_DATA;
    a->credit = dispatch == TT_DISPATCH_CREDIT;
    a->bytes = payload->bytes;
    a->team = t;
    if (!t && head->team >= remote_teams->next_id && head->number < TT_WINDOWS)
        keep_for_team(remote_teams, a, payload);
    else if (m && t->broken != TUTTI_OK)
        tt_remote_broke(t);
    else if (m && a->credit)
        credited(t, m, head);
    else if (m)
        arrived(t, m, a, payload);
}

/* Handles a message that came in one packet. */
static void take_packet(void *arg, int rank, const struct tt_packet *p)
{
    struct payload payload = {.data = p->data, .bytes = (int64_t)p->bytes};
    struct tt_arrival a = {.rank = rank};
    if (read_head(p->header, p->header_bytes, &a.packet)) take(arg, &a, p->dispatch, &payload);
}

/* Handles a long message, or a message that tt_remote_post has sent (a header without payload). */
static void take_message(tutti_context *context, const tutti_message *message,
                         tutti_receive *receive, void *arg)
{
    struct payload payload = {.data = message->data,
                              .bytes = message->bytes,
                              .pending = message->pending,
                              .receive = message->data || message->bytes == 0 ? NULL : receive};
    struct tt_arrival a = {.rank = message->rank};
    (void)context;
    if (read_head(message->header, message->header_bytes, &a.packet))
        take(arg, &a, message->dispatch, &payload);
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
        status = tt_msg_dispatch(msg, TT_DISPATCH_BROKEN, tt_remote_take_broken, remote_teams);
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
    a->dropped = !m || a->credit;
    if (m && !a->credit) {
        m->fresh = true;
        if (head->number - head->behind > m->done) m->done = head->number - head->behind;
        append_early(t, m, a);
        return;
    }
    if (m) credited(t, m, head);
    if (a->ready)
        tt_arrival_free(remote_teams, a);
    else
        a->team = NULL; /* opening_came frees the message */
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

bool tt_remote_claim(struct tt_remote_teams *remote_teams, struct tt_team *t, uint32_t id)
{
    if (id < remote_teams->next_id) return false;
    if (!t->remote_teams) {
        tt_remote_add(remote_teams, t, id);
        return true;
    }
    remote_teams->next_id = id + 1;
    t->remote->id = id;
    if (remote_teams->early.first) take_early(remote_teams, t);
    return true;
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

/* Moving data to and from members on other nodes. access.c has puts, gets and operands. */

/* ---- Operations ---- */

struct tt_operation *tt_operation_begin(struct tt_exec *exec, struct tt_message *m, int peer,
                                        char *at, int64_t len)
{
    struct tt_remote_teams *remote_teams = exec->team->remote_teams;
    struct tt_operation *x = remote_teams->spare, *all = x ? x->all : remote_teams->operations;
    if (tt_likely(x != NULL))
        remote_teams->spare = x->next;
    else if ((x = tt_alloc(sizeof *x)) != NULL)
        remote_teams->operations = x;
    else {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory to move bytes between nodes");
        return NULL;
    }
    memset(x, 0, offsetof(struct tt_operation, transfer)); /* tt_operation_send sets `transfer` */
    x->remote_teams = remote_teams;
    x->all = all;
    x->exec = exec;
    x->message = m;
    x->peer = peer;
    x->at = at;
    x->len = len;
    x->after = exec->remote->moving;
    if (x->after) x->after->before = x;
    exec->remote->moving = x;
    return x;
}

void tt_operation_unlist(struct tt_operation *x)
{
    if (!x->exec) return;
    if (x->after) x->after->before = x->before;
    if (x->before)
        x->before->after = x->after;
    else
        x->exec->remote->moving = x->after;
    x->exec = NULL;
}

void tt_operation_free(struct tt_operation *x)
{
    tt_operation_unlist(x);
    if (x->payload) tt_free(x->payload);
    x->payload = NULL;
    x->next = x->remote_teams->spare;
    x->remote_teams->spare = x;
}

/* ---- Completion ---- */

static void failed(struct tt_operation *x, tutti_status status)
{
    struct tt_team *t = x->exec->team;
    int who = t->job_rank[x->peer];
    if (t->broken != TUTTI_OK) return;
    if (status != TUTTI_ERR_PEER) {
        /* ARG: one of the two addresses is no memory, and the ranks at both ends get this status */
        (void)tt_fail(status, "%lld bytes could not be moved to or from the memory of rank %d",
                      (long long)x->len, who);
        tt_team_break(t, tt_access_blame(x->exec, who, x->at, x->len, x->takes, status));
    } else if (!tt_team_miss(t, x->peer))
        tt_remote_lost(t, x->peer);
}

/* An operation on a buffer that the peer opened gets ARG if the peer's execution has failed, or the
 * peer has left it, and so has closed the buffer. A recv of a long message gets CANCELLED in the
 * same case. Marks such an operation as closed and returns true: its step stays incomplete until
 * another message reports what happened. */
static bool is_closed(struct tt_operation *x, tutti_status status)
{
    bool closes = x->opened ? status == TUTTI_ERR_ARG : status == TT_STATUS_CANCELLED;
    x->closed = x->exec && closes;
    return x->closed;
}

void tt_remote_moved(tutti_context *context, void *arg, tutti_status status)
{
    struct tt_operation *x = arg;
    (void)context;
    if (tt_unlikely(status > TUTTI_AGAIN) && is_closed(x, status)) return;
    if (x->exec && status != TUTTI_OK)
        failed(x, status);
    else if (x->exec && x->message)
        x->message->complete = --x->message->left == 0;
    if (x->exec && x->left && status == TUTTI_OK) --*x->left;
    tt_operation_free(x);
}

/* Ends an operation whose start failed. Returns OK for PEER: other code reports lost ranks. */
tutti_status tt_operation_started(struct tt_operation *x, tutti_status status)
{
    if (tt_likely(status == TUTTI_OK)) return TUTTI_OK;
    if (is_closed(x, status)) return TUTTI_OK;
    if (status != TUTTI_ERR_PEER)
        tt_operation_unlist(x);
    else
        tt_error_undo();
    tt_remote_moved(x->remote_teams->context, x, status);
    return status == TUTTI_ERR_PEER ? TUTTI_OK : status;
}

/* ---- Recvs ---- */

/* Removes and returns the recv that was posted first on the receiving side (tt_end) of this
 * message's channel. NULL: no recv is posted, or the execution does not run. */
static struct tt_message *match(const struct tt_team *t, const struct tt_mirror *m,
                                const struct tt_remote_head *head)
{
    int slot = (int)(head->number & (t->slots - 1));
    const struct tt_exec *exec = t->running[slot];
    struct tt_end *ends = head->lane < TT_LANES ? m->ends[head->lane] : NULL;
    return ends && exec && exec->number == head->number ? tt_end_take(&ends[slot]) : NULL;
}

/* Breaks the team, because the message has another size than the `expected` bytes of its recv. */
static void uneven(struct tt_team *t, const struct tt_mirror *m, const struct tt_arrival *a,
                   int64_t expected)
{
    const struct tt_exec *exec = t->running[a->packet.head.number & (t->slots - 1)];
    if (t->broken != TUTTI_OK) return;
    tutti_status status = tt_compare_call(t, exec->number, m->rank);
    if (status == TUTTI_OK)
        status = tt_compare_uneven(t, exec->number, m->rank, t->me, a->bytes, expected);
    tt_team_break(t, status);
}

/* Breaks the team, because data came for an execution that has ended here without a recv for
 * them. */
static void unexpected(struct tt_team *t, const struct tt_mirror *m, const struct tt_arrival *a)
{
    uint64_t number = a->packet.head.number;
    if (t->broken != TUTTI_OK || a->bytes == 0 || !tt_remote_is_last(t, number)) return;
    tt_team_break(t, tt_compare_uneven(t, number, m->rank, t->me, a->bytes, 0));
}

static void leftover(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    for (struct tt_mirror *m = t->remote->mirrors; m; m = m->next)
        for (const struct tt_arrival *a = m->arrived.first; a; a = a->next)
            if (a->packet.head.number == exec->number) {
                unexpected(t, m, a);
                return; /* other messages for the execution are freed with the team */
            }
}

/* Stores the data of a short message, which have as many bytes as the recv expects. */
static void store(struct tt_message *message, const void *data)
{
    if (message->left > 0) tt_memcpy(message->at, data, (size_t)message->left);
    message->complete = true;
}

/* Returns where the data of a long message are to be stored, with an operation that lasts until
 * they have come. If there is no memory, this rank counts as failed, and the data are dropped. */
static tutti_receive receive_long(struct tt_team *t, const struct tt_mirror *m,
                                  const struct tt_arrival *a, struct tt_message *message)
{
    struct tt_exec *exec = t->running[a->packet.head.number & (t->slots - 1)];
    struct tt_operation *x = tt_operation_begin(exec, message, m->rank, message->at, message->left);
    if (!x) {
        fail_here(t->remote_teams);
        return (tutti_receive){.to = NULL};
    }
    x->takes = true;
    message->left = 1;
    return (tutti_receive){
        .to = x->at, .count = x->len, .type = TUTTI_U8, .done = tt_remote_moved, .arg = x};
}

/* Receives a message that was kept: stores its data where the recv wants them. */
static void receive(struct tt_team *t, const struct tt_mirror *m, struct tt_arrival *a,
                    struct tt_message *message)
{
    tutti_context *c = t->remote_teams->context;
    if (tt_unlikely(a->bytes != message->left)) {
        uneven(t, m, a, message->left);
        return;
    }
    if (!a->pending) {
        store(message, a->copy);
        return;
    }
    tutti_pending *pending = a->pending;
    tutti_receive to = receive_long(t, m, a, message);
    a->pending = NULL;
    tutti_status status = tt_msg_receive(c, pending, &to);
    if (status != TUTTI_OK && to.arg) tt_remote_moved(c, to.arg, status);
}

/* Keeps data until the recv for the data is posted. */
static void keep(struct tt_remote *remote, struct tt_mirror *m, struct tt_arrival *a)
{
    tt_arrivals_append(&m->arrived, a);
    remote->kept++;
}

/* Handles data for an execution that this rank has begun. Returns true if the data are kept. */
static bool remote_data(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a)
{
    const struct tt_remote_head *head = &a->packet.head;
    struct tt_message *message = match(t, m, head);
    const struct tt_exec *exec = t->running[head->number & (t->slots - 1)];
    if (message)
        receive(t, m, a, message);
    else if (exec && exec->number == head->number)
        keep(t->remote, m, a);
    else {
        unexpected(t, m, a);
        return false;
    }
    return message == NULL;
}

/* Takes the first message for a recv of this lane off the list of messages that came before their
 * recv. NULL: none has come yet. */
static struct tt_arrival *take_arrived(struct tt_mirror *m, uint64_t number, uint32_t lane)
{
    struct tt_arrival **link = &m->arrived.first, *a;
    for (; (a = *link) != NULL; link = &a->next)
        if (a->packet.head.number == number && a->packet.head.lane == lane) {
            *link = a->next;
            if (!a->next) m->arrived.end = link;
            return a;
        }
    return NULL;
}

/* Returns the lane's queue of recvs from this member, and makes it if needed. NULL: no memory. */
static struct tt_end *end_of(struct tt_exec *exec, struct tt_mirror *m, uint32_t lane)
{
    struct tt_end **ends = &m->ends[lane];
    if (!*ends) *ends = tt_calloc(TT_WINDOWS, sizeof **ends);
    if (!*ends) return NULL;
    struct tt_end *end = &(*ends)[exec->slot];
    end->peer = exec->team->job_rank[m->rank];
    end->remote = true;
    return end;
}

/* Starts a recv. If messages for this lane have come already, the first of them is for this recv,
 * because all recvs that were posted earlier have got their messages. */
static tutti_status start_recv(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                               struct tt_message *message)
{
    struct tt_team *t = exec->team;
    char *at = exec->buffer[s->range->buf] + s->range->off;
    struct tt_mirror *m = t->remote->mirror[s->peer];
    if (tt_unlikely(!m)) m = tt_mirror_of(t, s->peer);
    struct tt_end *end = m ? end_of(exec, m, lane) : NULL;
    if (!end) return tt_fail(TUTTI_ERR_MEMORY, "no memory to receive from rank %d", s->peer);
    struct tt_arrival *a = m->arrived.first ? take_arrived(m, exec->number, lane) : NULL;
    if (!a) {
        tt_end_post(end, message, at, s->len, &exec->ends);
        return TUTTI_OK;
    }
    t->remote->kept--;
    *message = (struct tt_message){.at = at, .left = s->len};
    receive(t, m, a, message);
    tt_arrival_free(t->remote_teams, a);
    return TUTTI_OK;
}

/* ---- Sends ---- */

tutti_status tt_remote_may_send(struct tt_exec *exec, int rank, struct tt_mirror **found)
{
    struct tt_team *t = exec->team;
    struct tt_mirror *m = t->remote->mirror[rank];
    if (tt_unlikely(!m)) m = tt_mirror_of(t, rank);
    *found = m;
    if (tt_unlikely(!m)) return tt_fail(TUTTI_ERR_MEMORY, "no memory to send to rank %d", rank);
    if (tt_unlikely(m->done == TT_REMOTE_LEFT))
        return tt_remote_lacks(exec, m) ? TUTTI_AGAIN : TUTTI_OK;
    if (tt_likely(exec->number < m->done + t->slots)) return TUTTI_OK;
    if (m->asked <= exec->number) TT_TRY(tt_remote_ask(t, m, exec->number));
    return TUTTI_AGAIN;
}

size_t tt_remote_head(struct tt_exec *exec, struct tt_mirror *m, struct tt_remote_packet *packet)
{
    struct tt_team *t = exec->team;
    /* Contents may differ in each call, so each message with contents carries the signature. */
    bool signature =
        m->sent_shape[exec->slot] != exec->shape || (exec->call && exec->call->in_contents);
    packet->head = (struct tt_remote_head){.team = t->remote->id,
                                           .from = (uint32_t)t->me,
                                           .number = exec->number,
                                           .behind = (uint32_t)(exec->number - t->my_done),
                                           .history = (uint32_t)exec->mark,
                                           .flags = signature ? TT_REMOTE_SIGNATURE : 0};
    m->fresh = false;
    m->signature_sent[exec->slot] = m->sent = exec->number + 1;
    if (tt_likely(!signature)) return sizeof packet->head;
    m->sent_shape[exec->slot] = exec->shape;
    tt_remote_sign(t, m, exec->number, exec->signature, packet);
    return sizeof *packet;
}

/* The message layer calls this function when a message that could not be sent at once has been sent
 * or has failed. */
static void transferred(struct tt_transfer *transfer, tutti_status status)
{
    struct tt_operation *x = tt_container_of(transfer, struct tt_operation, transfer);
    x->remote_teams->under_way--;
    if (x->message)
        tt_remote_moved(transfer->context, x, status);
    else
        tt_operation_free(x); /* a signal: if its receiver failed, those that wait for it notice */
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
    struct tt_operation *x = tt_operation_begin(
        exec, message, s->peer, exec->buffer[s->range->buf] + s->range->off, s->len);
    if (!x) return TUTTI_ERR_MEMORY;
    *message = (struct tt_message){.left = 1};
    size_t header_bytes = tt_remote_head(exec, m, &packet);
    packet.head.lane = (uint8_t)lane;
    tutti_status status = tt_operation_send(x, m, TT_DISPATCH_DATA, &packet, header_bytes);
    if (status == TUTTI_AGAIN) return TUTTI_OK;
    if (status != TUTTI_OK) return tt_operation_started(x, status);
    message->complete = true;
    tt_operation_free(x);
    return TUTTI_OK;
}

const struct tt_reach tt_reach_remote = {
    .send = start_send, .recv = start_recv, .access = tt_remote_access};

/* ---- Ending ---- */

void tt_remote_end(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    struct tt_remote *remote = t->remote;
    if (!exec->own || exec->plan->opens) tt_remote_release(exec);
    if (tt_unlikely(remote->kept > 0)) leftover(exec);
    remote->pairs |= exec->pairs;
    bool sweep = t->my_done - remote->swept >= t->slots / 2;
    if (tt_likely(!sweep && remote->wanting == 0)) return;
    for (struct tt_mirror *m = remote->mirrors; m; m = m->next)
        if (m->wanted || (sweep && m->fresh)) tt_remote_credit(t, m);
    if (sweep) remote->swept = t->my_done;
}

/* Returns whether the operation is a signal. An execution does not wait for the receiver of a
 * signal, which may have left; if the receiver has died, the network ends the operation. */
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
