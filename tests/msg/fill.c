/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How rings are filled (src/msg/fill.h): what comes is what was sent, whichever way each packet went and however often the bulk
 * changes; and which way is gone follows from what the ways take.
 */
#include "lib.h"
#include "msg/inside.h"

enum { MESSAGE = 1, MESSAGES = 3000, MOST = 6000 };

static struct {
    int64_t bytes[MESSAGES];
    uint64_t seed[MESSAGES];
} plan;

struct come {
    int n, unasked;
    char memory[MOST];
};

static void done(tutti_context *context, void *arg, tutti_status status)
{
    struct come *come = arg;
    (void)context;
    must(status);
    check(is_filled(come->memory, plan.bytes[come->n], plan.seed[come->n]),
          "message %d of %lld bytes", come->n, (long long)plan.bytes[come->n]);
    come->n++;
}

static void on_message(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                       void *arg)
{
    struct come *come = arg;
    (void)context;
    *receive = (tutti_receive){come->memory, m->bytes, TUTTI_U8, done, come, 0};
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

static void send(struct rank *r, int to, const void *data, int64_t bytes, int *sent)
{
    struct told told = {0, TUTTI_OK};
    tutti_send message = {.to = endpoint(r, to, 0),
                          .dispatch = MESSAGE,
                          .data = data,
                          .count = bytes,
                          .type = TUTTI_U8,
                          .delivered = count,
                          .arg = &told};
    must(tutti_message_send(r->context[0], &message));
    until(r, &told.n, 1);
    must(told.status);
    *sent += 1;
}

/* ---- Any way, at any packet ---- */

static void wander(struct rank *r, struct come *come)
{
    int next = (r->me + 1) % r->p, sent = 0, wide = 0;
    static _Thread_local char data[MOST];
    for (int i = 0; i < MESSAGES; i++) {
        struct tt_out *out = ring_to(r, next);
        fill(data, plan.bytes[i], plan.seed[i]);
        if (out->ring) {
            out->fill.measures = false;
            out->fill.way = out->fill.best = (enum tt_way)tt_random_below(&r->random, TT_WAYS);
            wide += out->bulk_bytes > out->own_bytes;
        }
        send(r, next, data, plan.bytes[i], &sent);
    }
    until(r, &come->n, MESSAGES);
    check(wide > MESSAGES / 10, "%d packets found the wide bulk", wide);
}

/* ---- Which way, by what they take ---- */

enum { SPANS = 1000 };

/* What a span takes by each way is put in the clock's place. Returns how many of them were trials. */
static int go_by(struct rank *r, int64_t plain, int64_t streaming, int64_t wide)
{
    const int64_t price[TT_WAYS] = {plain, streaming, wide};
    struct tt_out *out = ring_to(r, (r->me + 1) % r->p);
    int trials = 0;
    for (int i = 0; i < SPANS; i++) {
        out->fill.measures = true;
        out->fill.bytes = INT64_C(8) * out->own_bytes;
        out->fill.ns = price[out->fill.way];
        tt_fill_begin(r->context[0]->f, out);
        trials += out->fill.way != out->fill.best;
    }
    return trials;
}

static void goes(struct rank *r, enum tt_way way)
{
    const struct tt_fill *fill = &ring_to(r, (r->me + 1) % r->p)->fill;
    check(fill->best == way, "%d is gone, not %d", (int)fill->best, (int)way);
}

/* All are of the second before: a tenth more or less changes nothing, twice as much does. */
static void choose(struct rank *r)
{
    struct tt_out *out = ring_to(r, (r->me + 1) % r->p);
    tt_fill_init(&out->fill, -1, 2, 2);
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

/* A crowd tries nothing, many do without wide bulks, who is asked for a way goes it. */
static void init(void)
{
    struct tt_fill fill;
    tt_fill_init(&fill, -1, 3, 2);
    check(!fill.measures && fill.way == TT_WAY_PLAIN, "%d", (int)fill.way);
    tt_fill_init(&fill, -1, 40, 64);
    check(fill.measures && fill.cost[TT_WAY_WIDE] == TT_NO_WAY, "%d", (int)fill.measures);
    tt_fill_init(&fill, TT_WAY_WIDE, 3, 2);
    check(!fill.measures && fill.way == TT_WAY_WIDE, "%d", (int)fill.way);
}

static void play(struct rank *r)
{
    struct come *come = calloc(1, sizeof *come);
    must(tutti_dispatch(r->client, MESSAGE, on_message, come));
    meet(r);
    wander(r, come);
    meet(r);
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
