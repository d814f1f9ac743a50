/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that finalize while messages and puts are under way. A message that was accepted arrives
 * although its sender finalizes at once, and so do the bytes of a put. A message that its target
 * never receives ends with TUTTI_ERR_PEER. A message, put or fence that the target has answered
 * ends with TUTTI_OK, even if the target leaves before the origin reads the answer. Ranks that
 * finalize together, with more messages under way than there is room for, do not wait for each
 * other for ever. A fence returns TUTTI_ERR_PEER once if a rank that left may not have received a
 * message, and TUTTI_OK otherwise.
 */
#include <time.h>

#include "lib.h"
#include "msg/inside.h"

enum {
    NUMBERED = 1,
    LONG = 2,
    SHORTS = 6000,
    LONGS = 5,
    BYTES = 300000,
    PUT = 16 << 20,
    NEVER_MADE = 5
};

struct leaving_side {
    struct rank *r;
    int next, longs;
    char *memory;
};

static char data[PUT]; /* static, because it must outlive the rank that sends it */

static void on_number(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                      void *arg)
{
    struct leaving_side *s = arg;
    int number;
    (void)context;
    (void)receive;
    memcpy(&number, m->header, sizeof number);
    check(number == s->next, "%d instead of %d", number, s->next);
    s->next++;
}

static void on_end(tutti_context *context, void *arg, tutti_status status)
{
    struct leaving_side *s = arg;
    (void)context;
    check(status == TUTTI_OK && is_filled(s->memory, BYTES, 3), "%d", (int)status);
    s->longs++;
}

static void on_long(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                    void *arg)
{
    struct leaving_side *s = arg;
    (void)context;
    *receive = (tutti_receive){s->memory, m->bytes, TUTTI_U8, on_end, s, 0};
}

static void send_from(struct rank *r, int from, int context, int dispatch, int number,
                      struct completed *completed)
{
    tutti_send send = {.to = endpoint(r, 1 - r->me, context),
                       .dispatch = dispatch,
                       .header = &number,
                       .header_bytes = sizeof number,
                       .data = data,
                       .count = dispatch == LONG ? BYTES : 40,
                       .type = TUTTI_U8,
                       .delivered = completed ? count : NULL,
                       .arg = completed};
    must(tutti_message_send(r->context[from], &send));
}

static void send(struct rank *r, int context, int dispatch, int number, struct completed *completed)
{
    send_from(r, 0, context, dispatch, number, completed);
}

static void send_all(struct rank *r, int context)
{
    for (int i = 0; i < SHORTS; i++) send(r, context, NUMBERED, i, NULL);
    for (int i = 0; i < LONGS; i++) send(r, context, LONG, i, NULL);
}

