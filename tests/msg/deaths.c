/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank dies while messages are under way (run by deaths.sh). All operations of the other ranks
 * with it must end with TUTTI_ERR_PEER, later sends to it must return TUTTI_ERR_PEER, and the other
 * ranks must still be able to communicate with each other.
 *
 * With TUTTI_WIRE=1, when the network notices the death, the test also checks that tutti_error()
 * keeps its text as long as no call fails.
 *
 *     deaths LENGTH AFTER     rank 1 kills itself when its AFTERth message arrives; most messages
 *                             are LENGTH bytes long
 *     deaths get FILE         rank 0 kills itself after it has sent a request that rank 2 handles
 *     deaths address FILE     when it knows of the death: for a part of rank 2's memory; for the
 *                             address of a context that rank 2 makes later. The ranks meet in FILE,
 *                             which has to exist and to be empty.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib.h"

enum { STREAM = 1, AGAIN = 2, PAST = 3, GO = 4, WINDOW = 8, DOOMED = 1, AFTERWARDS = 20 };

static struct {
    int64_t length;
    int after, came;
    int64_t heard_ns; /* when a message of the doomed rank arrived last */
    int under_way, ok, peer;
    int again, past, go;
    bool wired;
    char text[512]; /* what tutti_error() must return until a call fails */
    char memory[1 << 20];
} all;

static void ended(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    (void)arg;
    check(status == TUTTI_OK || status == TUTTI_ERR_PEER, "%d", (int)status);
    all.under_way--;
    if (status == TUTTI_OK)
        all.ok++;
    else
        all.peer++;
}

static void on_stream(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                      void *arg)
{
    struct rank *r = arg;
    (void)context;
    if (m->rank == DOOMED) all.heard_ns = tt_clock_ns();
    if (all.past == r->p - 1 && ++all.came == all.after && r->me == DOOMED) raise(SIGKILL);
    *receive = (tutti_receive){all.memory, m->bytes, TUTTI_U8, NULL, NULL, 0};
}

static void on_again(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                     void *arg)
{
    (void)context;
    (void)m;
    (void)receive;
    (void)arg;
    all.again++;
}

/* Counts a report of another rank that it has left the barrier. The doomed rank waits for all
 * reports, so that its death does not disturb the barrier. */
static void on_past(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                    void *arg)
{
    (void)context;
    (void)m;
    (void)receive;
    (void)arg;
    all.past++;
}

static void on_go(tutti_context *context, const tutti_message *m, tutti_receive *receive, void *arg)
{
    (void)context;
    (void)m;
    (void)receive;
    (void)arg;
    all.go++;
}

static tutti_status send_to(struct rank *r, int rank, int dispatch, int64_t bytes)
{
    static char data[1 << 20];
    tutti_send send = {.to = endpoint(r, rank, 0),
                       .dispatch = dispatch,
                       .data = data,
                       .count = bytes,
                       .type = TUTTI_U8,
                       .delivered = ended};
    tutti_status status = tutti_message_send(r->context[0], &send);
    if (status == TUTTI_OK) all.under_way++;
    return status;
}

/* Checks the text of tutti_error() after a call: if the call failed, the text must name the rank
 * that died, and its signal; otherwise the text must be that of the last call that failed. */
static void check_text(bool failed)
{
    if (failed) {
        check(strstr(tutti_error(), "rank 1 died: signal 9"), "not the rank and its signal");
        snprintf(all.text, sizeof all.text, "%s", tutti_error());
    }
    bool kept = strcmp(tutti_error(), all.text) == 0;
    check(!all.wired || kept, "no call failed since: %s", all.text);
}

static void advance_once(struct rank *r)
{
    int seen = r->seen;
    advance(r);
    check_text(r->seen > seen);
}

/* Makes a call fail, so that tutti_error() has a text. */
static void make_text(struct rank *r)
{
    all.wired = getenv("TUTTI_WIRE") != NULL;
    check(send_to(r, r->me, STREAM, -1) == TUTTI_ERR_ARG, "sent -1 bytes");
    snprintf(all.text, sizeof all.text, "%s", tutti_error());
}

/* Sends to all ranks in turn until the death is known. */
static void stream(struct rank *r)
{
    for (int i = 0; all.peer == 0; i++) {
        tutti_status status = TUTTI_OK;
        int to = i % r->p;
        if (to != r->me && all.under_way < WINDOW * r->p)
            status = send_to(r, to, STREAM, i % 4 ? all.length : 8);
        check(status == TUTTI_OK || status == TUTTI_ERR_PEER, "%d", (int)status);
        check_text(status == TUTTI_ERR_PEER);
        if (status == TUTTI_ERR_PEER) break;
        advance_once(r);
    }
}

static void go_on(struct rank *r)
{
    int others = r->p - 2;
    check(send_to(r, DOOMED, STREAM, 8) == TUTTI_ERR_PEER, "sent to a dead rank");
    check_text(true);
    for (int i = 0; i < AFTERWARDS; i++)
        for (int to = 0; to < r->p; to++)
            if (to != DOOMED && to != r->me) must(send_to(r, to, AGAIN, i));
    while (all.under_way > 0 || all.again < others * AFTERWARDS) advance_once(r);
    printf("rank %d: %d done, %d not\n", r->me, all.ok, all.peer);
}

/* Returns when all ranks have left the barrier, so that the doomed rank, which dies in `stream`,
 * does not die while another rank is within the barrier. */
static void begin_together(struct rank *r)
{
    if (r->me != DOOMED) {
        must(send_to(r, DOOMED, PAST, 0));
        until(r, &all.go, 1);
        return;
    }
    until(r, &all.past, r->p - 1);
    for (int to = 0; to < r->p; to++)
        if (to != DOOMED) must(send_to(r, to, GO, 0));
}

