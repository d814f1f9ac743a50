/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests what wire.h promises when a peer is lost: every operation under way ends once, with
 * TUTTI_ERR_PEER where it failed; the loss is reported once; and no new operation can start.
 *
 *     fabric-wire-lost                   a peer is killed, or is gone before it is used; a link
 *                                        or a port is closed with operations under way
 *     fabric-wire-lost cut HERE THERE    the two processes are in two network namespaces. One
 *                                        stops advancing for a while; or `ip` cuts the cable in
 *                                        HERE: before a link is connected, while nothing is under
 *                                        way, or while operations are under way
 */
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "fabric/pair.h"

enum { MIB = 1 << 20, MANY = 60 };

static void ignore_packet(void *arg, const void *head, size_t head_bytes, const void *data,
                          size_t data_bytes)
{
    (void)head, (void)head_bytes, (void)data, (void)data_bytes;
    if (arg) ++*(int *)arg;
}

struct wire_lost_work {
    char *memory; /* two MiB: the first is read from, the second written to */
    struct tt_wire_region *region;
    struct tt_wire_key *key;
    uint64_t there;
    struct tally sends, gets, puts;
};

static void work_open(struct side *side, struct wire_lost_work *work)
{
    struct {
        uint64_t at;
        size_t bytes;
        char key[TT_WIRE_KEY];
    } mine, other;
    *work = (struct wire_lost_work){.memory = calloc(2, MIB)};
    memset(&mine, 0, sizeof mine);
    must(side->ops->map(side->wire, work->memory, 2 * MIB, &work->region) == TUTTI_OK);
    must(side->ops->pack(work->region, mine.key, &mine.bytes) == TUTTI_OK);
    mine.at = (uint64_t)(uintptr_t)work->memory;
    pair_swap(side, &mine, &other, sizeof mine);
    must(side->ops->key_open(side->link, other.key, other.bytes, &work->key) == TUTTI_OK);
    work->there = other.at;
}

/* Connects both sides and exchanges the keys of their memory. */
static void work_meet(struct side *side, struct wire_lost_work *work)
{
    pair_meet(side, ignore_packet, NULL);
    work_open(side, work);
    pair_sync(side);
}

static void work_part(struct side *side, struct wire_lost_work *work)
{
    side->ops->key_close(work->key);
    side->ops->unmap(work->region);
    free(work->memory);
    pair_close(side);
}

/* Starts sends, gets and puts of one MiB each: more than sockets buffer, so that they stay under
 * way while the other side does nothing. */
static void work_begin(struct side *side, struct wire_lost_work *work)
{
    char *from = work->memory, *to = work->memory + MIB;
    for (int i = 0; i < MANY; i++) {
        tally_begun(&work->sends, tally_send(side, side->link, "head", 4, from, MIB, &work->sends));
        tally_begun(&work->gets, tally_get(side, to, work->there, work->key, MIB, &work->gets));
        tally_begun(&work->puts,
                    tally_put(side, work->there + MIB, from, work->key, MIB, &work->puts));
    }
}

static int left(const struct wire_lost_work *work)
{
    return work->sends.left + work->gets.left + work->puts.left;
}

/* Checks that no operation can start over a lost link, and no key can be opened. */
static void nothing_goes(struct side *side, struct wire_lost_work *work)
{
    struct tt_wire_key *key;
    char byte;
    must(tally_send(side, side->link, "head", 4, NULL, 0, NULL) == TUTTI_ERR_PEER);
    must(tally_get(side, &byte, work->there, work->key, 1, NULL) == TUTTI_ERR_PEER);
    must(tally_put(side, work->there, &byte, work->key, 1, NULL) == TUTTI_ERR_PEER);
    char own[TT_WIRE_KEY];
    size_t bytes;
    must(side->ops->pack(work->region, own, &bytes) == TUTTI_OK);
    must(side->ops->key_open(side->link, own, bytes, &key) == TUTTI_ERR_PEER);
}

