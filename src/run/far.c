/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What comes from other nodes: checked, held back until it is wanted, and given to who stores it.
 */
#include "run/far.h"

#include <stdio.h>
#include <string.h>

#include "run/remote.h"

/* ---- Teams ---- */

uint64_t tt_team_begun(const struct tt_team *t)
{
    return t->queue ? t->queue->number : t->next;
}

uint32_t tt_far_next_id(const struct tt_far *far)
{
    return far ? far->next_id : 0;
}

static struct tt_team *team_of(const struct tt_far *far, uint32_t id)
{
    struct tt_team *t = far->teams;
    while (t && t->remote->id != id) t = t->remote->next;
    return t;
}

/* ---- Those that wait ---- */

/* The execution has begun. True: the arrival was taken over. */
static bool apply(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a)
{
    if (!tt_far_admits(t, m, &a->packet)) return false;
    if (a->data) return tt_far_data(t, m, a);
    tt_far_signalled(t, m, a);
    return false;
}

/* Goes through what waits, up to what is not here yet: later ones may not overtake it. */
static void look_through(struct tt_team *t, struct tt_mirror *m)
{
    struct tt_arrivals *list = &m->early;
    struct tt_arrival *a = list->first;
    *list = (struct tt_arrivals){NULL, NULL};
    bool blocked = false;
    for (struct tt_arrival *next; a; a = next) {
        next = a->next;
        blocked |= !a->ready;
        if (blocked || a->packet.head.number >= tt_team_begun(t)) {
            tt_arrivals_append(list, a);
            continue;
        }
        t->remote->early--;
        if (!apply(t, m, a)) tt_arrival_free(t->far, a);
    }
}

void tt_far_begin(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    for (struct tt_mirror *m = t->remote->mirrors; m && t->remote->early; m = m->next)
        if (m->early.first) look_through(t, m);
}

/* The payload of a signal that waits for it. */
static void opening_came(tutti_context *context, void *arg, tutti_status status)
{
    struct tt_arrival *a = arg;
    struct tt_team *t = a->team;
    (void)context;
    a->ready = true;
    if (status != TUTTI_OK || !tt_far_is_opening(a->opening, a->bytes)) {
        tt_free(a->opening);
        a->opening = NULL;
    }
    if (t)
        look_through(t, t->remote->mirror[a->packet.head.from]);
    else if (a->dropped)
        tt_arrival_free(NULL, a);
}

/* ---- Messages that come ---- */

/* Takes over what the message holds; false: no memory, or not what it should be. */
static bool take_payload(struct tt_arrival *a, const tutti_message *message, tutti_receive *receive)
{
    a->ready = true;
    if (a->data) {
        a->pending = message->pending;
        receive->put_off = 1;
        return true;
    }
    if (message->bytes == 0) return true;
    a->opening = tt_alloc((size_t)message->bytes);
    if (!a->opening) return false;
    if (message->data) {
        memcpy(a->opening, message->data, (size_t)message->bytes);
        return tt_far_is_opening(a->opening, message->bytes);
    }
    a->ready = false;
    *receive = (tutti_receive){.to = a->opening,
                               .count = message->bytes,
                               .type = TUTTI_U8,
                               .done = opening_came,
                               .arg = a};
    return true;
}

/* A copy of the arrival, with what the message holds, that lasts; NULL: the rank cannot go on. */
static struct tt_arrival *copy_of(struct tt_far *far, const struct tt_arrival *a,
                                  const tutti_message *message, tutti_receive *receive)
{
    struct tt_arrival *copy = tt_alloc(sizeof *copy);
    if (copy) *copy = *a;
    if (copy && take_payload(copy, message, receive)) return copy;
    if (copy) tt_free(copy->opening);
    tt_free(copy);
    tt_common_fail(far->f->job, far->f->common, far->f->me, TT_CAUSE_STATUS, TUTTI_ERR_MEMORY);
    return NULL;
}

static void append_early(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a)
{
    tt_arrivals_append(&m->early, a);
    t->remote->early++;
}

static void hold_back(struct tt_team *t, struct tt_mirror *m, const struct tt_arrival *a,
                      const tutti_message *message, tutti_receive *receive)
{
    struct tt_arrival *copy = copy_of(t->far, a, message, receive);
    if (copy) append_early(t, m, copy);
}

/* Data, of an execution that has begun, whose recv waits for them already. */
static bool straight(struct tt_team *t, struct tt_mirror *m, const struct tt_arrival *a,
                     tutti_receive *receive)
{
    struct tt_transfer *x = tt_far_match(m, &a->packet.head);
    if (!x) return false;
    if (!tt_far_fits(t, x, a->bytes)) return true;
    *receive = (tutti_receive){
        .to = x->at, .count = x->len, .type = TUTTI_U8, .done = tt_far_moved, .arg = x};
    return true;
}

