/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests what wire.h promises of a network that works, with UCX over the transports that the
 * environment names (wire.sh).
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "fabric/pair.h"
#include "fabric/ucx-order.h"

enum { MIB = 1 << 20 };

/* ---- Packets: order and content ---- */

struct wire_message {
    size_t head_bytes, data_bytes;
};

/* Returns the lengths of a packet, which both sides compute from the packet's seed. Lengths are
 * near those at which a transport changes its protocol. */
static struct wire_message message_at(uint64_t seed)
{
    static const size_t edges[] = {0,    1,    8,     255,   256,   257,     1024,    8191,
                                   8192, 8193, 65535, 65536, 65537, 1 << 18, MIB - 1, MIB};
    struct tt_random random;
    tt_random_seed(&random, seed);
    struct wire_message message = {.head_bytes = tt_random_below(&random, TT_WIRE_HEAD + 1)};
    size_t edge = edges[tt_random_below(&random, sizeof edges / sizeof *edges)];
    uint64_t kind = tt_random_below(&random, 10);
    message.data_bytes = kind == 0 ? edge : tt_random_below(&random, kind < 8 ? 600 : 20000);
    return message;
}

struct wire_post {
    int from; /* the number, 0 or 1, of the side that sends */
    uint64_t next;
    int apart; /* messages whose data do not follow the head immediately */
    int alike; /* messages counted in `apart` whose data are aligned in the packet as at the
                * sender */
};

/* Returns the offset of a message's data within a cache line at the sender. In the packet the data
 * follow UCX's 13 bytes, the packet head and a gap, and must have the same offset. */
static size_t offset_of(uint64_t seed)
{
    return seed * 7 % TT_LINE;
}

static void look_at_gap(struct wire_post *post, const char *head, size_t head_bytes,
                        const char *data, uint64_t seed)
{
    size_t before = 13 + sizeof(struct tt_packet_head) + (size_t)(data - head);
    if (data == head + head_bytes) return;
    post->apart++;
    post->alike += before % TT_LINE == offset_of(seed);
}

static void message_came(void *arg, const void *head, size_t head_bytes, const void *data,
                         size_t data_bytes)
{
    struct wire_post *post = arg;
    uint64_t seed = post->next++ * 2 + (uint64_t)post->from;
    struct wire_message message = message_at(seed);
    must(head_bytes == message.head_bytes && data_bytes == message.data_bytes);
    must(pattern_holds(head, head_bytes, seed));
    must(pattern_holds(data, data_bytes, seed + 1));
    look_at_gap(post, head, head_bytes, data, seed);
}

enum { MESSAGES = 1500, IN_FLIGHT = 40 };

/* The data of a message stay in one of IN_FLIGHT places until the message is sent. */
struct outbox {
    struct tally tally;
    struct place {
        struct outbox *outbox;
        char *data;
        bool lent;
        struct tt_wire_packet packet;
    } places[IN_FLIGHT];
};

static void message_sent(struct tt_wire_op *op, tutti_status status)
{
    struct place *place = tt_container_of(op, struct place, packet.op);
    must(place->lent && status == TUTTI_OK);
    place->lent = false;
    /* The network has returned the buffer and the packet: if it still read them, wrong bytes would
     * arrive. */
    pattern_fill(place->data, 2 * TT_LINE, 99);
    pattern_fill(place->packet.bytes, sizeof place->packet.bytes, 99);
    tally_done(&place->outbox->tally, status);
}

static void send_message(struct side *side, struct place *place, uint64_t seed)
{
    struct wire_message message = message_at(seed);
    char *data = place->data + offset_of(seed);
    while (place->lent) side->ops->port_advance(side->port);
    pattern_fill(place->packet.bytes + TT_WIRE_BEFORE, message.head_bytes, seed);
    pattern_fill(data, message.data_bytes, seed + 1);
    place->packet.op.done = message_sent;
    tutti_status status =
        side->ops->send(side->link, &place->packet, message.head_bytes, data, message.data_bytes);
    place->lent = status == TUTTI_AGAIN;
    tally_begun(&place->outbox->tally, status);
}

