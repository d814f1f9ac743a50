/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers that need a rule: NaN, infinities, the two zeros, overflow, ties. The expected results
 * are in tables of small cases and not taken from the reference, so that a reader can see the rules
 * here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "type/type.h"
#include "type/wide.h"

/* Each case runs with one element, which uses scalar code, and with LONG elements, which uses
 * vectors. */
enum { LONG = 67 };

static double reduce_f64(tutti_op op, double a, double b)
{
    double left[LONG], right[LONG], out[LONG];
    for (int i = 0; i < LONG; i++) {
        left[i] = a;
        right[i] = b;
    }
    const void *in[] = {left, right};
    tt_reduce(out, in, 2, LONG, TUTTI_F64, op);
    for (int i = 1; i < LONG; i++) assert_memory_equal(&out[i], &out[0], sizeof(double));
    double alone;
    tt_reduce(&alone, in, 2, 1, TUTTI_F64, op);
    assert_memory_equal(&alone, &out[0], sizeof(double));
    return alone;
}

static float reduce_f32(tutti_op op, float a, float b)
{
    float left[LONG], right[LONG], out[LONG];
    for (int i = 0; i < LONG; i++) {
        left[i] = a;
        right[i] = b;
    }
    const void *in[] = {left, right};
    tt_reduce(out, in, 2, LONG, TUTTI_F32, op);
    for (int i = 1; i < LONG; i++) assert_memory_equal(&out[i], &out[0], sizeof(float));
    return out[0];
}

static void is_f64(tutti_op op, double a, double b, double want)
{
    double both[] = {reduce_f64(op, a, b), reduce_f64(op, b, a)};
    for (int i = 0; i < 2; i++) {
        if (isnan(want))
            assert_true(isnan(both[i]));
        else
            assert_memory_equal(&both[i], &want, sizeof want);
    }
}

static void is_f32(tutti_op op, float a, float b, float want)
{
    float both[] = {reduce_f32(op, a, b), reduce_f32(op, b, a)};
    for (int i = 0; i < 2; i++) {
        if (isnan(want))
            assert_true(isnan(both[i]));
        else
            assert_memory_equal(&both[i], &want, sizeof want);
    }
}

