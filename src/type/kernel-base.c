/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels for any processor of the architecture: SSE2 on x86-64, NEON on aarch64.
 */
#ifdef __aarch64__
#include <arm_neon.h>
#endif

#include "type/kernels.h"

#define KERNELS tt_kernels_base
#ifdef __aarch64__
#define F16_LANES 4
#define F16_WIDEN(to, from) vst1q_f32(to, vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(from))))
#define F16_NARROW(to, from) vst1_u8(to, vreinterpret_u8_f16(vcvt_f16_f32(vld1q_f32(from))))
#endif
#include "type/kernel-half.h"
#include "type/kernel.h"
