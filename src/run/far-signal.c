/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes to members on other nodes besides data: signals, what is called and opened, how far
 * this rank is, and that it does not go on.
 */
#include <string.h>

#include "boot/watch.h"
#include "run/remote.h"

/* ---- Posting ---- */

static void count_sent(tutti_context *context, void *arg, tutti_status status)
{
    struct tt_far *far = arg;
    (void)context;
    (void)status;
    far->under_way--;
}

tutti_status tt_far_post(struct tt_team *t, struct tt_mirror *m, int dispatch, const void *head,
                         size_t bytes)
{
    struct tt_far *far = t->far;
    far->under_way++;
    tutti_send send = {.to = m->to,
                       .dispatch = dispatch,
                       .header = head,
                       .header_bytes = bytes,
                       .type = TUTTI_U8,
                       .sent = count_sent,
                       .arg = far};
    tutti_status status = tt_msg_send(far->context, &send);
    if (tt_unlikely(status != TUTTI_OK)) far->under_way--;
    return tt_far_sent(t, m->rank, status);
}

void tt_far_lost(struct tt_team *t, int rank)
{
    struct tt_fabric *f = t->fabric;
    if (tt_watch_lost(f, t->job_rank[rank])) return;
    tt_common_fail(f->job, f->common, t->job_rank[rank], TT_CAUSE_LOST, 0);
}

tutti_status tt_far_sent(struct tt_team *t, int rank, tutti_status status)
{
    if (tt_likely(status != TUTTI_ERR_PEER)) return status;
    if (!tt_far_has_left(t, rank)) tt_far_lost(t, rank);
    return TUTTI_OK; /* which is found in the job's page, like any other failure */
}

/* ---- May it be sent? ---- */

/* Asks a rank to tell when it has ended what stands before this execution. */
static tutti_status ask(struct tt_team *t, struct tt_mirror *m, uint64_t number)
{
    struct tt_far_head head = {.team = t->remote->id,
                               .from = (uint32_t)t->me,
                               .number = number,
                               .behind = number > t->my_done ? (uint32_t)(number - t->my_done) : 0,
                               .flags = TT_FAR_ASKS};
    m->asked = number + 1;
    return tt_far_post(t, m, TT_DISPATCH_CREDIT, &head, sizeof head);
}

/* The member has left the team without making this call. */
static bool lacks_call(const struct tt_exec *exec, const struct tt_mirror *m)
{
    return m->done == TT_FAR_LEFT && (int32_t)(m->left_after - (uint32_t)(exec->number + 1)) < 0;
}

/* A member that has left the client, too, is missed. One that has only broken the team is not: its
 * notice, or that of a failure, ends the wait. */
bool tt_far_left_before(const struct tt_exec *exec, const struct tt_mirror *m)
{
    const struct tt_team *t = exec->team;
    const struct tt_fabric *f = t->fabric;
    return lacks_call(exec, m) &&
           tt_common_state(f->job, f->common, t->job_rank[m->rank]) >= TT_RANK_LEFT;
}

tutti_status tt_far_may_send(struct tt_exec *exec, int rank, struct tt_mirror **found)
{
    struct tt_team *t = exec->team;
    struct tt_mirror *m = *found = tt_mirror_of(t, rank);
    if (tt_unlikely(!m)) return tt_fail(TUTTI_ERR_MEMORY, "no memory to send to rank %d", rank);
    if (tt_unlikely(m->done == TT_FAR_LEFT)) return lacks_call(exec, m) ? TUTTI_AGAIN : TUTTI_OK;
    if (tt_likely(exec->number < m->done + t->slots)) return TUTTI_OK;
    if (m->asked <= exec->number) TT_TRY(ask(t, m, exec->number));
    return TUTTI_AGAIN;
}

void tt_far_credit(struct tt_team *t, struct tt_mirror *m)
{
    struct tt_far_head head = {
        .team = t->remote->id, .from = (uint32_t)t->me, .number = t->my_done};
    m->fresh = false;
    if (m->wanted && t->my_done + t->slots >= m->wanted) {
        if (m->settles) head.flags |= TT_FAR_SETTLES;
        m->wanted = 0;
        t->remote->wanting--;
    }
    (void)tt_far_post(t, m, TT_DISPATCH_CREDIT, &head, sizeof head);
}

void tt_far_end(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    struct tt_remote *remote = t->remote;
    tt_far_release(exec);
    tt_far_leftover(exec);
    remote->pairs |= exec->pairs;
    bool sweep = t->my_done - remote->swept >= t->slots / 2;
    if (tt_likely(!sweep && remote->wanting == 0)) return;
    for (struct tt_mirror *m = remote->mirrors; m; m = m->next)
        if (m->wanted || (sweep && m->fresh)) tt_far_credit(t, m);
    if (sweep) remote->swept = t->my_done;
}

