/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between machines: a port of the wire for each context, and links to those that are written to.
 */
#ifndef TT_WIRED_H
#define TT_WIRED_H

#include "msg/inside.h"

struct tt_region_key;

/* Opens the network, if some rank is on another machine. Errors: those of the wire. */
tutti_status tt_wired_open(struct tt_msg *msg);
/* Tells where context 0 is. */
tutti_status tt_wired_tell(struct tt_msg *msg);
void tt_wired_close(struct tt_msg *msg);

tutti_status tt_wired_context(tutti_context *context);
void tt_wired_context_close(tutti_context *context);
void tt_wired_advance(tutti_context *context);

/* Bytes of data of a packet, at most. */
size_t tt_wired_most(const tutti_context *context);
/* Sends a piece of a parcel. AGAIN: nobody is connected yet. */
tutti_status tt_wired_send(tutti_context *context, struct tt_peer *peer,
                           const struct tt_packet *packet, struct tt_parcel *parcel);

void tt_wired_card(tutti_context *context, struct tt_peer *peer, const struct tt_packet *packet);
void tt_wired_card_is(tutti_context *context, struct tt_peer *peer, const struct tt_packet *packet);

/* Makes it reachable by the network, where that can be. Errors: MEMORY, SYSTEM. */
tutti_status tt_wired_map(struct tt_msg *msg, tutti_region *region);
/* Gets or puts op->bytes at `offset` of the key's region. AGAIN: the operation will be told. */
tutti_status tt_wired_move(tutti_context *context, struct tt_peer *peer, struct tt_op *op,
                           const struct tt_region_key *key, char *here, int64_t offset, bool put);

#endif
