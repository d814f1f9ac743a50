/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall `ring-both`: like `ring`, but every block goes the shorter way round.
 *
 *     p = 5    -2  -1   0  +1  +2        upwards to the next two, downwards to the two before
 *     p = 4    ~2  -1   0  +1  ~2        the farthest block goes half each way
 *
 * There are (p - 1) / 2 steps, or p / 2 if p is even, each of two messages. If a rank can send both
 * messages at once, this takes half the time of `ring`.
 * Source: Grama et al., Introduction to Parallel Computing, section 4.5, both directions of the
 * ring used.
 */
#include "coll/line.h"

/* How far the blocks travel. n: the number of places that each direction reaches. If p is even, one
 * rank is equally far in both directions, and its block is cut in two. up, down: the bytes of the
 * block for the farthest place that go in each direction. */
struct reach {
    int n;
    int64_t up, down;
};

static struct reach reach(const struct tt_call *call, int p)
{
    int64_t m = tt_call_bytes(call), half = (call->n + 1) / 2 * call->sz;
    if (p % 2) return (struct reach){p / 2, m, m};
    return (struct reach){p / 2, half, m - half};
}

/* Returns the time of one direction, in which the farthest of n places gets `last` bytes of its
 * block, and each nearer place its whole block of m bytes. If `last` is 0, there is one message
 * less. */
static int64_t way_ps(const struct tt_costs *c, int64_t m, int n, int64_t last)
{
    int64_t messages = last > 0 ? n : n - 1, sent = (int64_t)n * (n - 1) / 2 * m + n * last;
    return messages * c->ts + c->tw_both * sent;
}

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t m = tt_call_bytes(call);
    struct reach r = reach(call, map->p);
    if (c->tr > 0) return -1; /* the formula does not cover copies that overlap messages */
    int64_t up = way_ps(c, m, r.n, r.up), down = way_ps(c, m, r.n, r.down);
    return c->all_ports ? up : up + down;
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t m = tt_call_bytes(call);
    struct reach r = reach(call, map->p);
    struct tt_rank_line line = {.places = map->p, .at = me, .stride = 1, .run = m, .bytes = m};
    struct tt_direction directions[] = {
        tt_direction_of(b, &line, 1, r.n, r.up, 0),
        tt_direction_of(b, &line, -1, r.n, r.down, m - r.down),
    };
    tt_line_keep(b, &line);
    for (int w = 0; w < 2; w++) tt_direction_pack(b, &line, &directions[w], TT_IN);
    for (int i = 1; i <= r.n; i++) tt_direction_step(b, &line, directions, 2, i);
}

const struct tt_algorithm tt_alltoall_ring_both = {
    .coll = TT_COLL_alltoall,
    .name = "ring-both",
    .applies = "always",
    .cost = "p odd: (p-1) t_s + (p^2-1)/4 t_w m; even: p t_s + p^2/4 t_w m; both ports: half",
    .source = "Grama et al., section 4.5, both ways round",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
