/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The layout of a tutti_binned, a sum whose bits do not depend on the order of what was added.
 *
 * A double is a whole number of at most 53 bits, times a power of two that is at least 2^-1074. The
 * bits of all doubles lie on one scale: bit 0 stands for 2^-1074. The scale is cut into bins of
 * BITS bits each. A sum keeps three adjacent bins, its *window*. The highest bin of the window is
 * the highest bin that a value added so far may reach. Each bin counts in units of its lowest bit.
 * Adding a value cuts the bits of its magnitude at the borders of the bins, adds each part to its
 * bin (or subtracts the part if the value is negative), and drops the bits below the window. A
 * value that reaches beyond the window moves the window up first, which drops the lowest bins.
 *
 * Why the order does not matter: the largest value alone decides the last window. A bin of the last
 * window was never below an earlier window, since windows only move up. So this bin holds the sum
 * of the bits that all values have in the bin, which is a sum of whole numbers.
 *
 * Why the sum is accurate: the largest value has its first bit in the highest bin, and so at least
 * 2 * BITS = 56 bits of the window lie below this bit. Each value loses less than 2^-56 times the
 * largest value.
 *
 * Source: the idea of bins is that of Demmel and Nguyen, "Parallel Reproducible Summation" (IEEE
 * Transactions on Computers, 2015), and of Ahrens, Demmel and Nguyen, "Algorithms for Efficient
 * Reproducible Floating Point Summation" (ACM TOMS 46, 2020). These papers hold bins in floating
 * point; we hold bins in integers, as the long accumulator of Kulisch does.
 *
 * Each of the three words of a tutti_binned holds a bin in its upper 61 bits and a part of the
 * window's number in its lower three bits. So two sums with the same window are added by adding
 * words, and a sum of up to 2^32 values fits. A sum that does not fit becomes a NaN and never a
 * wrong number. Numbers of windows from TT_BINNED_SPECIAL on stand for infinities and NaN; their
 * bins are 0. If all bytes of a tutti_binned are 0, the sum is 0. */
#ifndef TT_BINNED_H
#define TT_BINNED_H

#include "base/base.h"

enum {
    TT_BINNED_WORDS = 3,
    TT_BINNED_BITS = 28,     /* bits of a bin on the scale */
    TT_BINNED_TAG = 3,       /* bits of a word that hold a part of the window's number */
    TT_BINNED_SPECIAL = 509, /* +infinity; the next two are -infinity and NaN */
    TT_BINNED_MINUS = 510,   /* -infinity */
    TT_BINNED_NAN = 511
};
#define TT_BINNED_MASK INT64_C(7) /* the lowest TT_BINNED_TAG bits of a word */

/* A sum that is unpacked: the number of its lowest bin, and its bins. */
struct tt_bins {
    int window;
    int64_t bin[TT_BINNED_WORDS];
};

static inline int tt_binned_window(const int64_t *word)
{
    return (int)((word[0] & TT_BINNED_MASK) | (word[1] & TT_BINNED_MASK) << TT_BINNED_TAG |
                 (word[2] & TT_BINNED_MASK) << 2 * TT_BINNED_TAG);
}

static inline void tt_binned_unpack(struct tt_bins *to, const int64_t *word)
{
    to->window = tt_binned_window(word);
    for (int k = 0; k < TT_BINNED_WORDS; k++) to->bin[k] = word[k] >> TT_BINNED_TAG;
}

static inline void tt_binned_pack(int64_t *word, const struct tt_bins *from)
{
    for (int k = 0; k < TT_BINNED_WORDS; k++)
        word[k] = (int64_t)((uint64_t)from->bin[k] << TT_BINNED_TAG |
                            ((uint64_t)from->window >> k * TT_BINNED_TAG & TT_BINNED_MASK));
}

/* Adds the sum `from` to the sum `to`. Both may be any sums. */
void tt_binned_merge(int64_t *to, const int64_t *from);

#endif
