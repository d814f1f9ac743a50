/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A context's rings: found in its post box, looked at in turn. One that was never announced costs
 * nothing, one that is empty a look at one line.
 */
#include <string.h>

#include "msg/inside.h"

enum { AT_A_TIME = 64 }; /* packets of one ring, before the next is looked at */

static bool grow(tutti_context *c)
{
    int room = c->inlet_room ? 2 * c->inlet_room : 4;
    struct tt_inlet *inlet = tt_alloc_lines((size_t)room * sizeof *inlet);
    if (!inlet) return false;
    if (c->inlets) memcpy(inlet, c->inlet, (size_t)c->inlets * sizeof *inlet);
    tt_free(c->inlet);
    c->inlet = inlet;
    c->inlet_room = room;
    return true;
}

static tutti_status no_memory(void)
{
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for a new peer's messages");
}

static tutti_status adopt_one(tutti_context *c, int64_t offset, int64_t *next)
{
    struct tt_in in;
    *next = 0;
    if (!tt_in_open(c->f, offset, &in) || in.bulk_bytes != c->msg->ring_bytes) {
        tt_take_fault(c, tt_fail(TUTTI_ERR_ARG, "a broken ring was announced"));
        return TUTTI_OK;
    }
    if (c->inlets == c->inlet_room && !grow(c)) return no_memory();
    struct tt_peer *peer = tt_peer_of(c, in.ring->rank, in.ring->context);
    if (!peer) return TUTTI_ERR_MEMORY;
    *next = in.ring->next;
    if (!peer->from) peer->from = in.ring;
    c->inlet[c->inlets++] = (struct tt_inlet){.in = in, .peer = peer};
    return TUTTI_OK;
}

/* The list that was taken is c->announced: what finds no memory now is found at the next
 * advance. */
tutti_status tt_inbox_adopt(tutti_context *c)
{
    while (true) {
        if (c->announced == 0) {
            uint64_t news =
                atomic_exchange_explicit(&c->mail->news, TT_MAIL_IN_USE, memory_order_acquire);
            c->announced = (int64_t)(news & ~(uint64_t)TT_MAIL_IN_USE);
        }
        if (c->announced == 0) return TUTTI_OK;
        int64_t next;
        TT_TRY(adopt_one(c, c->announced, &next));
        c->announced = next;
    }
}

static void told(tutti_context *c, const struct tt_peer *peer)
{
    tt_fabric_signalled_context(c->f, peer->rank, peer->context);
}

static tutti_status read_one(tutti_context *c, int i, uint64_t mark)
{
    struct tt_packet p;
    struct tt_peer *peer = c->inlet[i].peer;
    size_t n = tt_packet_length(mark);
    const void *body = tt_in_body(&c->inlet[i].in, n);
    bool sound = body && tt_packet_read(mark, body, n, &p);
    if (tt_unlikely(sound && p.kind == TT_PACKET_BULK))
        sound = tt_in_move(c->f, &c->inlet[i].in, &p);
    else if (tt_likely(sound))
        TT_TRY(tt_take(c, peer, &p));
    if (tt_unlikely(!sound))
        tt_take_fault(c, tt_fail(TUTTI_ERR_ARG, "a broken packet came from rank %d", peer->rank));
    if (tt_unlikely(tt_in_next(&c->inlet[i].in, n))) told(c, peer);
    return TUTTI_OK;
}

tutti_status tt_inbox_read_last(tutti_context *c)
{
    uint64_t mark;
    for (int i = 0; i < c->inlets; i++)
        while (c->inlet[i].peer->going && (mark = tt_in_look(&c->inlet[i].in)) != 0)
            TT_TRY(read_one(c, i, mark));
    return TUTTI_OK;
}

tutti_status tt_inbox_read(tutti_context *c)
{
    uint64_t mark;
    for (int i = 0; i < c->inlets; i++)
        for (int k = 0; k < AT_A_TIME && (mark = tt_in_look(&c->inlet[i].in)) != 0; k++)
            TT_TRY(read_one(c, i, mark));
    return TUTTI_OK;
}
