/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Split copies: long messages of which the origin moves a part (src/msg/pull.h; run by help.sh).
 *
 *     help CONTEXTS FOLDER  each rank has CONTEXTS contexts. Ranks create files in FOLDER to notify
 *                           others while they do not advance
 *     help CONTEXTS         the target finalizes while the origin writes: nothing may be written to
 *                           its memory after tutti_finalize has returned
 *
 * With a FOLDER the program tries these cases:
 * - The target stops advancing after its first pieces: the origin writes the other pieces unless
 *   TUTTI_SPLIT_COPY=0. Where several contexts of the target pull the message, each of them one
 *   portion, the origin writes the last portion only.
 * - The origin does not advance: the target reads all pieces.
 * - One target neither advances nor has room in its packet ring: the origin still helps another
 *   target.
 * - Ranks exchange many messages of random lengths at random addresses, several under way at once:
 *   every byte must be in its place, and no byte beside may change.
 * - Ranks exchange such messages while every third write of an origin fails.
 * - The origin's data are unmapped: the message ends with TUTTI_ERR_ARG on both sides.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "brief.h"
#include "lib.h"
#include "msg/inside.h"

enum {
    BEGIN = 1,
    LONG = 8 << 20,
    STREAM = 2,
    NOTHING = 3,
    SLOTS = 6,
    MOST = 3 << 20,
    EDGE = 64,
    /* the last portion may begin up to PAGES bytes later than if all portions were equal */
    PAGES = 256 << 10,
    LIMIT_S = 300
};

static const char *folder;

static bool may_go_on(int64_t since_ns)
{
    sched_yield();
    return tt_clock_ns() - since_ns < LIMIT_S * INT64_C(1000000000);
}

/* ---- Notification by files, without messages ---- */

static const char *path_of(const char *name)
{
    static char path[PATH_MAX];
    check(snprintf(path, sizeof path, "%s/%s", folder, name) < PATH_MAX, "%s", folder);
    return path;
}

