/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Protection against other senders, as far as wire.h promises it: a port drops packets without its
 * pass, and a transport that was opened for packets only accesses no memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fabric/pair.h"

/* ---- Strangers ---- */

struct address {
    size_t bytes;
    char address[TT_WIRE_ADDRESS];
};

/* Changes the pass in an address, and its checksum to match (ucx.c). */
static void forge(struct address *address)
{
    enum { FRAME = 8 };
    uint32_t sum = 0x811c9dc5u;
    address->address[FRAME + 3] ^= 1;
    for (size_t i = FRAME; i < address->bytes; i++)
        sum = (sum ^ (unsigned char)address->address[i]) * 0x01000193u;
    memcpy(address->address + 4, &sum, sizeof sum);
}

static void heard(void *arg, const void *head, size_t head_bytes, const void *data,
                  size_t data_bytes)
{
    (void)data;
    must(head_bytes == 1 && *(const char *)head == 'f' && data_bytes < 5000);
    ++*(int *)arg;
}

enum { WORDS = 20 };

/* Opens two links to the other port: over the link `stranger`, which has a wrong pass, each side
 * sends packets "s", and over the link `friend` packets "f". Only the packets "f" may arrive. */
static void play_stranger(struct side *side)
{
    struct address mine = {0}, other;
    struct tt_link *stranger, *friend;
    struct tally tally = {0};
    static char data[5000];
    int came = 0;
    pair_open(side, heard, &came);
    must(side->ops->port_address(side->port, mine.address, &mine.bytes) == TUTTI_OK);
    pair_swap(side, &mine, &other, sizeof mine);
    must(side->ops->link_open(side->port, other.address, other.bytes, NULL, NULL, &friend) ==
         TUTTI_OK);
    forge(&other);
    must(side->ops->link_open(side->port, other.address, other.bytes, NULL, NULL, &stranger) ==
         TUTTI_OK);
    for (size_t i = 0; i < WORDS; i++) {
        size_t bytes = i % 2 * (sizeof data - 1);
        tally_begun(&tally, tally_send(side, stranger, "s", 1, data, bytes, &tally));
        tally_begun(&tally, tally_send(side, friend, "f", 1, data, bytes, &tally));
    }
    tally_wait(side, &tally);
    while (came < WORDS) side->ops->port_advance(side->port);
    pair_sync(side);
    for (int i = 0; i < 1000; i++) side->ops->port_advance(side->port);
    must(came == WORDS);
    pair_sync(side);
    side->ops->link_close(stranger);
    side->ops->link_close(friend);
    pair_close(side);
}

static void strangers_are_not_heard(void **state)
{
    (void)state;
    assert_true(pair_play(play_stranger, -1, NULL));
}

/* ---- A transport for packets only ---- */

static void nothing_comes(void *arg, const void *head, size_t head_bytes, const void *data,
                          size_t data_bytes)
{
    (void)arg, (void)head, (void)head_bytes, (void)data, (void)data_bytes;
    must(!"a packet");
}

static void play_packets_only(struct side *side)
{
    struct tt_wire_region *region;
    struct tt_wire_key *key;
    char memory[64];
    must(side->ops->open(false, &side->wire) == TUTTI_OK);
    must(side->ops->port_open(side->wire, nothing_comes, NULL, &side->port) == TUTTI_OK);
    pair_link(side);
    must(side->ops->map(side->wire, memory, sizeof memory, &region) == TUTTI_ERR_UNSUPPORTED);
    must(side->ops->key_open(side->link, memory, sizeof memory, &key) == TUTTI_ERR_UNSUPPORTED);
    pair_sync(side);
    pair_close(side);
}

static void memory_is_reached_only_if_asked_for(void **state)
{
    (void)state;
    assert_true(pair_play(play_packets_only, -1, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strangers_are_not_heard),
        cmocka_unit_test(memory_is_reached_only_if_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
