/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall(v) and allgather(v) `exchange`: a total exchange by puts. Each rank goes over its list
 * of segments in a random order of its own. In every round it puts one chunk of each segment, and
 * it drops the segments that are finished. An allgather is the exchange in which all segments are
 * the same one.
 *
 *     0:  [to 1]....  [to 2]...........       round 1: a chunk of each, in random order
 *             [to 1]    [to 2]                round 2 ...
 *
 * There are two rounds of signals: the outputs are open; all puts are in place. There are no
 * receives, so no order can deadlock. Where memory is not shared, or the system does not allow
 * writing to it, the puts are made by messages.
 * Source: CN101114273; docs/plan.md.
 */
#include "coll/coll-util.h"

enum { CHUNK = 64 << 10, UNDER_WAY = 2 };

static bool gathers(const struct tt_call *call)
{
    return call->coll == TT_COLL_allgather || call->coll == TT_COLL_allgatherv;
}

/* Returns the place in IN of the bytes that go to rank r. */
static struct tt_span outgoing(const struct tt_call *call, int me, int r)
{
    if (gathers(call)) return (struct tt_span){0, tt_piece(call, me).len};
    return tt_block_to(call, r);
}

static int64_t chunk(const struct tt_call *call)
{
    return tt_max(tt_slice_bytes(call, CHUNK) / call->sz, 1) * call->sz;
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
        /* In the v-forms OUT@r is the segment at r that is meant for this rank. */
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
        .build = build,                                                                            \
    }

ROW(allgather);
ROW(allgatherv);
ROW(alltoall);
ROW(alltoallv);
