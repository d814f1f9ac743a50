/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather(v) `bruck`: in round k each rank sends all pieces that it has, at most 2^k, to the rank
 * 2^k before it, and receives as many from the rank 2^k after it.
 *
 *     rank r holds    r
 *                     r r+1
 *                     r r+1 r+2 r+3          ceil(log2 p) rounds, any p
 *
 * The pieces are kept in this order in scratch, so that each message is one contiguous range. At
 * the end they are copied to their places.
 * Source: Bruck, Ho, Kipnis, Upfal, Weathersby 1997.
 */
#include "coll/coll-util.h"

/* Returns the bytes of the n pieces from rank `first` on. */
static int64_t run(const struct tt_call *call, int p, int first, int n)
{
    if (!call->out_counts) return n * tt_call_bytes(call);
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += tt_piece(call, tt_after(p, first, i)).len;
    return bytes;
}

static void copy_out(struct tt_builder *b, const struct tt_call *call, int p, int me,
                     struct tt_range tmp)
{
    int64_t bytes = tt_call_bytes(call);
    if (!call->out_counts) {
        tt_copy(b, tt_own(TT_OUT, me * bytes), tmp, (p - me) * bytes);
        tmp.off += (p - me) * bytes;
        tt_copy(b, tt_own(TT_OUT, 0), tmp, me * bytes);
        return;
    }
    for (int i = 0; i < p; i++) {
        struct tt_span piece = tt_piece(call, tt_after(p, me, i));
        tt_copy(b, tt_own(TT_OUT, piece.off), tmp, piece.len);
        tmp.off += piece.len;
    }
}

/* Returns the time by Thakur, Rabenseifner, Gropp 2005, plus the copies into and out of the
 * scratch. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    int64_t p = map->p, bytes = tt_call_bytes(call);
    return tt_log2_up(map->p) * c->ts + ((p - 1) * c->tw_both + (p + 1) * c->tr) * bytes;
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int p = map->p;
    struct tt_range tmp = tt_scratch(b, run(call, p, me, p));
    tt_copy(b, tmp, tt_own(TT_IN, 0), run(call, p, me, 1));
    for (int64_t far = 1; far < p; far *= 2) {
        int n = (int)tt_min(far, p - far), after = tt_after(p, me, (int)far);
        struct tt_range to = tmp;
        to.off += run(call, p, me, (int)far);
        tt_started send = tt_send(b, tt_after(p, me, (int)(p - far)), tmp, run(call, p, me, n));
        tt_started recv = tt_recv(b, after, to, run(call, p, after, n));
        tt_wait(b, recv);
        tt_wait(b, send);
    }
    copy_out(b, call, p, me, tmp);
}

const struct tt_algorithm tt_allgather_bruck = {
    .coll = TT_COLL_allgather,
    .name = "bruck",
    .applies = "always",
    .cost = "log2(p) t_s + (p-1) t_w L",
    .source = "Bruck et al. 1997",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};

const struct tt_algorithm tt_allgatherv_bruck = {
    .coll = TT_COLL_allgatherv,
    .name = "bruck",
    .applies = "always",
    .cost = "log2(p) t_s + t_w (L_0 + ... + L_(p-1))",
    .source = "Bruck et al. 1997",
    .refuse = tt_refuse_never,
    .build = build,
};
