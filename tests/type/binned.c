/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reproducible sums: however values are shared out, ordered and merged, and by whatever kernel, the
 * words of the sum are those of its definition, and its value is as accurate as promised.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include <tutti/tutti.h>

#include "base/base.h"
#include "type/binned.h"
#include "type/kernels.h"

enum { MOST = 3000, BIN = 28, LOWEST = -1074, SUMS = 131, OPERANDS = 12 };

/* ---- The definition, computed with floating-point functions ---- */

static int64_t bits_in_bin(double value, int bin)
{
    double units = floor(ldexp(fabs(value), -(bin * BIN + LOWEST)));
    int64_t bits = (int64_t)fmod(units, 1 << BIN);
    return value < 0 ? -bits : bits;
}

/* Returns the lowest of the three bins in the exponent window of the sum of these values. The third
 * bin holds the first bit of the largest value. */
static int window_of(const double *values, int64_t n)
{
    int highest = 2;
    for (int64_t i = 0; i < n; i++) {
        int exponent;
        (void)frexp(values[i], &exponent);
        if (values[i] != 0) highest = (int)tt_max(highest, (exponent - 1 - LOWEST) / BIN);
    }
    return highest - 2;
}

static tutti_binned defined_sum(const double *values, int64_t n)
{
    tutti_binned sum;
    int window = window_of(values, n);
    for (int k = 0; k < 3; k++) {
        int64_t bin = 0;
        for (int64_t i = 0; i < n; i++) bin += bits_in_bin(values[i], window + k);
        sum.word[k] = bin * 8 + (window >> 3 * k & 7);
    }
    return sum;
}

/* ---- The exact sum, as a number of 2,200 bits ---- */

enum { LIMBS = 70, LIMB = 32 };

/* An exact sum: limb[i] counts units of 2^(32 i - 1074). The limbs are not normalised. */
struct exact {
    int64_t limb[LIMBS];
};

static void exact_add(struct exact *to, double value, int sign)
{
    int exponent;
    int64_t mantissa = (int64_t)ldexp(frexp(fabs(value), &exponent), 53);
    int at = exponent - 53 - LOWEST;
    if (at < 0) { /* a denormal number: the lowest bits, which are lost here, are 0 */
        mantissa >>= -at;
        at = 0;
    }
    unsigned __int128 wide = (unsigned __int128)mantissa << at % LIMB;
    if (value < 0) sign = -sign;
    for (int i = at / LIMB; wide; i++, wide >>= LIMB)
        to->limb[i] += sign * (int64_t)(wide & UINT32_MAX);
}

/* Returns the magnitude of the sum, with a small rounding error. */
static double exact_magnitude(struct exact *of)
{
    double sum = 0;
    for (int i = 0; i + 1 < LIMBS; i++) { /* leave a remainder in [-2^31, 2^31) in each limb */
        int64_t carry = (of->limb[i] + (INT64_C(1) << 31)) >> LIMB;
        of->limb[i] -= carry * (INT64_C(1) << LIMB);
        of->limb[i + 1] += carry;
    }
    for (int i = LIMBS; i-- > 0;) sum += ldexp((double)of->limb[i], i * LIMB + LOWEST);
    return fabs(sum);
}

/* Checks that the value differs from the exact sum by at most n * 2^-56 times the largest
 * magnitude, plus half a unit of the value's last place. */
static void check_accuracy(double value, const double *values, int64_t n)
{
    static struct exact rest;
    double largest = 0;
    memset(&rest, 0, sizeof rest);
    for (int64_t i = 0; i < n; i++) {
        exact_add(&rest, values[i], 1);
        largest = fmax(largest, fabs(values[i]));
    }
    exact_add(&rest, value, -1);
    double last_place = nextafter(fabs(value), HUGE_VAL) - fabs(value);
    double allowed = (double)n * largest * 0x1p-56 + last_place / 2;
    double wrong = exact_magnitude(&rest);
    if (!(wrong <= allowed * (1 + 1e-9)))
        fail_msg("%g is wrong by %g, more than %g", value, wrong, allowed);
}

/* ---- Values ---- */

static double values[MOST];
static struct tt_random random_numbers;

static uint64_t below(uint64_t n)
{
    return tt_random_below(&random_numbers, n);
}

/* Fills values[0..n-1] with numbers whose exponents lie within `spread` below `highest`. */
static void draw(int64_t n, int highest, int spread)
{
    for (int64_t i = 0; i < n; i++) {
        double mantissa = (double)(tt_random_next(&random_numbers) >> 11) * 0x1p-53;
        int exponent = highest - (int)below((uint64_t)spread + 1);
        values[i] = below(20) ? ldexp(below(2) ? mantissa : -mantissa, exponent) : 0;
    }
}

