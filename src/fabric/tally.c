/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wrapper of the fabric that counts, for a report, a rank's calls and how long they wait.
 */
#include "fabric/tally.h"

#include <stdio.h>
#include <string.h>

enum { OPEN = 64 };

struct tallier {
    struct tt_fabric_ops ops;
    const struct tt_fabric_ops *below;
    struct tt_tally tally;
    struct running {
        const void *key; /* NULL: the entry is free */
        struct tt_tally_row *row;
        int64_t begin_ns;
    } running[OPEN];
};

static struct running *find_running(struct tallier *t, const void *key)
{
    for (int i = 0; i < OPEN; i++)
        if (t->running[i].key == key) return &t->running[i];
    return NULL;
}

static void fill_in(struct tt_tally_row *row, const struct tt_traced_call *call)
{
    *row = (struct tt_tally_row){.bytes = call->bytes,
                                 .ranks = call->team_size,
                                 .blocks = call->blocks,
                                 .least_ns = INT64_MAX};
    snprintf(row->coll, sizeof row->coll, "%s", call->coll);
    snprintf(row->algorithm, sizeof row->algorithm, "%s", call->algorithm);
    snprintf(row->type, sizeof row->type, "%s", call->type);
    snprintf(row->op, sizeof row->op, "%s", call->op);
}

static bool is_shape(const struct tt_tally_row *a, const struct tt_tally_row *b)
{
    return a->bytes == b->bytes && a->ranks == b->ranks && a->blocks == b->blocks &&
           strcmp(a->coll, b->coll) == 0 && strcmp(a->algorithm, b->algorithm) == 0 &&
           strcmp(a->type, b->type) == 0 && strcmp(a->op, b->op) == 0;
}

/* Returns the row of the call's shape, which may be new; NULL: there is no room. */
static struct tt_tally_row *row_of(struct tt_tally *tally, const struct tt_traced_call *call)
{
    struct tt_tally_row shape;
    fill_in(&shape, call);
    for (int i = tally->rows - 1; i >= 0; i--)
        if (is_shape(&tally->row[i], &shape)) return &tally->row[i];
    if (tally->rows == TT_TALLY_ROWS) return NULL;
    tally->row[tally->rows] = shape;
    return &tally->row[tally->rows++];
}

/* Records that a call begins. For a call that was queued, this is called again when the call leaves
 * the queue; it is counted only once. */
static void began(const struct tt_fabric_ops *self, struct tt_fabric *f,
                  const struct tt_traced_call *call)
{
    struct tallier *t = (struct tallier *)self;
    if (t->below->began) t->below->began(t->below, f, call);
    if (find_running(t, call->key)) return;
    struct running *r = find_running(t, NULL);
    struct tt_tally_row *row = r ? row_of(&t->tally, call) : NULL;
    if (row)
        *r = (struct running){call->key, row, tt_clock_ns()};
    else
        t->tally.lost++;
}

static void waits(const struct tt_fabric_ops *self, struct tt_fabric *f, const void *key)
{
    const struct tt_fabric_ops *below = ((const struct tallier *)self)->below;
    if (below->waits) below->waits(below, f, key);
}

static void ended(const struct tt_fabric_ops *self, struct tt_fabric *f, const void *key,
                  tutti_status status)
{
    struct tallier *t = (struct tallier *)self;
    struct running *r = find_running(t, key);
    if (t->below->ended) t->below->ended(t->below, f, key, status);
    if (!r) return;
    int64_t ns = tt_clock_ns() - r->begin_ns;
    r->row->calls++;
    r->row->ns += ns;
    r->row->least_ns = tt_min(r->row->least_ns, ns);
    r->row->most_ns = tt_max(r->row->most_ns, ns);
    *r = (struct running){.key = NULL};
}

/* Counts how long a step that is now done has awaited a flag or a message: from the step's first
 * try until now. */
static void did(const struct tt_fabric_ops *self, struct tt_fabric *f,
                const struct tt_trace_record *event)
{
    struct tallier *t = (struct tallier *)self;
    bool awaits = strcmp(event->name, "await") == 0, waits_for = strcmp(event->name, "wait") == 0;
    if (t->below->did) t->below->did(t->below, f, event);
    if (!awaits && !waits_for) return;
    int64_t ns = tt_clock_ns() - event->begin_ns;
    struct running *r = find_running(t, event->key);
    if (r) r->row->waited_ns += ns;
    if (event->peer >= 0) t->tally.for_rank_ns[event->peer] += ns;
}

static tutti_status read_below(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                               void *to, tt_address from, int64_t len)
{
    const struct tt_fabric_ops *below = ((const struct tallier *)self)->below;
    return below->read(below, f, rank, to, from, len);
}

static tutti_status write_below(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                                tt_address to, const void *from, int64_t len)
{
    const struct tt_fabric_ops *below = ((const struct tallier *)self)->below;
    return below->write(below, f, rank, to, from, len);
}

static tutti_status signalling(const struct tt_fabric_ops *self, struct tt_fabric *f)
{
    const struct tt_fabric_ops *below = ((const struct tallier *)self)->below;
    return below->signalling(below, f);
}

static void free_tallier(struct tallier *t)
{
    tt_free(t->tally.row);
    tt_free(t->tally.for_rank_ns);
    tt_free(t);
}

static void close_below(const struct tt_fabric_ops *self, struct tt_fabric *f)
{
    struct tallier *t = (struct tallier *)self;
    f->tally = NULL;
    if (t->below->close) t->below->close(t->below, f);
    free_tallier(t);
}

/* Puts the wrapper in front of the fabric. A nested job has no report: it has ranks of several
 * processes, whose reports would have the same name. */
tutti_status tt_tally_wrap(struct tt_fabric *f)
{
    const char *report = tt_setting("TUTTI_REPORT");
    if (!report || f->job->nested || f->client > 0) return TUTTI_OK;
    struct tallier *t = tt_calloc(1, sizeof *t);
    if (!t) return tt_fail(TUTTI_ERR_MEMORY, "no memory for TUTTI_REPORT");
    t->tally.row = tt_calloc(TT_TALLY_ROWS, sizeof *t->tally.row);
    t->tally.for_rank_ns = tt_calloc((size_t)f->size, sizeof *t->tally.for_rank_ns);
    if (!t->tally.row || !t->tally.for_rank_ns) {
        free_tallier(t);
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for TUTTI_REPORT");
    }
    t->tally.begin_ns = tt_clock_ns();
    if (strcmp(report, "1") == 0)
        snprintf(t->tally.path, sizeof t->tally.path, "1");
    else
        (void)tt_file_given(report, t->tally.path);
    t->below = f->ops;
    t->ops = (struct tt_fabric_ops){.name = f->ops->name,
                                    .read = read_below,
                                    .write = write_below,
                                    .signalling = f->ops->signalling ? signalling : NULL,
                                    .did = did,
                                    .began = began,
                                    .waits = waits,
                                    .ended = ended,
                                    .close = close_below};
    f->ops = &t->ops;
    f->tally = &t->tally;
    return TUTTI_OK;
}
