/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What was accepted arrives though its sender finalizes at once; what its target does not take any more is told with PEER; and
 * ranks that finalize together, with more under way than there is room for, do not wait for each other.
 */
#include <time.h>

#include "lib.h"

enum { NUMBERED = 1, LONG = 2, SHORTS = 6000, LONGS = 5, BYTES = 300000, NEVER_MADE = 5 };

struct side {
    struct rank *r;
    int next, longs;
    char *memory;
};

static char data[BYTES]; /* outlives who sends it */

static void on_number(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                      void *arg)
{
    struct side *s = arg;
    int number;
    (void)context;
    (void)receive;
    memcpy(&number, m->header, sizeof number);
    check(number == s->next, "%d instead of %d", number, s->next);
    s->next++;
}

static void on_end(tutti_context *context, void *arg, tutti_status status)
{
    struct side *s = arg;
    (void)context;
    check(status == TUTTI_OK && is_filled(s->memory, BYTES, 3), "%d", (int)status);
    s->longs++;
}

static void on_long(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                    void *arg)
{
    struct side *s = arg;
    (void)context;
    *receive = (tutti_receive){s->memory, m->bytes, TUTTI_U8, on_end, s, 0};
}

static void send(struct rank *r, int context, int dispatch, int number, struct told *told)
{
    tutti_send send = {.to = endpoint(r, 1 - r->me, context),
                       .dispatch = dispatch,
                       .header = &number,
                       .header_bytes = sizeof number,
                       .data = data,
                       .count = dispatch == LONG ? BYTES : 40,
                       .type = TUTTI_U8,
                       .delivered = told ? count : NULL,
                       .arg = told};
    must(tutti_message_send(r->context[0], &send));
}

static void send_all(struct rank *r, int context)
{
    for (int i = 0; i < SHORTS; i++) send(r, context, NUMBERED, i, NULL);
    for (int i = 0; i < LONGS; i++) send(r, context, LONG, i, NULL);
}

static void wait_a_little(void)
{
    const struct timespec time = {.tv_nsec = 100000000};
    nanosleep(&time, NULL);
}

/* ---- One leaves, the other takes ---- */

static void leave_at_once(struct rank *r)
{
    struct side side = {.r = r, .memory = malloc(BYTES)};
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

/* ---- One leaves and takes nothing: the barrier advances context 0 alone ---- */

static void take_nothing(struct rank *r)
{
    struct told told = {0};
    struct side side = {.r = r, .memory = malloc(BYTES)};
    must(tutti_dispatch(r->client, NUMBERED, on_number, &side));
    must(tutti_dispatch(r->client, LONG, on_long, &side));
    must(tutti_barrier(r->team));
    if (r->me == 0) {
        for (int i = 0; i < LONGS; i++) send(r, 1, i % 2 ? NUMBERED : LONG, i, &told);
        until(r, &told.n, LONGS);
        check(told.status == TUTTI_ERR_PEER, "%d", (int)told.status);
    } else
        wait_a_little(); /* so that they can be sent */
    free(side.memory);
}

/* ---- Both leave ---- */

static void leave_together(struct rank *r)
{
    struct side side = {.r = r};
    must(tutti_dispatch(r->client, NUMBERED, on_number, &side));
    must(tutti_dispatch(r->client, LONG, on_long, &side));
    must(tutti_barrier(r->team));
    send_all(r, 0);
    send_all(r, NEVER_MADE);
}

int main(int argc, char **argv)
{
    fill(data, BYTES, 3);
    const char *how = argv[--argc];
    rank_fn *fn = strcmp(how, "together") == 0  ? leave_together
                  : strcmp(how, "nothing") == 0 ? take_nothing
                                                : leave_at_once;
    return run_ranks(argc, argv, 2, fn);
}
