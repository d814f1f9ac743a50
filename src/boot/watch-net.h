/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sockets by which ranks watch each other: TCP connections between hosts, and named sockets
 * within a host. They carry no data.
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

/* Returns a number that identifies the network namespace of this process among those of all hosts;
 * 0: not known. An address that several hosts have, such as a loopback address or that of a bridge
 * for containers, leads to this process only within this namespace. */
uint64_t tt_host_network(void);

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

/* The connections that are being made to one port of a host, at several of its addresses at the
 * same time. Before the first tt_connect_begin, all fields are 0. */
struct tt_connecting {
    int fds[TT_RECORD_ADDRESSES], n;
    uint8_t which[TT_RECORD_ADDRESSES]; /* the number of the address to which fds[i] leads */
    uint32_t refused; /* bit a: address number a has refused a connection, since tt_connect_end */
    /* bit a: address number a is an address of this host, too, and the other host is in another
     * network namespace: a refusal proves nothing, and is not recorded in `refused` */
    uint32_t ambiguous;
};

/* Returns whether one of the n addresses can be reached from another network namespace: it is no
 * loopback address. */
bool tt_host_has_address(const uint8_t (*address)[16], int n);

/* Starts to connect to the port at those of the n addresses at which the other host may be reached
 * (watch-net.c), and closes the connections that an earlier call has started. elsewhere: the port
 * is known to be in another network namespace. timeout_s: a connection fails if the other host has
 * not answered the kernel's probes for so many seconds; 0: there are no probes. */
void tt_connect_begin(struct tt_connecting *c, uint16_t port, const uint8_t (*address)[16], int n,
                      bool elsewhere, int timeout_s);
/* Closes the connections, and forgets which addresses have refused one. */
void tt_connect_end(struct tt_connecting *c);

/* The state of connections that are being made. REFUSED: no connection is under way any more, and
 * an address has refused one: a host answers, but no socket listens on the port. UNREACHABLE: no
 * connection is under way any more, and no address has answered. */
enum tt_connect { TT_CONNECT_UNDER_WAY, TT_CONNECT_UP, TT_CONNECT_REFUSED, TT_CONNECT_UNREACHABLE };
/* Returns the state that the connections have together. UP: fds[0] is connected, and all other
 * descriptors are closed. REFUSED, UNREACHABLE: all descriptors are closed. */
enum tt_connect tt_connect_look(struct tt_connecting *c);

/* UP: the connection stands. ENDED: the peer closed it properly. RESET: the peer's process died.
 * SILENT: the peer's host has not answered the kernel's probes, or cannot be reached. */
enum tt_watch_line { TT_LINE_UP, TT_LINE_ENDED, TT_LINE_RESET, TT_LINE_SILENT };
/* Returns the state of an established connection. */
enum tt_watch_line tt_line_look(int fd);
/* Returns for how many milliseconds the peer's host has not answered over a connection. */
int64_t tt_line_silent_ms(int fd);

/* Makes a socket that exists until this process ends, and by whose number other processes in this
 * network namespace notice that end (watch-net.c). Returns its descriptor; -1: there is none, and
 * ranks in other PID namespaces cannot see the end of this process. */
int tt_named_socket_make(uint64_t *number);
/* Returns whether the socket with this number does not exist any more. */
bool tt_named_socket_is_gone(uint64_t number);

#endif
