/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums whose bits do not depend on the order of what was added; see binned.h. A *bin* counts the
 * bits of one range of powers of two. A sum keeps three adjacent bins, its *window*, which is
 * numbered by its lowest bin.
 */
#include "type/binned.h"

#include <math.h>
#include <string.h>

#include "type/type.h"

enum {
    MANTISSA = 52,    /* bits of a double's mantissa that are stored */
    EXPONENTS = 2047, /* the exponent of infinities and NaN */
    LOWEST = -1074,   /* bit 0 of the scale stands for 2^LOWEST */
    /* the highest bit of the window at which the lowest bit of a mantissa may be: the 53 bits of
     * the mantissa then end with the highest of the 84 bits of the window */
    MOST = 31
};
#define BIN ((UINT64_C(1) << TT_BINNED_BITS) - 1) /* the bits of one bin */

_Static_assert(sizeof(tutti_binned) == TT_BINNED_WORDS * sizeof(int64_t), "a word for each bin");

/* ---- Merging ---- */

/* Moves a sum to a higher window (the three bins that it keeps, see binned.h), and drops the bins
 * below the new window. */
static void raise_window(struct tt_bins *sum, int window)
{
    int by = window - sum->window;
    for (int k = 0; k < TT_BINNED_WORDS; k++)
        sum->bin[k] = by < TT_BINNED_WORDS - k ? sum->bin[k + by] : 0;
    sum->window = window;
}

static void make_special(struct tt_bins *sum, int window)
{
    *sum = (struct tt_bins){.window = window};
}

/* Adds another sum, of which only its window is needed, to *to. At least one of the two sums is
 * infinite or a NaN; their windows stand for that (TT_BINNED_SPECIAL). */
static void merge_special(struct tt_bins *to, int window)
{
    bool both = to->window >= TT_BINNED_SPECIAL && window >= TT_BINNED_SPECIAL;
    if (both && to->window != window)
        make_special(to, TT_BINNED_NAN);
    else
        make_special(to, (int)tt_max(to->window, window));
}

/* Makes a sum a NaN if one of its bins does not fit in a word. */
static void check_bins(struct tt_bins *sum)
{
    bool all_fit = true;
    for (int k = 0; k < TT_BINNED_WORDS; k++)
        all_fit &=
            sum->bin[k] >= INT64_MIN >> TT_BINNED_TAG && sum->bin[k] <= INT64_MAX >> TT_BINNED_TAG;
    if (!all_fit) make_special(sum, TT_BINNED_NAN);
}

/* Adds the bins of two sums that have the same window. No bin overflows, because each has three
 * bits to spare. */
static void add_bins(struct tt_bins *to, const struct tt_bins *from)
{
    for (int k = 0; k < TT_BINNED_WORDS; k++) to->bin[k] += from->bin[k];
    check_bins(to);
}

void tt_binned_merge(int64_t *to, const int64_t *from)
{
    struct tt_bins a, b;
    tt_binned_unpack(&a, to);
    tt_binned_unpack(&b, from);
    if (a.window >= TT_BINNED_SPECIAL || b.window >= TT_BINNED_SPECIAL) {
        merge_special(&a, b.window);
    } else {
        if (a.window < b.window) raise_window(&a, b.window);
        if (b.window < a.window) raise_window(&b, a.window);
        add_bins(&a, &b);
    }
    tt_binned_pack(to, &a);
}

/* ---- Adding values ---- */

/* The parts of a double that is not 0. The double is (-1)^negative * mantissa * 2^(lowest +
 * LOWEST). */
struct parts {
    uint64_t mantissa;
    int lowest;
    int exponent;
    bool negative;
};

static inline struct parts take_apart(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> MANTISSA) & EXPONENTS;
    bool normal = exponent > 0;
    return (struct parts){.mantissa = (bits & ((UINT64_C(1) << MANTISSA) - 1)) | (uint64_t)normal
                                                                                     << MANTISSA,
                          .lowest = exponent - normal,
                          .exponent = exponent,
                          .negative = bits >> 63};
}

/* Returns the number of the lowest window beyond which the mantissa does not reach. `lowest` is the
 * place of the mantissa's lowest bit on the scale. */
static int window_for(int lowest)
{
    int highest = (lowest + MANTISSA) / TT_BINNED_BITS;
    return highest > 2 ? highest - 2 : 0;
}

static void add_rare(struct tt_bins *sum, double value, int lowest);

/* Adds to a sum the bits of a mantissa whose lowest bit is bit `at` of the window (below the window
 * if `at` is negative). The mantissa does not reach beyond the window; its bits below the window
 * are dropped. */
