/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steps send, recv, and wait: which message a receive takes, and when. Within a node messages
 * go through rings, or long ones are read where they lie; predict-wire.c says how they go to
 * another node.
 */
#include "choose/predict-wait.h"

static struct tt_follow_channel *channel_between(struct tt_predictor *s, int from, int to, int lane)
{
    if (!s->channel) {
        size_t n = (size_t)s->p * (size_t)s->p * (size_t)s->lanes;
        s->channel = tt_calloc(n, sizeof *s->channel);
        if (!s->channel) s->status = tt_fail(TUTTI_ERR_MEMORY, "no memory for a prediction");
    }
    return s->channel ? &s->channel[tt_pair_lane(s, from, to, lane)] : NULL;
}

/* Starts the transfer of message i of the channel from rank `from` to rank `to` on another node.
 * The sender began, or could have begun, to send it at `begin`. The message does not overtake the
 * one before it. Wakes the receiver when the message arrives, and the sender of a long one when the
 * acknowledgement arrives. */
static void transfer(struct tt_predictor *s, int from, int to, struct tt_follow_channel *c, int i,
                     int64_t begin)
{
    struct tt_sent *sent = &c->sent[i];
    sent->at_ps = tt_wire_arrives(s, from, to, sent->len, begin);
    bool follows = i > 0 && c->sent[i - 1].at_ps != TT_PREDICT_NEVER;
    if (follows) sent->at_ps = tt_max(sent->at_ps, c->sent[i - 1].at_ps);
    int64_t known = sent->at_ps + (sent->rendezvous ? tt_wire_acknowledged(s, sent->len) : 0);
    s->wire_until_ps = tt_max(s->wire_until_ps, known);
    tt_wake_one(s, to, TT_A_MESSAGE, sent->at_ps);
    if (sent->rendezvous) tt_wake_one(s, from, TT_A_MESSAGE, known);
}

/* Starts a send to another node. The data of a long message move when the receiver has posted its
 * receive. */
static bool send_apart(struct tt_predictor *s, struct tt_follow *r, int lane,
                       const struct tt_plain *step, struct tt_follow_channel *c)
{
    bool rendezvous = step->len > s->wire_eager;
    int64_t begin = tt_core_of(s, r)->now_ps;
    tt_step_sends_apart(s, r, step);
    c->sent[c->n] = (struct tt_sent){
        .len = step->len, .at_ps = TT_PREDICT_NEVER, .taken_ps = begin, .rendezvous = rendezvous};
    if (!rendezvous || c->posted > c->n) transfer(s, r->me, step->peer, c, c->n, begin);
    *tt_under_way_of(&r->lane[lane], step) =
        (struct tt_under_way){.channel = rendezvous ? c : NULL, .index = c->n++, .posted = -1};
    return true;
}

bool tt_message_send(struct tt_predictor *s, struct tt_follow *r, int lane,
                     const struct tt_plain *step)
{
    struct tt_follow_channel *c = channel_between(s, r->me, step->peer, lane);
    bool rendezvous = step->len > s->eager_most && (s->map->reads || s->loads);
    if (!c || !tt_predict_room(s, (void **)&c->sent, c->n, &c->room, sizeof *c->sent)) return false;
    tt_resume(s, r, -1);
    if (tt_is_apart(s, r->me, step->peer)) return send_apart(s, r, lane, step, c);
    tt_spend(s, r, TT_SPENT_messages, tt_machine_number(s, TT_MACHINE_message));
    if (!rendezvous) tt_step_sends(s, r, step);
    int64_t at = tt_core_of(s, r)->now_ps + tt_line_between(s, r, step->peer);
    c->sent[c->n] = (struct tt_sent){step->len, at, TT_PREDICT_NEVER, rendezvous, .early = false};
    *tt_under_way_of(&r->lane[lane], step) =
        (struct tt_under_way){.channel = rendezvous ? c : NULL, .index = c->n++, .posted = -1};
    tt_wake(s, r, TT_A_MESSAGE);
    return true;
}

/* Posts a receive from another node. If the sender of a long message waits for this receive, the
 * transfer of its data begins. The sender's request takes the time signal_ps to come, so a receive
 * that is posted before it has come delays nothing. */
static void recv_apart(struct tt_predictor *s, struct tt_follow *r, const struct tt_plain *step,
                       struct tt_follow_channel *c)
{
    tt_spend(s, r, TT_SPENT_calls, tt_machine_number(s, TT_MACHINE_step));
    if (c->posted >= c->n || c->sent[c->posted].at_ps != TT_PREDICT_NEVER) return;
    int64_t offered = c->sent[c->posted].taken_ps;
    transfer(s, step->peer, r->me, c, c->posted,
             tt_max(offered, tt_core_of(s, r)->now_ps - s->signal_ps));
}