static void floats(void **state)
{
    (void)state;
    static const struct {
        tutti_op op;
        double a, b, want;
    } cases[] = {
        {TUTTI_MIN, NAN, 1, NAN},
        {TUTTI_MAX, NAN, 1, NAN},
        {TUTTI_MIN, NAN, -INFINITY, NAN},
        {TUTTI_MAX, NAN, INFINITY, NAN},
        {TUTTI_MAX, -NAN, -1, NAN},
        {TUTTI_MIN, NAN, -NAN, NAN},
        {TUTTI_MIN, -0.0, 0.0, -0.0},
        {TUTTI_MAX, -0.0, 0.0, 0.0},
        {TUTTI_MAX, -0.0, -0.0, -0.0},
        {TUTTI_MIN, -INFINITY, INFINITY, -INFINITY},
        {TUTTI_MAX, -INFINITY, INFINITY, INFINITY},
        {TUTTI_MIN, -1, -2, -2},
        {TUTTI_MAX, -1, -2, -1},
        {TUTTI_SUM, -0.0, 0.0, 0.0},
        {TUTTI_SUM, -0.0, -0.0, -0.0},
        {TUTTI_SUM, INFINITY, -INFINITY, NAN},
        {TUTTI_SUM, NAN, 1, NAN},
        {TUTTI_PROD, 0, INFINITY, NAN},
        {TUTTI_PROD, -1, 0, -0.0},
        {TUTTI_PROD, -INFINITY, 2, -INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        is_f64(cases[i].op, cases[i].a, cases[i].b, cases[i].want);
        is_f32(cases[i].op, (float)cases[i].a, (float)cases[i].b, (float)cases[i].want);
    }
    is_f64(TUTTI_SUM, 0x1p1023, 0x1p1023, INFINITY);
    is_f64(TUTTI_PROD, 0x1p-1074, 0.5, 0); /* a value halfway between two numbers is rounded to
                                            * even */
    is_f32(TUTTI_SUM, 0x1p-149f, 0x1p-149f, 0x1p-148f);
}

/* Checks reductions of two wide floats, in both orders. The results are compared as numbers and by
 * their signs, and not byte by byte as in is_f64. */
#define CHECK_WIDE(F, TYPE)                                                                        \
    do {                                                                                           \
        const tt_##F nan = (tt_##F)NAN, inf = (tt_##F)INFINITY, zero = 0;                          \
        const struct {                                                                             \
            tutti_op op;                                                                           \
            tt_##F a, b, want;                                                                     \
        } cases[] = {                                                                              \
            {TUTTI_MIN, nan, 1, nan},         {TUTTI_MAX, nan, 1, nan},                            \
            {TUTTI_MIN, nan, -inf, nan},      {TUTTI_MAX, nan, inf, nan},                          \
            {TUTTI_MIN, -zero, zero, -zero},  {TUTTI_MAX, -zero, zero, zero},                      \
            {TUTTI_MAX, -zero, -zero, -zero}, {TUTTI_MIN, -inf, inf, -inf},                        \
            {TUTTI_MAX, -1, -2, -1},          {TUTTI_SUM, inf, -inf, nan},                         \
            {TUTTI_PROD, -1, zero, -zero},    {TUTTI_SUM, (tt_##F)1 / 3, -(tt_##F)1 / 3, zero},    \
        };                                                                                         \
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)                                \
            for (int turn = 0; turn < 2; turn++) {                                                 \
                const void *in[] = {turn ? &cases[i].b : &cases[i].a,                              \
                                    turn ? &cases[i].a : &cases[i].b};                             \
                tt_##F out, want = cases[i].want;                                                  \
                tt_reduce(&out, in, 2, 1, TYPE, cases[i].op);                                      \
                assert_int_equal(out != out, want != want);                                        \
                if (want != want) continue;                                                        \
                assert_true(out == want);                                                          \
                assert_int_equal(__builtin_signbit(out) != 0, __builtin_signbit(want) != 0);       \
            }                                                                                      \
    } while (0)

static void wide_floats(void **state)
{
    (void)state;
#if TT_HAS_F80
    CHECK_WIDE(f80, TUTTI_F80);
#endif
#if TT_HAS_F128
    CHECK_WIDE(f128, TUTTI_F128);
#endif
}

static void same_part(double got, double want)
{
    assert_int_equal(isnan(got), isnan(want));
    if (isnan(want)) return;
    assert_true(got == want);
    assert_int_equal(signbit(got) != 0, signbit(want) != 0);
}

/* Checks that the library's product of the complex numbers A and B is WANT, which is their product
 * by the rules of the language C: for one element, which uses scalar code, and for LONG elements,
 * which use vectors. */
#define CHECK_PRODUCT(F, TYPE, A, B, WANT)                                                         \
    do {                                                                                           \
        F left[LONG][2], right[LONG][2], out[LONG][2];                                             \
        const void *in[] = {left, right};                                                          \
        for (int k = 0; k < LONG; k++) {                                                           \
            left[k][0] = (F)creal(A), left[k][1] = (F)cimag(A);                                    \
            right[k][0] = (F)creal(B), right[k][1] = (F)cimag(B);                                  \
        }                                                                                          \
        for (int n = 1; n <= LONG; n += LONG - 1) {                                                \
            tt_reduce(out, in, 2, n, TYPE, TUTTI_PROD);                                            \
            same_part((double)out[n - 1][0], creal(WANT));                                         \
            same_part((double)out[n - 1][1], cimag(WANT));                                         \
        }                                                                                          \
    } while (0)

/* Tries all products of complex numbers whose parts are zero, finite, infinite or NaN. */
static void complex_products(void **state)
{
    (void)state;
    static const double part[] = {0.0, -0.0, 1, -2, INFINITY, -INFINITY, NAN};
    enum { PARTS = sizeof part / sizeof part[0] };
    for (int i = 0; i < PARTS * PARTS * PARTS * PARTS; i++) {
        int ai = i / PARTS, br = ai / PARTS, bi = br / PARTS;
        double complex a = __builtin_complex(part[i % PARTS], part[ai % PARTS]);
        double complex b = __builtin_complex(part[br % PARTS], part[bi % PARTS]), want = a * b;
        CHECK_PRODUCT(float, TUTTI_C64, a, b, want);
        CHECK_PRODUCT(double, TUTTI_C128, a, b, want);
#if TT_HAS_F80
        CHECK_PRODUCT(tt_f80, TUTTI_C160, a, b, want);
#endif
#if TT_HAS_F128
        CHECK_PRODUCT(tt_f128, TUTTI_C256, a, b, want);
#endif
    }
}

static void wide_integers(void **state)
{
    (void)state;
    tt_u128 big = (tt_u128)1 << 127, one = 1, out;
    const void *in[] = {&big, &one}, *twice[] = {&big, &big};
    tt_reduce(&out, in, 2, 1, TUTTI_I128, TUTTI_MIN);
    assert_true(out == big);
    tt_reduce(&out, in, 2, 1, TUTTI_U128, TUTTI_MIN);
    assert_true(out == one);
    tt_reduce(&out, in, 2, 1, TUTTI_I128, TUTTI_MAX);
    assert_true(out == one);
    tt_reduce(&out, in, 2, 1, TUTTI_U128, TUTTI_MAX);
    assert_true(out == big);
    tt_reduce(&out, twice, 2, 1, TUTTI_I128, TUTTI_SUM);
    assert_true(out == 0);
}

/* Checks that 8-bit unsigned numbers above 127 count as large and not as negative, and that the sum
 * of two such numbers wraps around at 256. */
static void small_unsigned(void **state)
{
    (void)state;
    uint8_t a = 200, b = 100, out;
    const void *in[] = {&a, &b};
    tt_reduce(&out, in, 2, 1, TUTTI_U8, TUTTI_MAX);
    assert_int_equal(out, 200);
    tt_reduce(&out, in, 2, 1, TUTTI_U8, TUTTI_MIN);
    assert_int_equal(out, 100);
    tt_reduce(&out, in, 2, 1, TUTTI_U8, TUTTI_SUM);
    assert_int_equal(out, 44);
}

/* Checks that a reduction goes from the left: 1 is lost if it is added to 2^53 first. */
static void from_the_left(void **state)
{
    (void)state;
    double big = 0x1p53, minus = -0x1p53, one = 1, out;
    const void *lost[] = {&big, &one, &minus}, *kept[] = {&big, &minus, &one};
    tt_reduce(&out, lost, 3, 1, TUTTI_F64, TUTTI_SUM);
    assert_true(out == 0);
    tt_reduce(&out, kept, 3, 1, TUTTI_F64, TUTTI_SUM);
    assert_true(out == 1);
}

/* Checks that a sum is rounded once, at the end: 2048 + 1 is not an f16, but 2048 + 1 + 1 is. */
static void halves_round_once(void **state)
{
    (void)state;
    uint16_t big = 0x6800, one = 0x3c00, out;
    const void *in[] = {&big, &one, &one};
    tt_reduce(&out, in, 3, 1, TUTTI_F16, TUTTI_SUM);
    assert_int_equal(out, 0x6801);
    uint16_t big_bf16 = 0x4380, one_bf16 = 0x3f80; /* the number 256; the next larger bf16 is 258 */
    const void *in_bf16[] = {&big_bf16, &one_bf16, &one_bf16};
    tt_reduce(&out, in_bf16, 3, 1, TUTTI_BF16, TUTTI_SUM);
    assert_int_equal(out, 0x4381);
}

static void integers_wrap(void **state)
{
    (void)state;
    int8_t a = 127, b = 1, out;
    const void *in[] = {&a, &b};
    tt_reduce(&out, in, 2, 1, TUTTI_I8, TUTTI_SUM);
    assert_int_equal(out, -128);
    uint16_t c = 65535, d = 65535, product;
    const void *in16[] = {&c, &d};
    tt_reduce(&product, in16, 2, 1, TUTTI_U16, TUTTI_PROD);
    assert_int_equal(product, 1);
    int64_t e = INT64_MIN, f = -1, quotient;
    const void *in64[] = {&e, &f};
    tt_reduce(&quotient, in64, 2, 1, TUTTI_I64, TUTTI_PROD);
    assert_true(quotient == INT64_MIN);
}

static void truth_is_0_or_1(void **state)
{
    (void)state;
    uint8_t some[] = {0, 1, 2, 255};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            const void *in[] = {&some[i], &some[j]};
            uint8_t all, any, odd;
            tt_reduce(&all, in, 2, 1, TUTTI_BOOL, TUTTI_LAND);
            tt_reduce(&any, in, 2, 1, TUTTI_BOOL, TUTTI_LOR);
            tt_reduce(&odd, in, 2, 1, TUTTI_BOOL, TUTTI_LXOR);
            assert_int_equal(all, i && j);
            assert_int_equal(any, i || j);
            assert_int_equal(odd, !i != !j);
        }
    }
}

