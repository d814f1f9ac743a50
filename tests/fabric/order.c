/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets are delivered in the order of their numbers, whatever the order in which they arrive, and
 * data that are not a packet are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/ucx-order.h"

enum { LINKS = 40, EACH = 200 };
#define PASS UINT64_C(0x1234567890abcdef)

struct inbox {
    struct tt_ucx_order *order;
    uint64_t next[LINKS];
    int came, inside;
};

struct message {
    int link;
    uint64_t number;
};

static void arrive(void *arg, const void *head, size_t head_bytes, const void *data,
                   size_t data_bytes)
{
    struct inbox *inbox = arg;
    struct message message;
    assert_int_equal(head_bytes, sizeof message);
    memcpy(&message, head, sizeof message);
    assert_int_equal(inbox->inside++, 0);
    assert_int_equal(message.number, inbox->next[message.link]++);
    assert_int_equal(data_bytes, message.number % 7 * 3);
    for (size_t i = 0; i < data_bytes; i++)
        assert_int_equal(((const unsigned char *)data)[i], (unsigned char)(message.number + i));
    inbox->came++;
    inbox->inside--;
}

/* Makes packet `number` of a link and passes it to tt_order_take, as if it had arrived. In packets
 * with an even number the data follow the head at once, in the others after a gap. */
static tutti_status take(struct inbox *inbox, int link, uint64_t number)
{
    unsigned char bytes[200];
    struct message message = {link, number};
    size_t n = number % 7 * 3, before = sizeof(struct tt_packet_head) + sizeof message;
    uint8_t gap = number % 2 ? (uint8_t)(number % 64) : 0;
    struct tt_packet_head packet = {.pass = PASS,
                                    .origin = 1000 + (uint64_t)link * 17,
                                    .number = (uint32_t)number,
                                    .head_bytes = sizeof message,
                                    .gap = gap,
                                    .form = TT_PACKET_FORM};
    memcpy(bytes, &packet, sizeof packet);
    memcpy(bytes + sizeof packet, &message, sizeof message);
    memset(bytes + before, 0xee, gap);
    for (size_t i = 0; i < n; i++) bytes[before + gap + i] = (unsigned char)(number + i);
    return tt_order_take(inbox->order, bytes, before + gap + n);
}

static void shuffle(struct message *messages, int n, struct tt_random *random)
{
    for (int i = n - 1; i > 0; i--) {
        int k = (int)tt_random_below(random, (uint64_t)i + 1);
        struct message message = messages[i];
        messages[i] = messages[k];
        messages[k] = message;
    }
}

/* Shuffles the packets of many links, which must all be delivered in order, some of them while
 * delivery is closed. */
static void any_order_becomes_the_right_one(void **state)
{
    (void)state;
    static struct message messages[LINKS * EACH];
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct tt_random random;
        struct inbox inbox = {0};
        inbox.order = tt_order_create(PASS, arrive, &inbox);
        tt_random_seed(&random, seed);
        for (int i = 0; i < LINKS * EACH; i++)
            messages[i] = (struct message){i % LINKS, (uint64_t)(i / LINKS)};
        int window = 1 + (int)tt_random_below(&random, seed < 10 ? 200 : LINKS * EACH);
        for (int i = 0; i < LINKS * EACH; i += window)
            shuffle(messages + i, (int)tt_min(window, LINKS * EACH - i), &random);
        for (int i = 0; i < LINKS * EACH; i++) {
            if (tt_random_below(&random, 4) == 0) tt_order_open(inbox.order, i % 2);
            assert_int_equal(take(&inbox, messages[i].link, messages[i].number), TUTTI_OK);
        }
        tt_order_open(inbox.order, true);
        tt_order_open(inbox.order, false);
        assert_int_equal(inbox.came, LINKS * EACH);
        assert_false(tt_order_ready(inbox.order));
        tt_order_free(inbox.order);
    }
}

static void early_ones_wait_until_it_opens(void **state)
{
    (void)state;
    struct inbox inbox = {0};
    inbox.order = tt_order_create(PASS, arrive, &inbox);
    assert_int_equal(take(&inbox, 3, 1), TUTTI_OK);
    assert_false(tt_order_ready(inbox.order));
    assert_int_equal(take(&inbox, 3, 0), TUTTI_OK);
    assert_true(tt_order_ready(inbox.order));
    assert_int_equal(inbox.came, 0);
    tt_order_open(inbox.order, true);
    assert_int_equal(tt_order_open(inbox.order, false), 2);
    assert_int_equal(inbox.came, 2);
    assert_int_equal(take(&inbox, 4, 7), TUTTI_OK); /* this packet is freed undelivered */
    tt_order_free(inbox.order);
}

