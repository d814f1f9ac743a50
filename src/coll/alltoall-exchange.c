/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall(v) and allgather(v) `exchange`: a total exchange by puts. Each rank goes over its list
 * of segments in a random order of its own. In every round it puts one chunk of each segment into
 * the OUT of the receiver, and it drops the segments that are finished. In an allgather the rank
 * has the same segment, its piece, for all ranks.
 *
 *     rank 0:  [to 1]....  [to 2]...........       round 1: a chunk of each segment
 *                  [to 1]        [to 2]....        round 2: the next chunks
 *
 * There are two rounds of signals: the first says that the outputs are open, the second that all
 * puts are in place. There are no receives, so no order can deadlock. Where memory is not shared,
 * or the system does not allow writing to it, the puts are made by messages. In an alltoallv, ranks
 * without data for each other do not wait for each other.
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

/* Appends the puts of the segments for rank r. */
static void put_to(struct tt_builder *b, const struct tt_call *call, int me, int r)
{
    struct tt_span out = outgoing(call, me, r);
    /* In the v-forms, OUT@r (the OUT of rank r) begins at the segment that r expects from this
     * rank. */
    int64_t theirs = tt_call_segments(call) ? 0 : tt_block_from(call, me).off;
    if (r != me)
        tt_entry(b,
                 &(struct tt_entry){.mine = out.off, .theirs = theirs, .len = out.len, .peer = r});
}

static void put_all(struct tt_builder *b, const struct tt_call *call, int p, int me)
{
    const struct tt_neighbors *n = call->neighbors;
    struct tt_exchange how = {.order = call->commutes ? TT_ORDER_RANDOM : TT_ORDER_RANK,
                              .window = UNDER_WAY,
                              .seed = call->seed,
                              .chunk = chunk(call),
                              .from = TT_IN};
    for (int i = 0; i < (n ? n->to_n : p); i++) put_to(b, call, me, n ? n->to[i] : i);
    tt_exchange(b, &how);
}

static void copy_own(struct tt_builder *b, const struct tt_call *call, int me)
{
    struct tt_span mine = outgoing(call, me, me);
    tt_copy_in(b, call, tt_block_from(call, me).off, mine.off, mine.len);
}

static void build_v(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                    int me, int phase)
{
    (void)phase;
    struct tt_peers to = tt_peers_to(call, map->p, me), from = tt_peers_from(call, map->p, me);
    tt_open(b, 1 << TT_OUT);
    tt_signal_peers(b, call, map, &from, tt_block_from, 1);
    tt_await_peers(b, call, &to, tt_block_to, 1);
    put_all(b, call, map->p, me);
    copy_own(b, call, me);
    tt_signal_peers(b, call, map, &to, tt_block_to, 2);
    tt_await_peers(b, call, &from, tt_block_from, 2);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_open(b, 1 << TT_OUT);
    tt_signal(b, TT_ALL, 1);
    tt_await_all(b, map->p, me, 1);
    put_all(b, call, map->p, me);
    copy_own(b, call, me);
    tt_signal(b, TT_ALL, 2);
    tt_await_all(b, map->p, me, 2);
}

#define ROW(which, steps)                                                                          \
    const struct tt_algorithm tt_##which##_exchange = {                                            \
        .coll = TT_COLL_##which,                                                                   \
        .name = "exchange",                                                                        \
        .applies = "always",                                                                       \
        .cost = "2 t_s + p (t_s + t_w m)",                                                         \
        .source = "CN101114273",                                                                   \
        .refuse = tt_refuse_never,                                                                 \
        .build = steps,                                                                            \
    }

ROW(allgather, build);
ROW(allgatherv, build);
ROW(alltoall, build);
ROW(alltoallv, build_v);
