/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages: matched in order for each execution, pair of ranks and lane. Bytes move when both sides
 * are posted: since neither side's range may be touched from post to wait, it does not matter when.
 */
#include "plan/prove-inside.h"

#include <string.h>

bool tt_prove_channels_begin(struct tt_prover *p)
{
    if (p->channels_n) memset(p->channels, 0, p->channels_room * sizeof *p->channels);
    p->channels_n = 0;
    return true;
}

static uint64_t key_of(const struct tt_prover *p, const struct tt_part *part, int lane, int from,
                       int to)
{
    uint64_t key = (uint64_t)part->execution * TT_LANES + (uint64_t)lane;
    return (key * (uint64_t)p->p + (uint64_t)from) * (uint64_t)p->p + (uint64_t)to + 1;
}

/* The channel of a key, or the free place for it. */
static struct tt_channel *find(const struct tt_prover *p, uint64_t key)
{
    uint32_t mask = p->channels_room - 1;
    uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & mask;
    while (p->channels[at].key && p->channels[at].key != key) at = (at + 1) & mask;
    return &p->channels[at];
}

static bool grow(struct tt_prover *p)
{
    struct tt_channel *old = p->channels;
    uint32_t n = p->channels_room;
    struct tt_channel *all = tt_calloc(n ? 2 * n : 256, sizeof *all);
    if (!all) return tt_prove_no_memory(p);
    p->channels = all;
    p->channels_room = n ? 2 * n : 256;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].key) *find(p, old[i].key) = old[i];
    tt_free(old);
    return true;
}

static struct tt_channel *channel_of(struct tt_prover *p, uint64_t key)
{
    if (2 * p->channels_n >= p->channels_room && !grow(p)) return NULL;
    struct tt_channel *channel = find(p, key);
    p->channels_n += channel->key == 0;
    channel->key = key;
    return channel;
}

static struct tt_message *message_new(struct tt_prover *p, const struct tt_place *place)
{
    struct tt_lane_run *lane = p->running;
    struct tt_message *m = tt_prove_zalloc(p, sizeof *m);
    if (!m) return NULL;
    m->lane = lane;
    m->place = *place;
    m->at = lane->step.at;
    m->peer = lane->step.peer;
    m->is_send = lane->step.kind == TT_SEND;
    if (m->is_send) m->posted = tt_prove_moment(lane);
    return m;
}

static void append(struct tt_channel *channel, struct tt_message *m)
{
    if (channel->head)
        channel->tail->next = m;
    else
        channel->head = m;
    channel->tail = m;
}

static bool deliver(struct tt_prover *p, struct tt_message *send, struct tt_message *recv)
{
    if (send->place.len != recv->place.len)
        return tt_prove_fault(
            p, TT_FAULT_SIZE,
            "rank %d's step %u sends %ld bytes, rank %d's step %u receives %ld (lane %d)",
            send->lane->part->rank, send->at, (long)send->place.len, recv->lane->part->rank,
            recv->at, (long)recv->place.len, send->lane->index);
    return tt_prove_peek(p, &send->place, &p->result) &&
           tt_prove_store(p, &recv->place, &p->result);
}

static bool match(struct tt_prover *p, struct tt_channel *channel, struct tt_message *m)
{
    struct tt_message *other = channel->head;
    channel->head = other->next;
    m->partner = other;
    other->partner = m;
    if (other->waiter) tt_prove_ready(p, other->waiter);
    other->waiter = NULL;
    return m->is_send ? deliver(p, m, other) : deliver(p, other, m);
}

struct tt_message *tt_prove_post(struct tt_prover *p, const struct tt_place *place)
{
    struct tt_lane_run *lane = p->running;
    int me = lane->part->rank, peer = lane->step.peer;
    bool send = lane->step.kind == TT_SEND;
    if (peer < 0 || peer >= p->p) {
        tt_prove_fault(p, TT_FAULT_OUTSIDE, "there is no rank %d", peer);
        return NULL;
    }
    struct tt_channel *channel =
        channel_of(p, key_of(p, lane->part, lane->index, send ? me : peer, send ? peer : me));
    struct tt_message *m = channel ? message_new(p, place) : NULL;
    if (!m) return NULL;
    if (channel->head && channel->head->is_send != send) return match(p, channel, m) ? m : NULL;
    append(channel, m);
    return m;
}

int tt_prove_other_lane(struct tt_prover *p, const struct tt_message *m)
{
    int me = m->lane->part->rank, peer = m->peer;
    for (int l = 0; l < TT_LANES; l++) {
        const struct tt_channel *c =
            find(p, key_of(p, m->lane->part, l, m->is_send ? me : peer, m->is_send ? peer : me));
        if (l != m->lane->index && c->head && c->head->is_send != m->is_send) return l;
    }
    return -1;
}
