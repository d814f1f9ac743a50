/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between endpoints. Every rank sends a large table to the next rank. Each context of the
 * receiver pulls a part of the table. Helper threads advance these contexts, so the receiver's main
 * thread could compute meanwhile. Each rank then reads a number in the memory of the rank two
 * places after it, and reports to rank 0.
 *
 *     tutti run -n 4 endpoints
 *
 * Two clients exist side by side: `tables` moves data, `reports` counts. Both use message id 1,
 * because each client has its own ids.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/message.h>

enum { TABLE = 1, REPORT = 1, HELPERS = 2, NUMBERS = 1 << 20 };

static void check(tutti_status status)
{
    if (status == TUTTI_OK) return;
    fprintf(stderr, "endpoints: %s\n", tutti_error());
    exit(1);
}

static void *room(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory) return memory;
    fprintf(stderr, "endpoints: no memory\n");
    exit(1);
}

static void set_flag(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    check(status);
    atomic_store((atomic_int *)arg, 1);
}

/* Advances a context until a flag is set, and sleeps while no message comes. */
static void wait_for(tutti_context *context, atomic_int *flag)
{
    while (!atomic_load(flag)) check(tutti_advance_wait(context, -1, NULL));
}

/* ---- Tables ---- */

struct tables {
    tutti_client *client;
    int me, p;
    int64_t *mine, *come; /* NUMBERS numbers each: the table to send, and the table that came */
    atomic_int has_come;
    int from;
};

/* Called by a helper thread when only the header of a table has arrived: sets where the table goes.
 * The contexts of this client then pull the table. */
static void take_table(tutti_context *context, const tutti_message *message, tutti_receive *receive,
                       void *arg)
{
    struct tables *t = arg;
    (void)context;
    memcpy(&t->from, message->header, sizeof t->from);
    *receive = (tutti_receive){
        .to = t->come, .count = NUMBERS, .type = TUTTI_I64, .done = set_flag, .arg = &t->has_come};
}

/* Opens a client with helpers that receive. Returns when the clients of all ranks are ready. */
static void open_tables(struct tables *t)
{
    tutti_context *context[HELPERS];
    check(tutti_init(&t->client));
    t->me = tutti_rank(tutti_world(t->client));
    t->p = tutti_size(tutti_world(t->client));
    t->mine = room(NUMBERS * sizeof *t->mine);
    t->come = room(NUMBERS * sizeof *t->come);
    for (int i = 0; i < NUMBERS; i++) t->mine[i] = (int64_t)t->me * NUMBERS + i;
    check(tutti_dispatch(t->client, TABLE, take_table, t));
    check(tutti_contexts(t->client, HELPERS, context));
    for (int i = 0; i < HELPERS; i++) check(tutti_helper_start(context[i]));
    check(tutti_barrier(tutti_world(t->client)));
}

/* Sends the table to context 1 of the next rank, which a helper advances. */
static void pass_table_on(struct tables *t)
{
    atomic_int taken = 0;
    tutti_endpoint *next;
    check(tutti_endpoint_to(t->client, (t->me + 1) % t->p, 1, &next));
    const tutti_send send = {.to = next,
                             .dispatch = TABLE,
                             .header = &t->me,
                             .header_bytes = sizeof t->me,
                             .data = t->mine,
                             .count = NUMBERS,
                             .type = TUTTI_I64,
                             .delivered = set_flag,
                             .arg = &taken};
    check(tutti_message_send(tutti_context_at(t->client, 0), &send));
    wait_for(tutti_context_at(t->client, 0), &taken);
}

/* Waits until a helper has recorded that the table has arrived. This thread could compute
 * meanwhile; here it helps to pull the table. */
static int64_t first_and_last(struct tables *t)
{
    while (!atomic_load(&t->has_come)) {
        tutti_status status = tutti_advance_wait(tutti_context_at(t->client, 0), 1, NULL);
        if (status != TUTTI_AGAIN) check(status);
    }
    return t->come[0] + t->come[NUMBERS - 1];
}

/* Reads the last number of another rank's table. The other rank takes no part in this. */
static int64_t look_up(struct tables *t, int rank)
{
    int64_t number = -1;
    atomic_int here = 0;
    tutti_region *region;
    tutti_endpoint *owner;
    tutti_team *world = tutti_world(t->client);
    tutti_key key, *keys = room((size_t)t->p * sizeof *keys);
    check(tutti_region_register(t->client, t->mine, NUMBERS * sizeof *t->mine, &region));
    check(tutti_region_key(region, &key));
    check(tutti_allgather(world, &key, keys, sizeof key, TUTTI_U8)); /* a key is plain data, which
                                                                      * may be sent as bytes */
    check(tutti_endpoint_to(t->client, rank, 0, &owner));
    check(tutti_get(tutti_context_at(t->client, 0), owner, &number, &keys[rank],
                    (NUMBERS - 1) * sizeof number, sizeof number, set_flag, &here));
    wait_for(tutti_context_at(t->client, 0), &here);
    check(tutti_barrier(world)); /* the region is freed when all ranks have read */
    check(tutti_region_free(region));
    free(keys);
    return number;
}

static void close_tables(struct tables *t)
{
    for (int i = 1; i <= HELPERS; i++) check(tutti_helper_stop(tutti_context_at(t->client, i)));
    check(tutti_finalize(t->client));
    free(t->mine);
    free(t->come);
}

/* ---- Reports ---- */

static void take_report(tutti_context *context, const tutti_message *message,
                        tutti_receive *receive, void *arg)
{
    (void)context, (void)message, (void)receive;
    ++*(int *)arg;
}

/* Sends a report to rank 0, which counts the reports. Returns when rank 0 has the reports of all
 * ranks. */
static void report(tutti_client *client)
{
    int reports = 0, p = tutti_size(tutti_world(client));
    atomic_int taken = 0;
    tutti_endpoint *root;
    tutti_context *context = tutti_context_at(client, 0);
    check(tutti_dispatch(client, REPORT, take_report, &reports));
    check(tutti_barrier(tutti_world(client)));
    check(tutti_endpoint_to(client, 0, 0, &root));
    const tutti_send send = {.to = root, .dispatch = REPORT, .delivered = set_flag, .arg = &taken};
    check(tutti_message_send(context, &send));
    wait_for(context, &taken);
    if (tutti_rank(tutti_world(client)) == 0) {
        while (reports < p) check(tutti_advance_wait(context, -1, NULL));
        printf("%d reports\n", reports);
    }
    check(tutti_barrier(tutti_world(client))); /* no rank ends while another rank may still need
                                                * it */
}

int main(void)
{
    struct tables tables = {0};
    tutti_client *reports;
    open_tables(&tables);
    check(tutti_init(&reports));
    pass_table_on(&tables);
    int64_t sum = first_and_last(&tables);
    int other = (tables.me + 2) % tables.p;
    printf("rank %d: the table of rank %d begins and ends with numbers of sum %lld, rank %d's ends "
           "with %lld\n",
           tables.me, tables.from, (long long)sum, other, (long long)look_up(&tables, other));
    report(reports);
    check(tutti_finalize(reports));
    close_tables(&tables);
    return 0;
}