static void shuffle(int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)below((uint64_t)i + 1);
        double value = values[i];
        values[i] = values[j];
        values[j] = value;
    }
}

/* Shares the values out over up to 9 sums, and merges these in a random order. */
static tutti_binned sum_somehow(int64_t n)
{
    tutti_binned part[9] = {0};
    int parts = 1 + (int)below(9);
    for (int64_t i = 0, m; i < n; i += m) {
        m = (int64_t)tt_min(1 + below(400), n - i);
        assert_int_equal(
            tutti_sum_local(&part[below((uint64_t)parts)], 1, TUTTI_F64, values + i, m), TUTTI_OK);
    }
    for (; parts > 1; parts--) {
        int to = (int)below((uint64_t)parts - 1);
        const void *in[] = {&part[to], &part[parts - 1]};
        tt_reduce(&part[to], in, 2, 1, TUTTI_BINNED, TUTTI_SUM);
    }
    return part[0];
}

static void check_sum(int64_t n)
{
    tutti_binned expected = defined_sum(values, n);
    for (int turn = 0; turn < 5; turn++) {
        tutti_binned sum = sum_somehow(n);
        assert_memory_equal(&sum, &expected, sizeof sum);
        shuffle(n);
    }
    check_accuracy(tutti_sum_value(&expected), values, n);
}

/* ---- Tests ---- */

static void every_order_gives_the_same_bits(void **state)
{
    (void)state;
    tt_random_seed(&random_numbers, 1);
    static const int highest[] = {0, 1000, -900, 37, -1022, -1040};
    static const int spread[] = {0, 3, 30, 60, 200};
    for (int i = 0; i < 300; i++) {
        int64_t n = 1 + (int64_t)below(i % 10 ? 40 : MOST);
        draw(n, highest[below(6)], spread[below(5)]);
        check_sum(n);
    }
}

static double value_of(const double *of, int64_t n)
{
    tutti_binned sum = {{0}};
    assert_int_equal(tutti_sum_local(&sum, 1, TUTTI_F64, of, n), TUTTI_OK);
    return tutti_sum_value(&sum);
}
#define VALUE_OF(...)                                                                              \
    value_of((double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double))

static void known_sums(void **state)
{
    (void)state;
    assert_true(VALUE_OF(1.0, 2.0, 3.5) == 6.5);
    assert_true(VALUE_OF(1.0, 1e100, 1.0, -1e100) == 0); /* 1.0 is too small for the window of
                                                          * 1e100 */
    assert_true(VALUE_OF(1e16, 1.0, -1e16) == 1);
    assert_true(VALUE_OF(DBL_MAX, DBL_MAX) == HUGE_VAL);
    assert_true(VALUE_OF(DBL_MAX, DBL_MAX, -DBL_MAX) == DBL_MAX);
    assert_true(VALUE_OF(0x1p-1074, 0x1p-1074) == 0x1p-1073);
    assert_true(VALUE_OF(-0x1p-1074) == -0x1p-1074);
    assert_true(VALUE_OF(-DBL_MIN, 0x1p-1074) == -DBL_MIN + 0x1p-1074);
    assert_true(VALUE_OF(0.0) == 0);
    assert_false(signbit(VALUE_OF(-0.0, -0.0)));
    assert_true(VALUE_OF(1.0, 0x1p-53) == 1); /* is rounded to even, and only once */
    assert_true(VALUE_OF(1.0, 0x1p-53, 0x1p-54) == 1 + 0x1p-52);
}

static void infinities_and_nan_propagate(void **state)
{
    (void)state;
    assert_true(VALUE_OF(HUGE_VAL, 1.0, -DBL_MAX) == HUGE_VAL);
    assert_true(VALUE_OF(1.0, -HUGE_VAL, -HUGE_VAL) == -HUGE_VAL);
    assert_true(isnan(VALUE_OF(HUGE_VAL, 1.0, -HUGE_VAL)));
    assert_true(isnan(VALUE_OF(HUGE_VAL, (double)NAN, 2.0, HUGE_VAL)));
    assert_true(isnan(VALUE_OF((double)NAN, (double)NAN)));
}

static void floats_are_added_as_doubles(void **state)
{
    (void)state;
    static float narrow[MOST];
    tutti_binned a = {{0}}, b = {{0}};
    tt_random_seed(&random_numbers, 3);
    draw(MOST, 20, 150);
    for (int i = 0; i < MOST; i++) values[i] = narrow[i] = (float)values[i];
    assert_int_equal(tutti_sum_local(&a, 1, TUTTI_F64, values, MOST), TUTTI_OK);
    assert_int_equal(tutti_sum_local(&b, 1, TUTTI_F32, narrow, MOST), TUTTI_OK);
    assert_memory_equal(&a, &b, sizeof a);
}

/* Checks an array of sums, to which rows of values are added: each sum is that of its own column of
 * values. */
