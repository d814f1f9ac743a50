/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets of the network transport, with delivery open or closed. Any bytes are either taken or
 * refused, without reading beyond them; they are refused if they do not begin with the pass. Valid
 * packets in any order are delivered complete, once, and in the order of their link's numbers, up
 * to the first one that is missing.
 */
#include "fabric/ucx-order.h"
#include "fuzz.h"

enum { LINKS = 4, NUMBERS = 16 };
#define PASS UINT64_C(0x8796a5b4c3d2e1f0)

struct play {
    struct tt_ucx_order *order, *junk;
    uint32_t next[LINKS];
    uint32_t sums[LINKS][NUMBERS]; /* checksums of the data of accepted packets; 0: none */
};

static uint32_t sum_of(const void *data, size_t size)
{
    uint32_t sum = 7;
    for (size_t i = 0; i < size; i++) sum = sum * 31 + ((const uint8_t *)data)[i] + 1;
    return sum | 1;
}

/* Reads all bytes that arrive, so that sanitizers notice any that are not valid. */
static void arrive_junk(void *arg, const void *head, size_t head_bytes, const void *data,
                        size_t data_bytes)
{
    (void)arg;
    fuzz_check(head_bytes <= TT_WIRE_HEAD, "a head of %zu bytes", head_bytes);
    fuzz_check(sum_of(head, head_bytes) && sum_of(data, data_bytes), "no sum");
}

static void arrive(void *arg, const void *head, size_t head_bytes, const void *data,
                   size_t data_bytes)
{
    struct play *play = arg;
    uint8_t where[2];
    fuzz_check(head_bytes == sizeof where, "a head of %zu bytes", head_bytes);
    memcpy(where, head, sizeof where);
    uint32_t next = play->next[where[0]]++;
    fuzz_check(where[1] == next, "number %u of link %u instead of %u", where[1], where[0], next);
    fuzz_check(play->sums[where[0]][next] == sum_of(data, data_bytes), "other data");
}

/* Gives the bytes to the transport, in a copy of exactly their size. */
static tutti_status take(struct tt_ucx_order *order, const void *bytes, size_t n)
{
    uint8_t *own = malloc(n + !n);
    if (!own) abort();
    memcpy(own, bytes, n);
    tutti_status status = tt_order_take(order, own, n);
    fuzz_check(status == TUTTI_OK || (status == TUTTI_ERR_ARG && tutti_error()[0]), "status %d",
               (int)status);
    free(own);
    return status;
}

/* Gives a valid packet of this link to the transport. A number that was used before must be
 * refused. */
static void take_good(struct play *play, uint8_t link, uint8_t number, uint8_t gap,
                      const uint8_t *data, size_t n)
{
    struct {
        struct tt_packet_head packet;
        uint8_t where[2], behind[2 * 255];
    } sent = {.packet = {.pass = PASS,
                         .origin = link,
                         .number = number,
                         .head_bytes = 2,
                         .gap = gap,
                         .form = TT_PACKET_FORM},
              .where = {link, number}};
    uint32_t *sum = &play->sums[link][number];
    bool known = *sum != 0;
    if (!known) *sum = sum_of(data, n);
    memcpy(sent.behind + gap, data, n);
    tutti_status status = take(play->order, &sent, sizeof sent.packet + 2 + gap + n);
    fuzz_check(status == (known ? TUTTI_ERR_ARG : TUTTI_OK), "number %u of link %u: %s", number,
               link, tutti_error());
}

/* Gives any bytes to the transport, with or without the pass in front of them. */
static void take_junk(struct play *play, bool pass, const uint8_t *bytes, size_t n)
{
    uint8_t sent[sizeof(uint64_t) + 255];
    uint64_t number = PASS, strangers = tt_order_strangers(play->junk);
    if (pass) memcpy(sent, &number, sizeof number);
    size_t before = pass ? sizeof number : 0;
    memcpy(sent + before, bytes, n);
    bool known =
        before + n >= sizeof(struct tt_packet_head) && memcmp(sent, &number, sizeof number) == 0;
    tutti_status status = take(play->junk, sent, before + n);
    fuzz_check(known || status == TUTTI_ERR_ARG, "a stranger's: %d", (int)status);
    fuzz_check(tt_order_strangers(play->junk) == strangers + !known, "%s", "miscounted");
}

/* Does one step of the input: an action, a link, a number, a length, and as many bytes. Returns the
 * number of bytes read. */
static size_t step(struct play *play, const uint8_t *at, size_t left)
{
    size_t n = tt_min(at[3], (int64_t)left - 4);
    if (at[0] & 1) tt_order_open(play->order, at[0] & 2);
    if (at[0] & 4)
        take_junk(play, !(at[0] & 16), at + 4, n);
    else
        take_good(play, at[1] % LINKS, at[2] % NUMBERS, at[0] & 8 ? at[1] : 0, at + 4, n);
    return 4 + n;
}

static void nobody_waits(const struct play *play)
{
    for (int link = 0; link < LINKS; link++) {
        uint32_t next = play->next[link];
        fuzz_check(next == NUMBERS || play->sums[link][next] == 0, "number %u of link %d waits",
                   next, link);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct play play = {0};
    play.order = tt_order_create(PASS, arrive, &play);
    play.junk = tt_order_create(PASS, arrive_junk, NULL);
    if (!play.order || !play.junk) abort();
    tt_order_open(play.junk, true);
    for (size_t i = 0; i + 4 <= size;) i += step(&play, data + i, size - i);
    tt_order_open(play.order, true);
    tt_order_open(play.order, false);
    tt_order_open(play.junk, false);
    nobody_waits(&play);
    tt_order_free(play.order);
    tt_order_free(play.junk);
    return 0;
}
