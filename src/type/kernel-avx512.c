/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels for x86-64 with AVX-512 (F, BW, DQ, VL).
 */
#include <immintrin.h>

#include "type/kernels.h"

#define KERNELS tt_kernels_avx512
#define F16_LANES 16
#define F16_WIDEN(to, from) _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256(from)))
#define F16_NARROW(to, from)                                                                       \
    _mm256_storeu_si256(to, _mm512_cvtps_ph(_mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT))
#include "type/kernel-half.h"
#include "type/kernel.h"
