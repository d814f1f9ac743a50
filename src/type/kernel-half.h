/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Converts arrays of f16 and bf16 to f32 and back. If the processor can convert f16, the including
 * file defines how to convert F16_LANES elements at once (F16_WIDEN, F16_NARROW); those conversions
 * give the same bits as the loops here.
 */
#include <string.h>

#include "type/half.h"

typedef uint16_t __attribute__((aligned(1), may_alias)) half_bits;

#ifdef F16_LANES

static void widen_f16(float *to, const half_bits *from, size_t n)
{
    size_t i = 0;
    for (; i + F16_LANES <= n; i += F16_LANES) F16_WIDEN(to + i, (const void *)(from + i));
    for (; i < n; i++) to[i] = tt_f16_to_f32(from[i]);
}

static void narrow_f16(half_bits *to, const float *from, size_t n)
{
    size_t i = 0;
    for (; i + F16_LANES <= n; i += F16_LANES) F16_NARROW((void *)(to + i), from + i);
    for (; i < n; i++) to[i] = tt_f32_to_f16(from[i]);
}

#else

static void widen_f16(float *restrict to, const half_bits *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = tt_f16_to_f32(from[i]);
}

static void narrow_f16(half_bits *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = tt_f32_to_f16(from[i]);
}

#endif

static void widen_bf16(float *restrict to, const half_bits *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = tt_bf16_to_f32(from[i]);
}

static void narrow_bf16(half_bits *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = tt_f32_to_bf16(from[i]);
}
