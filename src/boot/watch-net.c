/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A machine may have several addresses, and some of them twice: a bridge for containers has the
 * same on each. So those are tried that lie in a network of this machine and are not its own; only
 * where there are none of them, others.
 */
#include "boot/watch-net.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAPPED = 12 }; /* bytes before the four of an IPv4 address */

/* ---- Being watched ---- */

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

uint16_t tt_listener_port(int fd)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    if (getsockname(fd, (struct sockaddr *)&at, &n) != 0) return 0;
    return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                          : ((struct sockaddr_in *)&at)->sin_port);
}

tutti_status tt_listener_open(int *fd, uint16_t *port)
{
    *fd = listen_on(AF_INET6);
    if (*fd < 0) *fd = listen_on(AF_INET); /* a machine without IPv6 */
    *port = *fd < 0 ? 0 : tt_listener_port(*fd);
    if (*port) return TUTTI_OK;
    tutti_status status =
        tt_fail_errno(errno == EMFILE || errno == ENFILE ? TUTTI_ERR_LIMIT : TUTTI_ERR_SYSTEM,
                      "cannot listen on a port, by which other machines would see this rank");
    if (*fd >= 0) close(*fd);
    *fd = -1;
    return status;
}

/* One not accepted would be reset with the listener. */
void tt_listener_close(int fd)
{
    for (int one; (one = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0;) close(one);
    close(fd);
}

/* ---- Whom to connect to ---- */

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

/* Whether the address lies in the interface's network; exactly: it is the interface's own. */
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

enum nearness { NEIGHBOUR, BEYOND, MINE, NEARNESSES };

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

/* Probes at fifths of the time; the kernel gives up at the first that finds its bound passed, so
 * the bound lies before the fourth. Seconds are its unit: of two, the second decides. */
static void probe(int fd, int timeout_s)
{
    int every = (int)tt_max(1, timeout_s / 5);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, every);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, every);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (timeout_s - every) * 1000 - 500);
}

static int connect_to(const uint8_t *address, uint16_t port, int timeout_s)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    int fd = socket(family_of(address), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    memcpy(&four.sin_addr, address + MAPPED, 4);
    memcpy(&six.sin6_addr, address, 16);
    probe(fd, timeout_s);
    int failed = is_four(address) ? connect(fd, (struct sockaddr *)&four, sizeof four)
                                  : connect(fd, (struct sockaddr *)&six, sizeof six);
    /* A refusal at once, of an own address, is kept for the look that tells it. */
    if (!failed || errno == EINPROGRESS || errno == ECONNREFUSED) return fd;
    close(fd);
    return -1;
}

int tt_connect_begin(uint16_t port, const uint8_t (*address)[16], int addresses, int timeout_s,
                     int fds[TT_CARD_ADDRESSES])
{
    struct ifaddrs *mine = NULL;
    int n = 0;
    if (getifaddrs(&mine) != 0) mine = NULL;
    for (int near = NEIGHBOUR; near < NEARNESSES && n == 0; near++)
        for (int a = 0; a < addresses; a++) {
            if (nearness_of(address[a], mine) != (enum nearness)near) continue;
            fds[n] = connect_to(address[a], port, timeout_s);
            n += fds[n] >= 0;
        }
    if (mine) freeifaddrs(mine);
    return n;
}

static void close_others(int *fds, int *n, int kept)
{
    for (int i = 0; i < *n; i++)
        if (i != kept) close(fds[i]);
    fds[0] = fds[kept];
    *n = 1;
}

/* 0 when it is up, -1 while it is under way, else what it failed with. */
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

enum tt_connect tt_connect_look(int *fds, int *n)
{
    bool refused = false;
    for (int i = 0; i < *n;) {
        int error = outcome(fds[i]);
        if (error == 0) {
            close_others(fds, n, i);
            return TT_CONNECT_UP;
        }
        if (error < 0) {
            i++;
            continue;
        }
        refused = refused || error == ECONNREFUSED || error == ECONNRESET;
        close(fds[i]);
        fds[i] = fds[--*n];
    }
    if (*n > 0) return TT_CONNECT_UNDER_WAY;
    return refused ? TT_CONNECT_REFUSED : TT_CONNECT_UNREACHABLE;
}

/* A byte that comes is from nobody of ours. */
enum tt_line tt_line_look(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
    if (n == 0) return TT_LINE_ENDED;
    if (n > 0 || errno == ECONNRESET || errno == EPIPE) return TT_LINE_RESET;
    return errno == EAGAIN || errno == EINTR ? TT_LINE_UP : TT_LINE_SILENT;
}
