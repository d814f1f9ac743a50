/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the tests of messages: starts the ranks, advances their contexts, and makes and checks the
 * payloads of messages.
 */
#include "../forbid.h"
#include "lib.h"

#include <sched.h>
#include <unistd.h>

/* A rank whose last IDLE_MOST advances found nothing to do sleeps for IDLE_US microseconds after
 * each further advance that finds nothing. */
enum { IDLE_MOST = 20, IDLE_US = 50 };

bool ranks_are_threads;

static struct {
    rank_fn *fn;
    int contexts;
} test;

static void on_rank(tutti_client *client, void *arg)
{
    struct rank r = {.client = client, .team = tutti_world(client), .contexts = test.contexts};
    (void)arg;
    r.p = tutti_size(r.team);
    r.me = tutti_rank(r.team);
    tt_random_seed(&r.random, (uint64_t)r.me + 1);
    r.context[0] = tutti_context_at(client, 0);
    if (r.contexts > 1) must(tutti_contexts(client, r.contexts - 1, r.context + 1));
    test.fn(&r);
}

int run_ranks(int argc, char **argv, int contexts, rank_fn *fn)
{
    tutti_client *client;
    test.fn = fn;
    test.contexts = contexts;
    if (argc == 3 && strcmp(argv[1], "threads") == 0) {
        ranks_are_threads = true;
        must(tutti_threads(atoi(argv[2]), on_rank, NULL));
        return 0;
    }
    must(tutti_init(&client));
    if (argc == 3 && strcmp(argv[1], "nested") == 0) {
        must(tutti_team_threads(tutti_world(client), atoi(argv[2]), on_rank, NULL));
        must(tutti_finalize(client));
        return 0;
    }
    forbid_later();
    on_rank(client, NULL);
    must(tutti_finalize(client));
    return 0;
}

tutti_endpoint *endpoint(struct rank *r, int rank, int context)
{
    tutti_endpoint *made;
    must(tutti_endpoint_to(r->client, rank, context, &made));
    return made;
}

void advance(struct rank *r)
{
    int all = 0;
    for (int i = 0; i < r->contexts; i++) {
        int events = 0;
        tutti_status status = tutti_advance(r->context[i], &events);
        all += events;
        check(status == TUTTI_OK || status == r->expected, "%d", (int)status);
        r->seen += status != TUTTI_OK;
    }
    r->idle = all == 0 ? r->idle + 1 : 0;
    if (r->idle > IDLE_MOST)
        usleep(IDLE_US);
    else if (r->idle > 0)
        sched_yield(); /* there may be more ranks than processors */
}

void until(struct rank *r, const int *value, int wanted)
{
    while (*value != wanted) {
        check(*value < wanted, "%d of %d", *value, wanted);
        advance(r);
    }
}

void meet(struct rank *r)
{
    tutti_request *request;
    must(tutti_ibarrier(r->team, &request));
    for (tutti_status status; (status = tutti_test(request)) != TUTTI_OK;) {
        check(status == TUTTI_AGAIN, "%d", (int)status);
        advance(r);
    }
    tutti_request_free(request);
}

void fill(void *memory, int64_t bytes, uint64_t seed)
{
    unsigned char *at = memory;
    int64_t i = 0;
    for (uint64_t word; i + 8 <= bytes; i += 8) {
        word = word_of(seed, i / 8);
        memcpy(at + i, &word, sizeof word);
    }
    for (; i < bytes; i++) at[i] = byte_of(seed, i);
}

bool is_filled(const void *memory, int64_t bytes, uint64_t seed)
{
    const unsigned char *at = memory;
    uint64_t word, differ = 0;
    int64_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        memcpy(&word, at + i, sizeof word);
        differ |= word ^ word_of(seed, i / 8);
    }
    for (; i < bytes; i++) differ |= at[i] ^ byte_of(seed, i);
    return differ == 0;
}

void count(tutti_context *context, void *arg, tutti_status status)
{
    struct completed *completed = arg;
    (void)context;
    completed->n++;
    completed->status = status;
}
