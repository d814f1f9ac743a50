/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel that adds reproducible sums (tutti_binned); kernel.h includes it once for each
 * instruction set.
 *
 * Sums with the same window are added word by word, in a loop that the compiler vectorises. One
 * pass over a block finds out whether all pairs of the block have the same window and no word
 * overflows. Mostly this is so; otherwise the sums of the block are merged one by one.
 */
#include "type/binned.h"

enum { BINNED_BLOCK = 32, BINNED_BLOCK_WORDS = BINNED_BLOCK * TT_BINNED_WORDS };

/* Returns a with the bits of its window cleared, plus b: the word of the sum, if both words belong
 * to sums with the same window. */
static inline i64 add_binned_words(i64 a, i64 b)
{
    return (i64)((uint64_t)(a & ~TT_BINNED_MASK) + (uint64_t)b);
}

/* Whether all sums of two blocks have the same window, and none of their words overflows. */
static inline bool is_binned_plain(const i64 *a, const i64 *b, size_t words)
{
    i64 differ = 0, over = 0;
    for (size_t i = 0; i < words; i++) {
        i64 sum = add_binned_words(a[i], b[i]);
        differ |= a[i] ^ b[i];
        over |= (a[i] ^ sum) & (b[i] ^ sum);
    }
    return (differ & TT_BINNED_MASK) == 0 && over >= 0;
}

/* acc += in, for n <= BINNED_BLOCK sums. */
static void add_binned(int64_t *acc, const i64 *in, size_t n)
{
    size_t words = n * TT_BINNED_WORDS;
    if (is_binned_plain(acc, in, words)) {
        EACH(i, words) acc[i] = add_binned_words(acc[i], in[i]);
        return;
    }
    for (size_t i = 0; i < words; i += TT_BINNED_WORDS) {
        int64_t from[TT_BINNED_WORDS];
        memcpy(from, in + i, sizeof from);
        tt_binned_merge(acc + i, from);
    }
}

static void sum_binned(void *out, const void *const *in, int k, size_t n)
{
    int64_t acc[BINNED_BLOCK_WORDS];
    for (size_t i = 0; i < n; i += BINNED_BLOCK) {
        size_t m = n - i < BINNED_BLOCK ? n - i : BINNED_BLOCK;
        size_t offset = i * sizeof(tutti_binned), bytes = m * sizeof(tutti_binned);
        memcpy(acc, at(in[0], offset), bytes);
        for (int j = 1; j < k; j++) add_binned(acc, at(in[j], offset), m);
        memcpy((char *)out + offset, acc, bytes);
    }
}
