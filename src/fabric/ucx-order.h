/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts packets into the order of their numbers, link by link. UCP promises no order between active
 * messages. Today's UCX sends all eager messages of an endpoint over one of its transport lanes,
 * which has to keep the order; but UCX may send fragments of long messages over several lanes
 * (UCX_MAX_EAGER_RAILS), and which protocol uses which lane is its own affair and changes between
 * versions. So each packet names its link and its number on that link. A packet is copied and waits
 * if it arrives before its predecessor, while another packet is being delivered, or outside of
 * advance (a packet to oneself arrives within the send).
 */
#ifndef TT_UCX_ORDER_H
#define TT_UCX_ORDER_H

#include "fabric/wire.h"

/* This struct precedes each packet's head, in the byte order of the machine: UCX connects only
 * machines with the same byte order. The head is followed by `gap` bytes without meaning, and then
 * by the data. */
struct tt_packet_head {
    /* the pass of the port that the packet goes to, a random number: a sender that does not know
     * the pass is not of the job */
    uint64_t pass;
    uint64_t origin; /* the link that the packet came over, a random number */
    uint32_t number; /* number of the packet on its link, from 0; wraps around */
    uint16_t head_bytes;
    uint8_t gap;
    uint8_t form; /* always TT_PACKET_FORM */
};
enum { TT_PACKET_FORM = 0x75 };

struct tt_ucx_order;

/* Makes the structure that puts the packets of a port in order. `pass` is the pass of the port;
 * arrive(arg, ...) is called for each packet. NULL: no memory. */
struct tt_ucx_order *tt_order_create(uint64_t pass, tt_wire_arrive_fn *arrive, void *arg);
void tt_order_free(struct tt_ucx_order *order);
/* Handles a received packet: delivers the packet if it is the next of its link, and keeps it if it
 * is early. Errors: ARG: refused, because it has a wrong pass (nothing else in it is looked at) or
 * is malformed (with a warning the first time). MEMORY: the packet is lost, and so are all later
 * ones of its link. */
tutti_status tt_order_take(struct tt_ucx_order *order, const void *bytes, size_t n);
/* Opens or closes the structure: it delivers packets only while it is open. Before it closes, it
 * delivers all kept packets that are the next of their links, and returns how many these were. */
int tt_order_open(struct tt_ucx_order *order, bool open);
/* Returns how many packets were refused because of a wrong pass. Anybody may send such packets, so
 * TUTTI_LOG=fabric logs only the first and each thousandth. */
uint64_t tt_order_strangers(const struct tt_ucx_order *order);
/* Returns whether tt_order_open would deliver a packet: a packet has arrived and waits, although
 * all earlier packets of its link have been delivered. */
bool tt_order_ready(const struct tt_ucx_order *order);

#endif
