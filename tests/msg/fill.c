/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packet rings and the ways of filling them (src/msg/ring.h): messages arrive unchanged whichever
 * way each packet was copied.
 */
#include "lib.h"
#include "msg/inside.h"

enum { MESSAGE = 1, LONG, LONG_MOST = 300000, MESSAGES = 3000, MOST = 6000 };

static struct {
    int64_t bytes[MESSAGES];
    uint64_t seed[MESSAGES];
} plan;

/* Short messages overtake long ones, so each message carries its number and has its own receive
 * buffer. */
struct fill_one {
    struct come *come;
    int i;
    char memory[MOST];
};
struct come {
    int n;
    struct fill_one one[MESSAGES];
};

static void done(tutti_context *context, void *arg, tutti_status status)
{
    struct fill_one *one = arg;
    (void)context;
    must(status);
    check(is_filled(one->memory, plan.bytes[one->i], plan.seed[one->i]), "message %d of %lld bytes",
          one->i, (long long)plan.bytes[one->i]);
    one->come->n++;
}

static void on_message(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                       void *arg)
{
    struct come *come = arg;
    int i;
    (void)context;
    memcpy(&i, m->header, sizeof i);
    check(i >= 0 && i < MESSAGES && !come->one[i].come, "message %d", i);
    come->one[i].come = come;
    come->one[i].i = i;
    *receive = (tutti_receive){come->one[i].memory, m->bytes, TUTTI_U8, done, &come->one[i], 0};
}

/* Draws the same messages on all ranks. */
static void make_plan(void)
{
    struct tt_random random;
    tt_random_seed(&random, 7);
    for (int i = 0; i < MESSAGES; i++) {
        plan.bytes[i] = (int64_t)tt_random_below(&random, MOST) + 1;
        plan.seed[i] = (uint64_t)i;
    }
}

static struct tt_out *ring_to(struct rank *r, int rank)
{
    struct tt_peer *peer = tt_peer_of(r->context[0], rank, 0);
    check(peer, "no peer");
    return &peer->out;
}

/* Messages under way at a time: enough that the ring becomes full. */
enum { UNDER_WAY = 30 };

struct sender {
    struct completed completed;
    int sent;
    char data[MESSAGES][MOST];
};

static void send(struct rank *r, struct sender *s, int to)
{
    char *data = s->data[s->sent];
    tutti_send message = {.to = endpoint(r, to, 0),
                          .dispatch = MESSAGE,
                          .header = &s->sent,
                          .header_bytes = sizeof s->sent,
                          .data = data,
                          .count = plan.bytes[s->sent],
                          .type = TUTTI_U8,
                          .delivered = count,
                          .arg = &s->completed};
    fill(data, plan.bytes[s->sent], plan.seed[s->sent]);
    must(tutti_message_send(r->context[0], &message));
    s->sent++;
    while (s->sent - s->completed.n >= UNDER_WAY) advance(r);
    must(s->completed.status);
}

/* ---- Each packet is copied in a random way ---- */

static void wander(struct rank *r, struct come *come)
{
    int next = (r->me + 1) % r->p;
    struct sender *s = calloc(1, sizeof *s);
    for (int i = 0; i < MESSAGES; i++) {
        ring_to(r, next)->fill = (enum tt_fill)tt_random_below(&r->random, TT_FILLS);
        send(r, s, next);
    }
    until(r, &come->n, MESSAGES);
    until(r, &s->completed.n, MESSAGES);
    free(s);
}

/* ---- What the library chooses by itself ---- */

/* Checks what the library has chosen at the start: messages of all lengths go through the packet
 * rings if reading another rank's memory by a system call is dear; otherwise, only messages up to a
 * certain length. */
static void settled(const struct rank *r)
{
    const struct tt_msg *msg = r->context[0]->msg;
    check((msg->rings_most == INT64_MAX) == tt_reads_dearly(msg->f), "up to %lld bytes",
          (long long)msg->rings_most);
}

/* Checks by which kind of stores packet rings are filled: by the kind that was measured to be
 * faster, but by plain stores if there are more ranks than processors. If TUTTI_FILL is set, it
 * decides. */
static void init(void)
{
    check(tt_fill_method(-1, true, 3, 2) == TT_FILL_STORES, "more ranks than processors");
    check(tt_fill_method(-1, true, 40, 64) == TT_FILL_STREAMS, "streams are faster");
    check(tt_fill_method(-1, false, 40, 64) == TT_FILL_STORES, "stores are faster");
    check(tt_fill_method(TT_FILL_STREAMS, false, 3, 2) == TT_FILL_STREAMS, "streams are asked for");
    check(tt_fill_method(TT_FILL_STORES, true, 2, 2) == TT_FILL_STORES, "stores are asked for");
}

/* ---- Longer messages than rings_most do not go through a ring: the target reads them ---- */

struct pair {
    struct completed come;
    char memory[LONG_MOST];
};

static void on_long(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                    void *arg)
{
    struct pair *pair = arg;
    (void)context;
    *receive = (tutti_receive){pair->memory, m->bytes, TUTTI_U8, count, &pair->come, 0};
}

static void send_long(struct rank *r, struct pair *pair, int64_t bytes, int i)
{
    static _Thread_local char data[LONG_MOST];
    struct completed completed = {0, TUTTI_OK};
    tutti_send message = {.to = endpoint(r, (r->me + 1) % r->p, 0),
                          .dispatch = LONG,
                          .data = data,
                          .count = bytes,
                          .type = TUTTI_U8,
                          .delivered = count,
                          .arg = &completed};
    fill(data, bytes, (uint64_t)i);
    must(tutti_message_send(r->context[0], &message));
    until(r, &completed.n, 1);
    until(r, &pair->come.n, i + 1);
    check(is_filled(pair->memory, bytes, (uint64_t)i), "message %d", i);
    meet(r);
}

static void mix(struct rank *r)
{
    struct pair *pair = calloc(1, sizeof *pair);
    int64_t before = r->context[0]->msg->rings_most;
    must(tutti_dispatch(r->client, LONG, on_long, pair));
    r->context[0]->msg->rings_most = LONG_MOST / 2;
    meet(r);
    for (int i = 0; i < 40; i++) send_long(r, pair, i % 2 ? LONG_MOST : LONG_MOST / 3, i);
    r->context[0]->msg->rings_most = before;
    free(pair);
}

static void play(struct rank *r)
{
    struct come *come = calloc(1, sizeof *come);
    must(tutti_dispatch(r->client, MESSAGE, on_message, come));
    meet(r);
    settled(r);
    wander(r, come);
    meet(r);
    mix(r);
    init();
    free(come);
}

int main(int argc, char **argv)
{
    setenv("TUTTI_RING", "16K", 1);
    make_plan();
    return run_ranks(argc, argv, 1, play);
}
