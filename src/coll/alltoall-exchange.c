/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall(v) and allgather(v) `exchange`: the one engine of total exchange, by puts: each rank
 * goes over its list of segments in a random order of its own, puts a chunk of each in every round,
 * and drops what is finished. An allgather is the exchange in which all segments are the same one.
 *
 *     0:  [to 1]....  [to 2]...........       round 1: a chunk of each, in random order
 *             [to 1]    [to 2]                round 2 ...
 *
 * Two rounds of signals: the outputs are open, all puts are in place. No receives, so no order can
 * deadlock. Where memory is not shared, or the system forbids to write it, the fabric makes the
 * puts by messages.
 * Source: CN101114273; docs/plan.md.
 */
#include "coll/coll-util.h"

enum { CHUNK = 64 << 10, UNDER_WAY = 2 };

static bool gathers(const struct tt_call *call)
{
    return call->coll == TT_COLL_allgather || call->coll == TT_COLL_allgatherv;
}

/* What goes to rank r, in IN. */
static struct tt_span outgoing(const struct tt_call *call, int me, int r)
{
    if (gathers(call)) return (struct tt_span){0, tt_piece(call, me).len};
    return tt_block_to(call, r);
}

static int64_t chunk(const struct tt_call *call)
{
    return tt_max(tt_slice_bytes(call, CHUNK) / call->sz, 1) * call->sz;
}

static struct tt_count count(const struct tt_call *call, const struct tt_map *map)
{
    int64_t p = map->p, m = tt_largest_block(call, map->p), total = 0, least = m;
    for (int r = 0; r < map->p; r++) {
        total += gathers(call) ? tt_piece(call, r).len : m;
        least = gathers(call) ? tt_min(least, tt_piece(call, r).len) : m;
    }
    int64_t puts = (p - 1) * tt_div_up(m, chunk(call));
    bool copies = m > 0 && !call->in_place;
    return (struct tt_count){.sent = (p - 1) * m,
                             .received = total - least,
                             .copied = copies ? m : 0,
                             .messages = puts,
                             .steps = 2 * p + 2 * puts + copies};
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_span mine = outgoing(call, me, me), place = tt_block_from(call, me);
    struct tt_exchange how = {.order = call->commutes ? TT_ORDER_RANDOM : TT_ORDER_RANK,
                              .window = UNDER_WAY,
                              .seed = call->seed,
                              .chunk = chunk(call),
                              .from = TT_IN};
    tt_open(b, 1 << TT_OUT);
    tt_signal(b, TT_ALL, 1);
    tt_await_all(b, map->p, me, 1);
    for (int r = 0; r < map->p; r++) {
        struct tt_span out = outgoing(call, me, r);
        if (r == me) continue;
        /* In the v-forms OUT@r is the segment there that is meant for me. */
        tt_entry(b, &(struct tt_entry){.mine = out.off,
                                       .theirs = tt_call_segments(call) ? 0 : place.off,
                                       .len = out.len,
                                       .peer = r});
    }
    tt_exchange(b, &how);
    tt_copy_in(b, call, place.off, mine.off, mine.len);
    tt_signal(b, TT_ALL, 2);
    tt_await_all(b, map->p, me, 2);
}

#define ROW(which)                                                                                 \
    const struct tt_algorithm tt_##which##_exchange = {                                            \
        .coll = TT_COLL_##which,                                                                   \
        .name = "exchange",                                                                        \
        .applies = "always",                                                                       \
        .cost = "2 t_s + p (t_s + t_w m)",                                                         \
        .source = "CN101114273",                                                                   \
        .refuse = tt_refuse_never,                                                                 \
        .count = count,                                                                            \
        .build = build,                                                                            \
    }

ROW(allgather);
ROW(allgatherv);
ROW(alltoall);
ROW(alltoallv);
