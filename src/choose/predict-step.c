/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The time of steps that move bytes.
 */
#include "choose/predict-inside.h"

#include "coll/coll-util.h"

enum {
    CACHE_BYTES = 512 << 10,  /* the largest buffer that stays in the cache after a call has touched
                               * it */
    BOUNCE_BYTES = 128 << 10, /* an operand that plain loads do not reach is read in pieces of up to
                               * this many bytes (run/access.c) */
    MILLE = 1000
};

/* ---- Where data lie ---- */

static bool shares_core(const struct tt_predictor *s, const struct tt_follow *r, int other)
{
    return s->rank[other].core == r->core;
}

/* Returns the range as its owner sees it: its offset counts from the start of the buffer, and not
 * of a segment. */
static struct tt_range seen_by_owner(const struct tt_predictor *s, const struct tt_follow *r,
                                     const struct tt_range *range)
{
    struct tt_range seen = *range;
    if (range->rank == TT_SELF || !tt_call_segments(&r->own)) return seen;
    const struct tt_call *its = &s->rank[range->rank].own;
    const int64_t *displs = range->buf == TT_OUT  ? its->out_displs
                            : range->buf == TT_IN ? its->in_displs
                                                  : NULL;
    if (displs) seen.off += displs[r->me] * its->sz;
    return seen;
}

/* Returns whether the bytes are in the cache. Bytes of the program are in no cache until the call
 * has touched them, and then stay in the cache if the buffer is small. Scratch is used in every
 * call, so it is in the cache, too. A buffer that is no longer than a cache line mostly lies among
 * other data that the program has just used, or that the processor fetches ahead of the calls, so
 * it counts as in the cache. */
static bool is_near(const struct tt_follow *r, const struct tt_range *range, int64_t len)
{
    const struct tt_touched *t = &r->touched[range->buf];
    if (r->bytes[range->buf] <= TT_LINE) return true;
    bool touched = range->buf == TT_TMP || (range->off >= t->first && range->off + len <= t->end);
    return touched && r->bytes[range->buf] <= CACHE_BYTES;
}

static void touch(struct tt_follow *r, const struct tt_range *range, int64_t len)
{
    struct tt_touched *t = &r->touched[range->buf];
    bool none = t->end == 0;
    t->first = none ? range->off : tt_min(t->first, range->off);
    t->end = none ? range->off + len : tt_max(t->end, range->off + len);
}

/* Returns whether the bytes are stored into a window by stores that bypass the caches, and so are
 * in memory afterwards. */
static bool is_streamed(const struct tt_predictor *s, const struct tt_range *range, int64_t len)
{
    return s->streams && range->buf == TT_WIN && len >= TT_STREAM_LEAST;
}

static enum tt_data_place place_of_source(const struct tt_predictor *s, const struct tt_follow *r,
                                          const struct tt_range *from, int64_t len)
{
    if (is_streamed(s, from, len)) return TT_DATA_MEMORY;
    if (from->rank == TT_SELF) {
        bool near = from->buf == TT_WIN || is_near(r, from, len);
        return near ? TT_DATA_CACHED : TT_DATA_MEMORY;
    }
    const struct tt_follow *owner = &s->rank[from->rank];
    if (from->buf == TT_WIN) {
        /* The first bytes of a window are in the cache line of the signal. */
        bool came = shares_core(s, r, from->rank) || from->off + len <= TT_WIN_LINE;
        return came ? TT_DATA_CACHED : TT_DATA_OTHER;
    }
    const struct tt_range seen = seen_by_owner(s, r, from);
    if (!is_near(owner, &seen, len)) return TT_DATA_MEMORY;
    return shares_core(s, r, from->rank) ? TT_DATA_CACHED : TT_DATA_OTHER;
}

static enum tt_data_place place_of_target(const struct tt_predictor *s, const struct tt_follow *r,
                                          const struct tt_range *to, int64_t len)
{
    if (to->rank != TT_SELF) return TT_DATA_MEMORY;
    if (to->buf == TT_WIN)
        return s->cores > 1 && to->off + len > TT_WIN_LINE ? TT_DATA_OTHER : TT_DATA_CACHED;
    return is_near(r, to, len) ? TT_DATA_CACHED : TT_DATA_MEMORY;
}

/* Returns whether the kernel has to move the bytes, because this process has not mapped the
 * range. */
static bool is_far(const struct tt_predictor *s, const struct tt_range *range)
{
    return range->rank != TT_SELF && range->buf != TT_WIN && !s->loads;
}

/* ---- Times ---- */

/* Returns the time of a table for this length. Most steps have the length for which the table was
 * last used, so that time is kept. */
static int64_t time_of(struct tt_predictor *s, enum tt_machine_table table, int64_t len)
{
    struct tt_last_time *last = &s->last[table];
    if (last->len != len)
        *last = (struct tt_last_time){len, tt_machine_time(s->machine, table, len)};
    return last->time_ps;
}

/* Returns the time of `pieces` pieces of this length each, or TT_MACHINE_LONGEST if it is
 * longer. */
