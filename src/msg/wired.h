/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between machines: a port of the wire for each context, and links to those that are
 * written to.
 */
#ifndef TT_WIRED_H
#define TT_WIRED_H

#include "msg/inside.h"

/* Opens the network, if some rank is on another machine. Errors: those of the wire. */
tutti_status tt_wired_open(struct tt_msg *msg);
void tt_wired_close(struct tt_msg *msg);

/* Whether messages to the rank go over the wire. */
bool tt_wired_is_far(const tutti_context *context, int rank);

tutti_status tt_wired_context(tutti_context *context);
/* Tells the others where a context other than 0 is. */
void tt_wired_tell(const tutti_context *context);
#define TT_PARTING_NS INT64_C(1000000000) /* what each step of taking leave may last */

/* Tells the others that this end is no failure; whether some of that still waits to be sent. */
void tt_wired_goodbye(struct tt_msg *msg);
bool tt_wired_is_unsaid(const struct tt_msg *msg);
/* Closes all links, in up to a second if others do not take what was sent to them. Then contexts
 * are closed, at once. */
void tt_wired_part(struct tt_msg *msg);
void tt_wired_context_close(tutti_context *context);
/* Of one that counts as gone: its link may be cut. False for half a second after the link was
 * opened if data are lent to it and the rank's process may go on, since both ends may still be
 * setting the link up. */
bool tt_wired_is_set_up(const tutti_context *context, const struct tt_peer *peer);
/* The link to one that is gone, if there is one. */
void tt_wired_end_lost(tutti_context *context, struct tt_peer *peer);
void tt_wired_advance(tutti_context *context);

/* Sends a piece of a parcel. AGAIN: nobody is connected yet. */
tutti_status tt_wired_send(tutti_context *context, struct tt_peer *peer,
                           const struct tt_packet *packet, struct tt_parcel *parcel);

void tt_wired_card(tutti_context *context, struct tt_peer *peer, const struct tt_packet *packet);
void tt_wired_card_is(tutti_context *context, struct tt_peer *peer, const struct tt_packet *packet);
void tt_wired_bye(tutti_context *context, struct tt_peer *peer);

/* Makes it reachable by the network, where that can be. */
void tt_wired_map(struct tt_msg *msg, tutti_region *region);
/* The same of the data of a long message; into key[TT_WIRE_KEY]; returns its bytes, 0: it cannot
 * be. */
size_t tt_wired_offer(tutti_context *context, struct tt_op *op, void *key);
/* Gets or puts (op->kind) op->bytes between `here` and `there` in the memory of the key. AGAIN: the
 * operation will be answered. UNSUPPORTED: it cannot be reached so. */
tutti_status tt_wired_move(tutti_context *context, struct tt_op *op, const void *key,
                           size_t key_bytes, uint64_t there, char *here);

#endif
