/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How soon a peer behind TCP is given up. UCX leaves that to the kernel: it can be told to have TCP ask a silent peer
 * (UCX_TCP_KEEP...), but does so on one end of a connection only, and TCP asks only where nothing is on its way, while
 * UCX's own keepalive messages mostly are; these TCP repeats for a quarter of an hour (seen with UCX 1.13). The option
 * TCP_USER_TIMEOUT would end that, but also cut off a peer that lives and merely does not read for as long.
 *
 * So the sockets of UCX are looked at now and then. One that has repeated what is on its way, or asked after it or after
 * the peer, and has had no answer since the last look, is stuck; one that is stuck for half of TUTTI_PEER_TIMEOUT is shut
 * down, which UCX takes for what it is. A peer that does not read has a kernel that answers.
 *
 * UCX does not tell which sockets are its own. Those that appear while it creates a worker or an endpoint get a mark,
 * a TCP_USER_TIMEOUT of weeks, which those inherit that a worker accepts; by it they are found again. (It also keeps TCP
 * from ending a connection by itself.)
 */
#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "fabric/ucx.h"

enum { MARK = 0x7fffff00 + 'T' }; /* milliseconds: 24 days */

typedef void fd_fn(int fd, void *arg);

static void each_fd(fd_fn *fn, void *arg)
{
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd != dirfd(folder) && fd < TT_UCX_FDS) fn(fd, arg);
    }
    closedir(folder);
}

/* ---- Marking ---- */

static void add_fd(int fd, void *arg)
{
    struct tt_ucx_fds *fds = arg;
    fds->bits[fd / 64] |= UINT64_C(1) << fd % 64;
}

void tt_ucx_fds_now(struct tt_ucx_fds *fds)
{
    memset(fds, 0, sizeof *fds);
    each_fd(add_fd, fds);
}

static bool has(int fd, int level, int option, int value)
{
    int is = -1;
    socklen_t bytes = sizeof is;
    return getsockopt(fd, level, option, &is, &bytes) == 0 && is == value;
}

/* Other threads may open sockets meanwhile. UCX's listen, or are made with TCP_NODELAY. */
static bool may_be_ucx(int fd)
{
    if (!has(fd, SOL_SOCKET, SO_PROTOCOL, IPPROTO_TCP)) return false;
    return has(fd, SOL_SOCKET, SO_ACCEPTCONN, 1) || has(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

static void mark_new(int fd, void *arg)
{
    const struct tt_ucx_fds *before = arg;
    int mark = MARK;
    if (before->bits[fd / 64] >> fd % 64 & 1 || !may_be_ucx(fd)) return;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &mark, sizeof mark);
}

void tt_ucx_fds_mark(const struct tt_ucx_fds *before)
{
    each_fd(mark_new, (void *)before);
}

/* ---- Looking ---- */

/* TCP asks after a silent peer, if nobody has made it ask so soon yet: UCX sets what it thinks best when it connects. */
static void ask_soon(int fd)
{
    int on = 1, seconds = (int)tt_max(tt_ucx_patience_ms() / 8000, 1);
    if (has(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds) && has(fd, SOL_SOCKET, SO_KEEPALIVE, 1)) return;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

/* One for the process, whichever port looks: sockets are the process' too. */
static struct {
    pthread_mutex_t lock;
    _Atomic int64_t next_ms; /* when to look again; 0: never looked */
    int64_t last_ms;
    struct {
        int64_t since_ms, seen_ms; /* it was found stuck first, and last */
    } stuck[TT_UCX_FDS];
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_stuck(int fd, int64_t since_last_ms)
{
    struct tcp_info info;
    socklen_t bytes = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return false;
    bool repeated = info.tcpi_unacked > 0 && info.tcpi_retransmits > 0;
    bool probed = info.tcpi_probes > 0;
    return (repeated || probed) && info.tcpi_last_ack_recv >= since_last_ms;
}

static void look_at(int fd, void *arg)
{
    int64_t now_ms = *(const int64_t *)arg;
    if (!has(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, MARK)) return;
    ask_soon(fd);
    if (!is_stuck(fd, now_ms - watch.last_ms)) return;
    bool again = watch.last_ms && watch.stuck[fd].seen_ms == watch.last_ms;
    if (!again) watch.stuck[fd].since_ms = now_ms;
    watch.stuck[fd].seen_ms = now_ms;
    if (now_ms - watch.stuck[fd].since_ms >= tt_ucx_patience_ms() / 2) shutdown(fd, SHUT_RDWR);
}

static int64_t coarse_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

void tt_ucx_watch(void)
{
    int64_t now_ms = coarse_ms();
    if (now_ms < atomic_load_explicit(&watch.next_ms, memory_order_relaxed)) return;
    if (pthread_mutex_trylock(&watch.lock) != 0) return;
    if (now_ms >= atomic_load_explicit(&watch.next_ms, memory_order_relaxed)) {
        each_fd(look_at, &now_ms);
        watch.last_ms = now_ms;
        atomic_store_explicit(&watch.next_ms, now_ms + tt_ucx_patience_ms() / 8,
                              memory_order_relaxed);
    }
    pthread_mutex_unlock(&watch.lock);
}