static void play_messages(struct side *side)
{
    struct wire_post post = {.from = !side->me};
    struct outbox outbox = {.tally = {0}};
    pair_meet(side, message_came, &post);
    for (int i = 0; i < IN_FLIGHT; i++)
        outbox.places[i] = (struct place){.outbox = &outbox, .data = tt_alloc_lines(MIB + TT_LINE)};
    for (uint64_t i = 0; i < MESSAGES; i++)
        send_message(side, &outbox.places[i % IN_FLIGHT], i * 2 + (uint64_t)side->me);
    tally_wait(side, &outbox.tally);
    while (post.next < MESSAGES) side->ops->port_advance(side->port);
    pair_sync(side);
    must(post.apart > MESSAGES / 4 && post.alike == post.apart);
    must(post.next == MESSAGES && outbox.tally.over == MESSAGES && side->lost == 0);
    pair_sync(side);
    pair_close(side);
    for (int i = 0; i < IN_FLIGHT; i++) tt_free(outbox.places[i].data);
}

static void packets_keep_order_and_content(void **state)
{
    (void)state;
    assert_true(pair_play(play_messages, -1, NULL));
}

/* ---- Gets and puts ---- */

struct area {
    char *memory;
    size_t bytes;
    struct tt_wire_region *region;
    struct tt_wire_key *key; /* key of the other side's memory */
    uint64_t there;          /* address of the other side's memory */
};