/* Advances until the loss and the end of all operations are reported. No call of the program fails
 * meanwhile, so the text of tutti_error() must not change. */
static void all_is_reported(struct side *side, struct wire_lost_work *work)
{
    static const char text[] = "the last call of the program that failed";
    (void)tt_fail(TUTTI_ERR_ARG, "%s", text);
    while (side->lost == 0 || left(work) > 0) {
        if (side->ops->port_advance(side->port) == 0) sched_yield();
    }
    for (int i = 0; i < 100; i++) side->ops->port_advance(side->port);
    must(side->lost == 1 && side->why == TUTTI_ERR_PEER);
    must(strcmp(tutti_error(), text) == 0);
    must(work->sends.over == MANY && work->gets.over == MANY && work->puts.over == MANY);
    nothing_goes(side, work);
}

/* ---- The peer is killed with operations under way ---- */

static void play_killed(struct side *side)
{
    struct wire_lost_work work;
    work_meet(side, &work);
    if (side->me == 1) {
        pair_wait(side);
        for (int i = 0; i < 20; i++) side->ops->port_advance(side->port);
        kill(getpid(), SIGKILL);
    }
    work_begin(side, &work);
    pair_signal(side);
    all_is_reported(side, &work);
    must(work.sends.failed + work.gets.failed + work.puts.failed > 0);
    work_part(side, &work);
}

static void a_killed_peer_is_reported(void **state)
{
    (void)state;
    assert_true(pair_play(play_killed, 1, NULL));
}

/* ---- The peer is killed while nothing is under way ---- */

static void play_killed_idle(struct side *side)
{
    struct wire_lost_work work;
    work_meet(side, &work);
    char byte = 1;
    struct tally tally = {0};
    tally_begun(&tally, tally_put(side, work.there, &byte, work.key, 1, &tally));
    tally_wait(side, &tally);
    pair_sync(side);
    if (side->me == 1) kill(getpid(), SIGKILL);
    while (side->lost == 0) side->ops->port_advance(side->port);
    nothing_goes(side, &work);
    work_part(side, &work);
}

static void a_peer_killed_while_idle_is_reported(void **state)
{
    (void)state;
    assert_true(pair_play(play_killed_idle, 1, NULL));
}

/* ---- Another part of the program reports that the peer is gone ---- */

/* Makes a link fail by link_fail. The peer does not advance, so the network itself notices no
 * failure. */
static void play_failed(struct side *side)
{
    struct wire_lost_work work;
    work_meet(side, &work);
    if (side->me == 1) {
        pair_wait(side);
        kill(getpid(), SIGKILL);
    }
    work_begin(side, &work);
    must(left(&work) > 0);
    side->ops->link_fail(side->link);
    must(side->lost == 0); /* the loss is reported only within port_advance */
    all_is_reported(side, &work);
    pair_signal(side);
    work_part(side, &work);
}

static void a_link_can_be_failed(void **state)
{
    (void)state;
    assert_true(pair_play(play_failed, 1, NULL));
}

/* ---- The port of the other side is closed before anything is sent to it ---- */

static void play_gone(struct side *side)
{
    struct wire_lost_work work = {0};
    pair_meet(side, ignore_packet, NULL);
    pair_sync(side);
    if (side->me == 1) {
        pair_close(side);
        pair_signal(side);
        return;
    }
    pair_wait(side);
    for (int i = 0; i < 3; i++) {
        tutti_status status = tally_send(side, side->link, "head", 4, NULL, 0, &work.sends);
        if (status == TUTTI_ERR_PEER) continue; /* the loss has been noticed already */
        tally_begun(&work.sends, status);
    }
    while (side->lost == 0 || work.sends.left) side->ops->port_advance(side->port);
    must(side->lost == 1 && side->why == TUTTI_ERR_PEER);
    pair_close(side);
}

static void a_port_that_is_gone_is_reported(void **state)
{
    (void)state;
    assert_true(pair_play(play_gone, -1, NULL));
}

/* ---- A link is closed with operations under way ---- */

