/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoallv `padded`: short pieces go through other ranks, as the blocks of alltoall `bruck` do.
 * Before, the ranks have agreed on the length b of the longest piece of any rank, and every piece
 * travels in a block of b bytes.
 *
 *     TMP[j]    [piece   |.....]   for the rank j after me; what follows a piece has no meaning
 *
 * The digits of j to the radix r say how a block travels: in the round of digit k and value d, the
 * block moves on by d r^k ranks if digit k of j is d. So there are at most (r - 1) log_r p rounds,
 * and in each of them a rank sends about p/r blocks in one message. A larger radix takes more
 * rounds for fewer bytes. After the rounds TMP[j] is from the rank j before me, and each rank
 * copies as many bytes of it as it expects.
 * Source: padded Bruck, in Fan, Gilray, Pascucci, Huang, Micinski, Kumar 2022: Optimizing the Bruck
 * algorithm for non-uniform all-to-all communication. HPDC '22. The radix: TuNA, in Fan, Domke,
 * Ba, Kumar 2024: Configurable non-uniform all-to-all algorithms. arXiv:2411.02581.
 */
#include "coll/coll-util.h"

/* The blocks of one round: `groups` runs of `run` blocks, the first of which begins `first` blocks
 * behind the start of TMP; the runs begin `apart` blocks apart. After these there are `rest` blocks
 * of a run that is cut off at p. */
struct padded_round {
    int64_t first, run, apart, groups, rest;
};

/* Returns the blocks TMP[j] of one round: those for which d is the digit of j with the weight
 * `far`, a power of the radix. */
static struct padded_round round_of(int p, int64_t far, int radix, int d)
{
    int64_t apart = far * radix, over = p % apart - d * far;
    return (struct padded_round){.first = d * far,
                                 .run = far,
                                 .apart = apart,
                                 .groups = p / apart,
                                 .rest = tt_min(far, tt_max(0, over))};
}

static int64_t blocks(const struct padded_round *r)
{
    return r->groups * r->run + r->rest;
}

/* Copies the blocks of the round from TMP into one contiguous range `packed` (if `in`), or from
 * that range back to their places in TMP. */
static void pack(struct tt_builder *b, const struct padded_round *r, int64_t block,
                 struct tt_range tmp, struct tt_range packed, bool in)
{
    struct tt_range whole = tmp, cut = tmp;
    int64_t bytes = r->groups * r->run * block;
    whole.off += r->first * block;
    cut.off += (r->groups * r->apart + r->first) * block;
    if (r->groups > 1) whole = tt_strided(b, whole, r->run * block, r->apart * block);
    tt_copy(b, in ? packed : whole, in ? whole : packed, bytes);
    packed.off += bytes;
    tt_copy(b, in ? packed : cut, in ? cut : packed, r->rest * block);
}

/* Returns what all rounds with this radix cost, in bytes: the bytes of the blocks that a rank
 * sends, plus START bytes for each message. START is t_s / t_w (coll.h) with the costs that `tutti
 * sim` assumes. */
static int64_t cost_of(int p, int radix, int64_t block)
{
    enum { START = 1000, LONG = 1 << 30 };
    int64_t cost = 0;
    for (int64_t far = 1; far < p; far *= radix)
        for (int d = 1; d < radix && d * far < p; d++) {
            struct padded_round r = round_of(p, far, radix, d);
            cost += START + blocks(&r) * tt_min(block, LONG);
        }
    return cost;
}

/* Returns the radix of the call, or, if it has none, the power of two with the least cost. */
static int radix_of(const struct tt_call *call, int p, int64_t block)
{
    int best = 2;
    if (call->radix > 1) return call->radix;
    for (int radix = 4; radix < 2 * p && radix <= 1024; radix *= 2)
        if (cost_of(p, radix, block) < cost_of(p, best, block)) best = radix;
    return best;
}

static void exchange(struct tt_builder *b, int p, int me, int radix, int64_t block,
                     struct tt_range tmp)
{
    struct padded_round most = round_of(p, 1, radix, 1);
    for (int64_t far = radix; far < p; far *= radix) {
        struct padded_round r = round_of(p, far, radix, 1);
        if (blocks(&r) > blocks(&most)) most = r;
    }
    struct tt_range out = tt_scratch(b, blocks(&most) * block);
    struct tt_range in = tt_scratch(b, blocks(&most) * block);
    for (int64_t far = 1; far < p; far *= radix)
        for (int d = 1; d < radix && d * far < p; d++) {
            struct padded_round r = round_of(p, far, radix, d);
            pack(b, &r, block, tmp, out, true);
            tt_started send = tt_send(b, tt_after(p, me, (int)(d * far)), out, blocks(&r) * block);
            tt_started recv =
                tt_recv(b, tt_after(p, me, (int)(p - d * far)), in, blocks(&r) * block);
            tt_wait(b, recv);
            pack(b, &r, block, tmp, in, false);
            tt_wait(b, send);
        }
}

/* Returns whether no piece of this rank is longer than call->longest, the length on which the ranks
 * have agreed. */
static bool fits(const struct tt_call *call, int p)
{
    for (int r = 0; r < p; r++)
        if (tt_max(call->in_counts[r], call->out_counts[r]) > call->longest) return false;
    return true;
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int p = map->p;
    if (!fits(call, p)) {
        tt_builder_fail(b, "needs the longest piece of all ranks");
        return;
    }
    if (call->longest > INT64_MAX / 4 / p / call->sz) {
        tt_builder_fail(b, "has no memory for so long blocks");
        return;
    }
    if (call->longest == 0) return;
    int64_t block = call->longest * call->sz;
    struct tt_span mine = tt_block_to(call, me);
    struct tt_range tmp = tt_scratch(b, p * block), at = tmp;
    tt_copy(b, tt_own(TT_OUT, tt_block_from(call, me).off), tt_own(TT_IN, mine.off), mine.len);
    for (int j = 1; j < p; j++) {
        struct tt_span piece = tt_block_to(call, tt_after(p, me, j));
        at.off = tmp.off + j * block;
        tt_copy(b, at, tt_own(TT_IN, piece.off), piece.len);
    }
    exchange(b, p, me, radix_of(call, p, block), block, tmp);
    for (int j = 1; j < p; j++) {
        struct tt_span piece = tt_block_from(call, tt_after(p, me, p - j));
        at.off = tmp.off + j * block;
        tt_copy(b, tt_own(TT_OUT, piece.off), at, piece.len);
    }
}

const struct tt_algorithm tt_alltoallv_padded = {
    .coll = TT_COLL_alltoallv,
    .name = "padded",
    .applies = "always",
    .cost = "log2(p) (t_s + p/2 t_w b) with radix 2, b the longest block",
    .source = "Fan et al. 2022, padded Bruck; TuNA, 2024",
    .refuse = tt_refuse_never,
    .build = build,
    .first = TT_FIRST_LONGEST,
};
