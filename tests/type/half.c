/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The 16-bit floats: conversion of each of them, and of every f32 near a point at which rounding
 * changes direction. The kernels of all instruction sets must convert in the same way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "type/half.h"
#include "type/kernels.h"
#include "type/reference.h"

enum { HALVES = 65536 };

struct format {
    float (*widen)(uint16_t);
    uint16_t (*narrow)(float);
    double (*value)(uint16_t);
    uint16_t (*nearest)(double);
    tutti_type type;
    uint16_t infinity, quiet;
};
static struct format f16 = {
    tt_f16_to_f32, tt_f32_to_f16, reference_f16_value, reference_f16, TUTTI_F16, 0x7c00, 0x0200};
static struct format bf16 = {tt_bf16_to_f32, tt_f32_to_bf16, reference_bf16_value,
                             reference_bf16, TUTTI_BF16,     0x7f80,
                             0x0040};

static bool is_nan(const struct format *f, unsigned half)
{
    return (half & 0x7fff) > f->infinity;
}

static void every_half_has_its_value(void **state)
{
    const struct format *f = *state;
    for (unsigned i = 0; i < HALVES; i++) {
        double got = (double)f->widen((uint16_t)i), want = f->value((uint16_t)i);
        if (is_nan(f, i))
            assert_true(isnan(got) && isnan(want));
        else
            assert_memory_equal(&got, &want, sizeof got);
    }
}

/* Checks that every 16-bit float that is converted and back is unchanged, except that a NaN becomes
 * a quiet NaN. */
static void every_half_comes_back(void **state)
{
    const struct format *f = *state;
    for (unsigned i = 0; i < HALVES; i++) {
        unsigned want = is_nan(f, i) ? i | f->quiet : i;
        assert_int_equal(f->narrow(f->widen((uint16_t)i)), want);
    }
}

/* Tests the f32 values at, just below and just above every 16-bit float and every middle between
 * two adjacent 16-bit floats. */
static void rounding_turns_where_it_should(void **state)
{
    const struct format *f = *state;
    for (unsigned i = 0; i < f->infinity; i++) {
        double low = f->value((uint16_t)i);
        double high = i + 1u == f->infinity ? 2 * low - f->value((uint16_t)(i - 1))
                                            : f->value((uint16_t)(i + 1));
        float points[] = {(float)low, (float)(low + (high - low) / 2)};
        for (int j = 0; j < 6; j++) {
            uint32_t bits = tt_f32_bits(points[j / 3]) + (uint32_t)(j % 3);
            float x = tt_f32_of_bits(bits ? bits - 1 : 0);
            assert_int_equal(f->narrow(x), f->nearest((double)x));
            assert_int_equal(f->narrow(-x), f->nearest(-(double)x));
        }
    }
}

static void what_is_too_great_or_small(void **state)
{
    const struct format *f = *state;
    assert_int_equal(f->narrow(INFINITY), f->infinity);
    assert_int_equal(f->narrow(-INFINITY), f->infinity | 0x8000);
    assert_int_equal(f->narrow(0x1.fffffep127f), f->infinity);
    assert_int_equal(f->narrow(0x1p-149f), f->nearest(0x1p-149));
    assert_int_equal(f->narrow(-0.0f), 0x8000);
    uint32_t nans[] = {0x7f800001, 0x7fc00000, 0x7fffffff, 0xff800001};
    for (int i = 0; i < 4; i++) assert_true(is_nan(f, f->narrow(tt_f32_of_bits(nans[i]))));
}

/* Multiplies all 16-bit floats by one: the kernels must convert them to f32 and back as the
 * definition says. */
static void kernels_convert_alike(void **state)
{
    const struct format *f = *state;
    static uint16_t all[HALVES], ones[HALVES], out[HALVES];
    for (unsigned i = 0; i < HALVES; i++) {
        all[i] = (uint16_t)i;
        ones[i] = f->narrow(1.0f);
    }
    const void *in[] = {all, ones};
    static const char *const isas[] = {"base", "avx2", "avx512"};
    for (int s = 0; s < 3; s++) {
        const struct tt_kernels *kernels = tt_kernels_find(isas[s]);
        if (!kernels) continue;
        kernels->fn[f->type][TUTTI_PROD](out, in, 2, HALVES);
        for (unsigned i = 0; i < HALVES; i++) {
            assert_int_equal(out[i], is_nan(f, i) ? i | f->quiet : i);
        }
    }
}

/* Multiplies random 16-bit floats. The products fall anywhere between two adjacent 16-bit floats,
 * with all exponents, denormal or overflowing: all kernels must round them alike. */
static void kernels_round_alike(void **state)
{
    const struct format *f = *state;
    enum { N = 40000 };
    static uint16_t a[N], b[N], out[N];
    struct tt_random random;
    tt_random_seed(&random, 7);
    for (int i = 0; i < N; i++) {
        a[i] = (uint16_t)tt_random_next(&random);
        b[i] = (uint16_t)tt_random_next(&random);
    }
    const void *in[] = {a, b};
    static const char *const isas[] = {"base", "avx2", "avx512"};
    for (int s = 0; s < 3; s++) {
        const struct tt_kernels *kernels = tt_kernels_find(isas[s]);
        if (!kernels) continue;
        kernels->fn[f->type][TUTTI_PROD](out, in, 2, N);
        for (int i = 0; i < N; i++) {
            uint16_t want = f->nearest((double)((float)f->value(a[i]) * (float)f->value(b[i])));
            assert_true(reference_same(&out[i], &want, f->type));
        }
    }
}

#define BOTH(test)                                                                                 \
    {#test " f16", test, NULL, NULL, &f16},                                                        \
    {                                                                                              \
#test " bf16", test, NULL, NULL, &bf16                                                     \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(every_half_has_its_value),       BOTH(every_half_comes_back),
        BOTH(rounding_turns_where_it_should), BOTH(what_is_too_great_or_small),
        BOTH(kernels_convert_alike),          BOTH(kernels_round_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
