/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ports by which other hosts watch a process: once the process has ended, in whatever way, a
 * connection to such a port is refused, and no other program can get the port.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "boot/watch-net.h"

typedef void end_fn(struct tt_watched_port *port);

static void be_killed(struct tt_watched_port *port)
{
    (void)port;
    raise(SIGKILL);
}

static void exit_at_once(struct tt_watched_port *port)
{
    (void)port;
    _exit(0);
}

static void close_and_exit(struct tt_watched_port *port)
{
    tt_watched_port_close(port);
    _exit(0);
}

/* Ends the process and leaves a child alive, which has closed its copies of the descriptors and so
 * keeps no connection open. */
static void leave_a_child(struct tt_watched_port *port)
{
    int done[2];
    char byte;
    if (pipe(done) != 0) _exit(1);
    if (fork() == 0) {
        tt_watched_port_forget(port);
        close(done[0]);
        close(done[1]);
        sleep(3);
        _exit(0);
    }
    close(done[1]);
    (void)!read(done[0], &byte, 1); /* returns when the child has closed the pipe */
    _exit(0);
}

/* Runs a process that opens a watched port, sends the port's number to this process, and ends in
 * the given way. Returns the number. */
static uint16_t port_of_ended(end_fn *end)
{
    struct tt_watched_port port;
    uint16_t number = 0;
    int to_parent[2];
    assert_true(pipe(to_parent) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (tt_watched_port_open(&port) != TUTTI_OK || port.n == 0) _exit(1);
        if (write(to_parent[1], &port.port, sizeof port.port) == sizeof port.port) end(&port);
        _exit(1);
    }
    assert_true(child > 0 && read(to_parent[0], &number, sizeof number) == sizeof number);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(to_parent[0]);
    close(to_parent[1]);
    return number;
}

/* Binds a new socket to the port, as another program would, with or without SO_REUSEADDR (`reuse`).
 * Returns 0 or the errno. */
static int take(uint16_t port, const uint8_t address[16], bool reuse)
{
    struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    int off = 0, on = reuse, fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_true(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0);
    assert_true(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    memcpy(&at.sin6_addr, address, 16);
    int error = bind(fd, (struct sockaddr *)&at, sizeof at) == 0 ? 0 : errno;
    close(fd);
    return error;
}

static enum tt_connect connecting(uint16_t port, const uint8_t (*address)[16], int n)
{
    struct tt_connecting c = {0};
    enum tt_connect state;
    tt_connect_begin(&c, port, address, n, false, 5);
    while ((state = tt_connect_look(&c)) == TT_CONNECT_UNDER_WAY) usleep(1000);
    tt_connect_end(&c);
    return state;
}

static void nobody_gets_the_port(end_fn *end)
{
    static const uint8_t any[16];
    uint8_t address[TT_RECORD_ADDRESSES][16];
    int n = tt_host_addresses(address);
    uint16_t port = port_of_ended(end);
    assert_true(n > 0);
    assert_int_equal(connecting(port, address, n), TT_CONNECT_REFUSED);
    for (int reuse = 0; reuse < 2; reuse++) {
        assert_int_equal(take(port, any, reuse), EADDRINUSE);
        for (int i = 0; i < n; i++) assert_int_equal(take(port, address[i], reuse), EADDRINUSE);
    }
}

static void after_every_end(void **state)
{
    (void)state;
    nobody_gets_the_port(be_killed);
    nobody_gets_the_port(exit_at_once);
    nobody_gets_the_port(close_and_exit);
    nobody_gets_the_port(leave_a_child);
}

/* Checks what a process that watches a port sees: that the port is open, and later that it is
 * closed. The owner of the port reserves it by connections to itself (watch-net.h), which the
 * watcher must not notice. */
static void the_port_is_watched(void **state)
{
    struct tt_watched_port port;
    uint8_t address[TT_RECORD_ADDRESSES][16];
    int n = tt_host_addresses(address);
    struct tt_connecting c = {0};
    (void)state;
    assert_int_equal(tt_watched_port_open(&port), TUTTI_OK);
    tt_connect_begin(&c, port.port, address, n, false, 5);
    while (tt_connect_look(&c) == TT_CONNECT_UNDER_WAY) usleep(1000);
    assert_int_equal(c.n, 1);
    assert_int_equal(tt_line_look(c.fds[0]), TT_LINE_UP);
    tt_watched_port_close(&port);
    while (tt_line_look(c.fds[0]) == TT_LINE_UP) usleep(1000);
    assert_int_equal(tt_line_look(c.fds[0]), TT_LINE_ENDED);
    tt_connect_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_every_end),
        cmocka_unit_test(the_port_is_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
