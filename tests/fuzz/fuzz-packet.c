/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets of messages, as they arrive through shared memory and over a network. All parts of a
 * packet that is accepted must lie within the input, and encoding it again must give the same
 * packet. Then a context with some operations under way takes the packets, and must still work.
 *
 * An input is a list of packets: a byte with the length of the body in units of 4 bytes, the mark,
 * the body.
 */
#include "fuzz.h"

#include "api/api.h"
#include "msg/wired.h"

enum { PACKETS = 64, ROOM = 300, LONG = 20000 };

/* ---- Decoding ---- */

static void is_within(const void *at, size_t n, const void *all, size_t size)
{
    const char *from = at, *begin = all;
    fuzz_check(n == 0 || (from >= begin && n <= size && from <= begin + size - n), "%zu bytes", n);
}

static void is_same(const struct tt_packet *a, const struct tt_packet *b)
{
    fuzz_check(a->kind == b->kind && a->dispatch == b->dispatch, "kind %d", (int)a->kind);
    fuzz_check(a->header_bytes == b->header_bytes && a->bytes == b->bytes, "%zu", a->bytes);
    fuzz_check(memcmp(a->arg, b->arg, (size_t)tt_packet_args(a->kind) * 8) == 0, "args");
    fuzz_check(memcmp(a->header, b->header, a->header_bytes) == 0, "header");
}

static void says_the_same(const struct tt_packet *p)
{
    char head[TT_WIRE_HEAD] = {0};
    struct tt_packet again;
    int rank, context;
    size_t n = tt_packet_wire_head(p, 3, 5, head);
    fuzz_check(n <= sizeof head, "%zu", n);
    fuzz_check(tt_packet_wire_read(head, n, p->data, p->bytes, 4, &rank, &context, &again), "%zu",
               n);
    fuzz_check(rank == 3 && context == 5, "%d %d", rank, context);
    is_same(p, &again);
    fuzz_check(!tt_packet_wire_read(head, n, p->data, p->bytes, 3, &rank, &context, &again),
               "rank 3 of 3");
    fuzz_check(!tt_packet_wire_read(head, n - 1, p->data, p->bytes, 4, &rank, &context, &again),
               "cut");
}

static bool judged(uint64_t mark, const void *body, size_t size, struct tt_packet *p)
{
    *p = (struct tt_packet){0};
    if (!tt_packet_read(mark, body, size, p)) return false;
    is_within(p->header, p->header_bytes, body, size);
    is_within(p->data, p->bytes, body, size);
    fuzz_check(p->header_bytes <= TUTTI_HEADER_BYTES && p->dispatch < TT_DISPATCHES, "%zu",
               p->header_bytes);
    fuzz_check((tt_packet_mark(p) ^ mark) >> 16 == 0, "another mark");
    says_the_same(p);
    return true;
}

static void judged_as_head(const uint8_t *data, size_t size)
{
    struct tt_packet p;
    int rank = -1, context = -1;
    size_t head = size < TT_WIRE_HEAD ? size : TT_WIRE_HEAD;
    if (!tt_packet_wire_read(data, head, data + head, size - head, 7, &rank, &context, &p)) return;
    fuzz_check(rank >= 0 && rank < 7 && context >= 0 && context < TUTTI_CONTEXTS, "%d", rank);
    is_within(p.header, p.header_bytes, data, head);
}

/* ---- Handing packets to a context ---- */

struct fuzz_packet_taker {
    tutti_context *context;
    char memory[ROOM];
    tutti_pending *pending[PACKETS];
    int n, done;
};

static void done(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    (void)status;
    ++*(int *)arg;
}

/* Handles a message: the dispatch number says whether it is read in place, received, or put off. */
static void on_message(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                       void *arg)
{
    struct fuzz_packet_taker *taker = arg;
    (void)context;
    if (m->dispatch == 2)
        *receive = (tutti_receive){taker->memory, ROOM / 4, TUTTI_F32, done, &taker->done, 0};
    if (m->dispatch == 3 && taker->n < PACKETS) {
        receive->put_off = 1;
        taker->pending[taker->n++] = m->pending;
    }
}

