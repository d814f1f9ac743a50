/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How links between machines end. Those of ranks that are known to be gone are made to fail, which
 * ends what is under way with PEER when nobody reads it any more. But the link of a rank that has
 * left, or that cannot go on, is closed in order once nothing is under way, as that rank does too:
 * each needs the other for it. UCX does not tell a process that lives of a link that was made to
 * fail, and stops this process at an assertion (1.13, ucp_ep_update_remote_id) if it still sets up
 * its side of that link.
 */
#include <sched.h>

#include "msg/wired.h"

#define SETTING_UP_NS INT64_C(500000000)

/* ---- Of ranks that are gone ---- */

static void close_link(tutti_context *c, struct tt_peer *peer)
{
    struct tt_link *link = peer->link;
    peer->link = NULL;
    if (link) c->msg->ops->link_close(link);
}

/* Whoever has left goes on answering for a while. Before its last word a link is not closed: what
 * comes is to be read. But it fails where memory is lent to it whose owner has been told that its
 * message is lost. */
static void part_from(tutti_context *c, struct tt_peer *peer)
{
    int64_t now = tt_clock_ns();
    bool idle = c->msg->ops->link_is_idle(peer->link);
    if (peer->part_by_ns == 0) peer->part_by_ns = now + TT_PARTING_NS;
    if (idle && peer->bye)
        close_link(c, peer);
    else if (!idle && now < peer->part_by_ns && peer->lent == 0)
        c->lost_some = true; /* to be looked at again */
    else if (!idle)
        c->msg->ops->link_fail(peer->link);
}

/* The rank counts as gone, but its process may go on, and answers. */
static bool may_live(const struct tt_fabric *f, int rank)
{
    if (tt_common_state(f->job, f->common, rank) == TT_RANK_LEFT) return true;
    switch ((enum tt_cause)atomic_load(&tt_common_fate(f->job, f->common, rank)->cause)) {
    case TT_CAUSE_STATUS:
    case TT_CAUSE_ALIKE:
    case TT_CAUSE_LEFT: return true;
    case TT_CAUSE_NONE:
    case TT_CAUSE_SIGNAL:
    case TT_CAUSE_EXIT:
    case TT_CAUSE_LOST:
    case TT_CAUSE_GONE:
    case TT_CAUSE_SILENT: break;
    }
    return false;
}

bool tt_wired_is_set_up(const tutti_context *c, const struct tt_peer *peer)
{
    if (!peer->link || peer->lent == 0 || !may_live(c->f, peer->rank)) return true;
    return tt_clock_ns() >= peer->linked_ns + SETTING_UP_NS;
}

void tt_wired_end_lost(tutti_context *c, struct tt_peer *peer)
{
    if (!peer->gone || !peer->link) return;
    if (may_live(c->f, peer->rank))
        part_from(c, peer);
    else
        c->msg->ops->link_fail(peer->link);
}

/* ---- Leaving ---- */

static void say_goodbye(tutti_context *c, struct tt_peer *peer)
{
    if (peer->shares || peer->gone) return;
    (void)tt_post_packet(c, peer, &(struct tt_packet){.kind = TT_PACKET_BYE}, 0, NULL, false);
}

/* So that nobody takes the end of the links for a failure. */
void tt_wired_goodbye(struct tt_msg *msg)
{
    int n = msg->ops ? atomic_load(&msg->contexts) : 0;
    for (int i = 0; i < n; i++) tt_peer_each(msg->context[i], say_goodbye);
}

static bool is_unsaid(const tutti_context *c)
{
    for (int r = 0; r < c->f->size; r++)
        for (const struct tt_peer *peer = c->peer[r]; peer; peer = peer->next_of_rank)
            if (!peer->gone && peer->link && (peer->waiting.first || peer->wire_puts)) return true;
    return false;
}

bool tt_wired_is_unsaid(const struct tt_msg *msg)
{
    int n = msg->ops ? atomic_load(&msg->contexts) : 0;
    for (int i = 0; i < n; i++)
        if (is_unsaid(msg->context[i])) return true;
    return false;
}

void tt_wired_bye(tutti_context *c, struct tt_peer *peer)
{
    peer->bye = c->lost_some = true;
    if (!tt_fabric_shares(c->f, peer->rank)) tt_common_left(c->f->job, c->f->common, peer->rank);
}

/* Keys go before the links that they were opened on. */
static void close_links(tutti_context *c)
{
    tt_op_close_keys(c);
    tt_peer_each(c, close_link);
}

/* One whose port could not be opened again has none. */
static bool is_drained(const tutti_context *c)
{
    return !c->port || c->msg->ops->port_drain(c->port);
}

/* All contexts in turn: a rank that parts too may wait for any of them. */
void tt_wired_part(struct tt_msg *msg)
{
    int64_t end = tt_clock_ns() + TT_PARTING_NS;
    int n = msg->ops ? atomic_load(&msg->contexts) : 0;
    bool waits = n > 0;
    msg->parting = true;
    for (int i = 0; i < n; i++) close_links(msg->context[i]);
    while (waits && tt_clock_ns() < end) {
        waits = false;
        for (int i = 0; i < n; i++) waits |= !is_drained(msg->context[i]);
        if (waits) sched_yield(); /* others have to answer */
    }
}

/* What was lent to the wire goes after the port. */
void tt_wired_context_close(tutti_context *c)
{
    if (!c->port) return;
    close_links(c);
    c->msg->ops->port_close(c->port);
    c->port = NULL;
}