static void refused(struct tt_ucx_order *order, const void *bytes, size_t n)
{
    assert_int_equal(tt_order_take(order, bytes, n), TUTTI_ERR_ARG);
    assert_non_null(strstr(tutti_error(), "packet"));
}

static void what_is_no_packet_is_refused(void **state)
{
    (void)state;
    struct inbox inbox = {0};
    inbox.order = tt_order_create(PASS, arrive, &inbox);
    tt_order_open(inbox.order, true);
    struct {
        struct tt_packet_head packet;
        char more[TT_WIRE_HEAD + 8];
    } sent = {.packet = {.pass = PASS, .origin = 5, .form = TT_PACKET_FORM, .head_bytes = 9}};
    refused(inbox.order, &sent, sizeof sent.packet - 1); /* the packet head is cut off */
    refused(inbox.order, &sent, sizeof sent.packet + 8); /* the message head is cut off */
    sent.packet.gap = 5;
    refused(inbox.order, &sent, sizeof sent.packet + 9 + 4); /* the gap is cut off */
    sent.packet.head_bytes = TT_WIRE_HEAD + 1;
    refused(inbox.order, &sent, sizeof sent);
    sent.packet.head_bytes = 9;
    sent.packet.form++;
    refused(inbox.order, &sent, sizeof sent);
    for (uint64_t i = 0; i < 2; i++) assert_int_equal(take(&inbox, 1, i), TUTTI_OK);
    assert_int_equal(take(&inbox, 1, 1), TUTTI_ERR_ARG); /* a packet delivered before */
    assert_int_equal(take(&inbox, 1, 5), TUTTI_OK);
    assert_int_equal(take(&inbox, 1, 5), TUTTI_ERR_ARG); /* a packet that still waits */
    assert_int_equal(inbox.came, 2);
    tt_order_free(inbox.order);
}

/* Checks that a packet without the right pass is refused, whatever else it contains, and leaves no
 * record of its link. */
static void without_the_pass_nobody_is_heard(void **state)
{
    (void)state;
    struct inbox inbox = {0};
    struct tt_packet_head packet = {.origin = 1000, .number = 1, .form = TT_PACKET_FORM};
    inbox.order = tt_order_create(PASS, arrive, &inbox);
    tt_order_open(inbox.order, true);
    for (int bit = 0; bit < 64; bit++) {
        packet.pass = PASS ^ UINT64_C(1) << bit;
        refused(inbox.order, &packet, sizeof packet);
        assert_non_null(strstr(tutti_error(), "pass"));
    }
    for (size_t n = 0; n < sizeof packet; n++) refused(inbox.order, &packet, n);
    assert_int_equal(tt_order_strangers(inbox.order), 64 + sizeof packet);
    assert_int_equal(inbox.came, 0);
    for (uint64_t i = 0; i < 2; i++) assert_int_equal(take(&inbox, 0, i), TUTTI_OK);
    assert_int_equal(inbox.came, 2); /* the refused packets with number 1 left no record */
    tt_order_free(inbox.order);
}

/* Checks that a packet is either kept or reported as lost, whichever allocation fails. */
static void memory_may_end(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 20; i++) {
        struct inbox inbox = {0};
        tt_memory_fail_at(i);
        inbox.order = tt_order_create(PASS, arrive, &inbox);
        int lost = 0;
        for (int link = 0; link < 12 && inbox.order; link++) {
            tutti_status status = take(&inbox, link, 0);
            assert_true(status == TUTTI_OK || status == TUTTI_ERR_MEMORY);
            lost += status != TUTTI_OK;
        }
        tt_memory_fail_at(-1);
        if (inbox.order) {
            tt_order_open(inbox.order, true);
            tt_order_open(inbox.order, false);
            assert_int_equal(inbox.came + lost, 12);
        }
        tt_order_free(inbox.order);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_becomes_the_right_one),
        cmocka_unit_test(early_ones_wait_until_it_opens),
        cmocka_unit_test(what_is_no_packet_is_refused),
        cmocka_unit_test(without_the_pass_nobody_is_heard),
        cmocka_unit_test(memory_may_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
