/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How rings are filled (src/msg/fill.h): what comes is what was sent, whichever way each packet
 * went and however often the bulk changes; and which way is gone follows from what the ways take.
 */
#include "lib.h"
#include "msg/inside.h"

enum { MESSAGE = 1, LONG, LONG_MOST = 300000, MESSAGES = 3000, MOST = 6000 };

static struct {
    int64_t bytes[MESSAGES];
    uint64_t seed[MESSAGES];
} plan;

/* Short messages overtake long ones, so each tells its number, and has memory of its own. */
struct one {
    struct come *come;
    int i;
    char memory[MOST];
};
struct come {
    int n;
    struct one one[MESSAGES];
};

static void done(tutti_context *context, void *arg, tutti_status status)
{
    struct one *one = arg;
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

/* The same on all ranks. */
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

/* Some are under way at a time, so that there is unread data when the way changes. */
enum { UNDER_WAY = 30 };

struct sender {
    struct told told;
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
                          .arg = &s->told};
    fill(data, plan.bytes[s->sent], plan.seed[s->sent]);
    must(tutti_message_send(r->context[0], &message));
    s->sent++;
    while (s->sent - s->told.n >= UNDER_WAY) advance(r);
    must(s->told.status);
}

/* ---- Any way, at any packet ---- */

/* A wide bulk for which there is no memory: that way is none, and the ring stays as it was. */
static void without_memory(struct rank *r, struct tt_out *out)
{
    struct tt_segment *segment = (struct tt_segment *)r->context[0]->f->segment; /* of this rank */
    struct tt_extents *holes = &r->context[0]->f->arena.store->holes;
    int64_t bytes = segment->bytes;
    int n = holes->n;
    out->fill.way = out->fill.best = TT_WAY_WIDE;
    holes->n = 0;
    segment->bytes = 0;
    check(!tt_fill_begin(r->context[0]->f, out, 1000), "the reader was told");
    holes->n = n;
    segment->bytes = bytes;
    check(out->fill.cost[TT_WAY_WIDE] == TT_NO_WAY && out->fill.best == TT_WAY_PLAIN, "%d is gone",
          (int)out->fill.best);
    check(out->bulk_bytes == out->own_bytes, "%u bytes", out->bulk_bytes);
}

static void wander(struct rank *r, struct come *come)
{
    int next = (r->me + 1) % r->p, wide = 0;
    struct sender *s = calloc(1, sizeof *s);
    for (int i = 0; i < MESSAGES; i++) {
        struct tt_out *out = ring_to(r, next);
        if (out->ring) {
            out->fill.measures = false;
            if (!out->wide) without_memory(r, out);
            out->fill.way = out->fill.best = (enum tt_way)tt_random_below(&r->random, TT_WAYS);
            wide += out->bulk_bytes > out->own_bytes;
        }
        send(r, s, next);
    }
    until(r, &come->n, MESSAGES);
    until(r, &s->told.n, MESSAGES);
    check(wide > MESSAGES / 10 && wide < MESSAGES - MESSAGES / 10, "%d of %d found the wide bulk",
          wide, MESSAGES);
    free(s);
}

/* ---- Which way, by what they take ---- */

enum { SPANS = 1000 };

/* What a span takes by each way is put in the clock's place. Returns how many of them were
 * trials. */
static int go_by(struct rank *r, int64_t plain, int64_t streaming, int64_t wide)
{
    const int64_t price[TT_WAYS] = {plain, streaming, wide};
    struct tt_out *out = ring_to(r, (r->me + 1) % r->p);
    int trials = 0;
    for (int i = 0; i < SPANS; i++) {
        out->fill.measures = true;
        out->fill.bytes = INT64_C(8) * out->own_bytes;
        out->fill.ns = price[out->fill.way];
        (void)tt_fill_begin(r->context[0]->f, out, 1000);
        trials += out->fill.way != out->fill.best;
    }
    return trials;
}

static void goes(struct rank *r, enum tt_way way)
{
    const struct tt_fill *fill = &ring_to(r, (r->me + 1) % r->p)->fill;
    check(fill->best == way, "%d is gone, not %d", (int)fill->best, (int)way);
}

/* What is less by half is gone, what is less by a twentieth is not. */
static void choose(struct rank *r)
{
    struct tt_out *out = ring_to(r, (r->me + 1) % r->p);
    tt_fill_init(&out->fill, -1, false, 2, 2);
    go_by(r, 1000000, 4000000, 3000000);
    goes(r, TT_WAY_PLAIN);
    go_by(r, 2500000, 1000000, 3000000);
    goes(r, TT_STREAMS ? TT_WAY_STREAM : TT_WAY_PLAIN);
    go_by(r, 2500000, 2000000, 1000000);
    goes(r, TT_WAY_WIDE);
    go_by(r, 2500000, 950000, 1000000);
    goes(r, TT_WAY_WIDE);
    int trials = go_by(r, 2500000, 2000000, 1000000);
    check(trials > 0 && trials < SPANS / 20, "%d trials", trials);
    go_by(r, 1000000, 2000000, 3000000);
    goes(r, TT_WAY_PLAIN);
}

/* What follows from what the ranks settled is taken when they have met. */
static void settled(const struct rank *r)
{
    const struct tt_msg *msg = r->context[0]->msg;
    check((msg->rings_most == INT64_MAX) == tt_reads_dearly(msg->f), "up to %lld bytes",
          (long long)msg->rings_most);
}

/* A crowd tries nothing, many do without wide bulks, who is asked for a way goes it. */
static void init(void)
{
    struct tt_fill fill;
    tt_fill_init(&fill, -1, true, 3, 2);
    check(!fill.measures && fill.way == TT_WAY_PLAIN, "%d", (int)fill.way);
    tt_fill_init(&fill, -1, true, 40, 64);
    check(fill.way == TT_WAY_STREAM && fill.best == TT_WAY_STREAM, "%d", (int)fill.way);
    check(fill.measures && fill.cost[TT_WAY_WIDE] == TT_NO_WAY, "%d", (int)fill.measures);
    tt_fill_init(&fill, TT_WAY_WIDE, false, 3, 2);
    check(!fill.measures && fill.way == TT_WAY_WIDE, "%d", (int)fill.way);
}

/* ---- Where rings are better than reading for messages of some length only ---- */

struct pair {
    struct told come;
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
    struct told told = {0, TUTTI_OK};
    tutti_send message = {.to = endpoint(r, (r->me + 1) % r->p, 0),
                          .dispatch = LONG,
                          .data = data,
                          .count = bytes,
                          .type = TUTTI_U8,
                          .delivered = count,
                          .arg = &told};
    fill(data, bytes, (uint64_t)i);
    must(tutti_message_send(r->context[0], &message));
    until(r, &told.n, 1);
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
    if (r->me == 0) choose(r);
    meet(r);
    free(come);
}

int main(int argc, char **argv)
{
    setenv("TUTTI_RING", "16K", 1);
    make_plan();
    return run_ranks(argc, argv, 1, play);
}
