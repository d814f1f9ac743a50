/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Notices over the loopback interface. A notice arrives as it was sent, and other data are refused.
 * With any number of nodes, a notice reaches every node that is left, whichever others fail.
 */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "boot/notice.h"

static const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};

static struct tt_inbox inbox_at(int fd, uint64_t token)
{
    struct tt_inbox inbox = {.token = token, .port = tt_inbox_port(fd), .addresses = 1};
    memcpy(inbox.address[0], loopback, sizeof loopback);
    return inbox;
}

static void send_one(const struct tt_inbox *to, int about)
{
    struct tt_notice notice = {.client = 3,
                               .from = 1,
                               .about = about,
                               .cause = TT_CAUSE_GONE,
                               .code = -7,
                               .team = 1ull << 40,
                               .why = "a reason"};
    tt_notice_send(to, &notice, 5);
    tt_notice_flush(tt_clock_ns() + INT64_C(5000000000));
    assert_true(!tt_notice_advance());
}

/* Waits for a notice, because the kernel takes some time to hand over a connection. Returns whether
 * a notice came. */
static bool comes(int fd, uint64_t token, struct tt_notice *notice)
{
    for (int64_t end = tt_clock_ns() + INT64_C(20000000000); tt_clock_ns() < end; usleep(1000))
        if (tt_inbox_take(fd, token, notice, &(int){0})) return true;
    return false;
}

static void say(int fd, const void *bytes, size_t n)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(tt_inbox_port(fd))};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(to >= 0 && connect(to, (struct sockaddr *)&at, sizeof at) == 0);
    assert_true(send(to, bytes, n, MSG_NOSIGNAL) == (ssize_t)n);
    close(to);
}

static void notices_come(void **state)
{
    (void)state;
    int fd;
    struct tt_notice notice;
    assert_true(tt_inbox_open(&fd) == TUTTI_OK);
    struct tt_inbox inbox = inbox_at(fd, 42);
    assert_true(!tt_inbox_take(fd, 42, &notice, &(int){0}));
    for (int about = 0; about < 20; about++) send_one(&inbox, about);
    for (int seen = 0; seen < 20; seen++) {
        assert_true(comes(fd, 42, &notice));
        assert_true(notice.client == 3 && notice.from == 1 && notice.cause == TT_CAUSE_GONE);
        assert_true(notice.about >= 0 && notice.about < 20 && notice.code == -7 && !notice.left);
        assert_true(notice.team == 1ull << 40 && strcmp(notice.why, "a reason") == 0);
    }
    assert_true(!tt_inbox_take(fd, 42, &notice, &(int){0}));
    close(fd);
}

/* Checks that notices with a wrong token, a wrong length or wrong contents are ignored, and that a
 * valid notice after them is received. */
static void strangers_are_refused(void **state)
{
    (void)state;
    int fd;
    struct tt_notice notice = {.about = 5, .left = true, .why = "a reason"};
    uint8_t bytes[TT_NOTICE_BYTES + 1] = {0};
    assert_true(tt_inbox_open(&fd) == TUTTI_OK);
    struct tt_inbox inbox = inbox_at(fd, 42), wrong = inbox_at(fd, 43);
    send_one(&wrong, 9);
    size_t n = tt_notice_write(&notice, 42, bytes);
    say(fd, bytes, n - 1);
    say(fd, bytes, n + 1);
    bytes[n - 1] = '\n';
    say(fd, bytes, n);
    bytes[n - 1] = 0;
    say(fd, bytes, n);
    bytes[n - 1] = 'n';
    bytes[0] ^= 1;
    say(fd, bytes, n);
    send_one(&inbox, 11);
    assert_true(comes(fd, 42, &notice) && notice.about == 11);
    assert_true(!tt_inbox_take(fd, 42, &notice, &(int){0}));
    close(fd);
}

/* Checks that sending to an inbox that is closed, or that has no address, does no harm. */
static void nobody_is_no_harm(void **state)
{
    (void)state;
    int fd;
    assert_true(tt_inbox_open(&fd) == TUTTI_OK);
    struct tt_inbox inbox = inbox_at(fd, 1), none = {.token = 1};
    close(fd);
    send_one(&inbox, 2);
    send_one(&none, 2);
}

/* ---- Spreading a notice ---- */

static int spread(int nodes, const bool *silent, bool *knows)
{
    int queue[512], n = 1, reached = 0;
    queue[0] = 0;
    knows[0] = true;
    for (int i = 0; i < n; i++) {
        reached++;
        for (int to = 0; to < nodes; to++) {
            if (knows[to] || silent[to] || !tt_notice_goes(queue[i], to, nodes)) continue;
            knows[to] = true;
            queue[n++] = to;
        }
    }
    return reached;
}

/* Checks that a notice of node 0 reaches every node that is left. Makes as many nodes fail as the
 * protocol tolerates, among them nodes to which node 0 sends directly. With more than TT_NOTICE_ALL
 * nodes each node sends to a few other nodes only. */
static void test_spreading(int nodes, unsigned seed)
{
    bool silent[512] = {false}, knows[512] = {false};
    int reported = 0, most = 0;
    for (int to = 0; to < nodes; to++) reported += tt_notice_goes(0, to, nodes);
    for (int d = 1; d < nodes; d *= 2) most += 2;
    assert_true(!tt_notice_goes(0, 0, nodes));
    assert_true(nodes <= TT_NOTICE_ALL ? reported == nodes - 1 : reported <= most);
    int fallen = 0;
    for (int i = 0; i < reported - 1 && fallen < nodes - 1; i++) {
        seed = seed * 1664525u + 1013904223u;
        int r = 1 + (int)(seed >> 8) % (nodes - 1);
        if (i % 2) /* every second node that fails is one to which node 0 sends directly */
            for (r = 1; r < nodes && (silent[r] || !tt_notice_goes(0, r, nodes));) r++;
        if (r >= nodes || silent[r]) continue;
        silent[r] = true;
        fallen++;
    }
    assert_true(spread(nodes, silent, knows) == nodes - fallen);
}

static void all_are_reached(void **state)
{
    (void)state;
    for (int nodes = 2; nodes <= 500; nodes += nodes < 70 ? 1 : 43)
        for (unsigned seed = 1; seed <= 20; seed++) test_spreading(nodes, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notices_come), cmocka_unit_test(strangers_are_refused),
        cmocka_unit_test(nobody_is_no_harm), cmocka_unit_test(all_are_reached)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
