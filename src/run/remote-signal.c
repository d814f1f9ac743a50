/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The mirrors that this rank keeps of members on other nodes, and the messages without data that it
 * sends to them.
 */
#include "run/remote-inside.h"

#include <stdio.h>
#include <string.h>

#include "boot/watch.h"
#include "run/compare.h"
#include "run/remote.h"

static tutti_status remote_sent(struct tt_team *t, int rank, tutti_status status);

/* ---- What mirrors hold ---- */

/* Mirrors, and the messages and transfers kept with them. A rank makes the mirror of a member when
 * the first message comes from the member or goes to it, so a rank has as many mirrors as members
 * with which it exchanges messages. The mirrors are freed with the team. */

/* ---- Arrivals ---- */

void tt_arrivals_append(struct tt_arrivals *list, struct tt_arrival *a)
{
    a->next = NULL;
    if (!list->first) list->end = &list->first;
    *list->end = a;
    list->end = &a->next;
}

void tt_arrival_free(struct tt_remote_teams *remote_teams, struct tt_arrival *a)
{
    tutti_receive nowhere = {.to = NULL};
    if (a->pending) (void)tt_msg_receive(remote_teams->context, a->pending, &nowhere);
    tt_free(a->copy);
    tt_free(a->opening);
    tt_free(a);
}

void tt_arrivals_drop(struct tt_remote_teams *remote_teams, struct tt_arrivals *list)
{
    struct tt_arrival *a = list->first;
    for (struct tt_arrival *next; a; a = next) {
        next = a->next;
        a->team = NULL;
        a->dropped = true;
        if (a->ready) tt_arrival_free(remote_teams, a);
    }
    *list = (struct tt_arrivals){NULL, NULL};
}

/* ---- Mirrors ---- */

/* Returns the view of a member whose mirror is given. */
static struct tt_view view_of(const struct tt_team *t, char *mirror)
{
    const struct tt_block *layout = &t->remote->layout;
    return (struct tt_view){mirror, layout, mirror + layout->lanes};
}

struct tt_view tt_remote_unknown(const struct tt_team *t)
{
    return view_of(t, t->remote->blank);
}

