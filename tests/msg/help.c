/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Long messages whose origin helps to move them (run by help.sh):
 *
 *     help FILE     FILE is made by a rank for another one to see, which does not advance meanwhile
 *     help          the target finalizes while the origin writes: nothing is written when it is back
 *
 *   the target stops advancing after its first pieces: the origin writes the others, unless TUTTI_HELP=0
 *   the origin does not advance: the target reads all
 *   many messages to and fro, of all lengths and places, several under way: each byte is where it belongs, and none beside
 */
#include <fcntl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"
#include "msg/inside.h"

enum {
    BEGIN = 1,
    LONG = 8 << 20,
    STREAM = 2,
    SLOTS = 6,
    EACH = 150,
    MOST = 3 << 20,
    EDGE = 64,
    PATIENCE_S = 30
};

static const char *file;

static bool may_go_on(int64_t since_ns)
{
    sched_yield();
    return tt_clock_ns() - since_ns < PATIENCE_S * INT64_C(1000000000);
}

/* ---- One that does not advance ---- */

struct receiver {
    char *memory;
    int came;
    struct told told;
};

static void on_begin(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                     void *arg)
{
    struct receiver *to = arg;
    (void)context;
    to->came++;
    *receive = (tutti_receive){to->memory, m->bytes, TUTTI_U8, count, &to->told, 0};
}

static void send_one(struct rank *r, const char *data, struct told *told)
{
    tutti_send send = {.to = endpoint(r, 1, 0),
                       .dispatch = BEGIN,
                       .data = data,
                       .count = LONG,
                       .type = TUTTI_U8,
                       .delivered = count,
                       .arg = told};
    must(tutti_message_send(r->context[0], &send));
}

/* Rank 1: what is there without advancing. */
static void stop_after_first(struct rank *r, struct receiver *to)
{
    until(r, &to->came, 1);
    advance(r);
    int64_t since = tt_clock_ns();
    const struct tt_fabric *f = r->context[0]->f;
    const struct tt_msg *msg = r->context[0]->msg;
    bool helps = msg->helped < 0 ? f->job->arenas <= f->cores : msg->helped;
    if (!helps)
        check(nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL) == 0 &&
                  !is_filled(to->memory, LONG, 1),
              "the origin helped");
    else if (msg->ring_bytes >= 64 << 10) /* which has room for telling of all pieces */
        while (!is_filled(to->memory, LONG, 1)) check(may_go_on(since), "the origin did not help");
    until(r, &to->told.n, 1);
    check(to->told.status == TUTTI_OK && is_filled(to->memory, LONG, 1), "%d", to->told.status);
}

static void go_alone(struct rank *r, struct receiver *to)
{
    until(r, &to->came, 2);
    until(r, &to->told.n, 2);
    check(to->told.status == TUTTI_OK && is_filled(to->memory, LONG, 2), "%d", to->told.status);
    int made = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    check(made >= 0, "%s", file);
    close(made);
}

static void be_alone(void)
{
    int64_t since = tt_clock_ns();
    while (access(file, F_OK) != 0) check(may_go_on(since), "the target did not go on alone");
}

static void stopping(struct rank *r)
{
    static struct receiver to;
    struct told told = {0};
    char *data = malloc(LONG);
    to.memory = malloc(LONG);
    check(data && to.memory, "no memory");
    must(tutti_dispatch(r->client, BEGIN, on_begin, &to));
    meet(r);
    if (r->me == 0) {
        fill(data, LONG, 1);
        send_one(r, data, &told);
        until(r, &told.n, 1);
        fill(data, LONG, 2);
        send_one(r, data, &told);
        be_alone();
        until(r, &told.n, 2);
    } else if (r->me == 1) {
        stop_after_first(r, &to);
        memset(to.memory, 0, LONG);
        go_alone(r, &to);
    }
    meet(r);
    free(data);
    free(to.memory);
}

/* ---- Many ---- */

struct slot {
    struct slot *next;
    tutti_pending *pending;
    char *memory;
    int64_t bytes;
    int from;
    uint64_t seed;
};

static struct {
    char *out[SLOTS];
    bool busy[SLOTS];
    int under_way;
    struct slot *put_off;
} all;

static void receive_one(tutti_context *context);

static void on_moved(tutti_context *context, void *arg, tutti_status status)
{
    struct slot *s = arg;
    check(status == TUTTI_OK, "%d", (int)status);
    check(is_filled(s->memory, s->bytes, s->seed), "%lld bytes from %d", (long long)s->bytes,
          s->from);
    for (int i = 1; i <= EDGE; i++)
        check(s->memory[-i] == 7 && s->memory[s->bytes + i - 1] == 7, "an edge");
    free(s->memory - s->memory[-EDGE - 1]);
    free(s);
    receive_one(context); /* while the one before it is not wholly done with */
}

