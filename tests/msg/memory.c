/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes each allocation fail in turn. The call that needs it returns TUTTI_ERR_MEMORY, or an
 * incoming message waits for memory. Then everything must continue.
 */
#include "lib.h"

enum { MESSAGE = 1, LONG = 50000, SHORT = 900, SHORTS = 30, DONE = SHORTS + 4 };

struct scene {
    tutti_client *client;
    tutti_context *context[2];
    tutti_endpoint *to;
    int received, done, refused;
    tutti_pending *pending;
    char memory[LONG * 2];
};

/* Repeats the call while it returns TUTTI_ERR_MEMORY. */
#define persist(scene, call)                                                                       \
    do {                                                                                           \
        tutti_status status_;                                                                      \
        while ((status_ = (call)) == TUTTI_ERR_MEMORY) (scene)->refused++;                         \
        check(status_ == TUTTI_OK, "%d", (int)status_);                                            \
    } while (0)

static void received(tutti_context *context, void *arg, tutti_status status)
{
    struct scene *s = arg;
    (void)context;
    check(status == TUTTI_OK || status == TUTTI_ERR_MEMORY, "%d", (int)status);
    s->refused += status == TUTTI_ERR_MEMORY;
    s->received++;
}

static void done(tutti_context *context, void *arg, tutti_status status)
{
    received(context, arg, status);
    ((struct scene *)arg)->received--;
    ((struct scene *)arg)->done++;
}

static void on_message(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                       void *arg)
{
    struct scene *s = arg;
    (void)context;
    if (m->header_bytes) {
        s->pending = m->pending;
        receive->put_off = 1;
    } else
        *receive = (tutti_receive){s->memory, m->bytes, TUTTI_U8, received, s, 0};
}

static void send(struct scene *s, int64_t count, tutti_type type, const char *header)
{
    static char data[LONG * 4];
    tutti_send message = {.to = s->to,
                          .dispatch = MESSAGE,
                          .header = header,
                          .header_bytes = header ? strlen(header) : 0,
                          .data = data,
                          .count = count,
                          .type = type,
                          .delivered = done,
                          .arg = s};
    persist(s, tutti_message_send(s->context[0], &message));
}

static void advance_both(struct scene *s)
{
    for (int i = 0; i < 2; i++) persist(s, tutti_advance(s->context[i], NULL));
}

/* Sends short messages that have to wait for room, a long message, a message of a derived type, and
 * a message whose receive is put off, and then calls a fence. */
static void play(struct scene *s, tutti_type pairs)
{
    persist(s, tutti_contexts(s->client, 1, &s->context[1]));
    persist(s, tutti_endpoint_to(s->client, 0, 1, &s->to));
    must(tutti_dispatch(s->client, MESSAGE, on_message, s));
    for (int i = 0; i < SHORTS; i++) send(s, SHORT, TUTTI_U8, NULL);
    send(s, LONG, TUTTI_U8, NULL);
    send(s, 2000, pairs, NULL);
    send(s, 10, TUTTI_U8, "later");
    persist(s, tutti_fence(s->context[0], s->to, done, s));
    while (!s->pending) advance_both(s);
    tutti_receive receive = {s->memory, 10, TUTTI_U8, received, s, 0};
    persist(s, tutti_message_receive(s->context[1], s->pending, &receive));
    while (s->done < DONE || s->received < DONE - 1) advance_both(s);
}

int main(void)
{
    tutti_type pairs;
    int refused = 0, last = -1;
    setenv("TUTTI_RING", "4K", 1); /* small enough that short messages have to wait */
    must(tutti_type_vector(2, 1, 2, TUTTI_F64, &pairs));
    for (int i = 0; i < last + 40; i++) {
        struct scene *s = calloc(1, sizeof *s);
        must(tutti_init(&s->client));
        s->context[0] = tutti_context_at(s->client, 0);
        tt_memory_fail_at(i);
        if (i == 0) last = 0;
        play(s, pairs);
        tt_memory_fail_at(-1);
        must(tutti_finalize(s->client));
        refused += s->refused;
        if (s->refused) last = i;
        free(s);
    }
    must(tutti_type_free(pairs));
    check(refused > 10, "only %d failures were noticed", refused);
    printf("%d refusals, the last at allocation %d\n", refused, last);
    return 0;
}
