/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leaving a client: everything that was accepted is sent first.
 *
 * An accepted message may still wait for room, and a long message may wait for its target to pull
 * it. So a rank that leaves notifies the others, and goes on advancing its contexts until the only
 * such messages left are for ranks that are gone or leave too. The rank drops messages that arrive
 * meanwhile, and its acknowledgement says PEER if the sender wants one. The rank goes on serving
 * pulls and puts, and goes on writing pieces of its own messages that targets move by split copies
 * (pull.h). If another rank is writing a piece of a split copy to this rank's memory, this rank
 * waits for it in any case: until the advance of that rank returns, or that rank ends.
 *
 * Why two ranks that leave never wait for each other for ever. A rank waits here for another rank
 * only while that rank has neither left nor failed, and has not announced that it leaves. Every
 * rank that waits here has sent its notification before. So in the graph of which rank waits for
 * which, an edge between two ranks that both leave ends as soon as the first sees the second one's
 * notification, and no cycle of such edges lasts. In shared memory the notification is a flag in
 * the mailbox, which the waiting rank reads. Over a network it is a packet, LEAVING, from each
 * context to each context that it knows or gets to know later. A context that waits for a rank has
 * sent something to it, at least the question for a context's address, so that rank knows the
 * context and notifies it. The packet may be queued behind messages that wait, but it does arrive:
 * its receiver, which leaves too, receives and drops all messages until its own wait has ended. One
 * more wait is possible: for a rank that goes on and does not advance the context that a message is
 * for. This wait ends when that rank advances the context, leaves or fails; tutti_finalize
 * documents this.
 */
#include <sched.h>
#include <time.h>

#include "fabric/waiting.h"
#include "msg/pull.h"
#include "msg/wired.h"

enum {
    /* after so many rounds of advancing without an event, each round ends with a pause */
    ROUNDS = 1000,
    PAUSE_NS = 100000
};

/* How long a rank that leaves waits for its messages and for writes to its memory. NOT: not at all.
 * AWHILE: for a limited time. TAKEN: until the messages were received. WRITTEN: until no other rank
 * writes to this rank's memory any more, whatever happens. */
enum leave_wait { NOT, AWHILE, TAKEN, WRITTEN };

/* Returns whether the peer's rank has notified this rank that it leaves. */
static bool leaves(const tutti_context *c, const struct tt_peer *peer)
{
    if (!peer->transport->shares) return peer->leaving;
    const struct tt_mailbox *mailbox = tt_mailbox_of(c->f, peer->rank);
    return mailbox && atomic_load_explicit(&mailbox->leaving, memory_order_acquire);
}

static bool may_take(const tutti_context *c, const struct tt_peer *peer)
{
    return !peer->gone && !peer->going && !leaves(c, peer);
}

/* Returns how long to wait for the send queue of a peer, and for puts that the network executes. A
 * queue that holds only packets of the library gets a limited time. */
static enum leave_wait in_queue(const struct tt_peer *peer)
{
    if (peer->users_send_entries > 0 || peer->wire_puts > 0) return TAKEN;
    return peer->send_entries > 0 && (peer->transport->shares || peer->link) ? AWHILE : NOT;
}

/* Returns whether the operation sends a long message of a user that the target has not yet pulled
 * as a whole. */
static bool is_owed(const struct tt_pending *pending)
{
    return pending->kind == TT_PENDING_LONG && pending->users && !pending->ended;
}

static enum leave_wait of(const tutti_context *c)
{
    enum leave_wait most = NOT;
    for (int i = 0; i < c->pendings; i++)
        if (tt_split_copy_is_written(c->pending[i])) return WRITTEN;
    for (int i = 0; i < c->pendings; i++)
        if (is_owed(c->pending[i]) && may_take(c, c->pending[i]->peer)) return TAKEN;
    for (int r = 0; r < c->f->size; r++)
        for (const struct tt_peer *peer = c->peer[r]; peer; peer = peer->next_of_rank) {
            enum leave_wait one = in_queue(peer);
            if (one > most && may_take(c, peer)) most = one;
        }
    return most;
}

static enum leave_wait of_all(const struct tt_msg *msg)
{
    enum leave_wait most = NOT;
    int n = atomic_load(&msg->contexts);
    for (int i = 0; i < n && most < WRITTEN; i++) most = tt_max(most, of(msg->context[i]));
    return most;
}

