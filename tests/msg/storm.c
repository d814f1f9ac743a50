/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random messages of all lengths between all contexts of all ranks. Each context is advanced by its
 * own thread; some threads spin and some sleep. Every message arrives once, complete, and in order.
 * Nobody advances the last context of each rank while the storm lasts. So other contexts pull its
 * portions of long messages, and messages to it arrive only when it is advanced at the end.
 */
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

enum { MESSAGE = 3, LAST = 4, CONTEXTS = 4, IDLE = CONTEXTS - 1, RANKS = 8, LONGEST = 600000 };

struct storm_header {
    int32_t rank, context;
    int64_t number, bytes;
};

struct storm {
    struct rank *r;
    _Atomic int messages;
    /* one of the rank's contexts, and what it has sent and received */
    struct side {
        struct storm *all;
        int index, sends;
        int64_t next[RANKS][CONTEXTS];   /* the number of the next message to arrive */
        int64_t number[RANKS][CONTEXTS]; /* the number of the next message to send */
        /* under_way: number of messages that were sent and have not ended, [0] to contexts that are
         * advanced, [1] to the idle context. lasts: number of last messages that have arrived.
         * receiving: number of messages whose payload has not arrived. */
        int under_way[2], lasts, receiving;
        int idle; /* how many times in a row `spin` has found no event */
        struct tt_random random;
        pthread_t thread;
    } side[CONTEXTS];
    _Atomic bool over;
    /* number of run_side threads whose context has received a message LAST from each context that
     * sends */
    _Atomic int calm;
};

struct delivery {
    struct side *side;
    struct storm_header header;
    char *memory;
    tutti_pending *pending;
};

static uint64_t seed_of(const struct storm_header *h)
{
    return (uint64_t)h->rank << 48 ^ (uint64_t)h->context << 40 ^ (uint64_t)h->number;
}

/* ---- Receiving ---- */

static void received(tutti_context *context, void *arg, tutti_status status)
{
    struct delivery *p = arg;
    check(status == TUTTI_OK, "%d", (int)status);
    check(context == p->side->all->r->context[p->side->index], "another context");
    check(is_filled(p->memory, p->header.bytes, seed_of(&p->header)), "%lld bytes of %d:%d",
          (long long)p->header.bytes, p->header.rank, p->header.context);
    p->side->receiving--;
    free(p->memory);
    free(p);
}

static tutti_receive into(struct delivery *p)
{
    return (tutti_receive){p->memory, p->header.bytes, TUTTI_U8, received, p, 0};
}

static void receive_now(tutti_context *context, void *arg)
{
    struct delivery *p = arg;
    tutti_receive receive = into(p);
    must(tutti_message_receive(context, p->pending, &receive));
}

static void on_message(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                       void *arg)
{
    struct storm *storm = arg;
    struct side *side = NULL;
    struct storm_header h;
    for (int i = 0; i < CONTEXTS; i++)
        if (storm->r->context[i] == context) side = &storm->side[i];
    memcpy(&h, m->header, sizeof h);
    check(h.rank == m->rank && h.context == m->context && h.bytes == m->bytes, "%d", h.rank);
    check(side->next[h.rank][h.context]++ == h.number, "%lld of %d:%d", (long long)h.number, h.rank,
          h.context);
    if (m->dispatch == LAST) {
        side->lasts++;
        return;
    }
    if (m->data && h.number % 2) {
        check(is_filled(m->data, m->bytes, seed_of(&h)), "in place");
        return;
    }
    struct delivery *p = malloc(sizeof *p);
    *p = (struct delivery){side, h, malloc((size_t)h.bytes + 1), m->pending};
    side->receiving++;
    *receive = into(p);
    if (h.number % 5) return;
    receive->put_off = 1;
    must(tutti_post(context, receive_now, p));
}

/* ---- Sending ---- */

struct sending {
    struct side *side;
    bool to_idle;
    char memory[];
};

static void sent(tutti_context *context, void *arg, tutti_status status)
{
    struct sending *s = arg;
    (void)context;
    check(status == TUTTI_OK, "%d", (int)status);
    s->side->under_way[s->to_idle]--;
    free(s);
}

static int64_t some_length(struct tt_random *random)
{
    uint64_t kind = tt_random_below(random, 20);
    if (kind < 12) return (int64_t)tt_random_below(random, 80);
    if (kind < 18) return (int64_t)tt_random_below(random, 20000);
    return (int64_t)tt_random_below(random, LONGEST);
}

static void send(struct side *side, int rank, int context, int dispatch, int64_t bytes)
{
    struct rank *r = side->all->r;
    struct storm_header h = {r->me, side->index, side->number[rank][context]++, bytes};
    struct sending *s = malloc(sizeof *s + (size_t)bytes);
    s->side = side;
    s->to_idle = context == IDLE;
    fill(s->memory, bytes, seed_of(&h));
    side->under_way[s->to_idle]++;
    tutti_send message = {.to = endpoint(r, rank, context),
                          .dispatch = dispatch,
                          .header = &h,
                          .header_bytes = sizeof h,
                          .data = s->memory,
                          .count = bytes,
                          .type = TUTTI_U8,
                          .arg = s};
    if (h.number % 3)
        message.sent = sent;
    else
        message.delivered = sent;
    must(tutti_message_send(r->context[side->index], &message));
}