tutti_status tt_remote_new(struct tt_team *t, const struct tt_block *layout)
{
    struct tt_remote *remote = tt_calloc(1, sizeof *remote);
    if (!remote) return TUTTI_ERR_MEMORY;
    t->remote = remote;
    remote->layout = *layout;
    remote->blank = tt_alloc_lines((size_t)layout->bytes);
    remote->mirror = tt_calloc((size_t)t->map.p, sizeof(struct tt_mirror *));
    return remote->blank && remote->mirror ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

/* Discards all messages that wait in the team's mirrors. */
static void remote_drop(struct tt_team *t)
{
    for (struct tt_mirror *m = t->remote->mirrors; m; m = m->next) {
        tt_arrivals_drop(t->remote_teams, &m->early);
        m->coming = 0;
        tt_arrivals_drop(t->remote_teams, &m->arrived);
    }
    t->remote->early = t->remote->kept = 0;
}

static void free_mirror(struct tt_mirror *m)
{
    for (int s = 0; s < TT_WINDOWS; s++) tt_free(m->opening[s]);
    for (int lane = 0; lane < TT_LANES; lane++) tt_free(m->ends[lane]);
    tt_free(m->block);
    tt_free(m);
}

void tt_remote_free(struct tt_team *t)
{
    struct tt_remote *remote = t->remote;
    if (!remote) return;
    struct tt_team **link = t->remote_teams ? &t->remote_teams->teams : NULL;
    while (link && *link && *link != t) link = &(*link)->remote->next;
    if (link && *link) *link = remote->next;
    remote_drop(t);
    for (struct tt_mirror *m = remote->mirrors, *next; m; m = next) {
        next = m->next;
        free_mirror(m);
    }
    tt_free(remote->mirror);
    tt_free(remote->blank);
    tt_free(remote);
}

static tutti_status fill_mirror(struct tt_team *t, int rank, struct tt_mirror *m)
{
    m->rank = rank;
    m->block = tt_alloc_lines((size_t)t->remote->layout.bytes);
    if (!m->block) return TUTTI_ERR_MEMORY;
    return tt_msg_endpoint(t->remote_teams->msg, t->job_rank[rank], 0, &m->to);
}

struct tt_mirror *tt_mirror_of(struct tt_team *t, int rank)
{
    struct tt_remote *remote = t->remote;
    struct tt_mirror *m = remote->mirror[rank];
    if (tt_likely(m != NULL)) return m;
    if (!(m = tt_calloc(1, sizeof *m))) return NULL;
    if (fill_mirror(t, rank, m) != TUTTI_OK) {
        tt_free(m->block);
        tt_free(m);
        return NULL;
    }
    m->next = remote->mirrors;
    remote->mirrors = remote->mirror[rank] = m;
    t->view[rank] = view_of(t, m->block);
    return m;
}

/* ---- What this rank knows of members on other nodes ---- */

/* Members on other nodes send messages about what they have called, opened, signalled and ended.
 * This rank stores that information in the sender's mirror (struct tt_mirror). A mirror has the
 * same form as the block of a member of this node, so a step that waits reads both in the same
 * way. */

/* ---- Executions ---- */

bool tt_remote_has_left(const struct tt_team *t, int rank)
{
    const struct tt_mirror *m = t->remote->mirror[rank];
    return m && m->done == TT_REMOTE_LEFT;
}

bool tt_remote_has_opened(const struct tt_team *t, int rank, uint64_t number)
{
    const struct tt_mirror *m = t->remote->mirror[rank];
    return m && m->opens[tt_team_slot(t, number)] == number + 1;
}

/* ---- Openings ---- */

bool tt_remote_is_opening(const struct tt_remote_opening *o, int64_t bytes)
{
    if (bytes < (int64_t)sizeof *o || o->keyed > 7 ||
        o->keys != (uint32_t)__builtin_popcount(o->keyed))
        return false;
    for (int b = TT_IN; b <= TT_TMP; b++)
        if (o->offset[b] < 0 || o->bytes[b] < 0 || o->offset[b] > INT64_MAX / 4 ||
            o->bytes[b] > INT64_MAX / 4)
            return false;
    return bytes == (int64_t)(sizeof *o + o->keys * sizeof(tutti_key));
}

static tt_address address_of(const struct tt_remote_opening *o, int b)
{
    return o->keyed & 1u << b ? TT_REMOTE_ADDRESS + (uint64_t)o->offset[b] : 0;
}

/* Stores the opening in the mirror, which owns the opening from now on. */
static void open_there(struct tt_team *t, struct tt_mirror *m, uint64_t number,
                       struct tt_remote_opening *o)
{
    int slot = tt_team_slot(t, number);
    struct tt_opening *opening = tt_team_opening(t, m->rank, slot);
    struct tt_segment_opening *segment = tt_team_segment(t, m->rank, slot, t->me);
    for (int b = TT_IN; b <= TT_TMP; b++) {
        opening->at[b] = address_of(o, b);
        opening->bytes[b] = o->bytes[b];
        if (b == TT_TMP) continue;
        segment->at[b] = opening->at[b];
        segment->bytes[b] = o->bytes[b];
    }
    segment->begun = number + 1;
    tt_free(m->opening[slot]);
    m->opening[slot] = o;
    m->opens[slot] = number + 1;
}

/* ---- Signals that came ---- */

static void raise_there(struct tt_team *t, struct tt_mirror *m, const struct tt_remote_head *head)
{
    int slot = tt_team_slot(t, head->number);
    _Atomic uint64_t *word = tt_team_signal(t, m->rank, slot, head->lane);
    uint64_t value = tt_team_base(t, head->number) + head->value;
    if (value > atomic_load_explicit(word, memory_order_relaxed))
        atomic_store_explicit(word, value, memory_order_release);
}

void tt_remote_signalled(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a)
{
    const struct tt_remote_head *head = &a->packet.head;
    if (a->opening) open_there(t, m, head->number, a->opening);
    a->opening = NULL;
    if (head->lane != TT_NO_LANE) raise_there(t, m, head);
    if (!tt_remote_is_last(t, head->number) || t->broken != TUTTI_OK) return;
    tutti_status status = tt_compare_pair(t, head->number, m->rank);
    if (status != TUTTI_OK) tt_team_break(t, status);
}

/* ---- Sending ---- */

/* Besides data, this rank sends to members on other nodes: signals, its calls, the buffers that it
 * opens, how many executions it has ended, and that a team is broken. */

/* ---- Posting ---- */

static void count_sent(tutti_context *context, void *arg, tutti_status status)
{
    struct tt_remote_teams *remote_teams = arg;
    (void)context;
    (void)status;
    remote_teams->under_way--;
}

tutti_status tt_remote_post(struct tt_team *t, struct tt_mirror *m, int dispatch, const void *head,
                            size_t bytes)
{
    struct tt_remote_teams *remote_teams = t->remote_teams;
    remote_teams->under_way++;
    tutti_send send = {.to = m->to,
                       .dispatch = dispatch,
                       .header = head,
                       .header_bytes = bytes,
                       .type = TUTTI_U8,
                       .sent = count_sent,
                       .arg = remote_teams};
    tutti_status status = tt_msg_send(remote_teams->context, &send);
    if (tt_unlikely(status != TUTTI_OK)) remote_teams->under_way--;
    return remote_sent(t, m->rank, status);
}

/* Breaks the team if `status` is an error of sending a message. No step of this rank waits for that
 * message, and so none reports the error; but a member may wait for the message, so the team cannot
 * go on. */
static void break_unless_sent(struct tt_team *t, tutti_status status)
{
    if (tt_unlikely(status > TUTTI_AGAIN)) tt_team_break(t, status);
}

void tt_remote_lost(struct tt_team *t, int rank)
{
    tt_watch_lost(t->fabric, t->job_rank[rank]);
}

/* Handles the status of sending to a member. If the status is PEER, marks the member as failed,
 * unless the member has left, and returns OK. Returns any other status unchanged. */
static tutti_status remote_sent(struct tt_team *t, int rank, tutti_status status)
{
    if (tt_likely(status != TUTTI_ERR_PEER)) return status;
    tt_error_undo();
    if (!tt_remote_has_left(t, rank)) tt_remote_lost(t, rank);
    return TUTTI_OK; /* the caller finds the failure in the job's page */
}

/* Copies the signature into the packet. In a call with contents (TT_SIGNATURE_CONTENTS), also
 * copies the contents of the pieces that this rank and the member have for each other, if this
 * rank's segment entry for the member is of execution `number`. In a neighbourhood collective, the
 * entry for a member that is no neighbour is of an older call. A call with contents has made the
 * entries. */
void tt_remote_sign(const struct tt_team *t, struct tt_mirror *m, uint64_t number,
                    const struct tt_call_signature *signature, struct tt_remote_packet *packet)
{
    struct tt_call_signature w = *signature;
    int slot = tt_team_slot(t, number);
    bool contents = w.flags & TT_SIGNATURE_CONTENTS &&
                    tt_team_segment(t, t->me, slot, m->rank)->begun == number + 1;
    if (contents) memcpy(w.contents, tt_team_contents(t, t->me, slot, m->rank), sizeof w.contents);
    memcpy(packet->signature, &w, sizeof w);
}

/* ---- Permission to send ---- */

tutti_status tt_remote_ask(struct tt_team *t, struct tt_mirror *m, uint64_t number)
{
    struct tt_remote_head head = {.team = t->remote->id,
                                  .from = (uint32_t)t->me,
                                  .number = number,
                                  .behind =
                                      number > t->my_done ? (uint32_t)(number - t->my_done) : 0,
                                  .flags = TT_REMOTE_ASKS};
    m->asked = number + 1;
    return tt_remote_post(t, m, TT_DISPATCH_CREDIT, &head, sizeof head);
}

/* Returns whether the member has left the team without making this call, and has also left the
 * client or failed, so that this rank would wait for the member in vain. Returns false for a member
 * that has left only this team. Such a member left because the team is broken, and a notice that
 * the team is broken, or that a rank has failed, will end the wait of this rank. */
bool tt_remote_left_before(const struct tt_exec *exec, const struct tt_mirror *m)
{
    const struct tt_team *t = exec->team;
    const struct tt_fabric *f = t->fabric;
    return tt_remote_lacks(exec, m) &&
           tt_common_state(f->job, f->common, t->job_rank[m->rank]) >= TT_RANK_LEFT;
}

void tt_remote_credit(struct tt_team *t, struct tt_mirror *m)
{
    struct tt_remote_head head = {
        .team = t->remote->id, .from = (uint32_t)t->me, .number = t->my_done};
    m->fresh = false;
    if (m->wanted && t->my_done + t->slots >= m->wanted) {
        if (m->settles) head.flags |= TT_REMOTE_SETTLES;
        m->wanted = 0;
        t->remote->wanting--;
    }
    break_unless_sent(t, tt_remote_post(t, m, TT_DISPATCH_CREDIT, &head, sizeof head));
}

/* ---- Opening ---- */

/* Returns the part of buffer b that the rank may access. In a v-collective the size of the part is
 * sent even if the buffer is not opened, so that the receiver can compare it with its own count. */
static struct tt_opened piece_for(const struct tt_exec *exec, int rank, int b)
{
    const struct tt_call *c = exec->call;
    bool opened = exec->plan->opens & 1u << b;
    if (!exec->plan->segments || b == TT_TMP)
        return (struct tt_opened){0, opened ? exec->bytes[b] : 0};
    const int64_t *counts = b == TT_IN ? c->in_counts : c->out_counts;
    const int64_t *displs = b == TT_IN ? c->in_displs : c->out_displs;
    int64_t begin = displs ? displs[rank] * c->sz : 0;
    return (struct tt_opened){begin, begin + (counts ? counts[rank] * c->sz : exec->bytes[b])};
}

struct tt_opened tt_remote_opened(const struct tt_exec *exec, int b)
{
    struct tt_opened all = {0, 0};
    for (int r = 0; r < exec->team->map.p; r++) {
        struct tt_opened piece = piece_for(exec, r, b);
        if (piece.begin == piece.end) continue;
        bool first = all.begin == all.end;
        all.begin = first ? piece.begin : tt_min(all.begin, piece.begin);
        all.end = first ? piece.end : tt_max(all.end, piece.end);
        if (!exec->plan->segments || b == TT_TMP) break;
    }
    return all;
}

/* Sets *key to the network key of this rank's own buffer b (IN, OUT or TMP), by which members on
 * other nodes access what this rank opens of it. The first call registers this part of the buffer
 * with the network; it stays registered until the execution ends. */
static tutti_status key_of(struct tt_exec *exec, int b, tutti_key *key)
{
    tutti_region **region = &exec->remote->region[b];
    if (!*region) {
        struct tt_opened all = tt_remote_opened(exec, b);
        exec->remote->region_at[b] = all.begin;
        TT_TRY(tt_msg_region(exec->team->remote_teams->msg, exec->buffer[b] + all.begin,
                             (size_t)(all.end - all.begin), region));
    }
    return tt_msg_region_key(*region, key);
}

static tutti_status open_buffer(struct tt_exec *exec, int rank, int b, struct tt_remote_opening *o)
{
    struct tt_opened piece = piece_for(exec, rank, b);
    o->offset[b] = 0;
    o->bytes[b] = piece.end - piece.begin;
    if (!(exec->plan->opens & 1u << b) || o->bytes[b] == 0) return TUTTI_OK;
    TT_TRY(key_of(exec, b, &o->key[o->keys]));
    o->offset[b] = piece.begin - exec->remote->region_at[b];
    o->keyed |= 1u << b;
    o->keys++;
    return TUTTI_OK;
}

static size_t opening_bytes(uint32_t keys)
{
    return sizeof(struct tt_remote_opening) + keys * sizeof(tutti_key);
}

static tutti_status make_opening(struct tt_exec *exec, int rank, struct tt_remote_opening **made)
{
    struct tt_remote_opening *o = tt_alloc(opening_bytes(3));
    tutti_status status = o ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no memory to open buffers");
    if (o) o->keyed = o->keys = 0;
    for (int b = TT_IN; b <= TT_TMP && status == TUTTI_OK; b++)
        status = open_buffer(exec, rank, b, o);
    *made = o;
    if (status != TUTTI_OK) tt_free(o);
    return status;
}

/* ---- Signals to give ---- */

static bool has_opening(const struct tt_exec *exec, const struct tt_mirror *m)
{
    return (exec->plan->opens || exec->plan->segments) && m->opened[exec->slot] != exec->number + 1;
}

/* Sends a signal with `opening`, which may be NULL. The opening is freed when the signal has been
 * sent. Only then can the execution complete: after its end, the program might not call the library
 * again for a long time, while the receiver waits for the signal. */
static tutti_status post_signal(struct tt_exec *exec, struct tt_mirror *m,
                                const struct tt_remote_packet *packet, size_t header_bytes,
                                struct tt_remote_opening *opening)
{
    char *at = (char *)opening;
    int64_t bytes = opening ? (int64_t)opening_bytes(opening->keys) : 0;
    struct tt_operation *x = tt_operation_begin(exec, NULL, m->rank, at, bytes);
    if (!x) {
        tt_free(opening);
        return TUTTI_ERR_MEMORY;
    }
    x->payload = opening;
    tutti_status status = tt_operation_send(x, m, TT_DISPATCH_RUN, packet, header_bytes);
    if (status == TUTTI_AGAIN) return TUTTI_OK;
    tt_operation_free(x);
    return remote_sent(exec->team, m->rank, status);
}

static tutti_status signal_one(struct tt_exec *exec, struct tt_mirror *m, uint32_t lane,
                               uint32_t value)
{
    struct tt_remote_packet packet;
    struct tt_remote_opening *opening = NULL;
    size_t bytes = tt_remote_head(exec, m, &packet);
    packet.head.lane = (uint8_t)lane;
    packet.head.value = value;
    if (tt_unlikely(has_opening(exec, m))) {
        /* The opening is allocated, because the message may be sent after this function returns. */
        TT_TRY(make_opening(exec, m->rank, &opening));
        m->opened[exec->slot] = exec->number + 1;
    }
    return post_signal(exec, m, &packet, bytes, opening);
}

/* Returns the i-th of the ranks that get the signal of step s; -1: that rank is on this node, so it
 * gets the signal through shared memory. */
static int audience(const struct tt_exec *exec, const struct tt_plain *s, int i)
{
    const struct tt_team *t = exec->team;
    int r = s->peer == TT_ALL ? i : s->peer == TT_SET ? s->set[i] : s->peer;
    return tt_team_is_remote(t, r) ? r : -1;
}

static int audience_size(const struct tt_exec *exec, const struct tt_plain *s)
{
    return s->peer == TT_ALL ? exec->team->map.p : s->peer == TT_SET ? (int)s->nops : 1;
}

tutti_status tt_remote_may_signal(struct tt_exec *exec, const struct tt_plain *s)
{
    struct tt_mirror *m;
    tutti_status all = TUTTI_OK;
    for (int i = 0, n = audience_size(exec, s); i < n; i++) {
        int r = audience(exec, s, i);
        tutti_status status = r < 0 ? TUTTI_OK : tt_remote_may_send(exec, r, &m);
        if (status > TUTTI_AGAIN) return status;
        if (status != TUTTI_OK) all = status;
    }
    return all;
}

tutti_status tt_remote_signal(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s)
{
    for (int i = 0, n = audience_size(exec, s); i < n; i++) {
        int r = audience(exec, s, i);
        if (r >= 0) TT_TRY(signal_one(exec, exec->team->remote->mirror[r], lane, s->value));
    }
    return TUTTI_OK;
}

/* ---- Long waits and failures ---- */

void tt_remote_send_call(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    for (int r = 0; r < t->map.p && exec->state == TT_EXEC_RUNNING; r++) {
        if (!tt_team_is_remote(t, r) || !tt_exec_waits_for(exec, r)) continue;
        struct tt_mirror *m = tt_mirror_of(t, r);
        if (m) tt_remote_send_signature(exec, m);
    }
}

void tt_remote_send_signature(struct tt_exec *exec, struct tt_mirror *m)
{
    bool sent = m->signature_sent[exec->slot] == exec->number + 1 && !has_opening(exec, m);
    if (sent || m->done == TT_REMOTE_LEFT || tt_remote_may_send(exec, m->rank, &m) != TUTTI_OK)
        return;
    break_unless_sent(exec->team, signal_one(exec, m, TT_NO_LANE, 0));
}

/* The text of an error that is being sent. This memory may outlast the team. */
struct remote_signal_finding {
    struct tt_remote_teams *remote_teams;
    char text[];
};

static void finding_sent(tutti_context *context, void *arg, tutti_status status)
{
    struct remote_signal_finding *finding = arg;
    (void)context;
    (void)status;
    finding->remote_teams->under_way--;
    tt_free(finding);
}

/* Notifies the member that rank t->culprit of the job has failed, with `text`, the text that is
 * recorded for that failure. */
static tutti_status post_finding(struct tt_team *t, struct tt_mirror *m, const char *text,
                                 const struct tt_remote_broken *broken)
{
    size_t bytes = strlen(text) + 1;
    struct remote_signal_finding *finding = tt_alloc(sizeof *finding + bytes);
    if (!finding) return TUTTI_ERR_MEMORY;
    finding->remote_teams = t->remote_teams;
    memcpy(finding->text, text, bytes);
    tutti_send send = {.to = m->to,
                       .dispatch = TT_DISPATCH_BROKEN,
                       .header = broken,
                       .header_bytes = sizeof *broken,
                       .data = finding->text,
                       .count = (int64_t)bytes,
                       .type = TUTTI_U8,
                       .sent = finding_sent,
                       .arg = finding};
    t->remote_teams->under_way++;
    tutti_status status = tt_msg_send(t->remote_teams->context, &send);
    if (status == TUTTI_OK) return TUTTI_OK;
    t->remote_teams->under_way--;
    tt_free(finding);
    return remote_sent(t, m->rank, status);
}

/* Notifies the member that the team is broken, unless this was done before. Sends what is recorded
 * about the failure of rank t->culprit: its cause, the text of its error, and the team on which the
 * error occurred, which may be another team than this one. */
static void send_broken(struct tt_team *t, struct tt_mirror *m)
{
    struct tt_failure failure = tt_common_failure(t->fabric->job, t->fabric->common, t->culprit);
    struct tt_remote_broken broken = {.team = failure.team,
                                      .rank = t->culprit,
                                      .cause = (int32_t)failure.cause,
                                      .code = failure.code};
    if (m->sent_broken || failure.cause == TT_CAUSE_NONE) return;
    m->sent_broken = true;
    if (!failure.why || post_finding(t, m, failure.why, &broken) != TUTTI_OK)
        (void)tt_remote_post(t, m, TT_DISPATCH_BROKEN, &broken, sizeof broken);
}

void tt_remote_broke(struct tt_team *t)
{
    remote_drop(t);
    for (struct tt_mirror *m = t->remote->mirrors; m && t->culprit >= 0; m = m->next)
        if (m->done != TT_REMOTE_LEFT && t->job_rank[m->rank] != t->culprit) send_broken(t, m);
}

/* Copies the text of the error that is in a message. The text is so short that it always comes in
 * one packet. */
static void take_finding(const tutti_message *message, char text[TT_FINDING_TEXT])
{
    bool some = message->data && message->bytes > 0;
    int n = some ? (int)tt_min(message->bytes, TT_FINDING_TEXT - 1) : 0;
    snprintf(text, TT_FINDING_TEXT, "%.*s", n, some ? (const char *)message->data : "");
}

void tt_remote_take_broken(tutti_context *context, const tutti_message *message,
                           tutti_receive *receive, void *arg)
{
    struct tt_remote_teams *remote_teams = arg;
    struct tt_remote_broken broken;
    char text[TT_FINDING_TEXT];
    const struct tt_fabric *f = remote_teams->f;
    (void)context;
    (void)receive;
    if (message->header_bytes != sizeof broken) return;
    memcpy(&broken, message->header, sizeof broken);
    if (broken.rank < 0 || broken.rank >= f->size || broken.cause < 0 ||
        broken.cause > TT_CAUSE_SILENT)
        return;
    if (tt_common_state(f->job, f->common, message->rank) == TT_RANK_FAILED) return;
    take_finding(message, text);
    struct tt_failure failure = {(enum tt_cause)broken.cause, broken.code, broken.team, text};
    tt_common_believe(f->job, f->common, broken.rank, &failure);
}

/* ---- Leaving ---- */

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

/* How long this rank waits until its messages are sent, in nanoseconds, if a rank has failed. In
 * that case some of the other ranks may have stopped receiving messages. */
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