/* ---- What stands before every message of an execution ---- */

size_t tt_far_head(struct tt_exec *exec, struct tt_mirror *m, struct tt_far_packet *packet)
{
    struct tt_team *t = exec->team;
    bool what = m->told[exec->slot] != exec->shape;
    packet->head = (struct tt_far_head){.team = t->remote->id,
                                        .from = (uint32_t)t->me,
                                        .number = exec->number,
                                        .behind = (uint32_t)(exec->number - t->my_done),
                                        .history = (uint32_t)exec->mark,
                                        .flags = what ? TT_FAR_WHAT : 0};
    m->fresh = false;
    m->named[exec->slot] = exec->number + 1;
    if (tt_likely(!what)) return sizeof packet->head;
    m->told[exec->slot] = exec->shape;
    memcpy(packet->what, exec->what, sizeof packet->what);
    return sizeof *packet;
}

/* ---- The last comparison ---- */

/* The last call, which has ended here: nothing is waited for, and whether it arrives is the
 * receiver's affair. */
static void name_last(struct tt_team *t, struct tt_mirror *m)
{
    const int slot = tt_team_slot(t, t->next - 1);
    uint64_t mark =
        atomic_load_explicit(&tt_team_line(t, t->me, slot)->shape, memory_order_relaxed);
    struct tt_far_packet packet = {.head = {.team = t->remote->id,
                                            .from = (uint32_t)t->me,
                                            .number = t->next - 1,
                                            .history = (uint32_t)mark,
                                            .lane = TT_NO_LANE,
                                            .flags = TT_FAR_WHAT}};
    memcpy(packet.what, tt_team_what(t, t->me, slot), sizeof packet.what);
    (void)tt_far_post(t, m, TT_DISPATCH_RUN, &packet, sizeof packet);
}

/* Few are compared with all, many with those at distances 1, 2, 4 ...: these link each with each.
 * An alltoallv has sent something to all anyway. */
static bool is_partner(const struct tt_team *t, int rank)
{
    enum { FEW = 8 };
    int up = (rank - t->me + t->map.p) % t->map.p, down = t->map.p - up;
    bool near = (up & (up - 1)) == 0 || (down & (down - 1)) == 0;
    return near || t->map.p <= FEW || t->remote->pairs;
}

void tt_far_compare(struct tt_team *t, int rank)
{
    const int slot = tt_team_slot(t, t->next - 1);
    struct tt_mirror *m = is_partner(t, rank) ? tt_mirror_of(t, rank) : NULL;
    if (!m || m->done == TT_FAR_LEFT || m->named[slot] == t->next) return;
    if (t->next - 1 >= m->done + t->slots) {
        if (m->asked < t->next) (void)ask(t, m, t->next - 1);
        return;
    }
    m->named[slot] = t->next;
    name_last(t, m);
}

/* A question that is answered when the receiver has ended all calls that this rank has made: S
 * less, as what it asks for is leave to begin an execution. */
static void ask_last(struct tt_team *t, struct tt_mirror *m)
{
    struct tt_far_head head = {.team = t->remote->id,
                               .from = (uint32_t)t->me,
                               .number = t->next - 1 + t->slots,
                               .behind = (uint32_t)t->slots - 1,
                               .flags = TT_FAR_ASKS | TT_FAR_SETTLES};
    m->named_last = true;
    (void)tt_far_post(t, m, TT_DISPATCH_CREDIT, &head, sizeof head);
}

/* Nothing can be asked of it any more. What it has sent before it left is looked at first. */
static enum tt_rank_state state_of(struct tt_team *t, int rank)
{
    const struct tt_fabric *f = t->fabric;
    enum tt_rank_state state = tt_common_state(f->job, f->common, t->job_rank[rank]);
    if (state == TT_RANK_LEFT) tt_team_advance(t);
    return state;
}

bool tt_far_has_pairs(const struct tt_team *t)
{
    return t->remote && t->remote->pairs;
}

tutti_status tt_far_settle(struct tt_team *t, int rank)
{
    if (!is_partner(t, rank)) return TUTTI_OK;
    struct tt_mirror *m = tt_mirror_of(t, rank);
    if (!m || m->settled) return TUTTI_OK;
    enum tt_rank_state state = state_of(t, rank);
    if (m->done == TT_FAR_LEFT)
        return (int32_t)(m->left_after - (uint32_t)t->next) < 0 ? TUTTI_ERR_PEER : TUTTI_OK;
    if (state == TT_RANK_LEFT) return TUTTI_OK;
    if (m->named_last || state == TT_RANK_FAILED) return TUTTI_AGAIN;
    /* As in any execution, the member must have ended the execution before in the same slot. */
    if (t->next - 1 >= m->done + t->slots) {
        if (m->asked < t->next) (void)ask(t, m, t->next - 1);
        return TUTTI_AGAIN;
    }
    name_last(t, m);
    ask_last(t, m);
    return TUTTI_AGAIN;
}

