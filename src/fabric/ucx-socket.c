/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How soon a peer behind TCP is given up. UCX leaves that to the kernel: it can be told to have TCP
 * ask a silent peer (UCX_TCP_KEEP...), but does so on one end of a connection only, and TCP asks
 * only where nothing is on its way, while UCX's own keepalive messages mostly are; these TCP
 * repeats for a quarter of an hour (seen with UCX 1.13). The option TCP_USER_TIMEOUT would end
 * that, but also cut off a peer that lives and merely does not read for as long.
 *
 * So the sockets of a port's worker are looked at now and then. One that has repeated what is on
 * its way, or asked after it or after the peer, and has had no answer since the last look, is
 * stuck; one that is stuck for half of TUTTI_PEER_TIMEOUT is shut down, which UCX takes for what it
 * is. A peer that does not read has a kernel that answers.
 *
 * Which sockets they are the kernel tells: a worker has a set of epoll, in that lie the sets of its
 * interfaces, and in those the sockets, by number and inode (/proc/self/fdinfo). A thread of UCX
 * may take a socket out and close it while this is read, and the program be given its number for
 * another: so the inode is compared before anything is done, and only what was stuck at every look
 * for seconds is shut down.
 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fabric/ucx.h"

/* ---- Which ---- */

enum {
    NESTED = 3,  /* sets within each other, at most */
    RESERVE = 32 /* descriptors that are left for the program, and for those who connect to us */
};

static void read_set(int set, int depth, tt_ucx_socket_fn *fn, void *arg);

static void look_into(int fd, uint64_t inode, int depth, tt_ucx_socket_fn *fn, void *arg)
{
    struct stat is;
    if (fstat(fd, &is) != 0 || is.st_ino != inode) return;
    if (S_ISSOCK(is.st_mode))
        fn(fd, inode, arg);
    else if (depth < NESTED)
        read_set(fd, depth + 1, fn, arg); /* what is no set lists nothing */
}

static void read_set(int set, int depth, tt_ucx_socket_fn *fn, void *arg)
{
    char line[200];
    snprintf(line, sizeof line, "/proc/self/fdinfo/%d", set);
    FILE *file = fopen(line, "re");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        int fd;
        unsigned long long inode;
        if (sscanf(line, "tfd: %d events: %*s data: %*s pos:%*s ino:%llx", &fd, &inode) == 2)
            look_into(fd, inode, depth, fn, arg);
    }
    fclose(file);
}

void tt_ucx_each_socket(int set, tt_ucx_socket_fn *fn, void *arg)
{
    read_set(set, 1, fn, arg);
}

/* ---- Settings ---- */

static bool has(int fd, int level, int option, int value)
{
    int is = -1;
    socklen_t bytes = sizeof is;
    return getsockopt(fd, level, option, &is, &bytes) == 0 && is == value;
}