/* ---- Notifying the other ranks ---- */

static void notify(tutti_context *c, struct tt_peer *peer)
{
    const struct tt_packet p = {.kind = TT_PACKET_LEAVING};
    if (peer->transport->shares || peer->gone || peer->notified) return;
    peer->notified = tt_post_packet(c, peer, &p, 0, NULL, false) == TUTTI_OK;
}

/* Notifies all peers that are reached over the network and were not notified yet. A peer may become
 * known after the wait began, by a packet from it. */
static void notify_all(struct tt_msg *msg)
{
    int n = msg->ops ? atomic_load(&msg->contexts) : 0;
    for (int i = 0; i < n; i++) tt_peer_each(msg->context[i], notify);
}

/* Begins to leave: removes all handlers, so that receive_packet drops messages that arrive; keeps
 * origins from claiming more pieces of the split copies to this rank; and notifies the other
 * ranks. */
static void begin(struct tt_msg *msg)
{
    msg->leaving = true;
    for (int i = 0; i < atomic_load(&msg->contexts); i++) {
        const tutti_context *c = msg->context[i];
        for (int k = 0; k < c->pendings; k++) tt_split_copy_stop(c->pending[k]);
    }
    for (int id = 0; id < TT_DISPATCHES; id++) msg->handler[id].fn = NULL;
    msg->plan_packet = NULL;
    atomic_store_explicit(&msg->mailbox->leaving, 1, memory_order_release);
    notify_all(msg);
}

/* ---- Waiting ---- */

/* Advances all contexts and returns the number of events. Sets *failed if an advance returned an
 * error, such as a lack of memory. */
static int advance_all(struct tt_msg *msg, bool *failed)
{
    int all = 0, n = atomic_load(&msg->contexts);
    *failed = false;
    for (int i = 0; i < n; i++) {
        int events;
        if (tt_msg_advance(msg->context[i], &events) != TUTTI_OK) *failed = true;
        tt_msg_error_returned(msg->context[i]);
        all += events;
    }
    return all;
}

static void pause_after(const struct tt_msg *msg, int rounds)
{
    const struct timespec time = {.tv_nsec = PAUSE_NS};
    const struct tt_wait_hook *hook = &msg->f->policy.hook;
    if (hook->call) hook->call(hook->arg);
    if (rounds < ROUNDS)
        sched_yield();
    else
        nanosleep(&time, NULL);
}

/* Returns whether this rank is still in the client and does not count as failed there. Other ranks
 * receive nothing any more from a rank that counts as failed. */
static bool is_well(const struct tt_msg *msg)
{
    return tt_common_state(msg->f->job, msg->f->common, msg->f->me) == TT_RANK_JOINED;
}

static void go_on(struct tt_msg *msg)
{
    int64_t end = tt_clock_ns() + TT_PARTING_NS, moved = tt_clock_ns();
    int idle = 0;
    struct tt_waiting waiting = {.fabric = msg->f, .doing = TT_DOING_FINALIZE};
    for (enum leave_wait p; (p = of_all(msg)) == WRITTEN || (p != NOT && is_well(msg)); idle++) {
        bool failed;
        notify_all(msg);
        if (advance_all(msg, &failed) > 0) {
            idle = 0;
            moved = tt_clock_ns();
        }
        if (p == AWHILE && tt_clock_ns() > end) break;
        if (failed && tt_clock_ns() - moved > TT_PARTING_NS) break;
        pause_after(msg, idle);
        if (idle > ROUNDS || waiting.shown_ns) tt_waiting_look(&waiting, idle == 0);
    }
    tt_waiting_end(&waiting);
}

/* Sends BYE to the peers that are reached over the network, and gives up on those to which it
 * cannot be sent within TT_PARTING_NS. */
static void say_bye(struct tt_msg *msg)
{
    int64_t end = tt_clock_ns() + TT_PARTING_NS;
    bool failed;
    tt_wired_say_bye(msg);
    while (tt_wired_is_sending(msg) && tt_clock_ns() < end) (void)advance_all(msg, &failed);
}

void tt_msg_leave(struct tt_msg *msg)
{
    tt_assert(tt_msg_outside(msg, "tutti_finalize"));
    begin(msg);
    go_on(msg);
    say_bye(msg);
}
