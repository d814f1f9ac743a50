/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connections that carry nothing.
 */
#ifndef TT_WATCH_NET_H
#define TT_WATCH_NET_H

#include "boot/card.h"

/* A socket that listens on all interfaces. Nobody accepts on that of a watched rank, its kernel
 * answers. Errors: LIMIT, SYSTEM. */
tutti_status tt_listener_open(int *fd, uint16_t *port);
/* Closes it so that whoever is connected sees an end in order, not a reset. */
void tt_listener_close(int fd);

/* The port of a socket that listens; 0: it is none. */
uint16_t tt_listener_port(int fd);

/* Begins to connect to those of the n addresses that this machine can best reach; to how many, in
 * fds. */
int tt_connect_begin(uint16_t port, const uint8_t (*address)[16], int n, int timeout_s,
                     int fds[TT_CARD_ADDRESSES]);

enum tt_connect { TT_CONNECT_UNDER_WAY, TT_CONNECT_UP, TT_CONNECT_REFUSED, TT_CONNECT_UNREACHABLE };
/* How it stands: UP leaves the one connection in fds[0], all others are closed. UNREACHABLE: none
 * is left. */
enum tt_connect tt_connect_look(int *fds, int *n);

enum tt_line { TT_LINE_UP, TT_LINE_ENDED, TT_LINE_RESET, TT_LINE_SILENT };
/* How a connection stands. */
enum tt_line tt_line_look(int fd);

#endif
