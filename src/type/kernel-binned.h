/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel that adds reproducible sums (tutti_binned); kernel.h includes it once for each
 * instruction set.
 *
 * Two sums with the same window are added word by word. Of two sums with different windows, the one
 * with the lower window moves up first. add_aligned adds a group of pairs of sums if the two sums
 * of each pair have the same window, as they mostly have. Otherwise add_any adds the group, and a
 * few groups after it, whose windows are likely to differ, too. add_any has no branches, because
 * windows that differ at random would mislead the processor's branch prediction. It computes each
 * case as a mask, and selects by masks. The compiler vectorises the loops of both functions.
 */
#include "type/binned.h"

/* GROUP: the pairs of sums that are checked together. RUN: the pairs that add_any adds at a
 * time. */
enum { BINNED_GROUP = 8, BINNED_RUN = 64 };
enum { BINNED_BLOCK = 64, BINNED_BLOCK_WORDS = BINNED_BLOCK * TT_BINNED_WORDS };

/* Returns a + b of two words, which wraps around instead of trapping on overflow. */
static inline i64 add_words(i64 a, i64 b)
{
    return (i64)((uint64_t)a + (uint64_t)b);
}

/* Adds a group of pairs and returns true, if the sums of each pair have the same window and no word
 * overflows. Otherwise returns false and writes nothing. */
static inline __attribute__((always_inline)) bool add_aligned(i64 *out, const i64 *a, const i64 *b)
{
    i64 sum[BINNED_GROUP * TT_BINNED_WORDS], differ = 0, over = 0;
    for (size_t i = 0; i < BINNED_GROUP * TT_BINNED_WORDS; i++) {
        sum[i] = add_words(a[i] & ~TT_BINNED_MASK, b[i]);
        differ |= a[i] ^ b[i];
        over |= (a[i] ^ sum[i]) & (b[i] ^ sum[i]);
    }
    if ((differ & TT_BINNED_MASK) != 0 || over < 0) return false;
    memcpy(out, sum, sizeof sum);
    return true;
}

/* ---- Sums with any windows ---- */

/* Returns a mask of ones if x is negative, else 0. */
static inline i64 if_negative(i64 x)
{
    return -(i64)((uint64_t)x >> 63);
}

/* Returns a in the bits where the mask is set, and b in all other bits. */
static inline i64 select_i64(i64 mask, i64 a, i64 b)
{
    return (a & mask) | (b & ~mask);
}

/* Returns a word whose sign bit is set if the addition a + b = sum overflowed. */
static inline i64 overflow(i64 a, i64 b, i64 sum)
{
    return (a ^ sum) & (b ^ sum);
}

/* The three words of a sum, and the number of its window. */
struct binned_words {
    i64 w0, w1, w2, window;
};

static inline struct binned_words load_words(const i64 *from)
{
    i64 w0 = from[0], w1 = from[1], w2 = from[2];
    return (struct binned_words){w0, w1, w2,
                                 (w0 & TT_BINNED_MASK) | (w1 & TT_BINNED_MASK) << TT_BINNED_TAG |
                                     (w2 & TT_BINNED_MASK) << 2 * TT_BINNED_TAG};
}

static inline struct binned_words select_words(i64 mask, struct binned_words a,
                                               struct binned_words b)
{
    return (struct binned_words){select_i64(mask, a.w0, b.w0), select_i64(mask, a.w1, b.w1),
                                 select_i64(mask, a.w2, b.w2),
                                 select_i64(mask, a.window, b.window)};
}

/* Returns the bins of a sum after its window has moved up by `by` bins, in words whose lower bits,
 * which otherwise hold a part of the window's number, are 0. */
static inline struct binned_words move_up(struct binned_words sum, i64 by)
{
    i64 by0 = if_negative(by - 1), by01 = if_negative(by - 2), by012 = if_negative(by - 3);
    i64 w0 = select_i64(by0, sum.w0, select_i64(by01, sum.w1, sum.w2)) & by012;
    i64 w1 = select_i64(by0, sum.w1, sum.w2) & by01, w2 = sum.w2 & by0;
    return (struct binned_words){w0 & ~TT_BINNED_MASK, w1 & ~TT_BINNED_MASK, w2 & ~TT_BINNED_MASK,
                                 0};
}