/* Closes a link with operations under way. The other side advances, so all operations complete. */
static void play_closed(struct side *side)
{
    struct wire_lost_work work;
    work_meet(side, &work);
    if (side->me == 0) {
        work_begin(side, &work);
        int before = left(&work);
        must(before > 0);
        side->ops->key_close(work.key);
        side->ops->link_close(side->link);
        side->link = NULL;
        must(left(&work) == before); /* operations complete only within port_advance */
        while (left(&work) > 0) side->ops->port_advance(side->port);
        must(work.sends.over == MANY && work.gets.over == MANY && work.puts.over == MANY);
        must(side->lost == 0);
    } else {
        side->ops->key_close(work.key);
    }
    pair_sync(side);
    side->ops->unmap(work.region);
    free(work.memory);
    pair_close(side);
}

static void closing_a_link_ends_what_is_under_way(void **state)
{
    (void)state;
    assert_true(pair_play(play_closed, -1, NULL));
}

/* Lets one side close its link and port while the other side does not advance: the sends end with
 * an error, and the other side is notified when it advances again. */
static void play_abandoned(struct side *side)
{
    struct wire_lost_work work;
    work_meet(side, &work);
    side->ops->key_close(work.key);
    if (side->me == 0) {
        for (int i = 0; i < MANY; i++)
            tally_begun(&work.sends,
                        tally_send(side, side->link, "head", 4, work.memory, MIB, &work.sends));
        must(left(&work) > 0);
        side->ops->link_close(side->link);
        pair_close_port(side);
        must(left(&work) == 0 && work.sends.failed > 0 && work.sends.over == MANY);
        pair_signal(side);
    } else {
        pair_wait(side);
        while (side->lost == 0) side->ops->port_advance(side->port);
        must(side->why == TUTTI_ERR_PEER);
        side->ops->link_close(side->link);
        pair_close_port(side);
    }
    side->ops->unmap(work.region);
    side->ops->close(side->wire);
    free(work.memory);
}

static void closing_a_port_gives_up_what_is_under_way(void **state)
{
    (void)state;
    assert_true(pair_play(play_abandoned, -1, NULL));
}

/* ---- A link is closed without an error: data that were sent before still arrive ---- */

static void play_last_words(struct side *side)
{
    int came = 0;
    struct tally tally = {0};
    char *data = calloc(1, MIB);
    pair_meet(side, ignore_packet, &came);
    pair_sync(side);
    if (side->me == 0) {
        for (int i = 0; i < 20; i++)
            tally_begun(&tally, tally_send(side, side->link, "head", 4, data, 50000, &tally));
        tally_wait(side, &tally);
    } else {
        while (came < 20) side->ops->port_advance(side->port);
    }
    pair_close(side);
    free(data);
}

static void what_was_sent_before_closing_comes(void **state)
{
    (void)state;
    assert_true(pair_play(play_last_words, -1, NULL));
}

/* ---- A cut cable ---- */

static char *const *networks;

static void ip(const char *words)
{
    char command[200];
    snprintf(command, sizeof command, "ip -n %s %s", networks[0], words);
    must(system(command) == 0);
}

/* Sleeps until the port's descriptor becomes readable. */
static void doze(struct side *side)
{
    struct pollfd wait = {.fd = side->ops->port_descriptor(side->port), .events = POLLIN};
    if (side->ops->port_arm(side->port) == TUTTI_OK) must(poll(&wait, 1, -1) == 1);
}

static void notice(struct side *side, const char *when)
{
    int64_t begin_ns = tt_clock_ns();
    while (side->lost == 0) {
        if (side->ops->port_advance(side->port) == 0) doze(side);
    }
    must(side->why == TUTTI_ERR_PEER);
    printf("%s: side %d noticed the cut after %.1f s (TUTTI_PEER_TIMEOUT=%s)\n", when, side->me,
           (double)(tt_clock_ns() - begin_ns) * 1e-9, getenv("TUTTI_PEER_TIMEOUT"));
}

