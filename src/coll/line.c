/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Total exchange along a line (line.h). Each direction has two scratch buffers. In each step a rank
 * sends one of them and receives into the other; then the two swap.
 */
#include "coll/line.h"

static int place_of(const struct tt_rank_line *line, int distance)
{
    return ((line->at + distance) % line->places + line->places) % line->places;
}

static int rank_of(const struct tt_rank_line *line, int distance)
{
    return line->first + place_of(line, distance) * line->stride;
}

/* Returns the blocks for, or from, the place that is `distance` places further along the line. */
static struct tt_range blocks(struct tt_builder *b, const struct tt_rank_line *line,
                              enum tt_buffer buffer, int distance)
{
    struct tt_range r = tt_own(buffer, place_of(line, distance) * line->run);
    return line->bytes > line->run ? tt_strided(b, r, line->run, line->places * line->run) : r;
}

struct tt_direction tt_direction_of(struct tt_builder *b, const struct tt_rank_line *line, int step,
                                    int n, int64_t last, int64_t last_off)
{
    struct tt_direction direction = {.step = step, .n = n, .last = last, .last_off = last_off};
    int64_t all = (n - 1) * line->bytes + last;
    if (n > 0) direction.tmp[0] = tt_scratch(b, all);
    if (n > 0) direction.tmp[1] = tt_scratch(b, all);
    return direction;
}

/* Sets *range to the blocks for, or from, the place that is `distance` places further along the
 * line (negative: places before). `i` is the absolute value of `distance`. If that place is the
 * farthest one in its direction, *range is only the part of its blocks that travels in this
 * direction. Returns the length of the range. */
static int64_t part(struct tt_builder *b, const struct tt_rank_line *line,
                    const struct tt_direction *direction, enum tt_buffer buffer, int distance,
                    int i, struct tt_range *range)
{
    *range = blocks(b, line, buffer, distance);
    if (i < direction->n) return line->bytes;
    range->off += direction->last_off;
    return direction->last;
}

void tt_direction_pack(struct tt_builder *b, const struct tt_rank_line *line,
                       const struct tt_direction *direction, enum tt_buffer from)
{
    struct tt_range to = direction->tmp[0], range;
    for (int i = 1; i <= direction->n; i++) {
        int64_t len = part(b, line, direction, from, i * direction->step, i, &range);
        tt_copy(b, to, range, len);
        to.off += len;
    }
}

static int64_t to_go(const struct tt_rank_line *line, const struct tt_direction *direction, int i)
{
    return (direction->n - i) * line->bytes + direction->last;
}

static void post(struct tt_builder *b, const struct tt_rank_line *line,
                 const struct tt_direction *direction, int i, tt_started started[2])
{
    struct tt_range out = direction->tmp[(i - 1) % 2];
    int64_t len = to_go(line, direction, i);
    if (i > 1) out.off += line->bytes;
    started[0] = tt_recv(b, rank_of(line, -direction->step), direction->tmp[i % 2], len);
    started[1] = tt_send(b, rank_of(line, direction->step), out, len);
}

static void keep(struct tt_builder *b, const struct tt_rank_line *line,
                 const struct tt_direction *direction, int i)
{
    struct tt_range out;
    int64_t len = part(b, line, direction, TT_OUT, -i * direction->step, i, &out);
    tt_copy(b, out, direction->tmp[i % 2], len);
}

void tt_direction_step(struct tt_builder *b, const struct tt_rank_line *line,
                       const struct tt_direction *directions, int n_directions, int i)
{
    tt_started started[2][2];
    tt_assert(n_directions <= 2);
    for (int w = 0; w < n_directions; w++)
        if (i <= directions[w].n) post(b, line, &directions[w], i, started[w]);
    for (int w = 0; w < n_directions; w++) {
        if (i > directions[w].n) continue;
        tt_wait(b, started[w][0]);
        tt_wait(b, started[w][1]);
        keep(b, line, &directions[w], i);
    }
}

void tt_line_keep(struct tt_builder *b, const struct tt_rank_line *line)
{
    tt_copy(b, blocks(b, line, TT_OUT, 0), blocks(b, line, TT_IN, 0), line->bytes);
}

void tt_line_exchange(struct tt_builder *b, const struct tt_rank_line *line, enum tt_buffer from)
{
    struct tt_direction direction = tt_direction_of(b, line, 1, line->places - 1, line->bytes, 0);
    tt_direction_pack(b, line, &direction, from);
    for (int i = 1; i <= direction.n; i++) tt_direction_step(b, line, &direction, 1, i);
}
