/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/line.h"

static int place_of(const struct tt_line *line, int distance)
{
    return ((line->at + distance) % line->places + line->places) % line->places;
}

static int rank_of(const struct tt_line *line, int distance)
{
    return line->first + place_of(line, distance) * line->stride;
}

/* The blocks that concern who is that far. */
static struct tt_range blocks(struct tt_builder *b, const struct tt_line *line,
                              enum tt_buffer buffer, int distance)
{
    struct tt_range r = tt_own(buffer, place_of(line, distance) * line->run);
    return line->bytes > line->run ? tt_strided(b, r, line->run, line->places * line->run) : r;
}

struct tt_way tt_way(struct tt_builder *b, const struct tt_line *line, int step, int n,
                     int64_t last, int64_t last_off)
{
    struct tt_way way = {.step = step, .n = n, .last = last, .last_off = last_off};
    int64_t all = (n - 1) * line->bytes + last;
    if (n > 0) way.tmp[0] = tt_scratch(b, all);
    if (n > 0) way.tmp[1] = tt_scratch(b, all);
    return way;
}

/* Of the blocks for who is i steps away, what goes this way; `range` is set to it in a buffer. */
static int64_t part(struct tt_builder *b, const struct tt_line *line, const struct tt_way *way,
                    enum tt_buffer buffer, int distance, int i, struct tt_range *range)
{
    *range = blocks(b, line, buffer, distance);
    if (i < way->n) return line->bytes;
    range->off += way->last_off;
    return way->last;
}

void tt_way_pack(struct tt_builder *b, const struct tt_line *line, const struct tt_way *way,
                 enum tt_buffer from)
{
    struct tt_range to = way->tmp[0], range;
    for (int i = 1; i <= way->n; i++) {
        int64_t len = part(b, line, way, from, i * way->step, i, &range);
        tt_copy(b, to, range, len);
        to.off += len;
    }
}

static int64_t to_go(const struct tt_line *line, const struct tt_way *way, int i)
{
    return (way->n - i) * line->bytes + way->last;
}

static void post(struct tt_builder *b, const struct tt_line *line, const struct tt_way *way, int i,
                 tt_started started[2])
{
    struct tt_range out = way->tmp[(i - 1) % 2];
    int64_t len = to_go(line, way, i);
    if (i > 1) out.off += line->bytes;
    started[0] = tt_recv(b, rank_of(line, -way->step), way->tmp[i % 2], len);
    started[1] = tt_send(b, rank_of(line, way->step), out, len);
}

static void keep(struct tt_builder *b, const struct tt_line *line, const struct tt_way *way, int i)
{
    struct tt_range out;
    int64_t len = part(b, line, way, TT_OUT, -i * way->step, i, &out);
    tt_copy(b, out, way->tmp[i % 2], len);
}

void tt_way_step(struct tt_builder *b, const struct tt_line *line, const struct tt_way *ways,
                 int n_ways, int i)
{
    tt_started started[2][2];
    tt_assert(n_ways <= 2);
    for (int w = 0; w < n_ways; w++)
        if (i <= ways[w].n) post(b, line, &ways[w], i, started[w]);
    for (int w = 0; w < n_ways; w++) {
        if (i > ways[w].n) continue;
        tt_wait(b, started[w][0]);
        tt_wait(b, started[w][1]);
        keep(b, line, &ways[w], i);
    }
}

struct tt_count tt_way_count(int64_t bytes, int n, int64_t last)
{
    int64_t sent = (int64_t)n * (n - 1) / 2 * bytes + n * last;
    int64_t steps = last > 0 ? n : n > 0 ? n - 1 : 0;
    return (struct tt_count){.sent = sent,
                             .received = sent,
                             .copied = 2 * (n > 0 ? (n - 1) * bytes + last : 0),
                             .messages = steps,
                             .steps = 6 * steps};
}

void tt_line_keep(struct tt_builder *b, const struct tt_line *line)
{
    tt_copy(b, blocks(b, line, TT_OUT, 0), blocks(b, line, TT_IN, 0), line->bytes);
}

void tt_line_exchange(struct tt_builder *b, const struct tt_line *line, enum tt_buffer from)
{
    struct tt_way way = tt_way(b, line, 1, line->places - 1, line->bytes, 0);
    tt_way_pack(b, line, &way, from);
    for (int i = 1; i <= way.n; i++) tt_way_step(b, line, &way, 1, i);
}