static int64_t time_of_pieces(struct tt_predictor *s, enum tt_machine_table table, int64_t pieces,
                              int64_t len)
{
    int64_t one = time_of(s, table, len);
    return one > 0 && pieces >= TT_MACHINE_LONGEST / one ? TT_MACHINE_LONGEST : pieces * one;
}

/* Returns the time `ps` with what is added to it because other processors move bytes at the same
 * time. */
static int64_t shared(struct tt_predictor *s, const struct tt_follow *r,
                      enum tt_machine_table share, int64_t len, int64_t ps)
{
    int64_t most = tt_machine_bytes[TT_MACHINE_POINTS - 1];
    int64_t mille = time_of(s, share, tt_min(len, most)), now = tt_core_of(s, r)->now_ps;
    const struct tt_core *core = tt_core_of(s, r);
    int busy = 0, others = (int)tt_max(1, s->host_cores - 1);
    if (mille <= MILLE) return ps;
    for (int c = core->host; c < core->host_end; c++) busy += s->busy_until_ps[c] > now;
    busy -= s->busy_until_ps[r->core] > now;
    return ps + ps / MILLE * (mille - MILLE) * tt_min(busy, others) / others;
}

static void move(struct tt_predictor *s, struct tt_follow *r, enum tt_spent what,
                 enum tt_machine_table share, int64_t len, int64_t ps)
{
    int64_t together = shared(s, r, share, len, ps);
    tt_spend(s, r, what, together);
    tt_core_of(s, r)->alone_ps -= together - ps;
    s->busy_until_ps[r->core] = tt_core_of(s, r)->now_ps;
}

static enum tt_machine_table copy_table(enum tt_data_place from, enum tt_data_place to,
                                        bool streams)
{
    if (streams && to == TT_DATA_OTHER)
        return (enum tt_machine_table)(TT_MACHINE_stream_cached + (int)from);
    return (enum tt_machine_table)(TT_MACHINE_copy_cached_cached + TT_DATA_PLACES * (int)from +
                                   (int)to);
}

static enum tt_machine_table read_table(enum tt_data_place from, bool to_cache)
{
    if (from == TT_DATA_OTHER)
        return to_cache ? TT_MACHINE_read_other_cached : TT_MACHINE_read_other_memory;
    return to_cache ? TT_MACHINE_read_memory_cached : TT_MACHINE_read_memory_memory;
}

/* Returns the length of the pieces that are contiguous in all ranges of a step, and sets *pieces to
 * their number. */
static int64_t row_of(const struct tt_plan *plan, const struct tt_plain *step, int64_t *pieces)
{
    int64_t row = step->len;
    for (uint32_t i = 0; i < step->nops; i++) {
        const struct tt_range *range = &step->range[i];
        int64_t block = range->shape ? plan->shapes[range->shape].block : 0;
        if (block > 0) row = tt_min(row, block);
    }
    *pieces = row > 0 ? tt_div_up(step->len, row) : 0;
    return row;
}

static void copy(struct tt_predictor *s, struct tt_follow *r, const struct tt_plain *step,
                 const struct tt_range *to, const struct tt_range *from)
{
    int64_t pieces, row = row_of(r->plan, step, &pieces);
    enum tt_data_place source = place_of_source(s, r, from, step->len);
    enum tt_data_place target = place_of_target(s, r, to, step->len);
    if (is_far(s, from) || is_far(s, to)) {
        enum tt_machine_table table = is_far(s, to) ? TT_MACHINE_write_memory_memory
                                                    : read_table(source, target == TT_DATA_CACHED);
        move(s, r, TT_SPENT_reads, TT_MACHINE_read_shared, step->len,
             time_of_pieces(s, table, pieces, row));
    } else {
        move(s, r, TT_SPENT_copies, TT_MACHINE_copy_shared, step->len,
             time_of_pieces(s, copy_table(source, target, is_streamed(s, to, step->len)), pieces,
                            row));
    }
}

/* Adds the time of one more operand of a reduction, which the kernel may have to read first, piece
 * by piece. */
static void add(struct tt_predictor *s, struct tt_follow *r, const struct tt_plain *step,
                const struct tt_range *from)
{
    static const enum tt_machine_table tables[] = {TT_MACHINE_add_cached, TT_MACHINE_add_memory,
                                                   TT_MACHINE_add_other};
    enum tt_data_place source = place_of_source(s, r, from, step->len);
    int64_t piece = tt_min(step->len, BOUNCE_BYTES), pieces = tt_div_up(step->len, piece);
    if (is_far(s, from)) {
        move(s, r, TT_SPENT_reads, TT_MACHINE_read_shared, step->len,
             time_of_pieces(s, read_table(source, true), pieces, piece));
        source = TT_DATA_CACHED;
    }
    move(s, r, TT_SPENT_sums, TT_MACHINE_copy_shared, step->len,
         time_of(s, tables[source], step->len));
}

/* Adds the time of a reduction: a copy of its first operand, to which the others are added. If
 * there is an operand that the kernel need not read, that operand counts as the first one. */
