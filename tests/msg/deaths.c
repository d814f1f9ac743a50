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
 */
#include <signal.h>
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

int main(int argc, char **argv)
{
    check(argc == 3, "%d arguments", argc);
    all.length = atoll(argv[1]);
    all.after = atoi(argv[2]);
    check(all.length <= (int64_t)sizeof all.memory, "%lld", (long long)all.length);
    return run_ranks(1, argv, 1, live);
}
