/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels for x86-64 with AVX2 and F16C.
 */
#include <immintrin.h>

#include "type/kernels.h"

#define KERNELS tt_kernels_avx2
#define F16_LANES 8
#define F16_WIDEN(to, from) _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(from)))
#define F16_NARROW(to, from)                                                                       \
    _mm_storeu_si128(to, _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT))
#include "type/kernel-half.h"
#include "type/kernel.h"