/* Changes the address of a long message into an address in shared memory. With an address in a
 * process, the packet could name any memory of this process itself, which the kernel would not
 * refuse. */
static void keep_in_segment(struct tt_packet *p)
{
    if (p->kind == TT_PACKET_RTS) p->arg[2] |= TT_ADDRESS_IN_SEGMENT;
}

static void receive_pending(struct fuzz_packet_taker *taker)
{
    tutti_receive receive = {taker->memory, ROOM, TUTTI_U8, done, &taker->done, 0};
    for (int i = 0; i < taker->n; i++) {
        if (i % 2) receive.to = NULL;
        fuzz_check(tutti_message_receive(taker->context, taker->pending[i], &receive) == TUTTI_OK,
                   "%s", tutti_error());
    }
}

/* Starts a long message and a fence to this rank's other context, which nobody advances, so that
 * packets may contain the ids of operations under way. */
static void start_some(tutti_client *client, tutti_context *context, const char *data, int *ended)
{
    tutti_endpoint *to;
    tutti_send send = {
        .dispatch = 1, .data = data, .count = LONG, .type = TUTTI_U8, .sent = done, .arg = ended};
    fuzz_check(tutti_endpoint_to(client, 0, 1, &to) == TUTTI_OK, "%s", tutti_error());
    send.to = to;
    fuzz_check(tutti_message_send(context, &send) == TUTTI_OK, "%s", tutti_error());
    fuzz_check(tutti_fence(context, to, done, ended) == TUTTI_OK, "%s", tutti_error());
}

/* Gives one packet to the context and returns its size in the input. */
static size_t give(struct fuzz_packet_taker *taker, const uint8_t *data, size_t size)
{
    struct tt_packet p;
    uint64_t mark;
    size_t body = (size_t)data[0] * 4, all = 1 + sizeof mark + body;
    if (size < all) return 0;
    memcpy(&mark, data + 1, sizeof mark);
    char *copy = fuzz_text(data + 1 + sizeof mark, body); /* a copy, so that sanitizers notice reads
                                                           * beyond its end */
    if (judged(mark, copy, body, &p)) {
        keep_in_segment(&p);
        struct tt_peer *peer = tt_peer_of(taker->context, 0, 1);
        fuzz_check(peer && tt_take(taker->context, peer, &p) == TUTTI_OK, "%s", tutti_error());
    }
    free(copy);
    return all;
}

static void still_works(struct fuzz_packet_taker *taker)
{
    int ended = 0;
    tutti_endpoint *to;
    tutti_send send = {.dispatch = 1, .delivered = done, .arg = &ended};
    fuzz_check(tutti_endpoint_to(tt_msg_client(taker->context), 0, 0, &to) == TUTTI_OK, "%s",
               tutti_error());
    send.to = to;
    fuzz_check(tutti_message_send(taker->context, &send) == TUTTI_OK, "%s", tutti_error());
    for (int i = 0; i < 10 && !ended; i++) (void)tutti_advance(taker->context, NULL);
    fuzz_check(ended == 1, "%d", ended);
}

static void take_all(tutti_client *client, const uint8_t *data, size_t size)
{
    static char sent[LONG];
    struct fuzz_packet_taker taker = {.context = tutti_context_at(client, 0)};
    tutti_context *idle;
    int ended = 0;
    fuzz_check(tutti_contexts(client, 1, &idle) == TUTTI_OK, "%s", tutti_error());
    for (int id = 1; id <= 3; id++)
        fuzz_check(tutti_dispatch(client, id, on_message, &taker) == TUTTI_OK, "%d", id);
    start_some(client, taker.context, sent, &ended);
    for (int i = 0; i < PACKETS && size > 0; i++) {
        size_t n = give(&taker, data, size);
        if (n == 0) break;
        data += n;
        size -= n;
    }
    receive_pending(&taker);
    still_works(&taker);
    fuzz_check(ended <= 2, "%d completions of two", ended);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tutti_client *client;
    judged_as_head(data, size);
    fuzz_check(tutti_init(&client) == TUTTI_OK, "%s", tutti_error());
    take_all(client, data, size);
    fuzz_check(tutti_finalize(client) == TUTTI_OK, "%s", tutti_error());
    return 0;
}
