/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather(v) `circulant`: in each round a rank r sends its pieces to rank r - s, where s is the
 * skip of the round, and receives as many from rank r + s. If the receiver lacks fewer pieces than
 * the sender has, the sender sends only its first ones.
 *
 *     rank r of 5, skip 1    r           0 <- 1 <- 2 <- 3 <- 4 <- 0
 *                  skip 2    r r+1       0 <- 2 <- 4 <- 1 <- 3 <- 0
 *                  skip 3    r r+1 r+2   0 <- 3 <- 1 <- 4 <- 2 <- 0        2 pieces: the first ones
 *                            r r+1 r+2 r+3 r+4
 *
 * There are ceil(log2 p) rounds for any p, as in `bruck`. The skips are p halved again and again,
 * rounded up; the skips of `bruck` are the powers of two. Run backwards, these rounds reduce
 * (reduce-scatter-circulant.c).
 * Source: Traeff 2024, Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms; the
 * allgather is that of Bruck, Ho, Kipnis, Upfal, Weathersby 1997 with other skips.
 */
#include "coll/circulant.h"

static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t bytes = tt_call_bytes(call);
    return c->tr * bytes + tt_circulant_gather_time_ps(map->p, bytes, c);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_circulant c = tt_circulant(b, call, map->p, me);
    tt_copy(b, c.blocks, tt_own(TT_IN, 0), tt_piece(call, me).len);
    tt_circulant_gather(b, &c);
}

const struct tt_algorithm tt_allgather_circulant = {
    .coll = TT_COLL_allgather,
    .name = "circulant",
    .applies = "always",
    .cost = "log2(p) t_s + (p-1) t_w L",
    .source = "Traeff 2024",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};

const struct tt_algorithm tt_allgatherv_circulant = {
    .coll = TT_COLL_allgatherv,
    .name = "circulant",
    .applies = "always",
    .cost = "log2(p) t_s + t_w (L_0 + ... + L_(p-1))",
    .source = "Traeff 2024",
    .refuse = tt_refuse_never,
    .build = build,
};