static void live(struct rank *r)
{
    all.heard_ns = tt_clock_ns();
    must(tutti_dispatch(r->client, STREAM, on_stream, r));
    must(tutti_dispatch(r->client, AGAIN, on_again, r));
    must(tutti_dispatch(r->client, PAST, on_past, r));
    must(tutti_dispatch(r->client, GO, on_go, r));
    meet(r);
    r->expected = TUTTI_ERR_PEER; /* advancing may return this once a rank has died, because the
                                   * world's team reports it */
    begin_together(r);
    make_text(r);
    stream(r);
    int64_t late_ms = (tt_clock_ns() - all.heard_ns) / 1000000;
    printf("rank %d: reported after %lld ms\n", r->me, (long long)late_ms);
    go_on(r);
}

/* ---- Requests of a dead rank ---- */

/* ASKS dies. OWNER does not call the library between ASKS' last request and the moment at which
 * KNOWS, on the same node, knows of the death. So OWNER, too, learns of the death before it reads
 * the request. Its answer must not wait for ever in a send queue. KNOWS is the first rank of its
 * node, so that the barrier waits for ASKS, and not only for OWNER. */
enum { ASKS = 0, KNOWS = 1, OWNER = 2, BYTES = 1000, ADVANCES = 1000 };

/* Steps that the ranks have reached. They are in a file, because OWNER may not call the library. */
static struct death_steps {
    atomic_int asks, idle, known;
} * steps;
static bool asks_for_address;

static void wait_for(const atomic_int *step)
{
    while (!atomic_load(step)) usleep(1000);
}

static void get(struct rank *r, const tutti_key *key)
{
    must(tutti_get(r->context[0], endpoint(r, OWNER, 0), all.memory, key, 0, BYTES, ended, NULL));
    all.under_way++;
}

/* Sends a message for which this rank has to ask OWNER for an address, and then another message to
 * OWNER. When the second message has been delivered, OWNER has handled the question. */
static void ask_for_address(struct rank *r)
{
    must(tutti_message_immediate(r->context[0], endpoint(r, OWNER, 1), STREAM, NULL, 0, NULL, 0));
    must(send_to(r, OWNER, AGAIN, 0));
    until(r, &all.ok, 1);
}

/* The first get opens the connections; the last one is the request that OWNER reads too late. */
static void ask_and_die(struct rank *r, const tutti_key *key)
{
    if (asks_for_address)
        ask_for_address(r);
    else {
        get(r, key);
        until(r, &all.ok, 1);
    }
    atomic_store(&steps->asks, 1);
    wait_for(&steps->idle);
    if (!asks_for_address) {
        get(r, key);
        while (tutti_drain(r->context[0]) == TUTTI_AGAIN) usleep(1000);
    }
    raise(SIGKILL);
}

/* Makes the context only when the connection to ASKS is closed. The world's team may report the
 * death once. */
static void answer_late(struct rank *r)
{
    tutti_context *made;
    while (!atomic_load(&steps->asks)) advance(r);
    atomic_store(&steps->idle, 1);
    wait_for(&steps->known);
    r->expected = TUTTI_ERR_PEER;
    for (int i = 0; i < ADVANCES; i++) advance(r);
    if (asks_for_address) must(tutti_contexts(r->client, 1, &made));
    for (int i = 0; i < ADVANCES; i++) advance(r);
    check(r->seen <= 1, "%d advances failed", r->seen);
    check(tutti_drain(r->context[0]) == TUTTI_OK, "a packet to a dead rank waits");
}

static void ask(struct rank *r)
{
    static char region_memory[BYTES];
    tutti_region *region;
    tutti_key mine, keys[3];
    must(tutti_dispatch(r->client, AGAIN, on_again, r));
    must(tutti_region_register(r->client, region_memory, sizeof region_memory, &region));
    must(tutti_region_key(region, &mine));
    must(tutti_allgather(r->team, &mine, keys, sizeof mine, TUTTI_U8));
    if (r->me == ASKS) ask_and_die(r, &keys[OWNER]);
    if (r->me == OWNER) answer_late(r);
    if (r->me == KNOWS) {
        check(tutti_barrier(r->team) == TUTTI_ERR_PEER, "the death is not known");
        atomic_store(&steps->known, 1);
    }
    printf("rank %d: done\n", r->me);
}

/* Runs `ask` on a second client, because the first client of a process does not ask for addresses
 * at once. */
static void ask_in_second(struct rank *r)
{
    struct rank second = *r;
    must(tutti_init(&second.client));
    second.team = tutti_world(second.client);
    second.context[0] = tutti_context_at(second.client, 0);
    ask(&second);
    must(tutti_finalize(second.client));
}

static int run_asking(char **argv)
{
    int file = open(argv[2], O_RDWR);
    check(file >= 0 && ftruncate(file, sizeof *steps) == 0, "%s", argv[2]);
    steps = mmap(NULL, sizeof *steps, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    check(steps != MAP_FAILED, "%s", argv[2]);
    asks_for_address = strcmp(argv[1], "address") == 0;
    return run_ranks(1, argv, 1, asks_for_address ? ask_in_second : ask);
}

int main(int argc, char **argv)
{
    check(argc == 3, "%d arguments", argc);
    if (strcmp(argv[1], "get") == 0 || strcmp(argv[1], "address") == 0) return run_asking(argv);
    all.length = atoll(argv[1]);
    all.after = atoi(argv[2]);
    check(all.length <= (int64_t)sizeof all.memory, "%lld", (long long)all.length);
    return run_ranks(1, argv, 1, live);
}
