/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conversion between f32 and the two 16-bit floats, to nearest, ties to even. All kernels give the
 * same bits as these functions. The functions have no branches, so that loops over them are
 * vectorised.
 *
 *          sign exponent significand
 *     f32   1      8        23         bias 127
 *     f16   1      5        10         bias  15; least normal 2^-14, least of all 2^-24
 *     bf16  1      8         7         the upper half of an f32
 *
 * A NaN stays a NaN, is made quiet, and keeps the upper bits of its payload.
 */
#ifndef TT_HALF_H
#define TT_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t tt_f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float tt_f32_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float tt_f16_to_f32(uint16_t half)
{
    const uint32_t rebias = (127 - 15) << 23;
    uint32_t magnitude = half & 0x7fff;
    uint32_t bits = (magnitude << 13) + rebias;
    bits += magnitude >= 0x7c00 ? rebias : 0; /* infinities and NaNs: the highest exponent */
    bits |= magnitude > 0x7c00 ? UINT32_C(1) << 22 : 0; /* make the NaN quiet */
    uint32_t tiny = tt_f32_bits((float)(int32_t)magnitude * 0x1p-24f);
    bits = magnitude < 0x0400 ? tiny : bits;
    return tt_f32_of_bits(bits | (uint32_t)(half & 0x8000) << 16);
}

static inline uint16_t tt_f32_to_f16(float x)
{
    uint32_t bits = tt_f32_bits(x);
    uint32_t magnitude = bits & 0x7fffffff;
    /* 0xfff is one less than half of the last place of an f16. If the last bit of the result is
     * added, too, the sum carries exactly when the value must be rounded up. A carry out of the
     * significand gives the next exponent, and a carry out of the greatest exponent gives
     * infinity. */
    uint32_t normal = (magnitude - ((127 - 15) << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    normal = magnitude >= 0x47800000 ? 0x7c00 : normal; /* from 2^16 on: infinity */
    /* Values below 2^-14: the last place of 0.5 as an f32 is 2^-24, as is that of the result, so
     * the addition itself rounds correctly. */
    uint32_t tiny = tt_f32_bits(tt_f32_of_bits(magnitude) + 0.5f) - tt_f32_bits(0.5f);
    uint32_t result = magnitude < 0x38800000 ? tiny : normal;
    result = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : result;
    return (uint16_t)(result | (bits >> 16 & 0x8000));
}

static inline float tt_bf16_to_f32(uint16_t half)
{
    return tt_f32_of_bits((uint32_t)half << 16);
}

static inline uint16_t tt_f32_to_bf16(float x)
{
    uint32_t bits = tt_f32_bits(x);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t quiet = bits >> 16 | 0x40;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

#endif