/* ---- Opening ---- */

/* The piece that one may touch; of v-collectives it is told also where it is not opened, to be
 * compared. */
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

struct tt_opened tt_far_opened(const struct tt_exec *exec, int b)
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

/* The key of an opened buffer, which is registered as long as the execution lasts. */
static tutti_status key_of(struct tt_exec *exec, int b, tutti_key *key)
{
    tutti_region **region = &exec->abroad->region[b];
    if (!*region) {
        struct tt_opened all = tt_far_opened(exec, b);
        exec->abroad->region_at[b] = all.begin;
        TT_TRY(tt_msg_region(exec->team->far->msg, exec->buffer[b] + all.begin,
                             (size_t)(all.end - all.begin), region));
    }
    return tt_msg_region_key(*region, key);
}

static tutti_status open_buffer(struct tt_exec *exec, int rank, int b, struct tt_far_opening *o)
{
    struct tt_opened piece = piece_for(exec, rank, b);
    o->offset[b] = 0;
    o->bytes[b] = piece.end - piece.begin;
    if (!(exec->plan->opens & 1u << b) || o->bytes[b] == 0) return TUTTI_OK;
    TT_TRY(key_of(exec, b, &o->key[o->keys]));
    o->offset[b] = piece.begin - exec->abroad->region_at[b];
    o->keyed |= 1u << b;
    o->keys++;
    return TUTTI_OK;
}

static size_t opening_bytes(uint32_t keys)
{
    return sizeof(struct tt_far_opening) + keys * sizeof(tutti_key);
}

static tutti_status make_opening(struct tt_exec *exec, int rank, struct tt_far_opening **made)
{
    struct tt_far_opening *o = tt_alloc(opening_bytes(3));
    tutti_status status = o ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no memory to open buffers");
    if (o) o->keyed = o->keys = 0;
    for (int b = TT_IN; b <= TT_TMP && status == TUTTI_OK; b++)
        status = open_buffer(exec, rank, b, o);
    *made = o;
    if (status != TUTTI_OK) tt_free(o);
    return status;
}

/* ---- Signals ---- */

static bool has_opening(const struct tt_exec *exec, const struct tt_mirror *m)
{
    return (exec->plan->opens || exec->plan->segments) && m->opened[exec->slot] != exec->number + 1;
}

static void signal_sent(tutti_context *context, void *arg, tutti_status status)
{
    struct tt_transfer *x = arg;
    (void)context;
    (void)status;
    x->far->under_way--;
    tt_transfer_free(x);
}

/* The execution is not over before it has gone: its caller may not advance anything for a long time
 * then, and the other one waits for it. `payload` is taken over. */
static tutti_status post_signal(struct tt_exec *exec, struct tt_mirror *m, tutti_send *send,
                                void *payload)
{
    struct tt_team *t = exec->team;
    struct tt_transfer *x = tt_transfer_new(t->far);
    if (!x) {
        tt_free(payload);
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for a signal");
    }
    x->peer = m->rank;
    x->payload = payload;
    tt_transfer_list(x, exec);
    send->sent = signal_sent;
    send->arg = x;
    t->far->under_way++;
    tutti_status status = tt_msg_send(t->far->context, send);
    if (tt_likely(status == TUTTI_OK)) return TUTTI_OK;
    t->far->under_way--;
    tt_transfer_free(x);
    return tt_far_sent(t, m->rank, status);
}

/* With the opening, which is copied: the message may go later. */
static tutti_status post_opening(struct tt_exec *exec, struct tt_mirror *m, tutti_send *send)
{
    struct tt_far_opening *o;
    TT_TRY(make_opening(exec, m->rank, &o));
    m->opened[exec->slot] = exec->number + 1;
    send->data = o;
    send->count = (int64_t)opening_bytes(o->keys);
    return post_signal(exec, m, send, o);
}

static tutti_status signal_one(struct tt_exec *exec, struct tt_mirror *m, uint32_t lane,
                               uint32_t value)
{
    struct tt_far_packet packet;
    size_t bytes = tt_far_head(exec, m, &packet);
    packet.head.lane = (uint8_t)lane;
    packet.head.value = value;
    tutti_send send = {.to = m->to,
                       .dispatch = TT_DISPATCH_RUN,
                       .header = &packet,
                       .header_bytes = bytes,
                       .type = TUTTI_U8};
    return tt_unlikely(has_opening(exec, m)) ? post_opening(exec, m, &send)
                                             : post_signal(exec, m, &send, NULL);
}