static void set(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

/* TCP asks after a silent peer, if nobody has made it ask so soon yet, and never ends a connection
 * by itself. UCX sets what it thinks best when it connects. */
static void ask_soon(int fd)
{
    int seconds = (int)tt_max(tt_ucx_patience_ms() / 8000, 1);
    if (has(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds) && has(fd, SOL_SOCKET, SO_KEEPALIVE, 1)) return;
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, TT_UCX_NEVER_MS);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

/* ---- Stuck ones ---- */

static bool is_stuck(int fd, int64_t since_last_ms)
{
    struct tcp_info info;
    socklen_t bytes = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return false;
    bool repeated = info.tcpi_unacked > 0 && info.tcpi_retransmits > 0;
    bool probed = info.tcpi_probes > 0;
    return (repeated || probed) && info.tcpi_last_ack_recv >= since_last_ms;
}

/* The kernel lists sockets in the same order each time, so that the next one is mostly the one
 * wanted. */
static struct tt_ucx_stuck *find_stuck(struct tt_ucx_watch *watch, uint64_t inode)
{
    for (size_t i = 0; i < watch->n; i++) {
        size_t at = (watch->next + i) % watch->n;
        if (watch->stuck[at].inode != inode) continue;
        watch->next = at + 1;
        return &watch->stuck[at];
    }
    return NULL;
}

/* NULL where there is no memory: it is found again at the next look. */
static struct tt_ucx_stuck *add_stuck(struct tt_ucx_watch *watch, uint64_t inode, int64_t now_ms)
{
    if (watch->n == watch->room) {
        size_t room = watch->room ? 2 * watch->room : 16;
        struct tt_ucx_stuck *more = tt_realloc(watch->stuck, room * sizeof *more);
        if (!more) return NULL;
        watch->stuck = more;
        watch->room = room;
    }
    watch->stuck[watch->n] = (struct tt_ucx_stuck){.inode = inode, .since_ms = now_ms};
    return &watch->stuck[watch->n++];
}

static void drop_those_not_seen(struct tt_ucx_watch *watch, int64_t now_ms)
{
    size_t n = 0;
    for (size_t i = 0; i < watch->n; i++) {
        if (watch->stuck[i].seen_ms == now_ms) watch->stuck[n++] = watch->stuck[i];
    }
    watch->n = n;
    watch->next = 0;
}

/* ---- Room for more ---- */

/* How many descriptors are left. The kernel gives the least number that is free, so one near the
 * limit tells. */
static int64_t left(int64_t *limit)
{
    struct rlimit is;
    if (getrlimit(RLIMIT_NOFILE, &is) != 0) return INT64_MAX;
    *limit = is.rlim_cur < INT64_MAX ? (int64_t)is.rlim_cur : INT64_MAX;
    int fd = eventfd(0, EFD_CLOEXEC);
    if (fd < 0) return errno == EMFILE || errno == ENFILE ? 0 : INT64_MAX;
    close(fd);
    return *limit - fd;
}

tutti_status tt_ucx_room(const char *doing)
{
    int64_t limit = 0;
    if (left(&limit) > RESERVE) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_LIMIT,
                   "%s: too few of the %lld file descriptors that this process may have are left: "
                   "raise `ulimit -n`, or use fewer contexts",
                   doing, (long long)limit);
}

/* Peers that connect to this process use up its descriptors. Once UCX has found no descriptor for a
 * connection, it accepts no connection any more. */
static void warn_if_few_are_left(void)
{
    static atomic_bool told;
    int64_t limit = 0;
    if (left(&limit) > RESERVE / 2 || atomic_exchange(&told, true)) return;
    tt_warn("almost all of the %lld file descriptors that this process may have are used: others "
            "cannot connect to it then, and take it for gone: raise `ulimit -n`",
            (long long)limit);
}

/* ---- Looking ---- */

struct look {
    struct tt_ucx_watch *watch;
    int64_t now_ms;
};

static void look_at(int fd, uint64_t inode, void *arg)
{
    const struct look *look = arg;
    struct tt_ucx_watch *watch = look->watch;
    if (!has(fd, SOL_SOCKET, SO_PROTOCOL, IPPROTO_TCP)) return;
    ask_soon(fd);
    if (!is_stuck(fd, look->now_ms - watch->last_ms)) return;
    struct tt_ucx_stuck *stuck = find_stuck(watch, inode);
    if (!stuck) stuck = add_stuck(watch, inode, look->now_ms);
    if (!stuck) return;
    stuck->seen_ms = look->now_ms;
    if (look->now_ms - stuck->since_ms >= tt_ucx_patience_ms() / 2) shutdown(fd, SHUT_RDWR);
}

static int64_t coarse_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

void tt_ucx_watch(struct tt_port *port)
{
    struct look look = {.watch = &port->watch, .now_ms = coarse_ms()};
    if (look.now_ms < port->watch.next_ms) return;
    warn_if_few_are_left();
    tt_ucx_each_socket(port->descriptor, look_at, &look);
    drop_those_not_seen(&port->watch, look.now_ms);
    port->watch.last_ms = look.now_ms;
    port->watch.next_ms = look.now_ms + tt_ucx_patience_ms() / 8;
}
