/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A context that nobody advances, or that nobody advances any more, does not block the long
 * messages of other contexts, whatever protocol these messages use. It holds at most one record of
 * a portion of a long message, and none of the data of the message.
 *
 *     idle            with the transports as they are
 *     idle refused    the network's key_open fails, so pieces that other contexts have claimed go
 *                     back to the context that received the message
 */
#include "lib.h"

#include "msg/pull.h"
#include "type/layout.h"

/* The received type consists of pairs of words with a hole in between: | word | hole | word |. */
enum { LONG = 1, BYTES = 6 << 20, PAIR = 8, APART = 12, MESSAGES = 6, LIMIT_S = 300 };

static struct {
    int begun;
    struct completed received;
} here[2]; /* of ranks 0 and 1, which may be threads of one process */

struct target {
    struct rank *r;
    char *memory, *packed;
    tutti_type type;
};

static void on_long(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                    void *arg)
{
    struct target *t = arg;
    (void)context;
    *receive =
        (tutti_receive){t->memory, m->bytes / PAIR, t->type, count, &here[t->r->me].received, 0};
    here[t->r->me].begun++;
}

/* Advances context 0 until a message has begun, and then each other context once, so that each of
 * them claims a piece. The rank does not advance the other contexts after that. */
static void begin_and_leave(struct rank *r)
{
    int begun = here[r->me].begun;
    while (here[r->me].begun == begun) must(tutti_advance(r->context[0], NULL));
    for (int i = 1; i < r->contexts; i++) must(tutti_advance(r->context[i], NULL));
}

static void wait_for(struct rank *r, const int *value, int wanted)
{
    int64_t end = tt_clock_ns() + LIMIT_S * INT64_C(1000000000);
    while (*value < wanted) {
        check(tt_clock_ns() < end, "a message stalls: %d of %d", *value, wanted);
        must(tutti_advance(r->context[0], NULL));
    }
}

static void send_all(struct rank *r, const char *data)
{
    struct completed completed = {0};
    tutti_send send = {.to = endpoint(r, 1, 0),
                       .dispatch = LONG,
                       .data = data,
                       .count = BYTES,
                       .type = TUTTI_U8,
                       .delivered = count,
                       .arg = &completed};
    for (int i = 0; i < MESSAGES; i++) {
        must(tutti_message_send(r->context[0], &send));
        wait_for(r, &completed.n, i + 1);
        check(completed.status == TUTTI_OK, "%d", (int)completed.status);
    }
}

static bool is_right(const char *memory, char *packed)
{
    for (int i = 0; i < BYTES / PAIR; i++) {
        memcpy(packed + i * PAIR, memory + i * APART, PAIR / 2);
        memcpy(packed + i * PAIR + PAIR / 2, memory + i * APART + PAIR, PAIR / 2);
    }
    return is_filled(packed, BYTES, 7);
}

static void receive_all(struct rank *r, struct target *t)
{
    for (int i = 0; i < MESSAGES; i++) {
        memset(t->memory, 0, BYTES / PAIR * APART);
        if (i == 1) begin_and_leave(r);
        wait_for(r, &here[r->me].received.n, i + 1);
        check(here[r->me].received.status == TUTTI_OK, "%d", (int)here[r->me].received.status);
        check(is_right(t->memory, t->packed), "message %d", i);
    }
}

/* Checks that a context that is not advanced holds at most one record of a portion of a long
 * message, and no packed data. */
static void look(const tutti_context *c)
{
    int portions = 0;
    for (struct tt_work *w = atomic_load(&c->posted); w; w = w->next, portions++) {
        const struct tutti_pending *receipt =
            tt_container_of(w, struct tt_pull_range, work)->receipt;
        check(!receipt->packed && !receipt->layout, "it keeps the packed data");
    }
    check(portions <= 1, "%d portions wait", portions);
}

static bool is_refused;

static tutti_status refuse(struct tt_link *link, const void *key, size_t bytes,
                           struct tt_wire_key **opened)
{
    (void)link;
    (void)key;
    (void)bytes;
    (void)opened;
    return TUTTI_ERR_UNSUPPORTED;
}

static void refuse_keys(struct tt_msg *msg)
{
    static struct tt_wire_ops ops;
    check(msg->ops && msg->keys, "there is no network with keys");
    ops = *msg->ops;
    ops.key_open = refuse;
    msg->ops = &ops;
}

static void play(struct rank *r)
{
    if (is_refused) refuse_keys(r->context[0]->msg);
    struct target t = {.r = r, .memory = malloc(BYTES / PAIR * APART), .packed = malloc(BYTES)};
    fill(t.memory, BYTES, 7);
    must(tutti_type_vector(2, 1, 2, TUTTI_I32, &t.type));
    must(tutti_dispatch(r->client, LONG, on_long, &t));
    must(tutti_barrier(r->team));
    if (r->me == 0) send_all(r, t.memory);
    if (r->me == 1) receive_all(r, &t);
    for (int i = 1; r->me == 1 && i < r->contexts; i++) look(r->context[i]);
    must(tutti_barrier(r->team));
    must(tutti_type_free(t.type));
    free(t.memory);
    free(t.packed);
}

int main(int argc, char **argv)
{
    is_refused = argc == 2;
    return run_ranks(is_refused ? 1 : argc, argv, MOST_CONTEXTS, play);
}
