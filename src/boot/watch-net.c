/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host may have several addresses, some of which cannot be reached from here: those of a network
 * for management, of a VPN, or of a network for containers. Also, different hosts may have the same
 * address: a bridge for containers has the same address on each host. So this host tries all
 * addresses of another host at the same time, except addresses that are its own, too. It tries
 * these only if there are no others. A loopback address leads to another network namespace in no
 * case.
 */
#include "boot/watch-net.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file-id.h"

enum { MAPPED = 12 }; /* bytes of an IPv6 address before the IPv4 address that it maps */

/* ---- This host ---- */

static bool write_address(const struct sockaddr *from, uint8_t to[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (from && from->sa_family == AF_INET) {
        memcpy(to, mapped, sizeof mapped);
        memcpy(to + sizeof mapped, &((const struct sockaddr_in *)from)->sin_addr, 4);
        return true;
    }
    if (!from || from->sa_family != AF_INET6) return false;
    const struct in6_addr *address = &((const struct sockaddr_in6 *)from)->sin6_addr;
    memcpy(to, address, 16);
    /* a link-local address is useless without its interface */
    return !IN6_IS_ADDR_LINKLOCAL(address);
}

static int collect(const struct ifaddrs *all, bool loopback, uint8_t (*address)[16])
{
    int n = 0;
    for (const struct ifaddrs *i = all; i && n < TT_RECORD_ADDRESSES; i = i->ifa_next) {
        bool fits = (i->ifa_flags & IFF_UP) && !(i->ifa_flags & IFF_LOOPBACK) == !loopback;
        if (fits && write_address(i->ifa_addr, address[n])) n++;
    }
    return n;
}

int tt_host_addresses(uint8_t address[TT_RECORD_ADDRESSES][16])
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) return 0;
    int n = collect(all, false, address);
    if (n == 0) n = collect(all, true, address);
    freeifaddrs(all);
    return n;
}

uint64_t tt_host_kernel(void)
{
    unsigned high, middle, low;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file) return 0;
    int got = fscanf(file, "%8x-%4x-%4x", &high, &middle, &low);
    fclose(file);
    return got == 3 ? (uint64_t)high << 32 | (uint64_t)middle << 16 | low : 0;
}

uint64_t tt_host_network(void)
{
    struct stat space;
    uint64_t kernel = tt_host_kernel();
    if (!kernel || stat("/proc/self/ns/net", &space) != 0) return 0;
    return (kernel ^ (uint64_t)space.st_ino) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

/* ---- Listening ---- */

static bool bind_any(int fd, int family)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    struct sockaddr_in four = {.sin_family = AF_INET};
    int both = 0;
    if (family == AF_INET) return bind(fd, (struct sockaddr *)&four, sizeof four) == 0;
    return setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both) == 0 &&
           bind(fd, (struct sockaddr *)&six, sizeof six) == 0;
}

static int listen_on(int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind_any(fd, family) && listen(fd, SOMAXCONN) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static uint16_t port_of(const struct sockaddr_storage *at)
{
    return ntohs(at->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)at)->sin6_port
                                           : ((const struct sockaddr_in *)at)->sin_port);
}

uint16_t tt_listener_port(int fd)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    return getsockname(fd, (struct sockaddr *)&at, &n) == 0 ? port_of(&at) : 0;
}

tutti_status tt_listener_open(int *fd, uint16_t *port)
{
    *fd = listen_on(AF_INET6);
    if (*fd < 0) *fd = listen_on(AF_INET); /* this host has no IPv6 */
    *port = *fd < 0 ? 0 : tt_listener_port(*fd);
    if (*port) return TUTTI_OK;
    tutti_status status =
        tt_fail_errno(errno == EMFILE || errno == ENFILE ? TUTTI_ERR_LIMIT : TUTTI_ERR_SYSTEM,
                      "cannot listen on a port, by which other machines would see this rank");
    if (*fd >= 0) close(*fd);
    *fd = -1;
    return status;
}

