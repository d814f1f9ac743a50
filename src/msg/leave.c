/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leaving a client: whatever was accepted goes first.
 *
 * A message that was accepted may still wait for room, and a long one for its target to pull it. So
 * a rank that leaves tells that it does, and goes on advancing its contexts until nothing of the
 * kind is left but for ranks that are gone or leave too. What comes to it meanwhile is dropped, and
 * who wants to know is told PEER; pulls and puts are served, and others helped (help.h). A rank
 * that helps to move a message to this one may be writing to its memory: that is waited for in any
 * case, and is over when the other one's advance is, or the other one itself.
 *
 * Why two that leave never wait for each other for ever. A rank waits here for another one only
 * while that one has neither told that it leaves, nor left, nor failed. Whoever waits here has told
 * it before. So in the graph of who waits for whom an edge from one that leaves to another that
 * leaves ends as soon as the latter's word is seen, and no circle of such edges lasts. In shared
 * memory the word is a flag in the post box, which the waiting one looks at; over a network a
 * packet, LEAVING, from each context to each one that it knows, to those that it gets to know later
 * too. A context that waits for a rank has sent something there, if only the question where a
 * context is, so it becomes known and is told. The packet may stand behind messages that wait, and
 * comes all the same: its receiver, which is leaving too, takes and drops whatever comes until its
 * own wait has ended. What remains is waiting for a rank that goes on and does not advance the
 * context that a message is for; that one ends when it does, or leaves, or fails, and
 * tutti_finalize says so.
 */
#include <sched.h>
#include <time.h>

#include "msg/help.h"
#include "msg/wired.h"

enum {
    ROUNDS = 1000, /* that find nothing, before there is a pause between them */
    PAUSE_NS = 100000
};

/* How long something is waited for. */
enum patience { NOT, AWHILE, TAKEN, WRITTEN };

static bool leaves(const tutti_context *c, const struct tt_peer *peer)
{
    if (!peer->shares) return peer->leaving;
    const struct tt_mail *mail = tt_mail_of(c->f, peer->rank);
    return mail && atomic_load_explicit(&mail->leaving, memory_order_acquire);
}

static bool may_take(const tutti_context *c, const struct tt_peer *peer)
{
    return !peer->gone && !peer->going && !leaves(c, peer);
}

static enum patience in_queue(const struct tt_peer *peer)
{
    if (peer->users_parcels > 0) return TAKEN;
    return peer->parcels > 0 && (peer->shares || peer->link) ? AWHILE : NOT;
}

static bool is_owed(const struct tt_op *op)
{
    return op->kind == TT_OP_LONG && op->users && !op->ended;
}

static enum patience of(const tutti_context *c)
{
    enum patience most = NOT;
    for (int i = 0; i < c->ops; i++)
        if (tt_help_is_written(c->op[i])) return WRITTEN;
    for (int i = 0; i < c->ops; i++)
        if (is_owed(c->op[i]) && may_take(c, c->op[i]->peer)) return TAKEN;
    for (int r = 0; r < c->f->size; r++)
        for (const struct tt_peer *peer = c->peer[r]; peer; peer = peer->next_of_rank) {
            enum patience one = in_queue(peer);
            if (one > most && may_take(c, peer)) most = one;
        }
    return most;
}

static enum patience of_all(const struct tt_msg *msg)
{
    enum patience most = NOT;
    int n = atomic_load(&msg->contexts);
    for (int i = 0; i < n && most < WRITTEN; i++) most = tt_max(most, of(msg->context[i]));
    return most;
}

/* ---- Telling ---- */

static void tell(tutti_context *c, struct tt_peer *peer)
{
    const struct tt_packet p = {.kind = TT_PACKET_LEAVING};
    if (peer->shares || peer->gone || peer->told) return;
    peer->told = tt_post_packet(c, peer, &p, 0, NULL, false) == TUTTI_OK;
}

/* Those too that are known only since something came from them. */
static void tell_all(struct tt_msg *msg)
{
    int n = msg->ops ? atomic_load(&msg->contexts) : 0;
    for (int i = 0; i < n; i++) tt_peer_each(msg->context[i], tell);
}

void tt_leave_heard(tutti_context *c, int rank)
{
    for (struct tt_peer *peer = c->peer[rank]; peer; peer = peer->next_of_rank)
        peer->leaving = true;
}

/* From now on nothing that comes has a handler: tt_receive_packet. */
static void begin(struct tt_msg *msg)
{
    msg->leaving = true;
    for (int i = 0; i < atomic_load(&msg->contexts); i++) {
        const tutti_context *c = msg->context[i];
        for (int k = 0; k < c->ops; k++) tt_help_stop(c->op[k]);
    }
    for (int id = 0; id < TT_DISPATCHES; id++) msg->handler[id].fn = NULL;
    atomic_store_explicit(&msg->mail->leaving, 1, memory_order_release);
    tell_all(msg);
}

/* ---- Waiting ---- */

/* How many things happened; *failed: something could not be done, such as for want of memory. */
static int advance_all(struct tt_msg *msg, bool *failed)
{
    int all = 0, n = atomic_load(&msg->contexts);
    *failed = false;
    for (int i = 0; i < n; i++) {
        int events;
        if (tt_msg_advance(msg->context[i], &events) != TUTTI_OK) *failed = true;
        tt_msg_told(msg->context[i]);
        all += events;
    }
    return all;
}

static void pause_after(int rounds)
{
    const struct timespec time = {.tv_nsec = PAUSE_NS};
    if (rounds < ROUNDS)
        sched_yield();
    else
        nanosleep(&time, NULL);
}

/* Others take nothing from a rank that failed. */
static bool is_well(const struct tt_msg *msg)
{
    return tt_common_state(msg->f->job, msg->f->common, msg->f->me) == TT_RANK_JOINED;
}

static void go_on(struct tt_msg *msg)
{
    int64_t end = tt_clock_ns() + TT_PARTING_NS, moved = tt_clock_ns();
    int idle = 0;
    struct tt_waiting waiting = {.fabric = msg->f, .doing = TT_DOING_FINALIZE};
    for (enum patience p; (p = of_all(msg)) == WRITTEN || (p != NOT && is_well(msg)); idle++) {
        bool failed;
        tell_all(msg);
        if (advance_all(msg, &failed) > 0) {
            idle = 0;
            moved = tt_clock_ns();
        }
        if (p == AWHILE && tt_clock_ns() > end) break;
        if (failed && tt_clock_ns() - moved > TT_PARTING_NS) break;
        pause_after(idle);
        if (idle > ROUNDS || waiting.shown_ns) tt_waiting_look(&waiting, idle == 0);
    }
    tt_waiting_end(&waiting);
}

/* What cannot be said in time is not. */
static void say_goodbye(struct tt_msg *msg)
{
    int64_t end = tt_clock_ns() + TT_PARTING_NS;
    bool failed;
    tt_wired_goodbye(msg);
    while (tt_wired_is_unsaid(msg) && tt_clock_ns() < end) (void)advance_all(msg, &failed);
}

void tt_msg_leave(struct tt_msg *msg)
{
    tt_msg_outside(msg, "tutti_finalize");
    begin(msg);
    go_on(msg);
    say_goodbye(msg);
}
