/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between nodes over a network: each context has a port of the wire (fabric/wire.h), and
 * links to the ports that it sends to.
 */
#ifndef TT_WIRED_H
#define TT_WIRED_H

#include "msg/inside.h"

/* Opens the network, if some rank is on another node. `arrive` handles the packets that come to a
 * context. Errors: those of `open` in struct tt_wire_ops (fabric/wire.h). */
tutti_status tt_wired_open(struct tt_msg *msg, tt_wire_arrive_fn *arrive);
/* Publishes the address of context 0, when the ranks have met. Collective. Errors: those of
 * tt_wired_open_port, tt_mailbox_publish_port and tt_boot_show. */
tutti_status tt_wired_met(struct tt_msg *msg);
void tt_wired_close(struct tt_msg *msg);

/* Opens the port of a context, if there is a network. Errors: those of `port_open` and
 * `port_address` in struct tt_wire_ops (fabric/wire.h). */
tutti_status tt_wired_open_port(tutti_context *context);
/* Publishes the address of a context other than 0. */
void tt_wired_publish(const tutti_context *context);
/* The longest time that each step of closing the connections may take. */
#define TT_PARTING_NS INT64_C(1000000000)

/* tt_wired_say_bye notifies the other ranks that this rank leaves, so that they do not take the end
 * of the connections for a failure. tt_wired_is_sending returns whether packets or puts to other
 * ranks are still waiting. */
void tt_wired_say_bye(struct tt_msg *msg);
bool tt_wired_is_sending(const struct tt_msg *msg);
/* Closes all links. Takes up to a second if other ranks do not receive what was sent to them. After
 * that, closing the contexts does not wait. */
void tt_wired_close_links(struct tt_msg *msg);
/* Closes the links and the port of a context. */
void tt_wired_close_port(tutti_context *context);
/* Returns whether a peer whose rank has failed or left may be given up, and the link to it be cut.
 * Returns false if the rank has left and answers of the peer may still come, but for a limited time
 * only. Returns false also for half a second after the link was opened if the network reads lent
 * data and the rank's process may still run, because both ends may still be setting up the link. */
bool tt_wired_may_cut(const tutti_context *context, struct tt_peer *peer);
/* Advances the port of a context: receives packets, answers ADDRESS packets, ends lost links. */
void tt_wired_advance(tutti_context *context);

/* Handle packets of the kinds ADDRESS, ADDRESS_IS and BYE (packet.h). */
void tt_wired_handle_address(tutti_context *context, struct tt_peer *peer,
                             const struct tt_packet *packet);
void tt_wired_handle_address_is(tutti_context *context, struct tt_peer *peer,
                                const struct tt_packet *packet);
void tt_wired_handle_bye(tutti_context *context, struct tt_peer *peer,
                         const struct tt_packet *packet);

/* Gets or puts (pending->kind) pending->bytes bytes between `here` and address `there` in the
 * memory of the key. AGAIN: the operation will be completed later. UNSUPPORTED: the network cannot
 * access this memory, or there is no link to the peer yet. */
tutti_status tt_wired_move(tutti_context *context, struct tt_pending *pending, const void *key,
                           size_t key_bytes, uint64_t there, char *here);

#endif