static void data_came(struct tt_team *t, struct tt_mirror *m, const struct tt_arrival *a,
                      const tutti_message *message, tutti_receive *receive)
{
    if (straight(t, m, a, receive)) return;
    struct tt_arrival *copy = copy_of(t->far, a, message, receive);
    if (copy && !tt_far_data(t, m, copy)) tt_arrival_free(t->far, copy);
}

static void signal_came(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a,
                        const tutti_message *message, tutti_receive *receive)
{
    struct tt_arrival *copy = message->bytes > 0 ? copy_of(t->far, a, message, receive) : a;
    if (!copy) return;
    tt_far_signalled(t, m, copy);
    if (copy != a) tt_free(copy);
}

/* In order: behind what waits for its payload nothing may go on. */
static void arrived(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a,
                    const tutti_message *message, tutti_receive *receive)
{
    const struct tt_far_head *head = &a->packet.head;
    bool blocked = m->early.first && !m->early.first->ready;
    bool whole = a->data || message->bytes == 0 || message->data;
    m->fresh = true;
    tt_far_ended(m, head->number - head->behind);
    if (blocked || !whole || head->number >= tt_team_begun(t)) {
        hold_back(t, m, a, message, receive);
        return;
    }
    if (!tt_far_admits(t, m, &a->packet)) return;
    if (a->data)
        data_came(t, m, a, message, receive);
    else
        signal_came(t, m, a, message, receive);
}

static void credited(struct tt_team *t, struct tt_mirror *m, const struct tt_far_head *head)
{
    tt_far_ended(m, head->number - head->behind);
    if (head->number == TT_FAR_LEFT) {
        m->left_after = head->value;
        t->left = true;
    }
    m->settled |= (head->flags & (TT_FAR_ASKS | TT_FAR_SETTLES)) == TT_FAR_SETTLES;
    if (!(head->flags & TT_FAR_ASKS)) return;
    m->settles |= head->flags & TT_FAR_SETTLES;
    if (!m->wanted) t->remote->wanting++;
    if (head->number >= m->wanted) m->wanted = head->number + 1;
    if (t->my_done + t->slots >= m->wanted) tt_far_credit(t, m);
}

/* ---- Handlers ---- */

/* Reads the header of a message. False: this library sends no such message. */
static bool read_head(const tutti_message *message, struct tt_far_packet *packet)
{
    size_t bytes = message->header_bytes;
    if (bytes < sizeof packet->head || bytes > sizeof *packet) return false;
    memcpy(packet, message->header, bytes);
    const struct tt_far_head *head = &packet->head;
    if ((head->flags & TT_FAR_WHAT) && bytes != sizeof *packet) return false;
    bool lane = head->lane < TT_LANES || head->lane == TT_NO_LANE;
    return lane && (head->number == TT_FAR_LEFT || head->behind <= head->number);
}

/* The member that it comes from; NULL: none of this team. */
static struct tt_mirror *sender(struct tt_team *t, int rank, uint32_t from)
{
    if (from >= (uint32_t)t->map.p || t->job_rank[from] != rank || !tt_team_is_far(t, (int)from))
        return NULL;
    return tt_mirror_of(t, (int)from);
}

static void receive_for(struct tt_team *t, struct tt_arrival *a, const tutti_message *message,
                        tutti_receive *receive)
{
    struct tt_mirror *m = sender(t, a->rank, a->packet.head.from);
    if (!m) return;
    a->team = t;
    if (t->broken != TUTTI_OK)
        tt_far_broke(t);
    else if (a->credit)
        credited(t, m, &a->packet.head);
    else if (a->packet.head.number < tt_team_begun(t) + t->slots) /* no more was allowed */
        arrived(t, m, a, message, receive);
}

/* A team that this rank is about to make. */
static void keep_for_team(struct tt_far *far, struct tt_arrival *a, const tutti_message *message,
                          tutti_receive *receive)
{
    struct tt_arrival *copy = copy_of(far, a, message, receive);
    if (copy) tt_arrivals_append(&far->early, copy);
}

static void take_message(tutti_context *context, const tutti_message *message,
                         tutti_receive *receive, void *arg)
{
    struct tt_far *far = arg;
    struct tt_arrival a = {.data = message->dispatch == TT_DISPATCH_DATA,
                           .credit = message->dispatch == TT_DISPATCH_CREDIT,
                           .bytes = message->bytes,
                           .rank = message->rank};
    (void)context;
    if (!read_head(message, &a.packet)) return;
    struct tt_team *t = team_of(far, a.packet.head.team);
    if (t)
        receive_for(t, &a, message, receive);
    else if (a.packet.head.team >= far->next_id && a.packet.head.number < TT_SLOTS)
        keep_for_team(far, &a, message, receive);
}

static bool is_failed(const struct tt_fabric *f, int rank)
{
    return tt_common_state(f->job, f->common, rank) == TT_RANK_FAILED;
}