/* Advances the context of `side` once without waiting. There are more threads than processors, so a
 * thread that finds no event yields, and one that finds none more than 20 times in a row sleeps. */
static void spin(struct side *side)
{
    int events = 0;
    must(tutti_advance(side->all->r->context[side->index], &events));
    side->idle = events ? 0 : side->idle + 1;
    if (side->idle > 20)
        usleep(50);
    else if (side->idle > 0)
        sched_yield();
}

/* Sends a message from the context of `side` if any is left to send and fewer than 20 are under
 * way, and advances the context once. If it sends nothing and `sleepy` is set, waits for an event
 * for at most 20 ms. */
static void turn(struct side *side, bool sleepy)
{
    struct rank *r = side->all->r;
    tutti_context *context = r->context[side->index];
    if (side->sends > 0 && side->under_way[0] < 20) {
        side->sends--;
        int rank = (int)tt_random_below(&side->random, (uint64_t)r->p);
        send(side, rank, (int)tt_random_below(&side->random, CONTEXTS), MESSAGE,
             some_length(&side->random));
        sleepy = false;
    }
    if (!sleepy) {
        spin(side);
        return;
    }
    tutti_status status = tutti_advance_wait(context, 20, NULL);
    check(status == TUTTI_OK || status == TUTTI_AGAIN, "%d", (int)status);
}

static bool is_calm(const struct side *side)
{
    const struct rank *r = side->all->r;
    return side->under_way[0] + side->under_way[1] == 0 && side->receiving == 0 &&
           side->lasts == r->p * (CONTEXTS - 1);
}

/* Runs one context (`arg` is its struct side): sends its messages and then a message LAST to each
 * context of each rank, and advances it until everything has arrived. Messages to the idle context
 * stay under way until that context is advanced. */
static void *run_side(void *arg)
{
    struct side *side = arg;
    struct rank *r = side->all->r;
    while (side->sends > 0) turn(side, false);
    for (int rank = 0; rank < r->p; rank++)
        for (int c = 0; c < CONTEXTS; c++) send(side, rank, c, LAST, 0);
    while (side->lasts < r->p * (CONTEXTS - 1)) turn(side, side->index == 1);
    atomic_fetch_add(&side->all->calm, 1);
    while (!atomic_load(&side->all->over)) turn(side, side->index == 1);
    while (!is_calm(side)) turn(side, false);
    return NULL;
}

/* Plays one rank. Its main thread advances context 0. Each sending context ends with a message LAST
 * to every context. When all contexts of all ranks, except the idle ones, have received each LAST
 * that is for them, the main thread also advances the idle context. */
static void storm(struct rank *r)
{
    struct storm *storm = calloc(1, sizeof *storm);
    int sends = ranks_are_threads ? 150 : 400;
    storm->r = r;
    must(tutti_dispatch(r->client, MESSAGE, on_message, storm));
    must(tutti_dispatch(r->client, LAST, on_message, storm));
    for (int i = 0; i < CONTEXTS; i++) {
        struct side *side = &storm->side[i];
        side->all = storm;
        side->index = i;
        side->sends = i == IDLE ? 0 : sends;
        tt_random_seed(&side->random, (uint64_t)(r->me * CONTEXTS + i) + 7);
        for (int rank = 0; rank < r->p; rank++) (void)endpoint(r, rank, i);
    }
    r->contexts = 1; /* `meet` and `advance` then advance only context 0 */
    meet(r);
    for (int i = 1; i < IDLE; i++)
        check(pthread_create(&storm->side[i].thread, NULL, run_side, &storm->side[i]) == 0, "%d",
              i);
    struct side *first = &storm->side[0], *idle = &storm->side[IDLE];
    while (first->sends > 0) turn(first, false);
    for (int rank = 0; rank < r->p; rank++)
        for (int c = 0; c < CONTEXTS; c++) send(first, rank, c, LAST, 0);
    while (first->lasts < r->p * (CONTEXTS - 1) || atomic_load(&storm->calm) < IDLE - 1)
        turn(first, false);
    meet(r);
    check(idle->lasts == 0, "somebody advanced the idle context");
    while (!is_calm(first) || !is_calm(idle)) {
        turn(first, false);
        turn(idle, false);
    }
    meet(r);
    atomic_store(&storm->over, true);
    for (int i = 1; i < IDLE; i++) pthread_join(storm->side[i].thread, NULL);
    for (int i = 0; i < CONTEXTS; i++) check(is_calm(&storm->side[i]), "%d", i);
    r->contexts = CONTEXTS;
    meet(r);
    free(storm);
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, CONTEXTS, storm);
}