/* ---- Which addresses to connect to ---- */

static bool is_four(const uint8_t *address)
{
    static const uint8_t mapped[MAPPED] = {[10] = 0xff, [11] = 0xff};
    return memcmp(address, mapped, MAPPED) == 0;
}

static int family_of(const uint8_t *address)
{
    return is_four(address) ? AF_INET : AF_INET6;
}

static const uint8_t *bytes_of(const struct sockaddr *a)
{
    return a->sa_family == AF_INET ? (const uint8_t *)&((const struct sockaddr_in *)a)->sin_addr
                                   : (const uint8_t *)&((const struct sockaddr_in6 *)a)->sin6_addr;
}

/* Returns whether the address lies in the interface's network, or, if `exactly`, whether it is the
 * interface's own address. */
static bool lies_in(const uint8_t *address, const struct ifaddrs *i, bool exactly)
{
    int family = family_of(address), n = family == AF_INET ? 4 : 16;
    if (!i->ifa_addr || i->ifa_addr->sa_family != family || (!exactly && !i->ifa_netmask))
        return false;
    const uint8_t *mine = bytes_of(i->ifa_addr), *its = address + 16 - n;
    const uint8_t *mask = exactly ? NULL : bytes_of(i->ifa_netmask);
    for (int b = 0; b < n; b++)
        if ((mine[b] ^ its[b]) & (mask ? mask[b] : 0xff)) return false;
    return true;
}

static bool is_loopback(const uint8_t *address)
{
    static const uint8_t six[16] = {[15] = 1};
    return is_four(address) ? address[MAPPED] == 127 : memcmp(address, six, sizeof six) == 0;
}

bool tt_host_has_address(const uint8_t (*address)[16], int n)
{
    for (int a = 0; a < n; a++)
        if (!is_loopback(address[a])) return true;
    return false;
}

/* NEIGHBOUR: the address lies in a network of this host. */
enum nearness { NEIGHBOUR, BEYOND, MINE };

static enum nearness nearness_of(const uint8_t *address, const struct ifaddrs *all)
{
    enum nearness best = BEYOND;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (lies_in(address, i, true)) return MINE;
        if (lies_in(address, i, false)) best = NEIGHBOUR;
    }
    return best;
}

/* ---- Connecting ---- */

static void set(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof value);
}

/* Makes the kernel send keep-alive probes, about a fifth of the timeout apart. If the peer does not
 * answer, the kernel ends the connection at the first probe that is due after its own time limit,
 * TCP_USER_TIMEOUT. This limit is more than one interval shorter than the timeout, so the kernel
 * ends the connection before the timeout is over, and there is time to connect again. The shortest
 * interval is a second, so with a timeout of 2 s the kernel ends the connection only after 2 s, at
 * the second probe. */
static void probe(int fd, int timeout_s)
{
    int every = (int)tt_max(1, timeout_s / 5);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, every);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, every);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (timeout_s - every) * 1000 - 500);
}

/* Begins to connect to a port. Returns the descriptor, or -1. The connection fails within timeout_s
 * seconds in which the peer's kernel does not answer keep-alive probes; if timeout_s is 0, the
 * kernel sends no probes. */
static int connect_to(const uint8_t *address, uint16_t port, int timeout_s)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    int fd = tt_file_above_standard(
        socket(family_of(address), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) return -1;
    memcpy(&four.sin_addr, address + MAPPED, 4);
    memcpy(&six.sin6_addr, address, 16);
    if (timeout_s > 0) probe(fd, timeout_s);
    int failed = is_four(address) ? connect(fd, (struct sockaddr *)&four, sizeof four)
                                  : connect(fd, (struct sockaddr *)&six, sizeof six);
    /* If an address of this host refuses the connection at once, the descriptor is kept too:
     * tt_connect_look then returns REFUSED. */
    if (!failed || errno == EINPROGRESS || errno == ECONNREFUSED) return fd;
    close(fd);
    return -1;
}