static void reduce(struct tt_predictor *s, struct tt_follow *r, const struct tt_plain *step)
{
    uint32_t first = 1;
    while (first < step->nops && is_far(s, &step->range[first])) first++;
    if (first == step->nops) first = 1;
    copy(s, r, step, &step->range[0], &step->range[first]);
    for (uint32_t i = 1; i < step->nops; i++)
        if (i != first) add(s, r, step, &step->range[i]);
}

void tt_step_moves(struct tt_predictor *s, struct tt_follow *r, const struct tt_plain *step)
{
    if (step->kind == TT_REDUCE && step->nops > 2)
        reduce(s, r, step);
    else
        copy(s, r, step, &step->range[0], &step->range[1]);
    for (uint32_t i = 0; i < step->nops; i++)
        if (step->range[i].rank == TT_SELF) touch(r, &step->range[i], step->len);
    const struct tt_range *to = &step->range[0];
    const struct tt_range seen = seen_by_owner(s, r, to);
    if (to->rank != TT_SELF) touch(&s->rank[to->rank], &seen, step->len);
}

/* ---- Messages ---- */

/* Returns whether a message is stored into a ring by stores that bypass the caches. Very short
 * messages are not. */
static bool streams_message(const struct tt_predictor *s, int64_t len)
{
    return s->rings_stream && len > TT_LINE;
}

void tt_step_sends(struct tt_predictor *s, struct tt_follow *r, const struct tt_plain *step)
{
    enum tt_data_place from = place_of_source(s, r, step->range, step->len);
    touch(r, step->range, step->len);
    enum tt_data_place ring = s->cores > 1 ? TT_DATA_OTHER : TT_DATA_CACHED;
    move(s, r, TT_SPENT_copies, TT_MACHINE_copy_shared, step->len,
         time_of(s, copy_table(from, ring, streams_message(s, step->len)), step->len));
}

/* Returns where the bytes of a message are before they are copied out. */
static enum tt_data_place place_of_message(const struct tt_predictor *s, const struct tt_follow *r,
                                           int from, const struct tt_sent *sent)
{
    if (sent->early) return TT_DATA_CACHED;
    if (!sent->rendezvous && streams_message(s, sent->len)) return TT_DATA_MEMORY;
    return shares_core(s, r, from) ? TT_DATA_CACHED : TT_DATA_OTHER;
}

void tt_step_keeps(struct tt_predictor *s, struct tt_follow *r, int from,
                   const struct tt_sent *sent)
{
    if (tt_is_apart(s, r->me, from)) {
        tt_spend(s, r, TT_SPENT_wire,
                 tt_machine_wire(s->machine, TT_MACHINE_wire_receive, sent->len));
        return;
    }
    enum tt_data_place ring = place_of_message(s, r, from, sent);
    move(s, r, TT_SPENT_messages, TT_MACHINE_copy_shared, sent->len,
         time_of(s, copy_table(ring, TT_DATA_CACHED, false), sent->len));
}

void tt_step_takes(struct tt_predictor *s, struct tt_follow *r, const struct tt_posted *posted,
                   const struct tt_sent *sent)
{
    bool near = shares_core(s, r, posted->from);
    enum tt_data_place target = place_of_target(s, r, &posted->to, posted->len);
    if (sent->rendezvous && !s->loads)
        move(s, r, TT_SPENT_reads, TT_MACHINE_read_shared, posted->len,
             time_of(s, read_table(near ? TT_DATA_MEMORY : TT_DATA_OTHER, target == TT_DATA_CACHED),
                     posted->len));
    else
        move(s, r, TT_SPENT_copies, TT_MACHINE_copy_shared, posted->len,
             time_of(s, copy_table(place_of_message(s, r, posted->from, sent), target, false),
                     posted->len));
    touch(r, &posted->to, posted->len);
}

/* ---- Messages to and from other nodes ---- */

/* Returns how much more time table `far` of the machine model gives for a copy of `len` bytes than
 * the table of copies within the cache. */
static int64_t longer(struct tt_predictor *s, enum tt_machine_table far, int64_t len)
{
    return tt_max(0, time_of(s, far, len) - time_of(s, TT_MACHINE_copy_cached_cached, len));
}

/* The times of the network were measured with data in the cache, so reading other data costs
 * extra. */
void tt_step_sends_apart(struct tt_predictor *s, struct tt_follow *r, const struct tt_plain *step)
{
    bool cached = place_of_source(s, r, step->range, step->len) == TT_DATA_CACHED;
    int64_t load = cached ? 0 : longer(s, TT_MACHINE_copy_memory_cached, step->len);
    touch(r, step->range, step->len);
    tt_spend(s, r, TT_SPENT_wire,
             load + tt_machine_wire(s->machine, TT_MACHINE_wire_send, step->len));
}

void tt_step_takes_apart(struct tt_predictor *s, struct tt_follow *r,
                         const struct tt_posted *posted)
{
    bool cached = place_of_target(s, r, &posted->to, posted->len) == TT_DATA_CACHED;
    int64_t store = cached ? 0 : longer(s, TT_MACHINE_copy_cached_memory, posted->len);
    touch(r, &posted->to, posted->len);
    tt_spend(s, r, TT_SPENT_wire,
             store + tt_machine_wire(s->machine, TT_MACHINE_wire_receive, posted->len));
}