/* A text so short comes in one piece. */
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
    struct tt_far *far = arg;
    struct tt_far_broken broken;
    const struct tt_fabric *f = far->f;
    (void)context;
    (void)receive;
    if (message->header_bytes != sizeof broken) return;
    memcpy(&broken, message->header, sizeof broken);
    if (broken.rank < 0 || broken.rank >= f->size || broken.cause < 0 ||
        broken.cause > TT_CAUSE_SILENT)
        return;
    take_finding(f, message, broken.team);
    if (is_failed(f, message->rank)) return;
    tt_common_believe(f->job, f->common, broken.rank, (enum tt_cause)broken.cause, broken.code);
}

/* ---- Of a client ---- */

tutti_status tt_far_open(struct tt_fabric *f, struct tt_msg *msg, struct tt_far **made)
{
    struct tt_far *far = tt_calloc(1, sizeof *far);
    if (!far) return tt_fail(TUTTI_ERR_MEMORY, "no memory for teams on several nodes");
    far->f = f;
    far->msg = msg;
    far->context = tt_msg_context(msg, 0);
    tutti_status status = tt_msg_dispatch(msg, TT_DISPATCH_RUN, take_message, far);
    if (status == TUTTI_OK) status = tt_msg_dispatch(msg, TT_DISPATCH_DATA, take_message, far);
    if (status == TUTTI_OK) status = tt_msg_dispatch(msg, TT_DISPATCH_CREDIT, take_message, far);
    if (status == TUTTI_OK) status = tt_msg_dispatch(msg, TT_DISPATCH_BROKEN, take_broken, far);
    if (status == TUTTI_OK)
        *made = far;
    else
        tt_free(far);
    return status;
}

static void came_early(struct tt_far *far, struct tt_team *t, struct tt_arrival *a)
{
    const struct tt_far_head *head = &a->packet.head;
    struct tt_mirror *m = sender(t, a->rank, head->from);
    a->team = t;
    a->dropped = !m;
    if (m && !a->credit) {
        m->fresh = true;
        tt_far_ended(m, head->number - head->behind);
        append_early(t, m, a);
        return;
    }
    if (m) credited(t, m, head);
    if (a->ready) tt_arrival_free(far, a);
}

/* Takes the messages that arrived before the team was made. */
static void take_early(struct tt_far *far, struct tt_team *t)
{
    struct tt_arrival *a = far->early.first;
    far->early = (struct tt_arrivals){NULL, NULL};
    for (struct tt_arrival *next; a; a = next) {
        next = a->next;
        if (a->packet.head.team == t->remote->id)
            came_early(far, t, a);
        else
            tt_arrivals_append(&far->early, a);
    }
}

void tt_far_add(struct tt_far *far, struct tt_team *t, uint32_t id)
{
    if (!far) return;
    t->far = far;
    if (id >= far->next_id) far->next_id = id + 1;
    if (!t->remote) return;
    t->remote->id = id;
    t->remote->next = far->teams;
    far->teams = t;
    if (far->early.first) take_early(far, t);
}

void tt_far_depart(struct tt_team *t)
{
    if (!t->remote || !t->far) return;
    const struct tt_fabric *f = t->fabric;
    struct tt_far_head head = {.team = t->remote->id,
                               .from = (uint32_t)t->me,
                               .number = TT_FAR_LEFT,
                               .value = (uint32_t)t->next};
    if (tt_common_state(f->job, f->common, f->me) == TT_RANK_FAILED) {
        t->culprit = f->me;
        tt_far_broke(t);
        return;
    }
    for (struct tt_mirror *m = t->remote->mirrors; m; m = m->next)
        if (m->done != TT_FAR_LEFT) (void)tt_far_post(t, m, TT_DISPATCH_CREDIT, &head, sizeof head);
}

/* Where somebody failed, others may take nothing any more: they are not waited for longer than
 * this. */
#define FLUSH_NS 500000000

void tt_far_leave(struct tt_far *far)
{
    struct tt_wait wait;
    int events;
    if (!far) return;
    tt_arrivals_drop(far, &far->early);
    for (struct tt_team *t = far->teams; t; t = t->remote->next) tt_far_depart(t);
    tt_wait_begin(&wait, &far->f->patience, far->f->job, far->f->me);
    int64_t end_ns = tt_clock_ns() + FLUSH_NS;
    while (far->under_way > 0 &&
           (tt_common_first_failed(far->f->job, far->f->common) < 0 || tt_clock_ns() < end_ns)) {
        (void)tt_msg_advance(far->context, &events);
        tt_wait_more(&wait);
    }
    tt_wait_done(&wait);
}

void tt_far_close(struct tt_far *far)
{
    if (!far) return;
    for (struct tt_transfer *x = far->transfers, *all; x; x = all) {
        all = x->all;
        tt_free(x->payload);
        tt_free(x);
    }
    tt_free(far);
}
