/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The messages of messages.c in Tutti: active messages, which both ranks poll for. The names are
 * the same as in messages-mpi.h.
 */
#ifndef BENCH_MESSAGES_TUTTI_H
#define BENCH_MESSAGES_TUTTI_H

#include <string.h>
#include <tutti/message.h>

#include "port-tutti.h"

/* The dispatch ids of ping-pong messages (balls) and of stream messages. */
enum { MESSAGES_BALL, MESSAGES_DATA };

/* Counters of messages, and the places of the stream's messages in memory. */
static struct {
    tutti_context *context;
    tutti_endpoint *peer;
    uint64_t turn;             /* number of the last ping-pong message (ball) received */
    uint64_t thrown;           /* number of the last ping-pong message (ball) sent */
    int64_t begun, gone;       /* sender: stream messages started, and those complete */
    int64_t met, come, wanted; /* receiver: stream messages seen, complete, and expected */
    char *memory;              /* memory of all places */
    int64_t bytes, places;
} messages;

static inline void messages_on_ball(tutti_context *context, const tutti_message *message,
                                    tutti_receive *receive, void *arg)
{
    (void)context;
    (void)receive;
    (void)arg;
    memcpy(&messages.turn, message->data, sizeof messages.turn);
}

/* Returns the place of stream message i, counted over all streams. */
static inline char *messages_at(int64_t i)
{
    return messages.memory + i % messages.places * messages.bytes;
}

static inline void messages_on_come(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    (void)arg;
    port_check(status);
    messages.come++;
}

static inline void messages_on_data(tutti_context *context, const tutti_message *message,
                                    tutti_receive *receive, void *arg)
{
    (void)context;
    (void)message;
    (void)arg;
    receive->to = messages_at(messages.met++);
    receive->count = messages.bytes;
    receive->type = TUTTI_U8;
    receive->done = messages_on_come;
}

static inline void messages_on_gone(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    (void)arg;
    port_check(status);
    messages.gone++;
}

static inline void messages_open(void)
{
    messages.context = tutti_context_at(port_client, 0);
    port_check(tutti_endpoint_to(port_client, !port_rank(), 0, &messages.peer));
    port_check(tutti_dispatch(port_client, MESSAGES_BALL, messages_on_ball, NULL));
    port_check(tutti_dispatch(port_client, MESSAGES_DATA, messages_on_data, NULL));
}

/* Sets the memory of the next stream: `places` places of `bytes` bytes, which its messages use in
 * turn. Must be called before the other rank may send. */
static inline void messages_place(void *memory, int64_t bytes, int places)
{
    messages.memory = memory;
    messages.bytes = bytes;
    messages.places = places;
    messages.begun = messages.gone = messages.met = 0;
}

static inline void messages_advance(void)
{
    port_check(tutti_advance(messages.context, NULL));
}

static inline void messages_throw(void)
{
    uint64_t turn = ++messages.thrown;
    tutti_status status;
    while ((status = tutti_message_immediate(messages.context, messages.peer, MESSAGES_BALL, NULL,
                                             0, &turn, sizeof turn)) == TUTTI_AGAIN)
        messages_advance();
    port_check(status);
}

static inline void messages_catch(uint64_t turn)
{
    while (messages.turn < turn) messages_advance();
}

static inline void messages_pingpong(int64_t turns)
{
    bool first = port_rank() == 0;
    for (int64_t turn = 0; turn < turns; turn++) {
        if (first) messages_throw();
        messages_catch(messages.thrown + !first);
        if (!first) messages_throw();
    }
}

static inline void messages_send(void)
{
    tutti_send send = {.to = messages.peer,
                       .dispatch = MESSAGES_DATA,
                       .data = messages_at(messages.begun),
                       .count = messages.bytes,
                       .type = TUTTI_U8,
                       .sent = messages_on_gone};
    while (messages.begun - messages.gone >= MESSAGES_WINDOW) messages_advance();
    messages.begun++;
    port_check(tutti_message_send(messages.context, &send));
}

/* Sends `count` messages from rank 0 to rank 1. Rank 1 sends one message back when it has
 * all of them. */
static inline void messages_stream(int64_t count)
{
    if (port_rank() == 0) {
        for (int64_t i = 0; i < count; i++) messages_send();
        while (messages.gone < messages.begun) messages_advance();
        messages_catch(++messages.thrown);
    } else {
        messages.wanted += count; /* some of the messages may have arrived while this rank was in
                                   * the barrier */
        while (messages.come < messages.wanted) messages_advance();
        messages_throw();
    }
}

#endif