static char *new_memory(size_t bytes, bool segment)
{
    if (!segment) return malloc(bytes);
    int fd = memfd_create("tutti-test", MFD_CLOEXEC);
    must(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(memory != MAP_FAILED);
    close(fd);
    return memory;
}

static void area_open(struct side *side, struct area *area, size_t bytes, bool segment)
{
    struct {
        uint64_t at;
        size_t bytes;
        char key[TT_WIRE_KEY];
    } mine, other;
    memset(&mine, 0, sizeof mine);
    *area = (struct area){.memory = new_memory(bytes, segment), .bytes = bytes};
    must(area->memory);
    must(side->ops->map(side->wire, area->memory, bytes, &area->region) == TUTTI_OK);
    must(side->ops->pack(area->region, mine.key, &mine.bytes) == TUTTI_OK);
    mine.at = (uint64_t)(uintptr_t)area->memory;
    pair_swap(side, &mine, &other, sizeof mine);
    must(side->ops->key_open(side->link, other.key, other.bytes, &area->key) == TUTTI_OK);
    other.key[other.bytes / 2] ^= 1;
    struct tt_wire_key *none;
    must(side->ops->key_open(side->link, other.key, other.bytes, &none) == TUTTI_ERR_ARG);
    must(side->ops->key_open(side->link, other.key, 3, &none) == TUTTI_ERR_ARG);
    area->there = other.at;
}

static void area_close(struct side *side, struct area *area, bool segment)
{
    side->ops->key_close(area->key);
    side->ops->unmap(area->region);
    if (segment)
        munmap(area->memory, area->bytes);
    else
        free(area->memory);
}

static void nothing_comes(void *arg, const void *head, size_t head_bytes, const void *data,
                          size_t data_bytes)
{
    (void)arg, (void)head, (void)head_bytes, (void)data, (void)data_bytes;
    must(!"a packet");
}

enum { PIECES = 300, AREA = 4 * MIB };

/* Returns the offset of piece i of an area, and sets *bytes to its length. The pieces are disjoint,
 * and many of their offsets and lengths are odd. */
static size_t piece_at(int i, size_t *bytes)
{
    static const size_t lengths[] = {0, 1, 3, 8, 63, 64, 65, 4096, 4097, 8193, 65536, 65537, 30001};
    size_t at = 5, n = sizeof lengths / sizeof *lengths;
    for (int k = 0; k < i; k++) at += lengths[(size_t)k % n] + 1;
    *bytes = lengths[(size_t)i % n];
    must(at + *bytes <= AREA);
    return at;
}

/* Reads the area of the other side in pieces, which are all under way at once. */
static void get_all(struct side *side, struct area *area)
{
    struct tally tally = {0};
    char *copy = calloc(1, AREA);
    pattern_fill(area->memory, AREA, 10 + (uint64_t)side->me);
    pair_sync(side);
    for (int i = 0; i < PIECES; i++) {
        size_t bytes, at = piece_at(i, &bytes);
        tally_begun(&tally, tally_get(side, copy + at, area->there + at, area->key, bytes, &tally));
    }
    tally_wait(side, &tally);
    must(tally.over == PIECES);
    char *whole = malloc(AREA);
    pattern_fill(whole, AREA, 10 + (uint64_t)!side->me);
    for (int i = 0; i < PIECES; i++) {
        size_t bytes, at = piece_at(i, &bytes);
        must(memcmp(copy + at, whole + at, bytes) == 0 && copy[at + bytes] == 0);
    }
    pair_sync(side);
    free(copy);
    free(whole);
}

static void put_all(struct side *side, struct area *area)
{
    struct tally tally = {0};
    char *from = malloc(AREA);
    memset(area->memory, 0, AREA);
    pattern_fill(from, AREA, 20 + (uint64_t)side->me);
    pair_sync(side);
    for (int i = 0; i < PIECES; i++) {
        size_t bytes, at = piece_at(i, &bytes);
        tally_begun(&tally, tally_put(side, area->there + at, from + at, area->key, bytes, &tally));
    }
    tally_wait(side, &tally);
    must(tally.over == PIECES && tally.failed == 0);
    /* Each side sends this byte over the socket when its puts are complete. The network does not
     * order the byte after the puts, so if it reported a put as complete too early, the other side
     * could find old bytes. */
    char mine = 'd', other;
    pair_swap(side, &mine, &other, 1);
    pattern_fill(from, AREA, 20 + (uint64_t)!side->me);
    for (int i = 0; i < PIECES; i++) {
        size_t bytes, at = piece_at(i, &bytes);
        must(memcmp(area->memory + at, from + at, bytes) == 0 && area->memory[at + bytes] == 0);
    }
    pair_sync(side);
    free(from);
}

static void play_memory(struct side *side)
{
    pair_meet(side, nothing_comes, NULL);
    for (int segment = 0; segment < 2; segment++) {
        struct area area;
        area_open(side, &area, AREA, segment);
        get_all(side, &area);
        put_all(side, &area);
        area_close(side, &area, segment);
    }
    must(side->lost == 0);
    pair_sync(side);
    pair_close(side);
}

static void memory_is_read_and_written(void **state)
{
    (void)state;
    assert_true(pair_play(play_memory, -1, NULL));
}

/* ---- Two ports of one transport in two threads ---- */

enum { THREADS = 2, ROUNDS = 3000 };

struct fellow {
    struct side side; /* with its own port and link; all threads share the socket */
    int index;
    int64_t came;
};

static void ball_came(void *arg, const void *head, size_t head_bytes, const void *data,
                      size_t data_bytes)
{
    struct fellow *fellow = arg;
    int64_t number;
    must(head_bytes == sizeof number && data_bytes == 100);
    memcpy(&number, head, sizeof number);
    must(number == fellow->came++ * THREADS + fellow->index);
    must(pattern_holds(data, data_bytes, (uint64_t)number));
}

/* Plays one side of an exchange: sends message i when message i - 1 of the other side has arrived,
 * so that both sides advance all the time. */
static void *play_ball(void *arg)
{
    struct fellow *fellow = arg;
    struct side *side = &fellow->side;
    struct tally tally = {0};
    char data[100];
    for (int64_t i = 0; i < ROUNDS; i++) {
        int64_t number = i * THREADS + fellow->index;
        tally_wait(side, &tally);
        pattern_fill(data, sizeof data, (uint64_t)number);
        tally_begun(&tally, tally_send(side, side->link, &number, sizeof number, data, sizeof data,
                                       &tally));
        while (fellow->came <= i) {
            if (side->ops->port_advance(side->port) == 0) sched_yield();
        }
    }
    tally_wait(side, &tally);
    return NULL;
}

static void play_threads(struct side *side)
{
    struct fellow fellows[THREADS];
    pthread_t threads[THREADS];
    must(side->ops->open(true, &side->wire) == TUTTI_OK);
    for (int i = 0; i < THREADS; i++) {
        fellows[i] = (struct fellow){.side = *side, .index = i};
        struct side *own = &fellows[i].side;
        must(own->ops->port_open(side->wire, ball_came, &fellows[i], &own->port) == TUTTI_OK);
        pair_link(own);
    }
    for (int i = 0; i < THREADS; i++)
        must(pthread_create(&threads[i], NULL, play_ball, &fellows[i]) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) pair_sync(&fellows[i].side);
    for (int i = 0; i < THREADS; i++) {
        struct side *own = &fellows[i].side;
        own->ops->link_close(own->link);
        pair_close_port(own);
    }
    side->ops->close(side->wire);
}

static void ports_are_used_by_two_threads(void **state)
{
    (void)state;
    assert_true(pair_play(play_threads, -1, NULL));
}

/* ---- Sleeping ---- */

static void count_packet(void *arg, const void *head, size_t head_bytes, const void *data,
                         size_t data_bytes)
{
    (void)head, (void)head_bytes, (void)data, (void)data_bytes;
    ++*(int *)arg;
}

static void sleep_until(struct side *side, const int *came, int want)
{
    int fd = side->ops->port_descriptor(side->port);
    must(fd >= 0);
    while (*came < want) {
        tutti_status status = side->ops->port_arm(side->port);
        must(status == TUTTI_OK || status == TUTTI_AGAIN);
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (status == TUTTI_OK) must(poll(&wait, 1, 60000) == 1);
        while (side->ops->port_advance(side->port) > 0) {
        }
    }
}

static void send_byte(struct side *side)
{
    struct tally tally = {0};
    tally_begun(&tally, tally_send(side, side->link, "x", 1, NULL, 0, &tally));
    tally_wait(side, &tally);
}

/* Lets one side send a byte every 20 ms while the other side sleeps; then the sides swap
 * their roles. */
static void play_sleep(struct side *side)
{
    int came = 0;
    pair_meet(side, count_packet, &came);
    for (int turn = 0; turn < 2; turn++) {
        pair_sync(side);
        for (int i = 0; i < 5; i++) {
            if (side->me == turn) {
                usleep(20000);
                send_byte(side);
            } else {
                sleep_until(side, &came, i + 1);
            }
        }
        pair_sync(side);
    }
    must(came == 5);
    pair_close(side);
}

static void a_sleeper_is_woken(void **state)
{
    (void)state;
    assert_true(pair_play(play_sleep, -1, NULL));
}

/* ---- Sending to oneself, and from within a delivery ---- */

struct echo {
    struct side *side;
    struct tally tally;
    int inside, came;
};

/* Checks that messages 0 to 99 arrive in order, although each of them but the first is sent while
 * another is delivered. */
static void echo_came(void *arg, const void *head, size_t head_bytes, const void *data,
                      size_t data_bytes)
{
    struct echo *echo = arg;
    struct side *side = echo->side;
    (void)data;
    must(head_bytes == sizeof(int) && data_bytes == 0);
    must(++echo->inside == 1);
    must(memcmp(head, &echo->came, sizeof(int)) == 0);
    for (int i = 1; i <= 2; i++) {
        int next = echo->came * 2 + i;
        if (next < 100)
            tally_begun(&echo->tally,
                        tally_send(side, side->link, &next, sizeof next, NULL, 0, &echo->tally));
    }
    echo->came++;
    echo->inside--;
}

static void play_echo(struct side *side)
{
    struct echo echo = {.side = side};
    char address[TT_WIRE_ADDRESS];
    size_t bytes;
    int first = 0;
    pair_open(side, echo_came, &echo);
    must(side->ops->port_address(side->port, address, &bytes) == TUTTI_OK);
    must(side->ops->link_open(side->port, address, bytes, NULL, NULL, &side->link) == TUTTI_OK);
    tally_begun(&echo.tally,
                tally_send(side, side->link, &first, sizeof first, NULL, 0, &echo.tally));
    must(echo.came == 0); /* delivery happens only within port_advance */
    while (echo.came < 100) side->ops->port_advance(side->port);
    tally_wait(side, &echo.tally);
    must(echo.tally.over == 100);
    pair_close(side);
}

static void to_oneself(void **state)
{
    (void)state;
    assert_true(pair_play(play_echo, -1, NULL));
}

/* ---- Errors ---- */

static void play_wrong(struct side *side)
{
    char address[TT_WIRE_ADDRESS];
    size_t bytes;
    struct tt_link *link;
    pair_open(side, nothing_comes, NULL);
    must(side->ops->port_address(side->port, address, &bytes) == TUTTI_OK);
    must(side->ops->link_open(side->port, address, bytes - 1, NULL, NULL, &link) == TUTTI_ERR_ARG);
    must(strstr(tutti_error(), "damaged"));
    address[bytes - 1] ^= 4;
    must(side->ops->link_open(side->port, address, bytes, NULL, NULL, &link) == TUTTI_ERR_ARG);
    must(side->ops->link_open(side->port, address, 0, NULL, NULL, &link) == TUTTI_ERR_ARG);
    pair_close(side);
}

static void damaged_addresses_are_reported(void **state)
{
    (void)state;
    assert_true(pair_play(play_wrong, -1, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_keep_order_and_content),
        cmocka_unit_test(memory_is_read_and_written),
        cmocka_unit_test(ports_are_used_by_two_threads),
        cmocka_unit_test(a_sleeper_is_woken),
        cmocka_unit_test(to_oneself),
        cmocka_unit_test(damaged_addresses_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