/* Cuts the cable while nothing is under way; both ends must notice the cut. */
static void play_cut_idle(struct side *side)
{
    int came = 0;
    struct tally tally = {0};
    pair_meet(side, ignore_packet, &came);
    tally_begun(&tally, tally_send(side, side->link, "head", 4, NULL, 0, &tally));
    tally_wait(side, &tally);
    while (came == 0) side->ops->port_advance(side->port);
    pair_sync(side);
    if (side->me == 0) ip("link set cable down");
    notice(side, "idle");
    pair_close(side);
    pair_signal(side);
    pair_wait(side);
    if (side->me == 0) ip("link set cable up");
}

/* Cuts the cable while operations from side 0 to side 1 are under way. */
static void play_cut_busy(struct side *side)
{
    struct wire_lost_work work;
    work_meet(side, &work);
    if (side->me == 0) {
        work_begin(side, &work);
        for (int i = 0; i < 20; i++) side->ops->port_advance(side->port);
        ip("link set cable down");
        must(left(&work) > 0);
    }
    notice(side, "busy");
    if (side->me == 0) all_is_reported(side, &work);
    work_part(side, &work);
    pair_signal(side);
    pair_wait(side);
}

/* The arguments for `ip neigh` that give the other side's address (set by wire-cut.sh) a hardware
 * address that no interface has. So packets to it are lost before a connection exists. */
#define NOWHERE "10.77.0.2 lladdr 02:00:00:00:00:99 dev cable"

static void play_cut_before(struct side *side)
{
    struct tally tally = {0};
    pair_open(side, ignore_packet, NULL);
    pair_sync(side);
    if (side->me == 0) ip("neigh replace " NOWHERE " nud permanent");
    pair_sync(side);
    pair_link(side);
    tally_begun(&tally, tally_send(side, side->link, "head", 4, NULL, 0, &tally));
    notice(side, "before");
    tally_wait(side, &tally);
    must(tally.over == 1);
    pair_close(side);
    pair_signal(side);
    pair_wait(side);
    if (side->me == 0) ip("neigh del " NOWHERE);
}

/* Checks that a peer does not count as lost if it lives but does not advance for longer than
 * TUTTI_PEER_TIMEOUT, while more is sent than sockets buffer. */
static void play_stopped(struct side *side)
{
    struct wire_lost_work work;
    work_meet(side, &work);
    if (side->me == 0) {
        work_begin(side, &work);
        int64_t end_ns =
            tt_clock_ns() + INT64_C(3) * 1000000000 * atoi(getenv("TUTTI_PEER_TIMEOUT"));
        while (tt_clock_ns() < end_ns) {
            if (side->ops->port_advance(side->port) == 0) usleep(1000);
        }
        must(left(&work) > 0 && side->lost == 0);
        pair_signal(side);
        while (left(&work) > 0) side->ops->port_advance(side->port);
        must(side->lost == 0);
    } else {
        pair_wait(side);
    }
    pair_sync(side);
    must(work.sends.failed + work.gets.failed + work.puts.failed == 0);
    work_part(side, &work);
}

static int with_networks(char **names)
{
    pair_fn *plays[] = {play_stopped, play_cut_idle, play_cut_before, play_cut_busy};
    networks = names;
    for (size_t i = 0; i < sizeof plays / sizeof *plays; i++) {
        if (!pair_play(plays[i], -1, names)) return 1;
        sleep(2); /* until the interface runs again */
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_peer_is_reported),
        cmocka_unit_test(a_peer_killed_while_idle_is_reported),
        cmocka_unit_test(a_link_can_be_failed),
        cmocka_unit_test(a_port_that_is_gone_is_reported),
        cmocka_unit_test(closing_a_link_ends_what_is_under_way),
        cmocka_unit_test(closing_a_port_gives_up_what_is_under_way),
        cmocka_unit_test(what_was_sent_before_closing_comes),
    };
    if (argc == 4 && strcmp(argv[1], "cut") == 0) return with_networks(argv + 2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