static void make(const char *name)
{
    int made = open(path_of(name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    check(made >= 0, "%s", path_of(name));
    close(made);
}

static bool is_made(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

/* ---- One side does not advance ---- */

struct receiver {
    char *memory;
    int came;
    struct completed completed;
};

static void on_begin(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                     void *arg)
{
    struct receiver *to = arg;
    (void)context;
    to->came++;
    *receive = (tutti_receive){to->memory, m->bytes, TUTTI_U8, count, &to->completed, 0};
}

static void send_one(struct rank *r, int to, const char *data, struct completed *completed)
{
    tutti_send send = {.to = endpoint(r, to, 0),
                       .dispatch = BEGIN,
                       .data = data,
                       .count = LONG,
                       .type = TUTTI_U8,
                       .delivered = count,
                       .arg = completed};
    must(tutti_message_send(r->context[0], &send));
}

/* Returns whether everything has been written that the origin can write while the target does not
 * advance. With several contexts the origin can write the last portion, except for its first piece,
 * which one of the target's contexts has read. */
static bool is_helped(const struct rank *r, const struct receiver *to)
{
    if (r->contexts == 1) return is_filled(to->memory, LONG, 1);
    for (int64_t i = LONG - LONG / r->contexts + PAGES; i < LONG; i++)
        if ((unsigned char)to->memory[i] != byte_of(1, i)) return false;
    return true;
}

/* Receives the first pieces of a message and then waits for the data without advancing. */
static void stop_after_first(struct rank *r, struct receiver *to)
{
    until(r, &to->came, 1);
    advance(r);
    int64_t since = tt_clock_ns();
    const struct tt_msg *msg = r->context[0]->msg;
    if (!msg->splits)
        check(nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL) == 0 && !is_helped(r, to),
              "the origin helped");
    else if (msg->ring_bytes >= 64 << 10) /* a ring of this size has room for the
                                           * acknowledgements of all pieces */
        while (!is_helped(r, to)) check(may_go_on(since), "the origin did not help");
    until(r, &to->completed.n, 1);
    check(to->completed.status == TUTTI_OK && is_filled(to->memory, LONG, 1), "%d",
          to->completed.status);
}

static void go_alone(struct rank *r, struct receiver *to)
{
    until(r, &to->came, 2);
    until(r, &to->completed.n, 2);
    check(to->completed.status == TUTTI_OK && is_filled(to->memory, LONG, 2), "%d",
          to->completed.status);
    make("alone");
}

static void be_alone(void)
{
    int64_t since = tt_clock_ns();
    while (!is_made("alone")) check(may_go_on(since), "the target did not go on alone");
}

static void stopping(struct rank *r)
{
    static struct receiver to;
    struct completed completed = {0};
    char *data = malloc(LONG);
    to.memory = malloc(LONG);
    check(data && to.memory, "no memory");
    must(tutti_dispatch(r->client, BEGIN, on_begin, &to));
    meet(r);
    if (r->me == 0) {
        fill(data, LONG, 1);
        send_one(r, 1, data, &completed);
        until(r, &completed.n, 1);
        fill(data, LONG, 2);
        send_one(r, 1, data, &completed);
        be_alone();
        until(r, &completed.n, 2);
    } else if (r->me == 1) {
        stop_after_first(r, &to);
        memset(to.memory, 0, LONG);
        go_alone(r, &to);
    }
    meet(r);
    free(data);
    free(to.memory);
}

/* ---- A target that does not read its ring ---- */

static void on_nothing(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                       void *arg)
{
    (void)context, (void)m, (void)receive, (void)arg;
}

/* Sends until rank 1 has stopped reading and its ring is full. */
static void fill_its_ring(struct rank *r)
{
    int64_t since = tt_clock_ns();
    for (bool stopped = false, full = false; !stopped || !full;) {
        check(may_go_on(since), "rank 1 reads and reads");
        stopped = is_made("silent");
        do {
            tutti_status status = tutti_message_immediate(r->context[0], endpoint(r, 1, 0), NOTHING,
                                                          NULL, 0, &since, sizeof since);
            full = status == TUTTI_AGAIN;
            if (!full) must(status);
        } while (!full);
    }
}

static void send_past_silent(struct rank *r, char *data)
{
    struct completed completed = {0};
    fill(data, LONG, 1);
    send_one(r, 1, data, &completed);
    fill_its_ring(r);
    send_one(r, 2, data, &completed);
    until(r, &completed.n, 2);
}

static void be_silent(struct rank *r, struct receiver *to)
{
    int64_t since = tt_clock_ns();
    until(r, &to->came, 1);
    make("silent");
    while (!is_made("helped")) check(may_go_on(since), "rank 2 was not helped");
    until(r, &to->completed.n, 1);
}

static void silence(struct rank *r)
{
    static struct receiver to;
    char *data = malloc(LONG);
    to.memory = malloc(LONG);
    check(data && to.memory, "no memory");
    must(tutti_dispatch(r->client, BEGIN, on_begin, &to));
    must(tutti_dispatch(r->client, NOTHING, on_nothing, NULL));
    meet(r);
    if (r->me == 0) send_past_silent(r, data);
    if (r->me == 1) be_silent(r, &to);
    if (r->me == 2) {
        stop_after_first(r, &to);
        make("helped");
    }
    meet(r);
    free(data);
    free(to.memory);
}

/* ---- Many messages ---- */

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
    receive_one(context); /* starts the next receive while the message that just ended is not
                           * fully released yet */
}

static void receive_one(tutti_context *context)
{
    struct slot *s = all.put_off;
    if (!s) return;
    all.put_off = s->next;
    tutti_receive to = {s->memory, s->bytes, TUTTI_U8, on_moved, s, 0};
    must(tutti_message_receive(context, s->pending, &to));
}

/* Allocates memory at a random offset within a page, with a margin on both sides. The byte before
 * the margin holds the offset. */
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

/* Calls a barrier in which each rank also starts the receives that it has put off. Messages that
 * were put off arrive only if every rank goes on to start them. */
static void meet_all(struct rank *r)
{
    tutti_request *request;
    must(tutti_ibarrier(r->team, &request));
    while (tutti_test(request) != TUTTI_OK) look(r);
    tutti_request_free(request);
}

static void streaming(struct rank *r)
{
    must(tutti_dispatch(r->client, STREAM, on_stream, r));
    for (int i = 0; i < SLOTS; i++) check((all.out[i] = malloc(MOST + 1)) != NULL, "no memory");
    meet(r);
    for (int sent = 0, each = brief(150, 50); sent < each; look(r))
        for (int i = 0; i < SLOTS && sent < each; i++)
            if (!all.busy[i]) {
                send_random(r, i);
                sent++;
            }
    while (all.under_way > 0) look(r);
    meet_all(r);
    for (int i = 0; i < SLOTS; i++) free(all.out[i]);
}

/* ---- Origins whose writes fail ---- */

static struct tt_fabric_ops broken;
static const struct tt_fabric_ops *sound;
static int writes;

static tutti_status write_or_fail(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                                  tt_address to, const void *from, int64_t len)
{
    (void)self;
    if (writes++ % 3 == 0) return TUTTI_ERR_SYSTEM;
    return sound->write(sound, f, rank, to, from, len);
}

static tutti_status read_as_ever(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                                 void *to, tt_address from, int64_t len)
{
    (void)self;
    return sound->read(sound, f, rank, to, from, len);
}

static tutti_status signal_as_ever(const struct tt_fabric_ops *self, struct tt_fabric *f)
{
    (void)self;
    return sound->signalling(sound, f);
}

/* Exchanges many messages (`streaming`) while every third write of an origin fails: the target must
 * read the pieces whose writes have failed. */
static void failing(struct rank *r)
{
    struct tt_fabric *f = r->context[0]->f;
    sound = f->ops;
    broken = (struct tt_fabric_ops){.name = sound->name,
                                    .read = read_as_ever,
                                    .write = write_or_fail,
                                    .signalling = sound->signalling ? signal_as_ever : NULL};
    f->ops = &broken;
    streaming(r);
    f->ops = sound;
}

/* ---- The data to be sent are unmapped ---- */

static void unmapped(struct rank *r)
{
    static struct receiver to;
    struct completed completed = {0};
    char *data = mmap(NULL, LONG, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    to.memory = malloc(LONG);
    check(to.memory && data != MAP_FAILED, "no memory");
    must(tutti_dispatch(r->client, BEGIN, on_begin, &to));
    meet(r);
    if (r->me == 0) send_one(r, 1, data, &completed);
    if (r->me == 0) until(r, &completed.n, 1);
    if (r->me == 1) until(r, &to.completed.n, 1);
    const struct completed *end = r->me == 0 ? &completed : &to.completed;
    check(r->me > 1 || end->status == TUTTI_ERR_ARG, "%d", (int)end->status);
    meet(r);
    munmap(data, LONG);
    free(to.memory);
}

/* ---- The target leaves ---- */

static char parting_gift[LONG], parting_data[LONG];
static struct receiver left = {.memory = parting_gift};

static void parting(struct rank *r)
{
    struct completed completed = {0};
    must(tutti_dispatch(r->client, BEGIN, on_begin, &left));
    meet(r);
    if (r->me == 0) {
        r->expected = TUTTI_ERR_PEER;
        fill(parting_data, LONG, 3);
        send_one(r, 1, parting_data, &completed);
        while (completed.n == 0) { /* while it sleeps, the origin claims no pieces */
            nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
            advance(r);
        }
        check(completed.status == TUTTI_ERR_PEER || completed.status == TUTTI_OK, "%d",
              completed.status);
    } else if (r->me == 1) {
        until(r, &left.came, 1);
        advance(r);
    }
}

/* Checks after tutti_finalize that the receive buffer does not change any more. */
static int stays_as_it_is(void)
{
    memcpy(parting_data, parting_gift, LONG);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    check(left.came == 0 || memcmp(parting_data, parting_gift, LONG) == 0, "written after the end");
    return 0;
}

static void try_all(struct rank *r)
{
    if (!r->context[0]->f->reads) exit(77);
    if (!folder) {
        parting(r);
        return;
    }
    stopping(r);
    if (r->p > 2) silence(r);
    streaming(r);
    failing(r);
    unmapped(r);
}

int main(int argc, char **argv)
{
    check(argc > 1, "how many contexts?");
    folder = argc > 2 ? argv[2] : NULL;
    int status = run_ranks(1, argv, atoi(argv[1]), try_all);
    return status || folder ? status : stays_as_it_is();
}
