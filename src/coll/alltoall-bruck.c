/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall `bruck`: a block that has j ranks to go moves on by 2^k ranks in each round k in which
 * bit k of j is set. So half of the blocks travel in each round, packed into one message.
 *
 *     TMP[j]    the block for the rank j after me      round 0 moves j = 1 3 5 7 ...
 *                                                      round 1 moves j = 2 3 6 7 ...
 *
 * For any p there are ceil(log2 p) rounds, in each of which a rank sends about p / 2 blocks. This
 * suits small blocks. Before the rounds the blocks are rotated into TMP. After them TMP[j] is from
 * the rank j before me, and the blocks are copied to their places.
 * Source: Bruck, Ho, Kipnis, Upfal, Weathersby 1997.
 */
#include "coll/coll-util.h"

/* The blocks that a rank sends in one round: `groups` runs of `run` blocks, which begin twice `run`
 * blocks apart, and after these `rest` blocks of a run that is cut off at p. */
struct alltoall_bruck_round {
    int64_t run, groups, rest;
};

static struct alltoall_bruck_round round_of(int p, int64_t far)
{
    int64_t over = p % (2 * far);
    return (struct alltoall_bruck_round){
        .run = far, .groups = p / (2 * far), .rest = tt_max(0, over - far)};
}

static int64_t blocks(const struct alltoall_bruck_round *r)
{
    return r->groups * r->run + r->rest;
}

/* Copies the blocks of the round from TMP into one contiguous range `packed` (if `in`), or from
 * that range back to their places in TMP. */
static void pack(struct tt_builder *b, const struct alltoall_bruck_round *r, int64_t m,
                 struct tt_range tmp, struct tt_range packed, bool in)
{
    struct tt_range first = tmp;
    first.off += r->run * m;
    if (r->groups > 1) first = tt_strided(b, first, r->run * m, 2 * r->run * m);
    tt_copy(b, in ? packed : first, in ? first : packed, r->groups * r->run * m);
    packed.off += r->groups * r->run * m;
    tmp.off += (2 * r->groups + 1) * r->run * m;
    tt_copy(b, in ? packed : tmp, in ? tmp : packed, r->rest * m);
}

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t p = map->p, m = tt_call_bytes(call), moved = 0;
    for (int64_t far = 1; far < p; far *= 2) {
        struct alltoall_bruck_round r = round_of(map->p, far);
        moved += blocks(&r) * m;
    }
    return tt_log2_up(map->p) * c->ts + c->tw_both * moved + c->tr * 2 * (p * m + moved);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int p = map->p;
    int64_t m = tt_call_bytes(call), half = (p + 1) / 2 * m;
    struct tt_range tmp = tt_scratch(b, p * m), behind = tmp;
    struct tt_range out = tt_scratch(b, half), in = tt_scratch(b, half);
    behind.off += (p - me) * m;
    tt_copy(b, tmp, tt_own(TT_IN, me * m), (p - me) * m);
    tt_copy(b, behind, tt_own(TT_IN, 0), me * m);
    for (int64_t far = 1; far < p; far *= 2) {
        struct alltoall_bruck_round r = round_of(p, far);
        pack(b, &r, m, tmp, out, true);
        tt_started send = tt_send(b, tt_after(p, me, (int)far), out, blocks(&r) * m);
        tt_started recv = tt_recv(b, tt_after(p, me, (int)(p - far)), in, blocks(&r) * m);
        tt_wait(b, recv);
        pack(b, &r, m, tmp, in, false);
        tt_wait(b, send);
    }
    for (int j = 0; j < p; j++) {
        struct tt_range from = tmp;
        from.off += j * m;
        tt_copy(b, tt_own(TT_OUT, tt_after(p, me, p - j) * m), from, m);
    }
}

const struct tt_algorithm tt_alltoall_bruck = {
    .coll = TT_COLL_alltoall,
    .name = "bruck",
    .applies = "always",
    .cost = "log2(p) (t_s + p/2 t_w m)",
    .source = "Bruck et al. 1997",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