static void hang_up(struct tt_connecting *c)
{
    while (c->n > 0) close(c->fds[--c->n]);
}

void tt_connect_begin(struct tt_connecting *c, uint16_t port, const uint8_t (*address)[16], int n,
                      bool elsewhere, int timeout_s)
{
    struct ifaddrs *mine = NULL;
    if (getifaddrs(&mine) != 0) mine = NULL;
    hang_up(c);
    c->ambiguous = 0;
    /* neighbours come first: if several connections are up, tt_connect_look takes the first */
    for (int near = NEIGHBOUR; near <= MINE && (near < MINE || c->n == 0); near++)
        for (int a = 0; a < n; a++) {
            if (nearness_of(address[a], mine) != (enum nearness)near) continue;
            if (elsewhere && is_loopback(address[a])) continue;
            if (elsewhere && near == MINE) c->ambiguous |= 1u << a;
            c->fds[c->n] = connect_to(address[a], port, timeout_s);
            c->which[c->n] = (uint8_t)a;
            c->n += c->fds[c->n] >= 0;
        }
    if (mine) freeifaddrs(mine);
}

void tt_connect_end(struct tt_connecting *c)
{
    hang_up(c);
    c->refused = 0;
}

static void close_others(struct tt_connecting *c, int kept)
{
    for (int i = 0; i < c->n; i++)
        if (i != kept) close(c->fds[i]);
    c->fds[0] = c->fds[kept];
    c->which[0] = c->which[kept];
    c->n = 1;
}

/* Returns 0 if the connection is up, -1 while it is being made, else the errno of its failure. */
static int outcome(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    struct sockaddr_storage peer;
    socklen_t n = sizeof peer;
    int error = 0;
    socklen_t size = sizeof error;
    if (poll(&p, 1, 0) <= 0) return -1;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    if (error) return error;
    return getpeername(fd, (struct sockaddr *)&peer, &n) == 0 ? 0 : ECONNREFUSED;
}

/* Closes a connection that has failed, and keeps the order of the others. */
static void drop(struct tt_connecting *c, int i, int error)
{
    uint32_t bit = 1u << c->which[i] & ~c->ambiguous;
    if (error == ECONNREFUSED || error == ECONNRESET) c->refused |= bit;
    close(c->fds[i]);
    for (c->n--; i < c->n; i++) {
        c->fds[i] = c->fds[i + 1];
        c->which[i] = c->which[i + 1];
    }
}

enum tt_connect tt_connect_look(struct tt_connecting *c)
{
    for (int i = 0; i < c->n;) {
        int error = outcome(c->fds[i]);
        if (error == 0) {
            close_others(c, i);
            return TT_CONNECT_UP;
        }
        if (error < 0)
            i++;
        else
            drop(c, i, error);
    }
    if (c->n > 0) return TT_CONNECT_UNDER_WAY;
    return c->refused ? TT_CONNECT_REFUSED : TT_CONNECT_UNREACHABLE;
}

/* Returns the state of a connection. A rank of Tutti never sends a byte over such a connection, so
 * a byte means that the connection leads to another program, and counts as RESET. */
enum tt_watch_line tt_line_look(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
    if (n == 0) return TT_LINE_ENDED;
    if (n > 0 || errno == ECONNRESET || errno == EPIPE) return TT_LINE_RESET;
    return errno == EAGAIN || errno == EINTR ? TT_LINE_UP : TT_LINE_SILENT;
}

int64_t tt_line_silent_ms(int fd)
{
    struct tcp_info info = {0};
    socklen_t n = sizeof info;
    (void)getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n);
    return info.tcpi_last_ack_recv;
}

