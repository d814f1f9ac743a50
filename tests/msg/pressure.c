/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Immediate messages over the network (TUTTI_WIRE=1): a rank that sends faster than the network
 * takes the messages gets TUTTI_AGAIN before it has used much memory, and loses nothing.
 */
#include "lib.h"

enum {
    MESSAGE = 1,
    N = 20000,
    MOST = 128, /* largest number of packets to a peer that the network has not taken yet
                 * (send.c) */
    BYTES = 400
};

struct pressure_come {
    int n;
};

static void on_message(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                       void *arg)
{
    struct pressure_come *come = arg;
    (void)context, (void)receive;
    check(m->bytes == BYTES && is_filled(m->data, BYTES, (uint64_t)come->n), "%d", come->n);
    come->n++;
}

static tutti_status send(struct rank *r, int i)
{
    char data[BYTES];
    fill(data, BYTES, (uint64_t)i);
    tutti_status status = tutti_message_immediate(r->context[1], endpoint(r, (r->me + 1) % r->p, 1),
                                                  MESSAGE, NULL, 0, data, sizeof data);
    check(status == TUTTI_OK || status == TUTTI_AGAIN, "%d", (int)status);
    return status;
}

/* Sends until tutti_message_immediate returns AGAIN, and returns the number of messages. No
 * connection exists before the first advance, so the network takes no packet until then. */
static int fill_up(struct rank *r)
{
    int sent = 0;
    while (sent < 2 * MOST && send(r, sent) == TUTTI_OK) sent++;
    check(sent == MOST, "%d", sent);
    check(send(r, sent) == TUTTI_AGAIN, "there is room again");
    return sent;
}

static void flood(struct rank *r)
{
    struct pressure_come come = {0};
    int again = 0;
    must(tutti_dispatch(r->client, MESSAGE, on_message, &come));
    meet(r);
    for (int i = fill_up(r); i < N; i++) {
        for (; send(r, i) == TUTTI_AGAIN; again++) advance(r);
    }
    until(r, &come.n, N);
    check(again > 0, "%d", again);
    meet(r);
    check(come.n == N, "%d", come.n);
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, 2, flood);
}