bool tt_message_recv(struct tt_predictor *s, struct tt_follow *r, int lane,
                     const struct tt_plain *step)
{
    struct tt_follow_channel *c = channel_between(s, step->peer, r->me, lane);
    if (!c ||
        !tt_predict_room(s, (void **)&r->posted, r->posted_n, &r->posted_room, sizeof *r->posted))
        return false;
    tt_resume(s, r, -1);
    if (tt_is_apart(s, r->me, step->peer))
        recv_apart(s, r, step, c);
    else
        tt_spend(s, r, TT_SPENT_messages, tt_machine_number(s, TT_MACHINE_message));
    *tt_under_way_of(&r->lane[lane], step) =
        (struct tt_under_way){.channel = c, .index = c->posted, .posted = r->posted_n};
    r->posted[r->posted_n++] = (struct tt_posted){.channel = c,
                                                  .index = c->posted++,
                                                  .from = step->peer,
                                                  .to = *step->range,
                                                  .len = step->len};
    return true;
}

/* Puts messages aside for which the rank has posted no receive. A rank that reads its rings reads
 * all messages that are in them, up to AT_A_TIME from each rank. */
static void put_aside(struct tt_predictor *s, struct tt_follow *r)
{
    enum { AT_A_TIME = 64 };
    struct tt_follow_channel *to_me = &s->channel[r->me * s->lanes];
    for (int from = 0; from < s->p; from++, to_me += s->p * s->lanes)
        for (int lane = 0; lane < s->lanes && from != r->me; lane++) {
            struct tt_follow_channel *c = &to_me[lane];
            c->read = (int)tt_max(c->read, c->posted);
            for (int k = 0; k < AT_A_TIME && c->read < c->n; k++) {
                struct tt_sent *sent = &c->sent[c->read];
                if (sent->at_ps > tt_core_of(s, r)->now_ps) break;
                if (!sent->rendezvous) tt_step_keeps(s, r, from, sent);
                sent->early = !sent->rendezvous;
                c->read++;
            }
        }
}

/* Takes the message of a posted receive if it has arrived; else lowers *when to the time at which
 * it arrives. Returns whether the message was taken. */
static bool take(struct tt_predictor *s, struct tt_follow *r, struct tt_posted *posted,
                 int64_t *when)
{
    struct tt_follow_channel *c = posted->channel;
    int64_t at = posted->index < c->n ? c->sent[posted->index].at_ps : TT_PREDICT_NEVER;
    *when = tt_min(*when, at);
    if (at > tt_core_of(s, r)->now_ps) return false;
    struct tt_sent *sent = &c->sent[posted->index];
    tt_resume(s, r, posted->from);
    bool apart = tt_is_apart(s, r->me, posted->from);
    if (apart && !sent->early)
        tt_step_takes_apart(s, r, posted);
    else
        tt_step_takes(s, r, posted, sent);
    posted->taken = true;
    sent->taken_ps = tt_core_of(s, r)->now_ps;
    if (!apart) tt_wake(s, r, TT_A_MESSAGE);
    if (!sent->early) put_aside(s, r);
    return true;
}

/* Returns when the sender of a long message to another node knows that it was received. */
static int64_t acknowledged_at(const struct tt_predictor *s, const struct tt_sent *sent)
{
    if (sent->at_ps == TT_PREDICT_NEVER) return TT_PREDICT_NEVER;
    return sent->at_ps + tt_wire_acknowledged(s, sent->len);
}

bool tt_message_wait(struct tt_predictor *s, struct tt_follow *r, int lane,
                     const struct tt_plain *step)
{
    struct tt_under_way *u = tt_under_way_of(&r->lane[lane], step);
    int64_t when = TT_PREDICT_NEVER;
    if (u->channel && u->posted >= 0) {
        struct tt_posted *posted = &r->posted[u->posted];
        if (!posted->taken && !take(s, r, posted, &when))
            return tt_wait_until(s, r, TT_A_MESSAGE, when);
    } else if (u->channel) {
        int other = (int)((u->channel - s->channel) / s->lanes % s->p);
        const struct tt_sent *sent = &u->channel->sent[u->index];
        if (tt_is_apart(s, r->me, other))
            when = acknowledged_at(s, sent);
        else if (sent->taken_ps != TT_PREDICT_NEVER)
            when = sent->taken_ps + tt_line_between(s, &s->rank[other], r->me);
        if (when > tt_core_of(s, r)->now_ps) return tt_wait_until(s, r, TT_A_MESSAGE, when);
    }
    tt_resume(s, r, -1);
    tt_spend(s, r, TT_SPENT_calls, tt_machine_number(s, TT_MACHINE_step));
    return true;
}

/* Lets rank r, which waits, take one message for which it has posted a receive, even if the rank
 * does not wait for a message now. Returns false if no such message has arrived. */
bool tt_message_take_any(struct tt_predictor *s, struct tt_follow *r)
{
    int64_t when = TT_PREDICT_NEVER;
    while (r->posted_taken < r->posted_n && r->posted[r->posted_taken].taken) r->posted_taken++;
    for (int i = r->posted_taken; i < r->posted_n; i++) {
        if (!r->posted[i].taken && take(s, r, &r->posted[i], &when)) return true;
    }
    if (r->posted_n > 0) r->ready_ps = tt_min(r->ready_ps, when);
    return false;
}