/* ---- A port that no other program gets ----
 *
 * When a process dies, its kernel may give the process's port to another program at once. A rank
 * that connects to the port after that would take this program for the process, and would not
 * notice that the process died. TCP can prevent this: while a connection is in the state TIME_WAIT,
 * which lasts a minute (RFC 9293, section 3.6.1), the kernel gives its local port to no other
 * program. The side of a connection that ends it first gets into that state.
 *
 * So the process connects to its port itself, once over each address of the host, because a program
 * may ask for the port at one address only. The accepted side of each connection, whose local
 * port is the watched one, is shut down for writing at once, so it is the side that ended first.
 * When the process ends, in whatever way, the kernel closes the other side, and the accepted side
 * goes to TIME_WAIT. */

enum { HOLD_MS = 100 }; /* a connection within the host is made within so many ms */

static bool comes_within(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    return poll(&p, 1, HOLD_MS) > 0;
}

static uint16_t remote_port(int fd)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    return getpeername(fd, (struct sockaddr *)&at, &n) == 0 ? port_of(&at) : 0;
}

/* Accepts the connection that comes from port `port` of this host, and closes other connections
 * that come before it. Returns -1 if the connection does not come within HOLD_MS. */
static int accept_from(int listener, uint16_t port)
{
    while (comes_within(listener, POLLIN)) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) return -1;
        if (remote_port(fd) == port) return fd;
        close(fd);
    }
    return -1;
}

static void hold_over(struct tt_watched_port *port, const uint8_t *address)
{
    int from = connect_to(address, port->port, 0);
    int to = from < 0 ? -1 : accept_from(port->fd, tt_listener_port(from));
    if (to >= 0 && shutdown(to, SHUT_WR) == 0) {
        port->held[port->n++] = from;
        port->held[port->n++] = to;
        return;
    }
    if (from >= 0) close(from);
    if (to >= 0) close(to);
}

tutti_status tt_watched_port_open(struct tt_watched_port *port)
{
    uint8_t address[TT_RECORD_ADDRESSES][16];
    port->n = 0;
    TT_TRY(tt_listener_open(&port->fd, &port->port));
    int n = tt_host_addresses(address);
    for (int i = 0; i < n; i++) hold_over(port, address[i]);
    return TUTTI_OK;
}

void tt_watched_port_forget(struct tt_watched_port *port)
{
    if (port->fd < 0) return;
    while (port->n > 0) close(port->held[--port->n]);
    close(port->fd);
    port->fd = -1;
    port->port = 0;
}

/* Accepts and closes the connections that wait at the port, and closes the port. If the connections
 * were not accepted, closing the port would reset them. */
void tt_watched_port_close(struct tt_watched_port *port)
{
    if (port->fd < 0) return;
    for (int one; (one = accept4(port->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0;) close(one);
    tt_watched_port_forget(port);
}

/* ---- A process of this host in another PID namespace ----
 *
 * Other ranks of the node cannot refer to such a process by its pid. So each process binds a
 * datagram socket to an abstract name, publishes the random number in this name, and keeps the
 * socket until it ends. Such a name is valid in one network namespace only. This suffices, because
 * ranks that share memory are in the same network namespace (share.h). A process that tries to
 * connect a socket of its own to the name gets the error ECONNREFUSED if the socket does not exist
 * any more. The kernel answers, even if the process computes for hours, and the attempt leaves
 * nothing in the socket. */

static socklen_t address_of(uint64_t number, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    /* the 0 before the name makes it abstract */
    int n = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "tutti-rank-%016llx",
                     (unsigned long long)number);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int tt_named_socket_make(uint64_t *number)
{
    struct sockaddr_un address;
    if (getrandom(number, sizeof *number, 0) != sizeof *number || *number == 0) return -1;
    int fd = tt_file_above_standard(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    socklen_t n = address_of(*number, &address);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, n) == 0) return fd;
    close(fd);
    return -1;
}

bool tt_named_socket_is_gone(uint64_t number)
{
    struct sockaddr_un address;
    socklen_t n = address_of(number, &address);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    bool refused = connect(fd, (struct sockaddr *)&address, n) != 0 && errno == ECONNREFUSED;
    close(fd);
    return refused;
}
