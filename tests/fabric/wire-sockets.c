/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti sets timeouts on all sockets of UCX, and on no others: a thread of the program opens
 * sockets of the same kind while ports are opened and connected, and none of them may be changed.
 * Sockets of UCX get a small send queue where all ranks are under one kernel. Tutti does not scan
 * all descriptors of the process for this. Where descriptors run out, an error says so and nothing
 * else happens.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "fabric/pair.h"

enum {
    PORTS = 20,
    OWN = 600,              /* sockets that the program opens at most */
    NEAR_QUEUE = 256 << 10, /* bytes of the send queue where all ranks run under one kernel */
    WATCHED_MS = 800        /* with the least TUTTI_PEER_TIMEOUT, Tutti checks its sockets three
                             * times in this time */
};

/* ---- Counting scans of all descriptors ---- */

static atomic_int looked_through;

/* Replaces opendir of the C library for the whole program, counts scans and calls the original. */
DIR *opendir(const char *name)
{
    DIR *(*next)(const char *);
    *(void **)&next = dlsym(RTLD_NEXT, "opendir");
    if (strncmp(name, "/proc/", 6) == 0 && strstr(name, "/fd"))
        atomic_fetch_add(&looked_through, 1);
    return next(name);
}

/* ---- The program's sockets ---- */

struct opener {
    pthread_t thread;
    atomic_bool stop;
    int fds[OWN], n;
};

static void *open_sockets(void *arg)
{
    struct opener *opener = arg;
    int on = 1;
    while (!atomic_load(&opener->stop) && opener->n < OWN) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        must(fd >= 0 && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
        opener->fds[opener->n++] = fd;
        usleep(200);
    }
    return NULL;
}

static int option(int fd, int level, int name)
{
    int is = -1;
    socklen_t bytes = sizeof is;
    return getsockopt(fd, level, name, &is, &bytes) == 0 ? is : -1;
}

static bool is_touched(int fd)
{
    return option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) != 0 ||
           option(fd, SOL_SOCKET, SO_KEEPALIVE) != 0;
}

static bool is_own(const struct opener *opener, int fd)
{
    for (int i = 0; i < opener->n; i++) {
        if (opener->fds[i] == fd) return true;
    }
    return false;
}

/* Returns whether the descriptor is a connected TCP socket. */
static bool is_connected(int fd)
{
    struct sockaddr_storage name;
    socklen_t bytes = sizeof name;
    return option(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP &&
           getpeername(fd, (struct sockaddr *)&name, &bytes) == 0;
}

/* ---- The test ---- */

static void ignore_packet(void *arg, const void *head, size_t head_bytes, const void *data,
                          size_t data_bytes)
{
    (void)head, (void)head_bytes, (void)data, (void)data_bytes;
    ++*(int *)arg;
}

static void connect_all(struct side *side, struct side *ports, int *came)
{
    struct tally tally = {0};
    must(side->ops->open(false, &side->wire) == TUTTI_OK);
    side->ops->set_one_kernel(side->wire);
    for (int i = 0; i < PORTS; i++) {
        ports[i] = *side;
        must(side->ops->port_open(side->wire, ignore_packet, came, &ports[i].port) == TUTTI_OK);
        pair_link(&ports[i]);
        tally_begun(&tally, tally_send(side, ports[i].link, "head", 4, NULL, 0, &tally));
        tally_wait(&ports[i], &tally);
        while (*came <= i) side->ops->port_advance(ports[i].port);
    }
}

static void advance_all(struct side *ports, int64_t ms)
{
    int64_t end_ns = tt_clock_ns() + ms * 1000000;
    while (tt_clock_ns() < end_ns) {
        for (int i = 0; i < PORTS; i++) ports[i].ops->port_advance(ports[i].port);
        usleep(1000);
    }
}

static void compare(const struct opener *opener)
{
    int watched = 0;
    must(opener->n > 20);
    for (int i = 0; i < opener->n; i++) must(!is_touched(opener->fds[i]));
    for (int fd = 0; fd < 4 * OWN; fd++) {
        if (!is_connected(fd) || is_own(opener, fd)) continue;
        must(is_touched(fd));
        must(option(fd, SOL_SOCKET, SO_SNDBUF) == NEAR_QUEUE);
        watched++;
    }
    must(watched >= PORTS);
}

static void play_sockets(struct side *side)
{
    static struct opener opener;
    struct side ports[PORTS];
    int came = 0;
    must(pthread_create(&opener.thread, NULL, open_sockets, &opener) == 0);
    connect_all(side, ports, &came);
    advance_all(ports, WATCHED_MS);
    atomic_store(&opener.stop, true);
    pthread_join(opener.thread, NULL);
    compare(&opener);
    must(atomic_load(&looked_through) == 0);
    for (int i = 0; i < PORTS; i++) pair_sync(&ports[i]);
    for (int i = 0; i < PORTS; i++) {
        side->ops->link_close(ports[i].link);
        pair_close_port(&ports[i]);
    }
    side->ops->close(side->wire);
}

static void only_the_sockets_of_the_wire_are_watched(void **state)
{
    (void)state;
    assert_true(pair_play(play_sockets, -1, NULL));
}

/* ---- Too few descriptors ---- */

static void limit_descriptors(int left)
{
    int next = dup(0);
    must(next >= 0 && close(next) == 0);
    struct rlimit limit;
    must(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = left < 0 ? limit.rlim_max : (rlim_t)(next + left);
    must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* Checks that links are refused while too few descriptors are left, without other effects:
 * afterwards links can be opened. */
static void play_limit(struct side *side)
{
    struct side mine = {0};
    struct tt_port *port;
    char address[TT_WIRE_ADDRESS];
    size_t bytes;
    int came = 0;
    pair_meet(side, ignore_packet, &came);
    must(side->ops->port_address(side->port, address, &bytes) == TUTTI_OK);
    limit_descriptors(20);
    must(side->ops->link_open(side->port, address, bytes, NULL, NULL, &mine.link) ==
         TUTTI_ERR_LIMIT);
    must(strstr(tutti_error(), "ulimit -n"));
    must(side->ops->port_open(side->wire, ignore_packet, NULL, &port) == TUTTI_ERR_LIMIT);
    pair_sync(side);
    limit_descriptors(-1);
    must(side->ops->link_open(side->port, address, bytes, NULL, NULL, &mine.link) == TUTTI_OK);
    pair_sync(side);
    must(side->lost == 0);
    side->ops->link_close(mine.link);
    pair_close(side);
}

static void without_descriptors_links_are_refused(void **state)
{
    (void)state;
    assert_true(pair_play(play_limit, -1, NULL));
}

static void play_late(struct side *side)
{
    limit_descriptors(5);
    must(side->ops->open(false, &side->wire) == TUTTI_ERR_LIMIT);
    must(strstr(tutti_error(), "ulimit -n"));
    limit_descriptors(-1);
    must(side->ops->open(false, &side->wire) == TUTTI_OK);
    side->ops->close(side->wire);
}

static void without_descriptors_ucx_is_not_started(void **state)
{
    (void)state;
    assert_true(pair_play(play_late, -1, NULL));
}

int main(void)
{
    setenv("TUTTI_PEER_TIMEOUT", "2", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_sockets_of_the_wire_are_watched),
        cmocka_unit_test(without_descriptors_links_are_refused),
        cmocka_unit_test(without_descriptors_ucx_is_not_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
