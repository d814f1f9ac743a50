/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two contexts of a process, each with messages to and from its own counterpart, write no common
 * cache line. The test lists all cache lines that each context writes for its messages, and
 * compares the lists.
 */
#include "lib.h"
#include "msg/pull.h"

enum { MESSAGE = 1, ROUNDS = 300, MOST = 200000 };

struct lines_state {
    uintptr_t line[MOST];
    int n;
};

static void ended(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    check(status == TUTTI_OK, "%d", (int)status);
    ++*(int *)arg;
}

struct lines_come {
    int n;
    char memory[1 << 18];
};

static void on_message(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                       void *arg)
{
    struct lines_come *come = arg;
    (void)context;
    if (!m->data) *receive = (tutti_receive){come->memory, m->bytes, TUTTI_U8, NULL, NULL, 0};
    come->n++;
}

/* ---- The memory that a context writes ---- */

static void add(struct lines_state *lines, const void *memory, size_t bytes)
{
    uintptr_t first = (uintptr_t)memory / TT_LINE, last = ((uintptr_t)memory + bytes - 1) / TT_LINE;
    if (!memory || bytes == 0) return;
    for (uintptr_t line = first; line <= last; line++) {
        check(lines->n < MOST, "too many");
        lines->line[lines->n++] = line;
    }
}

/* Adds the lines that the writer of a ring writes: all of the ring except the reader's line. */
static void add_written_ring(struct lines_state *lines, const struct tt_out *out)
{
    if (!out->ring) return;
    add(lines, out->ring, offsetof(struct tt_msg_ring, read_cells));
    add(lines, out->cell, (size_t)out->cells * sizeof *out->cell);
    add(lines, &out->cell[out->cells], out->bulk_bytes);
    add(lines, out->bulk, out->bulk_bytes);
}

static void add_peer(struct lines_state *lines, const struct tt_peer *peer)
{
    add(lines, peer, sizeof *peer);
    add_written_ring(lines, &peer->out);
    for (const struct tt_open *open = peer->oldest; open; open = open->next)
        add(lines, open, sizeof(struct tutti_pending));
}

static void add_context(struct lines_state *lines, const tutti_context *c)
{
    size_t owners = offsetof(tutti_context, inlet);
    add(lines, (const char *)c + owners, sizeof *c - owners);
    add(lines, c->inlet, (size_t)c->inlet_room * sizeof *c->inlet);
    for (int i = 0; i < c->inlets; i++)
        add(lines, &c->inlet[i].in.ring->read_cells, 2 * sizeof c->inlet[i].in.ring->read_cells);
    add(lines, c->peer, (size_t)c->f->size * sizeof *c->peer);
    for (int r = 0; r < c->f->size; r++)
        for (const struct tt_peer *peer = c->peer[r]; peer; peer = peer->next_of_rank)
            add_peer(lines, peer);
    add(lines, c->pending, (size_t)c->pending_room * sizeof *c->pending);
    for (int i = 0; i < c->pendings; i++) add(lines, c->pending[i], sizeof *c->pending[i]);
    for (const struct tt_transfer *p = c->spare_entry; p; p = p->next) add(lines, p, sizeof *p);
    add(lines, c->spare, sizeof *c->spare);
    add(lines, c->spare_data, tt_ring_most(c->msg->ring_bytes));
    add(lines, c->mailbox, sizeof *c->mailbox);
    add(lines, &c->posted, sizeof c->posted);
}

static int by_number(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return x < y ? -1 : x > y;
}

static void have_none_in_common(const struct lines_state *one, struct lines_state *other,
                                const char *what)
{
    qsort(other->line, (size_t)other->n, sizeof *other->line, by_number);
    for (int i = 0; i < one->n; i++)
        check(
            !bsearch(&one->line[i], other->line, (size_t)other->n, sizeof *other->line, by_number),
            "%s: line %#zx", what, (size_t)one->line[i]);
}

static void compare(struct rank *r)
{
    struct lines_state *one = calloc(1, sizeof *one), *other = calloc(1, sizeof *other);
    const struct tt_msg *msg = r->context[0]->msg;
    add_context(one, r->context[0]);
    add_context(other, r->context[1]);
    check(one->n > 500 && other->n > 500, "%d %d", one->n, other->n);
    have_none_in_common(one, other, "both write");
    one->n = 0;
    add(one, msg, offsetof(struct tt_msg, regions_made));
    for (int i = 0; i < 2; i++) add(one, r->context[i], offsetof(tutti_context, posted));
    have_none_in_common(one, other, "both read, and one writes");
    free(one);
    free(other);
}

/* Exchanges messages of several lengths, so many that some have to wait. */
static void converse(struct rank *r)
{
    static char data[1 << 18];
    int completed = 0, sent = 0;
    struct lines_come *come = calloc(1, sizeof *come);
    int64_t lengths[] = {8, 0, 100, 7000, 40, 100000};
    must(tutti_dispatch(r->client, MESSAGE, on_message, come));
    meet(r);
    for (int i = 0; i < ROUNDS; i++)
        for (int c = 0; c < 2; c++) {
            tutti_send send = {.to = endpoint(r, (r->me + 1) % r->p, c),
                               .dispatch = MESSAGE,
                               .data = data,
                               .count = lengths[i % 6],
                               .type = TUTTI_U8,
                               .sent = i % 2 ? ended : NULL,
                               .delivered = i % 2 ? NULL : ended,
                               .arg = &completed};
            must(tutti_message_send(r->context[c], &send));
            sent++;
        }
    until(r, &come->n, sent);
    until(r, &completed, sent);
    meet(r);
    compare(r);
    meet(r);
    free(come);
}

int main(int argc, char **argv)
{
    setenv("TUTTI_RING", "16K", 1);
    return run_ranks(argc, argv, 2, converse);
}
