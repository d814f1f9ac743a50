/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rounds of the circulant algorithms; see circulant.h.
 */
#include "coll/circulant.h"

/* ---- Positions: a rank keeps the block of rank me + i (mod p) at position i ---- */

/* Returns whether each block may have any place in the buffer, as in an allgatherv. */
static bool is_list(const struct tt_circulant *c)
{
    return c->call->coll == TT_COLL_allgatherv;
}

/* Returns the bytes of the blocks of the ranks 0 .. r - 1, where r <= p. The call must be no
 * allgatherv, whose blocks may have any places (is_list). */
static int64_t bytes_before(const struct tt_circulant *c, int r)
{
    int64_t all = tt_call_bytes(c->call);
    if (c->call->coll == TT_COLL_allgather) return r * all;
    if (tt_call_scatters(c->call)) return tt_call_block_at(c->call, r);
    return r == c->p ? all : tt_block(c->call, c->p, r).off;
}

/* Returns the bytes of the positions first .. end-1. */
static int64_t bytes_of(const struct tt_circulant *c, int first, int end)
{
    int64_t bytes = 0;
    int zero = c->p - c->me; /* the position of rank 0 */
    for (int i = first; i < end && is_list(c); i++)
        bytes += tt_piece(c->call, tt_after(c->p, c->me, i)).len;
    if (is_list(c) || first >= end) return bytes;
    if (first < zero && end > zero) return bytes_of(c, first, zero) + bytes_of(c, zero, end);
    int from = tt_after(c->p, c->me, first);
    return bytes_before(c, from + end - first) - bytes_before(c, from);
}

/* Returns the place of a position in the scratch. */
static struct tt_range kept(const struct tt_circulant *c, int position)
{
    struct tt_range r = c->blocks;
    r.off += bytes_of(c, 0, position);
    return r;
}

/* Sets *span to the place, in IN or OUT, of the positions from `first` on, up to `end` or as far as
 * they lie side by side. Returns the first position that is not in *span. */
static int adjacent(const struct tt_circulant *c, int first, int end, struct tt_span *span)
{
    int rank = tt_after(c->p, c->me, first), zero = c->p - c->me;
    if (is_list(c)) {
        *span = tt_piece(c->call, rank);
        return first + 1;
    }
    if (first < zero && end > zero) end = zero;
    *span = (struct tt_span){bytes_before(c, rank), bytes_of(c, first, end)};
    return end;
}

struct tt_circulant tt_circulant(struct tt_builder *b, const struct tt_call *call, int p, int me)
{
    struct tt_circulant c = {.call = call, .p = p, .me = me, .rounds = tt_log2_up(p)};
    int skip = p;
    for (int k = c.rounds; k >= 0; k--, skip -= skip / 2) c.skip[k] = skip;
    c.blocks = tt_scratch(b, bytes_of(&c, 0, p));
    return c;
}

/* Sends `out` to one rank, and receives `in` from another rank at the same time. */
static void exchange(struct tt_builder *b, int to, struct tt_range out, int64_t out_bytes, int from,
                     struct tt_range in, int64_t in_bytes)
{
    tt_started send = tt_send(b, to, out, out_bytes);
    tt_started recv = tt_recv(b, from, in, in_bytes);
    tt_wait(b, recv);
    tt_wait(b, send);
}

/* ---- Reducing ---- */

/* Copies the positions first .. p-1 from IN to the scratch. */
static void copy_from_input(struct tt_builder *b, const struct tt_circulant *c, int first)
{
    struct tt_range to = kept(c, first);
    struct tt_span span;
    for (int i = first; i < c->p; to.off += span.len) {
        i = adjacent(c, i, c->p, &span);
        tt_copy(b, to, tt_own(TT_IN, span.off), span.len);
    }
}

/* Appends, for the positions 0 .. end-1, the reduction of this rank's input and of the bytes at
 * `come`, which this rank has received. The result is stored at `to`. */
static void add_to_input(struct tt_builder *b, const struct tt_circulant *c, int end,
                         struct tt_range to, struct tt_range come)
{
    struct tt_span span;
    for (int i = 0; i < end; to.off += span.len, come.off += span.len) {
        i = adjacent(c, i, end, &span);
        tt_combine(b, to, (struct tt_range[]){tt_own(TT_IN, span.off), come}, 2, span.len);
    }
}

/* Returns the most bytes that a rank receives in a round. In the first round it receives half of
 * the p blocks (rounded down), and in later rounds fewer. */
static int64_t most_bytes(const struct tt_circulant *c)
{
    return bytes_of(c, 0, c->p - c->skip[c->rounds - 1]);
}

/* Appends the rounds that reduce. In the first round, a rank adds the blocks that it receives to
 * blocks of IN, and stores the sums in the scratch. So it copies from IN to the scratch only the
 * other blocks: those that it sends in this round, and the one that it neither sends nor adds to if
 * p is odd. */
void tt_circulant_reduce(struct tt_builder *b, const struct tt_circulant *c, struct tt_range result)
{
    struct tt_range come = tt_scratch(b, most_bytes(c));
    for (int k = c->rounds; k-- > 0;) {
        int skip = c->skip[k], end = c->skip[k + 1], n = end - skip;
        struct tt_range sum = k == 0 ? result : c->blocks;
        bool first = k == c->rounds - 1;
        if (first) copy_from_input(b, c, n);
        exchange(b, tt_after(c->p, c->me, skip), kept(c, skip), bytes_of(c, skip, end),
                 tt_after(c->p, c->me, c->p - skip), come, bytes_of(c, 0, n));
        if (first)
            add_to_input(b, c, n, sum, come);
        else
            tt_combine(b, sum, (struct tt_range[]){c->blocks, come}, 2, bytes_of(c, 0, n));
    }
}

/* Returns the time: each round takes t_s; p - 1 blocks are sent, received and reduced; and the
 * first round copies all blocks but those to which it adds. */
int64_t tt_circulant_reduce_time_ps(int p, int64_t bytes, const struct tt_costs *c)
{
    return tt_log2_up(p) * c->ts +
           ((p - 1) * (c->tw_both + c->gamma) + (p - p / 2) * c->tr) * bytes;
}

/* ---- Gathering ---- */

void tt_circulant_gather(struct tt_builder *b, const struct tt_circulant *c)
{
    for (int k = 0; k < c->rounds; k++) {
        int skip = c->skip[k], end = c->skip[k + 1];
        exchange(b, tt_after(c->p, c->me, c->p - skip), c->blocks, bytes_of(c, 0, end - skip),
                 tt_after(c->p, c->me, skip), kept(c, skip), bytes_of(c, skip, end));
    }
    struct tt_range from = c->blocks;
    struct tt_span span;
    for (int i = 0; i < c->p; from.off += span.len) {
        i = adjacent(c, i, c->p, &span);
        tt_copy(b, tt_own(TT_OUT, span.off), from, span.len);
    }
}

/* Returns the time: each round takes t_s, p - 1 blocks are sent and received, and all blocks are
 * copied to OUT. */
int64_t tt_circulant_gather_time_ps(int p, int64_t bytes, const struct tt_costs *c)
{
    return tt_log2_up(p) * c->ts + ((p - 1) * c->tw_both + p * c->tr) * bytes;
}
