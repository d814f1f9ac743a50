/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets in the order of their numbers, link by link. UCP promises no order between active
 * messages: today's UCX sends all eager ones of an endpoint over one lane, of which it asks order,
 * but fragments of long ones may take several (UCX_MAX_EAGER_RAILS), and which protocol takes which
 * lane is its own affair and changes between versions. So each packet says which link it comes from
 * and its number there. One that is early, or comes while another is being delivered, or comes
 * outside of advance (to oneself UCX delivers within the send), is copied and waits for its turn.
 */
#ifndef TT_UCX_ORDER_H
#define TT_UCX_ORDER_H

#include "fabric/wire.h"

/* In front of each packet's head, in the byte order of the machine: UCX joins only machines that
 * share it. Behind the head lie `gap` bytes that mean nothing, and then the data. */
struct tt_packet_head {
    uint64_t
        pass; /* of the port it goes to, a random number: who does not know it is not of the job */
    uint64_t origin; /* the link it came over, a random number */
    uint32_t number; /* 0 for a link's first; goes round */
    uint16_t head_bytes;
    uint8_t gap;
    uint8_t form; /* TT_PACKET_FORM */
};
enum { TT_PACKET_FORM = 0x75 };

struct tt_order;

/* NULL when there is no memory. */
struct tt_order *tt_order_create(uint64_t pass, tt_wire_arrive_fn *arrive, void *arg);
void tt_order_free(struct tt_order *order);
/* A packet: delivered if it is its turn, kept if it is early, refused (ARG) if it has not our pass,
 * before anything else in it is looked at, or, with a warning the first time, if it cannot be one
 * of ours. MEMORY: it is lost, and with it all that would follow. */
tutti_status tt_order_take(struct tt_order *order, const void *bytes, size_t n);
/* Between `true` and `false` packets may be delivered. Before it closes, all whose turn it is are.
 * Returns how many those were. */
int tt_order_open(struct tt_order *order, bool open);
/* How many were refused for want of the pass: anybody may send such, so TUTTI_LOG=fabric tells of
 * the first and of each thousandth. */
uint64_t tt_order_strangers(const struct tt_order *order);
/* Some wait for their turn that have it already. */
bool tt_order_ready(const struct tt_order *order);

#endif