static void receive_one(tutti_context *context)
{
    struct slot *s = all.put_off;
    if (!s) return;
    all.put_off = s->next;
    tutti_receive to = {s->memory, s->bytes, TUTTI_U8, on_moved, s, 0};
    must(tutti_message_receive(context, s->pending, &to));
}

/* At any distance from a page's beginning, with edges. */
static char *place(struct rank *r, int64_t bytes)
{
    int shift = (int)tt_random_below(&r->random, 50) + EDGE + 1;
    char *memory = malloc((size_t)bytes + 200);
    check(memory, "no memory");
    memset(memory, 7, (size_t)bytes + 200);
    memory[shift - EDGE - 1] = (char)shift;
    return memory + shift;
}

static void on_stream(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                      void *arg)
{
    struct rank *r = arg;
    struct slot *s = malloc(sizeof *s);
    (void)context;
    check(s, "no memory");
    *s = (struct slot){.memory = place(r, m->bytes), .bytes = m->bytes, .from = m->rank};
    memcpy(&s->seed, m->header, sizeof s->seed);
    if (tt_random_below(&r->random, 3) == 0) {
        receive->put_off = 1;
        s->pending = m->pending;
        s->next = all.put_off;
        all.put_off = s;
        return;
    }
    *receive = (tutti_receive){s->memory, m->bytes, TUTTI_U8, on_moved, s, 0};
}

static void on_sent(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    check(status == TUTTI_OK, "%d", (int)status);
    *(bool *)arg = false;
    all.under_way--;
}

static void send_random(struct rank *r, int slot)
{
    uint64_t seed = tt_random_below(&r->random, UINT32_MAX);
    int64_t bytes =
        (int64_t)tt_random_below(&r->random, tt_random_below(&r->random, 4) ? 400 << 10 : MOST) + 1;
    int to = (r->me + 1 + (int)tt_random_below(&r->random, (uint64_t)r->p - 1)) % r->p;
    fill(all.out[slot], bytes, seed);
    tutti_send send = {.to = endpoint(r, to, 0),
                       .dispatch = STREAM,
                       .header = &seed,
                       .header_bytes = sizeof seed,
                       .data = all.out[slot],
                       .count = bytes,
                       .type = TUTTI_U8,
                       .delivered = on_sent,
                       .arg = &all.busy[slot]};
    all.busy[slot] = true;
    all.under_way++;
    must(tutti_message_send(r->context[0], &send));
}

static void look(struct rank *r)
{
    advance(r);
    if (tt_random_below(&r->random, 8) == 0) receive_one(r->context[0]);
}

/* All is received only when everybody's messages are. */
static void meet_all(struct rank *r)
{
    tutti_plan *plan;
    must(tutti_ibarrier(r->team, &plan));
    while (tutti_test(plan) != TUTTI_OK) look(r);
    tutti_plan_free(plan);
}

static void streaming(struct rank *r)
{
    must(tutti_dispatch(r->client, STREAM, on_stream, r));
    for (int i = 0; i < SLOTS; i++) check((all.out[i] = malloc(MOST + 1)) != NULL, "no memory");
    meet(r);
    for (int sent = 0; sent < EACH; look(r))
        for (int i = 0; i < SLOTS && sent < EACH; i++)
            if (!all.busy[i]) {
                send_random(r, i);
                sent++;
            }
    while (all.under_way > 0) look(r);
    meet_all(r);
    for (int i = 0; i < SLOTS; i++) free(all.out[i]);
}

/* ---- Leaving ---- */

static char parting_gift[LONG], parting_data[LONG];
static struct receiver left = {.memory = parting_gift};

static void parting(struct rank *r)
{
    struct told told = {0};
    must(tutti_dispatch(r->client, BEGIN, on_begin, &left));
    meet(r);
    if (r->me == 0) {
        r->expected = TUTTI_ERR_PEER;
        fill(parting_data, LONG, 3);
        send_one(r, parting_data, &told);
        until(r, &told.n, 1);
        check(told.status == TUTTI_ERR_PEER || told.status == TUTTI_OK, "%d", told.status);
    } else if (r->me == 1) {
        until(r, &left.came, 1);
        advance(r);
    }
}

/* After tutti_finalize. */
static int stays_as_it_is(void)
{
    memcpy(parting_data, parting_gift, LONG);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    check(left.came == 0 || memcmp(parting_data, parting_gift, LONG) == 0, "written after the end");
    return 0;
}

static void try_all(struct rank *r)
{
    if (!r->context[0]->f->direct) exit(77);
    if (!file) {
        parting(r);
        return;
    }
    stopping(r);
    streaming(r);
}

int main(int argc, char **argv)
{
    file = argc > 1 ? argv[1] : NULL;
    int status = run_ranks(1, argv, 1, try_all);
    return status || file ? status : stays_as_it_is();
}