static inline void add_bits(struct tt_bins *sum, uint64_t mantissa, int at, bool negative)
{
    if (at < -MANTISSA) return;
    uint64_t low = at >= 0 ? mantissa << at : mantissa >> -at;
    /* `high` are the bits from bin 1 on. The mantissa has 53 bits, so shifting it left by MOST -
     * TT_BINNED_BITS = 3 loses none. */
    uint64_t high = MOST - at < 64 ? mantissa << (MOST - TT_BINNED_BITS) >> (MOST - at) : 0;
    int64_t sign = -(int64_t)negative;
    sum->bin[0] += ((int64_t)(low & BIN) ^ sign) - sign;
    sum->bin[1] += ((int64_t)(high & BIN) ^ sign) - sign;
    sum->bin[2] += ((int64_t)(high >> TT_BINNED_BITS) ^ sign) - sign;
}

/* Adds a value to a sum. A sum that is infinite or a NaN stays as it is, because its window lies
 * above all values. */
static inline void add_value(struct tt_bins *sum, double value)
{
    struct parts parts = take_apart(value);
    int at = parts.lowest - sum->window * TT_BINNED_BITS;
    if (tt_unlikely(at > MOST || parts.exponent == EXPONENTS))
        add_rare(sum, value, parts.lowest);
    else
        add_bits(sum, parts.mantissa, at, parts.negative);
}

/* Adds an infinity, a NaN, or a value that reaches beyond the window, which then moves up. */
static void add_rare(struct tt_bins *sum, double value, int lowest)
{
    if (isnan(value)) {
        make_special(sum, TT_BINNED_NAN);
    } else if (isinf(value)) {
        merge_special(sum, value > 0 ? TT_BINNED_SPECIAL : TT_BINNED_MINUS);
    } else {
        raise_window(sum, window_for(lowest));
        add_value(sum, value);
    }
}

/* ---- Adding many values ---- */

enum {
    BLOCK = 64, /* the most sums that are unpacked at a time */
    /* the bins are checked again after this many rows, so that no bin is larger than 2^58 */
    ROWS = 1 << 30
};

static void add_row(struct tt_bins *sums, int64_t n, tutti_type type, const void *values)
{
    const double *f64 = values;
    const float *f32 = values;
    if (type == TUTTI_F64) {
        for (int64_t i = 0; i < n; i++) add_value(&sums[i], f64[i]);
    } else {
        for (int64_t i = 0; i < n; i++) add_value(&sums[i], (double)f32[i]);
    }
}

/* Adds rows of values to a block of sums; a row begins `stride` values after the row before it. */
static void add_rows(tutti_binned *sums, int64_t n, tutti_type type, const char *values,
                     int64_t rows, int64_t stride)
{
    struct tt_bins bins[BLOCK];
    int64_t row_bytes = stride * (int64_t)tutti_type_size(type);
    for (int64_t i = 0; i < n; i++) tt_binned_unpack(&bins[i], sums[i].word);
    for (int64_t j = 0; j < rows; j++) {
        add_row(bins, n, type, values + j * row_bytes);
        if (j % ROWS == ROWS - 1) {
            for (int64_t i = 0; i < n; i++) check_bins(&bins[i]);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        check_bins(&bins[i]);
        tt_binned_pack(sums[i].word, &bins[i]);
    }
}

tutti_status tutti_sum_local(tutti_binned *sums, int64_t n, tutti_type type, const void *values,
                             int64_t rows)
{
    if (n < 0 || rows < 0)
        return tt_fail(TUTTI_ERR_ARG, "sum_local: %lld sums of %lld rows: neither may be negative",
                       (long long)n, (long long)rows);
    if (type != TUTTI_F32 && type != TUTTI_F64)
        return tt_fail(TUTTI_ERR_ARG, "sum_local: values of type %s: only f32 and f64 can be added",
                       tt_type_name(type));
    if (n == 0 || rows == 0) return TUTTI_OK;
    if (!sums || !values)
        return tt_fail(TUTTI_ERR_ARG, "sum_local: %s is NULL", sums ? "values" : "sums");
    for (int64_t i = 0; i < n; i += BLOCK) {
        add_rows(sums + i, tt_min(n - i, BLOCK), type,
                 (const char *)values + i * (int64_t)tutti_type_size(type), rows, n);
    }
    return TUTTI_OK;
}

/* ---- The result ---- */

/* Returns the sum as a double. The exact sum of the bins is a whole number of at most 61 + 56 bits.
 * It is rounded once, when it is converted to a double. The multiplication by a power of two
 * (ldexp) rounds nothing, because its result is a multiple of 2^-1074 with at most 53 significant
 * bits; a result beyond all doubles becomes an infinity. */
double tutti_sum_value(const tutti_binned *sum)
{
    struct tt_bins bins;
    tt_binned_unpack(&bins, sum->word);
    switch (bins.window) {
    case TT_BINNED_SPECIAL: return HUGE_VAL;
    case TT_BINNED_MINUS: return -HUGE_VAL;
    case TT_BINNED_NAN: return NAN;
    default: break;
    }
    __int128 exact = 0;
    for (int k = TT_BINNED_WORDS; k-- > 0;)
        exact = exact * ((__int128)1 << TT_BINNED_BITS) + bins.bin[k];
    return ldexp((double)exact, bins.window * TT_BINNED_BITS + LOWEST);
}
