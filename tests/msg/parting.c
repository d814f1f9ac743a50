/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Contexts that were just connected over the network (TUTTI_WIRE=1) disconnect without an error and
 * within SECONDS, also the last context, which sends nothing, so that only its peers connected it.
 */
#include "lib.h"

enum { MESSAGE = 1, CONTEXTS = 8, SECONDS = 60 };

static void on_message(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                       void *arg)
{
    (void)context, (void)receive;
    check(m->bytes == 3, "%d", (int)m->bytes);
    ++*(int *)arg;
}

/* Sends a message from each context to each context of the other rank, except that context 0
 * receives nothing and the last context sends nothing. */
static void send_all(tutti_client *client, tutti_context **contexts, int to)
{
    for (int i = 0; i < CONTEXTS - 1; i++) {
        for (int k = 1; k < CONTEXTS; k++) {
            tutti_endpoint *endpoint;
            must(tutti_endpoint_to(client, to, k, &endpoint));
            tutti_send send = {
                .to = endpoint, .dispatch = MESSAGE, .data = "abc", .count = 3, .type = TUTTI_U8};
            must(tutti_message_send(contexts[i], &send));
        }
    }
}

/* Advances all contexts during the barrier, because messages that the other rank waits for may
 * still be queued here. */
static void meet_all(tutti_team *team, tutti_context **contexts)
{
    tutti_request *request;
    must(tutti_ibarrier(team, &request));
    while (tutti_test(request) == TUTTI_AGAIN) must(tutti_advance_all(contexts, CONTEXTS, NULL));
    tutti_request_free(request);
}

int main(void)
{
    tutti_client *client;
    tutti_context *contexts[CONTEXTS];
    int came = 0;
    must(tutti_init(&client));
    tutti_team *team = tutti_world(client);
    contexts[0] = tutti_context_at(client, 0);
    must(tutti_contexts(client, CONTEXTS - 1, contexts + 1));
    must(tutti_dispatch(client, MESSAGE, on_message, &came));
    must(tutti_barrier(team));
    send_all(client, contexts, 1 - tutti_rank(team));
    while (came < (CONTEXTS - 1) * (CONTEXTS - 1))
        must(tutti_advance_all(contexts, CONTEXTS, NULL));
    meet_all(team, contexts);
    int64_t begin_ns = tt_clock_ns();
    must(tutti_finalize(client));
    int64_t ns = tt_clock_ns() - begin_ns;
    check(ns < SECONDS * INT64_C(1000000000), "%lld ns", (long long)ns);
    return 0;
}