static void wait_ms(int ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static void wait_a_little(void)
{
    wait_ms(100);
}

/* ---- One rank leaves, the other receives ---- */

static void leave_at_once(struct rank *r)
{
    struct leaving_side side = {.r = r, .memory = malloc(BYTES)};
    must(tutti_dispatch(r->client, NUMBERED, on_number, &side));
    must(tutti_dispatch(r->client, LONG, on_long, &side));
    must(tutti_barrier(r->team));
    if (r->me == 0) send_all(r, 0);
    if (r->me == 1) {
        wait_a_little();
        until(r, &side.next, SHORTS);
        until(r, &side.longs, LONGS);
    }
    free(side.memory);
}

/* ---- Rank 0 sends and leaves before a connection exists; rank 1 advances only 1.5 s later ---- */

static void leave_unconnected(struct rank *r)
{
    struct leaving_side side = {.r = r};
    must(tutti_dispatch(r->client, NUMBERED, on_number, &side));
    if (r->me == 0) send(r, 1, NUMBERED, 0, NULL);
    if (r->me == 1) {
        wait_ms(1500);
        until(r, &side.next, 1);
    }
}

/* ---- Rank 0 puts and leaves; rank 1 advances only 2.5 s later ---- */

/* Returns whether a rank has left, as this rank knows it. */
static bool has_left(struct rank *r, int rank)
{
    tutti_status status = tutti_fence(r->context[0], endpoint(r, rank, 1), NULL, NULL);
    check(status == TUTTI_OK || status == TUTTI_ERR_PEER, "%d", (int)status);
    return status == TUTTI_ERR_PEER;
}

/* Puts bytes from rank 0 to rank 1 and lets rank 0 leave. Afterwards the bytes are in place, or lie
 * in packets that rank 1 finds without rank 0. */
static void put_and_leave(struct rank *r)
{
    static char memory[PUT]; /* static, because it must outlive the region */
    tutti_region *region;
    tutti_key key;
    must(tutti_region_register(r->client, memory, PUT, &region));
    must(tutti_region_key(region, &key));
    must(tutti_bcast(r->team, &key, sizeof key, TUTTI_U8, 1));
    if (r->me == 0)
        must(tutti_put(r->context[0], endpoint(r, 1, 1), data, &key, 0, PUT, NULL, NULL));
    if (r->me == 1) {
        wait_ms(2500);
        while (!has_left(r, 0)) advance(r);
        for (int i = 0; i < 10000 && !is_filled(memory, PUT, 3); i++) advance(r);
        check(is_filled(memory, PUT, 3), "the put was lost");
    }
}

/* ---- Rank 1 leaves without advancing context 1, to which rank 0 sends ---- */

static void take_nothing(struct rank *r)
{
    struct completed completed = {0};
    struct leaving_side side = {.r = r, .memory = malloc(BYTES)};
    must(tutti_dispatch(r->client, NUMBERED, on_number, &side));
    must(tutti_dispatch(r->client, LONG, on_long, &side));
    must(tutti_barrier(r->team));
    if (r->me == 0) {
        for (int i = 0; i < LONGS; i++) send(r, 1, i % 2 ? NUMBERED : LONG, i, &completed);
        until(r, &completed.n, LONGS);
        check(completed.status == TUTTI_ERR_PEER, "%d", (int)completed.status);
    } else
        wait_a_little(); /* time for rank 0 to send the messages */
    free(side.memory);
}

/* ---- Rank 0 advances only when rank 1 has left ---- */

/* Waits until rank 1 has left, and sends nothing meanwhile, since a fence to a context that was
 * never made waits. */
static void await_left(struct rank *r)
{
    tutti_endpoint *unmade = endpoint(r, 1, NEVER_MADE);
    while (tutti_fence(r->context[1], unmade, NULL, NULL) != TUTTI_ERR_PEER) wait_a_little();
}

static void end_with(struct rank *r, const struct completed *completed, tutti_status status)
{
    until(r, &completed->n, 1);
    check(completed->status == status, "%d", (int)completed->status);
}

/* Registers the memory of each rank, and the handler of numbered packets. Returns the key of rank
 * 1's memory. */
static tutti_key shared_key(struct leaving_side *side, void *memory, size_t bytes)
{
    struct rank *r = side->r;
    tutti_region *region;
    tutti_key key;
    must(tutti_region_register(r->client, memory, bytes, &region));
    must(tutti_region_key(region, &key));
    must(tutti_dispatch(r->client, NUMBERED, on_number, side));
    must(tutti_bcast(r->team, &key, sizeof key, TUTTI_U8, 1));
    return key;
}

/* Rank 1 answers a put, a fence and a message, and leaves before rank 0 reads the answers. The
 * first message makes the connection. */
static void leave_unread(struct rank *r)
{
    struct leaving_side side = {.r = r};
    static char memory[40]; /* static, because it must outlive the region */
    struct completed first = {0}, put = {0}, fence = {0}, last = {0};
    tutti_key key = shared_key(&side, memory, sizeof memory);
    if (r->me == 0) {
        tutti_endpoint *to = endpoint(r, 1, 0);
        send(r, 0, NUMBERED, 0, &first);
        end_with(r, &first, TUTTI_OK);
        must(tutti_put(r->context[0], to, data, &key, 0, sizeof memory, count, &put));
        must(tutti_fence(r->context[0], to, count, &fence));
        send(r, 0, NUMBERED, 1, &last);
        while (tutti_drain(r->context[0]) == TUTTI_AGAIN) continue;
        await_left(r);
        end_with(r, &put, TUTTI_OK);
        end_with(r, &fence, TUTTI_OK);
        end_with(r, &last, TUTTI_OK);
    } else
        until(r, &side.next, 2);
}

/* Rank 0 sends before a connection exists, from a context that the barrier does not advance. Rank 1
 * leaves without receiving the message, and perhaps without hearing of that context. */
static void leave_unheard(struct rank *r)
{
    struct leaving_side side = {.r = r};
    struct completed completed = {0};
    must(tutti_dispatch(r->client, NUMBERED, on_number, &side));
    if (r->me == 0) send_from(r, 1, 1, NUMBERED, 0, &completed);
    must(tutti_barrier(r->team));
    if (r->me == 0) {
        await_left(r);
        end_with(r, &completed, TUTTI_ERR_PEER);
    }
}

/* Rank 1 leaves while messages and a put for a context that it never makes wait in rank 0. When
 * rank 0 drops them, it does not count them as waiting any more. */
static void leave_queued(struct rank *r)
{
    struct leaving_side side = {.r = r};
    static char memory[40]; /* static, because it must outlive the region */
    struct completed taken = {0}, put = {0}, lost = {0};
    tutti_key key = shared_key(&side, memory, sizeof memory);
    if (r->me == 0) {
        for (int i = 0; i < SHORTS; i++) send(r, NEVER_MADE, NUMBERED, i, NULL);
        must(tutti_put(r->context[0], endpoint(r, 1, NEVER_MADE), data, &key, 0, sizeof memory,
                       count, &put));
        send(r, NEVER_MADE, NUMBERED, SHORTS, &lost);
        const struct tt_peer *peer = tt_peer_of(r->context[0], 1, NEVER_MADE);
        check(peer->waiting.first && peer->users_send_entries > 0 && peer->lent > 0,
              "nothing waits");
        send(r, 0, NUMBERED, 0, &taken);
        end_with(r, &taken, TUTTI_OK);
        end_with(r, &lost, TUTTI_ERR_PEER);
        until(r, &put.n, 1);
        check(peer->send_entries == 0 && peer->users_send_entries == 0 && peer->lent == 0,
              "%d, %d and %d count as waiting", peer->send_entries, peer->users_send_entries,
              peer->lent);
    } else
        until(r, &side.next, 1);
}

/* ---- Both ranks leave ---- */

static void leave_together(struct rank *r)
{
    struct leaving_side side = {.r = r};
    must(tutti_dispatch(r->client, NUMBERED, on_number, &side));
    must(tutti_dispatch(r->client, LONG, on_long, &side));
    must(tutti_barrier(r->team));
    send_all(r, 0);
    send_all(r, NEVER_MADE);
}

/* ---- One rank leaves, the other one fences ---- */

static tutti_status fence_all(struct rank *r)
{
    struct completed completed = {0};
    must(tutti_fence(r->context[0], NULL, count, &completed));
    until(r, &completed.n, 1);
    return completed.status;
}

static void await_gone(struct rank *r, int rank)
{
    static struct completed completed; /* static: fences may end after this function */
    while (tutti_fence(r->context[0], endpoint(r, rank, 0), count, &completed) != TUTTI_ERR_PEER)
        wait_a_little();
}

/* Checks fences after rank 1 has left. If `missed` is not 0, it is a context of rank 1 that never
 * receives what was sent to it, so the fence returns PEER. */
static void fence_after(struct rank *r, int missed)
{
    struct completed completed = {0};
    struct leaving_side side = {.r = r};
    must(tutti_dispatch(r->client, NUMBERED, on_number, &side));
    must(tutti_barrier(r->team));
    if (r->me == 0) {
        send(r, 0, NUMBERED, 0, NULL);
        check(fence_all(r) == TUTTI_OK, "before");
        if (missed) send(r, missed, NUMBERED, 0, NULL);
        send(r, 0, NUMBERED, 1, &completed);
        until(r, &completed.n, 1);
        check(completed.status == TUTTI_OK, "%d", (int)completed.status);
        await_gone(r, 1);
        tutti_status after = fence_all(r);
        check(after == (missed ? TUTTI_ERR_PEER : TUTTI_OK), "%d", (int)after);
        check(fence_all(r) == TUTTI_OK, "reported twice");
    } else {
        /* This advances context 0 alone. */
        while (side.next < 2) must(tutti_advance(r->context[0], NULL));
    }
}

static void fence_after_all(struct rank *r)
{
    fence_after(r, 0);
}

static void fence_after_missed(struct rank *r)
{
    fence_after(r, 1);
}

static void fence_after_unmade(struct rank *r)
{
    fence_after(r, NEVER_MADE);
}

/* Checks that a rank that is finalizing drops messages, and that a fence reports this once. Rank 1
 * is in tutti_finalize, waiting for rank 0 to receive its long message, when rank 0 sends to it. */
static void fence_leaving(struct rank *r)
{
    struct leaving_side side = {.r = r, .memory = malloc(BYTES)};
    must(tutti_dispatch(r->client, NUMBERED, on_number, &side));
    must(tutti_dispatch(r->client, LONG, on_long, &side));
    must(tutti_barrier(r->team));
    if (r->me == 1)
        send(r, 1, LONG, 0, NULL); /* sent after the barrier, so that the barrier does not receive
                                    * it */
    if (r->me == 0) {
        wait_a_little();
        send(r, 0, NUMBERED, 0, NULL);
        check(fence_all(r) == TUTTI_ERR_PEER, "it was dropped");
        check(fence_all(r) == TUTTI_OK, "reported twice");
        until(r, &side.longs, 1);
    }
    free(side.memory);
}

/* ---- While rank 0 gives up rank 1, rank 2 leaves and has received everything ---- */

struct crossing {
    struct rank *r;
    struct completed lost;
};

static void send_to(struct rank *r, int rank, int context, int number, tutti_done_fn *delivered,
                    void *arg)
{
    tutti_send send = {.to = endpoint(r, rank, context),
                       .dispatch = NUMBERED,
                       .header = &number,
                       .header_bytes = sizeof number,
                       .type = TUTTI_U8,
                       .delivered = delivered,
                       .arg = arg};
    must(tutti_message_send(r->context[0], &send));
}

/* The completion function of the message that rank 1 never receives. Lets rank 2 leave, and notices
 * that it has left. */
static void on_lost(tutti_context *context, void *arg, tutti_status status)
{
    struct crossing *crossing = arg;
    count(context, &crossing->lost, status);
    send_to(crossing->r, 2, 0, 1, NULL, NULL);
    await_gone(crossing->r, 2);
}

/* Rank 0 does not advance between its first message and the time when rank 1 has left. So it has
 * not read the acknowledgement of rank 2 when it notices that rank 2 has left, too. */
static void leave_crossing(struct rank *r)
{
    struct leaving_side side = {.r = r};
    struct crossing crossing = {.r = r};
    struct completed delivered = {0};
    must(tutti_dispatch(r->client, NUMBERED, on_number, &side));
    must(tutti_barrier(r->team));
    if (r->me == 0) {
        send_to(r, 1, NEVER_MADE, 0, on_lost, &crossing);
        send_to(r, 2, 0, 0, count, &delivered);
        send_to(r, 1, 0, 0, NULL, NULL);
        await_gone(r, 1);
        until(r, &crossing.lost.n, 1);
        check(crossing.lost.status == TUTTI_ERR_PEER, "%d", (int)crossing.lost.status);
        until(r, &delivered.n, 1);
        check(delivered.status == TUTTI_OK, "%d", (int)delivered.status);
    } else
        until(r, &side.next, r->me);
}

int main(int argc, char **argv)
{
    fill(data, PUT, 3);
    const char *how = argv[--argc];
    rank_fn *fn = strcmp(how, "together") == 0   ? leave_together
                  : strcmp(how, "nothing") == 0  ? take_nothing
                  : strcmp(how, "fenced") == 0   ? fence_after_all
                  : strcmp(how, "missed") == 0   ? fence_after_missed
                  : strcmp(how, "unmade") == 0   ? fence_after_unmade
                  : strcmp(how, "late") == 0     ? fence_leaving
                  : strcmp(how, "first") == 0    ? leave_unconnected
                  : strcmp(how, "put") == 0      ? put_and_leave
                  : strcmp(how, "unread") == 0   ? leave_unread
                  : strcmp(how, "unheard") == 0  ? leave_unheard
                  : strcmp(how, "queued") == 0   ? leave_queued
                  : strcmp(how, "crossing") == 0 ? leave_crossing
                                                 : leave_at_once;
    return run_ranks(argc, argv, 2, fn);
}