/* The i-th rank that a signal is for; -1: none, or not far. */
static int audience(const struct tt_exec *exec, const struct tt_plain *s, int i)
{
    const struct tt_team *t = exec->team;
    int r = s->peer == TT_ALL ? i : s->peer == TT_SET ? s->set[i] : s->peer;
    return tt_team_is_far(t, r) ? r : -1;
}

static int audience_size(const struct tt_exec *exec, const struct tt_plain *s)
{
    return s->peer == TT_ALL ? exec->team->map.p : s->peer == TT_SET ? (int)s->nops : 1;
}

tutti_status tt_far_may_signal(struct tt_exec *exec, const struct tt_plain *s)
{
    struct tt_mirror *m;
    tutti_status all = TUTTI_OK;
    for (int i = 0, n = audience_size(exec, s); i < n; i++) {
        int r = audience(exec, s, i);
        tutti_status status = r < 0 ? TUTTI_OK : tt_far_may_send(exec, r, &m);
        if (status > TUTTI_AGAIN) return status;
        if (status != TUTTI_OK) all = status;
    }
    return all;
}

tutti_status tt_far_signal(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s)
{
    for (int i = 0, n = audience_size(exec, s); i < n; i++) {
        int r = audience(exec, s, i);
        if (r >= 0) TT_TRY(signal_one(exec, exec->team->remote->mirror[r], lane, s->value));
    }
    return TUTTI_OK;
}

/* ---- Waiting long, and failing ---- */

void tt_far_tell(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    for (int r = 0; r < t->map.p && exec->state == TT_EXEC_RUNNING; r++) {
        if (!tt_team_is_far(t, r) || !tt_exec_waits_for(exec, r)) continue;
        struct tt_mirror *m = tt_mirror_of(t, r);
        if (m) tt_far_name(exec, m);
    }
}

void tt_far_name(struct tt_exec *exec, struct tt_mirror *m)
{
    bool told = m->named[exec->slot] == exec->number + 1 && !has_opening(exec, m);
    if (told || m->done == TT_FAR_LEFT || tt_far_may_send(exec, m->rank, &m) != TUTTI_OK) return;
    (void)signal_one(exec, m, TT_NO_LANE, 0);
}

/* A text that is on its way, longer perhaps than the team lasts. */
struct finding {
    struct tt_far *far;
    char text[];
};

static void finding_sent(tutti_context *context, void *arg, tutti_status status)
{
    struct finding *finding = arg;
    (void)context;
    (void)status;
    finding->far->under_way--;
    tt_free(finding);
}

/* Sends the text about calls that do not match with it. */
static tutti_status post_finding(struct tt_team *t, struct tt_mirror *m,
                                 const struct tt_far_broken *broken)
{
    size_t bytes = strlen(t->broken_text) + 1;
    struct finding *finding = tt_alloc(sizeof *finding + bytes);
    if (!finding) return TUTTI_ERR_MEMORY;
    finding->far = t->far;
    memcpy(finding->text, t->broken_text, bytes);
    tutti_send send = {.to = m->to,
                       .dispatch = TT_DISPATCH_BROKEN,
                       .header = broken,
                       .header_bytes = sizeof *broken,
                       .data = finding->text,
                       .count = (int64_t)bytes,
                       .type = TUTTI_U8,
                       .sent = finding_sent,
                       .arg = finding};
    t->far->under_way++;
    tutti_status status = tt_msg_send(t->far->context, &send);
    if (status == TUTTI_OK) return TUTTI_OK;
    t->far->under_way--;
    tt_free(finding);
    return tt_far_sent(t, m->rank, status);
}

static void tell_broken(struct tt_team *t, struct tt_mirror *m)
{
    const struct tt_fabric *f = t->fabric;
    const struct tt_fate *fate = tt_common_fate(f->job, f->common, t->culprit);
    struct tt_far_broken broken = {.team = t->id,
                                   .rank = t->culprit,
                                   .cause = (int32_t)atomic_load(&fate->cause),
                                   .code = atomic_load(&fate->code)};
    if (m->told_broken || broken.cause == TT_CAUSE_NONE) return;
    m->told_broken = true;
    if (t->broken != TUTTI_ERR_MISMATCH || post_finding(t, m, &broken) != TUTTI_OK)
        (void)tt_far_post(t, m, TT_DISPATCH_BROKEN, &broken, sizeof broken);
}

void tt_far_broke(struct tt_team *t)
{
    tt_remote_drop(t);
    for (struct tt_mirror *m = t->remote->mirrors; m && t->culprit >= 0; m = m->next)
        if (m->done != TT_FAR_LEFT && t->job_rank[m->rank] != t->culprit) tell_broken(t, m);
}
