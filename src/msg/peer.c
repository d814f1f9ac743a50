/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The peers of a context, which are the contexts with which it exchanges messages, and what happens
 * to them when their rank has failed or left.
 */
#include "msg/inside.h"

/* Returns whether the rank has failed or left, so that it answers no more. Packets that it wrote to
 * shared memory before are still handled. */
static bool is_gone(const tutti_context *c, int rank)
{
    enum tt_rank_state state = tt_common_state(c->f->job, c->f->common, rank);
    return state == TT_RANK_FAILED || (state == TT_RANK_LEFT && rank != c->f->me);
}

bool tt_peer_is_remote(const struct tt_msg *msg, int rank)
{
    return !tt_fabric_shares(msg->f, rank) || (msg->forced && rank != msg->f->me);
}

static struct tt_peer *make(tutti_context *c, int rank, int index)
{
    struct tt_peer *peer = tt_alloc_lines(sizeof *peer);
    if (!peer) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for the record of context %d of rank %d", index,
                      rank);
        return NULL;
    }
    peer->rank = rank;
    peer->context = index;
    peer->owner = c;
    bool wired = c->msg->ops && tt_peer_is_remote(c->msg, rank);
    peer->transport = wired ? &c->msg->network : &c->msg->ring;
    peer->address_requests.end = &peer->address_requests.first;
    peer->waiting.end = &peer->waiting.first;
    peer->fences.end = &peer->fences.first;
    /* The rank may be gone already. If it fails or leaves later, the job's count of failures rises,
     * and tt_peer_look_for_lost finds the peer. */
    peer->gone = is_gone(c, rank);
    peer->next_of_rank = c->peer[rank];
    return c->peer[rank] = peer;
}

struct tt_peer *tt_peer_of(tutti_context *c, int rank, int index)
{
    struct tt_peer *peer = c->peer[rank];
    while (peer && peer->context != index) peer = peer->next_of_rank;
    return tt_likely(peer != NULL) ? peer : make(c, rank, index);
}

void tt_peer_each(tutti_context *c, tt_peer_fn *fn)
{
    for (int r = 0; r < c->f->size; r++)
        for (struct tt_peer *peer = c->peer[r], *next; peer; peer = next) {
            next = peer->next_of_rank;
            fn(c, peer);
        }
}

static void look_at(tutti_context *c, struct tt_peer *peer)
{
    if (peer->gone || !is_gone(c, peer->rank)) return;
    peer->going = c->losing = true;
}

void tt_peer_look_for_lost(tutti_context *c)
{
    c->failures = atomic_load(&c->f->job->failures);
    tt_peer_each(c, look_at);
}
