/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The TCP connections by which ranks watch each other. They carry no data.
 */
#ifndef TT_WATCH_NET_H
#define TT_WATCH_NET_H

#include "boot/address-record.h"

/* Stores the addresses of this host's interfaces that are up, IPv4 written as IPv6
 * (::ffff:a.b.c.d); loopback addresses only if the host has no other address. Returns their
 * number. */
int tt_host_addresses(uint8_t address[TT_RECORD_ADDRESSES][16]);

/* Returns a number that identifies the running kernel, equal in all of its namespaces: the first 64
 * bits of the random number that the kernel drew when it booted. 0: not known. Nodes publish this
 * number, because nodes that are containers with the same kernel share the processors of one
 * machine. */
uint64_t tt_host_kernel(void);

/* Opens a socket that listens on all interfaces, on a free port. Errors: LIMIT, SYSTEM. */
tutti_status tt_listener_open(int *fd, uint16_t *port);

/* Returns the local port of a socket; 0: fd is no socket. */
uint16_t tt_listener_port(int fd);

/* A port by which other hosts watch this process. No other program gets the port for a minute after
 * this process has ended. For this, the process itself holds connections to the port, in held[]
 * (watch-net.c). */
struct tt_watched_port {
    int fd; /* -1: it is not open */
    uint16_t port;
    int held[2 * TT_RECORD_ADDRESSES], n;
};

/* Opens the port. Errors: LIMIT, SYSTEM. If the port cannot be reserved for the minute after the
 * end of the process, the function opens it anyway. */
tutti_status tt_watched_port_open(struct tt_watched_port *port);
/* Closes the port so that ranks that are connected see an orderly end of the connection, not a
 * reset. */
void tt_watched_port_close(struct tt_watched_port *port);
/* Closes the descriptors in a child process that fork made. The parent's port stays open. */
void tt_watched_port_forget(struct tt_watched_port *port);

/* Starts to connect to the port at those of the n addresses that are nearest to this host
 * (watch-net.c has the order), at all of them at the same time. timeout_s: a connection fails
 * within so many seconds in which the other host does not answer the kernel's probes; 0: there are
 * no probes. Stores the descriptors in fds[], and returns their number. */
int tt_connect_begin(uint16_t port, const uint8_t (*address)[16], int n, int timeout_s,
                     int fds[TT_RECORD_ADDRESSES]);

/* The state of connections that are being made. REFUSED: the host answers, but no socket listens on
 * the port. UNREACHABLE: no address answers. */
enum tt_connect { TT_CONNECT_UNDER_WAY, TT_CONNECT_UP, TT_CONNECT_REFUSED, TT_CONNECT_UNREACHABLE };
/* Returns the state that the *n connections in fds[], which lead to the same port, have together.
 * UP: fds[0] is connected, and all other descriptors are closed. REFUSED, UNREACHABLE: all
 * descriptors are closed. */
enum tt_connect tt_connect_look(int *fds, int *n);

/* UP: the connection stands. ENDED: the peer closed it properly. RESET: the peer's process died.
 * SILENT: the peer's host has not answered the kernel's probes. */
enum tt_watch_line { TT_LINE_UP, TT_LINE_ENDED, TT_LINE_RESET, TT_LINE_SILENT };
/* Returns the state of an established connection. */
enum tt_watch_line tt_line_look(int fd);
/* Returns for how many seconds the peer's host has not answered on a connection. */
int tt_line_silent_s(int fd);

#endif