struct f64_at {
    double value;
    int64_t index;
};

static struct f64_at locate(tutti_op op, struct f64_at a, struct f64_at b, struct f64_at c)
{
    struct f64_at out;
    const void *in[] = {&a, &b, &c};
    tt_reduce(&out, in, 3, 1, TUTTI_F64_I64, op);
    return out;
}

static void pairs(void **state)
{
    (void)state;
    static const struct {
        tutti_op op;
        struct f64_at a, b, c;
        int64_t want;
    } cases[] = {
        {TUTTI_MINLOC, {3, 0}, {1, 1}, {2, 2}, 1},
        {TUTTI_MAXLOC, {3, 0}, {1, 1}, {2, 2}, 0},
        {TUTTI_MINLOC, {1, 9}, {1, 4}, {1, 7}, 4},
        {TUTTI_MAXLOC, {1, 9}, {1, 4}, {1, -7}, -7},
        {TUTTI_MINLOC, {0.0, 2}, {-0.0, 5}, {0.0, 3}, 2},
        {TUTTI_MAXLOC, {-0.0, 5}, {0.0, 6}, {-0.0, 7}, 5},
        {TUTTI_MINLOC, {-INFINITY, 0}, {NAN, 9}, {NAN, 8}, 8},
        {TUTTI_MAXLOC, {NAN, 8}, {INFINITY, 0}, {-NAN, 9}, 8},
        {TUTTI_MINLOC, {-1, 0}, {-2, 1}, {-1.5, 2}, 1},
        {TUTTI_MAXLOC, {-1, 0}, {-2, 1}, {-INFINITY, 2}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct f64_at a = cases[i].a, b = cases[i].b, c = cases[i].c;
        assert_int_equal(locate(cases[i].op, a, b, c).index, cases[i].want);
        assert_int_equal(locate(cases[i].op, c, b, a).index, cases[i].want);
    }
}

/* Checks equal pairs of a value and a short index whose padding differs: the padding decides
 * nothing. */
#define CHECK_PADDING(pair_type, value_type)                                                       \
    do {                                                                                           \
        struct {                                                                                   \
            value_type value;                                                                      \
            int32_t index;                                                                         \
        } pair[3], out;                                                                            \
        const void *in[] = {&pair[0], &pair[1], &pair[2]};                                         \
        for (int i = 0; i < 3; i++) {                                                              \
            memset(&pair[i], 0x55 + 0x40 * i, sizeof pair[i]);                                     \
            pair[i].value = 7;                                                                     \
            pair[i].index = i == 1 ? -3 : i;                                                       \
        }                                                                                          \
        tt_reduce(&out, in, 3, 1, pair_type, TUTTI_MINLOC);                                        \
        assert_true(out.value == 7 && out.index == -3);                                            \
        pair[2].value = 9;                                                                         \
        tt_reduce(&out, in, 3, 1, pair_type, TUTTI_MAXLOC);                                        \
        assert_true(out.value == 9 && out.index == 2);                                             \
    } while (0)

static void padding_does_not_matter(void **state)
{
    (void)state;
    CHECK_PADDING(TUTTI_SHORT_INT, short);
    CHECK_PADDING(TUTTI_LONG_INT, long);
    CHECK_PADDING(TUTTI_I64_I32, int64_t);
    CHECK_PADDING(TUTTI_DOUBLE_INT, double);
    CHECK_PADDING(TUTTI_LONG_DOUBLE_INT, long double);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats),
        cmocka_unit_test(from_the_left),
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(halves_round_once),
        cmocka_unit_test(pairs),
        cmocka_unit_test(wide_floats),
        cmocka_unit_test(complex_products),
        cmocka_unit_test(wide_integers),
        cmocka_unit_test(small_unsigned),
        cmocka_unit_test(truth_is_0_or_1),
        cmocka_unit_test(padding_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