/* Returns a word of the result: `sum`, unless an operand is an infinity or a NaN (`special`), or
 * the result is a NaN (`nan`). Then the word holds a part of the window's number and no bin. `high`
 * is the word of the operand with the higher window. */
static inline i64 result_word(i64 special, i64 nan, i64 high, i64 sum)
{
    i64 word = select_i64(special, high & TT_BINNED_MASK, sum);
    return select_i64(nan, TT_BINNED_NAN & TT_BINNED_MASK, word);
}

/* Adds two sums as tt_binned_merge does. A sum of infinities and NaN is a NaN if their windows
 * differ; any other sum is a NaN if a word overflows. */
static inline void add_sums(i64 *out, const i64 *a, const i64 *b)
{
    struct binned_words x = load_words(a), y = load_words(b);
    i64 swap = if_negative(x.window - y.window);
    struct binned_words high = select_words(swap, y, x), low = select_words(swap, x, y);
    i64 by = high.window - low.window;
    struct binned_words moved = move_up(low, by);
    i64 s0 = add_words(high.w0, moved.w0), s1 = add_words(high.w1, moved.w1);
    i64 s2 = add_words(high.w2, moved.w2);
    i64 over = overflow(high.w0, moved.w0, s0) | overflow(high.w1, moved.w1, s1) |
               overflow(high.w2, moved.w2, s2);
    i64 special = if_negative(TT_BINNED_SPECIAL - 1 - high.window);
    i64 unlike = if_negative(TT_BINNED_SPECIAL - 1 - low.window) & if_negative(-by);
    i64 nan = select_i64(special, unlike, if_negative(over));
    out[0] = result_word(special, nan, high.w0, s0);
    out[1] = result_word(special, nan, high.w1, s1);
    out[2] = result_word(special, nan, high.w2, s2);
}

static ALONE void add_any(i64 *out, const i64 *a, const i64 *b, size_t n)
{
    EACH(i, n)
    add_sums(out + i * TT_BINNED_WORDS, a + i * TT_BINNED_WORDS, b + i * TT_BINNED_WORDS);
}

/* ---- The kernel ---- */

/* out = a + b, for n sums. */
static ALONE void add_binned(void *out, const void *a, const void *b, size_t n)
{
    for (size_t i = 0, m; i < n; i += m) {
        size_t offset = i * sizeof(tutti_binned);
        i64 *to = (i64 *)((char *)out + offset);
        m = BINNED_GROUP;
        if (n - i >= m && add_aligned(to, at(a, offset), at(b, offset))) continue;
        m = n - i < BINNED_RUN ? n - i : BINNED_RUN;
        add_any(to, at(a, offset), at(b, offset), m);
    }
}

/* Adds more than two operands, block by block. The last addition of a block writes the result. */
static void fold_binned(void *out, const void *const *in, int k, size_t n)
{
    i64 acc[BINNED_BLOCK_WORDS];
    for (size_t i = 0; i < n; i += BINNED_BLOCK) {
        size_t m = n - i < BINNED_BLOCK ? n - i : BINNED_BLOCK, offset = i * sizeof(tutti_binned);
        add_binned(acc, at(in[0], offset), at(in[1], offset), m);
        for (int j = 2; j < k - 1; j++) add_binned(acc, acc, at(in[j], offset), m);
        add_binned((char *)out + offset, acc, at(in[k - 1], offset), m);
    }
}

static void sum_binned(void *out, const void *const *in, int k, size_t n)
{
    if (k == 1)
        memmove(out, in[0], n * sizeof(tutti_binned));
    else if (k == 2)
        add_binned(out, in[0], in[1], n);
    else
        fold_binned(out, in, k, n);
}