static void rows_are_added_element_by_element(void **state)
{
    (void)state;
    enum { ROWS = 17 };
    static tutti_binned sums[SUMS];
    tt_random_seed(&random_numbers, 4);
    draw(SUMS * ROWS, 10, 90);
    memset(sums, 0, sizeof sums);
    assert_int_equal(tutti_sum_local(sums, SUMS, TUTTI_F64, values, ROWS - 2), TUTTI_OK);
    assert_int_equal(tutti_sum_local(sums, SUMS, TUTTI_F64, values + SUMS * (ROWS - 2), 2),
                     TUTTI_OK);
    for (int i = 0; i < SUMS; i++) {
        double column[ROWS];
        for (int j = 0; j < ROWS; j++) column[j] = values[j * SUMS + i];
        tutti_binned expected = defined_sum(column, ROWS);
        assert_memory_equal(&sums[i], &expected, sizeof expected);
    }
}

/* ---- Kernels ---- */

static unsigned char operand[OPERANDS][SUMS * sizeof(tutti_binned) + 8];

static void fill_operands(int turn)
{
    int spread = turn % 3 * 40;
    for (int j = 0; j < OPERANDS; j++) {
        for (int i = 0; i < SUMS; i++) {
            tutti_binned sum = {{0}};
            draw(3, 5, spread);
            if (below(200) == 0) values[0] = below(2) ? HUGE_VAL : -HUGE_VAL;
            (void)tutti_sum_local(&sum, 1, TUTTI_F64, values, 3);
            memcpy(operand[j] + 1 + (size_t)i * sizeof sum, &sum, sizeof sum);
        }
    }
}

/* Checks that the merges of a kernel agree with merges of single sums. */
static void check_kernel(tt_reduce_fn *kernel, int k, size_t n)
{
    static unsigned char out[sizeof operand[0]];
    const void *in[OPERANDS];
    for (int j = 0; j < k; j++) in[j] = operand[j] + 1;
    kernel(out + 3, in, k, n);
    for (size_t i = 0; i < n; i++) {
        int64_t sum[3], next[3];
        memcpy(sum, operand[0] + 1 + i * sizeof sum, sizeof sum);
        for (int j = 1; j < k; j++) {
            memcpy(next, operand[j] + 1 + i * sizeof next, sizeof next);
            tt_binned_merge(sum, next);
        }
        assert_memory_equal(out + 3 + i * sizeof sum, sum, sizeof sum);
    }
}

static void check_kernels(int turns, void fill(int turn))
{
    static const char *const isas[] = {"base", "avx2", "avx512"};
    static const size_t lengths[] = {0, 1, 2, 7, 8, 9, 31, 32, 33, 64, 65, SUMS};
    for (int turn = 0; turn < turns; turn++) {
        fill(turn);
        int k = 1 + (int)below(OPERANDS);
        for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
            const struct tt_kernels *kernels = tt_kernels_find(isas[i]);
            if (kernels)
                check_kernel(kernels->fn[TUTTI_BINNED][TUTTI_SUM], k,
                             lengths[turn % (int)(sizeof lengths / sizeof *lengths)]);
        }
    }
}

static void kernels_merge_as_single_merges_do(void **state)
{
    (void)state;
    tt_random_seed(&random_numbers, 5);
    check_kernels(36, fill_operands);
}

/* Returns a double of random bits: mostly of any exponent, sometimes subnormal, zero, infinite or a
 * NaN. */
