/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conformance test of messages: messages of all lengths, from every rank to every rank including
 * itself and from context to context, do what the public header promises.
 */
#include <sched.h>

#include "brief.h"
#include "lib.h"

enum {
    LONGEST = 3 << 20,
    ORDERED = 1,
    FLOOD,
    TYPED,
    SMALL,
    LATER,
    ECHO,
    NOBODYS,
    CHAINED,
    HELD,
    GO
};

static const int64_t lengths[] = {
    0,    1,    7,    8,     9,     16,    47,     48,     49,     55,        56,
    57,   63,   64,   65,    100,   127,   511,    512,    513,    1024,      4095,
    4096, 4097, 8191, 8192,  8193,  12000, 16384,  16385,  65536,  100001,    131071,
    8,    3,    1,    65537, 2,     9000,  131073, 262144, 300001, (1 << 20), (1 << 20) + 1,
    56,   0,    5,    56,    10000, 40000, 7,      LONGEST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* ---- Messages of all lengths arrive in order ---- */

struct conform_header {
    int32_t rank, context;
    int64_t number, bytes;
};

struct arrival {
    struct ordered *all;
    struct conform_header header;
    char *memory;
};

/* State of one rank in one round. */
struct ordered {
    struct rank *r;
    int64_t next[8][MOST_CONTEXTS]; /* number of the next message from each rank and context */
    int done, put_off, in_place;
    struct completed sent, delivered;
};

static uint64_t seed_of(const struct conform_header *h)
{
    return (uint64_t)h->rank << 40 ^ (uint64_t)h->context << 32 ^ (uint64_t)h->number;
}

static void arrived(tutti_context *context, void *arg, tutti_status status)
{
    struct arrival *a = arg;
    (void)context;
    check(status == TUTTI_OK, "%d", (int)status);
    check(is_filled(a->memory, a->header.bytes, seed_of(&a->header)), "number %lld of %d:%d",
          (long long)a->header.number, a->header.rank, a->header.context);
    check(a->memory[a->header.bytes] == 0x5c, "written behind the end");
    a->all->done++;
    free(a->memory);
    free(a);
}

struct later {
    tutti_pending *pending;
    tutti_receive receive;
};

static void receive_later(tutti_context *context, void *arg)
{
    struct later *later = arg;
    must(tutti_message_receive(context, later->pending, &later->receive));
    free(later);
}

static tutti_receive receive_into(struct ordered *o, const struct conform_header *h)
{
    struct arrival *a = malloc(sizeof *a);
    *a = (struct arrival){o, *h, malloc((size_t)h->bytes + 1)};
    a->memory[h->bytes] = 0x5c;
    return (tutti_receive){a->memory, h->bytes, TUTTI_U8, arrived, a, 0};
}

/* Handles a message in one of three ways, which its number selects: reads the data where they lie,
 * if they have come with the message; or receives the message later; or receives it into memory at
 * once. */
static void on_ordered(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                       void *arg)
{
    struct ordered *o = arg;
    struct conform_header h;
    check(m->header_bytes == sizeof h, "%zu", m->header_bytes);
    memcpy(&h, m->header, sizeof h);
    check(h.rank == m->rank && h.context == m->context && h.bytes == m->bytes, "%d:%d %lld",
          m->rank, m->context, (long long)m->bytes);
    check(o->next[h.rank][h.context]++ == h.number, "number %lld came", (long long)h.number);
    if (h.number % 3 == 0 && m->data) {
        check(is_filled(m->data, m->bytes, seed_of(&h)), "in place");
        o->in_place++;
        o->done++;
    } else if (h.number % 3 == 1) {
        struct later *later = malloc(sizeof *later);
        *later = (struct later){m->pending, receive_into(o, &h)};
        receive->put_off = 1;
        o->put_off++;
        must(tutti_post(context, receive_later, later));
    } else
        *receive = receive_into(o, &h);
}

static void send_ordered(struct rank *r, int from, int rank, int to, int64_t number, char *memory,
                         struct ordered *o)
{
    struct conform_header h = {r->me, from, number, lengths[number]};
    tutti_send send = {.to = endpoint(r, rank, to),
                       .dispatch = ORDERED,
                       .header = &h,
                       .header_bytes = sizeof h,
                       .data = memory,
                       .count = h.bytes,
                       .type = TUTTI_U8,
                       .sent = number % 2 ? count : NULL,
                       .delivered = number % 5 ? NULL : count,
                       .arg = number % 5 ? &o->sent : &o->delivered};
    if (number % 5 == 0) send.sent = NULL;
    fill(memory, h.bytes, seed_of(&h));
    must(tutti_message_send(r->context[from], &send));
}

static void test_lengths(struct rank *r, int from, int to)
{
    char *memory[LENGTHS];
    struct ordered o = {.r = r};
    int sents = 0, delivereds = 0;
    must(tutti_dispatch(r->client, ORDERED, on_ordered, &o));
    meet(r);
    for (int rank = 0; rank < r->p; rank++) {
        struct completed sent = o.sent, delivered = o.delivered;
        sents = sent.n, delivereds = delivered.n;
        for (int i = 0; i < LENGTHS; i++) {
            memory[i] = malloc((size_t)lengths[i] + 1);
            send_ordered(r, from, rank, to, i, memory[i], &o);
            if (i % 5 == 0)
                delivereds++;
            else if (i % 2)
                sents++;
        }
        until(r, &o.sent.n, sents);
        until(r, &o.delivered.n, delivereds);
        struct completed fenced = {0};
        must(tutti_fence(r->context[from], endpoint(r, rank, to), count, &fenced));
        until(r, &fenced.n, 1);
        for (int i = 0; i < LENGTHS; i++) free(memory[i]);
    }
    until(r, &o.done, r->p * LENGTHS);
    check(o.put_off > 0 && o.in_place > 0, "%d %d", o.put_off, o.in_place);
    meet(r);
}

/* ---- Immediate messages ---- */

struct flood {
    int n;
    uint64_t sum;
};

static void on_flood(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                     void *arg)
{
    struct flood *flood = arg;
    uint64_t number;
    (void)context;
    (void)receive;
    memcpy(&number, m->header_bytes ? m->header : m->data, sizeof number);
    check(m->header_bytes + (size_t)m->bytes >= 8, "%zu", m->header_bytes);
    flood->sum += number;
    flood->n++;
}

static void test_immediate(struct rank *r)
{
    enum { N = 3000 };
    struct flood flood = {0};
    unsigned char data[TUTTI_IMMEDIATE_BYTES] = {0};
    must(tutti_dispatch(r->client, FLOOD, on_flood, &flood));
    meet(r);
    int to = (r->me + 1) % r->p, again = 0;
    for (uint64_t i = 0; i < N; i++) {
        size_t header = i % 3 ? 8 + i % 121 : 0, bytes = header ? i % 300 : 8 + i % 500;
        memcpy(data, &i, sizeof i);
        for (tutti_status status = TUTTI_AGAIN; status == TUTTI_AGAIN;) {
            status = tutti_message_immediate(r->context[0], endpoint(r, to, 0), FLOOD, data, header,
                                             data, bytes);
            check(status == TUTTI_OK || status == TUTTI_AGAIN, "%d", (int)status);
            if (status != TUTTI_AGAIN) break;
            again++;
            advance(r);
        }
    }
    until(r, &flood.n, N);
    check(flood.sum == (uint64_t)N * (N - 1) / 2, "%llu", (unsigned long long)flood.sum);
    meet(r);
    check(tutti_message_immediate(r->context[0], endpoint(r, to, 0), FLOOD, data, 128, data, 385) ==
              TUTTI_ERR_ARG,
          "too long");
}

/* ---- Messages of derived types ---- */

struct typed {
    int done;
    double *memory;
    int64_t count;
    tutti_type type;
};

static void typed_done(tutti_context *context, void *arg, tutti_status status)
{
    struct typed *typed = arg;
    (void)context;
    check(status == TUTTI_OK, "%d", (int)status);
    typed->done++;
}

static void on_typed(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                     void *arg)
{
    struct typed *typed = arg;
    (void)context;
    check(m->bytes == typed->count * 2 * 8, "%lld", (long long)m->bytes);
    *receive = (tutti_receive){typed->memory, typed->count, typed->type, typed_done, typed, 0};
}

/* Sends pairs of numbers, of which the second lies five numbers after the first, and receives them
 * as contiguous pairs. */
static void test_typed(struct rank *r, int64_t n)
{
    tutti_type column, row;
    must(tutti_type_vector(2, 1, 5, TUTTI_F64, &column)); /* two numbers, with four in between */
    must(tutti_type_vector(1, 2, 2, TUTTI_F64, &row));
    int64_t wide = tutti_type_extent(column) / 8;
    double *from = malloc((size_t)(n * wide) * 8), *to = calloc((size_t)n * 2 + 1, 8);
    for (int64_t i = 0; i < n * wide; i++) from[i] = (double)(i + 1000 * r->me);
    struct typed typed = {0, to, n, row};
    struct completed sent = {0}, delivered = {0};
    must(tutti_dispatch(r->client, TYPED, on_typed, &typed));
    meet(r);
    tutti_send send = {.to = endpoint(r, (r->me + 1) % r->p, 0),
                       .dispatch = TYPED,
                       .data = from,
                       .count = n,
                       .type = column,
                       .sent = count,
                       .arg = &sent};
    must(tutti_message_send(r->context[0], &send));
    until(r, &sent.n, 1);
    until(r, &typed.done, 1);
    int before = (r->me + r->p - 1) % r->p;
    for (int64_t i = 0; i < n; i++)
        check(to[2 * i] == (double)(i * wide + 1000 * before) &&
                  to[2 * i + 1] == (double)(i * wide + 5 + 1000 * before),
              "element %lld", (long long)i);
    check(to[2 * n] == 0, "behind the end");
    (void)delivered;
    meet(r);
    free(from);
    free(to);
    must(tutti_type_free(column));
    must(tutti_type_free(row));
}

/* ---- Receive buffers that are too small, and messages without a handler ---- */

struct small {
    struct completed completed;
    char memory[100000];
    int64_t room;
    bool completes; /* the receive has a `done` function; otherwise tutti_advance gets the error */
    bool later;     /* the handler puts the message off */
    tutti_pending *pending;
};

static tutti_receive into_small(struct small *small)
{
    return (tutti_receive){.to = small->memory,
                           .count = small->room,
                           .type = TUTTI_U8,
                           .done = small->completes ? count : NULL,
                           .arg = &small->completed};
}

static void on_small(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                     void *arg)
{
    struct small *small = arg;
    (void)context;
    small->pending = m->pending;
    *receive = into_small(small);
    receive->put_off = small->later;
}

static void send_bytes(struct rank *r, int to, int dispatch, const char *data, int64_t bytes,
                       struct completed *delivered)
{
    tutti_send send = {.to = endpoint(r, to, 0),
                       .dispatch = dispatch,
                       .data = data,
                       .count = bytes,
                       .type = TUTTI_U8,
                       .delivered = count,
                       .arg = delivered};
    must(tutti_message_send(r->context[0], &send));
}

/* Prepares for a message that is too long, before its sender may send it. Another error leaves a
 * text. */
static void expect_truncated(struct rank *r)
{
    tutti_endpoint *nobodys;
    check(tutti_endpoint_to(r->client, r->p, 0, &nobodys) == TUTTI_ERR_ARG, "no such rank");
    r->expected = TUTTI_ERR_TRUNCATED;
    r->seen = 0;
}

/* Receives a message that is too long. */
static void receive_small(struct rank *r, struct small *small, int64_t bytes)
{
    char begin[64];
    while (small->later && !small->pending) advance(r);
    tutti_receive receive = into_small(small);
    if (small->later) must(tutti_message_receive(r->context[0], small->pending, &receive));
    until(r, small->completes ? &small->completed.n : &r->seen, 1);
    tutti_status status = small->completed.status;
    check(status == (small->completes ? TUTTI_ERR_TRUNCATED : TUTTI_OK), "%d", (int)status);
    snprintf(begin, sizeof begin,
             "a message of %lld bytes from context 0 of rank %d: ", (long long)bytes, r->p - 1);
    check(small->completes || strncmp(tutti_error(), begin, strlen(begin)) == 0, "another text");
    check(is_filled(small->memory, bytes / 2, 77) && small->memory[bytes / 2] == 0, "the rest");
    r->expected = TUTTI_OK;
}

static void test_truncated(struct rank *r, int64_t bytes, bool completes, bool later)
{
    struct small *small = calloc(1, sizeof *small);
    char *data = malloc((size_t)bytes);
    struct completed delivered = {0};
    small->room = bytes / 2;
    small->completes = completes;
    small->later = later;
    fill(data, bytes, 77);
    must(tutti_dispatch(r->client, SMALL, on_small, small));
    if (r->me == 0) expect_truncated(r);
    meet(r);
    if (r->me == r->p - 1) send_bytes(r, 0, SMALL, data, bytes, &delivered);
    if (r->me == 0) receive_small(r, small, bytes);
    if (r->me == r->p - 1) {
        until(r, &delivered.n, 1);
        check(delivered.status == TUTTI_ERR_TRUNCATED, "%d", (int)delivered.status);
    }
    meet(r);
    free(small);
    free(data);
}

/* Checks that a message that was put off and is then dropped completes like any other. */
static void test_dropped(struct rank *r, int64_t bytes)
{
    struct small small = {.later = true};
    struct completed delivered = {0};
    char *data = calloc(1, (size_t)bytes);
    must(tutti_dispatch(r->client, SMALL, on_small, &small));
    meet(r);
    send_bytes(r, (r->me + 1) % r->p, SMALL, data, bytes, &delivered);
    while (!small.pending) advance(r);
    tutti_receive nowhere = {.to = NULL, .done = count, .arg = &small.completed};
    must(tutti_message_receive(r->context[0], small.pending, &nowhere));
    until(r, &small.completed.n, 1);
    until(r, &delivered.n, 1);
    check(small.completed.status == TUTTI_OK, "%d", (int)small.completed.status);
    check(delivered.status == TUTTI_OK, "%d", (int)delivered.status);
    meet(r);
    free(data);
}

/* Checks that the target of a message without a handler gets the error when it advances, and that
 * the origin gets the error when the message completes. Later messages are not affected. */
static void test_nobodys(struct rank *r, int64_t bytes)
{
    char *data = calloc(1, (size_t)bytes);
    struct completed completed = {0};
    r->expected = TUTTI_ERR_ARG;
    r->seen = 0;
    meet(r);
    if (r->me == r->p - 1) send_bytes(r, 0, NOBODYS, data, bytes, &completed);
    if (r->me == 0) {
        until(r, &r->seen, 1);
        check(strstr(tutti_error(), "dispatch 7"), "not named");
    }
    if (r->me == r->p - 1) {
        until(r, &completed.n, 1);
        check(completed.status == TUTTI_ERR_ARG, "%d", (int)completed.status);
    }
    meet(r);
    r->expected = TUTTI_OK;
    free(data);
}

/* ---- One-sided operations ---- */

/* Gets from, and puts to, the memory of the next rank, by endpoints of its context `index`. The
 * fence covers the put, whether it is a fence to this endpoint or to all endpoints. */
static void move_both_ways(struct rank *r, int index, char *copy, int64_t bytes,
                           const tutti_key *key)
{
    struct completed got = {0}, put = {0}, fenced = {0};
    int next = (r->me + 1) % r->p;
    int64_t half = bytes / 2;
    tutti_endpoint *to = endpoint(r, next, index);
    must(tutti_get(r->context[0], to, copy, key, 0, bytes, count, &got));
    until(r, &got.n, 1);
    check(got.status == TUTTI_OK && is_filled(copy, bytes, (uint64_t)next), "%d", (int)got.status);
    meet(r);
    fill(copy, half, 50 + (uint64_t)r->me);
    must(tutti_put(r->context[0], to, copy, key, bytes - half, half, count, &put));
    must(tutti_fence(r->context[0], bytes % 2 ? NULL : to, count, &fenced));
    until(r, &fenced.n, 1);
    check(put.n == 1 && put.status == TUTTI_OK, "%d %d", put.n, (int)put.status);
    meet(r);
}

/* Checks that gets and puts with wrong arguments are refused. */
static void refuse(struct rank *r, char *copy, int64_t bytes, tutti_key *keys)
{
    int next = (r->me + 1) % r->p;
    tutti_context *c = r->context[0];
    tutti_endpoint *to = endpoint(r, next, 0);
    tutti_key wrong = keys[next];
    wrong.bytes[9] ^= 1;
    check(tutti_get(c, to, copy, &keys[next], bytes, 1, NULL, NULL) == TUTTI_ERR_ARG, "beyond");
    check(tutti_get(c, to, copy, &keys[next], -1, 1, NULL, NULL) == TUTTI_ERR_ARG, "before");
    check(tutti_put(c, to, copy, &keys[next], 1, INT64_MAX, NULL, NULL) == TUTTI_ERR_ARG, "long");
    check(tutti_get(c, to, copy, &wrong, 0, 1, NULL, NULL) == TUTTI_ERR_ARG, "no key");
    if (r->p > 1)
        check(tutti_get(c, to, copy, &keys[r->me], 0, 1, NULL, NULL) == TUTTI_ERR_ARG, "other's");
}

static void test_one_sided(struct rank *r, int index, int64_t bytes)
{
    char *mine = malloc((size_t)bytes), *copy = malloc((size_t)bytes);
    tutti_region *region;
    tutti_key key, *keys = malloc((size_t)r->p * sizeof *keys);
    int before = (r->me + r->p - 1) % r->p;
    int64_t half = bytes / 2;
    fill(mine, bytes, (uint64_t)r->me);
    must(tutti_region_register(r->client, mine, (size_t)bytes, &region));
    must(tutti_region_key(region, &key));
    must(tutti_allgather(r->team, &key, keys, sizeof key, TUTTI_U8));
    move_both_ways(r, index, copy, bytes, &keys[(r->me + 1) % r->p]);
    check(is_filled(mine + bytes - half, half, 50 + (uint64_t)before), "what was put");
    refuse(r, copy, bytes, keys);
    meet(r);
    must(tutti_region_free(region));
    free(mine);
    free(copy);
    free(keys);
}

/* ---- Completion functions that start what completes at once ---- */

enum { CHAIN = 64, NESTED_MOST = 16, UNUSED = 40 };

/* Each step of a chain receives a message that was put off, or fences; and `done` begins the next
 * step. */
struct chain {
    struct rank *r;
    tutti_pending *pending[CHAIN];
    int arrived, begun, done, depth;
    bool fences;
    int64_t bytes;
    char *memory;
};

static void on_chained(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                       void *arg)
{
    struct chain *chain = arg;
    (void)context;
    chain->pending[chain->arrived++] = m->pending;
    receive->put_off = 1;
}

static void begin_step(struct chain *chain);

static void step_done(tutti_context *context, void *arg, tutti_status status)
{
    struct chain *chain = arg;
    (void)context;
    check(status == TUTTI_OK, "%d", (int)status);
    chain->depth++;
    check(chain->depth <= NESTED_MOST, "%d completion functions inside one another", chain->depth);
    chain->done++;
    if (chain->begun < CHAIN) begin_step(chain);
    chain->depth--;
}

static void begin_step(struct chain *chain)
{
    struct rank *r = chain->r;
    tutti_receive receive = {chain->memory, chain->bytes, TUTTI_U8, step_done, chain, 0};
    int step = chain->begun++;
    if (chain->fences)
        must(tutti_fence(r->context[0], endpoint(r, r->me, UNUSED), step_done, chain));
    else
        must(tutti_message_receive(r->context[0], chain->pending[step], &receive));
}

/* Checks that completion functions nest only to a limited depth, since a stack is limited, too. */
static void test_chain(struct rank *r, int64_t bytes, bool fences)
{
    struct completed delivered = {0};
    struct chain chain = {
        .r = r, .fences = fences, .bytes = bytes, .memory = malloc((size_t)bytes)};
    char *data = calloc(1, (size_t)bytes);
    must(tutti_dispatch(r->client, CHAINED, on_chained, &chain));
    meet(r);
    tutti_send send = {.to = endpoint(r, (r->me + 1) % r->p, 0),
                       .dispatch = CHAINED,
                       .data = data,
                       .count = bytes,
                       .type = TUTTI_U8,
                       .delivered = count,
                       .arg = &delivered};
    for (int i = 0; i < CHAIN && !fences; i++) must(tutti_message_send(r->context[0], &send));
    until(r, &chain.arrived, fences ? 0 : CHAIN);
    begin_step(&chain);
    until(r, &chain.done, CHAIN);
    until(r, &delivered.n, fences ? 0 : CHAIN);
    meet(r);
    free(data);
    free(chain.memory);
}

/* ---- An origin that stops advancing does not delay the messages of other origins ---- */

enum { HELD_MESSAGES = 6, HELD_BYTES = 300000 };

struct held {
    int from[MOST_CONTEXTS]; /* how many messages of each context of the origin have begun */
    struct completed done[MOST_CONTEXTS];
    char *memory[HELD_MESSAGES + 1];
};

static void on_held(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                    void *arg)
{
    struct held *held = arg;
    (void)context;
    char *to = held->memory[held->from[0] + held->from[1]];
    held->from[m->context]++;
    *receive = (tutti_receive){to, m->bytes, TUTTI_U8, count, &held->done[m->context], 0};
}

static void on_go(tutti_context *context, const tutti_message *m, tutti_receive *receive, void *arg)
{
    (void)context, (void)m, (void)receive;
    ++*(int *)arg;
}

static void advance_first(struct rank *r, const int *value, int wanted)
{
    while (*value < wanted) {
        must(tutti_advance(r->context[0], NULL));
        sched_yield();
    }
}

/* Sends long messages by context 1, which this rank then stops advancing. When the target has begun
 * to receive all of them, sends one by context 0. Context 0 alone has to deliver this message. */
static void hold(struct rank *r, const int *go)
{
    struct completed delivered = {0}, other = {0};
    char *data = malloc(HELD_BYTES);
    tutti_send send = {.to = endpoint(r, 0, 0),
                       .dispatch = HELD,
                       .data = data,
                       .count = HELD_BYTES,
                       .type = TUTTI_U8,
                       .delivered = count,
                       .arg = &delivered};
    fill(data, HELD_BYTES, 5);
    for (int i = 0; i < HELD_MESSAGES; i++) must(tutti_message_send(r->context[1], &send));
    for (tutti_status status; (status = tutti_drain(r->context[1])) != TUTTI_OK;)
        check(status == TUTTI_AGAIN, "%d", (int)status);
    advance_first(r, go, 1);
    send.arg = &other;
    must(tutti_message_send(r->context[0], &send));
    advance_first(r, &other.n, 1);
    until(r, &delivered.n, HELD_MESSAGES);
    free(data);
}

static void test_held(struct rank *r)
{
    struct held held = {0};
    int go = 0;
    for (int i = 0; i <= HELD_MESSAGES; i++) held.memory[i] = malloc(HELD_BYTES);
    must(tutti_dispatch(r->client, HELD, on_held, &held));
    must(tutti_dispatch(r->client, GO, on_go, &go));
    meet(r);
    if (r->me == r->p - 1 && r->p > 1) hold(r, &go);
    if (r->me == 0 && r->p > 1) {
        tutti_send send = {.to = endpoint(r, r->p - 1, 0), .dispatch = GO, .type = TUTTI_U8};
        until(r, &held.from[1], HELD_MESSAGES);
        must(tutti_message_send(r->context[0], &send));
        until(r, &held.done[0].n, 1);
        until(r, &held.done[1].n, HELD_MESSAGES);
        for (int i = 0; i <= HELD_MESSAGES; i++)
            check(is_filled(held.memory[i], HELD_BYTES, 5), "message %d", i);
    }
    meet(r);
    for (int i = 0; i <= HELD_MESSAGES; i++) free(held.memory[i]);
}

static void try_all(struct rank *r)
{
    test_one_sided(r, 1, 1000002); /* before any message to context 1 */
    for (int from = 0; from < 2; from++)
        for (int to = 0; to < 2; to++) test_lengths(r, from, to);
    test_immediate(r);
    test_typed(r, 3);
    test_typed(r, 100000);
    for (int how = 0; how < 4; how++) {
        test_truncated(r, 100, how % 2, how / 2);
        test_truncated(r, 100000, how % 2, how / 2);
    }
    test_dropped(r, 100);
    test_dropped(r, 100000);
    test_nobodys(r, 10);
    test_nobodys(r, 100000);
    test_chain(r, 64, false);
    test_chain(r, 100000, false);
    test_chain(r, 1, true);
    test_held(r);
    test_one_sided(r, 0, 10);
    test_one_sided(r, 0, 1000003);
    test_one_sided(r, 1, 1000003);
}

int main(int argc, char **argv)
{
    keep_freed_memory();
    return run_ranks(argc, argv, 2, try_all);
}