static double any_double(void)
{
    static const uint64_t ends[] = {0, 0x7fe, 0x7ff};
    uint64_t bits = tt_random_next(&random_numbers);
    double value;
    if (below(4) == 0) bits = (bits & ~(UINT64_C(0x7ff) << 52)) | ends[below(3)] << 52;
    if (below(8) == 0) bits &= ~UINT64_C(0) << 52;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns random content for a bin. It is close to the largest or the smallest number that fits the
 * 61 bits of a bin in a word, or to a half or a third of it, so that sums of two or three overflow
 * or nearly do. Otherwise it is 0 to -3, so that a sum may carry through all bits of the word. */
static int64_t extreme_bin(void)
{
    int64_t near = (int64_t)below(4), end = below(2) ? INT64_MAX >> 3 : INT64_MIN >> 3;
    return below(3) ? (end > 0 ? end - near : end + near) / (1 + (int64_t)below(3)) : -near;
}

/* Returns a sum with extreme bins, even if its window stands for an infinity or a NaN. `turn`
 * modulo 5 says which windows may occur. 0: the same window in all sums; 1: also the lowest
 * windows; 2: also a few adjacent windows; 3: also a window that stands for infinities and NaN, and
 * those just before it, which no sum of doubles has; 4: any window. */
static tutti_binned any_words(int turn)
{
    tutti_binned sum;
    int windows[] = {40, (int)below(4), 40 + (int)below(5), 505 + (int)below(7), (int)below(512)};
    int window = windows[below((uint64_t)turn % 5 + 1)];
    for (int k = 0; k < 3; k++)
        sum.word[k] = (int64_t)((uint64_t)extreme_bin() << 3 | (uint64_t)(window >> 3 * k & 7));
    return sum;
}

static void fill_with_hostile_sums(int turn)
{
    for (int j = 0; j < OPERANDS; j++) {
        for (int i = 0; i < SUMS; i++) {
            tutti_binned sum = {{0}};
            double value = any_double();
            (void)tutti_sum_local(&sum, 1, TUTTI_F64, &value, 1);
            if (turn % 2 == 0) sum = any_words(turn / 2);
            memcpy(operand[j] + 1 + (size_t)i * sizeof sum, &sum, sizeof sum);
        }
    }
}

/* Checks that kernels merge sums whatever their bits are, also bits that no addition of values
 * gives. */
static void kernels_merge_hostile_sums(void **state)
{
    (void)state;
    tt_random_seed(&random_numbers, 6);
    check_kernels(240, fill_with_hostile_sums);
}

/* Checks that the result may take the place of any operand. */
static void kernels_merge_in_place(void **state)
{
    (void)state;
    static tutti_binned in_place[OPERANDS][SUMS], expected[SUMS];
    const void *in[OPERANDS];
    tt_random_seed(&random_numbers, 7);
    for (int turn = 0; turn < 60; turn++) {
        int k = 2 + (int)below(OPERANDS - 1), at = (int)below((uint64_t)k);
        fill_with_hostile_sums(turn);
        for (int j = 0; j < k; j++) {
            memcpy(in_place[j], operand[j] + 1, sizeof in_place[j]);
            in[j] = in_place[j];
        }
        tt_reduce(expected, in, k, SUMS, TUTTI_BINNED, TUTTI_SUM);
        tt_reduce(in_place[at], in, k, SUMS, TUTTI_BINNED, TUTTI_SUM);
        assert_memory_equal(in_place[at], expected, sizeof expected);
    }
}

/* Checks that a sum of too many values becomes a NaN and not a wrong number. */
static void too_many_values_become_nan(void **state)
{
    (void)state;
    static tutti_binned sums[40];
    /* A sum of this value fills the middle one of its three bins with ones. So if the sum is
     * doubled again and again, a bin overflows sooner than with any other value. */
    double largest = 0x1.fffffffffffffp31;
    for (int i = 0; i < 40; i++) (void)tutti_sum_local(&sums[i], 1, TUTTI_F64, &largest, 1);
    for (int doubling = 0; doubling < 40; doubling++) {
        const void *in[] = {sums, sums};
        tt_reduce(sums, in, 2, 40, TUTTI_BINNED, TUTTI_SUM);
        double value = tutti_sum_value(&sums[39]);
        if (doubling < 32)
            assert_true(value == ldexp(largest, doubling + 1));
        else
            assert_true(isnan(value) || value == ldexp(largest, doubling + 1));
    }
    assert_true(isnan(tutti_sum_value(&sums[0])));
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    tutti_binned sum = {{0}};
    double value = 1;
    assert_int_equal(tutti_sum_local(NULL, 0, TUTTI_F64, NULL, 5), TUTTI_OK);
    assert_int_equal(tutti_sum_local(&sum, 1, TUTTI_I32, &value, 1), TUTTI_ERR_ARG);
    assert_non_null(strstr(tutti_error(), "sum_local: values of type i32: only f32 and f64"));
    assert_int_equal(tutti_sum_local(&sum, 1, TUTTI_F64, NULL, 1), TUTTI_ERR_ARG);
    assert_non_null(strstr(tutti_error(), "values is NULL"));
    assert_int_equal(tutti_sum_local(NULL, 1, TUTTI_F64, &value, 1), TUTTI_ERR_ARG);
    assert_non_null(strstr(tutti_error(), "sums is NULL"));
    assert_int_equal(tutti_sum_local(&sum, -1, TUTTI_F64, &value, 1), TUTTI_ERR_ARG);
    assert_int_equal(tutti_sum_local(&sum, 1, TUTTI_F64, &value, -1), TUTTI_ERR_ARG);
    assert_true(tutti_sum_value(&sum) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_gives_the_same_bits),
        cmocka_unit_test(known_sums),
        cmocka_unit_test(infinities_and_nan_propagate),
        cmocka_unit_test(floats_are_added_as_doubles),
        cmocka_unit_test(rows_are_added_element_by_element),
        cmocka_unit_test(kernels_merge_as_single_merges_do),
        cmocka_unit_test(kernels_merge_hostile_sums),
        cmocka_unit_test(kernels_merge_in_place),
        cmocka_unit_test(too_many_values_become_nan),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
